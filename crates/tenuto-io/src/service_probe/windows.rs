//! The most stalled window.

use super::Stall;
use tenuto_units::{Instant, Span};

/// The most time that any window of length `window` shares with `stalls`, which are disjoint and
/// in order of time.
///
/// Sliding a window to the right, the shared time changes at the rate (stalled at its right end) −
/// (stalled at its left end). It is therefore greatest where a stall begins at the left end or
/// ends at the right end, and only these windows are looked at; O(number of stalls).
pub(super) fn most_stalled(stalls: &[Stall], window: Span) -> Span {
    let (mut most, mut inside) = (Span::ZERO, Span::ZERO);
    let mut next = 0;
    // Windows that begin with a stall; `inside` is the sum of whole stalls from `first` to `next`.
    for first in 0..stalls.len() {
        let right = stalls[first].from + window;
        while next < stalls.len() && end(&stalls[next]) <= right {
            inside = inside + stalls[next].length;
            next += 1;
        }
        let cut = stalls.get(next).map_or(Span::ZERO, |stall| right.since(stall.from));
        most = most.max(inside + cut);
        if next > first {
            inside = inside - stalls[first].length;
        } else {
            next = first + 1;
        }
    }
    // Windows that end with a stall: `from_first` is the first stall that is not wholly before.
    let (mut from_first, mut inside) = (0, Span::ZERO);
    for last in stalls {
        inside = inside + last.length;
        let left = end(last).saturating_sub(window);
        while end(&stalls[from_first]) <= left {
            inside = inside - stalls[from_first].length;
            from_first += 1;
        }
        let cut = left.since(stalls[from_first].from);
        most = most.max(inside - cut);
    }
    most
}

fn end(stall: &Stall) -> Instant {
    stall.from + stall.length
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by its definition, over every window that begins at a whole nanosecond.
    fn oracle(stalls: &[Stall], window: Span) -> Span {
        let last = stalls.last().map_or(0, |stall| end(stall).as_ns());
        let shared = |left: u64| {
            let left = Instant::from_ns(left);
            let right = left + window;
            stalls.iter().fold(Span::ZERO, |sum, stall| {
                sum + end(stall).min(right).since(stall.from.max(left))
            })
        };
        (0..=last).map(shared).max().unwrap_or(Span::ZERO)
    }

    #[test]
    fn it_agrees_with_its_definition() {
        // A small generator of its own: the crate needs no random numbers otherwise.
        let mut state = 1_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % limit
        };
        for round in 0..300 {
            let mut at = 100;
            let stalls: Vec<_> = (0..below(9))
                .map(|_| {
                    let (gap, length) = (below(12), 1 + below(15));
                    let from = Instant::from_ns(at + gap);
                    at += gap + length;
                    Stall { from, length: Span::from_ns(length) }
                })
                .collect();
            for window in [1, 2, 5, 11, 30, 90] {
                let window = Span::from_ns(window);
                let expected = oracle(&stalls, window);
                assert_eq!(most_stalled(&stalls, window), expected, "{round} {window} {stalls:?}");
            }
        }
    }
}
