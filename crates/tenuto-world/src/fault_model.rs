//! The fault model that a plan is promised for, and what scenario events are in its terms: the same
//! live and simulated (docs/theory/README.md, "Who is trusted").

use std::collections::BTreeSet;
use tenuto_model::{EventAction, Network};

/// What an event is in terms of the fault model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Whether the plan's fault model covers it; `None` if it is no fault.
    pub tolerated: Option<bool>,
    /// Indices of the flows that misbehave from now on because of it.
    pub misbehaving: Vec<u16>,
}

/// Judges an event. `babblers` are the hosts that break their contracts so far and takes in new ones;
/// `is_gone` tells which nodes do not run, or run without their tables.
pub fn judge(
    network: &Network,
    action: &EventAction,
    babblers: &mut BTreeSet<String>,
    is_gone: impl Fn(&str) -> bool,
) -> Judged {
    let no_flow = |tolerated| Judged { tolerated: Some(tolerated), misbehaving: Vec::new() };
    match action {
        EventAction::Oversend { flow, percent } if *percent > 100 => {
            let misbehaving = flow_index(network, flow).into_iter().collect();
            let host = network.flow(flow).map(|f| f.source.as_str());
            let tolerated = host.map(|host| babbles(network, host, babblers));
            Judged { tolerated, misbehaving }
        }
        EventAction::Babble { host, flows, .. } => {
            let named: Vec<u16> = flows.iter().filter_map(|f| flow_index(network, f)).collect();
            let misbehaving = if named.is_empty() { flows_of(network, host) } else { named };
            Judged { tolerated: Some(babbles(network, host, babblers)), misbehaving }
        }
        // Its own flows share its port with what it should not send.
        EventAction::Garbage { host, .. } | EventAction::Forge { host } => Judged {
            tolerated: Some(babbles(network, host, babblers)),
            misbehaving: flows_of(network, host),
        },
        EventAction::CutLink { .. } => no_flow(false),
        EventAction::KillNode { node } | EventAction::StopNode { node } => {
            no_flow(tolerates_loss_of(network, node, is_gone))
        }
        EventAction::LoseSignals { frames, .. } => {
            no_flow(*frames <= network.tolerates.lost_signals)
        }
        _ => Judged::default(),
    }
}

/// Whether the plan still holds without this node: a controller if its loss is tolerated; a switch of
/// a redundant network if the other networks stand and every flow has a copy there; no host.
pub fn tolerates_loss_of(network: &Network, node: &str, is_gone: impl Fn(&str) -> bool) -> bool {
    let Some(switch) = network.switch(node) else {
        let is_host = network.hosts.iter().any(|h| h.name == node);
        return !is_host && network.tolerates.controller_loss;
    };
    let Some(lost) = switch.network.as_ref() else { return false };
    let mut others = network.switches.iter().filter(|s| s.network.as_ref() != Some(lost));
    others.all(|s| !is_gone(&s.name))
        && network.flows.iter().all(|f| f.copies.iter().any(|c| c != lost))
}

/// Notes a host that breaks its contracts; whether so many are tolerated.
fn babbles(network: &Network, host: &str, babblers: &mut BTreeSet<String>) -> bool {
    babblers.insert(host.to_owned());
    babblers.len() <= network.tolerates.babbling_hosts as usize
}

fn flow_index(network: &Network, name: &str) -> Option<u16> {
    u16::try_from(network.flows.iter().position(|f| f.name == name)?).ok()
}

fn flows_of(network: &Network, host: &str) -> Vec<u16> {
    let flows = (0u16..).zip(&network.flows);
    flows.filter(|(_, flow)| flow.source == host).map(|(index, _)| index).collect()
}

