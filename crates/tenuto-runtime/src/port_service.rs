//! How late this machine serves a thread that waits for frames and deadlines, on the kind of ports
//! that a lab's nodes have.
//!
//! Threads in a circle, each with a veth pair to the next: every thread sends a frame at each of its
//! deadlines, as a node does, and takes what the one before it sends. Noted is how long after its
//! deadline, or after the kernel's stamp of a frame, it was served. All of it is in namespaces of its
//! own, in a process of its own, which the kernel removes whatever happens.

use crate::allowance::LabPorts;
use crate::node_ports;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use tenuto_io::links::{IpBatch, LinkName, VethEnd, disable_ipv6, offloads_off};
use tenuto_io::namespaces::{namespace_rights, spawn_in_new_namespaces};
use tenuto_io::{
    Interest, MonotonicClock, PollSet, Port, PortKind, PortOpener, RING_FRAMES, realtime,
};
use tenuto_units::{Instant, Span};

/// First argument of the process inside.
pub(crate) const ROLE: &str = "__service";
/// Of a frame that nobody but these ports takes: for local experiments (IEEE 802).
const FRAME: [u8; 60] = {
    let mut frame = [0; 60];
    (frame[0], frame[6], frame[12], frame[13]) = (0x02, 0x02, 0x88, 0xb5);
    frame
};
/// Frames taken from a port per turn.
const BURST: usize = 32;
/// Latenesses kept per thread, in memory that is there from the start.
const SAMPLES_MAX: usize = 1 << 20;

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PortService {
    /// Latenesses, of deadlines and of frames.
    pub(crate) samples: u64,
    /// Half were no larger, for the worst thread.
    pub(crate) ns_p50: u64,
    /// 99.9 % were no larger, for the worst thread.
    pub(crate) ns_p999: u64,
    /// The largest.
    pub(crate) ns_max: u64,
    /// Whether the ports had rings.
    pub(crate) is_ring: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    rings: bool,
    threads: usize,
    period_ns: u64,
    duration_ns: u64,
}

/// Measures for `duration`, with so many threads that send every `period`.
///
/// # Errors
/// When namespaces or ports are not to be had here.
pub(crate) fn measure(
    ports: LabPorts,
    threads: usize,
    period: Span,
    duration: Span,
) -> io::Result<PortService> {
    let lab = namespace_rights()
        .lab()
        .map_err(|refusal| io::Error::new(io::ErrorKind::PermissionDenied, refusal.to_string()))?;
    let order = Order {
        rings: ports == LabPorts::PacketRing,
        threads,
        period_ns: period.as_ns(),
        duration_ns: duration.as_ns(),
    };
    let mut command = Command::new(crate::nodes::THIS_PROGRAM);
    command.arg(ROLE).arg(serde_json::to_string(&order)?);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut guardian = spawn_in_new_namespaces(command, &lab).map_err(io::Error::other)?;
    let stdout = guardian.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    guardian.wait()?;
    let found: Result<PortService, String> = serde_json::from_str(&line)?;
    found.map_err(io::Error::other)
}

