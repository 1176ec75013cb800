//! The first process of a sandbox: builds it while it is root of its own namespaces, gives every right
//! up, starts the program, and ends with it. When it ends, the kernel ends all others inside.

use crate::setup::{INSIDE_USER, Missing, NIC_NAME, NicSetup, Report, Setup};
use crate::{file_system, landlocked, machine, system_calls};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Child, Command, ExitCode, Stdio};
use tenuto_io::confine::{self, Resource, set_limit};
use tenuto_io::links::{LinkChanger, LinkName, disable_ipv6};
use tenuto_io::signals::{Signal, SignalFd};
use tenuto_io::{Interest, PollSet};

/// Open descriptors of a process: a controller with a thousand switches has room.
const DESCRIPTORS: u64 = 65_536;
/// Bytes that a process may lock into memory.
const LOCKED_BYTES: u64 = 1 << 20;
/// What a shell says when a program cannot be run.
const NOT_RUN: u8 = 127;

/// Runs as process 1 of a sandbox: [`Setup`] on standard input, [`Report`] on standard output,
/// whatever the program writes on standard error.
pub(crate) fn main() -> ExitCode {
    let mut text = String::new();
    let setup = io::stdin().read_to_string(&mut text).map_err(|error| error.to_string());
    let setup = setup.and_then(|_| {
        serde_json::from_str::<Setup>(&text).map_err(|error| format!("no set-up: {error}"))
    });
    match setup.and_then(|setup| run(&setup)) {
        Ok(status) => status.into(),
        Err(why) => {
            report(&Report::Failed(why));
            NOT_RUN.into()
        }
    }
}

fn report(report: &Report) {
    let mut out = io::stdout().lock();
    let mut line = serde_json::to_vec(report).expect("a report is a document");
    line.push(b'\n');
    // A supervisor that is gone takes this process with it.
    let _ = out.write_all(&line).and_then(|()| out.flush());
}

fn run(setup: &Setup) -> Result<u8, String> {
    let signals = [Signal::Child, Signal::Terminate, Signal::Interrupt, Signal::HangUp];
    let mut signals = SignalFd::new(&signals).map_err(|error| error.to_string())?;
    let missing = confine(setup)?;
    if let Some(machine) = &setup.machine {
        let mut started = |missing| report(&Report::Started(missing));
        return machine::run(setup, machine, &mut signals, missing, &mut started);
    }
    let program = start(setup)?;
    report(&Report::Started(missing));
    wait(&program, &mut signals).map_err(|error| error.to_string())
}

fn confine(setup: &Setup) -> Result<Vec<Missing>, String> {
    let at = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let mut missing = Vec::new();
    // A machine has its card from outside.
    network(setup.nic.as_ref().filter(|_| setup.machine.is_none())).map_err(at("virtual NIC"))?;
    file_system::enter(setup).map_err(at("file system"))?;
    confine::set_host_name(&setup.name).map_err(at("host name"))?;
    if let Err(error) = confine::hide_outer_groups() {
        missing.push(Missing::new("names of control groups hidden", error));
    }
    limits(setup).map_err(at("limits"))?;
    if let Err(error) = confine::enter_inner_user(INSIDE_USER) {
        missing.push(Missing::new("a user namespace apart from that of mounts and NIC", error));
    }
    confine::drop_capabilities().map_err(at("capabilities"))?;
    confine::no_new_privileges().map_err(at("no_new_privs"))?;
    missing.extend(landlocked::restrict());
    confine::not_dumpable().map_err(at("memory of the sandbox's own process"))?;
    if let Err(error) = system_calls::filter() {
        missing.push(Missing::new("seccomp (the filter of system calls)", error));
    }
    Ok(missing)
}

fn network(nic: Option<&NicSetup>) -> io::Result<()> {
    let name = |text| LinkName::new(text).map_err(io::Error::other);
    let mut links = LinkChanger::new()?;
    links.set_up(&name("lo")?)?;
    let Some(nic) = nic else { return Ok(()) };
    disable_ipv6()?;
    // Low ports are of no account in a network namespace of one's own. Older kernels lack the setting.
    let _ = std::fs::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    let eth0 = name(NIC_NAME)?;
    links.add_address(&eth0, nic.address, nic.prefix_bits)?;
    links.set_up(&eth0)?;
    links.add_default_route(&eth0, nic.host)
}

fn limits(setup: &Setup) -> io::Result<()> {
    set_limit(Resource::CoreFile, 0)?;
    set_limit(Resource::LockedMemory, LOCKED_BYTES)?;
    // The machine's own limit may be lower, and is kept then.
    let _ = set_limit(Resource::Descriptors, DESCRIPTORS);
    // A machine limits those of its guest.
    if let Some(processes) = setup.processes.filter(|_| setup.machine.is_none()) {
        set_limit(Resource::Processes, processes)?;
    }
    match setup.address_space_bytes {
        Some(bytes) => set_limit(Resource::AddressSpace, bytes),
        None => Ok(()),
    }
}

fn start(setup: &Setup) -> Result<Child, String> {
    let (program, arguments) = setup.program.split_first().ok_or("no program")?;
    let log = || io::stderr().as_fd().try_clone_to_owned().map_err(|error| error.to_string());
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("HOME", "/data").env("LANG", "C.UTF-8");
    command.envs(setup.variables.iter().map(|(name, value)| (name, value)));
    command.current_dir("/data").stdin(Stdio::null());
    command.stdout(Stdio::from(log()?)).stderr(Stdio::from(log()?));
    tenuto_io::signals::unblock_in(&mut command);
    command.spawn().map_err(|error| format!("cannot run {program}: {error}"))
}

/// Passes signals on and buries the dead until the program itself has ended; its status.
fn wait(program: &Child, signals: &mut SignalFd) -> io::Result<u8> {
    let mut set = PollSet::new();
    set.add(signals.as_raw_fd(), Interest::Read);
    loop {
        while let Some(signal) = signals.next_pending()? {
            if signal != Signal::Child {
                // A program that has just ended is found below.
                let _ = signal.send(program.id());
            }
        }
        while let Some(ended) = confine::reap()? {
            if ended.pid == program.id() {
                return Ok(ended.status);
            }
        }
        set.wait(None)?;
    }
}
