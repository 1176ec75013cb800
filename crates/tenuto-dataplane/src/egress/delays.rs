//! How long frames of one queue took, in fixed memory.
//!
//! Ranges are log-linear: eight of equal width between a power of two and the next, so that a delay
//! is known to an eighth. Counting is an index and an increment.

use std::ops::Range;
use tenuto_units::Span;

/// Ranges in one octave: two to this power.
const OCTAVE_BITS: u32 = 3;
const OCTAVE: usize = 1 << OCTAVE_BITS;
/// Octaves above the first, whose ranges are 1 ns wide: up to 2³⁶ ns, which are 68 s.
const OCTAVES: usize = 33;
/// All ranges; the last one is open.
const RANGES: usize = (OCTAVES + 1) * OCTAVE;

/// How many frames took how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays {
    counts: Box<[u64; RANGES]>,
    max: Span,
}

impl Default for Delays {
    fn default() -> Self {
        Self { counts: Box::new([0; RANGES]), max: Span::ZERO }
    }
}

impl Delays {
    /// Counts a frame.
    #[inline]
    pub fn count(&mut self, delay: Span) {
        self.counts[place(delay.as_ns())] += 1;
        self.max = self.max.max(delay);
    }

    /// The longest delay.
    pub const fn max(&self) -> Span {
        self.max
    }

    /// Frames counted.
    pub fn frames(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Ranges with frames, shortest first: delays in nanoseconds, and how many frames. The last range
    /// ends at `u64::MAX`.
    pub fn ranges(&self) -> impl Iterator<Item = (Range<u64>, u64)> {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(place, &count)| {
            let end = if place + 1 == RANGES { u64::MAX } else { least(place + 1) };
            (least(place)..end, count)
        })
    }
}

/// The range of a delay.
#[inline]
#[allow(clippy::cast_possible_truncation)] // below 8, or masked to three bits
const fn place(ns: u64) -> usize {
    if ns < OCTAVE as u64 {
        return ns as usize;
    }
    let shift = ns.ilog2() - OCTAVE_BITS;
    let place = (shift as usize + 1) * OCTAVE + ((ns >> shift) as usize & (OCTAVE - 1));
    if place < RANGES { place } else { RANGES - 1 }
}

/// The least delay of a range.
const fn least(place: usize) -> u64 {
    if place < OCTAVE {
        return place as u64;
    }
    let shift = place / OCTAVE - 1;
    ((OCTAVE + place % OCTAVE) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_range_begins_where_the_one_before_ends() {
        for at in 0..RANGES {
            assert_eq!(place(least(at)), at);
            if at > 0 {
                assert_eq!(place(least(at) - 1), at - 1);
            }
        }
        assert_eq!(least(RANGES), 1 << 36);
        assert_eq!(place(u64::MAX), RANGES - 1);
    }

    proptest! {
        #[test]
        fn a_delay_is_in_its_range_which_is_no_wider_than_an_eighth(ns in 0_u64..1 << 36) {
            let mut delays = Delays::default();
            delays.count(Span::from_ns(ns));
            let found: Vec<_> = delays.ranges().collect();
            let (range, count) = found[0].clone();
            prop_assert!(found.len() == 1 && count == 1);
            let is_last = range.end == u64::MAX;
            prop_assert!(range.contains(&ns));
            prop_assert!(is_last || range.end - range.start <= (range.start / 8).max(1));
            prop_assert_eq!((delays.frames(), delays.max()), (1, Span::from_ns(ns)));
        }
    }
}
