//! What this machine adds to the bounds of a live run (docs/theory/observation.md).
//!
//! A host that serves a thread late breaks the model by more than the stall itself: what waited is
//! caught up with, so that bursts grow downstream. Therefore the stall enters the analysis: the
//! network is planned again with every switch slower by it, on the same routes, and the difference
//! of the bounds is the allowance. It rests on a measurement and is never called a bound.

use crate::lab::HostAllowances;
use crate::port_service::{self, PortService};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use tenuto_io::WaitPolicy;
use tenuto_io::service_probe::{ServiceProbe, ServiceReport};
use tenuto_model::{FlowBound, MonitorSpec, Network, Plan, SwitchDeployment, Transition};
use tenuto_units::Span;

/// Threads that are probed at the same time: as many as the data plane keeps busy here.
const PROBES: usize = 3;
/// Between wake-ups of a probe.
const PROBE_PERIOD: Span = Span::from_us(250);
/// No machine that sleeps is taken to be better than this.
const STALL_NS_MIN: u64 = 1_000_000;

/// How this machine served threads that sleep until a frame or a deadline comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostService {
    /// For how long it was measured.
    pub measured_ns: u64,
    /// Wake-ups, over all probed threads.
    pub wakeups: u64,
    /// Half of the wake-ups were no later (of the worst thread).
    pub wakeup_ns_p50: u64,
    /// 99.9 % were no later (of the worst thread).
    pub wakeup_ns_p999: u64,
    /// The latest wake-up.
    pub wakeup_ns_max: u64,
    /// Allowed lateness of one element: 1.5 times the latest wake-up, at least 1 ms.
    pub stall_allowance_ns: u64,
    /// What the threads waited for.
    pub measured_on: MeasuredOn,
}

/// What carries the frames of a lab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabPorts {
    /// AF_PACKET with rings, and without where there is no memory for them.
    #[default]
    PacketRing,
    /// AF_PACKET without rings.
    Packet,
}

/// What the threads of a measurement waited for. A lab has the kind of ports that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredOn {
    /// Not measured.
    Nothing,
    /// Deadlines alone: no ports can be had here.
    Timers,
    /// Deadlines, and frames of ports without rings.
    Packet,
    /// Deadlines, and frames of the ports that a lab's nodes have.
    PacketRing,
}

impl HostService {
    /// A stated allowance instead of a measured one.
    pub const fn stated(stall_allowance_ns: u64) -> Self {
        Self {
            measured_ns: 0,
            wakeups: 0,
            wakeup_ns_p50: 0,
            wakeup_ns_p999: 0,
            wakeup_ns_max: 0,
            stall_allowance_ns,
            measured_on: MeasuredOn::Nothing,
        }
    }

    fn on_ports(found: &PortService, duration: Span) -> Self {
        Self {
            measured_ns: duration.as_ns(),
            wakeups: found.samples,
            wakeup_ns_p50: found.ns_p50,
            wakeup_ns_p999: found.ns_p999,
            wakeup_ns_max: found.ns_max,
            stall_allowance_ns: stall_allowance_ns(found.ns_max),
            measured_on: match found.is_ring {
                true => MeasuredOn::PacketRing,
                false => MeasuredOn::Packet,
            },
        }
    }

    fn from_reports(reports: &[ServiceReport]) -> Self {
        let worst = |of: fn(&ServiceReport) -> Span| {
            reports.iter().map(|r| of(r).as_ns()).max().unwrap_or(0)
        };
        let wakeup_ns_max = worst(|r| r.stall_max);
        Self {
            measured_ns: worst(|r| r.observed),
            wakeups: reports.iter().map(|r| r.samples as u64).sum(),
            wakeup_ns_p50: worst(|r| r.stall_p50),
            wakeup_ns_p999: worst(|r| r.stall_p999),
            wakeup_ns_max,
            stall_allowance_ns: stall_allowance_ns(wakeup_ns_max),
            measured_on: MeasuredOn::Timers,
        }
    }
}

