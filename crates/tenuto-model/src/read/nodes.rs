//! Hosts, switches, controllers and links.

use super::network::Draft;
use super::reader::{Field, Reader, join, shown};
use crate::quantity::{parse_length_mm, parse_rate_bps, propagation_ns};
use crate::source::{Sources, resolve};
use crate::yaml::Value;
use crate::{Channel, Controller, Host, Link, LinkEnd, Profile, Switch, WhenLost};
use std::collections::{BTreeMap, BTreeSet};

/// Largest port number; OpenFlow reserves the uppermost.
const PORT_MAX: u32 = 65_279;
/// Length of a cable where none is written, millimetres.
const LENGTH_DEFAULT_MM: u64 = 5_000;

pub(super) fn read_hosts(reader: &mut Reader, top: &Field<'_>, draft: &mut Draft) {
    let Some(hosts) = top.get("hosts") else {
        reader.error(top, "there are no hosts", "add `hosts: {h1: {}, h2: {}}`");
        return;
    };
    if let Value::List(_) = hosts.node.value {
        // A list of names is as clear as a map of empty maps.
        for name in reader.list(&hosts).unwrap_or_default() {
            if let Some(text) = reader.text(&name) {
                add_host(reader, draft, text, &name);
            }
        }
        return;
    }
    if !matches!(hosts.node.value, Value::Map(_)) {
        reader.error(&hosts, "hosts are a map or a list of names", "write {h1: {}, h2: {}}");
    }
    for (name, field) in hosts.pairs() {
        reader.expect_map(&field, &[]);
        add_host(reader, draft, name, &field);
    }
}

fn add_host(reader: &mut Reader, draft: &mut Draft, name: &str, field: &Field<'_>) {
    if claim(reader, draft, name, field) {
        draft.network.hosts.push(Host { name: name.to_owned() });
    }
}

/// Claims a node name; false if it cannot be one or is taken.
fn claim(reader: &mut Reader, draft: &mut Draft, name: &str, field: &Field<'_>) -> bool {
    reader.remember(field.path.clone(), field.node.place);
    if !reader.check_name(name, &field.path, field.node.place) {
        return false;
    }
    let free = draft.names.insert(name.to_owned());
    if !free {
        let message = format!("two nodes are called `{}`", shown(name));
        reader.error(field, &message, "hosts, switches and controllers share their names");
    }
    free
}

pub(super) fn read_switches(
    reader: &mut Reader,
    top: &Field<'_>,
    sources: &dyn Sources,
    path: &str,
    draft: &mut Draft,
) {
    let Some(switches) = top.get("switches") else { return };
    if !matches!(switches.node.value, Value::Map(_)) {
        reader.error(&switches, "switches are a map by name", "write {sw1: {profile: tenuto}}");
    }
    let default = top.get("defaults").and_then(|d| d.get("switch")).and_then(|d| d.get("profile"));
    let mut profiles = Profiles::new(reader, top, sources, path);
    for (index, (name, field)) in switches.pairs().into_iter().enumerate() {
        reader.expect_map(&field, &["profile", "network", "dpid"]);
        let named = field.get("profile").or_else(|| default.clone());
        let profile = match &named {
            Some(named) => profiles.find(reader, named, &mut draft.network.profiles),
            None => {
                let hint = "add `profile: tenuto`, or `defaults: {switch: {profile: …}}`";
                reader.error(&field, &format!("switch `{}` has no profile", shown(name)), hint);
                None
            }
        };
        let network = field.get("network").and_then(|n| reader.text(&n)).map(str::to_owned);
        let written = field.get("dpid").and_then(|d| reader.number(&d, 1, u64::MAX));
        let datapath_id = written.unwrap_or_else(|| u64::try_from(index + 1).unwrap_or(1));
        if claim(reader, draft, name, &field) {
            draft.network.switches.push(Switch {
                name: name.to_owned(),
                datapath_id,
                profile: profile.unwrap_or_default(),
                network,
            });
        }
    }
}

/// Profiles by what switches call them, each read once.
struct Profiles<'a> {
    sources: &'a dyn Sources,
    base: &'a str,
    inline: BTreeMap<String, Profile>,
    known: BTreeMap<String, Option<String>>,
}

impl<'a> Profiles<'a> {
    fn new(reader: &mut Reader, top: &Field<'_>, sources: &'a dyn Sources, base: &'a str) -> Self {
        let mut inline = BTreeMap::new();
        if let Some(own) = top.get("profiles") {
            for (name, body) in own.pairs() {
                reader.check_name(name, &body.path, body.node.place);
                if Profile::BUILT_IN.contains(&name) {
                    reader.error(&body, "a built-in profile has this name", "call yours otherwise");
                }
                let profile = super::profile::read_profile_body(reader, &body, name);
                inline.insert(name.to_owned(), profile);
            }
        }
        Self { sources, base, inline, known: BTreeMap::new() }
    }

