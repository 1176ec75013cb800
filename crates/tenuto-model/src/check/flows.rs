//! Rules of flows: contracts, names, routes, and what they ask of the nodes.

use super::topology::Topology;
use crate::quantity::{format_rate, format_size};
use crate::read::network::Draft;
use crate::read::reader::{Reader, shown};
use crate::{Contract, Flow, MatchKind, Network, NodeRef, OtherTraffic, Size, addressing};
use std::collections::{BTreeMap, BTreeSet};
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};

/// What is said of a network without flows.
const NO_FLOWS: &str = "the network has no flows: there is nothing to guarantee";

const MS: u64 = 1_000_000;
/// What an end system writes into every message, bytes.
const STAMP_BYTES: u32 = 16;

pub(super) fn judge_flows(reader: &mut Reader, draft: &Draft, topology: &Topology<'_>) {
    let network = &draft.network;
    let mut vls: BTreeMap<u16, &str> = BTreeMap::new();
    judge_ports(reader, network);
    for flow in &network.flows {
        let path = format!("flows.{}", flow.name);
        if let Some(vl) = flow.vl
            && let Some(other) = vls.insert(vl, &flow.name)
        {
            let message = format!("virtual link {vl} is `{}` and `{other}`", flow.name);
            reader.error_at(&format!("{path}.vl"), &message, "each has a number of its own");
        }
        let judge = FlowJudge { network, topology, flow, path: &path };
        if !draft.contract_in_doubt.contains(&flow.name) {
            judge.contracts(reader);
        }
        judge.copies(reader);
        judge.nodes(reader, draft.topology_in_doubt);
    }
}

/// Flows of one source and one target are told apart by their UDP ports, written or not.
fn judge_ports(reader: &mut Reader, network: &Network) {
    type Ports<'a> = BTreeMap<u16, (&'a Flow, bool)>;
    let mut streams: BTreeMap<(&str, &str), Ports<'_>> = BTreeMap::new();
    for (number, flow) in network.flows.iter().enumerate() {
        let (MatchKind::FiveTuple, None, [only]) =
            (flow.matching, flow.vl, flow.targets.as_slice())
        else {
            continue;
        };
        let port = flow.udp_port.unwrap_or(automatic_port(number));
        let ports = streams.entry((&flow.source, &only.host)).or_default();
        let Some((other, is_other_written)) = ports.insert(port, (flow, flow.udp_port.is_some()))
        else {
            continue;
        };
        // Two ports that nobody wrote differ, so one of them is written.
        let written = if flow.udp_port.is_some() || !is_other_written { flow } else { other };
        let message = format!("`{}` and `{}` cannot be told apart", flow.name, other.name);
        let is_free = |port: &u16| *port > 0 && !ports.contains_key(port);
        let above = automatic_port(network.flows.len());
        let free = (above..=u16::MAX).chain(1..above).find(is_free);
        let hint = match (flow.udp_port.zip(other.udp_port), free) {
            (Some(_), _) => {
                "same source, target and `udp_port`: change one port, or leave it out".to_owned()
            }
            (None, free) => format!(
                "same source and target, and {port} is what a flow in that place has where none \
                 is written: write another, such as {}",
                free.unwrap_or(port)
            ),
        };
        reader.error_at(&format!("flows.{}.udp_port", written.name), &message, &hint);
    }
}

/// The UDP port of the flow with that number where none is written.
fn automatic_port(number: usize) -> u16 {
    addressing::automatic_port(u16::try_from(number).unwrap_or(u16::MAX))
}

/// The largest number below `above` for which `holds`, which does for all that are smaller.
fn largest_below(above: u32, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, above);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// What a flow is judged by.
struct FlowJudge<'a> {
    network: &'a Network,
    topology: &'a Topology<'a>,
    flow: &'a Flow,
    path: &'a str,
}

