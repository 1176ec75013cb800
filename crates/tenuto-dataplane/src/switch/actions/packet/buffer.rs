//! The copy of a frame that actions change.

use super::Layers;
use crate::FRAME_CAPACITY;

/// Room for tags that are pushed and popped again: a frame that is too long when it leaves is
/// dropped then.
const ROOM: usize = FRAME_CAPACITY + 64;

/// The shortest frame of Ethernet, FCS left aside.
const SHORTEST: usize = 60;

/// A frame being changed, and where its headers are. Behind a short one there are zeros.
#[derive(Clone, Debug)]
pub(in crate::switch) struct Buffer {
    bytes: Box<[u8; ROOM]>,
    len: usize,
    /// Bytes that it leaves with at least.
    len_min: usize,
    pub(super) layers: Layers,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { bytes: Box::new([0; ROOM]), len: 0, len_min: 0, layers: Layers::default() }
    }
}

impl Buffer {
    /// Takes a frame in; one that is too long is cut.
    pub(in crate::switch) fn load(&mut self, frame: &[u8]) {
        self.len = frame.len().min(ROOM);
        self.len_min = self.len.min(SHORTEST);
        self.bytes[..self.len].copy_from_slice(&frame[..self.len]);
        self.clear_behind(SHORTEST);
        self.relocate();
    }

    /// Takes over the content of another one.
    pub(in crate::switch) fn load_from(&mut self, other: &Self) {
        (self.len, self.len_min) = (other.len, other.len_min);
        self.bytes[..self.len].copy_from_slice(&other.bytes[..self.len]);
        self.clear_behind(SHORTEST);
        self.layers = other.layers;
    }

    fn clear_behind(&mut self, end: usize) {
        if self.len < end {
            self.bytes[self.len..end].fill(0);
        }
    }

    /// The frame as it is now.
    pub(in crate::switch) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The frame as it leaves: where actions have made it shorter than a frame may be, zeros are
    /// behind it, as a virtual interface does not pad it like the hardware of a port. What came too
    /// short leaves as short.
    pub(in crate::switch) fn bytes_to_send(&self) -> &[u8] {
        &self.bytes[..self.len.max(self.len_min)]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }

    /// Looks for the headers anew.
    pub(super) fn relocate(&mut self) {
        self.layers = Layers::locate(&self.bytes[..self.len]);
    }

    /// Makes room for `count` bytes at `at`; false if there is none.
    pub(super) fn insert(&mut self, at: usize, count: usize) -> bool {
        if at > self.len || self.len + count > ROOM {
            return false;
        }
        self.bytes.copy_within(at..self.len, at + count);
        self.len += count;
        true
    }

    /// Takes `count` bytes out at `at`; false if they are not there.
    pub(super) fn cut(&mut self, at: usize, count: usize) -> bool {
        if at + count > self.len {
            return false;
        }
        self.bytes.copy_within(at + count..self.len, at);
        self.len -= count;
        self.clear_behind(self.len + count);
        true
    }
}
