//! Refusals: one per scarce place, with the amount and who asks for it.

use super::processor_rows;
use crate::analysis::context::Analysis;
use crate::analysis::mode_input::modes_of;
use crate::analysis::mode_result::ModeResult;
use crate::modes::mode_change;
use crate::refused::{at, kilobytes, milliseconds};
use std::collections::BTreeMap;
use tenuto_calculus::{UBIT_PER_BIT, div_up};
use tenuto_model::quantity::{format_rate, format_size};
use tenuto_model::{
    Contract, Flow, GROUP_OUTPUTS_MAX, GroupSpec, Hop, Network, OtherTraffic, Profile, Refusal,
    Size, Switch, SwitchDeployment, Transition,
};
use tenuto_units::Picos;

const NS_PER_MS: u64 = 1_000_000;

/// Every refusal but those of routing and of the quiet window.
pub(crate) fn all(analysis: &Analysis<'_>, switches: &[SwitchDeployment]) -> Vec<Refusal> {
    let mut refusals = rates(analysis);
    refusals.extend(processor_rows::refusals(analysis));
    let is_overloaded = !refusals.is_empty() || analysis.is_given_up;
    refusals.extend(deadlines(analysis));
    if !is_overloaded {
        refusals.extend(unbounded(analysis));
    }
    refusals.extend(buffers(analysis));
    refusals.extend(skews(analysis));
    refusals.extend(devices(analysis, switches));
    refusals.extend(bursts(analysis));
    refusals.extend(unsupported(analysis));
    refusals
}

/// Ports whose load exceeds their rate; the first mode in which it does.
fn rates(analysis: &Analysis<'_>) -> Vec<Refusal> {
    let topology = analysis.ports.topology;
    let mut refusals = Vec::new();
    for (server, egress) in topology.servers.iter().enumerate() {
        let capacity = i128::from(egress.rate_bps) * UBIT_PER_BIT;
        let load =
            |result: &ModeResult| analysis.ports.rate_ubps(server, &result.mode_input, u8::MAX);
        let Some(result) = analysis.results.iter().find(|result| load(result) > capacity) else {
            continue;
        };
        let (flows, because) = contributors(analysis, server, result);
        refusals.push(Refusal {
            mode: Some(result.mode_input.transition),
            needed: u64::try_from(div_up(load(result), UBIT_PER_BIT)).ok(),
            available: Some(egress.rate_bps),
            unit: "bit/s".into(),
            flows,
            because,
            ..at(topology.label(server), "rate")
        });
    }
    refusals
}

/// Flows by share, and the sentence `STREAM 91.02 (432 kB = 296 frames …), CAM 6.49, …`.
fn contributors(
    analysis: &Analysis<'_>,
    server: usize,
    result: &ModeResult,
) -> (Vec<String>, String) {
    let network = analysis.ports.topology.network;
    let mode = result.mode_input.transition;
    let mut shares: BTreeMap<usize, u64> = BTreeMap::new();
    for visit in analysis.ports.present(server, &result.mode_input) {
        let tree = analysis.ports.port_graph.visits[visit].tree;
        let flow = analysis.trees[tree].flow;
        let contract = heaviest(network, &network.flows[flow], mode);
        *shares.entry(flow).or_default() += rate_bps(contract, analysis.reading.as_stated);
    }
    let mut shares: Vec<(usize, u64)> = shares.into_iter().collect();
    shares.sort_by_key(|&(flow, bps)| (std::cmp::Reverse(bps), flow));
    let told: u64 = shares.iter().map(|(_, bps)| bps).sum();
    let charged = analysis.ports.rate_ubps(server, &result.mode_input, u8::MAX);
    let margin = div_up(charged, UBIT_PER_BIT) - i128::from(told);
    let mut parts: Vec<String> = Vec::new();
    for &(flow, bps) in shares.iter().take(8) {
        let (flow, share) = (&network.flows[flow], megabits(bps));
        parts.push(if parts.is_empty() {
            format!("{} {share} ({})", flow.name, describe(heaviest(network, flow, mode)))
        } else {
            format!("{} {share}", flow.name)
        });
    }
    if shares.len() > 8 {
        let rest = shares[8..].iter().map(|(_, bps)| bps).sum();
        parts.push(format!("{} more flows {}", shares.len() - 8, megabits(rest)));
    }
    if let Ok(margin @ 5_000..) = u64::try_from(margin) {
        parts.push(format!("clocks, meter rounding and mode signals {}", megabits(margin)));
    }
    let names = shares.iter().map(|&(flow, _)| network.flows[flow].name.clone()).collect();
    (names, parts.join(", "))
}

