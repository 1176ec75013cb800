//! What every switch is told, against the description and the limits of the device.

use crate::description::net::Net;
use crate::description::read::{self, Entry, OtherTraffic, Output, PortDeployment, Profile, Role};
use crate::finding::{Findings, rule};
use crate::rows::context::Context;
use std::collections::{BTreeMap, BTreeSet};

/// The most that a band of OpenFlow states: 2³² − 1 kbit/s.
const BAND_BPS_MAX: u64 = u32::MAX as u64 * 1_000;

/// Checks every switch's deployment except for what its tables do.
pub(crate) fn check(context: &Context<'_>) {
    let (plan, net) = (context.plan, context.net);
    let queues = queues_used(context);
    let mut seen = BTreeSet::new();
    for deployment in &plan.switches {
        let place = &deployment.switch;
        let node = net.node(place).and_then(|node| Some((node, net.nodes[node].switch?)));
        let Some((node, (switch, profile))) = node else {
            context.wrong(rule::DEPLOYMENT, place, "a switch", "no such switch");
            continue;
        };
        if !seen.insert(node) {
            context.wrong(rule::DEPLOYMENT, place, "a second deployment", "one per switch");
        }
        if deployment.datapath_id != switch.datapath_id {
            let found = switch.datapath_id;
            context.wrong(rule::DEPLOYMENT, place, deployment.datapath_id, found);
        }
        check_ports(context, node, deployment, profile, &queues);
        check_ids(deployment, context.net.findings);
        check_entries(context, deployment);
        check_steps(deployment, (profile, plan.feasible), context.net.findings);
        check_usage(context, deployment, profile);
    }
    let is_refused =
        net.flows.iter().any(|flow| crate::streams::routes::is_refused(plan, &flow.raw.name));
    if is_refused && plan.switches.is_empty() {
        return;
    }
    for (node, info) in net.nodes.iter().enumerate().filter(|(_, node)| node.switch.is_some()) {
        if !seen.contains(&node) {
            context.wrong(rule::DEPLOYMENT, info.name, "no deployment", "every switch has one");
        }
    }
    if net.has_modes() && plan.feasible {
        for info in &net.nodes {
            if info.switch.is_some_and(|(_, profile)| !profile.has_modes) {
                context.wrong(rule::DEVICE, info.name, "modes", "the device has none");
            }
        }
    }
}

/// The number of queues that flows (and other traffic) need at every used port.
fn queues_used(context: &Context<'_>) -> BTreeMap<usize, u16> {
    let mut used: BTreeMap<usize, u16> = BTreeMap::new();
    for stream in context.streams {
        let classes = context.net.flows[stream.flow].contracts.iter().map(|c| c.class);
        let needed = classes.map(|class| u16::from(class) + 1).max().unwrap_or(0);
        for place in &stream.tree {
            let entry = used.entry(place.port).or_default();
            *entry = needed.max(*entry);
        }
    }
    used
}

fn check_ports(
    context: &Context<'_>,
    node: usize,
    deployment: &read::SwitchDeployment,
    profile: &Profile,
    queues: &BTreeMap<usize, u16>,
) {
    let net = context.net;
    let name = &deployment.switch;
    check_attached(context, node, &deployment.ports, name);
    for described in &deployment.ports {
        let Some(port) = net.port_at(node, described.port) else { continue };
        let place = net.label(port);
        let role = if net.is_trunk(port) { Role::Trunk } else { Role::Host };
        if described.role != role {
            context.wrong(
                rule::DEPLOYMENT,
                &place,
                format!("{:?}", described.role),
                format!("{role:?}"),
            );
        }
        if described.buffer_bytes != profile.buffer_bytes_per_port {
            let claim = format!("buffer {:?} B", described.buffer_bytes);
            let found = format!("{:?} B in the profile", profile.buffer_bytes_per_port);
            context.wrong(rule::DEPLOYMENT, &place, claim, found);
        }
        let needed = queues.get(&port).copied().unwrap_or(0);
        if u16::from(described.queues) < needed {
            let claim = format!("{} queues", described.queues);
            context.wrong(rule::DEPLOYMENT, &place, claim, format!("at least {needed}"));
        }
        if described.queues > profile.queues_per_port && context.plan.feasible {
            let claim = format!("{} queues", described.queues);
            context.wrong(rule::DEVICE, &place, claim, format!("{}", profile.queues_per_port));
        }
    }
}

