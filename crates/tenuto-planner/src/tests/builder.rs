//! Small networks as values.

use crate::Options;
use std::collections::BTreeMap;
use tenuto_model::{
    Apart, Contract, Flow, Host, Link, LinkEnd, MatchKind, ModeReturn, Network, OtherTraffic,
    OutOfMode, Plan, Profile, Size, Switch, Target, Tolerates,
};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const MBIT: u64 = 1_000_000;

/// Without looking for what would fit.
pub(crate) fn quick() -> Options {
    Options { would_fit: false, ..Options::default() }
}

/// What the checker finds wrong with a plan.
pub(crate) fn findings(plan: &Plan) -> Vec<String> {
    match tenuto_certify::certify(&plan.to_json()) {
        Ok(_) => Vec::new(),
        Err(findings) => findings.iter().map(ToString::to_string).collect(),
    }
}

/// A network of switches of one profile, with 100 Mbit/s links.
pub(crate) fn network(hosts: &[&str], switches: &[&str], profile: &str) -> Network {
    let switch = |(index, name): (usize, &&str)| Switch {
        name: (*name).into(),
        datapath_id: index as u64 + 1,
        profile: profile.into(),
        network: None,
    };
    let built_in = Profile::built_in(profile).expect("a built-in profile");
    Network {
        name: "test".into(),
        modes: vec!["normal".into()],
        networks: vec![],
        hosts: hosts.iter().map(|name| Host { name: (*name).into() }).collect(),
        switches: switches.iter().enumerate().map(switch).collect(),
        controllers: vec![],
        links: vec![],
        flows: vec![],
        other_traffic: OtherTraffic::Drop,
        mode_return: ModeReturn::default(),
        tolerates: Tolerates {
            babbling_hosts: 0,
            lost_signals: 1,
            controller_loss: true,
            links_lost: 0,
        },
        profiles: BTreeMap::from([(profile.into(), built_in)]),
    }
}

/// Adds a link with the next free port at both ends.
pub(crate) fn link(network: &mut Network, a: &str, b: &str) {
    let end = |node: &str| {
        let used = network.ends_of(node).map(|(own, _, _)| own.port).max().unwrap_or(0);
        LinkEnd { node: node.into(), port: used + 1 }
    };
    let (a, b) = (end(a), end(b));
    network.links.push(Link { a, b, rate_bps: 100 * MBIT, propagation_ns: 0 });
}

/// Adds links.
pub(crate) fn links(network: &mut Network, all: &[(&str, &str)]) {
    all.iter().for_each(|(a, b)| link(network, a, b));
}

pub(crate) fn contract(size: Size, period_ns: u64, priority: u8) -> Contract {
    Contract { period_ns, size, frame_bytes_min: None, jitter_ns: 0, priority }
}

/// A flow of the lowest level with a deadline of its period.
pub(crate) fn flow(name: &str, source: &str, targets: &[&str], contract: Contract) -> Flow {
    flow_of(name, source, targets, vec![contract])
}

/// A flow with a contract per mode; each deadline is the period.
pub(crate) fn flow_of(
    name: &str,
    source: &str,
    targets: &[&str],
    contracts: Vec<Contract>,
) -> Flow {
    let target = |host: &&str| Target {
        host: (*host).into(),
        routes: vec![None],
        deadline_ns: contracts.iter().map(|c| c.period_ns).collect(),
    };
    Flow {
        name: name.into(),
        vl: None,
        source: source.into(),
        targets: targets.iter().map(target).collect(),
        level: contracts.len() - 1,
        contracts,
        matching: MatchKind::FiveTuple,
        out_of_mode: OutOfMode::Drop,
        monitor_at: vec![],
        copies: vec![],
        apart: Apart::default(),
        skew_max_ns: None,
        udp_port: None,
    }
}

/// s1, s2 at sw1; d1, d2 at sw3; sw1 - sw2 - sw3.
pub(crate) fn line(profile: &str) -> Network {
    let mut it = network(&["s1", "s2", "d1", "d2"], &["sw1", "sw2", "sw3"], profile);
    let all = [
        ("s1", "sw1"),
        ("s2", "sw1"),
        ("sw1", "sw2"),
        ("sw2", "sw3"),
        ("sw3", "d1"),
        ("sw3", "d2"),
    ];
    links(&mut it, &all);
    it
}

/// A ring of `n` switches with a host each; every host sends over `hops` switches.
pub(crate) fn ring(n: usize, hops: usize, contract: Contract) -> Network {
    let hosts: Vec<String> = (0..n).map(|i| format!("h{i}")).collect();
    let switches: Vec<String> = (0..n).map(|i| format!("w{i}")).collect();
    let names = |all: &[String]| -> Vec<String> { all.to_vec() };
    let (h, s) = (names(&hosts), names(&switches));
    let refs = |all: &[String]| -> Vec<&'static str> {
        all.iter().map(|name| &*Box::leak(name.clone().into_boxed_str())).collect()
    };
    let mut it = network(&refs(&h), &refs(&s), "ideal");
    for i in 0..n {
        link(&mut it, &hosts[i], &switches[i]);
    }
    for i in 0..n {
        link(&mut it, &switches[i], &switches[(i + 1) % n]);
    }
    for i in 0..n {
        let route: Vec<String> = (0..hops).map(|k| switches[(i + k) % n].clone()).collect();
        let target = hosts[(i + hops - 1) % n].clone();
        let mut own = flow(&format!("f{i}"), &hosts[i], &[&target], contract);
        own.targets[0].routes = vec![Some(route)];
        it.flows.push(own);
    }
    it
}

/// The car of [MC-SDN]: LIDAR, CAM, and a STREAM of `stream_kb` with those priorities.
pub(crate) fn vehicle(stream_kb: u32, stream: u8, cam: u8) -> Network {
    let mut it = line("tenuto");
    it.name = "vehicle".into();
    it.modes = vec!["LO".into(), "HI".into()];
    it.tolerates.babbling_hosts = 1;
    let kb = |n: u32| Size::MessageBytes(n * 1_000);
    let lidar = contract(kb(8), 25 * MS, 0);
    it.flows.push(flow_of("LIDAR", "s1", &["d1"], vec![lidar; 2]));
    let cams = vec![contract(kb(154), 200 * MS, cam), contract(kb(154), 22 * MS, cam)];
    it.flows.push(flow_of("CAM", "s1", &["d1"], cams));
    it.flows.push(flow("STREAM", "s2", &["d2"], contract(kb(stream_kb), 40 * MS, stream)));
    it
}
