//! Saihu's output-port JSON: servers with curves, and flows with paths over them.

use super::advice::TOO_LARGE;
use super::decimal::{Decimal, Toward};
use super::saihu_units::{Dimension, Unit, split};
use super::server_draft::{PathParts, ServerDraft, pairs, serve_no_faster};
use super::{Import, json};
use crate::read::reader::{Field, shown};
use crate::yaml::Value;
use tenuto_calculus::{Bucket, GraphServer, Multiplexing, RateLatency, ServerGraph};
use tenuto_units::Picos;

const NETWORK_KEYS: [&str; 13] = [
    "name",
    "packetizer",
    "multiplexing",
    "analysis_option",
    "analysis_options",
    "time_unit",
    "data_unit",
    "rate_unit",
    "min_packet_length",
    "max_packet_length",
    "capacity",
    "service_curve",
    "arrival_curve",
];
const SERVER_KEYS: [&str; 8] = [
    "name",
    "service_curve",
    "capacity",
    "multiplexing",
    "time_unit",
    "data_unit",
    "rate_unit",
    "id",
];
const FLOW_KEYS: [&str; 11] = [
    "name",
    "path",
    "path_name",
    "multicast",
    "arrival_curve",
    "max_packet_length",
    "min_packet_length",
    "time_unit",
    "data_unit",
    "rate_unit",
    "id",
];

/// The server graph of the file.
pub(super) fn read(it: &mut Import<'_>) -> Option<ServerGraph> {
    let node = json::parse(it)?;
    let top = json::top(&node);
    json::unread(&mut it.reader, &top, &["network", "flows", "servers", "adjacency_matrix"]);
    let network = json::need(&mut it.reader, &top, "network")?;
    json::unread(&mut it.reader, &network, &NETWORK_KEYS);
    let name = network.get("name").and_then(|f| it.reader.text(&f).map(str::to_owned));
    let mut saihu = Saihu {
        draft: ServerDraft::new(&name.unwrap_or_else(|| it.stem())),
        multiplexing: Multiplexing::Fifo,
        is_packetized: false,
        network,
        it,
    };
    saihu.options();
    let flows = json::items(&mut saihu.it.reader, &top, "flows");
    let servers = json::items(&mut saihu.it.reader, &top, "servers");
    let packets = saihu.packets(&flows, &servers);
    for (index, server) in servers.iter().enumerate() {
        saihu.server(server, packets.get(index).copied().unwrap_or(0));
    }
    for flow in &flows {
        saihu.flow(flow);
    }
    let Saihu { it, draft, .. } = saihu;
    Some(draft.finish(it))
}

struct Saihu<'r, 'a, 'n> {
    it: &'r mut Import<'a>,
    draft: ServerDraft,
    network: Field<'n>,
    multiplexing: Multiplexing,
    is_packetized: bool,
}

impl<'n> Saihu<'_, '_, 'n> {
    fn options(&mut self) {
        self.multiplexing = self.multiplexing(&self.network.clone()).unwrap_or_default();
        let truths = [("true", true), ("false", false), ("True", true), ("False", false)];
        if let Some(field) = self.network.get("packetizer") {
            self.is_packetized = self.it.reader.choice(&field, &truths).unwrap_or(false);
        }
        for key in ["analysis_option", "analysis_options"] {
            let Some(field) = self.network.get(key) else { continue };
            let words: Vec<&str> = match &field.node.value {
                Value::Text(text) => text.split('+').collect(),
                _ => self.it.reader.texts(&field).unwrap_or_default(),
            };
            for word in words {
                match word {
                    "IS" | "FIFO" => {}
                    "PK" => self.is_packetized = true,
                    "CEIL" | "MOH" | "TDMI" => {
                        self.it
                            .note(format!("analysis option {word} concerns xTFA only: left out"));
                    }
                    _ => {
                        let message = format!("analysis option `{}` is not known", shown(word));
                        self.it.warn(field.node.place, message, "IS, PK, CEIL, MOH and TDMI are");
                    }
                }
            }
        }
        if self.is_packetized {
            self.it.note(
                "packetizer: every server sends whole packets, the largest of the flows through it",
            );
        } else {
            self.it.note("packetizer is off: bits flow through, which is not valid for frames");
        }
    }