/// The contract with the highest rate of those in force.
fn heaviest<'a>(network: &Network, flow: &'a Flow, mode: Transition) -> &'a Contract {
    let contracts = flow.contracts.get(modes_of(network, flow, mode)).unwrap_or_default();
    contracts.iter().max_by_key(|c| rate_bps(c, false)).unwrap_or_else(|| flow.highest())
}

/// Rate of a contract on the wire, rounded up.
fn rate_bps(contract: &Contract, as_stated: bool) -> u64 {
    let bits = u128::from(contract.size.frames(as_stated).message_wire_bits) * 1_000_000_000;
    u64::try_from(bits.div_ceil(u128::from(contract.period_ns.max(1)))).unwrap_or(u64::MAX)
}

/// `432 kB = 296 frames of <= 1538 B per 40 ms`.
fn describe(contract: &Contract) -> String {
    let mix = contract.size.frames(false);
    let wire = mix.frame_wire_bits_max / 8;
    let period = milliseconds(contract.period_ns);
    match contract.size {
        Size::MessageBytes(bytes) => {
            format!("{} = {} frames of <= {wire} B per {period}", kilobytes(bytes), mix.frames)
        }
        Size::PayloadBytes(_) | Size::FrameBytes(_) => {
            format!("frames of <= {wire} B per {period}")
        }
    }
}

/// Rows above their deadline, per worst hop; the row that is most above it speaks.
fn deadlines(analysis: &Analysis<'_>) -> Vec<Refusal> {
    let mut places: BTreeMap<String, Vec<&tenuto_model::FlowBound>> = BTreeMap::new();
    for row in &analysis.rows {
        let Some(bound) = row.delay_bound_ps else { continue };
        if u128::from(bound) <= u128::from(row.deadline_ns) * 1_000 {
            continue;
        }
        let hops = row.copies.first().map(|copy| copy.hops.as_slice()).unwrap_or_default();
        let longer = |hop: &&Hop| hop.queueing_ps.max(Some(hop.latency_ps));
        let label = hops.iter().max_by_key(longer).map(|hop| late_place(analysis, hop));
        let label = label.unwrap_or_else(|| row.flow.clone());
        places.entry(label).or_default().push(row);
    }
    places.into_iter().map(|(place, rows)| late(analysis, place, &rows)).collect()
}

/// Where a hop takes its time: its port, or the processor in front of it.
fn late_place(analysis: &Analysis<'_>, hop: &Hop) -> String {
    let topology = analysis.ports.topology;
    let node = topology.node(&hop.port.node);
    let is_shared = node.is_some_and(|node| analysis.ports.processors.site(node).is_some());
    match topology.server(&hop.port) {
        Some(server) if !is_shared || hop.queueing_ps > Some(hop.latency_ps) => {
            topology.label(server)
        }
        _ => hop.port.node.clone(),
    }
}

