//! The applications over real switches.

use super::switches::{Place, Switches, mac, udp};
use crate::reactive::{
    Firewall, Hop, LearningSwitch, LoadBalancer, LoadLimits, Monitor, Replica, SpanningTree,
    TrafficEngineering, named,
};
use std::collections::BTreeMap;
use tenuto_model::{Host, Link, LinkEnd, ModeReturn, Network, OtherTraffic, Switch, Tolerates};
use tenuto_units::Span;

fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

const UDP: (u16, u16) = (5_000, 7_000);

#[test]
fn a_host_that_moves_is_found_and_a_port_that_goes_is_forgotten() {
    for attendre in [false, true] {
        let app = Box::new(LearningSwitch::new(64));
        let mut net = Switches::new(app, (1, 4), &[], attendre);
        assert_eq!(net.send((1, 1), &udp(1, 2, UDP)), [(1, 2), (1, 3), (1, 4)]);
        assert_eq!(net.send((1, 2), &udp(2, 1, UDP)), [(1, 1)]);
        assert_eq!(net.send((1, 1), &udp(1, 2, UDP)), [(1, 2)]);
        let asked = net.packet_ins;
        assert_eq!(net.send((1, 1), &udp(1, 2, UDP)), [(1, 2)]);
        assert_eq!(net.packet_ins, asked, "an entry forwards");
        // It moves and speaks: old entries to it are gone.
        assert_eq!(net.send((1, 3), &udp(2, 1, UDP)), [(1, 1)]);
        assert_eq!(net.send((1, 1), &udp(1, 2, UDP)), [(1, 3)]);
        net.set_link((1, 3), false);
        assert_eq!(net.send((1, 1), &udp(1, 2, UDP)), [(1, 2), (1, 4)], "it is looked for");
    }
}

/// A ring of three switches: ports 1 and 2 to the neighbours, 3 to a host.
const RING: [(Place, Place); 3] = [((1, 2), (2, 1)), ((2, 2), (3, 1)), ((3, 2), (1, 1))];

fn ring() -> Network {
    let switch = |id| Switch {
        name: format!("s{id}"),
        datapath_id: id,
        profile: String::new(),
        network: None,
    };
    let end = |(id, port): Place| LinkEnd { node: format!("s{id}"), port };
    let link = |a, b| Link { a, b, rate_bps: 1_000_000_000, propagation_ns: 0 };
    let trunks = RING.map(|(a, b)| link(end(a), end(b)));
    let hosts = (1..=3).map(|id| link(LinkEnd { node: format!("h{id}"), port: 1 }, end((id, 3))));
    Network {
        name: "ring".into(),
        modes: vec!["normal".into()],
        networks: Vec::new(),
        hosts: (1..=3).map(|id| Host { name: format!("h{id}") }).collect(),
        switches: (1..=3).map(switch).collect(),
        controllers: Vec::new(),
        links: trunks.into_iter().chain(hosts).collect(),
        flows: Vec::new(),
        other_traffic: OtherTraffic::Drop,
        mode_return: ModeReturn::default(),
        tolerates: Tolerates {
            babbling_hosts: 0,
            lost_signals: 0,
            controller_loss: false,
            links_lost: 0,
        },
        profiles: BTreeMap::new(),
    }
}

#[test]
fn a_ring_is_flooded_along_a_tree() {
    let tree = SpanningTree::of(&ring());
    let ports = |id| tree.ports(id).expect("named").collect::<Vec<_>>();
    assert_eq!([ports(1), ports(2), ports(3)], [vec![1, 2, 3], vec![1, 3], vec![2, 3]]);
    let app = named("learning-switch", &[], Some(&ring())).expect("good settings");
    let mut net = Switches::new(app, (3, 3), &RING, false);
    let mut reached = net.send((1, 3), &udp(1, 9, UDP));
    reached.sort_unstable();
    assert_eq!(reached, [(2, 3), (3, 3)], "each host once");
    assert_eq!(net.send((3, 3), &udp(3, 1, UDP)), [(1, 3)]);
    assert_eq!(net.send((1, 3), &udp(1, 3, UDP)), [(3, 3)]);
}

#[test]
fn learned_entries_go_when_they_are_idle() {
    let app = named("learning-switch", &settings(&[("idle", "2")]), None).expect("good settings");
    let mut net = Switches::new(app, (1, 2), &[], false);
    net.send((1, 1), &udp(1, 2, UDP));
    net.send((1, 2), &udp(2, 1, UDP));
    let asked = net.packet_ins;
    net.send((1, 2), &udp(2, 1, UDP));
    assert_eq!(net.packet_ins, asked);
    net.run(Span::from_s(3));
    assert_eq!(net.send((1, 2), &udp(2, 1, UDP)), [(1, 1)], "it is remembered all the same");
    assert_eq!(net.packet_ins, asked + 1);
}