fn stall_allowance_ns(late_ns_max: u64) -> u64 {
    late_ns_max.saturating_add(late_ns_max / 2).max(STALL_NS_MIN)
}

/// Measures this machine for `duration`, with as many threads as a small lab keeps busy, on these
/// ports; where namespaces are not allowed, on deadlines alone.
///
/// # Errors
/// Those of the kernel on waiting, or when no thread can be started.
pub fn measure_allowance(duration: Span, ports: LabPorts) -> io::Result<HostService> {
    match port_service::measure(ports, PROBES, PROBE_PERIOD, duration) {
        Ok(found) => Ok(HostService::on_ports(&found, duration)),
        Err(_) => on_timers(duration),
    }
}

fn on_timers(duration: Span) -> io::Result<HostService> {
    let probe = ServiceProbe { policy: WaitPolicy::Block, period: PROBE_PERIOD, duration };
    let mut threads = Vec::new();
    for _ in 0..PROBES {
        let run = move || {
            tenuto_io::realtime::set_timer_slack(Span::from_ns(1))?;
            probe.run()
        };
        threads.push(std::thread::Builder::new().name("probe".into()).spawn(run)?);
    }
    let mut reports = Vec::new();
    for thread in threads {
        reports.push(thread.join().map_err(|_| io::Error::other("a probe failed"))??);
    }
    Ok(HostService::from_reports(&reports))
}

/// What this machine adds, per bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowances {
    /// Lateness of one element that is no stall yet, nanoseconds.
    pub stall_ns: u64,
    /// Added to the bound of (flow index, target, row), nanoseconds.
    pub host_ns: HostAllowances,
    /// Added to the bound of a mode change, nanoseconds.
    pub change_ns: u64,
    /// The measurement that they rest on, for the report.
    pub service: Option<HostService>,
    /// Meters and monitors that bear with the lateness of hosts, of every switch.
    ///
    /// A frame that a host hands over late stands closer to the next one, so that a meter without
    /// room for it would police flows that keep their contract. What is enforced is what is
    /// analysed: these are the settings of the plan that the allowances come from.
    pub switches: Vec<SwitchDeployment>,
}

impl Allowances {
    /// The deployment of a switch with the meters and monitors that this machine needs.
    pub(crate) fn applied(&self, deployment: &SwitchDeployment) -> SwitchDeployment {
        let mut applied = deployment.clone();
        let Some(lenient) = self.switches.iter().find(|d| d.switch == deployment.switch) else {
            return applied;
        };
        for meter in &mut applied.meters {
            let found = lenient.meters.iter().find(|m| m.id == meter.id && m.flow == meter.flow);
            meter.burst_bytes =
                found.map_or(meter.burst_bytes, |m| m.burst_bytes.max(meter.burst_bytes));
        }
        for monitor in &mut applied.monitors {
            let is_it = |m: &&MonitorSpec| m.id == monitor.id && m.flow == monitor.flow;
            let Some(found) = lenient.monitors.iter().find(is_it) else { continue };
            for (own, other) in monitor.contracts.iter_mut().zip(&found.contracts) {
                own.jitter_ns = own.jitter_ns.max(other.jitter_ns);
            }
        }
        applied
    }
}

