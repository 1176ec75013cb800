//! Packets that wait for the word of a controller (OpenFlow 1.3.5, section 6.1.2).

use std::hash::{Hash, Hasher};
use tenuto_openflow::constants::NO_BUFFER;
use tenuto_openflow::{BadRequest, ErrorCode};
use tenuto_units::{Instant, Span};

/// A buffered packet may be replaced by another after this time (section 6.1.2: "a reasonable
/// amount of time").
const KEEP: Span = Span::from_s(1);

/// A packet that waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::switch) struct Waiting {
    id: u32,
    pub(in crate::switch) in_port: u32,
    pub(in crate::switch) bytes: Vec<u8>,
    since: Instant,
}

/// Packets that wait, each in the place that its number tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::switch) struct PacketBuffers {
    places: Vec<Option<Waiting>>,
    max: usize,
    next: u32,
}

impl PacketBuffers {
    pub(in crate::switch) fn new(max: u16) -> Self {
        Self { places: Vec::new(), max: max.into(), next: 0 }
    }

    /// Keeps a packet; its number, or `None` if there is no room.
    pub(super) fn keep(&mut self, now: Instant, in_port: u32, bytes: &[u8]) -> Option<u32> {
        if self.max == 0 {
            return None;
        }
        let is_free = |waiting: &Option<Waiting>| {
            waiting.as_ref().is_none_or(|waiting| now.since(waiting.since) >= KEEP)
        };
        let place = match self.places.iter().position(is_free) {
            Some(place) => place,
            None if self.places.len() < self.max => {
                self.places.push(None);
                self.places.len() - 1
            }
            None => return None,
        };
        // The number has the place in it, and never comes again soon.
        let count = u32::try_from(self.max).ok()?;
        let number = self.next.wrapping_mul(count).wrapping_add(u32::try_from(place).ok()?);
        self.next = (self.next + 1) % (NO_BUFFER / count);
        let bytes = bytes.to_vec();
        self.places[place] = Some(Waiting { id: number, in_port, bytes, since: now });
        Some(number)
    }

    /// What waits, relative to `now`, with the numbers that come next.
    pub(in crate::switch) fn identify(&self, now: Instant, hasher: &mut impl Hasher) {
        for waiting in &self.places {
            let waiting = waiting.as_ref();
            waiting.map(|w| (w.id, w.in_port, &w.bytes, now.since(w.since).min(KEEP))).hash(hasher);
        }
        self.next.hash(hasher);
    }

    /// What waits by its content alone: whoever calls packets by other numbers does the same with them.
    pub(in crate::switch) fn identify_unnumbered(&self, hasher: &mut impl Hasher) {
        let mut contents: Vec<(u32, &[u8])> =
            self.places.iter().flatten().map(|it| (it.in_port, &it.bytes[..])).collect();
        contents.sort_unstable();
        contents.hash(hasher);
    }

    /// The place of a packet in the order of contents, of equals in that of their numbers.
    pub(in crate::switch) fn rank(&self, id: u32) -> Option<usize> {
        let waiting = || self.places.iter().flatten();
        let key = |it: &Waiting| (it.in_port, it.bytes.clone(), it.id);
        let own = key(waiting().find(|it| it.id == id)?);
        Some(waiting().filter(|it| key(it) < own).count())
    }

    pub(in crate::switch) fn count(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// Whether a packet waits under this number.
    ///
    /// # Errors
    /// If it was taken or replaced before, or never was.
    pub(in crate::switch) fn check(&self, id: u32) -> Result<(), ErrorCode> {
        let Some(waiting) = self.place(id).and_then(|place| self.places.get(place)) else {
            return Err(BadRequest::BufferUnknown.into());
        };
        match waiting.as_ref().is_some_and(|waiting| waiting.id == id) {
            true => Ok(()),
            false => Err(BadRequest::BufferEmpty.into()),
        }
    }

    /// Takes a packet out.
    ///
    /// # Errors
    /// As [`PacketBuffers::check`].
    pub(in crate::switch) fn take(&mut self, id: u32) -> Result<Waiting, ErrorCode> {
        self.check(id)?;
        let place = self.place(id).ok_or(BadRequest::BufferUnknown)?;
        self.places[place].take().ok_or(BadRequest::BufferEmpty.into())
    }

    fn place(&self, id: u32) -> Option<usize> {
        usize::try_from(id).ok()?.checked_rem(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_once_and_replaced_when_it_is_old() {
        let mut buffers = PacketBuffers::new(2);
        let at = |ms| Instant::ZERO + Span::from_ms(ms);
        let first = buffers.keep(at(0), 1, &[1]).expect("room");
        let second = buffers.keep(at(1), 1, &[2]).expect("room");
        assert_eq!(buffers.keep(at(2), 1, &[3]), None);
        assert_eq!(buffers.take(second).map(|w| w.bytes), Ok(vec![2]));
        assert_eq!(buffers.take(second), Err(BadRequest::BufferEmpty.into()));
        let third = buffers.keep(at(1_000), 1, &[3]).expect("the first is old");
        assert_eq!(buffers.take(first), Err(BadRequest::BufferEmpty.into()));
        assert_eq!(buffers.take(third).map(|w| w.bytes), Ok(vec![3]));
        assert_eq!(PacketBuffers::new(2).take(0), Err(BadRequest::BufferUnknown.into()));
        assert_eq!(PacketBuffers::new(0).take(7), Err(BadRequest::BufferUnknown.into()));
    }
}
