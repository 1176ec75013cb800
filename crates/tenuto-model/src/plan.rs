//! The plan: description, routes, bounds with their certificate, and the deployment.

use crate::{HostDeployment, LinkEnd, Network, Port, SwitchDeployment, TableUse};
use serde::{Deserialize, Serialize};

/// A plan, self-contained: the certificate checker and every world need nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Always `tenuto-plan/2`.
    pub schema: String,
    /// Version of the program that made it.
    pub version: String,
    /// SHA-256 of the canonical JSON of `network`, in hex.
    pub description_digest: String,
    /// SHA-256 of the canonical JSON of the whole plan with this field empty, in hex.
    pub plan_hash: String,
    /// The description that was planned.
    pub network: Network,
    /// Which forwarding model the bounds are for.
    pub model: ForwardingModel,
    /// Whether frames below 64 B were taken as stated (comparison only).
    pub as_stated: bool,
    /// Whether input links shape what they carry (line shaping).
    pub line_shaping: bool,
    /// Whether flows whose messages are known to come a period apart count as whole messages.
    #[serde(default, skip_serializing_if = "is_false")]
    pub staircases: bool,
    /// Whether every promise holds.
    pub feasible: bool,
    /// Whether a switch has a profile whose times are typical ones, not worst ones: the bounds are
    /// those of a model, and nothing is guaranteed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub modelled: bool,
    /// Routes, one entry per flow and copy.
    pub routes: Vec<Route>,
    /// The certificate: service of every port and class in every mode and transition.
    pub ports: Vec<PortService>,
    /// The certificate, continued: times at processors that ports share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<ProcessorService>,
    /// The certificate, continued: why the claims of modes, changes and staircases hold.
    #[serde(default, skip_serializing_if = "Witnesses::is_empty")]
    pub witnesses: Witnesses,
    /// Load and buffer per port and mode.
    pub port_rows: Vec<PortRow>,
    /// Load and receive buffers of processors that ports share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processor_rows: Vec<ProcessorRow>,
    /// Bounds per flow, target and mode or transition.
    pub flows: Vec<FlowBound>,
    /// Bounds of mode changes.
    pub mode_changes: Vec<ModeChangeBound>,
    /// Quiet window before a return is proposed, nanoseconds; `None` without modes or a safe value.
    pub quiet_ns: Option<u64>,
    /// How often every mode signal is sent; 0 without modes.
    pub signal_copies: u8,
    /// What every switch is told; present whenever every flow has a route.
    pub switches: Vec<SwitchDeployment>,
    /// What every end system is told; present whenever every flow has a route.
    pub hosts: Vec<HostDeployment>,
    /// What holds after the loss of each link that carries a flow, where the description
    /// tolerates one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_losses: Vec<LinkLoss>,
    /// Why it is not feasible.
    pub refusals: Vec<Refusal>,
    /// What is assumed: the very words that the checker derives from all else.
    pub assumptions: Vec<Assumption>,
    /// How the flows got their scheduling classes.
    #[serde(default, skip_serializing_if = "Ranked::is_as_given")]
    pub ranked: Ranked,
}

/// How flows got the scheduling classes that they have in a plan's network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranked {
    /// As the description had them.
    #[default]
    AsGiven,
    /// The shorter the period in a flow's highest mode, the higher.
    RateMonotonic,
    /// Found from the lowest class up, after so many analyses.
    Audsley(u64),
    /// As given, after so many analyses that found nothing else.
    NoOther(u64),
}

impl Ranked {
    const fn is_as_given(&self) -> bool {
        matches!(self, Self::AsGiven)
    }
}

/// The forwarding model of the bounds; never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardingModel {
    /// Whole frames are received before they are sent on; the only model valid for frames.
    StoreAndForward,
    /// Bits flow through; for comparison with other tools, never part of `feasible`.
    Fluid,
}

