//! Writing: stdout for what was asked for, stderr for what is wrong, files whole or not at all.

use crate::failure::Failure;
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What helps where a disk is full.
pub(crate) const FULL: &str = "the disk is full: free some of it, or write to another one";

/// Writes text to stdout. A reader that has gone is silence, not a problem.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::input(format!("cannot write to stdout: {error}"), None, None))
        }
        _ => Ok(()),
    }
}

/// Writes one JSON document to stdout.
pub(crate) fn say_json(document: &impl Serialize) -> Result<(), Failure> {
    say(&json(document))
}

/// A document as indented JSON, ending in a newline.
pub(crate) fn json(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("documents have texts as keys");
    text.push('\n');
    text
}

/// Writes text to stderr; there is nowhere to tell that it could not be.
pub(crate) fn complain(text: &str) {
    if text.is_empty() {
        return;
    }
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = err.write_all(b"\n");
    }
}

/// Writes a file through a neighbour that is renamed, so that no half file is left behind.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let shown = path.display().to_string();
    let fail = |error: std::io::Error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => "is there such a folder?",
            ErrorKind::PermissionDenied => "may you write there?",
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => FULL,
            ErrorKind::IsADirectory => "name a file in that folder",
            _ => "nothing was written",
        };
        Failure::input(format!("the file cannot be written: {error}"), Some(&shown), Some(hint))
    };
    if path.is_dir() {
        return Err(fail(ErrorKind::IsADirectory.into()));
    }
    // What is no plain file (a pipe, /dev/null) is written as it is.
    if path.metadata().is_ok_and(|about| !about.is_file()) {
        return std::fs::write(path, text).map_err(fail);
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written = std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        fail(error)
    })
}
