//! Captures of what passes a port, as pcap with nanoseconds, written beside the data path.
//!
//! The data path hands frames to a thread through a bounded queue and never waits for it: what the
//! file does not take in time is counted as missed.

use super::settings::{TapDirection, TapSettings};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};
use tenuto_io::MonotonicClock;
use tenuto_units::Instant;

/// Frames that wait for the file.
const WAITING_MAX: usize = 4_096;
/// The magic number of files with nanoseconds, in the byte order of the writer.
const MAGIC_NS: u32 = 0xa1b2_3c4d;
const FILE_HEADER_BYTES: u64 = 24;
const RECORD_HEADER_BYTES: u64 = 16;
const SNAP_BYTES: u32 = 65_535;
/// `LINKTYPE_ETHERNET`.
const ETHERNET: u32 = 1;
const NS_PER_S: u64 = 1_000_000_000;

/// Which way a frame went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Received,
    Sent,
}

/// A capture that is being written.
pub(super) struct Tap {
    direction: TapDirection,
    /// `None` once the capture has ended.
    frames: Option<SyncSender<(Instant, Vec<u8>)>>,
    ended: Receiver<String>,
    writer: JoinHandle<()>,
    missed: u64,
    path: PathBuf,
}

impl Tap {
    /// Begins to write; a file of that name is replaced.
    pub(super) fn open(settings: &TapSettings) -> io::Result<Self> {
        let writer = PcapWriter::open(settings).map_err(|error| {
            let text = format!("capture {}: {error}", settings.file.display());
            io::Error::new(error.kind(), text)
        })?;
        let (frames, waiting) = mpsc::sync_channel(WAITING_MAX);
        let (tell, ended) = mpsc::sync_channel(1);
        let writer = crate::beside::spawn("pcap", move || {
            if let Err(why) = writer.write_all(&waiting) {
                let _ = tell.try_send(why);
            }
        })?;
        let (direction, path) = (settings.direction, settings.file.clone());
        Ok(Self { direction, frames: Some(frames), ended, writer, missed: 0, path })
    }

    /// Notes a frame, if it is wanted and there is room.
    pub(super) fn note(&mut self, direction: Direction, at: Instant, frame: &[u8]) {
        let is_wanted = match self.direction {
            TapDirection::Both => true,
            TapDirection::Received => direction == Direction::Received,
            TapDirection::Sent => direction == Direction::Sent,
        };
        let Some(frames) = self.frames.as_ref().filter(|_| is_wanted) else { return };
        match frames.try_send((at, frame.to_vec())) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.missed += 1,
            Err(TrySendError::Disconnected(_)) => self.frames = None,
        }
    }

    /// Why it has ended, once.
    pub(super) fn take_end(&mut self) -> Option<String> {
        self.ended.try_recv().ok()
    }

    /// Writes out what waits; how many frames were missed, and in which file.
    pub(super) fn finish(mut self) -> (PathBuf, u64) {
        self.frames = None;
        // A writer that panicked has nothing left to write.
        let _ = self.writer.join();
        (self.path, self.missed)
    }
}

struct PcapWriter {
    settings: TapSettings,
    file: BufWriter<File>,
    bytes: u64,
    /// What CLOCK_REALTIME was ahead of the monotonic clock when the capture began.
    ahead_ns: u64,
}

impl PcapWriter {
    fn open(settings: &TapSettings) -> io::Result<Self> {
        let real = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
        let real_ns = u64::try_from(real.as_nanos()).unwrap_or(u64::MAX);
        let ahead_ns = real_ns.saturating_sub(MonotonicClock::now().as_ns());
        let file = begin(&settings.file)?;
        Ok(Self { settings: settings.clone(), file, bytes: FILE_HEADER_BYTES, ahead_ns })
    }

    /// Writes what comes until no more can; says why if that is not at its end.
    fn write_all(mut self, frames: &Receiver<(Instant, Vec<u8>)>) -> Result<(), String> {
        while let Ok((at, frame)) = frames.recv() {
            let needed = RECORD_HEADER_BYTES + frame.len() as u64;
            if self.bytes + needed > self.settings.bytes_max {
                self.file.flush().map_err(|error| error.to_string())?;
                if self.settings.files <= 1 {
                    return Err(format!("it is full: {} bytes", self.bytes));
                }
                self.rotate().map_err(|error| error.to_string())?;
            }
            self.record(at, &frame).map_err(|error| error.to_string())?;
            self.bytes += needed;
        }
        self.file.flush().map_err(|error| error.to_string())
    }