    /// The name of the profile that `named` asks for, put into `used`.
    fn find(
        &mut self,
        reader: &mut Reader,
        named: &Field<'_>,
        used: &mut BTreeMap<String, Profile>,
    ) -> Option<String> {
        let text = reader.text(named)?;
        if let Some(name) = self.known.get(text) {
            return name.clone();
        }
        let found = self.load(reader, named, text);
        let name = found.as_ref().map(|p| p.name.clone());
        if let Some(profile) = found {
            let other = used.get(&profile.name).is_some_and(|there| *there != profile);
            let differs = Profile::built_in(&profile.name).is_some_and(|p| p != profile);
            if other || differs {
                let message = format!("two profiles are called `{}`", shown(&profile.name));
                reader.error(named, &message, "give one of them another name");
            }
            used.insert(profile.name.clone(), profile);
        }
        self.known.insert(text.to_owned(), name.clone());
        name
    }

    fn load(&self, reader: &mut Reader, named: &Field<'_>, text: &str) -> Option<Profile> {
        if let Some(profile) = self.inline.get(text) {
            return Some(profile.clone());
        }
        if let Some(profile) = Profile::built_in(text) {
            return Some(profile);
        }
        if text.contains('/') || text.ends_with(".yaml") {
            let path = resolve(self.base, text);
            return match self.sources.read(&path) {
                Ok(file) => super::profile::read_profile_file(reader, &path, &file),
                Err(why) => {
                    let message =
                        format!("profile `{}` cannot be read: {}", shown(&path), shown(&why));
                    reader.error(named, &message, "paths are relative to this file");
                    None
                }
            };
        }
        let names = Profile::BUILT_IN.into_iter().chain(self.inline.keys().map(String::as_str));
        let hint = reader.meant(text, names).unwrap_or_default();
        let message = format!("there is no profile `{}`", shown(text));
        reader.error(named, &message, &format!("{hint} or a file: ./mine.profile.yaml"));
        None
    }
}

pub(super) fn read_controllers(reader: &mut Reader, top: &Field<'_>, draft: &mut Draft) {
    let Some(controllers) = top.get("controllers") else { return };
    if !matches!(controllers.node.value, Value::Map(_)) {
        reader.error(&controllers, "controllers are a map by name", "write {c1: {manages: all}}");
    }
    let every: Vec<String> = draft.network.switches.iter().map(|s| s.name.clone()).collect();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (name, field) in controllers.pairs() {
        reader.expect_map(&field, &["manages", "channel", "when_lost"]);
        let channel = [("out-of-band", Channel::OutOfBand)];
        let channel = field.get("channel").and_then(|f| reader.choice(&f, &channel));
        let secure = [("secure", WhenLost::Secure)];
        let when_lost = field.get("when_lost").and_then(|f| reader.choice(&f, &secure));
        let manages = match field.get("manages") {
            None => every.clone(),
            Some(all) if matches!(&all.node.value, Value::Text(t) if t == "all") => every.clone(),
            Some(list) => {
                for item in reader.texts(&list).unwrap_or_default() {
                    if !every.iter().any(|s| s == item) {
                        let message = format!("there is no switch `{}`", shown(item));
                        let hint = reader.meant(item, every.iter().map(String::as_str));
                        reader.error(&list, &message, &hint.unwrap_or_default());
                    }
                }
                reader.texts(&list).unwrap_or_default().into_iter().map(str::to_owned).collect()
            }
        };
        let is_said_empty =
            |list: &Field<'_>| matches!(&list.node.value, Value::List(items) if items.is_empty());
        if let Some(list) = field.get("manages").filter(is_said_empty) {
            let message = format!("controller `{}` manages no switch", shown(name));
            reader.error(
                &list,
                &message,
                "write `manages: all`, a list such as [sw1], or leave the controller out",
            );
        }
        for switch in &manages {
            if !taken.insert(switch.clone()) {
                let message = format!("switch `{}` is managed twice", shown(switch));
                reader.error(
                    &field,
                    &message,
                    "each switch has one controller: write a list under `manages`",
                );
            }
        }
        if claim(reader, draft, name, &field) {
            draft.network.controllers.push(Controller {
                name: name.to_owned(),
                manages,
                channel: channel.unwrap_or(Channel::OutOfBand),
                when_lost: when_lost.unwrap_or(WhenLost::Secure),
            });
        }
    }
}

/// One end as written: node and, if stated, port.
struct WrittenEnd {
    node: String,
    port: Option<u32>,
}

struct WrittenLink {
    ends: [WrittenEnd; 2],
    rate_bps: u64,
    propagation_ns: u64,
}

