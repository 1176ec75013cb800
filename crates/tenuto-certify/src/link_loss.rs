//! What a plan claims for the time after the loss of a link: a state of its own, with the
//! routes that replace those over the link.

use crate::budget::Budget;
use crate::deployment::table_use;
use crate::description::net::Net;
use crate::description::read::{self, LinkLoss, Route};
use crate::finding::{Findings, rule};
use crate::rows::states;
use crate::streams::routes;
use crate::streams::stream::Stream;
use std::collections::{BTreeMap, BTreeSet};

/// Checks every loss that the plan speaks of, and that the plan of a network that tolerates one
/// speaks of all that matter. Returns how many inequalities hold.
pub(crate) fn check(plan: &mut read::Plan, budget: &Budget, findings: &Findings) -> usize {
    let losses = std::mem::take(&mut plan.link_losses);
    let mut inequalities = 0;
    let mut known = BTreeSet::new();
    for loss in losses {
        let [a, b] = &loss.link;
        let place = format!("{}:{} - {}:{} lost", a.node, a.port, b.node, b.port);
        let ends = BTreeSet::from([a.clone(), b.clone()]);
        if !known.insert(ends) {
            findings.add(rule::LINK_LOSS, &place, "a loss", "the same link again");
        }
        if plan.feasible && !loss.refusals.is_empty() {
            findings.add(rule::FEASIBLE, &place, "feasible", "refusals after the loss");
        }
        let before = findings.len();
        inequalities += check_one(plan, loss, &place, budget, findings);
        findings.name_since(before, &place);
    }
    if plan.feasible && plan.network.tolerates.links_lost > 1 {
        let claim = format!("{} lost links", plan.network.tolerates.links_lost);
        findings.add(rule::LINK_LOSS, "tolerates", claim, "a plan speaks of one at a time");
    }
    if plan.network.tolerates.links_lost > 0 {
        check_complete(plan, &known, findings);
    }
    inequalities
}

/// Every link between switches that carries a flow, or signals, may be the one that is lost.
fn check_complete(plan: &read::Plan, known: &BTreeSet<BTreeSet<read::Port>>, findings: &Findings) {
    let switches: BTreeSet<&str> =
        plan.network.switches.iter().map(|switch| switch.name.as_str()).collect();
    let used: BTreeSet<&read::Port> =
        plan.routes.iter().flat_map(|r| &r.paths).flat_map(|path| &path.ports).collect();
    for link in &plan.network.links {
        let is_trunk = [&link.a, &link.b].iter().all(|end| switches.contains(end.node.as_str()));
        let carries_signals = plan.network.modes.len() > 1;
        let carries = carries_signals || used.contains(&link.a) || used.contains(&link.b);
        if is_trunk && carries && !known.contains(&BTreeSet::from([link.a.clone(), link.b.clone()]))
        {
            let place =
                format!("{}:{} - {}:{}", link.a.node, link.a.port, link.b.node, link.b.port);
            findings.add(rule::LINK_LOSS, place, "tolerated", "nothing is said of its loss");
        }
    }
}

/// Puts the claims of a loss in the place of the plan's, checks them, and puts those back.
fn check_one(
    plan: &mut read::Plan,
    loss: LinkLoss,
    place: &str,
    budget: &Budget,
    findings: &Findings,
) -> usize {
    let usual = std::mem::take(&mut plan.routes);
    let LinkLoss {
        link,
        routes,
        ports,
        processors,
        witnesses,
        port_rows,
        processor_rows,
        flows,
        mode_changes,
        table_use,
        refusals,
    } = loss;
    let mut of_loss = Kept {
        ports,
        processors,
        witnesses,
        port_rows,
        processor_rows,
        flows,
        mode_changes,
        refusals,
    };
    plan.routes = merged(plan, &usual, routes, &link, &of_loss.refusals, place, findings);
    of_loss.exchange(plan);
    let inequalities = check_claims(plan, (&link, place), &table_use, budget, findings);
    of_loss.exchange(plan);
    plan.routes = usual;
    inequalities
}

