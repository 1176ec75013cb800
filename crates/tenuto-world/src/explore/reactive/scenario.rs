//! What never changes while exploring: switches, hosts, links, packets.

use super::super::frames::Interned;
use super::world::World;
use super::{Application, Settings};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tenuto_controller::reactive::{
    Answer, Firewall, Hop, LearningSwitch, LoadBalancer, Packet, Reactive, ReactiveApp, Replica,
    RouteFlow,
};
use tenuto_dataplane::switch::{
    AttendreLimits, ClassifierKind, FailMode, GeneralConfig, HashKey, PortConfig, PortRole, Switch,
    SwitchConfig,
};
use tenuto_dataplane::{Effects, EgressConfig, FrameId, Frames};
use tenuto_openflow::{AttendreConfig, Body, Framer, Message};
use tenuto_units::{Instant, Rate, Span};
use tenuto_wire::build::UDP_PAYLOAD_START;
use tenuto_wire::{LinkKey, MacAddress, UdpFrame};

/// Towards the first host, and towards the last.
const LEFT: u32 = 1;
const RIGHT: u32 = 2;
/// The second replica.
const THIRD: u32 = 3;
/// The instant at which time stands still.
pub(super) const NOW: Instant = Instant::from_ns(1_000_000_000);

/// A host, and where it is attached.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) name: &'static str,
    pub(super) switch: usize,
    pub(super) port: u32,
    /// Its packets, in the order in which it sends them.
    pub(super) packets: Vec<FrameId>,
    /// Whether it sends one for each that it gets, or all by itself.
    pub(super) replies: bool,
}

/// A link in one direction between two switches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) from_port: u32,
    pub(super) to: usize,
    pub(super) to_port: u32,
}

/// What never changes.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    pub(super) settings: Settings,
    pub(super) names: Vec<String>,
    pub(super) hosts: Vec<Host>,
    pub(super) links: Vec<Link>,
}

/// The application of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum App {
    Route(RouteFlow),
    Learning(LearningSwitch),
    Balancer(LoadBalancer),
    Firewall(Firewall),
}

impl ReactiveApp for App {
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        match self {
            Self::Route(app) => app.packet_in(datapath, packet, answer),
            Self::Learning(app) => app.packet_in(datapath, packet, answer),
            Self::Balancer(app) => app.packet_in(datapath, packet, answer),
            Self::Firewall(app) => app.packet_in(datapath, packet, answer),
        }
    }
}

const fn address(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host]
}

/// A packet from a host to another; its number is the first byte of its payload.
fn packet(from: u8, to: u8, number: u8, frames: &mut Interned) -> Result<FrameId, String> {
    let frame = UdpFrame {
        eth_dst: MacAddress(address(to)),
        eth_src: MacAddress(address(from)),
        ip_src: [10, 0, 0, from],
        ip_dst: [10, 0, 0, to],
        // A reply goes from the port that was asked back to the one that has asked.
        udp_src: from.into(),
        udp_dst: to.into(),
        dscp: 0,
        payload_len: 64,
    };
    let mut buffer = [0; 128];
    let written = frame.emit(&mut buffer).map_err(|error| error.to_string())?;
    buffer[UDP_PAYLOAD_START] = number;
    // Hosts are numbered from 1, their places from 0.
    buffer[UDP_PAYLOAD_START + 1] = from - 1;
    frames.insert(&buffer[..written.len]).ok_or_else(|| "no room for a packet".to_owned())
}

/// The place of the host that sent a packet, and its number.
pub(super) fn packet_of(bytes: &[u8]) -> Option<(u8, u8)> {
    Some((*bytes.get(UDP_PAYLOAD_START + 1)?, *bytes.get(UDP_PAYLOAD_START)?))
}

impl Fixed {
    /// The start: switches with nothing but a table-miss entry, packets still to be sent.
    ///
    /// # Errors
    /// In words, if the settings fit no scenario.
    pub(super) fn new(settings: &Settings, frames: &mut Interned) -> Result<(Self, World), String> {
        let count = usize::from(settings.switches);
        let is_single =
            matches!(settings.application, Application::LoadBalancer | Application::Firewall);
        if count == 0 || count > 16 || settings.packets == 0 || is_single && count != 1 {
            let name = settings.application.name();
            let text = if is_single { "one switch" } else { "1 to 16 switches" };
            return Err(format!("{name} is explored with {text} and at least one packet"));
        }
        let fixed = Self {
            settings: settings.clone(),
            names: (1..=count).map(|number| format!("s{number}")).collect(),
            hosts: hosts(settings, count, frames)?,
            links: links(count),
        };
        let mut switches = Vec::new();
        for place in 0..count {
            let mut switch = Switch::new(Arc::new(fixed.switch_config(place)));
            switch.set_attendre_mutant(settings.mutant);
            start(&mut switch, settings.attendre, frames)?;
            switches.push(Arc::new(switch));
        }
        let world = World {
            switches,
            channels: vec![VecDeque::new(); fixed.links.len()],
            sent: vec![0; fixed.hosts.len()],
            received: vec![Vec::new(); fixed.hosts.len()],
            to_controller: vec![VecDeque::new(); count],
            to_switch: vec![VecDeque::new(); count],
            controller: Reactive::new(fixed.app(), 1),
            answers: 0,
            timeouts_left: settings.timeouts,
            losses_left: settings.lost_commands,
            findings: Vec::new(),
        };
        Ok((fixed, world))
    }

