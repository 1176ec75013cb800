//! Lets an engine decide a list, takes the time of each decision, and audits what is held.

use super::ceiling::{Ceiling, ceiling};
use super::{List, Operation};
use serde::Serialize;
use std::collections::BTreeMap;
use tenuto_admission::audit::{Claim, audit};
use tenuto_admission::{
    Decision, Engine, Method, Network, Place, PortId, Refusal, Request, Reservation, Resource,
    Visit, paced,
};
use tenuto_io::realtime::thread_processor_time;
use tenuto_units::{Instant, Span};

/// Rounds of lowering at most.
const ROUNDS_MAX: usize = 64;

/// How a list is decided.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) method: Method,
    /// Hosts pace their flows.
    pub(crate) pacing: bool,
    /// Requests that the engine expects in all.
    pub(crate) expected: usize,
    /// Decisions after which the engine adapts.
    pub(crate) adapt_after: Vec<usize>,
    /// Every flow takes one queue on all its way, as plans have it.
    pub(crate) has_one_queue_per_flow: bool,
    /// Runs; of each decision the shortest time counts.
    pub(crate) repeat: u32,
}

/// Times of some decisions, nanoseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Times {
    pub(crate) count: usize,
    pub(crate) median_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) max_ns: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) requests: usize,
    pub(crate) flows: usize,
    pub(crate) rate_mbps: f64,
    pub(crate) trunk_load_percent: f64,
    pub(crate) decisions: Times,
    pub(crate) accepted: Times,
    pub(crate) refused: Times,
    pub(crate) removed: Times,
    /// Adaptations that changed something, flows moved in them, and their time.
    pub(crate) adaptations: usize,
    pub(crate) moved: usize,
    pub(crate) adaptation: Times,
    /// Rounds in which reserved delays came down after removals, beside the decisions.
    pub(crate) lowering: Times,
    /// Refusals by what was scarce.
    pub(crate) scarce: BTreeMap<&'static str, usize>,
    pub(crate) granted_over_recomputed_median: f64,
    pub(crate) granted_over_recomputed_max: f64,
    pub(crate) bound_max_ms: f64,
    /// What the independent recomputation found broken.
    pub(crate) late: usize,
    pub(crate) full: usize,
    pub(crate) is_certified: bool,
    /// What rooms and rates alone would allow.
    pub(crate) ceiling: Option<Ceiling>,
}

impl Report {
    /// Whether the audit found every promise kept.
    pub(crate) const fn is_kept(&self) -> bool {
        self.is_certified && self.late == 0 && self.full == 0
    }
}

/// What one run took, per operation.
#[derive(Default)]
struct Run {
    times: Vec<(Kind, u64)>,
    adaptations: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Accepted,
    Refused,
    Removed,
}

/// Decides the list, several times, and audits the outcome.
pub(crate) fn measure(list: &List, setting: &Setting) -> (Report, Engine) {
    let mut report = Report::default();
    let mut shaper_ns = BTreeMap::new();
    let operations: Vec<Operation> = list
        .operations
        .iter()
        .map(|operation| match operation {
            Operation::Add(request) if setting.pacing => {
                let paced = paced(request);
                shaper_ns.insert(request.id, paced.shaper_ns);
                Operation::Add(paced.request)
            }
            other => other.clone(),
        })
        .collect();
    let (mut engine, now, mut best) = decide(list, &operations, setting, Some(&mut report));
    for _ in 1..setting.repeat.max(1) {
        let (_, _, again) = decide(list, &operations, setting, None);
        for (best, again) in best.times.iter_mut().zip(again.times) {
            best.1 = best.1.min(again.1);
        }
        for (best, again) in best.adaptations.iter_mut().zip(again.adaptations) {
            *best = (*best).min(again);
        }
    }
    let of = |kinds: &[Kind]| {
        let timed = best.times.iter().skip(list.filled);
        let chosen = timed.filter(|(kind, _)| kinds.contains(kind));
        times(chosen.map(|(_, ns)| *ns).collect())
    };
    report.decisions = of(&[Kind::Accepted, Kind::Refused]);
    report.accepted = of(&[Kind::Accepted]);
    report.refused = of(&[Kind::Refused]);
    report.removed = of(&[Kind::Removed]);
    report.adaptation = times(best.adaptations);
    report.requests = list.requests();
    report.ceiling = ceiling(&list.network, &operations);
    settle(&mut engine, now, &mut report);
    judge(&engine, &shaper_ns, &mut report);
    (report, engine)
}

fn decide(
    list: &List,
    operations: &[Operation],
    setting: &Setting,
    mut report: Option<&mut Report>,
) -> (Engine, Instant, Run) {
    let mut engine =
        Engine::new(list.network.clone(), setting.method, Reservation::starting_on(&list.network));
    if setting.has_one_queue_per_flow {
        engine = engine.with_one_queue_per_flow();
    }
    engine = engine.expecting(setting.expected);
    let mut run = Run::default();
    let mut now = Instant::ZERO;
    for (at, operation) in operations.iter().enumerate() {
        if setting.adapt_after.contains(&at) {
            adapt(&mut engine, &mut now, &mut run, report.as_deref_mut());
        }
        let start = thread_processor_time();
        match operation {
            Operation::Add(request) => {
                let decision = engine.add(request);
                let ns = spent_ns(start);
                let is_accepted = matches!(decision, Decision::Accepted(_));
                run.times.push((if is_accepted { Kind::Accepted } else { Kind::Refused }, ns));
                if let (Some(report), Decision::Refused(refusal)) =
                    (report.as_deref_mut(), &decision)
                {
                    *report.scarce.entry(word(refusal)).or_default() += 1;
                }
            }
            Operation::Remove(id) => {
                // Deleted at once and drained before the next operation: the list has no times.
                if engine.remove(*id).is_ok() {
                    now = engine.confirm_removed(*id, now).unwrap_or(now);
                    engine.advance(now);
                }
                run.times.push((Kind::Removed, spent_ns(start)));
            }
        }
    }
    (engine, now, run)
}

