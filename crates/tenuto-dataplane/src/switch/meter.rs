//! Contract meters: one token bucket with a drop band, judged by arrival.

use tenuto_units::Instant;

/// Tokens are counted in bit·nanoseconds·10⁻⁹·10⁶, so that every rate in kbit/s is exact:
/// one nanosecond at 1 kbit/s is one unit, one bit is [`UNITS_PER_BIT`] units.
const UNITS_PER_BIT: u64 = 1_000_000;

/// What a meter enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MeterConfig {
    /// Rate, kbit/s of what the device counts.
    pub rate_kbps: u32,
    /// Burst, kbit of what the device counts.
    pub burst_kbit: u32,
}

/// A token bucket: full at the start, never above its burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Meter {
    config: MeterConfig,
    tokens: u64,
    refilled: Instant,
}

impl Meter {
    /// A full bucket.
    pub const fn new(config: MeterConfig) -> Self {
        Self { config, tokens: Self::depth(config), refilled: Instant::ZERO }
    }

    const fn depth(config: MeterConfig) -> u64 {
        config.burst_kbit as u64 * 1_000 * UNITS_PER_BIT
    }

    /// Whether a frame of `bits` that arrived at `arrival` conforms; if so its tokens are taken.
    ///
    /// Arrivals of several ports may be out of order by the processing between them; an earlier
    /// one is judged as of the latest seen, which passes no more than the bucket.
    pub fn conforms(&mut self, arrival: Instant, bits: u64) -> bool {
        let since = arrival.since(self.refilled).as_ns();
        let earned = since.saturating_mul(u64::from(self.config.rate_kbps));
        self.tokens = self.tokens.saturating_add(earned).min(Self::depth(self.config));
        self.refilled = self.refilled.max(arrival);
        let cost = bits.saturating_mul(UNITS_PER_BIT);
        let conforms = cost <= self.tokens;
        if conforms {
            self.tokens -= cost;
        }
        conforms
    }

    /// What it enforces.
    pub const fn config(&self) -> MeterConfig {
        self.config
    }

    /// Changes what it enforces, keeping the tokens it has (a fresh bucket would grant a burst).
    pub fn reconfigure(&mut self, config: MeterConfig) {
        self.config = config;
        self.tokens = self.tokens.min(Self::depth(config));
    }

    /// How far from full the bucket is at `now`, for state identity: zero once it is full again.
    pub fn deficit(&self, now: Instant) -> u64 {
        let earned =
            now.since(self.refilled).as_ns().saturating_mul(u64::from(self.config.rate_kbps));
        Self::depth(self.config).saturating_sub(self.tokens.saturating_add(earned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_its_burst_and_then_its_rate() {
        // 8 kbit/s, 1 kbit: one 125-byte frame at once, then one each 125 ms.
        let mut meter = Meter::new(MeterConfig { rate_kbps: 8, burst_kbit: 1 });
        let ms = |ms: u64| Instant::from_ns(ms * 1_000_000);
        assert!(meter.conforms(ms(0), 1_000));
        assert!(!meter.conforms(ms(124), 1_000));
        assert!(meter.conforms(ms(125), 1_000));
        assert!(!meter.conforms(ms(100), 1), "an earlier stamp earns nothing");
        assert!(meter.conforms(Instant::MAX, 1_000));
    }

    #[test]
    fn a_change_of_contract_grants_no_fresh_bucket() {
        let mut meter = Meter::new(MeterConfig { rate_kbps: 1, burst_kbit: 10 });
        assert!(meter.conforms(Instant::ZERO, 10_000));
        meter.reconfigure(MeterConfig { rate_kbps: 1, burst_kbit: 20 });
        assert!(!meter.conforms(Instant::ZERO, 1));
    }
}
