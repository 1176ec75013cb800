//! Slices of one switch: whose a frame is, what controllers are refused, what they may take, and what the operator
//! is told.

use crate::support;
use std::sync::Arc;
use support::general::{any, entry, to_controller};
use support::{config as planned_config, output};
use tenuto_dataplane::switch::{
    ConnectionId, Datapath, GeneralConfig, MessageBudget, OPERATOR, PortConfig, SliceConfig,
    SliceSetup, SliceTraffic, SlicedSwitch, SwitchConfig, SwitchEvent,
};
use tenuto_dataplane::{DropReason, Effects, FramePool, Frames};
use tenuto_openflow::*;
use tenuto_units::{Instant, Span};

pub(crate) const OPERATORS: ConnectionId = ConnectionId(1);
pub(crate) const A: ConnectionId = ConnectionId(2);
pub(crate) const B: ConnectionId = ConnectionId(3);

/// A sliced switch of four ports: A has 1 and 2 with VLAN 10 and without a tag, B has 2 and 3 with VLANs 20 and 30,
/// port 4 is nobody's.
pub(crate) struct Sliced {
    pub(crate) switch: SlicedSwitch,
    pub(crate) frames: FramePool,
    pub(crate) fx: Effects<SwitchEvent>,
    pub(crate) now: Instant,
}

/// A budget that no test reaches that is not about budgets.
pub(crate) const PLENTY: MessageBudget = MessageBudget {
    messages: 1_000_000,
    changes: 1_000_000,
    packet_outs: 1_000_000,
    statistics: 1_000_000,
    packet_ins: 1_000_000,
    bytes: 10_000_000_000,
};

pub(crate) fn traffic_a() -> SliceTraffic {
    SliceTraffic::new(vec![1, 2], Some([0, 10].into_iter().collect()), Vec::new())
}

pub(crate) fn traffic_b() -> SliceTraffic {
    SliceTraffic::new(vec![2, 3], Some([20, 30].into_iter().collect()), Vec::new())
}

pub(crate) fn config(id: u64, traffic: SliceTraffic, budget: MessageBudget) -> SwitchConfig {
    let reads_only = traffic.ports().is_empty();
    let own = |port: &u32| reads_only || traffic.has_port(*port);
    let planned = planned_config();
    let template = planned.ports[0].clone();
    let ports = [1, 2, 3, 4].into_iter().filter(own);
    let ports = ports.map(|port| PortConfig { port, ..template.clone() }).collect();
    let traffic = Arc::new(traffic);
    let general = GeneralConfig {
        slice: Some(SliceConfig { traffic, budget, reads_only }),
        attendre: None,
        ..GeneralConfig::default()
    };
    SwitchConfig { datapath_id: id, ports, tables: 4, general: Some(general), ..planned }
}

impl Sliced {
    pub(crate) fn new(budget: MessageBudget) -> Self {
        let slice = |name: &str, id, traffic| SliceSetup {
            name: name.to_owned(),
            config: Arc::new(config(id, traffic, budget)),
        };
        let operator = config(0xff, SliceTraffic::new(vec![], None, vec![]), PLENTY);
        let slices = vec![slice("a", 0xa, traffic_a()), slice("b", 0xb, traffic_b())];
        let switch = SlicedSwitch::new(Arc::new(operator), slices).expect("they do not overlap");
        let (frames, now) = (FramePool::new(4_096), Instant::from_ns(1_000_000_000));
        let mut sliced = Self { switch, frames, fx: Effects::new(), now };
        for (slice, id) in [(OPERATOR, OPERATORS), (1, A), (2, B)] {
            sliced.switch.connected_in(slice, id, None, &mut sliced.fx).expect("room");
            sliced.heard(id);
        }
        sliced
    }

    pub(crate) fn send(&mut self, id: ConnectionId, bytes: &[u8]) -> bool {
        self.switch.control_from(id, self.now, bytes, &mut self.frames, &mut self.fx)
    }

