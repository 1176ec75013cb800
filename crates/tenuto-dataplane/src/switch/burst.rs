//! Frames that came together: the memory is waited for once for many of them, not once for each.
//!
//! A frame of a virtual link needs a cell of an index, a track, a meter, a monitor and three
//! counters; with thousands of links none of that is in the nearest cache. So before the first
//! frames of a burst are handled, their keys are read and looked up, and what they will need is
//! read once, step by step for all of them: a processor has many reads under way at a time if
//! none of them waits for another.
//!
//! Only the key, which is the frame's own, and the first look-up are kept of that, and the look-up
//! counts only as long as no entry has come or gone. Everything else is read again when the frame's
//! turn comes: what an earlier frame has changed, be it the mode, is in effect for the next.

use super::key::PacketKey;
use super::pipeline::LookUp;
use super::tables::TABLE_WATCH;
use super::{Switch, SwitchEvent};
use crate::{Effects, FrameId, Frames, Work};
use std::hint::black_box;
use tenuto_units::Instant;

/// Frames that are looked ahead at: what all of them need fits into the nearest cache.
const WINDOW: usize = 32;

/// Frames that have arrived and are to be handled in this order. Holds them.
#[derive(Clone, Debug, Default)]
pub struct Burst {
    frames: Vec<Waiting>,
    /// The first that is not handled yet.
    next: usize,
    /// The first that was not looked at yet.
    ahead: usize,
    /// The state of the tables when the others were looked up.
    revision: u64,
}

#[derive(Clone, Debug)]
struct Waiting {
    port: u32,
    arrival: Instant,
    frame: FrameId,
    read: Read,
}

/// What is known of a frame before its turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Read {
    /// Whether it has a key.
    pub(super) is_whole: bool,
    pub(super) key: PacketKey,
    /// What was found in the first table.
    pub(super) looked_up: Option<LookUp>,
}

impl Burst {
    /// No frame.
    pub const fn new() -> Self {
        Self { frames: Vec::new(), next: 0, ahead: 0, revision: 0 }
    }

    /// A frame has entered at `port`, its last bit at `arrival`, non-decreasing per port. Takes
    /// over the hold on it.
    pub fn push(&mut self, port: u32, arrival: Instant, frame: FrameId) {
        self.frames.push(Waiting { port, arrival, frame, read: Read::default() });
    }

    /// When the next frame to be handled arrived; `None` if there is none.
    pub fn next_arrival(&self) -> Option<Instant> {
        self.frames.get(self.next).map(|waiting| waiting.arrival)
    }
}

impl Switch {
    /// Handles the next frame of a burst as [`Switch::receive`] does; `None` if there is none. The
    /// burst can be used again then.
    ///
    /// Tables and mode may change between two frames of a burst. It is to be finished by the switch
    /// that it was begun with.
    pub fn receive_next(
        &mut self,
        now: Instant,
        burst: &mut Burst,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<Work> {
        if burst.next == burst.frames.len() {
            burst.frames.clear();
            (burst.next, burst.ahead) = (0, 0);
            return None;
        }
        if burst.next == burst.ahead {
            self.look_ahead(burst, frames);
        }
        let Waiting { port, arrival, frame, read } = &mut burst.frames[burst.next];
        burst.next += 1;
        if burst.revision != self.tables.revision() {
            read.looked_up = None;
        }
        Some(self.receive_read(now, *arrival, *port, *frame, Some(read), frames, fx))
    }

    fn look_ahead(&self, burst: &mut Burst, frames: &impl Frames) {
        burst.ahead = burst.frames.len().min(burst.next + WINDOW);
        burst.revision = self.tables.revision();
        let window = &mut burst.frames[burst.next..burst.ahead];
        for Waiting { port, frame, read, .. } in &mut *window {
            read.is_whole = self.read_key(frames.bytes(*frame), *port, &mut read.key);
        }
        let Some(first) = self.tables.get(0, TABLE_WATCH) else { return };
        for Waiting { read, .. } in &mut *window {
            read.looked_up = Some(first.table().look_up(&read.key));
        }
        let slots = || window.iter().filter_map(|waiting| waiting.read.looked_up?.0);
        let began = slots().fold(0, |sum: u64, slot| sum ^ self.tables.touch_first(slot));
        black_box(slots().fold(began, |sum, slot| sum ^ self.touch_track(slot)));
    }
}
