//! The ports of a stand-alone switch: opened with errors that say what to do, fed and emptied.

use super::io_threads::IoGroups;
use super::news::SwitchNews;
use super::pcap::{Direction, Tap};
use super::port_features;
use super::settings::PortSettings;
use super::succession::once_free;
use crate::forwarding::ForwardingPort;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use tenuto_dataplane::switch::{DeviceLosses, PortFeatures};
use tenuto_dataplane::{FRAME_CAPACITY, Transmit};
use tenuto_io::{
    BURST_FRAMES, Backpressure, Lent, LinkFeatures, LinkState, Look, MemoryPort, MonotonicClock,
    Pending, PollKey, PollSet, Port, PortKind, PortOpener, PortSettings as OpenSettings, RelayPort,
    link_features,
};
use tenuto_units::{Instant, Span};

/// Frames that a pair in memory holds in each direction.
const MEMORY_FRAMES: usize = 1_024;
/// Addresses and EtherType, in front of what an MTU counts.
const HEADER_BYTES: usize = 14;
/// A port that refuses frames is asked for its link no more often: a full device refuses, too.
const LINK_ASKED: Span = Span::from_ms(10);

/// What carries the frames of a port.
pub(super) enum Carrier {
    /// A device that the data path serves itself.
    Own(Box<dyn Port + Send>),
    /// A device that another thread serves.
    Relayed(Box<RelayPort>),
}

impl Carrier {
    fn port(&self) -> &dyn Port {
        match self {
            Self::Own(port) => &**port,
            Self::Relayed(port) => &**port,
        }
    }

    fn port_mut(&mut self) -> &mut dyn Port {
        match self {
            Self::Own(port) => &mut **port,
            Self::Relayed(port) => &mut **port,
        }
    }
}

/// An open port.
pub(super) struct SwitchPort {
    pub(super) number: u32,
    pub(super) interface: String,
    kind: Option<PortKind>,
    carrier: Carrier,
    /// `None` once its interface is gone.
    pub(super) key: Option<PollKey>,
    tap: Option<Tap>,
    /// The far end of a pair in memory.
    far: Option<MemoryPort>,
    /// Keeps other switches of this kind from the interface; the kernel frees it at our end.
    _claim: Option<UnixListener>,
    /// What devices lost that served it before the present one.
    lost_before: DeviceLosses,
    /// What the present one lost when it was asked last.
    lost_now: DeviceLosses,
    /// Whether it was told that its MTU is larger than what is carried.
    is_mtu_told: bool,
    /// Frames that the device did not take.
    pub(super) refused: u64,
    /// Those among them that the switch was told of.
    told: u64,
    /// Whether it has refused some since its link was last asked for, and when that was.
    doubt: bool,
    asked_at: Instant,
    /// What its device, if the data path serves it, has had no room for.
    backpressure: Backpressure,
}

/// Opens every port.
///
/// # Errors
/// For the first one that cannot be opened, with its interface, the reason and what would help.
pub(super) fn open(
    settings: &[PortSettings],
    groups: &mut IoGroups,
    poll: &mut PollSet,
    news: &mut dyn FnMut(SwitchNews),
) -> io::Result<Vec<SwitchPort>> {
    let mut openers: Vec<(Option<PortKind>, PortOpener)> = Vec::new();
    let mut ports = Vec::new();
    for port in settings {
        let place = match openers.iter().position(|(kind, _)| *kind == port.kind) {
            Some(place) => place,
            None => {
                let count = settings.iter().filter(|other| other.kind == port.kind).count();
                let how = OpenSettings { kind: port.kind, ..OpenSettings::default() };
                openers.push((port.kind, PortOpener::new(how, count)));
                openers.len() - 1
            }
        };
        ports.push(SwitchPort::open(port, (&mut openers[place].1, groups), poll, news)?);
    }
    Ok(ports)
}

