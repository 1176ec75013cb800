//! Copies of messages put together from their frames, at one port.
//!
//! A flow's frames keep their order on the way, so more than one or two unfinished copies mean
//! losses; still nothing here relies on order, and a frame that comes twice counts once. A copy
//! that is given up stays given up: frames that come later are counted, not used.

use super::waiting::{Waiter, Waiting};
use super::window::{Entry, Identity, PLACES, Place, Window};
use tenuto_units::{Instant, Span};
use tenuto_wire::ShimRepr;
use tenuto_wire::shim::{frames_of_message, payload_bytes_of_frame};

const BITS: u32 = u64::BITS;

/// Reassembly of one flow at one port.
#[derive(Clone, Debug)]
pub(super) struct Reassembly {
    frames_max: u32,
    /// Words of the bitmap of one copy.
    words: usize,
    /// Which frames arrived, for each place of the window.
    arrived: Vec<u64>,
    copies: Window<Partial>,
    waiting: Waiting,
    patience: Option<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Partial {
    bytes: u32,
    frames_missing: u32,
    given_up: bool,
}

/// What a frame did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// More is to come.
    Stored,
    /// The copy is whole, released at this instant.
    Whole(Instant),
    /// It had arrived before, or its message is long past.
    Repeated,
    /// Its copy has been given up.
    Late,
    /// The message is larger than any may be.
    Oversized,
    /// Number, size and claim do not fit one another or earlier frames.
    Contradiction,
}

/// A copy that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GivenUp {
    pub(super) message_id: u32,
    pub(super) frames_missing: u32,
}

impl Reassembly {
    /// For messages of up to `bytes_max`.
    pub(super) fn new(bytes_max: u32, patience: Option<Span>) -> Self {
        let frames_max = frames_of_message(bytes_max);
        let words = frames_max.div_ceil(BITS) as usize;
        Self {
            frames_max,
            words,
            arrived: vec![0; words * PLACES],
            copies: Window::new(),
            waiting: Waiting::new(),
            patience,
        }
    }

    /// Takes in the frame with this shim and so many bytes of the message.
    pub(super) fn add(
        &mut self,
        at: Instant,
        release: Option<Instant>,
        shim: ShimRepr,
        payload_bytes: u32,
        mut given_up: impl FnMut(GivenUp),
    ) -> Part {
        let ShimRepr { message_id, message_bytes, sequence } = shim;
        let frames = frames_of_message(message_bytes);
        if payload_bytes_of_frame(message_bytes, sequence) != Some(payload_bytes) {
            return Part::Contradiction;
        }
        if frames > self.frames_max {
            return Part::Oversized;
        }
        let identity = Identity { number: message_id, message_id, release };
        let place = match self.copies.place(identity, at) {
            Place::Known(place) => place,
            Place::Free(place) => {
                self.open(place, identity, at, message_bytes, &mut given_up);
                place
            }
            Place::Past => return Part::Repeated,
        };
        let part = self.mark(place, at, release, message_bytes, sequence);
        self.settle();
        part
    }

    fn open(
        &mut self,
        place: usize,
        identity: Identity,
        at: Instant,
        bytes: u32,
        given_up: &mut impl FnMut(GivenUp),
    ) {
        let frames_missing = frames_of_message(bytes);
        let value = Partial { bytes, frames_missing, given_up: false };
        self.copies.put(place, Entry { identity, at, value }, |_, old| {
            if old.value.waits() {
                given_up(old.lost());
            }
        });
        self.arrived[place * self.words..][..self.words].fill(0);
        let Some(patience) = self.patience else { return };
        let message_id = identity.message_id;
        let pushed_out = self.waiting.push(Waiter { deadline: at + patience, place, message_id });
        if let Some(lost) = pushed_out.and_then(|waiter| self.give_up(&waiter)) {
            given_up(lost);
        }
    }

    fn mark(
        &mut self,
        place: usize,
        at: Instant,
        release: Option<Instant>,
        bytes: u32,
        sequence: u32,
    ) -> Part {
        let entry = self.copies.get_mut(place).expect("found or opened just now");
        let copy = &mut entry.value;
        if copy.bytes != bytes {
            return Part::Contradiction;
        }
        let word = &mut self.arrived[place * self.words + (sequence / BITS) as usize];
        let bit = 1 << (sequence % BITS);
        if *word & bit != 0 {
            return Part::Repeated;
        }
        if copy.given_up {
            return Part::Late;
        }
        *word |= bit;
        copy.frames_missing -= 1;
        entry.at = entry.at.max(at);
        entry.identity.release = entry.identity.release.or(release);
        match entry.identity.release {
            Some(release) if copy.frames_missing == 0 => Part::Whole(release),
            // Whole but never stamped: the caller lets in no message without a stamped frame.
            None if copy.frames_missing == 0 => Part::Contradiction,
            _ => Part::Stored,
        }
    }

