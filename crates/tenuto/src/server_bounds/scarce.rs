//! What cannot be guaranteed on a server graph: where, by how much, because of what.

use super::{Bounded, loads_ubps, rate_ubps, service_ubps};
use crate::format::counted;
use serde::Serialize;
use std::fmt::Write;
use tenuto_bounds::{GraphFlow, GraphVisit, TargetBound, line_loads_ubps};
use tenuto_model::quantity::{format_rate_ubps, format_time_ps};

/// Flows that are named as the reason of a refusal.
const NAMED_MAX: usize = 8;

/// One scarce place.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Refusal {
    place: String,
    resource: &'static str,
    mode: Option<String>,
    needed: Option<u64>,
    available: Option<u64>,
    unit: &'static str,
    flows: Vec<String>,
    because: String,
    would_fit: Vec<String>,
    /// Rows of the table that this place leaves without their guarantee.
    #[serde(skip)]
    harmed: usize,
}

/// Every scarce place: overloaded servers and lines, else targets without a bound, and late targets.
pub(crate) fn refusals(bounded: &Bounded) -> Vec<Refusal> {
    let mut found = overloads(bounded);
    if found.is_empty() {
        found.extend(unbounded(bounded));
    }
    found.extend(bounded.bounds.iter().filter_map(|bound| late(bounded, bound)));
    found
}

/// A value in 64 bits, as documents have it.
fn plain(value: i128) -> Option<u64> {
    u64::try_from(value).ok()
}

fn overloads(bounded: &Bounded) -> Vec<Refusal> {
    let graph = &bounded.graph;
    let over = |(index, load): (usize, i128)| {
        let server = &graph.servers[index];
        let service = service_ubps(server);
        let is_there = |_: &GraphFlow, visit: GraphVisit| visit.server == index;
        (load > service).then(|| overload(bounded, server.name.clone(), (load, service), &is_there))
    };
    let choked = |((from, to), load): ((usize, usize), i128)| {
        let line = graph.servers[from].line.filter(|_| bounded.document.line_shaping)?.rate_ubps;
        let is_behind = |flow: &GraphFlow, visit: GraphVisit| {
            let before = visit.parent.map(|parent| flow.visits[parent].server);
            (before, visit.server) == (Some(from), to)
        };
        let place = format!("line from {} to {}", graph.servers[from].name, graph.servers[to].name);
        (load > line).then(|| overload(bounded, place, (load, line), &is_behind))
    };
    let servers = loads_ubps(graph).into_iter().enumerate().filter_map(over);
    servers.chain(line_loads_ubps(graph).into_iter().filter_map(choked)).collect()
}

/// A place that flows bring more to than it takes.
fn overload(
    bounded: &Bounded,
    place: String,
    (load, rate): (i128, i128),
    is_there: &dyn Fn(&GraphFlow, GraphVisit) -> bool,
) -> Refusal {
    let graph = &bounded.graph;
    let passes = |flow: &&GraphFlow| flow.visits.iter().any(|visit| is_there(flow, *visit));
    let mut flows: Vec<_> = graph.flows.iter().filter(passes).collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(rate_ubps(flow)));
    let named = flows
        .iter()
        .take(NAMED_MAX)
        .map(|flow| format!("{} {}", flow.name, rate_text(rate_ubps(flow))));
    let mut because = named.collect::<Vec<_>>().join(", ");
    if flows.len() > NAMED_MAX {
        let _ = write!(because, ", and {} more", counted(flows.len() - NAMED_MAX, "flow"));
    }
    let on_way = |bound: &&TargetBound| {
        let flow = &graph.flows[bound.flow];
        let last = Some(flow.targets[bound.target].visit);
        let mut way = std::iter::successors(last, |visit| flow.visits[*visit].parent);
        way.any(|visit| is_there(flow, flow.visits[visit]))
    };
    Refusal {
        place,
        resource: "rate",
        mode: None,
        needed: plain(load),
        available: plain(rate),
        unit: "ubit/s",
        flows: flows.iter().map(|flow| flow.name.clone()).collect(),
        because,
        would_fit: Vec::new(),
        harmed: bounded.bounds.iter().filter(on_way).count(),
    }
}

/// Targets that no method bounds, though no server is overloaded: cyclic dependencies.
fn unbounded(bounded: &Bounded) -> Option<Refusal> {
    let rows: Vec<_> = bounded.bounds.iter().filter(|bound| bound.delay.is_none()).collect();
    let first = rows.first()?;
    let servers: Vec<String> = bounded
        .way(first)
        .iter()
        .filter(|(_, delay)| delay.is_none())
        .map(|(server, _)| server.name.clone())
        .collect();
    let mut flows: Vec<String> =
        rows.iter().map(|bound| bounded.graph.flows[bound.flow].name.clone()).collect();
    flows.dedup();
    Some(Refusal {
        place: servers.join(", "),
        resource: "stability",
        mode: None,
        needed: None,
        available: None,
        unit: "",
        flows,
        because: "bursts grow around a cycle of servers faster than the methods can show they \
                  are served"
            .to_owned(),
        would_fit: Vec::new(),
        harmed: rows.len(),
    })
}

fn late(bounded: &Bounded, bound: &TargetBound) -> Option<Refusal> {
    let target = bounded.target(bound);
    let (deadline, delay) = (target.deadline?.0, bound.delay?.0);
    if delay <= deadline {
        return None;
    }
    let flow = &bounded.graph.flows[bound.flow].name;
    let way = bounded.way(bound);
    let worst = way.iter().filter_map(|(server, delay)| Some((delay.as_ref()?, &server.name)));
    let worst = worst.max().map_or_else(String::new, |(delay, name)| {
        format!("the longest of {} is {name}, {} alone", counted(way.len(), "server"), time(*delay))
    });
    Some(Refusal {
        place: format!("{flow} to {}", target.name),
        resource: "time",
        mode: None,
        needed: plain(delay),
        available: plain(deadline),
        unit: "ps",
        flows: vec![flow.clone()],
        because: worst,
        // The bound is certified, so this deadline is kept.
        would_fit: vec![format!("deadline >= {}", time(delay))],
        harmed: 1,
    })
}

fn time(ps: i128) -> String {
    format_time_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}

fn rate_text(ubps: i128) -> String {
    format_rate_ubps(u64::try_from(ubps).unwrap_or(u64::MAX))
}

/// The refusals as people read them.
pub(super) fn blocks(refusals: &[Refusal], rows: usize) -> String {
    let mut out = String::new();
    for refusal in refusals {
        let harmed = refusal.harmed;
        let _ =
            writeln!(out, "REFUSED: {harmed} of {} cannot be guaranteed", counted(rows, "bound"));
        let mut say = |name: &str, text: &str| {
            let _ = writeln!(out, "  {name:<9} {text}");
        };
        say("place", &refusal.place);
        say("resource", &refusal.amount());
        if !refusal.because.is_empty() {
            say("because", &refusal.because);
        }
        if !refusal.would_fit.is_empty() {
            say("would fit", &refusal.would_fit.join(", or "));
        }
    }
    out
}

impl Refusal {
    fn amount(&self) -> String {
        let (Some(needed), Some(available)) = (self.needed, self.available) else {
            return format!("{}: there is no bound", self.resource);
        };
        let show = |value: u64| match self.unit {
            "ps" => format_time_ps(value),
            _ => format_rate_ubps(value),
        };
        let short = needed.saturating_sub(available);
        let (needed, available, short) = (show(needed), show(available), show(short));
        format!("{}: needed {needed}, have {available}; short {short}", self.resource)
    }
}
