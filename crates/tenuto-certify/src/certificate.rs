//! The order of the checks, and what is certified in the end.

use crate::analysis::{self, Analysis, Context};
use crate::attributed::Attributed;
use crate::budget::Budget;
use crate::digest::Compact;
use crate::drain::drain;
use crate::exact::Scale;
use crate::finding::{Finding, Findings, rule};
use crate::network::Net;
use crate::port_rows::{self, Backlogs};
use crate::read::{self, Mode, Model};
use crate::settling::{self, Before};
use crate::{
    assumptions, bounds, deployment, end_systems, envelopes, inequality, link_loss, mode_change,
    policing,
};
use crate::{processor, processor_rows};
use crate::{raise, routes, text, walk};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

const SCHEMA: &str = "tenuto-plan/1";

/// A plan whose every claim was rebuilt and holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Certificate {
    /// SHA-256 of the description in compact JSON, hex.
    pub description_digest: String,
    /// SHA-256 of the plan in compact JSON with an empty `plan_hash`, hex.
    pub plan_hash: String,
    /// Name of the network.
    pub network: String,
    /// Directed ports with a claim.
    pub ports_checked: usize,
    /// Inequalities x ≥ F(x) that hold.
    pub inequalities: usize,
    /// Flows whose rows were checked.
    pub flows_checked: usize,
    /// Modes and changes that were analysed, as rows name them.
    pub modes: Vec<String>,
    /// What the claims rest on.
    pub assumptions: Vec<String>,
    /// Whether every promise of the description holds; a plan that says no is certified for the
    /// bounds that it does claim.
    pub feasible: bool,
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.feasible {
            "every promise holds"
        } else {
            "its bounds hold, not every promise"
        };
        writeln!(f, "{}: {verdict}", self.network)?;
        writeln!(
            f,
            "{} inequalities at {} ports, {} flows, modes {}",
            self.inequalities,
            self.ports_checked,
            self.flows_checked,
            self.modes.join(" ")
        )?;
        for assumption in &self.assumptions {
            writeln!(f, "assumed: {assumption}")?;
        }
        writeln!(f, "description {}", self.description_digest)?;
        write!(f, "plan        {}", self.plan_hash)
    }
}

/// Checks the text of a plan.
///
/// # Errors
/// Every difference between what the plan says and what its description gives; one finding if the
/// text is no plan at all.
pub fn certify(plan_json: &str) -> Result<Certificate, Vec<Finding>> {
    let mut findings = Findings::default();
    if !text::is_readable(plan_json, "plan", &mut findings) {
        return findings.into_result(Certificate::of(None));
    }
    let mut plan: read::Plan = match serde_json::from_str(plan_json) {
        Ok(plan) => plan,
        Err(error) => {
            findings.add(rule::FORMAT, "plan", "a plan in JSON", error);
            return findings.into_result(Certificate::of(None));
        }
    };
    check_digests(plan_json, &plan, &mut findings);
    let Some(net) = Net::new(&plan, &mut findings) else {
        return findings.into_result(Certificate::of(None));
    };
    let budget = Budget::new();
    let mut certificate = check_plan(&plan, &net, &budget, &mut findings);
    certificate.inequalities += link_loss::check(&mut plan, &budget, &mut findings);
    if budget.is_spent() {
        let found = "more curves than are looked at: claims that need them are not believed";
        findings.add(rule::LIMIT, "plan", "its claims", found);
    }
    findings.into_result(certificate)
}

fn check_digests(json: &str, plan: &read::Plan, findings: &mut Findings) {
    if plan.schema != SCHEMA {
        findings.add(rule::FORMAT, "schema", &plan.schema, SCHEMA);
    }
    Compact::new(json).compare(&plan.description_digest, &plan.plan_hash, findings);
}

/// Checks everything that rests on the description.
fn check_plan(
    plan: &read::Plan,
    net: &Net<'_>,
    budget: &Budget,
    findings: &mut Findings,
) -> Certificate {
    let streams = routes::streams(plan, net, findings);
    let attributed = Attributed::new(plan, net, &streams);
    let mut context = Context {
        plan,
        net,
        streams: &streams,
        enforced: envelopes::enforced(&attributed, &streams),
        attributed,
        scale: scale(plan, net),
        claims: analysis::claims(plan, net, findings),
        entries: processor::entries(&plan.processors, net, findings),
        changes: analysis::Changes::default(),
        flooded: processor::Flooded::new(),
        budget: budget.clone(),
    };
    check_consistency(&context, findings);
    let checked = check_analyses(&mut context, findings);
    if !plan.switches.is_empty() {
        policing::check(&context, findings);
        walk::check(&context, findings);
    }
    deployment::check(&context, findings);
    end_systems::check(&context, findings);
    let assumed = assumptions::check(&context, findings);

    let ports: BTreeSet<usize> =
        context.claims.values().flat_map(|of_mode| of_mode.keys().map(|(port, _)| *port)).collect();
    Certificate {
        ports_checked: ports.len(),
        inequalities: checked.inequalities,
        flows_checked: checked.flows,
        modes: context.claimed_modes().map(|mode| mode.label(&net.raw.modes)).collect(),
        assumptions: assumed.into_iter().map(|it| it.text).collect(),
        ..Certificate::of(Some(plan))
    }
}

