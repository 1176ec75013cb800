//! Which entries have a path, and of which kind.

use crate::switch::{
    ClassifierKind, GeneralConfig, HashKey, PortConfig, PortRole, Switch, SwitchConfig,
};
use crate::{Effects, EgressConfig, FramePool, Frames};
use std::sync::Arc;
use tenuto_openflow::constants::meter_flag;
use tenuto_openflow::{
    Action, Body, Bucket, FlowMod, FlowModCommand, GroupMod, GroupModCommand, GroupType,
    Instruction, Match, Message, MeterBand, MeterMod, MeterModCommand, Oxm,
};
use tenuto_units::{Instant, Rate, Span};

const FLOW: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn switch() -> Switch {
    let rate = Rate::from_bps(1_000_000_000).expect("not zero");
    let egress = EgressConfig { rate, queues: 4, buffer_bits: 1 << 20, unpromised_from: None };
    let port = |port| PortConfig { port, role: PortRole::Host, egress };
    let mut switch = Switch::new(Arc::new(SwitchConfig {
        datapath_id: 1,
        ports: (1..5).map(port).collect(),
        tables: 8,
        entries_max: 16,
        meters_max: 2,
        groups_max: 8,
        meter_extra_bytes: 4,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 1,
        mode_retry: Span::from_ms(1),
        general: Some(GeneralConfig::default()),
    }));
    switch.connected(&mut Effects::new());
    switch
}

fn send(port: u32) -> Action {
    Action::Output { port, max_len: 64 }
}

fn entry(table: u8, match_: Vec<Oxm>, instructions: Vec<Instruction>) -> Body {
    let match_ = Match::from(match_);
    Body::FlowMod(FlowMod { match_, instructions, ..FlowMod::new(FlowModCommand::Add, table) })
}

fn to(value: [u8; 6]) -> Vec<Oxm> {
    vec![Oxm::EthDst { value, mask: None }]
}

/// The path that the first frame compiles: none, to one port, or to several.
fn compiled(bodies: Vec<Body>) -> &'static str {
    let (mut switch, mut frames, mut fx) = (switch(), FramePool::new(8), Effects::new());
    for body in bodies {
        let bytes = Message::new(1, body.clone()).to_bytes();
        assert!(switch.control(Instant::ZERO, &bytes, &mut frames, &mut fx));
        assert!(fx.control.is_empty(), "{body:?} is refused");
    }
    let bytes = [&FLOW[..], &[2, 0, 0, 0, 0, 9, 8, 0], &[0; 50]].concat();
    let frame = frames.insert(&bytes).expect("room");
    switch.receive(Instant::ZERO, Instant::ZERO, 1, frame, &mut frames, &mut fx);
    let (path, _) = switch.tables.compiled(0);
    match (path.is_fixed(), path.ends_in_several()) {
        (false, _) => "none",
        (true, false) => "one",
        (true, true) => "several",
    }
}

fn applied(actions: Vec<Action>) -> Vec<Body> {
    vec![entry(0, to(FLOW), vec![Instruction::ApplyActions(actions)])]
}

/// Through a second table whose entry is for frames like this.
fn through(first: Vec<Instruction>, second: Vec<Oxm>) -> Vec<Body> {
    let first = [first, vec![Instruction::GotoTable(1)]].concat();
    let last = vec![Instruction::ApplyActions(vec![send(2)])];
    vec![entry(0, to(FLOW), first), entry(1, second, last)]
}

fn grouped(type_: GroupType, weights: &[u16]) -> Vec<Body> {
    let bucket = |&weight| Bucket { weight, watch_port: 2, ..Bucket::new(vec![send(2)]) };
    let buckets = weights.iter().map(bucket).collect();
    let group = GroupMod { command: GroupModCommand::Add, type_, group_id: 1, buckets };
    [vec![Body::GroupMod(group)], applied(vec![Action::Group(1)])].concat()
}

fn metered(band: MeterBand) -> Vec<Body> {
    let flags = meter_flag::KBPS | meter_flag::BURST;
    let bands = vec![band];
    let meter = MeterMod { command: MeterModCommand::Add, flags, meter_id: 1, bands };
    let then = vec![Instruction::Meter(1), Instruction::ApplyActions(vec![send(2), send(3)])];
    vec![Body::MeterMod(meter), entry(0, to(FLOW), then)]
}

#[test]
fn what_is_known_of_all_frames_of_an_entry_is_laid() {
    use Instruction::{ApplyActions, WriteActions, WriteMetadata};
    use tenuto_openflow::constants::port;
    let metadata = |value| vec![Oxm::Metadata { value, mask: None }];
    let written = WriteMetadata { metadata: 5, mask: u64::MAX };
    let renamed = Action::SetField(Oxm::EthDst { value: OTHER, mask: None });
    let remarks = MeterBand::DscpRemark { rate: 1_000, burst_size: 100, prec_level: 1 };
    let drops = MeterBand::Drop { rate: 1_000, burst_size: 100 };
    let all = [
        (applied(vec![send(2)]), "one"),
        (applied(vec![send(2), send(3)]), "several"),
        (applied(vec![]), "several"),
        (applied(vec![send(port::FLOOD)]), "several"),
        (applied(vec![send(port::IN_PORT)]), "several"),
        (applied(vec![Action::DecNwTtl, send(2)]), "several"),
        (applied(vec![Action::PushVlan(0x8100), send(2)]), "several"),
        (grouped(GroupType::All, &[0, 0]), "several"),
        (grouped(GroupType::FastFailover, &[0, 0]), "several"),
        (grouped(GroupType::Select, &[1, 1]), "several"),
        (metered(drops), "several"),
        (through(vec![WriteActions(vec![Action::SetQueue(1), send(3)])], vec![]), "several"),
        (through(vec![], vec![]), "one"),
        (through(vec![written.clone()], metadata(5)), "one"),
        (through(vec![ApplyActions(vec![renamed])], to(OTHER)), "several"),
        // Whatever another frame of the entry may do otherwise.
        (applied(vec![send(port::CONTROLLER)]), "none"),
        (applied(vec![send(port::NORMAL)]), "none"),
        (metered(remarks), "none"),
        (through(vec![written], metadata(4)), "none"),
        (through(vec![], vec![Oxm::EthType(0x0800)]), "none"),
        (through(vec![ApplyActions(vec![Action::PushVlan(0x8100)])], vec![]), "none"),
        (through(vec![ApplyActions(vec![Action::DecNwTtl])], vec![]), "none"),
    ];
    for (bodies, expected) in all {
        assert_eq!(compiled(bodies.clone()), expected, "{bodies:?}");
    }
}
