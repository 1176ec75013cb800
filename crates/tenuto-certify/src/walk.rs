//! The deployment, walked: every frame of a flow reaches its targets over the claimed ports and
//! queues, and nothing else passes.

use crate::analysis::Context;
use crate::finding::{Findings, rule};
use crate::header;
use crate::network::Net;
use crate::policing::watching;
use crate::read::{self, Match, MatchKind, OtherTraffic, PortQueue};
use crate::routes::Stream;
use crate::tables::{Check, InForce, Outcome, STEPS_MAX, Tables, TooLong};
use std::collections::{BTreeMap, BTreeSet};

/// One switch with what enters it.
struct Site<'a> {
    node: usize,
    tables: Tables<'a>,
    meters: BTreeMap<u32, &'a read::Meter>,
    monitors: BTreeMap<u32, &'a read::Monitor>,
}

struct Walk<'a> {
    context: &'a Context<'a>,
    sites: BTreeMap<usize, Site<'a>>,
    /// Streams by the port of a first switch by which they enter, and by their identity.
    entering: BTreeMap<(usize, u32, Match), usize>,
    /// Identities of flows.
    identities: Vec<Match>,
    steps: u64,
}

/// Walks through the tables of every switch.
pub(crate) fn check(context: &Context<'_>, findings: &mut Findings) {
    let net = context.net;
    let identities: Vec<Match> = (0..net.flows.len()).map(|f| header::identity(net, f)).collect();
    check_identities(net, &identities, findings);
    let mut sites = BTreeMap::new();
    for deployment in &context.plan.switches {
        let Some(node) = net.node(&deployment.switch) else { continue };
        sites.entry(node).or_insert_with(|| Site {
            node,
            tables: Tables::new(deployment),
            meters: deployment.meters.iter().map(|m| (m.id, m)).collect(),
            monitors: deployment.monitors.iter().map(|m| (m.id, m)).collect(),
        });
    }
    let mut entering = BTreeMap::new();
    for (index, stream) in context.streams.iter().enumerate() {
        if let (Some(node), Some(root)) = (stream.first_switch, stream.tree.first()) {
            let in_port = net.ports[Net::reverse(root.port)].number;
            entering.insert((node, in_port, identities[stream.flow]), index);
        }
    }
    let mut walk = Walk { context, sites, entering, identities, steps: 0 };
    if walk.run(findings).is_err() {
        let found = format!("more than {STEPS_MAX} steps");
        findings.add(rule::LIMIT, "deployment", "tables", found);
    }
}

/// Two flows that look alike cannot be told apart by any table.
fn check_identities(net: &Net<'_>, identities: &[Match], findings: &mut Findings) {
    let mut seen: BTreeMap<Match, usize> = BTreeMap::new();
    for (flow, identity) in identities.iter().enumerate() {
        if let Some(other) = seen.insert(*identity, flow) {
            let found = format!("the header fields of {}", net.flows[other].raw.name);
            findings.add(rule::DESCRIPTION, &net.flows[flow].raw.name, "its header fields", found);
        }
    }
}

/// What is wrong with an outcome, or nothing.
type Verdict = Option<String>;

