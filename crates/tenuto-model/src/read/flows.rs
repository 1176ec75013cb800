//! Flows: contracts per mode, targets, and what is taken where nothing is written.

use super::network::{Draft, mode_index};
use super::reader::{Field, Reader, join, shown};
use crate::quantity::{QuantityError, parse_size_bytes, parse_time_ns};
use crate::yaml::Value;
use crate::{Apart, Contract, Flow, MatchKind, OutOfMode, Size, Target};
use std::collections::BTreeSet;

const KEYS: [&str; 19] = [
    "vl",
    "source",
    "targets",
    "level",
    "message",
    "payload",
    "frame",
    "frame_min",
    "period",
    "bag",
    "jitter",
    "deadline",
    "priority",
    "match",
    "out_of_mode",
    "monitor_at",
    "copies",
    "skew_max",
    "udp_port",
];
const SIZE_KEYS: [&str; 3] = ["message", "payload", "frame"];
/// Largest message, bytes.
const MESSAGE_BYTES_MAX: u64 = 16_000_000;

/// Where a flow's values come from: its own map, then its table row, then the defaults.
pub(super) struct FlowLayers<'a> {
    pub(super) name: &'a str,
    pub(super) own: Option<Field<'a>>,
    pub(super) row: Option<Field<'a>>,
    pub(super) default: Option<Field<'a>>,
}

