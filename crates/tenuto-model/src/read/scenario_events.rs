//! Events: a subject, a verb, and what the verb needs.
//!
//! The verb is a key (`behave: HI`, `cut: true`, `babble: {…}`) or the value of `do`.

use super::network::mode_index;
use super::reader::{Field, Reader, shown};
use crate::quantity::{
    format_rate, parse_percent, parse_rate_bps, parse_size_bytes, parse_time_ns,
};
use crate::yaml::Value;
use crate::{Event, EventAction, Network};

/// What an event is about, and what can happen to it.
const SUBJECTS: [(&str, &[&str]); 6] = [
    ("flow", &["behave", "oversend", "stop", "start"]),
    ("host", &["babble", "garbage", "forge"]),
    ("link", &["cut", "heal"]),
    ("switch", &["kill", "stop", "start"]),
    ("controller", &["kill", "stop", "start"]),
    ("signal", &["lose"]),
];
/// What verbs need besides.
const PARAMETERS: [&str; 9] =
    ["flows", "frame", "rate", "for", "frames_per_s", "from", "to", "frames", "ends"];

pub(super) fn read_event(
    reader: &mut Reader,
    item: &Field<'_>,
    network: &Network,
) -> Option<Event> {
    let mut allowed = vec!["at", "note", "do"];
    allowed.extend(SUBJECTS.iter().flat_map(|(s, verbs)| verbs.iter().copied().chain([*s])));
    allowed.extend(PARAMETERS);
    allowed.dedup();
    if !reader.expect_map(item, &allowed) {
        return None;
    }
    let at_ns = match item.get("at") {
        Some(at) => reader.quantity(&at, parse_time_ns),
        None => {
            reader.error(item, "the event has no time", "add `at: 4 s`");
            None
        }
    };
    let note = item.get("note").and_then(|f| reader.text(&f)).map(str::to_owned);
    let subjects: Vec<_> =
        SUBJECTS.iter().filter_map(|(s, verbs)| Some((*s, *verbs, item.get(s)?))).collect();
    let [(subject, verbs, name)] = subjects.as_slice() else {
        let hint = "one of flow, host, link, switch, controller, signal";
        reader.error(item, "an event is about one thing", hint);
        return None;
    };
    let (verb, value) = find_verb(reader, item, subject, verbs, name)?;
    let read = EventReader { network, item, value: value.as_ref() };
    let action = match *subject {
        "flow" => read.flow(reader, name, verb),
        "host" => read.host(reader, name, verb),
        "link" => read.link(reader, name, verb),
        "signal" => read.signal(reader),
        _ => read.node(reader, name, verb, subject),
    };
    Some(Event { at_ns: at_ns?, action: action?, note })
}

