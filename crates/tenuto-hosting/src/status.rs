//! What is observed of tenants; nothing here is what was asked for.

use crate::setup::Missing;
use serde::{Deserialize, Serialize};

/// All tenants of a supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Name of the host of tenants.
    pub name: String,
    /// Process of the supervisor, as it sees itself.
    pub supervisor_pid: u32,
    /// Whether the supervisor acts as root of the machine.
    pub is_root: bool,
    /// Protections and limits that no tenant has on this machine.
    pub missing: Vec<Missing>,
    /// The tenants, in the order of the file.
    pub tenants: Vec<TenantStatus>,
}

/// What a tenant is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TenantState {
    /// Its program runs.
    Running,
    /// Its sandbox is being built.
    Starting,
    /// It ended and starts again after a pause.
    Waiting,
    /// It was told to end.
    Stopping,
    /// It ended, and does not start again.
    Ended,
}

/// One tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantStatus {
    /// Its name.
    pub tenant: String,
    /// What it runs in: `sandbox` or `microvm`.
    pub environment: String,
    /// What it is doing.
    pub state: TenantState,
    /// First process of its sandbox, as the supervisor sees it.
    pub pid: Option<u32>,
    /// How long its sandbox has been there.
    pub running_ns: Option<u64>,
    /// From start until its program ran, the last time.
    pub start_took_ns: Option<u64>,
    /// Processes and threads that are alive.
    pub processes: Option<u64>,
    /// Times that it was started again.
    pub restarts: u64,
    /// How it ended the last time.
    pub last_end: Option<String>,
    /// Memory in use, files in memory included; without control groups, the sum over its processes.
    pub memory_bytes: Option<u64>,
    /// Most memory that was in use since its group was made.
    pub memory_bytes_max: Option<u64>,
    /// Processor time used since its group was made, or by its living processes.
    pub cpu_ns: Option<u64>,
    /// Processes that the kernel killed since memory was used up.
    pub memory_kills: Option<u64>,
    /// Times that a process was refused since there were too many.
    pub process_refusals: Option<u64>,
    /// Address of its virtual NIC.
    pub address: Option<String>,
    /// Where switches reach its controller.
    pub control: Vec<String>,
    /// Frames that it sent through its virtual NIC.
    pub frames_sent: Option<u64>,
    /// Frames that it was sent.
    pub frames_received: Option<u64>,
    /// Frames that its virtual NIC dropped, either way.
    pub frames_dropped: Option<u64>,
    /// How frames for it are received: `inline`, `threaded` or `cpumap`; null while it has no virtual NIC.
    pub receive: Option<String>,
    /// Why, where that was left to the machine: what was chosen and what was measured.
    pub receive_why: Vec<String>,
    /// Frames that wait at most for the thread that receives them; each waits for those before it.
    pub receive_ring_frames: Option<u32>,
    /// How long a frame waits for the others of a full ring while that thread runs, at the time that a message was
    /// seen to take there; null where there is no ring, or nothing was measured.
    pub receive_wait_ns: Option<u64>,
    /// Processor time of the kernel's thread that receives them; null where there is none or none is seen.
    pub receive_cpu_ns: Option<u64>,
    /// Frames above its rate that were dropped, either way; null where nothing is limited.
    pub frames_policed: Option<u64>,
    /// Protections and limits that its sandbox lacks, beside those that all lack.
    pub missing: Vec<Missing>,
}
