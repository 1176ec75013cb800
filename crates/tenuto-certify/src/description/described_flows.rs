//! What a flow may say of itself, taken alone and beside the others.

use crate::description::net::{Contract, Flow, Net};
use crate::description::packets::Packets;
use crate::description::read::{self, Size};
use crate::finding::rule;
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000;
/// The largest BAG, milliseconds (ARINC 664 part 7).
const BAG_MS_MAX: u64 = 128;
/// A message holds its stamp, and is no larger than 16 MB.
const MESSAGE_BYTES: std::ops::RangeInclusive<u32> = 16..=16_000_000;
/// A datagram in one frame.
const PAYLOAD_BYTES: std::ops::RangeInclusive<u32> = 1..=1_472;
/// A frame with FCS, as it may be stated.
const FRAME_BYTES: std::ops::RangeInclusive<u32> = 18..=1_518;

/// Checks every flow of a plan that is feasible or not.
pub(crate) fn check(net: &Net<'_>, is_feasible: bool) {
    let mut links: BTreeMap<u16, &str> = BTreeMap::new();
    let reached = Reached::new(net);
    for flow in &net.flows {
        let mut wrong = |found: String| {
            net.wrong(rule::DESCRIPTION, &flow.raw.name, "a flow", found);
        };
        if let Some(vl) = flow.raw.vl
            && let Some(other) = links.insert(vl, &flow.raw.name)
        {
            wrong(format!("virtual link {vl} is {other}"));
        }
        stated_flaws(net, flow.raw).map(str::to_owned).for_each(&mut wrong);
        for contract in flow.raw.contracts.iter().zip(&flow.contracts) {
            contract_flaws(flow.raw, contract).map(str::to_owned).for_each(&mut wrong);
            load_flaw(net, flow, contract.0).into_iter().for_each(&mut wrong);
            let burst = burst_flaw(net, flow, contract.0.size).filter(|_| is_feasible);
            burst.into_iter().for_each(&mut wrong);
        }
        reached.flaw(net, flow).into_iter().for_each(&mut wrong);
    }
}

/// What is wrong with the words and numbers of a flow, its contracts apart.
fn stated_flaws<'a>(
    net: &'a Net<'_>,
    raw: &'a read::Flow,
) -> impl Iterator<Item = &'static str> + 'a {
    let is_switch = |name: &String| net.raw.switches.iter().any(|switch| switch.name == *name);
    let networks = &net.raw.networks;
    let ways = raw.copies.len().max(1);
    let two_ways = raw.copies.is_empty() || raw.copies == ["A", "B"];
    let rules = [
        (
            raw.contracts.iter().all(|contract| contract.priority < net.queues_least()),
            "a class that every switch has",
        ),
        (raw.vl != Some(0), "virtual links are numbered from 1"),
        (raw.udp_port != Some(0), "UDP ports are numbered from 1"),
        (raw.monitor_at.iter().all(is_switch), "it is monitored at switches"),
        (
            if networks.is_empty() { two_ways } else { !raw.copies.is_empty() },
            "a copy on some network, or two copies A and B over one",
        ),
        (raw.skew_max_ns.is_none() || raw.copies.len() > 1, "a skew is between two copies"),
        (raw.skew_max_ns != Some(0), "copies never arrive at once"),
        (
            raw.targets.iter().all(|target| !target.deadline_ns.contains(&0)),
            "deadlines are above zero",
        ),
        (
            raw.targets.iter().all(|target| target.routes.len() <= ways),
            "a route for each copy, and no more",
        ),
    ];
    rules.into_iter().filter_map(|(holds, flaw)| (!holds).then_some(flaw))
}