/// The scale of everything that is stated or enforced.
pub(crate) fn scale(plan: &read::Plan, net: &Net<'_>) -> Scale {
    let contracts = net.flows.iter().flat_map(|f| f.contracts.iter().map(|c| c.period_ns));
    let monitors = plan.switches.iter().flat_map(|s| &s.monitors).flat_map(|m| &m.contracts);
    let enforced = monitors.filter(|_| net.is_babbling()).map(|c| c.period_ns);
    Scale::new(contracts.chain(enforced))
}

/// How much was checked.
pub(crate) struct Checked {
    pub(crate) inequalities: usize,
    pub(crate) flows: usize,
}

/// Every mode and raise as the claims have it.
struct Analysed {
    steady: Vec<Analysis>,
    raises: Vec<(Analysis, raise::Ends)>,
    /// The slowest change on the way, by raise.
    slowest: BTreeMap<Mode, Option<u128>>,
    terms: BTreeMap<Mode, mode_change::Terms>,
    backlogs: Backlogs,
}

impl Analysed {
    fn new(context: &Context<'_>) -> Self {
        let no_ends = raise::Ends::default();
        let steady: Vec<Analysis> =
            context.steady_modes().map(|mode| context.analyse(mode)).collect();
        let of = |analysis: &Analysis| (analysis.mode, backlogs_of(context, analysis, &no_ends));
        let mut backlogs: Backlogs = steady.iter().map(of).collect();
        let common = mode_change::common_terms(context);
        let (mut terms, mut slowest_by) = (BTreeMap::new(), BTreeMap::new());
        let mut raises: Vec<(Analysis, raise::Ends)> = Vec::new();
        for mode in context.raises() {
            let Mode::Raise { from, to } = mode else { continue };
            let analysis = context.analyse(mode);
            // A raise may come in steps: the slowest of them counts.
            let steps = (from..to).map(|start| common.purging(context, start, &backlogs).sum());
            let slowest = steps.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten();
            let before: Vec<(&Analysis, &raise::Ends)> = steady
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
    let no_ends = raise::Ends::default();
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
    let ends = raises.iter().map(|(analysis, ends)| (analysis.mode, ends)).collect();
    let flows_checked = bounds::check(context, &analyses, &ends, findings);
    port_rows::check(context, &analyses, &backlogs, findings);
    processor_rows::check(context, findings);
    mode_change::check(context, &terms, &drains, &settled, &analyses, findings);
    Checked { inequalities, flows: flows_checked }
}

pub(crate) fn backlogs_of(
    context: &Context<'_>,
    analysis: &Analysis,
    ends: &raise::Ends,
) -> BTreeMap<usize, Option<num_bigint::BigInt>> {
    let of = |port: &usize| {
        let bound = inequality::backlog(context, analysis, ends, *port);
        (*port, port_rows::to_bits(&context.scale, bound))
    };
    analysis.loads.keys().map(of).collect()
}

/// What a plan must not call feasible.
fn check_consistency(context: &Context<'_>, findings: &mut Findings) {
    let plan = context.plan;
    if !plan.feasible {
        return;
    }
    if plan.model == Model::Fluid {
        findings.add(rule::FEASIBLE, "model", "feasible", "fluid bounds are not valid for frames");
    }
    let unpadded = |flow: &&crate::network::Flow<'_>| {
        flow.contracts.iter().any(|contract| contract.packets.is_unpadded())
    };
    if let Some(flow) = context.net.flows.iter().find(unpadded).filter(|_| plan.as_stated) {
        let found = "frames below 64 B are padded on a wire; as stated is for comparison";
        findings.add(rule::FEASIBLE, &flow.raw.name, "feasible", found);
    }
    if !plan.refusals.is_empty() {
        findings.add(rule::FEASIBLE, "refusals", "feasible", format!("{}", plan.refusals.len()));
    }
}

impl Certificate {
    fn of(plan: Option<&read::Plan>) -> Self {
        let text = |field: fn(&read::Plan) -> &String| plan.map(field).cloned().unwrap_or_default();
        Self {
            description_digest: text(|plan| &plan.description_digest),
            plan_hash: text(|plan| &plan.plan_hash),
            network: text(|plan| &plan.network.name),
            ports_checked: 0,
            inequalities: 0,
            flows_checked: 0,
            modes: Vec::new(),
            assumptions: Vec::new(),
            feasible: plan.is_some_and(|plan| plan.feasible),
        }
    }
}
