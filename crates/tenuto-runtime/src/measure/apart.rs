//! A process of this program in namespaces of its own, so that the kernel removes whatever is set up
//! for a measurement.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tenuto_io::namespaces::{LabNamespaces, namespace_rights, spawn_in_new_namespaces};

/// Hidden inside by an empty file system, which dies with the process.
const PRIVATE: &str = "/run";

/// Starts this program again with these arguments; its standard output is a pipe.
///
/// # Errors
///
/// When namespaces are not allowed here, or cannot be made; the text says which.
pub(super) fn start(arguments: &[&str], stdin: Stdio) -> io::Result<Child> {
    let lab = namespace_rights().lab().map_err(|refusal| {
        let text = format!("no namespaces here: {refusal}");
        io::Error::new(io::ErrorKind::PermissionDenied, text)
    })?;
    let lab = LabNamespaces { tmpfs: Some(PathBuf::from(PRIVATE)), ..lab };
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments).stdin(stdin).stdout(Stdio::piped());
    spawn_in_new_namespaces(command, &lab).map_err(io::Error::other)
}
