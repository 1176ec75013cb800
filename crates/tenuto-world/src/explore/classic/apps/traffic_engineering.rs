//! REsPoNse: always-on paths, and on-demand paths while the load is high (\[Attendre\] VI.C).

use crate::explore::classic::Application;
use crate::explore::classic::Mixer;
use crate::explore::classic::PacketIn;
use crate::explore::classic::{Actions, Match, Rule};
use crate::explore::classic::{Answers, Load};
use crate::explore::classic::{Ip, Mac, Packet, Payload};

/// More megabytes than this between two statistics are a high load.
pub const HIGH_MEGABYTES: u16 = 500;
/// More than this are a very high load.
pub const VERY_HIGH_MEGABYTES: u16 = 1_000;

/// Where hosts are, and the ways there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// By host: addresses, and the port of each switch towards it on always-on and on-demand ways.
    pub hosts: Vec<Place>,
    /// By source and target, both by their number in `hosts`: switches of the always-on way.
    pub always_on: Vec<Vec<Vec<usize>>>,
    /// By source and target, as above: switches of the on-demand way.
    pub on_demand: Vec<Vec<Vec<usize>>>,
}

/// A host, as the controller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its MAC address.
    pub mac: Mac,
    /// Its IPv4 address.
    pub ip: Ip,
    /// By switch: the port towards it, always on.
    pub always_on: Vec<u8>,
    /// By switch: the port towards it, on demand.
    pub on_demand: Vec<u8>,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    AlwaysOn,
    OnDemand,
}

/// What was last told of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    value: u16,
    since: u16,
}

/// The application.
#[derive(Clone, Debug)]
pub struct TrafficEngineering<'a> {
    map: &'a Map,
    /// Whether a packet is sent on by a switch that is not on the way of its load.
    sends_strays: bool,
    load: Option<Known>,
    is_high: bool,
    /// The way last installed; empty after an ARP packet.
    last: &'a [usize],
}

impl<'a> TrafficEngineering<'a> {
    /// With low load, nothing installed.
    pub const fn new(map: &'a Map) -> Self {
        Self { map, sends_strays: true, load: None, is_high: false, last: &[] }
    }

    /// As the classic tool released it, and as published counts have it: a packet that reaches a switch
    /// of the on-demand way when the load has fallen stays in its buffer.
    pub const fn as_released(map: &'a Map) -> Self {
        Self { sends_strays: false, ..Self::new(map) }
    }

    /// Half of the targets move to the on-demand way under high load: those of odd addresses.
    const fn way(&self, target: Ip) -> Way {
        if self.is_high && target.0 % 2 == 1 { Way::OnDemand } else { Way::AlwaysOn }
    }

    fn place(&self, ip: Ip) -> Option<usize> {
        self.map.hosts.iter().position(|host| host.ip == ip)
    }

    fn path(&self, from: usize, to: usize, way: Way) -> &'a [usize] {
        let ways = if way == Way::OnDemand { &self.map.on_demand } else { &self.map.always_on };
        &ways[from][to]
    }

    fn port(&self, switch: usize, to: usize, way: Way) -> u8 {
        let host = &self.map.hosts[to];
        if way == Way::OnDemand { host.on_demand[switch] } else { host.always_on[switch] }
    }

    /// ARP takes the always-on way, switch by switch.
    fn forward(&mut self, switch: usize, target: Ip, asked: &PacketIn, answers: &mut Answers) {
        self.last = &[];
        let Some(to) = self.place(target) else { return };
        let matching = Match::of_packet_at(&asked.packet, asked.port);
        let rule = Rule::new(matching, Actions::output(self.port(switch, to, Way::AlwaysOn)));
        answers.add_and_release(switch, rule, asked);
    }

    /// Every switch of the way gets its rule; the one that asked sends the packet by it.
    fn install(&mut self, switch: usize, ends: [Ip; 2], asked: &PacketIn, answers: &mut Answers) {
        let [Some(from), Some(to)] = ends.map(|ip| self.place(ip)) else { return };
        let way = self.way(ends[1]);
        let path = self.path(from, to, way);
        let here = path.iter().position(|it| *it == switch);
        for (at, on) in path.iter().enumerate() {
            let matching = Match::of_packet(&asked.packet);
            let rule = Rule::new(matching, Actions::output(self.port(*on, to, way)));
            if *on == switch {
                answers.add_and_release(*on, rule, asked);
            } else {
                answers.add(*on, rule);
            }
            if here.is_some_and(|here| at >= here) && at + 1 < path.len() {
                answers.goes_on();
            }
        }
        if here.is_none() && self.sends_strays {
            let out = self.port(switch, to, Way::OnDemand);
            answers.packet_out(switch, asked, Actions::output(out));
        }
        self.last = path;
    }
}

impl Application for TrafficEngineering<'_> {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        match asked.packet.payload {
            Payload::Arp { target, .. } => self.forward(switch, target, asked, answers),
            Payload::Tcp { source, destination, .. } => {
                self.install(switch, [source, destination], asked, answers);
            }
            Payload::Empty => {}
        }
    }

    /// The first statistics are what later ones are compared with.
    fn statistics(&mut self, _switch: usize, load: &mut Load) {
        let Some(before) = self.load else {
            self.load = Some(Known { value: load.value(), since: 0 });
            return;
        };
        self.is_high = load.exceeds(before.value, HIGH_MEGABYTES);
        if self.is_high {
            load.exceeds(before.value, VERY_HIGH_MEGABYTES);
        }
        let since = load.value().wrapping_sub(before.value);
        self.load = Some(Known { value: load.value(), since });
    }

    fn wrong_route(&self, packet: &Packet) -> Option<String> {
        let Payload::Tcp { source, destination, .. } = packet.payload else { return None };
        let [from, to] = [self.place(source)?, self.place(destination)?];
        let right = self.path(from, to, self.way(destination));
        let is_wrong = from == 0 && !self.last.is_empty() && self.last != right;
        is_wrong.then(|| format!("{packet}: the rules are not those of the load"))
    }

    fn key(&self, _has_learned: bool, mixer: &mut Mixer) {
        let known =
            self.load.map_or(0, |it| 1 << 32 | u64::from(it.value) << 16 | u64::from(it.since));
        mixer.word(known << 1 | u64::from(self.is_high));
        let path = self.last.iter().fold(1_u64, |path, switch| path << 8 | *switch as u64);
        mixer.word(path);
    }
}
