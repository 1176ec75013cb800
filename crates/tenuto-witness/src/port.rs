//! One egress port: first in, first out within a class, strict priority between classes, no frame interrupted.

use std::collections::VecDeque;
use tenuto_units::Rate;

/// The class of mode signals; those of flows follow.
pub(crate) const SIGNALS: usize = 0;
/// Classes of flows that a port may have, and one of signals.
pub(crate) const CLASSES: usize = 33;

/// A frame at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Index into the schedule's releases; [`Frame::SIGNAL`] for a mode signal.
    pub(crate) release: u32,
    /// The hop that it is at, index into the layout's hops.
    pub(crate) hop: u32,
    /// Bytes with FCS, padded.
    pub(crate) frame_bytes: u32,
}

impl Frame {
    /// The release of mode signals: none.
    pub(crate) const SIGNAL: u32 = u32::MAX;

    fn wire_bits(self) -> u64 {
        tenuto_units::wire_bits(self.frame_bytes)
    }
}

/// The line of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) rate: Rate,
    /// Bits below the scheduler that may stand ahead of a frame chosen later.
    pub(crate) below_bits: u64,
}

/// What waits at a port, and what its line is busy with.
#[derive(Debug, Default)]
pub(crate) struct PortState {
    queues: Vec<VecDeque<(Frame, u64)>>,
    /// Bit by class: a frame waits there.
    waiting: u64,
    /// Frames below the scheduler; the first is on the line. With when each was queued.
    committed: VecDeque<(Frame, u64)>,
    committed_bits: u64,
    /// When the last slot ended: whole ns, and what it owes in 1/rate ns.
    free_ns: u64,
    owed: u64,
    /// Bits on the wire of flows that wait or are not handed over whole.
    pub(crate) backlog_bits: u64,
}

impl PortState {
    pub(crate) fn new() -> Self {
        Self { queues: vec![VecDeque::new(); CLASSES], ..Self::default() }
    }

    /// Empties it.
    pub(crate) fn clear(&mut self) {
        if self.waiting != 0 {
            self.queues.iter_mut().for_each(VecDeque::clear);
        }
        self.committed.clear();
        (self.waiting, self.committed_bits) = (0, 0);
        (self.free_ns, self.owed, self.backlog_bits) = (0, 0, 0);
    }

    /// Queues a frame; gives when the line is handed over next if this frame takes it.
    pub(crate) fn enqueue(
        &mut self,
        now_ns: u64,
        class: usize,
        frame: Frame,
        line: Line,
    ) -> Option<u64> {
        if frame.release != Frame::SIGNAL {
            self.backlog_bits += frame.wire_bits();
        }
        self.queues[class].push_back((frame, now_ns));
        self.waiting |= 1 << class;
        let was_idle = self.committed.is_empty();
        self.commit(line);
        was_idle.then(|| self.begin(line))
    }

    /// Hands the frame on the line over; gives it, and when the next one is handed over.
    pub(crate) fn hand_over(&mut self, line: Line) -> (Frame, Option<u64>) {
        let (frame, _) = self.committed.pop_front().expect("a line that ends a slot has a frame");
        self.committed_bits -= frame.wire_bits();
        if frame.release != Frame::SIGNAL {
            self.backlog_bits -= frame.wire_bits();
        }
        self.commit(line);
        let next = (!self.committed.is_empty()).then(|| self.begin(line));
        (frame, next)
    }

    /// Takes out of the queues whatever `ends`; what is below the scheduler stays.
    pub(crate) fn purge(&mut self, mut ends: impl FnMut(Frame) -> bool) {
        for (class, queue) in self.queues.iter_mut().enumerate() {
            let backlog_bits = &mut self.backlog_bits;
            queue.retain(|&(frame, _)| {
                let stays = frame.release == Frame::SIGNAL || !ends(frame);
                if !stays {
                    *backlog_bits -= frame.wire_bits();
                }
                stays
            });
            if queue.is_empty() {
                self.waiting &= !(1 << class);
            }
        }
    }

