//! A control plane that is measured: it answers every message with the same bytes, and counts datagrams.
//!
//! It is the least that a controller does, so that what is measured is the path and not the controller.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use tenuto_io::{Interest, PollKey, PollSet};

/// How this program is called when it is a control plane of a measurement.
pub(crate) const ROLE: &str = "tenuto-tenants-echo";
/// Where it listens, for connections and datagrams.
pub(crate) const PORT: u16 = 6653;
/// A datagram that asks how many there were; the answer is eight bytes.
pub(super) const ASK_COUNT: &[u8] = b"count";
/// Bytes that are read at once, and kept while a reader is slow.
const BYTES_AT_ONCE: usize = 64 << 10;
/// Datagrams that are taken before connections have their turn.
const DATAGRAMS_AT_ONCE: usize = 64;

/// Serves until it is ended.
pub(crate) fn main() -> ExitCode {
    match Server::new().and_then(|mut server| server.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Server {
    listener: TcpListener,
    datagrams: UdpSocket,
    count: u64,
    set: PollSet,
    connections: Vec<Connection>,
    bytes: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    key: PollKey,
    /// Bytes that the reader has not taken yet.
    unsent: Vec<u8>,
}

impl Server {
    fn new() -> io::Result<Self> {
        let listener = TcpListener::bind(("0.0.0.0", PORT))?;
        listener.set_nonblocking(true)?;
        let datagrams = UdpSocket::bind(("0.0.0.0", PORT))?;
        datagrams.set_nonblocking(true)?;
        println!("listening");
        let (set, connections) = (PollSet::new(), Vec::new());
        Ok(Self { listener, datagrams, count: 0, set, connections, bytes: vec![0; BYTES_AT_ONCE] })
    }

    fn run(&mut self) -> io::Result<()> {
        let listener = self.set.add(self.listener.as_raw_fd(), Interest::Read);
        let datagrams = self.set.add(self.datagrams.as_raw_fd(), Interest::Read);
        loop {
            self.set.wait(None)?;
            if self.set.readiness(datagrams).readable {
                self.take_datagrams()?;
            }
            self.serve();
            if self.set.readiness(listener).readable {
                self.accept();
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_ok() {
                let key = self.set.add(stream.as_raw_fd(), Interest::Read);
                self.connections.push(Connection { stream, key, unsent: Vec::new() });
            }
        }
    }

    fn serve(&mut self) {
        let (set, bytes) = (&mut self.set, &mut self.bytes);
        self.connections.retain_mut(|connection| {
            let ready = set.readiness(connection.key);
            if !ready.readable && !ready.writable {
                return true;
            }
            let goes_on = connection.serve(bytes);
            match goes_on {
                true => set.set_interest(connection.key, connection.interest()),
                false => set.remove(connection.key),
            }
            goes_on
        });
    }

    fn take_datagrams(&mut self) -> io::Result<()> {
        for _ in 0..DATAGRAMS_AT_ONCE {
            match self.datagrams.recv_from(&mut self.bytes) {
                Ok((length, from)) if self.bytes[..length] == *ASK_COUNT => {
                    // An answer that is lost is asked for again.
                    let _ = self.datagrams.send_to(&self.count.to_be_bytes(), from);
                }
                Ok(_) => self.count += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // Of an answer that nobody took.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Connection {
    const fn interest(&self) -> Interest {
        // A reader that takes nothing is read no further.
        if self.unsent.is_empty() { Interest::Read } else { Interest::Write }
    }

    /// Answers what has come; `false` when it is over.
    fn serve(&mut self, bytes: &mut [u8]) -> bool {
        if self.unsent.is_empty() {
            match self.stream.read(bytes) {
                Ok(0) => return false,
                Ok(length) => self.unsent.extend_from_slice(&bytes[..length]),
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        match self.stream.write(&self.unsent) {
            Ok(sent) => drop(self.unsent.drain(..sent)),
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
        true
    }
}
