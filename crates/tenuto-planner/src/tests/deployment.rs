use super::builder::{MS, contract, flow, line, network, quick, vehicle};
use crate::plan;
use std::collections::BTreeSet;
use tenuto_model::{
    MatchKind, MatchSpec, MonitorKind, OtherTraffic, OutputSpec, Plan, PortRole, Size,
    SwitchDeployment, TABLE_FORWARD, TABLE_POLICE, TABLE_WATCH,
};

fn count(switch: &SwitchDeployment, table: u8, level: Option<u8>) -> usize {
    switch.entries.iter().filter(|e| e.table == table && e.level == level).count()
}

fn car() -> Plan {
    plan(&vehicle(70, 2, 1), &quick())
}

#[test]
fn the_first_switch_watches_and_polices() {
    let plan = car();
    let sw1 = &plan.switches[0];
    // CAM is the only flow with contracts that differ; and the catch-all.
    assert_eq!(count(sw1, TABLE_WATCH, None), 2);
    assert_eq!(sw1.monitors.len(), 1);
    assert_eq!(sw1.monitors[0].kind, MonitorKind::Message);
    assert_eq!(sw1.monitors[0].contracts.len(), 2);
    assert!(sw1.monitors[0].contracts[0].period_ns < 200 * MS, "shortened by the clocks");
    assert_eq!(sw1.meters.iter().map(|m| m.id).collect::<Vec<_>>(), [1, 2, 3]);
    for level in [0, 1] {
        assert_eq!(count(sw1, TABLE_POLICE, Some(level)), 4, "three flows and one trunk");
        assert_eq!(count(sw1, TABLE_FORWARD, Some(level)), 3);
    }
    assert_eq!(count(sw1, TABLE_POLICE, None), 0, "only watching is the same in every level");
    // 2 + 4 + 3 at the start, 4 + 3 in the shadow.
    assert_eq!((sw1.usage.entries, sw1.usage.shadow), (9, 7));
    assert_eq!((sw1.usage.meters, sw1.usage.groups, sw1.usage.queues), (3, 0, 3));
}

/// What a look-up costs is a probe for each mask (`docs/reference/openflow.md`), so that the latency of
/// our own switch does not depend on how many flows there are.
#[test]
fn a_frame_asks_twelve_masks_at_most() {
    let mut mixed = vehicle(70, 2, 1);
    mixed.other_traffic =
        OtherTraffic::Carry { priority: 7, rate_bps: 1_000_000, frame_bytes_max: 1_518 };
    let mut link = flow("VL", "s1", &["d1", "d2"], contract(Size::FrameBytes(64), 32 * MS, 0));
    (link.vl, link.matching) = (Some(7), MatchKind::Vl);
    link.contracts = vec![link.contracts[0]; 2];
    link.level = 1;
    mixed.flows.push(link);
    let mut most = 0;
    for plan in [car(), plan(&mixed, &quick())] {
        for switch in &plan.switches {
            let walked = |table: u8, level: u8| {
                let entries = switch.entries.iter();
                let here = entries
                    .filter(move |it| it.table == table && it.level.is_none_or(|l| l == level));
                here.map(|it| asked(&it.matching)).collect::<BTreeSet<_>>().len()
            };
            for level in [0, 1] {
                let masks = [TABLE_WATCH, TABLE_POLICE, TABLE_FORWARD].map(|it| walked(it, level));
                most = most.max(masks.iter().sum());
            }
        }
    }
    assert!((8..=12).contains(&most), "{most}");
}

/// Which fields an entry asks for: its mask.
fn asked(it: &MatchSpec) -> [bool; 7] {
    [
        it.in_port.is_some(),
        it.eth_dst.is_some(),
        it.eth_type.is_some(),
        it.ip_src.is_some(),
        it.ip_dst.is_some(),
        it.ip_proto.is_some(),
        it.udp_dst.is_some(),
    ]
}

