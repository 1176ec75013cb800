//! Quotients of two quantities that were measured in turn, pair by pair.
//!
//! What disturbs a machine for seconds is in both halves of a pair, so that quotients spread less than
//! the quantities do. The interval around their median assumes nothing about how they spread: of `n`
//! quotients, the k-th least and the k-th greatest enclose the median of all that could have been
//! drawn unless less than `k` of them fell on one side of it (binomial, as of coins).
//!
//! A delay that one frame in a thousand exceeds is known badly in each window, and far better in all of them
//! together. How far the quotient of two such delays can be off is asked of the windows themselves: pairs
//! of them are drawn with replacement again and again, so that frames that were late together stay together
//! (the bootstrap of Efron, of percentiles).

use serde::{Deserialize, Serialize};
use tenuto_units::Draws;

/// So often pairs are drawn anew, and from where the draws begin.
const DRAWS: usize = 2_000;
const SEED: u64 = 1;
/// With fewer pairs draws say nothing.
const PAIRS_LEAST: usize = 6;

/// How sure an interval is to be.
const CONFIDENCE: f64 = 0.95;

/// The median of quotients, and what it is known to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// The median: of an even number, the mean of the two in the middle.
    pub median: f64,
    /// The interval that encloses the true median in at least 95 of 100 measurements; with less than
    /// six pairs there is none, and these are the least and the greatest.
    pub low: f64,
    /// Its other end.
    pub high: f64,
    /// Pairs.
    pub pairs: usize,
    /// How often such an interval encloses the true median, in 1.
    pub confidence: f64,
}

impl Paired {
    /// Of `ours` by `theirs`, the n-th by the n-th; `None` if there are none. Pairs without a positive
    /// quotient are left out.
    pub fn of(ours: &[f64], theirs: &[f64]) -> Option<Self> {
        let quotients = ours.iter().zip(theirs).map(|(a, b)| a / b);
        let mut quotients: Vec<f64> = quotients.filter(|it| it.is_finite() && *it > 0.0).collect();
        quotients.sort_by(f64::total_cmp);
        let pairs = quotients.len();
        let half = pairs / 2;
        let median = match pairs {
            0 => return None,
            n if n % 2 == 0 => f64::midpoint(quotients[half - 1], quotients[half]),
            _ => quotients[half],
        };
        let (left_out, confidence) = left_out(pairs);
        let (low, high) = (quotients[left_out], quotients[pairs - 1 - left_out]);
        Some(Self { median, low, high, pairs, confidence })
    }

    /// Of the delays that `permille` of the frames of all windows together do not exceed, ours by theirs;
    /// the n-th windows are a pair, each shortest first. `None` if there is no pair with frames.
    pub(crate) fn of_pools(ours: &[&[u64]], theirs: &[&[u64]], permille: usize) -> Option<Self> {
        let has_both = |(a, b): &(&&[u64], &&[u64])| !a.is_empty() && !b.is_empty();
        let (ours, theirs): (Vec<&[u64]>, Vec<&[u64]>) =
            ours.iter().zip(theirs).filter(has_both).unzip();
        let pairs = ours.len();
        let [ours, theirs] = [ours, theirs].map(|windows| Pool::of(&windows));
        let quotient = |times: &[u32]| ours.delay(times, permille) / theirs.delay(times, permille);
        let median = quotient(&vec![1; pairs]);
        if pairs == 0 || !median.is_finite() {
            return None;
        }
        let mut drawn = Draws::new(SEED);
        let mut draw = || {
            let mut times = vec![0; pairs];
            for _ in 0..pairs {
                times[drawn.index(pairs)] += 1;
            }
            quotient(&times)
        };
        let mut quotients: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
        quotients.sort_by(f64::total_cmp);
        let out = DRAWS / 40;
        let (low, high) = (quotients[out], quotients[DRAWS - 1 - out]);
        let confidence = if pairs < PAIRS_LEAST { 0.0 } else { CONFIDENCE };
        Some(Self { median, low, high, pairs, confidence })
    }

    /// Whether the whole interval is at `limit` or above.
    pub fn is_at_least(&self, limit: f64) -> bool {
        self.confidence >= CONFIDENCE && self.low >= limit
    }

    /// Whether the whole interval is below `limit`.
    pub fn is_below(&self, limit: f64) -> bool {
        self.confidence >= CONFIDENCE && self.high < limit
    }
}

/// The frames of several windows together: the longest delay first, each with its window.
struct Pool {
    delays: Vec<(u64, usize)>,
    /// Frames of each window.
    sizes: Vec<usize>,
}

impl Pool {
    fn of(windows: &[&[u64]]) -> Self {
        let all = windows.iter().enumerate();
        let all = all.flat_map(|(nth, window)| window.iter().map(move |&delay| (delay, nth)));
        let mut delays: Vec<(u64, usize)> = all.collect();
        delays.sort_unstable_by(|a, b| b.cmp(a));
        Self { delays, sizes: windows.iter().map(|window| window.len()).collect() }
    }

