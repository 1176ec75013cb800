//! The whole way of a frame, known from the first entry that it matches.
//!
//! Where the masks of all later tables ask for nothing that the first entry does not ask for, all
//! frames that match it take the same way: so virtual links do, which are told apart by the same
//! fields in every table. The way is laid down at the first such frame, and the others follow it: one
//! look-up in place of three. What it comes to is in one line of cache, the [`Track`], where the frames
//! that follow it to its end are counted too ([`Tracks`](super::tracks::Tracks)), with the bucket of its
//! meter; its monitor is in the line behind ([`Guards`](super::guards::Guards)). The entries that it leads
//! through are elsewhere, in its [`Way`]. Everything that is counted, watched and metered on the
//! walk is counted, watched and metered on the track, in the same order.
//!
//! A track is void as soon as an entry on it, or one that could be on it, comes, goes or changes
//! ([`Tables`] sees to it), and in any other mode; the next frame is then walked by the new rules
//! and lays another. So a frame costs at worst the walk, and the laying: as many look-ups again.

use super::counted_table::EntryCounter;
use super::meter::Bucket;
use super::monitor::LineMonitor;
use super::tables::{TABLE_WATCH, Tables};
use super::tracks::Form;
use crate::{FRAME_CAPACITY, Work};
use tenuto_units::Instant;

/// Tables of a track: watch, police, forward.
pub(super) const STAGES: usize = 4;
/// No place of a port: frames go to several, or are changed ([`Tail`](super::tail::Tail)).
pub(super) const SEVERAL: u16 = u16::MAX;
/// No meter: `OFPM_ALL`, which names none. No monitor either.
pub(super) const NO_ID: u32 = u32::MAX;

/// All that a frame on a track touches, side by side.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub(super) struct Record {
    pub(super) track: Track,
    /// What its monitor has lent it.
    pub(super) monitor: LineMonitor,
}

impl Record {
    /// No track yet.
    pub(super) const NONE: Self = Self { track: Track::NONE, monitor: LineMonitor::NONE };
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

/// What the frames that match an entry of the first table go through, and how many went.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Track {
    /// Of frames at its end; the number of its tail if that is in [`SEVERAL`] places.
    pub(super) cookie: u64,
    /// Those that went to its end.
    passed: Passed,
    /// When the last of them did.
    used: Instant,
    /// What its meter has lent it.
    pub(super) bucket: Bucket,
    generation: u32,
    /// Where it ends.
    pub(super) place: u16,
    /// Probes of its look-ups, but for the first, which is made.
    probes: u16,
    level: u8,
    admitted: u8,
    /// Tables that it leads through; none if frames have to be walked one by one.
    pub(super) stages: u8,
    /// The stages whose entries it counts for, a bit each.
    counts: u8,
    pub(super) actions: u8,
    pub(super) queue: u8,
    /// That of the tables that it leads through.
    pub(super) form: u8,
    /// What it leads past, and where that is: [`HAS_METER`] and so on.
    guards: u8,
}

const HAS_METER: u8 = 1;
const HAS_MONITOR: u8 = 2;
/// Frames ask for meter and monitor by number.
const IS_APART: u8 = 4;

/// The entries that a track leads through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) slots: [u32; STAGES],
    /// Cookies of frames behind each entry.
    pub(super) cookies: [u64; STAGES],
    /// Where the tables are, in their levels.
    pub(super) states: [u16; STAGES],
    pub(super) tables: [u8; STAGES],
    /// Probes of each look-up, but for the first.
    pub(super) probes: [u8; STAGES],
    pub(super) actions: [u8; STAGES],
    /// Meter and monitor that it leads past, if it does, and their stages.
    pub(super) meter: u32,
    pub(super) monitor: u32,
    pub(super) meter_stage: u8,
    pub(super) monitor_stage: u8,
}