#[test]
fn later_switches_forward_what_comes_over_trunks() {
    let plan = car();
    let sw2 = &plan.switches[1];
    assert_eq!(count(sw2, TABLE_WATCH, None), 1);
    assert_eq!(count(sw2, TABLE_POLICE, Some(0)), 2);
    assert_eq!(count(sw2, TABLE_POLICE, Some(1)), 2);
    assert_eq!(count(sw2, TABLE_FORWARD, Some(0)), 3);
    assert!(sw2.meters.is_empty() && sw2.monitors.is_empty());
    assert!(sw2.ports.iter().all(|port| port.role == PortRole::Trunk));
}

#[test]
fn above_its_level_a_flow_is_dropped_under_its_cookie() {
    let plan = car();
    for switch in &plan.switches {
        let stream = switch.entries.iter().filter(|e| e.flow.as_deref() == Some("STREAM"));
        for entry in stream {
            assert_eq!(entry.cookie, 3);
            let is_drop = entry.output.is_none() && entry.goto.is_none();
            assert_eq!(is_drop, entry.level == Some(1), "{entry:?}");
            assert!(!is_drop || entry.meter.is_none());
        }
    }
}

#[test]
fn several_outputs_are_a_group() {
    let mut it = line("ideal");
    it.flows.push(flow("f", "s1", &["d1", "d2"], contract(Size::FrameBytes(200), MS, 3)));
    let plan = plan(&it, &quick());
    let sw3 = &plan.switches[2];
    assert_eq!(sw3.groups.len(), 1);
    assert_eq!(
        sw3.groups[0].outputs.iter().map(|o| (o.port, o.queue)).collect::<Vec<_>>(),
        [(2, 3), (3, 3)]
    );
    let forward = sw3.entries.iter().find(|e| e.table == TABLE_FORWARD).expect("an entry");
    assert_eq!(forward.output, Some(OutputSpec::Group(1)));
    assert_eq!(forward.level, Some(0));
    assert_eq!(plan.switches[0].groups.len(), 0);
}

#[test]
fn end_systems_know_their_flows() {
    let plan = car();
    let host = |name: &str| plan.hosts.iter().find(|h| h.host == name).expect("a host");
    assert_eq!(
        host("s1").senders.iter().map(|s| s.flow.as_str()).collect::<Vec<_>>(),
        ["LIDAR", "CAM"]
    );
    assert_eq!(host("s1").senders[1].queues, [1, 1]);
    assert_eq!(
        host("d2").receivers.iter().map(|r| r.flow.as_str()).collect::<Vec<_>>(),
        ["STREAM"]
    );
}

#[test]
fn copies_have_a_meter_each_and_a_skew() {
    let mut it = network(&["s", "d"], &["a1", "b1", "b2"], "afdx");
    it.networks = vec!["A".into(), "B".into()];
    for (switch, net) in it.switches.iter_mut().zip(["A", "B", "B"]) {
        switch.network = Some(net.into());
    }
    super::builder::links(
        &mut it,
        &[("s", "a1"), ("a1", "d"), ("s", "b1"), ("b1", "b2"), ("b2", "d")],
    );
    let mut own = flow("vl", "s", &["d"], contract(Size::FrameBytes(1518), 8 * MS, 0));
    own.copies = vec!["A".into(), "B".into()];
    own.targets[0].routes = vec![None, None];
    own.skew_max_ns = Some(5 * MS);
    it.flows.push(own);
    let good = plan(&it, &quick());
    assert!(good.feasible, "{:?}", good.refusals);
    let row = &good.flows[0];
    assert_eq!(row.copies[0].network.as_deref(), Some("B"), "the later copy first");
    assert_eq!(row.delay_bound_ps, row.copies[0].delay_bound_ps);
    // A: 2 hops; the least is 64 B frames: 2 · 6.72 us.
    let least = row.copies[1].delay_min_ps;
    assert_eq!(least, 13_440_000);
    assert_eq!(row.skew_bound_ps, row.delay_bound_ps.map(|b| b - least));
    assert_eq!(good.switches.iter().map(|s| s.meters.len()).collect::<Vec<_>>(), [1, 1, 0]);
    assert_eq!(good.hosts[0].senders[0].ports, [1, 2]);
    assert_eq!(good.hosts[1].receivers[0].ports, [1, 2]);
    it.flows[0].skew_max_ns = Some(1_000);
    let apart = plan(&it, &quick());
    assert!(apart.refusals.iter().any(|r| r.resource == "skew"));
}
