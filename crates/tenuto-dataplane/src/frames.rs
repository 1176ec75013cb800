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
    /// While its bytes are still lent: which of them, counted from 1.
    lent: u8,
}

/// Frames that one [`LentFrames`] knows at most.
pub const LENT_MAX: usize = 32;

/// A pool that for the time of a burst also knows frames which lie elsewhere, as a port received
/// them. When that time is over, those that are still held are copied into the pool: whoever holds
/// a frame keeps its handle. So a frame that leaves in its burst is never copied here.
#[derive(Debug)]
pub struct LentFrames<'a> {
    pool: &'a mut FramePool,
    frames: &'a [&'a [u8]],
    /// The slot of each that was held.
    slots: [u32; LENT_MAX],
}

/// Of a lent frame that nobody has held.
const NO_SLOT: u32 = u32::MAX;

impl FramePool {
    /// A pool of at most `limit` frames; memory is taken as it is first needed and kept.
    pub const fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), slots: Vec::new(), free: Vec::new(), limit }
    }

    /// The same with memory set aside for all of them, if there is so much, so that what is held is never
    /// moved to make room; that of the first `used` is written to at once, so that no frame waits until
    /// there is memory behind it. The rest costs nothing before it is needed.
    pub fn set_aside(limit: usize, used: usize) -> Self {
        let mut pool = Self::new(limit);
        // Without it the pool grows as it is needed.
        let _ = pool.bytes.try_reserve_exact(limit.saturating_mul(FRAME_CAPACITY));
        let _ = pool.slots.try_reserve_exact(limit);
        let _ = pool.free.try_reserve_exact(limit);
        let used: Vec<u32> = (0..used).map_while(|_| pool.add_slot()).collect();
        // The first of them is taken first.
        pool.free.extend(used.iter().rev());
        pool
    }

    /// Frames held now.
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes the first [`LENT_MAX`] of `frames` as they lie, until what is returned is dropped.
    #[inline]
    pub fn lend<'a>(&'a mut self, frames: &'a [&'a [u8]]) -> LentFrames<'a> {
        let frames = &frames[..frames.len().min(LENT_MAX)];
        LentFrames { pool: self, frames, slots: [NO_SLOT; LENT_MAX] }
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
        debug_assert!(slot.holders > 0 && slot.lent == 0, "a released or lent frame is read");
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
        self.slots[index as usize] = Slot { len, holders: 1, lent: 0 };
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

impl LentFrames<'_> {
    /// The handle of the lent frame `nth`, held once; `None` if the pool is full, the frame larger
    /// than [`FRAME_CAPACITY`], or not lent here. To be asked once for each.
    #[inline]
    pub fn hold(&mut self, nth: usize) -> Option<FrameId> {
        let frame = self.frames.get(nth)?;
        if frame.len() > FRAME_CAPACITY || self.slots[nth] != NO_SLOT {
            return None;
        }
        let index = self.pool.slot()?;
        #[allow(clippy::cast_possible_truncation)] // checked against the capacity and LENT_MAX
        let (len, lent) = (frame.len() as u16, nth as u8 + 1);
        self.pool.slots[index as usize] = Slot { len, holders: 1, lent };
        self.slots[nth] = index;
        Some(FrameId(index))
    }
}

impl Frames for LentFrames<'_> {
    #[inline]
    fn bytes(&self, frame: FrameId) -> &[u8] {
        match self.pool.slots[frame.0 as usize].lent {
            0 => self.pool.bytes(frame),
            lent => self.frames[usize::from(lent) - 1],
        }
    }

    #[inline]
    fn insert(&mut self, bytes: &[u8]) -> Option<FrameId> {
        self.pool.insert(bytes)
    }

    #[inline]
    fn retain(&mut self, frame: FrameId) {
        self.pool.retain(frame);
    }

    #[inline]
    fn release(&mut self, frame: FrameId) {
        self.pool.release(frame);
    }
}

