//! The lab: a planned network on one Linux machine, with real frames and real sessions.
//!
//! [`up`] runs a plan: one process per node, or one for all switches ([`SwitchProcesses`]), each node
//! in a network namespace of its own, wired by veth pairs; switches speak OpenFlow over TCP to a
//! controller that installs the plan, confirms it and reads it back. Every process is this program
//! again, started as a role ([`hidden_main`]):
//!
//! ```text
//! tenuto up ── guardian ═╪═ supervisor ─┬─ namespace keepers, one per node
//!   ledger, Ui           │              ├─ controller   Controller core + TCP
//!                        │              ├─ switches     Switch core + packet ports + TCP
//!              outside   │  inside      └─ hosts        EndSystem core + packet ports + app0
//! ```
//!
//! Nodes tell what they see as observations; the one ledger in `tenuto up` judges them. What this
//! machine itself adds to delays is measured ([`measure_allowance`]), added to the analysis
//! ([`allowances`]), and watched while the lab runs: lateness above it is told as a stall.
//!
//! [`standalone`] is a switch of its own over real interfaces, for any controller, with the tools
//! that ask it.
//!
//! [`applications`] runs a reactive application, in Rust or in Python, for the switches that connect.
//!
//! [`measure`] times the switch and holds it against others.
//!
//! When any process dies, the rest goes on or ends in order; when `tenuto up` dies, the kernel
//! removes everything.

mod allowance;
mod app_port;
mod app_refusals;
pub mod applications;
mod assemble;
mod beside;
mod books;
mod changer_node;
mod changer_sessions;
mod control_link;
mod controlled_run;
mod controlled_switch;
mod controller_node;
mod doctor;
mod exec;
mod forwarding;
mod host_node;
mod lab;
mod lines;
mod log_line;
pub mod measure;
mod mischief;
mod node;
mod node_ports;
mod nodes;
mod os_ken;
mod os_ken_node;
mod port_service;
pub mod profiling;
mod program_stamp;
mod protocol;
mod reporter;
mod scenario_events;
mod slow;
pub mod standalone;
mod supervisor;
mod switch_node;
mod watch;
mod wire_up;

pub use allowance::{Allowances, HostService, LabPorts, MeasuredOn, allowances, measure_allowance};
pub use controlled_run::ControlledRun;
pub use doctor::{DoctorReport, Finding, doctor, recommend_slow};
pub use exec::{ExecError, Executed, exec, running_lab};
pub use lab::{
    NodesFile, Silent, Ui, UpError, UpOptions, UpOutcome, lab_namespaces, up, up_by_controller,
};
pub use protocol::{ModeController, NodeEntry, SwitchProcesses};
pub use slow::{SlowError, slowed};

use std::process::ExitCode;

/// Plays a role in a lab if this process was started for one; to be called first in `main`.
///
/// `args` are those of the process, its own name first.
pub fn hidden_main(args: impl IntoIterator<Item = std::ffi::OsString>) -> Option<ExitCode> {
    let role = args.into_iter().nth(1)?;
    match role.to_str()? {
        lab::ROLE_SUPERVISOR => Some(supervisor::main()),
        port_service::ROLE => Some(port_service::main()),
        measure::LIVE_ROLE => Some(measure::live_main()),
        measure::BRIDGES_ROLE => Some(measure::bridges_main()),
        nodes::ROLE_NODE => Some(node::main()),
        nodes::ROLE_NETNS => Some(node::keep_namespace()),
        _ => None,
    }
}
