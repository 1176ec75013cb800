//! Changes of flows and links, each from the mildest on.

use super::change::Change;
use crate::refused::{kilobytes, milliseconds};
use std::collections::BTreeSet;
use tenuto_model::{Apart, Flow, FlowBound, Network, OtherTraffic, Plan, Refusal, Size};

const NS_PER_MS: u64 = 1_000_000;
const GIGABIT_BPS: u64 = 1_000_000_000;
/// What every message has room for, bytes.
const STAMP_BYTES: u32 = 16;
/// Times are told in microseconds.
const NS_PER_US: u64 = 1_000;
/// Deadlines and skews are told to so much.
const STEP_NS: u64 = 10_000;
/// The longest BAG of a virtual link.
const BAG_MAX_NS: u64 = 128 * NS_PER_MS;

fn of_flow(text: String, flow: usize, change: impl Fn(&mut Flow) + 'static) -> Change {
    Change::new(text, move |network| change(&mut network.flows[flow]))
}

/// 1, 2 or 5 times a power of ten, not above `value`.
fn nice(value: u64) -> u64 {
    let mut power = 1;
    while power <= value / 10 {
        power *= 10;
    }
    [5, 2].into_iter().map(|n| n * power).find(|&n| n <= value).unwrap_or(power)
}

const fn bytes(size: Size) -> (&'static str, u32, u32) {
    match size {
        Size::MessageBytes(bytes) => ("message", bytes, STAMP_BYTES),
        Size::PayloadBytes(bytes) => ("payload", bytes, 18),
        Size::FrameBytes(bytes) => ("frame", bytes, 64),
    }
}

/// The largest size of a flow: its word, its bytes, the least that it can be, and one step.
fn largest_size(flow: &Flow) -> Option<(&'static str, u32, u32, u32)> {
    let largest = flow.contracts.iter().map(|c| c.size).max_by_key(|s| bytes(*s).1)?;
    let (word, now, least) = bytes(largest);
    let step = u32::try_from(nice(u64::from(now) / 100).max(1)).unwrap_or(1);
    Some((word, now, least, step))
}

/// No message of a flow above so many bytes.
fn cap(flow: &mut Flow, most: u32) {
    for contract in &mut flow.contracts {
        contract.size = match contract.size {
            Size::MessageBytes(own) => Size::MessageBytes(own.min(most)),
            Size::PayloadBytes(own) => Size::PayloadBytes(own.min(most)),
            Size::FrameBytes(own) => Size::FrameBytes(own.min(most)),
        };
        let largest = contract.size.frames(false).frame_bytes_max;
        contract.frame_bytes_min = contract.frame_bytes_min.map(|own| own.min(largest));
    }
}

/// Smaller messages in steps of about 1 %, down to a twentieth.
pub(super) fn sizes(network: &Network, flow: usize) -> Vec<Change> {
    let it = &network.flows[flow];
    let Some((word, now, least, step)) = largest_size(it) else { return Vec::new() };
    let steps = (now.saturating_sub(1) / step).min(1_000);
    let values = (1..=steps).rev().map(|n| n * step).filter(|&v| v >= least && v >= now / 20);
    let change = |most: u32| {
        let text = format!("{} {word} <= {}", it.name, kilobytes(most));
        of_flow(text, flow, move |flow| cap(flow, most))
    };
    values.map(change).collect()
}

/// Smaller messages of several flows by one common factor, in steps of 1 %, down to a twentieth.
pub(super) fn sizes_together(network: &Network, flows: &[usize]) -> Vec<Change> {
    let known = |&flow: &usize| Some((flow, largest_size(&network.flows[flow])?));
    let sizes: Vec<_> = flows.iter().filter_map(known).collect();
    if sizes.len() < 2 {
        return Vec::new();
    }
    let change = |percent: u32| {
        let mut caps = Vec::new();
        let mut texts = Vec::new();
        for &(flow, (word, now, least, step)) in &sizes {
            let scaled = u64::from(now) * u64::from(percent) / 100;
            let most = u32::try_from(scaled).unwrap_or(now) / step * step;
            let most = most.max(least).min(now);
            caps.push((flow, most));
            texts.push(format!("{} {word} <= {}", network.flows[flow].name, kilobytes(most)));
        }
        Change::new(texts.join(" and "), move |network| {
            caps.iter().for_each(|&(flow, most)| cap(&mut network.flows[flow], most));
        })
    };
    (5..100).rev().map(change).collect()
}