impl FlowJudge<'_> {
    fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    fn contracts(&self, reader: &mut Reader) {
        let flow = self.flow;
        let mut said: BTreeSet<String> = BTreeSet::new();
        let mut error = |reader: &mut Reader, key: &str, message: String, hint: &str| {
            if said.insert(message.clone()) {
                reader.error_at(&self.at(key), &message, hint);
            }
        };
        for (mode, contract) in flow.contracts.iter().enumerate() {
            let in_mode = if flow.contracts.len() > 1 {
                format!(" in mode {}", self.network.modes[mode])
            } else {
                String::new()
            };
            self.period(reader, contract, &mut error);
            if contract.jitter_ns >= contract.period_ns && contract.period_ns > 0 {
                let message = format!("the release jitter reaches the period{in_mode}");
                error(reader, "jitter", message, "jitter must be smaller than the period");
            }
            self.size(reader, contract, &mut error);
        }
        self.growth(reader, &mut error);
        self.priority(reader);
    }

    /// Hosts do not know the mode: what a flow may send in a mode it may send in every higher one.
    fn growth(&self, reader: &mut Reader, error: &mut impl FnMut(&mut Reader, &str, String, &str)) {
        for (low, pair) in self.flow.contracts.windows(2).enumerate() {
            let [before, after] = pair else { continue };
            let (name, higher) = (&self.network.modes[low], &self.network.modes[low + 1]);
            let bits = |c: &Contract| c.size.frames(false).message_wire_bits;
            let size = match after.size {
                Size::MessageBytes(_) => "message",
                Size::PayloadBytes(_) => "payload",
                Size::FrameBytes(_) => "frame",
            };
            let period = if self.flow.vl.is_some() { "bag" } else { "period" };
            let hint = format!(
                "a host does not know the mode: what it may send in {name} it may send in {higher}"
            );
            for (key, less) in [
                (size, bits(after) < bits(before)),
                (period, after.period_ns > before.period_ns),
                ("jitter", after.jitter_ns < before.jitter_ns),
            ] {
                if less {
                    let message = format!("{higher} allows less than {name}: {key}");
                    error(reader, key, message, &hint);
                }
            }
        }
    }

    fn period(
        &self,
        reader: &mut Reader,
        contract: &Contract,
        error: &mut impl FnMut(&mut Reader, &str, String, &str),
    ) {
        let period = contract.period_ns;
        if self.flow.vl.is_none() {
            if period == 0 {
                let hint = "write the least time between two messages";
                error(reader, "period", "the period is zero".into(), hint);
            }
            return;
        }
        let whole = period / MS;
        if period.is_multiple_of(MS) && whole.is_power_of_two() && whole <= 128 {
            return;
        }
        let below = [1, 2, 4, 8, 16, 32, 64, 128].into_iter().rfind(|b| b * MS < period);
        let above = [1, 2, 4, 8, 16, 32, 64, 128].into_iter().find(|b| b * MS > period);
        let value = crate::quantity::format_time(period);
        let hint = match (below, above) {
            (Some(b), Some(a)) => format!("{value} is none: did you mean {b} or {a}?"),
            (Some(only), None) | (None, Some(only)) => {
                format!("{value} is none: did you mean {only}?")
            }
            (None, None) => format!("{value} is none"),
        };
        error(reader, "bag", "BAG must be a power of two from 1 to 128 ms".into(), &hint);
    }

    fn size(
        &self,
        reader: &mut Reader,
        contract: &Contract,
        error: &mut impl FnMut(&mut Reader, &str, String, &str),
    ) {
        let key = match contract.size {
            Size::MessageBytes(_) => "message",
            Size::PayloadBytes(_) => "payload",
            Size::FrameBytes(_) => "frame",
        };
        let mix = contract.size.frames(false);
        if self.flow.vl.is_some() && mix.frames > 1 {
            let message = format!("the message takes {} frames", mix.frames);
            let hint = "a virtual link sends one frame per BAG: message <= 1460 B";
            error(reader, key, message, hint);
        }
        if let Some(min) = contract.frame_bytes_min
            && min > mix.frame_bytes_max
        {
            let message = format!(
                "the smallest frame ({min} B) is larger than the largest ({} B)",
                mix.frame_bytes_max
            );
            error(reader, "frame_min", message, "swap them?");
        }
        if let Size::MessageBytes(bytes) = contract.size
            && bytes < STAMP_BYTES
        {
            let message = format!("a message of {bytes} B has no room for its stamp");
            let hint = "end systems write release, flow and number into it: message >= 16 B";
            error(reader, key, message, hint);
        }
        self.burst(reader, contract.size, key, error);
        if contract.period_ns != 0 {
            self.line_load(reader, contract, key, mix.message_wire_bits, error);
        }
    }

    /// What alone is too much for a line of its source or a target.
    fn line_load(
        &self,
        reader: &mut Reader,
        contract: &Contract,
        key: &str,
        wire_bits: u64,
        error: &mut impl FnMut(&mut Reader, &str, String, &str),
    ) {
        let sent = u128::from(wire_bits) * 1_000_000_000;
        let ends =
            std::iter::once(&self.flow.source).chain(self.flow.targets.iter().map(|t| &t.host));
        for host in ends {
            for attachment in self.topology.attachments(host, None) {
                let rate = attachment.link.rate_bps;
                if sent <= u128::from(rate) * u128::from(contract.period_ns) {
                    continue;
                }
                let least = sent.div_ceil(u128::from(rate)).div_ceil(1_000);
                let link = crate::quantity::format_rate(rate);
                let message = format!("the flow alone overloads the link of `{host}` ({link})");
                let hint = format!(
                    "its frames take {least} us on the wire: a longer period, or a smaller size"
                );
                error(reader, key, message, &hint);
            }
        }
    }

    /// The meter at its first switch lets a whole message through at once, and may not be able to.
    fn burst(
        &self,
        reader: &mut Reader,
        size: Size,
        key: &str,
        error: &mut impl FnMut(&mut Reader, &str, String, &str),
    ) {
        for attachment in self.topology.attachments(&self.flow.source, None) {
            let Some(switch) = attachment.switch.map(|index| &self.network.switches[index]) else {
                continue;
            };
            let Some(profile) = self.network.profiles.get(&switch.profile) else { continue };
            let most = profile.meter_burst_max_bytes;
            let fits = |size| profile.meter_counts.counted_message_bits(size, false) / 8 <= most;
            if !fits(size) {
                let message = format!(
                    "the meters of {} hold {} at most, and a message of {} passes them at once",
                    switch.profile,
                    format_size(most),
                    format_size(u64::from(size.bytes()))
                );
                let least = largest_below(size.bytes(), |bytes| fits(size.with_bytes(bytes)));
                let hint = format!("{key} <= {}", format_size(u64::from(least)));
                error(reader, key, message, &hint);
            }
        }
    }

    fn priority(&self, reader: &mut Reader) {
        let priority = self.flow.highest().priority;
        let queues = self.network.profiles.values().map(|p| p.queues_per_port).min().unwrap_or(64);
        if priority >= queues {
            let message = format!("priority {priority}, but a switch has {queues} queues");
            let hint = format!("0 (highest) to {} can be", queues.saturating_sub(1));
            reader.error_at(&self.at("priority"), &message, &hint);
        }
        if let OtherTraffic::Carry { priority: other, .. } = self.network.other_traffic
            && priority >= other
        {
            let message =
                format!("priority {priority} is not above that of other traffic ({other})");
            reader.error_at(&self.at("priority"), &message, "flows come before other traffic");
        }
    }

    /// Whether its two copies take disjoint ways through one network.
    fn is_disjoint(&self) -> bool {
        self.network.networks.is_empty() && self.flow.copies == ["A", "B"]
    }

    fn copies(&self, reader: &mut Reader) {
        let (flow, networks) = (self.flow, &self.network.networks);
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for copy in &flow.copies {
            if self.is_disjoint() {
                break;
            }
            if !networks.contains(copy) {
                let message = format!("there is no network `{}`", shown(copy));
                let hint = match networks.as_slice() {
                    [] => "write `copies: disjoint` for two ways through one network without a \
                           common switch, `copies: link-disjoint` for two without a common link, \
                           or add `networks: [A, B]` at the top"
                        .to_owned(),
                    all => format!("there is: {}", all.join(", ")),
                };
                reader.error_at(&self.at("copies"), &message, &hint);
            } else if !seen.insert(copy) {
                let message = format!("two copies on network {copy}");
                reader.error_at(&self.at("copies"), &message, "one copy on each network");
            }
        }
        if flow.copies.is_empty() && !networks.is_empty() {
            let hint = format!("write `copies: [{}]`", networks.join(", "));
            reader.error_at(&self.at("copies"), "the flow is sent on no network", &hint);
        }
        if flow.skew_max_ns.is_some() && flow.copies.len() < 2 {
            let message = "a skew is between two copies, but the flow has one";
            reader.error_at(&self.at("skew_max"), message, "leave `skew_max` out, or add copies");
        }
        if flow.skew_max_ns == Some(0) {
            reader.error_at(&self.at("skew_max"), "copies never arrive at once", "write 5 ms");
        }
    }

    fn unknown_host(&self, reader: &mut Reader, key: &str, name: &str) {
        let (message, hint) = match self.topology.node(name) {
            Some(NodeRef::Switch(_)) => {
                (format!("`{name}` is a switch"), "flows start and end at hosts".to_owned())
            }
            _ => {
                let hosts = self.network.hosts.iter().map(|h| h.name.as_str());
                let meant = reader.meant(name, hosts).unwrap_or_default();
                (format!("there is no host `{}`", shown(name)), meant)
            }
        };
        reader.error_at(&self.at(key), &message, &hint);
    }

    fn nodes(&self, reader: &mut Reader, topology_in_doubt: bool) {
        let flow = self.flow;
        let is_host = |name: &str| matches!(self.topology.node(name), Some(NodeRef::Host(_)));
        if !flow.source.is_empty() && !is_host(&flow.source) {
            self.unknown_host(reader, "source", &flow.source);
        }
        self.monitored(reader, topology_in_doubt);
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        if flow.targets.is_empty() {
            reader.error_at(&self.at("targets"), "the flow has no target", "add `targets: [h2]`");
        }
        for target in &flow.targets {
            let key = format!("targets.{}", target.host);
            if !is_host(&target.host) {
                self.unknown_host(reader, &key, &target.host);
                continue;
            }
            if !seen.insert(&target.host) {
                let message = format!("target `{}` is there twice", target.host);
                reader.error_at(&self.at(&key), &message, "");
            }
            if target.host == flow.source {
                reader.error_at(&self.at(&key), "the flow would end at its source", "");
                continue;
            }
            self.deadlines(reader, &target.deadline_ns, &key);
            if is_host(&flow.source) && !topology_in_doubt {
                self.ways(reader, target, &key);
            }
        }
    }

    /// The switches of `monitor_at` exist, and where there is something to watch, a way of the flow can cross
    /// one of them. The list may stand for all flows, so that not every flow crosses all of it.
    fn monitored(&self, reader: &mut Reader, topology_in_doubt: bool) {
        let (flow, path) = (self.flow, self.at("monitor_at"));
        let mut exist = !flow.monitor_at.is_empty();
        for switch in &flow.monitor_at {
            if !matches!(self.topology.node(switch), Some(NodeRef::Switch(_))) {
                let switches = self.network.switches.iter().map(|s| s.name.as_str());
                let meant = reader.meant(switch, switches).unwrap_or_default();
                let message = format!("there is no switch `{}`", shown(switch));
                reader.error_at(&path, &message, &meant);
                exist = false;
            }
        }
        if topology_in_doubt || !exist || !flow.is_watched() {
            return;
        }
        if !flow.monitor_at.iter().any(|switch| self.may_cross(switch)) {
            let named = flow.monitor_at.join(", ");
            let message =
                format!("no way of flow `{}` crosses {named}: nothing watches it", flow.name);
            let first = self.topology.attachments(&flow.source, None).find_map(|it| it.switch);
            let hint = first.map_or_else(
                || "leave `monitor_at` out: the first switch watches".to_owned(),
                |index| format!("the first on its way is {}", self.network.switches[index].name),
            );
            reader.error_at(&path, &message, &hint);
        }
    }

    /// Whether some target can be reached by a way across `switch`: by the route as written, else by any
    /// that crosses no node twice.
    fn may_cross(&self, switch: &str) -> bool {
        let (source, topology) = (self.flow.source.as_str(), self.topology);
        self.flow.targets.iter().any(|target| {
            target.routes.iter().any(|route| match route {
                Some(route) => route.iter().any(|name| name == switch),
                None => topology.is_between(switch, source, &target.host),
            })
        })
    }

    fn deadlines(&self, reader: &mut Reader, deadlines: &[u64], key: &str) {
        let written = self.at(&format!("{key}.deadline"));
        if deadlines.contains(&0) {
            let hint = "leave it out to have the period";
            reader.error_at(&self.deadline_path(reader, &written), "the deadline is zero", hint);
        }
        let late = self.flow.contracts.iter().zip(deadlines).any(|(c, d)| *d > c.period_ns);
        if late {
            let path = self.deadline_path(reader, &written);
            let message = format!("flow `{}` has a deadline beyond its period", self.flow.name);
            let hint = "a message may then still be under way when the next is sent";
            reader.warn_at(&path, &message, hint);
        }
    }

    /// The target's own deadline if one was written, else the flow's.
    fn deadline_path(&self, reader: &Reader, written: &str) -> String {
        if reader.was_written(written) { written.to_owned() } else { self.at("deadline") }
    }

    fn ways(&self, reader: &mut Reader, target: &crate::Target, key: &str) {
        let flow = self.flow;
        let copies: Vec<Option<&str>> = if flow.copies.is_empty() || self.is_disjoint() {
            vec![None; flow.copies.len().max(1)]
        } else {
            flow.copies.iter().map(|c| Some(c.as_str())).collect()
        };
        for (copy, route) in copies.into_iter().zip(&target.routes) {
            if copy.is_some_and(|c| !self.network.networks.iter().any(|n| n == c)) {
                continue;
            }
            let on = copy.map_or_else(String::new, |c| format!(" on network {c}"));
            let mut attached = true;
            for host in [&flow.source, &target.host] {
                if self.topology.attachments(host, copy).next().is_none() {
                    let message = format!("host `{host}` is not attached{on}");
                    reader.error_at(&self.at(key), &message, "add a link");
                    attached = false;
                }
            }
            if !attached {
                continue;
            }
            match route {
                Some(route) => {
                    if let Err((message, hint)) = self.follow(route, &target.host, copy) {
                        reader.error_at(&self.at(&format!("{key}.route")), &message, &hint);
                    }
                }
                None if !self.topology.reaches(&flow.source, &target.host, copy) => {
                    let message =
                        format!("there is no path from `{}` to `{}`{on}", flow.source, target.host);
                    reader.error_at(&self.at(key), &message, "add a link between their switches");
                }
                None => {}
            }
        }
    }

    /// Walks a route as written, from source to target.
    fn follow(
        &self,
        route: &[String],
        target: &str,
        copy: Option<&str>,
    ) -> Result<(), (String, String)> {
        let fail = |message: String, hint: &str| Err((message, hint.to_owned()));
        let mut here = self.flow.source.as_str();
        let mut visited: BTreeSet<&str> = BTreeSet::new();
        for next in route.iter().map(String::as_str).chain([target]) {
            if next != target || visited.len() < route.len() {
                let Some(NodeRef::Switch(index)) = self.topology.node(next) else {
                    let message = format!("the route names `{}`, which is no switch", shown(next));
                    return fail(message, "write the switches between source and target, in order");
                };
                if copy.is_some() && self.network.switches[index].network.as_deref() != copy {
                    let message = format!("`{next}` of the route is not of the copy's network");
                    return fail(message, "a copy stays in its network");
                }
                if !visited.insert(next) {
                    return fail(
                        format!("the route visits `{next}` twice"),
                        "leave the detour out",
                    );
                }
            }
            if !self.topology.neighbours(here).iter().any(|(peer, _)| *peer == next) {
                let message =
                    format!("the route is not connected: no link from `{here}` to `{next}`");
                return fail(message, "name every switch on the way");
            }
            here = next;
        }
        Ok(())
    }
}

