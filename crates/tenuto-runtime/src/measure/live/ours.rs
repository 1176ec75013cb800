//! Our switch as what is measured: the process that users start, told over OpenFlow.

use super::entries::{LINKS, Treatment, virtual_link};
use crate::standalone::{Endpoint, SwitchClient};
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tenuto_io::measure::{Forwarding, ProcessSubject, Wiring};
use tenuto_io::{PortKind, WaitPolicy};
use tenuto_openflow::Body;

/// It is up sooner, or never.
const PATIENCE: Duration = Duration::from_secs(20);
/// Its threads beside the first that forward: they receive and send for it.
const IO: &str = "tenuto-io";

/// A `tenuto switch` between the two interfaces of a wiring.
pub(super) struct OurSwitch {
    pub(super) process: ProcessSubject,
    pub(super) endpoint: Endpoint,
    child: Child,
}

impl OurSwitch {
    /// Starts one that listens at `port`; it is stopped until a window begins, and knows nothing.
    pub(super) fn start(
        wiring: &Wiring,
        kind: PortKind,
        policy: WaitPolicy,
        processor: Option<usize>,
        port: u16,
    ) -> io::Result<Self> {
        let ports = [&wiring.entry, &wiring.exit].map(|name| format!("{name},kind={kind}"));
        Self::start_told(&ports, policy, processor, port, &[])
    }

    /// One with these ports, each as `--port` takes it, that never sleeps.
    pub(super) fn start_at(
        ports: &[String],
        processor: Option<usize>,
        port: u16,
    ) -> io::Result<Self> {
        Self::start_told(ports, WaitPolicy::Spin, processor, port, &[])
    }

    /// Starts it with a thread that receives and sends, on a processor of its own if there is one.
    pub(super) fn start_with_thread(
        wiring: &Wiring,
        kind: PortKind,
        (processor, beside): (Option<usize>, Option<usize>),
        port: u16,
    ) -> io::Result<Self> {
        // Two threads that never sleep would keep each other from one processor.
        let policy = if beside.is_some() { WaitPolicy::Spin } else { WaitPolicy::Block };
        let more = ["--io-threads", "1"];
        let ports = [&wiring.entry, &wiring.exit].map(|name| format!("{name},kind={kind}"));
        let mut it = Self::start_told(&ports, policy, processor, port, &more)?;
        if let Some(beside) = beside {
            it.process.put_beside(IO, beside);
        }
        Ok(it)
    }

    fn start_told(
        ports: &[String],
        policy: WaitPolicy,
        processor: Option<usize>,
        port: u16,
        more: &[&str],
    ) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["switch", "--wait", policy.name(), "--packet-in-rate", "0"]).args(more);
        for port in ports {
            command.arg("--port").arg(port);
        }
        let address = format!("127.0.0.1:{port}");
        command.arg("--listen").arg(format!("ptcp:{address}"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stderr = child.stderr.take().ok_or_else(|| io::Error::other("no pipe"))?;
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        if let Err(error) = wait_until_up(&lines) {
            let _ = child.kill();
            child.wait()?;
            return Err(error);
        }
        let endpoint = Endpoint::parse(&format!("tcp:{address}")).map_err(io::Error::other)?;
        let process = ProcessSubject::stop(child.id(), processor, Forwarding::FirstAndNamed(IO))?;
        Ok(Self { process, endpoint, child })
    }

    /// Tells it something, which is in effect when this returns.
    pub(super) fn tell(&self, bodies: Vec<Body>) -> io::Result<()> {
        self.process.go_on()?;
        SwitchClient::connect(&self.endpoint, None)?.carry_out(bodies)?;
        self.process.rest()
    }

    /// Tells it of an aircraft's virtual links.
    pub(super) fn tell_of_links(&self, treatment: Treatment) -> io::Result<()> {
        self.tell((0..LINKS).flat_map(|link| virtual_link(link, treatment)).collect())
    }
}

impl Drop for OurSwitch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for the line that says so; the reason if it is another end.
fn wait_until_up(lines: &Receiver<String>) -> io::Result<()> {
    let mut last = String::from("it says nothing");
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) if line.contains("is up") => return Ok(()),
            Ok(line) => last = line,
            Err(_) => return Err(io::Error::other(last)),
        }
    }
}
