//! Frames that came together: the memory is waited for once for many of them, not once for each.
//!
//! Before the first frames of a burst are handled, all of them are looked up in the first table: a
//! processor has many reads of the index under way at a time if nothing has to wait for what they
//! give. To read also what is on the tracks that they lead to costs more than it saves
//! (`bench/README.md`): most of that waiting is hidden by the work on the frame before.
//!
//! Only the slot of the entry is kept, and it counts as long as no entry has come or gone. All else
//! is read when the frame's turn comes: what an earlier frame has changed, be it the mode, is in
//! effect for the next.

use super::follow::Entered;
use super::{Switch, SwitchEvent};
use crate::{Effects, FrameId, Frames, Work};
use tenuto_units::Instant;

/// Frames that are looked ahead at; those of a port's burst, which are still in the nearest cache.
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

#[derive(Clone, Copy, Debug)]
struct Waiting {
    arrival: Instant,
    port: u32,
    frame: FrameId,
    entered: Option<Entered>,
}

impl Burst {
    /// No frame.
    pub const fn new() -> Self {
        Self { frames: Vec::new(), next: 0, ahead: 0, revision: 0 }
    }

    /// A frame has entered at `port`, its last bit at `arrival`, non-decreasing per port. Takes
    /// over the hold on it.
    #[inline]
    pub fn push(&mut self, port: u32, arrival: Instant, frame: FrameId) {
        self.frames.push(Waiting { arrival, port, frame, entered: None });
    }

    /// When the next frame to be handled arrived; `None` if there is none.
    #[inline]
    pub fn next_arrival(&self) -> Option<Instant> {
        self.frames.get(self.next).map(|waiting| waiting.arrival)
    }
}

impl Switch {
    /// Handles the next frame of a burst as [`Switch::receive`] does; `None` if there is none, and
    /// the burst can be used again.
    ///
    /// Tables and mode may change between two frames of a burst. The switch that begins a burst is
    /// to finish it.
    #[inline]
    pub fn receive_next(
        &mut self,
        now: Instant,
        burst: &mut Burst,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<Work> {
        if burst.next == burst.ahead {
            self.look_ahead(burst, frames);
        }
        let Some(&Waiting { arrival, port, frame, entered }) = burst.frames.get(burst.next) else {
            burst.frames.clear();
            (burst.next, burst.ahead) = (0, 0);
            return None;
        };
        burst.next += 1;
        Some(match entered.filter(|_| burst.revision == self.tables.revision()) {
            Some(entered) => self.process_entered(now, entered, frames, fx),
            None => self.receive(now, arrival, port, frame, frames, fx),
        })
    }

    /// Looks up the next frames.
    fn look_ahead(&self, burst: &mut Burst, frames: &impl Frames) {
        burst.ahead = burst.frames.len().min(burst.next + WINDOW);
        burst.revision = self.tables.revision();
        if !self.has_tracks() {
            return;
        }
        for Waiting { arrival, port, frame, entered } in &mut burst.frames[burst.next..burst.ahead]
        {
            if let Some(&place) = self.port_index.get(port) {
                *entered = self.look_first((place, *port), *arrival, *frame, frames);
            }
        }
    }
}
