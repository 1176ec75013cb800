//! Properties by name.

/// A property of packets that an application decides about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// A switch asks nothing while an answer for the same flow is on its way to it, or the question
    /// on its way to the controller.
    OnePacketIn,
    /// No packet is dropped, and no command refused.
    NoDrop,
    /// No packet arrives twice.
    NoDuplicate,
    /// Packets of a flow arrive in the order in which they were sent.
    InOrder,
    /// All packets of a flow arrive at one host.
    OneTarget,
    /// When nothing is left to happen, every packet has arrived, nothing waits, and no message was
    /// refused. No timer is needed for it.
    Completes,
    /// No packet comes to the same port of a switch again.
    NoLoops,
    /// When nothing is left to happen, every packet to a host has arrived there, but for those that a
    /// fault or a move excuses.
    NoBlackHoles,
    /// When nothing is left to happen, no packet waits at a switch.
    NoForgottenPackets,
    /// After one switch was answered about a source and destination, no other asks about them.
    DirectPaths,
    /// Packets that are sent after both directions had been received reach their hosts without a question.
    StrictDirectPaths,
    /// No host gets a packet of a host that may not reach it.
    Policy,
    /// Switches refuse no message.
    NoRefusal,
    /// The application itself does not fail.
    NoFailure,
}

impl Property {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::OnePacketIn,
        Self::NoDrop,
        Self::NoDuplicate,
        Self::InOrder,
        Self::OneTarget,
        Self::Completes,
        Self::NoLoops,
        Self::NoBlackHoles,
        Self::NoForgottenPackets,
        Self::DirectPaths,
        Self::StrictDirectPaths,
        Self::Policy,
        Self::NoRefusal,
        Self::NoFailure,
    ];

    /// What Attendre promises of every application.
    pub const OF_ATTENDRE: [Self; 6] = [
        Self::OnePacketIn,
        Self::NoDrop,
        Self::NoDuplicate,
        Self::InOrder,
        Self::OneTarget,
        Self::Completes,
    ];

    /// What is looked at on a network where none is named.
    pub const USUAL: [Self; 6] = [
        Self::NoLoops,
        Self::NoBlackHoles,
        Self::NoForgottenPackets,
        Self::Policy,
        Self::NoRefusal,
        Self::NoFailure,
    ];

    /// Its name in verdicts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnePacketIn => "one-packet-in",
            Self::NoDrop => "no-drop",
            Self::NoDuplicate => "no-duplicate",
            Self::InOrder => "in-order",
            Self::OneTarget => "one-target",
            Self::Completes => "completes",
            Self::NoLoops => "no-loops",
            Self::NoBlackHoles => "no-black-holes",
            Self::NoForgottenPackets => "no-forgotten-packets",
            Self::DirectPaths => "direct-paths",
            Self::StrictDirectPaths => "strict-direct-paths",
            Self::Policy => "policy",
            Self::NoRefusal => "no-refusal",
            Self::NoFailure => "no-failure",
        }
    }

    /// Whether it holds although commands are lost or timers fire: then a switch is one of plain
    /// OpenFlow for that flow.
    pub const fn survives_faults(self) -> bool {
        matches!(self, Self::NoDrop | Self::NoDuplicate | Self::Completes)
    }

    /// Whether it needs to know which packet of a flow it is that arrives or comes by.
    pub(super) const fn tells_packets_apart(self) -> bool {
        matches!(self, Self::NoLoops | Self::NoDuplicate | Self::InOrder | Self::StrictDirectPaths)
    }
}

/// A violated property and what is wrong, in words.
pub(super) type Finding = (Property, String);
