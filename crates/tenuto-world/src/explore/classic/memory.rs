//! What properties remember, and how they are defined: as the classic tool defines them.

use super::key::{Keyed, Mixer, multiset};
use super::packet::{Mac, Name, Packet, PacketId};
use super::property::{Finding, Property, Traffic};
use super::setup::Setup;

/// Where properties look.
#[derive(Debug)]
pub(super) enum Event<'a> {
    /// A switch looks at a packet.
    Processed {
        /// By number from 0.
        switch: usize,
        /// Where it came in.
        port: u8,
        /// The packet.
        packet: &'a Packet,
    },
    /// A host took a packet from its port, whoever it was for.
    Received {
        /// The host's.
        mac: Mac,
        /// The packet.
        packet: &'a Packet,
    },
    /// A switch changed a packet's addresses.
    Rewritten {
        /// As it is now.
        packet: &'a Packet,
    },
    /// A host has moved.
    Moved,
    /// The controller takes a packet-in.
    AskedAbout {
        /// By number from 0.
        switch: usize,
        /// The packet.
        packet: &'a Packet,
    },
    /// A client sends a SYN.
    ConnectionStarted {
        /// Its number.
        connection: u8,
        /// The client's.
        source: Mac,
    },
    /// A server takes a SYN.
    SynReceived {
        /// Its number.
        connection: u8,
        /// The SYN.
        packet: &'a Packet,
    },
    /// A server takes an ACK.
    AckReceived {
        /// Its number.
        connection: u8,
        /// The server's.
        mac: Mac,
        /// The ACK.
        packet: &'a Packet,
    },
}

/// A packet that was sent, and whether it has yet to be received.
#[derive(Clone, Copy, Debug)]
struct Sent {
    packet: Packet,
    is_due: bool,
}

impl Keyed for Sent {
    fn key(&self, mixer: &mut Mixer) {
        let PacketId { node, count } = self.packet.id;
        mixer.word(u64::from_le_bytes([node, count, self.is_due.into(), 0, 0, 0, 0, 0]));
        self.packet.key(mixer);
    }
}

#[derive(Clone, Copy, Debug)]
struct Word(u64);

impl Keyed for Word {
    fn key(&self, mixer: &mut Mixer) {
        mixer.word(self.0);
    }
}

/// What the properties remember; it is part of every key.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    sent: Vec<Sent>,
    /// Packets that a moving host does not excuse.
    expected: Vec<Sent>,
    is_moving: bool,
    seen: Vec<(PacketId, usize, u8)>,
    askers: Vec<(Mac, Mac, usize)>,
    /// Pairs in whose direction something was received, turned round.
    settled: Vec<(Mac, Mac)>,
    /// By connection: source of the SYN, server.
    connections: Vec<(u8, Mac, Option<Mac>)>,
}

impl Keyed for Memory {
    fn key(&self, mixer: &mut Mixer) {
        multiset(self.sent.iter().copied(), mixer);
        multiset(self.expected.iter().copied(), mixer);
        mixer.word(self.is_moving.into());
        multiset(
            self.seen.iter().map(|(id, switch, port)| {
                let place = u8::try_from(*switch).unwrap_or(u8::MAX);
                Word(u64::from_le_bytes([id.node, id.count, place, *port, 0, 0, 0, 0]))
            }),
            mixer,
        );
        multiset(
            self.askers.iter().map(|(from, to, switch)| {
                let place = u8::try_from(*switch).unwrap_or(u8::MAX);
                Word(u64::from_le_bytes([from.0, to.0, place, 1, 0, 0, 0, 0]))
            }),
            mixer,
        );
        let pairs = self.settled.iter().map(|(a, b)| Word(u64::from(a.0) << 8 | u64::from(b.0)));
        multiset(pairs, mixer);
        multiset(
            self.connections.iter().map(|(connection, from, to)| {
                let to = to.map_or([0, 0], |to| [1, to.0]);
                Word(u64::from_le_bytes([*connection, from.0, to[0], to[1], 2, 0, 0, 0]))
            }),
            mixer,
        );
    }
}

impl Memory {
    /// A packet was sent: as it goes on, perhaps marked.
    pub(super) fn sent(&mut self, packet: Packet, properties: &[Property]) -> Packet {
        let mut packet = packet;
        if properties.contains(&Property::StrictDirectPaths) {
            let (from, to) = (packet.source, packet.destination);
            packet.is_settled =
                self.settled.contains(&(from, to)) && self.settled.contains(&(to, from));
        }
        self.sent.push(Sent { packet, is_due: true });
        if properties.contains(&Property::NoBlackHolesMobile) && !self.is_moving {
            self.expected.push(Sent { packet, is_due: true });
        }
        packet
    }

    /// What an event violates.
    pub(super) fn on(&mut self, event: &Event<'_>, setup: &Setup) -> Option<Finding> {
        let has = |property| setup.properties.contains(&property);
        match event {
            Event::Processed { switch, port, packet } if has(Property::NoForwardingLoops) => {
                self.processed(*switch, *port, packet, setup)
            }
            Event::AskedAbout { switch, packet } => self.asked_about(*switch, packet, setup),
            Event::Received { mac, packet } => self.received(*mac, packet, setup),
            Event::Rewritten { packet } => self.rewritten(packet),
            Event::Moved if has(Property::NoBlackHolesMobile) => {
                self.is_moving = true;
                self.expected.clear();
                None
            }
            Event::Processed { .. } | Event::Moved => None,
            other if has(Property::FlowAffinity) => self.connection(other),
            _ => None,
        }
    }