/// `A, B, C and 4 more`.
fn named(flows: &[String]) -> String {
    const NAMED_MAX: usize = 6;
    let shown = flows[..flows.len().min(NAMED_MAX)].join(", ");
    match flows.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn late(analysis: &Analysis<'_>, place: String, rows: &[&tenuto_model::FlowBound]) -> Refusal {
    let over = |row: &&&tenuto_model::FlowBound| {
        let bound = row.delay_bound_ps.unwrap_or(0);
        bound.saturating_sub(row.deadline_ns.saturating_mul(1_000))
    };
    let mut by_excess = rows.to_vec();
    by_excess.sort_by_key(|row| std::cmp::Reverse(over(&row)));
    let worst = by_excess[0];
    let mut flows: Vec<String> = Vec::new();
    for row in &by_excess {
        if !flows.contains(&row.flow) {
            flows.push(row.flow.clone());
        }
    }
    let needed = Picos(i128::from(worst.delay_bound_ps.unwrap_or(0))).to_ns_up();
    let modes = &analysis.ports.topology.network.modes;
    let mut because = format!(
        "{} to {} takes up to {} in {}, its deadline is {}",
        worst.flow,
        worst.target,
        milliseconds(needed),
        worst.mode.label(modes),
        milliseconds(worst.deadline_ns),
    );
    if let [_, others @ ..] = flows.as_slice()
        && !others.is_empty()
    {
        because.push_str("; late too: ");
        because.push_str(&named(others));
    }
    Refusal {
        mode: Some(worst.mode),
        needed: Some(needed),
        available: Some(worst.deadline_ns),
        unit: "ns".into(),
        flows,
        because,
        ..at(place, "deadline")
    }
}

/// Rows without a bound where no port is overloaded: bursts around a cycle grow without end.
fn unbounded(analysis: &Analysis<'_>) -> Vec<Refusal> {
    let mut places: BTreeMap<String, Refusal> = BTreeMap::new();
    for row in analysis.rows.iter().filter(|row| row.delay_bound_ps.is_none()) {
        let mut hops = row.copies.iter().flat_map(|copy| &copy.hops);
        let Some(hop) = hops.find(|hop| hop.queueing_ps.is_none()) else { continue };
        let server = analysis.ports.topology.server(&hop.port);
        let label = server.map_or_else(|| row.flow.clone(), |s| analysis.ports.topology.label(s));
        let refusal = places.entry(label.clone()).or_insert_with(|| Refusal {
            mode: Some(row.mode),
            unit: "ns".into(),
            because: "bursts grow without end around a cycle of ports: the load is too high, or \
                      routes should not form a cycle"
                .into(),
            ..at(label, "deadline")
        });
        if !refusal.flows.contains(&row.flow) {
            refusal.flows.push(row.flow.clone());
        }
    }
    places.into_values().collect()
}

/// Ports whose backlog bound exceeds their buffer; the mode with the largest backlog.
fn buffers(analysis: &Analysis<'_>) -> Vec<Refusal> {
    let topology = analysis.ports.topology;
    let mut refusals = Vec::new();
    for (server, egress) in topology.servers.iter().enumerate() {
        let profile = topology.nodes[egress.node].profile;
        let Some(limit) = profile.and_then(|p| p.buffer_bytes_per_port) else { continue };
        let worst = analysis.results.iter().max_by_key(|result| result.backlogs[server]);
        let Some((result, bits)) = worst.and_then(|r| Some((r, r.backlogs[server]?))) else {
            continue;
        };
        if bits > limit.saturating_mul(8) && !analysis.ports.port_graph.groups[server].is_empty() {
            let (flows, because) = contributors(analysis, server, result);
            refusals.push(Refusal {
                mode: Some(result.mode_input.transition),
                needed: Some(bits.div_ceil(8)),
                available: Some(limit),
                unit: "B".into(),
                flows,
                because: format!("these may arrive together, in Mbit/s: {because}"),
                ..at(topology.label(server), "buffer")
            });
        }
    }
    refusals
}

/// Rows whose copies may arrive further apart than allowed.
fn skews(analysis: &Analysis<'_>) -> Vec<Refusal> {
    let mut worst: BTreeMap<&str, &tenuto_model::FlowBound> = BTreeMap::new();
    for row in &analysis.rows {
        let known = worst.entry(&row.flow).or_insert(row);
        if row.skew_bound_ps > known.skew_bound_ps {
            *known = row;
        }
    }
    let network = analysis.ports.topology.network;
    let above = |row: &&tenuto_model::FlowBound| {
        let limit = network.flow(&row.flow)?.skew_max_ns?;
        let needed = Picos(i128::from(row.skew_bound_ps?)).to_ns_up();
        (needed > limit).then(|| Refusal {
            mode: Some(row.mode),
            needed: Some(needed),
            available: Some(limit),
            unit: "ns".into(),
            flows: vec![row.flow.clone()],
            because: format!("the copies may arrive {} apart", milliseconds(needed)),
            ..at(row.target.clone(), "skew")
        })
    };
    worst.values().filter_map(above).collect()
}

/// Limits of the devices: entries, meters, groups, queues.
fn devices(analysis: &Analysis<'_>, switches: &[SwitchDeployment]) -> Vec<Refusal> {
    let network = analysis.ports.topology.network;
    let mut refusals = Vec::new();
    for (switch, deployment) in network.switches.iter().zip(switches) {
        let profile: &Profile = network.profile_of(switch);
        let used = deployment.usage;
        let limits = [
            ("entries", used.entries.saturating_add(used.shadow), profile.entries_max),
            ("meters", used.meters, profile.meters_max),
            ("groups", used.groups, profile.groups_max),
            ("queues", used.queues, u32::from(profile.queues_per_port)),
        ];
        refusals.extend(deployment.groups.iter().filter_map(|group| outputs(switch, group)));
        for (resource, needed, limit) in limits.into_iter().filter(|(_, n, limit)| n > limit) {
            refusals.push(Refusal {
                needed: Some(needed.into()),
                available: Some(limit.into()),
                unit: resource.into(),
                because: format!("{needed} {resource}, a {} has {limit}", profile.name),
                ..at(switch.name.clone(), resource)
            });
        }
    }
    refusals
}

/// A group of more outputs than any device has room for.
fn outputs(switch: &Switch, group: &GroupSpec) -> Option<Refusal> {
    let needed = group.outputs.len();
    (needed > GROUP_OUTPUTS_MAX).then(|| Refusal {
        needed: Some(needed as u64),
        available: Some(GROUP_OUTPUTS_MAX as u64),
        unit: "outputs".into(),
        because: format!("a frame is to leave by {needed} ports, a group has {GROUP_OUTPUTS_MAX}"),
        ..at(switch.name.clone(), "outputs")
    })
}

/// Contracts whose meters would need larger bursts than the first switch has: they would drop what
/// conforms, and the switch refuses them anyway.
fn bursts(analysis: &Analysis<'_>) -> Vec<Refusal> {
    let topology = analysis.ports.topology;
    let mut refusals = Vec::new();
    for (tree, policing) in analysis.trees.iter().zip(&analysis.policing) {
        let flow = &topology.network.flows[tree.flow];
        for hop in tree.hops.iter().filter(|hop| hop.parent.is_none()) {
            let node = &topology.nodes[topology.servers[hop.server].peer];
            let Some(profile) = node.profile else { continue };
            let varying = policing.varying.unwrap_or_default();
            let needed = analysis.reading.meter(flow, profile, varying).burst_bytes;
            let limit = profile.meter_burst_max_bytes;
            if needed > limit {
                let because = format!(
                    "{} needs a meter with a burst of {}, those of a {} have {} at most",
                    flow.name,
                    format_size(needed),
                    profile.name,
                    format_size(limit)
                );
                refusals.push(Refusal {
                    needed: Some(needed),
                    available: Some(limit),
                    unit: "B".into(),
                    flows: vec![flow.name.clone()],
                    because,
                    ..at(node.name, "meter_burst")
                });
            }
        }
    }
    refusals
}

/// What this planner or these devices cannot do at all.
fn unsupported(analysis: &Analysis<'_>) -> Vec<Refusal> {
    let network = analysis.ports.topology.network;
    let mut refusals = other_traffic(network);
    if network.modes.len() > 1 {
        refusals.extend(modes(analysis));
        refusals.extend(unwatched(analysis));
        refusals.extend(watched_elsewhere(network));
    }
    refusals
}

/// Returns whose leader would ask again before the answers can be there.
fn slow_answers(analysis: &Analysis<'_>) -> Option<Refusal> {
    let arrange = analysis.arrange.filter(|arrange| !mode_change::answers_in_time(*arrange))?;
    Some(Refusal {
        because: format!(
            "a signal takes up to {} to every switch, so that answers to the leader of a return take longer than \
             the 50 ms after which it asks again: no return has a bound; faster lines, smaller frames or fewer \
             switches would help",
            milliseconds(u64::try_from(div_up(arrange, 1_000)).unwrap_or(u64::MAX))
        ),
        ..at(analysis.ports.topology.network.name.clone(), "modes")
    })
}

/// Flows that are watched elsewhere than where they enter, although links may be lost: what delays they have behind a way around, and
/// whether that way meets the switches that watch, is not analysed.
fn watched_elsewhere(network: &Network) -> impl Iterator<Item = Refusal> + '_ {
    let watched = network.flows.iter().filter(|it| it.is_watched() && !it.monitor_at.is_empty());
    watched.filter(|_| network.tolerates.links_lost > 0).map(|flow| Refusal {
        flows: vec![flow.name.clone()],
        because: "after a lost link the flow may come to the switches of `monitor_at` later than their monitors \
                  expect, or not at all, which is not analysed; leave `monitor_at` out, so that its first switch \
                  watches, or `links_lost: 0`"
            .into(),
        ..at(flow.name.clone(), "monitor")
    })
}

