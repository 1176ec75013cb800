//! Who comes before whom: Audsley's assignment of scheduling classes, from the lowest up.
//!
//! Whether a flow keeps its deadlines depends on which flows are above it, and hardly on their
//! order among themselves. So the lowest class goes to any flow that keeps every deadline there,
//! in every mode and change, with all others above it, the next class to any of the rest, and so
//! on ([Audsley] 1991). Over one port that finds an assignment whenever there is one. Over several
//! hops the bursts of those above do depend on their order: the whole is planned before it is
//! taken, and other choices are tried as far as the effort allows.

use crate::analysis::context::Analysis;
use crate::options::{Curves, Options};
use crate::passes::fitting::plan_fitting;
use crate::passes::planned::{analysed, plan_once};
use crate::refused;
use crate::routes::{Effort, Routes};
use std::collections::BTreeSet;
use tenuto_bounds::{Executor, InTurn};
use tenuto_model::{Flow, FlowBound, Network, Plan, Ranked};

/// What a refusal for want of an assignment names.
const RESOURCE: &str = "priorities";
/// Bundles of flows that are told apart; more are merged with their neighbours.
const BUNDLES_MAX: usize = 24;
/// Analyses per search, by the number of flows.
const EFFORT: usize = 100_000;
const ANALYSES: std::ops::RangeInclusive<usize> = 100..=2_000;

/// The network with its flows in rate-monotonic order.
pub(crate) fn rate_monotonic(network: &Network) -> Network {
    let mut ranked = network.clone();
    ranked.rank_by_period(|_| true);
    ranked
}

/// The plan under Audsley's assignment; without one, the plan as given with a refusal more.
pub(crate) fn audsley(
    network: &Network,
    (options, executor): (&Options, &dyn Executor),
    tried: &mut dyn FnMut(usize),
) -> Plan {
    let mut plan = plan_fitting(network, (options, executor), Effort::Full, &mut |_| ());
    let mut analyses = 0;
    for &curves in curves_of(options) {
        let mut search = Search::new(network, Options { curves, ..*options }, tried, analyses);
        let found = search.run();
        analyses = search.analyses;
        if let Some(found) = found {
            let ranked = Ranked::Audsley(counted(analyses));
            return Plan { ranked, ..found };
        }
        if !plan.feasible {
            plan.refusals.retain(|refusal| refusal.resource != RESOURCE);
            plan.refusals.push(search.refusal());
        }
    }
    if plan.feasible {
        plan.ranked = Ranked::NoOther(counted(analyses));
    }
    plan
}

fn counted(analyses: usize) -> u64 {
    u64::try_from(analyses).unwrap_or(u64::MAX)
}

/// Curves to search with, one after the other.
const fn curves_of(options: &Options) -> &'static [Curves] {
    match options.curves {
        Curves::Buckets => &[Curves::Buckets],
        Curves::Staircases => &[Curves::Staircases],
        Curves::Auto => &[Curves::Buckets, Curves::Staircases],
    }
}

/// Flows that get one class together: equally urgent.
type Bundle = Vec<usize>;

struct Search<'a> {
    network: Network,
    options: Options,
    /// The most urgent first.
    bundles: Vec<Bundle>,
    classes: usize,
    tried: &'a mut dyn FnMut(usize),
    analyses: usize,
    analyses_max: usize,
    /// Sets of unassigned bundles from which nothing was found.
    hopeless: BTreeSet<u32>,
    /// The fewest bundles that were left when none of them could be the lowest.
    stuck: Option<Vec<usize>>,
}

impl<'a> Search<'a> {
    fn new(
        network: &Network,
        options: Options,
        tried: &'a mut dyn FnMut(usize),
        analyses: usize,
    ) -> Self {
        let flows = network.flows.len().max(1);
        Self {
            network: network.clone(),
            options: Options { would_fit: false, ..options },
            bundles: bundles(network),
            classes: usize::from(network.flow_classes()),
            tried,
            analyses,
            analyses_max: analyses + (EFFORT / flows).clamp(*ANALYSES.start(), *ANALYSES.end()),
            hopeless: BTreeSet::new(),
            stuck: None,
        }
    }

    fn run(&mut self) -> Option<Plan> {
        let all: Vec<usize> = (0..self.bundles.len()).collect();
        if all.len() <= self.classes { self.one_by_one(&all) } else { self.in_shared_classes(all) }
    }

    /// One class per bundle: `left` are the bundles without one, the most urgent first.
    fn one_by_one(&mut self, left: &[usize]) -> Option<Plan> {
        let Some(class) = left.len().checked_sub(1) else { return self.whole() };
        if !self.hopeless.insert(left.iter().fold(0, |set, bundle| set | 1 << bundle)) {
            return None;
        }
        let mut found = false;
        for &lowest in left.iter().rev() {
            let above: Vec<usize> = left.iter().copied().filter(|b| *b != lowest).collect();
            if !self.holds_at(lowest, class, &above) {
                continue;
            }
            found = true;
            self.assign(lowest, class);
            if let Some(plan) = self.one_by_one(&above) {
                return Some(plan);
            }
        }
        if !found {
            self.get_stuck(left);
        }
        None
    }

