//! Reactive applications with the real switch, every interleaving, time standing still (`untimed`,
//! docs/theory/attendre.md, "What is explored"): the races of plain OpenFlow, and
//! that Attendre ends them (\[Attendre\] Figs. 1 to 3).
//!
//! Switches on a line (or one with two replicas behind it), a host at each end, a controller with
//! an application of `tenuto-controller`. At any moment: a host sends its next packet, a port hands
//! a frame over, a link delivers one or loses a command, the controller takes a packet-in, a switch
//! takes a message of the controller, the timer of a buffer fires. Losses and timers have budgets.
//!
//! Or an application on the switches of a network file (`explore_on`), with hosts that send, reply and move, and
//! more that may go wrong. There a port hands its frames over at once: with one queue in use, the port and the
//! link behind it are one queue.
//!
//! Abstractions, named in every verdict: time stands still, so any armed timer may fire and a port
//! may send at any moment; what a host sends is at its switch at once; the controller handles a
//! packet-in in one step; channels between it and a switch keep the order of one answer, and with
//! [`Settings::threads`] answers overtake each other. Nobody forges.

mod control;
mod exploration;
mod faults;
mod fixed;
mod history;
mod hosts;
mod messages;
mod on_network;
mod packets;
mod persistent;
mod properties;
mod property;
mod reductions;
mod scenario;
mod setup;
mod steps;
mod telling;
mod trace;
mod world;

pub use exploration::{explore, explore_on, properties_of, replay, replay_on};
pub(crate) use fixed::{Host, SwitchAt};
pub(crate) use messages::{messages, packet_in};
pub(crate) use on_network::Topology;
pub(crate) use packets::{Address, BROADCAST, Made, NOBODY, PacketKind, PacketName};
pub use property::Property;
pub use reductions::Reductions;
pub use setup::{Budgets, Move, Protocol, Send, Setup};
pub use tenuto_dataplane::switch::AttendreMutant;
pub use trace::{Action, Step, Trace};

/// What the controller runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// Entries on the whole way with the first packet-in (\[Attendre\] Fig. 1).
    RouteFlow,
    /// MAC learning; the other host replies.
    LearningSwitch,
    /// One service, two replicas, one switch.
    LoadBalancer,
    /// Replies come in if they were asked for; one switch.
    Firewall,
}

impl Application {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::RouteFlow, Self::LearningSwitch, Self::LoadBalancer, Self::Firewall];

    /// Its name in verdicts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RouteFlow => "route-flow",
            Self::LearningSwitch => "learning-switch",
            Self::LoadBalancer => "load-balancer",
            Self::Firewall => "firewall",
        }
    }

    /// Whether the hosts at the far end reply to each packet.
    pub const fn has_replies(self) -> bool {
        matches!(self, Self::LearningSwitch | Self::Firewall)
    }
}

/// What to explore, and how far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What the controller runs.
    pub application: Application,
    /// Switches on the line; one for a load balancer or firewall.
    pub switches: u8,
    /// Packets that the first host sends.
    pub packets: u8,
    /// Whether the switches and the controller use Attendre.
    pub attendre: bool,
    /// Whether the answers of the controller to different packet-ins can overtake each other
    /// (races of the third type).
    pub threads: bool,
    /// Times that the timer of a buffer may fire.
    pub timeouts: u8,
    /// Commands that may be lost on a link.
    pub lost_commands: u8,
    /// What is looked at; others may be violated unseen.
    pub properties: Vec<Property>,
    /// Most states; beyond, the verdict says `bounded`.
    pub states_max: usize,
    /// What leaves states out.
    pub reductions: Reductions,
    /// Attendre as it is, or a broken variant.
    pub mutant: AttendreMutant,
}

impl Settings {
    /// Attendre as it is, on a line, with every property that can hold: after a lost command or
    /// a fired timer plain OpenFlow behaviour is what is promised (docs/theory/attendre.md,
    /// "Why it always ends"), in which
    /// packet-ins repeat and packets overtake each other.
    pub fn new(application: Application, switches: u8, packets: u8) -> Self {
        Self {
            application,
            switches,
            packets,
            attendre: true,
            threads: true,
            timeouts: 0,
            lost_commands: 0,
            properties: Property::OF_ATTENDRE.to_vec(),
            states_max: 5_000_000,
            reductions: Reductions::SAME_STATES,
            mutant: AttendreMutant::None,
        }
    }

    /// These settings with losses and timers, and without what they take away.
    #[must_use]
    pub fn with_faults(self, timeouts: u8, lost_commands: u8) -> Self {
        let mut properties = self.properties;
        if timeouts > 0 || lost_commands > 0 {
            properties.retain(|property| property.survives_faults());
        }
        Self { timeouts, lost_commands, properties, ..self }
    }
}
