//! Silo: a flow's latency is the sum of the queue capacities on its path (\[Loko\] appendix A).

const PS_PER_S: u128 = 1_000_000_000_000;

/// An egress port as Silo sees it: a line and a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiloPort {
    /// R_i, bit/s.
    pub line_bps: u64,
    /// B_i, bytes.
    pub buffer_bytes: u64,
}

/// What arrives at a port: sums over its flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiloLoad {
    /// r_i, bit/s.
    pub rate_bps: u64,
    /// b_i, bits; at every hop after the first grown by [`SiloLoad::behind`].
    pub burst_bits: u64,
}

impl SiloPort {
    /// c_i = B_i / R_i (Eq. 10), picoseconds up.
    pub fn queue_capacity_ps(&self) -> u64 {
        time_ps(u128::from(self.buffer_bytes) * 8, self.line_bps)
    }

    /// p_i = b_i / R_i (Eq. 9), picoseconds up; `None` where the rates exceed the line.
    pub fn queue_bound_ps(&self, load: SiloLoad) -> Option<u64> {
        let is_within = load.rate_bps <= self.line_bps;
        is_within.then(|| time_ps(load.burst_bits.into(), self.line_bps))
    }

    /// Whether Silo accepts that load here (Eq. 11).
    pub fn accepts(&self, load: SiloLoad) -> bool {
        self.queue_bound_ps(load).is_some_and(|p| p <= self.queue_capacity_ps())
    }
}

impl SiloLoad {
    /// The load behind a port: the burst grown by the rate over that port's queue capacity.
    #[must_use]
    pub fn behind(self, port: &SiloPort) -> Self {
        let grown = u128::from(self.rate_bps) * u128::from(port.queue_capacity_ps());
        let grown = u64::try_from(grown.div_ceil(PS_PER_S)).unwrap_or(u64::MAX);
        Self { burst_bits: self.burst_bits.saturating_add(grown), ..self }
    }
}

/// The latency that Silo promises over a path (Eq. 12), picoseconds.
pub fn guarantee_ps(path: &[SiloPort]) -> u64 {
    path.iter().map(SiloPort::queue_capacity_ps).fold(0, u64::saturating_add)
}

fn time_ps(bits: u128, line_bps: u64) -> u64 {
    let ps = (bits * PS_PER_S).div_ceil(u128::from(line_bps.max(1)));
    u64::try_from(ps).unwrap_or(u64::MAX)
}
