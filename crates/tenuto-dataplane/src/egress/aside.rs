//! Memory for all that may wait, before it does.
//!
//! A queue that is deeper than ever before would ask for memory while frames wait. What is set aside
//! is touched as it is needed: a queue begins at its beginning again whenever it has run empty, so
//! that few places are used as long as few frames wait.

use super::{Egress, SIGNALS_MAX};
use tenuto_units::{FRAME_BYTES_MIN, wire_bits};

impl Egress {
    /// Sets memory aside for as many frames as may wait in each queue, but not for more than so many;
    /// as far as there is any.
    pub(crate) fn set_aside(&mut self, most: usize) {
        let least = u64::from(self.least_bits).max(wire_bits(FRAME_BYTES_MIN));
        let frames = self.buffer_bits.map(|bits| usize::try_from(bits / least).unwrap_or(most));
        for (number, queue) in (0u8..).zip(&mut self.queues) {
            let frames = frames[self.config.owner(number)].min(most);
            // Without it the queue grows as it is needed.
            let _ = queue.try_reserve_exact(frames.saturating_sub(queue.len()));
        }
        self.signals.reserve(SIGNALS_MAX);
    }
}
