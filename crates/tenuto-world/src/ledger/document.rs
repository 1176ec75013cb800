//! The run document: what was observed beside what was proved. Keys carry their unit.

use serde::{Deserialize, Serialize};
use tenuto_model::Verdict;

/// One run, live or simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunDocument {
    /// Always `tenuto-run/1`.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// `live` or `simulated`.
    pub world: String,
    /// Seed of the run.
    pub seed: u64,
    /// Hash of the plan that was run.
    pub plan_hash: String,
    /// Name of the network.
    pub network: String,
    /// How the run ended.
    pub verdict: Verdict,
    /// What speaks for a word other than `kept`, that of the verdict and of those behind it.
    #[serde(default)]
    pub verdict_reasons: Vec<VerdictReason>,
    /// The verdict in one sentence.
    pub summary: String,
    /// Length of the run, nanoseconds.
    pub duration_ns: u64,
    /// Length of the scenario as written, nanoseconds; 0 where there is none.
    #[serde(default)]
    pub scenario_ns: u64,
    /// Events of the scenario that were not played: after the end, or of a node that was gone.
    #[serde(default)]
    pub not_played: Vec<EventRow>,
    /// Why what the scenario expects was not judged; absent where it was, or nothing is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_not_judged: Option<String>,
    /// The network was run so many times slower than described.
    pub slow: u64,
    /// Per flow, target and mode or change.
    pub flows: Vec<FlowRow>,
    /// Rows of the plan that the run did not exercise.
    #[serde(default)]
    pub not_observed: Vec<UnobservedRow>,
    /// Mode changes in order.
    pub mode_changes: Vec<ModeChangeRow>,
    /// What breaks a promise.
    pub violations: Vec<Violation>,
    /// What was dropped by policing and its kin, and where.
    pub policed: Vec<PolicedRow>,
    /// Queues.
    pub ports: Vec<PortObservation>,
    /// Events and faults in order.
    pub events: Vec<EventRow>,
    /// Stalls of this machine above the allowance (live).
    pub stalls: Vec<StallRow>,
    /// What is assumed.
    pub assumptions: Vec<String>,
    /// Frames handled by all nodes together.
    pub packet_hops: u64,
    /// The releases of a live run, tried again in virtual time; absent where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// How long frames were at every port, by flow, from their last bit in to their last bit out; where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hop_delays: Vec<HopDelayRow>,
    /// Every release in order, for a replay; not part of the document.
    #[serde(skip)]
    pub releases: Vec<Release>,
    /// The command that repeats the run, where the program that made it says so.
    #[serde(default)]
    pub command: Option<String>,
    /// What was measured of this machine before the run (live).
    #[serde(default)]
    pub machine: Option<MachineRow>,
}

/// One flow to one target in one mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// Flow name.
    pub flow: String,
    /// Target host.
    pub target: String,
    /// Mode, or `LO>HI`.
    pub mode: String,
    /// Name of the flow's level.
    pub level: String,
    /// Messages released.
    pub sent: u64,
    /// Messages complete at the target.
    pub received: u64,
    /// Messages that a frame of was lost.
    pub lost: u64,
    /// Messages that a frame of was over contract.
    pub policed: u64,
    /// Messages that had no place in the mode.
    pub out_of_mode: u64,
    /// Messages still on their way at the end.
    pub in_flight: u64,
    /// Messages above their bound, or lost, while this machine stalled.
    pub undecided: u64,
    /// Of those received, messages after their deadline, but within bound and host allowance.
    #[serde(default)]
    pub late: u64,
    /// The flow, or its host, sent more than its contract: the bound was not promised to it.
    #[serde(default)]
    pub is_misbehaving: bool,
    /// Queueing bound plus host allowance, nanoseconds; null if unbounded.
    pub delay_bound_ns: Option<u64>,
    /// From the plan, nanoseconds.
    pub queueing_bound_ns: Option<u64>,
    /// For this machine, nanoseconds; 0 outside live.
    pub host_allowance_ns: u64,
    /// Largest delay seen, nanoseconds.
    pub observed_delay_ns_max: Option<u64>,
    /// Median delay seen, nanoseconds.
    pub observed_delay_ns_p50: Option<u64>,
    /// 99th percentile of the delays seen, nanoseconds.
    pub observed_delay_ns_p99: Option<u64>,
    /// Deadline, nanoseconds.
    pub deadline_ns: u64,
    /// Method of the bound.
    pub method: String,
    /// Hop by hop, along the copy with the largest bound.
    #[serde(default)]
    pub hops: Vec<HopRow>,
    /// Per copy, where networks are redundant.
    pub copies: Vec<CopyRow>,
    /// Configured limit of the copies' difference, nanoseconds.
    pub skew_limit_ns: Option<u64>,
    /// Proved bound of the copies' difference, nanoseconds.
    pub skew_bound_ns: Option<u64>,
    /// Largest difference seen, nanoseconds.
    pub observed_skew_ns_max: Option<u64>,
    /// Delays by time of release: at most 2000 points, of neighbours the largest.
    #[serde(default)]
    pub delays: Vec<DelayPoint>,
    /// How the delays are spread; empty buckets are left out.
    #[serde(default)]
    pub delay_histogram: Vec<DelayBucket>,
}