impl SwitchPort {
    fn open(
        settings: &PortSettings,
        (opener, groups): (&mut PortOpener, &mut IoGroups),
        poll: &mut PollSet,
        news: &mut dyn FnMut(SwitchNews),
    ) -> io::Result<Self> {
        let interface = &settings.interface;
        let mut far = None;
        let mut claimed = None;
        let carrier = if settings.kind == Some(PortKind::Memory) {
            let (near, other) = MemoryPort::pair(MEMORY_FRAMES)?;
            far = Some(other);
            Carrier::Own(Box::new(near))
        } else {
            claimed = Some(claim(interface)?);
            let opened =
                opener.open(interface).map_err(|error| taught(interface, settings.kind, error))?;
            opened.notes.into_iter().for_each(|note| news(SwitchNews::Warning(note)));
            if opened.port.capabilities().zero_copy {
                news(SwitchNews::ZeroCopy(interface.clone()));
            }
            groups.take(opened.port, interface)?
        };
        let key = poll.add_port(carrier.port())?;
        Ok(Self {
            number: settings.number,
            interface: interface.clone(),
            kind: settings.kind,
            carrier,
            key: Some(key),
            tap: settings.tap.as_ref().map(Tap::open).transpose()?,
            far,
            _claim: claimed,
            lost_before: DeviceLosses::default(),
            lost_now: DeviceLosses::default(),
            is_mtu_told: false,
            refused: 0,
            told: 0,
            doubt: false,
            asked_at: Instant::ZERO,
            backpressure: Backpressure::default(),
        })
    }

    /// What is known about frames that wait at all of `ports`.
    pub(super) fn pending(ports: &[Self], look: Look) -> Pending {
        let open = ports.iter().filter(|port| port.key.is_some());
        Pending::of(open.map(|port| port.carrier.port()), look)
    }

    /// Whether it is to be served after a wait.
    pub(super) fn is_ready(&self, poll: &PollSet) -> bool {
        let waits = || self.carrier.port().pending().unwrap_or(false);
        self.key.is_some_and(|key| waits() || poll.readiness(key).readable)
    }

    /// What its devices were offered and lost before the switch saw it. Of one that another thread serves as
    /// it was a moment ago: asking has it looked at.
    pub(super) fn losses(&mut self) -> DeviceLosses {
        // Of one that is gone, what was known last holds.
        self.lost_now = losses_of(self.carrier.port_mut()).unwrap_or(self.lost_now);
        sum(self.lost_before, self.lost_now)
    }

    /// That frames which its interface lets through are too long for the switch, told once.
    pub(super) fn mtu_warning(&mut self) -> Option<String> {
        let mtu_bytes = self.carrier.port().mtu_bytes()?;
        let carried = self.carrier.port().capabilities().frame_bytes_limit.min(FRAME_CAPACITY);
        let most = carried - HEADER_BYTES;
        if mtu_bytes <= most || std::mem::replace(&mut self.is_mtu_told, true) {
            return None;
        }
        let name = &self.interface;
        Some(format!(
            "{name}: its MTU is {mtu_bytes} B; frames of more than {carried} B are dropped, and counted as \
             rx_errors: ip link set dev {name} mtu {most}, here and at the other end"
        ))
    }

    /// Frames that the device did not take since the last call.
    pub(super) fn take_untold(&mut self) -> u64 {
        self.refused - std::mem::replace(&mut self.told, self.refused)
    }

    /// Whether its device has refused frames, so that its link should be asked for: the kernel tells of
    /// a lost carrier up to a second later.
    pub(super) fn is_doubtful(&mut self) -> bool {
        if !self.doubt {
            return false;
        }
        let now = MonotonicClock::now();
        if now.since(self.asked_at) < LINK_ASKED {
            return false;
        }
        (self.doubt, self.asked_at) = (false, now);
        true
    }

