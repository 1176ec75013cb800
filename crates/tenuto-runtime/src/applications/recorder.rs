//! What a controller hears and tells, written down line by line.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tenuto_openflow::Body;
use tenuto_units::Instant;
use tenuto_world::races::Record;

/// A record that is being written. It ends at the first line that cannot be.
#[derive(Debug)]
pub struct Recorder {
    file: BufWriter<File>,
    next: u64,
    failed: Option<String>,
}

impl Recorder {
    /// Begins a record.
    ///
    /// # Errors
    /// Those of the file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "{}", Record::head())?;
        Ok(Self { file, next: 0, failed: None })
    }

    /// Notes a message that was heard; its place in the record.
    pub(super) fn heard(&mut self, now: Instant, datapath: u64, body: &Body) -> u64 {
        self.note(&Record::new(now.as_ns(), datapath, true, None, body))
    }

    /// Notes a message that was told, because of one that was heard.
    pub(super) fn told(&mut self, now: Instant, datapath: u64, because: Option<u64>, body: &Body) {
        self.note(&Record::new(now.as_ns(), datapath, false, because, body));
    }

    fn note(&mut self, record: &Record) -> u64 {
        let place = self.next;
        self.next += 1;
        if self.failed.is_none()
            && let Err(error) = writeln!(self.file, "{}", record.line())
        {
            self.failed = Some(error.to_string());
        }
        place
    }

    /// Writes out what is left, and tells why lines are missing, once.
    pub(super) fn flush(&mut self) -> Option<String> {
        if let Err(error) = self.file.flush() {
            self.failed.get_or_insert(error.to_string());
        }
        self.failed.clone()
    }
}
