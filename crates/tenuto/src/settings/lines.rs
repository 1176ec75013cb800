//! A *would fit* line of a refusal as it stands, in place of KEY=VALUE: makes of a network what the
//! planner made of it before it offered the line.

use super::{Wrong, quantity, wrong};
use tenuto_model::quantity::{parse_rate_bps, parse_size_bytes, parse_time_ns};
use tenuto_model::{Apart, Flow, Link, LinkEnd, Network, OtherTraffic, Profile, Size, meant};

const HINT: &str = "copy one alternative of the line, without `, or` and what follows";

/// How remarks behind a line begin.
const REMARKS: [&str; 3] = [" (priorities ", " (something else ", " (each re-planned"];

/// Makes the change, if this is such a line.
pub(super) fn change(network: &mut Network, line: &str) -> Option<Result<(), Wrong>> {
    let remark = REMARKS.iter().filter_map(|remark| line.find(remark)).min();
    let line = line[..remark.unwrap_or(line.len())].trim();
    if line.contains(", or ") {
        return Some(Err(("these are several changes".into(), Some(HINT.into()))));
    }
    if let Some((names, known)) = line.split_once(" above ").filter(|_| !line.contains('=')) {
        return Some(exchange(network, names, known));
    }
    if let Some((profile, switches)) =
        line.strip_prefix("profile ").and_then(|it| it.split_once(" at "))
    {
        return Some(give_profile(network, profile, switches));
    }
    // Changes of several flows, or links, that hold together.
    let is_one = |part: &str| {
        part.starts_with("new link ") || [" <= ", " >= "].iter().any(|word| part.contains(word))
    };
    match line.split(" and ").all(is_one) {
        true => line.split(" and ").map(|part| one(network, part)).collect(),
        false => one(network, line),
    }
}

/// One change that no other is joined to.
fn one(network: &mut Network, line: &str) -> Option<Result<(), Wrong>> {
    match line {
        "other_traffic: drop" => network.other_traffic = OtherTraffic::Drop,
        "links_lost: 0" => network.tolerates.links_lost = 0,
        _ => {
            if let Some(name) = line.strip_suffix(" copies: link-disjoint") {
                return Some(flow(network, name).map(|it| it.apart = Apart::Links));
            }
            if let Some(name) = line.strip_suffix(" routes: left out") {
                let free = |it: &mut Flow| {
                    let targets = it.targets.iter_mut();
                    targets.flat_map(|it| &mut it.routes).for_each(|route| *route = None);
                };
                return Some(flow(network, name).map(free));
            }
            if let Some(ends) = line.strip_prefix("new link ") {
                return Some(new_link(network, ends));
            }
            if let Some(ends) = line.strip_prefix("link ") {
                return Some(faster_link(network, ends));
            }
            if let Some((what, value)) = line.split_once(" <= ") {
                return Some(at_most(network, what.trim(), value.trim()));
            }
            let (what, value) = line.split_once(" >= ")?;
            return Some(at_least(network, what.trim(), value.trim()));
        }
    }
    Some(Ok(()))
}

fn flow<'a>(network: &'a mut Network, name: &str) -> Result<&'a mut Flow, Wrong> {
    match network.flows.iter().position(|flow| flow.name == name) {
        Some(at) => Ok(&mut network.flows[at]),
        None => {
            let names = network.flows.iter().map(|flow| flow.name.as_str());
            Err((format!("no flow is called `{name}`"), meant(name, names)))
        }
    }
}

/// `priorities <= 3`, `CAM message <= 53 kB`: what is smaller stays.
fn at_most(network: &mut Network, what: &str, value: &str) -> Result<(), Wrong> {
    if what == "priorities" {
        let most: u8 = value.parse().map_err(|_| wrong(format!("`{value}` is no class")))?;
        let contracts = network.flows.iter_mut().flat_map(|flow| &mut flow.contracts);
        contracts.for_each(|contract| contract.priority = contract.priority.min(most));
        return Ok(());
    }
    let (name, field) = what.rsplit_once(' ').unwrap_or(("", what));
    if let Some(profile) = name.strip_prefix("profile ").filter(|_| field == "latency") {
        let latency_ns = parse_time_ns(value).map_err(quantity)?;
        own_profile(network, profile)?.latency_at_most(latency_ns);
        return Ok(());
    }
    if !["message", "payload", "frame"].contains(&field) {
        return Err(unknown(field, "message, payload, frame and priorities", "at most"));
    }
    let bytes = parse_size_bytes(value).map_err(quantity)?;
    let most = u32::try_from(bytes).map_err(|_| wrong(format!("{value} is too large")))?;
    for contract in &mut flow(network, name)?.contracts {
        contract.size = match (field, contract.size) {
            ("message", Size::MessageBytes(own)) => Size::MessageBytes(own.min(most)),
            ("payload", Size::PayloadBytes(own)) => Size::PayloadBytes(own.min(most)),
            ("frame", Size::FrameBytes(own)) => Size::FrameBytes(own.min(most)),
            _ => return Err(wrong(format!("the size of {name} is no `{field}`"))),
        };
        let largest = contract.size.frames(false).frame_bytes_max;
        contract.frame_bytes_min = contract.frame_bytes_min.map(|own| own.min(largest));
    }
    Ok(())
}