/// The tree of one copy of a flow: the directed ports that carry it, parents first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Flow name.
    pub flow: String,
    /// Redundant network, where there are several.
    pub copy: Option<String>,
    /// Why it is this one.
    #[serde(default, skip_serializing_if = "Chosen::is_usual")]
    pub chosen: Chosen,
    /// One path per target, in the flow's order of targets: ports from the source's own egress on.
    pub paths: Vec<RoutedCopy>,
}

/// Why a route is the one it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chosen {
    /// It has the fewest hops; of equal ones the least load.
    #[default]
    FewestHops,
    /// The description fixes it.
    Fixed,
    /// With the fewest hops a promise would be broken: of this flow or of another.
    LoadAndDeadlines,
}

impl Chosen {
    /// Whether there is nothing to say about it.
    pub fn is_usual(&self) -> bool {
        *self == Self::FewestHops
    }
}

/// What holds once a link between switches is lost and those that it carried go other ways: a
/// state of its own in every mode and change, with its certificate. How long the change takes is not promised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkLoss {
    /// The link, by its two ends.
    pub link: [LinkEnd; 2],
    /// The routes that replace those of the plan; all others stay.
    pub routes: Vec<Route>,
    /// Service of every port and class.
    pub ports: Vec<PortService>,
    /// Times at processors that ports share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<ProcessorService>,
    /// Why the claims of modes, changes and staircases hold.
    #[serde(default, skip_serializing_if = "Witnesses::is_empty")]
    pub witnesses: Witnesses,
    /// Load and buffer per port.
    pub port_rows: Vec<PortRow>,
    /// Load and receive buffers of processors that ports share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processor_rows: Vec<ProcessorRow>,
    /// Bounds per flow and target. A flow of two copies has the largest bound of both, although
    /// one may not arrive.
    pub flows: Vec<FlowBound>,
    /// Mode changes over the links that are left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mode_changes: Vec<ModeChangeBound>,
    /// Places of tables that the switches need, by name.
    pub table_use: Vec<(String, TableUse)>,
    /// Why not every promise holds.
    pub refusals: Vec<Refusal>,
}

impl LinkLoss {
    /// The link in words: `sw1:3 - sw2:1`.
    pub fn label(&self) -> String {
        let [a, b] = &self.link;
        format!("{}:{} - {}:{}", a.node, a.port, b.node, b.port)
    }
}

/// The path of one copy to one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutedCopy {
    /// Target host.
    pub target: String,
    /// Directed ports from the source's egress to the last switch's.
    pub ports: Vec<Port>,
}

/// A mode, or a change between two, for which bounds hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transition {
    /// Steady in one mode.
    Steady(u8),
    /// A raise from the lower to the higher level.
    Raise {
        /// Level before.
        from: u8,
        /// Level after.
        to: u8,
    },
    /// A return from the higher to the lower level.
    Return {
        /// Level before.
        from: u8,
        /// Level after.
        to: u8,
    },
}

/// The certificate's claim for one class at one port: no frame waits longer than this.
///
/// All claims of one mode together are a vector x with x ≥ F(x), which the checker re-computes
/// from the description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortService {
    /// Mode or transition.
    pub mode: Transition,
    /// Directed egress.
    pub port: Port,
    /// Scheduling class, 0 = highest.
    pub class: u8,
    /// From the place in the queue to the last bit on the wire, picoseconds.
    pub delay_ps: u64,
}

/// The certificate's claim for the frames that enter a processor by one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorService {
    /// Mode or transition.
    pub mode: Transition,
    /// Switch and port of entry.
    pub entry: Port,
    /// From the last bit received to the end of processing, and of the line between processor and
    /// ports, picoseconds.
    pub delay_ps: u64,
}

/// Figures that a checker puts into inequalities where it would have to search for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witnesses {
    /// Busy periods of ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busy: Vec<BusyPeriod>,
    /// Busy periods of processors that ports share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors_busy: Vec<ProcessorBusy>,
    /// What purging takes of processors that ports share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub purges: Vec<Purge>,
}

impl Witnesses {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.busy.is_empty() && self.processors_busy.is_empty() && self.purges.is_empty()
    }
}

