//! Changes of devices, of what is tolerated, and of who knows modes.

use super::change::Change;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_model::quantity::{format_rate, format_time};
use tenuto_model::{Link, LinkEnd, Network, Plan, Profile, Refusal, Switch};

/// What switches are given that know modes, if no other of the network does.
const BUILT_IN: &str = "tenuto";

/// A profile that has as much as is needed, wherever it is used. Profiles that come with the program are
/// what they are.
pub(super) fn wider(plan: &Plan, refusal: &Refusal) -> Vec<Change> {
    let network = &plan.network;
    let Some(profile) = switch_at(network, &refusal.place).map(|switch| &switch.profile) else {
        return Vec::new();
    };
    if Profile::built_in(profile).is_some() {
        return Vec::new();
    }
    let alike = plan.refusals.iter().filter(|other| {
        let switch = switch_at(network, &other.place);
        (&other.resource, &other.unit) == (&refusal.resource, &refusal.unit)
            && switch.is_some_and(|switch| switch.profile == *profile)
    });
    let Some(needed) = alike.filter_map(|other| other.needed).max() else { return Vec::new() };
    let mut changed = network.clone();
    let Some(it) = changed.profiles.get_mut(profile) else { return Vec::new() };
    let Some((field, value)) = widen(it, refusal, needed) else { return Vec::new() };
    vec![Change::to(format!("profile {profile} {field} >= {value}"), changed)]
}

/// Gives a profile more of what was refused; the field's name and its value in words.
fn widen(profile: &mut Profile, refusal: &Refusal, needed: u64) -> Option<(&'static str, String)> {
    let count = u32::try_from(needed).ok()?;
    let field = match (refusal.resource.as_str(), refusal.unit.as_str()) {
        ("entries", _) => {
            profile.entries_max = profile.entries_max.max(count);
            "entries"
        }
        ("meters", _) => {
            profile.meters_max = profile.meters_max.max(count);
            "meters"
        }
        ("groups", _) => {
            profile.groups_max = profile.groups_max.max(count);
            "groups"
        }
        ("queues", _) => {
            profile.queues_per_port = profile.queues_per_port.max(u8::try_from(count).ok()?);
            "queues_per_port"
        }
        ("buffer", "B") if profile.buffer_bytes_per_port.is_some() => {
            profile.buffer_bytes_per_port = Some(needed);
            return Some(("buffer_per_port", format!("{needed} B")));
        }
        _ => return None,
    };
    Some((field, needed.to_string()))
}

/// The profile that costs the late flow most time in its switches, with less latency: in steps of a
/// twentieth, down to nothing. Profiles that come with the program are what they are.
pub(super) fn quicker(plan: &Plan, refusal: &Refusal) -> Vec<Change> {
    const STEPS: u64 = 20;
    let network = &plan.network;
    let Some(late) = refusal.flows.first() else { return Vec::new() };
    let routes = plan.routes.iter().filter(|route| route.flow == *late);
    let nodes: BTreeSet<&str> = routes
        .flat_map(|route| route.paths.iter().flat_map(|path| &path.ports))
        .map(|port| port.node.as_str())
        .collect();
    let mut costs: BTreeMap<&str, u64> = BTreeMap::new();
    for switch in network.switches.iter().filter(|switch| nodes.contains(switch.name.as_str())) {
        if Profile::built_in(&switch.profile).is_none() {
            let latency_ns = network.profile_of(switch).latency_ns_max;
            *costs.entry(&switch.profile).or_default() += latency_ns;
        }
    }
    let most = costs.into_iter().max_by_key(|(_, cost)| *cost).filter(|(_, cost)| *cost > 0);
    let Some(name) = most.map(|(name, _)| name.to_owned()) else { return Vec::new() };
    let now = network.profiles[&name].latency_ns_max;
    let change = |part: u64| {
        let latency_ns = now / STEPS * part + now % STEPS * part / STEPS;
        let (name, text) = (name.clone(), format_time(latency_ns));
        Change::new(format!("profile {name} latency <= {text}"), move |network| {
            let profile = network.profiles.get_mut(&name);
            profile.into_iter().for_each(|it| it.latency_at_most(latency_ns));
        })
    };
    (0..STEPS).rev().map(change).collect()
}

