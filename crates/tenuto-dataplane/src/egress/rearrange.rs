//! A change of the mode at a port: queued frames are asked where they belong, some at a time, and the port serves on.
//!
//! A frame from before the change does not begin its slot before it was asked, so none leaves that has no place any more. The
//! place of one that was taken back stays empty until it would have been served: order is kept, and nothing is copied.

use super::{Egress, Queued};

/// Marks the place of a frame that was taken back: every frame has bits.
const GONE_BITS: u32 = 0;

impl Queued {
    pub(super) const fn is_gone(&self) -> bool {
        self.wire_bits == GONE_BITS
    }
}

impl Egress {
    /// From now on frames that wait are asked where they belong before their slots begin ([`Self::rearrange`]).
    pub(crate) fn begin_rearranging(&mut self) {
        self.rearranging.begin(self.queues.iter().map(std::collections::VecDeque::len));
    }

    /// Asks queued frames, at most `most` of them, by their cookies and queues, where they belong now: `None` takes one
    /// back (handed to `purged`), `Some(queue)` keeps it or moves it; order inside a queue is kept and moved frames go
    /// behind those that are already there. What would be served first is asked first. The committed frame stays. Whether
    /// none is left to be asked.
    pub(crate) fn rearrange(
        &mut self,
        most: &mut usize,
        mut place: impl FnMut(u64, u8) -> Option<u8>,
        mut purged: impl FnMut(Queued),
    ) -> bool {
        while *most > 0
            && let Some(queue) = self.rearranging.first_unasked()
        {
            *most -= 1;
            self.ask(queue, &mut place, &mut purged);
        }
        let is_done = self.rearranging.first_unasked().is_none();
        if is_done && self.shares.is_some() {
            self.close_ranks();
        }
        if self.committed.is_none() {
            self.commit();
        }
        is_done
    }

    /// Whether the frame that would be served next waits for being asked.
    pub(crate) fn is_next_unknown(&self) -> bool {
        let holds_frames = |&place: &usize| self.queues[place].len() > self.rearranging.gone(place);
        let next = (0..self.queues.len()).find(holds_frames);
        self.rearranging.is_on() && next.is_some_and(|queue| self.rearranging.is_unknown(queue))
    }

    /// No empty places are left; all have been asked.
    pub(crate) fn close_ranks(&mut self) {
        for queue in 0..self.queues.len() {
            if self.rearranging.gone(queue) > 0 {
                self.queues[queue].retain(|frame| !frame.is_gone());
            }
        }
        self.rearranging.end();
    }

    /// Asks the next frame of a queue.
    fn ask(
        &mut self,
        index: usize,
        place: &mut impl FnMut(u64, u8) -> Option<u8>,
        purged: &mut impl FnMut(Queued),
    ) {
        let old = &mut self.rearranging.old[index];
        let asked = old.asked;
        old.asked += 1;
        let Some(&frame) = self.queues[index].get(asked).filter(|frame| !frame.is_gone()) else {
            return;
        };
        let number = u8::try_from(index).unwrap_or(u8::MAX);
        let to = place(frame.cookie, number).map(|queue| self.existing(queue));
        if to == Some(number) {
            self.rearranging.old[index].staying += 1;
            return;
        }
        self.rearranging.old[index].gone += 1;
        self.queues[index][asked].wire_bits = GONE_BITS;
        self.queue_stats[index].wire_bits -= u64::from(frame.wire_bits);
        let taken = self.taken_by(&frame);
        self.backlog_bits[self.config.owner(number)] -= taken;
        match to {
            Some(queue) => {
                // It was let in already: nothing is refused.
                self.backlog_bits[self.config.owner(queue)] += taken;
                self.append(usize::from(queue), frame);
            }
            None => {
                self.stats.purged += 1;
                purged(frame);
            }
        }
    }

