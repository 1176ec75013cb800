//! Slices in front of a switch that knows none: a general switch behind the proxy, and two controllers.

use crate::slices::{config, frame, traffic_a, traffic_b};
use crate::support;
use std::sync::Arc;
use support::general::{any, entry, to_controller};
use support::{Bench, output};
use tenuto_dataplane::Frames;
use tenuto_dataplane::switch::{
    ConnectionId, GeneralConfig, MessageBudget, ProxyEffects, ProxyEvent, ProxyPeer, ProxyRefused,
    SliceProxy, SliceSetup, SliceTraffic, SwitchConfig,
};
use tenuto_openflow::constants::{NO_BUFFER, flow_flag, port, table};
use tenuto_openflow::*;
use tenuto_units::{Instant, Span};

pub(crate) const A: usize = 0;
pub(crate) const B: usize = 1;
/// The second controller of A.
pub(crate) const SECOND: ProxyPeer = ProxyPeer { slice: A, connection: ConnectionId(2) };

pub(crate) const fn first(slice: usize) -> ProxyPeer {
    ProxyPeer { slice, connection: ConnectionId(1) }
}

/// A switch of others, the proxy before it, and what controllers have heard.
pub(crate) struct Proxied {
    pub(crate) proxy: SliceProxy,
    pub(crate) switch: Bench,
    pub(crate) heard: [Vec<u8>; 2],
    /// What a second controller of A has heard.
    pub(crate) second: Vec<u8>,
    pub(crate) events: Vec<ProxyEvent>,
    pub(crate) now: Instant,
}

fn setup(name: &str, id: u64, traffic: SliceTraffic, budget: MessageBudget) -> SliceSetup {
    let own = config(id, traffic, budget);
    let general = own.general.expect("a slice");
    let general = GeneralConfig { buffers_max: 0, connections_max: 2, ..general };
    let config = SwitchConfig { entries_max: 8, meters_max: 4, general: Some(general), ..own };
    SliceSetup { name: name.into(), config: Arc::new(config) }
}

impl Proxied {
    pub(crate) fn new(budget: MessageBudget) -> Self {
        // Meters of slices are numbered from thousands.
        let switch = Bench::with(SwitchConfig {
            meters_max: 4_096,
            groups_max: 64,
            ..support::general::config()
        });
        let port = |port_no| Port {
            port_no,
            hw_addr: [2, 0, 0, 0, 0, u8::try_from(port_no).expect("small")],
            name: FixedText::new(&format!("eth{port_no}")),
            config: 0,
            state: 0,
            curr: 0,
            advertised: 0,
            supported: 0,
            peer: 0,
            curr_speed: 0,
            max_speed: 0,
        };
        let slices =
            vec![setup("a", 0xa, traffic_a(), budget), setup("b", 0xb, traffic_b(), budget)];
        let proxy = SliceProxy::new([1, 2, 3, 4].map(port).to_vec(), slices).expect("they fit");
        let now = Instant::from_ns(1_000_000_000);
        let mut proxied = Self {
            proxy,
            switch,
            heard: [Vec::new(), Vec::new()],
            second: Vec::new(),
            events: Vec::new(),
            now,
        };
        proxied.switch.now = now;
        let mut out = ProxyEffects::default();
        proxied.proxy.start(&mut out);
        proxied.settle(out);
        for slice in [A, B] {
            let mut out = ProxyEffects::default();
            assert!(proxied.proxy.connected(first(slice), &mut out));
            proxied.settle(out);
            assert!(matches!(proxied.bodies(slice)[..], [Body::Hello(_)]));
        }
        proxied
    }

    /// Hands everything to whom it is for, until nobody says anything more.
    pub(crate) fn settle(&mut self, mut out: ProxyEffects) {
        loop {
            for (peer, bytes) in out.to_controllers.drain(..) {
                match peer == SECOND {
                    true => self.second.extend(bytes),
                    false => self.heard[peer.slice].extend(bytes),
                }
            }
            self.events.append(&mut out.events);
            if out.to_switch.is_empty() {
                return;
            }
            let bytes = std::mem::take(&mut out.to_switch);
            let switch = &mut self.switch;
            assert!(switch.switch.control(self.now, &bytes, &mut switch.frames, &mut switch.fx));
            self.take_answers(&mut out);
        }
    }

