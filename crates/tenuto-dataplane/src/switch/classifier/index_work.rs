//! What look-ups and changes of an index cost, counted and not timed.

/// What one look-up in a table cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookUpWork {
    /// Distinct masks probed.
    pub masks: u32,
    /// Buckets read, of four entries each, over all these masks.
    pub buckets: u32,
    /// Look-ups in the ordered map of values that found their buckets full.
    pub overflows: u32,
}

/// What changes of a table have cost in its indexes, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeWork {
    /// Buckets read.
    pub buckets: u64,
    /// Entries that were put elsewhere to make room.
    pub moved: u64,
    /// Operations on the ordered map of values that found their buckets full.
    pub overflows: u64,
}

/// Something that counts, or nothing at all where every instruction does.
pub(in crate::switch) trait Tally {
    fn bucket(&mut self);
    fn overflow(&mut self);
}

impl Tally for () {
    #[inline(always)]
    fn bucket(&mut self) {}
    #[inline(always)]
    fn overflow(&mut self) {}
}

impl Tally for LookUpWork {
    fn bucket(&mut self) {
        self.buckets += 1;
    }

    fn overflow(&mut self) {
        self.overflows += 1;
    }
}

impl Tally for ChangeWork {
    fn bucket(&mut self) {
        self.buckets += 1;
    }

    fn overflow(&mut self) {
        self.overflows += 1;
    }
}
