//! What every node is told: ports, meters, monitors, and the entries of `entries.rs`.

use crate::analysis::context::Analysis;
use crate::input::transitions::span;
use crate::output::entries::{self, Crossing, next_id};
use crate::output::other_traffic;
use tenuto_model::{
    HostDeployment, LevelContract, MeterSpec, MonitorSpec, PortDeployment, PortRole, ReceiverSpec,
    SenderSpec, SwitchDeployment, TableUse,
};

/// The deployment of every switch and every host, in the order of the description.
pub(crate) fn deploy(analysis: &Analysis<'_>) -> (Vec<SwitchDeployment>, Vec<HostDeployment>) {
    let topology = analysis.ports.topology;
    let crossings = crossings(analysis);
    let mut switches = Vec::new();
    let mut hosts = Vec::new();
    let delays = Variation::new(analysis);
    let ways = other_traffic::Ways::new(topology);
    for (node, it) in topology.nodes.iter().enumerate() {
        if it.is_host() {
            hosts.push(host(analysis, node));
        } else {
            let mut deployment = switch(analysis, &delays, node, &crossings[node]);
            other_traffic::add(topology, &ways, node, &mut deployment);
            entries::frame(&mut deployment, entries::levels(topology.network));
            deployment.usage = usage(&deployment);
            switches.push(deployment);
        }
    }
    (switches, hosts)
}

/// Per node: every tree that crosses it, where it comes in and where it goes out.
fn crossings(analysis: &Analysis<'_>) -> Vec<Vec<Crossing>> {
    let topology = analysis.ports.topology;
    let mut all: Vec<Vec<Crossing>> = vec![Vec::new(); topology.nodes.len()];
    for (tree, it) in analysis.trees.iter().enumerate() {
        for hop in &it.hops {
            let Some(parent) = hop.parent else { continue };
            let egress = &topology.servers[hop.server];
            let here = &mut all[egress.node];
            let crossing = match here.iter_mut().find(|c| c.tree == tree) {
                Some(crossing) => crossing,
                None => {
                    let incoming = &topology.servers[it.hops[parent].server];
                    here.push(Crossing {
                        tree,
                        flow: it.flow,
                        in_port: incoming.far.port,
                        is_first: it.hops[parent].parent.is_none(),
                        is_shared: false,
                        outputs: Vec::new(),
                        through: parent,
                    });
                    here.last_mut().expect("just pushed")
                }
            };
            crossing.outputs.push(egress.end.port);
        }
    }
    for here in &mut all {
        let flows: Vec<usize> = here.iter().map(|crossing| crossing.flow).collect();
        for crossing in here.iter_mut() {
            crossing.is_shared = flows.iter().filter(|flow| **flow == crossing.flow).count() > 1;
        }
    }
    all
}

fn switch(
    analysis: &Analysis<'_>,
    delays: &Variation,
    node: usize,
    crossings: &[Crossing],
) -> SwitchDeployment {
    let topology = analysis.ports.topology;
    let it = &topology.network.switches[topology.nodes[node].switch];
    let mut deployment = SwitchDeployment {
        switch: it.name.clone(),
        datapath_id: it.datapath_id,
        ports: ports(analysis, node),
        ..SwitchDeployment::default()
    };
    for crossing in crossings {
        let flow = &topology.network.flows[crossing.flow];
        let meter = crossing.is_first.then(|| meter(analysis, &mut deployment, crossing));
        let watches = if flow.monitor_at.is_empty() {
            crossing.is_first
        } else {
            flow.monitor_at.contains(&it.name)
        };
        let monitor = (watches && flow.is_watched())
            .then(|| monitor(analysis, delays, &mut deployment, crossing));
        entries::flow(topology.network, &mut deployment, crossing, meter, monitor);
    }
    deployment
}