    /// When the next copy is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.deadline()
    }

    /// Gives up the copies whose time is over.
    pub(super) fn expire(&mut self, now: Instant, mut given_up: impl FnMut(GivenUp)) {
        while let Some(waiter) = self.waiting.pop_due(now) {
            if let Some(lost) = self.give_up(&waiter) {
                given_up(lost);
            }
            self.settle();
        }
    }

    fn settle(&mut self) {
        let copies = &self.copies;
        self.waiting.settle(|w| {
            copies
                .get(w.place)
                .is_some_and(|e| e.identity.message_id == w.message_id && e.value.waits())
        });
    }

    fn give_up(&mut self, waiter: &Waiter) -> Option<GivenUp> {
        let entry = self.copies.get_mut(waiter.place)?;
        let waits = entry.identity.message_id == waiter.message_id && entry.value.waits();
        if !waits {
            return None;
        }
        entry.value.given_up = true;
        Some(entry.lost())
    }
}

impl Partial {
    const fn waits(&self) -> bool {
        self.frames_missing > 0 && !self.given_up
    }
}

impl Entry<Partial> {
    const fn lost(&self) -> GivenUp {
        GivenUp { message_id: self.identity.message_id, frames_missing: self.value.frames_missing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u32 = 3 * 1460 - 100;

    fn shim(message_id: u32, sequence: u32) -> ShimRepr {
        ShimRepr { message_id, message_bytes: BYTES, sequence }
    }

    fn reassembly() -> Reassembly {
        Reassembly::new(BYTES, Some(Span::from_us(10)))
    }

    /// Adds a frame as the sender would have cut it; the message is released at its id in µs.
    fn add(r: &mut Reassembly, at_us: u64, id: u32, sequence: u32) -> (Part, Vec<GivenUp>) {
        let at = Instant::ZERO + Span::from_us(at_us);
        let release = Instant::ZERO + Span::from_us(u64::from(id));
        let bytes = payload_bytes_of_frame(BYTES, sequence).expect("in range");
        let mut lost = Vec::new();
        let part = r.add(at, Some(release), shim(id, sequence), bytes, |l| lost.push(l));
        (part, lost)
    }

    #[test]
    fn a_copy_is_whole_when_every_frame_came_in_any_order() {
        let mut r = reassembly();
        assert_eq!(add(&mut r, 1, 0, 2), (Part::Stored, vec![]));
        assert_eq!(r.deadline(), Some(Instant::from_ns(11_000)));
        assert_eq!(add(&mut r, 2, 0, 0), (Part::Stored, vec![]));
        assert_eq!(add(&mut r, 3, 0, 2), (Part::Repeated, vec![]));
        assert_eq!(add(&mut r, 4, 0, 1), (Part::Whole(Instant::ZERO), vec![]));
        assert_eq!(add(&mut r, 5, 0, 1), (Part::Repeated, vec![]));
        assert_eq!(r.deadline(), None);
    }

    #[test]
    fn what_is_given_up_stays_given_up() {
        let mut r = reassembly();
        let _ = add(&mut r, 1, 0, 0);
        let _ = add(&mut r, 2, 1, 0);
        let mut lost = Vec::new();
        r.expire(Instant::from_ns(11_000), |l| lost.push(l));
        assert_eq!(lost, [GivenUp { message_id: 0, frames_missing: 2 }]);
        assert_eq!(r.deadline(), Some(Instant::from_ns(12_000)));
        assert_eq!(add(&mut r, 12, 0, 1), (Part::Late, vec![]));
    }

    #[test]
    fn a_later_message_takes_the_place_of_an_unfinished_one() {
        let mut r = reassembly();
        let _ = add(&mut r, 1, 3, 0);
        let next = 3 + u32::try_from(PLACES).expect("small");
        let lost = vec![GivenUp { message_id: 3, frames_missing: 2 }];
        assert_eq!(add(&mut r, 2, next, 0), (Part::Stored, lost));
        assert_eq!(add(&mut r, 3, 3, 1), (Part::Repeated, vec![]));
    }

    #[test]
    fn claims_that_do_not_fit_are_refused() {
        let mut r = reassembly();
        let mut add = |shim, bytes| r.add(Instant::ZERO, Some(Instant::ZERO), shim, bytes, |_| {});
        assert_eq!(add(shim(0, 3), 1), Part::Contradiction);
        assert_eq!(add(shim(0, 0), 1459), Part::Contradiction);
        let larger = ShimRepr { message_bytes: 3 * 1460 + 1, ..shim(0, 0) };
        assert_eq!(add(larger, 1460), Part::Oversized);
        assert_eq!(add(shim(0, 0), 1460), Part::Stored);
        let other = ShimRepr { message_bytes: BYTES + 1, ..shim(0, 1) };
        assert_eq!(add(other, 1460), Part::Contradiction);
    }
}
