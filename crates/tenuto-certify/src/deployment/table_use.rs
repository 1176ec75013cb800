//! Places of tables that switches need after the loss of a link, where no deployment says so: at
//! least those without which a flow does not get through.

use crate::description::read::{PortQueue, Profile, SwitchDeployment, Usage};
use crate::finding::{Findings, rule};
use crate::rows::context::Context;
use crate::streams::levels::watching;
use crate::streams::routes::is_refused;
use std::collections::{BTreeMap, BTreeSet};

/// What the streams need at one switch.
#[derive(Default)]
struct Needed {
    entries: usize,
    shadow: usize,
    meters: usize,
    groups: BTreeSet<Vec<PortQueue>>,
    queues: u32,
}

/// Checks what a state without a deployment of its own says of every switch; `usual` is the plan's.
pub(crate) fn check(context: &Context<'_>, claims: &[(String, Usage)]) {
    let net = context.net;
    let usual: BTreeMap<&str, &SwitchDeployment> =
        context.plan.switches.iter().map(|it| (it.switch.as_str(), it)).collect();
    let needed = needed(context);
    let mut seen = BTreeSet::new();
    for (name, claim) in claims {
        let node = net.node(name).filter(|node| net.nodes[*node].switch.is_some());
        let Some(node) = node.filter(|node| seen.insert(*node)) else {
            context.wrong(rule::DEPLOYMENT, name, "places of tables", "no such switch, or twice");
            continue;
        };
        let nothing = Needed::default();
        let own = needed.get(&node).unwrap_or(&nothing);
        let base = usual.get(name.as_str()).map_or([0; 3], |it| without_flows(it));
        check_claim(name, claim, &least(own, base), context.net.findings);
        if let Some(profile) = net.profile(node).filter(|_| context.plan.feasible) {
            check_device(name, claim, profile, context.net.findings);
        }
    }
    // Where a flow has no way no switch is told anything.
    if net.flows.iter().any(|flow| is_refused(context.plan, &flow.raw.name)) && claims.is_empty() {
        return;
    }
    let switches = net.nodes.iter().enumerate().filter(|(_, node)| node.switch.is_some());
    for (_, info) in switches.filter(|(node, _)| !seen.contains(node)) {
        context.wrong(rule::DEPLOYMENT, info.name, "no places of tables", "every switch has some");
    }
}

/// What flows need and what is there without them.
fn least(own: &Needed, base: [usize; 3]) -> Usage {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Usage {
        entries: count(own.entries + base[0]),
        shadow: count(own.shadow + base[1]),
        meters: count(own.meters + base[2]),
        groups: count(own.groups.len()),
        queues: own.queues,
    }
}

fn check_claim(name: &str, claim: &Usage, least: &Usage, findings: &Findings) {
    let pairs = [
        (claim.entries, least.entries),
        (claim.shadow, least.shadow),
        (claim.meters, least.meters),
        (claim.groups, least.groups),
        (claim.queues, least.queues),
    ];
    if pairs.iter().any(|(claim, least)| claim < least) {
        let found = format!("at least {least:?}");
        findings.add(rule::DEPLOYMENT, name, format!("{claim:?}"), found);
    }
}

fn check_device(name: &str, claim: &Usage, profile: &Profile, findings: &Findings) {
    for (what, used, limit) in [
        ("entries", claim.entries.saturating_add(claim.shadow), profile.entries_max),
        ("meters", claim.meters, profile.meters_max),
        ("groups", claim.groups, profile.groups_max),
        ("queues", claim.queues, profile.queues_per_port.into()),
    ] {
        if used > limit {
            findings.add(rule::DEVICE, name, format!("{used} {what}"), format!("{limit}"));
        }
    }
}

/// What every stream takes at the switches that it crosses, in all modes.
fn needed(context: &Context<'_>) -> BTreeMap<usize, Needed> {
    let net = context.net;
    let mut needed: BTreeMap<usize, Needed> = BTreeMap::new();
    for stream in context.streams {
        let flow = &net.flows[stream.flow];
        let watching = watching(net, stream);
        for (place, here) in stream.tree.iter().enumerate() {
            let node = net.ports[here.port].peer;
            if net.nodes[node].switch.is_none() {
                continue;
            }
            let own = needed.entry(node).or_default();
            // One that forwards, at the first switch one that polices, per mode: what is out of
            // mode is dropped by an entry of its flow.
            let per_mode = 1 + usize::from(here.parent.is_none());
            own.entries += per_mode + usize::from(watching.contains(&node));
            own.shadow += per_mode * (net.raw.modes.len() - 1);
            own.meters += usize::from(here.parent.is_none());
            for contract in &flow.contracts {
                let output = |child: &usize| {
                    let port = net.ports[stream.tree[*child].port].number;
                    PortQueue { port, queue: contract.class }
                };
                let mut outputs: Vec<PortQueue> =
                    stream.children[place].iter().map(output).collect();
                outputs.sort_unstable();
                if outputs.len() > 1 {
                    own.groups.insert(outputs);
                }
                own.queues = own.queues.max(u32::from(contract.class) + 1);
            }
        }
    }
    needed
}

/// Entries, shadow entries and meters of no flow: they stay whatever is lost.
fn without_flows(deployment: &SwitchDeployment) -> [usize; 3] {
    let entries = deployment.entries.iter().filter(|entry| entry.flow.is_none());
    let shadow = entries.clone().filter(|entry| entry.level.is_some_and(|level| level > 0));
    let shadow = shadow.count();
    let meters = deployment.meters.iter().filter(|meter| meter.flow.is_none()).count();
    [entries.count() - shadow, shadow, meters]
}