fn meter(analysis: &Analysis<'_>, to: &mut SwitchDeployment, crossing: &Crossing) -> u32 {
    let id = next_id(to.meters.len());
    let setting = analysis.policing[crossing.tree].meter;
    to.meters.push(MeterSpec {
        id,
        flow: Some(analysis.ports.topology.network.flows[crossing.flow].name.clone()),
        rate_bps: setting.rate_bps,
        burst_bytes: setting.burst_bytes,
    });
    id
}

fn monitor(
    analysis: &Analysis<'_>,
    delays: &Variation,
    to: &mut SwitchDeployment,
    crossing: &Crossing,
) -> u32 {
    let network = analysis.ports.topology.network;
    let flow = &network.flows[crossing.flow];
    let varying_ns = delays.up_to_ns(analysis, crossing);
    let level = |(level, contract): (usize, &tenuto_model::Contract)| LevelContract {
        level: u8::try_from(level).unwrap_or(u8::MAX),
        bytes_max: u32::try_from(analysis.reading.message_bits(contract) / 8).unwrap_or(u32::MAX),
        period_ns: analysis.reading.monitored_period_ns(contract),
        jitter_ns: contract.jitter_ns.saturating_add(varying_ns),
    };
    let id = next_id(to.monitors.len());
    to.monitors.push(MonitorSpec {
        id,
        flow: flow.name.clone(),
        kind: flow.monitor_kind(),
        contracts: flow.contracts.iter().enumerate().map(level).collect(),
    });
    id
}

/// Largest delays of every visit's port over all modes and raises of its flow, and how much the
/// processor in front of that port varies.
struct Variation {
    /// Per visit, picoseconds; `None` where one has no bound.
    largest: Vec<Option<i128>>,
    /// Largest delays of the processors, per visit, picoseconds; `None` where one has no bound.
    processing: Vec<Option<i128>>,
}

impl Variation {
    fn new(analysis: &Analysis<'_>) -> Self {
        let network = analysis.ports.topology.network;
        let visits = &analysis.ports.port_graph.visits;
        let mut largest = vec![Some(0); visits.len()];
        let mut processing = vec![Some(0); visits.len()];
        for result in &analysis.results {
            let all = largest.iter_mut().zip(&mut processing).zip(visits);
            for ((most, longest), visit) in all {
                let level = network.flows[analysis.trees[visit.tree].flow].level;
                if span(result.mode_input.transition).0 > level {
                    continue;
                }
                let classes = &result.mode_input.shares[visit.tree].classes;
                let here = result.solution.delay_of(visit.server, classes);
                *most = most.zip(here).map(|(a, b): (i128, _)| a.max(b.0));
                if let Some(parent) = visit.parent {
                    let varying = processing_varies(analysis, result, visits[parent].server);
                    *longest = longest.zip(varying).map(|(a, b): (i128, _)| a.max(b));
                }
            }
        }
        Self { largest, processing }
    }

    /// Variation from the release to the arrival at a switch, nanoseconds; queues without a bound
    /// are left out, since such a plan is refused anyhow.
    fn up_to_ns(&self, analysis: &Analysis<'_>, crossing: &Crossing) -> u64 {
        let topology = analysis.ports.topology;
        let tree = &analysis.trees[crossing.tree];
        let hops = std::iter::successors(Some(crossing.through), |&hop| tree.hops[hop].parent);
        let varying = |hop: usize| {
            let visit = analysis.ports.port_graph.visit(crossing.tree, hop);
            let queue = self.largest[visit].unwrap_or(0) + self.processing[visit].unwrap_or(0);
            let next = topology.servers[tree.hops[hop].server].peer;
            queue + topology.nodes[next].latency_jitter_ps()
        };
        tenuto_units::Picos(hops.map(varying).sum()).to_ns_up()
    }
}