/// Every port of the node is listed once, with what is attached to it.
pub(crate) fn check_attached(
    context: &Context<'_>,
    node: usize,
    ports: &[PortDeployment],
    name: &str,
) {
    let net = context.net;
    let mut listed = BTreeSet::new();
    for described in ports {
        let place = format!("{name}:{}", described.port);
        let Some(port) = net.port_at(node, described.port) else {
            context.wrong(rule::DEPLOYMENT, place, "a port", "no such port");
            continue;
        };
        if !listed.insert(port) {
            context.wrong(rule::DEPLOYMENT, &place, "a second time", "every port once");
        }
        let info = &net.ports[port];
        let far = &net.ports[crate::description::net::Net::reverse(port)];
        let claim = (described.peer.as_str(), described.peer_port, described.rate_bps);
        let found = (net.nodes[info.peer].name, far.number, info.rate_bps);
        if claim != found {
            context.wrong(rule::DEPLOYMENT, place, format!("{claim:?}"), format!("{found:?}"));
        }
    }
    for port in net.ports_of(node).filter(|port| !listed.contains(port)) {
        context.wrong(rule::DEPLOYMENT, net.label(port), "not listed", "every port is");
    }
}

fn check_ids(deployment: &read::SwitchDeployment, findings: &Findings) {
    let once = |what: &str, ids: Vec<u32>| {
        let mut seen = BTreeSet::new();
        for id in ids {
            if id == 0 || !seen.insert(id) {
                let found = "numbers from 1, each once";
                findings.add(rule::DEPLOYMENT, &deployment.switch, format!("{what} {id}"), found);
            }
        }
    };
    once("meter", deployment.meters.iter().map(|m| m.id).collect());
    once("group", deployment.groups.iter().map(|g| g.id).collect());
    once("monitor", deployment.monitors.iter().map(|m| m.id).collect());
}

/// What entries refer to exists, and their names agree.
fn check_entries(context: &Context<'_>, deployment: &read::SwitchDeployment) {
    let net = context.net;
    let known = Known::new(net, deployment);
    let wrong = |what: String, found: &str| {
        context.wrong(rule::DEPLOYMENT, &deployment.switch, what, found);
    };
    for group in &deployment.groups {
        if group.outputs.is_empty() || !group.outputs.iter().all(|output| known.has_queue(output)) {
            wrong(format!("group {}", group.id), "outputs to ports and queues that exist");
        }
    }
    let mut seen = BTreeSet::new();
    for entry in &deployment.entries {
        let what = || format!("entry of table {} cookie {}", entry.table, entry.cookie);
        if !known.has_all_of(entry) {
            wrong(what(), "it refers to something that does not exist");
        }
        if !seen.insert((entry.table, entry.level, entry.precedence, entry.matching)) {
            wrong(what(), "one entry per table, level, precedence and match: a second replaces it");
        }
        if !is_of_its_flow(entry, &known) {
            wrong(what(), "its meter and its monitor are of another flow");
        }
        if !is_placed(entry, net.raw.modes.len()) {
            wrong(what(), "tables 0 to 2, leading onwards, at a level that exists");
        }
        let named = entry.flow.as_ref().map(|flow| net.flow(flow));
        let cookie = match named {
            None => Some(0),
            Some(None) => None,
            Some(Some(flow)) => u64::try_from(flow + 1).ok(),
        };
        if cookie != Some(entry.cookie) {
            wrong(what(), "the cookie is not that of the flow it names");
        }
    }
}

/// What entries of a switch can refer to.
struct Known<'a> {
    groups: BTreeSet<u32>,
    /// Queues by port.
    queues: BTreeMap<u32, u8>,
    /// Ports that there are.
    ports: BTreeSet<u32>,
    /// The queue of other traffic, which every port has.
    carried: Option<u8>,
    /// The flow of each meter and of each monitor.
    metered: BTreeMap<u32, Option<&'a str>>,
    monitored: BTreeMap<u32, &'a str>,
}

