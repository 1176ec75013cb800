//! Control planes of a measurement, each behind a virtual NIC of its own.

use super::echo::{PORT, ROLE};
use super::environment::Environment;
use crate::groups::Groups;
use crate::nic::HostEnd;
use crate::process::{Process, Surroundings, link_name};
use crate::setup::{NIC_NAME, Report};
use std::fs;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use tenuto_io::links::{LinkChanger, LinkName};
use tenuto_io::measure::{Forwarding, ProcessSubject};
use tenuto_io::namespaces::{spawn_in_new_netns, within_netns};
use tenuto_io::{MonotonicClock, PollSet, RateLimits};
use tenuto_model::{NicReceive, Tenant, TenantNic};
use tenuto_units::Span;

/// A control plane that runs.
pub(super) struct Plane {
    /// Its process.
    pub(super) pid: u32,
    pub(super) address: SocketAddr,
    nic: HostEndOf,
}

/// A control plane and its process as what is measured.
pub(super) struct Contender {
    pub(super) name: String,
    pub(super) plane: Plane,
    pub(super) subject: ProcessSubject,
}

/// Who holds its virtual NIC.
pub(super) enum HostEndOf {
    Native(HostEnd, Child),
    Sandbox(Box<Process>),
}

impl Plane {
    /// Starts the control plane number `number`, which may have what `tenant` says.
    pub(super) fn start(
        host: &str,
        number: u8,
        environment: Environment,
        receive: NicReceive,
        groups: &Groups,
    ) -> io::Result<Self> {
        let name = format!("plane-{number}");
        let nic = TenantNic {
            address: Ipv4Addr::new(10, 98, number, 2),
            prefix_bits: 30,
            host: Ipv4Addr::new(10, 98, number, 1),
            control: vec![PORT],
        };
        let address = SocketAddr::from((nic.address, PORT));
        let exe = std::env::current_exe()?;
        let exe = exe.to_string_lossy().into_owned();
        let tenant = tenant_of(&name, &exe, nic, receive)?;
        let (pid, nic) = match environment {
            Environment::Native => native(host, &tenant)?,
            Environment::Sandbox => sandbox(host, &tenant, groups)?,
        };
        Ok(Self { pid, address, nic })
    }

    /// Its process as what is measured: stopped but in its windows.
    pub(super) fn subject(&self, processor: usize) -> io::Result<ProcessSubject> {
        ProcessSubject::stop(self.pid, Some(processor), Forwarding::FirstAndNamed(ROLE))
    }

    /// The same, with its threads of the usual priority.
    pub(super) fn usual_subject(&self, processor: usize) -> io::Result<ProcessSubject> {
        ProcessSubject::stop(self.pid, Some(processor), Forwarding::AsUsual)
    }

    /// Limits what is sent to it.
    pub(super) fn limit(&mut self, limits: RateLimits) -> io::Result<()> {
        match &mut self.nic {
            HostEndOf::Native(end, _) => end.limit(limits),
            HostEndOf::Sandbox(process) => {
                process.nic.as_mut().map_or(Ok(()), |it| it.limit(limits))
            }
        }
    }

    /// Processor time of the thread that receives for it.
    pub(super) fn receive_time(&self) -> Span {
        let end = match &self.nic {
            HostEndOf::Native(end, _) => Some(end),
            HostEndOf::Sandbox(process) => process.nic.as_ref(),
        };
        end.and_then(HostEnd::receive_time).unwrap_or(Span::ZERO)
    }
}