impl Drop for LentFrames<'_> {
    #[inline]
    fn drop(&mut self) {
        let Self { pool, frames, slots } = self;
        for ((lent, frame), &index) in (1..).zip(frames.iter()).zip(slots.iter()) {
            // A slot that was freed may have been taken anew, by another frame.
            let Some(slot) = pool.slots.get_mut(index as usize) else { continue };
            if slot.lent != lent {
                continue;
            }
            slot.lent = 0;
            if slot.holders > 0 {
                let start = index as usize * FRAME_CAPACITY;
                pool.bytes[start..start + frame.len()].copy_from_slice(frame);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It hands out the same as a pool that grows, and moves nothing.
    #[test]
    fn a_pool_that_was_set_aside_is_as_one_that_grows() {
        for used in [0, 3, 8, 20] {
            let mut grown = FramePool::new(8);
            let mut aside = FramePool::set_aside(8, used);
            assert_eq!(aside.in_use(), 0);
            let (place, room) = (aside.bytes.as_ptr(), aside.bytes.capacity());
            for round in 0..3 {
                let ids = |pool: &mut FramePool| {
                    (0..9).map(|n| pool.insert(&[n; 60])).collect::<Vec<_>>()
                };
                let (ours, theirs) = (ids(&mut aside), ids(&mut grown));
                assert_eq!((&ours, ours[8]), (&theirs, None), "{used} {round}");
                for id in ours.into_iter().flatten() {
                    assert_eq!(aside.bytes(id), grown.bytes(id));
                    aside.release(id);
                    grown.release(id);
                }
            }
            assert_eq!((aside.bytes.as_ptr(), aside.bytes.capacity()), (place, room));
        }
    }

    #[test]
    fn lent_frames_that_are_still_held_are_kept() {
        let mut pool = FramePool::new(4);
        let lying = [[1_u8; 60], [2; 60], [3; 60]];
        let frames = lying.each_ref().map(|frame| &frame[..]);
        let mut lent = pool.lend(&frames);
        let [first, second, third] = [0, 1, 2].map(|nth| lent.hold(nth).expect("room"));
        assert_eq!(lent.bytes(second).as_ptr(), lying[1].as_ptr(), "where it lies");
        lent.retain(second);
        lent.release(second);
        lent.release(first);
        // The slot of the first, taken anew by a frame of the pool.
        let copy = lent.insert(&[9; 70]).expect("room");
        assert_eq!((copy, lent.bytes(copy)), (first, &[9; 70][..]));
        lent.release(third);
        drop(lent);
        assert_eq!((pool.bytes(second), pool.bytes(copy)), (&[2; 60][..], &[9; 70][..]));
        assert_ne!(pool.bytes(second).as_ptr(), lying[1].as_ptr());
        assert_eq!(pool.in_use(), 2);
        let again = pool.insert(&[7; 60]).expect("the slot of the third");
        assert_eq!((again, pool.bytes(again)), (third, &[7; 60][..]));
    }

    #[test]
    fn what_cannot_be_lent_is_an_answer() {
        let mut pool = FramePool::new(1);
        let long = [0; FRAME_CAPACITY + 1];
        let frames: [&[u8]; 3] = [&long, &[1; 60], &[2; 60]];
        let mut lent = pool.lend(&frames);
        assert_eq!((lent.hold(0), lent.hold(3)), (None, None), "too long, not there");
        let held = lent.hold(1).expect("room");
        assert_eq!((lent.hold(1), lent.hold(2)), (None, None), "once, and no room");
        lent.release(held);
        assert!(lent.hold(2).is_some(), "the slot is free again");
    }

    /// The same as with frames that are copied at once, whatever is done with them.
    #[test]
    fn lending_is_copying_later() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let (mut pool, mut twin) = (FramePool::new(64), FramePool::new(64));
        let mut held: Vec<(FrameId, FrameId)> = Vec::new();
        for burst in 0..200_u8 {
            let lying: Vec<Vec<u8>> = (0..draw(33))
                .map(|nth| vec![burst ^ nth.to_le_bytes()[0]; 60 + usize::from(burst)])
                .collect();
            let frames: Vec<&[u8]> = lying.iter().map(Vec::as_slice).collect();
            let mut lent = pool.lend(&frames);
            for (nth, frame) in frames.iter().enumerate() {
                match (lent.hold(nth), twin.insert(frame)) {
                    (Some(a), Some(b)) => held.push((a, b)),
                    (a, b) => assert_eq!((a, b), (None, None)),
                }
            }
            for _ in 0..draw(100) {
                if held.is_empty() {
                    break;
                }
                let place = usize::try_from(draw(held.len() as u64)).expect("small");
                let (a, b) = held[place];
                assert_eq!(lent.bytes(a), twin.bytes(b));
                if draw(4) == 0 {
                    lent.retain(a);
                    twin.retain(b);
                    held.push((a, b));
                } else {
                    lent.release(a);
                    twin.release(b);
                    held.swap_remove(place);
                }
            }
            drop(lent);
            for &(a, b) in &held {
                assert_eq!(pool.bytes(a), twin.bytes(b));
            }
            assert_eq!(pool.in_use(), twin.in_use());
        }
    }

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
