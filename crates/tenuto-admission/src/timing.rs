//! What a frame meets inside of a switch beside its queues.

/// Latencies beyond this are no switch's any more.
const LATENCY_NS_MAX: u64 = 1_000_000_000;
/// More than that below a scheduler would be a buffer of its own.
const BELOW_SCHEDULER_BYTES_MAX: u32 = 1 << 20;

/// Latency of a switch, and what its scheduler cannot hold back any more; all 0 for one that forwards at
/// once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchTiming {
    /// Least time from the last bit received to the place in the egress queue, ns.
    pub latency_ns_min: u64,
    /// Largest time of that kind, ns. Frames of one line keep their order.
    pub latency_ns_max: u64,
    /// Bytes on the wire that may be below the scheduler, in front of a frame that it chooses.
    pub below_scheduler_bytes: u32,
}

impl SwitchTiming {
    /// j: how much the latency varies, ns.
    pub(crate) const fn jitter_ns(self) -> u64 {
        self.latency_ns_max - self.latency_ns_min
    }

    /// Bits that may be below the scheduler.
    pub(crate) fn below_scheduler_bits(self) -> u64 {
        u64::from(self.below_scheduler_bytes) * 8
    }

    /// Whether every value is in range.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn check(self) -> Result<(), &'static str> {
        if self.latency_ns_min > self.latency_ns_max || self.latency_ns_max > LATENCY_NS_MAX {
            return Err("the least latency exceeds the largest, or that a second");
        }
        if self.below_scheduler_bytes > BELOW_SCHEDULER_BYTES_MAX {
            return Err("more than 1 MiB below the scheduler");
        }
        Ok(())
    }
}
