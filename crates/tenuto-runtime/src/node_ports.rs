//! The packet ports of a node: opened, waited on, and fed.

use crate::forwarding::{ForwardingPort, is_signal};
use crate::reporter::Reporter;
use std::io;
use tenuto_dataplane::{FramePool, Frames, Transmit};
use tenuto_io::{
    BURST_FRAMES, HostStack, Lent, Look, MonotonicClock, Pending, PollKey, PollSet, Port, PortKind,
    PortOpener, PortSettings, RING_FRAMES,
};
use tenuto_model::Network;
use tenuto_units::Instant;

/// Frames taken from a port before the next one is served.
pub(crate) const RECEIVE_BURST: usize = 16;
/// Memory for the rings of all ports of a lab, and what a frame takes of it.
const RINGS_BYTES: usize = 256 << 20;
const SLOT_BYTES: usize = 2_048;
/// With fewer frames a stall of this machine would soon be loss: 512 smallest frames are 34 ms at
/// 10 Mbit/s, and 3.4 ms at 100 Mbit/s.
const RING_FRAMES_MIN: usize = 512;

/// A port: its pace is set by the core, the port itself sends at once.
pub(crate) struct NodePort {
    pub(crate) number: u32,
    pub(crate) port: Box<dyn Port + Send>,
    pub(crate) key: PollKey,
    /// The last burst took all that waited: what comes next has not waited behind a burst.
    pub(crate) was_drained: bool,
    /// Until then, frames may wait behind others that should not have been sent.
    pub(crate) flooded_until: Instant,
    /// Mode signals that are still to be lost here.
    pub(crate) signals_to_lose: u32,
    has_batch: bool,
    overflowed: u64,
}

/// `p3`: how port 3 of a node is named.
pub(crate) fn interface_name(port: u32) -> String {
    format!("p{port}")
}

/// How many frames wait in the ring of each port, so that all rings of a lab keep within their
/// memory; `None` where that leaves too little: ports without rings are deeper then.
pub(crate) fn ring_frames(network: &Network) -> Option<usize> {
    let ports = (network.links.len() * 2).max(1);
    let each = (RINGS_BYTES / SLOT_BYTES / ports).min(RING_FRAMES);
    (each >= RING_FRAMES_MIN).then_some(each)
}

/// What carries the frames of a lab: rings, and plain packet ports where there is no memory for
/// them. The kernel's own stack finds neither an address nor IPv6 on these interfaces.
pub(crate) fn settings(ring_frames: Option<usize>) -> PortSettings {
    PortSettings {
        kind: ring_frames.is_none().then_some(PortKind::Packet),
        ring_frames: ring_frames.unwrap_or(RING_FRAMES),
        host_stack: HostStack::Share,
        // Both ends are ours, and were prepared when they were made.
        offloads_off: false,
        ..PortSettings::default()
    }
}

/// Opens the ports of a lab's node with these numbers, in the present network namespace.
pub(crate) fn open(
    numbers: impl Iterator<Item = u32>,
    ring_frames: Option<usize>,
    poll: &mut PollSet,
    reporter: &mut Reporter,
) -> io::Result<Vec<NodePort>> {
    let mut opener = PortOpener::new(settings(ring_frames), 1);
    let mut open = |number: u32| {
        let opened = opener.open(&interface_name(number))?;
        for text in opened.notes {
            let text = format!("{}: {text}", reporter.node());
            reporter.event(MonotonicClock::now(), text);
        }
        NodePort::new(number, opened.port, poll)
    };
    numbers.map(&mut open).collect()
}

impl NodePort {
    /// Opens what programs of a host send and receive through, without a ring: no plan waits for it.
    pub(crate) fn of_programs(interface: &str, poll: &mut PollSet) -> io::Result<Self> {
        Self::new(0, PortOpener::new(settings(None), 1).open(interface)?.port, poll)
    }

    /// A port of any kind as port `number`.
    pub(crate) fn new(
        number: u32,
        port: Box<dyn Port + Send>,
        poll: &mut PollSet,
    ) -> io::Result<Self> {
        let key = poll.add_port(&*port)?;
        Ok(Self {
            number,
            port,
            key,
            was_drained: true,
            flooded_until: Instant::ZERO,
            signals_to_lose: 0,
            has_batch: false,
            overflowed: 0,
        })
    }

    /// Frames that found the receive buffer full since this was asked last.
    pub(crate) fn take_overflows(&mut self) -> u64 {
        let Ok(statistics) = self.port.statistics() else { return 0 };
        let fresh = statistics.overflowed.saturating_sub(self.overflowed);
        self.overflowed = statistics.overflowed;
        fresh
    }

    /// What is known about frames that wait at all of `ports`.
    pub(crate) fn pending<'a>(ports: impl Iterator<Item = &'a Self>, look: Look) -> Pending {
        Pending::of(ports.map(|port| &*port.port as &dyn Port), look)
    }

    /// Whether frames wait, as the port itself knows; as `poll` has found if it does not.
    pub(crate) fn is_ready(&self, poll: &PollSet) -> bool {
        self.port.pending().unwrap_or_else(|| poll.readiness(self.key).readable)
    }

    /// Puts a frame into the burst, sending what is in it if it is full.
    pub(crate) fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        if !self.port.send(frame)? {
            self.port.flush()?;
            self.port.send(frame)?;
        }
        self.has_batch = true;
        Ok(())
    }

    /// Sends the burst.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_batch) {
            self.port.flush()?;
        }
        Ok(())
    }
}

impl ForwardingPort for NodePort {
    fn number(&self) -> u32 {
        self.number
    }

    fn is_open(&self) -> bool {
        true
    }

    fn lend(&mut self, take: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
        let count = self.port.lend(RECEIVE_BURST, take)?;
        self.was_drained = count < RECEIVE_BURST;
        Ok(count)
    }

    fn send(&mut self, _sent: &[Transmit], bytes: &[&[u8]]) -> io::Result<usize> {
        if self.signals_to_lose == 0 {
            return self.port.transmit(bytes).map(|_| bytes.len());
        }
        let mut passing: [&[u8]; BURST_FRAMES] = [&[]; BURST_FRAMES];
        let mut count = 0;
        for frame in bytes {
            if self.signals_to_lose > 0 && is_signal(frame) {
                self.signals_to_lose -= 1;
            } else {
                passing[count] = frame;
                count += 1;
            }
        }
        self.port.transmit(&passing[..count]).map(|_| bytes.len())
    }
}

/// Sends what the core of a host has handed over, and gives the frames back.
pub(crate) fn transmit(
    transmits: &mut Vec<Transmit>,
    ports: &mut [NodePort],
    pool: &mut FramePool,
    reporter: &mut Reporter,
) -> io::Result<()> {
    let mut earliest: Option<Instant> = None;
    for sent in transmits.drain(..) {
        if let Some(port) = ports.iter_mut().find(|p| p.number == sent.port) {
            port.send(pool.bytes(sent.frame))?;
        }
        pool.release(sent.frame);
        earliest = Some(earliest.map_or(sent.departure, |at| at.min(sent.departure)));
    }
    let Some(earliest) = earliest else { return Ok(()) };
    ports.iter_mut().try_for_each(NodePort::flush)?;
    reporter.lateness(earliest, MonotonicClock::now());
    Ok(())
}