/// Flows whose contracts differ, on ways that meet none of the switches that are to watch them:
/// nobody would raise the mode.
fn unwatched<'a>(analysis: &'a Analysis<'_>) -> impl Iterator<Item = Refusal> + 'a {
    let topology = analysis.ports.topology;
    analysis.trees.iter().filter_map(move |tree| {
        let flow = &topology.network.flows[tree.flow];
        if flow.monitor_at.is_empty() || !flow.is_watched() {
            return None;
        }
        let behind_source = tree.hops.iter().filter(|hop| hop.parent.is_some());
        let mut on_way: Vec<&str> = behind_source
            .map(|hop| topology.nodes[topology.servers[hop.server].node].name)
            .collect();
        on_way.dedup();
        if flow.monitor_at.iter().any(|name| on_way.contains(&name.as_str())) {
            return None;
        }
        Some(Refusal {
            flows: vec![flow.name.clone()],
            because: format!(
                "the flow is to be watched at {}, but its way crosses {} only; name one of these in \
                 `monitor_at`, or write `route`",
                flow.monitor_at.join(", "),
                on_way.join(", ")
            ),
            ..at(flow.name.clone(), "monitor")
        })
    })
}

fn other_traffic(network: &Network) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if let OtherTraffic::Carry { rate_bps, .. } = network.other_traffic {
        let step_bps = |switch: &Switch| network.profile_of(switch).meter_rate_step_bps;
        let coarse = |switch: &&Switch| step_bps(switch) > rate_bps;
        refusals.extend(network.switches.iter().filter(coarse).map(|switch| Refusal {
            because: format!(
                "other traffic is policed at {rate_bps} bit/s, the meters of a {} go in steps \
                     of {}",
                switch.profile,
                format_rate(step_bps(switch))
            ),
            ..at(switch.name.clone(), "other_traffic")
        }));
    }
    if is_beside_processors(network) {
        let shared = network.switches.iter().find(|it| network.profile_of(it).processor.is_some());
        refusals.extend(shared.map(|switch| {
            Refusal {
                because:
                    "other traffic takes the time of the processor that the ports share, and the \
                      meters that limit it stand behind that: nothing bounds what flows wait"
                        .into(),
                ..at(switch.name.clone(), "other_traffic")
            }
        }));
    }
    refusals
}

