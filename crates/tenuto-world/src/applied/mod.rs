//! A reactive application in virtual time: the switches of a network file, an application beside them, hosts
//! that begin new flows. Nothing is promised and nothing judged but that packets arrive; what it costs is
//! counted: packet-ins and flow-mods per flow, and how long the first packet takes.
//!
//! Links have the rates and lengths of the file. A message to or from the controller takes
//! [`RunSettings::control_delay`], the controller handles one message at a time, and so does the agent of a
//! switch.

mod counts;
mod run;
mod traffic;

pub use counts::{AppliedRun, FlowRow, SwitchRow};
pub use run::run;

use crate::explore::reactive::{Protocol, Send};
use tenuto_units::Span;

/// How an application runs in virtual time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSettings {
    /// How switches are told.
    pub protocol: Protocol,
    /// Pairs of hosts, with the packets of each of their flows.
    pub sends: Vec<Send>,
    /// Hosts that reply to each packet that is for them.
    pub replies: Vec<String>,
    /// The MAC address that the application serves, for packets to `service`.
    pub service: Option<[u8; 6]>,
    /// New flows of each pair.
    pub flows: u32,
    /// Mean time between the beginnings of two flows of a pair; each is drawn from 0 to twice as much.
    pub every: Span,
    /// Whether flows of a pair begin at equal intervals instead.
    pub is_regular: bool,
    /// Time between two packets of a flow.
    pub gap: Span,
    /// Bytes of a packet, without FCS.
    pub packet_bytes: usize,
    /// One way between a switch and the controller.
    pub control_delay: Span,
    /// What the controller needs for a message.
    pub think: Span,
    /// What the agent of a switch needs for a message of the controller.
    pub command: Span,
    /// How long is waited for what is on its way after the last packet was sent.
    pub settle: Span,
    /// Whether messages of the controller are kept.
    pub has_record: bool,
    /// Of all draws.
    pub seed: u64,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            protocol: Protocol::Openflow,
            sends: Vec::new(),
            replies: Vec::new(),
            service: None,
            flows: 10,
            every: Span::from_ms(10),
            is_regular: false,
            gap: Span::from_ms(1),
            packet_bytes: 200,
            control_delay: Span::from_us(500),
            think: Span::from_us(100),
            command: Span::from_us(50),
            settle: Span::from_s(2),
            has_record: false,
            seed: 1,
        }
    }
}