    /// Whether nothing is left of the room that its device told of.
    pub(super) fn is_held(&self) -> bool {
        matches!(&self.carrier, Carrier::Relayed(port) if port.is_held())
    }

    /// The state of its link; `None` once its interface is gone.
    pub(super) fn link(&mut self) -> Option<io::Result<LinkState>> {
        self.key.map(|_| self.carrier.port_mut().link())
    }

    /// What its link is able to do, as far as the kernel knows.
    pub(super) fn features(&self) -> PortFeatures {
        // Of a pair in memory there is none.
        let link = if self.far.is_some() {
            Ok(LinkFeatures::default())
        } else {
            link_features(&self.interface)
        };
        link.map_or_else(|_| PortFeatures::default(), |link| port_features::told(&link))
    }

    /// Whether its interface was removed; another one of its name may be there.
    pub(super) fn is_interface_gone(&mut self) -> bool {
        let is_gone = match &mut self.carrier {
            Carrier::Own(port) => port.link().map(|state| state == LinkState::Gone),
            Carrier::Relayed(port) => port.is_gone(),
        };
        is_gone.unwrap_or(true)
    }

    /// Takes the port out of service: its interface is gone.
    pub(super) fn lose(&mut self, poll: &mut PollSet) {
        if let Some(key) = self.key.take() {
            poll.remove(key);
        }
    }

    /// How its interface is opened, if it is one that may come back.
    pub(super) fn lost_kind(&self) -> Option<Option<PortKind>> {
        let may_return = !matches!(self.kind, Some(PortKind::Memory | PortKind::Tap));
        (self.key.is_none() && may_return).then_some(self.kind)
    }

    /// Puts the port back into service, with its interface opened anew.
    pub(super) fn put_back(
        &mut self,
        port: Box<dyn Port + Send>,
        poll: &mut PollSet,
    ) -> io::Result<()> {
        let old = match &mut self.carrier {
            Carrier::Own(own) => {
                self.key = Some(poll.add_port(&*port)?);
                Some(std::mem::replace(own, port))
            }
            Carrier::Relayed(relay) => {
                let old = relay.renew(port, &self.interface)?;
                self.key = Some(poll.add_port(&**relay)?);
                old
            }
        };
        let mut old = old;
        let lost = old.as_mut().and_then(|old| losses_of(&mut **old)).unwrap_or(self.lost_now);
        (self.lost_before, self.lost_now) = (sum(self.lost_before, lost), DeviceLosses::default());
        // The kernel takes its time to close it. Without a thread that time is taken here, where what
        // it was to do is dropped.
        drop(crate::beside::spawn("close", move || drop(old)));
        Ok(())
    }

    /// Why its capture has ended, told once.
    pub(super) fn tap_end(&mut self) -> Option<String> {
        self.tap.as_mut().and_then(Tap::take_end)
    }

    /// Frames that its device did not take, all told.
    pub(super) fn take_last_refused(&mut self) -> u64 {
        if let Carrier::Relayed(port) = &mut self.carrier {
            self.refused += port.take_refused() as u64;
        }
        self.refused
    }

    /// Writes out what its capture holds; says if that is not everything.
    pub(super) fn finish(&mut self) -> Option<String> {
        let (path, missed) = self.tap.take()?.finish();
        let path = path.display();
        (missed > 0)
            .then(|| format!("capture {path} missed {missed} frames: the disk was too slow"))
    }
}

impl ForwardingPort for SwitchPort {
    fn number(&self) -> u32 {
        self.number
    }

    fn is_open(&self) -> bool {
        self.key.is_some()
    }

    fn lend(&mut self, take: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
        let Self { carrier, tap, .. } = self;
        let port = carrier.port_mut();
        let Some(tap) = tap else { return port.lend(BURST_FRAMES, take) };
        port.lend(BURST_FRAMES, &mut |lent| {
            for (&arrival, frame) in lent.arrivals.iter().zip(lent.frames) {
                tap.note(Direction::Received, arrival, frame);
            }
            take(lent);
        })
    }

