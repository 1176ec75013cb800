//! From a schedule of the search to one that the world carries out, and that a file keeps.

use crate::failure::Failure;
use crate::named_file::{self, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tenuto_model::{Plan, Size, UDP_FRAME_OVERHEAD_BYTES};
use tenuto_witness::layout::Layout;
use tenuto_witness::schedule::{Release, Schedule};
use tenuto_world::clockwork;

/// Payload without which a datagram carries no stamp: its delay would not be seen.
const STAMPED_BYTES_MIN: u32 = 17;
/// From the last release on, beside the largest bound: ns.
const TAIL_NS: u64 = 5_000_000;

/// The schedule as the world reads it; its first release is at 0.
pub(crate) fn written(plan: &Plan, layout: &Layout, schedule: &Schedule) -> clockwork::Schedule {
    let first_ns = schedule.releases.iter().map(|it| it.at_ns).min().unwrap_or(0);
    let last_ns = schedule.releases.iter().map(|it| it.at_ns).max().unwrap_or(0);
    let bounds_ns = plan.flows.iter().filter_map(|it| it.delay_bound_ps).max().unwrap_or(0) / 1_000;
    let network = &plan.network;
    let start_mode = network.modes.get(usize::from(schedule.start_level));
    let name = |it: &Release| network.flows[it.flow].name.clone();
    let conforming = schedule.releases.iter().filter(|it| it.babbled.is_none());
    let releases = conforming.map(|it| clockwork::ScheduledRelease {
        at_ns: it.at_ns - first_ns,
        flow: name(it),
        bytes: submitted_bytes(network.flows[it.flow].highest().size, it.bytes),
    });
    let frames = schedule.releases.iter().filter_map(|it| {
        let message = it.babbled?;
        let at_ns = it.at_ns - first_ns;
        Some(clockwork::ScheduledFrame {
            at_ns,
            flow: name(it),
            frame_bytes: it.bytes.max(64),
            message,
        })
    });
    clockwork::Schedule {
        schema: clockwork::SCHEDULE_SCHEMA.into(),
        network: network.name.clone(),
        plan_hash: plan.plan_hash.clone(),
        start_mode: start_mode.map_or_else(|| "normal".into(), Clone::clone),
        duration_ns: last_ns - first_ns + 2 * bounds_ns + TAIL_NS,
        witness: None,
        babbling_host: schedule.babbler.map(|it| layout.hosts[it].clone()),
        releases: releases.collect(),
        frames: frames.collect(),
        flows: choices(layout, schedule),
        signal_latencies_ns: signal_latencies(layout, schedule),
    }
}

/// What an end system is asked to send for a size in the unit of a contract.
fn submitted_bytes(size: Size, bytes: u32) -> u32 {
    match size {
        Size::FrameBytes(_) => {
            bytes.saturating_sub(UDP_FRAME_OVERHEAD_BYTES).max(STAMPED_BYTES_MIN)
        }
        Size::PayloadBytes(_) | Size::MessageBytes(_) => bytes.max(STAMPED_BYTES_MIN),
    }
}

fn choices(layout: &Layout, schedule: &Schedule) -> Vec<clockwork::FlowChoices> {
    let flows: BTreeSet<usize> = schedule.releases.iter().map(|it| it.flow).collect();
    let choices = |flow: usize| {
        let switches = layout.flows[flow].hops.clone().filter_map(|hop| layout.far_switch(hop));
        let mut latencies_ns = BTreeMap::new();
        for switch in switches {
            let part = schedule.latencies[flow * layout.switches.len() + switch];
            if part > 0 {
                let of = &layout.switches[switch];
                latencies_ns.insert(of.name.clone(), layout.latency_ns(switch, part));
            }
        }
        let (flow, order) = (layout.flows[flow].name.clone(), schedule.orders[flow]);
        clockwork::FlowChoices { flow, order, latencies_ns }
    };
    flows.into_iter().map(choices).collect()
}

fn signal_latencies(layout: &Layout, schedule: &Schedule) -> BTreeMap<String, u64> {
    if layout.level_max == 0 {
        return BTreeMap::new();
    }
    let of = |(switch, of): (usize, &tenuto_witness::layout::SwitchLayout)| {
        (of.name.clone(), layout.latency_ns(switch, schedule.swaps[switch]))
    };
    layout.switches.iter().enumerate().map(of).collect()
}

/// A schedule file.
pub(crate) fn read(path: &Path) -> Result<clockwork::Schedule, Failure> {
    let shown = path.display().to_string();
    serde_json::from_str(&named_file::text(path, Kind::SCHEDULE)?).map_err(|error| {
        let hint = "a schedule is what `tenuto witness NET -o DIR` wrote";
        Failure::input(format!("not a schedule: {error}"), Some(&shown), Some(hint))
    })
}