/// Plays the role; the order is the second argument.
pub(crate) fn main() -> ExitCode {
    let found = measured().map_err(|error| error.to_string());
    match serde_json::to_string(&found) {
        Ok(line) if writeln!(io::stdout(), "{line}").is_ok() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn measured() -> io::Result<PortService> {
    let order = std::env::args().nth(2).unwrap_or_default();
    let order: Order = serde_json::from_str(&order)?;
    let threads = order.threads.clamp(2, 64);
    let ports = circle(threads, order.rings.then_some(RING_FRAMES))?;
    let is_ring = ports.iter().all(|it| it.1.capabilities().kind == PortKind::PacketRing);
    let start = MonotonicClock::now();
    let period = Span::from_ns(order.period_ns.max(1_000));
    let end = start + Span::from_ns(order.duration_ns);
    let mut running = Vec::new();
    for (number, (out, into)) in ports.into_iter().enumerate() {
        // Not all at the same moment.
        let first = start + period + Span::from_ns(period.as_ns() / threads as u64 * number as u64);
        let thread = std::thread::Builder::new().name("service".into());
        running.push(thread.spawn(move || serve(out, into, first, period, end))?);
    }
    let mut all = PortService { samples: 0, ns_p50: 0, ns_p999: 0, ns_max: 0, is_ring };
    for thread in running {
        let seen = thread.join().map_err(|_| io::Error::other("a thread failed"))??;
        all.take_in(seen);
    }
    Ok(all)
}

impl PortService {
    /// Takes in what one thread has seen.
    fn take_in(&mut self, mut seen_ns: Vec<u64>) {
        seen_ns.sort_unstable();
        let at = |permille: usize| {
            // Rounded up: the lateness that this share of all does not exceed.
            let rank = (seen_ns.len() * permille).div_ceil(1_000).max(1);
            seen_ns.get(rank - 1).copied().unwrap_or(0)
        };
        self.samples += seen_ns.len() as u64;
        self.ns_p50 = self.ns_p50.max(at(500));
        self.ns_p999 = self.ns_p999.max(at(999));
        self.ns_max = self.ns_max.max(at(1_000));
    }
}

type AnyPort = Box<dyn Port + Send>;

/// A veth pair from each thread to the next: its way out, and its way in.
fn circle(threads: usize, ring_frames: Option<usize>) -> io::Result<Vec<(AnyPort, AnyPort)>> {
    let name = |end: char, number: usize| {
        LinkName::new(&format!("{end}{number}")).map_err(io::Error::other)
    };
    disable_ipv6()?;
    let mut batch = IpBatch::new();
    for number in 0..threads {
        let end = |end| name(end, number).map(|name| VethEnd { name, pid: None, mac: None });
        batch.veth_pair(&end('o')?, &end('i')?);
    }
    batch.run().map_err(io::Error::other)?;
    let mut up = IpBatch::new();
    for number in 0..threads {
        for link in [name('o', number)?, name('i', number)?] {
            offloads_off(&link)?;
            up.up(&link);
        }
    }
    up.run().map_err(io::Error::other)?;
    let mut opener = PortOpener::new(node_ports::settings(ring_frames), 2);
    let mut open = |name: LinkName| opener.open(name.as_str()).map(|opened| opened.port);
    let of = |number: usize| Ok((name('o', number)?, name('i', (number + 1) % threads)?));
    let names: Vec<(LinkName, LinkName)> = (0..threads).map(of).collect::<io::Result<_>>()?;
    names.into_iter().map(|(out, into)| Ok((open(out)?, open(into)?))).collect()
}

/// Waits for frames and deadlines until `end`; by how much each was served late, nanoseconds.
fn serve(
    mut out: AnyPort,
    mut into: AnyPort,
    first: Instant,
    period: Span,
    end: Instant,
) -> io::Result<Vec<u64>> {
    realtime::set_timer_slack(Span::from_ns(1))?;
    let mut poll = PollSet::new();
    let fd = into.poll_fd().ok_or_else(|| io::Error::other("every port has a descriptor"))?;
    let key = poll.add(fd, Interest::Read);
    let mut late_ns = Vec::with_capacity(SAMPLES_MAX);
    let mut ideal = first;
    while ideal < end && late_ns.len() + BURST < SAMPLES_MAX {
        poll.wait(Some(ideal))?;
        let now = MonotonicClock::now();
        if now >= ideal {
            late_ns.push(now.since(ideal).as_ns());
            // Ideal times that passed meanwhile lie within the same lateness.
            let missed = now.since(ideal).as_ns() / period.as_ns();
            ideal += period.times(missed + 1);
            out.send(&FRAME)?;
            out.flush()?;
        }
        if poll.readiness(key).readable {
            into.receive(BURST, &mut |arrival, _| {
                late_ns.push(MonotonicClock::now().since(arrival).as_ns());
            })?;
        }
    }
    Ok(late_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_thread_counts() {
        let mut all = PortService { samples: 0, ns_p50: 0, ns_p999: 0, ns_max: 0, is_ring: false };
        all.take_in((1..=1_000).collect());
        all.take_in(vec![700; 10]);
        all.take_in(Vec::new());
        assert_eq!((all.samples, all.ns_p50, all.ns_p999, all.ns_max), (1_010, 700, 999, 1_000));
    }
}
