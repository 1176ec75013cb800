//! Open vSwitch as what is measured: its own daemons in a directory of their own, the userspace
//! datapath, one exact entry per virtual link in one table.

use super::entries::LINKS;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tenuto_io::measure::{Forwarding, ProcessSubject, Wiring};
use tenuto_io::namespaces::{spawn_in_netns_of, spawn_in_new_netns};
use tenuto_io::{MonotonicClock, PollSet};
use tenuto_units::Span;

pub(in crate::measure) const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
/// Where its files go: seen inside only.
const FOLDER: &str = "/run";
const PATIENCE: Span = Span::from_s(20);
const LOOK: Span = Span::from_ms(20);

/// What its ports are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OvsPorts {
    /// `type=system`: packet sockets, served by its main thread.
    Usual,
    /// `type=afxdp`, served by a thread that never sleeps.
    Xdp,
}

/// A bridge between the two interfaces of a wiring.
pub(super) struct OpenVswitch {
    pub(super) process: ProcessSubject,
    // Dropped in this order.
    _switch: Daemon,
    _database: Daemon,
}

pub(in crate::measure) struct Daemon(pub(in crate::measure) Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl OpenVswitch {
    /// Starts one; it is stopped until a window begins.
    pub(super) fn start(
        suffix: &str,
        ports: OvsPorts,
        processor: Option<usize>,
    ) -> io::Result<(Wiring, Self)> {
        let folder = PathBuf::from(format!("{FOLDER}/ovs{suffix}"));
        std::fs::create_dir_all(&folder)?;
        let database_file = folder.join("conf.db");
        let mut create = tool("ovsdb-tool", &folder);
        run(create.arg("create").arg(&database_file).arg(SCHEMA))?;
        let socket = folder.join("db.sock");
        let mut server = tool("ovsdb-server", &folder);
        server.arg(format!("--remote=punix:{}", socket.display()));
        server.arg(format!("--unixctl={}", folder.join("database.ctl").display()));
        server.arg(&database_file);
        let database = Daemon(spawn_in_new_netns(quiet(server, &folder)?).map_err(missing)?);
        wait_for(&socket)?;
        let at = format!("--db=unix:{}", socket.display());
        run(tool("ovs-vsctl", &folder).args([&at, "--no-wait", "init"]))?;
        let wiring = Wiring::veth_called(suffix, Some(database.0.id()))?;
        let mut daemon = tool("ovs-vswitchd", &folder);
        daemon.arg(format!("--unixctl={}", folder.join("switch.ctl").display()));
        daemon.arg(format!("unix:{}", socket.display()));
        let daemon = quiet(daemon, &folder)?;
        let switch = Daemon(spawn_in_netns_of(daemon, database.0.id()).map_err(missing)?);
        add_bridge(&folder, &at, &wiring, ports, processor)?;
        add_flows(&folder)?;
        let forwarding = match ports {
            OvsPorts::Usual => "ovs-vswitchd",
            OvsPorts::Xdp => "pmd",
        };
        let process =
            ProcessSubject::stop(switch.0.id(), processor, Forwarding::Named(forwarding))?;
        Ok((wiring, Self { process, _switch: switch, _database: database }))
    }
}

fn add_bridge(
    folder: &Path,
    at: &str,
    wiring: &Wiring,
    ports: OvsPorts,
    processor: Option<usize>,
) -> io::Result<()> {
    let mut command = tool("ovs-vsctl", folder);
    command.args([at, "--timeout=20"]);
    if let Some(processor) = processor.filter(|&processor| processor < 64) {
        let mask = format!("other_config:pmd-cpu-mask={:#x}", 1_u64 << processor);
        command.args(["set", "Open_vSwitch", ".", &mask, "--"]);
    }
    command.args(["add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev"]);
    command.args(["fail_mode=secure", "protocols=OpenFlow13"]);
    let names = [wiring.entry.as_str(), wiring.exit.as_str()];
    for (number, name) in (1..).zip(names) {
        command.args(["--", "add-port", "br0", name, "--", "set", "interface", name]);
        command.arg(format!("ofport_request={number}"));
        if ports == OvsPorts::Xdp {
            command.args(["type=afxdp", "options:n_rxq=1"]);
        }
    }
    run(&mut command)?;
    for name in names {
        let mut ask = tool("ovs-vsctl", folder);
        let said = run(ask.args([at, "--timeout=20", "get", "interface", name, "error"]))?;
        let error = said.trim();
        if error != "[]" {
            return Err(io::Error::other(format!("port {name}: {error}")));
        }
    }
    Ok(())
}

fn add_flows(folder: &Path) -> io::Result<()> {
    let management = folder.join("br0.mgmt");
    wait_for(&management)?;
    let mut lines = String::new();
    for link in 0..LINKS {
        let [a, b, c, d] = link.to_be_bytes();
        let _ = writeln!(
            lines,
            "priority=10,dl_dst=02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x},actions=output:2"
        );
    }
    let file = folder.join("flows");
    std::fs::write(&file, lines)?;
    let to = format!("unix:{}", management.display());
    let mut command = tool("ovs-ofctl", folder);
    run(command.args(["-O", "OpenFlow13", "add-flows", &to]).arg(&file))?;
    Ok(())
}

/// A program of Open vSwitch with its files in `folder`.
pub(in crate::measure) fn tool(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(name);
    for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"] {
        command.env(variable, folder);
    }
    command.stdin(Stdio::null());
    command
}

/// What a daemon says goes to a file beside the others.
pub(in crate::measure) fn quiet(mut command: Command, folder: &Path) -> io::Result<Command> {
    let log = std::fs::File::options().create(true).append(true).open(folder.join("log"))?;
    command.stdout(log.try_clone()?).stderr(log);
    Ok(command)
}

/// Runs a tool to its end; what it says.
pub(in crate::measure) fn run(command: &mut Command) -> io::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let Output { status, stdout, stderr } =
        command.output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let text = format!("{name} is not installed (package openvswitch-switch)");
                io::Error::new(error.kind(), text)
            }
            _ => error,
        })?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&stderr);
    Err(io::Error::other(format!("{name}: {}", said.lines().next().unwrap_or("failed"))))
}

pub(in crate::measure) fn missing(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{error} (package openvswitch-switch)"))
}

/// Waits until a file is there.
pub(in crate::measure) fn wait_for(path: &Path) -> io::Result<()> {
    let until = MonotonicClock::now() + PATIENCE;
    while !path.exists() {
        if MonotonicClock::now() >= until {
            return Err(io::Error::other(format!("{} was never made", path.display())));
        }
        PollSet::new().wait(Some(MonotonicClock::now() + LOOK))?;
    }
    Ok(())
}