impl<'a> Known<'a> {
    fn new(net: &Net<'_>, deployment: &'a read::SwitchDeployment) -> Self {
        let node = net.node(&deployment.switch);
        let ports = node.into_iter().flat_map(|node| net.ports_of(node));
        Self {
            groups: deployment.groups.iter().map(|g| g.id).collect(),
            metered: deployment.meters.iter().map(|m| (m.id, m.flow.as_deref())).collect(),
            monitored: deployment.monitors.iter().map(|m| (m.id, &*m.flow)).collect(),
            ports: ports.map(|port| net.ports[port].number).collect(),
            queues: deployment.ports.iter().map(|p| (p.port, p.queues)).collect(),
            carried: match net.raw.other_traffic {
                OtherTraffic::Carry { priority, .. } => Some(priority),
                OtherTraffic::Drop => None,
            },
        }
    }

    fn has_queue(&self, output: &read::PortQueue) -> bool {
        self.ports.contains(&output.port)
            && (self.queues.get(&output.port).is_some_and(|queues| output.queue < *queues)
                || Some(output.queue) == self.carried)
    }

    fn has_all_of(&self, entry: &Entry) -> bool {
        entry.meter.is_none_or(|id| self.metered.contains_key(&id))
            && entry.monitor.is_none_or(|id| self.monitored.contains_key(&id))
            && match &entry.output {
                None => true,
                Some(Output::Port(output)) => self.has_queue(output),
                Some(Output::Group(id)) => self.groups.contains(id),
            }
    }
}

/// Whether what an entry shows its frames to is of the flow that it counts for. What an entry of no
/// flow shows, the walk looks at.
fn is_of_its_flow(entry: &Entry, known: &Known<'_>) -> bool {
    let Some(flow) = entry.flow.as_deref() else { return true };
    entry.meter.is_none_or(|id| known.metered.get(&id).is_none_or(|of| *of == Some(flow)))
        && entry.monitor.is_none_or(|id| known.monitored.get(&id).is_none_or(|of| *of == flow))
}

fn is_placed(entry: &Entry, modes: usize) -> bool {
    entry.table <= 2
        && entry.goto.is_none_or(|goto| goto > entry.table && goto <= 2)
        && entry.level.is_none_or(|level| usize::from(level) < modes)
}

fn check_steps(
    deployment: &read::SwitchDeployment,
    (profile, is_feasible): (&Profile, bool),
    findings: &Findings,
) {
    // What no device has is in plans that are refused for it.
    let most = if is_feasible { profile.meter_burst_max_bytes } else { u64::MAX };
    for meter in &deployment.meters {
        for (what, value, step, max) in [
            ("bit/s", meter.rate_bps, profile.meter_rate_step_bps, BAND_BPS_MAX),
            ("B", meter.burst_bytes, profile.meter_burst_step_bytes, most),
        ] {
            if value == 0 || value > max || value.checked_rem(step) != Some(0) {
                let place = format!("meter {} at {}", meter.id, deployment.switch);
                let found = format!("multiples of {step} {what} up to {max}");
                findings.add(rule::DEVICE, place, format!("{value} {what}"), found);
            }
        }
    }
}

fn check_usage(context: &Context<'_>, deployment: &read::SwitchDeployment, profile: &Profile) {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let at_start = |entry: &&Entry| entry.level.is_none_or(|level| level == 0);
    let entries = deployment.entries.iter().filter(at_start).count();
    let counted = read::Usage {
        entries: count(entries),
        shadow: count(deployment.entries.len() - entries),
        meters: count(deployment.meters.len()),
        groups: count(deployment.groups.len()),
        queues: deployment.ports.iter().map(|p| u32::from(p.queues)).max().unwrap_or(0),
    };
    let place = &deployment.switch;
    if deployment.usage != counted {
        let claim = format!("{:?}", deployment.usage);
        context.wrong(rule::DEPLOYMENT, place, claim, format!("{counted:?}"));
    }
    if !context.plan.feasible {
        return;
    }
    for (what, used, limit) in [
        ("entries", count(deployment.entries.len()), profile.entries_max),
        ("meters", counted.meters, profile.meters_max),
        ("groups", counted.groups, profile.groups_max),
    ] {
        if used > limit {
            context.wrong(rule::DEVICE, place, format!("{used} {what}"), format!("{limit}"));
        }
    }
}
