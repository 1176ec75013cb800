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
    /// Taken back from the burst.
    spare: Vec<Parcel>,
    handed_over: u64,
}

/// Where they are taken out.
pub(super) struct LaneExit {
    full: Consumer<Parcel>,
    empty: Producer<Parcel>,
    taken: Vec<Parcel>,
    taken_ever: u64,
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
    let spare = Vec::with_capacity(BURST_FRAMES);
    let entry = LaneEntry { full, empty, burst, spare, handed_over: 0 };
    (entry, LaneExit { full: from, empty: back, taken, taken_ever: 0 })
}

impl LaneEntry {
    /// Frames that fit beside those that wait.
    pub(super) fn room(&self) -> usize {
        self.empty.slots() + self.spare.len()
    }

    /// Frames that wait to be handed over.
    pub(super) fn waiting(&self) -> usize {
        self.burst.len()
    }

    /// Copies a frame of at most [`FRAME_BYTES_LIMIT`] into the lane, to be handed over; `false` if
    /// it is full.
    pub(super) fn put(&mut self, arrival: Instant, frame: &[u8]) -> bool {
        let parcel = self.spare.pop().or_else(|| self.empty.pop().ok());
        let Some(mut parcel) = parcel else { return false };
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
        self.handed_over += count as u64;
        count
    }

    /// Takes back what was put in and not handed over.
    pub(super) fn take_back(&mut self) {
        self.spare.append(&mut self.burst);
    }

    /// Frames that were handed over so far.
    pub(super) const fn handed_over(&self) -> u64 {
        self.handed_over
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

    /// Takes frames, until they are given back, so that up to `most`, and [`BURST_FRAMES`], are taken;
    /// how many are.
    pub(super) fn take(&mut self, most: usize) -> usize {
        while self.taken.len() < most.min(BURST_FRAMES) {
            let Ok(parcel) = self.full.pop() else { break };
            self.taken.push(parcel);
            self.taken_ever += 1;
        }
        self.taken.len()
    }

    /// Frames that were taken so far.
    pub(super) const fn taken_ever(&self) -> u64 {
        self.taken_ever
    }

    /// What was taken.
    pub(super) fn taken(&self) -> &[Parcel] {
        &self.taken
    }

    /// Gives the memory of the first `count` that are taken back.
    pub(super) fn give_back(&mut self, count: usize) {
        for parcel in self.taken.drain(..count) {
            let pushed = self.empty.push(parcel);
            debug_assert!(pushed.is_ok(), "there is room for all that exist");
        }
    }
}