    /// What came over a connection since it was last asked, as bytes.
    pub(crate) fn heard_bytes(&mut self, id: ConnectionId) -> Vec<u8> {
        let own = self.fx.channels.iter_mut().find(|(number, _)| *number == id.0);
        own.map_or_else(Vec::new, |(_, bytes)| std::mem::take(bytes))
    }

    pub(crate) fn heard(&mut self, id: ConnectionId) -> Vec<Body> {
        let mut framer = Framer::new();
        framer.push(&self.heard_bytes(id)).expect("short");
        std::iter::from_fn(|| framer.next()).map(|it| it.expect("whole").body).collect()
    }

    pub(crate) fn ask(&mut self, id: ConnectionId, body: Body) -> Vec<Body> {
        assert!(self.send(id, &Message::new(7, body).to_bytes()));
        self.heard(id)
    }

    /// A frame enters now.
    pub(crate) fn enter(&mut self, port: u32, bytes: &[u8]) {
        let frame = self.frames.insert(bytes).expect("room");
        self.switch.receive(self.now, self.now, port, frame, &mut self.frames, &mut self.fx);
    }

    /// Time passes, and what is due leaves.
    pub(crate) fn pass(&mut self, span: Span) -> Vec<(u32, Vec<u8>)> {
        self.now += span;
        self.switch.fire_due(self.now, &mut self.frames, &mut self.fx);
        let sent = std::mem::take(&mut self.fx.transmits);
        let bytes = |sent: &tenuto_dataplane::Transmit| {
            let bytes = self.frames.bytes(sent.frame).to_vec();
            self.frames.release(sent.frame);
            (sent.port, bytes)
        };
        sent.iter().map(bytes).collect()
    }
}

/// A frame of a VLAN, or without a tag, that ends with its mark.
pub(crate) fn frame(vlan: Option<u16>, mark: &[u8; 4]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8];
    if let Some(vlan) = vlan {
        frame.extend([0x81, 0]);
        frame.extend(vlan.to_be_bytes());
    }
    frame.extend([0x08, 0x00, 0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0, 10, 1, 0, 1, 10, 1, 0, 2]);
    frame.resize(76, 0);
    frame.extend(mark);
    frame
}

fn error_of(heard: &[Body]) -> Option<ErrorCode> {
    match heard {
        [Body::Error(error)] => ErrorCode::from_wire(error.type_, error.code),
        _ => None,
    }
}

fn packet_out(actions: Vec<Action>, data: Vec<u8>) -> Body {
    let in_port = constants::port::CONTROLLER;
    Body::PacketOut(PacketOut { buffer_id: constants::NO_BUFFER, in_port, actions, data })
}

#[test]
fn a_frame_is_handled_by_whose_it_is() {
    let mut sliced = Sliced::new(PLENTY);
    for id in [A, B] {
        let flood = any(1, vec![output(constants::port::FLOOD)]);
        assert_eq!(sliced.ask(id, Body::FlowMod(flood)), []);
    }
    let (of_a, of_b) = (frame(Some(10), b"AAAA"), frame(Some(20), b"BBBB"));
    sliced.enter(2, &of_a);
    assert_eq!(sliced.pass(Span::from_ms(10)), [(1, of_a.clone())], "not by port 3");
    sliced.enter(2, &of_b);
    assert_eq!(sliced.pass(Span::from_ms(10)), [(3, of_b)]);
    for (port, vlan) in [(1, Some(20)), (3, None), (4, None), (2, Some(40))] {
        sliced.enter(port, &frame(vlan, b"none"));
    }
    assert_eq!(sliced.pass(Span::from_ms(10)), []);
    assert!(sliced.fx.drops.iter().all(|it| it.reason == DropReason::Unknown));
    assert_eq!((sliced.fx.drops.len(), sliced.frames.in_use()), (4, 0));
    let received: Vec<u64> = sliced.switch.slices().map(|(_, _, it)| it.received).collect();
    assert_eq!(received, [4, 1, 1]);
}

