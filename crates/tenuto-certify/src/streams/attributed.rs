//! Which meter and which monitors frames of a stream are shown to.
//!
//! A switch has one of each for a flow, unless two copies of it cross the switch: then it has one for
//! each, and entries for the ports by which the copies come in say which. That no frame is
//! shown to another, and every frame to these, is left to the walk.

use crate::description::net::Net;
use crate::description::read::{self, Entry, SwitchDeployment};
use crate::streams::levels::watching;
use crate::streams::stream::Stream;
use std::collections::{BTreeMap, BTreeSet};

/// Meters by stream, and monitors by stream and switch; absent where there is not exactly one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributed<'a> {
    meters: BTreeMap<usize, &'a read::Meter>,
    monitors: BTreeMap<(usize, usize), &'a read::Monitor>,
}

/// A stream as it comes to a switch.
#[derive(Clone, Copy)]
struct Coming {
    stream: usize,
    in_port: u32,
}

impl<'a> Attributed<'a> {
    pub(crate) fn new(plan: &'a read::Plan, net: &Net<'_>, streams: &[Stream]) -> Self {
        let mut this = Self::default();
        type By = BTreeMap<(usize, usize), Vec<Coming>>;
        let (mut metered, mut watched) = (By::new(), By::new());
        for (index, stream) in streams.iter().enumerate() {
            let watching = watching(net, stream);
            for here in &stream.tree {
                let node = net.ports[here.port].peer;
                let in_port = net.ports[Net::reverse(here.port)].number;
                let coming = Coming { stream: index, in_port };
                if here.parent.is_none() {
                    metered.entry((node, stream.flow)).or_default().push(coming);
                }
                if watching.contains(&node) {
                    watched.entry((node, stream.flow)).or_default().push(coming);
                }
            }
        }
        let mut seen = BTreeSet::new();
        for deployment in &plan.switches {
            let Some(node) = net.node(&deployment.switch).filter(|node| seen.insert(*node)) else {
                continue;
            };
            let of_node = |by: &By| -> Vec<(usize, Vec<Coming>)> {
                let here = by.range((node, 0)..=(node, usize::MAX));
                here.map(|((_, flow), coming)| (*flow, coming.clone())).collect()
            };
            let meters = owned(&deployment.meters, |m| m.flow.as_deref());
            for (flow, coming) in of_node(&metered) {
                let all = meters.get(&*net.flows[flow].raw.name).map_or(&[][..], Vec::as_slice);
                for (stream, meter) in told(deployment, &coming, all, |m| m.id, |e| e.meter) {
                    this.meters.insert(stream, meter);
                }
            }
            let monitors = owned(&deployment.monitors, |m| Some(&*m.flow));
            for (flow, coming) in of_node(&watched) {
                let all = monitors.get(&*net.flows[flow].raw.name).map_or(&[][..], Vec::as_slice);
                for (stream, monitor) in told(deployment, &coming, all, |m| m.id, |e| e.monitor) {
                    this.monitors.insert((stream, node), monitor);
                }
            }
        }
        this
    }

    /// The meter of a stream at its first switch.
    pub(crate) fn meter(&self, stream: usize) -> Option<&'a read::Meter> {
        self.meters.get(&stream).copied()
    }

    /// The monitor of a stream at a switch that watches it.
    pub(crate) fn monitor(&self, stream: usize, node: usize) -> Option<&'a read::Monitor> {
        self.monitors.get(&(stream, node)).copied()
    }
}

/// Meters or monitors by the flow that they name.
fn owned<'a, T>(
    all: &'a [T],
    flow: impl Fn(&'a T) -> Option<&'a str>,
) -> BTreeMap<&'a str, Vec<&'a T>> {
    let mut by_flow: BTreeMap<&str, Vec<&T>> = BTreeMap::new();
    for one in all {
        if let Some(flow) = flow(one) {
            by_flow.entry(flow).or_default().push(one);
        }
    }
    by_flow
}

/// Which of `all` is whose: of one stream the only one, of several what entries say.
fn told<'a, T>(
    deployment: &SwitchDeployment,
    coming: &[Coming],
    all: &[&'a T],
    id: impl Fn(&T) -> u32,
    of_entry: impl Fn(&Entry) -> Option<u32>,
) -> Vec<(usize, &'a T)> {
    match (coming, all) {
        ([one], [only]) => vec![(one.stream, *only)],
        ([_, _, ..], _) if coming.len() == all.len() => {
            let own = |coming: &Coming| -> Option<(usize, &'a T)> {
                let here = deployment
                    .entries
                    .iter()
                    .filter(|entry| entry.matching.in_port == Some(coming.in_port));
                let ids: BTreeSet<u32> = here.filter_map(&of_entry).collect();
                let mut own = all.iter().filter(|one| ids.contains(&id(one)));
                let only = *own.next()?;
                own.next().is_none().then_some((coming.stream, only))
            };
            let found: Vec<(usize, &T)> = coming.iter().filter_map(own).collect();
            let distinct: BTreeSet<u32> = found.iter().map(|(_, one)| id(one)).collect();
            if distinct.len() == coming.len() { found } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}
