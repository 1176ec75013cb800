//! What the processes of a lab say to one another: one JSON value per line.
//!
//! `tenuto up` and the supervisor, and the supervisor and each node, share a pair of connected
//! sockets. The first line downwards is a job; commands follow. Upwards come reports, and
//! observations, which are told apart by their first key and pass the supervisor unread.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use tenuto_controller::ModeSettings;
use tenuto_model::{HostDeployment, Plan, Scenario, Sizes, SwitchDeployment};

/// How every line with an observation begins.
pub(crate) const OBSERVATION_START: &[u8] = b"{\"see\":";
/// The TCP port of OpenFlow.
pub(crate) const OPENFLOW_PORT: u16 = 6653;

/// A whole run, from `tenuto up` to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LabJob {
    pub(crate) plan: Plan,
    pub(crate) scenario: Scenario,
    pub(crate) seed: u64,
    /// Secret that the keys of trunks come from.
    pub(crate) secret: [u8; 16],
    /// Lateness above this is a stall.
    pub(crate) stall_allowance_ns: u64,
    /// How long after the last release a frame may still be on its way.
    pub(crate) drain_ns: u64,
    /// Where nodes.json, hosts and logs go.
    pub(crate) run_dir: PathBuf,
    /// Who changes the mode.
    pub(crate) driver: ModeDriver,
    /// Whether ports have rings.
    pub(crate) rings: bool,
    /// Whose processes the switches are.
    pub(crate) switches: SwitchProcesses,
}

/// Which processes the switches of a lab run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwitchProcesses {
    /// One each: a switch can be killed and started again, and what one does delays the others by
    /// no more than the machine's own scheduling.
    #[default]
    Apart,
    /// One for all, whose one thread looks at the ports of all of them without sleeping, on a
    /// processor of its own where there are two: what is measured are switches, not how soon a
    /// machine with few processors wakes many processes up.
    Together,
}

/// Who changes the mode in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModeDriver {
    /// The switches, as planned.
    Switches,
    /// The controller, to hold the switches against; nothing is promised then.
    Controller(ModeController),
}

/// Which controller changes the mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeController {
    /// Ours, which costs least.
    Own,
    /// os-ken, a framework in Python, with a program that does the same.
    OsKen {
        /// A Python that has it.
        python: PathBuf,
    },
}

/// From `tenuto up` to the supervisor, after the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum LabCommand {
    /// End the run now, in order.
    Stop,
    /// Nothing is on its way any more.
    Drained,
}

/// From the supervisor to `tenuto up`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "lab", rename_all = "snake_case")]
pub(crate) enum LabReport {
    /// A step of starting or ending is done.
    Step { text: String },
    /// The nodes that there are now.
    Nodes { nodes: Vec<NodeEntry> },
    /// Traffic starts at this instant.
    Started { start_ns: u64 },
    /// No source sends any more.
    Quiet { at_ns: u64 },
    /// The run cannot go on.
    Failed { text: String },
    /// Everything was collected.
    Done { end_ns: u64 },
}

/// A node, as `nodes.json` names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeEntry {
    /// Its name.
    pub name: String,
    /// `host`, `switch` or `controller`.
    pub kind: String,
    /// The process that keeps its network namespace, by its number inside the lab.
    pub namespace_pid: u32,
    /// The process that does its work, in `nodes.json` by its number outside the lab; `None` while
    /// it is down.
    pub pid: Option<u32>,
    /// Address on the management network.
    pub management: Ipv4Addr,
    /// Address of a host for programs.
    pub address: Option<Ipv4Addr>,
}

/// What a node is, from the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeJob {
    Switches(Box<SwitchesJob>),
    Host(Box<HostJob>),
    Controller(Box<ControllerJob>),
}

/// What all nodes are told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeSettings {
    pub(crate) name: String,
    pub(crate) stall_allowance_ns: u64,
    /// Frames that wait in the ring of a port; `None` for ports without rings.
    pub(crate) ring_frames: Option<usize>,
}

