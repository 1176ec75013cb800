//! Several controllers of one network behind etcd: one leads and decides, the others follow and answer what is asked.
//!
//! ```text
//!   kv ◄── etcd (its JSON gateway), or keys that tests play
//!   register: who leads, its sign of life, the head of the log      pulse: when silence is long enough
//!   store: the log, behind the trait of a file's                    course: how this controller stands, a thread
//!   member: reads on while it follows, opens the log when it leads, a thread
//! ```

mod address;
mod beginning;
mod course;
mod etcd;
mod kv;
mod member;
mod membership;
#[cfg(test)]
mod played;
mod pulse;
mod register;
mod store;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod two_controllers;

pub use address::EtcdAddress;
pub(crate) use beginning::Beginning;
pub(crate) use course::Course;
pub use course::Standing;
pub use etcd::EtcdTls;
pub use membership::Membership;
