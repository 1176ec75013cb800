//! A credit of bytes that may be overdrawn: what is sent is known only when it is made.

use tenuto_units::{Instant, Span};

/// 10⁻⁹ bytes, so that a nanosecond at 1 B/s earns one.
const UNITS: i128 = 1_000_000_000;
/// The longest message of OpenFlow: each credit holds it when it is full.
const MESSAGE_BYTES_MAX: i128 = 65_535;
/// A full credit is what a tenth of a second earns.
const AT_ONCE: i128 = 10;

/// A token bucket of bytes, full at the start, whose level may fall below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteCredit {
    per_s: u64,
    depth: i128,
    level: i128,
    refilled: Instant,
}

impl ByteCredit {
    pub(super) fn new(per_s: u64) -> Self {
        let depth = (i128::from(per_s) * UNITS / AT_ONCE).max(MESSAGE_BYTES_MAX * UNITS);
        Self { per_s, depth, level: depth, refilled: Instant::ZERO }
    }

    fn level_at(&self, now: Instant) -> i128 {
        let earned = i128::from(now.since(self.refilled).as_ns()) * i128::from(self.per_s);
        (self.level + earned).min(self.depth)
    }

    /// Whether so many bytes can be taken without a debt.
    pub(super) fn holds(&self, bytes: u64, now: Instant) -> bool {
        self.level_at(now) >= i128::from(bytes) * UNITS
    }

    /// When it holds so many bytes, or is full: `now` or later.
    pub(super) fn ready_at(&self, bytes: u64, now: Instant) -> Instant {
        let wanted = (i128::from(bytes) * UNITS).min(self.depth);
        let missing = wanted - self.level_at(now);
        if missing <= 0 {
            return now;
        }
        let per_s = i128::from(self.per_s.max(1));
        let ns = u64::try_from((missing + per_s - 1) / per_s).unwrap_or(u64::MAX >> 1);
        now.max(self.refilled) + Span::from_ns(ns)
    }

    /// Takes so many bytes, whether it holds them or not.
    pub(super) fn charge(&mut self, bytes: u64, now: Instant) {
        self.level = self.level_at(now) - i128::from(bytes) * UNITS;
        self.refilled = self.refilled.max(now);
    }
}
