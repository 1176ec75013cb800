//! What the supervisor tells the first process of a sandbox, and what it is told.

use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// All that the first process of a sandbox needs to know; one JSON document on its standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// Name of the tenant, and of its host.
    pub(crate) name: String,
    /// Program and arguments.
    pub(crate) program: Vec<String>,
    /// Variables of its environment.
    pub(crate) variables: Vec<(String, String)>,
    /// Further files and folders, read-only.
    pub(crate) files: Vec<PathBuf>,
    /// A folder to write to.
    pub(crate) data: Option<PathBuf>,
    /// Bytes of each file system in memory.
    pub(crate) memory_files_bytes: u64,
    /// Processes, with those of the sandbox itself.
    pub(crate) processes: Option<u64>,
    /// Bytes of address space per process, where no control group limits memory.
    pub(crate) address_space_bytes: Option<u64>,
    /// Its end of the virtual NIC.
    pub(crate) nic: Option<NicSetup>,
    /// The machine that the program runs in; `None`: it runs in the sandbox itself.
    pub(crate) machine: Option<MachineSetup>,
}

/// A machine with a kernel of its own, inside a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MachineSetup {
    pub(crate) emulator: PathBuf,
    pub(crate) busybox: PathBuf,
    pub(crate) kernel: PathBuf,
    pub(crate) drivers: Vec<PathBuf>,
    pub(crate) memory_bytes: u64,
    pub(crate) processors: u32,
    /// Bytes of the guest's root.
    pub(crate) image_bytes_max: u64,
    /// Why the host's processor cannot be lent to it; `None` where it can.
    pub(crate) lacks_kvm: Option<String>,
    /// The other end of the host's TAP interface.
    pub(crate) card: Option<CardSetup>,
}

/// A network card of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CardSetup {
    /// The inherited descriptor of the TAP interface.
    pub(crate) tap: i32,
    pub(crate) mac: String,
}

/// The tenant's end of a virtual NIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NicSetup {
    pub(crate) address: Ipv4Addr,
    pub(crate) prefix_bits: u8,
    pub(crate) host: Ipv4Addr,
}

/// A protection or limit that this machine does not give, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What is missing, in a few words.
    pub what: String,
    /// Why, as the kernel or a look at the machine says.
    pub why: String,
}

impl Missing {
    pub(crate) fn new(what: impl Into<String>, why: impl ToString) -> Self {
        Self { what: what.into(), why: why.to_string() }
    }
}

/// What the first process reports: one line, before the program runs or instead of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The program runs, without these.
    Started(Vec<Missing>),
    /// It does not, for this reason.
    Failed(String),
}

/// The interface of a tenant.
pub(crate) const NIC_NAME: &str = "eth0";
/// The number that the tenant's user has inside; outside it is a user without any right.
pub(crate) const INSIDE_USER: u32 = 1_000;