impl Walk<'_> {
    fn run(&mut self, findings: &mut Findings) -> Result<(), TooLong> {
        let modes = self.context.net.raw.modes.len();
        for admitted in 0..modes {
            // At a raise both levels move at once; at a return the admitted one moves last.
            for forwarding in 0..=admitted {
                let levels = InForce { admitted, forwarding };
                self.flows(levels, findings)?;
                self.host_ports(levels, findings)?;
                self.trunks(levels, findings)?;
            }
        }
        Ok(())
    }

    /// Every stream at every switch of its tree.
    fn flows(&mut self, levels: InForce, findings: &mut Findings) -> Result<(), TooLong> {
        let context = self.context;
        let net = context.net;
        for (index, stream) in context.streams.iter().enumerate() {
            let watching = watching(net, stream);
            for (place, tree_port) in stream.tree.iter().enumerate() {
                let node = net.ports[tree_port.port].peer;
                let Some(site) = self.sites.get(&node) else { continue };
                let in_port = net.ports[Net::reverse(tree_port.port)].number;
                let visit = Visit {
                    context,
                    stream: index,
                    site,
                    expected: expected(context, stream, place, levels.forwarding),
                    is_first: tree_port.parent.is_none(),
                    is_watching: watching.contains(&node),
                    levels,
                };
                let identity = self.identities[stream.flow];
                let wrong = wrong(&visit, in_port, stream.flow, identity, &mut self.steps)?;
                if let Some(found) = wrong {
                    findings.add(
                        rule::WALK,
                        visit.label(),
                        format!("ports and queues {}", list(&visit.expected)),
                        found,
                    );
                }
            }
        }
        Ok(())
    }

    /// What arrives over a trunk and is of no flow: it stays below all flows, and touches no
    /// meter or monitor of theirs.
    fn trunks(&mut self, levels: InForce, findings: &mut Findings) -> Result<(), TooLong> {
        let net = self.context.net;
        let OtherTraffic::Carry { priority, .. } = net.raw.other_traffic else { return Ok(()) };
        let known: BTreeSet<Match> = self.identities.iter().copied().collect();
        let is_flow = |headers: Match| {
            [MatchKind::Vl, MatchKind::FiveTuple]
                .into_iter()
                .any(|kind| known.contains(&header::project(net, kind, headers)))
        };
        for (&node, site) in &self.sites {
            for port in net.ports_of(node).filter(|port| net.is_trunk(*port)) {
                let any = Match { in_port: Some(net.ports[port].number), ..Match::default() };
                for outcome in site.tables.walk(any, levels, &mut self.steps)? {
                    let is_below = outcome.outputs.iter().all(|out| out.queue == priority);
                    if is_flow(outcome.headers) || (is_below && outcome.checks.is_empty()) {
                        continue;
                    }
                    if site.tables.can_happen(&outcome, levels, &mut self.steps)? {
                        let place =
                            format!("{}, over the trunk, {}", net.label(port), label(net, levels));
                        let found = format!("{:?}, {}", outcome.checks, list(&outcome.outputs));
                        let claim = "other traffic below every flow, unpoliced";
                        findings.add(rule::WALK, place, claim, found);
                    }
                }
            }
        }
        Ok(())
    }

    /// Everything that a host can send.
    fn host_ports(&mut self, levels: InForce, findings: &mut Findings) -> Result<(), TooLong> {
        let net = self.context.net;
        for (&node, site) in &self.sites {
            for port in net.ports_of(node).filter(|port| !net.is_trunk(*port)) {
                let in_port = net.ports[port].number;
                let any = Match { in_port: Some(in_port), ..Match::default() };
                let mut wrong = Vec::new();
                for outcome in site.tables.walk(any, levels, &mut self.steps)? {
                    if !site.tables.can_happen(&outcome, levels, &mut self.steps)? {
                        continue;
                    }
                    wrong.extend(foreign(self.context, &self.entering, site, in_port, &outcome));
                }
                if matches!(net.raw.other_traffic, OtherTraffic::Carry { .. }) {
                    // Carried frames must not look like a flow behind the first switch.
                    for (flow, identity) in self.identities.iter().enumerate() {
                        if self.entering.contains_key(&(node, in_port, *identity)) {
                            continue;
                        }
                        let headers = Match { in_port: Some(in_port), ..*identity };
                        let outcomes = site.tables.walk(headers, levels, &mut self.steps)?;
                        if outcomes.iter().any(|outcome| !outcome.outputs.is_empty()) {
                            wrong.push(format!("a frame of {} passes", net.flows[flow].raw.name));
                        }
                    }
                }
                wrong.sort_unstable();
                wrong.dedup();
                for found in wrong {
                    let place =
                        format!("{}, from the host, {}", net.label(port), label(net, levels));
                    findings.add(rule::WALK, place, "dropped unless a flow of this host", found);
                }
            }
        }
        Ok(())
    }
}

