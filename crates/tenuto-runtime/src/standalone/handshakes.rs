//! Handshakes of peers that have connected by themselves: few at once, and none of them in the way
//! of the next for long.
//!
//! Until its handshake is over nobody can tell a tool with a certificate from a peer without one. So
//! one that takes long keeps its place only while nobody waits for it.
//!
//! Places are shared by owner, as connections are ([`Owner`]): whoever has many gives way first, and to who has few at
//! once; of those who wait, who has the fewest is next. So who fills all places with silence keeps
//! himself waiting, and no other.

use super::callers::Owner;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tenuto_units::{Instant, Span};

/// Handshakes at once.
const AT_ONCE: usize = 16;
/// A handshake keeps its place for so long although others wait that have no fewer places.
pub(super) const KEPT: Span = Span::from_ms(250);

/// Peers that wait for a place, at one address that is listened at.
const WAITING_MAX: usize = 64;

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
    owner: Owner,
    socket: TcpStream,
}

impl List {
    fn of(&self, owner: Owner) -> usize {
        self.going_on.iter().filter(|one| one.owner == owner).count()
    }

    /// Who gives way: the oldest of an owner who has the most places.
    fn first_to_go(&self) -> Option<usize> {
        let places = 0..self.going_on.len();
        // Of several the first one: the oldest.
        places.rev().max_by_key(|&place| self.of(self.going_on[place].owner))
    }

    /// Since when there is, or from when on there will be, a place for one of this owner.
    fn room_at(&self, owner: Owner) -> Instant {
        if self.going_on.len() < AT_ONCE {
            return Instant::ZERO;
        }
        let Some(place) = self.first_to_go() else { return Instant::ZERO };
        let first = &self.going_on[place];
        // One place more would still be fewer than the other has.
        let is_due = self.of(owner) + 1 < self.of(first.owner);
        if is_due { Instant::ZERO } else { first.began + KEPT }
    }
}

impl Handshakes {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when there is, or from when on there will be, a place for one of this owner.
    pub(super) fn room_at(&self, owner: Owner) -> Instant {
        self.list().room_at(owner)
    }

    fn of(&self, owner: Owner) -> usize {
        self.list().of(owner)
    }

    /// Takes one on; another one gives way if there is no place. Its number.
    pub(super) fn begin(&self, socket: TcpStream, owner: Owner, now: Instant) -> u64 {
        let mut list = self.list();
        if list.going_on.len() >= AT_ONCE
            && let Some(place) = list.first_to_go()
        {
            // Its thread wakes up and finds its place gone. A socket that is closed already is as good.
            let _ = list.going_on.remove(place).socket.shutdown(Shutdown::Both);
        }
        let number = list.next;
        list.next += 1;
        list.going_on.push(Handshake { number, began: now, owner, socket });
        number
    }

    /// One is over; false if it had given way.
    pub(super) fn end(&self, number: u64) -> bool {
        let mut list = self.list();
        let place = list.going_on.iter().position(|one| one.number == number);
        place.map(|place| list.going_on.remove(place)).is_some()
    }
}

/// Peers that wait for their handshakes, the first come first.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    peers: Vec<(Owner, T)>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self { peers: Vec::new() }
    }
}

impl<T> Waiting<T> {
    /// Adds one; if too many wait, the last one of the owner who has the most goes away.
    pub(super) fn add(&mut self, owner: Owner, peer: T) -> Option<T> {
        self.peers.push((owner, peer));
        if self.peers.len() <= WAITING_MAX {
            return None;
        }
        let of = |place: usize| {
            let owner = self.peers[place].0;
            self.peers.iter().filter(|(other, _)| *other == owner).count()
        };
        let last = (0..self.peers.len()).max_by_key(|&place| of(place))?;
        Some(self.peers.remove(last).1)
    }

    /// Who is next: the first of those whose owner has the fewest handshakes.
    fn next(&self, handshakes: &Handshakes) -> Option<usize> {
        (0..self.peers.len()).min_by_key(|&place| handshakes.of(self.peers[place].0))
    }

    /// From when on there is a place for who is next, if anybody waits.
    pub(super) fn room_at(&self, handshakes: &Handshakes) -> Option<Instant> {
        self.next(handshakes).map(|place| handshakes.room_at(self.peers[place].0))
    }

    /// Takes out who is next.
    pub(super) fn take(&mut self, handshakes: &Handshakes) -> Option<(Owner, T)> {
        self.next(handshakes).map(|place| self.peers.remove(place))
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

    fn host(number: u8) -> Owner {
        Owner::Address([10, 0, 0, number].into())
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_ms(ms)
    }

    /// All places are taken by host 1, from 1,000 ms on each; the other ends.
    fn full() -> (Handshakes, Vec<TcpStream>) {
        let handshakes = Handshakes::default();
        let mut far: Vec<TcpStream> = Vec::new();
        for ms in 0..16 {
            assert_eq!(handshakes.room_at(host(1)), Instant::ZERO);
            let (near, there) = pair();
            assert_eq!(handshakes.begin(near, host(1), at(1_000 + ms)), ms);
            far.push(there);
        }
        (handshakes, far)
    }

    #[test]
    fn the_oldest_gives_way_once_it_has_had_its_time() {
        let (handshakes, mut far) = full();
        assert_eq!(handshakes.room_at(host(1)), at(1_250), "all places are taken");
        assert_eq!(handshakes.begin(pair().0, host(1), at(1_250)), 16);
        assert_eq!(far[0].read(&mut [0]).expect("closed in order"), 0);
        assert!(!handshakes.end(0), "it has given way");
        assert_eq!(handshakes.room_at(host(1)), at(1_251));
        assert!(handshakes.end(7) && !handshakes.end(7));
        assert_eq!(handshakes.room_at(host(1)), Instant::ZERO);
    }

    #[test]
    fn an_owner_who_has_many_gives_way_at_once() {
        let (handshakes, mut far) = full();
        for number in 0..8_u64 {
            assert_eq!(handshakes.room_at(host(2)), Instant::ZERO, "{number}");
            let (near, there) = pair();
            assert_eq!(handshakes.begin(near, host(2), at(1_100)), 16 + number);
            far.push(there);
            assert!(!handshakes.end(number), "the oldest of the other");
        }
        // Both have as many: time decides, and the oldest goes whoever asks.
        assert_eq!(handshakes.room_at(host(2)), at(1_258));
        assert_eq!(handshakes.room_at(host(1)), at(1_258));
        assert_eq!(handshakes.room_at(host(3)), Instant::ZERO);
    }

    #[test]
    fn who_has_few_places_is_next() {
        let (handshakes, _far) = full();
        let mut waiting = Waiting::default();
        assert_eq!(waiting.room_at(&handshakes), None);
        for number in 0..64 {
            assert_eq!(waiting.add(host(1), number), None);
        }
        assert_eq!(waiting.room_at(&handshakes), Some(at(1_250)));
        assert_eq!(waiting.add(host(2), 100), Some(63), "the last one of the many");
        assert_eq!(waiting.room_at(&handshakes), Some(Instant::ZERO));
        assert_eq!(waiting.take(&handshakes), Some((host(2), 100)));
        assert_eq!(waiting.add(host(1), 64), None);
        assert_eq!(waiting.add(host(1), 65), Some(65), "it has waited shortest");
        assert_eq!(waiting.take(&handshakes), Some((host(1), 0)));
    }
}
