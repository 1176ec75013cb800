//! Asking a supervisor, over a socket in its state folder that only its user may open.

use crate::status::Status;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// What a supervisor is asked; one line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// What is observed.
    Status,
    /// One tenant is to end, or all with the supervisor; the answer comes when they have.
    Stop(Option<String>),
    /// A file of tenants, by path and text: what differs from the present one is started, started
    /// again or ended, and nothing else is touched.
    Apply(String, String),
}

/// What it answers; one line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// What is observed.
    Status(Status),
    /// Done; what was done, a line each.
    Done(Vec<String>),
    /// Not done, and why.
    Refused(String),
}

/// Longest line: a large file of tenants fits.
const LINE_BYTES_MAX: u64 = 4 << 20;
/// The supervisor serves others meanwhile to whoever asks slowly.
const PATIENCE: Duration = Duration::from_secs(2);
/// Tenants are given five seconds to end.
const STOP_PATIENCE: Duration = Duration::from_secs(60);

/// Asks the supervisor behind `socket`.
///
/// # Errors
///
/// [`io::ErrorKind::NotFound`] or [`io::ErrorKind::ConnectionRefused`] when none runs.
pub fn ask(socket: &Path, request: &Request) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(STOP_PATIENCE))?;
    write(&mut stream, request)?;
    read(stream)
}

/// Reads a request from somebody who was accepted.
pub(crate) fn read_request(stream: &UnixStream) -> io::Result<Request> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    read(stream)
}

pub(crate) fn write(stream: &mut impl Write, it: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(it)?;
    line.push(b'\n');
    stream.write_all(&line)
}

fn read<T: for<'a> Deserialize<'a>>(stream: impl Read) -> io::Result<T> {
    let mut line = String::new();
    BufReader::new(stream.take(LINE_BYTES_MAX)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