pub(super) fn read_links(reader: &mut Reader, top: &Field<'_>, draft: &mut Draft) {
    let Some(links) = top.get("links") else {
        reader.error(top, "there are no links", "add `links: [{ends: [h1, sw1]}]`");
        return;
    };
    let default = top.get("defaults").and_then(|d| d.get("link"));
    let mut written = Vec::new();
    for item in reader.list(&links).unwrap_or_default() {
        match read_link(reader, &item, default.as_ref(), draft) {
            Some(link) => written.push((item, link)),
            None => draft.topology_in_doubt = true,
        }
    }
    let mut used = stated_ports(reader, &written);
    let mut next: BTreeMap<String, u32> = BTreeMap::new();
    for (_, WrittenLink { ends, rate_bps, propagation_ns }) in written {
        let [a, b] = ends.map(|end| number_port(end, &mut used, &mut next));
        draft.network.links.push(Link { a, b, rate_bps, propagation_ns });
    }
}

/// One link, with what it leaves out taken from the default.
fn read_link(
    reader: &mut Reader,
    item: &Field<'_>,
    default: Option<&Field<'_>>,
    draft: &Draft,
) -> Option<WrittenLink> {
    if matches!(item.node.value, Value::Map(_)) {
        reader.expect_map(item, &["ends", "rate", "length"]);
    }
    let get = |key: &str| item.get(key).or_else(|| default?.get(key));
    let rate_bps = match get("rate") {
        Some(rate) => read_rate(reader, &rate),
        None => {
            let hint = "add `rate: 100 Mbit/s` here or under `defaults: {link: …}`";
            reader.error(item, "the link has no rate", hint);
            None
        }
    };
    let length_mm = match get("length") {
        Some(length) => reader.quantity(&length, parse_length_mm),
        None => Some(LENGTH_DEFAULT_MM),
    };
    let ends = read_ends(reader, item, draft);
    reader.remember(item.path.clone(), item.node.place);
    let propagation_ns = length_mm.map(propagation_ns);
    Some(WrittenLink { ends: ends?, rate_bps: rate_bps?, propagation_ns: propagation_ns? })
}

/// Ports that are written down, each for one link.
fn stated_ports(
    reader: &mut Reader,
    written: &[(Field<'_>, WrittenLink)],
) -> BTreeSet<(String, u32)> {
    let mut used = BTreeSet::new();
    for (item, link) in written {
        for end in &link.ends {
            if let Some(port) = end.port
                && !used.insert((end.node.clone(), port))
            {
                let message = format!("port {port} of `{}` is used twice", shown(&end.node));
                let hint = "a port takes one link; leave the number out to have the next free one";
                reader.error(item, &message, hint);
            }
        }
    }
    used
}

fn read_rate(reader: &mut Reader, field: &Field<'_>) -> Option<u64> {
    let rate = reader.quantity(field, parse_rate_bps)?;
    if rate < 1_000 {
        reader.error(field, "a link carries at least 1 kbit/s", "write 100 Mbit/s");
        return None;
    }
    Some(rate)
}

fn number_port(
    end: WrittenEnd,
    used: &mut BTreeSet<(String, u32)>,
    next: &mut BTreeMap<String, u32>,
) -> LinkEnd {
    if let Some(port) = end.port {
        return LinkEnd { node: end.node, port };
    }
    let from = next.entry(end.node.clone()).or_insert(1);
    while used.contains(&(end.node.clone(), *from)) {
        *from += 1;
    }
    used.insert((end.node.clone(), *from));
    LinkEnd { node: end.node, port: *from }
}

fn read_ends(reader: &mut Reader, item: &Field<'_>, draft: &Draft) -> Option<[WrittenEnd; 2]> {
    let Some(ends) = item.get("ends") else {
        reader.error(item, "the link has no ends", "add `ends: [h1, sw1]`");
        return None;
    };
    let texts = reader.texts(&ends)?;
    let [a, b] = texts.as_slice() else {
        reader.error(
            &ends,
            &format!("a link has two ends, not {}", texts.len()),
            "write [h1, sw1]",
        );
        return None;
    };
    let mut read = |text: &str| {
        let (node, port) = match text.rsplit_once(':') {
            None => (text, None),
            Some((node, port)) => {
                let number = port.parse().ok().filter(|p| (1..=PORT_MAX).contains(p));
                if number.is_none() || !port.chars().all(|c| c.is_ascii_digit()) {
                    let message = format!("`{}` is not a port number", shown(port));
                    reader.error(&ends, &message, "ports are numbered from 1 to 65279");
                    return None;
                }
                (node, number)
            }
        };
        if draft.names.contains(node) && !draft.is_controller(node) {
            return Some(WrittenEnd { node: node.to_owned(), port });
        }
        let hint = if draft.is_controller(node) {
            "controllers are reached out of band: they take no links".to_owned()
        } else {
            reader.meant(node, draft.names.iter().map(String::as_str)).unwrap_or_default()
        };
        reader.error(&ends, &format!("there is no host or switch `{}`", shown(node)), &hint);
        None
    };
    let (a, b) = (read(a), read(b));
    let (a, b) = (a?, b?);
    if a.node == b.node {
        let message = format!("the link leads from `{}` to itself", shown(&a.node));
        reader.error(&ends, &message, "the ends are two different nodes");
        return None;
    }
    reader.remember(join(&item.path, "ends"), ends.node.place);
    Some([a, b])
}