    fn processed(
        &mut self,
        switch: usize,
        port: u8,
        packet: &Packet,
        setup: &Setup,
    ) -> Option<Finding> {
        let place = (packet.id, switch, port);
        let is_again = self.seen.contains(&place);
        self.seen.push(place);
        let name = &setup.switches[switch].name;
        is_again.then(|| Finding {
            property: Property::NoForwardingLoops,
            text: format!("{packet} comes to port {port} of {name} again"),
        })
    }

    fn rewritten(&mut self, packet: &Packet) -> Option<Finding> {
        for sent in self.sent.iter_mut().chain(&mut self.expected) {
            if sent.packet.id == packet.id {
                sent.packet = Packet { command: None, ..*packet };
            }
        }
        None
    }

    fn received(&mut self, mac: Mac, packet: &Packet, setup: &Setup) -> Option<Finding> {
        if packet.name == Name::Announcement {
            self.is_moving = false;
        }
        if setup.properties.contains(&Property::StrictDirectPaths) {
            let pair = (packet.destination, packet.source);
            if !self.settled.contains(&pair) {
                self.settled.push(pair);
            }
        }
        if packet.destination == Mac::BROADCAST || packet.destination == mac {
            for sent in self.sent.iter_mut().chain(&mut self.expected) {
                sent.is_due &= sent.packet.id != packet.id;
            }
        }
        let is_forbidden = mac == packet.destination
            && setup.properties.contains(&Property::NoForbiddenPackets(packet.source));
        is_forbidden.then(|| Finding {
            property: Property::NoForbiddenPackets(packet.source),
            text: format!("{packet} of a host that may not send reached its target"),
        })
    }

    fn asked_about(&mut self, switch: usize, packet: &Packet, setup: &Setup) -> Option<Finding> {
        let has = |property| setup.properties.contains(&property);
        if has(Property::StrictDirectPaths) && packet.is_settled {
            let text = format!("{packet} is asked about, and both directions were received");
            return Some(Finding { property: Property::StrictDirectPaths, text });
        }
        if !has(Property::DirectPaths) {
            return None;
        }
        let pair = (packet.source, packet.destination);
        let known = self.askers.iter().find(|(from, to, _)| (*from, *to) == pair);
        let Some((_, _, first)) = known.copied() else {
            self.askers.push((pair.0, pair.1, switch));
            return None;
        };
        let (name, before) = (&setup.switches[switch].name, &setup.switches[first].name);
        (first != switch).then(|| Finding {
            property: Property::DirectPaths,
            text: format!("{name} asks about {packet}; {before} had asked about its pair"),
        })
    }

    fn connection(&mut self, event: &Event<'_>) -> Option<Finding> {
        let finding = |text: String| Some(Finding { property: Property::FlowAffinity, text });
        match event {
            Event::ConnectionStarted { connection, source } => {
                self.connections.retain(|(number, ..)| number != connection);
                self.connections.push((*connection, *source, None));
                None
            }
            Event::SynReceived { connection, packet } => {
                let entry = self.connections.iter_mut().find(|(it, ..)| it == connection)?;
                entry.2 = Some(packet.destination);
                let is_same = entry.1 == packet.source;
                if is_same { None } else { finding(format!("{packet} has another source")) }
            }
            Event::AckReceived { connection, mac, packet } => {
                let entry = self.connections.iter().find(|(it, ..)| it == connection)?;
                if entry.1 != packet.source {
                    return finding(format!("{packet} has another source"));
                }
                if entry.2 == Some(*mac) {
                    return None;
                }
                finding(format!("{packet} reached another server than the SYN"))
            }
            _ => None,
        }
    }

    /// What is violated where nothing more can happen.
    pub(super) fn at_end<'a>(
        &self,
        setup: &Setup,
        stored: impl Iterator<Item = (usize, &'a Packet)> + Clone,
    ) -> Vec<Finding> {
        let all = Property::CLASSIC.iter().chain(&setup.properties);
        all.filter_map(|property| {
            let text = match property {
                Property::NoBlackHoles(traffic) => undelivered(&self.sent, *traffic, setup),
                Property::NoBlackHolesMobile if self.is_moving => Some("a host still moves".into()),
                Property::NoBlackHolesMobile => undelivered(&self.expected, Traffic::Any, setup),
                Property::NoForgottenPackets(traffic) => forgotten(stored.clone(), *traffic, setup),
                _ => None,
            };
            text.map(|text| Finding { property: *property, text })
        })
        .collect()
    }
}

fn undelivered(sent: &[Sent], traffic: Traffic, setup: &Setup) -> Option<String> {
    let is_for_a_host = |packet: &Packet| setup.hosts.iter().any(|it| it.mac == packet.destination);
    let lost = |it: &&Sent| it.is_due && traffic.contains(&it.packet) && is_for_a_host(&it.packet);
    sent.iter().find(lost).map(|it| format!("{} never reached its target", it.packet))
}

fn forgotten<'a>(
    mut stored: impl Iterator<Item = (usize, &'a Packet)>,
    traffic: Traffic,
    setup: &Setup,
) -> Option<String> {
    let (switch, packet) = stored.find(|(_, packet)| traffic.contains(packet))?;
    Some(format!("{packet} is forgotten in a buffer of {}", setup.switches[switch].name))
}
