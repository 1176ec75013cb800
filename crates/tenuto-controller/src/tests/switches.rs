//! An application and the switches that it controls: real cores, links, virtual time.

use crate::reactive::{Reaction, Reactive, ReactiveApp};
use std::collections::BTreeMap;
use std::sync::Arc;
use tenuto_dataplane::switch::{
    ClassifierKind, GeneralConfig, HashKey, PortConfig, PortRole, Switch, SwitchConfig, SwitchEvent,
};
use tenuto_dataplane::{Effects, EgressConfig, FramePool, Frames, TimerId};
use tenuto_openflow::{AttendreConfig, Body, Framer, Message};
use tenuto_units::{Instant, Rate, Span};
use tenuto_wire::{LinkKey, MacAddress, UdpFrame};

/// A place in the network: a switch and its port.
pub(super) type Place = (u64, u32);

pub(super) struct Switches {
    pub(super) app: Reactive<Box<dyn ReactiveApp>>,
    pub(super) now: Instant,
    /// Frames at ports to hosts, in order.
    pub(super) delivered: Vec<(Place, Vec<u8>)>,
    pub(super) notes: Vec<String>,
    pub(super) packet_ins: usize,
    switches: BTreeMap<u64, (Switch, Framer)>,
    links: BTreeMap<Place, Place>,
    left: BTreeMap<Place, u64>,
    frames: FramePool,
}

pub(super) const fn mac(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host]
}

/// A packet of UDP between hosts.
pub(super) fn udp(from: u8, to: u8, ports: (u16, u16)) -> Vec<u8> {
    let frame = UdpFrame {
        eth_dst: MacAddress(mac(to)),
        eth_src: MacAddress(mac(from)),
        ip_src: [10, 0, 0, from],
        ip_dst: [10, 0, 0, to],
        udp_src: ports.0,
        udp_dst: ports.1,
        dscp: 0,
        payload_len: 64,
    };
    let mut bytes = [0; 256];
    let len = frame.emit(&mut bytes).expect("room for it").len;
    bytes[..len].to_vec()
}

fn config(datapath_id: u64, ports: u32, links: &BTreeMap<Place, Place>) -> SwitchConfig {
    let rate = Rate::from_bps(1_000_000_000).expect("not zero");
    let egress = EgressConfig { rate, queues: 2, buffer_bits: 1 << 24, unpromised_from: None };
    let role = |port| match links.contains_key(&(datapath_id, port)) {
        true => PortRole::Trunk(LinkKey::new([7; 16])),
        false => PortRole::Host,
    };
    SwitchConfig {
        datapath_id,
        ports: (1..=ports).map(|port| PortConfig { port, role: role(port), egress }).collect(),
        tables: 4,
        entries_max: 256,
        meters_max: 4,
        groups_max: 4,
        meter_extra_bytes: 24,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 0,
        mode_retry: Span::from_ms(10),
        general: Some(GeneralConfig::default()),
    }
}

impl Switches {
    /// Switches 1 to `count` with so many ports each, connected.
    pub(super) fn new(
        app: Box<dyn ReactiveApp>,
        (count, ports): (u64, u32),
        both: &[(Place, Place)],
        attendre: bool,
    ) -> Self {
        let links: BTreeMap<Place, Place> =
            both.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        let core = |id| (id, (Switch::new(Arc::new(config(id, ports, &links))), Framer::new()));
        let mut this = Self {
            app: Reactive::new(app, 1),
            now: Instant::from_ns(1_000_000_000),
            delivered: Vec::new(),
            notes: Vec::new(),
            packet_ins: 0,
            switches: (1..=count).map(core).collect(),
            links,
            left: BTreeMap::new(),
            frames: FramePool::new(1_024),
        };
        let attendre = attendre.then_some(AttendreConfig {
            is_on: true,
            meter_id: 0,
            timeout_ns: 1_000_000_000,
        });
        for id in 1..=count {
            this.act(id, |switch, _, _, fx| {
                switch.connected(fx);
                // Its hello is a session's business.
                fx.control.clear();
            });
            for body in this.app.connected(id, attendre) {
                this.tell(id, body);
            }
        }
        this.run(Span::from_ms(1));
        this
    }

