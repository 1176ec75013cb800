//! The control connection of a device on the bench: it calls, or is called.

use crate::standalone::{Endpoint, ListenAt};
use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::time::Duration;
use tenuto_io::{Interest, MonotonicClock, PollSet, StampedStream};
use tenuto_units::Span;

/// How long a called device may take to answer.
const CALLING: Duration = Duration::from_secs(10);
/// How long a device may take to call. One that waits between two tries calls sooner.
const CALLED: Span = Span::from_s(60);

/// Where the device is, or where it finds its controller.
#[derive(Debug)]
pub enum Channel {
    /// It calls here.
    Listening(TcpListener),
    /// It is called there.
    Calling(Endpoint),
}

impl Channel {
    /// Listens; TCP alone.
    ///
    /// # Errors
    /// When the address is not this machine's, or taken.
    pub fn listen(at: &ListenAt) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{at}: {error}"));
        let listener = TcpListener::bind((at.host.as_str(), at.port)).map_err(named)?;
        listener.set_nonblocking(true)?;
        Ok(Self::Listening(listener))
    }

    /// In words.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Listening(listener) => match listener.local_addr() {
                Ok(address) => format!("a switch that calls at {address}"),
                Err(_) => "a switch that calls".into(),
            },
            Self::Calling(endpoint) => format!("the switch at {endpoint}"),
        }
    }

    /// Connects, now or when the device calls.
    pub(super) fn connect(&self) -> io::Result<StampedStream> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("waiting for {}: {error}", self.name()))
        };
        let stream = match self {
            Self::Listening(listener) => called(listener),
            Self::Calling(endpoint) => calling(endpoint),
        };
        stream.and_then(StampedStream::new).map_err(named)
    }
}

fn called(listener: &TcpListener) -> io::Result<TcpStream> {
    let mut poll = PollSet::new();
    poll.add(listener.as_raw_fd(), Interest::Read);
    let until = MonotonicClock::now() + CALLED;
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if poll.wait(Some(until))? == 0 {
            let text = format!("none did in {} s", CALLED.as_ns() / 1_000_000_000);
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
    }
}

fn calling(endpoint: &Endpoint) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (endpoint.host.as_str(), endpoint.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CALLING) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