/// The ways that the description fixes, left to the planner.
pub(super) fn free_routes(network: &Network, refusal: &Refusal) -> Vec<Change> {
    let is_fixed = |flow: &&Flow| {
        refusal.flows.contains(&flow.name)
            && flow.targets.iter().any(|target| target.routes.iter().any(Option::is_some))
    };
    let Some(flow) = network.flows.iter().find(is_fixed) else { return Vec::new() };
    let name = flow.name.clone();
    vec![Change::new(format!("{name} routes: left out"), move |network| {
        let flows = network.flows.iter_mut().filter(|flow| flow.name == name);
        let targets = flows.flat_map(|flow| &mut flow.targets);
        targets.flat_map(|target| &mut target.routes).for_each(|route| *route = None);
    })]
}

/// Longer periods in steps of about 1 %, up to ten times; BAGs by doubling.
pub(super) fn periods(network: &Network, flow: usize) -> Vec<Change> {
    let it = &network.flows[flow];
    let Some(now) = it.contracts.iter().map(|c| c.period_ns).min() else { return Vec::new() };
    let values: Vec<u64> = if it.vl.is_some() {
        let doubled = std::iter::successors(Some(now * 2), |ns| Some(ns * 2));
        doubled.take_while(|&ns| ns <= BAG_MAX_NS).collect()
    } else {
        let step = if now >= 100 * NS_PER_MS { nice(now / 100) } else { nice(now / 20) };
        let step = step.max(if now >= NS_PER_MS { NS_PER_MS } else { NS_PER_US });
        let first = now / step + 1;
        (first..first + 400).map(|n| n * step).take_while(|&ns| ns <= now * 10).collect()
    };
    let change = |least: u64| {
        let text = format!("{} period >= {}", it.name, milliseconds(least));
        of_flow(text, flow, move |flow| {
            for contract in &mut flow.contracts {
                contract.period_ns = contract.period_ns.max(least);
            }
        })
    };
    values.into_iter().map(change).collect()
}

/// The late flow's scheduling class and the largest flow's, exchanged.
pub(super) fn above(network: &Network, refusal: &Refusal, largest: usize) -> Vec<Change> {
    let late = refusal.flows.first();
    let Some(late) = late.and_then(|n| network.flows.iter().position(|f| f.name == *n)) else {
        return Vec::new();
    };
    let (low, high) = (network.flows[late].highest(), network.flows[largest].highest());
    if late == largest || high.priority >= low.priority {
        return Vec::new();
    }
    let mut network = network.clone();
    let (priority_late, priority_large) = (high.priority, low.priority);
    network.flows[late].contracts.iter_mut().for_each(|c| c.priority = priority_late);
    network.flows[largest].contracts.iter_mut().for_each(|c| c.priority = priority_large);
    let (late, large) = (&network.flows[late].name, &network.flows[largest].name);
    let text = format!(
        "{late} above {large} (priorities {priority_late} and {priority_large}, all others as planned)"
    );
    vec![Change::to(text, network)]
}

/// The refused link at 1 Gbit/s.
pub(super) fn faster(network: &Network, port: &tenuto_model::Port) -> Vec<Change> {
    let mut network = network.clone();
    let is_end = |end: &tenuto_model::LinkEnd| end.node == port.node && end.port == port.port;
    let at = network.links.iter().position(|link| is_end(&link.a) || is_end(&link.b));
    let Some(at) = at.filter(|at| network.links[*at].rate_bps < GIGABIT_BPS) else {
        return Vec::new();
    };
    let nodes =
        |link: &tenuto_model::Link| BTreeSet::from([link.a.node.clone(), link.b.node.clone()]);
    let beside = network.links.iter().filter(|it| nodes(it) == nodes(&network.links[at])).count();
    let link = &mut network.links[at];
    link.rate_bps = GIGABIT_BPS;
    let (a, b) = (&link.a, &link.b);
    let text = match beside {
        1 => format!("link {} - {} at 1 Gbit/s", a.node, b.node),
        _ => format!("link {}:{} - {}:{} at 1 Gbit/s", a.node, a.port, b.node, b.port),
    };
    vec![Change::to(text, network)]
}

