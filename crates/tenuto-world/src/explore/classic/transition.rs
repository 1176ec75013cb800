//! What can happen: the transitions that nodes enable.

use super::key::{Keyed, Mixer};
use super::packet::Mac;

/// A transition that a node has enabled; the node is known from where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Enabled {
    /// A host or switch handles what waits at its ports.
    ProcessPacket,
    /// A sender sends its n-th packet, from 1.
    SendPacket(u8),
    /// A replier sends its n-th reply.
    SendReply(u8, Mac),
    /// A host moves to its other port.
    Move,
    /// A client begins a connection, or asks for the address.
    StartConnection(u8),
    /// A switch carries out its next command.
    ProcessCommand,
    /// A switch carries out its next command but one.
    OvertakeCommand,
    /// The first packet of a port is doubled.
    DuplicatePacket(u8),
    /// The controller handles what a switch told it.
    ProcessReport(u8),
    /// The controller asks a switch for the statistics of its ports.
    RequestStatistics(u8),
    /// A switch has sent so many megabytes.
    Statistics(u8, u16),
    /// The controller's application is called back.
    Callback(u8),
}

impl Enabled {
    /// Whether NO-DELAY has it happen before all else.
    pub const fn is_of_the_channel(self) -> bool {
        matches!(self, Self::ProcessReport(_) | Self::ProcessCommand | Self::OvertakeCommand)
    }

    /// Whether instant statistics has it happen before all else.
    pub const fn is_of_statistics(self) -> bool {
        matches!(self, Self::RequestStatistics(_) | Self::Statistics(..))
    }
}

impl Keyed for Enabled {
    fn key(&self, mixer: &mut Mixer) {
        let (tag, first, second): (u8, u8, u16) = match *self {
            Self::ProcessPacket => (0, 0, 0),
            Self::SendPacket(number) => (1, number, 0),
            Self::SendReply(number, to) => (2, number, to.0.into()),
            Self::Move => (3, 0, 0),
            Self::StartConnection(number) => (4, number, 0),
            Self::ProcessCommand => (5, 0, 0),
            Self::OvertakeCommand => (6, 0, 0),
            Self::DuplicatePacket(port) => (7, port, 0),
            Self::ProcessReport(switch) => (8, switch, 0),
            Self::RequestStatistics(switch) => (9, switch, 0),
            Self::Statistics(switch, load) => (10, switch, load),
            Self::Callback(number) => (11, number, 0),
        };
        mixer.word(u64::from(tag) | u64::from(first) << 8 | u64::from(second) << 16);
    }
}

/// A transition of a node, by its number: hosts first, then switches, the controller last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Whose.
    pub node: u8,
    /// Which.
    pub enabled: Enabled,
}

/// Which of the enabled transitions are explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// All.
    #[default]
    CompleteCoverage,
    /// Where a command or a packet-in waits, only those (the field's NO-DELAY).
    NoDelay,
    /// Where statistics are under way, only those.
    InstantStatistics,
}

impl Strategy {
    const fn prefers(self, enabled: Enabled) -> bool {
        match self {
            Self::CompleteCoverage => false,
            Self::NoDelay => enabled.is_of_the_channel(),
            Self::InstantStatistics => enabled.is_of_statistics(),
        }
    }

    /// Leaves what is to be explored.
    pub fn choose(self, transitions: &mut Vec<Transition>) {
        if transitions.iter().any(|it| self.prefers(it.enabled)) {
            transitions.retain(|it| self.prefers(it.enabled));
        }
    }
}