/// How much the processor varies that frames of a directed port come to, if there is one: for who
/// keeps the contracts, since a monitor has to pass no one else.
fn processing_varies(
    analysis: &Analysis<'_>,
    result: &crate::analysis::mode_result::ModeResult,
    line: usize,
) -> Option<i128> {
    let topology = analysis.ports.topology;
    let profile = topology.nodes[topology.servers[line].peer].profile;
    let least = profile.and_then(|it| it.processor.as_ref()).map_or(0, |it| it.least_ps());
    Some((result.solution.processing[line]?.0 - i128::from(least)).max(0))
}

/// Ports of a node by number; a host's own ports have the role of a host link.
fn ports(analysis: &Analysis<'_>, node: usize) -> Vec<PortDeployment> {
    let topology = analysis.ports.topology;
    let profile = topology.nodes[node].profile;
    let port = |&server: &usize| {
        let egress = &topology.servers[server];
        PortDeployment {
            port: egress.end.port,
            role: if egress.is_trunk { PortRole::Trunk } else { PortRole::Host },
            peer: egress.far.node.clone(),
            peer_port: egress.far.port,
            rate_bps: egress.rate_bps,
            queues: queues(analysis, server),
            buffer_bytes: profile.and_then(|p| p.buffer_bytes_per_port),
        }
    };
    let mut ports: Vec<PortDeployment> = topology.leaving(node).iter().map(port).collect();
    ports.sort_by_key(|port| port.port);
    ports
}

/// Queues that a port needs: classes 0 to the lowest that any mode uses there.
fn queues(analysis: &Analysis<'_>, server: usize) -> u8 {
    let lowest = |result: &crate::analysis::mode_result::ModeResult| {
        result.solution.delays[server].last().map(|(class, _)| class.saturating_add(1))
    };
    analysis.results.iter().filter_map(lowest).max().unwrap_or(0)
}

fn usage(deployment: &SwitchDeployment) -> TableUse {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let shadow = deployment.entries.iter().filter(|e| e.level.is_some_and(|l| l > 0)).count();
    TableUse {
        entries: count(deployment.entries.len() - shadow),
        shadow: count(shadow),
        meters: count(deployment.meters.len()),
        groups: count(deployment.groups.len()),
        queues: deployment.ports.iter().map(|p| u32::from(p.queues)).max().unwrap_or(0),
    }
}

fn host(analysis: &Analysis<'_>, node: usize) -> HostDeployment {
    let topology = analysis.ports.topology;
    let name = topology.nodes[node].name;
    let mut senders: Vec<SenderSpec> = Vec::new();
    let mut receivers: Vec<ReceiverSpec> = Vec::new();
    for tree in analysis.trees {
        let flow = &topology.network.flows[tree.flow];
        let flow_index = u16::try_from(tree.flow).unwrap_or(u16::MAX);
        if flow.source == name {
            let roots = tree.hops.iter().filter(|hop| hop.parent.is_none());
            let ports = roots.map(|hop| topology.servers[hop.server].end.port);
            match senders.iter_mut().find(|s| s.flow_index == flow_index) {
                Some(sender) => sender.ports.extend(ports),
                None => senders.push(SenderSpec {
                    flow: flow.name.clone(),
                    flow_index,
                    ports: ports.collect(),
                    queues: flow.contracts.iter().map(|c| c.priority).collect(),
                }),
            }
        }
        let here = flow.targets.iter().zip(&tree.paths).filter(|(target, _)| target.host == name);
        let last = here.filter_map(|(_, path)| path.last());
        let ports = last.map(|&hop| topology.servers[tree.hops[hop].server].far.port);
        for port in ports {
            match receivers.iter_mut().find(|r| r.flow_index == flow_index) {
                Some(receiver) => receiver.ports.push(port),
                None => receivers.push(ReceiverSpec {
                    flow: flow.name.clone(),
                    flow_index,
                    ports: vec![port],
                    skew_max_ns: flow.skew_max_ns,
                }),
            }
        }
    }
    HostDeployment { host: name.into(), ports: ports(analysis, node), senders, receivers }
}
