//! Rules of a switch's one table: exact attributes, wildcards where one is absent, and actions.

use super::key::{Keyed, Mixer};
use super::packet::{Ip, Mac, Packet, Payload};
use std::fmt;

/// Priority where an application states none.
pub const PRIORITY_DEFAULT: u16 = 0x8000;

/// What a packet carries, as a rule asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// TCP over IPv4.
    Tcp,
    /// ARP.
    Arp,
    /// Neither.
    Other,
}

impl Kind {
    /// What a packet carries.
    pub const fn of(packet: &Packet) -> Self {
        match packet.payload {
            Payload::Empty => Self::Other,
            Payload::Arp { .. } => Self::Arp,
            Payload::Tcp { .. } => Self::Tcp,
        }
    }
}

/// IPv4 addresses that agree in some bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    /// The bits.
    pub value: u8,
    /// Which of them count.
    pub mask: u8,
}

impl Prefix {
    /// One address.
    pub const fn exact(ip: Ip) -> Self {
        Self { value: ip.0, mask: u8::MAX }
    }

    /// Whether it contains an address.
    pub const fn contains(self, ip: Ip) -> bool {
        (ip.0 ^ self.value) & self.mask == 0
    }
}

/// What a rule asks of a packet; an absent attribute may be anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Ethernet destination.
    pub destination: Option<Mac>,
    /// Ethernet source.
    pub source: Option<Mac>,
    /// What it carries.
    pub kind: Option<Kind>,
    /// The port that it came in at.
    pub port: Option<u8>,
    /// IPv4 destination.
    pub ip_destination: Option<Ip>,
    /// IPv4 source.
    pub ip_source: Option<Prefix>,
}

impl Match {
    /// Every attribute of a packet, but not its port.
    pub fn of_packet(packet: &Packet) -> Self {
        let (ip_source, ip_destination) = match packet.payload {
            Payload::Tcp { source, destination, .. } => (source, destination),
            Payload::Empty | Payload::Arp { .. } => (Ip(0), Ip(0)),
        };
        Self {
            destination: Some(packet.destination),
            source: Some(packet.source),
            kind: Some(Kind::of(packet)),
            port: None,
            ip_destination: Some(ip_destination),
            ip_source: Some(Prefix::exact(ip_source)),
        }
    }

    /// Every attribute of a packet, and its port.
    pub fn of_packet_at(packet: &Packet, port: u8) -> Self {
        Self { port: Some(port), ..Self::of_packet(packet) }
    }

    /// Whether a packet at a port has what is asked for.
    pub fn matches(&self, packet: &Packet, port: u8) -> bool {
        let (source, destination) = match packet.payload {
            Payload::Tcp { source, destination, .. } => (source, destination),
            Payload::Empty | Payload::Arp { .. } => (Ip(0), Ip(0)),
        };
        self.destination.is_none_or(|it| it == packet.destination)
            && self.source.is_none_or(|it| it == packet.source)
            && self.kind.is_none_or(|it| it == Kind::of(packet))
            && self.port.is_none_or(|it| it == port)
            && self.ip_destination.is_none_or(|it| it == destination)
            && self.ip_source.is_none_or(|it| it.contains(source))
    }

    /// The order of tables: attribute by attribute; one that is asked for comes before one that is not.
    fn rank(&self) -> [(bool, u16); 6] {
        let prefix = self.ip_source.map(|it| u16::from_be_bytes([it.value, it.mask]));
        let rank = |value: Option<u16>| (value.is_none(), value.unwrap_or(0));
        [
            rank(self.destination.map(|it| it.0.into())),
            rank(self.source.map(|it| it.0.into())),
            rank(self.kind.map(|it| it as u16)),
            rank(self.port.map(Into::into)),
            rank(self.ip_destination.map(|it| it.0.into())),
            rank(prefix),
        ]
    }

    fn words(&self) -> [u64; 2] {
        let byte = |value: Option<u8>| u64::from(value.map_or(0x1ff, u16::from));
        let prefix = self
            .ip_source
            .map_or(0x1_ffff, |it| u64::from(u16::from_be_bytes([it.value, it.mask])));
        let first = byte(self.destination.map(|it| it.0))
            | byte(self.source.map(|it| it.0)) << 16
            | byte(self.kind.map(|it| it as u8)) << 32
            | byte(self.port) << 48;
        [first, byte(self.ip_destination.map(|it| it.0)) | prefix << 16]
    }
}

