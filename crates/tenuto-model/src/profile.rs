//! Switch profiles: what a device can and what it costs, as data.

mod buffer;
mod built_in;
mod processor;
mod slice_control;

pub use buffer::{BufferUnit, ReceiveBuffer};
pub use processor::{
    Action, ActionCosts, ControlShare, FrameService, LookUp, MatchCosts, MatchType, Position,
    PriorityOrder, Processor, ProcessorLink, Receive, Use,
};
pub use slice_control::{
    ANSWER_BYTES_MAX, ControlWork, MESSAGE_BYTES_MAX, SliceControl, SliceShare,
};

use crate::Size;
use serde::{Deserialize, Serialize};

/// The largest burst that a band of OpenFlow can state, 2³² − 1 kbit, in bytes.
pub const OPENFLOW_BURST_BYTES_MAX: u64 = u32::MAX as u64 * 125;

const fn openflow_burst() -> u64 {
    OPENFLOW_BURST_BYTES_MAX
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks so
const fn is_openflow_burst(bytes: &u64) -> bool {
    *bytes == OPENFLOW_BURST_BYTES_MAX
}

/// What a switch model can and what it costs.
///
/// A frame waits `latency` between its last bit in and its place in the egress queue, independent
/// of other ports. Where the ports share a processor, waiting for it and being processed come on
/// top.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Name of the profile.
    pub name: String,
    /// Least time from the last bit received to the egress queue, nanoseconds.
    pub latency_ns_min: u64,
    /// Largest time from the last bit received to the egress queue, nanoseconds.
    pub latency_ns_max: u64,
    /// Bytes that can sit below the scheduler (ring, device) ahead of a newly chosen frame.
    pub below_scheduler_bytes: u32,
    /// Buffer of one egress port, bytes; `None` where the device states no limit.
    pub buffer_bytes_per_port: Option<u64>,
    /// Strict-priority queues per port.
    pub queues_per_port: u8,
    /// Flow entries over all tables, shadow entries included.
    pub entries_max: u32,
    /// Meters.
    pub meters_max: u32,
    /// Groups.
    pub groups_max: u32,
    /// What a meter counts per frame.
    pub meter_counts: MeterCounts,
    /// Meter rates are multiples of this, bit/s. OpenFlow's own bands state whole kbit/s; finer ones
    /// take a band of ours.
    pub meter_rate_step_bps: u64,
    /// Meter bursts are multiples of this, bytes. OpenFlow's own bands state whole kbit (125 B).
    pub meter_burst_step_bytes: u64,
    /// The largest burst of a meter, bytes: what OpenFlow's own bands can state ([`OPENFLOW_BURST_BYTES_MAX`])
    /// unless the device takes less.
    #[serde(default = "openflow_burst", skip_serializing_if = "is_openflow_burst")]
    pub meter_burst_max_bytes: u64,
    /// Summed tolerance of a host's and the switch's clock, parts per million.
    pub clock_tolerance_ppm: u32,
    /// Whether it monitors flows, keeps shadow tables and spreads mode signals.
    pub has_modes: bool,
    /// Largest time to swap its tables at a mode change, nanoseconds.
    pub swap_ns_max: u64,
    /// Largest time to drop or move one queued frame at a mode change, nanoseconds.
    pub purge_frame_ns_max: u64,
    /// The processor that all ports share; `None`: every port is served by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<Processor>,
    /// Room for frames that wait for the processor; `None` where the device states no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ReceiveBuffer>,
    /// Its times were seen, and no worst case is known, whether or not ports share a processor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_typical: bool,
}

impl Profile {
    /// Whether the times of the switch, or those of its processor, are typical ones, not worst ones.
    pub fn has_typical_times(&self) -> bool {
        self.is_typical || self.processor.as_ref().is_some_and(|it| it.is_typical)
    }
}

/// The bytes of a frame that a meter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeterCounts {
    /// Ethernet frame without FCS.
    L2WithoutFcs,
    /// Ethernet frame with FCS.
    Frame,
    /// Frame, preamble and gap: what the line carries.
    Wire,
}

impl MeterCounts {
    /// Bytes counted for a frame of `frame_bytes` (FCS included, padded).
    pub const fn counted_bytes(self, frame_bytes: u32) -> u32 {
        match self {
            Self::L2WithoutFcs => frame_bytes - 4,
            Self::Frame => frame_bytes,
            Self::Wire => frame_bytes + tenuto_units::WIRE_OVERHEAD_BYTES,
        }
    }

    /// Bits counted for a largest message; `as_stated` keeps frames below 64 B as they are written.
    pub fn counted_message_bits(self, size: Size, as_stated: bool) -> u64 {
        let (mix, least) = (size.frames(as_stated), tenuto_units::FRAME_BYTES_MIN);
        let uncounted = tenuto_units::WIRE_OVERHEAD_BYTES + least - self.counted_bytes(least);
        mix.message_wire_bits.saturating_sub(u64::from(mix.frames) * u64::from(uncounted) * 8)
    }
}