/// After so long all that came to a port since the start of a busy period has been served: of a class
/// and those above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyPeriod {
    /// Mode or transition.
    pub mode: Transition,
    /// Directed egress.
    pub port: Port,
    /// Scheduling class, 0 = highest.
    pub class: u8,
    /// W, picoseconds.
    pub busy_ps: u64,
}

/// After so long all that came to a processor since the start of a busy period has been served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorBusy {
    /// Mode or transition.
    pub mode: Transition,
    /// Switch.
    pub switch: String,
    /// The lines beside the processor included, picoseconds.
    pub busy_ps: u64,
}

/// What a mode change purges of a switch takes no longer than this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// Switch.
    pub switch: String,
    /// Of all its queues once, in any mode, picoseconds.
    pub purge_ps: u64,
}

/// From when on nothing of before is left at a port, its busy periods included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortEnded {
    /// Of a raise, the raise; of a return, the mode or raise that it follows.
    pub mode: Transition,
    /// Directed egress of a switch; of a return also of a host.
    pub port: Port,
    /// From the trigger of the raise, or from the last violation, picoseconds.
    pub after_ps: u64,
}

/// Load and receive buffer of a processor in one mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorRow {
    /// Switch.
    pub switch: String,
    /// Port of entry whose buffer it is; `None` for the buffer of all ports.
    pub port: Option<u32>,
    /// Mode or transition.
    pub mode: Transition,
    /// Long-run share of the processor that is asked for, parts per million rounded up.
    pub load_ppm: u64,
    /// Units of the buffer that waiting frames may take; `None` if unbounded or not limited.
    pub backlog_bound: Option<u64>,
    /// Units that there are; `None` where the device states no limit.
    pub buffer_limit: Option<u64>,
    /// What is counted: `cells`, `frames` or `B`.
    pub unit: String,
}

/// Load and buffer need of a port in one mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRow {
    /// Directed egress.
    pub port: Port,
    /// Mode or transition.
    pub mode: Transition,
    /// Long-run arrival rate, bit/s on the wire, rounded up.
    pub rate_bps: u64,
    /// Link rate, bit/s.
    pub capacity_bps: u64,
    /// Backlog bound, bits on the wire, rounded up; `None` if unbounded.
    pub backlog_bound_bits: Option<u64>,
    /// Buffer, bits; `None` where the device states no limit.
    pub buffer_limit_bits: Option<u64>,
}

/// The bound of one flow to one target in one mode or transition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowBound {
    /// Flow name.
    pub flow: String,
    /// Target host.
    pub target: String,
    /// Mode or transition.
    pub mode: Transition,
    /// Scheduling class in that mode.
    pub priority: u8,
    /// Deadline, nanoseconds.
    pub deadline_ns: u64,
    /// The guaranteed value: the largest over the copies; `None` if unbounded.
    pub delay_bound_ps: Option<u64>,
    /// Per copy, for A/B networks; one entry where there is one network.
    pub copies: Vec<CopyBound>,
    /// Largest difference between the copies' arrivals, picoseconds.
    pub skew_bound_ps: Option<u64>,
    /// Method that gave the bound.
    pub method: String,
}

impl FlowBound {
    /// By when the first of several copies is there while no network is lost: the least bound of a
    /// copy, picoseconds. `None` with one copy, and where no copy has a bound.
    pub fn first_arrival_bound_ps(&self) -> Option<u64> {
        let bounds = self.copies.iter().filter_map(|copy| copy.delay_bound_ps);
        bounds.min().filter(|_| self.copies.len() > 1)
    }
}

/// The bound of one copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyBound {
    /// Redundant network, where there are several.
    pub network: Option<String>,
    /// Largest delay, picoseconds; `None` if unbounded.
    pub delay_bound_ps: Option<u64>,
    /// Least delay, picoseconds.
    pub delay_min_ps: u64,
    /// Hop by hop.
    pub hops: Vec<Hop>,
    /// Why the delay is less than the sum over the hops: a linear proof over the whole path, for
    /// the checker. `None`: it is that sum.
    pub proof: Option<WholePathProof>,
}

