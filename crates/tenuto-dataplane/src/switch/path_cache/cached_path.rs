//! A cached path: if the first entry determines all later matches, the path of its frames is compiled once
//! and reused until an entry on it, or the mode, changes.
//!
//! The first entry determines a later match if the masks of the later table ask for no field that the
//! first entry does not fix. Virtual links are matched by the same fields in every table, so one look-up
//! does in place of three.
//!
//! - [`CachedPath`], one line of cache: where the path ends, its token bucket, and how many frames passed
//!   ([`PathCache`](super::store::PathCache) adds these up for the entries).
//! - The state of its monitor is in the line behind
//!   ([`MeterMonitorStore`](super::meter_monitor_store::MeterMonitorStore)).
//! - [`PathHops`], elsewhere: the entries that the path leads through, for frames that do not reach its end.
//!
//! Everything that the slow path counts, watches and meters is counted, watched and metered here, in
//! the same order. [`invalidation`](super::invalidation) says when a path becomes void. The next frame then
//! compiles it again, so a frame costs at most twice the look-ups of the slow path.

use super::store::TableSequence;
use crate::switch::meter::Bucket;
use crate::switch::monitor::LineMonitor;
use crate::switch::tables::usage::EntryCounter;
use crate::switch::tables::{TABLE_WATCH, Tables};
use crate::{FRAME_CAPACITY, Work};
use tenuto_units::Instant;

/// Tables of a cached path: watch, police, forward.
pub(in crate::switch) const STAGES: usize = 4;
/// No place of a port: frames go to several, or are changed ([`ActionProgram`](super::action_program::ActionProgram)).
pub(in crate::switch) const SEVERAL: u16 = u16::MAX;
/// No meter: `OFPM_ALL`, which names none. No monitor either.
pub(in crate::switch) const NO_ID: u32 = u32::MAX;

/// All that a frame on a cached path touches, side by side.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub(in crate::switch) struct Record {
    pub(in crate::switch) path: CachedPath,
    /// What its monitor has lent it.
    pub(in crate::switch) monitor: LineMonitor,
}

impl Record {
    /// No path yet.
    pub(in crate::switch) const NONE: Self =
        Self { path: CachedPath::NONE, monitor: LineMonitor::NONE };
}

/// Frames and bytes in one word, which frames of a while fit into: bytes are the lower part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Passed(u64);

/// Bits of the bytes: more than as many of the largest frames have as can be counted.
const PASSED_BYTES_BITS: u32 = 37;
const _: () = assert!(
    (FRAME_CAPACITY as u64 + 4) << (u64::BITS - 1 - PASSED_BYTES_BITS) < 1 << PASSED_BYTES_BITS
);

impl Passed {
    #[inline]
    fn add(&mut self, frame_bytes: u32) {
        self.0 += 1 << PASSED_BYTES_BITS | u64::from(frame_bytes);
    }

    /// Whether the next frame may not fit any more.
    #[inline]
    const fn is_full(self) -> bool {
        self.0 >> (u64::BITS - 1) != 0
    }

    const fn counter(self) -> EntryCounter {
        let bytes = self.0 & ((1 << PASSED_BYTES_BITS) - 1);
        EntryCounter { frames: self.0 >> PASSED_BYTES_BITS, bytes }
    }
}

/// The path of the frames that match an entry of the first table, and how many reached its end.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(in crate::switch) struct CachedPath {
    /// The cookie of frames at its end; the number of its program if `place` is [`SEVERAL`].
    pub(in crate::switch) cookie: u64,
    /// Those that went to its end.
    passed: Passed,
    /// When the last of them did.
    used: Instant,
    /// What its meter has lent it.
    pub(in crate::switch) bucket: Bucket,
    generation: u32,
    /// Where it ends.
    pub(in crate::switch) place: u16,
    /// Probes of its look-ups, but for the first, which is made.
    probes: u16,
    level: u8,
    admitted: u8,
    /// Tables that it leads through; 0 if frames of the entry take the slow path.
    pub(in crate::switch) stages: u8,
    /// The stages whose entries it counts for, a bit each.
    counts: u8,
    pub(in crate::switch) actions: u8,
    pub(in crate::switch) queue: u8,
    /// The number of its table sequence.
    pub(in crate::switch) sequence: u8,
    /// What it leads past, and where that is: [`HAS_METER`] and so on.
    checks: u8,
}

