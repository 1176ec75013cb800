//! Shared processors in the plan: claims, rows, and what is scarce there.

use crate::analysis::context::Analysis;
use crate::analysis::mode_result::ModeResult;
use crate::analysis::processor::{Held, Line, Site};
use crate::refused;
use std::collections::BTreeSet;
use tenuto_calculus::div_up;
use tenuto_model::{Port, ProcessorRow, ProcessorService, Profile, Receive, Refusal};

/// 10⁻⁶ ns of work per second in one part per million of a processor.
const FINE_PER_PPM: i128 = 1_000_000_000;
/// 10⁻⁶ ns of work in a picosecond.
const FINE_PER_PS: i128 = 1_000;
/// A whole processor, parts per million.
const WHOLE_PPM: u64 = 1_000_000;

/// The claims: every time at a processor that has a bound.
pub(crate) fn services(analysis: &Analysis<'_>) -> Vec<ProcessorService> {
    let topology = analysis.ports.topology;
    let mut claims = Vec::new();
    for result in &analysis.results {
        for (_, site) in analysis.ports.processors.all(result.mode_input.transition) {
            for line in site.lines.iter().filter(|line| !line.streams.is_empty()) {
                let far = topology.servers[line.line].far;
                claims.extend(result.solution.processing[line.line].map(|p| ProcessorService {
                    mode: result.mode_input.transition,
                    entry: Port { node: far.node.clone(), port: far.port },
                    delay_ps: u64::try_from(p.0).unwrap_or(u64::MAX),
                }));
            }
        }
    }
    claims
}

/// Load and receive buffers.
pub(crate) fn rows(analysis: &Analysis<'_>) -> Vec<ProcessorRow> {
    let mut rows = Vec::new();
    // What mode changes take of a processor has no bound then, nor has its load.
    if analysis.is_given_up {
        return rows;
    }
    for result in &analysis.results {
        for (node, site) in analysis.ports.processors.all(result.mode_input.transition) {
            let held: Vec<Held> =
                result.held.iter().filter(|(at, _)| *at == node).map(|(_, held)| *held).collect();
            let unlimited = Held { port: None, line: None, backlog: None };
            let held = if site.buffer.is_none() { vec![unlimited] } else { held };
            rows.extend(held.iter().map(|held| ProcessorRow {
                switch: analysis.ports.topology.nodes[node].name.into(),
                port: held.port,
                mode: result.mode_input.transition,
                load_ppm: load_ppm(site.load_of_contracts_ubps()),
                backlog_bound: held.backlog,
                buffer_limit: site.buffer.map(|buffer| buffer.count),
                unit: site.buffer.map_or("frames", |buffer| buffer.unit.noun()).into(),
            }));
        }
    }
    rows
}

fn load_ppm(load_ubps: i128) -> u64 {
    u64::try_from(div_up(load_ubps, FINE_PER_PPM)).unwrap_or(u64::MAX)
}

/// Processors that are asked for more than they have, hosts that they cannot be protected from, and
/// receive buffers that would overflow.
pub(crate) fn refusals(analysis: &Analysis<'_>) -> Vec<Refusal> {
    let nodes = 0..analysis.ports.topology.nodes.len();
    nodes.flat_map(|node| of_node(analysis, node)).collect()
}

/// The refusals of one processor, in the first mode or raise that has any.
fn of_node(analysis: &Analysis<'_>, node: usize) -> Vec<Refusal> {
    for result in &analysis.results {
        let site = analysis.ports.processors.site_in(result.mode_input.transition, node);
        let Some(site) = site else { continue };
        let load = load_ppm(site.load_of_contracts_ubps());
        if load > WHOLE_PPM {
            return vec![overload(analysis, node, (site, result), load)];
        }
        let open = unprotected(analysis, site, result);
        let here = if open.is_empty() {
            full(analysis, node, site, result).into_iter().collect()
        } else {
            open
        };
        if !here.is_empty() {
            return here;
        }
    }
    Vec::new()
}

