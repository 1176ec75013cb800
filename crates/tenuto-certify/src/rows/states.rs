//! Every claim of one state of the network: all modes, raises and returns, from claims alone.

use crate::description::net::Net;
use crate::description::read::{self, Mode};
use crate::finding::Findings;
use crate::kernel::exact::Scale;
use crate::rows::analysis::Analysis;
use crate::rows::context::Context;
use crate::rows::drain::drain;
use crate::rows::ends::Ends;
use crate::rows::port_rows::{self, Backlogs};
use crate::rows::settling::{self, Before};
use crate::rows::{bounds, inequality, mode_change, processor, processor_rows, raise};
use std::collections::BTreeMap;

/// The scale of everything that is stated or enforced.
pub(crate) fn scale(plan: &read::Plan, net: &Net<'_>) -> Scale {
    let contracts = net.flows.iter().flat_map(|f| f.contracts.iter().map(|c| c.period_ns));
    let monitors = plan.switches.iter().flat_map(|s| &s.monitors).flat_map(|m| &m.contracts);
    Scale::new(contracts.chain(monitors.map(|c| c.period_ns)))
}

/// How much was checked.
pub(crate) struct Checked {
    pub(crate) inequalities: usize,
    pub(crate) flows: usize,
}

/// Every mode and raise as the claims have it.
struct Analysed {
    steady: Vec<Analysis>,
    raises: Vec<(Analysis, Ends)>,
    /// The slowest change on the way, by raise.
    slowest: BTreeMap<Mode, Option<u128>>,
    terms: BTreeMap<Mode, mode_change::Terms>,
    backlogs: Backlogs,
}

impl Analysed {
    fn new(context: &Context<'_>) -> Self {
        let no_ends = Ends::default();
        let steady: Vec<Analysis> =
            context.steady_modes().map(|mode| context.analyse(mode)).collect();
        let of = |analysis: &Analysis| (analysis.mode, backlogs_of(context, analysis, &no_ends));
        let mut backlogs: Backlogs = steady.iter().map(of).collect();
        let common = mode_change::common_terms(context);
        let (mut terms, mut slowest_by) = (BTreeMap::new(), BTreeMap::new());
        let mut raises: Vec<(Analysis, Ends)> = Vec::new();
        for mode in context.raises() {
            let Mode::Raise { from, to } = mode else { continue };
            let analysis = context.analyse(mode);
            // A raise may come in steps: the slowest of them counts.
            let steps = (from..to).map(|start| common.purging(context, start, &backlogs).sum());
            let slowest = steps.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten();
            let before: Vec<(&Analysis, &Ends)> = steady
                .iter()
                .map(|analysis| (analysis, &no_ends))
                .chain(raises.iter().map(|(analysis, ends)| (analysis, ends)))
                .collect();
            let ends = raise::ends(context, &analysis, &before, slowest);
            slowest_by.insert(mode, slowest);
            terms.insert(mode, common.purging(context, from, &backlogs));
            backlogs.insert(mode, backlogs_of(context, &analysis, &ends));
            raises.push((analysis, ends));
        }
        Self { steady, raises, slowest: slowest_by, terms, backlogs }
    }
}

/// Rounds in which what is purged may grow with what hosts heap up in their own queues.
const PURGES_MAX: usize = 24;

/// Analyses everything with P°, which counts the purges that the analyses lead to.
fn analyse_flooded(context: &mut Context<'_>) -> Analysed {
    for _ in 0..PURGES_MAX {
        context.flooded = processor::flooded(context);
        let analysed = Analysed::new(context);
        let needed = mode_change::purges(context, &analysed.backlogs);
        let were = std::mem::replace(&mut context.changes.purges, needed);
        let is_enough = |(node, needed): (&usize, &Option<u64>)| match were.get(node) {
            Some(taken) => taken.is_none_or(|taken| needed.is_some_and(|it| it <= taken)),
            None => *needed == Some(0),
        };
        if context.flooded.is_empty() || context.changes.purges.iter().all(is_enough) {
            return analysed;
        }
    }
    context.flooded.values_mut().for_each(|longest| *longest = None);
    let analysed = Analysed::new(context);
    context.changes.purges = mode_change::purges(context, &analysed.backlogs);
    analysed
}