#[test]
fn a_firewall_opens_for_replies_and_closes_when_the_inside_is_silent() {
    for attendre in [false, true] {
        let app = Box::new(Firewall::new(1, 2, 8).with_idle_s(2));
        let mut net = Switches::new(app, (1, 2), &[], attendre);
        let (ask, reply) = (udp(1, 2, (5_000, 53)), udp(2, 1, (53, 5_000)));
        assert_eq!(net.send((1, 2), &reply), []);
        assert_eq!(net.send((1, 1), &ask), [(1, 2)]);
        assert_eq!(net.send((1, 2), &reply), [(1, 1)]);
        for other in [(53, 5_001), (54, 5_000)] {
            assert_eq!(net.send((1, 2), &udp(2, 1, other)), [], "of another flow");
        }
        assert_eq!(net.app::<Firewall>().opened().count(), 1);
        // The outside goes on and on.
        for _ in 0..4 {
            net.run(Span::from_s(1));
            net.send((1, 2), &reply);
        }
        assert_eq!(net.app::<Firewall>().opened().count(), 0);
        assert_eq!(net.send((1, 2), &reply), []);
        assert_eq!(net.send((1, 1), &ask), [(1, 2)]);
        assert_eq!(net.send((1, 2), &reply), [(1, 1)]);
    }
}

/// A request or a reply of address resolution.
fn arp(from: u8, to: Option<u8>) -> Vec<u8> {
    let target = to.map_or([0xff; 6], mac);
    let operation = if to.is_some() { 2 } else { 1 };
    let mut bytes = [&target[..], &mac(from), &[8, 6, 0, 1, 8, 0, 6, 4, 0, operation]].concat();
    bytes.extend([&mac(from)[..], &[10, 0, 0, from], &[0; 6], &[10, 0, 0, 2]].concat());
    bytes.resize(60, 0);
    bytes
}

#[test]
fn a_firewall_lets_addresses_be_resolved() {
    let mut net = Switches::new(Box::new(Firewall::new(1, 2, 8)), (1, 2), &[], false);
    assert_eq!(net.send((1, 1), &arp(1, None)), [(1, 2)]);
    assert_eq!(net.send((1, 2), &arp(2, Some(1))), [(1, 1)]);
    assert_eq!(net.app::<Firewall>().opened().count(), 0);
}

const SERVICE: u8 = 9;

fn balancer() -> LoadBalancer {
    let replica = |host, port| Replica { address: mac(host), port };
    LoadBalancer::new(mac(SERVICE), vec![replica(2, 2), replica(3, 3)]).with_affinity(8, 2)
}

#[test]
fn flows_stay_with_their_replica_until_it_goes() {
    for attendre in [false, true] {
        let mut net = Switches::new(Box::new(balancer()), (1, 3), &[], attendre);
        let flow = |port| udp(1, SERVICE, (port, 80));
        assert_eq!(net.send((1, 1), &flow(1)), [(1, 2)]);
        assert_eq!(net.send((1, 1), &flow(2)), [(1, 3)]);
        assert_eq!(net.send((1, 1), &flow(1)), [(1, 2)]);
        let (_, at_replica) = net.delivered.last().expect("it arrived");
        assert_eq!(at_replica[..6], mac(2), "with the address of the replica");
        // The replica answers with the address of the service's packets, as it was asked.
        let mut reply = udp(SERVICE, 1, (80, 1));
        reply[6..12].copy_from_slice(&mac(2));
        assert_eq!(net.send((1, 2), &reply), [(1, 1)]);
        assert_eq!(net.delivered.last().expect("it arrived").1[6..12], mac(SERVICE));
        net.set_link((1, 2), false);
        assert_eq!(net.send((1, 1), &flow(1)), [(1, 3)], "the other one");
        net.set_link((1, 3), false);
        assert_eq!(net.send((1, 1), &flow(1)), [], "there is none");
        net.set_link((1, 2), true);
        assert_eq!(net.send((1, 1), &flow(1)), [(1, 2)]);
    }
}

#[test]
fn silent_flows_are_placed_anew() {
    let mut net = Switches::new(Box::new(balancer()), (1, 3), &[], false);
    let flow = udp(1, SERVICE, (1, 80));
    assert_eq!(net.send((1, 1), &flow), [(1, 2)]);
    net.run(Span::from_s(3));
    assert_eq!(net.send((1, 1), &flow), [(1, 3)], "the next in turn");
}

