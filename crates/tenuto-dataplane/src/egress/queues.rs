//! Queues of one port: lists through memory that they share.
//!
//! A ring for each queue would grow when its queue is deeper than ever before, which is when frames
//! already wait; set aside in full, each would walk through all of its memory. Lists take the
//! place that was left last, so that few places are used as long as few frames wait, and memory for
//! as many frames as the buffer holds can be set aside once for all queues.

use super::{Egress, FLOWS, Queued, SIGNALS_MAX};
use crate::FrameId;
use tenuto_units::{FRAME_BYTES_MIN, Instant, wire_bits};

/// No place.
const NONE: u32 = u32::MAX;

/// In a place that was never taken.
const NOTHING: Queued = Queued { frame: FrameId(0), wire_bits: 0, cookie: 0, since: Instant::ZERO };

#[derive(Clone, Debug)]
struct Place {
    frame: Queued,
    /// Behind it in its queue, or the next free one; of the last of a queue it means nothing.
    next: u32,
    /// In front of it in its queue; of the first it means nothing.
    before: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    frames: u32,
    /// These mean nothing while there are no frames.
    first: u32,
    last: u32,
}

/// The queues of one port, by number.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    places: Vec<Place>,
    free: u32,
    ends: Vec<Ends>,
}

impl Queues {
    pub(super) fn new(count: usize) -> Self {
        Self { places: Vec::new(), free: NONE, ends: vec![Ends::default(); count] }
    }

    /// Sets memory aside for so many frames, if there is so much, and writes to all of it.
    pub(super) fn set_aside(&mut self, frames: usize) {
        let more = frames.min(NONE as usize).saturating_sub(self.places.len());
        if self.places.try_reserve_exact(more).is_err() {
            return;
        }
        let unused = Place { frame: NOTHING, next: NONE, before: NONE };
        let old = self.places.len();
        self.places.resize(old + more, unused);
        // The first of them is taken first.
        for at in (old..old + more).rev() {
            let before = std::mem::replace(&mut self.free, u32::try_from(at).unwrap_or(NONE));
            self.places[at].next = before;
        }
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    /// Frames that wait in each queue.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.ends.iter().map(|ends| ends.frames)
    }

    /// Frames that wait in a queue.
    #[inline]
    pub(super) fn len(&self, queue: usize) -> u32 {
        self.ends[queue].frames
    }

    /// The frame that has waited longest in a queue.
    #[inline]
    pub(super) fn front(&self, queue: usize) -> Option<&Queued> {
        let ends = self.ends[queue];
        (ends.frames > 0).then(|| &self.places[ends.first as usize].frame)
    }

    /// Appends a frame to a queue; gives how many wait there now.
    #[inline]
    pub(super) fn push_back(&mut self, queue: usize, frame: Queued) -> u32 {
        let ends = &mut self.ends[queue];
        let place = Place { frame, next: NONE, before: ends.last };
        let at = match self.places.get_mut(self.free as usize) {
            Some(free) => std::mem::replace(&mut self.free, std::mem::replace(free, place).next),
            None => grow(&mut self.places, place),
        };
        match ends.frames {
            0 => ends.first = at,
            _ => self.places[ends.last as usize].next = at,
        }
        ends.last = at;
        ends.frames += 1;
        ends.frames
    }

    /// Takes out the frame that has waited longest in a queue.
    #[inline]
    pub(super) fn pop_front(&mut self, queue: usize) -> Option<Queued> {
        let ends = &mut self.ends[queue];
        ends.frames = ends.frames.checked_sub(1)?;
        let place = &mut self.places[ends.first as usize];
        let at = std::mem::replace(&mut ends.first, place.next);
        place.next = std::mem::replace(&mut self.free, at);
        Some(place.frame)
    }

    /// Takes out the frame that has come last into a queue.
    pub(super) fn pop_back(&mut self, queue: usize) -> Option<Queued> {
        let ends = &mut self.ends[queue];
        ends.frames = ends.frames.checked_sub(1)?;
        let place = &mut self.places[ends.last as usize];
        let at = std::mem::replace(&mut ends.last, place.before);
        place.next = std::mem::replace(&mut self.free, at);
        Some(place.frame)
    }

    /// Frames of a queue, in their order.
    pub(super) fn frames(&self, queue: usize) -> impl Iterator<Item = &Queued> {
        let ends = self.ends[queue];
        let mut at = ends.first;
        (0..ends.frames).map(move |_| {
            let place = &self.places[at as usize];
            at = place.next;
            &place.frame
        })
    }
}

/// One more place.
#[allow(clippy::cast_possible_truncation)] // as many as there are numbers would be 160 GB
#[cold]
fn grow(places: &mut Vec<Place>, place: Place) -> u32 {
    places.push(place);
    places.len() as u32 - 1
}

impl Egress {
    /// Sets memory aside for as many frames as may wait, but not for more than so many, so that it
    /// takes none when they do.
    pub(crate) fn set_aside(&mut self, most: usize) {
        let least = u64::from(self.least_bits).max(wire_bits(FRAME_BYTES_MIN));
        let unpromised = self.config.unpromised_from.map_or(0, |_| self.buffer_bits[1]);
        let frames = (self.buffer_bits[FLOWS] + unpromised) / least;
        self.queues.set_aside(usize::try_from(frames).unwrap_or(most).min(most));
        self.signals.reserve(SIGNALS_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const COUNT: usize = 3;

    fn frame(id: u32) -> Queued {
        Queued { frame: FrameId(id), ..NOTHING }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        PushBack,
        PopFront,
        PopBack,
    }

    fn step() -> impl Strategy<Value = (Step, usize)> {
        let kind = prop_oneof![
            3 => Just(Step::PushBack),
            2 => Just(Step::PopFront),
            1 => Just(Step::PopBack),
        ];
        (kind, 0..COUNT)
    }

    proptest! {
        #[test]
        fn lists_are_queues(aside in 0..40_usize, steps in prop::collection::vec(step(), 0..400)) {
            let mut queues = Queues::new(COUNT);
            queues.set_aside(aside);
            let mut twin = vec![VecDeque::new(); COUNT];
            let mut deepest = 0;
            for (id, (step, queue)) in (0..).zip(steps) {
                match step {
                    Step::PushBack => {
                        twin[queue].push_back(frame(id));
                        prop_assert_eq!(queues.push_back(queue, frame(id)) as usize, twin[queue].len());
                    }
                    Step::PopFront => prop_assert_eq!(queues.pop_front(queue), twin[queue].pop_front()),
                    Step::PopBack => prop_assert_eq!(queues.pop_back(queue), twin[queue].pop_back()),
                }
                for (queue, twin) in twin.iter().enumerate() {
                    prop_assert_eq!(queues.front(queue), twin.front());
                    prop_assert!(queues.frames(queue).eq(twin));
                }
                deepest = deepest.max(twin.iter().map(VecDeque::len).sum());
            }
            prop_assert_eq!(queues.places.len(), aside.max(deepest));
        }
    }
}
