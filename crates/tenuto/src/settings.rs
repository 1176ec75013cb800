//! `--set KEY=VALUE`: the same network with another value, judged like a file.

use crate::failure::Failure;
use tenuto_model::quantity::{QuantityError, parse_rate_bps, parse_size_bytes, parse_time_ns};
use tenuto_model::{Contract, Flow, MemorySources, Network, Size};

const KEYS: &str = "keys are flows.NAME.period, bag, message, payload, frame, deadline, jitter or \
                    priority, with .MODE behind for one mode, and links.A-B.rate";

/// The network with every setting; the whole is validated again.
pub(crate) fn apply(mut network: Network, settings: &[String]) -> Result<Network, Failure> {
    if settings.is_empty() {
        return Ok(network);
    }
    for setting in settings {
        set(&mut network, setting).map_err(|(why, hint)| {
            let message = format!("--set {}: {why}", shown(setting));
            Failure::input(message, None, Some(hint.as_deref().unwrap_or(KEYS)))
        })?;
    }
    let name = "network with --set";
    let sources = MemorySources::new().with(name, &tenuto_model::write_network(&network));
    Ok(tenuto_model::read_network(&sources, name)?.0)
}

fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(80).collect()
}

/// What is wrong and what would do; without the latter, the list of keys.
type Wrong = (String, Option<String>);

fn wrong(why: impl Into<String>) -> Wrong {
    (why.into(), None)
}

fn quantity(error: QuantityError) -> Wrong {
    let text = error.to_string();
    (text, Some("a value is written with its unit, such as 16ms or 8kB".into()))
}

fn set(network: &mut Network, setting: &str) -> Result<(), Wrong> {
    let (key, value) = setting.split_once('=').ok_or_else(|| wrong("there is no `=`"))?;
    let (key, value) = (key.trim(), value.trim());
    if let Some(rest) = key.strip_prefix("links.") {
        let name = rest.strip_suffix(".rate").ok_or_else(|| wrong("this key is not known"))?;
        return set_rate(network, name, value);
    }
    let rest = key.strip_prefix("flows.").ok_or_else(|| wrong("this key is not known"))?;
    // Names may hold dots: the longest flow name that fits is meant.
    let named = |flow: &Flow| rest.strip_prefix(&flow.name).is_some_and(|r| r.starts_with('.'));
    let found = (0..network.flows.len()).filter(|&i| named(&network.flows[i]));
    let Some(index) = found.max_by_key(|&i| network.flows[i].name.len()) else {
        let names: Vec<&str> = network.flows.iter().map(|f| f.name.as_str()).take(12).collect();
        return Err(("no flow has this name".into(), Some(format!("flows: {}", names.join(", ")))));
    };
    let modes = network.modes.clone();
    let flow = &mut network.flows[index];
    let field = &rest[flow.name.len() + 1..];
    let (field, mode) = match field.split_once('.') {
        None => (field, None),
        Some((field, mode)) => {
            let level = modes.iter().position(|m| m == mode).filter(|&m| m <= flow.level);
            let level = level.ok_or_else(|| wrong(format!("the flow has no mode `{mode}`")))?;
            (field, Some(level))
        }
    };
    set_flow(flow, field, mode, value)
}

fn set_rate(network: &mut Network, name: &str, value: &str) -> Result<(), Wrong> {
    let rate = parse_rate_bps(value).map_err(quantity)?;
    let mut found = false;
    for link in &mut network.links {
        let (a, b) = (&link.a.node, &link.b.node);
        if format!("{a}-{b}") == name || format!("{b}-{a}") == name {
            link.rate_bps = rate;
            found = true;
        }
    }
    if found {
        return Ok(());
    }
    let links = network.links.iter().take(12);
    let names: Vec<String> = links.map(|l| format!("{}-{}", l.a.node, l.b.node)).collect();
    Err((format!("no link is `{name}`"), Some(format!("links: {}", names.join(", ")))))
}

fn set_flow(flow: &mut Flow, field: &str, mode: Option<usize>, value: &str) -> Result<(), Wrong> {
    if field == "deadline" {
        let ns = parse_time_ns(value).map_err(quantity)?;
        for target in &mut flow.targets {
            for (level, deadline) in target.deadline_ns.iter_mut().enumerate() {
                if mode.is_none_or(|mode| mode == level) {
                    *deadline = ns;
                }
            }
        }
        return Ok(());
    }
    let bytes = || -> Result<u32, Wrong> {
        let bytes = parse_size_bytes(value).map_err(quantity)?;
        u32::try_from(bytes).map_err(|_| wrong(format!("{value} is too large")))
    };
    let change: Box<dyn Fn(&mut Contract)> = match field {
        "period" | "bag" => {
            let ns = parse_time_ns(value).map_err(quantity)?;
            Box::new(move |c| c.period_ns = ns)
        }
        "jitter" => {
            let ns = parse_time_ns(value).map_err(quantity)?;
            Box::new(move |c| c.jitter_ns = ns)
        }
        "priority" => {
            let class: u8 = value
                .parse()
                .map_err(|_| (format!("`{value}` is no class"), Some("0 is the highest".into())))?;
            Box::new(move |c| c.priority = class)
        }
        "message" | "payload" | "frame" => {
            let bytes = bytes()?;
            let size = match field {
                "message" => Size::MessageBytes(bytes),
                "payload" => Size::PayloadBytes(bytes),
                _ => Size::FrameBytes(bytes),
            };
            let same =
                |c: &Contract| std::mem::discriminant(&c.size) == std::mem::discriminant(&size);
            if mode.is_some() && !flow.contracts.iter().all(same) {
                return Err(wrong("the flow's size is in another word: set it for every mode"));
            }
            Box::new(move |c| c.size = size)
        }
        _ => return Err(wrong(format!("`{}` is no key of a flow", shown(field)))),
    };
    for (level, contract) in flow.contracts.iter_mut().enumerate() {
        if mode.is_none_or(|mode| mode == level) {
            change(contract);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> Network {
        let text = "tenuto: 1\nname: n\nmodes: [LO, HI]\nhosts: [a, b]\nswitches: {s: {profile: tenuto}}\n\
                    links:\n  - {ends: [a, s], rate: 100 Mbit/s}\n  - {ends: [s, b], rate: 100 Mbit/s}\n\
                    flows:\n  f: {source: a, targets: [b], level: HI, message: 1 kB, period: 10 ms}\n";
        let sources = MemorySources::new().with("n.yaml", text);
        match tenuto_model::read_network(&sources, "n.yaml") {
            Ok((network, _)) => network,
            Err(problems) => panic!("{problems}"),
        }
    }

    #[test]
    fn values_are_set_for_all_modes_or_one() {
        let settings =
            ["flows.f.period=20ms", "flows.f.message.HI = 2 kB", "links.s-a.rate=1Gbit/s"];
        let settings = settings.map(str::to_owned);
        let changed = apply(network(), &settings).expect("a network");
        let flow = &changed.flows[0];
        assert_eq!(flow.contracts[0].period_ns, 20_000_000);
        assert_eq!(flow.contracts[0].size, Size::MessageBytes(1_000));
        assert_eq!(flow.contracts[1].size, Size::MessageBytes(2_000));
        assert_eq!(changed.links[0].rate_bps, 1_000_000_000);
    }

    #[test]
    fn what_cannot_be_set_is_answered() {
        for setting in ["flows.g.period=1ms", "flows.f.color=red", "flows.f.period=1", "x=1", "y"] {
            assert!(apply(network(), &[setting.to_owned()]).is_err(), "{setting}");
        }
    }
}
