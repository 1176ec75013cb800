//! Properties of the classic tool.

use super::packet::{Mac, Packet};

/// Which packets a property looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// All.
    Any,
    /// Those that carry ARP.
    Arp,
    /// Those that carry TCP.
    Tcp,
}

impl Traffic {
    pub(super) const fn contains(self, packet: &Packet) -> bool {
        match self {
            Self::Any => true,
            Self::Arp => packet.is_arp(),
            Self::Tcp => packet.is_tcp(),
        }
    }
}

/// What is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// No packet comes to a port of a switch twice.
    NoForwardingLoops,
    /// At the end each packet to a host has reached it.
    NoBlackHoles(Traffic),
    /// As `NoBlackHoles`, but what was sent before or during a move that nobody knows of is forgiven.
    NoBlackHolesMobile,
    /// Packets of a pair are asked about by one switch only.
    DirectPaths,
    /// Packets sent after both directions had been received are not asked about.
    StrictDirectPaths,
    /// At the end no switch stores a packet.
    NoForgottenPackets(Traffic),
    /// The ACK of a connection reaches the server of its SYN, from the same address.
    FlowAffinity,
    /// What was installed is what the load calls for.
    UseCorrectRoutingTable,
    /// Commands name buffers that are in use.
    KnownBuffers,
    /// No packet reaches a host that may not be reached from where it was sent.
    NoForbiddenPackets(Mac),
}

impl Property {
    /// Looked at in every exploration.
    pub const CLASSIC: [Self; 2] =
        [Self::NoBlackHoles(Traffic::Any), Self::NoForgottenPackets(Traffic::Any)];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoForwardingLoops => "no-forwarding-loops",
            Self::NoBlackHoles(Traffic::Any) => "no-black-holes",
            Self::NoBlackHoles(Traffic::Arp) => "no-black-holes-arp",
            Self::NoBlackHoles(Traffic::Tcp) => "no-black-holes-tcp",
            Self::NoBlackHolesMobile => "no-black-holes-mobile",
            Self::DirectPaths => "direct-paths",
            Self::StrictDirectPaths => "strict-direct-paths",
            Self::NoForgottenPackets(Traffic::Any) => "no-forgotten-packets",
            Self::NoForgottenPackets(Traffic::Arp) => "no-forgotten-packets-arp",
            Self::NoForgottenPackets(Traffic::Tcp) => "no-forgotten-packets-tcp",
            Self::FlowAffinity => "flow-affinity",
            Self::UseCorrectRoutingTable => "use-correct-routing-table",
            Self::KnownBuffers => "known-buffers",
            Self::NoForbiddenPackets(_) => "no-forbidden-packets",
        }
    }
}

/// A property that is violated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub property: Property,
    /// What is wrong, in words.
    pub text: String,
}