/// The switch of that name, or that has the port of that label.
fn switch_at<'a>(network: &'a Network, place: &str) -> Option<&'a Switch> {
    let node = place.split(':').next().unwrap_or(place);
    network.switches.iter().find(|switch| switch.name == place || switch.name == node)
}

/// The lowest classes joined to one, from the fewest on.
pub(super) fn fewer_classes(network: &Network) -> Vec<Change> {
    let classes: BTreeSet<u8> =
        network.flows.iter().flat_map(|flow| &flow.contracts).map(|c| c.priority).collect();
    let Some(lowest) = classes.last().copied() else { return Vec::new() };
    let capped = |most: u8| {
        let mut changed = network.clone();
        for contract in changed.flows.iter_mut().flat_map(|flow| &mut flow.contracts) {
            contract.priority = contract.priority.min(most);
        }
        Change::to(format!("priorities <= {most}"), changed)
    };
    (0..lowest).rev().map(capped).collect()
}

/// No way around any link.
pub(super) fn no_link_lost(network: &Network) -> Vec<Change> {
    let mut changed = network.clone();
    changed.tolerates.links_lost = 0;
    vec![Change::to("links_lost: 0".to_owned(), changed)]
}

/// The refused switch, then all alike, with a profile that knows modes.
pub(super) fn knowing_modes(network: &Network, refusal: &Refusal) -> Vec<Change> {
    let knows_none = |switch: &&Switch| !network.profile_of(switch).has_modes;
    let all: Vec<&str> =
        network.switches.iter().filter(knows_none).map(|switch| switch.name.as_str()).collect();
    let Some(&own) = all.iter().find(|name| **name == refusal.place) else { return Vec::new() };
    let known = network.switches.iter().find(|switch| !knows_none(switch));
    let profile = known.map_or(BUILT_IN, |switch| switch.profile.as_str());
    let change = |names: &[&str]| {
        let mut changed = network.clone();
        if let Some(built_in) = Profile::built_in(profile).filter(|_| known.is_none()) {
            changed.profiles.insert(profile.to_owned(), built_in);
        }
        let switches = changed.switches.iter_mut();
        for switch in switches.filter(|switch| names.contains(&switch.name.as_str())) {
            profile.clone_into(&mut switch.profile);
        }
        Change::to(format!("profile {profile} at {}", names.join(" and ")), changed)
    };
    match all.len() {
        1 => vec![change(&[own])],
        _ => vec![change(&[own]), change(&all)],
    }
}

/// Links between switches that signals do not get from one to the other.
pub(super) fn with_links(network: &Network) -> Vec<Change> {
    let mut changed = network.clone();
    let mut words = Vec::new();
    let rate_bps = network.links.iter().map(|link| link.rate_bps).max().unwrap_or(0);
    for (first, other) in apart(network) {
        let [a, b] = [first, other].map(|node| {
            let used = changed.ends_of(&node).map(|(own, _, _)| own.port).max().unwrap_or(0);
            LinkEnd { node, port: used + 1 }
        });
        words.push(format!("new link {} - {} at {}", a.node, b.node, format_rate(rate_bps)));
        changed.links.push(Link { a, b, rate_bps, propagation_ns: 0 });
    }
    if words.is_empty() { Vec::new() } else { vec![Change::to(words.join(" and "), changed)] }
}

/// The first switch of each redundant network, and one of every part that it has no trunks to.
fn apart(network: &Network) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut first: Vec<&Switch> = Vec::new();
    for switch in &network.switches {
        if seen.contains(switch.name.as_str()) {
            continue;
        }
        match first.iter().find(|it| it.network == switch.network) {
            Some(it) => found.push((it.name.clone(), switch.name.clone())),
            None => first.push(switch),
        }
        let mut open = vec![switch.name.as_str()];
        while let Some(name) = open.pop() {
            if seen.insert(name) {
                let far = network.ends_of(name).map(|(_, far, _)| far.node.as_str());
                let is_switch = |node: &&str| network.switches.iter().any(|s| s.name == *node);
                open.extend(far.filter(is_switch));
            }
        }
    }
    found
}
