//! Switch profiles: what a device can and what it costs, as data.

use serde::{Deserialize, Serialize};

/// What a switch model can and what it costs.
///
/// Forwarding is per-port service: a frame waits `latency` between its last bit in and its place
/// in the egress queue, independent of other ports.
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
    /// Meter rates are multiples of this, kbit/s.
    pub meter_rate_step_kbps: u32,
    /// Meter bursts are multiples of this, kbit.
    pub meter_burst_step_kbit: u32,
    /// Summed tolerance of a host's and the switch's clock, parts per million.
    pub clock_tolerance_ppm: u32,
    /// Whether it monitors flows, keeps shadow tables and spreads mode signals.
    pub has_modes: bool,
    /// Largest time to swap its tables at a mode change, nanoseconds.
    pub swap_ns_max: u64,
    /// Largest time to drop or move one queued frame at a mode change, nanoseconds.
    pub purge_frame_ns_max: u64,
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
}

impl Profile {
    /// The built-in profile of that name: `tenuto`, `ideal`, `afdx`, `hp-e3800`.
    pub fn built_in(name: &str) -> Option<Self> {
        let ideal = Self {
            name: "ideal".into(),
            latency_ns_min: 0,
            latency_ns_max: 0,
            below_scheduler_bytes: 0,
            buffer_bytes_per_port: None,
            queues_per_port: 8,
            entries_max: 1_000_000,
            meters_max: 1_000_000,
            groups_max: 1_000_000,
            meter_counts: MeterCounts::Wire,
            meter_rate_step_kbps: 1,
            meter_burst_step_kbit: 1,
            clock_tolerance_ppm: 0,
            has_modes: false,
            swap_ns_max: 0,
            purge_frame_ns_max: 0,
        };
        Some(match name {
            "ideal" => ideal,
            // Our own switch; host effects are measured and added as the host allowance.
            "tenuto" => Self {
                name: "tenuto".into(),
                latency_ns_min: 0,
                latency_ns_max: 20_000,
                buffer_bytes_per_port: Some(2_000_000),
                entries_max: 100_000,
                meters_max: 100_000,
                groups_max: 10_000,
                clock_tolerance_ppm: 200,
                has_modes: true,
                swap_ns_max: 50_000,
                purge_frame_ns_max: 200,
                ..ideal
            },
            // [DetOF] section VI: processing delay of 5 us; the buffer is ours to state.
            "afdx" => Self {
                name: "afdx".into(),
                latency_ns_min: 0,
                latency_ns_max: 5_000,
                buffer_bytes_per_port: Some(512_000),
                queues_per_port: 2,
                entries_max: 4_096,
                meters_max: 4_096,
                groups_max: 4_096,
                meter_counts: MeterCounts::Frame,
                clock_tolerance_ppm: 200,
                ..ideal
            },
            // [DetOF] sections V and VI: 7 us in hardware tables, 512 entries, 2000 meters.
            "hp-e3800" => Self {
                name: "hp-e3800".into(),
                latency_ns_min: 0,
                latency_ns_max: 7_000,
                buffer_bytes_per_port: Some(512_000),
                entries_max: 512,
                meters_max: 2_000,
                groups_max: 1_024,
                meter_counts: MeterCounts::Frame,
                clock_tolerance_ppm: 200,
                ..ideal
            },
            _ => return None,
        })
    }

    /// The names that [`Profile::built_in`] knows.
    pub const BUILT_IN: [&'static str; 4] = ["tenuto", "ideal", "afdx", "hp-e3800"];

    /// How much the latency can vary, nanoseconds.
    pub const fn latency_jitter_ns(&self) -> u64 {
        self.latency_ns_max - self.latency_ns_min
    }

    /// A latency that the simulator may take for a draw `unit` in 0..=65535; never above the
    /// envelope that the planner uses (theory, cost functions).
    pub const fn latency_sample_ns(&self, unit: u16) -> u64 {
        self.latency_ns_min + self.latency_jitter_ns() * unit as u64 / u16::MAX as u64
    }
}