/// A proof that a path as a whole is faster than its hops one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholePathProof {
    /// The method that found it.
    pub method: String,
    /// Its inequalities, named as the theory's chapter on whole paths does; servers are egress
    /// ports in the order of the links, two per link, flows are routes, visits are servers.
    pub linear: serde_json::Value,
}

/// One hop of a bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// Directed egress.
    pub port: Port,
    /// Processing in front of the queue, picoseconds.
    pub latency_ps: u64,
    /// Queueing and serialisation, picoseconds; `None` if unbounded.
    pub queueing_ps: Option<u64>,
    /// Propagation to the next node, picoseconds.
    pub propagation_ps: u64,
    /// Burst of the flow on arrival at the queue, bits.
    pub burst_bits: Option<u64>,
}

/// The bound of a mode change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeChangeBound {
    /// Raise or return.
    pub change: Transition,
    /// Largest time from trigger to the last switch's swap, picoseconds.
    pub bound_ps: u64,
    /// The terms that add up to it.
    pub terms: Vec<ModeChangeTerm>,
    /// Of a raise: time from the trigger after which the new mode's own bounds hold, picoseconds.
    /// `None`: the raise's bounds hold until the return.
    pub drain_ps: Option<u64>,
    /// Of a return: time from the last violation after which the lower mode's own bounds hold,
    /// picoseconds; the quiet window covers it. `None`: there is no proof that they ever do again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_ps: Option<u64>,
    /// Of a return where ports depend on one another in a circle: what holds round by round, the
    /// last of it within the lower mode's bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<SettlingRound>,
    /// Port by port, where ports do not depend on one another in a circle: why `drain_ps` and
    /// `settled_ps` hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<PortEnded>,
}

/// Delays that hold one round after those of the round before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettlingRound {
    /// Of every port and class that is in use until the return.
    pub ports: Vec<PortService>,
    /// Of every entry to a processor that ports share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<ProcessorService>,
    /// Busy periods in the round before, where whole messages are counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busy: Vec<BusyPeriod>,
}

/// One term of a mode change's bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeChangeTerm {
    /// `D_arrange`, `D_update`, `D_q`, `quiet`.
    pub name: String,
    /// Its bound, picoseconds.
    pub bound_ps: u64,
}

/// A scarce resource, what was needed, and what would fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Where: a port label or a switch.
    pub place: String,
    /// `rate`, `deadline`, `buffer`, `entries`, `meters`, `groups`, `queues`, `route`, `skew`,
    /// `priorities`, `backup`.
    pub resource: String,
    /// Mode or transition, where it depends on one.
    pub mode: Option<Transition>,
    /// What is needed, in `unit`.
    pub needed: Option<u64>,
    /// What there is, in `unit`.
    pub available: Option<u64>,
    /// Unit of the two.
    pub unit: String,
    /// Flows that ask for it, largest share first.
    pub flows: Vec<String>,
    /// Why, in words.
    pub because: String,
    /// Changes that were planned themselves and hold.
    pub would_fit: Vec<String>,
}

/// Something assumed, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assumption {
    /// Short name: `model`, `sources`, `faults`, `controller`, `clock`, `processor`, `slice`, `other`,
    /// `messages`, `shaping`, `copies`, `unrouted`.
    pub name: String,
    /// The assumption.
    pub text: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Transition {
    /// `LO`, `LO>HI`, `HI>LO`: how rows name it.
    pub fn label(self, modes: &[String]) -> String {
        let name = |level: u8| modes.get(usize::from(level)).map_or("?", String::as_str);
        match self {
            Self::Steady(level) => name(level).to_owned(),
            Self::Raise { from, to } | Self::Return { from, to } => {
                format!("{}>{}", name(from), name(to))
            }
        }
    }

    /// The level that is in force afterwards.
    pub const fn level_after(self) -> u8 {
        match self {
            Self::Steady(level) => level,
            Self::Raise { to, .. } | Self::Return { to, .. } => to,
        }
    }
}
