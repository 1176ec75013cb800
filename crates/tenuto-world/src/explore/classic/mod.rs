//! The classic model of the field's model checker (\[NICE\]), as it counts: for published tables.
//!
//! Networks, hosts, switch and controller are models of their own here; the code that runs live is
//! explored by the other parts of [`super`]. What a transition is, what the key of a state contains
//! and omits, and how properties are defined: docs/theory/exploration.md.
//!
//! A search is a pure function of a [`Setup`] and an [`Application`]. Depth first, in the order in
//! which transitions were enabled, is part of the definition: keys omit some of a state, so the first
//! state of a key decides what follows. Several searches may run at once, one thread each.

mod answers;
mod application;
pub mod apps;
pub mod balanced;
mod controller;
mod controller_steps;
pub mod graph;
mod host;
mod host_steps;
mod key;
pub mod lines;
mod memory;
mod message;
mod narrate;
mod node;
mod packet;
mod property;
pub mod response;
mod rule;
mod search;
mod setup;
mod step;
mod switch;
mod switch_steps;
mod transition;
mod world;

pub use answers::{Answer, Answers, Load};
pub use application::Application;
pub use key::{Keyed, Mixer, multiset};
pub use message::{Command, MessageSet, Order, PacketIn, Reason, Report, Sent};
pub use narrate::narrate;
pub use packet::{Ip, Mac, Name, Packet, PacketId, Payload};
pub use property::{Finding, Property, Traffic};
pub use rule::{ACTIONS_MAX, Action, Actions, Kind, Match, PRIORITY_DEFAULT, Prefix, Rule};
pub use search::{Count, Trace, explore, explore_outcomes};
pub use setup::{
    BufferIds, Counting, HostSetup, Loads, Peer, Protocol, Role, Setup, Spare, SwitchSetup,
    TRANSITIONS_MAX,
};
pub use transition::{Enabled, Strategy, Transition};