/// Checks every claim of one state of the network, in every mode and change.
pub(crate) fn check_analyses(context: &mut Context<'_>, findings: &mut Findings) -> Checked {
    context.changes.waits = mode_change::signal_waits(context);
    let analysed = analyse_flooded(context);
    let Analysed { steady, raises, slowest: slowest_by, terms, backlogs } = analysed;
    let no_ends = Ends::default();
    let mut inequalities = 0;
    for analysis in &steady {
        inequalities += inequality::check(context, analysis, &no_ends, findings);
    }
    let mut drains = BTreeMap::new();
    for (analysis, ends) in &raises {
        inequalities += inequality::check(context, analysis, ends, findings);
        let slowest = slowest_by.get(&analysis.mode).copied().flatten();
        drains.insert(analysis.mode, drain(context, (analysis, ends), slowest));
    }
    for mode in backlogs.keys() {
        inequalities += processor::check(context, *mode, findings);
    }
    let started =
        steady.iter().map(|analysis| Before { analysis, ends: &no_ends, swapped: Some(0) });
    let risen = raises.iter().map(|(analysis, ends)| {
        let swapped = slowest_by.get(&analysis.mode).copied().flatten();
        Before { analysis, ends, swapped }
    });
    let settled = settling::check(context, &started.chain(risen).collect::<Vec<_>>(), findings);
    let raised = raises.iter().map(|(analysis, _)| analysis);
    let analyses: BTreeMap<Mode, &Analysis> =
        steady.iter().chain(raised).map(|analysis| (analysis.mode, analysis)).collect();
    let raised_ends = raises.iter().map(|(analysis, ends)| (analysis.mode, ends)).collect();
    let flows_checked = bounds::check(context, &analyses, &raised_ends, findings);
    let mut waiting = backlogs;
    for (mode, analysis) in &analyses {
        let ends = raised_ends.get(mode).copied().unwrap_or(&no_ends);
        waiting.entry(*mode).or_default().extend(backlogs_of_signals(context, analysis, ends));
    }
    port_rows::check(context, &analyses, &waiting, findings);
    processor_rows::check(context, findings);
    mode_change::check(context, &terms, &drains, &settled, &analyses, findings);
    Checked { inequalities, flows: flows_checked }
}

/// The backlog of every port that carries a flow of the mode.
pub(crate) fn backlogs_of(
    context: &Context<'_>,
    analysis: &Analysis,
    ends: &Ends,
) -> BTreeMap<usize, Option<num_bigint::BigInt>> {
    backlogs_at(context, analysis, ends, analysis.loads.keys().copied())
}

/// The backlog of every trunk that carries signals in the mode, and no flow of it.
fn backlogs_of_signals(
    context: &Context<'_>,
    analysis: &Analysis,
    ends: &Ends,
) -> BTreeMap<usize, Option<num_bigint::BigInt>> {
    let is_bare =
        |port: &usize| context.signals(*port).is_some() && !analysis.loads.contains_key(port);
    backlogs_at(context, analysis, ends, (0..context.net.ports.len()).filter(is_bare))
}

fn backlogs_at(
    context: &Context<'_>,
    analysis: &Analysis,
    ends: &Ends,
    ports: impl Iterator<Item = usize>,
) -> BTreeMap<usize, Option<num_bigint::BigInt>> {
    let of = |port: usize| {
        let bound = inequality::backlog(context, analysis, ends, port);
        (port, port_rows::to_bits(&context.scale, bound))
    };
    ports.map(of).collect()
}
