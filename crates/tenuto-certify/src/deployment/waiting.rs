//! Where frames that wait in queues belong when the mode changes (`certificate.md`, "Tables, at a change of
//! modes").
//!
//! A switch asks no table of a frame that waits: it knows the flow that the frame was sent as, and what the
//! new mode's forwarding tables have for this flow. Frames of a flow without anything there stay where they
//! are. Which of several entries is asked is left open here: all of them have to say the same.

use crate::deployment::tables::Tables;
use crate::deployment::visit::cookie_of;
use crate::finding::rule;
use crate::rows::context::Context;
use crate::streams::stream::TreePort;
use std::collections::{BTreeMap, BTreeSet};

/// Per cookie, the queues of everything that the forwarding tables of a level do with its frames; `None`
/// where they are dropped.
type Queues = BTreeMap<u64, BTreeSet<Option<u8>>>;

/// Checks one switch: in every mode each flow that crosses it, or that an entry sends, is kept in its queue,
/// or dropped if it is out of mode.
pub(crate) fn check(context: &Context<'_>, node: usize, tables: &Tables<'_>) {
    let (net, switch) = (context.net, context.net.nodes[node].name);
    let modes = net.raw.modes.len();
    if modes < 2 {
        return;
    }
    let crossing: BTreeSet<usize> = context
        .streams
        .iter()
        .flat_map(|stream| {
            let is_here = |tree: &&TreePort| net.ports[tree.port].peer == node;
            stream.tree.iter().filter(is_here).map(|_| stream.flow)
        })
        .collect();
    let levels: Vec<Queues> = (0..modes).map(|level| queues(tables, level)).collect();
    for (flow, described) in net.flows.iter().enumerate() {
        let of = |queues: &Queues| queues.get(&cookie_of(flow)).cloned().unwrap_or_default();
        let own: Vec<BTreeSet<Option<u8>>> = levels.iter().map(of).collect();
        if !crossing.contains(&flow) && own.iter().flatten().all(Option::is_none) {
            continue;
        }
        for (level, queues) in own.iter().enumerate() {
            let class = described.contracts.get(level).map(|contract| contract.class);
            if !queues.is_empty() && queues.iter().all(|queue| *queue == class) {
                continue;
            }
            let mode = &net.raw.modes[level];
            let place =
                format!("{} at {switch}, waiting at a change to {mode}", described.raw.name);
            let claim = class.map_or("dropped".into(), |class| format!("stays in queue {class}"));
            context.wrong(rule::WALK, place, claim, words(queues));
        }
    }
}

fn queues(tables: &Tables<'_>, level: usize) -> Queues {
    let mut queues = Queues::new();
    for entry in tables.forwarding(level) {
        let own = queues.entry(entry.cookie).or_default();
        match entry.output {
            None => {
                own.insert(None);
            }
            Some(output) => {
                own.extend(tables.outputs(output).iter().map(|output| Some(output.queue)));
            }
        }
    }
    queues
}

fn words(queues: &BTreeSet<Option<u8>>) -> String {
    if queues.is_empty() {
        return "stays where it is: no entry".into();
    }
    let word =
        |queue: &Option<u8>| queue.map_or("dropped".into(), |to| format!("goes to queue {to}"));
    queues.iter().map(word).collect::<Vec<String>>().join(" or ")
}
