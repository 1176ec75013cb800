//! What is counted and remembered of an entry.

use tenuto_units::Instant;

/// Frames and bytes that an entry matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryCounter {
    /// Frames.
    pub frames: u64,
    /// Bytes, FCS included.
    pub bytes: u64,
}

impl EntryCounter {
    #[inline]
    pub(in crate::switch) fn add(&mut self, frame_bytes: u32) {
        self.frames += 1;
        self.bytes += u64::from(frame_bytes);
    }

    /// Counts many frames.
    pub(in crate::switch) const fn add_all(&mut self, other: Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }
}

/// When an entry came, and when a frame last matched it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryAge {
    /// When it was installed.
    pub since: Instant,
    /// When a frame last matched it; when it was installed, before the first.
    pub used: Instant,
}

/// No path counts for an entry.
pub(in crate::switch) const NO_PATH: u32 = u32::MAX;

/// What an entry is used for, beside what it does.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Use {
    pub(in crate::switch) counter: EntryCounter,
    /// When a frame last matched it.
    pub(in crate::switch) used: Instant,
    /// The path that counts for it.
    pub(in crate::switch) path: u32,
}

impl Use {
    pub(in crate::switch) fn new(now: Instant) -> Self {
        Self { counter: EntryCounter::default(), used: now, path: NO_PATH }
    }
}
