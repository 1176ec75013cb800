//! A device that takes a few frames at a time: what it has no room for waits here, by priority.
//!
//! What was handed over stands behind the scheduler, in the order in which it was handed over
//! (docs/theory/analysis.md, "The network
//! as servers": bits below the scheduler). A port that hands over only what its device has room for
//! keeps that to the device's few frames, however much comes.

use super::Egress;
use tenuto_units::Instant;

/// What the device behind a port takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    /// Frames; `None`: however many there are.
    frames: Option<u32>,
    /// When there was room again for the last time: what had waited for it left no earlier.
    since: Instant,
}

impl Room {
    pub(super) fn is_none(self) -> bool {
        self.frames == Some(0)
    }

    /// Takes a frame's place; when the frame leaves whose slot ended then.
    #[inline(always)]
    pub(super) fn take(&mut self, slot_end: Instant) -> Instant {
        if let Some(frames) = &mut self.frames {
            *frames -= 1;
        }
        slot_end.max(self.since)
    }
}

impl Egress {
    /// The device takes so many more frames, whatever it was told to take before; with `None`, which
    /// is how a port begins, however many there are.
    ///
    /// Without room no timer is armed and nothing is handed over. When there is room again, the
    /// slots that have ended meanwhile are made up for.
    pub fn set_room(&mut self, now: Instant, frames: Option<u32>) {
        if self.room.is_none() && frames != Some(0) {
            self.room.since = now;
        }
        self.room.frames = frames;
    }

    /// Frames that the device still takes, if it says.
    pub const fn room(&self) -> Option<u32> {
        self.room.frames
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EgressConfig, Queued, SIGNAL_QUEUE};
    use super::*;
    use crate::{FrameId, UNPACED_BPS};
    use tenuto_units::Rate;

    fn port(rate_bps: u64) -> Egress {
        let rate = Rate::from_bps(rate_bps).expect("not zero");
        let buffer_bits = 1 << 20;
        Egress::new(EgressConfig { rate, queues: 4, buffer_bits, unpromised_from: None })
    }

    fn put(port: &mut Egress, queue: u8, id: u32) {
        let since = Instant::from_ns(u64::from(id));
        let frame = Queued { frame: FrameId(id), wire_bits: 12_000, cookie: 0, since };
        port.enqueue(queue, frame).expect("there is room");
    }

    fn sent(port: &mut Egress, now_ns: u64) -> Vec<(u32, u64)> {
        let now = Instant::from_ns(now_ns);
        let next = || port.hand_over(1, now).map(|it| (it.frame.0, it.departure.as_ns()));
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn what_finds_no_room_waits_by_priority() {
        let mut port = port(UNPACED_BPS);
        port.set_room(Instant::ZERO, Some(2));
        (0..5).for_each(|id| put(&mut port, 3, id));
        assert_eq!(sent(&mut port, 100), [(0, 12), (1, 24)]);
        assert_eq!((port.deadline(), port.room()), (None, Some(0)));
        put(&mut port, 0, 5);
        put(&mut port, SIGNAL_QUEUE, 6);
        assert_eq!(sent(&mut port, 200), []);
        port.set_room(Instant::from_ns(1_000), Some(3));
        // The frame whose slot has begun goes first.
        assert_eq!(sent(&mut port, 1_000), [(2, 1_000), (6, 1_000), (5, 1_000)]);
        port.set_room(Instant::from_ns(2_000), None);
        assert!(port.deadline().is_some());
        assert_eq!(sent(&mut port, 2_000), [(3, 2_000), (4, 2_000)]);
        put(&mut port, 0, 3_000);
        assert_eq!(sent(&mut port, 9_000), [(3_000, 3_012)], "nothing is left of it");
    }

    #[test]
    fn a_paced_port_makes_up_for_slots_without_room() {
        let mut port = port(1_000_000_000);
        port.keep_delays();
        port.set_room(Instant::ZERO, Some(1));
        (0..4).for_each(|id| put(&mut port, 1, id));
        assert_eq!(sent(&mut port, 30_000), [(0, 12_000)]);
        port.set_room(Instant::from_ns(36_500), Some(9));
        assert_eq!(sent(&mut port, 40_000), [(1, 36_500), (2, 36_500)]);
        assert_eq!(sent(&mut port, 48_000), [(3, 48_000)], "by its slot again");
        assert_eq!(port.delays()[1].max().as_ns(), 47_997);
    }

    #[test]
    fn room_that_is_told_anew_replaces_what_was_told() {
        let mut port = port(UNPACED_BPS);
        (0..6).for_each(|id| put(&mut port, 1, id));
        for frames in [1, 1, 2] {
            port.set_room(Instant::ZERO, Some(7));
            port.set_room(Instant::ZERO, Some(frames));
            assert_eq!(sent(&mut port, 500).len(), usize::try_from(frames).expect("small"));
        }
    }
}
