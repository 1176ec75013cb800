//! The JSON of a plan, as far as the checker needs it; read by itself, not through the model.

pub(crate) use super::deployed::{
    Entry, Group, HostDeployment, LevelContract, Match, Meter, Monitor, MonitorKind, Output,
    PortDeployment, PortQueue, Role, SwitchDeployment, Usage,
};
use crate::text::distinct;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
pub(crate) struct Plan {
    pub(crate) schema: String,
    pub(crate) description_digest: String,
    pub(crate) plan_hash: String,
    pub(crate) network: Network,
    pub(crate) model: Model,
    pub(crate) as_stated: bool,
    pub(crate) line_shaping: bool,
    #[serde(default)]
    pub(crate) staircases: bool,
    pub(crate) feasible: bool,
    #[serde(default)]
    pub(crate) modelled: bool,
    pub(crate) quiet_ns: Option<u64>,
    pub(crate) signal_copies: Option<u8>,
    pub(crate) routes: Vec<Route>,
    pub(crate) ports: Vec<PortService>,
    #[serde(default)]
    pub(crate) processors: Vec<ProcessorService>,
    #[serde(default)]
    pub(crate) witnesses: Witnesses,
    #[serde(default)]
    pub(crate) processor_rows: Vec<ProcessorRow>,
    pub(crate) port_rows: Vec<PortRow>,
    pub(crate) flows: Vec<FlowBound>,
    pub(crate) mode_changes: Vec<ModeChange>,
    pub(crate) switches: Vec<SwitchDeployment>,
    pub(crate) hosts: Vec<HostDeployment>,
    #[serde(default)]
    pub(crate) link_losses: Vec<LinkLoss>,
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) assumptions: Vec<Assumption>,
    #[serde(default)]
    pub(crate) ranked: Ranked,
}

/// Something assumed, in words.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Assumption {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// How flows are said to have got their classes; analyses are counted where any were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ranked {
    #[default]
    AsGiven,
    RateMonotonic,
    Audsley(u64),
    NoOther(u64),
}