    fn record(&mut self, at: Instant, frame: &[u8]) -> io::Result<()> {
        let ns = at.as_ns().saturating_add(self.ahead_ns);
        // The format ends in 2106.
        let seconds = u32::try_from(ns / NS_PER_S).unwrap_or(u32::MAX);
        let rest = u32::try_from(ns % NS_PER_S).unwrap_or(0);
        let length = u32::try_from(frame.len()).unwrap_or(SNAP_BYTES);
        for number in [seconds, rest, length, length] {
            self.file.write_all(&number.to_ne_bytes())?;
        }
        self.file.write_all(frame)
    }

    /// The full file becomes number 1, that one number 2, and so on; the last goes.
    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.settings.files).rev() {
            let from = match number {
                1 => self.settings.file.clone(),
                _ => numbered(&self.settings.file, number - 1),
            };
            match fs::rename(&from, numbered(&self.settings.file, number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.file = begin(&self.settings.file)?;
        self.bytes = FILE_HEADER_BYTES;
        Ok(())
    }
}

/// A fresh file with its header.
fn begin(path: &Path) -> io::Result<BufWriter<File>> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(&MAGIC_NS.to_ne_bytes())?;
    for half in [2_u16, 4] {
        file.write_all(&half.to_ne_bytes())?;
    }
    for number in [0, 0, SNAP_BYTES, ETHERNET] {
        file.write_all(&number.to_ne_bytes())?;
    }
    file.flush()?;
    Ok(file)
}

/// `eth1.pcap` as number 2: `eth1.2.pcap`.
fn numbered(path: &Path, number: u16) -> PathBuf {
    match path.extension() {
        Some(end) => path.with_extension(format!("{number}.{}", end.to_string_lossy())),
        None => path.with_extension(number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(name: &str, bytes_max: u64, files: u16) -> TapSettings {
        let folder =
            std::env::temp_dir().join(format!("tenuto-pcap-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        TapSettings {
            file: folder.join("eth1.pcap"),
            bytes_max,
            files,
            direction: TapDirection::Received,
        }
    }

    fn capture(settings: &TapSettings, frames: u8) -> Option<String> {
        let mut tap = Tap::open(settings).expect("a file can be written");
        for byte in 0..frames {
            tap.note(Direction::Received, MonotonicClock::now(), &[byte; 60]);
            tap.note(Direction::Sent, MonotonicClock::now(), &[0xff; 60]);
        }
        tap.frames = None;
        while !tap.writer.is_finished() {
            std::thread::yield_now();
        }
        let end = tap.take_end();
        assert_eq!(tap.finish().1, 0);
        end
    }

    #[test]
    fn frames_are_written_with_nanoseconds_and_their_direction_is_chosen() {
        let settings = settings("plain", 1 << 20, 1);
        assert_eq!(capture(&settings, 2), None);
        let bytes = fs::read(&settings.file).expect("written");
        assert_eq!(bytes.len(), 24 + 2 * 76);
        assert_eq!(bytes[..4], MAGIC_NS.to_ne_bytes());
        let seconds = u32::from_ne_bytes(*bytes[24..].first_chunk().expect("a record"));
        assert!(seconds > 1_700_000_000, "the date, not the time since the start");
        assert_eq!((&bytes[32..36], &bytes[40..100]), (&60_u32.to_ne_bytes()[..], &[0; 60][..]));
        assert_eq!(&bytes[116..], &[1; 60]);
    }

    #[test]
    fn a_full_file_ends_the_capture_or_makes_way() {
        let one = settings("stop", 24 + 3 * 76, 1);
        assert!(capture(&one, 9).is_some_and(|why| why.contains("full")));
        assert_eq!(fs::metadata(&one.file).expect("written").len(), 24 + 3 * 76);
        let several = settings("rotate", 24 + 3 * 76, 3);
        assert_eq!(capture(&several, 11), None);
        let firsts = ["eth1.pcap", "eth1.1.pcap", "eth1.2.pcap"].map(|name| {
            let bytes = fs::read(several.file.with_file_name(name)).expect("rotated");
            bytes[40]
        });
        assert_eq!(firsts, [9, 6, 3], "the first three frames are gone");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let settings =
            TapSettings { file: "/no-such-folder/x.pcap".into(), ..settings("no", 1, 1) };
        let error = Tap::open(&settings).err().expect("no folder").to_string();
        assert!(error.contains("/no-such-folder/x.pcap"), "{error}");
    }
}