/// Entries that change a frame into one of another slice do not bring it there, nor do packet-outs.
#[test]
fn what_is_not_its_own_does_not_leave() {
    let mut sliced = Sliced::new(PLENTY);
    let actions = vec![Action::PopVlan, output(1), output(constants::port::IN_PORT)];
    let bad_port = Some(BadAction::BadOutPort.into());
    assert_eq!(error_of(&sliced.ask(B, entry(vec![], actions))), bad_port);
    let actions = vec![Action::PopVlan, output(2)];
    assert_eq!(sliced.ask(B, entry(vec![], actions)), []);
    sliced.enter(3, &frame(Some(20), b"BBBB"));
    assert_eq!(sliced.pass(Span::from_ms(10)), [], "without a tag it is one of A at port 2");
    assert_eq!(sliced.ask(B, packet_out(vec![output(2)], frame(Some(10), b"BBBB"))), []);
    assert_eq!(sliced.pass(Span::from_ms(10)), []);
    let reasons: Vec<DropReason> = sliced.fx.drops.iter().map(|it| it.reason).collect();
    assert_eq!(reasons, [DropReason::OutOfSlice; 2]);
    assert_eq!(sliced.switch.slices().last().map(|(_, _, it)| (it.sent, it.escaped)), Some((0, 2)));
    assert_eq!(sliced.frames.in_use(), 0);
    assert_eq!(sliced.ask(B, packet_out(vec![output(2)], frame(Some(30), b"BBBB"))), []);
    assert_eq!(sliced.pass(Span::from_ms(10)).len(), 1);
}

#[test]
fn what_reaches_out_of_the_slice_gets_its_error() {
    let mut sliced = Sliced::new(PLENTY);
    let vlan = |vid: u16, mask| Oxm::VlanVid { value: 0x1000 | vid, mask };
    let set = |oxm| vec![Action::SetField(oxm), output(1)];
    let refused: [(Body, ErrorCode); 6] = [
        (entry(vec![Oxm::InPort(3)], vec![output(1)]), FlowModFailed::Eperm.into()),
        (entry(vec![vlan(20, None)], vec![output(1)]), FlowModFailed::Eperm.into()),
        (entry(vec![vlan(20, Some(0x1fff))], vec![output(1)]), FlowModFailed::Eperm.into()),
        (entry(vec![], set(vlan(20, None))), BadAction::Eperm.into()),
        (packet_out(set(vlan(20, None)), frame(None, b"AAAA")), BadAction::Eperm.into()),
        (entry(vec![], vec![output(3)]), BadAction::BadOutPort.into()),
    ];
    for (body, code) in refused {
        assert_eq!(error_of(&sliced.ask(A, body.clone())), Some(code), "{body:?}");
    }
    for body in [
        entry(vec![Oxm::InPort(2)], vec![output(1)]),
        entry(vec![vlan(0, Some(0x1000))], vec![output(1)]),
        entry(vec![vlan(0, Some(0x1000))], set(vlan(10, None))),
        entry(vec![Oxm::VlanVid { value: 0, mask: None }], vec![output(1)]),
        entry(vec![vlan(10, None)], vec![to_controller(64)]),
    ] {
        assert_eq!(sliced.ask(A, body.clone()), [], "{body:?}");
    }
    let told = sliced.switch.slices().nth(1).and_then(|(_, it, _)| it.slice_messages());
    assert_eq!(
        told.map(|it| (it.all, it.refused)),
        Some((11, 5)),
        "a bad port is no matter of slices"
    );
}

