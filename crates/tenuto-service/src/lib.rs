//! The controller as a service: what is admitted, the log of it, and REST over both.
//!
//! What this crate owns: the set of admitted flows of one network file. A flow comes, changes or goes as a
//! *decision*; what is accepted is in the log, on disk, before anybody is told, and the log replays to
//! the same set. Every set in force is a plan that every flow of it holds in, and the independent
//! checker is asked about it beside the decisions.
//!
//! It computes no bound itself: planner and checker do. Flows accepted before keep their routes, ports
//! and classes, so what was promised to one is never changed by another.

mod alarm;
mod answer;
mod certifying;
mod change;
mod cluster;
#[cfg(test)]
mod crashes;
mod decide;
mod events;
mod flow_fields;
mod keeper;
mod limits;
mod links;
mod listening;
mod log;
mod metrics;
mod modes;
mod nearest;
mod observed;
mod pinned;
mod places;
#[cfg(test)]
mod played_switch;
mod reload;
pub mod rest;
mod service;
mod session_io;
mod switches;
mod tokens;
mod view;

pub use alarm::Alarm;
pub use answer::{Accepted, BoundRow, Denied, Problem, RefusalDocument};
pub use change::Change;
pub use cluster::{EtcdAddress, EtcdTls, Membership, Standing};
pub use decide::Planning;
pub use events::Event;
pub use listening::{Listening, Tls};
pub use log::{FileStore, Log, LogError, Replayed, Store, replay};
pub use modes::{ModeChange, SwitchMode};
pub use observed::{DelaySample, ObservedQueue};
pub use reload::Reloaded;
pub use service::{Keeping, OpenError, Request, Service};
pub use tokens::{Role, Tokens, new_token};
pub use view::View;
