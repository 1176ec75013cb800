//! Every claim of one state of the network: all modes, raises and returns, from claims alone.

use crate::budget::Budget;
use crate::description::net::Net;
use crate::description::read::{self, Mode};
use crate::rows::analysis::{self, Analysis};
use crate::rows::context::{Changes, Context, Flooded};
use crate::rows::drain::Drain;
use crate::rows::ends::Ends;
use crate::rows::inequality::check_busy;
use crate::rows::port_rows::{self, Backlogs};
use crate::rows::settling::{self, Before};
use crate::rows::{bounds, dropping, inequality, mode_change, processor, processor_rows, raise};
use crate::streams::attributed::Attributed;
use crate::streams::envelopes::enforced;
use crate::streams::levels::is_analysed;
use crate::streams::scale::Scale;
use crate::streams::stream::Stream;
use std::collections::{BTreeMap, BTreeSet};

/// The scale of everything that is stated or enforced.
fn scale(plan: &read::Plan, net: &Net<'_>) -> Scale {
    let contracts = net.flows.iter().flat_map(|f| f.contracts.iter().map(|c| c.period_ns));
    let monitors = plan.switches.iter().flat_map(|s| &s.monitors).flat_map(|m| &m.contracts);
    Scale::new(contracts.chain(monitors.map(|c| c.period_ns)))
}

/// What the checks of one state share: these streams, without the ports of a link that is lost.
pub(crate) fn context<'a>(
    plan: &'a read::Plan,
    net: &'a Net<'a>,
    streams: &'a [Stream],
    lost: Vec<usize>,
    budget: &Budget,
) -> Context<'a> {
    let attributed = Attributed::new(plan, net, streams);
    let modes = net.raw.modes.len();
    let (purges, sites_busy) =
        (plan.witnesses.purges.iter(), plan.witnesses.processors_busy.iter());
    let purges = purges.filter_map(|it| Some((net.node(&it.switch)?, it.purge_ps)));
    let sites_busy =
        sites_busy.filter_map(|it| Some(((it.mode, net.node(&it.switch)?), it.busy_ps)));
    Context {
        plan,
        net,
        streams,
        enforced: enforced(&attributed, streams),
        attributed,
        scale: scale(plan, net),
        claims: analysis::claims(plan, net),
        entries: processor::entries(&plan.processors, net),
        busy: analysis::busy(net, &plan.witnesses.busy, |mode| is_analysed(mode, modes)),
        sites_busy: sites_busy.collect(),
        changes: Changes { lost, waits: BTreeMap::new(), purges: purges.collect() },
        flooded: Flooded::new(),
        budget: budget.clone(),
    }
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
        let may_idle = dropping::may_idle(context);
        for mode in context.raises() {
            let Mode::Raise { from, to } = mode else { continue };
            let mut analysis = context.analyse(mode);
            let mut purges =
                (from..to).map(|start| common.purging(context, start, &backlogs).queues_ps);
            let idle_ps = purges.try_fold(0, |sum: u128, it| sum.checked_add(it?));
            idle(context, &mut analysis, (&may_idle, idle_ps.unwrap_or(mode_change::UNBOUNDED_PS)));
            // A raise may come in steps: the slowest of them counts. Where the plan says of one of them
            // nothing, nothing is taken to end: what ends adds to what a frame holds back on whole paths.
            let is_said = |start: u8| {
                let change = Mode::Raise { from: start, to };
                context.plan.mode_changes.iter().any(|row| row.change == change)
            };
            let steps = (from..to).map(|start| {
                let terms = common.purging(context, start, &backlogs);
                terms.sum().filter(|_| is_said(start))
            });
            let slowest = steps.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten();
            let ends = raise::ends(context, &analysis, slowest);
            slowest_by.insert(mode, slowest);
            terms.insert(mode, common.purging(context, from, &backlogs));
            backlogs.insert(mode, backlogs_of(context, &analysis, &ends));
            raises.push((analysis, ends));
        }
        Self { steady, raises, slowest: slowest_by, terms, backlogs }
    }
}

/// Lines that may be idle at the swaps of a raise are so for no longer than its purges.
fn idle(
    context: &Context<'_>,
    raise: &mut Analysis,
    (may_idle, idle_ps): (&BTreeSet<usize>, u128),
) {
    for (port, load) in &mut raise.loads {
        let info = &context.net.ports[*port];
        if may_idle.contains(&info.node) {
            load.idle = context.scale.bps(info.rate_bps, 1, 1) * idle_ps;
        }
    }
}

/// Checks every claim of one state of the network, in every mode and change.
pub(crate) fn check_analyses(context: &mut Context<'_>) -> Checked {
    context.changes.waits = mode_change::signal_waits(context);
    context.flooded = processor::flooded(context);
    let analysed = Analysed::new(context);
    let Analysed { steady, raises, slowest: slowest_by, terms, backlogs } = analysed;
    mode_change::check_purges(context, &backlogs);
    let no_ends = Ends::default();
    let mut inequalities = 0;
    for analysis in &steady {
        inequalities += inequality::check(context, analysis, &no_ends);
        check_busy(context, analysis, &no_ends);
    }
    let mut drains = BTreeMap::new();
    for (analysis, ends) in &raises {
        inequalities += inequality::check(context, analysis, ends);
        let slowest = slowest_by.get(&analysis.mode).copied().flatten();
        check_busy(context, analysis, ends);
        let drain = Drain::new(context, analysis, slowest);
        drains.insert(analysis.mode, drain.map(|drain| drain.end()));
    }
    for mode in backlogs.keys() {
        inequalities += processor::check(context, *mode);
    }
    let started = steady.iter().map(|analysis| Before { analysis, swapped: Some(0) });
    let risen = raises.iter().map(|(analysis, _)| {
        let swapped = slowest_by.get(&analysis.mode).copied().flatten();
        Before { analysis, swapped }
    });
    let settled = settling::check(context, &started.chain(risen).collect::<Vec<_>>());
    let raised = raises.iter().map(|(analysis, _)| analysis);
    let analyses: BTreeMap<Mode, &Analysis> =
        steady.iter().chain(raised).map(|analysis| (analysis.mode, analysis)).collect();
    let raised_ends = raises.iter().map(|(analysis, ends)| (analysis.mode, ends)).collect();
    let flows_checked = bounds::check(context, &analyses, &raised_ends);
    let mut waiting = backlogs;
    for (mode, analysis) in &analyses {
        let ends = raised_ends.get(mode).copied().unwrap_or(&no_ends);
        waiting.entry(*mode).or_default().extend(backlogs_of_signals(context, analysis, ends));
    }
    port_rows::check(context, &analyses, &waiting);
    processor_rows::check(context);
    mode_change::check(context, &terms, &drains, &settled, &analyses);
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
