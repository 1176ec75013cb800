//! The folder of a controller's state: one that a start made which came to nothing is taken away again.

use std::io;
use std::path::{Path, PathBuf};

/// The file of the token that is made at the first start.
pub(crate) const TOKEN_FILE: &str = "token";
/// The file that says where it listens.
pub(crate) const ADDRESS_FILE: &str = "address";

/// Files that a start makes.
const OWN_FILES: [&str; 7] =
    ["decisions.log", "lock", "tokens", TOKEN_FILE, "audit.jsonl", ADDRESS_FILE, "ca.pem"];

/// The folder; what this process made of it goes unless it is kept.
#[derive(Debug)]
pub(super) struct StateFolder {
    path: PathBuf,
    /// Folders that were not there before, the innermost first.
    made: Vec<PathBuf>,
}

impl StateFolder {
    /// Makes the folder where there is none.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let missing = |it: &&Path| !it.as_os_str().is_empty() && !it.exists();
        let made: Vec<PathBuf> = path.ancestors().take_while(missing).map(Path::to_owned).collect();
        std::fs::create_dir_all(path)?;
        Ok(Self { path: path.to_owned(), made })
    }

    /// The controller runs, or somebody wants the folder as it is.
    pub(super) fn keep(&mut self) {
        self.made.clear();
    }
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        if self.made.is_empty() {
            return;
        }
        for name in OWN_FILES {
            let _ = std::fs::remove_file(self.path.join(name));
        }
        // Whatever else is in there is not ours: such a folder stays.
        for folder in &self.made {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StateFolder;

    #[test]
    fn only_what_a_start_made_goes() {
        let root = std::env::temp_dir().join(format!("tenuto-state-{}", std::process::id()));
        let state = root.join("a/b");
        let open = || StateFolder::open(&state).expect("a folder");
        let folder = open();
        std::fs::write(state.join("decisions.log"), "").expect("written");
        drop(folder);
        assert!(!root.exists(), "three folders were made, and are gone");
        let mut folder = open();
        folder.keep();
        drop(folder);
        assert!(state.exists());
        std::fs::write(state.join("decisions.log"), "").expect("written");
        drop(open());
        assert!(state.join("decisions.log").exists(), "it was there before");
        std::fs::remove_dir_all(&root).expect("removed");
        let folder = open();
        std::fs::write(state.join("notes"), "mine").expect("written");
        drop(folder);
        assert!(state.join("notes").exists());
        std::fs::remove_dir_all(&root).expect("removed");
    }
}