fn modes(analysis: &Analysis<'_>) -> Vec<Refusal> {
    let network = analysis.ports.topology.network;
    let mut refusals = Vec::new();
    if analysis.is_given_up && !is_beside_processors(network) {
        refusals.push(Refusal {
            because:
                "what mode changes take of shared processors has no bound: signals wait behind \
                      frames, and purging what waits takes time from both"
                    .into(),
            ..at(network.name.clone(), "modes")
        });
    }
    for switch in network.switches.iter().filter(|s| !network.profile_of(s).has_modes) {
        refusals.push(Refusal {
            because: format!("a {} knows no modes, the network has several", switch.profile),
            ..at(switch.name.clone(), "modes")
        });
    }
    refusals.extend(unsettled(analysis));
    refusals.extend(slow_answers(analysis));
    if network.networks.len() > 1 {
        refusals.push(Refusal {
            because: format!(
                "networks {} change their modes by themselves, so that one may be in {} while another is in {}: \
                 that is not analysed; one network, or one mode, would help",
                network.networks.join(" and "),
                network.modes[0],
                network.modes[1],
            ),
            ..at(network.name.clone(), "modes")
        });
    }
    if analysis.arrange.is_none() && !analysis.is_given_up {
        refusals.push(Refusal {
            because: "mode signals do not reach every switch over trunks".into(),
            ..at(network.name.clone(), "modes")
        });
    }
    refusals
}