    /// Fewer classes than bundles: every class takes whatever keeps its deadlines there with the
    /// rest above. Who joins a class harms nobody in it more than it did from above.
    fn in_shared_classes(&mut self, mut left: Vec<usize>) -> Option<Plan> {
        for class in (0..self.classes).rev() {
            let mut kept = Vec::new();
            for &bundle in left.iter().rev() {
                let above: Vec<usize> = left.iter().copied().filter(|b| *b != bundle).collect();
                if self.holds_at(bundle, class, &above) {
                    kept.push(bundle);
                }
            }
            if kept.is_empty() && !left.is_empty() {
                self.get_stuck(&left);
                return None;
            }
            kept.iter().for_each(|&bundle| self.assign(bundle, class));
            left.retain(|bundle| !kept.contains(bundle));
        }
        if left.is_empty() { self.whole() } else { None }
    }

    fn assign(&mut self, bundle: usize, class: usize) {
        let class = u8::try_from(class).unwrap_or(u8::MAX);
        for &flow in &self.bundles[bundle] {
            self.network.flows[flow].set_priority(class);
        }
    }

    /// Whether a bundle keeps every deadline as the lowest of those that are left.
    fn holds_at(&mut self, bundle: usize, class: usize, above: &[usize]) -> bool {
        if self.analyses >= self.analyses_max {
            return false;
        }
        self.assign(bundle, class);
        for (rank, &other) in above.iter().enumerate() {
            self.assign(
                other,
                if above.len() <= class { rank } else { rank * class / above.len() },
            );
        }
        self.analyses += 1;
        (self.tried)(self.analyses);
        let names: BTreeSet<&str> =
            self.bundles[bundle].iter().map(|&f| self.network.flows[f].name.as_str()).collect();
        let keeps = |analysis: &Analysis<'_>, _: &Routes| {
            let mut rows = analysis.rows.iter().filter(|row| names.contains(row.flow.as_str()));
            rows.all(is_kept)
        };
        analysed(&self.network, (&self.options, &InTurn), &mut |_| (), keeps)
    }

    /// The plan of a full assignment, if it holds as a whole.
    fn whole(&mut self) -> Option<Plan> {
        self.analyses += 1;
        Some(plan_once(&self.network, (&self.options, &InTurn), Effort::Brief, &mut |_| ()))
            .filter(|plan| plan.feasible)
    }

    fn get_stuck(&mut self, left: &[usize]) {
        if self.stuck.as_ref().is_none_or(|stuck| left.len() < stuck.len()) {
            self.stuck = Some(left.to_vec());
        }
    }

    fn refusal(&self) -> tenuto_model::Refusal {
        let stuck = self.stuck.as_deref().unwrap_or_default();
        let flows = stuck.iter().flat_map(|&bundle| &self.bundles[bundle]);
        let flows: Vec<String> = flows.map(|&f| self.network.flows[f].name.clone()).collect();
        let because = if self.analyses >= self.analyses_max {
            format!("no assignment of priorities holds among {} that were analysed", self.analyses)
        } else if flows.is_empty() {
            "what holds flow by flow does not hold as a whole under any assignment tried".into()
        } else {
            format!(
                "no assignment of priorities holds: none of {} keeps its deadlines below the \
                 others of them",
                flows.join(", ")
            )
        };
        let classes = self.classes;
        tenuto_model::Refusal {
            available: Some(classes as u64),
            unit: "classes".into(),
            flows,
            because,
            ..refused::at(self.network.name.clone(), RESOURCE)
        }
    }
}

fn is_kept(row: &FlowBound) -> bool {
    row.delay_bound_ps.is_some_and(|ps| u128::from(ps) <= u128::from(row.deadline_ns) * 1_000)
}

/// Flows by urgency: the shortest deadline in any mode, then the shortest period.
fn bundles(network: &Network) -> Vec<Bundle> {
    let urgency = |flow: &Flow| {
        let deadlines = flow.targets.iter().flat_map(|target| &target.deadline_ns);
        let periods = flow.contracts.iter().map(|contract| contract.period_ns);
        (deadlines.min().copied(), periods.min(), std::cmp::Reverse(flow.level))
    };
    let mut order: Vec<usize> = (0..network.flows.len()).collect();
    order.sort_by_key(|&flow| (urgency(&network.flows[flow]), flow));
    if order.len() <= usize::from(network.flow_classes()) {
        return order.into_iter().map(|flow| vec![flow]).collect();
    }
    let same = |a: &usize, b: &usize| urgency(&network.flows[*a]) == urgency(&network.flows[*b]);
    let alike: Vec<Bundle> = order.chunk_by(same).map(<[usize]>::to_vec).collect();
    let merged = alike.len().div_ceil(BUNDLES_MAX).max(1);
    alike.chunks(merged).map(<[Bundle]>::concat).collect()
}
