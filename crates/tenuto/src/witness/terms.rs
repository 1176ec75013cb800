//! Which term of a bound gives most away: what `plan --explain` counts at a port, beside what the witness had there.

use super::document::{DelayRow, TermRow};
use crate::certified::Certification;
use crate::planning::Planned;
use tenuto_planner::{Curves, ExplainedHop, Explanation, Options, Priorities};

/// The explanation of a flow's bounds; `None` of a plan file, whose options are not known.
pub(crate) fn explanation(planned: &Planned, flow: &str) -> Option<Explanation> {
    let curves = if planned.plan.staircases { Curves::Staircases } else { Curves::Buckets };
    let options = Options { curves, priorities: Priorities::Given, ..planned.options? };
    let confirm = |plan: &tenuto_model::Plan| Certification::of(plan).allows_bounds();
    let explained = tenuto_planner::explain(&planned.plan, &options, flow, &confirm)?;
    explained.agrees_with(&planned.plan).then_some(explained)
}

/// The terms at the port where a row gives most away, most given away first.
pub(crate) fn terms(explanation: &Explanation, row: &DelayRow) -> Vec<TermRow> {
    let explained = explanation
        .rows
        .iter()
        .find(|it| it.target == row.target && it.mode == row.mode && it.network == row.copy);
    let place = row.gives_most_away_at.as_ref();
    let hop = explained.and_then(|it| it.hops.iter().find(|hop| Some(&hop.place) == place));
    let seen = row.hops.iter().find(|it| Some(&it.port) == place);
    let (Some(hop), Some(seen)) = (hop, seen) else { return Vec::new() };
    let on_line = |flow: Option<&str>| {
        let own = seen.ahead.iter().filter(|it| it.flow.as_deref() == flow);
        own.map(|it| it.on_line_ns).sum::<u64>()
    };
    let mut terms: Vec<TermRow> = hop
        .others
        .iter()
        .map(|it| TermRow {
            term: it.flow.clone(),
            bound_ns: it.costs_ps.unwrap_or(0).div_ceil(1_000),
            witness_ns: on_line(Some(&it.flow)),
        })
        .collect();
    let is_counted = |flow: &str| flow == row.flow || hop.others.iter().any(|it| it.flow == flow);
    let lower = seen.ahead.iter().filter(|it| it.flow.as_deref().is_some_and(|it| !is_counted(it)));
    let lower_ns = lower.map(|it| it.on_line_ns).sum();
    let fixed = [
        ("frame in the way", hop.in_the_way_bits, lower_ns),
        ("mode signals", hop.signals_bits, on_line(None)),
    ];
    for (term, bits, witness_ns) in fixed.into_iter().filter(|it| it.1 > 0) {
        terms.push(TermRow { term: term.into(), bound_ns: line_ns(hop, bits), witness_ns });
    }
    terms.sort_by_key(|it| std::cmp::Reverse(it.bound_ns.saturating_sub(it.witness_ns)));
    terms
}

/// Time of so many bits on the line of a hop, ns rounded up.
fn line_ns(hop: &ExplainedHop, bits: u64) -> u64 {
    let ns = (u128::from(bits) * 1_000_000_000).div_ceil(u128::from(hop.rate_bps.max(1)));
    u64::try_from(ns).unwrap_or(u64::MAX)
}
