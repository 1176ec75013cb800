//! Redundancy management: of the copies of a message over networks A and B, the first wins.
//!
//! Each network may lose what it likes: whichever copy comes first is delivered, also out of
//! order, and the other is recognised for as long as its message is in the window. Copies are
//! told apart by the sequence number of the virtual link or by message id; because sequence
//! numbers recur after 255 messages, the stamp decides between a late copy and a new message.

use super::waiting::{Waiter, Waiting};
use super::window::{Entry, Identity, Place, Window};
use tenuto_units::{Instant, Span};

/// Redundancy management of one flow.
#[derive(Clone, Debug)]
pub(super) struct Redundancy {
    /// Whether there are two networks.
    is_redundant: bool,
    skew_max: Option<Span>,
    messages: Window<First>,
    waiting: Waiting,
}

#[derive(Clone, Copy, Debug)]
struct First {
    /// Index of the network.
    copy: usize,
    at: Instant,
    second: Second,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    Awaited,
    Arrived,
    Missing,
}

/// What a whole copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The first: deliver it.
    First,
    /// The second, so much later than the first.
    Second(Span),
    /// The second, later than agreed.
    TooLate(Span),
    /// One more over the same network, or of a message long past.
    Repeated,
}

/// A message whose second copy was not there in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) message_id: u32,
    /// Index of the network that did arrive.
    pub(super) arrived: usize,
}

impl Redundancy {
    /// For `copies` networks, one or two.
    pub(super) fn new(copies: usize, skew_max: Option<Span>) -> Self {
        Self {
            is_redundant: copies > 1,
            skew_max,
            messages: Window::new(),
            waiting: Waiting::new(),
        }
    }

    /// Judges a whole copy that arrived over the network with index `copy`.
    pub(super) fn judge(
        &mut self,
        at: Instant,
        copy: usize,
        identity: Identity,
        mut missing: impl FnMut(Missing),
    ) -> Verdict {
        let verdict = match self.messages.place(identity, at) {
            Place::Past => return Verdict::Repeated,
            Place::Known(place) => self.known(place, at, copy),
            Place::Free(place) => {
                self.first(place, at, copy, identity, &mut missing);
                Verdict::First
            }
        };
        self.settle();
        verdict
    }

    fn known(&mut self, place: usize, at: Instant, copy: usize) -> Verdict {
        let entry = self.messages.get_mut(place).expect("known");
        let first = &mut entry.value;
        if first.copy == copy || first.second == Second::Arrived {
            return Verdict::Repeated;
        }
        // Stamps of different ports may be processed out of order: skew has no sign.
        let skew = at.since(first.at).max(first.at.since(at));
        first.second = Second::Arrived;
        match self.skew_max {
            Some(skew_max) if skew > skew_max => Verdict::TooLate(skew),
            _ => Verdict::Second(skew),
        }
    }

    fn first(
        &mut self,
        place: usize,
        at: Instant,
        copy: usize,
        identity: Identity,
        missing: &mut impl FnMut(Missing),
    ) {
        let value = First { copy, at, second: Second::Awaited };
        let watched = self.skew_max.filter(|_| self.is_redundant);
        self.messages.put(place, Entry { identity, at, value }, |_, old| {
            if watched.is_some() && old.value.second == Second::Awaited {
                missing(old.missing());
            }
        });
        let Some(skew_max) = watched else { return };
        let message_id = identity.message_id;
        // In time is up to and including the agreed skew.
        let deadline = at + skew_max + Span::from_ns(1);
        let pushed_out = self.waiting.push(Waiter { deadline, place, message_id });
        if let Some(lost) = pushed_out.and_then(|waiter| self.miss(&waiter)) {
            missing(lost);
        }
    }

    /// When the next second copy is missed.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.deadline()
    }

    /// Misses the second copies whose time is over.
    pub(super) fn expire(&mut self, now: Instant, mut missing: impl FnMut(Missing)) {
        while let Some(waiter) = self.waiting.pop_due(now) {
            if let Some(lost) = self.miss(&waiter) {
                missing(lost);
            }
            self.settle();
        }
    }

    fn settle(&mut self) {
        let messages = &self.messages;
        self.waiting.settle(|w| messages.get(w.place).is_some_and(|e| e.awaits(w)));
    }

    fn miss(&mut self, waiter: &Waiter) -> Option<Missing> {
        let entry = self.messages.get_mut(waiter.place)?;
        if !entry.awaits(waiter) {
            return None;
        }
        entry.value.second = Second::Missing;
        Some(entry.missing())
    }
}

