//! Plans of server graphs: bounds, what is scarce, and how both are told.

pub(crate) mod difference;
pub(crate) mod explain;
pub(crate) mod explain_text;
pub(crate) mod json;
mod scarce;
pub(crate) mod text;

pub(crate) use scarce::{Refusal, refusals};

use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::side_by_side::SideBySide;
use std::time::{Duration, Instant};
use tenuto_bounds::{
    Analysis, Document, GraphServer, GraphTarget, Options, ServerGraph, TargetBound, has_cycles,
};
use tenuto_certify::BoundsCertificate;

/// A server graph whose bounds the checker has accepted.
#[derive(Debug)]
pub(crate) struct Bounded {
    /// The graph.
    pub(crate) graph: ServerGraph,
    /// A bound for every flow and target.
    pub(crate) bounds: Vec<TargetBound>,
    /// What was checked, and is written with `-o`.
    pub(crate) document: Document,
    /// The document as text.
    pub(crate) text: String,
    /// The checker's word.
    pub(crate) certificate: BoundsCertificate,
    /// How long the search took.
    pub(crate) took: Duration,
}

/// Inequalities of one program, and of all, where flows meet in circles and no method is asked
/// for: a fifth of the time of larger ones, and bounds within a hundredth of theirs.
const CIRCLE_ROWS: (usize, usize) = (8_000, 400_000);

/// Searches bounds, and has the checker rebuild every one of them. With `is_usual`, smaller
/// programs are enough in cycles, unless they leave a target without a bound.
pub(crate) fn bounded(
    graph: ServerGraph,
    options: &Options,
    is_usual: bool,
) -> Result<Bounded, Failure> {
    let started = Instant::now();
    let mut progress = Progress::new();
    let mut search = |options: &Options| {
        tenuto_bounds::analyse_on(&graph, options, &SideBySide, &mut |step| {
            progress.say(|| format!("{}: {} of {}", step.method, step.done, step.total));
        })
    };
    let (rows_max, rows_total_max) = CIRCLE_ROWS;
    let brief = Options { rows_max, rows_total_max, ..*options };
    let first = (is_usual && has_cycles(&graph)).then(|| search(&brief));
    let is_complete =
        |analysis: &Analysis| analysis.bounds.iter().all(|bound| bound.delay.is_some());
    let analysis = first.filter(is_complete).unwrap_or_else(|| search(options));
    let took = started.elapsed();
    if let [first, rest @ ..] = analysis.faults.as_slice() {
        let more = if rest.is_empty() { String::new() } else { format!(", {} more", rest.len()) };
        let message = format!("the graph cannot be analysed: {first}{more}");
        return Err(Failure::input(message, None, Some("`tenuto check` says where")));
    }
    progress.say(|| "checking the bounds".into());
    let document = analysis.document(&graph);
    let text = output::json(&document);
    let certified = tenuto_certify::certify_bounds(&text);
    drop(progress);
    let certificate = certified.map_err(|findings| {
        let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
        Failure::not_certified(&findings)
    })?;
    Ok(Bounded { graph, bounds: analysis.bounds, document, text, certificate, took })
}

impl Bounded {
    /// The target of a bound.
    pub(crate) fn target(&self, bound: &TargetBound) -> &GraphTarget {
        &self.graph.flows[bound.flow].targets[bound.target]
    }

    /// Slack in picoseconds; `None` without a deadline or without a bound.
    pub(crate) fn slack_ps(&self, bound: &TargetBound) -> Option<i128> {
        Some(self.target(bound).deadline?.0 - bound.delay?.0)
    }

    /// The servers on the way to a target, with their delays by total flow analysis.
    pub(crate) fn way(&self, bound: &TargetBound) -> Vec<(&GraphServer, Option<i128>)> {
        let path = self.graph.path(bound.flow, bound.target);
        let delay = |server: usize| {
            self.document.server_delays_ps.get(server).copied().flatten().map(|delay| delay.0)
        };
        path.into_iter().map(|server| (&self.graph.servers[server], delay(server))).collect()
    }
}

/// The long-term rate of a server, 10⁻⁶ bit/s.
pub(crate) fn service_ubps(server: &GraphServer) -> i128 {
    server.service.iter().map(|piece| piece.rate_ubps).max().unwrap_or(0)
}

/// What flows bring to each server in the long term, 10⁻⁶ bit/s.
pub(crate) fn loads_ubps(graph: &ServerGraph) -> Vec<i128> {
    let mut loads = vec![0_i128; graph.servers.len()];
    for flow in &graph.flows {
        for visit in &flow.visits {
            loads[visit.server] = loads[visit.server].saturating_add(rate_ubps(flow));
        }
    }
    loads
}

/// The long-term rate of a flow, 10⁻⁶ bit/s.
pub(crate) fn rate_ubps(flow: &tenuto_bounds::GraphFlow) -> i128 {
    flow.arrival.iter().map(|bucket| bucket.rate_ubps).min().unwrap_or(0)
}