/// The delay of one message, or the largest of some that were released one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayPoint {
    /// Release, nanoseconds after traffic started.
    pub at_ns: u64,
    /// Delay, nanoseconds.
    pub delay_ns: u64,
}

/// How many messages took so long: more than the bucket before, at most this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayBucket {
    /// Largest delay of the bucket, nanoseconds.
    pub to_ns: u64,
    /// Messages.
    pub messages: u64,
}

/// One hop of a bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HopRow {
    /// Label of the directed egress, `sw1:3 > sw2`.
    pub port: String,
    /// Processing in front of the queue, nanoseconds.
    pub latency_ns: u64,
    /// Queueing and serialisation, nanoseconds; null if unbounded.
    pub queueing_ns: Option<u64>,
    /// Propagation to the next node, nanoseconds.
    pub propagation_ns: u64,
}

/// How long frames of a flow were at one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopDelayRow {
    /// Flow name.
    pub flow: String,
    /// Label of the directed egress, `sw1:3 > sw2`.
    pub port: String,
    /// Frames.
    pub frames: u64,
    /// The largest, exactly, nanoseconds.
    pub observed_ns_max: u64,
    /// Median, to the end of its bucket, nanoseconds.
    pub observed_ns_p50: u64,
    /// 99th percentile, to the end of its bucket, nanoseconds.
    pub observed_ns_p99: u64,
    /// Largest bound over the modes, nanoseconds; null if one is unbounded, or the flow is not planned there.
    pub bound_ns: Option<u64>,
    /// How the delays are spread, eight buckets per doubling; empty buckets are left out.
    pub histogram: Vec<HopBucket>,
}

/// How many frames were at a port for so long: more than the bucket before, at most this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopBucket {
    /// Largest delay of the bucket, nanoseconds.
    pub to_ns: u64,
    /// Frames.
    pub frames: u64,
}

/// One copy of a flow at a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyRow {
    /// Redundant network.
    pub network: String,
    /// Messages complete over it.
    pub received: u64,
    /// Messages that did not come over it.
    pub lost: u64,
    /// Its bound with the host allowance, nanoseconds.
    pub delay_bound_ns: Option<u64>,
    /// Largest delay seen, nanoseconds.
    pub observed_delay_ns_max: Option<u64>,
}

/// One mode change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModeChangeRow {
    /// Mode before.
    pub from: String,
    /// Mode after.
    pub to: String,
    /// Flow and switch that caused it, in words.
    pub trigger: String,
    /// When it was triggered, nanoseconds after traffic started.
    pub at_ns: u64,
    /// From the trigger to the last switch; null if not every switch got there.
    pub observed_ns: Option<u64>,
    /// Bound with host allowance, nanoseconds.
    pub bound_ns: Option<u64>,
    /// Frames that lost their place.
    pub purged_frames: u64,
    /// The terms.
    pub terms: Vec<TermRow>,
    /// When each switch swapped, nanoseconds after traffic started.
    pub switches: Vec<SwitchSwap>,
}

/// When one switch swapped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwitchSwap {
    /// Switch.
    pub switch: String,
    /// When, nanoseconds after traffic started.
    pub at_ns: u64,
    /// Frames that lost their place.
    pub purged_frames: u32,
    /// How long swapping and purging took, nanoseconds; 0 in virtual time.
    #[serde(default)]
    pub took_ns: u64,
    /// When its edges admitted the new level, nanoseconds after traffic started.
    #[serde(default)]
    pub admitted_at_ns: Option<u64>,
}

/// One term of a mode change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TermRow {
    /// Its name.
    pub name: String,
    /// As seen, nanoseconds; null where it cannot be seen alone.
    pub observed_ns: Option<u64>,
    /// As proved, nanoseconds.
    pub bound_ns: u64,
    /// It took more than its share of a change that kept its bound as a whole: the sum is promised,
    /// a share is not.
    #[serde(default)]
    pub is_above_share: bool,
}

