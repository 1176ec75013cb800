//! What the checker accepts can be installed: it compiles to messages that the switch takes on, one by
//! one, whatever was changed in the deployment.

use tenuto_controller::compile;
use tenuto_dataplane::switch::{HashKey, Switch};
use tenuto_dataplane::{Effects, FramePool};
use tenuto_model::{
    EntrySpec, GroupOutput, GroupSpec, LevelContract, MatchSpec, MemorySources, MeterSpec,
    MonitorKind, MonitorSpec, OutputSpec, Plan, SwitchDeployment, read_network,
};
use tenuto_openflow::{Body, Framer, Message};
use tenuto_planner::{Options, plan};
use tenuto_units::{Draws, Instant};
use tenuto_world::{mode_settings, switch_config};

const CAR: &str = include_str!("../../../../networks/vehicle.yaml");
/// Copies that cross one switch, several targets, virtual links beside addresses, other traffic.
const CABIN: &str = "tenuto: 1\nhosts: [a, b, c]\nswitches: {s: {profile: tenuto}, t: {profile: tenuto}}\n\
    other_traffic: {priority: 6, rate: 1 Mbit/s, frame: 1518 B}\ndefaults: {link: {rate: 100 Mbit/s}}\n\
    links:\n  - {ends: [a, s]}\n  - {ends: [a, t]}\n  - {ends: [b, s]}\n  - {ends: [b, t]}\n  \
    - {ends: [c, t]}\n  - {ends: [s, t]}\nflows:\n  \
    twice: {source: a, targets: [b], frame: 100 B, period: 10 ms, copies: link-disjoint}\n  \
    link: {vl: 7, source: c, targets: [b], frame: 300 B, bag: 8 ms}\n";
/// Changes of each plan; each is one to three fields.
const CHANGES: u64 = 800;

fn planned(text: &str) -> Plan {
    let sources = MemorySources::new().with("n.yaml", text);
    let (network, _) = read_network(&sources, "n.yaml").unwrap_or_else(|e| panic!("{e}"));
    plan(&network, &Options { would_fit: false, ..Options::default() })
}

/// What a switch refuses of its deployment; nothing if all of it is in effect.
fn refusal(plan: &Plan, deployment: &SwitchDeployment) -> Option<String> {
    let mut switch = Switch::new(switch_config(plan, deployment, [7; 16], 1, HashKey::fixed()));
    let (mut fx, mut frames) = (Effects::new(), FramePool::new(16));
    switch.connected(&mut fx);
    for (xid, body) in (1_u32..).zip(compile(deployment, &mode_settings(plan, 1))) {
        fx.control.clear();
        let told = format!("{body:?}");
        let mut bytes = Vec::new();
        if let Err(error) = (Message { xid, body }).try_emit(&mut bytes) {
            return Some(format!("{error:?}: no message holds {told}"));
        }
        switch.control(Instant::ZERO, &bytes, &mut frames, &mut fx);
        let mut framer = Framer::new();
        let _ = framer.push(&fx.control);
        while let Some(Ok(answer)) = framer.next() {
            if let Body::Error(error) = answer.body {
                return Some(format!("{error:?} to {told}"));
            }
        }
    }
    None
}

#[test]
fn plans_are_taken_on_as_they_are() {
    for text in [CAR, CABIN] {
        let plan = planned(text);
        assert!(tenuto_certify::certify(&plan.to_json()).is_ok_and(|it| it.feasible));
        for deployment in &plan.switches {
            assert_eq!(refusal(&plan, deployment), None, "{}", deployment.switch);
        }
    }
}

fn matching(draws: &mut Draws, to: &mut MatchSpec) {
    match draws.below(14) {
        0 => to.eth_type = None,
        1 => to.ip_proto = None,
        2 => to.udp_dst = None,
        3 => to.ip_src = None,
        4 => to.eth_type = Some(draws.one_of(&[0x0800, 0x0806, 0x86dd])),
        5 => to.ip_proto = Some(draws.one_of(&[6, 17])),
        6 => to.udp_dst = Some(20_000),
        7 => to.ip_dst = Some([10, 0, 0, 9]),
        8 => to.eth_dst = Some([3, 0, 0, 0, 0, 9]),
        9 => to.in_port = Some(draws.one_of(&[0, 1, 2, 99, u32::MAX])),
        10 => *to = MatchSpec { in_port: to.in_port, ..MatchSpec::default() },
        11 => *to = MatchSpec { udp_dst: Some(9), ..MatchSpec::default() },
        12 => *to = MatchSpec { ip_src: Some([10, 0, 0, 9]), eth_type: Some(0x0800), ..*to },
        _ => to.in_port = None,
    }
}