    /// Calls on a switch and carries on what it causes.
    fn act(
        &mut self,
        id: u64,
        call: impl FnOnce(&mut Switch, Instant, &mut FramePool, &mut Effects<SwitchEvent>),
    ) {
        let mut fx = Effects::new();
        let Some((switch, framer)) = self.switches.get_mut(&id) else { return };
        call(switch, self.now, &mut self.frames, &mut fx);
        let mut bodies = Vec::new();
        for part in fx.control.chunks(Framer::PUSH_BYTES_MAX) {
            framer.push(part).expect("whole messages are taken out");
            bodies
                .extend(std::iter::from_fn(|| framer.next()).map(|it| it.expect("OpenFlow").body));
        }
        for sent in fx.transmits {
            let bytes = self.frames.bytes(sent.frame).to_vec();
            self.frames.release(sent.frame);
            *self.left.entry((id, sent.port)).or_default() += 1;
            match self.links.get(&(id, sent.port)).copied() {
                Some(there) => self.arrive(there, &bytes),
                None => self.delivered.push(((id, sent.port), bytes)),
            }
        }
        bodies.into_iter().for_each(|body| self.hear(id, &body));
    }

    fn arrive(&mut self, (id, port): Place, bytes: &[u8]) {
        let frame = self.frames.insert(bytes).expect("room for it");
        self.act(id, |switch, now, frames, fx| {
            switch.receive(now, now, port, frame, frames, fx);
        });
    }

    fn hear(&mut self, id: u64, body: &Body) {
        if let Body::Error(error) = body {
            panic!("switch {id} refuses: {error}");
        }
        self.packet_ins += usize::from(body_is_packet_in(body));
        let reaction = self.app.receive(self.now, id, body);
        self.obey(reaction);
    }

    fn obey(&mut self, reaction: Reaction) {
        assert_eq!(reaction.fault, None);
        self.notes.extend(reaction.notes);
        for (id, body) in reaction.messages {
            self.tell(id, body);
        }
    }

    fn tell(&mut self, id: u64, body: Body) {
        let bytes = Message::new(1, body).to_bytes();
        self.act(id, |switch, now, frames, fx| {
            switch.control(now, &bytes, frames, fx);
        });
    }

    /// Time passes, and timers of switches and application fire.
    pub(super) fn run(&mut self, span: Span) {
        let end = self.now + span;
        for _ in 0..1_000_000 {
            let switches = self.switches.iter();
            let of_switch =
                switches.filter_map(|(id, it)| it.0.next_deadline().map(|due| (due.1, *id, due.0)));
            let switch: Option<(Instant, u64, TimerId)> = of_switch.min_by_key(|due| due.0);
            let app = self.app.next_deadline().map(|(name, at)| (name.to_owned(), at));
            match (switch, app) {
                (Some((at, id, timer)), app)
                    if at <= end && app.as_ref().is_none_or(|app| at <= app.1) =>
                {
                    self.now = self.now.max(at);
                    self.act(id, |switch, now, frames, fx| switch.fire(timer, now, frames, fx));
                }
                (_, Some((name, at))) if at <= end => {
                    self.now = self.now.max(at);
                    let reaction = self.app.fire(&name, self.now);
                    self.obey(reaction);
                }
                _ => {
                    self.now = end;
                    return;
                }
            }
        }
        panic!("the network never settles");
    }

    /// A host sends; where the frame has arrived a millisecond later.
    pub(super) fn send(&mut self, from: Place, bytes: &[u8]) -> Vec<Place> {
        let before = self.delivered.len();
        self.arrive(from, bytes);
        self.run(Span::from_ms(1));
        self.delivered[before..].iter().map(|(place, _)| *place).collect()
    }

    pub(super) fn set_link(&mut self, (id, port): Place, is_up: bool) {
        self.act(id, |switch, _, _, fx| switch.set_link(port, is_up, fx));
        self.run(Span::from_ms(1));
    }

    /// Frames that have left through a port.
    pub(super) fn through(&self, (id, port): Place) -> u64 {
        *self.left.get(&(id, port)).unwrap_or(&0)
    }

    pub(super) fn app<A: 'static>(&self) -> &A {
        self.app.app().as_ref().as_any().downcast_ref().expect("it is one")
    }
}

fn body_is_packet_in(body: &Body) -> bool {
    use tenuto_openflow::{AttendreMessage, Experimenter};
    matches!(
        body,
        Body::PacketIn(_)
            | Body::Experimenter(Experimenter::Attendre(AttendreMessage::PacketIn { .. }))
    )
}
