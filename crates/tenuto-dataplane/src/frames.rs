//! Where frames live: handles into a store that the world owns.

/// Largest frame that a store holds, bytes without FCS (one 802.1Q tag included).
pub const FRAME_CAPACITY: usize = 1518;

/// A handle to a frame in a [`Frames`] store. Copying the handle does not count as a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub u32);

/// A store of frames: live a pool of slots, simulated shared bytes, explored interned contents.
pub trait Frames {
    /// The bytes of a frame, without FCS.
    fn bytes(&self, frame: FrameId) -> &[u8];
    /// Takes in a frame; `None` if the store is full or the frame larger than [`FRAME_CAPACITY`].
    fn insert(&mut self, bytes: &[u8]) -> Option<FrameId>;
    /// One more holder of the frame.
    fn retain(&mut self, frame: FrameId);
    /// One holder less; the last one frees the slot.
    fn release(&mut self, frame: FrameId);
}

/// A pool of equal slots with counted holders, allocated once.
#[derive(Clone, Debug)]
pub struct FramePool {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    limit: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    len: u16,
    holders: u16,
}

impl FramePool {
    /// A pool of at most `limit` frames; memory is taken as it is first needed and kept.
    pub const fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), slots: Vec::new(), free: Vec::new(), limit }
    }

    /// Frames held now.
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    fn slot(&mut self) -> Option<u32> {
        match self.free.pop() {
            Some(index) => Some(index),
            None => self.add_slot(),
        }
    }

    #[cold]
    fn add_slot(&mut self) -> Option<u32> {
        if self.slots.len() >= self.limit {
            return None;
        }
        let index = u32::try_from(self.slots.len()).ok()?;
        self.slots.push(Slot::default());
        self.bytes.resize(self.slots.len() * FRAME_CAPACITY, 0);
        Some(index)
    }
}

impl Frames for FramePool {
    #[inline]
    fn bytes(&self, frame: FrameId) -> &[u8] {
        let slot = self.slots[frame.0 as usize];
        debug_assert!(slot.holders > 0, "a released frame is read");
        let start = frame.0 as usize * FRAME_CAPACITY;
        &self.bytes[start..start + usize::from(slot.len)]
    }

    #[inline]
    fn insert(&mut self, bytes: &[u8]) -> Option<FrameId> {
        if bytes.len() > FRAME_CAPACITY {
            return None;
        }
        let index = self.slot()?;
        let start = index as usize * FRAME_CAPACITY;
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        #[allow(clippy::cast_possible_truncation)] // checked against the capacity above
        let len = bytes.len() as u16;
        self.slots[index as usize] = Slot { len, holders: 1 };
        Some(FrameId(index))
    }

    #[inline]
    fn retain(&mut self, frame: FrameId) {
        self.slots[frame.0 as usize].holders += 1;
    }

    #[inline]
    fn release(&mut self, frame: FrameId) {
        let slot = &mut self.slots[frame.0 as usize];
        assert!(slot.holders > 0, "a frame is released more often than held");
        slot.holders -= 1;
        if slot.holders == 0 {
            self.free.push(frame.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_after_its_last_holder() {
        let mut pool = FramePool::new(1);
        let frame = pool.insert(&[1, 2, 3]).expect("the pool is empty");
        pool.retain(frame);
        assert_eq!(pool.insert(&[4]), None, "full is an answer, not a panic");
        pool.release(frame);
        assert_eq!(pool.bytes(frame), &[1, 2, 3]);
        pool.release(frame);
        assert_eq!(pool.in_use(), 0);
        assert!(pool.insert(&[0; FRAME_CAPACITY + 1]).is_none());
        assert!(pool.insert(&[4]).is_some());
    }
}
