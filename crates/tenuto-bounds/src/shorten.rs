//! Proofs without the dates that no inequality names: a vertex needs few of them.

use crate::program::Objective;
use crate::proof::{Date, DateKind, LinearProof, Node, Term};

/// Leaves out of a proof the dates that it does not need.
pub(crate) fn shortened(mut proof: LinearProof, objective: Objective) -> LinearProof {
    let mut kept: Vec<Vec<bool>> =
        proof.nodes.iter().map(|node| vec![false; node.dates.len()]).collect();
    all_fifo(&proof.nodes, objective, &mut kept);
    for term in &proof.terms {
        mark(&proof.nodes, term, &mut kept);
    }
    // Dates are derived from dates at the node before: those stay too.
    for node in (0..proof.nodes.len()).rev() {
        let Some(next) = proof.nodes[node].next else { continue };
        for (date, Date(exit, _)) in proof.nodes[node].dates.iter().enumerate() {
            if kept[node][date] {
                kept[next][*exit] = true;
            }
        }
    }
    let numbers: Vec<Vec<usize>> = kept.iter().map(|kept| numbers(kept)).collect();
    for (index, kept) in kept.iter().enumerate() {
        let next = proof.nodes[index].next;
        let dates = proof.nodes[index].dates.iter().zip(kept).filter(|(_, kept)| **kept);
        let renumbered = |(date, _): (&Date, &bool)| {
            Date(next.map_or(date.0, |next| numbers[next][date.0]), date.1)
        };
        proof.nodes[index].dates = dates.map(renumbered).collect();
    }
    proof.terms.iter_mut().for_each(|term| renumber(term, &numbers));
    proof
}

/// Marks what the objective itself is about.
fn all_fifo(nodes: &[Node], objective: Objective, kept: &mut [Vec<bool>]) {
    let mut way = vec![match objective {
        Objective::Delay { from } => from,
        Objective::Burst { .. } => 0,
    }];
    while let Some(next) = way.last().and_then(|&node| nodes[node].next) {
        way.push(next);
    }
    let mut exit = 0;
    for node in way.into_iter().rev() {
        let Some(date) = fifo(&nodes[node], exit) else { return };
        kept[node][date] = true;
        exit = date;
    }
}

fn fifo(node: &Node, exit: usize) -> Option<usize> {
    node.dates.iter().position(|date| *date == Date(exit, DateKind::Fifo))
}

fn mark(nodes: &[Node], term: &Term, kept: &mut [Vec<bool>]) {
    match *term {
        Term::Order(node, early, late, _)
        | Term::Monotone(node, _, early, late, _)
        | Term::AllMonotone(node, _, early, late, _)
        | Term::Arrival(node, _, _, early, late, _)
        | Term::AllArrival(node, _, _, early, late, _)
        | Term::Line(node, _, early, late, _) => {
            (kept[node][early], kept[node][late]) = (true, true);
        }
        Term::Causal(node, date, _) | Term::Delay(node, date, _) => kept[node][date] = true,
        Term::Service(node, date, ..) => {
            kept[node][date] = true;
            if let Some(behind) = fifo(&nodes[node], nodes[node].dates[date].0) {
                kept[node][behind] = true;
            }
        }
        Term::Passed(node, _, early, late, _) => {
            (kept[node][early], kept[node][late]) = (true, true);
            // The node before is not named: every one that leads here keeps both dates.
            for (child, before) in nodes.iter().enumerate() {
                let dates = [early, late].into_iter().filter_map(|exit| fifo(before, exit));
                dates.filter(|_| before.next == Some(node)).for_each(|d| kept[child][d] = true);
            }
        }
        // Named by the date at the node where the flow enters: no index of that node is at hand,
        // so proofs of bursts keep all dates.
        Term::Last(..)
        // Trees of service dates alone have one per node.
        | Term::Left(..)
        | Term::Through(..)
        | Term::Into(..)
        | Term::Over(..)
        | Term::Entered(..)
        | Term::Since(..) => kept.iter_mut().for_each(|kept| kept.fill(true)),
    }
}

/// Per date its number among those that are kept.
fn numbers(kept: &[bool]) -> Vec<usize> {
    let mut next = 0;
    let number = |kept: &bool| {
        next += usize::from(*kept);
        next.saturating_sub(1)
    };
    kept.iter().map(number).collect()
}

fn renumber(term: &mut Term, numbers: &[Vec<usize>]) {
    let to = |node: usize, date: &mut usize| *date = numbers[node][*date];
    match term {
        Term::Order(node, early, late, _)
        | Term::Monotone(node, _, early, late, _)
        | Term::AllMonotone(node, _, early, late, _)
        | Term::Arrival(node, _, _, early, late, _)
        | Term::AllArrival(node, _, _, early, late, _)
        | Term::Passed(node, _, early, late, _)
        | Term::Line(node, _, early, late, _) => {
            to(*node, early);
            to(*node, late);
        }
        Term::Causal(node, date, _)
        | Term::Delay(node, date, _)
        | Term::Service(node, date, ..) => {
            to(*node, date);
        }
        // All dates were kept.
        Term::Last(..)
        | Term::Left(..)
        | Term::Through(..)
        | Term::Into(..)
        | Term::Over(..)
        | Term::Entered(..)
        | Term::Since(..) => {}
    }
}