    /// The delay that so many of the frames do not exceed, if each window counts so many times.
    fn delay(&self, times: &[u32], permille: usize) -> f64 {
        let count: usize = self.sizes.iter().zip(times).map(|(size, &n)| size * n as usize).sum();
        let rank = (count * permille).div_ceil(1_000).max(1);
        let mut longer = count - rank.min(count);
        for &(delay, nth) in &self.delays {
            let here = times[nth] as usize;
            if here > longer {
                return delay as f64;
            }
            longer -= here;
        }
        f64::NAN
    }
}

/// How many values at either end of `n` are outside of the interval, and how sure it is.
fn left_out(n: usize) -> (usize, f64) {
    // Chance that exactly `k` of `n` coins fall so, and that at most so many do.
    let mut exactly = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut at_most = exactly;
    let mut k = 0;
    loop {
        let next = exactly * (n - k) as f64 / (k + 1) as f64;
        if 2 * (k + 1) >= n || 1.0 - 2.0 * (at_most + next) < CONFIDENCE {
            return (k, 1.0 - 2.0 * at_most);
        }
        k += 1;
        exactly = next;
        at_most += exactly;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks from tables of the sign test at 5 %, both sides.
    #[test]
    fn intervals_are_those_of_the_sign_test() {
        for (n, out) in [(6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (15, 3), (20, 5), (25, 7)] {
            let (left_out, confidence) = left_out(n);
            assert_eq!(left_out, out, "{n}");
            assert!((CONFIDENCE..1.0).contains(&confidence), "{n}: {confidence}");
        }
        assert_eq!(left_out(1), (0, 0.0));
        assert!(left_out(5).1 < CONFIDENCE && left_out(5).0 == 0);
        assert!(left_out(1_000).1 >= CONFIDENCE);
    }

    #[test]
    fn what_is_in_both_halves_cancels_out() {
        // The machine gets slower and slower; ours is 3 % slower at any time.
        let theirs: Vec<f64> = (0..20).map(|n| 500.0 - 10.0 * f64::from(n)).collect();
        let ours: Vec<f64> = theirs.iter().map(|it| it * 0.97).collect();
        let paired = Paired::of(&ours, &theirs).expect("pairs");
        assert!((paired.median - 0.97).abs() < 1e-9 && paired.high - paired.low < 1e-9);
        assert!(paired.is_at_least(0.95) && paired.is_below(1.0) && !paired.is_below(0.97));
    }

    /// As the definition says it: all frames in one row, as often as their window counts.
    #[test]
    fn a_pool_is_as_its_frames_in_one_row() {
        let windows: [&[u64]; 3] = [&[1, 2, 3, 9], &[2, 2, 50], &[7]];
        let pool = Pool::of(&windows);
        for times in [[1, 1, 1], [2, 0, 1], [0, 3, 0], [1, 0, 5]] {
            let mut row: Vec<u64> = Vec::new();
            for (window, &n) in windows.iter().zip(&times) {
                (0..n).for_each(|_| row.extend(*window));
            }
            row.sort_unstable();
            for permille in [1, 500, 667, 990, 999, 1_000] {
                let rank = (row.len() * permille).div_ceil(1_000).max(1);
                assert_eq!(
                    pool.delay(&times, permille),
                    row[rank - 1] as f64,
                    "{times:?} {permille}"
                );
            }
        }
        assert!(Pool::of(&[]).delay(&[], 500).is_nan());
    }

    /// Windows whose late frames come in heaps: what is the same is not told apart, half again as long is.
    #[test]
    fn pools_tell_apart_what_differs_and_nothing_else() {
        let mut draw = 7_u64;
        let mut window = |scale: u64| -> Vec<u64> {
            let mut delays: Vec<u64> = (0..1_000)
                .map(|n: u64| {
                    draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(9);
                    let late = if n.is_multiple_of(100) { (draw >> 33) % 90 } else { 0 };
                    (5 + (draw >> 40) % 4 + late) * scale
                })
                .collect();
            delays.sort_unstable();
            delays
        };
        let mut windows = |scale| (0..40).map(|_| window(scale)).collect::<Vec<_>>();
        let (one, same, longer) = (windows(2), windows(2), windows(3));
        let ratio = |a: &[Vec<u64>], b: &[Vec<u64>]| {
            let [a, b] = [a, b].map(|it| it.iter().map(Vec::as_slice).collect::<Vec<_>>());
            Paired::of_pools(&a, &b, 999).expect("pairs")
        };
        let equal = ratio(&one, &same);
        assert!(equal.low < 1.0 && equal.high > 1.0 && equal.high - equal.low < 0.5, "{equal:?}");
        let more = ratio(&longer, &one);
        assert!(more.is_at_least(1.0) && more.low < 1.5 && more.high > 1.5, "{more:?}");
        assert_eq!(ratio(&one, &one).median, 1.0);
        assert!(!ratio(&longer[..5], &one[..5]).is_at_least(0.0), "five pairs decide nothing");
        assert_eq!(Paired::of_pools(&[], &[], 999), None);
    }

    #[test]
    fn few_pairs_decide_nothing() {
        let paired = Paired::of(&[2.0, 3.0, 4.0], &[1.0; 3]).expect("pairs");
        assert_eq!((paired.median, paired.low, paired.high, paired.pairs), (3.0, 2.0, 4.0, 3));
        assert!(!paired.is_at_least(1.0) && !paired.is_below(9.0));
        assert_eq!(Paired::of(&[1.0, 0.0], &[0.0, 1.0]), None);
    }
}
