//! Writing: stdout for what was asked for, stderr for what is wrong, files whole or not at all.

use crate::failure::Failure;
use serde::Serialize;
use std::borrow::Cow;
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
    let _ = err.write_all(plain(text).as_bytes());
    if !text.ends_with('\n') {
        let _ = err.write_all(b"\n");
    }
}

/// A text without what a terminal would obey: parts of it come from files, peers and command lines.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let is_obeyed = |it: char| it.is_control() && !matches!(it, '\n' | '\t');
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let shown = |it: char| match is_obeyed(it) {
        true => it.escape_debug().to_string(),
        false => it.to_string(),
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// Writes a file through a neighbour that is renamed, so that no half file is left behind.
pub(crate) fn write_file(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(unwritten("file", path, &ErrorKind::IsADirectory.into()));
    }
    if is_special(path) {
        return std::fs::write(path, content).map_err(|error| unwritten("file", path, &error));
    }
    let partial = partial(path);
    let written = std::fs::write(&partial, content).and_then(|()| std::fs::rename(&partial, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        unwritten("file", path, &error)
    })
}

/// Makes a folder, with those above it.
pub(crate) fn make_folder(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|error| unwritten("folder", path, &error))
}

/// Where a verb is going to write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    File(&'a Path),
    /// Made if it is not there, with the folders above it.
    Folder(&'a Path),
}

impl<'a> Place<'a> {
    pub(crate) const fn path(self) -> &'a Path {
        match self {
            Self::File(path) | Self::Folder(path) => path,
        }
    }

    /// Finds out whether it can be written, and leaves everything as it is. What fills up meanwhile is found out when
    /// it is written.
    pub(crate) fn check(self) -> Result<(), Failure> {
        match self {
            Self::File(path) => try_file(path).map_err(|error| unwritten("file", path, &error)),
            Self::Folder(path) => {
                try_folder(path).map_err(|error| unwritten("folder", path, &error))
            }
        }
    }
}

/// What cannot be written, and what may help.
pub(crate) fn unwritten(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::NotFound => "is there such a folder?",
        ErrorKind::PermissionDenied => "may you write there?",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => FULL,
        ErrorKind::IsADirectory => "name a file in that folder",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "name a folder, or one to be made",
        _ => "nothing was written",
    };
    let message = format!("the {what} cannot be written: {error}");
    Failure::input(message, Some(&path.display().to_string()), Some(hint))
}

/// What is no plain file (a pipe, `/dev/null`) is written as it is. So is what the system names in folders of its own:
/// `/dev/stdout` is a plain file where that goes to one, and its name is not to be replaced.
fn is_special(path: &Path) -> bool {
    let is_of_the_system = path.starts_with("/dev") || path.starts_with("/proc");
    is_of_the_system || path.metadata().is_ok_and(|about| !about.is_file())
}

fn partial(path: &Path) -> PathBuf {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    PathBuf::from(partial)
}

fn try_file(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if is_special(path) {
        return Ok(());
    }
    match try_new(&partial(path)) {
        // One that a killed process left: it is written over.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        tried => tried,
    }
}

fn try_folder(path: &Path) -> std::io::Result<()> {
    let there =
        path.ancestors().find(|it| !it.as_os_str().is_empty() && it.symlink_metadata().is_ok());
    let there = there.unwrap_or(Path::new("."));
    if !there.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    try_new(&there.join(format!(".tenuto-{}", std::process::id())))
}

/// Makes a file that was not there, and takes it away.
fn try_new(path: &Path) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(b"\n");
    std::fs::remove_file(path)?;
    written
}

#[cfg(test)]
mod tests {
    use super::{is_special, plain};
    use std::path::Path;

    #[test]
    fn names_of_the_system_are_not_replaced() {
        assert!(is_special(Path::new("/dev/stdout")) && is_special(Path::new("/proc/self/fd/1")));
        assert!(!is_special(Path::new("Cargo.toml")) && !is_special(Path::new("gone")));
    }

    #[test]
    fn a_terminal_obeys_nothing_of_a_message() {
        assert_eq!(plain("no flow \u{1b}[2J\r\u{7}\n"), "no flow \\u{1b}[2J\\r\\u{7}\n");
        assert_eq!(plain("a\tb\nc é"), "a\tb\nc é");
    }
}