fn profile<'a>(analysis: &Analysis<'a>, node: usize) -> Option<&'a Profile> {
    analysis.ports.topology.nodes[node].profile
}

/// Flows that enter, those that take most of the processor first, and their shares in words.
fn contributors(analysis: &Analysis<'_>, site: &Site<'_>) -> (Vec<String>, String) {
    let mut shares: Vec<(usize, i128)> = Vec::new();
    for stream in site.lines.iter().flat_map(|line| &line.streams) {
        let Some(visit) = stream.visit else { continue };
        let tree = analysis.ports.port_graph.visits[visit].tree;
        let flow = analysis.trees[tree].flow;
        match shares.iter_mut().find(|(known, _)| *known == flow) {
            Some((_, share)) => *share += stream.work.rate_ubps,
            None => shares.push((flow, stream.work.rate_ubps)),
        }
    }
    shares.sort_by_key(|&(flow, share)| (std::cmp::Reverse(share), flow));
    let flows = &analysis.ports.topology.network.flows;
    let percent = |share: i128| {
        let tenths = div_up(share, FINE_PER_PPM * 1_000);
        format!("{}.{} %", tenths / 10, tenths % 10)
    };
    let mut parts: Vec<String> = shares
        .iter()
        .take(8)
        .map(|&(flow, share)| format!("{} {}", flows[flow].name, percent(share)))
        .collect();
    if shares.len() > 8 {
        let rest = shares[8..].iter().map(|(_, share)| share).sum();
        parts.push(format!("{} more flows {}", shares.len() - 8, percent(rest)));
    }
    if site.processor.control.time_ps > 0 {
        parts.push(format!("control {}", percent(site.control.rate_ubps)));
    }
    for share in &site.processor.slices.budgets {
        let per_s_ps = site.processor.slices.of(share).per_s_ps;
        let per_s = i128::try_from(per_s_ps).unwrap_or(i128::MAX).saturating_mul(FINE_PER_PS);
        parts.push(format!("slice {} {}", share.name, percent(per_s)));
    }
    let names = shares.iter().map(|&(flow, _)| flows[flow].name.clone()).collect();
    (names, parts.join(", "))
}

fn overload(
    analysis: &Analysis<'_>,
    node: usize,
    (site, result): (&Site<'_>, &ModeResult),
    load: u64,
) -> Refusal {
    let (flows, because) = contributors(analysis, site);
    Refusal {
        mode: Some(result.mode_input.transition),
        needed: Some(load),
        available: Some(WHOLE_PPM),
        unit: "ppm".into(),
        flows,
        because: format!("share of one processor for all ports: {because}"),
        ..refused::at(analysis.ports.topology.nodes[node].name, "processor")
    }
}

/// Hosts that could take the processor, or its buffer, from everybody else.
fn unprotected(analysis: &Analysis<'_>, site: &Site<'_>, result: &ModeResult) -> Vec<Refusal> {
    let topology = analysis.ports.topology;
    let Some(exposure) = exposure(analysis, site, result) else { return Vec::new() };
    let (flows, _) = contributors(analysis, site);
    let others = |line: usize| {
        let own: BTreeSet<&str> = topology
            .network
            .flows
            .iter()
            .filter(|flow| flow.source == topology.nodes[topology.servers[line].node].name)
            .map(|flow| flow.name.as_str())
            .collect();
        flows.iter().filter(|name| !own.contains(name.as_str())).cloned().collect::<Vec<_>>()
    };
    let of = |line: &Line| {
        let label = topology.label(line.line);
        let why = match exposure {
            Exposure::Queue => "its frames stand in the one queue of all ports",
            Exposure::Buffer => "its frames fill the buffer of all ports",
            Exposure::Turns => "its turns leave the other ports too little",
            Exposure::Heap => {
                "what waits in its queue goes on together, and no buffer of that port bounds it"
            }
        };
        let ppm = (exposure != Exposure::Heap).then(|| load_ppm(line.work.rate_ubps));
        Refusal {
            mode: Some(result.mode_input.transition),
            needed: ppm,
            available: ppm.map(|_| WHOLE_PPM),
            unit: ppm.map_or_else(String::new, |_| "ppm".into()),
            flows: others(line.line),
            because: format!("not protected against a babbling host at {label}: {why}"),
            ..refused::at(label, "processor")
        }
    };
    let processors = &analysis.ports.processors;
    let is_one = |line: &&Line| match exposure {
        Exposure::Heap => processors.is_open(line),
        _ => line.is_babbling,
    };
    site.lines.iter().filter(is_one).map(of).collect()
}

/// What a babbling host takes from others at a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exposure {
    /// The one queue of all ports.
    Queue,
    /// The one receive buffer of all ports.
    Buffer,
    /// The processor's time.
    Turns,
    /// Room and time behind it, with all that it let wait in its own queue.
    Heap,
}

