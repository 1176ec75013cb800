//! A sandbox that was started: its guardian, its first process, and the pipes to them.

use crate::file_system::KVM;
use crate::groups::TenantGroup;
use crate::machine::Parts;
use crate::nic::{HostEnd, SplitError};
use crate::setup::{CardSetup, MachineSetup, Missing, NIC_NAME, NicSetup, Report, Setup};
use std::fs;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use tenuto_io::links::LinkName;
use tenuto_io::namespaces::{SandboxEntry, spawn_in_sandbox, supervisor_of};
use tenuto_io::signals::Signal;
use tenuto_io::{MonotonicClock, RateLimits};
use tenuto_model::{Environment, Microvm, Tenant};
use tenuto_units::Instant;

/// Bytes of the root of a guest.
const IMAGE_BYTES_MAX: u64 = 128_000_000;

/// How this program is called when it is the first process of a sandbox.
pub(crate) const INIT_ROLE: &str = "tenuto-tenant-init";

/// A sandbox that is there.
pub(crate) struct Process {
    guardian: Child,
    /// The first process of the sandbox.
    pub(crate) pid: u32,
    pub(crate) started: Instant,
    /// Its report, until it has come.
    pub(crate) report: Option<ChildStdout>,
    /// What the tenant writes.
    pub(crate) log: Option<ChildStderr>,
    pub(crate) nic: Option<HostEnd>,
    pub(crate) group: TenantGroup,
    /// What its virtual NIC lacks.
    pub(crate) missing: Vec<Missing>,
}

/// What a sandbox is started with besides what the file says.
pub(crate) struct Surroundings<'a> {
    pub(crate) host: &'a str,
    pub(crate) group: TenantGroup,
    pub(crate) limits_memory: bool,
    /// User and group of the tenant outside.
    pub(crate) user: (u32, u32),
}

impl Process {
    /// Starts the sandbox of a tenant; its program runs when the report says so.
    pub(crate) fn start(tenant: &Tenant, with: Surroundings<'_>) -> Result<Self, String> {
        let mut setup = setup(tenant, with.limits_memory);
        let card = match &tenant.environment {
            Environment::Sandbox => None,
            Environment::Microvm(machine) => {
                let card = tap_of(tenant, with.host).map_err(|error| error.to_string())?;
                setup.machine = Some(machine_setup(tenant, machine, card.as_ref())?);
                card
            }
        };
        let mut command = Command::new("/proc/self/exe");
        command.arg(INIT_ROLE).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (user, group) = with.user;
        let inherited = card.as_ref().map(|(_, tap)| tap.as_raw_fd());
        let control_groups = with.group.entrances();
        let entry = SandboxEntry { user, group, control_groups, inherited };
        let started = MonotonicClock::now();
        let mut guardian = spawn_in_sandbox(command, &entry).map_err(|error| error.to_string())?;
        let (input, report) = (guardian.stdin.take(), guardian.stdout.take());
        let log = guardian.stderr.take();
        let mut process = Self {
            guardian,
            pid: 0,
            started,
            report,
            log,
            // The descriptor closes here: the interface is the emulator's from now on.
            nic: card.map(|(end, _)| end),
            group: with.group,
            missing: Vec::new(),
        };
        let set_up = process.set_up(tenant, with.host, input, &setup);
        match set_up {
            Ok(()) => Ok(process),
            Err(error) => {
                process.kill();
                let _ = process.guardian.wait();
                Err(error.to_string())
            }
        }
    }

    fn set_up(
        &mut self,
        tenant: &Tenant,
        host: &str,
        input: Option<ChildStdin>,
        setup: &Setup,
    ) -> io::Result<()> {
        self.pid = child_of(self.guardian.id())?;
        let end = match (&tenant.nic, self.nic.take()) {
            (None, _) => None,
            (Some(_), Some(tap)) => Some(tap),
            (Some(nic), None) => {
                let peer = LinkName::new(NIC_NAME).map_err(io::Error::other)?;
                let mut end = HostEnd::make(link_name(host, &tenant.name), nic, &peer, self.pid)?;
                let pinned = tenant.pinned.as_deref();
                if let Err(error) = end.receive(&peer, self.pid, &tenant.receive, pinned) {
                    self.missing.push(not_received(tenant.receive.path.name(), &error));
                }
                Some(end)
            }
        };
        if let Some(mut end) = end {
            let limits = RateLimits { packets: tenant.rate_packets, bps: tenant.rate_bps };
            if let Err(error) = end.limit(limits) {
                let what = "limit of frames and bits at the virtual NIC";
                self.missing.push(Missing::new(what, format!("no policer: {error}")));
            }
            self.nic = Some(end);
        }
        let text = serde_json::to_vec(setup)?;
        // Closes the pipe: the first process reads to its end.
        input.map_or(Ok(()), |mut input| input.write_all(&text))
    }

    /// Whether this is the process with that guardian, and its exit status if it has ended.
    pub(crate) fn ended(&mut self) -> io::Result<Option<std::process::ExitStatus>> {
        self.guardian.try_wait()
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        self.guardian.wait().map(drop)
    }

    /// Asks the program to end.
    pub(crate) fn terminate(&self) {
        // One that has just ended is found by its status.
        let _ = Signal::Terminate.send(self.guardian.id());
    }

    /// Ends everything inside.
    pub(crate) fn kill(&mut self) {
        let _ = self.guardian.kill();
    }
}

/// The host's end of a machine's network card, and the other one.
fn tap_of(tenant: &Tenant, host: &str) -> io::Result<Option<(HostEnd, OwnedFd)>> {
    let nic = tenant.nic.as_ref();
    nic.map(|nic| HostEnd::make_tap(link_name(host, &tenant.name), nic)).transpose()
}

