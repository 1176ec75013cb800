//! The log of a tenant: the newest of what it wrote, in two files of half the limit each.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tenuto_units::{Instant, Span};

/// Appends to `NAME.log`; when that is half the limit, it becomes `NAME.log.1`.
#[derive(Debug)]
pub(crate) struct BoundedLog {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
}

impl BoundedLog {
    /// Goes on with the log at `path`.
    pub(crate) fn open(path: PathBuf, limit_bytes: u64) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path, file, bytes, bytes_max: limit_bytes / 2 })
    }

    /// Appends; what is older than the limit goes.
    pub(crate) fn append(&mut self, text: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.bytes_max).unwrap_or(usize::MAX);
        for part in text.chunks(room.max(1)) {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            if self.bytes + length > self.bytes_max {
                self.turn()?;
            }
            self.file.write_all(part)?;
            self.bytes += length;
        }
        Ok(())
    }

    fn turn(&mut self) -> io::Result<()> {
        fs::rename(&self.path, older(&self.path))?;
        self.file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        self.bytes = 0;
        Ok(())
    }
}

fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// How much of a log is taken in a second: no more than is kept. Writing more would only wear the disk,
/// and take the supervisor's time from others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogPace {
    bytes_max: u64,
    second: Option<Instant>,
    bytes: u64,
}

impl LogPace {
    pub(crate) const fn new(limit_bytes: u64) -> Self {
        Self { bytes_max: limit_bytes, second: None, bytes: 0 }
    }

    /// After `read` bytes more: until when nothing is to be taken, if that was enough.
    pub(crate) fn after(&mut self, read: usize, now: Instant) -> Option<Instant> {
        let began = self.second.filter(|began| now.since(*began) < SECOND);
        if began.is_none() {
            (self.second, self.bytes) = (Some(now), 0);
        }
        self.bytes += u64::try_from(read).unwrap_or(u64::MAX);
        (self.bytes >= self.bytes_max).then(|| began.unwrap_or(now) + SECOND)
    }
}

const SECOND: Span = Span::from_s(1);

/// All that is kept of a log, the oldest first.
///
/// # Errors
///
/// When there is none.
pub fn read_log(path: &Path) -> io::Result<Vec<u8>> {
    // The newer file is not there for the moment in which it becomes the older one.
    match (fs::read(older(path)), fs::read(path)) {
        (Ok(mut text), newer) => {
            text.extend(newer.unwrap_or_default());
            Ok(text)
        }
        (Err(_), newer) => newer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_waits_for_the_next_second() {
        let mut pace = LogPace::new(100);
        let at = |ms: u64| Instant::from_ns(ms * 1_000_000);
        assert_eq!(pace.after(60, at(0)), None);
        assert_eq!(pace.after(60, at(300)), Some(at(1_000)));
        assert_eq!(pace.after(99, at(1_000)), None);
        assert_eq!(pace.after(1, at(1_500)), Some(at(2_000)));
    }

    #[test]
    fn the_newest_is_kept_within_the_limit() {
        let path = std::env::temp_dir().join(format!("tenuto-log-{}", std::process::id()));
        let mut log = BoundedLog::open(path.clone(), 100).expect("a file");
        for number in 0..100 {
            log.append(format!("line {number:4}\n").as_bytes()).expect("a file");
            let kept = read_log(&path).expect("it is there").len();
            assert!(kept <= 100, "{kept}");
        }
        log.append(&[b'x'; 1_000]).expect("a file");
        log.append(b"last").expect("a file");
        let kept = read_log(&path).expect("it is there");
        assert!(kept.len() <= 100 && kept.ends_with(b"last"), "{}", kept.len());
        drop(log);
        let mut log = BoundedLog::open(path.clone(), 100).expect("a file");
        log.append(b"on").expect("a file");
        assert!(read_log(&path).expect("it is there").ends_with(b"laston"));
        drop(log);
        fs::rename(&path, older(&path)).expect("mine");
        assert!(read_log(&path).expect("the older one").ends_with(b"laston"));
        fs::write(&path, "").expect("mine");
        for path in [older(&path), path] {
            fs::remove_file(path).expect("mine");
        }
    }
}