    /// Moves frames below the scheduler while there is room: one always, more by what the device holds.
    fn commit(&mut self, line: Line) {
        while self.waiting != 0 {
            let class = self.waiting.trailing_zeros() as usize;
            let queue = &mut self.queues[class];
            let &(frame, _) = queue.front().expect("its bit says so");
            let bits = self.committed_bits + frame.wire_bits();
            if !self.committed.is_empty() && bits > line.below_bits {
                return;
            }
            self.committed.extend(queue.pop_front());
            self.committed_bits = bits;
            if queue.is_empty() {
                self.waiting &= !(1 << class);
            }
        }
    }

    /// Begins the slot of the first committed frame; gives its end, rounded up to a whole ns.
    fn begin(&mut self, line: Line) -> u64 {
        let &(frame, since_ns) = self.committed.front().expect("it was committed");
        let (start_ns, owed) =
            if since_ns > self.free_ns { (since_ns, 0) } else { (self.free_ns, self.owed) };
        let (span, owed) = line.rate.serialise(frame.wire_bits(), owed);
        (self.free_ns, self.owed) = (start_ns + span.as_ns(), owed);
        self.free_ns + u64::from(owed > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bps: u64, below_bytes: u64) -> Line {
        Line { rate: Rate::from_bps(bps).unwrap(), below_bits: below_bytes * 8 }
    }

    const fn frame(release: u32, frame_bytes: u32) -> Frame {
        Frame { release, hop: 0, frame_bytes }
    }

    #[test]
    fn a_frame_on_the_line_is_not_interrupted_and_the_highest_class_is_next() {
        let (mut port, line) = (PortState::new(), line(100_000_000, 0));
        assert_eq!(port.enqueue(0, 3, frame(0, 1_518), line), Some(123_040));
        assert_eq!(port.enqueue(1, 3, frame(1, 64), line), None);
        assert_eq!(port.enqueue(2, 1, frame(2, 64), line), None);
        assert_eq!(port.backlog_bits, (1_538 + 84 + 84) * 8);
        let (first, next) = port.hand_over(line);
        assert_eq!((first.release, next), (0, Some(123_040 + 6_720)));
        let (second, next) = port.hand_over(line);
        assert_eq!((second.release, next), (2, Some(123_040 + 2 * 6_720)));
        assert_eq!(port.hand_over(line), (frame(1, 64), None));
        assert_eq!(port.backlog_bits, 0);
    }

    #[test]
    fn lines_owe_fractions_of_a_nanosecond_exactly() {
        // 672 bits at 10 Gbit/s take 67.2 ns; five of them 336.
        let (mut port, line) = (PortState::new(), line(10_000_000_000, 0));
        let mut ends = vec![port.enqueue(0, 1, frame(0, 64), line).unwrap()];
        for number in 1..5 {
            assert_eq!(port.enqueue(0, 1, frame(number, 64), line), None);
        }
        while let (_, Some(next)) = port.hand_over(line) {
            ends.push(next);
        }
        assert_eq!(ends, [68, 135, 202, 269, 336]);
    }

    #[test]
    fn bytes_below_the_scheduler_stand_ahead_of_a_higher_class() {
        let (mut port, line) = (PortState::new(), line(100_000_000, 2 * 84));
        for number in 0..3 {
            port.enqueue(0, 5, frame(number, 64), line);
        }
        port.enqueue(1, 1, frame(9, 64), line);
        let mut order = Vec::new();
        for _ in 0..4 {
            order.push(port.hand_over(line).0.release);
        }
        assert_eq!(order, [0, 1, 9, 2]);
    }

    #[test]
    fn a_purge_leaves_what_is_committed() {
        let (mut port, line) = (PortState::new(), line(100_000_000, 0));
        for number in 0..3 {
            port.enqueue(0, 1, frame(number, 64), line);
        }
        port.purge(|frame| frame.release != 1);
        assert_eq!(port.hand_over(line).0.release, 0);
        assert_eq!(port.hand_over(line), (frame(1, 64), None));
        assert_eq!(port.backlog_bits, 0);
    }
}