/// Whether frames of no flow come to processors that ports share.
pub(crate) fn is_beside_processors(network: &Network) -> bool {
    matches!(network.other_traffic, OtherTraffic::Carry { .. })
        && network.switches.iter().any(|it| network.profile_of(it).processor.is_some())
}

/// Returns before which nothing shows that the network settles, where everything else has a bound.
fn unsettled(analysis: &Analysis<'_>) -> Option<Refusal> {
    let network = analysis.ports.topology.network;
    let is_bounded = |result: &ModeResult| {
        result.solution.delays.iter().flatten().all(|(_, delay)| delay.is_some())
    };
    let returns = analysis.returns.iter();
    let open: Vec<Transition> = returns
        .filter(|(_, settled)| settled.is_none())
        .map(|&((from, to), _)| Transition::Return { from, to })
        .collect();
    let first = *open.first()?;
    if !analysis.results.iter().all(is_bounded) {
        return None;
    }
    let labels: Vec<String> = open.iter().map(|change| change.label(&network.modes)).collect();
    Some(Refusal {
        mode: Some(first),
        because: format!(
            "ports or processors depend on one another in a circle, and nothing shows that what {} leaves behind \
             ever dies away: bounds hold until the first return only; less load, or routes without \
             a circle, would help",
            labels.join(", ")
        ),
        ..at(network.name.clone(), "modes")
    })
}

/// The quiet window: as stated, or the least safe one rounded up to a millisecond. A stated one
/// that is too short is refused, and the bounds of what is refused are those of a safe one.
pub(crate) fn quiet(analysis: &Analysis<'_>, refusals: &mut Vec<Refusal>) -> Option<u64> {
    let network = analysis.ports.topology.network;
    if network.modes.len() < 2 {
        return None;
    }
    let least = mode_change::quiet_least_ns(analysis);
    let safe = least.map(|ns| ns.div_ceil(NS_PER_MS) * NS_PER_MS);
    let Some(stated) = network.mode_return.quiet_ns else { return safe };
    if let Some(least) = least.filter(|&least| least > stated) {
        refusals.push(Refusal {
            needed: Some(least),
            available: Some(stated),
            unit: "ns".into(),
            because: format!(
                "frames of a higher mode may be under way, and signals are charged once per 100 ms: \
                 the least safe window is {}",
                milliseconds(least)
            ),
            ..at(network.name.clone(), "quiet")
        });
    }
    let is_short = least.is_some_and(|least| least > stated);
    if is_short { safe } else { Some(stated) }
}

/// `91.02`, in Mbit/s rounded to the nearest.
fn megabits(bps: u64) -> String {
    let hundredths = bps.saturating_add(5_000) / 10_000;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