    pub(crate) fn take_answers(&mut self, out: &mut ProxyEffects) {
        let mut framer = Framer::new();
        let answers = std::mem::take(&mut self.switch.fx.control);
        for part in answers.chunks(Framer::PUSH_BYTES_MAX) {
            framer.push(part).expect("room");
            while let Some(message) = framer.next() {
                let bytes = message.expect("the switch writes well").to_bytes();
                self.proxy.from_switch(self.now, &bytes, out);
            }
        }
    }

    pub(crate) fn send(&mut self, slice: usize, body: Body) {
        let mut out = ProxyEffects::default();
        let bytes = Message::new(7, body).to_bytes();
        assert!(self.proxy.from_controller(first(slice), self.now, &bytes, &mut out));
        self.settle(out);
    }

    pub(crate) fn bodies(&mut self, slice: usize) -> Vec<Body> {
        let mut framer = Framer::new();
        framer.push(&std::mem::take(&mut self.heard[slice])).expect("short");
        std::iter::from_fn(|| framer.next()).map(|it| it.expect("whole").body).collect()
    }

    pub(crate) fn ask(&mut self, slice: usize, body: Body) -> Vec<Body> {
        self.send(slice, body);
        self.bodies(slice)
    }

    /// A frame enters the switch: where it leaves, with its bytes.
    pub(crate) fn enter(&mut self, port: u32, bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let switch = &mut self.switch;
        let frame = switch.frames.insert(bytes).expect("room");
        switch.switch.receive(self.now, self.now, port, frame, &mut switch.frames, &mut switch.fx);
        let mut out = ProxyEffects::default();
        self.take_answers(&mut out);
        self.settle(out);
        self.leaving()
    }

    /// What leaves the switch within some milliseconds.
    pub(crate) fn leaving(&mut self) -> Vec<(u32, Vec<u8>)> {
        self.now += Span::from_ms(5);
        let switch = &mut self.switch;
        switch.switch.fire_due(self.now, &mut switch.frames, &mut switch.fx);
        let mut out = ProxyEffects::default();
        self.take_answers(&mut out);
        self.settle(out);
        let switch = &mut self.switch;
        let sent = std::mem::take(&mut switch.fx.transmits);
        let bytes = |sent: &tenuto_dataplane::Transmit| {
            let bytes = switch.frames.bytes(sent.frame).to_vec();
            switch.frames.release(sent.frame);
            (sent.port, bytes)
        };
        sent.iter().map(bytes).collect()
    }

    pub(crate) fn entries(&self) -> usize {
        self.switch.switch.tables().entries()
    }

    pub(crate) fn audit(&mut self) {
        let mut out = ProxyEffects::default();
        self.proxy.audit(&mut out);
        self.settle(out);
    }
}

pub(crate) const PLENTY: MessageBudget = crate::slices::PLENTY;