impl Keyed for Match {
    fn key(&self, mixer: &mut Mixer) {
        let [first, second] = self.words();
        mixer.word(first);
        mixer.word(second);
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mac = |it: Mac| format!("{:02x}", it.0);
        let parts = [
            self.port.map(|it| format!("in_port={it}")),
            self.source.map(|it| format!("eth_src={}", mac(it))),
            self.destination.map(|it| format!("eth_dst={}", mac(it))),
            self.kind.map(|it| format!("{it:?}").to_lowercase()),
            self.ip_source.map(|it| format!("ip_src=.{}/{:08b}", it.value, it.mask)),
            self.ip_destination.map(|it| format!("ip_dst=.{}", it.0)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(&if parts.is_empty() { "anything".into() } else { parts.join(",") })
    }
}

/// One thing done to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Out of a port.
    Output(u8),
    /// Out of every connected port but the one it came in at.
    Flood,
    /// Back out of the port it came in at.
    InPort,
    /// To the controller.
    Controller,
    /// Another Ethernet source.
    SetSource(Mac),
    /// Another Ethernet destination.
    SetDestination(Mac),
    /// Another IPv4 source.
    SetIpSource(Ip),
    /// Another IPv4 destination.
    SetIpDestination(Ip),
}

impl Action {
    const fn word(self) -> u64 {
        let (tag, value) = match self {
            Self::Output(port) => (1, port),
            Self::Flood => (2, 0),
            Self::InPort => (3, 0),
            Self::Controller => (4, 0),
            Self::SetSource(mac) => (5, mac.0),
            Self::SetDestination(mac) => (6, mac.0),
            Self::SetIpSource(ip) => (7, ip.0),
            Self::SetIpDestination(ip) => (8, ip.0),
        };
        tag << 8 | value as u64
    }
}

/// Most actions of one list.
pub const ACTIONS_MAX: usize = 4;

/// Actions in their order, at most [`ACTIONS_MAX`]; none drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Actions([Option<Action>; ACTIONS_MAX]);

impl Actions {
    /// A list; what is beyond [`ACTIONS_MAX`] is not done.
    pub fn new(list: &[Action]) -> Self {
        let mut actions = Self::default();
        for (place, action) in actions.0.iter_mut().zip(list) {
            *place = Some(*action);
        }
        actions
    }

    /// Out of one port.
    pub const fn output(port: u8) -> Self {
        Self([Some(Action::Output(port)), None, None, None])
    }

    /// Flooded.
    pub const FLOOD: Self = Self([Some(Action::Flood), None, None, None]);

    /// In their order.
    pub fn iter(&self) -> impl Iterator<Item = Action> + '_ {
        self.0.iter().map_while(|action| *action)
    }
}

impl Keyed for Actions {
    fn key(&self, mixer: &mut Mixer) {
        let words = self.iter().fold(0, |words, action| words << 16 | action.word());
        mixer.word(words);
    }
}

impl fmt::Display for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> =
            self.iter().map(|action| format!("{action:?}").to_lowercase()).collect();
        f.write_str(&if names.is_empty() { "drop".into() } else { names.join(",") })
    }
}

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What it asks for.
    pub matching: Match,
    /// What it does.
    pub actions: Actions,
    /// The highest is used; of equals the first of the table.
    pub priority: u16,
    /// An Attendre command that the first packet takes along, once.
    pub encapsulates: Option<u8>,
}

impl Rule {
    /// A rule of default priority.
    pub const fn new(matching: Match, actions: Actions) -> Self {
        Self { matching, actions, priority: PRIORITY_DEFAULT, encapsulates: None }
    }

    /// Whether it stands before another in a table; priority plays no part.
    pub fn precedes(&self, other: &Self) -> bool {
        (self.matching.rank(), self.actions) < (other.matching.rank(), other.actions)
    }
}

impl Keyed for Rule {
    fn key(&self, mixer: &mut Mixer) {
        self.matching.key(mixer);
        self.actions.key(mixer);
        mixer.word(u64::from(self.priority) | u64::from(self.encapsulates.unwrap_or(0)) << 16);
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.matching, self.actions)
    }
}
