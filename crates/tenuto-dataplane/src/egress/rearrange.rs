//! A change of the mode at a port: queued frames are asked where they belong, some at a time, and signals leave in between.

use super::rearranging::Rearranging;
use super::{Egress, Queued};

impl Egress {
    /// From now on no frame but a signal begins its slot, until all that wait were asked where they belong ([`Self::rearrange`]).
    pub(crate) fn begin_rearranging(&mut self) {
        self.rearranging.is_on = true;
    }

    /// Asks queued frames, at most `most` of them, by their cookies and queues, where they belong now: `None` takes one
    /// back (handed to `purged`), `Some(queue)` keeps it or moves it; order inside a queue is kept and moved frames go
    /// behind those that are already there. The committed frame stays. Whether none is left to be asked.
    pub(crate) fn rearrange(
        &mut self,
        most: &mut usize,
        mut place: impl FnMut(u64, u8) -> Option<u8>,
        mut purged: impl FnMut(Queued),
    ) -> bool {
        while self.rearranging.is_on
            && let Some(waiting) = self.queues.get(usize::from(self.rearranging.queue))
        {
            let queue = self.rearranging.queue;
            let mut left = self.rearranging.left.unwrap_or(waiting.len());
            while left > 0 {
                if *most == 0 {
                    self.rearranging.left = Some(left);
                    return false;
                }
                *most -= 1;
                left -= 1;
                self.rearrange_first(queue, &mut place, &mut purged);
            }
            (self.rearranging.queue, self.rearranging.left) = (queue + 1, None);
        }
        self.end_rearranging();
        true
    }

    /// All have been asked: what has come since goes behind them.
    fn end_rearranging(&mut self) {
        let mut came = std::mem::take(&mut self.rearranging.came);
        for (queue, frame) in came.drain(..) {
            self.append(usize::from(queue), frame);
        }
        self.rearranging = Rearranging { came, ..Rearranging::default() };
        if self.committed.is_none() {
            self.commit();
        }
    }

    /// Asks the first frame of a queue.
    fn rearrange_first(
        &mut self,
        number: u8,
        place: &mut impl FnMut(u64, u8) -> Option<u8>,
        purged: &mut impl FnMut(Queued),
    ) {
        let index = usize::from(number);
        let Some(frame) = self.queues[index].pop_front() else { return };
        self.queue_stats[index].wire_bits -= u64::from(frame.wire_bits);
        let taken = self.taken_by(&frame);
        self.backlog_bits[self.config.owner(number)] -= taken;
        match place(frame.cookie, number) {
            Some(queue) => {
                let queue = self.existing(queue);
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
    fn signals_leave_while_frames_are_asked_and_nothing_else_does() {
        let mut port = port();
        for id in 0..5 {
            port.enqueue(1, frame(id, 12_000)).expect("there is room");
        }
        port.begin_rearranging();
        port.enqueue(SIGNAL_QUEUE, frame(100, 672)).expect("there is room");
        // It comes by the new tables, before an older one has moved to its queue.
        port.enqueue(0, frame(6, 12_000)).expect("there is room");
        // The odd ones have their place one higher now.
        let place = |cookie, _| (cookie % 2 == 1).then_some(0);
        let mut purged = Vec::new();
        assert!(!port.rearrange(&mut 2, place, |it| purged.push(it.frame.0)));
        assert_eq!(next(&mut port), Some(0), "whose slot had begun");
        assert_eq!(next(&mut port), Some(100), "the signal");
        assert_eq!(next(&mut port), None);
        assert!(port.rearrange(&mut 2, place, |it| purged.push(it.frame.0)), "none is left");
        assert_eq!(purged, [2, 4]);
        let left: Vec<u32> = std::iter::from_fn(|| next(&mut port)).collect();
        assert_eq!(left, [1, 3, 6], "what came goes behind what has moved");
        assert_eq!(port.backlog_bits(), 0);
        assert!(port.queue_stats().iter().all(|it| it.wire_bits == 0));
    }
}