impl Entry<First> {
    fn awaits(&self, waiter: &Waiter) -> bool {
        self.identity.message_id == waiter.message_id && self.value.second == Second::Awaited
    }

    const fn missing(&self) -> Missing {
        Missing { message_id: self.identity.message_id, arrived: self.value.copy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_wire::afdx::SequenceNumber;

    const SKEW_US: u64 = 5;

    fn two_networks() -> Redundancy {
        Redundancy::new(2, Some(Span::from_us(SKEW_US)))
    }

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_us(us)
    }

    /// Message `id` of a virtual link with a BAG of 10 µs.
    fn identity(id: u32) -> Identity {
        let mut number = SequenceNumber::RESET;
        (0..id).for_each(|_| number = number.next());
        let release = Some(at(u64::from(id) * 10));
        Identity { number: number.as_byte().into(), message_id: id, release }
    }

    fn judge(r: &mut Redundancy, us: u64, copy: usize, id: u32) -> Verdict {
        r.judge(at(us), copy, identity(id), |lost| panic!("{lost:?}"))
    }

    #[test]
    fn the_first_wins_and_the_second_tells_the_skew() {
        let mut r = two_networks();
        assert_eq!(judge(&mut r, 1, 1, 0), Verdict::First);
        assert_eq!(r.deadline(), Some(at(6) + Span::from_ns(1)));
        assert_eq!(judge(&mut r, 2, 1, 0), Verdict::Repeated);
        assert_eq!(judge(&mut r, 6, 0, 0), Verdict::Second(Span::from_us(5)));
        assert_eq!(judge(&mut r, 6, 0, 0), Verdict::Repeated);
        assert_eq!(r.deadline(), None);
    }

    #[test]
    fn a_second_copy_too_late_is_still_no_new_message() {
        let mut r = two_networks();
        assert_eq!(judge(&mut r, 1, 0, 0), Verdict::First);
        let mut missed = Vec::new();
        r.expire(at(6), |lost| missed.push(lost));
        assert_eq!(missed, []);
        r.expire(at(7), |lost| missed.push(lost));
        assert_eq!(missed, [Missing { message_id: 0, arrived: 0 }]);
        assert_eq!(judge(&mut r, 9, 1, 0), Verdict::TooLate(Span::from_us(8)));
    }

    #[test]
    fn numbers_recur_on_one_network_without_end() {
        let mut r = Redundancy::new(2, None);
        for id in 0..1_000 {
            assert_eq!(judge(&mut r, u64::from(id) * 10 + 1, 0, id), Verdict::First, "{id}");
        }
    }

    #[test]
    fn a_number_of_a_past_message_does_not_come_back() {
        let mut r = Redundancy::new(2, None);
        assert_eq!(judge(&mut r, 1, 0, 5), Verdict::First);
        // 255 messages later the number recurs; then the other copy of the first use comes.
        assert_eq!(judge(&mut r, 2, 0, 260), Verdict::First);
        assert_eq!(judge(&mut r, 3, 1, 5), Verdict::Repeated);
        assert_eq!(judge(&mut r, 4, 1, 260), Verdict::Second(Span::from_us(2)));
    }

    #[test]
    fn a_reset_sender_is_followed_even_when_its_epoch_went_back() {
        let mut r = Redundancy::new(2, None);
        for id in 100..300 {
            assert_eq!(judge(&mut r, 1, 0, id), Verdict::First);
        }
        assert_eq!(judge(&mut r, 2, 0, 0), Verdict::First);
        assert_eq!(judge(&mut r, 3, 1, 0), Verdict::Second(Span::from_us(1)));
        assert_eq!(judge(&mut r, 4, 0, 1), Verdict::First);
    }

    #[test]
    fn losses_on_either_network_leave_one_delivery_each() {
        let mut r = Redundancy::new(2, Some(Span::from_us(SKEW_US)));
        let mut missed = 0;
        for id in 0..600 {
            let now = u64::from(id) * 10;
            r.expire(at(now), |_| missed += 1);
            let (on_a, on_b) = (id % 3 != 0, id % 3 != 1);
            let mut first = 0;
            for (copy, arrives) in [(0, on_a), (1, on_b)] {
                let verdict = arrives.then(|| judge(&mut r, now + 1, copy, id));
                first += u32::from(verdict == Some(Verdict::First));
            }
            assert_eq!(first, 1, "message {id}");
        }
        assert_eq!(missed, 400, "two of three messages lose a copy; the last one loses none");
    }
}