pub(crate) fn error_of(heard: &[Body]) -> Option<ErrorCode> {
    match heard {
        [Body::Error(error)] => ErrorCode::from_wire(error.type_, error.code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_controller_has_a_switch_of_its_own() {
    let mut proxied = Proxied::new(PLENTY);
    let own = proxied.entries();
    assert_eq!(proxied.ask(A, Body::FlowMod(any(1, vec![output(2)]))), []);
    assert_eq!(proxied.ask(B, Body::FlowMod(any(1, vec![output(3)]))), []);
    assert_eq!(proxied.entries(), own + 2);
    assert_eq!(proxied.enter(1, &frame(None, b"AAAA")), [(2, frame(None, b"AAAA"))]);
    assert_eq!(proxied.enter(2, &frame(Some(20), b"BBBB")), [(3, frame(Some(20), b"BBBB"))]);
    assert_eq!(proxied.enter(4, &frame(None, b"none")), [], "nobody's");
    assert_eq!(proxied.enter(2, &frame(Some(40), b"none")), [], "nobody's VLAN");
    let features = proxied.ask(A, Body::FeaturesRequest);
    let [Body::FeaturesReply(features)] = &features[..] else { panic!("{features:?}") };
    assert_eq!((features.datapath_id, features.n_tables), (0xa, 4));
    let stats = RequestBody::Flow(FlowStatsRequest::ALL);
    let told = proxied.ask(B, Body::MultipartRequest(MultipartRequest::new(stats)));
    let entries: Vec<(u8, u64)> = told
        .iter()
        .flat_map(|body| match body {
            Body::MultipartReply(MultipartReply { body: ReplyBody::Flow(all), .. }) => all.clone(),
            other => panic!("{other:?}"),
        })
        .map(|it| (it.table_id, it.packet_count))
        .collect();
    assert_eq!(entries, [(0, 1)], "its own entry, in its own table");
    let ports = MultipartRequest::new(RequestBody::PortDescription);
    let told = proxied.ask(B, Body::MultipartRequest(ports));
    let [Body::MultipartReply(MultipartReply { body: ReplyBody::PortDescription(ports), .. })] =
        &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(ports.iter().map(|port| port.port_no).collect::<Vec<_>>(), [2, 3]);
    // One that deletes all deletes its own.
    let all = Body::FlowMod(FlowMod::new(FlowModCommand::Delete, table::ALL));
    assert_eq!(proxied.ask(A, all), []);
    assert_eq!(proxied.entries(), own + 1);
    assert_eq!(proxied.enter(1, &frame(None, b"AAAA")), []);
    assert_eq!(proxied.ask(A, Body::BarrierRequest), [Body::BarrierReply]);
}

#[test]
fn what_reaches_out_of_the_slice_gets_its_error_and_is_told() {
    let mut proxied = Proxied::new(PLENTY);
    let before = proxied.entries();
    let vlan = |value| Action::SetField(Oxm::VlanVid { value, mask: None });
    let bad: Vec<(Body, ErrorCode)> = vec![
        (entry(vec![Oxm::InPort(3)], vec![output(2)]), FlowModFailed::Eperm.into()),
        (entry(vec![], vec![output(3)]), BadAction::BadOutPort.into()),
        (entry(vec![], vec![output(port::NORMAL)]), BadAction::Eperm.into()),
        (entry(vec![], vec![vlan(0x1014), output(2)]), BadAction::Eperm.into()),
        (entry(vec![], vec![Action::PushVlan(0x8100), output(2)]), BadAction::Eperm.into()),
        (entry(vec![], vec![Action::PushMpls(0x8847), output(2)]), BadAction::Eperm.into()),
    ];
    for (body, code) in bad {
        assert_eq!(error_of(&proxied.ask(A, body.clone())), Some(code), "{body:?}");
    }
    assert_eq!(proxied.entries(), before, "nothing has reached the switch");
    let refused = proxied
        .events
        .iter()
        .filter(|it| matches!(it, ProxyEvent::Refused { slice, .. } if slice == "a"));
    assert_eq!(refused.count(), 6, "{:?}", proxied.events);
    // A flood goes out of the ports of the slice.
    assert_eq!(proxied.ask(A, Body::FlowMod(any(1, vec![output(port::FLOOD)]))), []);
    assert_eq!(proxied.enter(1, &frame(None, b"AAAA")), [(2, frame(None, b"AAAA"))]);
    // More entries than the slice may have.
    for priority in 2..=8 {
        assert_eq!(proxied.ask(A, Body::FlowMod(any(priority, vec![output(2)]))), []);
    }
    let full = proxied.ask(A, Body::FlowMod(any(9, vec![output(2)])));
    assert_eq!(error_of(&full), Some(FlowModFailed::TableFull.into()));
}

#[test]
fn packets_to_and_from_a_controller_are_those_of_its_slice() {
    let mut proxied = Proxied::new(MessageBudget { packet_ins: 20, ..PLENTY });
    assert_eq!(proxied.ask(A, Body::FlowMod(any(0, vec![to_controller(64)]))), []);
    for _ in 0..3 {
        proxied.enter(1, &frame(None, b"AAAA"));
        proxied.enter(3, &frame(Some(20), b"BBBB"));
    }
    let heard = proxied.bodies(A);
    assert_eq!(heard.len(), 2, "a tenth of twenty: {heard:?}");
    let Body::PacketIn(packet_in) = &heard[0] else { panic!("{heard:?}") };
    assert_eq!((packet_in.table_id, packet_in.buffer_id), (0, NO_BUFFER));
    assert_eq!(packet_in.data, frame(None, b"AAAA"), "whole, whatever was asked for");
    assert!(proxied.bodies(B).is_empty());
    let packet_out = |vlan, actions| {
        let data = frame(vlan, b"AAAA");
        Body::PacketOut(PacketOut {
            buffer_id: NO_BUFFER,
            in_port: port::CONTROLLER,
            actions,
            data,
        })
    };
    assert_eq!(proxied.ask(A, packet_out(None, vec![output(1), output(2)])), []);
    let mut left = proxied.leaving();
    left.sort_unstable();
    assert_eq!(left, [(1, frame(None, b"AAAA")), (2, frame(None, b"AAAA"))]);
    assert_eq!(proxied.ask(A, packet_out(Some(20), vec![output(2)])), []);
    assert_eq!(proxied.leaving(), [], "a frame of another slice");
    let tagged = vec![
        Action::PushVlan(0x8100),
        Action::SetField(Oxm::VlanVid { value: 0x1014, mask: None }),
        output(2),
    ];
    proxied.ask(A, packet_out(None, tagged));
    assert_eq!(proxied.leaving(), [], "made one of another slice");
}

#[test]
fn what_happens_past_the_proxy_is_noticed() {
    let mut proxied = Proxied::new(PLENTY);
    proxied.ask(A, Body::FlowMod(any(1, vec![output(2)])));
    proxied.audit();
    proxied.audit();
    assert_eq!(proxied.events, [], "all is as it should be");
    let mine = FlowMod { table_id: 2, ..any(77, vec![output(4)]) };
    let gone = FlowMod::new(FlowModCommand::Delete, 1);
    for body in [Body::FlowMod(mine), Body::FlowMod(gone)] {
        let bytes = Message::new(9, body).to_bytes();
        let switch = &mut proxied.switch;
        assert!(switch.switch.control(proxied.now, &bytes, &mut switch.frames, &mut switch.fx));
        switch.fx.control.clear();
    }
    proxied.audit();
    assert_eq!(proxied.events, [], "it may have been on its way");
    proxied.audit();
    let foreign = ProxyEvent::Foreign { table: 2, priority: 77, match_: Match::ANY };
    let missing = ProxyEvent::Missing { slice: Some("a".into()), entries: 1 };
    assert_eq!(proxied.events, [foreign, missing]);
}

/// An entry that times out makes room again, and its controller hears of it if it wants to.
#[test]
fn entries_that_time_out_are_gone_from_the_slice_too() {
    let mut proxied = Proxied::new(PLENTY);
    let short = |priority, flags| {
        Body::FlowMod(FlowMod { hard_timeout: 1, flags, ..any(priority, vec![output(2)]) })
    };
    proxied.ask(A, short(1, 0));
    proxied.ask(A, short(2, flow_flag::SEND_FLOW_REM));
    proxied.now += Span::from_s(2);
    proxied.leaving();
    let heard = proxied.bodies(A);
    let [Body::FlowRemoved(removed)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!((removed.priority, removed.table_id), (2, 0));
    for priority in 1..=8 {
        assert_eq!(proxied.ask(A, Body::FlowMod(any(priority, vec![output(2)]))), []);
    }
}

#[test]
fn slices_that_do_not_fit_are_refused() {
    let slices = vec![
        setup("a", 1, traffic_a(), PLENTY),
        setup("c", 2, SliceTraffic::new(vec![2], None, Vec::new()), PLENTY),
    ];
    assert!(matches!(SliceProxy::new(Vec::new(), slices).err(), Some(ProxyRefused::Overlap(_))));
}
