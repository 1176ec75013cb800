//! One direction of a relay: frames in a ring, and their memory back in another.

use crate::{BURST_FRAMES, FRAME_BYTES_LIMIT};
use rtrb::{Consumer, Producer, RingBuffer};
use tenuto_units::Instant;

/// A frame under way, and its memory ever after.
pub(super) struct Parcel {
    arrival: Instant,
    length: usize,
    bytes: Box<[u8; FRAME_BYTES_LIMIT]>,
}

impl Parcel {
    pub(super) const fn arrival(&self) -> Instant {
        self.arrival
    }

    pub(super) fn frame(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Where frames are put in.
pub(super) struct LaneEntry {
    full: Producer<Parcel>,
    empty: Consumer<Parcel>,
    /// Filled and not handed over.
    burst: Vec<Parcel>,
}

/// Where they are taken out.
pub(super) struct LaneExit {
    full: Consumer<Parcel>,
    empty: Producer<Parcel>,
    taken: Vec<Parcel>,
}

/// A lane for so many frames.
pub(super) fn lane(frames: usize) -> (LaneEntry, LaneExit) {
    let (full, from) = RingBuffer::new(frames);
    let (mut back, empty) = RingBuffer::new(frames);
    for _ in 0..frames {
        let (arrival, length) = (Instant::ZERO, 0);
        let parcel = Parcel { arrival, length, bytes: Box::new([0; FRAME_BYTES_LIMIT]) };
        let pushed = back.push(parcel);
        assert!(pushed.is_ok(), "there is room for all");
    }
    let burst = Vec::with_capacity(BURST_FRAMES);
    let taken = Vec::with_capacity(BURST_FRAMES);
    (LaneEntry { full, empty, burst }, LaneExit { full: from, empty: back, taken })
}

impl LaneEntry {
    /// Frames that fit beside those that wait.
    pub(super) fn room(&self) -> usize {
        self.empty.slots()
    }

    /// Frames that wait to be handed over.
    pub(super) fn waiting(&self) -> usize {
        self.burst.len()
    }

    /// Copies a frame of at most [`FRAME_BYTES_LIMIT`] into the lane, to be handed over; `false` if
    /// it is full.
    pub(super) fn put(&mut self, arrival: Instant, frame: &[u8]) -> bool {
        let Ok(mut parcel) = self.empty.pop() else { return false };
        parcel.arrival = arrival;
        parcel.length = frame.len();
        parcel.bytes[..frame.len()].copy_from_slice(frame);
        self.burst.push(parcel);
        true
    }

    /// Hands over what was put in; how many frames that were.
    pub(super) fn hand_over(&mut self) -> usize {
        let count = self.burst.len();
        for parcel in self.burst.drain(..) {
            let pushed = self.full.push(parcel);
            debug_assert!(pushed.is_ok(), "there is room for all that exist");
        }
        count
    }
}

impl LaneExit {
    /// Whether a frame waits.
    pub(super) fn has_frame(&self) -> bool {
        !self.full.is_empty()
    }

    /// How many wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.full.slots()
    }

    /// Takes up to `most` frames, and [`BURST_FRAMES`], until they are given back; how many.
    pub(super) fn take(&mut self, most: usize) -> usize {
        self.give_back();
        while self.taken.len() < most.min(BURST_FRAMES) {
            let Ok(parcel) = self.full.pop() else { break };
            self.taken.push(parcel);
        }
        self.taken.len()
    }

    /// What was taken.
    pub(super) fn taken(&self) -> &[Parcel] {
        &self.taken
    }

    /// Gives the memory of what was taken back.
    pub(super) fn give_back(&mut self) {
        for parcel in self.taken.drain(..) {
            let pushed = self.empty.push(parcel);
            debug_assert!(pushed.is_ok(), "there is room for all that exist");
        }
    }
}
