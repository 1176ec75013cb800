//! Whole messages a period apart: how many of them fit into a window, counted exactly.
//!
//! Messages are due at 0, P, 2P, … with P = T·10⁶/(10⁶+ρ) and come up to J late: the n-th after the
//! first of a window can come n·P − J after it. Instants are taken down to a picosecond, which only
//! lets messages come sooner.

use num_bigint::BigInt;

const MILLION: u128 = 1_000_000;
/// Windows and jitters beyond this are not counted through: products stay far below 128 bits.
pub(crate) const WINDOW_PS_MAX: u128 = 1 << 70;

/// The messages of one flow at a queue.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    /// One largest message, a size of the scale.
    pub(crate) size: BigInt,
    /// T, not 0.
    pub(crate) period_ps: u128,
    /// ρ, parts per million.
    pub(crate) tolerance_ppm: u128,
    /// J.
    pub(crate) jitter_ps: u128,
}

impl Messages {
    /// Adds a contract: the largest message, the shortest period, the largest jitter of all.
    pub(crate) fn add(&mut self, size: BigInt, period_ns: u64, jitter_ps: u64) {
        if size > self.size {
            self.size = size;
        }
        self.period_ps = self.period_ps.min(u128::from(period_ns.max(1)) * 1_000);
        self.jitter_ps = self.jitter_ps.max(jitter_ps.into());
    }

    /// When the `n`-th message after the first can come, from the start of the window on; negative
    /// ones are there at the start.
    fn comes_at(&self, n: u128) -> Option<u128> {
        let due = n.checked_mul(self.period_ps)?.checked_mul(MILLION)?;
        (due / (MILLION + self.tolerance_ppm)).checked_sub(self.jitter_ps)
    }

    /// How many come after the first one in a closed window of `window_ps`.
    fn further(&self, window_ps: u128) -> u128 {
        let late = window_ps + self.jitter_ps + 1;
        let most = late * (MILLION + self.tolerance_ppm) / (self.period_ps * MILLION);
        let is_in = |n: u128| self.comes_at(n).is_none_or(|at| at <= window_ps);
        if most > 0 && !is_in(most) { most - 1 } else { most }
    }

    /// All that comes within a closed window.
    pub(crate) fn within(&self, window_ps: u128) -> BigInt {
        &self.size * (self.further(window_ps) + 1)
    }

    /// When more comes: every instant in (`from`, `to`], unless there are more than `count_max`.
    pub(crate) fn instants(&self, from: u128, to: u128, count_max: u128) -> Option<Vec<u128>> {
        let (first, last) = (self.further(from) + 1, self.further(to));
        if last.saturating_sub(first) >= count_max {
            return None;
        }
        Some((first..=last).filter_map(|n| self.comes_at(n)).collect())
    }

    /// The messages behind a server and a node that delay each by up to so much.
    pub(crate) fn late(&self, delay_ps: u64, jitter_ps: u64) -> Self {
        let late = u128::from(delay_ps) + u128::from(jitter_ps);
        Self { jitter_ps: self.jitter_ps.saturating_add(late), ..self.clone() }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/streams_messages.rs"]
mod tests;