/// What an event is outside the fault model, in words, where the plan does not tolerate it: nothing is
/// promised from then on. Whether too many mode signals are lost shows only when the mode changes.
pub fn takes_away(action: &EventAction, network: &Network) -> Option<(String, &'static str)> {
    const MISBEHAVES: &str = "sends more than is tolerated";
    match action {
        EventAction::KillNode { node } | EventAction::StopNode { node } => {
            Some((node.clone(), "is gone"))
        }
        EventAction::CutLink { ends } => Some((link(ends, network), "is cut")),
        EventAction::Oversend { flow, .. } => {
            Some((network.flow(flow)?.source.clone(), MISBEHAVES))
        }
        EventAction::Babble { host, .. }
        | EventAction::Garbage { host, .. }
        | EventAction::Forge { host } => Some((host.clone(), MISBEHAVES)),
        _ => None,
    }
}

/// What an event gives back that another one took away.
pub fn gives_back(action: &EventAction, network: &Network) -> Option<String> {
    match action {
        EventAction::HealLink { ends } => Some(link(ends, network)),
        _ => None,
    }
}

/// A link with its ends as the description has them, whichever way round an event names them.
fn link(ends: &[String; 2], network: &Network) -> String {
    let joins = |a: &str, b: &str| network.links.iter().any(|l| l.a.node == a && l.b.node == b);
    let is_reversed = !joins(&ends[0], &ends[1]) && joins(&ends[1], &ends[0]);
    let (one, other) = if is_reversed { (1, 0) } else { (0, 1) };
    format!("link {} - {}", ends[one], ends[other])
}

/// The node that has to be there for an event to be carried out, if one has.
pub fn needs<'a>(action: &'a EventAction, network: &'a Network) -> Option<&'a str> {
    match action {
        EventAction::Behave { flow, .. }
        | EventAction::Oversend { flow, .. }
        | EventAction::StopFlow { flow }
        | EventAction::StartFlow { flow } => Some(network.flow(flow)?.source.as_str()),
        EventAction::Babble { host, .. }
        | EventAction::Garbage { host, .. }
        | EventAction::Forge { host } => Some(host),
        EventAction::KillNode { node } | EventAction::StopNode { node } => Some(node),
        EventAction::LoseSignals { from, .. } => Some(from),
        EventAction::StartNode { .. }
        | EventAction::CutLink { .. }
        | EventAction::HealLink { .. } => None,
    }
}

/// An event in words.
pub fn describe(action: &EventAction, network: &Network) -> String {
    let source = |flow: &str| network.flow(flow).map_or("?", |f| f.source.as_str()).to_owned();
    match action {
        EventAction::Behave { flow, mode } => {
            let mode = network.modes.get(*mode).map_or("?", String::as_str);
            format!("{}: {flow} behaves as in {mode}", source(flow))
        }
        EventAction::Oversend { flow, percent } => {
            format!("{}: {flow} sends {percent} % of its contract", source(flow))
        }
        EventAction::StopFlow { flow } => format!("{}: {flow} stops", source(flow)),
        EventAction::StartFlow { flow } => format!("{}: {flow} starts", source(flow)),
        EventAction::Babble { host, frame_bytes, rate_bps, .. } => match rate_bps {
            Some(rate) => format!("{host} babbles {frame_bytes} B frames at {rate} bit/s"),
            None => format!("{host} babbles {frame_bytes} B frames at line rate"),
        },
        EventAction::Garbage { host, frames_per_s, .. } => {
            format!("{host} sends {frames_per_s} frames of random bytes per second")
        }
        EventAction::Forge { host } => format!("{host} forges mode signals"),
        EventAction::CutLink { ends } => format!("link {} - {} is cut", ends[0], ends[1]),
        EventAction::HealLink { ends } => format!("link {} - {} is healed", ends[0], ends[1]),
        EventAction::KillNode { node } => format!("{node} is killed"),
        EventAction::StopNode { node } => format!("{node} is stopped"),
        EventAction::StartNode { node } => format!("{node} is started"),
        EventAction::LoseSignals { from, to, frames } => {
            format!("the next {frames} mode signals from {from} to {to} are lost")
        }
    }
}
