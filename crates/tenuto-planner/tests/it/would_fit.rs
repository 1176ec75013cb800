//! Every "would fit" line is believed and tried: as a setting, and in an edited file.

use std::collections::BTreeMap;
use tenuto_model::quantity::{parse_rate_bps, parse_size_bytes, parse_time_ns};
use tenuto_model::{
    Apart, MemorySources, Network, OtherTraffic, Plan, Size, read_network, write_network,
};
use tenuto_planner::{Options, Priorities, Progress, SearchEnd, Watch, plan, suggest};

/// A plan whose changes the independent checker accepted, every one, and how the search ended.
fn judged(network: &Network, options: &Options) -> (Plan, SearchEnd) {
    let mut it = plan(network, &Options { would_fit: false, ..*options });
    let confirm = |plan: &Plan| tenuto_certify::certify(&plan.to_json()).is_ok();
    let mut told = Vec::new();
    let mut found = |index: usize, line: &str| told.push((index, line.to_owned()));
    let mut watch = Watch { confirm: &confirm, progress: &mut |_| (), found: &mut found };
    let end = suggest(&mut it, options, &mut watch);
    let lines = it.refusals.iter().enumerate();
    let lines: Vec<_> = lines
        .flat_map(|(index, it)| it.would_fit.iter().map(move |line| (index, line.clone())))
        .collect();
    assert_eq!(told, lines, "what is told as it is found is what the plan says");
    (it, end)
}

/// Knuth's generator: the same networks in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).expect("small")]
    }
}

#[derive(Clone)]
struct FlowText {
    source: &'static str,
    targets: Vec<&'static str>,
    level: usize,
    key: &'static str,
    bytes: Vec<u64>,
    period_us: Vec<u64>,
    deadline_us: Option<u64>,
    priority: Option<u64>,
    more: String,
}

#[derive(Clone)]
struct NetworkText {
    head: String,
    links: BTreeMap<(String, String), &'static str>,
    flows: BTreeMap<String, FlowText>,
    modes: Vec<&'static str>,
    quiet_ms: Option<u64>,
    tail: String,
}

impl NetworkText {
    fn text(&self) -> String {
        let mut text = self.head.clone();
        if self.modes.len() > 1 {
            text += &format!("modes: [{}]\n", self.modes.join(", "));
        }
        text += "links:\n";
        for ((a, b), rate) in &self.links {
            text += &format!("  - {{ends: [{a}, {b}], rate: {rate}}}\n");
        }
        text += "flows:\n";
        for (name, flow) in &self.flows {
            let per_mode = |values: &[u64], unit: &str| {
                let of = |(mode, value): (&str, &u64)| format!("{mode}: {value} {unit}");
                let all: Vec<String> = self.modes.iter().copied().zip(values).map(of).collect();
                match values {
                    [one] => format!("{one} {unit}"),
                    _ => format!("{{{}}}", all.join(", ")),
                }
            };
            text += &format!(
                "  {name}: {{source: {}, targets: [{}], level: {}, {}: {}, period: {}{}{}{}}}\n",
                flow.source,
                flow.targets.join(", "),
                self.modes[flow.level],
                flow.key,
                per_mode(&flow.bytes, "B"),
                per_mode(&flow.period_us, "us"),
                flow.deadline_us.map_or(String::new(), |us| format!(", deadline: {us} us")),
                flow.priority.map_or(String::new(), |class| format!(", priority: {class}")),
                flow.more,
            );
        }
        if let Some(ms) = self.quiet_ms {
            text += &format!("mode_return: {{quiet: {ms} ms}}\n");
        }
        text + &self.tail
    }
}

fn read(text: &str) -> Result<Network, String> {
    let sources = MemorySources::new().with("n.yaml", text);
    read_network(&sources, "n.yaml").map(|(network, _)| network).map_err(|it| it.to_string())
}

