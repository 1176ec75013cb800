//! What switches and the controller tell each other.

use super::key::{Keyed, Mixer};
use super::packet::Packet;
use super::rule::{Actions, Match, Rule};
use std::fmt;

/// The message set that a command belongs to (\[Attendre\] IV.C.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageSet {
    /// Its version, from 1; 0 without Attendre.
    pub version: u8,
    /// Commands that the switch is sent in it.
    pub size: u8,
    /// Whether the packet takes a command to the next switch.
    pub has_command: bool,
}

/// What a packet-out sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// What the switch stored.
    Buffer(u8),
    /// A packet, as if it had come in at a port.
    Packet {
        /// The packet.
        packet: Packet,
        /// The port.
        port: u8,
    },
}

/// What the controller tells a switch to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Append a rule; then look a stored packet up.
    Add {
        /// The rule.
        rule: Rule,
        /// Where the packet is stored.
        buffer: Option<u8>,
    },
    /// Take away the rules of exactly these attributes, of one priority if it is stated.
    Delete {
        /// The attributes.
        matching: Match,
        /// The priority.
        priority: Option<u16>,
    },
    /// Send a packet.
    PacketOut {
        /// Which.
        sent: Sent,
        /// How.
        actions: Actions,
    },
    /// Say so when all before is done.
    Barrier,
}

/// A command: an order in its message set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// What is to be done.
    pub order: Order,
    /// The set.
    pub set: MessageSet,
}

impl Keyed for Command {
    fn key(&self, mixer: &mut Mixer) {
        match self.order {
            Order::Add { rule, buffer } => {
                mixer.word(1 | u64::from(buffer.map_or(u16::MAX, u16::from)) << 8);
                rule.key(mixer);
            }
            Order::Delete { matching, priority } => {
                mixer.word(2 | u64::from(priority.map_or(u32::MAX, u32::from)) << 8);
                matching.key(mixer);
            }
            Order::PacketOut { sent: Sent::Buffer(buffer), actions } => {
                mixer.word(3 | u64::from(buffer) << 8);
                actions.key(mixer);
            }
            Order::PacketOut { sent: Sent::Packet { packet, port }, actions } => {
                mixer.word(4 | u64::from(port) << 8);
                packet.key(mixer);
                actions.key(mixer);
            }
            Order::Barrier => mixer.word(5),
        }
        let MessageSet { version, size, has_command } = self.set;
        mixer.word(u64::from_le_bytes([version, size, u8::from(has_command), 0, 0, 0, 0, 0]));
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.order {
            Order::Add { rule, buffer: None } => write!(f, "add {rule}"),
            Order::Add { rule, buffer: Some(buffer) } => {
                write!(f, "add {rule}, then look buffer {buffer} up")
            }
            Order::Delete { matching, .. } => write!(f, "delete {matching}"),
            Order::PacketOut { sent: Sent::Buffer(buffer), actions } => {
                write!(f, "send buffer {buffer}: {actions}")
            }
            Order::PacketOut { sent: Sent::Packet { packet, .. }, actions } => {
                write!(f, "send {packet}: {actions}")
            }
            Order::Barrier => f.write_str("barrier"),
        }
    }
}

/// Why a packet is with the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No rule matched.
    NoMatch,
    /// A rule says so.
    Action,
}

/// A packet that a switch asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketIn {
    /// Where the switch stored it.
    pub buffer: u8,
    /// The packet.
    pub packet: Packet,
    /// Where it came in.
    pub port: u8,
    /// Why it is asked about.
    pub reason: Reason,
}

/// What a switch tells the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// What to do with a packet?
    PacketIn(PacketIn),
    /// All before a barrier is done.
    BarrierReply,
}

impl Keyed for Report {
    fn key(&self, mixer: &mut Mixer) {
        match self {
            Self::PacketIn(it) => {
                let is_action = u8::from(it.reason == Reason::Action);
                mixer.word(u64::from_le_bytes([1, it.buffer, it.port, is_action, 0, 0, 0, 0]));
                it.packet.key(mixer);
            }
            Self::BarrierReply => mixer.word(2),
        }
    }
}
