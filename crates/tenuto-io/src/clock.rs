//! The monotonic clock, and kernel stamps brought to it.

use crate::sys::time;
use tenuto_units::Instant;

/// The clock of all live nodes: CLOCK_MONOTONIC, one epoch for all processes of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl MonotonicClock {
    /// The present instant; never earlier than one returned before.
    pub fn now() -> Instant {
        Instant::from_ns(time::monotonic_ns())
    }
}

/// Jumps of CLOCK_REALTIME beyond this, and beyond what adjusting could do, are steps.
const STEP_NS: u64 = 1_000_000;
/// Adjusting moves CLOCK_REALTIME by at most 500 us per second; twice that is allowed.
const SLEW_DIVISOR: u64 = 1_000;
/// A pair of readings further apart than this was interrupted, and is taken again.
const SAMPLE_NS_MAX: u64 = 2_000;
const SAMPLE_TRIES: usize = 4;

/// One look at both clocks at almost the same time.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// CLOCK_MONOTONIC − CLOCK_REALTIME; negative on any machine whose date is set.
    offset_ns: i128,
    /// When, at the latest, the sample was taken.
    now: Instant,
}

impl Sample {
    fn take() -> Self {
        let mut best: Option<(u64, Self)> = None;
        for _ in 0..SAMPLE_TRIES {
            let before = time::monotonic_ns();
            let real = time::realtime_ns();
            let after = time::monotonic_ns();
            let width = after - before;
            let middle = i128::from(before + width / 2);
            let sample =
                Self { offset_ns: middle - i128::from(real), now: Instant::from_ns(after) };
            if best.is_none_or(|(narrowest, _)| width < narrowest) {
                best = Some((width, sample));
            }
            if width <= SAMPLE_NS_MAX {
                break;
            }
        }
        best.expect("at least one try").1
    }
}

/// Brings CLOCK_REALTIME stamps to the monotonic clock, for one port.
///
/// Its instants are never later than the sample they are made with and never decrease. When
/// CLOCK_REALTIME was set in between, the stamps of that burst say nothing; they are replaced by
/// the time of the sample, which errs towards a late arrival by no more than the fetch was late.
#[derive(Debug, Default)]
pub(crate) struct StampClock {
    sample: Option<Sample>,
    stepped: bool,
    latest: Instant,
    steps: u64,
}

impl StampClock {
    /// Looks at the clocks; to be called after a burst was fetched and before its stamps are used.
    pub(crate) fn look(&mut self) {
        self.update(Sample::take());
    }

    fn update(&mut self, sample: Sample) {
        self.stepped = self.sample.is_some_and(|previous| {
            let allowed = STEP_NS + sample.now.since(previous.now).as_ns() / SLEW_DIVISOR;
            sample.offset_ns.abs_diff(previous.offset_ns) > u128::from(allowed)
        });
        self.steps += u64::from(self.stepped);
        self.sample = Some(sample);
    }

    /// When it last looked at the clocks, by CLOCK_MONOTONIC.
    pub(crate) fn looked_at(&self) -> Instant {
        self.sample.map_or(Instant::ZERO, |sample| sample.now)
    }

    /// The arrival that a stamp stands for; without a stamp, the time of the last look.
    pub(crate) fn arrival(&mut self, stamp_realtime_ns: Option<u64>) -> Instant {
        let sample = self.sample.expect("look() precedes arrival()");
        let arrival = match stamp_realtime_ns {
            Some(stamp) if !self.stepped => {
                let ns = (i128::from(stamp) + sample.offset_ns).max(0);
                Instant::from_ns(u64::try_from(ns).unwrap_or(u64::MAX)).min(sample.now)
            }
            _ => sample.now,
        };
        self.latest = self.latest.max(arrival);
        self.latest
    }

    /// How often CLOCK_REALTIME was seen to be set.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH_NS: u64 = 1_700_000_000_000_000_000;

    fn sample(now_ns: u64, real_ns: u64) -> Sample {
        Sample {
            offset_ns: i128::from(now_ns) - i128::from(real_ns),
            now: Instant::from_ns(now_ns),
        }
    }

    #[test]
    fn the_clock_never_runs_backwards() {
        let first = MonotonicClock::now();
        assert!(MonotonicClock::now() >= first);
    }

    #[test]
    fn stamps_are_not_after_now_and_do_not_decrease() {
        let mut clock = StampClock::default();
        clock.update(sample(1_000, EPOCH_NS));
        assert_eq!(clock.arrival(Some(EPOCH_NS - 400)), Instant::from_ns(600));
        assert_eq!(clock.arrival(Some(EPOCH_NS - 700)), Instant::from_ns(600), "not earlier");
        assert_eq!(clock.arrival(Some(EPOCH_NS + 50)), Instant::from_ns(1_000), "not after now");
        assert_eq!(clock.arrival(None), Instant::from_ns(1_000));
    }

    #[test]
    fn a_step_of_the_real_time_clock_does_not_move_arrivals() {
        let mut clock = StampClock::default();
        clock.update(sample(1_000, EPOCH_NS));
        // An hour forward, one microsecond later: the frame was stamped before the step.
        clock.update(sample(2_000, EPOCH_NS + 3_600_000_000_000));
        assert_eq!(clock.arrival(Some(EPOCH_NS + 500)), Instant::from_ns(2_000));
        assert_eq!(clock.steps(), 1);
        clock.update(sample(3_000, EPOCH_NS + 3_600_000_001_000));
        assert_eq!(clock.arrival(Some(EPOCH_NS + 3_600_000_000_500)), Instant::from_ns(2_500));
        assert_eq!(clock.steps(), 1);
    }

    #[test]
    fn a_slewed_clock_is_followed() {
        let mut clock = StampClock::default();
        clock.update(sample(0, EPOCH_NS));
        // Ten seconds later, 5 ms faster: 500 us per second, as adjtime does.
        clock.update(sample(10_000_000_000, EPOCH_NS + 10_005_000_000));
        assert_eq!(clock.steps(), 0);
        let arrival = clock.arrival(Some(EPOCH_NS + 10_004_999_000));
        assert_eq!(arrival, Instant::from_ns(9_999_999_000));
    }
}