    fn app(&self) -> App {
        let count = self.names.len();
        match self.settings.application {
            Application::RouteFlow => {
                let hops = (1..=count as u64).map(|datapath| Hop { datapath, port: RIGHT });
                App::Route(RouteFlow::new().with_way(address(2), hops.collect()))
            }
            Application::LearningSwitch => App::Learning(LearningSwitch::new(16)),
            Application::LoadBalancer => {
                let replica = |host, port| Replica { address: address(host), port };
                let replicas = vec![replica(2, RIGHT), replica(3, THIRD)];
                App::Balancer(LoadBalancer::new(address(9), replicas))
            }
            Application::Firewall => App::Firewall(Firewall::new(LEFT, RIGHT, 16)),
        }
    }

    fn switch_config(&self, place: usize) -> SwitchConfig {
        let rate = Rate::from_bps(1_000_000_000).expect("not zero");
        let egress = EgressConfig { rate, queues: 2, buffer_bits: 1 << 24, unpromised_from: None };
        let is_trunk = |port| self.links.iter().any(|l| l.from == place && l.from_port == port);
        let ports = match self.settings.application {
            Application::LoadBalancer => LEFT..=THIRD,
            _ => LEFT..=RIGHT,
        };
        let port = |port| PortConfig {
            port,
            role: match is_trunk(port) {
                true => PortRole::Trunk(LinkKey::new([7; 16])),
                false => PortRole::Host,
            },
            egress,
        };
        SwitchConfig {
            datapath_id: place as u64 + 1,
            ports: ports.map(port).collect(),
            tables: 1,
            entries_max: 64,
            meters_max: 1,
            groups_max: 1,
            meter_extra_bytes: 24,
            classifier: ClassifierKind::ByMask,
            hash_key: HashKey::fixed(),
            boot_seed: 0,
            mode_retry: Span::from_ms(10),
            general: Some(GeneralConfig {
                tables_change: false,
                packet_ins_per_s: None,
                bands_max: 1,
                buffers_max: 64,
                connections_max: 1,
                fail_mode: FailMode::Secure,
                began: Instant::ZERO,
                learned_max: 1,
                description: String::new(),
                port_names: BTreeMap::new(),
                entries_at_once: None,
                masks_max: 1_024,
                actions_max: 1_000,
                buckets_max: 64,
                copies_max: 64,
                frame_bits_least: 0,
                attendre: Some(AttendreLimits::default()),
                slice: None,
            }),
        }
    }

    /// The host at a port of a switch.
    pub(super) fn host_at(&self, switch: usize, port: u32) -> Option<usize> {
        self.hosts.iter().position(|host| host.switch == switch && host.port == port)
    }

    pub(super) fn place(&self, switch: &str) -> Option<usize> {
        self.names.iter().position(|name| name == switch)
    }

    pub(super) fn link(&self, from: &str, to: &str) -> Option<usize> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        self.links.iter().position(|link| link.from == from && link.to == to)
    }
}

fn hosts(settings: &Settings, count: usize, frames: &mut Interned) -> Result<Vec<Host>, String> {
    let is_balanced = settings.application == Application::LoadBalancer;
    let target = if is_balanced { 9 } else { 2 };
    let replies = settings.application.has_replies();
    let mut packets = |from, to| -> Result<Vec<FrameId>, String> {
        (1..=settings.packets).map(|number| packet(from, to, number, frames)).collect()
    };
    let host = |name, switch, port, packets, replies| Host { name, switch, port, packets, replies };
    let back = if replies { packets(2, 1)? } else { Vec::new() };
    let mut hosts = vec![
        host("h1", 0, LEFT, packets(1, target)?, false),
        host("h2", count - 1, RIGHT, back, true),
    ];
    if is_balanced {
        hosts.push(host("h3", 0, THIRD, Vec::new(), true));
    }
    Ok(hosts)
}

fn links(count: usize) -> Vec<Link> {
    let both = |left: usize| {
        let (from, to) = (left, left + 1);
        [
            Link { from, from_port: RIGHT, to, to_port: LEFT },
            Link { from: to, from_port: LEFT, to: from, to_port: RIGHT },
        ]
    };
    (0..count - 1).flat_map(both).collect()
}

/// Tells a switch what a controller tells it first.
fn start(switch: &mut Switch, attendre: bool, frames: &mut Interned) -> Result<(), String> {
    // Short against the second that a switch keeps a packet for the controller: however often a
    // timer fires, time stands still for that.
    let config = AttendreConfig { is_on: true, meter_id: 0, timeout_ns: 1_000_000 };
    let mut fx = Effects::new();
    switch.connected(&mut fx);
    fx.clear();
    for body in Reactive::<App>::start(attendre.then_some(config)) {
        let bytes = Message::new(0, body).to_bytes();
        switch.control(NOW, &bytes, frames, &mut fx);
    }
    match bodies(&fx.control).first() {
        None => Ok(()),
        Some(answer) => Err(format!("a switch answers its start: {answer:?}")),
    }
}

/// The messages in what a switch said.
pub(super) fn bodies(bytes: &[u8]) -> Vec<Body> {
    let (mut framer, mut bodies) = (Framer::new(), Vec::new());
    for part in bytes.chunks(Framer::PUSH_BYTES_MAX) {
        if framer.push(part).is_err() {
            break;
        }
        while let Some(Ok(message)) = framer.next() {
            bodies.push(message.body);
        }
    }
    bodies
}