/// `CAM deadline >= 37.74 ms`, `quiet >= 800 ms`, `profile P entries >= 40`: what is more stays.
fn at_least(network: &mut Network, what: &str, value: &str) -> Result<(), Wrong> {
    let (name, field) = what.rsplit_once(' ').unwrap_or(("", what));
    if let Some(name) = name.strip_prefix("profile ") {
        return widen(network, name, field, value);
    }
    let time = || parse_time_ns(value).map_err(quantity);
    match field {
        "quiet" if name.is_empty() => {
            let least = time()?;
            let window = &mut network.mode_return.quiet_ns;
            *window = Some(window.map_or(least, |own| own.max(least)));
        }
        "period" => {
            let least = time()?;
            let contracts = &mut flow(network, name)?.contracts;
            contracts.iter_mut().for_each(|it| it.period_ns = it.period_ns.max(least));
        }
        "deadline" => {
            let least = time()?;
            let targets = flow(network, name)?.targets.iter_mut();
            targets.flat_map(|it| &mut it.deadline_ns).for_each(|own| *own = least.max(*own));
        }
        "skew_max" => {
            let least = time()?;
            let skew = &mut flow(network, name)?.skew_max_ns;
            *skew = skew.map(|own| own.max(least));
        }
        _ => return Err(unknown(field, "period, deadline, skew_max and quiet", "at least")),
    }
    Ok(())
}

fn unknown(field: &str, known: &str, word: &str) -> Wrong {
    (format!("`{field}` is nothing that can be {word} so much"), Some(format!("{known} can")))
}

fn widen(network: &mut Network, name: &str, field: &str, value: &str) -> Result<(), Wrong> {
    let profile = own_profile(network, name)?;
    if field == "buffer_per_port" {
        let bytes = parse_size_bytes(value).map_err(quantity)?;
        let buffer = &mut profile.buffer_bytes_per_port;
        *buffer = buffer.map(|own| own.max(bytes));
        return Ok(());
    }
    let count: u32 = value.parse().map_err(|_| wrong(format!("`{value}` is no number")))?;
    let room = match field {
        "entries" => &mut profile.entries_max,
        "meters" => &mut profile.meters_max,
        "groups" => &mut profile.groups_max,
        "queues_per_port" => {
            let queues = u8::try_from(count).map_err(|_| wrong(format!("{count} is too many")))?;
            profile.queues_per_port = profile.queues_per_port.max(queues);
            return Ok(());
        }
        _ => {
            let known = "entries, meters, groups, queues_per_port and buffer_per_port";
            return Err(unknown(field, known, "at least"));
        }
    };
    *room = count.max(*room);
    Ok(())
}

/// A profile that the network describes itself: what comes with the program is what it is.
fn own_profile<'a>(network: &'a mut Network, name: &str) -> Result<&'a mut Profile, Wrong> {
    if Profile::built_in(name).is_some() && network.profiles.contains_key(name) {
        let hint = format!("describe a profile of another name with `like: {name}`, and set that");
        return Err((format!("the profile `{name}` comes with the program"), Some(hint)));
    }
    let hint = meant(name, network.profiles.keys().map(String::as_str));
    let found = network.profiles.get_mut(name);
    found.ok_or_else(|| (format!("no profile is called `{name}`"), hint))
}

/// `CAM above STREAM`: each gets the class of the other.
fn exchange(network: &mut Network, first: &str, second: &str) -> Result<(), Wrong> {
    let own = flow(network, first)?.highest().priority;
    let other = flow(network, second)?.highest().priority;
    flow(network, first)?.set_priority(own.min(other));
    flow(network, second)?.set_priority(own.max(other));
    Ok(())
}

/// `tenuto at s1 and s2`.
fn give_profile(network: &mut Network, profile: &str, switches: &str) -> Result<(), Wrong> {
    if !network.profiles.contains_key(profile) {
        let Some(built_in) = Profile::built_in(profile) else {
            return Err(wrong(format!("no profile is called `{profile}`")));
        };
        network.profiles.insert(profile.to_owned(), built_in);
    }
    for name in switches.split(" and ") {
        let names: Vec<String> = network.switches.iter().map(|it| it.name.clone()).collect();
        let Some(switch) = network.switches.iter_mut().find(|switch| switch.name == name) else {
            let hint = meant(name, names.iter().map(String::as_str));
            return Err((format!("no switch is called `{name}`"), hint));
        };
        profile.clone_into(&mut switch.profile);
    }
    Ok(())
}

/// `A - B at 1 Gbit/s`: the two ends and the rate.
fn ends(text: &str) -> Result<(&str, &str, u64), Wrong> {
    let parts = text.rsplit_once(" at ").and_then(|(ends, rate)| {
        let (a, b) = ends.split_once(" - ")?;
        Some((a.trim(), b.trim(), rate))
    });
    let (a, b, rate) = parts.ok_or_else(|| wrong("a link is written as A - B at RATE"))?;
    Ok((a, b, parse_rate_bps(rate).map_err(quantity)?))
}

fn faster_link(network: &mut Network, text: &str) -> Result<(), Wrong> {
    let (a, b, rate_bps) = ends(text)?;
    let is_end = |end: &LinkEnd, text: &str| {
        end.node == text || format!("{}:{}", end.node, end.port) == text
    };
    let is_it = |link: &&mut Link| {
        (is_end(&link.a, a) && is_end(&link.b, b)) || (is_end(&link.a, b) && is_end(&link.b, a))
    };
    let mut found = network.links.iter_mut().filter(is_it).peekable();
    if found.peek().is_none() {
        return Err(wrong(format!("no link is `{a} - {b}`")));
    }
    found.for_each(|link| link.rate_bps = rate_bps);
    Ok(())
}

fn new_link(network: &mut Network, text: &str) -> Result<(), Wrong> {
    let (a, b, rate_bps) = ends(text)?;
    let [a, b] = [a, b].map(|node| {
        let used = network.ends_of(node).map(|(own, _, _)| own.port).max().unwrap_or(0);
        LinkEnd { node: node.to_owned(), port: used + 1 }
    });
    network.links.push(Link { a, b, rate_bps, propagation_ns: 0 });
    Ok(())
}