const HAS_METER: u8 = 1;
const HAS_MONITOR: u8 = 2;
/// Frames ask for meter and monitor by number.
const IS_APART: u8 = 4;

/// The entries that a cached path leads through.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct PathHops {
    pub(in crate::switch) slots: [u32; STAGES],
    /// Cookies of frames behind each entry.
    pub(in crate::switch) cookies: [u64; STAGES],
    /// Where the tables are, in their levels.
    pub(in crate::switch) states: [u16; STAGES],
    pub(in crate::switch) tables: [u8; STAGES],
    /// Probes of each look-up, but for the first.
    pub(in crate::switch) probes: [u8; STAGES],
    pub(in crate::switch) actions: [u8; STAGES],
    /// Meter and monitor that it leads past, if it does, and their stages.
    pub(in crate::switch) meter: u32,
    pub(in crate::switch) monitor: u32,
    pub(in crate::switch) meter_stage: u8,
    pub(in crate::switch) monitor_stage: u8,
}

impl PathHops {
    /// Through nothing.
    pub(in crate::switch) const NONE: Self = Self {
        slots: [0; STAGES],
        cookies: [0; STAGES],
        states: [0; STAGES],
        tables: [TABLE_WATCH; STAGES],
        probes: [0; STAGES],
        actions: [0; STAGES],
        meter: NO_ID,
        monitor: NO_ID,
        meter_stage: 0,
        monitor_stage: 0,
    };
}

impl CachedPath {
    /// Not compiled yet: no generation has this number.
    pub(in crate::switch) const NONE: Self = Self {
        cookie: 0,
        passed: Passed(0),
        used: Instant::ZERO,
        bucket: Bucket::NONE,
        generation: 0,
        place: 0,
        probes: 0,
        level: 0,
        admitted: 0,
        stages: 0,
        counts: 0,
        actions: 0,
        queue: 0,
        sequence: 0,
        checks: 0,
    };

    /// Whether it was compiled for this generation of the tables.
    pub(in crate::switch) const fn is_compiled_in(&self, generation: u32) -> bool {
        self.generation == generation
    }

    /// Whether it was compiled for this generation of the tables, and this mode.
    #[inline]
    pub(in crate::switch) const fn is_of(
        &self,
        generation: u32,
        (level, admitted): (u8, u8),
    ) -> bool {
        self.generation == generation && self.level == level && self.admitted == admitted
    }

    /// One that leads nowhere, for a generation of the tables and a mode.
    pub(in crate::switch) const fn none_in(generation: u32, (level, admitted): (u8, u8)) -> Self {
        Self { generation, level, admitted, ..Self::NONE }
    }

    /// A path that leads nowhere, for the same generation and mode.
    pub(in crate::switch) const fn unfixed(&self) -> Self {
        Self::none_in(self.generation, (self.level, self.admitted))
    }

    /// Whether it was compiled for this mode.
    pub(in crate::switch) const fn is_in(&self, (level, admitted): (u8, u8)) -> bool {
        self.level == level && self.admitted == admitted
    }

    /// No frame follows it any more; what it has counted stays.
    pub(in crate::switch) const fn make_void(&mut self) {
        self.generation = 0;
    }

    /// Whether all frames of the entry have this path.
    #[inline]
    pub(in crate::switch) const fn is_fixed(&self) -> bool {
        self.stages > 0
    }

    /// Whether a meter is on it.
    #[inline]
    pub(in crate::switch) const fn has_meter(&self) -> bool {
        self.checks & HAS_METER != 0
    }

    /// Whether a monitor is on it.
    #[inline]
    pub(in crate::switch) const fn has_monitor(&self) -> bool {
        self.checks & HAS_MONITOR != 0
    }

    /// Whether frames on it ask for meter and monitor by number, as these are not lent to it.
    #[inline]
    pub(in crate::switch) const fn is_apart(&self) -> bool {
        self.checks & IS_APART != 0
    }

    /// From now on they do.
    pub(in crate::switch) const fn part(&mut self) {
        self.checks |= IS_APART;
    }

