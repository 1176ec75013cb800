//! A file that cannot be written.

use crate::failure::Failure;
use std::path::Path;

pub(super) fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    let shown = path.display().to_string();
    Failure::input(format!("the file cannot be written: {error}"), Some(&shown), None)
}
