//! A schedule: everything that a run leaves open, decided in a file.
//!
//! Where [`super::run`] draws, a schedule says: when each message is released and how large it is, how long each
//! switch takes for the frames of each flow, who is first of two that come at one instant, what a babbling host
//! sends. Hosts that follow it do nothing that their contracts forbid, so every bound has to hold.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name of the form.
pub const SCHEDULE_SCHEMA: &str = "tenuto-schedule/1";
/// Releases and frames of one schedule.
pub(super) const SCHEDULE_ITEMS_MAX: usize = 1_000_000;

/// The rank among events of one instant of timers, by which lines become free, and of all that a schedule does not
/// rank.
pub(super) const LINE_FREE_RANK: u8 = 128;

/// Everything about a run that a plan leaves open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Always `tenuto-schedule/1`.
    pub schema: String,
    /// Name of the network.
    pub network: String,
    /// Hash of the plan that it was made for.
    pub plan_hash: String,
    /// The mode in which all switches are at the start.
    pub start_mode: String,
    /// How long to run, nanoseconds.
    pub duration_ns: u64,
    /// What it was made to show, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
    /// The host that keeps no contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub babbling_host: Option<String>,
    /// Messages of hosts that keep their contracts, in order of time.
    pub releases: Vec<ScheduledRelease>,
    /// Frames of the babbling host, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<ScheduledFrame>,
    /// Choices for the frames of each flow that is sent.
    pub flows: Vec<FlowChoices>,
    /// Latency of mode signals by the switch that receives them, nanoseconds; its least where it is not named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub signal_latencies_ns: BTreeMap<String, u64>,
}

/// The row of a plan that a schedule was made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// Flow.
    pub flow: String,
    /// Target.
    pub target: String,
    /// Redundant network, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<String>,
    /// Mode, or `LO>HI`.
    pub mode: String,
    /// The delay that it shows, nanoseconds.
    pub witness_delay_ns: u64,
    /// The bound of the plan, nanoseconds.
    pub delay_bound_ns: u64,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduledRelease {
    /// Nanoseconds after traffic starts.
    pub at_ns: u64,
    /// Flow.
    pub flow: String,
    /// Bytes of the message, or of the datagram's payload.
    pub bytes: u32,
}

/// A frame of the babbling host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduledFrame {
    /// Nanoseconds after traffic starts.
    pub at_ns: u64,
    /// The flow whose header it has.
    pub flow: String,
    /// Its bytes with FCS.
    pub frame_bytes: u32,
    /// The message that it claims to be of.
    pub message: u32,
}

/// Choices for the frames of one flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowChoices {
    /// Flow.
    pub flow: String,
    /// Order among what happens at one instant, lowest first; lines become free at 128.
    pub order: u8,
    /// Latency by switch, nanoseconds; its least where it is not named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latencies_ns: BTreeMap<String, u64>,
}

/// A frame on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The node that sent it.
    pub node: String,
    /// Its port.
    pub port: u32,
    /// Index of its flow; `None` for mode signals.
    pub flow: Option<u16>,
    /// Message id by its stamp.
    pub message: Option<u32>,
    /// Bits on the wire.
    pub wire_bits: u64,
    /// When its last bit left, nanoseconds after traffic started.
    pub departure_ns: u64,
    /// When it had been put into the queue, nanoseconds after traffic started; `None` at its source.
    pub queued_ns: Option<u64>,
}