fn entry(draws: &mut Draws, to: &mut EntrySpec) {
    match draws.below(8) {
        0 => to.table = draws.one_of(&[0, 1, 2, 3, 255]),
        1 => to.level = draws.one_of(&[None, Some(0), Some(1), Some(2)]),
        2 => to.precedence = draws.one_of(&[0, 1, 99, 100, u16::MAX]),
        3 => to.meter = draws.one_of(&[None, Some(0), Some(1), Some(2), Some(99)]),
        4 => to.monitor = draws.one_of(&[None, Some(1), Some(9)]),
        5 => to.goto = draws.one_of(&[None, Some(0), Some(1), Some(2), Some(3)]),
        6 => {
            let (port, queue) = (draws.one_of(&[1, 2, 3, 99]), draws.one_of(&[0, 1, 7, 8]));
            to.output = Some(OutputSpec::Port(GroupOutput { port, queue }));
        }
        _ => matching(draws, &mut to.matching),
    }
}

/// An entry that drops what is of no flow, most often.
fn new_entry(draws: &mut Draws, levels: u8) -> EntrySpec {
    let table = draws.one_of(&[0, 1, 2]);
    let mut new = EntrySpec {
        table,
        level: (table > 0).then(|| draws.one_of(&[0, levels - 1])),
        precedence: draws.one_of(&[0, 1, 50, 200]),
        cookie: 0,
        flow: None,
        matching: MatchSpec { eth_type: Some(0x0806), ..MatchSpec::default() },
        monitor: None,
        meter: None,
        output: None,
        goto: None,
    };
    matching(draws, &mut new.matching);
    new
}

fn change(draws: &mut Draws, levels: u8, to: &mut SwitchDeployment) {
    let place = draws.index(to.entries.len());
    match draws.below(10) {
        0..=3 => entry(draws, &mut to.entries[place]),
        4 | 5 => to.entries.push(new_entry(draws, levels)),
        6 => {
            let id = draws.one_of(&[0, 1, 40, 0xffff_ff00, u32::MAX]);
            let outputs: Vec<_> = (0..draws.one_of(&[0, 1, 2, 600]))
                .map(|place| GroupOutput { port: 1 + place % 3, queue: 0 })
                .collect();
            to.groups.push(GroupSpec { id, outputs });
        }
        7 => {
            let id = draws.one_of(&[0, 1, 40, 100_000, 100_001, u32::MAX]);
            let (rate_bps, burst_bytes) =
                (draws.one_of(&[0, 1, 1_000]), draws.one_of(&[0, 1, 125, u64::MAX / 8]));
            to.meters.push(MeterSpec { id, flow: None, rate_bps, burst_bytes });
        }
        8 => {
            let one = LevelContract { level: 0, bytes_max: 84, period_ns: 1, jitter_ns: 1 };
            to.monitors.push(MonitorSpec {
                id: draws.one_of(&[0, 40, 100_001]),
                flow: "CAM".into(),
                kind: MonitorKind::Frame,
                contracts: vec![one; draws.one_of(&[0, 1, 9])],
            });
        }
        _ => {
            let port = draws.index(to.ports.len());
            to.ports[port].queues = draws.one_of(&[0, 1, 8, 9, 255]);
        }
    }
}

fn count(to: &mut SwitchDeployment) {
    let count = |n: usize| u32::try_from(n).expect("few");
    let shadow = to.entries.iter().filter(|it| it.level.is_some_and(|level| level > 0)).count();
    to.usage.entries = count(to.entries.len() - shadow);
    to.usage.shadow = count(shadow);
    to.usage.meters = count(to.meters.len());
    to.usage.groups = count(to.groups.len());
    to.usage.queues = to.ports.iter().map(|port| u32::from(port.queues)).max().unwrap_or(0);
}

#[test]
fn whatever_is_accepted_is_taken_on() {
    let mut draws = Draws::new(5);
    for text in [CAR, CABIN] {
        let original = planned(text);
        let levels = u8::try_from(original.network.modes.len()).expect("few");
        let (mut accepted, mut refused_by_both) = (0, 0);
        for _ in 0..CHANGES {
            let mut changed = original.clone();
            let switch = draws.index(changed.switches.len());
            for _ in 0..1 + draws.below(2) {
                change(&mut draws, levels, &mut changed.switches[switch]);
            }
            count(&mut changed.switches[switch]);
            changed.seal();
            let refusal = refusal(&changed, &changed.switches[switch]);
            match tenuto_certify::certify(&changed.to_json()) {
                Ok(_) => {
                    accepted += 1;
                    assert_eq!(refusal, None, "{:#?}", changed.switches[switch]);
                }
                Err(_) => refused_by_both += u64::from(refusal.is_some()),
            }
        }
        println!("{accepted} of {CHANGES} accepted, {refused_by_both} refused by both");
        assert!(accepted > 10 && refused_by_both > 100, "{accepted}, {refused_by_both}");
    }
}
