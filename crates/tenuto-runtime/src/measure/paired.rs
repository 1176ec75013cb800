//! Quotients of two quantities that were measured in turn, pair by pair.
//!
//! What disturbs a machine for seconds is in both halves of a pair, so that quotients spread less than
//! the quantities do. The interval around their median assumes nothing about how they spread: of `n`
//! quotients, the k-th least and the k-th greatest enclose the median of all that could have been
//! drawn unless less than `k` of them fell on one side of it (binomial, as of coins).

use serde::{Deserialize, Serialize};

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

    /// Whether the whole interval is at `limit` or above.
    pub fn is_at_least(&self, limit: f64) -> bool {
        self.confidence >= CONFIDENCE && self.low >= limit
    }

    /// Whether the whole interval is below `limit`.
    pub fn is_below(&self, limit: f64) -> bool {
        self.confidence >= CONFIDENCE && self.high < limit
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

    #[test]
    fn few_pairs_decide_nothing() {
        let paired = Paired::of(&[2.0, 3.0, 4.0], &[1.0; 3]).expect("pairs");
        assert_eq!((paired.median, paired.low, paired.high, paired.pairs), (3.0, 2.0, 4.0, 3));
        assert!(!paired.is_at_least(1.0) && !paired.is_below(9.0));
        assert_eq!(Paired::of(&[1.0, 0.0], &[0.0, 1.0]), None);
    }
}