/// Nothing but flows.
pub(super) fn dropping(network: &Network) -> Vec<Change> {
    let dropped = Network { other_traffic: OtherTraffic::Drop, ..network.clone() };
    vec![Change::to("other_traffic: drop".to_owned(), dropped)]
}

/// The least safe quiet window.
pub(super) fn quieter(network: &Network, refusal: &Refusal) -> Vec<Change> {
    let Some(needed) = refusal.needed else { return Vec::new() };
    let ms = needed.div_ceil(NS_PER_MS);
    let mut network = network.clone();
    network.mode_return.quiet_ns = Some(ms * NS_PER_MS);
    vec![Change::to(format!("quiet >= {ms} ms"), network)]
}

/// Copies as far apart as they may arrive.
pub(super) fn further_apart(network: &Network, refusal: &Refusal) -> Vec<Change> {
    let (Some(needed), [name]) = (refusal.needed, refusal.flows.as_slice()) else {
        return Vec::new();
    };
    let least = needed.div_ceil(STEP_NS) * STEP_NS;
    let mut network = network.clone();
    let flow = network.flows.iter_mut().find(|flow| flow.name == *name);
    flow.into_iter().for_each(|flow| flow.skew_max_ns = Some(least));
    vec![Change::to(format!("{name} skew_max >= {}", milliseconds(least)), network)]
}

/// Copies that may cross the same switches.
pub(super) fn over_links(network: &Network, refusal: &Refusal) -> Vec<Change> {
    let is_it = |flow: &&mut Flow| {
        refusal.flows.contains(&flow.name) && !flow.copies.is_empty() && flow.apart.is_usual()
    };
    let mut changed = network.clone();
    let flow = changed.flows.iter_mut().find(is_it).filter(|_| network.networks.is_empty());
    let Some(flow) = flow else { return Vec::new() };
    flow.apart = Apart::Links;
    let text = format!("{} copies: link-disjoint", flow.name);
    vec![Change::to(text, changed)]
}

/// Deadlines of the late flows at their bounds, to the next 10 µs: those of the network as it is,
/// and with each link lost that may be.
pub(super) fn later(plan: &Plan, refusal: &Refusal) -> Vec<Change> {
    /// More late flows are no matter of a few deadlines.
    const FLOWS_MAX: usize = 12;
    if refusal.flows.len() > FLOWS_MAX {
        return Vec::new();
    }
    let lost = plan.link_losses.iter().flat_map(|loss| &loss.flows);
    let rows: Vec<&FlowBound> = plan.flows.iter().chain(lost).collect();
    let mut network = plan.network.clone();
    let mut texts = Vec::new();
    for name in &refusal.flows {
        let rows = rows.iter().filter(|row| row.flow == *name);
        let Some(bound) = rows.filter_map(|row| row.delay_bound_ps).max() else {
            return Vec::new();
        };
        let least = bound.div_ceil(STEP_NS * 1_000) * STEP_NS;
        let Some(flow) = network.flows.iter_mut().find(|flow| flow.name == *name) else { continue };
        let mut deadlines = flow.targets.iter_mut().flat_map(|t| &mut t.deadline_ns).peekable();
        if deadlines.peek().is_none() {
            continue;
        }
        deadlines.for_each(|deadline| *deadline = least.max(*deadline));
        texts.push(format!("{name} deadline >= {}", milliseconds(least)));
    }
    if texts.is_empty() { Vec::new() } else { vec![Change::to(texts.join(" and "), network)] }
}