/// Other traffic has a meter at every host port: it states no less than a step, and holds two frames.
fn judge_other_meters(reader: &mut Reader, network: &Network, rate_bps: u64, frame_bytes_max: u32) {
    for (name, profile) in &network.profiles {
        let step = profile.meter_rate_step_bps;
        if (1..step).contains(&rate_bps) {
            let message = format!("the meters of {name} state no rate below {}", format_rate(step));
            reader.error_at("other_traffic", &message, &format!("rate: {}", format_rate(step)));
        }
        let most = profile.meter_burst_max_bytes;
        let frame = frame_bytes_max.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX);
        let two_frames = 2 * u64::from(profile.meter_counts.counted_bytes(frame));
        let burst = two_frames.next_multiple_of(profile.meter_burst_step_bytes.max(1));
        if burst > most {
            let message = format!(
                "the meters of {name} hold {} at most, not two frames of other traffic",
                format_size(most)
            );
            reader.error_at("other_traffic", &message, "write drop, or a smaller frame");
        }
    }
}

pub(super) fn judge_policies(reader: &mut Reader, draft: &Draft) {
    let network = &draft.network;
    if let OtherTraffic::Carry { priority, frame_bytes_max, rate_bps } = network.other_traffic {
        let queues = network.profiles.values().map(|p| p.queues_per_port).min().unwrap_or(64);
        if priority >= queues {
            let message =
                format!("other traffic in class {priority}, but a switch has {queues} queues");
            let hint = format!("at most {} can be", queues.saturating_sub(1));
            reader.error_at("other_traffic", &message, &hint);
        }
        if !(64..=1_518).contains(&frame_bytes_max) {
            reader.error_at("other_traffic", "a frame has 64 B to 1518 B", "write frame: 1518 B");
        }
        if rate_bps == 0 {
            reader.error_at("other_traffic", "a rate of zero carries nothing", "write drop");
        }
        judge_other_meters(reader, network, rate_bps, frame_bytes_max);
    }
    if network.modes.len() == 1 && network.mode_return.quiet_ns.is_some() {
        reader.warn_at("mode_return", "there is one mode only: nothing returns", "leave it out");
    }
    if network.flows.is_empty() && !reader.diagnostics.has_errors() {
        let hint = "add `flows: {F1: {source: h1, targets: [h2], …}}`, or `flow_tables: [FILE]`";
        reader.warn_at("flows", NO_FLOWS, hint);
    }
}