/// What is wrong with one contract.
fn contract_flaws<'a>(
    flow: &'a read::Flow,
    (raw, built): (&'a read::Contract, &'a Contract),
) -> impl Iterator<Item = &'static str> + 'a {
    let is_link = flow.vl.is_some();
    let bag_ms = raw.period_ns / MS;
    let is_bag =
        raw.period_ns.is_multiple_of(MS) && bag_ms.is_power_of_two() && bag_ms <= BAG_MS_MAX;
    let is_size = match raw.size {
        Size::Message(bytes) => MESSAGE_BYTES.contains(&bytes),
        Size::Payload(bytes) => PAYLOAD_BYTES.contains(&bytes),
        Size::Frame(bytes) => FRAME_BYTES.contains(&bytes),
    };
    let rules = [
        (is_size, "messages of 16 B to 16 MB, payloads of 1 to 1472 B, frames of 18 to 1518 B"),
        (raw.jitter_ns < raw.period_ns, "its release jitter is below its period"),
        (!is_link || is_bag, "the BAG of a virtual link is a power of two from 1 to 128 ms"),
        (!is_link || built.packets.is_one_frame(), "a virtual link sends one frame per BAG"),
    ];
    rules.into_iter().filter_map(|(holds, flaw)| (!holds).then_some(flaw))
}

/// Whether the flow alone is more than a line of its source or a target carries.
fn load_flaw(net: &Net<'_>, flow: &Flow<'_>, raw: &read::Contract) -> Option<String> {
    let packets = Packets::of(raw.size, false)?;
    let sent = u128::from(packets.wire_bits()) * 1_000_000_000;
    for host in std::iter::once(flow.source).chain(flow.targets.iter().copied()) {
        for port in net.ports_of(host) {
            let rate = net.ports[port].rate_bps;
            if sent > u128::from(rate) * u128::from(raw.period_ns) {
                return Some(format!("alone it overloads {}", net.label(port)));
            }
        }
    }
    None
}

/// Whether no meter at the first switch of a flow lets a message through at once. A plan that is not
/// feasible may say so, with a refusal.
fn burst_flaw(net: &Net<'_>, flow: &Flow<'_>, size: Size) -> Option<String> {
    let packets = Packets::of(size, false)?;
    let mut firsts = net.ports_of(flow.source).filter_map(|port| net.profile(net.ports[port].peer));
    let is_small = firsts.any(|profile| {
        packets.counted_bits(profile.meter_counts) / 8 > profile.meter_burst_max_bytes
    });
    is_small.then(|| "no meter of its first switch lets a message through at once".into())
}

/// Which nodes are connected through switches of one network.
struct Reached {
    /// By node: the number of its part; every host is a part of its own.
    part: Vec<usize>,
}

impl Reached {
    fn new(net: &Net<'_>) -> Self {
        let mut part = vec![usize::MAX; net.nodes.len()];
        for start in 0..part.len() {
            if part[start] != usize::MAX {
                continue;
            }
            part[start] = start;
            let mut open = vec![start];
            while let Some(node) = open.pop() {
                for port in net.ports_of(node).filter(|port| net.is_trunk(*port)) {
                    let peer = net.ports[port].peer;
                    if part[peer] == usize::MAX {
                        part[peer] = start;
                        open.push(peer);
                    }
                }
            }
        }
        Self { part }
    }

    /// A target that no way of a copy leads to.
    fn flaw(&self, net: &Net<'_>, flow: &Flow<'_>) -> Option<String> {
        let copies: Vec<Option<&str>> = match net.raw.networks.is_empty() {
            true => vec![None],
            false => flow.raw.copies.iter().map(|copy| Some(copy.as_str())).collect(),
        };
        let parts = |host: usize, copy: Option<&str>| -> BTreeSet<usize> {
            let peers = net.ports_of(host).map(|port| net.ports[port].peer);
            let is_of = |peer: &usize| {
                let network = net.nodes[*peer].switch.and_then(|(it, _)| it.network.as_deref());
                copy.is_none() || network == copy
            };
            peers.filter(is_of).map(|peer| self.part[peer]).collect()
        };
        for copy in copies {
            let near = parts(flow.source, copy);
            for &target in &flow.targets {
                let is_beside = near.contains(&self.part[target]) && copy.is_none();
                if !is_beside && near.is_disjoint(&parts(target, copy)) {
                    let on = copy.unwrap_or("the network");
                    return Some(format!("no path to {} on {on}", net.nodes[target].name));
                }
            }
        }
        None
    }
}
