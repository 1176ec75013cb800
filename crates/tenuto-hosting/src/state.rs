//! Where a supervisor keeps what others ask for: its socket and the logs.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tenuto_io::own_user;

/// The folder of one host of tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFolder(PathBuf);

impl StateFolder {
    /// That of the host called `name`: `asked` itself if given, else below /run for root and below the
    /// user's own folder of that kind for others.
    pub fn of(name: &str, asked: Option<&Path>) -> Self {
        if let Some(folder) = asked {
            return Self(folder.to_owned());
        }
        let user = own_user();
        let base = match std::env::var_os("XDG_RUNTIME_DIR") {
            _ if user == 0 => PathBuf::from("/run"),
            Some(folder) if Path::new(&folder).is_absolute() => folder.into(),
            _ => std::env::temp_dir().join(format!("tenuto-{user}")),
        };
        Self(base.join("tenuto").join(name))
    }

    /// Makes it, for the present user only.
    ///
    /// # Errors
    ///
    /// Names the folder.
    pub fn make(&self) -> io::Result<()> {
        let said = |path: &Path, error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        let logs = self.0.join("logs");
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&logs)
            .map_err(|e| said(&logs, e))?;
        fs::set_permissions(&self.0, fs::Permissions::from_mode(0o700))
            .map_err(|e| said(&self.0, e))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The socket at which the supervisor is asked.
    pub fn socket(&self) -> PathBuf {
        self.0.join("control.sock")
    }

    /// What was measured of receive paths.
    pub(crate) fn receive_choice(&self) -> PathBuf {
        self.0.join("receive.json")
    }

    /// The log of a tenant.
    pub fn log(&self, tenant: &str) -> PathBuf {
        self.0.join("logs").join(format!("{tenant}.log"))
    }
}
