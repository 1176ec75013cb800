//! What never changes while exploring: switches, hosts, links, the application at the start.

use super::packets::{Address, BROADCAST, Made, NOBODY, PacketKind, PacketName};
use super::property::Property;
use super::reductions::Reductions;
use super::setup::{Budgets, Protocol};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tenuto_controller::reactive::ReactiveApp;
use tenuto_dataplane::EgressConfig;
use tenuto_dataplane::switch::AttendreMutant;
use tenuto_dataplane::switch::{
    AttendreLimits, ClassifierKind, FailMode, GeneralConfig, HashKey, PortConfig, PortRole,
    SwitchConfig,
};
use tenuto_units::{Instant, Rate, Span};
use tenuto_wire::LinkKey;

/// The instant at which time stands still.
pub(super) const NOW: Instant = Instant::from_ns(1_000_000_000);
/// A host, and where it is attached.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) address: Address,
    /// Switch and port; the second is where it may move to.
    pub(crate) places: Vec<(usize, u32)>,
    /// Targets of its packets, in the order in which it sends them; [`NOBODY`] is the service.
    pub(crate) script: Vec<u16>,
    /// Whether it replies to each packet that is for it.
    pub(crate) replies: bool,
}

/// A link in one direction between two switches.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) from: usize,
    pub(crate) from_port: u32,
    pub(crate) to: usize,
    pub(crate) to_port: u32,
    /// Its ends in traces: names of switches, with ports where two are linked twice.
    pub(crate) ends: (String, String),
}

/// A switch.
#[derive(Clone, Debug)]
pub(crate) struct SwitchAt {
    pub(crate) name: String,
    pub(crate) config: Arc<SwitchConfig>,
}

/// What never changes.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    pub(super) switches: Vec<SwitchAt>,
    pub(super) hosts: Vec<Host>,
    pub(super) links: Vec<Link>,
    /// The address that no host has and some application serves.
    pub(super) service: Option<Address>,
    /// The application before anything has happened.
    pub(super) app: Box<dyn ReactiveApp>,
    pub(super) protocol: Protocol,
    /// Bytes of a packet without FCS. Switches keep what is longer than the controller is shown.
    pub(super) packet_bytes: usize,
    /// Whether answers of the controller overtake each other.
    pub(super) threads: bool,
    /// Whether a port hands its frames over when it likes, rather than at once.
    pub(super) ports_wait: bool,
    pub(super) properties: Vec<Property>,
    pub(super) reductions: Reductions,
    /// Pairs of hosts that may not reach each other.
    pub(super) forbidden: BTreeSet<(u16, u16)>,
    pub(super) budgets: Budgets,
    pub(super) mutant: AttendreMutant,
}

impl Fixed {
    pub(super) fn looks_at(&self, property: Property) -> bool {
        self.properties.contains(&property)
    }

    /// Whether packets of a flow differ: where no property tells them apart, they are all one, and there are fewer
    /// states.
    pub(super) fn tells_packets_apart(&self) -> bool {
        !self.reductions.packets
            || self.properties.iter().any(|property| property.tells_packets_apart())
    }

    /// Whether it makes a difference how many packets a host has sent, replies too.
    pub(super) fn counts_packets(&self) -> bool {
        !self.reductions.numbers || self.tells_packets_apart() || self.looks_at(Property::Completes)
    }

    /// Whether flows of messages on their way make a difference.
    pub(super) fn tells_flows(&self) -> bool {
        !self.reductions.numbers || self.looks_at(Property::OnePacketIn)
    }

    pub(super) fn place(&self, switch: &str) -> Option<usize> {
        self.switches.iter().position(|it| it.name == switch)
    }

    pub(super) fn of_datapath(&self, datapath: u64) -> Option<usize> {
        self.switches.iter().position(|it| it.config.datapath_id == datapath)
    }

    pub(super) fn datapath(&self, place: usize) -> u64 {
        self.switches[place].config.datapath_id
    }

    pub(super) fn host(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.name == name)
    }

    pub(super) fn link(&self, from: &str, to: &str) -> Option<usize> {
        self.links.iter().position(|link| link.ends.0 == from && link.ends.1 == to)
    }

    pub(super) fn link_from(&self, switch: usize, port: u32) -> Option<usize> {
        self.links.iter().position(|link| (link.from, link.from_port) == (switch, port))
    }

    /// A packet of a host.
    pub(super) fn packet(&self, from: usize, to: u16, kind: PacketKind, number: u32) -> Made {
        let number = if self.tells_packets_apart() { number } else { 0 };
        let name = PacketName { from: index(from), to, kind, flow: 0, number };
        let dst = match (kind, self.hosts.get(usize::from(to))) {
            (PacketKind::Announcement, _) => BROADCAST,
            (_, Some(host)) => host.address,
            (_, None) => self.service.unwrap_or(BROADCAST),
        };
        // A reply goes from the port that was asked back to the one that has asked.
        let ports = (port_of(name.from), port_of(to));
        Made { name, src: self.hosts[from].address, dst, ports, bytes: self.packet_bytes }
    }

    /// A packet in words.
    pub(super) fn describe(&self, name: PacketName) -> String {
        let host = |place: u16| {
            let host = self.hosts.get(usize::from(place));
            host.map_or("the service", |host| host.name.as_str())
        };
        let (from, to) = (host(name.from), host(name.to));
        let which = match self.tells_packets_apart() {
            true => format!("{} ", name.number),
            false => String::new(),
        };
        match name.kind {
            PacketKind::Announcement => format!("the announcement of {from}"),
            PacketKind::Reply => format!("reply {which}of {from} to {to}"),
            PacketKind::Sent => format!("packet {which}of {from} to {to}"),
        }
    }
}

const fn port_of(place: u16) -> u16 {
    if place == NOBODY { 9 } else { place.saturating_add(1) }
}

pub(crate) fn index(place: usize) -> u16 {
    u16::try_from(place).unwrap_or(NOBODY)
}

/// A port of a switch to be made: its number, rate, and whether a switch is at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortAt {
    pub(crate) number: u32,
    pub(crate) rate: Rate,
    pub(crate) is_trunk: bool,
}

/// A switch as `tenuto switch` is one, with little room.
pub(crate) fn switch_config(datapath_id: u64, ports: &[PortAt]) -> SwitchConfig {
    let port = |at: &PortAt| PortConfig {
        port: at.number,
        role: match at.is_trunk {
            true => PortRole::Trunk(LinkKey::new([7; 16])),
            false => PortRole::Host,
        },
        egress: EgressConfig {
            rate: at.rate,
            queues: 2,
            buffer_bits: 1 << 24,
            unpromised_from: None,
        },
    };
    SwitchConfig {
        datapath_id,
        ports: ports.iter().map(port).collect(),
        tables: 4,
        entries_max: 4_096,
        meters_max: 64,
        groups_max: 64,
        meter_extra_bytes: 24,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 0,
        mode_retry: Span::from_ms(10),
        general: Some(GeneralConfig {
            tables_change: false,
            packet_ins_per_s: None,
            bands_max: 1,
            buffers_max: 256,
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