/// The allowances of a plan on this machine.
///
/// `planner` plans the network whose switches are slower by two stalls each (one on receiving,
/// one on sending) and whose hosts have one more stall of release jitter, on the routes of `plan`.
/// Where that has no finite bound any more, every element of the way counts four stalls.
pub fn allowances(
    plan: &Plan,
    host_service: &HostService,
    planner: &dyn Fn(&Network) -> Plan,
) -> Allowances {
    let stall_ns = host_service.stall_allowance_ns;
    let both = stall_ns.saturating_mul(2);
    let stalled = planner(&slowed(plan, stall_ns));
    let bound_of: BTreeMap<(&str, &str, Transition), u64> = stalled
        .flows
        .iter()
        .filter_map(|row| {
            Some(((row.flow.as_str(), row.target.as_str(), row.mode), row.delay_bound_ps?))
        })
        .collect();
    let mut host_ns = HostAllowances::new();
    for row in &plan.flows {
        let Some(flow) = plan.network.flows.iter().position(|f| f.name == row.flow) else {
            continue;
        };
        let Ok(flow) = u16::try_from(flow) else { continue };
        let key = (row.flow.as_str(), row.target.as_str(), row.mode);
        let allowance = match bound_of.get(&key).zip(row.delay_bound_ps) {
            Some((stalled, bound)) => stalled.saturating_sub(bound).div_ceil(1_000) + both,
            None => stall_ns.saturating_mul(4).saturating_mul(elements(row)),
        };
        host_ns.insert((flow, row.target.clone(), row.mode), allowance);
    }
    let hops = u64::try_from(trunk_diameter(&plan.network)).unwrap_or(u64::MAX);
    Allowances {
        stall_ns,
        host_ns,
        change_ns: both.saturating_mul(hops.saturating_add(1)),
        service: Some(*host_service),
        switches: stalled.switches,
    }
}

/// The plan's network on its routes, where every node stalls so long at each of its ports.
fn slowed(plan: &Plan, stall_ns: u64) -> Network {
    let mut network = plan.network.clone();
    for profile in network.profiles.values_mut() {
        let both = stall_ns.saturating_mul(2);
        profile.latency_ns_max = profile.latency_ns_max.saturating_add(both);
    }
    for contract in network.flows.iter_mut().flat_map(|flow| &mut flow.contracts) {
        contract.jitter_ns = contract.jitter_ns.saturating_add(stall_ns);
    }
    fix_routes(&mut network, plan);
    network
}

/// Elements of the longest way of a row, its ends included.
fn elements(row: &FlowBound) -> u64 {
    let hops = row.copies.iter().map(|copy| copy.hops.len()).max().unwrap_or(0);
    u64::try_from(hops).unwrap_or(u64::MAX).saturating_add(2)
}

/// The routes that were planned become those that the description asks for.
fn fix_routes(network: &mut Network, plan: &Plan) {
    for flow in &mut network.flows {
        let copies: Vec<Option<&str>> = match flow.copies.as_slice() {
            [] => vec![None],
            copies => copies.iter().map(|copy| Some(copy.as_str())).collect(),
        };
        let of_flow = || plan.routes.iter().filter(|route| route.flow == flow.name);
        let mut fixed: Vec<Vec<Option<Vec<String>>>> = Vec::new();
        for target in &flow.targets {
            let path = |copy: &Option<&str>| {
                let route = of_flow().find(|route| route.copy.as_deref() == *copy)?;
                let path = route.paths.iter().find(|path| path.target == target.host)?;
                Some(path.ports.iter().skip(1).map(|port| port.node.clone()).collect())
            };
            fixed.push(copies.iter().map(path).collect());
        }
        for (target, routes) in flow.targets.iter_mut().zip(fixed) {
            target.routes = routes;
        }
    }
}

/// Links between the two switches that are furthest apart, over switches only.
fn trunk_diameter(network: &Network) -> usize {
    let index = |name: &str| network.switches.iter().position(|s| s.name == name);
    let mut neighbours = vec![Vec::new(); network.switches.len()];
    for link in &network.links {
        if let (Some(a), Some(b)) = (index(&link.a.node), index(&link.b.node)) {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
    }
    let furthest = |start: usize| {
        let mut steps = vec![None; neighbours.len()];
        steps[start] = Some(0);
        let mut waiting = VecDeque::from([start]);
        let mut last = 0;
        while let Some(node) = waiting.pop_front() {
            last = steps[node].unwrap_or(0);
            for &next in &neighbours[node] {
                if steps[next].is_none() {
                    steps[next] = Some(last + 1);
                    waiting.push_back(next);
                }
            }
        }
        last
    };
    (0..neighbours.len()).map(furthest).max().unwrap_or(0)
}
