//! `--set KEY=VALUE`: the same network with another value, judged like a file.

mod lines;

use crate::failure::Failure;
use tenuto_model::quantity::{QuantityError, parse_rate_bps, parse_size_bytes, parse_time_ns};
use tenuto_model::{Contract, Flow, MemorySources, Network, Size, meant};

const KEYS: &str = "keys are flows.NAME.period, bag, message, payload, frame, deadline, jitter or \
                    priority, with .MODE behind for one mode, and links.A-B.rate; or a line of \
                    *would fit* as it stands";
const FIELDS: [&str; 8] =
    ["period", "bag", "message", "payload", "frame", "deadline", "jitter", "priority"];

/// The network with every setting; the whole is validated again.
pub(crate) fn apply(mut network: Network, settings: &[String]) -> Result<Network, Failure> {
    if settings.is_empty() {
        return Ok(network);
    }
    for (place, setting) in settings.iter().enumerate() {
        let earlier = &settings[..place];
        set(&mut network, setting, earlier).map_err(|(why, hint)| {
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

/// The key of a setting, without the spaces around it.
fn key(setting: &str) -> Option<&str> {
    setting.split_once('=').map(|(key, _)| key.trim())
}

fn set(network: &mut Network, setting: &str, earlier: &[String]) -> Result<(), Wrong> {
    let is_key = ["flows.", "links."].iter().any(|start| setting.trim_start().starts_with(start));
    if !is_key && let Some(done) = lines::change(network, setting.trim()) {
        return done;
    }
    let (key_text, value) = setting.split_once('=').ok_or_else(|| wrong("there is no `=`"))?;
    let (key_text, value) = (key_text.trim(), value.trim());
    if earlier.iter().any(|it| key(it) == Some(key_text)) {
        return Err(("this key is set twice".into(), Some("which of the two is meant?".into())));
    }
    if let Some(rest) = key_text.strip_prefix("links.") {
        let name = rest.strip_suffix(".rate").ok_or_else(|| wrong("this key is not known"))?;
        return set_rate(network, name, value);
    }
    let rest = key_text.strip_prefix("flows.").ok_or_else(|| wrong("this key is not known"))?;
    // Names may hold dots: the longest flow name that fits is meant.
    let named = |flow: &Flow| rest.strip_prefix(&flow.name).is_some_and(|r| r.starts_with('.'));
    let found = (0..network.flows.len()).filter(|&i| named(&network.flows[i]));
    let Some(index) = found.max_by_key(|&i| network.flows[i].name.len()) else {
        return Err(no_flow(network, rest));
    };
    let modes = network.modes.clone();
    let flow = &mut network.flows[index];
    let field = &rest[flow.name.len() + 1..];
    let (field, part) = match field.split_once('.') {
        None => (field, Part::All),
        Some((field, part)) => (field, Part::of(flow, &modes, field, part)?),
    };
    set_flow(flow, field, part, value)
}

fn no_flow(network: &Network, rest: &str) -> Wrong {
    let ends = FIELDS.iter().filter_map(|field| rest.find(&format!(".{field}")));
    let end = ends.min().or_else(|| rest.rfind('.')).unwrap_or(rest.len());
    let names = network.flows.iter().map(|flow| flow.name.as_str());
    (format!("no flow has the name `{}`", shown(&rest[..end])), meant(&rest[..end], names))
}

/// What of a flow is set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    /// In one mode, by its level.
    Mode(usize),
    /// To one target, by its place.
    Target(usize),
}

impl Part {
    fn of(flow: &Flow, modes: &[String], field: &str, word: &str) -> Result<Self, Wrong> {
        let modes = &modes[..=flow.level.min(modes.len() - 1)];
        if let Some(level) = modes.iter().position(|mode| mode == word) {
            return Ok(Self::Mode(level));
        }
        let targets = flow.targets.iter().map(|target| target.host.as_str());
        let to = targets.clone().position(|host| host == word).filter(|_| field == "deadline");
        if let Some(place) = to {
            return Ok(Self::Target(place));
        }
        let all: Vec<&str> = match field {
            "deadline" => modes.iter().map(String::as_str).chain(targets).collect(),
            _ => modes.iter().map(String::as_str).collect(),
        };
        let what = if field == "deadline" { "mode or target" } else { "mode" };
        Err((format!("the flow has no {what} `{}`", shown(word)), meant(word, all)))
    }

    fn is_in(self, level: usize) -> bool {
        !matches!(self, Self::Mode(own) if own != level)
    }
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
    let links = network.links.iter();
    let names: Vec<String> = links.map(|l| format!("{}-{}", l.a.node, l.b.node)).collect();
    let hint = meant(name, names.iter().map(String::as_str));
    Err((format!("no link is `{}`", shown(name)), hint))
}

fn set_flow(flow: &mut Flow, field: &str, part: Part, value: &str) -> Result<(), Wrong> {
    match field {
        "deadline" => return set_deadline(flow, part, value),
        "message" | "payload" | "frame" => return set_size(flow, field, part, value),
        _ => {}
    }
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
        _ => {
            let why = format!("`{}` is no key of a flow", shown(field));
            return Err((why, meant(field, FIELDS)));
        }
    };
    contracts_of(flow, part).for_each(change);
    Ok(())
}

/// The contracts of the modes that are meant.
fn contracts_of(flow: &mut Flow, part: Part) -> impl Iterator<Item = &mut Contract> {
    let levels = flow.contracts.iter_mut().enumerate();
    levels.filter(move |(level, _)| part.is_in(*level)).map(|(_, contract)| contract)
}

fn set_deadline(flow: &mut Flow, part: Part, value: &str) -> Result<(), Wrong> {
    let ns = parse_time_ns(value).map_err(quantity)?;
    let is_meant = |place: usize| !matches!(part, Part::Target(own) if own != place);
    let targets = flow.targets.iter_mut().enumerate().filter(|(place, _)| is_meant(*place));
    for (level, deadline) in targets.flat_map(|(_, it)| it.deadline_ns.iter_mut().enumerate()) {
        if part.is_in(level) {
            *deadline = ns;
        }
    }
    Ok(())
}

fn set_size(flow: &mut Flow, word: &str, part: Part, value: &str) -> Result<(), Wrong> {
    let bytes = parse_size_bytes(value).map_err(quantity)?;
    let bytes = u32::try_from(bytes).map_err(|_| wrong(format!("{value} is too large")))?;
    let size = match word {
        "message" => Size::MessageBytes(bytes),
        "payload" => Size::PayloadBytes(bytes),
        _ => Size::FrameBytes(bytes),
    };
    let same = |c: &Contract| std::mem::discriminant(&c.size) == std::mem::discriminant(&size);
    if part != Part::All && !flow.contracts.iter().all(same) {
        return Err(wrong("the flow's size is in another word: set it for every mode"));
    }
    contracts_of(flow, part).for_each(|contract| contract.size = size);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> Network {
        let text = "tenuto: 1\nname: n\nmodes: [LO, HI]\nhosts: [a, b]\nprofiles: {own: {like: tenuto}}\n\
                    switches: {s: {profile: own}}\n\
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
    fn a_deadline_is_set_for_one_target() {
        let setting = ["flows.f.deadline.b=3ms".to_owned()];
        let changed = apply(network(), &setting).expect("a network");
        assert_eq!(changed.flows[0].targets[0].deadline_ns, [3_000_000, 3_000_000]);
    }

    #[test]
    fn lines_of_would_fit_are_changes() {
        type Holds = fn(&Network) -> bool;
        let lines: [(&str, Holds); 12] = [
            ("f message <= 0.5 kB", |n| n.flows[0].contracts[1].size == Size::MessageBytes(500)),
            ("f message <= 5 kB", |n| n.flows[0].contracts[1].size == Size::MessageBytes(1_000)),
            ("f period >= 12 ms (something else stays refused)", |n| {
                n.flows[0].contracts.iter().all(|it| it.period_ns == 12_000_000)
            }),
            ("f deadline >= 30.01 ms", |n| n.flows[0].targets[0].deadline_ns[0] == 30_010_000),
            ("link a - s at 1 Gbit/s", |n| n.links[0].rate_bps == 1_000_000_000),
            ("link b:1 - s:2 at 1 Gbit/s", |n| n.links[1].rate_bps == 1_000_000_000),
            ("quiet >= 1346 ms", |n| n.mode_return.quiet_ns == Some(1_346_000_000)),
            ("profile own entries >= 123456", |n| n.profiles["own"].entries_max == 123_456),
            ("profile ideal at s", |n| n.switches[0].profile == "ideal"),
            ("profile own latency <= 7 us", |n| n.profiles["own"].latency_ns_max == 7_000),
            ("f routes: left out", |n| {
                n.flows[0].targets.iter().all(|it| it.routes.iter().all(Option::is_none))
            }),
            ("priorities <= 0", |n| n.flows[0].contracts.iter().all(|it| it.priority == 0)),
        ];
        let mut changed = network();
        let both = lines::change(&mut changed, "f deadline >= 40 ms and f period >= 20 ms");
        assert!(
            matches!(both, Some(Ok(()))) && changed.flows[0].contracts[0].period_ns > 19_999_999
        );
        for (line, holds) in lines {
            let mut changed = network();
            let answer = lines::change(&mut changed, line);
            assert!(matches!(answer, Some(Ok(()))) && holds(&changed), "{line}");
        }
        for line in [
            "g message <= 1 kB",
            "f colour >= 3",
            "profile x entries >= 1",
            "profile x latency <= 1 us",
            "g routes: left out",
            "f period >= 3",
        ] {
            assert!(apply(network(), &[line.to_owned()]).is_err(), "{line}");
        }
    }

    /// A file cannot say otherwise of a profile that comes with the program, so that the change would be lost.
    #[test]
    fn a_profile_that_comes_with_the_program_is_not_set() {
        for line in ["profile ideal entries >= 5", "profile ideal latency <= 1 us"] {
            let settings = ["profile ideal at s".to_owned(), line.to_owned()];
            let told = format!("{:?}", apply(network(), &settings).expect_err("refused"));
            assert!(
                told.contains("comes with the program") && told.contains("like: ideal"),
                "{told}"
            );
        }
        let own = apply(network(), &["profile own entries >= 123456".to_owned()]).expect("its own");
        assert_eq!(own.profiles["own"].entries_max, 123_456, "it is there after all is read again");
    }

    #[test]
    fn a_close_name_is_suggested_and_a_key_set_once() {
        let said = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|&it| it.to_owned()).collect();
            format!("{:?}", apply(network(), &settings).expect_err("refused"))
        };
        assert!(said(&["flows.f.perid=1ms"]).contains("did you mean period?"));
        assert!(said(&["flows.f.period.hi=1ms"]).contains("did you mean HI?"));
        assert!(said(&["flows.f.period=1ms", "flows.f.period = 2ms"]).contains("set twice"));
    }

    #[test]
    fn what_cannot_be_set_is_answered() {
        for setting in ["flows.g.period=1ms", "flows.f.color=red", "flows.f.period=1", "x=1", "y"] {
            assert!(apply(network(), &[setting.to_owned()]).is_err(), "{setting}");
        }
    }
}
