//! The ledger: observations in, the run document out. Live and simulated runs are judged alike.
//!
//! sent = received + lost + policed + out_of_mode + in_flight + undecided, per flow, target and
//! row; only `lost` breaks a promise. A message whose life touches a change window (from the
//! trigger to the change's bound) is judged by that transition's bound.

mod book;
mod changes;
mod close;
mod death;
mod document;
mod judging;
mod observation;
mod outage;
mod paths;
mod places;
mod played;
mod series;
mod summary;
mod taking_in;
mod timeline;
mod translate;
mod verdict;
mod violation_words;
mod wanting;

pub use document::{
    CopyRow, DelayBucket, DelayPoint, EventRow, FlowRow, FramesAt, HopBucket, HopDelayRow, HopRow,
    MachineRow, ModeChangeRow, PolicedRow, PortObservation, Release, Replay, RunDocument, StallRow,
    SwitchSwap, TermRow, UnobservedRow, VerdictReason, Violation,
};
pub use observation::{ControlStep, Observation, PROGRAM_MESSAGES};
pub use played::Played;
pub use verdict::Facts;

use death::{Death, SignalLoss};
use std::collections::{BTreeMap, BTreeSet};
use tenuto_model::{Plan, Transition};
use timeline::Timeline;

/// What a run is judged against, beside its plan.
#[derive(Clone, Debug)]
pub struct LedgerSettings {
    /// `live` or `simulated`.
    pub world: &'static str,
    /// Seed of the run.
    pub seed: u64,
    /// The network runs so many times slower than described.
    pub slow: u64,
    /// When traffic starts, on the clock of the observations, nanoseconds.
    pub start_ns: u64,
    /// What this machine adds to the bound of (flow index, target, row), nanoseconds; live only.
    pub host_allowance_ns: BTreeMap<(u16, String, Transition), u64>,
    /// What this machine adds to the bound of a mode change, nanoseconds.
    pub change_allowance_ns: u64,
    /// What the scenario was to show.
    pub played: Played,
}

impl LedgerSettings {
    /// A run in virtual time: nothing is added to any bound.
    pub fn simulated(seed: u64, start_ns: u64, played: Played) -> Self {
        Self {
            world: "simulated",
            seed,
            slow: 1,
            start_ns,
            host_allowance_ns: BTreeMap::new(),
            change_allowance_ns: 0,
            played,
        }
    }
}

/// Copies of a message that are told apart.
const COPIES_MAX: usize = 2;

/// What became of one message at one target.
#[derive(Clone, Copy, Debug, Default)]
struct AtTarget {
    delivered_ns: Option<u64>,
    skew_ns: Option<u64>,
    /// Delay of the copy over each network.
    copies: [Option<u64>; COPIES_MAX],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Policed,
    OutOfMode,
    Lost,
}

#[derive(Clone, Debug, Default)]
struct MessageRecord {
    release_ns: u64,
    targets: Vec<AtTarget>,
    fate: Option<Fate>,
    place: Option<(u32, &'static str)>,
}

/// Observations of one run, and the plan that they are judged against.
#[derive(Clone, Debug)]
pub struct Ledger<'a> {
    plan: &'a Plan,
    settings: LedgerSettings,
    /// By flow, messages by their ids. Hosts choose these: no hash that they could know.
    messages: Vec<BTreeMap<u64, MessageRecord>>,
    /// Which network a port of a host leads to, by its place in the list of networks.
    networks: BTreeMap<(u16, u32), usize>,
    /// One per redundant network: each agrees on its mode by itself.
    timelines: Vec<Timeline>,
    dropped: BTreeMap<(String, u32, String, u64), series::FramesOverTime>,
    ports: BTreeMap<(String, u32), (u64, u64)>,
    events: Vec<EventRow>,
    stalls: Vec<StallRow>,
    misbehaving: BTreeMap<u16, u64>,
    misbehaving_hosts: BTreeMap<String, u64>,
    packet_hops: u64,
    releases: Vec<Release>,
    paths: paths::Paths,
    nodes: Vec<String>,
    /// Nodes and programs that are gone beyond what is tolerated, and since when.
    deaths: Vec<Death>,
    /// Mode signals that a scenario loses.
    signals_lost: Vec<SignalLoss>,
    /// Nodes that could not tell all that they saw.
    unseen: Vec<Unseen>,
    /// When the run ended before its time, nanoseconds of the run's clock, and who ended it.
    ended_early: Option<(u64, Ending)>,
    /// Until when nodes told what they saw, nanoseconds of the run's clock; `None`: to the end.
    told_until_ns: Option<u64>,
    not_played: Vec<EventRow>,
    /// Flows that a program sends.
    taken_over: BTreeSet<u16>,
    /// Arrivals of which the source has not told yet, by flow, message and host: when.
    handed: BTreeMap<(u16, u32, u16), u64>,
    /// Frames of programs, by host: sent and refused.
    programs: BTreeMap<String, (u64, u64)>,
}

/// Observations that a node could not tell.
#[derive(Clone, Debug)]
struct Unseen {
    node: String,
    lines: u64,
    /// What was seen before is told; nanoseconds after traffic started.
    at_ns: u64,
}

/// Why a run ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The user asked for it.
    Stopped,
    /// What was running was lost.
    Lost,
}

/// A short view of a run that is still going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressRow {
    /// Flow name.
    pub flow: String,
    /// Target host.
    pub target: String,
    /// Messages received.
    pub received: u64,
    /// Messages lost: not received, not turned away, and too old to be on their way.
    pub missing: u64,
    /// Largest delay seen, nanoseconds.
    pub observed_delay_ns_max: u64,
    /// Largest bound of any of its rows, nanoseconds.
    pub delay_bound_ns: Option<u64>,
    /// Least deadline of any of its rows, nanoseconds.
    pub deadline_ns: Option<u64>,
    /// Its host sends more than was agreed: nothing is promised to it.
    pub is_misbehaving: bool,
}

