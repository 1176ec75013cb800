//! What hosts do on a network, what may go wrong, and what is looked at.

use super::property::Property;
use super::reductions::Reductions;

/// How the controller tells several switches of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// All at once, in any order.
    #[default]
    Openflow,
    /// The switch that asked last, when the others have confirmed a barrier (\[Attendre\] section III.C).
    OpenflowBarrier,
    /// Message sets, and switches that keep packets until they are answered.
    Attendre,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Openflow, Self::OpenflowBarrier, Self::Attendre];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Openflow => "openflow",
            Self::OpenflowBarrier => "openflow-barrier",
            Self::Attendre => "attendre",
        }
    }
}

/// Packets from one host to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    /// The sender.
    pub from: String,
    /// The target; `service` is the address that an application serves.
    pub to: String,
    /// How many.
    pub packets: u8,
}

/// Where a host may move to, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The host.
    pub host: String,
    /// The switch.
    pub switch: String,
    /// A free port of it.
    pub port: u32,
}

/// How often each thing may go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budgets {
    /// Packets that links lose.
    pub losses: u8,
    /// Packets that links double.
    pub duplicates: u8,
    /// Links that are cut.
    pub link_failures: u8,
    /// Switches that start again with empty tables.
    pub switch_failures: u8,
    /// Times that the controller starts again.
    pub controller_crashes: u8,
    /// Timers of the application that are due.
    pub timers: u8,
    /// Timers of Attendre buffers that fire.
    pub timeouts: u8,
    /// Attendre commands that links lose.
    pub lost_commands: u8,
}

impl Budgets {
    /// Each budget with its name.
    pub const fn named(&self) -> [(&'static str, u8); 8] {
        [
            ("losses", self.losses),
            ("duplicates", self.duplicates),
            ("link failures", self.link_failures),
            ("switch failures", self.switch_failures),
            ("controller crashes", self.controller_crashes),
            ("timers", self.timers),
            ("buffer timeouts", self.timeouts),
            ("lost commands", self.lost_commands),
        ]
    }
}

/// What is explored of an application on a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// How switches are told.
    pub protocol: Protocol,
    /// What hosts send.
    pub sends: Vec<Send>,
    /// Hosts that reply to each packet that is for them.
    pub replies: Vec<String>,
    /// Hosts that may move, once they have received a packet.
    pub moves: Vec<Move>,
    /// The MAC address that the application serves, for packets to `service`.
    pub service: Option<[u8; 6]>,
    /// Pairs of hosts of which the first may not reach the second.
    pub forbidden: Vec<(String, String)>,
    /// What may go wrong.
    pub budgets: Budgets,
    /// Whether answers of the controller overtake each other.
    pub threads: bool,
    /// What is looked at; if it is empty, [`Property::USUAL`].
    pub properties: Vec<Property>,
    /// What leaves states out.
    pub reductions: Reductions,
    /// Most states; beyond, the verdict says `bounded`.
    pub states_max: usize,
}