#[test]
fn addresses_are_judged_by_both_ends() {
    let networks = vec![tenuto_dataplane::switch::Ipv4Network::new(0x0a01_0000, 16)];
    let traffic = SliceTraffic::new(vec![1, 2], None, networks);
    let config = config(0xa, traffic, PLENTY);
    let operator = self::config(0xff, SliceTraffic::new(vec![], None, vec![]), PLENTY);
    let setup = SliceSetup { name: "a".into(), config: Arc::new(config) };
    let mut sliced = Sliced::new(PLENTY);
    sliced.switch = SlicedSwitch::new(Arc::new(operator), vec![setup]).expect("one");
    sliced.switch.connected_in(1, A, None, &mut sliced.fx).expect("room");
    sliced.heard(A);
    let ip = Oxm::EthType(0x800);
    let from = |value, mask| vec![ip.clone(), Oxm::Ipv4Src { value, mask }];
    let set = |oxm| vec![Action::SetField(oxm), output(1)];
    let outside = Some(ErrorCode::from(FlowModFailed::Eperm));
    assert_eq!(error_of(&sliced.ask(A, entry(from([10, 2, 0, 1], None), vec![]))), outside);
    assert_eq!(sliced.ask(A, entry(from([10, 0, 0, 0], Some([255, 0, 0, 0])), vec![])), []);
    let to = Oxm::Ipv4Dst { value: [10, 2, 0, 1], mask: None };
    let outside = Some(ErrorCode::from(BadAction::Eperm));
    assert_eq!(error_of(&sliced.ask(A, entry(vec![ip.clone()], set(to)))), outside);
    let to = Oxm::Ipv4Dst { value: [10, 1, 0, 9], mask: None };
    assert_eq!(sliced.ask(A, entry(vec![ip.clone()], set(to))), []);
}

#[test]
fn messages_above_the_budget_are_refused_and_the_world_is_told_when() {
    let budget = MessageBudget { changes: 20, ..PLENTY };
    let mut sliced = Sliced::new(budget);
    let change = entry(vec![], vec![output(1)]);
    let bytes = Message::new(7, change.clone()).to_bytes();
    for _ in 0..2 {
        assert_eq!(sliced.switch.message_at(A, sliced.now, &bytes), sliced.now);
        assert_eq!(sliced.ask(A, change.clone()), []);
    }
    let at = sliced.switch.message_at(A, sliced.now, &bytes);
    assert_eq!(at, sliced.now + Span::from_ms(50));
    assert_eq!(error_of(&sliced.ask(A, change.clone())), Some(BadRequest::Eperm.into()));
    assert_eq!(sliced.ask(A, Body::BarrierRequest), [Body::BarrierReply], "another kind");
    assert_eq!(sliced.switch.message_at(B, sliced.now, &bytes), sliced.now, "another slice");
    sliced.now = at;
    assert_eq!(sliced.ask(A, change), []);
    let told = sliced.switch.slices().nth(1).and_then(|(_, it, _)| it.slice_messages());
    assert_eq!(told.map(|it| it.limited), Some(1));
}

#[test]
fn malformed_messages_are_of_the_budget_and_then_not_answered() {
    let mut sliced = Sliced::new(MessageBudget { messages: 20, ..PLENTY });
    let too_short = [4, 14, 0, 8, 0, 0, 0, 1];
    let answered = |sliced: &mut Sliced| {
        assert!(sliced.send(A, &too_short));
        sliced.heard(A).len()
    };
    assert_eq!([(); 4].map(|()| answered(&mut sliced)), [1, 1, 0, 0]);
}

#[test]
fn packet_ins_are_limited_over_all_ports_of_a_slice() {
    let mut sliced = Sliced::new(MessageBudget { packet_ins: 30, ..PLENTY });
    for id in [A, B] {
        assert_eq!(sliced.ask(id, Body::FlowMod(any(0, vec![to_controller(0xffff)]))), []);
    }
    for _ in 0..3 {
        sliced.enter(1, &frame(None, b"AAAA"));
        sliced.enter(2, &frame(None, b"AAAA"));
        sliced.enter(3, &frame(Some(20), b"BBBB"));
    }
    assert_eq!((sliced.heard(A).len(), sliced.heard(B).len()), (3, 3));
    assert_eq!(sliced.switch.packet_ins_withheld(), (3, 0));
}

