//! The order of the checks, and what is certified in the end.

use crate::assumptions;
use crate::budget::Budget;
use crate::deployment::{end_systems, installed, policing, switches, walk};
use crate::description::net::Net;
use crate::description::read::Model;
use crate::description::{
    described_flows, described_nodes, described_policies, described_profiles, read,
};
use crate::digest::Compact;
use crate::finding::{Finding, Findings, rule};
use crate::rows::context::Context;
use crate::rows::states;
use crate::streams::levels::is_watched;
use crate::streams::routes;
use crate::streams::stream::Stream;
use crate::{link_loss, text};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
use tenuto_units::counted;

const SCHEMA: &str = "tenuto-plan/2";

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
    /// Whether a switch has typical times, not worst ones: nothing is guaranteed then.
    pub modelled: bool,
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.feasible && self.modelled {
            "its bounds hold for typical times, nothing is guaranteed"
        } else if self.feasible {
            "every promise holds"
        } else {
            "its bounds hold, not every promise"
        };
        writeln!(f, "{}: {verdict}", self.network)?;
        writeln!(
            f,
            "{} at {}, {}, modes {}",
            counted(self.inequalities as u64, "inequality"),
            counted(self.ports_checked as u64, "port"),
            counted(self.flows_checked as u64, "flow"),
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
    let findings = Findings::default();
    if !text::is_readable(plan_json, "plan", &findings) {
        return findings.into_result(Certificate::of(None));
    }
    let mut plan: read::Plan = match serde_json::from_str(plan_json) {
        Ok(plan) => plan,
        Err(error) => {
            findings.add(rule::FORMAT, "plan", "a plan in JSON", error);
            return findings.into_result(Certificate::of(None));
        }
    };
    Compact::new(plan_json).compare(&plan.description_digest, &plan.plan_hash, &findings);
    if plan.schema != SCHEMA {
        let found = format!("{SCHEMA}: plan again with `tenuto plan NET -o PLAN`");
        findings.add(rule::FORMAT, "schema", &plan.schema, found);
        return findings.into_result(Certificate::of(None));
    }
    let Some(net) = Net::new(&plan, &findings) else {
        return findings.into_result(Certificate::of(None));
    };
    described_nodes::check(&net);
    described_profiles::check(&net);
    described_flows::check(&net, plan.feasible);
    described_policies::check(&plan, &findings);
    let budget = Budget::new();
    let mut certificate = check_plan(&plan, &net, &budget);
    certificate.inequalities += link_loss::check(&mut plan, &budget, &findings);
    if budget.is_spent() {
        let found = "more curves than are looked at: claims that need them are not believed";
        findings.add(rule::LIMIT, "plan", "its claims", found);
    }
    findings.into_result(certificate)
}

/// Checks everything that rests on the description.
fn check_plan(plan: &read::Plan, net: &Net<'_>, budget: &Budget) -> Certificate {
    let streams = routes::streams(plan, net);
    let mut context = states::context(plan, net, &streams, Vec::new(), budget);
    check_consistency(&context);
    let checked = states::check_analyses(&mut context);
    if !plan.switches.is_empty() {
        policing::check(&context);
        walk::check(&context);
    }
    switches::check(&context);
    installed::check(&context);
    end_systems::check(&context);
    let assumed = assumptions::check(&context);
    let modelled = assumptions::check_typical(&context);

    let ports: BTreeSet<usize> =
        context.claims.values().flat_map(|of_mode| of_mode.keys().map(|(port, _)| *port)).collect();
    Certificate {
        ports_checked: ports.len(),
        inequalities: checked.inequalities,
        flows_checked: checked.flows,
        modes: context.claimed_modes().map(|mode| mode.label(&net.raw.modes)).collect(),
        assumptions: assumed.into_iter().map(|it| it.text).collect(),
        modelled,
        ..Certificate::of(Some(plan))
    }
}

/// What a plan must not call feasible.
fn check_consistency(context: &Context<'_>) {
    let plan = context.plan;
    if !plan.feasible {
        return;
    }
    if plan.model == Model::Fluid {
        context.wrong(rule::FEASIBLE, "model", "feasible", "fluid bounds are not valid for frames");
    }
    let unpadded = |flow: &&crate::description::net::Flow<'_>| {
        flow.contracts.iter().any(|contract| contract.packets.is_unpadded())
    };
    if let Some(flow) = context.net.flows.iter().find(unpadded).filter(|_| plan.as_stated) {
        let found = "frames below 64 B are padded on a wire; as stated is for comparison";
        context.wrong(rule::FEASIBLE, &flow.raw.name, "feasible", found);
    }
    if !plan.refusals.is_empty() {
        context.wrong(rule::FEASIBLE, "refusals", "feasible", format!("{}", plan.refusals.len()));
    }
    check_analysed(context);
}

/// What no analysis covers: redundant networks whose modes differ, and monitors behind a way around a lost link.
fn check_analysed(context: &Context<'_>) {
    let (plan, net) = (context.plan, context.net);
    if net.has_modes() && plan.network.networks.len() > 1 {
        let found = "redundant networks may be in different modes, which is not analysed";
        context.wrong(rule::FEASIBLE, "modes", "feasible", found);
    }
    let elsewhere = |stream: &&Stream| {
        !net.flows[stream.flow].raw.monitor_at.is_empty() && is_watched(net, stream.flow)
    };
    let lossy = context.streams.iter().filter(|_| plan.network.tolerates.links_lost > 0);
    for stream in lossy.filter(elsewhere) {
        let found = "monitors behind a way around a lost link are not analysed";
        context.wrong(rule::FEASIBLE, &net.flows[stream.flow].raw.name, "feasible", found);
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
            modelled: false,
        }
    }
}
