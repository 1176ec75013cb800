//! JSON lines over a pair of connected sockets, without blocking and with limits.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

/// Bytes fetched per call of the kernel.
const READ_BYTES: usize = 64 * 1024;
/// Calls of the kernel per turn, so that nobody is served for too long.
const READS_PER_TURN: usize = 4;
/// A line longer than this is not one of ours.
const LINE_BYTES_MAX: usize = 256 << 20;
/// A buffer is moved to its front when so much of it was sent.
const COMPACT_BYTES: usize = 1 << 20;

/// Two connected ends: ours, and what a child gets as its standard input.
pub(crate) fn pair() -> io::Result<(UnixStream, Stdio)> {
    let (ours, theirs) = UnixStream::pair()?;
    Ok((ours, Stdio::from(OwnedFd::from(theirs))))
}

/// The end that this process was given as its standard input.
pub(crate) fn inherited() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Reads a line as a value.
pub(crate) fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| {
        let shown = String::from_utf8_lossy(&line[..line.len().min(120)]).into_owned();
        format!("unreadable line {shown:?}: {error}")
    })
}

/// The receiving half.
pub(crate) struct LineReader {
    stream: UnixStream,
    buffer: Vec<u8>,
    scanned: usize,
}

impl LineReader {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, buffer: Vec::new(), scanned: 0 })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Waits for the first line; what follows it is kept.
    pub(crate) fn first(&mut self) -> io::Result<Vec<u8>> {
        self.stream.set_nonblocking(false)?;
        let mut chunk = vec![0; READ_BYTES];
        loop {
            if let Some(line) = self.take_line() {
                self.stream.set_nonblocking(true)?;
                return Ok(line);
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.take_in(&chunk[..count])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what is there and visits every whole line; `false` when the other end is gone.
    pub(crate) fn read(&mut self, mut visit: impl FnMut(&[u8])) -> io::Result<bool> {
        let mut chunk = [0; READ_BYTES];
        let mut is_open = true;
        for _ in 0..READS_PER_TURN {
            match self.stream.read(&mut chunk) {
                Ok(0) => is_open = false,
                Ok(count) => {
                    self.take_in(&chunk[..count])?;
                    if count == READ_BYTES {
                        continue;
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => {}
                    io::ErrorKind::Interrupted => continue,
                    io::ErrorKind::ConnectionReset => is_open = false,
                    _ => return Err(error),
                },
            }
            break;
        }
        let mut start = 0;
        while let Some(length) = self.buffer[self.scanned..].iter().position(|b| *b == b'\n') {
            let end = self.scanned + length;
            visit(&self.buffer[start..end]);
            start = end + 1;
            self.scanned = start;
        }
        self.buffer.drain(..start);
        self.scanned = self.buffer.len();
        Ok(is_open)
    }

    fn take_in(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > LINE_BYTES_MAX {
            return Err(io::Error::other("a line without end"));
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let found = self.buffer[self.scanned..].iter().position(|b| *b == b'\n');
        let Some(length) = found else {
            self.scanned = self.buffer.len();
            return None;
        };
        let end = self.scanned + length;
        let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
        line.pop();
        self.scanned = 0;
        Some(line)
    }
}

/// The sending half: holds up to a limit of bytes, beyond which lines are lost and counted.
pub(crate) struct LineWriter {
    stream: UnixStream,
    buffer: Vec<u8>,
    sent: usize,
    limit: usize,
    lost: u64,
    is_closed: bool,
}

impl LineWriter {
    pub(crate) fn new(stream: UnixStream, limit: usize) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, buffer: Vec::new(), sent: 0, limit, lost: 0, is_closed: false })
    }

    /// Bytes that wait.
    pub(crate) const fn pending(&self) -> usize {
        self.buffer.len() - self.sent
    }

    /// Lines lost since this was asked last.
    pub(crate) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// Whether no line is lost of which nobody has asked.
    pub(crate) const fn has_all(&self) -> bool {
        self.lost == 0
    }

    /// Whether there is room for a line.
    pub(crate) const fn has_room(&self) -> bool {
        self.pending() <= self.limit
    }

    /// Appends a line; lost if there is no room.
    pub(crate) fn push(&mut self, value: &impl Serialize) {
        if self.pending() > self.limit {
            self.lost += 1;
            return;
        }
        if serde_json::to_writer(&mut self.buffer, value).is_ok() {
            self.buffer.push(b'\n');
        }
    }

    /// Appends a line as it is.
    pub(crate) fn push_line(&mut self, line: &[u8]) {
        if self.pending() > self.limit {
            self.lost += 1;
            return;
        }
        self.buffer.extend_from_slice(line);
        self.buffer.push(b'\n');
    }

    /// Sends what the other end takes now. A closed other end takes everything.
    pub(crate) fn write(&mut self) {
        while !self.is_closed && self.sent < self.buffer.len() {
            match self.stream.write(&self.buffer[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.is_closed = true,
            }
        }
        if self.is_closed || self.sent == self.buffer.len() {
            self.buffer.clear();
            self.sent = 0;
        } else if self.sent > COMPACT_BYTES {
            self.buffer.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Sends the rest, waiting for the other end for at most `patience`.
    pub(crate) fn finish(&mut self, patience: Duration) {
        if self.stream.set_nonblocking(false).is_ok()
            && self.stream.set_write_timeout(Some(patience)).is_ok()
        {
            self.write();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_arrive_whole_whatever_the_pieces() {
        let (a, b) = UnixStream::pair().expect("a pair");
        let mut raw = a.try_clone().expect("a descriptor");
        let mut reader = LineReader::new(b).expect("a socket");
        let mut lines = Vec::new();
        for piece in ["{\"a\"", ":1}\n[2", "]\n\n3"] {
            raw.write_all(piece.as_bytes()).expect("room");
            assert!(reader.read(|line| lines.push(line.to_vec())).expect("a socket"));
        }
        assert_eq!(lines, [&b"{\"a\":1}"[..], b"[2]", b""]);
        drop((a, raw));
        assert!(!reader.read(|_| panic!("no end of line")).expect("a socket"));
    }

    #[test]
    fn the_first_line_leaves_the_rest() {
        let (mut a, b) = UnixStream::pair().expect("a pair");
        a.write_all(b"job\nnext\nlast\n").expect("room");
        let mut reader = LineReader::new(b).expect("a socket");
        assert_eq!(reader.first().expect("a line"), b"job");
        let mut lines = Vec::new();
        reader.read(|line| lines.push(line.to_vec())).expect("a socket");
        assert_eq!(lines, [b"next", b"last"]);
    }

    #[test]
    fn a_full_writer_loses_lines_and_counts_them() {
        let (a, b) = UnixStream::pair().expect("a pair");
        let mut writer = LineWriter::new(a, 10).expect("a socket");
        for _ in 0..4 {
            writer.push(&"123456");
        }
        assert_eq!(writer.take_lost(), 2);
        writer.write();
        assert_eq!(writer.pending(), 0);
        drop(b);
        writer.push(&1);
        writer.write();
        assert_eq!(writer.pending(), 0, "nobody reads it: nothing is kept");
    }
}