impl Way {
    /// Through nothing.
    pub(super) const NONE: Self = Self {
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

impl Track {
    /// Not laid yet: no generation has this number.
    pub(super) const NONE: Self = Self {
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
        form: 0,
        guards: 0,
    };

    /// Whether it was laid for this generation of the tables.
    pub(super) const fn is_laid_in(&self, generation: u32) -> bool {
        self.generation == generation
    }

    /// Whether it was laid for this generation of the tables, and this mode.
    #[inline]
    pub(super) const fn is_of(&self, generation: u32, (level, admitted): (u8, u8)) -> bool {
        self.generation == generation && self.level == level && self.admitted == admitted
    }

    /// One that leads nowhere, for a generation of the tables and a mode.
    pub(super) const fn none_in(generation: u32, (level, admitted): (u8, u8)) -> Self {
        Self { generation, level, admitted, ..Self::NONE }
    }

    /// One that leads nowhere in its place.
    pub(super) const fn unfixed(&self) -> Self {
        Self::none_in(self.generation, (self.level, self.admitted))
    }

    /// Whether it was laid for this mode.
    pub(super) const fn is_in(&self, (level, admitted): (u8, u8)) -> bool {
        self.level == level && self.admitted == admitted
    }

    /// No frame follows it any more; what it has counted stays.
    pub(super) const fn make_void(&mut self) {
        self.generation = 0;
    }

    /// Whether there is one way for all frames.
    #[inline]
    pub(super) const fn is_fixed(&self) -> bool {
        self.stages > 0
    }

    /// Whether a meter is on it.
    #[inline]
    pub(super) const fn has_meter(&self) -> bool {
        self.guards & HAS_METER != 0
    }

    /// Whether a monitor is on it.
    #[inline]
    pub(super) const fn has_monitor(&self) -> bool {
        self.guards & HAS_MONITOR != 0
    }

    /// Whether frames on it ask for meter and monitor by number, as these are not lent to it.
    #[inline]
    pub(super) const fn is_apart(&self) -> bool {
        self.guards & IS_APART != 0
    }

    /// From now on they do.
    pub(super) const fn part(&mut self) {
        self.guards |= IS_APART;
    }

    /// What a frame costs that goes it to its end, after a look-up of so many probes.
    #[inline]
    pub(super) fn work(&self, probes: u32, frame_bytes: u32) -> Work {
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
    pub(super) fn pass(&mut self, forms: &mut [Form], now: Instant, frame_bytes: u32) -> bool {
        if let Some(form) = forms.get_mut(usize::from(self.form)) {
            form.passed += 1;
        }
        self.passed.add(frame_bytes);
        self.used = now;
        self.counts.count_ones() == u32::from(self.stages) && !self.passed.is_full()
    }

    /// Leaves room for one more frame, which the others are as large as.
    #[cfg(test)]
    pub(super) const fn fill_but_one(&mut self, frame_bytes: u32) {
        let frames = (1 << (u64::BITS - 1 - PASSED_BYTES_BITS)) - 1;
        self.passed = Passed(frames * (1 << PASSED_BYTES_BITS | frame_bytes as u64));
    }

    /// Whether it has no room for what it counts.
    pub(super) const fn is_full(&self) -> bool {
        self.passed.is_full()
    }

    /// What has gone to its end.
    pub(super) const fn passed(&self) -> EntryCounter {
        self.passed.counter()
    }

    /// When something last did.
    pub(super) const fn used(&self) -> Instant {
        self.used
    }

    /// Whether it counts for its entry in a stage.
    #[inline]
    pub(super) const fn counts_at(&self, stage: usize) -> bool {
        self.counts >> stage & 1 == 1
    }

    /// The stages that it counts for, a bit each.
    pub(super) const fn counts(&self) -> u8 {
        self.counts
    }

    /// From now on it does.
    pub(super) const fn count_at(&mut self, stage: usize) {
        self.counts |= 1 << stage;
    }

    /// The level of a table that it leads through.
    pub(super) const fn level_of(&self, table: u8) -> u8 {
        Tables::level_of(table, self.level, self.admitted)
    }

    /// It leads through one more table, to an entry of this cookie that is found after so many probes.
    pub(super) fn enter(&mut self, cookie: u64, probes: u8) {
        if cookie != 0 {
            self.cookie = cookie;
        }
        self.stages += 1;
        self.probes += u16::from(probes);
    }

    /// There is a meter on it.
    pub(super) const fn lead_past_meter(&mut self) {
        self.guards |= HAS_METER;
    }

    /// There is a monitor on it.
    pub(super) const fn lead_past_monitor(&mut self) {
        self.guards |= HAS_MONITOR;
    }

    /// Whether frames go from its end to several places, or are changed there.
    pub(super) const fn ends_in_several(&self) -> bool {
        self.is_fixed() && self.place == SEVERAL
    }

    /// Gives one that does the tail of a number.
    pub(super) fn set_tail(&mut self, number: u32) {
        self.cookie = number.into();
    }

    /// The number of its tail, if it has one.
    pub(super) fn tail(&self) -> Option<u32> {
        u32::try_from(self.cookie).ok().filter(|_| self.ends_in_several())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_is_one_line_of_cache_and_its_monitor_the_next() {
        assert_eq!((size_of::<Track>(), size_of::<Record>()), (64, 128));
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