/// A reason for a word of the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictReason {
    /// The word that it speaks for.
    pub verdict: Verdict,
    /// Node, program, flow with target and row, or user.
    pub who: String,
    /// What happened, in words.
    pub what: String,
    /// When, nanoseconds after traffic started; null where the whole run is meant.
    pub at_ns: Option<u64>,
}

/// A row of the plan of which nothing was observed: no message of the flow was sent then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnobservedRow {
    /// Flow name.
    pub flow: String,
    /// Target host.
    pub target: String,
    /// Mode, or `LO>HI`.
    pub mode: String,
}

/// Something that breaks a promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// `delay`, `loss`, `skew`, `mode_change`, `backlog`, `expectation`, `policed`, `unfinished`.
    pub kind: String,
    /// Flow.
    pub flow: Option<String>,
    /// Target.
    pub target: Option<String>,
    /// Mode.
    pub mode: Option<String>,
    /// When, nanoseconds after traffic started.
    pub at_ns: u64,
    /// What was seen, in the kind's unit.
    pub observed: Option<u64>,
    /// What was promised, in the kind's unit.
    pub bound: Option<u64>,
    /// Evidence and cause, in words.
    pub note: String,
    /// Whether something that was gone beyond what is tolerated explains it, or nothing was promised: then it violates nothing.
    #[serde(default)]
    pub is_explained: bool,
}

/// Frames dropped for what they were, by place and reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicedRow {
    /// Flow whose headers they carried, if any.
    pub flow: Option<String>,
    /// Host at the port of entry, if one is attached.
    pub host: Option<String>,
    /// Switch that dropped.
    pub switch: String,
    /// Port of entry.
    pub port: u32,
    /// Frames.
    pub frames: u64,
    /// Reason.
    pub reason: String,
    /// Length of each stretch of `frames_at`, nanoseconds.
    #[serde(default)]
    pub stretch_ns: u64,
    /// When they were dropped: at most 512 stretches, empty ones left out.
    #[serde(default)]
    pub frames_at: Vec<FramesAt>,
}

/// Frames of one stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramesAt {
    /// Beginning of the stretch, nanoseconds after traffic started.
    pub from_ns: u64,
    /// Frames.
    pub frames: u64,
}

/// Queue of a directed egress, seen beside its bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortObservation {
    /// Label, `sw1:3 > sw2`.
    pub port: String,
    /// Mode or change in which it has its largest backlog bound.
    #[serde(default)]
    pub mode: String,
    /// Largest planned load over the modes, as a fraction of the rate.
    #[serde(default)]
    pub load: f64,
    /// Largest backlog seen, bits on the wire.
    pub observed_backlog_bits_max: u64,
    /// Largest backlog bound over the modes, bits on the wire; null if unbounded.
    pub backlog_bound_bits: Option<u64>,
    /// Buffer, bits; null where none is stated.
    pub buffer_limit_bits: Option<u64>,
    /// Frames sent.
    pub frames: u64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRow {
    /// When, nanoseconds after traffic started.
    pub at_ns: u64,
    /// In words.
    pub text: String,
    /// Whether the fault model tolerates it, if it is a fault.
    pub tolerated: Option<bool>,
}

/// A stall of this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StallRow {
    /// Node.
    pub node: String,
    /// When, nanoseconds after traffic started.
    pub at_ns: u64,
    /// For how long, nanoseconds.
    pub length_ns: u64,
}

/// What was measured of this machine before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineRow {
    /// Processors, data plane, wait policy, in words.
    pub text: String,
    /// Median lateness of a wake-up, nanoseconds.
    pub wake_up_ns_p50: Option<u64>,
    /// 99.9th percentile, nanoseconds.
    pub wake_up_ns_p999: Option<u64>,
    /// Largest, nanoseconds.
    pub wake_up_ns_max: Option<u64>,
    /// Allowance per element that follows from it, nanoseconds.
    pub host_allowance_ns: Option<u64>,
}

/// A message as it was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// When, nanoseconds after traffic started.
    pub at_ns: u64,
    /// Index of the flow in the network.
    pub flow: u16,
    /// Bytes of the message, or of the datagram's payload.
    pub bytes: u32,
}

/// What the recorded releases of a live run show in virtual time, where every bound is strict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// How it ended.
    pub verdict: Verdict,
    /// Messages received in it.
    pub received: u64,
    /// What broke a promise in it.
    pub violations: Vec<Violation>,
}
