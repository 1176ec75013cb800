//! What differs between two plans of server graphs: bounds, deadlines, and servers.

use super::text::Scale;
use crate::format::{Table, counted};
use crate::header::Header;
use crate::plan_diff::BothPlans;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_bounds::{Document, GraphServer};

/// The difference between two plans, with the keys of that of networks.
#[derive(Debug, Serialize)]
pub(crate) struct Difference {
    #[serde(flatten)]
    header: Header,
    #[serde(flatten)]
    both: BothPlans,
    /// Bounds that are new, gone, or different.
    flows: Vec<FlowChange>,
    /// Bounds that are the same.
    unchanged: usize,
    /// Servers that came, went, or are described otherwise.
    servers: Vec<ServerChange>,
}

#[derive(Debug, Serialize)]
struct FlowChange {
    flow: String,
    target: String,
    before_ps: Option<i128>,
    after_ps: Option<i128>,
    deadline_before_ps: Option<i128>,
    deadline_after_ps: Option<i128>,
    /// Of the target: `new`, `gone` or `changed`.
    change: &'static str,
}

#[derive(Debug, Serialize)]
struct ServerChange {
    server: String,
    change: &'static str,
}

/// Bound and deadline of a target, ps.
type Facts = (Option<i128>, Option<i128>);

impl Difference {
    /// Of two documents that the checker has accepted.
    pub(crate) fn between(before: &Document, after: &Document) -> Self {
        let (old, new) = (rows(before), rows(after));
        let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        let all = keys.len();
        let change = |key: &(String, String)| {
            let (a, b) = (old.get(key), new.get(key));
            Some(FlowChange {
                flow: key.0.clone(),
                target: key.1.clone(),
                before_ps: a.and_then(|facts| facts.0),
                after_ps: b.and_then(|facts| facts.0),
                deadline_before_ps: a.and_then(|facts| facts.1),
                deadline_after_ps: b.and_then(|facts| facts.1),
                change: word(a, b)?,
            })
        };
        let flows: Vec<FlowChange> = keys.into_iter().filter_map(change).collect();
        Self {
            header: Header::planned("tenuto-plan-difference/1", verdict(after), &after.plan_hash),
            both: BothPlans {
                before_hash: before.plan_hash.clone(),
                after_hash: after.plan_hash.clone(),
                feasible_before: is_feasible(before),
                feasible_after: is_feasible(after),
            },
            unchanged: all - flows.len(),
            flows,
            servers: servers(before, after),
        }
    }

    pub(crate) fn text(&self) -> String {
        let times = self.flows.iter().flat_map(|it| [it.before_ps, it.after_ps]).flatten();
        let scale = Scale::of_largest(times);
        let heads = ["before", "after", "change"].map(|head| format!(">{head} {}", scale.unit));
        let [before, after, change] = &heads;
        let mut table = Table::new(&["flow", "target", before, after, change, "deadline"]);
        self.flows.iter().for_each(|change| table.push(change.row(scale)));
        let mut out = match self.flows.is_empty() {
            true => "every bound is the same\n".to_owned(),
            false => format!("{}{} the same\n", table.text(), counted(self.unchanged, "bound")),
        };
        for ServerChange { server, change } in &self.servers {
            out.push_str(&format!("server {server}  {change}\n"));
        }
        if self.servers.is_empty() {
            out.push_str("every server is the same\n");
        }
        self.both.text().into_iter().for_each(|line| out.push_str(&line));
        out
    }
}

impl FlowChange {
    fn row(&self, scale: Scale) -> Vec<String> {
        let time = |ps: Option<i128>, absent: &str| match ps {
            Some(ps) => scale.up(ps),
            None if self.change == absent => "-".into(),
            None => "no bound".into(),
        };
        let change = self.before_ps.zip(self.after_ps).map(|(before, after)| after - before);
        let change = change.map_or("-".into(), |more| match more > 0 {
            true => format!("+{}", scale.up(more)),
            false => scale.up(more),
        });
        let own = |ps: Option<i128>| match ps {
            Some(ps) => format!("{} {}", scale.down(ps), scale.unit),
            None => "none".to_owned(),
        };
        let deadline = match self.deadline_before_ps == self.deadline_after_ps {
            _ if self.change != "changed" => self.change.to_owned(),
            true => "same".to_owned(),
            false => {
                format!("{} > {}", own(self.deadline_before_ps), own(self.deadline_after_ps))
            }
        };
        let (before, after) = (time(self.before_ps, "new"), time(self.after_ps, "gone"));
        vec![self.flow.clone(), self.target.clone(), before, after, change, deadline]
    }
}

/// What became of something, if anything.
fn word<T: PartialEq>(before: Option<&T>, after: Option<&T>) -> Option<&'static str> {
    match (before, after) {
        (None, Some(_)) => Some("new"),
        (Some(_), None) => Some("gone"),
        (Some(before), Some(after)) if before != after => Some("changed"),
        _ => None,
    }
}

fn rows(document: &Document) -> BTreeMap<(String, String), Facts> {
    let row = |bound: &tenuto_bounds::DocumentBound| {
        let flow = &document.description.flows[bound.flow];
        let target = &flow.targets[bound.target];
        let facts = (bound.delay_bound_ps.map(|it| it.0), target.deadline.map(|it| it.0));
        ((flow.name.clone(), target.name.clone()), facts)
    };
    document.bounds.iter().map(row).collect()
}

fn servers(before: &Document, after: &Document) -> Vec<ServerChange> {
    let by_name = |document: &Document| -> BTreeMap<String, GraphServer> {
        let servers = document.description.servers.iter();
        servers.map(|server| (server.name.clone(), server.clone())).collect()
    };
    let (old, new) = (by_name(before), by_name(after));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |name: &String| {
        let change = word(old.get(name), new.get(name))?;
        Some(ServerChange { server: name.clone(), change })
    };
    names.into_iter().filter_map(change).collect()
}

/// Whether every target has a bound, and none that is above its deadline.
fn is_feasible(document: &Document) -> bool {
    let is_kept = |&(bound, deadline): &Facts| {
        bound.is_some_and(|bound| deadline.is_none_or(|deadline| bound <= deadline))
    };
    rows(document).values().all(is_kept)
}

fn verdict(document: &Document) -> &'static str {
    if is_feasible(document) { "guaranteed" } else { "refused" }
}
