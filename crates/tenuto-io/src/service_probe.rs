//! The self-test of the host: how late it serves a thread, and how little in windows of time.
//!
//! A stalled host breaks the model of the analysis by more than the stall's own length, so that
//! the least service enters the analysis as an element of its own. What is measured here holds for
//! the time and load of the measurement, never beyond: it is an allowance, not a bound.

use crate::{MonotonicClock, PollSet, WaitPolicy};
use std::io;
use tenuto_units::{Instant, Span};

mod windows;

/// The lengths of the windows in which the least service is looked for: 10 us to 1 s.
pub const WINDOWS: [Span; 16] = [
    Span::from_us(10),
    Span::from_us(20),
    Span::from_us(50),
    Span::from_us(100),
    Span::from_us(200),
    Span::from_us(500),
    Span::from_ms(1),
    Span::from_ms(2),
    Span::from_ms(5),
    Span::from_ms(10),
    Span::from_ms(20),
    Span::from_ms(50),
    Span::from_ms(100),
    Span::from_ms(200),
    Span::from_ms(500),
    Span::from_s(1),
];
/// Stalls that are remembered at most; beyond, the probe ends early (16 MB of memory).
const STALLS_LIMIT: usize = 1_000_000;
/// A spinning probe counts gaps above this; shorter ones are the loop itself.
const SPIN_GAP: Span = Span::from_us(1);
/// Stalls named in the report.
const LARGEST: usize = 16;

/// A time during which the thread was wanted and not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When it began: the ideal time of the wake-up, or the last sign of life.
    pub from: Instant,
    /// How long it took.
    pub length: Span,
}

/// The least service found in any window of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowService {
    /// Length of the window.
    pub window: Span,
    /// The least time in such a window during which the thread was, or would have been, served.
    pub least_service: Span,
}

/// What a probe saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceReport {
    /// For how long it looked.
    pub observed: Span,
    /// Wake-ups (or gaps above 1 us, when spinning) it saw.
    pub samples: usize,
    /// Half of the stalls were no longer.
    pub stall_p50: Span,
    /// 99 % were no longer.
    pub stall_p99: Span,
    /// 99.9 % were no longer.
    pub stall_p999: Span,
    /// The longest.
    pub stall_max: Span,
    /// The longest stalls, longest first.
    pub largest: Vec<Stall>,
    /// Least service per window length of [`WINDOWS`] that fits into `observed`.
    pub windows: Vec<WindowService>,
}

/// A self-test of the calling thread; run one per thread that serves ports, under its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceProbe {
    /// How the thread waits. When blocking, each wake-up's own delay counts as a stall, which is
    /// what a frame that arrives at a sleeping thread experiences.
    pub policy: WaitPolicy,
    /// Time between wake-ups; ignored when spinning.
    pub period: Span,
    /// How long to look.
    pub duration: Span,
}

impl ServiceProbe {
    /// Looks for the whole duration, or until a million stalls were seen.
    ///
    /// # Errors
    ///
    /// Those of `ppoll`.
    pub fn run(&self) -> io::Result<ServiceReport> {
        let start = MonotonicClock::now();
        let end = start + self.duration;
        let stalls = match self.policy {
            WaitPolicy::Spin => spin(end),
            policy => wake_ups(policy, self.period.max(Span::from_us(1)), end)?,
        };
        Ok(report(stalls, MonotonicClock::now().since(start)))
    }
}

/// Sleeps to ideal times, each a period after the last, and notes by how much it woke up late.
fn wake_ups(policy: WaitPolicy, period: Span, end: Instant) -> io::Result<Vec<Stall>> {
    let mut stalls = Vec::new();
    let mut nothing = PollSet::new();
    let mut ideal = MonotonicClock::now() + period;
    while ideal < end && stalls.len() < STALLS_LIMIT {
        nothing.wait_with(policy, Some(ideal))?;
        let now = MonotonicClock::now();
        stalls.push(Stall { from: ideal, length: now.since(ideal) });
        // Ideal times that passed meanwhile lie within the same stall.
        let missed = now.since(ideal).as_ns() / period.as_ns();
        ideal += period.times(missed + 1);
    }
    Ok(stalls)
}