/// The switches of one process: usually one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SwitchesJob {
    /// Of the process.
    pub(crate) settings: NodeSettings,
    /// The processor that it has for itself, if it has one; its thread never sleeps then.
    pub(crate) processor: Option<usize>,
    pub(crate) switches: Vec<SwitchJob>,
}

/// A switch.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SwitchJob {
    pub(crate) settings: NodeSettings,
    /// The process in whose network namespace its ports are; `None`: that of its own.
    pub(crate) namespace_pid: Option<u32>,
    /// The plan, reduced to what this switch is made of.
    pub(crate) plan: Plan,
    pub(crate) deployment: SwitchDeployment,
    pub(crate) secret: [u8; 16],
    pub(crate) boot_seed: u64,
    /// Address of its controller, if it has one.
    pub(crate) controller: Option<Ipv4Addr>,
    /// The controller changes the mode: cookies of flows that have no place in the highest one.
    pub(crate) out_of_mode: Option<BTreeSet<u64>>,
}

/// A host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HostJob {
    pub(crate) settings: NodeSettings,
    /// The plan, reduced to hosts and flows.
    pub(crate) plan: Plan,
    pub(crate) deployment: HostDeployment,
    pub(crate) seed: u64,
    pub(crate) sizes: Sizes,
    /// First release of each flow that our sender generates, after the start of traffic.
    pub(crate) offsets_ns: BTreeMap<u16, u64>,
    /// A program of the user's own runs here: it gets the frames of its flows.
    pub(crate) has_program: bool,
}

/// A controller.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ControllerJob {
    pub(crate) settings: NodeSettings,
    pub(crate) deployments: Vec<SwitchDeployment>,
    /// Addresses of these switches, in their order.
    pub(crate) addresses: Vec<Ipv4Addr>,
    pub(crate) modes: ModesJob,
    /// It changes the mode itself.
    pub(crate) changes: Option<ChangerJob>,
}

/// A controller that changes the mode.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChangerJob {
    /// A Python with os-ken, which does it then.
    pub(crate) os_ken: Option<PathBuf>,
}

/// What switches are told about modes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ModesJob {
    pub(crate) generation: u64,
    pub(crate) levels: u8,
    pub(crate) quiet_ns: u64,
    pub(crate) signal_copies: u8,
    pub(crate) dwell_ns: u64,
    pub(crate) members: Vec<u64>,
}

impl ModesJob {
    /// As the cores of controllers want it.
    pub(crate) fn settings(&self) -> ModeSettings {
        ModeSettings {
            generation: self.generation,
            levels: self.levels,
            quiet_ns: self.quiet_ns,
            signal_copies: self.signal_copies,
            dwell_ns: self.dwell_ns,
            members: self.members.clone(),
        }
    }
}

/// From the supervisor to a node, after its job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum NodeCommand {
    /// Traffic starts at this instant.
    Start { start_ns: u64 },
    /// Release nothing more.
    StopSenders,
    /// Tell the last counters and end.
    Finish,
    /// A flow sends by its contract of this mode.
    Behave { flow: u16, mode: usize },
    /// A flow sends this share of its highest contract's rate.
    Oversend { flow: u16, percent: u32 },
    /// A flow stops.
    StopFlow { flow: u16 },
    /// A flow sends again.
    StartFlow { flow: u16 },
    /// Frames with the headers of these flows, as fast as `rate_bps` or the line.
    Babble { flows: Vec<u16>, frame_bytes: u32, rate_bps: Option<u64>, for_ns: Option<u64> },
    /// Frames of random bytes.
    Garbage { frames_per_s: u32, for_ns: Option<u64> },
    /// Mode signals that nobody may send.
    Forge,
    /// The next mode signals through this port of a switch are lost.
    LoseSignals { switch: String, port: u32, frames: u32 },
}

/// From a node to the supervisor, beside observations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub(crate) enum NodeReport {
    /// It lives, and has nothing else to say.
    Alive,
    /// Its ports are open.
    Up,
    /// Every switch of this controller has what it shall have.
    Ready,
    /// It releases nothing more.
    Quiet,
    /// Something for the log.
    Log { text: String },
    /// It cannot go on, and ends.
    Failed { text: String },
    /// Its last counters are told.
    Ended,
}
