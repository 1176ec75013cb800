//! Switches of a measurement: connections that each keep so many messages on their way.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;
use tenuto_io::{Interest, MonotonicClock, PollKey, PollSet};
use tenuto_units::{Instant, Span};

/// Messages that are on their way at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Talk {
    /// Connections.
    pub(super) connections: usize,
    /// Messages of each of them.
    pub(super) outstanding: usize,
    /// Bytes of a message.
    pub(super) bytes: usize,
}

/// Connections to control planes.
pub(super) struct Client {
    talk: Talk,
    set: PollSet,
    connections: Vec<Connection>,
    buffer: Vec<u8>,
    message: Vec<u8>,
    /// Round trips, nanoseconds.
    pub(super) round_trips_ns: Vec<u64>,
}

struct Connection {
    stream: TcpStream,
    key: PollKey,
    /// When those on their way were sent, oldest first.
    sent: VecDeque<Instant>,
    /// Bytes of an answer that is not whole yet.
    part: usize,
    /// Bytes that the kernel had no room for.
    unsent: usize,
}

/// Until a control plane accepts.
const PATIENCE: Duration = Duration::from_secs(3);
/// Round trips that are kept.
const KEPT: usize = 1 << 20;

impl Client {
    /// To each of them so many.
    pub(super) fn connect(to: &[SocketAddr], talk: Talk) -> io::Result<Self> {
        let mut set = PollSet::new();
        let each = to.iter().flat_map(|to| std::iter::repeat_n(to, talk.connections));
        let connections = each.map(|to| {
            let stream = TcpStream::connect_timeout(to, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let key = set.add(stream.as_raw_fd(), Interest::Read);
            Ok(Connection { stream, key, sent: VecDeque::new(), part: 0, unsent: 0 })
        });
        let connections = connections.collect::<io::Result<_>>()?;
        let message = vec![0; talk.bytes * talk.outstanding];
        let buffer = vec![0; 64 << 10];
        Ok(Self { talk, set, connections, buffer, message, round_trips_ns: Vec::new() })
    }

    /// Talks for so long; the number of messages that were answered. What is on its way at the end stays so.
    pub(super) fn talk(&mut self, length: Span) -> io::Result<u64> {
        let end = MonotonicClock::now() + length;
        let mut answered = 0;
        for connection in &mut self.connections {
            let missing = self.talk.outstanding - connection.sent.len();
            connection.send(missing, &self.message, self.talk.bytes)?;
        }
        while MonotonicClock::now() < end {
            self.set.wait(Some(end))?;
            for connection in &mut self.connections {
                if !self.set.readiness(connection.key).readable {
                    continue;
                }
                let whole = connection.receive(&mut self.buffer, self.talk.bytes)?;
                let now = MonotonicClock::now();
                for sent in connection.sent.drain(..whole.min(connection.sent.len())) {
                    if self.round_trips_ns.len() < KEPT {
                        self.round_trips_ns.push(now.since(sent).as_ns());
                    }
                }
                answered += whole as u64;
                connection.send(whole, &self.message, self.talk.bytes)?;
            }
        }
        Ok(answered)
    }
}

impl Connection {
    /// Messages that are whole now.
    fn receive(&mut self, buffer: &mut [u8], bytes: usize) -> io::Result<usize> {
        match self.stream.read(buffer) {
            Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "a control plane hung up")),
            Ok(length) => {
                let sum = self.part + length;
                self.part = sum % bytes;
                Ok(sum / bytes)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Sends so many messages at once.
    fn send(&mut self, count: usize, message: &[u8], bytes: usize) -> io::Result<()> {
        let now = MonotonicClock::now();
        self.sent.extend(std::iter::repeat_n(now, count));
        let wanted = self.unsent + count * bytes;
        let sent = match self.stream.write(&message[..wanted.min(message.len())]) {
            Ok(sent) => sent,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        self.unsent = wanted - sent;
        Ok(())
    }
}