impl Drop for HostEndOf {
    fn drop(&mut self) {
        match self {
            Self::Native(_, child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Self::Sandbox(process) => {
                process.kill();
                let _ = process.wait();
            }
        }
    }
}

fn tenant_of(name: &str, exe: &str, nic: TenantNic, receive: NicReceive) -> io::Result<Tenant> {
    let text = format!("tenuto_tenants: 1\ntenants: {{{name}: {{program: [/bin/true]}}}}\n");
    let file = tenuto_model::read_tenants(&text, "measurement", &|_, _| Ok(()));
    let file = file.map_err(|problems| io::Error::other(problems.to_string()))?;
    let tenant = file.tenants.into_iter().next().expect("one is in the text");
    let (program, files) = (vec![exe.to_owned(), ROLE.to_owned()], vec![exe.to_owned()]);
    Ok(Tenant { program, files, nic: Some(nic), receive, ..tenant })
}

/// A tenant that spins, forks and fills memory within its limits, until this is dropped.
pub(super) struct Attacker {
    _held: HostEndOf,
}

impl Attacker {
    /// Starts it.
    pub(super) fn start(host: &str, groups: &Groups) -> io::Result<Self> {
        const SCRIPT: &str = "f() { f | f & }; f; tail /dev/zero & while :; do :; done";
        let text = format!(
            "tenuto_tenants: 1\ntenants:\n  attacker:\n    program: [/bin/sh, -c, \"{SCRIPT}\"]\n    \
             memory: 64 MB\n    processes: 32\n"
        );
        let file = tenuto_model::read_tenants(&text, "measurement", &|_, _| Ok(()));
        let file = file.map_err(|problems| io::Error::other(problems.to_string()))?;
        let process = in_sandbox(host, &file.tenants[0], groups)?;
        Ok(Self { _held: HostEndOf::Sandbox(Box::new(process)) })
    }
}

/// A plain process in a network namespace of its own, so that it has the same link.
fn native(host: &str, tenant: &Tenant) -> io::Result<(u32, HostEndOf)> {
    let mut command = Command::new("/proc/self/exe");
    command.arg(ROLE).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = spawn_in_new_netns(command).map_err(io::Error::other)?;
    let pid = child.id();
    let made = (|| {
        let nic = tenant.nic.as_ref().expect("it was given one");
        let eth0 = LinkName::new(NIC_NAME).map_err(io::Error::other)?;
        let mut end = HostEnd::make(link_name(host, &tenant.name), nic, &eth0, pid)?;
        within_netns(pid, || -> io::Result<()> {
            let mut links = LinkChanger::new()?;
            links.set_up(&LinkName::new("lo").map_err(io::Error::other)?)?;
            links.add_address(&eth0, nic.address, nic.prefix_bits)?;
            links.set_up(&eth0)
        })??;
        end.receive(&eth0, pid, &tenant.receive, None)
            .map_err(|error| io::Error::other(format!("{error:?}")))?;
        Ok(end)
    })();
    match made {
        Ok(end) => {
            listens(child.stdout.take())?;
            Ok((pid, HostEndOf::Native(end, child)))
        }
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

/// Waits for its first word.
fn listens(output: Option<impl Read>) -> io::Result<()> {
    let mut word = [0; 9];
    output.map_or(Ok(()), |mut output| output.read_exact(&mut word))
}

/// A sandbox whose program runs.
fn in_sandbox(host: &str, tenant: &Tenant, groups: &Groups) -> io::Result<Process> {
    let group = groups.make(tenant)?;
    let user = crate::process::user_of(host, &tenant.name);
    let user = if crate::supervisor::knows_user(user) { user } else { tenuto_io::own_user() };
    let with = Surroundings { host, group, limits_memory: true, user: (user, user) };
    let mut process = Process::start(tenant, with).map_err(io::Error::other)?;
    let mut line = vec![0; 16 << 10];
    let read = process.report.take().map_or(Ok(0), |mut report| report.read(&mut line));
    match read.map(|read| crate::process::read_report(&line[..read])) {
        Ok(Report::Started(_)) => Ok(process),
        failed => {
            process.kill();
            let _ = process.wait();
            Err(io::Error::other(format!("a sandbox for {}: {failed:?}", tenant.name)))
        }
    }
}

fn sandbox(host: &str, tenant: &Tenant, groups: &Groups) -> io::Result<(u32, HostEndOf)> {
    let mut process = in_sandbox(host, tenant, groups)?;
    let log = process.log.take();
    let lack = process.missing.iter().find(|lack| lack.what.contains("receive path"));
    let lack = lack.map(|lack| format!("{}: {}", lack.what, lack.why));
    let (first, held) = (process.pid, HostEndOf::Sandbox(Box::new(process)));
    if let Some(lack) = lack {
        return Err(io::Error::other(lack));
    }
    listens(log)?;
    Ok((program_of(first)?, held))
}

/// The only child of the first process of a sandbox.
fn program_of(first: u32) -> io::Result<u32> {
    let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children"))?;
    let child = children.split_ascii_whitespace().next().and_then(|pid| pid.parse().ok());
    child.ok_or_else(|| io::Error::other("the control plane has ended"))
}

/// Lets time pass.
pub(super) fn pause(length: Span) -> io::Result<()> {
    PollSet::new().wait(Some(MonotonicClock::now() + length)).map(drop)
}