/// What is claimed for the time after the loss of a link.
#[derive(Debug, Deserialize)]
pub(crate) struct LinkLoss {
    pub(crate) link: [Port; 2],
    pub(crate) routes: Vec<Route>,
    pub(crate) ports: Vec<PortService>,
    #[serde(default)]
    pub(crate) processors: Vec<ProcessorService>,
    #[serde(default)]
    pub(crate) witnesses: Witnesses,
    pub(crate) port_rows: Vec<PortRow>,
    #[serde(default)]
    pub(crate) processor_rows: Vec<ProcessorRow>,
    pub(crate) flows: Vec<FlowBound>,
    #[serde(default)]
    pub(crate) mode_changes: Vec<ModeChange>,
    pub(crate) table_use: Vec<(String, Usage)>,
    pub(crate) refusals: Vec<Refusal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Model {
    StoreAndForward,
    Fluid,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Network {
    pub(crate) name: String,
    pub(crate) modes: Vec<String>,
    pub(crate) networks: Vec<String>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) links: Vec<Link>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) other_traffic: OtherTraffic,
    pub(crate) mode_return: ModeReturn,
    pub(crate) tolerates: Tolerates,
    #[serde(deserialize_with = "distinct")]
    pub(crate) profiles: BTreeMap<String, Profile>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Host {
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Switch {
    pub(crate) name: String,
    pub(crate) datapath_id: u64,
    pub(crate) profile: String,
    pub(crate) network: Option<String>,
}

/// Who installs the plan. How its sessions come, and what switches do without it, has one word each.
#[derive(Debug, Deserialize)]
pub(crate) struct Controller {
    pub(crate) name: String,
    pub(crate) manages: Vec<String>,
    #[serde(rename = "channel")]
    _channel: Channel,
    #[serde(rename = "when_lost")]
    _when_lost: WhenLost,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Channel {
    OutOfBand,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WhenLost {
    Secure,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Port {
    pub(crate) node: String,
    pub(crate) port: u32,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Link {
    pub(crate) a: Port,
    pub(crate) b: Port,
    pub(crate) rate_bps: u64,
    pub(crate) propagation_ns: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "policy")]
pub(crate) enum OtherTraffic {
    Drop,
    Carry { priority: u8, rate_bps: u64, frame_bytes_max: u32 },
}

#[derive(Debug, Deserialize)]
pub(crate) struct ModeReturn {
    pub(crate) quiet_ns: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Tolerates {
    pub(crate) babbling_hosts: u32,
    pub(crate) lost_signals: u32,
    pub(crate) controller_loss: bool,
    #[serde(default)]
    pub(crate) links_lost: u32,
}

/// What OpenFlow's own bands can state, where a device is said to have no limit of its own.
const fn openflow_burst_bytes() -> u64 {
    u32::MAX as u64 * 125
}

#[derive(Debug, Deserialize)]
pub(crate) struct Profile {
    pub(crate) name: String,
    pub(crate) latency_ns_min: u64,
    pub(crate) latency_ns_max: u64,
    pub(crate) below_scheduler_bytes: u32,
    pub(crate) buffer_bytes_per_port: Option<u64>,
    pub(crate) queues_per_port: u8,
    pub(crate) entries_max: u32,
    pub(crate) meters_max: u32,
    pub(crate) groups_max: u32,
    pub(crate) meter_counts: MeterCounts,
    pub(crate) meter_rate_step_bps: u64,
    pub(crate) meter_burst_step_bytes: u64,
    #[serde(default = "openflow_burst_bytes")]
    pub(crate) meter_burst_max_bytes: u64,
    pub(crate) clock_tolerance_ppm: u32,
    pub(crate) has_modes: bool,
    pub(crate) swap_ns_max: u64,
    pub(crate) purge_frame_ns_max: u64,
    pub(crate) processor: Option<Processor>,
    pub(crate) receive_buffer: Option<ReceiveBuffer>,
    #[serde(default)]
    pub(crate) is_typical: bool,
}

/// A processor that all ports share. What actions cost is not read: planned frames have none.
#[derive(Debug, Deserialize)]
pub(crate) struct Processor {
    pub(crate) base_ps: u64,
    pub(crate) per_byte_ps: u64,
    pub(crate) per_entry_ps: MatchCosts,
    pub(crate) look_up: LookUp,
    pub(crate) per_output_ps: u64,
    pub(crate) spread_percent: u64,
    pub(crate) link: Option<ProcessorLink>,
    pub(crate) receive: Receive,
    pub(crate) control: ControlShare,
    #[serde(default)]
    pub(crate) slices: SliceControl,
    #[serde(default)]
    pub(crate) is_typical: bool,
}

/// Budgets of tenants' slices, and what their messages cost.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SliceControl {
    pub(crate) message_ps: u64,
    pub(crate) byte_ps: u64,
    pub(crate) budgets: Vec<SliceBudget>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SliceBudget {
    pub(crate) name: String,
    pub(crate) messages: u32,
    pub(crate) packet_ins: u32,
    pub(crate) bytes: u64,
}

/// What comparing an entry takes, by the kind of match.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MatchCosts {
    pub(crate) port: u64,
    pub(crate) tp_dst: u64,
    pub(crate) dl_dst: u64,
    pub(crate) masked_nw_dst: u64,
    pub(crate) five_tuple: u64,
    pub(crate) all: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LookUp {
    Linear,
    ByMask(u32),
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct ProcessorLink {
    pub(crate) rate_bps: u64,
    pub(crate) tag_bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Receive {
    Fifo,
    RoundRobin(u32),
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct ControlShare {
    pub(crate) time_ps: u64,
    pub(crate) period_ps: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct ReceiveBuffer {
    pub(crate) count: u64,
    pub(crate) unit: BufferUnit,
    pub(crate) is_per_port: bool,
    pub(crate) has_place_in_service: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BufferUnit {
    Cells(u32),
    Frames,
    Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MeterCounts {
    L2WithoutFcs,
    Frame,
    Wire,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Flow {
    pub(crate) name: String,
    pub(crate) vl: Option<u16>,
    pub(crate) source: String,
    pub(crate) targets: Vec<Target>,
    pub(crate) level: u64,
    pub(crate) contracts: Vec<Contract>,
    pub(crate) matching: MatchKind,
    #[serde(rename = "out_of_mode")]
    _out_of_mode: OutOfMode,
    pub(crate) monitor_at: Vec<String>,
    pub(crate) copies: Vec<String>,
    #[serde(default)]
    pub(crate) apart: Apart,
    pub(crate) skew_max_ns: Option<u64>,
    pub(crate) udp_port: Option<u16>,
}

/// What becomes of a flow's frames above its level: there is one word for it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OutOfMode {
    Drop,
}

/// What two copies over one network do not have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Apart {
    #[default]
    Switches,
    Links,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) routes: Vec<Option<Vec<String>>>,
    pub(crate) deadline_ns: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Contract {
    pub(crate) period_ns: u64,
    pub(crate) size: Size,
    pub(crate) frame_bytes_min: Option<u32>,
    pub(crate) jitter_ns: u64,
    pub(crate) priority: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Size {
    #[serde(rename = "message_bytes")]
    Message(u32),
    #[serde(rename = "payload_bytes")]
    Payload(u32),
    #[serde(rename = "frame_bytes")]
    Frame(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MatchKind {
    FiveTuple,
    Vl,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Route {
    pub(crate) flow: String,
    pub(crate) copy: Option<String>,
    pub(crate) paths: Vec<Path>,
    /// Whether it goes around a lost link, and so not where the description may have fixed it.
    #[serde(skip)]
    pub(crate) is_backup: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Path {
    pub(crate) target: String,
    pub(crate) ports: Vec<Port>,
}

/// A mode, or a change between two, for which bounds hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    Steady(u8),
    Raise { from: u8, to: u8 },
    Return { from: u8, to: u8 },
}

#[derive(Debug, Deserialize)]
pub(crate) struct PortService {
    pub(crate) mode: Mode,
    pub(crate) port: Port,
    pub(crate) class: u8,
    pub(crate) delay_ps: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ProcessorService {
    pub(crate) mode: Mode,
    pub(crate) entry: Port,
    pub(crate) delay_ps: u64,
}

/// What makes checking a matter of putting in; nothing in it is believed.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Witnesses {
    #[serde(default)]
    pub(crate) busy: Vec<BusyPeriod>,
    #[serde(default)]
    pub(crate) processors_busy: Vec<ProcessorBusy>,
    #[serde(default)]
    pub(crate) purges: Vec<Purge>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct BusyPeriod {
    pub(crate) mode: Mode,
    pub(crate) port: Port,
    pub(crate) class: u8,
    pub(crate) busy_ps: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ProcessorBusy {
    pub(crate) mode: Mode,
    pub(crate) switch: String,
    pub(crate) busy_ps: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Purge {
    pub(crate) switch: String,
    pub(crate) purge_ps: u64,
}

/// When something is over at a port.
#[derive(Debug, Deserialize)]
pub(crate) struct PortEnded {
    pub(crate) mode: Mode,
    pub(crate) port: Port,
    pub(crate) after_ps: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ProcessorRow {
    pub(crate) switch: String,
    pub(crate) port: Option<u32>,
    pub(crate) mode: Mode,
    pub(crate) load_ppm: u64,
    pub(crate) backlog_bound: Option<u64>,
    pub(crate) buffer_limit: Option<u64>,
    pub(crate) unit: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PortRow {
    pub(crate) port: Port,
    pub(crate) mode: Mode,
    pub(crate) rate_bps: u64,
    pub(crate) capacity_bps: u64,
    pub(crate) backlog_bound_bits: Option<u64>,
    pub(crate) buffer_limit_bits: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FlowBound {
    pub(crate) flow: String,
    pub(crate) target: String,
    pub(crate) mode: Mode,
    pub(crate) priority: u8,
    pub(crate) deadline_ns: u64,
    pub(crate) delay_bound_ps: Option<u64>,
    pub(crate) copies: Vec<CopyBound>,
    pub(crate) skew_bound_ps: Option<u64>,
    pub(crate) method: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CopyBound {
    pub(crate) network: Option<String>,
    pub(crate) delay_bound_ps: Option<u64>,
    pub(crate) delay_min_ps: u64,
    pub(crate) hops: Vec<Hop>,
    #[serde(default)]
    pub(crate) proof: Option<WholePathProof>,
}

/// Why a path as a whole is faster than its hops one by one.
#[derive(Debug, Deserialize)]
pub(crate) struct WholePathProof {
    pub(crate) linear: crate::kernel::server_graph::Proof,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Hop {
    pub(crate) port: Port,
    pub(crate) latency_ps: u64,
    pub(crate) queueing_ps: Option<u64>,
    pub(crate) propagation_ps: u64,
    pub(crate) burst_bits: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ModeChange {
    pub(crate) change: Mode,
    pub(crate) bound_ps: u64,
    pub(crate) terms: Vec<Term>,
    #[serde(default)]
    pub(crate) drain_ps: Option<u64>,
    #[serde(default)]
    pub(crate) settled_ps: Option<u64>,
    #[serde(default)]
    pub(crate) rounds: Vec<SettlingRound>,
    #[serde(default)]
    pub(crate) ended: Vec<PortEnded>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SettlingRound {
    pub(crate) ports: Vec<PortService>,
    #[serde(default)]
    pub(crate) processors: Vec<ProcessorService>,
    #[serde(default)]
    pub(crate) busy: Vec<BusyPeriod>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Term {
    pub(crate) name: String,
    pub(crate) bound_ps: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) resource: String,
    pub(crate) flows: Vec<String>,
}

impl Mode {
    /// `LO`, `LO>HI`, `HI>LO`.
    pub(crate) fn label(self, modes: &[String]) -> String {
        let name = |level: u8| modes.get(usize::from(level)).map_or("?", String::as_str);
        match self {
            Self::Steady(level) => name(level).to_owned(),
            Self::Raise { from, to } | Self::Return { from, to } => {
                format!("{}>{}", name(from), name(to))
            }
        }
    }
}