    fn send(&mut self, sent: &[Transmit], bytes: &[&[u8]]) -> io::Result<usize> {
        if self.key.is_none() {
            self.backpressure = Backpressure::default();
            self.refused += bytes.len() as u64;
            return Ok(bytes.len());
        }
        let offer = self.backpressure.offer(self.carrier.port_mut(), bytes);
        // A burst that the port was lost with has not left.
        let refused = offer.as_ref().map_or(bytes.len(), |offer| offer.report.refused);
        self.refused += refused as u64;
        self.doubt |= refused > 0;
        let offer = offer.inspect_err(|_| self.backpressure = Backpressure::default())?;
        let done = bytes.len() - offer.left;
        if let Some(tap) = &mut self.tap {
            for (sent, frame) in sent.iter().zip(bytes).take(done) {
                tap.note(Direction::Sent, sent.departure, frame);
            }
        }
        if let Some(far) = &mut self.far {
            reflect(far)?;
        }
        Ok(done)
    }

    fn retry_at(&self) -> Option<Instant> {
        // What is kept for a lost port is refused at once.
        self.backpressure.retry_at().map(|at| if self.key.is_some() { at } else { Instant::ZERO })
    }

    fn room(&mut self) -> Option<usize> {
        // Of a lost one nothing is taken, and nothing should wait for that.
        self.key.and_then(|_| self.carrier.port_mut().room())
    }
}

/// What a device was offered and lost, if it can be asked.
fn losses_of(port: &mut dyn Port) -> Option<DeviceLosses> {
    let books = port.statistics().ok()?;
    Some(DeviceLosses { no_room: books.overflowed, unfit: books.oversized + books.runts })
}

const fn sum(one: DeviceLosses, other: DeviceLosses) -> DeviceLosses {
    DeviceLosses { no_room: one.no_room + other.no_room, unfit: one.unfit + other.unfit }
}

/// Sends back whatever waits at the far end.
fn reflect(far: &mut MemoryPort) -> io::Result<()> {
    let mut frames = Vec::new();
    far.receive(MEMORY_FRAMES, &mut |_, frame| frames.push(frame.to_vec()))?;
    for frame in &frames {
        if !far.send(frame)? {
            far.flush()?;
            far.send(frame)?;
        }
    }
    far.flush()?;
    Ok(())
}

/// Keeps a second switch from an interface: two would both forward every frame.
fn claim(interface: &str) -> io::Result<UnixListener> {
    // Abstract names belong to the network namespace, as interfaces do, and die with the process.
    let address = SocketAddr::from_abstract_name(format!("tenuto switch port {interface}"))?;
    once_free(|| UnixListener::bind_addr(&address)).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            let text = format!("interface {interface}: in use by another tenuto switch");
            io::Error::new(error.kind(), text)
        }
        _ => error,
    })
}

/// What would help, behind what the kernel says.
fn taught(interface: &str, kind: Option<PortKind>, error: io::Error) -> io::Error {
    let hint = match (error.kind(), kind) {
        (io::ErrorKind::PermissionDenied, Some(PortKind::Xdp)) => {
            "run as root, or grant it once, outside of any user namespace: setcap \
             cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep $(which tenuto)"
        }
        (io::ErrorKind::PermissionDenied, _) => {
            "run as root, or grant it once: setcap cap_net_raw,cap_net_admin,cap_bpf+ep $(which \
             tenuto)"
        }
        _ if error.raw_os_error().is_none() && error.to_string().contains("find it") => {
            "`ip link` lists the interfaces of this network namespace"
        }
        _ => return error,
    };
    let text = error.to_string();
    let named = text.contains(interface);
    let text = if named { text } else { format!("interface {interface}: {text}") };
    io::Error::new(error.kind(), format!("{text}; {hint}"))
}

#[cfg(test)]
mod tests;