/// What is wrong with a stream at one switch.
fn wrong(
    visit: &Visit<'_>,
    in_port: u32,
    flow: usize,
    identity: Match,
    steps: &mut u64,
) -> Result<Verdict, TooLong> {
    let passes = |outcome: &&Outcome| !outcome.outputs.is_empty();
    let frame = Match { in_port: Some(in_port), ..header::frame(visit.context.net, flow) };
    let built = visit.site.tables.walk(frame, visit.levels, steps)?;
    // Of entries of equal precedence either may win, so every outcome has to pass.
    if visit.must_pass() && (built.is_empty() || !built.iter().all(|outcome| passes(&outcome))) {
        return Ok(Some("dropped".into()));
    }
    // Beyond the frames that our end systems build: anything that counts as this flow.
    let any = Match { in_port: Some(in_port), ..identity };
    let all = visit.site.tables.walk(any, visit.levels, steps)?;
    let all = || built.iter().chain(&all);
    let passing = all().filter(passes).find_map(|outcome| visit.judge(outcome));
    Ok(passing.or_else(|| all().find_map(|outcome| visit.others_check(outcome))))
}

/// The outputs that the claims give a stream behind one place of its tree, in order.
fn expected(context: &Context<'_>, stream: &Stream, place: usize, level: usize) -> Vec<PortQueue> {
    let net = context.net;
    let flow = &net.flows[stream.flow];
    let Some(contract) = flow.contracts.get(level) else { return Vec::new() };
    let children = stream.children[place].iter().map(|child| stream.tree[*child].port);
    let output = |port: usize| PortQueue { port: net.ports[port].number, queue: contract.class };
    let mut outputs: Vec<PortQueue> = children.map(output).collect();
    outputs.sort_unstable();
    outputs
}

/// What is wrong with a frame that a host sends and that passes although it is of none of its
/// flows, or that touches the monitor of a flow of another host.
fn foreign(
    context: &Context<'_>,
    entering: &BTreeMap<(usize, u32, Match), usize>,
    site: &Site<'_>,
    in_port: u32,
    outcome: &Outcome,
) -> Verdict {
    let own = [MatchKind::Vl, MatchKind::FiveTuple].into_iter().find_map(|kind| {
        let identity = header::project(context.net, kind, outcome.headers);
        entering.get(&(site.node, in_port, identity)).copied()
    });
    let own_flow = own.map(|index| context.streams[index].flow);
    for check in &outcome.checks {
        let (kind, id, flow) = match check {
            Check::Monitor(id) => ("monitor", id, site.monitors.get(id).map(|m| Some(&m.flow))),
            Check::Meter(id) => ("meter", id, site.meters.get(id).map(|m| m.flow.as_ref())),
        };
        // Whoever fills a meter decides what of its flow is dropped, even if it is dropped itself.
        let Some(flow) = flow else { continue };
        let flow = flow.map(|flow| context.net.flow(flow));
        let is_others = matches!(flow, Some(flow) if flow.is_none() || flow != own_flow);
        if is_others {
            return Some(format!("{kind} {id} judges frames of no flow of this host"));
        }
    }
    if outcome.outputs.is_empty() || own.is_some() {
        // The walk of the flow itself judges these.
        return None;
    }
    let meters: Vec<u32> = outcome.checks.iter().filter_map(meter_of).collect();
    if let OtherTraffic::Carry { priority, rate_bps, .. } = context.net.raw.other_traffic {
        let meter = match meters.as_slice() {
            [one] => site.meters.get(one),
            _ => None,
        };
        let is_metered =
            meter.is_some_and(|meter| meter.flow.is_none() && meter.rate_bps <= rate_bps);
        let is_below = outcome.outputs.iter().all(|output| output.queue == priority);
        return match (is_metered, is_below) {
            (true, true) => None,
            (false, _) => Some("other traffic without its meter".into()),
            (true, false) => Some("other traffic in the queue of a flow".into()),
        };
    }
    Some(format!("{:?} passes to {}", outcome.headers, list(&outcome.outputs)))
}