impl<'a> FlowLayers<'a> {
    fn get(&self, key: &str) -> Option<Field<'a>> {
        let layers = [&self.own, &self.row, &self.default];
        layers.into_iter().flatten().find_map(|layer| layer.get(key))
    }

    /// The one of `keys` that is written, by the first layer that writes any.
    fn one_of(&self, keys: &[&'static str]) -> Vec<(&'static str, Field<'a>)> {
        for layer in [&self.own, &self.row].into_iter().flatten() {
            let found: Vec<_> =
                keys.iter().filter_map(|key| Some((*key, layer.get(key)?))).collect();
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    fn main(&self) -> &Field<'a> {
        self.own.as_ref().or(self.row.as_ref()).expect("a flow is written somewhere")
    }
}

/// One value for all modes, or one per mode.
enum PerMode<T> {
    Same(T),
    Each(Vec<Option<T>>),
}

impl<T: Copy> PerMode<T> {
    fn get(&self, mode: usize) -> Option<T> {
        match self {
            Self::Same(value) => Some(*value),
            Self::Each(values) => values.get(mode).copied().flatten(),
        }
    }
}

/// Takes the values of one flow out of the tree.
struct FlowReader<'r, 'a> {
    reader: &'r mut Reader,
    layers: &'r FlowLayers<'a>,
    modes: &'r [String],
    level: usize,
}

pub(super) fn read_flow(reader: &mut Reader, layers: &FlowLayers<'_>, draft: &mut Draft) {
    let main = layers.main();
    let path = format!("flows.{}", layers.name);
    reader.remember(path.clone(), main.node.place);
    for layer in [&layers.own, &layers.row].into_iter().flatten() {
        reader.expect_map(layer, &KEYS);
    }
    for key in KEYS {
        if let Some(field) = layers.get(key) {
            reader.remember(join(&path, key), field.node.place);
        }
    }
    reader.check_name(layers.name, &path, main.node.place);
    let before = reader.diagnostics.errors();
    let modes = draft.network.modes.clone();
    let mut flow = FlowReader { reader, layers, modes: &modes, level: 0 };
    flow.level = flow.read_level();
    let contracts = flow.read_contracts();
    let in_doubt = flow.reader.diagnostics.errors() > before;
    let (copies, apart) = flow.read_copies(&draft.network.networks);
    let targets = flow.read_targets(&contracts, &copies);
    let vl = flow.number("vl", 1, u64::from(u16::MAX));
    let matching = flow.read_match(vl.is_some());
    let source = flow.read_source();
    // A default is for those flows that have two copies.
    let is_meant = copies.len() > 1 || !layers.one_of(&["skew_max"]).is_empty();
    let skew_max_ns = flow.time("skew_max").filter(|_| is_meant);
    let ranked = layers.get("priority").is_some();
    let flow = Flow {
        name: layers.name.to_owned(),
        vl,
        source,
        targets,
        level: flow.level,
        contracts,
        matching,
        out_of_mode: flow.read_out_of_mode(),
        monitor_at: flow.names("monitor_at").unwrap_or_default(),
        copies,
        apart,
        skew_max_ns,
        udp_port: flow.number("udp_port", 1, u64::from(u16::MAX)),
    };
    if in_doubt {
        draft.contract_in_doubt.insert(flow.name.clone());
    }
    if !ranked {
        draft.unranked.insert(flow.name.clone());
    }
    draft.network.flows.push(flow);
}

impl<'a> FlowReader<'_, 'a> {
    fn number(&mut self, key: &str, min: u64, max: u64) -> Option<u16> {
        let field = self.layers.get(key)?;
        let value = self.reader.number(&field, min, max)?;
        u16::try_from(value).ok()
    }

    fn time(&mut self, key: &str) -> Option<u64> {
        let field = self.layers.get(key)?;
        self.reader.quantity(&field, parse_time_ns)
    }

    fn names(&mut self, key: &str) -> Option<Vec<String>> {
        let field = self.layers.get(key)?;
        let texts = self.reader.texts(&field)?;
        Some(texts.into_iter().map(str::to_owned).collect())
    }

    fn missing(&mut self, what: &str, hint: &str) {
        let message = format!("flow `{}` has no {what}", shown(self.layers.name));
        self.reader.error(self.layers.main(), &message, hint);
    }

    /// The level written, or the highest mode that any of its values names, or the lowest.
    fn read_level(&mut self) -> usize {
        let mut named: BTreeSet<usize> = BTreeSet::new();
        for key in [
            "period",
            "bag",
            "message",
            "payload",
            "frame",
            "frame_min",
            "jitter",
            "deadline",
            "priority",
        ] {
            for (mode, _) in self.layers.get(key).map(|f| f.pairs()).unwrap_or_default() {
                named.extend(self.modes.iter().position(|m| m == mode));
            }
        }
        let highest = named.last().copied().unwrap_or(0);
        let Some(field) = self.layers.get("level") else { return highest };
        let Some(text) = self.reader.text(&field) else { return highest };
        let Some(level) = mode_index(self.reader, &field, self.modes, text) else { return highest };
        if level < highest {
            let message = format!(
                "the flow's level is {text}, but it has values for {}",
                self.modes[highest]
            );
            let hint = format!("did you mean `level: {}`?", self.modes[highest]);
            self.reader.error(&field, &message, &hint);
        }
        level.max(highest)
    }

    /// A value or a map by mode.
    fn per_mode<T: Copy>(
        &mut self,
        field: &Field<'a>,
        all: bool,
        mut parse: impl FnMut(&mut Reader, &Field<'a>) -> Option<T>,
    ) -> Option<PerMode<T>> {
        if !matches!(field.node.value, Value::Map(_)) {
            return parse(self.reader, field).map(PerMode::Same);
        }
        let mut values = vec![None; self.modes.len()];
        let mut written = vec![false; self.modes.len()];
        for (mode, value) in field.pairs() {
            if let Some(index) = mode_index(self.reader, &value, self.modes, mode) {
                values[index] = parse(self.reader, &value);
                written[index] = true;
            }
        }
        for (name, written) in self.modes.iter().zip(written).take(self.level + 1) {
            if all && !written {
                let message = format!("there is no value for mode {name}");
                let highest = &self.modes[self.level];
                let hint = format!("the flow takes part in every mode up to {highest}");
                self.reader.error(field, &message, &hint);
            }
        }
        Some(PerMode::Each(values))
    }

    fn quantity(
        &mut self,
        key: &str,
        all: bool,
        parse: fn(&str) -> Result<u64, QuantityError>,
    ) -> Option<PerMode<u64>> {
        let field = self.layers.get(key)?;
        self.per_mode(&field, all, |reader, f| reader.quantity(f, parse))
    }

    fn read_contracts(&mut self) -> Vec<Contract> {
        let period = self.read_period();
        let size = self.read_size();
        let frame_min = self.quantity("frame_min", false, parse_size_bytes);
        let jitter = self.quantity("jitter", true, parse_time_ns);
        let priority = self.read_priority();
        // What could not be read has been reported; these values are never used.
        (0..=self.level)
            .map(|mode| Contract {
                period_ns: period.as_ref().and_then(|p| p.get(mode)).unwrap_or(1_000_000_000),
                size: size.as_ref().and_then(|s| s.get(mode)).unwrap_or(Size::FrameBytes(64)),
                frame_bytes_min: frame_min
                    .as_ref()
                    .and_then(|f| f.get(mode))
                    .map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX)),
                jitter_ns: jitter.as_ref().and_then(|j| j.get(mode)).unwrap_or(0),
                priority,
            })
            .collect()
    }

    fn read_period(&mut self) -> Option<PerMode<u64>> {
        let is_vl = self.layers.get("vl").is_some();
        let found = self.layers.one_of(&["bag", "period"]);
        match found.as_slice() {
            [] => {
                let key = if is_vl { "bag: 8 ms" } else { "period: 25 ms" };
                self.missing("period", &format!("add `{key}`"));
                return None;
            }
            [_, (_, second), ..] => {
                let hint = "a virtual link has a BAG, any other flow a period";
                self.reader.error(second, "both `bag` and `period` are written", hint);
            }
            [("bag", field)] if !is_vl => {
                let hint = "write `period`, or give the virtual link's number: `vl: 1001`";
                self.reader.error(field, "only a virtual link has a BAG", hint);
            }
            [("period", field)] if is_vl => {
                let hint = "write `bag`: its least spacing, a power of two from 1 to 128 ms";
                self.reader.error(field, "a virtual link has a BAG", hint);
            }
            _ => {}
        }
        let (key, _) = found.first()?;
        self.quantity(key, true, parse_time_ns)
    }

    fn read_size(&mut self) -> Option<PerMode<Size>> {
        let found = self.layers.one_of(&SIZE_KEYS);
        let (key, field) = match found.as_slice() {
            [] => {
                self.missing("size", "add exactly one of message, payload, frame");
                return None;
            }
            [only] => only.clone(),
            [_, (_, second), ..] => {
                let hint = "keep one: a message is cut into frames, a payload is that of one frame";
                self.reader.error(second, "the size is written twice", hint);
                return None;
            }
        };
        let (min, max, why) = match key {
            "message" => (1, MESSAGE_BYTES_MAX, "a message has 16 B to 16 MB"),
            "payload" => {
                (1, 1_472, "a payload in one frame has 1 B to 1472 B: did you mean message?")
            }
            _ => (18, 1_518, "a frame, FCS included, has 18 B to 1518 B: did you mean message?"),
        };
        self.per_mode(&field, true, |reader, f| {
            let bytes = reader.quantity(f, parse_size_bytes)?;
            if !(min..=max).contains(&bytes) {
                let text = reader.text(f).unwrap_or_default();
                reader.error(f, &format!("{key} of `{}` cannot be", shown(text)), why);
                return None;
            }
            let bytes = u32::try_from(bytes).ok()?;
            Some(match key {
                "message" => Size::MessageBytes(bytes),
                "payload" => Size::PayloadBytes(bytes),
                _ => Size::FrameBytes(bytes),
            })
        })
    }

    fn read_priority(&mut self) -> u8 {
        let Some(field) = self.layers.get("priority") else { return 0 };
        let Some(values) = self.per_mode(&field, true, |reader, f| reader.number(f, 0, 63)) else {
            return 0;
        };
        let mut distinct: BTreeSet<u64> = BTreeSet::new();
        distinct.extend((0..=self.level).filter_map(|mode| values.get(mode)));
        if distinct.len() > 1 {
            let highest = distinct.first().copied().unwrap_or(0);
            let message = "priorities differ between modes: after a change later frames of the flow \
                           would overtake those that wait in the old class";
            let hint = format!(
                "write one, such as {highest}, the highest of these, or leave it out and plan with \
                 `--priorities audsley`"
            );
            self.reader.error(&field, message, &hint);
        }
        distinct.first().and_then(|p| u8::try_from(*p).ok()).unwrap_or(0)
    }

    fn read_source(&mut self) -> String {
        let source = self.layers.get("source");
        match source.as_ref().map(|f| self.reader.text(f)) {
            None => {
                self.missing("source", "add `source:` with the host that sends");
                String::new()
            }
            Some(name) => name.unwrap_or_default().to_owned(),
        }
    }

    /// Names of networks; over one network the word `disjoint` or `link-disjoint`, which is two
    /// copies.
    fn read_copies(&mut self, networks: &[String]) -> (Vec<String>, Apart) {
        let apart = |word: &str| match word {
            "disjoint" if networks.is_empty() => Some(Apart::Switches),
            "link-disjoint" if networks.is_empty() => Some(Apart::Links),
            _ => None,
        };
        let two = || vec!["A".into(), "B".into()];
        let written = self.layers.get("copies");
        if let Some(field) = written
            && let Value::Text(text) = &field.node.value
            && let Some(apart) = apart(text)
        {
            return (two(), apart);
        }
        let names = self.names("copies").unwrap_or_else(|| networks.to_vec());
        match names.as_slice() {
            [only] if apart(only).is_some() => (two(), apart(only).unwrap_or_default()),
            _ => (names, Apart::default()),
        }
    }

    fn read_match(&mut self, is_vl: bool) -> MatchKind {
        let default = if is_vl { MatchKind::Vl } else { MatchKind::FiveTuple };
        let Some(field) = self.layers.get("match") else { return default };
        let Some(text) = self.reader.text(&field) else { return default };
        if matches!(text, "port" | "all") {
            let message = format!("`match: {text}` is not supported yet");
            self.reader.error(&field, &message, "write five-tuple or vl");
            return default;
        }
        let words = [("five-tuple", MatchKind::FiveTuple), ("vl", MatchKind::Vl)];
        let found = self.reader.choice(&field, &words).unwrap_or(default);
        if found == MatchKind::Vl && !is_vl {
            let message =
                format!("flow `{}` is matched by vl, but has no number", shown(self.layers.name));
            self.reader.error(
                self.layers.main(),
                &message,
                "add `vl: 1001`, or `match: five-tuple`",
            );
        }
        found
    }

    fn read_out_of_mode(&mut self) -> OutOfMode {
        if let Some(field) = self.layers.get("out_of_mode") {
            self.reader.choice(&field, &[("drop", OutOfMode::Drop)]);
        }
        OutOfMode::Drop
    }

    fn read_targets(&mut self, contracts: &[Contract], copies: &[String]) -> Vec<Target> {
        let deadline = self.quantity("deadline", true, parse_time_ns);
        let deadline_of = |own: Option<&PerMode<u64>>| -> Vec<u64> {
            let written = |mode| own.and_then(|d| d.get(mode));
            let shared = |mode| deadline.as_ref().and_then(|d| d.get(mode));
            contracts
                .iter()
                .enumerate()
                .map(|(mode, c)| written(mode).or_else(|| shared(mode)).unwrap_or(c.period_ns))
                .collect()
        };
        let Some(field) = self.layers.get("targets") else {
            self.missing("targets", "add `targets: [h2]`");
            return Vec::new();
        };
        let ways = copies.len().max(1);
        if !matches!(field.node.value, Value::Map(_)) {
            let items = self.reader.list(&field).unwrap_or_default();
            let hosts = items.iter().filter_map(|item| self.reader.text(item));
            return hosts
                .map(|host| Target {
                    host: host.to_owned(),
                    routes: vec![None; ways],
                    deadline_ns: deadline_of(None),
                })
                .collect();
        }
        let mut targets = Vec::new();
        for (host, target) in field.pairs() {
            self.reader.remember(target.path.clone(), target.node.place);
            self.reader.expect_map(&target, &["route", "deadline"]);
            let own = target.get("deadline").and_then(|f| {
                self.reader.remember(f.path.clone(), f.node.place);
                self.per_mode(&f, true, |reader, f| reader.quantity(f, parse_time_ns))
            });
            targets.push(Target {
                host: host.to_owned(),
                routes: self.read_routes(&target, copies),
                deadline_ns: deadline_of(own.as_ref()),
            });
        }
        targets
    }

    fn read_routes(&mut self, target: &Field<'a>, copies: &[String]) -> Vec<Option<Vec<String>>> {
        let mut routes = vec![None; copies.len().max(1)];
        let Some(route) = target.get("route") else { return routes };
        self.reader.remember(route.path.clone(), route.node.place);
        let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
        if !matches!(route.node.value, Value::Map(_)) {
            if copies.len() > 1 {
                let hint = format!("write {{{}: […], {}: […]}}", copies[0], copies[1]);
                self.reader.error(&route, "each copy has a route of its own", &hint);
            } else {
                routes[0] = self.reader.texts(&route).map(owned);
            }
            return routes;
        }
        for (copy, list) in route.pairs() {
            match copies.iter().position(|c| c == copy) {
                Some(index) => routes[index] = self.reader.texts(&list).map(owned),
                None => {
                    let message = format!("the flow has no copy on `{}`", shown(copy));
                    let hint = self.reader.meant(copy, copies.iter().map(String::as_str));
                    self.reader.error(&list, &message, &hint.unwrap_or_default());
                }
            }
        }
        routes
    }
}

/// Gives flows without a written priority their rate-monotonic class.
pub(crate) fn settle_priorities(draft: &mut Draft) {
    let unranked = &draft.unranked;
    draft.network.rank_by_period(|flow| unranked.contains(&flow.name));
}
