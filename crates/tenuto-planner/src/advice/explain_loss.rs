//! What a flow is promised after a link was lost, loss by loss.

use serde::Serialize;
use std::collections::BTreeSet;
use tenuto_model::{FlowBound, LinkLoss, Network, Plan};

/// The row of a flow with the least slack after one loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedLoss {
    /// `sw1:2 - sw2:1`.
    pub link: String,
    /// Target host.
    pub target: String,
    /// Mode or change, as rows of a plan name it.
    pub mode: String,
    /// The bound, picoseconds; `None` if there is none.
    pub delay_bound_ps: Option<u64>,
    /// Deadline, nanoseconds.
    pub deadline_ns: u64,
    /// The nodes that it passes on another way than before; none where it keeps its way.
    pub around: Vec<String>,
}

/// Ways and bounds of a plan; nothing where no link may be lost.
pub(crate) fn explained(plan: &Plan, flow: usize) -> Vec<ExplainedLoss> {
    let network = &plan.network;
    let name = &network.flows[flow].name;
    let losses = plan.link_losses.iter();
    let mut all: Vec<(i128, ExplainedLoss)> =
        losses.filter_map(|loss| of_loss(network, loss, name)).collect();
    all.sort_by_key(|(slack, _)| *slack);
    all.into_iter().map(|(_, loss)| loss).collect()
}

fn of_loss(network: &Network, loss: &LinkLoss, flow: &str) -> Option<(i128, ExplainedLoss)> {
    let slack = |row: &FlowBound| match row.delay_bound_ps {
        Some(ps) => i128::from(row.deadline_ns) * 1_000 - i128::from(ps),
        None => i128::MIN,
    };
    let row = loss.flows.iter().filter(|row| row.flow == flow).min_by_key(|row| slack(row))?;
    let moved = loss.routes.iter().filter(|route| route.flow == flow);
    let ports = moved.flat_map(|route| route.paths.iter().flat_map(|path| &path.ports));
    let mut seen = BTreeSet::new();
    let nodes = ports.map(|port| &port.node).filter(|node| seen.insert(*node)).cloned();
    let explained = ExplainedLoss {
        link: loss.label(),
        target: row.target.clone(),
        mode: row.mode.label(&network.modes),
        delay_bound_ps: row.delay_bound_ps,
        deadline_ns: row.deadline_ns,
        around: nodes.collect(),
    };
    Some((slack(row), explained))
}
