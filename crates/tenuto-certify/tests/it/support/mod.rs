//! Plans written by hand: a description with node paths, one generous delay for every claim, and
//! the deployment that follows. Nothing here is shared with the planner.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::missing_panics_doc,
    unreachable_pub
)]

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use tenuto_certify::certify;

/// One flow with its paths: per copy, per target, the nodes from source to target.
#[derive(Clone)]
pub struct Flow {
    pub name: &'static str,
    pub vl: Option<u16>,
    /// Per mode: frame bytes or message bytes, period ns, class.
    pub contracts: Vec<(Size, u64, u8)>,
    pub copies: Vec<&'static str>,
    pub paths: Vec<Vec<Vec<String>>>,
    pub deadline_ns: u64,
}

#[derive(Clone, Copy)]
pub enum Size {
    Frame(u32),
    Message(u32),
}

/// A network by hand.
#[derive(Clone)]
pub struct Net {
    pub modes: Vec<&'static str>,
    pub networks: Vec<&'static str>,
    pub hosts: Vec<String>,
    /// Name and redundant network.
    pub switches: Vec<(String, Option<&'static str>)>,
    pub links: Vec<(String, String)>,
    pub rate_bps: u64,
    pub flows: Vec<Flow>,
    pub profile: Value,
    pub babbling: u32,
    pub delay_ps: u64,
}

pub fn profile() -> Value {
    json!({"name": "p", "latency_ns_min": 0, "latency_ns_max": 20_000, "below_scheduler_bytes": 0,
        "buffer_bytes_per_port": 512_000, "queues_per_port": 8, "entries_max": 100_000,
        "meters_max": 100_000, "groups_max": 10_000, "meter_counts": "wire",
        "meter_rate_step_bps": 1_000, "meter_burst_step_bytes": 125, "clock_tolerance_ppm": 200,
        "has_modes": true, "swap_ns_max": 50_000, "purge_frame_ns_max": 200})
}

pub fn path(nodes: &[&str]) -> Vec<String> {
    nodes.iter().map(|n| (*n).to_owned()).collect()
}

fn link(a: &str, b: &str) -> (String, String) {
    (a.to_owned(), b.to_owned())
}

/// Two switches, four hosts, two modes: `a` is watched and has two targets, `b` only runs in LO,
/// `c` sends messages of several frames.
pub fn car() -> Net {
    Net {
        modes: vec!["LO", "HI"],
        networks: vec![],
        hosts: path(&["h1", "h2", "h3", "h4"]),
        switches: vec![("s1".into(), None), ("s2".into(), None)],
        links: vec![
            link("h1", "s1"),
            link("h2", "s1"),
            link("h3", "s2"),
            link("h4", "s2"),
            link("s1", "s2"),
        ],
        rate_bps: 100_000_000,
        flows: vec![
            Flow {
                name: "a",
                vl: None,
                contracts: vec![
                    (Size::Frame(500), 10_000_000, 0),
                    (Size::Frame(1_000), 5_000_000, 0),
                ],
                copies: vec![],
                paths: vec![vec![path(&["h1", "s1", "s2", "h3"]), path(&["h1", "s1", "s2", "h4"])]],
                deadline_ns: 10_000_000,
            },
            Flow {
                name: "b",
                vl: None,
                contracts: vec![(Size::Frame(1_518), 20_000_000, 1)],
                copies: vec![],
                paths: vec![vec![path(&["h2", "s1", "s2", "h3"])]],
                deadline_ns: 10_000_000,
            },
            Flow {
                name: "c",
                vl: None,
                contracts: vec![
                    (Size::Message(4_000), 50_000_000, 1),
                    (Size::Message(4_000), 50_000_000, 1),
                ],
                copies: vec![],
                paths: vec![vec![path(&["h3", "s2", "s1", "h1"])]],
                deadline_ns: 10_000_000,
            },
        ],
        profile: profile(),
        babbling: 1,
        delay_ps: 1_000_000_000,
    }
}

/// One switch per redundant network, one virtual link with a copy on each.
pub fn cabin() -> Net {
    Net {
        modes: vec!["normal"],
        networks: vec!["A", "B"],
        hosts: path(&["h1", "h2"]),
        switches: vec![("sa".into(), Some("A")), ("sb".into(), Some("B"))],
        links: vec![link("h1", "sa"), link("h1", "sb"), link("h2", "sa"), link("h2", "sb")],
        rate_bps: 100_000_000,
        flows: vec![Flow {
            name: "vl1",
            vl: Some(1),
            contracts: vec![(Size::Frame(200), 2_000_000, 0)],
            copies: vec!["A", "B"],
            paths: vec![vec![path(&["h1", "sa", "h2"])], vec![path(&["h1", "sb", "h2"])]],
            deadline_ns: 10_000_000,
        }],
        profile: profile(),
        babbling: 0,
        delay_ps: 1_000_000_000,
    }
}

/// Compact JSON with both digests made anew; a plan that says nothing of what it assumes gets the
/// words that the checker misses.
pub fn sealed(mut plan: Value) -> String {
    if plan["assumptions"].is_null() {
        plan["assumptions"] = json!([]);
        let findings =
            certify(&sealed(plan.clone())).expect_err("it says nothing of what it assumes");
        let missed = findings.iter().filter(|it| it.claim == "not said");
        let words = missed.map(|it| json!({"name": it.place, "text": it.found}));
        plan["assumptions"] = words.collect();
    }
    digested(plan, "network")
}

/// Compact JSON with the digests of the document and of its member `described` made anew.
pub fn digested(mut document: Value, described: &str) -> String {
    document["description_digest"] = json!(sha(&document[described].to_string()));
    document["plan_hash"] = json!("");
    document["plan_hash"] = json!(sha(&document.to_string()));
    document.to_string()
}

fn sha(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn list(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().expect("a list")
}

/// The first element of a list for which `is` holds.
pub fn find(value: &mut Value, is: impl Fn(&Value) -> bool) -> &mut Value {
    list(value).iter_mut().find(|v| is(v)).expect("there is one")
}

/// The plan with other rates of its links, wherever they are said; by a link's number and what it is,
/// `None` for one that stays as it is.
pub fn with_rates(net: &Net, rate_bps: impl Fn(usize, &Value) -> Option<u64>) -> Value {
    let mut plan = net.plan();
    let mut rates: BTreeMap<String, u64> = BTreeMap::new();
    for (number, link) in list(&mut plan["network"]["links"]).iter_mut().enumerate() {
        let Some(rate) = rate_bps(number, link) else { continue };
        link["rate_bps"] = json!(rate);
        rates.extend(["a", "b"].map(|end| (link[end].to_string(), rate)));
    }
    let set = |rate: &mut Value, end: &Value| {
        if let Some(new) = rates.get(&end.to_string()) {
            *rate = json!(new);
        }
    };
    for row in list(&mut plan["port_rows"]) {
        let end = row["port"].clone();
        set(&mut row["capacity_bps"], &end);
        row["rate_bps"] = json!(row["rate_bps"].as_u64().min(row["capacity_bps"].as_u64()));
    }
    for (kind, name) in [("switches", "switch"), ("hosts", "host")] {
        for device in list(&mut plan[kind]) {
            let node = device[name].clone();
            for port in list(&mut device["ports"]) {
                let end = json!({"node": node, "port": port["port"]});
                set(&mut port["rate_bps"], &end);
            }
        }
    }
    plan
}

impl Size {
    fn frames(self) -> Vec<u64> {
        match self {
            Self::Frame(bytes) => vec![u64::from(bytes.max(64))],
            Self::Message(bytes) => {
                let full = bytes.div_ceil(1460).max(1) - 1;
                let mut frames = vec![1518; full as usize];
                frames.push(u64::from(bytes - full * 1460 + 58).max(64));
                frames
            }
        }
    }

    fn wire_bytes(self) -> u64 {
        self.frames().iter().map(|frame| frame + 20).sum()
    }

    fn counted_bits(self, counts: &Value) -> u64 {
        let one = |frame: &u64| match counts.as_str().unwrap() {
            "wire" => frame + 20,
            "frame" => *frame,
            _ => frame - 4,
        };
        self.frames().iter().map(one).sum::<u64>() * 8
    }

    fn json(self) -> Value {
        match self {
            Self::Frame(bytes) => json!({"frame_bytes": bytes}),
            Self::Message(bytes) => json!({"message_bytes": bytes}),
        }
    }
}

impl Net {
    /// The port of `node` towards `peer`.
    fn port(&self, node: &str, peer: &str) -> u32 {
        let ends = self.links.iter().filter(|(a, b)| a == node || b == node);
        let at = ends.clone().position(|(a, b)| a == peer || b == peer).unwrap();
        at as u32 + 1
    }

    fn peers(&self, node: &str) -> Vec<String> {
        let peer = |(a, b): &(String, String)| match (a == node, b == node) {
            (true, _) => Some(b.clone()),
            (_, true) => Some(a.clone()),
            _ => None,
        };
        self.links.iter().filter_map(peer).collect()
    }

    fn is_host(&self, node: &str) -> bool {
        self.hosts.iter().any(|h| h == node)
    }

    fn hops(path: &[String]) -> Vec<(String, String)> {
        path.windows(2).map(|w| (w[0].clone(), w[1].clone())).collect()
    }

    fn port_json(&self, hop: &(String, String)) -> Value {
        json!({"node": hop.0, "port": self.port(&hop.0, &hop.1)})
    }

    /// Steady modes and raises with the levels of their contracts.
    fn analysed(&self) -> Vec<(Value, usize, usize)> {
        let levels = self.modes.len();
        let mut all: Vec<_> = (0..levels).map(|l| (json!({"steady": l}), l, l)).collect();
        for from in 0..levels {
            for to in from + 1..levels {
                all.push((json!({"raise": {"from": from, "to": to}}), from, to));
            }
        }
        all
    }

    pub fn network(&self) -> Value {
        let ends = |(a, b): &(String, String)| {
            json!({"a": {"node": a, "port": self.port(a, b)}, "b": {"node": b, "port": self.port(b, a)},
                "rate_bps": self.rate_bps, "propagation_ns": 100})
        };
        let switch = |(i, (name, network)): (usize, &(String, Option<&str>))| json!({"name": name, "datapath_id": i + 1, "profile": "p", "network": network});
        let flow = |flow: &Flow| {
            let contract = |(size, period, class): &(Size, u64, u8)| {
                json!({"period_ns": period, "size": size.json(), "frame_bytes_min": null,
                    "jitter_ns": 0, "priority": class})
            };
            let target = |path: &Vec<String>| {
                json!({"host": path.last(), "routes": [],
                    "deadline_ns": vec![flow.deadline_ns; flow.contracts.len()]})
            };
            json!({"name": flow.name, "vl": flow.vl, "source": flow.paths[0][0][0],
                "targets": flow.paths[0].iter().map(target).collect::<Vec<_>>(),
                "level": flow.contracts.len() - 1,
                "contracts": flow.contracts.iter().map(contract).collect::<Vec<_>>(),
                "matching": if flow.vl.is_some() { "vl" } else { "five-tuple" },
                "out_of_mode": "drop", "monitor_at": [], "copies": flow.copies,
                "skew_max_ns": if flow.copies.is_empty() { json!(null) } else { json!(9_000_000) },
                "udp_port": null})
        };
        json!({"name": "by hand", "modes": self.modes, "networks": self.networks,
            "hosts": self.hosts.iter().map(|name| json!({"name": name})).collect::<Vec<_>>(),
            "switches": self.switches.iter().enumerate().map(switch).collect::<Vec<_>>(),
            "controllers": [], "links": self.links.iter().map(ends).collect::<Vec<_>>(),
            "flows": self.flows.iter().map(flow).collect::<Vec<_>>(),
            "other_traffic": {"policy": "drop"}, "mode_return": {"quiet_ns": null},
            "tolerates": {"babbling_hosts": self.babbling, "lost_signals": 1, "controller_loss": true},
            "profiles": {"p": self.profile}})
    }

    /// The whole plan, without digests; see [`sealed`].
    pub fn plan(&self) -> Value {
        let mut routes = Vec::new();
        for flow in &self.flows {
            for (copy, paths) in flow.paths.iter().enumerate() {
                let one = |path: &Vec<String>| {
                    let hops = Self::hops(path);
                    json!({"target": path.last(),
                        "ports": hops.iter().map(|h| self.port_json(h)).collect::<Vec<_>>()})
                };
                routes.push(json!({"flow": flow.name, "copy": flow.copies.get(copy),
                    "paths": paths.iter().map(one).collect::<Vec<_>>()}));
            }
        }
        let (ports, port_rows) = self.ports();
        // With one mode and without staircases nothing rests on a busy period.
        let busy = if self.modes.len() > 1 { self.busy() } else { Vec::new() };
        let mut changes = Vec::new();
        for (mode, from, to) in self.analysed().iter().filter(|(_, from, to)| from != to) {
            changes.push(json!({"change": mode, "bound_ps": 6_000_000_000_u64, "terms": [
                {"name": "D_arrange", "bound_ps": 2_000_000_000_u64},
                {"name": "D_update", "bound_ps": 2_000_000_000_u64},
                {"name": "D_q", "bound_ps": 2_000_000_000_u64}],
                "ended": self.ended([mode])}));
            let before =
                self.analysed().into_iter().filter(|(_, from, end)| from != end && end == to);
            let before: Vec<Value> = before.map(|(mode, ..)| mode).collect();
            let steady = json!({"steady": to});
            // What the higher mode left is over within the quiet window.
            changes.push(json!({"change": {"return": {"from": to, "to": from}},
                "settled_ps": 100_000_000_000_u64,
                "ended": self.ended(before.iter().chain([&steady])),
                "bound_ps": 200_000_000_000_u64,
                "terms": [{"name": "quiet", "bound_ps": 100_000_000_000_u64},
                    {"name": "D_arrange", "bound_ps": 10_000_000_000_u64},
                    {"name": "D_update", "bound_ps": 2_000_000_000_u64},
                    {"name": "D_q", "bound_ps": 2_000_000_000_u64},
                    {"name": "poll", "bound_ps": 50_000_000_000_u64}]}));
        }
        json!({"schema": "tenuto-plan/2", "version": "0", "description_digest": "", "plan_hash": "",
            "network": self.network(), "model": "store-and-forward", "as_stated": false,
            "line_shaping": true, "feasible": true, "quiet_ns": 100_000_000, "signal_copies": 2,
            "routes": routes, "ports": ports, "witnesses": {"busy": busy},
            "port_rows": port_rows, "flows": self.bounds(),
            "mode_changes": changes,
            "switches": self.switches.iter().map(|(s, _)| self.switch(s)).collect::<Vec<_>>(),
            "hosts": self.hosts.iter().map(|h| self.host(h)).collect::<Vec<_>>(),
            "refusals": [], "assumptions": null})
    }

    /// Every port with how many lie in front of it, and every class of a flow there.
    fn places(&self) -> BTreeMap<(String, String), (usize, BTreeSet<u8>)> {
        let mut all: BTreeMap<_, (usize, BTreeSet<u8>)> = BTreeMap::new();
        for flow in &self.flows {
            for path in flow.paths.iter().flatten() {
                for (place, hop) in Self::hops(path).into_iter().enumerate() {
                    let known = all.entry(hop).or_default();
                    known.0 = known.0.max(place);
                    known.1.extend(flow.contracts.iter().map(|contract| contract.2));
                }
            }
        }
        all
    }

    /// Busy periods, as long as the delays.
    pub fn busy(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for (mode, ..) in self.analysed() {
            for (hop, (_, classes)) in self.places() {
                all.extend(classes.iter().map(|class| {
                    json!({"mode": mode, "port": self.port_json(&hop), "class": class,
                        "busy_ps": self.delay_ps})
                }));
            }
        }
        all
    }

    /// When ports are over with what was before: the later, the more lie in front of them.
    fn ended<'a>(&self, modes: impl IntoIterator<Item = &'a Value>) -> Vec<Value> {
        let mut all = Vec::new();
        for mode in modes {
            for (hop, (place, _)) in self.places() {
                let after_ps = 20_000_000_000 + 4_000_000_000 * place as u64;
                let port = self.port_json(&hop);
                all.push(json!({"mode": mode, "port": port, "after_ps": after_ps}));
            }
        }
        all
    }

    fn ports(&self) -> (Vec<Value>, Vec<Value>) {
        let (mut claims, mut rows) = (Vec::new(), Vec::new());
        for (mode, low, high) in self.analysed() {
            let mut used: BTreeMap<(String, String), BTreeSet<u8>> = BTreeMap::new();
            for flow in &self.flows {
                let level = flow.contracts.len() - 1;
                let all = flow.paths.iter().flatten();
                for (place, hop) in all.flat_map(|path| Self::hops(path).into_iter().enumerate()) {
                    // Hosts do not know the mode; the first switch does.
                    let classes = if place == 0 && (level < high || level < low) {
                        &flow.contracts[..]
                    } else if level >= low {
                        &flow.contracts[low..=high.min(level)]
                    } else {
                        // The port is there, though nothing of the flow is.
                        &[]
                    };
                    used.entry(hop).or_default().extend(classes.iter().map(|c| c.2));
                }
            }
            for (hop, classes) in used {
                let buffer = (!self.is_host(&hop.0)).then_some(512_000 * 8);
                rows.push(
                    json!({"port": self.port_json(&hop), "mode": mode, "rate_bps": 50_000_000,
                    "capacity_bps": self.rate_bps, "backlog_bound_bits": 1_000_000,
                    "buffer_limit_bits": buffer}),
                );
                for class in classes {
                    claims.push(json!({"mode": mode, "port": self.port_json(&hop), "class": class,
                        "delay_ps": self.delay_ps}));
                }
            }
        }
        (claims, rows)
    }

    fn bounds(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        let latency = self.profile["latency_ns_max"].as_u64().unwrap() * 1_000;
        for flow in &self.flows {
            let level = flow.contracts.len() - 1;
            let mut modes: Vec<(Value, usize)> = self
                .analysed()
                .into_iter()
                .filter(|(_, _, to)| *to <= level)
                .map(|(mode, from, _)| (mode, from))
                .collect();
            for from in 0..self.modes.len() {
                for to in (0..from).filter(|to| *to <= level) {
                    modes.push((json!({"return": {"from": from, "to": to}}), to));
                }
            }
            for (mode, low) in modes {
                for target in 0..flow.paths[0].len() {
                    let mut copies = Vec::new();
                    let mut bound = 0;
                    for (copy, paths) in flow.paths.iter().enumerate() {
                        let hops = Self::hops(&paths[target]);
                        let hop = |(i, hop): (usize, &(String, String))| {
                            json!({"port": self.port_json(hop),
                                "latency_ps": if i == 0 { 0 } else { latency },
                                "queueing_ps": self.delay_ps, "propagation_ps": 100_000,
                                "burst_bits": 200_000})
                        };
                        let count = hops.len() as u64;
                        bound = count * (self.delay_ps + 100_000) + (count - 1) * latency;
                        copies.push(json!({"network": flow.copies.get(copy),
                            "delay_bound_ps": bound, "delay_min_ps": 1_000,
                            "hops": hops.iter().enumerate().map(hop).collect::<Vec<_>>()}));
                    }
                    let skew = (flow.copies.len() > 1).then_some(bound);
                    rows.push(json!({"flow": flow.name, "target": flow.paths[0][target].last(),
                        "mode": mode, "priority": flow.contracts[low].2,
                        "deadline_ns": flow.deadline_ns, "delay_bound_ps": bound,
                        "copies": copies, "skew_bound_ps": skew, "method": "tfa"}));
                }
            }
        }
        rows
    }

    fn attached(&self, node: &str, buffer: Option<u64>) -> Vec<Value> {
        let peers = self.peers(node);
        let one = |peer: &String| {
            let role = if self.is_host(peer) || self.is_host(node) { "host" } else { "trunk" };
            json!({"port": self.port(node, peer), "role": role, "peer": peer,
                "peer_port": self.port(peer, node), "rate_bps": self.rate_bps, "queues": 2,
                "buffer_bytes": buffer})
        };
        peers.iter().map(one).collect()
    }

    fn host_number(&self, host: &str) -> u8 {
        self.hosts.iter().position(|h| h == host).unwrap() as u8
    }

    /// The header fields of a flow; small numbers only.
    fn matching(&self, index: usize) -> Value {
        let flow = &self.flows[index];
        let number = index as u8;
        if let Some(vl) = flow.vl {
            let [high, low] = vl.to_be_bytes();
            return json!({"eth_dst": [3, 0, 0, 0, high, low]});
        }
        let source = self.host_number(&flow.paths[0][0][0]);
        let targets = &flow.paths[0];
        let ip_dst = if targets.len() == 1 {
            json!([10, 0, 0, self.host_number(targets[0].last().unwrap()) + 1])
        } else {
            json!([239, 1, 0, number])
        };
        json!({"eth_type": 0x0800, "ip_src": [10, 0, 0, source + 1], "ip_dst": ip_dst,
            "ip_proto": 17, "udp_dst": 20_000 + index})
    }

    fn switch(&self, switch: &str) -> Value {
        let (mut entries, mut groups, mut meters, mut monitors) = (vec![], vec![], vec![], vec![]);
        let entry = |table: u8,
                     level: Option<usize>,
                     precedence: u16,
                     flow: Option<usize>,
                     matching: Value| {
            json!({"table": table, "level": level, "precedence": precedence,
                "cookie": flow.map_or(0, |f| f + 1), "flow": flow.map(|f| self.flows[f].name),
                "match": matching, "monitor": null, "meter": null, "output": null, "goto": null})
        };
        let mut default = entry(0, None, 0, None, json!({}));
        default["goto"] = json!(1);
        entries.push(default);
        // With modes every table but the first has a set of entries for each.
        let levels = 0..self.modes.len();
        let shown = |level: usize| (self.modes.len() > 1).then_some(level);
        for (peer, level) in
            self.peers(switch).iter().flat_map(|peer| levels.clone().map(move |l| (peer, l)))
        {
            let arriving = json!({"in_port": self.port(switch, peer)});
            if self.is_host(peer) {
                entries.push(entry(1, shown(level), 10, None, arriving));
            } else {
                let mut trunk = entry(1, shown(level), 0, None, arriving);
                trunk["goto"] = json!(2);
                entries.push(trunk);
            }
        }
        for (index, flow) in self.flows.iter().enumerate() {
            for paths in &flow.paths {
                let outputs: BTreeSet<(String, String)> = paths
                    .iter()
                    .flat_map(|path| Self::hops(path))
                    .filter(|(node, _)| node == switch)
                    .collect();
                if outputs.is_empty() {
                    continue;
                }
                let id = index + 1;
                let is_first = paths[0][1] == switch;
                let watched = flow
                    .contracts
                    .windows(2)
                    .any(|w| w[0].1 != w[1].1 || w[0].0.wire_bytes() != w[1].0.wire_bytes());
                let mut arriving = self.matching(index);
                if is_first {
                    arriving["in_port"] = json!(self.port(switch, &paths[0][0]));
                }
                if is_first && watched {
                    let mut watch = entry(0, None, 10, Some(index), arriving.clone());
                    watch["monitor"] = json!(id);
                    watch["goto"] = json!(1);
                    entries.push(watch);
                    monitors.push(self.monitor(id, flow));
                }
                if is_first {
                    meters.push(self.meter(id, flow));
                }
                for level in levels.clone() {
                    // Out of mode it is dropped, by entries of its own.
                    let class = flow.contracts.get(level).map(|contract| contract.2);
                    if is_first {
                        let mut police = entry(1, shown(level), 20, Some(index), arriving.clone());
                        if class.is_some() {
                            police["meter"] = json!(id);
                            police["goto"] = json!(2);
                        }
                        entries.push(police);
                    }
                    let mut forward = entry(2, shown(level), 10, Some(index), self.matching(index));
                    let Some(class) = class else {
                        entries.push(forward);
                        continue;
                    };
                    let outs: Vec<Value> = outputs
                        .iter()
                        .map(|(node, peer)| json!({"port": self.port(node, peer), "queue": class}))
                        .collect();
                    forward["output"] = if let [one] = outs.as_slice() {
                        json!({"port": one})
                    } else {
                        let group = groups.len() + 1;
                        groups.push(json!({"id": group, "outputs": outs}));
                        json!({"group": group})
                    };
                    entries.push(forward);
                }
            }
        }
        let at_start = |e: &&Value| e["level"].is_null() || e["level"] == 0;
        let start = entries.iter().filter(at_start).count();
        let number = self.switches.iter().position(|(s, _)| s == switch).unwrap() + 1;
        let buffer = self.profile["buffer_bytes_per_port"].as_u64();
        json!({"switch": switch, "datapath_id": number, "ports": self.attached(switch, buffer),
            "usage": {"entries": start, "shadow": entries.len() - start, "meters": meters.len(),
                "groups": groups.len(), "queues": 2},
            "entries": entries, "groups": groups, "meters": meters, "monitors": monitors})
    }

    /// J_m in ns, up: the source port's delay and the jitter of the switch.
    fn jitter_ns(&self) -> u64 {
        let p = &self.profile;
        let own = p["latency_ns_max"].as_u64().unwrap() - p["latency_ns_min"].as_u64().unwrap();
        self.delay_ps.div_ceil(1_000) + own
    }

    fn meter(&self, id: usize, flow: &Flow) -> Value {
        let counts = &self.profile["meter_counts"];
        let step = |key: &str| u128::from(self.profile[key].as_u64().unwrap());
        let (mut rate, mut burst) = (0, 0);
        for (size, period, _) in &flow.contracts {
            let bits = u128::from(size.counted_bits(counts));
            // bit/ns · 1.0002 · 10⁹ = bit/s, rounded up to the step; the burst of that rate.
            let bps = (bits * 1_000_200_000).div_ceil(u128::from(*period));
            let bps = bps.next_multiple_of(step("meter_rate_step_bps"));
            rate = rate.max(bps);
            let late = (bps * u128::from(self.jitter_ns())).div_ceil(1_000_000_000);
            burst = burst.max(bits + late);
        }
        let burst_bytes = burst.div_ceil(8).next_multiple_of(step("meter_burst_step_bytes"));
        json!({"id": id, "flow": flow.name, "rate_bps": rate as u64,
            "burst_bytes": burst_bytes as u64})
    }

    fn monitor(&self, id: usize, flow: &Flow) -> Value {
        let contract = |(level, (size, period, _)): (usize, &(Size, u64, u8))| {
            json!({"level": level, "bytes_max": size.wire_bytes(),
                "period_ns": period * 999_800 / 1_000_000, "jitter_ns": self.jitter_ns()})
        };
        let kind = match flow.contracts[0].0 {
            Size::Frame(_) => "frame",
            Size::Message(_) => "message",
        };
        json!({"id": id, "flow": flow.name, "kind": kind,
            "contracts": flow.contracts.iter().enumerate().map(contract).collect::<Vec<_>>()})
    }

    fn host(&self, host: &str) -> Value {
        let (mut senders, mut receivers) = (vec![], vec![]);
        for (index, flow) in self.flows.iter().enumerate() {
            if flow.paths[0][0][0] == host {
                let ports: Vec<u32> =
                    flow.paths.iter().map(|p| self.port(&p[0][0], &p[0][1])).collect();
                let queues: Vec<u8> = flow.contracts.iter().map(|c| c.2).collect();
                senders.push(json!({"flow": flow.name, "flow_index": index, "ports": ports,
                    "queues": queues}));
            }
            let ports: Vec<u32> = flow
                .paths
                .iter()
                .flatten()
                .filter(|path| path.last().is_some_and(|last| last == host))
                .map(|path| self.port(host, &path[path.len() - 2]))
                .collect();
            if !ports.is_empty() {
                receivers.push(json!({"flow": flow.name, "flow_index": index, "ports": ports,
                    "skew_max_ns": if flow.copies.is_empty() { json!(null) } else { json!(9_000_000) }}));
            }
        }
        json!({"host": host, "ports": self.attached(host, None), "senders": senders,
            "receivers": receivers})
    }
}