/// Reads the clock without pause and notes the gaps.
fn spin(end: Instant) -> Vec<Stall> {
    let mut stalls = Vec::new();
    let mut last = MonotonicClock::now();
    while last < end && stalls.len() < STALLS_LIMIT {
        let now = MonotonicClock::now();
        let length = now.since(last);
        if length > SPIN_GAP {
            stalls.push(Stall { from: last, length });
        }
        last = now;
    }
    stalls
}

fn report(stalls: Vec<Stall>, observed: Span) -> ServiceReport {
    let windows = WINDOWS
        .into_iter()
        .filter(|&window| window <= observed)
        .map(|window| WindowService {
            window,
            least_service: window - windows::most_stalled(&stalls, window),
        })
        .collect();
    let samples = stalls.len();
    let mut largest = stalls;
    largest.sort_by_key(|stall| std::cmp::Reverse(stall.length));
    let at = |permille: usize| {
        // Rounded up: the stall that this share of all stalls does not exceed.
        let rank = (samples * permille).div_ceil(1_000).max(1);
        samples.checked_sub(rank).map_or(Span::ZERO, |index| largest[index].length)
    };
    let (stall_p50, stall_p99, stall_p999, stall_max) = (at(500), at(990), at(999), at(1_000));
    largest.truncate(LARGEST);
    ServiceReport {
        observed,
        samples,
        stall_p50,
        stall_p99,
        stall_p999,
        stall_max,
        largest,
        windows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stall(from_us: u64, length_us: u64) -> Stall {
        Stall { from: Instant::ZERO + Span::from_us(from_us), length: Span::from_us(length_us) }
    }

    #[test]
    fn percentiles_and_windows_of_known_stalls() {
        // 1000 stalls of 1 to 1000 us, each 2 ms after the one before.
        let stalls = (1..=1_000).map(|i| stall(2_000 * i, i)).collect();
        let report = report(stalls, Span::from_s(2));
        assert_eq!(report.samples, 1_000);
        assert_eq!(report.stall_p50, Span::from_us(500));
        assert_eq!(report.stall_p99, Span::from_us(990));
        assert_eq!(report.stall_p999, Span::from_us(999));
        assert_eq!(report.stall_max, Span::from_us(1_000));
        assert_eq!(report.largest[0], stall(2_000_000, 1_000));
        assert_eq!(report.largest.len(), LARGEST);
        let least: Vec<_> = report.windows.iter().map(|w| (w.window, w.least_service)).collect();
        assert_eq!(least[0], (Span::from_us(10), Span::ZERO));
        assert_eq!(least[6], (Span::from_ms(1), Span::ZERO));
        assert_eq!(least[7], (Span::from_ms(2), Span::from_ms(1)));
        // The worst 10 ms begins with a stall, at 2 ms x 996, and holds it and the next four.
        assert_eq!(least[9].1, Span::from_us(10_000 - (996 + 997 + 998 + 999 + 1_000)));
        assert_eq!(least.len(), 16);
    }

    #[test]
    fn a_quiet_host_serves_whole_windows() {
        let report = report(Vec::new(), Span::from_ms(1));
        assert_eq!((report.samples, report.stall_max), (0, Span::ZERO));
        assert_eq!(report.windows.len(), 7, "windows longer than the look are left out");
        assert!(report.windows.iter().all(|window| window.window == window.least_service));
    }

    #[test]
    fn the_probe_sees_this_host() {
        for policy in [WaitPolicy::Block, WaitPolicy::Spin] {
            let probe =
                ServiceProbe { policy, period: Span::from_us(500), duration: Span::from_ms(40) };
            let report = probe.run().expect("ppoll");
            println!("{policy:?}: {report:?}");
            assert!(report.observed >= Span::from_ms(39));
            assert!(report.stall_p50 <= report.stall_p99 && report.stall_p99 <= report.stall_max);
            assert!(report.samples > 0, "no machine wakes up in no time");
            assert!(report.windows.iter().all(|window| window.least_service <= window.window));
            assert!(report.windows.is_sorted_by_key(|window| window.least_service));
        }
    }
}
