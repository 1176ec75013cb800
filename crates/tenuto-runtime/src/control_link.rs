//! The TCP connection of a switch to its controller: made beside the data path, kept by it.

use crate::beside;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::Duration;
use tenuto_io::namespaces::within_netns;
use tenuto_io::{Interest, PollKey, PollSet};

/// Pauses between attempts: the first, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(1);
/// A controller that takes no bytes while so many wait is taken for lost.
const OUTPUT_BYTES_MAX: usize = 16 << 20;
/// Bytes taken in per turn, so that the data path is never kept waiting.
const INPUT_BYTES: usize = 16 * 1024;

/// What the connection has for the switch.
#[derive(Debug)]
pub(crate) enum ControlNews {
    /// A connection was made.
    Connected,
    /// Bytes from the controller.
    Bytes(Vec<u8>),
    /// The connection is gone; another one is being made.
    Lost,
}

enum State {
    /// A thread of its own makes the connection: only the kernel knows for how long.
    Connecting {
        made: mpsc::Receiver<TcpStream>,
        wake: UnixStream,
        key: PollKey,
    },
    Connected {
        stream: TcpStream,
        key: PollKey,
    },
    /// There is no controller, or no thread to reach it.
    Absent,
}

/// A connection that is made again whenever it is lost.
pub(crate) struct ControlLink {
    controller: Option<SocketAddr>,
    /// The process in whose network namespace the connection is made; `None` in the present one.
    within: Option<u32>,
    state: State,
    output: Vec<u8>,
}

impl ControlLink {
    /// Begins to connect.
    pub(crate) fn new(
        controller: Option<SocketAddr>,
        within: Option<u32>,
        poll: &mut PollSet,
    ) -> io::Result<Self> {
        let mut link = Self { controller, within, state: State::Absent, output: Vec::new() };
        link.connect(poll)?;
        Ok(link)
    }

    fn connect(&mut self, poll: &mut PollSet) -> io::Result<()> {
        let Some(controller) = self.controller else { return Ok(()) };
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let (tell, made) = mpsc::channel();
        let within = self.within;
        let try_there = move || match within {
            None => keep_trying(controller, &tell, waker),
            // A namespace that is gone has no controller either.
            Some(pid) => drop(within_netns(pid, || keep_trying(controller, &tell, waker))),
        };
        beside::spawn("connect", try_there)?;
        let key = poll.add(wake.as_raw_fd(), Interest::Read);
        self.state = State::Connecting { made, wake, key };
        Ok(())
    }

    /// What happened since the last turn; to be called when the poll set has woken up.
    pub(crate) fn turn(&mut self, poll: &mut PollSet) -> io::Result<Option<ControlNews>> {
        match &mut self.state {
            State::Absent => Ok(None),
            State::Connecting { made, wake, key } => {
                if !poll.readiness(*key).readable {
                    return Ok(None);
                }
                let _ = wake.read(&mut [0; 8]);
                let Ok(stream) = made.try_recv() else { return Ok(None) };
                poll.remove(*key);
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                let key = poll.add(stream.as_raw_fd(), Interest::Read);
                self.state = State::Connected { stream, key };
                Ok(Some(ControlNews::Connected))
            }
            State::Connected { stream, key } => {
                if !poll.readiness(*key).readable {
                    return Ok(None);
                }
                let mut bytes = vec![0; INPUT_BYTES];
                match stream.read(&mut bytes) {
                    Ok(count) if count > 0 => {
                        bytes.truncate(count);
                        Ok(Some(ControlNews::Bytes(bytes)))
                    }
                    Err(error) if is_later(&error) => Ok(None),
                    _ => self.lose(poll),
                }
            }
        }
    }

    /// Sends `bytes` as far as the controller takes them; the rest follows. Leaves `bytes` empty.
    pub(crate) fn send(
        &mut self,
        bytes: &mut Vec<u8>,
        poll: &mut PollSet,
    ) -> io::Result<Option<ControlNews>> {
        let State::Connected { stream, key } = &mut self.state else {
            bytes.clear();
            return Ok(None);
        };
        if bytes.is_empty() && self.output.is_empty() {
            return Ok(None);
        }
        self.output.append(bytes);
        let mut sent = 0;
        let is_lost = loop {
            match stream.write(&self.output[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break !is_later(&error),
            }
            if sent == self.output.len() {
                break false;
            }
        };
        self.output.drain(..sent);
        let interest = match self.output.is_empty() {
            true => Interest::Read,
            false => Interest::ReadWrite,
        };
        poll.set_interest(*key, interest);
        match is_lost || self.output.len() > OUTPUT_BYTES_MAX {
            true => self.lose(poll),
            false => Ok(None),
        }
    }

    /// Whether something waits to be sent.
    pub(crate) const fn is_sending(&self) -> bool {
        !self.output.is_empty()
    }

    /// Ends the connection and begins to make another.
    pub(crate) fn lose(&mut self, poll: &mut PollSet) -> io::Result<Option<ControlNews>> {
        if let State::Connected { key, .. } = &self.state {
            poll.remove(*key);
            self.output.clear();
            self.state = State::Absent;
            self.connect(poll)?;
            return Ok(Some(ControlNews::Lost));
        }
        Ok(None)
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Tries until the controller answers; a process that ends takes the attempt with it.
fn keep_trying(controller: SocketAddr, tell: &mpsc::Sender<TcpStream>, mut waker: UnixStream) {
    let mut pause = PAUSE_MIN;
    loop {
        if let Ok(stream) = TcpStream::connect_timeout(&controller, ATTEMPT) {
            if tell.send(stream).is_ok() {
                // A full pipe wakes up as well as a byte in it.
                let _ = waker.write(&[1]);
            }
            return;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}
