//! What a switch still has queued when a controller has changed its entries: frames of flows without
//! a place in the new mode leave when their turn comes, and may be in the way until then.

use std::collections::BTreeSet;
use tenuto_dataplane::switch::Switch;

/// A queue that still holds frames without a place: it is rid of them when so many have left it.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    port: u32,
    queue: usize,
    until_frames: u64,
}

/// The queues of one switch that hold frames without a place.
#[derive(Clone, Debug, Default)]
pub struct LeftBehind {
    waiting: Vec<Waiting>,
}

impl LeftBehind {
    /// Looks what `switch` has queued of flows with these cookies: gives how many frames, and
    /// follows them from now on.
    pub fn note(&mut self, switch: &Switch, out_of_mode: &BTreeSet<u64>) -> u64 {
        self.waiting.clear();
        let mut frames = 0;
        for (port, _, egress) in switch.ports() {
            let mut queued = vec![(0_u64, 0_u64); egress.queue_stats().len()];
            egress.for_each_frame(|queue, frame| {
                let Some(it) = queue.and_then(|queue| queued.get_mut(usize::from(queue))) else {
                    return;
                };
                it.0 += 1;
                if out_of_mode.contains(&frame.cookie) {
                    frames += 1;
                    it.1 = it.0;
                }
            });
            for (queue, (_, last)) in queued.into_iter().enumerate().filter(|(_, it)| it.1 > 0) {
                let until_frames = egress.queue_stats()[queue].frames + last;
                self.waiting.push(Waiting { port, queue, until_frames });
            }
        }
        frames
    }

    /// Forgets queues that are rid of them; whether there was one.
    pub fn look(&mut self, switch: &Switch) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|it| {
            let port = switch.ports().find(|(port, ..)| *port == it.port);
            let left = port.map_or(u64::MAX, |(.., egress)| egress.queue_stats()[it.queue].frames);
            left < it.until_frames
        });
        self.waiting.len() < before
    }

    /// Whether no such frame is queued any more.
    pub const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
