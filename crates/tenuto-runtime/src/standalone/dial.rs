//! Connections that are made beside the data path: only the kernel knows for how long one takes.

use super::endpoint::{Endpoint, Transport};
use super::stream::Stream;
use super::tls::Tls;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tenuto_io::{Interest, PollKey, PollSet};
use tenuto_units::Span;

/// Pause after the first attempt that failed; the next are twice as long each.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(2);
/// How often a sleeping attempt looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// What a dial has to tell.
pub(super) enum Dialled {
    Made(Stream),
    /// Not reached, for this reason; it goes on trying.
    Failed(String),
}

/// Attempts to reach one controller, on a thread of their own.
pub(super) struct Dial {
    told: mpsc::Receiver<Dialled>,
    wake: UnixStream,
    key: PollKey,
    wanted: Arc<AtomicBool>,
}

/// How a controller is reached.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) endpoint: Endpoint,
    pub(super) tls: Option<Tls>,
    pub(super) backoff_max: Span,
}

impl Dial {
    /// Begins to connect, after a pause that grows with `failures` in a row.
    pub(super) fn start(way: Way, failures: u32, poll: &mut PollSet) -> io::Result<Self> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let (tell, told) = mpsc::channel();
        let wanted = Arc::new(AtomicBool::new(true));
        let still = Arc::clone(&wanted);
        crate::beside::spawn("connect", move || {
            keep_trying(&way, failures, &tell, waker, &still);
        })?;
        let key = poll.add(wake.as_raw_fd(), Interest::Read);
        Ok(Self { told, wake, key, wanted })
    }

    /// What happened since the last turn.
    pub(super) fn turn(&mut self, poll: &PollSet) -> Option<Dialled> {
        if poll.readiness(self.key).readable {
            let _ = self.wake.read(&mut [0; 64]);
        }
        self.told.try_recv().ok()
    }

    /// Gives up.
    pub(super) fn end(self, poll: &mut PollSet) {
        self.wanted.store(false, Ordering::Relaxed);
        poll.remove(self.key);
    }
}

/// The pause before an attempt that follows so many failures.
pub(super) fn pause_after(failures: u32, longest: Span) -> Duration {
    let longest = Duration::from_nanos(longest.as_ns());
    match failures {
        0 => Duration::ZERO,
        many => PAUSE_MIN.saturating_mul(1 << (many - 1).min(16)).min(longest),
    }
}

fn keep_trying(
    way: &Way,
    mut failures: u32,
    tell: &mpsc::Sender<Dialled>,
    mut waker: UnixStream,
    wanted: &AtomicBool,
) {
    let mut said = String::new();
    loop {
        let mut left = pause_after(failures, way.backoff_max);
        while !left.is_zero() && wanted.load(Ordering::Relaxed) {
            let step = left.min(LOOK);
            std::thread::sleep(step);
            left -= step;
        }
        if !wanted.load(Ordering::Relaxed) {
            return;
        }
        failures = failures.saturating_add(1);
        let news = match attempt(way) {
            Ok(stream) => Dialled::Made(stream),
            Err(error) => {
                let why = error.to_string();
                if why == said {
                    continue;
                }
                said.clone_from(&why);
                Dialled::Failed(why)
            }
        };
        let is_made = matches!(news, Dialled::Made(_));
        if tell.send(news).is_err() {
            return;
        }
        // A full pipe wakes up as well as a byte in it.
        let _ = waker.write(&[1]);
        if is_made {
            return;
        }
    }
}

fn attempt(way: &Way) -> io::Result<Stream> {
    let Endpoint { transport, host, port } = &way.endpoint;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host.as_str(), *port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ATTEMPT) {
            Ok(stream) => {
                return match (transport, &way.tls) {
                    (Transport::Tcp, _) => Stream::tcp(stream),
                    (Transport::Tls, Some(tls)) => tls.connect(stream, host),
                    (Transport::Tls, None) => Err(io::Error::other("no files for TLS were named")),
                };
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let longest = Span::from_s(8);
        let pauses: Vec<u128> =
            (0..10).map(|failures| pause_after(failures, longest).as_millis()).collect();
        assert_eq!(pauses, [0, 100, 200, 400, 800, 1600, 3200, 6400, 8000, 8000]);
        assert_eq!(pause_after(u32::MAX, longest).as_secs(), 8);
    }
}