const fn meter_of(check: &Check) -> Option<u32> {
    match check {
        Check::Meter(id) => Some(*id),
        Check::Monitor(_) => None,
    }
}

/// One stream at one switch.
struct Visit<'a> {
    context: &'a Context<'a>,
    stream: usize,
    site: &'a Site<'a>,
    expected: Vec<PortQueue>,
    is_first: bool,
    is_watching: bool,
    levels: InForce,
}

impl Visit<'_> {
    fn level(&self) -> usize {
        self.context.net.flows[self.context.streams[self.stream].flow].level
    }

    /// Whether frames have to get through: admitted at the first switch, forwarded behind it.
    fn must_pass(&self) -> bool {
        self.levels.admitted <= self.level()
    }

    /// Whether frames may get through: behind the first switch, until it has swapped.
    fn may_pass(&self) -> bool {
        if self.is_first { self.must_pass() } else { self.levels.forwarding <= self.level() }
    }

    /// What is wrong with frames that get through.
    fn judge(&self, outcome: &Outcome) -> Verdict {
        if !self.may_pass() {
            return Some(format!("out of mode, passes to {}", list(&outcome.outputs)));
        }
        if outcome.outputs != self.expected {
            return Some(list(&outcome.outputs));
        }
        let mut kinds = Vec::new();
        for check in &outcome.checks {
            let (kind, is_own) = match check {
                Check::Monitor(id) => {
                    let own = self.context.attributed.monitor(self.stream, self.site.node);
                    ("monitor", own.is_some_and(|own| own.id == *id))
                }
                Check::Meter(id) => {
                    let own = self.context.attributed.meter(self.stream).filter(|_| self.is_first);
                    ("meter", own.is_some_and(|own| own.id == *id))
                }
            };
            if !is_own {
                return Some(format!("{check:?} is not of this copy of the flow"));
            }
            kinds.push(kind);
        }
        let mut wanted = Vec::new();
        wanted.extend(self.is_watching.then_some("monitor"));
        wanted.extend(self.is_first.then_some("meter"));
        (kinds != wanted).then(|| format!("passes {kinds:?} instead of {wanted:?}"))
    }

    /// A check of another flow that frames pass, whatever becomes of them.
    fn others_check(&self, outcome: &Outcome) -> Verdict {
        let flow = self.context.streams[self.stream].flow;
        let name = &self.context.net.flows[flow].raw.name;
        let is_own = |check: &&Check| {
            let of = match check {
                Check::Monitor(id) => self.site.monitors.get(id).map(|m| &m.flow),
                Check::Meter(id) => self.site.meters.get(id).and_then(|m| m.flow.as_ref()),
            };
            of == Some(name)
        };
        let other = outcome.checks.iter().find(|check| !is_own(check));
        other.map(|check| format!("{check:?} is not of this flow"))
    }

    fn label(&self) -> String {
        let net = self.context.net;
        let flow = &net.flows[self.context.streams[self.stream].flow];
        let levels = label(net, self.levels);
        format!("{} at {}, {levels}", flow.raw.name, net.nodes[self.site.node].name)
    }
}

fn label(net: &Net<'_>, levels: InForce) -> String {
    let name = |level: usize| net.raw.modes.get(level).map_or("?", String::as_str);
    if levels.admitted == levels.forwarding {
        name(levels.admitted).to_owned()
    } else {
        format!("admitting {}, forwarding {}", name(levels.admitted), name(levels.forwarding))
    }
}

fn list(outputs: &[PortQueue]) -> String {
    if outputs.is_empty() {
        return "dropped".into();
    }
    let one = |output: &PortQueue| format!("{} (queue {})", output.port, output.queue);
    outputs.iter().map(one).collect::<Vec<_>>().join(", ")
}