fn exposure(analysis: &Analysis<'_>, site: &Site<'_>, result: &ModeResult) -> Option<Exposure> {
    let shares_buffer = site.buffer.is_some_and(|buffer| !buffer.is_per_port);
    if site.processor.receive == Receive::Fifo {
        let is_exposed = load_ppm(site.load_ubps()) > WHOLE_PPM || shares_buffer;
        return is_exposed.then_some(Exposure::Queue);
    }
    let processors = &analysis.ports.processors;
    let is_open = |site: &Site<'_>| site.lines.iter().any(|line| processors.is_open(line));
    if shares_buffer {
        return site.lines.iter().any(|line| line.is_babbling).then_some(Exposure::Buffer);
    }
    if is_open(site) {
        return Some(Exposure::Heap);
    }
    // Behind a heap elsewhere turns have no bound either, and are not to blame.
    let mut all = processors.all(result.mode_input.transition);
    let is_behind = all.any(|(_, other)| is_open(other));
    (!is_behind && has_no_share(site, result)).then_some(Exposure::Turns)
}

/// Whether the turns of the other ports leave flows of some port without a bound.
fn has_no_share(site: &Site<'_>, result: &ModeResult) -> bool {
    let mut used = site.lines.iter().filter(|line| !line.streams.is_empty());
    site.lines.iter().any(|line| line.is_babbling)
        && used.any(|line| result.solution.processing[line.line].is_none())
}

/// A receive buffer that frames may not fit into, in frames of the largest size.
fn full(
    analysis: &Analysis<'_>,
    node: usize,
    site: &Site<'_>,
    result: &ModeResult,
) -> Option<Refusal> {
    let buffer = site.buffer?;
    let here = result.held.iter().filter(|(at, _)| *at == node);
    let worst = here.filter_map(|(_, held)| Some((held, held.backlog?)));
    let (held, units) = worst.max_by_key(|(_, units)| *units).filter(|(_, u)| *u > buffer.count)?;
    let lines = site.lines.iter().filter(|line| held.line.is_none_or(|own| own == line.line));
    let bytes = lines.flat_map(|line| &line.streams).map(|s| s.frame_bytes_max).max()?;
    let place = u64::from(buffer.has_place_in_service);
    let needed = units.div_ceil(buffer.unit.of_frame(bytes).max(1)) + place;
    let (flows, because) = contributors(analysis, site);
    let load = load_ppm(site.load_of_contracts_ubps());
    let name = &profile(analysis, node)?.name;
    Some(Refusal {
        mode: Some(result.mode_input.transition),
        needed: Some(needed),
        available: Some(buffer.frames(bytes)),
        unit: "frames".into(),
        flows,
        because: format!(
            "these may arrive together at the one processor of a {name}, in frames of {bytes} B; \
             rate is not the problem: {} % used ({because})",
            load.div_ceil(10_000)
        ),
        ..refused::at(analysis.ports.topology.nodes[node].name, "buffer")
    })
}
