//! Who asked for what, and what was answered: a line of JSON each.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

/// Bytes of the end of the file that are shown.
const SHOWN_BYTES_MAX: u64 = 1 << 20;

/// The file of who did what. It is no state: what was accepted is in the log, with who asked.
#[derive(Debug)]
pub struct Audit {
    file: Mutex<File>,
}

impl Audit {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
        Ok(Self { file: Mutex::new(file) })
    }

    /// Notes a line. A full disk does not stop the service: the log does that where it matters.
    pub(crate) fn note(&self, line: &serde_json::Value) {
        let mut file = self.file.lock().expect("nobody panics with it");
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }

    /// The latest lines, the oldest first.
    pub(crate) fn latest(&self, limit: usize) -> Vec<serde_json::Value> {
        let mut text = Vec::new();
        {
            let mut file = self.file.lock().expect("nobody panics with it");
            let length = file.metadata().map_or(0, |about| about.len());
            let start = length.saturating_sub(SHOWN_BYTES_MAX);
            let read = file.seek(SeekFrom::Start(start));
            if read.and_then(|_| file.read_to_end(&mut text)).is_err() {
                return Vec::new();
            }
        }
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        lines[lines.len().saturating_sub(limit)..].to_vec()
    }
}
