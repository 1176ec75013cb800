//! Frames that came together: the memory is waited for once for many of them, not once for each.
//!
//! Before the first frames of a burst are handled, all of them are looked up in the first table, and the
//! path of each is touched, with what its meter and monitor have lent it: a processor has many reads under way at a time if
//! nothing has to wait for what they give.
//!
//! Only the slot of the entry is kept, and it counts as long as no entry has come or gone. All else
//! is read when the frame's turn comes: what an earlier frame has changed, be it the mode, is in
//! effect for the next.

use super::run::ClassifiedFrame;
use crate::switch::{Switch, SwitchEvent};
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
    port: u32,
    is_looked_up: bool,
    it: ClassifiedFrame,
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
        let it = ClassifiedFrame::new(arrival, frame);
        self.frames.push(Waiting { port, is_looked_up: false, it });
    }

    /// When the next frame to be handled arrived; `None` if there is none.
    #[inline]
    pub fn next_arrival(&self) -> Option<Instant> {
        self.frames.get(self.next).map(|waiting| waiting.it.arrival)
    }
}

impl Burst {
    /// Takes out the next frame with its port and arrival, and the hold on it.
    pub(in crate::switch) fn pop(&mut self) -> Option<(u32, Instant, FrameId)> {
        let &Waiting { port, it, .. } = self.frames.get(self.next)?;
        self.next += 1;
        if self.next == self.frames.len() {
            self.frames.clear();
            (self.next, self.ahead) = (0, 0);
        }
        Some((port, it.arrival, it.frame))
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
        let &Waiting { port, is_looked_up, it } = burst.frames.get(burst.next)?;
        burst.next += 1;
        if burst.next == burst.frames.len() {
            // Here, as who asks for the next arrival first does not come once more for none.
            burst.frames.clear();
            (burst.next, burst.ahead) = (0, 0);
        }
        let is_known = is_looked_up && burst.revision == self.tables.revision();
        Some(match is_known && self.has_paths(it.place()) {
            true => self.process_entered(now, it, frames, fx),
            false => self.receive(now, it.arrival, port, it.frame, frames, fx),
        })
    }

    /// Looks up the next frames.
    fn look_ahead(&self, burst: &mut Burst, frames: &impl Frames) {
        burst.ahead = burst.frames.len().min(burst.next + WINDOW);
        burst.revision = self.tables.revision();
        let window = &mut burst.frames[burst.next..burst.ahead];
        for waiting in &mut *window {
            if let Some(&place) = self.port_index.get(&waiting.port)
                && self.has_paths(place)
                && let Some(it) = self.look_first((place, waiting.port), waiting.it, frames)
            {
                (waiting.it, waiting.is_looked_up) = (it, true);
            }
        }
        let touched = window.iter().fold(0, |all, waiting| all ^ self.touch(waiting.it));
        std::hint::black_box(touched);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FramePool;
    use crate::switch::{ClassifierKind, GeneralConfig, HashKey, SwitchConfig};
    use std::sync::Arc;

    /// Frames that have been handled are forgotten, however the end of the burst is noticed.
    #[test]
    fn a_burst_that_is_used_again_does_not_grow() {
        let config = SwitchConfig {
            datapath_id: 1,
            ports: Vec::new(),
            tables: 1,
            entries_max: 1,
            meters_max: 1,
            groups_max: 1,
            meter_extra_bytes: 4,
            classifier: ClassifierKind::ByMask,
            hash_key: HashKey::fixed(),
            boot_seed: 1,
            mode_retry: tenuto_units::Span::from_ms(1),
            general: Some(GeneralConfig::default()),
        };
        let mut switch = Switch::new(Arc::new(config));
        let (mut pool, mut fx, mut burst) = (FramePool::new(8), Effects::new(), Burst::new());
        for round in 0..100 {
            for _ in 0..5 {
                let frame = pool.insert(&[0; 60]).expect("all are free again");
                burst.push(1, Instant::ZERO, frame);
            }
            match round % 2 {
                0 => {
                    while switch
                        .receive_next(Instant::ZERO, &mut burst, &mut pool, &mut fx)
                        .is_some()
                    {}
                }
                _ => {
                    while let Some(arrival) = burst.next_arrival() {
                        switch.receive_next(arrival, &mut burst, &mut pool, &mut fx);
                    }
                }
            }
            assert_eq!((burst.frames.len(), burst.next, burst.ahead), (0, 0, 0), "{round}");
        }
        assert!(burst.frames.capacity() < 64 && pool.in_use() == 0);
    }
}
