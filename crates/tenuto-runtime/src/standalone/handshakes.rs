//! Handshakes of peers that have connected by themselves: few at once, and none of them in the way
//! of the next for long.
//!
//! Until its handshake is over nobody can tell a tool with a certificate from a peer without one. So
//! one that takes long keeps its place only while nobody waits for it; who waits does so in the
//! backlog of the socket, first come, first served.

use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tenuto_units::{Instant, Span};

/// Handshakes at once.
const AT_ONCE: usize = 16;
/// A handshake keeps its place for so long although others wait.
pub(super) const KEPT: Span = Span::from_ms(250);

/// The handshakes that go on, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    going_on: Vec<Handshake>,
    next: u64,
}

#[derive(Debug)]
struct Handshake {
    number: u64,
    began: Instant,
    socket: TcpStream,
}

impl Handshakes {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when there is, or from when on there will be, a place for another one.
    pub(super) fn room_at(&self) -> Instant {
        let list = self.list();
        match list.going_on.first() {
            Some(oldest) if list.going_on.len() >= AT_ONCE => oldest.began + KEPT,
            _ => Instant::ZERO,
        }
    }

    /// Takes one on; the oldest one gives way if there is no place. Its number.
    pub(super) fn begin(&self, socket: TcpStream, now: Instant) -> u64 {
        let mut list = self.list();
        if list.going_on.len() >= AT_ONCE {
            // Its thread wakes up and finds its place gone. A socket that is closed already is as good.
            let _ = list.going_on.remove(0).socket.shutdown(Shutdown::Both);
        }
        let number = list.next;
        list.next += 1;
        list.going_on.push(Handshake { number, began: now, socket });
        number
    }

    /// One is over; false if it had given way.
    pub(super) fn end(&self, number: u64) -> bool {
        let mut list = self.list();
        let place = list.going_on.iter().position(|one| one.number == number);
        place.map(|place| list.going_on.remove(place)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        (listener.accept().expect("it connects").0, there)
    }

    #[test]
    fn the_oldest_gives_way_once_it_has_had_its_time() {
        let handshakes = Handshakes::default();
        let at = |ms| Instant::ZERO + Span::from_ms(ms);
        let mut far: Vec<TcpStream> = Vec::new();
        for ms in 0..16 {
            assert_eq!(handshakes.room_at(), Instant::ZERO);
            let (near, there) = pair();
            assert_eq!(handshakes.begin(near, at(1_000 + ms)), ms);
            far.push(there);
        }
        assert_eq!(handshakes.room_at(), at(1_250), "all places are taken");
        assert_eq!(handshakes.begin(pair().0, at(1_250)), 16);
        assert_eq!(far[0].read(&mut [0]).expect("closed in order"), 0);
        assert!(!handshakes.end(0), "it has given way");
        assert_eq!(handshakes.room_at(), at(1_251));
        assert!(handshakes.end(7) && !handshakes.end(7));
        assert_eq!(handshakes.room_at(), Instant::ZERO);
    }
}
