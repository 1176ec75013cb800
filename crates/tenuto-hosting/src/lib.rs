//! Many tenants' controllers on one machine: SE2 of \[SE2\], with what Linux has today.
//!
//! A tenant is any unmodified program, in a *sandbox*: user, pid, mount, network, IPC, host name and
//! control group namespaces, limits by control groups, a read-only root of its own, no capability, a
//! filter of system calls and Landlock. Its *virtual NIC* is a veth pair whose other end is the
//! host's. One supervisor starts, watches, restarts and ends them; none of that touches another tenant.
//!
//! ```text
//! supervisor ─┬─ guardian ═╪═ first process (1) ── program (2)   tenant blue   eth0 ── host's end
//!             └─ guardian ═╪═ first process (1) ── program (2)   tenant red    eth0 ── host's end
//!                 outside  │  inside
//! ```
//!
//! The first process is this program again ([`hidden_main`]). When a process of that row dies, the
//! kernel ends all to its right, and the virtual NIC goes with its network namespace.
//!
//! What is believed of a tenant, and what is not: docs/design/0005-hosting.md.

mod allowed;
mod backoff;
mod control;
mod file_system;
mod groups;
mod host;
mod init;
mod judge;
mod landlocked;
mod log;
mod machine;
mod measure;
mod nic;
mod observe;
mod process;
mod receive_choice;
mod setup;
mod state;
mod status;
mod supervised;
mod supervisor;
mod system_calls;
mod trial;

pub use allowed::HostError;
pub use control::{Answer, Request, ask};
pub use host::{hidden_main, state_of, up};
pub use judge::judge;
pub use log::read_log;
pub use measure::{MEASUREMENTS, MeasureSettings, Observed, Ratio, Row, Series, measure};
pub use receive_choice::{PathTime, ReceiveChoice};
pub use setup::Missing;
pub use state::StateFolder;
pub use status::{Status, TenantState, TenantStatus};
pub use supervisor::{SupervisorEnd, supervise};
pub use trial::{Trial, probe, trial};