/// A network that asks for about as much as there is.
fn drawn(seed: u64) -> NetworkText {
    let mut random = Random(seed);
    let hosts = ["a", "b", "c", "d", "e"];
    let modes = if random.below(3) == 0 { vec!["LO", "HI"] } else { vec!["normal"] };
    let is_modal = modes.len() > 1;
    let profile = match random.below(6) {
        0 if !is_modal => "zodiac-fx",
        1 if !is_modal => "ideal",
        2 => "small",
        _ => "tenuto",
    };
    let mut links = BTreeMap::new();
    let attached = [("a", "s1"), ("b", "s1"), ("c", "s2"), ("d", "s3"), ("e", "s3")];
    for (host, switch) in attached {
        links.insert((host.to_owned(), switch.to_owned()), "100 Mbit/s");
    }
    let is_ring = random.below(3) == 0;
    for (a, b) in [("s1", "s2"), ("s2", "s3")].into_iter().chain(is_ring.then_some(("s1", "s3"))) {
        links.insert((a.to_owned(), b.to_owned()), "100 Mbit/s");
    }
    let has_priorities = random.below(2) == 0;
    let has_deadlines = random.below(3) > 0;
    let heavy = if profile == "zodiac-fx" { 12 } else { 1 };
    let mut flows = BTreeMap::new();
    for n in 0..3 + random.below(5) {
        let source = *random.one(&hosts);
        let mut targets = vec![*random.one(&hosts), *random.one(&hosts)];
        targets.retain(|target| *target != source);
        targets.dedup();
        if targets.is_empty() {
            targets.push(if source == "a" { "e" } else { "a" });
        }
        let level = if is_modal { usize::from(random.below(2) == 0) } else { 0 };
        let (key, bytes) = match random.below(3) {
            0 => ("message", 2_000 + random.below(30_000)),
            1 => ("payload", 18 + random.below(1_400)),
            _ => ("frame", 64 + random.below(1_454)),
        };
        let bytes = if profile == "zodiac-fx" { 40 + bytes % 900 } else { bytes };
        let frames = bytes.div_ceil(1_460);
        let period_us = (frames * (250 + random.below(900)) + random.below(400)) * heavy;
        let mut flow = FlowText {
            source,
            targets,
            level,
            key,
            bytes: vec![bytes; level + 1],
            period_us: vec![period_us; level + 1],
            deadline_us: has_deadlines.then(|| period_us * (30 + random.below(120)) / 100 + 40),
            priority: has_priorities.then(|| random.below(4)),
            more: String::new(),
        };
        if level == 1 {
            flow.period_us[0] += random.below(period_us);
        }
        if random.below(5) == 0 {
            flow.more += &format!(", jitter: {} us", random.below(period_us / 2));
        }
        if key != "message" && random.below(5) == 0 {
            flow.more +=
                &format!(", frame_min: {} B", 64 + random.below(bytes.max(65) - 64).min(900));
        }
        flows.insert(format!("f{n}"), flow);
    }
    let mut tail = String::new();
    if random.below(4) == 0 {
        tail += "other_traffic: {priority: 6, rate: 1 Mbit/s, frame: 1518 B}\n";
    }
    if random.below(2) == 0 {
        tail += "tolerates: {babbling_hosts: 1}\n";
    }
    NetworkText {
        head: format!(
            "tenuto: 1\nname: drawn\nhosts: [a, b, c, d, e]\nprofiles: {{small: {{like: tenuto, \
             buffer_per_port: 12 kB}}}}\nswitches: {{s1: {{profile: {profile}}}, s2: {{profile: \
             {profile}}}, s3: {{profile: {profile}}}}}\n"
        ),
        links,
        flows,
        quiet_ms: (is_modal && random.below(2) == 0).then(|| 20 + random.below(200)),
        modes,
        tail,
    }
}

