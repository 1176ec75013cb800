//! Packets of the classic model: values without bytes, with what its key contains and omits.

use super::key::{Keyed, Mixer};
use std::fmt;

/// A MAC address by number; the order of numbers is the order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub u8);

impl Mac {
    /// To everybody.
    pub const BROADCAST: Self = Self(u8::MAX);
}

/// An IPv4 address by its last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ip(pub u8);

/// What a packet is called; the order is that of the names as text, by which queues are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// Asks for the MAC address of an IPv4 address.
    ArpQuery(Ip),
    /// Answers such a question.
    ArpReply,
    /// The sender's n-th, from 1.
    Ping(u8),
    /// Answers a ping.
    Reply,
    /// A host that moved tells so to everybody.
    Announcement,
    /// Third of a TCP handshake.
    TcpAck,
    /// First of a TCP handshake.
    TcpSyn,
    /// Second of a TCP handshake.
    TcpSynAck,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ArpQuery(ip) => write!(f, "ARP query for .{}", ip.0),
            Self::ArpReply => f.write_str("ARP reply"),
            Self::Ping(number) => write!(f, "pkt{number}"),
            Self::Reply => f.write_str("reply"),
            Self::Announcement => f.write_str("announcement"),
            Self::TcpAck => f.write_str("ACK"),
            Self::TcpSyn => f.write_str("SYN"),
            Self::TcpSynAck => f.write_str("SYN-ACK"),
        }
    }
}

/// Which packet it is: who made it, and its count there. Copies share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId {
    /// Number of the node that made it.
    pub node: u8,
    /// Count of packets that the node had made before.
    pub count: u8,
}

/// What an Ethernet packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Payload {
    /// Nothing that anybody looks at.
    Empty,
    /// ARP.
    Arp {
        /// Whether it answers.
        is_reply: bool,
        /// Who says so.
        sender: Ip,
        /// Who is asked, or answered.
        target: Ip,
    },
    /// TCP over IPv4; the name says which step of the handshake.
    Tcp {
        /// IPv4 source.
        source: Ip,
        /// IPv4 destination.
        destination: Ip,
        /// Connection, by its number at the client.
        connection: u8,
    },
}

/// A packet, or a copy of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packet {
    /// What it is called.
    pub name: Name,
    /// Ethernet source.
    pub source: Mac,
    /// Ethernet destination.
    pub destination: Mac,
    /// What it carries.
    pub payload: Payload,
    /// Sent after both directions of its pair had been received once (strictly direct paths).
    pub is_settled: bool,
    /// Identity; the key of a state omits it.
    pub id: PacketId,
    /// The message set that an Attendre command on it tells of.
    pub command: Option<u8>,
}

impl Packet {
    /// Whether it carries ARP.
    pub const fn is_arp(&self) -> bool {
        matches!(self.payload, Payload::Arp { .. })
    }

    /// Whether it carries TCP.
    pub const fn is_tcp(&self) -> bool {
        matches!(self.payload, Payload::Tcp { .. })
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Payload::Tcp { connection, .. } = self.payload {
            write!(f, " of connection {connection}")?;
        }
        if self.command.is_some() {
            f.write_str(" with a command")?;
        }
        Ok(())
    }
}

impl Keyed for Packet {
    /// Name, addresses, type, IPv4 addresses and the mark; neither identity, nor what ARP says, nor the
    /// number of a TCP connection.
    fn key(&self, mixer: &mut Mixer) {
        let (tag, extra) = match self.name {
            Name::ArpQuery(ip) => (0, ip.0),
            Name::ArpReply => (1, 0),
            Name::Ping(number) => (2, number),
            Name::Reply => (3, 0),
            Name::Announcement => (4, 0),
            Name::TcpAck => (5, 0),
            Name::TcpSyn => (6, 0),
            Name::TcpSynAck => (7, 0),
        };
        let [from, to] = match self.payload {
            Payload::Tcp { source, destination, .. } => [source.0, destination.0],
            Payload::Arp { .. } => [1, 0],
            Payload::Empty => [0, 0],
        };
        let marks = u8::from(self.is_settled) | u8::from(self.command.is_some()) << 1;
        mixer.word(u64::from_le_bytes([
            tag,
            extra,
            self.source.0,
            self.destination.0,
            from,
            to,
            marks,
            self.command.unwrap_or(0),
        ]));
    }
}

impl Packet {
    /// Other IPv4 addresses; without IPv4 nothing changes.
    pub const fn rewrite_ip(&mut self, from: Option<Ip>, to: Option<Ip>) {
        if let Payload::Tcp { source, destination, .. } = &mut self.payload {
            if let Some(ip) = from {
                *source = ip;
            }
            if let Some(ip) = to {
                *destination = ip;
            }
        }
    }
}