/// Looks for other routes; what is found is confirmed and waited for at once: the list has no times.
fn adapt(engine: &mut Engine, now: &mut Instant, run: &mut Run, report: Option<&mut Report>) {
    let start = thread_processor_time();
    let replanned = engine.adapt(1);
    run.adaptations.push(spent_ns(start));
    if let Some(end) = engine.confirm_replanned(*now) {
        *now = end;
        engine.advance(*now);
    }
    if let (Some(report), Some(replanned)) = (report, replanned) {
        report.adaptations += 1;
        report.moved += replanned.moves.len();
    }
}

/// Processor time since then: what else runs on the machine is in no decision.
fn spent_ns(start: Span) -> u64 {
    thread_processor_time().as_ns().saturating_sub(start.as_ns())
}

const fn word(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Scarce(scarce) => match scarce.resource {
            Resource::Delay => "delay",
            Resource::Buffer => "buffer",
            Resource::Rate => "rate",
            Resource::Deadline => "deadline",
            Resource::Effort => "effort",
        },
        Refusal::Unreachable => "unreachable",
        Refusal::IdInUse => "id in use",
        Refusal::Changing => "changing",
        Refusal::OutOfRange(_) => "out of range",
    }
}

fn times(mut ns: Vec<u64>) -> Times {
    ns.sort_unstable();
    let Some(max_ns) = ns.last().copied() else { return Times::default() };
    let at = |percent: usize| ns[(ns.len() * percent / 100).min(ns.len() - 1)];
    Times { count: ns.len(), median_ns: at(50), p99_ns: at(99), max_ns }
}

/// Lets reserved delays come down after removals, round by round, as they may between decisions.
fn settle(engine: &mut Engine, mut now: Instant, report: &mut Report) {
    let mut rounds = Vec::new();
    while rounds.len() < ROUNDS_MAX {
        let start = thread_processor_time();
        let due = engine.relax(now);
        let ns = spent_ns(start);
        let Some(due) = due else { break };
        now = due;
        rounds.push(ns);
    }
    report.lowering = times(rounds);
}

/// Loads, and the independent recomputation.
fn judge(engine: &Engine, shaper_ns: &BTreeMap<u64, u64>, report: &mut Report) {
    let network = engine.network();
    let held: Vec<(Request, Vec<Visit>)> =
        engine.held().map(|(request, visits)| (request.clone(), visits)).collect();
    report.flows = held.len();
    report.rate_mbps = held.iter().map(|(request, _)| mega(request.rate_bps)).sum();
    report.trunk_load_percent = trunk_load_percent(network, &held);
    let claims: Vec<Claim<'_>> =
        held.iter().map(|(request, visits)| Claim { request, visits }).collect();
    let found = audit(network, &claims);
    (report.late, report.full) = (found.late.len(), found.full.len());
    report.is_certified = found.is_certified;
    let granted: BTreeMap<u64, u64> = engine.bounds().into_iter().collect();
    let mut ratios = Vec::new();
    for ((request, _), recomputed) in held.iter().zip(&found.bounds_ns) {
        let (Some(granted), Some(recomputed)) = (granted.get(&request.id), recomputed) else {
            continue;
        };
        let shaper = shaper_ns.get(&request.id).copied().unwrap_or(0);
        ratios.push(float(granted + shaper) / float(recomputed + shaper));
        report.bound_max_ms = report.bound_max_ms.max(float(granted + shaper) / 1e6);
    }
    ratios.sort_by(f64::total_cmp);
    report.granted_over_recomputed_median = ratios.get(ratios.len() / 2).copied().unwrap_or(1.0);
    report.granted_over_recomputed_max = ratios.last().copied().unwrap_or(1.0);
}

fn trunk_load_percent(network: &Network, held: &[(Request, Vec<Visit>)]) -> f64 {
    let is_trunk = |port: PortId| Place::of(network, port) == Place::Trunk;
    let ports = (0_u32..).map(PortId).take(network.ports().len()).filter(|port| is_trunk(*port));
    let room: f64 = ports.map(|port| mega(network.port(port).rate_bps)).sum();
    let used: f64 = held
        .iter()
        .map(|(request, visits)| {
            let trunks = visits.iter().filter(|visit| is_trunk(visit.port)).count();
            mega(request.rate_bps) * float(trunks as u64)
        })
        .sum();
    if room == 0.0 { 0.0 } else { used / room * 100.0 }
}

fn mega(bps: u64) -> f64 {
    float(bps) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "figures for people; no bound is decided by them")]
const fn float(value: u64) -> f64 {
    value as f64
}
