//! Where file contents come from: this crate opens none itself.

use std::collections::BTreeMap;

/// Gives the text of a file by its path; the error is a sentence for people.
pub trait Sources {
    /// The text of the file at `path`.
    ///
    /// # Errors
    /// Says why the text cannot be had (absent, unreadable, not UTF-8).
    fn read(&self, path: &str) -> Result<String, String>;
}

/// Files held in memory, for tests and for programs that make their descriptions.
#[derive(Clone, Debug, Default)]
pub struct MemorySources {
    files: BTreeMap<String, String>,
}

impl MemorySources {
    /// No files.
    pub const fn new() -> Self {
        Self { files: BTreeMap::new() }
    }

    /// These files and one more.
    #[must_use]
    pub fn with(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }
}

impl Sources for MemorySources {
    fn read(&self, path: &str) -> Result<String, String> {
        self.files.get(path).cloned().ok_or_else(|| "there is no such file".to_owned())
    }
}

/// The path of a file that the file `base` names as `relative`.
pub(crate) fn resolve(base: &str, relative: &str) -> String {
    let relative = relative.strip_prefix("./").unwrap_or(relative);
    match base.rsplit_once('/') {
        Some((folder, _)) if !relative.starts_with('/') => format!("{folder}/{relative}"),
        _ => relative.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_to_the_file_that_says_them() {
        assert_eq!(resolve("networks/car.yaml", "./mine.yaml"), "networks/mine.yaml");
        assert_eq!(resolve("car.yaml", "vls.csv"), "vls.csv");
        assert_eq!(resolve("networks/car.yaml", "/etc/x.yaml"), "/etc/x.yaml");
    }
}