    /// Takes out the first frame of the first queue that has one, unless it is still to be asked.
    #[cold]
    pub(super) fn take_first_asked(&mut self) -> Option<(Queued, u8)> {
        for queue in self.first..self.queues.len() {
            while let Some(&frame) = self.queues[queue].front() {
                if !self.rearranging.may_begin(queue) {
                    return None;
                }
                self.queues[queue].pop_front();
                self.rearranging.pass(queue, frame.is_gone());
                if !frame.is_gone() {
                    self.queue_stats[queue].wire_bits -= u64::from(frame.wire_bits);
                    return Some((frame, u8::try_from(queue).unwrap_or(u8::MAX)));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EgressConfig, SIGNAL_QUEUE};
    use super::*;
    use crate::FrameId;
    use tenuto_units::{Instant, Rate};

    impl Egress {
        /// All at once.
        pub(in crate::egress) fn rearrange_all(
            &mut self,
            place: impl FnMut(u64, u8) -> Option<u8>,
            purged: impl FnMut(Queued),
        ) {
            self.begin_rearranging();
            assert!(self.rearrange(&mut usize::MAX.clone(), place, purged));
            self.close_ranks();
        }
    }

    fn frame(id: u32, wire_bits: u32) -> Queued {
        let since = Instant::ZERO;
        Queued { frame: FrameId(id), wire_bits, cookie: u64::from(id), since }
    }

    fn port() -> Egress {
        let rate = Rate::from_bps(100_000_000).expect("not zero");
        Egress::new(EgressConfig { rate, queues: 3, buffer_bits: 1 << 20, unpromised_from: None })
    }

    fn next(port: &mut Egress) -> Option<u32> {
        let sent = port.hand_over(1, port.deadline()?)?;
        Some(sent.frame.0)
    }

    #[test]
    fn a_frame_is_asked_before_its_slot_begins_and_signals_wait_for_none() {
        let mut port = port();
        for id in 0..6 {
            port.enqueue(1, frame(id, 12_000)).expect("there is room");
        }
        port.begin_rearranging();
        port.enqueue(SIGNAL_QUEUE, frame(100, 672)).expect("there is room");
        port.enqueue(2, frame(7, 12_000)).expect("there is room");
        // The odd ones stay.
        let place = |cookie, queue| (cookie % 2 == 1).then_some(queue);
        let mut purged = Vec::new();
        assert_eq!(next(&mut port), Some(0), "whose slot had begun");
        assert_eq!(next(&mut port), Some(100), "the signal");
        assert_eq!(next(&mut port), None, "nobody knows whether frame 1 stays");
        assert!(port.is_next_unknown());
        assert!(!port.rearrange(&mut 2, place, |it| purged.push(it.frame.0)));
        assert!(port.is_next_unknown(), "nor whether frame 3 does");
        assert_eq!(next(&mut port), Some(1), "frame 3 is to be asked");
        assert_eq!(port.waiting().collect::<Vec<_>>(), [0, 3, 1]);
        let mut held = Vec::new();
        port.for_each_frame(|queue, it| held.push((queue, it.frame.0)));
        assert_eq!(held, [(Some(1), 3), (Some(1), 4), (Some(1), 5), (Some(2), 7)]);
        port.enqueue(1, frame(8, 12_000)).expect("there is room");
        assert!(port.rearrange(&mut 9, place, |it| purged.push(it.frame.0)), "none is left");
        assert_eq!(purged, [2, 4]);
        let left: Vec<u32> = std::iter::from_fn(|| next(&mut port)).collect();
        assert_eq!(left, [3, 5, 8, 7]);
        assert_eq!(port.backlog_bits(), 0);
        assert!(port.queue_stats().iter().all(|it| it.wire_bits == 0));
        assert!(!port.rearranging.is_on());
    }

    #[test]
    fn a_change_during_another_asks_all_again() {
        let mut port = port();
        for id in 0..5 {
            port.enqueue(1, frame(id, 12_000)).expect("there is room");
        }
        let mut purged = Vec::new();
        port.begin_rearranging();
        assert!(!port.rearrange(
            &mut 3,
            |id, queue| (id != 2).then_some(queue),
            |it| purged.push(it.frame.0)
        ));
        port.enqueue(1, frame(5, 12_000)).expect("there is room");
        port.begin_rearranging();
        assert!(port.rearrange(
            &mut 9,
            |id, queue| (id % 2 == 1).then_some(queue),
            |it| purged.push(it.frame.0)
        ));
        assert_eq!(purged, [2, 4]);
        let left: Vec<u32> = std::iter::from_fn(|| next(&mut port)).collect();
        assert_eq!(left, [0, 1, 3, 5]);
        assert_eq!(port.backlog_bits(), 0);
    }

    #[test]
    fn after_a_second_change_nothing_is_known_behind_empty_places() {
        let mut port = port();
        for id in 0..5 {
            port.enqueue(1, frame(id, 12_000)).expect("there is room");
        }
        port.begin_rearranging();
        assert!(!port.rearrange(&mut 2, |_, _| None, |_| ()));
        port.begin_rearranging();
        assert!(port.is_next_unknown(), "whether frame 3 stays");
        let place = |_, queue| Some(queue);
        assert!(!port.rearrange(&mut 3, place, |_| ()), "two places and frame 3");
        assert!(!port.is_next_unknown());
        assert_eq!((next(&mut port), next(&mut port), next(&mut port)), (Some(0), Some(3), None));
        assert!(port.is_next_unknown());
        assert!(port.rearrange(&mut 1, place, |_| ()));
        assert_eq!((next(&mut port), next(&mut port)), (Some(4), None));
        assert_eq!(port.backlog_bits(), 0);
    }

    #[test]
    fn queues_that_share_a_level_wait_until_all_were_asked() {
        let mut port = port();
        let share = |level| super::super::Share { level, weight: 1 };
        port.set_shares([0, 1, 1].map(share).to_vec());
        for id in 0..6 {
            port.enqueue(1 + u8::try_from(id % 2).expect("small"), frame(id, 12_000))
                .expect("room");
        }
        port.begin_rearranging();
        let place = |id, queue| (id > 2).then_some(queue);
        assert!(!port.rearrange(&mut 3, place, |_| ()));
        assert_eq!((next(&mut port), next(&mut port)), (Some(0), None));
        assert!(port.rearrange(&mut 2, place, |_| ()));
        let mut left: Vec<u32> = std::iter::from_fn(|| next(&mut port)).collect();
        left.sort_unstable();
        assert_eq!(left, [3, 4, 5]);
        assert_eq!(port.backlog_bits(), 0);
    }

    #[test]
    fn moved_frames_go_behind_those_that_are_there() {
        let mut port = port();
        for (id, queue) in [(0, 1), (1, 1), (2, 0), (3, 1)] {
            port.enqueue(queue, frame(id, 12_000)).expect("there is room");
        }
        port.rearrange_all(|id, queue| Some(if id % 2 == 1 { 0 } else { queue }), |_| ());
        port.enqueue(0, frame(5, 12_000)).expect("there is room");
        let left: Vec<u32> = std::iter::from_fn(|| next(&mut port)).collect();
        assert_eq!(left, [0, 2, 1, 3, 5]);
        assert_eq!(port.backlog_bits(), 0);
    }
}