/// What a line says.
enum Line<'a> {
    Size(&'a str, u64),
    Period(&'a str, u64),
    Deadlines(Vec<(&'a str, u64)>),
    Above(&'a str, &'a str),
    Faster(&'a str, &'a str),
    Quiet(u64),
    Skew(&'a str, u64),
    Drop,
    LinkDisjoint(&'a str),
    Profile(&'a str, &'a str, u64),
    ProfileAt(&'a str, Vec<&'a str>),
    Classes(u8),
    NoLinkLost,
    NewLinks(Vec<(&'a str, &'a str, u64)>),
    Sizes(Vec<(&'a str, u64)>),
    Latency(&'a str, u64),
    FreeRoutes(&'a str),
}

fn understood(line: &str) -> Line<'_> {
    let line = line.strip_suffix(" (something else stays refused)").unwrap_or(line);
    let words: Vec<&str> = line.split(' ').collect();
    let time = |words: &[&str]| parse_time_ns(&words.join(" ")).expect(line);
    match words.as_slice() {
        [_, "message" | "payload" | "frame", "<=", _, _, "and", ..] => {
            let parts = line.split(" and ").map(|part| match understood(part) {
                Line::Size(flow, bytes) => (flow, bytes),
                _ => panic!("{line}"),
            });
            Line::Sizes(parts.collect())
        }
        ["profile", name, "latency", "<=", number, unit] => {
            Line::Latency(name, time(&[number, unit]))
        }
        [flow, "routes:", "left", "out", ..] => Line::FreeRoutes(flow),
        [flow, "message" | "payload" | "frame", "<=", number, unit, ..] => {
            Line::Size(flow, parse_size_bytes(&format!("{number} {unit}")).expect(line))
        }
        [flow, "period", ">=", number, unit, ..] => Line::Period(flow, time(&[number, unit])),
        [_, "deadline", ..] => {
            let one = |part: &[&'_ str]| match part {
                [_, "deadline", ">=", number, unit, ..] => time(&[number, unit]),
                _ => panic!("{line}"),
            };
            let parts = words.chunks(6);
            Line::Deadlines(parts.map(|part| (part[0], one(&part[..5.min(part.len())]))).collect())
        }
        [late, "above", large, ..] => Line::Above(late, large),
        ["link", a, "-", b, "at", "1", "Gbit/s", ..] => Line::Faster(a, b),
        ["quiet", ">=", number, unit, ..] => Line::Quiet(time(&[number, unit])),
        [flow, "skew_max", ">=", number, unit, ..] => Line::Skew(flow, time(&[number, unit])),
        ["other_traffic:", "drop", ..] => Line::Drop,
        ["links_lost:", "0"] => Line::NoLinkLost,
        ["priorities", "<=", most] => Line::Classes(most.parse().expect(line)),
        ["profile", name, "buffer_per_port", ">=", number, unit] => Line::Profile(
            name,
            "buffer_per_port",
            parse_size_bytes(&format!("{number} {unit}")).expect(line),
        ),
        ["profile", name, field, ">=", number] => {
            Line::Profile(name, field, number.parse().expect(line))
        }
        ["profile", name, "at", switches @ ..] => {
            Line::ProfileAt(name, switches.iter().copied().filter(|word| *word != "and").collect())
        }
        ["new", "link", ..] => Line::NewLinks(
            line.split(" and ")
                .map(|part| match part.split(' ').collect::<Vec<_>>().as_slice() {
                    ["new", "link", a, "-", b, "at", number, unit] => {
                        (*a, *b, parse_rate_bps(&format!("{number} {unit}")).expect(line))
                    }
                    _ => panic!("{line}"),
                })
                .collect(),
        ),
        [flow, "copies:", "link-disjoint", ..] => Line::LinkDisjoint(flow),
        _ => panic!("what does this say: {line}"),
    }
}

/// The planned network as the line asks for, priorities as they are.
fn as_set(network: &Network, line: &Line<'_>) -> Network {
    let mut network = network.clone();
    match line {
        Line::Size(name, most) => {
            let most = u32::try_from(*most).expect("bytes");
            let flow = network.flows.iter_mut().find(|f| f.name == *name).expect("a flow");
            for contract in &mut flow.contracts {
                contract.size = match contract.size {
                    Size::MessageBytes(own) => Size::MessageBytes(own.min(most)),
                    Size::PayloadBytes(own) => Size::PayloadBytes(own.min(most)),
                    Size::FrameBytes(own) => Size::FrameBytes(own.min(most)),
                };
                let largest = contract.size.frames(false).frame_bytes_max;
                contract.frame_bytes_min = contract.frame_bytes_min.map(|own| own.min(largest));
            }
        }
        Line::Period(name, least) => {
            let flow = network.flows.iter_mut().find(|f| f.name == *name).expect("a flow");
            flow.contracts.iter_mut().for_each(|c| c.period_ns = c.period_ns.max(*least));
        }
        Line::Deadlines(all) => {
            for (name, least) in all {
                let flow = network.flows.iter_mut().find(|f| f.name == *name).expect("a flow");
                let targets = flow.targets.iter_mut();
                targets.flat_map(|t| &mut t.deadline_ns).for_each(|d| *d = (*d).max(*least));
            }
        }
        Line::Above(late, large) => {
            let class = |name: &str| network.flow(name).expect("a flow").highest().priority;
            let (low, high) = (class(late), class(large));
            for flow in &mut network.flows {
                if flow.name == *late {
                    flow.set_priority(high);
                } else if flow.name == *large {
                    flow.set_priority(low);
                }
            }
        }
        Line::Faster(a, b) => {
            let ends = |l: &tenuto_model::Link| [l.a.node.clone(), l.b.node.clone()];
            let is_it = |l: &&mut tenuto_model::Link| ends(l) == [*a, *b] || ends(l) == [*b, *a];
            network.links.iter_mut().find(is_it).expect("a link").rate_bps = 1_000_000_000;
        }
        Line::Quiet(ns) => network.mode_return.quiet_ns = Some(*ns),
        Line::Skew(name, ns) => {
            let flow = network.flows.iter_mut().find(|f| f.name == *name).expect("a flow");
            flow.skew_max_ns = Some(*ns);
        }
        Line::Drop => network.other_traffic = OtherTraffic::Drop,
        Line::LinkDisjoint(name) => {
            let flow = network.flows.iter_mut().find(|f| f.name == *name).expect("a flow");
            flow.apart = Apart::Links;
        }
        Line::Profile(name, field, least) => {
            let profile = network.profiles.get_mut(*name).expect("a profile");
            let count = u32::try_from(*least).expect("a count");
            match *field {
                "entries" => profile.entries_max = count,
                "meters" => profile.meters_max = count,
                "groups" => profile.groups_max = count,
                "queues_per_port" => profile.queues_per_port = u8::try_from(count).expect("few"),
                "buffer_per_port" => profile.buffer_bytes_per_port = Some(*least),
                other => panic!("{other}"),
            }
        }
        Line::ProfileAt(name, switches) => {
            let built_in = || tenuto_model::Profile::built_in(name).expect("built in");
            network.profiles.entry((*name).to_owned()).or_insert_with(built_in);
            for switch in &mut network.switches {
                if switches.contains(&switch.name.as_str()) {
                    (*name).clone_into(&mut switch.profile);
                }
            }
        }
        Line::Classes(most) => {
            for contract in network.flows.iter_mut().flat_map(|flow| &mut flow.contracts) {
                contract.priority = contract.priority.min(*most);
            }
        }
        Line::NoLinkLost => network.tolerates.links_lost = 0,
        Line::Sizes(all) => {
            for (name, most) in all {
                network = as_set(&network, &Line::Size(name, *most));
            }
        }
        Line::Latency(name, ns) => {
            let profile = network.profiles.get_mut(*name).expect("a profile");
            profile.latency_ns_max = *ns;
            profile.latency_ns_min = profile.latency_ns_min.min(*ns);
        }
        Line::FreeRoutes(name) => {
            let flow = network.flows.iter_mut().find(|f| f.name == *name).expect("a flow");
            flow.targets.iter_mut().flat_map(|t| &mut t.routes).for_each(|route| *route = None);
        }
        Line::NewLinks(all) => {
            for (a, b, rate_bps) in all {
                let end = |node: &str| {
                    let used = network.ends_of(node).map(|(own, _, _)| own.port).max();
                    tenuto_model::LinkEnd { node: node.to_owned(), port: used.unwrap_or(0) + 1 }
                };
                let (a, b) = (end(a), end(b));
                let link = tenuto_model::Link { a, b, rate_bps: *rate_bps, propagation_ns: 0 };
                network.links.push(link);
            }
        }
    }
    network
}

/// The file as the line asks for; `None` where that is no matter of one line in it.
fn as_edited(text: &NetworkText, line: &Line<'_>) -> Option<NetworkText> {
    let mut text = text.clone();
    match line {
        Line::Size(name, most) => {
            let flow = text.flows.get_mut(*name)?;
            flow.bytes.iter_mut().for_each(|own| *own = (*own).min(*most));
            if flow.more.contains("frame_min") {
                return None;
            }
        }
        Line::Period(name, least) => {
            let flow = text.flows.get_mut(*name)?;
            flow.period_us.iter_mut().for_each(|own| *own = (*own).max(least / 1_000));
        }
        Line::Deadlines(all) => {
            for (name, least) in all {
                let flow = text.flows.get_mut(*name)?;
                // Each target and mode has its own where none is written.
                flow.deadline_us = Some(flow.deadline_us?.max(least / 1_000));
            }
        }
        Line::Faster(a, b) => {
            let link = (((*a).to_owned(), (*b).to_owned()), ((*b).to_owned(), (*a).to_owned()));
            let known = if text.links.contains_key(&link.0) { link.0 } else { link.1 };
            text.links.insert(known, "1 Gbit/s");
        }
        Line::Quiet(ns) => text.quiet_ms = Some(ns / 1_000_000),
        Line::Drop => {
            text.tail = text
                .tail
                .replace("other_traffic: {priority: 6, rate: 1 Mbit/s, frame: 1518 B}\n", "")
        }
        Line::Sizes(all) => {
            for (name, most) in all {
                text = as_edited(&text, &Line::Size(name, *most))?;
            }
        }
        Line::Latency(..)
        | Line::FreeRoutes(..)
        | Line::Above(..)
        | Line::Skew(..)
        | Line::LinkDisjoint(..)
        | Line::Profile(..)
        | Line::ProfileAt(..)
        | Line::Classes(..)
        | Line::NoLinkLost
        | Line::NewLinks(..) => return None,
    }
    Some(text)
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a campaign is asked for in the environment")]
fn whatever_would_fit_fits() {
    let count = std::env::var("TENUTO_CAMPAIGN").ok().and_then(|n| n.parse().ok()).unwrap_or(50);
    let first: u64 =
        std::env::var("TENUTO_CAMPAIGN_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut refused, mut lines, mut edited, mut wrong) = (0, 0, 0, Vec::new());
    for seed in first..first + count {
        let text = drawn(seed.wrapping_mul(7_919));
        let Ok(network) = read(&text.text()) else { continue };
        let priorities = match seed % 4 {
            0 => Priorities::RateMonotonic,
            _ => Priorities::Given,
        };
        let options = Options { priorities, ..Options::default() };
        let (before, _) = judged(&network, &options);
        refused += u32::from(!before.feasible);
        for line in before.refusals.iter().flat_map(|refusal| &refusal.would_fit) {
            lines += 1;
            let is_part = line.ends_with("(something else stays refused)");
            let mut judge = |how: &str, changed: Result<Network, String>| {
                let quick = Options { would_fit: false, ..options };
                let left = match changed {
                    Ok(changed) => plan(&changed, &quick).refusals,
                    Err(problems) => {
                        return wrong.push(format!("seed {seed}, {how}: {line}: {problems}"));
                    }
                };
                let fits =
                    if is_part { left.len() < before.refusals.len() } else { left.is_empty() };
                if !fits {
                    let left: Vec<String> = left
                        .iter()
                        .map(|r| format!("{} {}: {}", r.place, r.resource, r.because))
                        .collect();
                    wrong.push(format!("seed {seed}, {how}: {line}: {}", left.join("; ")));
                }
            };
            let meant = understood(line);
            let set = as_set(&before.network, &meant);
            judge("set", read(&write_network(&set)));
            if let Some(text) = as_edited(&text, &meant) {
                edited += 1;
                judge("edited", read(&text.text()));
            }
        }
    }
    println!("{refused} refused of {count}, {lines} lines, {edited} of them in files too");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(lines > count / 3, "{lines} lines of {count} networks");
}

const RING: &str = "tenuto: 1
name: ring
hosts: [a, b, c, d]
PROFILES
switches: {w1: {profile: P}, w2: {profile: P}, w3: {profile: P}, w4: {profile: P}}
links:
  - {ends: [a, w1], rate: 100 Mbit/s}
  - {ends: [b, w2], rate: 100 Mbit/s}
  - {ends: [c, w3], rate: 100 Mbit/s}
  - {ends: [d, w4], rate: 100 Mbit/s}
  - {ends: [w1, w2], rate: 100 Mbit/s}
  - {ends: [w2, w3], rate: 100 Mbit/s}
  - {ends: [w3, w4], rate: 100 Mbit/s}
  - {ends: [w4, w1], rate: 100 Mbit/s}
flows:
  f: {source: a, targets: [b], frame: 1518 B, period: 2 ms, deadline: DEADLINE, priority: 0}
  g: {source: c, targets: [d, b], message: 6 kB, period: 4 ms, deadline: 30 ms, priority: 5}
";

/// The ring with that deadline of f, and more lines.
fn ring(deadline: &str, more: &str) -> Network {
    let text = RING.replace("PROFILES", "profiles: {P: {like: tenuto}}") + more;
    read(&text.replace("DEADLINE", deadline)).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The ring of switches that have less.
fn narrow(change: impl FnOnce(&mut tenuto_model::Profile)) -> Network {
    let mut it = ring("2 ms", "");
    change(it.profiles.get_mut("P").expect("its own profile"));
    it
}

/// Every refusal of that resource says what would fit, and that does.
fn fits(network: &Network, resource: &str) -> Vec<String> {
    let (before, _) = judged(network, &Options::default());
    let refusals = before.refusals.iter().filter(|refusal| refusal.resource == resource);
    let mut all = Vec::new();
    for refusal in refusals {
        assert!(!refusal.would_fit.is_empty(), "nothing would fit: {refusal:?}");
        for line in &refusal.would_fit {
            if line.ends_with("(something else stays refused)") {
                continue;
            }
            let changed = as_set(&before.network, &understood(line));
            let after = plan(&changed, &Options { would_fit: false, ..Options::default() });
            assert!(after.feasible, "{line}: {:?}", after.refusals);
            let certified = tenuto_certify::certify(&after.to_json());
            assert!(certified.is_ok(), "{line}: {:?}", certified.err());
            all.push(line.clone());
        }
    }
    assert!(!all.is_empty(), "no refusal for {resource}: {:?}", before.refusals);
    all.sort();
    all.dedup();
    all
}

#[test]
fn limits_of_a_device_are_told_how_much_would_do() {
    let told = |network: &Network, resource: &str, field: &str| {
        let lines = fits(network, resource);
        let start = format!("profile P {field} >= ");
        assert!(lines.iter().any(|line| line.starts_with(&start)), "{lines:?}");
        lines
    };
    told(&narrow(|profile| profile.entries_max = 2), "entries", "entries");
    told(&narrow(|profile| profile.meters_max = 0), "meters", "meters");
    told(&narrow(|profile| profile.groups_max = 0), "groups", "groups");
    let lines = told(&narrow(|p| p.queues_per_port = 4), "queues", "queues_per_port");
    assert!(lines.iter().any(|line| line.starts_with("priorities <= ")), "{lines:?}");
    let small = narrow(|profile| profile.buffer_bytes_per_port = Some(4_000));
    told(&small, "buffer", "buffer_per_port");
}

#[test]
fn a_loss_that_breaks_a_promise_is_told_what_keeps_it() {
    let backup = fits(&ring("700 us", "tolerates: {links_lost: 1}\n"), "backup");
    assert!(backup.contains(&"links_lost: 0".to_owned()), "{backup:?}");
    assert!(backup.iter().any(|line| line.starts_with("f deadline >= ")), "{backup:?}");
}

#[test]
fn modes_that_a_network_cannot_have_are_told_what_they_need() {
    let mut unaware = ring("2 ms", "modes: [LO, HI]\n");
    let ideal = tenuto_model::Profile::built_in("ideal").expect("built in");
    unaware.profiles.insert("ideal".into(), ideal);
    unaware.switches[1].profile = "ideal".into();
    assert_eq!(fits(&unaware, "modes"), ["profile P at w2"]);
    let mut apart = ring("2 ms", "modes: [LO, HI]\n");
    apart.flows.retain(|flow| flow.name == "f");
    let is_far = |node: &str| ["w3", "w4"].contains(&node);
    apart.links.retain(|link| !is_far(&link.a.node) && !is_far(&link.b.node));
    assert_eq!(
        fits(&apart, "modes"),
        ["new link w1 - w3 at 100 Mbit/s and new link w1 - w4 at 100 Mbit/s"]
    );
}

/// Two switches in a row, with two flows that share the trunk.
const PAIR: &str = "tenuto: 1
name: pair
hosts: [a, b, c, d]
profiles: {P: {like: tenuto, latency: LATENCY}}
switches: {w1: {profile: P}, w2: {profile: P}}
links:
  - {ends: [a, w1], rate: 1 Gbit/s}
  - {ends: [b, w1], rate: 1 Gbit/s}
  - {ends: [c, w2], rate: 1 Gbit/s}
  - {ends: [d, w2], rate: 1 Gbit/s}
  - {ends: [w1, w2], rate: 1 Gbit/s}
flows:
  f: {source: a, targets: [c], message: SIZE, period: 1 ms, deadline: DEADLINE, priority: 0}
  g: {source: b, targets: [d], message: SIZE, period: 1 ms, deadline: DEADLINE, priority: 0}
";

fn pair(latency: &str, size: &str, deadline: &str) -> Network {
    let text = PAIR.replace("LATENCY", latency).replace("SIZE", size);
    read(&text.replace("DEADLINE", deadline)).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn a_slow_switch_is_told_how_quick_it_has_to_be() {
    let lines = fits(&pair("400 us", "64 B", "700 us"), "deadline");
    let latency = lines.iter().find(|line| line.starts_with("profile P latency <= "));
    let latency = latency.unwrap_or_else(|| panic!("{lines:?}"));
    let Line::Latency(_, ns) = understood(latency) else { panic!("{latency}") };
    assert!((300_000..350_000).contains(&ns), "the mildest that holds: {latency}");
}

#[test]
fn flows_that_must_shrink_together_do_so_by_one_factor() {
    // Each nearly fills the shared line, and a twentieth is the least that a flow is asked for.
    let lines = fits(&pair("1 us", "117 kB", "50 ms"), "rate");
    let together = lines.iter().find(|line| line.contains(" and ")).expect("both of them");
    let Line::Sizes(sizes) = understood(together) else { panic!("{together}") };
    assert_eq!(sizes[0].1, sizes[1].1, "equal flows by one factor: {together}");
    assert!((40_000..62_000).contains(&sizes[0].1), "{together}");
}

#[test]
fn routes_that_meet_again_are_told_to_take_others() {
    // Two ways of one flow that meet at w1: over w4, and over w2.
    let met = "  h: {source: c, targets: {a: {route: [w3, w4, w1]}, d: {route: [w3, w2, w1, w4]}}, \
               frame: 64 B, period: 1 ms, deadline: 9 ms, priority: 1}\n";
    let network = ring("2 ms", met);
    assert_eq!(fits(&network, "route"), ["h routes: left out"]);
}

#[test]
fn nothing_is_offered_that_the_checker_does_not_accept() {
    let network = ring("200 us", "");
    let mut it = plan(&network, &Options { would_fit: false, ..Options::default() });
    assert!(!it.feasible);
    let asked = std::cell::Cell::new(0);
    let confirm = |plan: &Plan| {
        assert!(plan.feasible && plan.verify_digest().is_ok(), "sealed, and nothing refused");
        asked.set(asked.get() + 1);
        false
    };
    let mut watch = Watch { confirm: &confirm, progress: &mut |_| (), found: &mut |_, _| () };
    suggest(&mut it, &Options::default(), &mut watch);
    let strict = |line: &&String| !line.ends_with("(something else stays refused)");
    let lines: Vec<_> = it.refusals.iter().flat_map(|it| &it.would_fit).filter(strict).collect();
    assert!(lines.is_empty(), "{lines:?}");
    assert!(asked.get() > 0, "the checker is asked");
}

#[test]
fn a_large_network_ends_at_a_count_of_analyses() {
    // A hundred and twenty hosts at one switch, all late.
    let mut text = "tenuto: 1\nname: large\nswitches: {w: {profile: tenuto}}\nhosts: [".to_owned();
    let names: Vec<String> = (0..120).map(|n| format!("h{n}")).collect();
    text += &format!("{}]\nlinks:\n", names.join(", "));
    for name in &names {
        text += &format!("  - {{ends: [{name}, w], rate: 100 Mbit/s}}\n");
    }
    text += "flows:\n";
    for (n, to) in (0..120).flat_map(|n| (1..=8).map(move |to| (n, to))) {
        let target = (n + to) % 120;
        text += &format!(
            "  f{n}x{to}: {{source: h{n}, targets: [h{target}], message: 9 kB, period: 40 ms, \
             deadline: 3 ms}}\n"
        );
    }
    let network = read(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let mut it = plan(&network, &Options { would_fit: false, ..Options::default() });
    assert!(it.refusals.len() > 50, "{} places", it.refusals.len());
    let mut tried = 0;
    let mut progress = |step| tried += usize::from(matches!(step, Progress::Trying { .. }));
    let mut watch = Watch { confirm: &|_| true, progress: &mut progress, found: &mut |_, _| () };
    let end = suggest(&mut it, &Options::default(), &mut watch);
    assert_eq!(end, SearchEnd::Limited);
    assert!((1..160).contains(&tried), "{tried} re-plans of so large a network");
}