/// The verb of an event, and the value of its key if it was written as one.
fn find_verb<'a>(
    reader: &mut Reader,
    item: &Field<'a>,
    subject: &str,
    verbs: &[&'static str],
    name: &Field<'a>,
) -> Option<(&'static str, Option<Field<'a>>)> {
    let mut found: Vec<(&'static str, Option<Field<'a>>)> =
        verbs.iter().filter_map(|verb| Some((*verb, Some(item.get(verb)?)))).collect();
    let spoken = if subject == "signal" { Some(name.clone()) } else { item.get("do") };
    if let Some(field) = spoken {
        let words: Vec<(&str, &'static str)> = verbs.iter().map(|v| (*v, *v)).collect();
        found.push((reader.choice(&field, &words)?, None));
    }
    match found.as_slice() {
        [(verb, Some(value))] if matches!(&value.node.value, Value::Text(t) if t == "false") => {
            reader.error(
                value,
                &format!("`{verb}` that does not happen is no event"),
                "leave it out",
            );
            None
        }
        [only] => Some(only.clone()),
        _ => {
            let message = format!("one thing happens to a {subject} per event");
            reader.error(item, &message, &format!("one of {}", verbs.join(", ")));
            None
        }
    }
}

struct EventReader<'e, 'a> {
    network: &'e Network,
    item: &'e Field<'a>,
    value: Option<&'e Field<'a>>,
}

impl<'a> EventReader<'_, 'a> {
    /// A parameter: inside the verb's map, or beside it.
    fn get(&self, key: &str) -> Option<Field<'a>> {
        self.value.and_then(|v| v.get(key)).or_else(|| self.item.get(key))
    }

    fn unknown<'n>(
        reader: &mut Reader,
        field: &Field<'_>,
        kind: &str,
        name: &str,
        names: impl Iterator<Item = &'n str>,
    ) {
        let hint =
            reader.nearest(name, names).map_or_else(String::new, |n| format!("did you mean {n}?"));
        reader.error(field, &format!("there is no {kind} `{}`", shown(name)), &hint);
    }

    /// A flow by name or virtual link number.
    fn flow_name(&self, reader: &mut Reader, field: &Field<'_>) -> Option<String> {
        let text = reader.text(field)?;
        let flows = &self.network.flows;
        let by_number = || flows.iter().find(|f| f.vl.is_some_and(|vl| vl.to_string() == text));
        let found = self.network.flow(text).or_else(by_number);
        if found.is_none() {
            Self::unknown(reader, field, "flow", text, flows.iter().map(|f| f.name.as_str()));
        }
        found.map(|f| f.name.clone())
    }

    fn flow(&self, reader: &mut Reader, name: &Field<'_>, verb: &str) -> Option<EventAction> {
        let flow = self.flow_name(reader, name)?;
        match verb {
            "stop" => Some(EventAction::StopFlow { flow }),
            "start" => Some(EventAction::StartFlow { flow }),
            "behave" => {
                let Some(value) = self.value else {
                    reader.error(self.item, "as in which mode?", "write `behave: HI`");
                    return None;
                };
                let text = reader.text(value)?;
                let mode = mode_index(reader, value, &self.network.modes, text)?;
                let level = self.network.flow(&flow)?.level;
                if mode > level {
                    let message = format!("`{flow}` has no contract for mode {text}");
                    let hint = format!("its level is {}", self.network.modes[level]);
                    reader.error(value, &message, &hint);
                    return None;
                }
                Some(EventAction::Behave { flow, mode })
            }
            _ => {
                let Some(value) = self.value else {
                    reader.error(self.item, "how much more?", "write `oversend: 200 %`");
                    return None;
                };
                let percent = reader.quantity(value, parse_percent)?;
                if percent == 0 {
                    reader.error(value, "nothing would be sent", "write `stop: true`");
                }
                let percent = u32::try_from(percent).ok()?;
                Some(EventAction::Oversend { flow, percent })
            }
        }
    }

    fn host(&self, reader: &mut Reader, name: &Field<'_>, verb: &str) -> Option<EventAction> {
        let text = reader.text(name)?;
        if !self.network.hosts.iter().any(|h| h.name == text) {
            let names = self.network.hosts.iter().map(|h| h.name.as_str());
            Self::unknown(reader, name, "host", text, names);
            return None;
        }
        let host = text.to_owned();
        if let Some(value) = self.value
            && matches!(value.node.value, Value::Map(_))
        {
            reader.expect_map(value, &["flows", "frame", "rate", "for", "frames_per_s"]);
        }
        let for_ns = match self.get("for") {
            Some(field) => {
                let ns = reader.quantity(&field, parse_time_ns)?;
                if ns == 0 {
                    reader.error(&field, "nothing would be sent", "write 1 s, or leave it out");
                }
                Some(ns)
            }
            None => None,
        };
        match verb {
            "babble" => self.babble(reader, host, for_ns),
            "garbage" => {
                let Some(field) = self.get("frames_per_s") else {
                    reader.error(self.item, "how many frames?", "add `frames_per_s: 1000`");
                    return None;
                };
                let frames = reader.number(&field, 1, 100_000_000)?;
                // Frames of garbage have 64 B, 84 B on the wire.
                const FRAME_BITS: u64 = 84 * 8;
                self.check_line(reader, &host, &field, frames * FRAME_BITS, |line_bps| {
                    format!("{} frames of 64 B per second", line_bps / FRAME_BITS)
                });
                let frames_per_s = u32::try_from(frames).ok()?;
                Some(EventAction::Garbage { host, frames_per_s, for_ns })
            }
            _ => Some(EventAction::Forge { host }),
        }
    }

    fn babble(
        &self,
        reader: &mut Reader,
        host: String,
        for_ns: Option<u64>,
    ) -> Option<EventAction> {
        let mut flows = Vec::new();
        if let Some(list) = self.get("flows") {
            for item in reader.list(&list)? {
                flows.push(self.flow_name(reader, &item)?);
            }
        }
        let frame_bytes = match self.get("frame") {
            None => 64,
            Some(field) => {
                let bytes = reader.quantity(&field, parse_size_bytes)?;
                if !(64..=1_518).contains(&bytes) {
                    reader.error(&field, "a frame has 64 B to 1518 B", "write 64 B");
                }
                u32::try_from(bytes).ok()?
            }
        };
        let rate_bps = match self.get("rate") {
            None => None,
            Some(field) if matches!(&field.node.value, Value::Text(t) if t == "line") => None,
            Some(field) => {
                let rate = reader.quantity(&field, parse_rate_bps)?;
                if rate == 0 {
                    reader.error(&field, "nothing would be sent", "write a rate, or line");
                }
                self.check_line(reader, &host, &field, rate, format_rate);
                Some(rate)
            }
        };
        Some(EventAction::Babble { host, flows, frame_bytes, rate_bps, for_ns })
    }

    /// Refuses what the line of a host cannot carry; `as_asked` says its rate as the field would.
    fn check_line(
        &self,
        reader: &mut Reader,
        host: &str,
        field: &Field<'_>,
        rate_bps: u64,
        as_asked: impl Fn(u64) -> String,
    ) {
        let links = self.network.links.iter();
        let own = links.filter(|link| link.a.node == host || link.b.node == host);
        let Some(line_bps) = own.map(|link| link.rate_bps).max() else { return };
        if rate_bps > line_bps {
            let line = format_rate(line_bps);
            let message = format!(
                "`{}` cannot send {}: its line has {line}",
                shown(host),
                format_rate(rate_bps)
            );
            reader.error(field, &message, &format!("write at most {}", as_asked(line_bps)));
        }
    }

    fn link(&self, reader: &mut Reader, name: &Field<'_>, verb: &str) -> Option<EventAction> {
        let ends = self.link_ends(reader, name)?;
        Some(match verb {
            "cut" => EventAction::CutLink { ends },
            _ => EventAction::HealLink { ends },
        })
    }

    /// `sw1-sw2`, or a list of two; the link must exist.
    fn link_ends(&self, reader: &mut Reader, name: &Field<'_>) -> Option<[String; 2]> {
        let joined = |a: &str, b: &str| {
            self.network
                .links
                .iter()
                .any(|l| (l.a.node == a && l.b.node == b) || (l.a.node == b && l.b.node == a))
        };
        let given = self.item.get("ends").unwrap_or_else(|| name.clone());
        let pair = match &given.node.value {
            Value::List(_) => match reader.texts(&given)?.as_slice() {
                [a, b] => joined(a, b).then(|| [(*a).to_owned(), (*b).to_owned()]),
                _ => None,
            },
            _ => {
                let text = reader.text(&given)?;
                let splits = text.match_indices('-').take(64).map(|(at, _)| text.split_at(at));
                splits
                    .map(|(a, b)| (a.trim(), b[1..].trim()))
                    .find(|(a, b)| joined(a, b))
                    .map(|(a, b)| [a.to_owned(), b.to_owned()])
            }
        };
        if pair.is_none() {
            reader.error(&given, "there is no such link", "write \"sw1-sw2\", or [sw1, sw2]");
        }
        pair
    }

    fn node(
        &self,
        reader: &mut Reader,
        name: &Field<'_>,
        verb: &str,
        subject: &str,
    ) -> Option<EventAction> {
        let text = reader.text(name)?;
        let names: Vec<&str> = if subject == "switch" {
            self.network.switches.iter().map(|s| s.name.as_str()).collect()
        } else {
            self.network.controllers.iter().map(|c| c.name.as_str()).collect()
        };
        if !names.contains(&text) {
            Self::unknown(reader, name, subject, text, names.into_iter());
            return None;
        }
        let node = text.to_owned();
        Some(match verb {
            "kill" => EventAction::KillNode { node },
            "stop" => EventAction::StopNode { node },
            _ => EventAction::StartNode { node },
        })
    }

    fn signal(&self, reader: &mut Reader) -> Option<EventAction> {
        let switches = || self.network.switches.iter().map(|s| s.name.as_str());
        let mut end = |key: &str| {
            let Some(field) = self.get(key) else {
                let hint = "write {signal: lose, from: sw1, to: sw2, frames: 1}";
                reader.error(self.item, &format!("the lost signal has no `{key}`"), hint);
                return None;
            };
            let text = reader.text(&field)?;
            if !switches().any(|s| s == text) {
                Self::unknown(reader, &field, "switch", text, switches());
                return None;
            }
            Some(text.to_owned())
        };
        let (from, to) = (end("from"), end("to"));
        let (from, to) = (from?, to?);
        let frames = match self.get("frames") {
            None => 1,
            Some(field) => u32::try_from(reader.number(&field, 1, 1_000_000)?).ok()?,
        };
        let trunk = self.network.ends_of(&from).any(|(_, far, _)| far.node == to);
        if !trunk {
            let message = format!("no link leads from `{from}` to `{to}`");
            reader.error(self.item, &message, "signals pass between neighbours");
            return None;
        }
        Some(EventAction::LoseSignals { from, to, frames })
    }
}