    fn multiplexing(&mut self, field: &Field<'_>) -> Option<Multiplexing> {
        let field = field.get("multiplexing")?;
        let words = [("FIFO", Multiplexing::Fifo), ("ARBITRARY", Multiplexing::Arbitrary)];
        self.it.reader.choice(&field, &words)
    }

    /// The unit of numbers without one: of the object, else of the network.
    fn unit(&mut self, object: &Field<'_>, dimension: Dimension) -> Unit {
        let key = match dimension {
            Dimension::Time => "time_unit",
            Dimension::Data => "data_unit",
            Dimension::Rate => "rate_unit",
        };
        let Some(field) = object.get(key).or_else(|| self.network.get(key)) else {
            return Unit::base(dimension);
        };
        let Some(text) = self.it.reader.text(&field) else { return Unit::base(dimension) };
        Unit::parse(dimension, text).unwrap_or_else(|why| {
            self.it.reader.error(&field, &why, dimension.hint());
            Unit::base(dimension)
        })
    }

    /// A value in the smallest unit that is kept.
    fn value(
        &mut self,
        field: &Field<'_>,
        object: &Field<'_>,
        dimension: Dimension,
        toward: Toward,
    ) -> Option<u64> {
        let text = self.it.reader.text(field)?;
        let (number, unit) = split(text);
        let unit = if unit.is_empty() {
            self.unit(object, dimension)
        } else {
            match Unit::parse(dimension, unit) {
                Ok(unit) => unit,
                Err(why) => {
                    self.it.reader.error(field, &why, dimension.hint());
                    return None;
                }
            }
        };
        let value = Decimal::parse(number).map(|number| unit.value(number, toward));
        match value {
            Ok(Some(value)) => Some(value),
            Ok(None) => {
                let message = format!("{} `{}` is too large", dimension.noun(), shown(text));
                self.it.reader.error(field, &message, TOO_LARGE);
                None
            }
            Err(why) => {
                let message = format!("{} `{}`: {why}", dimension.noun(), shown(text));
                self.it.reader.error(field, &message, dimension.hint());
                None
            }
        }
    }

    /// The values of a list, or of a single value.
    fn values(
        &mut self,
        curve: &Field<'_>,
        key: &str,
        object: &Field<'_>,
        dimension: Dimension,
        toward: Toward,
    ) -> Option<Vec<i128>> {
        let field = json::need(&mut self.it.reader, curve, key)?;
        let items = match field.node.value {
            Value::List(_) => self.it.reader.list(&field).unwrap_or_default(),
            _ => vec![field],
        };
        let value = |item| self.value(item, object, dimension, toward).map(i128::from);
        // All of them, so that each problem is reported; a curve with a piece less is another one.
        let read: Vec<i128> = items.iter().filter_map(value).collect();
        (read.len() == items.len()).then_some(read)
    }