/// What a plan and a loss have both.
struct Kept {
    ports: Vec<read::PortService>,
    processors: Vec<read::ProcessorService>,
    witnesses: read::Witnesses,
    port_rows: Vec<read::PortRow>,
    processor_rows: Vec<read::ProcessorRow>,
    flows: Vec<read::FlowBound>,
    mode_changes: Vec<read::ModeChange>,
    refusals: Vec<read::Refusal>,
}

impl Kept {
    fn exchange(&mut self, plan: &mut read::Plan) {
        std::mem::swap(&mut self.ports, &mut plan.ports);
        std::mem::swap(&mut self.processors, &mut plan.processors);
        std::mem::swap(&mut self.witnesses, &mut plan.witnesses);
        std::mem::swap(&mut self.port_rows, &mut plan.port_rows);
        std::mem::swap(&mut self.processor_rows, &mut plan.processor_rows);
        std::mem::swap(&mut self.flows, &mut plan.flows);
        std::mem::swap(&mut self.mode_changes, &mut plan.mode_changes);
        std::mem::swap(&mut self.refusals, &mut plan.refusals);
    }
}

fn crosses(route: &Route, link: &[read::Port; 2]) -> bool {
    route.paths.iter().flat_map(|path| &path.ports).any(|port| link.contains(port))
}

/// The routes after the loss: those of the plan, but what it carried by its new way. What has no
/// way and is refused for that is not sent any more.
fn merged(
    plan: &read::Plan,
    usual: &[Route],
    new: Vec<Route>,
    link: &[read::Port; 2],
    refusals: &[read::Refusal],
    place: &str,
    findings: &Findings,
) -> Vec<Route> {
    let mut by_copy: BTreeMap<(String, Option<String>), Route> = BTreeMap::new();
    for route in new {
        let copy = (route.flow.clone(), route.copy.clone());
        if by_copy.insert(copy, Route { is_backup: true, ..route }).is_some() {
            findings.add(rule::LINK_LOSS, place, "a second way", "one per copy of a flow");
        }
    }
    let mut new = by_copy;
    let is_refused = |flow: &str| {
        let names =
            |it: &read::Refusal| it.resource == "route" && it.flows.iter().any(|f| f == flow);
        !plan.feasible && refusals.iter().any(names)
    };
    let mut merged = Vec::new();
    for route in usual {
        match new.remove(&(route.flow.clone(), route.copy.clone())) {
            Some(other) => {
                if !crosses(route, link) {
                    let claim = format!("{} goes another way", route.flow);
                    findings.add(rule::LINK_LOSS, place, claim, "the link did not carry it");
                }
                merged.push(other);
            }
            None if crosses(route, link) && is_refused(&route.flow) => {}
            None => merged.push(route.clone()),
        }
    }
    for (flow, _) in new.into_keys() {
        findings.add(
            rule::LINK_LOSS,
            place,
            format!("a way of {flow}"),
            "the plan has no such route",
        );
    }
    merged
}

fn check_claims(
    plan: &read::Plan,
    (link, place): (&[read::Port; 2], &str),
    table_use: &[(String, read::Usage)],
    budget: &Budget,
    findings: &Findings,
) -> usize {
    let Some(net) = Net::new(plan, findings) else { return 0 };
    let ports: Vec<usize> = link.iter().filter_map(|end| net.port(end)).collect();
    let is_link = matches!(*ports, [a, b] if Net::reverse(a) == b && net.is_trunk(a));
    if !is_link {
        findings.add(rule::LINK_LOSS, place, "a link between switches", "no such link");
    }
    let streams = routes::streams(plan, &net);
    check_ways(&net, &streams, &ports, place);
    let mut context = states::context(plan, &net, &streams, ports, budget);
    table_use::check(&context, table_use);
    states::check_analyses(&mut context).inequalities
}

/// Nothing goes over the link any more, but for copies of what arrives over another way too.
fn check_ways(net: &Net<'_>, streams: &[Stream], link: &[usize], place: &str) {
    let crosses = |stream: &Stream| stream.tree.iter().any(|hop| link.contains(&hop.port));
    for stream in streams.iter().filter(|stream| crosses(stream)) {
        let has_other = streams.iter().any(|other| other.flow == stream.flow && !crosses(other));
        if !has_other {
            let name = &net.flows[stream.flow].raw.name;
            net.wrong(rule::LINK_LOSS, place, format!("a way of {name}"), "over the lost link");
        }
    }
}