#[test]
fn only_the_operator_is_told_of_slices_and_it_only_reads() {
    let mut sliced = Sliced::new(PLENTY);
    let request = Body::Experimenter(Experimenter::Slices(SlicesMessage::Request));
    sliced.ask(A, entry(vec![], vec![output(1)]));
    sliced.enter(1, &frame(None, b"AAAA"));
    let told = sliced.ask(OPERATORS, request.clone());
    let [Body::Experimenter(Experimenter::Slices(SlicesMessage::Reply { more: false, slices }))] =
        &told[..]
    else {
        panic!("{told:?}");
    };
    let short =
        slices.iter().map(|it| (it.name.as_str(), it.ports.clone(), it.entries, it.received));
    let short: Vec<_> = short.collect();
    assert_eq!(short, [(Some("a"), vec![1, 2], 1, 1), (Some("b"), vec![2, 3], 0, 0)]);
    let none = SlicesMessage::Reply { more: false, slices: Vec::new() };
    assert_eq!(sliced.ask(A, request), [Body::Experimenter(Experimenter::Slices(none))]);
    for body in [entry(vec![], vec![output(1)]), packet_out(vec![output(1)], frame(None, b"OOOO"))]
    {
        assert_eq!(error_of(&sliced.ask(OPERATORS, body)), Some(BadRequest::Eperm.into()));
    }
    assert!(matches!(sliced.ask(OPERATORS, Body::FeaturesRequest)[..], [Body::FeaturesReply(_)]));
}

#[test]
fn slices_that_claim_the_same_frame_are_refused() {
    let operator = Arc::new(config(0xff, SliceTraffic::new(vec![], None, vec![]), PLENTY));
    let setup = |name: &str, traffic| SliceSetup {
        name: name.into(),
        config: Arc::new(config(1, traffic, PLENTY)),
    };
    let all = SliceTraffic::new(vec![2], None, Vec::new());
    let slices = vec![setup("a", traffic_a()), setup("b", traffic_b()), setup("c", all)];
    let overlap = SlicedSwitch::new(operator, slices).expect_err("c claims all at port 2");
    assert_eq!((overlap.0.as_str(), overlap.1.as_str()), ("a", "c"));
}

/// A port that a tenant takes down is down for that tenant.
#[test]
fn port_mods_and_links_are_told_apart() {
    let mut sliced = Sliced::new(PLENTY);
    for id in [A, B] {
        sliced.ask(id, Body::FlowMod(any(1, vec![output(2)])));
    }
    let down = PortMod {
        port_no: 2,
        hw_addr: [0; 6],
        config: constants::port_config::PORT_DOWN,
        mask: constants::port_config::PORT_DOWN,
        advertise: 0,
    };
    let features =
        sliced.ask(A, Body::MultipartRequest(MultipartRequest::new(RequestBody::PortDescription)));
    let [Body::MultipartReply(reply)] = &features[..] else { panic!("{features:?}") };
    let ReplyBody::PortDescription(ports) = &reply.body else { panic!("{reply:?}") };
    assert_eq!(ports.iter().map(|port| port.port_no).collect::<Vec<_>>(), [1, 2]);
    let down = PortMod { hw_addr: ports[1].hw_addr, ..down };
    sliced.ask(A, Body::PortMod(down));
    assert!(sliced.heard(B).is_empty(), "B is not told");
    sliced.enter(1, &frame(None, b"AAAA"));
    sliced.enter(3, &frame(Some(20), b"BBBB"));
    assert_eq!(sliced.pass(Span::from_ms(10)), [(2, frame(Some(20), b"BBBB"))]);
    sliced.switch.set_link(2, false, &mut sliced.fx);
    assert_eq!((sliced.heard(A).len(), sliced.heard(B).len()), (1, 1));
}