impl<'a> Ledger<'a> {
    /// An empty ledger.
    pub fn new(plan: &'a Plan, settings: LedgerSettings) -> Self {
        let networks: BTreeSet<_> = plan.network.switches.iter().map(|s| &s.network).collect();
        let timeline = |network: &Option<String>| {
            let own = plan.network.switches.iter().filter(|s| s.network == *network);
            Timeline::new(own.map(|s| s.name.clone()).collect(), plan.network.modes.len())
        };
        let timelines = networks.into_iter().map(timeline).collect();
        Self {
            messages: vec![BTreeMap::new(); plan.network.flows.len()],
            networks: networks_of_ports(plan),
            timelines,
            dropped: BTreeMap::new(),
            ports: BTreeMap::new(),
            events: Vec::new(),
            stalls: Vec::new(),
            misbehaving: BTreeMap::new(),
            misbehaving_hosts: BTreeMap::new(),
            packet_hops: 0,
            releases: Vec::new(),
            paths: paths::Paths::new(plan),
            nodes: Vec::new(),
            deaths: Vec::new(),
            signals_lost: Vec::new(),
            unseen: Vec::new(),
            ended_early: None,
            told_until_ns: None,
            not_played: Vec::new(),
            taken_over: BTreeSet::new(),
            handed: BTreeMap::new(),
            programs: BTreeMap::new(),
            plan,
            settings,
        }
    }

    /// The network was brought up before this ledger was opened: every switch is in its start mode, of that level.
    pub fn set_up_complete(&mut self, level: u8) {
        self.timelines.iter_mut().for_each(|it| it.set_up_complete(level));
    }

    /// The scenario was not played to its end: what it expects may be missing. Where nodes could not
    /// tell everything, `told_until_ns` says until when they did: what is missing after that may
    /// have been seen.
    pub fn end_early(&mut self, at_ns: u64, ending: Ending, told_until_ns: Option<u64>) {
        self.ended_early = Some((at_ns, ending));
        self.told_until_ns = told_until_ns;
    }

    /// The mode in force, as far as it has been seen.
    pub fn mode(&self) -> &str {
        let level = self.timelines.iter().map(Timeline::level_now).max().unwrap_or(0);
        self.plan.network.modes.get(usize::from(level)).map_or("?", String::as_str)
    }

    /// Where every flow stands at `now_ns`, for a live table.
    pub fn progress(&self, now_ns: u64) -> Vec<ProgressRow> {
        let mut rows = Vec::new();
        for (index, flow) in (0u16..).zip(&self.plan.network.flows) {
            for (place, target) in flow.targets.iter().enumerate() {
                rows.push(self.progress_row(index, &flow.name, place, &target.host, now_ns));
            }
        }
        rows
    }

    fn progress_row(
        &self,
        index: u16,
        flow: &str,
        place: usize,
        target: &str,
        now_ns: u64,
    ) -> ProgressRow {
        let bound = self.widest_bound(index, target);
        let mut row = ProgressRow {
            flow: flow.to_owned(),
            target: target.to_owned(),
            received: 0,
            missing: 0,
            observed_delay_ns_max: 0,
            delay_bound_ns: bound,
            deadline_ns: self.least_deadline(index, target),
            is_misbehaving: self
                .has_misbehaved(index, &self.plan.network.flows[usize::from(index)]),
        };
        for record in self.messages[usize::from(index)].values() {
            match record.targets.get(place).and_then(|t| t.delivered_ns) {
                Some(at) => {
                    row.received += 1;
                    let delay = at.saturating_sub(record.release_ns);
                    row.observed_delay_ns_max = row.observed_delay_ns_max.max(delay);
                }
                None if matches!(record.fate, None | Some(Fate::Lost)) => {
                    let age = now_ns.saturating_sub(record.release_ns);
                    row.missing += u64::from(bound.is_some_and(|b| age > b));
                }
                None => {}
            }
        }
        row
    }

    fn widest_bound(&self, flow: u16, target: &str) -> Option<u64> {
        let name = &self.plan.network.flows[usize::from(flow)].name;
        let rows = self.plan.flows.iter().filter(|r| r.flow == *name && r.target == target);
        rows.filter_map(|r| {
            let allowance = self.allowance(flow, target, r.mode);
            Some(r.delay_bound_ps?.div_ceil(1_000) + allowance)
        })
        .max()
    }

    fn least_deadline(&self, flow: u16, target: &str) -> Option<u64> {
        let name = &self.plan.network.flows[usize::from(flow)].name;
        let rows = self.plan.flows.iter().filter(|r| r.flow == *name && r.target == target);
        rows.map(|row| row.deadline_ns).min()
    }

    fn allowance(&self, flow: u16, target: &str, row: Transition) -> u64 {
        let key = (flow, target.to_owned(), row);
        self.settings.host_allowance_ns.get(&key).copied().unwrap_or(0)
    }
}

/// The redundant network behind each port of each host.
fn networks_of_ports(plan: &Plan) -> BTreeMap<(u16, u32), usize> {
    let network = &plan.network;
    let mut behind = BTreeMap::new();
    for (index, host) in (0u16..).zip(&network.hosts) {
        for (own, far, _) in network.ends_of(&host.name) {
            let name = network.switch(&far.node).and_then(|switch| switch.network.as_ref());
            let place = name.and_then(|name| network.networks.iter().position(|n| n == name));
            behind.extend(place.map(|place| ((index, own.port), place)));
        }
    }
    behind
}