    fn curve(&mut self, object: &Field<'n>, key: &str) -> Option<Field<'n>> {
        let found = object.get(key).or_else(|| self.network.get(key));
        if found.is_none() {
            let hint = format!("add `{key}` here, or to the `network` for all");
            self.it.reader.error(object, &format!("there is no `{key}`"), &hint);
        }
        found
    }

    /// The largest packet of each server, 10⁻⁶ bit.
    fn packets(&mut self, flows: &[Field<'n>], servers: &[Field<'n>]) -> Vec<u64> {
        let mut largest = vec![0; servers.len()];
        if !self.is_packetized {
            return largest;
        }
        let name = |field: &Field<'n>| match field.get("name").map(|f| &f.node.value) {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let index: std::collections::BTreeMap<&str, usize> =
            servers.iter().enumerate().filter_map(|(i, s)| Some((name(s)?, i))).collect();
        for flow in flows {
            let packet = self.packet(flow);
            let more = flow.get("multicast").and_then(|f| self.it.reader.list(&f));
            let more = more.unwrap_or_default();
            let paths = [flow.get("path")].into_iter().flatten();
            let paths = paths.chain(more.iter().filter_map(|m| m.get("path")));
            for path in paths {
                let Value::List(steps) = &path.node.value else { continue };
                for step in steps {
                    let Value::Text(text) = &step.value else { continue };
                    let at = index.get(text.as_str()).copied().or_else(|| text.parse().ok());
                    if let Some(most) = at.and_then(|at: usize| largest.get_mut(at)) {
                        *most = packet.max(*most);
                    }
                }
            }
        }
        largest
    }

    /// The largest packet of a flow: its own, the network's, else its whole burst.
    fn packet(&mut self, flow: &Field<'n>) -> u64 {
        let key = "max_packet_length";
        if let Some(field) = flow.get(key).or_else(|| self.network.get(key)) {
            return self.value(&field, flow, Dimension::Data, Toward::Up).unwrap_or(0);
        }
        self.it.note("flows without max_packet_length have packets as large as their burst");
        let Some(curve) = flow.get("arrival_curve").or_else(|| self.network.get("arrival_curve"))
        else {
            return 0;
        };
        let bursts = self.values(&curve, "bursts", flow, Dimension::Data, Toward::Up);
        bursts.into_iter().flatten().max().and_then(|burst| u64::try_from(burst).ok()).unwrap_or(0)
    }

    fn server(&mut self, server: &Field<'n>, packet: u64) {
        json::unread(&mut self.it.reader, server, &SERVER_KEYS);
        let place = server.node.place;
        let Some(name) = json::text(&mut self.it.reader, server, "name") else { return };
        let name = name.to_owned();
        let Some(curve) = self.curve(server, "service_curve") else { return };
        let time = Dimension::Time;
        let latencies = self.values(&curve, "latencies", server, time, Toward::Up);
        let rates = self.values(&curve, "rates", server, Dimension::Rate, Toward::Down);
        let service = match latencies.zip(rates) {
            Some((latencies, rates)) => pairs(self.it, &latencies, &rates, curve.node.place, &name),
            // Reported; the flows that name it have no fault of their own.
            None => vec![(0, 1)],
        };
        let mut service: Vec<RateLatency> = service
            .into_iter()
            .map(|(latency, rate_ubps)| RateLatency { rate_ubps, latency: Picos(latency) })
            .collect();
        let own = self.multiplexing(server);
        if own.is_some() {
            self.it.note("servers that state their own multiplexing keep it");
        }
        let packet_ubit = i128::from(packet);
        let line = self.line(server, &mut service, packet_ubit);
        let multiplexing = own.unwrap_or(self.multiplexing);
        let server = GraphServer { name, service, line, multiplexing, packet_ubit };
        self.draft.server(self.it, server, place);
    }

    /// The line behind a server: its capacity, a fact of the network whichever analyses
    /// `analysis_option` asks for. Saihu too shapes by it unless told not to; without a capacity
    /// Saihu takes the fastest service for one (`netdef.py`), which is a fact of the network only
    /// if whoever imports it says so.
    fn line(
        &mut self,
        server: &Field<'n>,
        service: &mut [RateLatency],
        packet_ubit: i128,
    ) -> Option<Bucket> {
        let Some(field) = server.get("capacity").or_else(|| self.network.get("capacity")) else {
            if self.it.options.lines_of_service {
                self.it.note(
                    "servers without capacity have a line of their fastest service rate, as \
                     --lines-of-service says: bounds hold if they never send faster",
                );
                let rate_ubps = service.iter().map(|piece| piece.rate_ubps).max()?;
                return Some(Bucket { burst_ubit: packet_ubit, rate_ubps });
            }
            self.it.note(
                "servers without capacity shape nothing: a service curve does not limit what \
                 leaves a server; --lines-of-service takes its fastest rate for a line, as Saihu does",
            );
            return None;
        };
        let rate = self.value(&field, server, Dimension::Rate, Toward::Up)?;
        if rate == 0 {
            self.it.reader.error(&field, "the capacity is zero", "leave it out if it is not known");
            return None;
        }
        let capacity = self.value(&field, server, Dimension::Rate, Toward::Down)?;
        serve_no_faster(self.it, service, capacity, field.node.place);
        self.it.note("capacities are lines that shape; plan --no-line-shaping leaves them out");
        Some(Bucket { burst_ubit: packet_ubit, rate_ubps: i128::from(rate) })
    }

    fn flow(&mut self, flow: &Field<'n>) {
        json::unread(&mut self.it.reader, flow, &FLOW_KEYS);
        let place = flow.node.place;
        let Some(name) = json::text(&mut self.it.reader, flow, "name") else { return };
        let name = name.to_owned();
        let Some(curve) = self.curve(flow, "arrival_curve") else { return };
        let bursts = self.values(&curve, "bursts", flow, Dimension::Data, Toward::Up);
        let rates = self.values(&curve, "rates", flow, Dimension::Rate, Toward::Up);
        let Some((bursts, rates)) = bursts.zip(rates) else { return };
        let arrival = pairs(self.it, &bursts, &rates, curve.node.place, &name);
        let arrival = arrival
            .into_iter()
            .map(|(burst_ubit, rate_ubps)| Bucket { burst_ubit, rate_ubps })
            .collect();
        if self.network.get("min_packet_length").is_some()
            || flow.get("min_packet_length").is_some()
        {
            self.it.note("min_packet_length is left out: no bound here depends on it");
        }
        if !self.is_packetized
            && (self.network.get("max_packet_length").is_some()
                || flow.get("max_packet_length").is_some())
        {
            self.it.note("max_packet_length is left out, since packetizer is off");
        }
        let paths = self.paths(flow, &name);
        self.draft.flow(self.it, &name, arrival, paths, place);
    }

    fn paths(&mut self, flow: &Field<'n>, name: &str) -> Vec<PathParts> {
        let mut paths = Vec::new();
        let first = flow.get("path_name").and_then(|f| self.it.reader.text(&f));
        let first = first.unwrap_or("p0").to_owned();
        if let Some(field) = json::need(&mut self.it.reader, flow, "path") {
            paths.extend(self.path(first, &field, name));
        }
        let more = flow.get("multicast").and_then(|f| self.it.reader.list(&f)).unwrap_or_default();
        for (index, item) in more.iter().enumerate() {
            let own = item.get("name").and_then(|f| self.it.reader.text(&f).map(str::to_owned));
            let own = own.unwrap_or_else(|| format!("p{}", index + 1));
            if let Some(field) = json::need(&mut self.it.reader, item, "path") {
                paths.extend(self.path(own, &field, name));
            }
        }
        paths
    }

    fn path(&mut self, name: String, field: &Field<'n>, flow: &str) -> Option<PathParts> {
        let place = field.node.place;
        let mut servers = Vec::new();
        for item in self.it.reader.texts(field)? {
            let by_number = item.parse().ok().filter(|at| *at < self.draft.servers());
            let index = match self.draft.find(item) {
                Some(index) => Some(index),
                // Saihu itself writes paths as numbers of servers.
                None if by_number.is_some() => by_number,
                None => self.draft.index(self.it, item, place),
            };
            servers.push(index?);
        }
        if servers.is_empty() {
            let message = format!("flow `{}` has an empty path", shown(flow));
            self.it.warn(place, message, "the path is left out: it takes no time");
            return None;
        }
        Some(PathParts { name, servers, deadline: None, place })
    }
}
