//! A controller that is measured: a process of its own, which ends with this.

use super::load::{Load, LoadFigures, run};
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const OS_KEN_PROGRAM: &str = include_str!("os_ken_learning.py");
/// How long a controller may take to listen.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// What ours says when it listens.
const LISTENING: &str = "listening at tcp:";

/// A controller that runs.
pub(super) struct Subject {
    pub(super) name: &'static str,
    child: Child,
    at: SocketAddr,
}

impl Drop for Subject {
    fn drop(&mut self) {
        // It holds nothing that has to be written down.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Subject {
    /// `tenuto app learning-switch`.
    pub(super) fn ours(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(["app", "learning-switch", "--listen", "127.0.0.1:0"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let said = child.stderr.take();
        let mut it = Self { name: "tenuto", child, at: (Ipv4Addr::LOCALHOST, 0).into() };
        let mut lines = BufReader::new(said.ok_or_else(|| io::Error::other("no pipe"))?).lines();
        let said = lines.by_ref().map_while(Result::ok).find_map(|line| {
            line.trim().split_once(LISTENING).and_then(|(_, at)| at.parse::<SocketAddr>().ok())
        });
        it.at =
            said.ok_or_else(|| io::Error::other("the controller does not say where it listens"))?;
        // What it says of switches is read, or it would wait for that.
        thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Ok(it)
    }

    /// The test controller of Open vSwitch.
    pub(super) fn ovs_testcontroller() -> Result<Self, String> {
        const NAME: &str = "ovs-testcontroller";
        let at = free_address().map_err(|error| error.to_string())?;
        let mut command = Command::new(NAME);
        command.arg(format!("ptcp:{}:127.0.0.1", at.port()));
        command.args(["--unixctl=none", "--verbose=off"]);
        Self::other(NAME, command, at).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                format!("SKIPPED {NAME}: it is not installed (Debian: openvswitch-testcontroller)")
            }
            _ => format!("SKIPPED {NAME}: {error}"),
        })
    }

    /// A learning switch in os-ken.
    pub(super) fn os_ken(python: Option<&Path>) -> Result<Self, String> {
        const NAME: &str = "os-ken";
        let python = python.ok_or_else(|| {
            format!("SKIPPED {NAME}: TENUTO_OSKEN_PYTHON names no Python that has os-ken")
        })?;
        let at = free_address().map_err(|error| error.to_string())?;
        let mut command = Command::new(python);
        command.args(["-c", OS_KEN_PROGRAM]).arg(at.port().to_string());
        command.env("OSKEN_HUB_TYPE", "eventlet").env("PYTHONDONTWRITEBYTECODE", "1");
        Self::other(NAME, command, at).map_err(|error| format!("SKIPPED {NAME}: {error}"))
    }

    fn other(name: &'static str, mut command: Command, at: SocketAddr) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut it = Self { name, child: command.spawn()?, at };
        let until = Instant::now() + START_PATIENCE;
        while TcpStream::connect(at).is_err() {
            if let Some(status) = it.child.try_wait()? {
                return Err(io::Error::other(format!("it has ended at once: {status}")));
            }
            if Instant::now() > until {
                return Err(io::Error::other("it does not listen"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(it)
    }

    pub(super) fn measure(&mut self, load: &Load) -> io::Result<LoadFigures> {
        run(load, self.at, self.child.id())
            .map_err(|error| io::Error::other(format!("{}: {error}", self.name)))
    }
}

/// A port of this machine that was free a moment ago.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}