    /// What a frame costs that goes it to its end, after a look-up of so many probes.
    #[inline]
    pub(in crate::switch) fn work(&self, probes: u32, frame_bytes: u32) -> Work {
        Work {
            lookups: u32::from(self.stages),
            probes: probes + u32::from(self.probes),
            actions: u32::from(self.actions),
            bytes: frame_bytes,
            monitors: u32::from(self.has_monitor()),
            control_messages: 0,
        }
    }

    /// A frame has gone to its end; whether that is all there is to count.
    #[inline]
    pub(in crate::switch) fn pass(
        &mut self,
        sequences: &mut [TableSequence],
        now: Instant,
        frame_bytes: u32,
    ) -> bool {
        if let Some(sequence) = sequences.get_mut(usize::from(self.sequence)) {
            sequence.passed += 1;
        }
        self.passed.add(frame_bytes);
        self.used = now;
        self.counts.count_ones() == u32::from(self.stages) && !self.passed.is_full()
    }

    /// Leaves room for one more frame, which the others are as large as.
    #[cfg(test)]
    pub(in crate::switch) const fn fill_but_one(&mut self, frame_bytes: u32) {
        let frames = (1 << (u64::BITS - 1 - PASSED_BYTES_BITS)) - 1;
        self.passed = Passed(frames * (1 << PASSED_BYTES_BITS | frame_bytes as u64));
    }

    /// Whether it has no room for what it counts.
    pub(in crate::switch) const fn is_full(&self) -> bool {
        self.passed.is_full()
    }

    /// What has gone to its end.
    pub(in crate::switch) const fn passed(&self) -> EntryCounter {
        self.passed.counter()
    }

    /// When something last did.
    pub(in crate::switch) const fn used(&self) -> Instant {
        self.used
    }

    /// Whether it counts for its entry in a stage.
    #[inline]
    pub(in crate::switch) const fn counts_at(&self, stage: usize) -> bool {
        self.counts >> stage & 1 == 1
    }

    /// The stages that it counts for, a bit each.
    pub(in crate::switch) const fn counts(&self) -> u8 {
        self.counts
    }

    /// From now on it does.
    pub(in crate::switch) const fn count_at(&mut self, stage: usize) {
        self.counts |= 1 << stage;
    }

    /// The level of a table that it leads through.
    pub(in crate::switch) const fn level_of(&self, table: u8) -> u8 {
        Tables::level_of(table, self.level, self.admitted)
    }

    /// It leads through one more table, to an entry of this cookie that is found after so many probes.
    pub(in crate::switch) fn enter(&mut self, cookie: u64, probes: u8) {
        if cookie != 0 {
            self.cookie = cookie;
        }
        self.stages += 1;
        self.probes += u16::from(probes);
    }

    /// There is a meter on it.
    pub(in crate::switch) const fn lead_past_meter(&mut self) {
        self.checks |= HAS_METER;
    }

    /// There is a monitor on it.
    pub(in crate::switch) const fn lead_past_monitor(&mut self) {
        self.checks |= HAS_MONITOR;
    }

    /// Whether frames go from its end to several places, or are changed there.
    pub(in crate::switch) const fn ends_in_several(&self) -> bool {
        self.is_fixed() && self.place == SEVERAL
    }

    /// Frames at its end run the program of a number.
    pub(in crate::switch) fn set_program(&mut self, number: u32) {
        self.cookie = number.into();
    }

    /// The number of its program, if it has one.
    pub(in crate::switch) fn program(&self) -> Option<u32> {
        u32::try_from(self.cookie).ok().filter(|_| self.ends_in_several())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_line_of_cache_and_its_monitor_the_next() {
        assert_eq!((size_of::<CachedPath>(), size_of::<Record>()), (64, 128));
    }

    #[test]
    fn what_passed_is_full_before_it_spills() {
        let mut passed = Passed(0);
        let largest = u32::try_from(FRAME_CAPACITY).expect("small") + 4;
        let mut naive = EntryCounter::default();
        for n in 0..1 << (u64::BITS - 1 - PASSED_BYTES_BITS) {
            assert!(!passed.is_full(), "{n}");
            passed.add(largest);
            naive.add(largest);
        }
        assert!(passed.is_full());
        assert_eq!(passed.counter(), naive);
    }
}
