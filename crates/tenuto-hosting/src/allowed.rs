//! Whether tenants can run here, and in which namespaces their supervisor has to be for that.

use std::io;
use tenuto_io::namespaces::{LabNamespaces, namespace_rights};

/// Why no tenant can run here.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// No namespaces.
    #[error("this machine allows no namespaces: {0}")]
    NoNamespaces(String),
    /// The supervisor could not go on.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The namespaces that the supervisor needs: `None` if it may stay where it is.
pub(crate) fn needed_box() -> Result<Option<LabNamespaces>, HostError> {
    let rights = namespace_rights();
    if rights.root && rights.namespaces.is_ok() {
        return Ok(None);
    }
    match rights.user_namespaces {
        Ok(()) => Ok(Some(LabNamespaces { user: true, tmpfs: None })),
        Err(refusal) => Err(HostError::NoNamespaces(refusal.to_string())),
    }
}