/// Two ways from switch 1 to switch 2: directly by port 2, and by switch 3.
const TRIANGLE: [(Place, Place); 3] = [((1, 2), (2, 1)), ((1, 3), (3, 1)), ((3, 2), (2, 2))];

#[test]
fn new_flows_take_the_on_demand_way_while_the_other_is_loaded() {
    let hop = |datapath, port| Hop { datapath, port };
    let limits =
        LoadLimits { loaded_from_bps: 8_000, free_until_bps: 1_000, poll: Span::from_s(1) };
    let ways = (vec![hop(1, 2), hop(2, 3)], vec![hop(1, 3), hop(3, 2), hop(2, 3)]);
    let app = TrafficEngineering::new(limits, 2).with_ways(mac(2), ways.0, ways.1);
    let mut net = Switches::new(Box::new(app), (3, 4), &TRIANGLE, false);
    let to = |from| udp(from, 2, UDP);
    assert_eq!(net.send((1, 1), &to(1)), [(2, 3)]);
    net.run(Span::from_s(1));
    assert_eq!(net.app::<TrafficEngineering>().loaded().count(), 0);
    // 20 frames of 106 B in a second: 17 kbit/s.
    for _ in 0..20 {
        net.send((1, 1), &to(1));
    }
    net.run(Span::from_s(1));
    let loaded: Vec<Hop> = net.app::<TrafficEngineering>().loaded().copied().collect();
    assert_eq!(loaded, [hop(1, 2), hop(2, 3)], "{:?}", net.notes);
    let before = net.through((3, 2));
    assert_eq!(net.send((1, 4), &to(4)), [(2, 3)]);
    assert_eq!(net.through((3, 2)), before + 1, "by switch 3");
    // The flow that was there stays. Between the limits nothing changes: 2 frames in a second are 1.7 kbit/s.
    net.send((1, 1), &to(1));
    net.send((1, 1), &to(1));
    net.run(Span::from_s(1));
    assert_eq!(net.app::<TrafficEngineering>().loaded().count(), 2);
    net.run(Span::from_s(3));
    assert_eq!(net.app::<TrafficEngineering>().loaded().count(), 0);
    let before = net.through((3, 2));
    net.send((1, 4), &to(4));
    assert_eq!(net.through((3, 2)), before, "directly again");
}

#[test]
fn a_monitor_counts_what_each_flow_carries() {
    let app = named("monitor", &settings(&[("poll", "1")]), None).expect("good settings");
    let mut net = Switches::new(app, (1, 2), &[], false);
    net.send((1, 1), &udp(1, 2, UDP));
    for _ in 0..5 {
        net.send((1, 2), &udp(2, 1, UDP));
    }
    net.run(Span::from_s(2));
    let counted: Vec<u64> = net
        .app::<Monitor>()
        .carried()
        .filter(|(_, flow, _)| flow.contains("in_port=2"))
        .map(|(_, _, carried)| carried.packets)
        .collect();
    // The first of the five came back through the tables.
    assert_eq!(counted, [5], "{:?}", net.notes);
    let told = net.notes.len();
    net.run(Span::from_s(2));
    assert_eq!(net.notes.len(), told, "nothing new, nothing told");
}

#[test]
fn names_and_settings_that_do_not_fit_are_told() {
    for (name, given, expected) in [
        ("learning", &[][..], "learning-switch"),
        ("firewall", &[("inner", "1")], "no setting `inner`"),
        ("firewall", &[("inside", "one")], "a whole number"),
        ("load-balancer", &[], "needs `service`"),
        ("load-balancer", &[("service", "2:0")], "no MAC address"),
        ("route-flow", &[("way", "02:00:00:00:00:01@1")], "a way is"),
        ("traffic-engineering", &[("loaded", "1"), ("free", "1")], "below"),
    ] {
        let error = named(name, &settings(given), None).expect_err(name);
        assert!(error.contains(expected), "{name}: {error}");
    }
    let way = settings(&[("way", "02:00:00:00:00:02@1:2,2:2")]);
    let mut net = Switches::new(
        named("route-flow", &way, None).expect("good settings"),
        (2, 2),
        &[((1, 2), (2, 1))],
        true,
    );
    assert_eq!(net.send((1, 1), &udp(1, 2, UDP)), [(2, 2)]);
    assert_eq!(net.packet_ins, 1, "one packet-in for one flow");
}
