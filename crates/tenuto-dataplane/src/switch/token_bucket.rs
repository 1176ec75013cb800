//! Token buckets: of bits or of packets, full at the start, judged by arrival.

use tenuto_units::{Instant, Span};

/// Tokens are 10⁻⁹ bit, or 10⁻⁹ packet: what a nanosecond at 1 bit/s or 1 packet/s brings. So every
/// rate fills its bucket exactly, however long it is looked at and in whatever pieces.
pub(super) const UNITS: u64 = 1_000_000_000;
/// Burst of a band that states none: so long at its rate, but two of the largest frames at least.
const BURST_UNSTATED: Span = Span::from_ms(100);
pub(super) const BURST_UNSTATED_PACKETS_MIN: u64 = 2;

/// A token bucket: full at the start, never above its burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Meter {
    /// Bits or packets in a second.
    pub(super) rate: u64,
    pub(super) depth: u64,
    pub(super) tokens: u64,
    pub(super) refilled: Instant,
}

impl Meter {
    /// A full bucket of so many bits (or packets), 2.3 GB at the most, which fills at `rate` of them in
    /// a second.
    pub const fn new(rate: u64, burst: u64) -> Self {
        Self::of_depth(rate, burst.saturating_mul(UNITS))
    }

    const fn of_depth(rate: u64, depth: u64) -> Self {
        Self { rate, depth, tokens: depth, refilled: Instant::ZERO }
    }

    /// A full bucket for a band that states no burst.
    pub(super) fn with_unstated_burst(rate: u64, least: u64) -> Self {
        let depth = rate.saturating_mul(BURST_UNSTATED.as_ns());
        Self::of_depth(rate, depth.max(least * UNITS))
    }

    /// A full bucket of packets: `rate` in a second, and a tenth of that at once.
    pub(super) fn of_packets(rate: u32) -> Self {
        Self::with_unstated_burst(rate.into(), 1)
    }

    /// Whether one more packet conforms; if so its token is taken.
    pub(super) fn takes_packet(&mut self, arrival: Instant) -> bool {
        self.takes(arrival, UNITS)
    }

    /// When one more packet conforms: `now` or later.
    pub(super) fn packet_at(&self, now: Instant) -> Instant {
        self.ready_at(now, UNITS)
    }

    /// Whether a frame of `bits` that arrived at `arrival` conforms; if so its tokens are taken.
    ///
    /// Arrivals of several ports may be out of order by the processing between them; an earlier
    /// one is judged as of the latest seen, which passes no more than the bucket.
    pub fn conforms(&mut self, arrival: Instant, bits: u64) -> bool {
        self.takes(arrival, bits.saturating_mul(UNITS))
    }

    #[inline]
    pub(super) fn takes(&mut self, arrival: Instant, cost: u64) -> bool {
        let of = (self.rate, self.depth);
        take((&mut self.tokens, &mut self.refilled), of, arrival, cost)
    }

    /// The earliest instant from `now` on at which a cost conforms; `now` if it never will, as its
    /// frame is then dropped whenever it comes.
    pub(super) fn ready_at(&self, now: Instant, cost: u64) -> Instant {
        let rate = self.rate;
        let earned = now.since(self.refilled).as_ns().saturating_mul(rate);
        let missing = cost.saturating_sub(self.tokens.saturating_add(earned).min(self.depth));
        if cost > self.depth || rate == 0 {
            return now;
        }
        // What comes before the last refill earns nothing.
        let from = if missing == 0 { now } else { now.max(self.refilled) };
        from + Span::from_ns(missing.div_ceil(rate))
    }

    /// What it enforces, for state identity: its rate and its depth.
    pub(super) const fn enforced(&self) -> (u64, u64) {
        (self.rate, self.depth)
    }

    /// Changes what it enforces, keeping the tokens it has (a fresh bucket would grant a burst).
    pub(super) fn replace(&mut self, new: Self) {
        (self.rate, self.depth) = (new.rate, new.depth);
        self.tokens = self.tokens.min(self.depth);
    }

    /// How far from full the bucket is at `now`, for state identity: zero once it is full again.
    pub fn deficit(&self, now: Instant) -> u64 {
        let earned = now.since(self.refilled).as_ns().saturating_mul(self.rate);
        self.depth.saturating_sub(self.tokens.saturating_add(earned))
    }
}

/// Fills a bucket, and takes a cost out of it if it holds that.
#[inline(always)]
pub(super) fn take(
    (tokens, refilled): (&mut u64, &mut Instant),
    (rate, depth): (u64, u64),
    arrival: Instant,
    cost: u64,
) -> bool {
    let earned = arrival.since(*refilled).as_ns().saturating_mul(rate);
    *tokens = tokens.saturating_add(earned).min(depth);
    *refilled = (*refilled).max(arrival);
    let conforms = cost <= *tokens;
    if conforms {
        *tokens -= cost;
    }
    conforms
}