/// What the machine of a tenant is made of, on this host.
fn machine_setup(
    tenant: &Tenant,
    machine: &Microvm,
    card: Option<&(HostEnd, OwnedFd)>,
) -> Result<MachineSetup, String> {
    let Parts { emulator, busybox, kernel, drivers } =
        Parts::find(machine.kernel.as_deref().map(Path::new))?;
    let [a, b, c, d] = tenant.nic.as_ref().map_or([0; 4], |nic| nic.address.octets());
    Ok(MachineSetup {
        emulator,
        busybox,
        kernel,
        drivers,
        memory_bytes: tenant.memory_bytes.unwrap_or(Microvm::MEMORY_BYTES),
        processors: 1,
        image_bytes_max: IMAGE_BYTES_MAX,
        lacks_kvm: lacks_kvm(),
        card: card.map(|(_, tap)| CardSetup {
            tap: tap.as_raw_fd(),
            // Locally administered, with the address in it.
            mac: format!("02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}"),
        }),
    })
}

/// Why a user without rights cannot have the host's processor for a machine; `None` if it can.
fn lacks_kvm() -> Option<String> {
    match fs::metadata(KVM) {
        Err(error) => Some(format!("{KVM}: {error}")),
        Ok(about) if about.permissions().mode() & 0o006 == 0o006 => None,
        Ok(_) => Some(format!("{KVM} is not open to all users, and tenants are in no group")),
    }
}

fn not_received(path: &str, error: &SplitError) -> Missing {
    match error {
        SplitError::NotSplit(why) => {
            Missing::new(format!("receive path {path} (inline instead)"), why)
        }
        SplitError::NotPlaced(why) => {
            Missing::new(format!("processor and priority of the receive path {path}"), why)
        }
    }
}

fn setup(tenant: &Tenant, limits_memory: bool) -> Setup {
    /// Of each file system in memory, where no limit says less.
    const MEMORY_FILES_BYTES: u64 = 64_000_000;
    let half = tenant.memory_bytes.map_or(MEMORY_FILES_BYTES, |bytes| bytes / 2);
    let is_machine = matches!(tenant.environment, Environment::Microvm(_));
    Setup {
        name: tenant.name.clone(),
        program: tenant.program.clone(),
        variables: tenant.variables.clone(),
        files: tenant.files.iter().map(Into::into).collect(),
        data: tenant.data.as_ref().map(Into::into),
        // The image of a machine is such a file.
        memory_files_bytes: if is_machine { IMAGE_BYTES_MAX } else { half.min(MEMORY_FILES_BYTES) },
        processes: tenant.processes.map(|most| u64::from(most) + crate::groups::OWN_PROCESSES),
        address_space_bytes: tenant.memory_bytes.filter(|_| !limits_memory && !is_machine),
        nic: tenant.nic.as_ref().map(|nic| NicSetup {
            address: nic.address,
            prefix_bits: nic.prefix_bits,
            host: nic.host,
        }),
        machine: None,
    }
}

/// The only child of a guardian, by the kernel's list where it has one.
fn child_of(guardian: u32) -> io::Result<u32> {
    let listed = fs::read_to_string(format!("/proc/{guardian}/task/{guardian}/children"));
    let first = listed.ok().and_then(|text| text.split_ascii_whitespace().next()?.parse().ok());
    first.map_or_else(|| supervisor_of(guardian), Ok)
}

/// The parent of a process.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// The report that a line of the first process says.
pub(crate) fn read_report(line: &[u8]) -> Report {
    serde_json::from_slice(line).unwrap_or_else(|_| {
        Report::Failed("the sandbox ended before it was built; its log may say why".to_owned())
    })
}

/// FNV-1a (\[FNV\]), for names that have to be short and numbers that have to stay.
fn digest(host: &str, tenant: &str) -> u64 {
    let bytes = [host.as_bytes(), b"/", tenant.as_bytes()].concat();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The host's end of a tenant's virtual NIC: a part of its name, and what makes it unique.
pub(crate) fn link_name(host: &str, tenant: &str) -> LinkName {
    let part: String = tenant.chars().take(6).collect();
    let number = digest(host, tenant) & 0xff_ffff;
    LinkName::new(&format!("{part}-t{number:06x}")).expect("at most 14 plain letters")
}

/// A user and group that no person has, the same for a tenant in every run.
pub(crate) fn user_of(host: &str, tenant: &str) -> u32 {
    const FIRST: u32 = 1_000_000_000;
    const COUNT: u64 = 500_000_000;
    FIRST + u32::try_from(digest(host, tenant) % COUNT).unwrap_or(0)
}

/// Where switches reach a controller.
pub(crate) fn control_addresses(address: Ipv4Addr, ports: &[u16]) -> Vec<String> {
    ports.iter().map(|port| format!("{address}:{port}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_users_nobody() {
        let name = link_name("a-host-with-a-long-name", "a-tenant-with-a-long-one");
        assert!(name.as_str().len() <= 14, "{name}");
        assert_ne!(link_name("a", "b"), link_name("c", "b"));
        assert!((1_000_000_000..1_500_000_000).contains(&user_of("a", "b")));
        assert_ne!(user_of("a", "b"), user_of("a", "c"));
    }

    #[test]
    fn a_sandbox_that_says_nothing_has_failed() {
        assert!(matches!(read_report(b""), Report::Failed(_)));
        let line = serde_json::to_vec(&Report::Started(Vec::new())).expect("a document");
        assert_eq!(read_report(&line), Report::Started(Vec::new()));
    }
}
