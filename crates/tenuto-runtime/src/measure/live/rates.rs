//! Rate and delay of every subject, window by window in turn.

use super::open_vswitch::{OpenVswitch, OvsPorts};
use super::ours::OurSwitch;
use super::{LiveOrder, LiveReport, LiveTask, Processors, Spread, entries, ratios, say, spread_us};
use entries::Treatment;
use serde::{Deserialize, Serialize};
use std::io;
use tenuto_io::measure::{
    BareForwarder, ForwarderSettings, Load, Subject, Window, Wiring, measure,
};
use tenuto_io::{PortKind, PortSettings, WaitPolicy};
use tenuto_units::Span;

/// Frames with FCS.
pub(super) const FRAME_BYTES: [usize; 2] = [64, 1_500];
/// At which delays are measured: far below what any subject forwards.
const PACED_PPS: u64 = 20_000;
/// Windows of delay in each turn where nothing but tails is measured: it takes many for them to be seen.
const TAIL_WINDOWS: usize = 3;
/// Where the first of our switches listens, in a network of its own.
const LISTEN_PORT: u16 = 6_701;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LiveSubject {
    /// Every frame of one port sent at the other, nothing else; AF_PACKET with a ring.
    BareRing,
    /// Our switch on such ports: matched in three tables, watched, metered, queued.
    SwitchRing,
    /// Our switch on such ports, without monitor and meter.
    SwitchRingUnjudged,
    /// As the second, with a thread that receives and sends for the one that owns the tables.
    SwitchRingThread,
    /// As the first, on AF_XDP.
    BareXdp,
    /// Our switch on AF_XDP.
    SwitchXdp,
    /// Open vSwitch, userspace datapath with its usual ports; one table, no meter.
    OvsPacket,
    /// Open vSwitch, with its ports on AF_XDP.
    OvsXdp,
}

impl LiveSubject {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::BareRing,
        Self::SwitchRing,
        Self::SwitchRingUnjudged,
        Self::SwitchRingThread,
        Self::OvsPacket,
        Self::BareXdp,
        Self::SwitchXdp,
        Self::OvsXdp,
    ];

    /// How it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BareRing => "bare forwarder, packet-ring",
            Self::SwitchRing => "tenuto switch, packet-ring",
            Self::SwitchRingUnjudged => "tenuto switch, packet-ring, no monitor and meter",
            Self::SwitchRingThread => "tenuto switch, packet-ring, an I/O thread",
            Self::OvsPacket => "Open vSwitch netdev, usual ports",
            Self::BareXdp => "bare forwarder, xdp",
            Self::SwitchXdp => "tenuto switch, xdp",
            Self::OvsXdp => "Open vSwitch netdev, afxdp",
        }
    }

    /// What does the least on the same ports, if that is measured.
    pub const fn bare(self) -> Option<Self> {
        match self {
            Self::SwitchRing | Self::SwitchRingUnjudged | Self::SwitchRingThread => {
                Some(Self::BareRing)
            }
            Self::SwitchXdp => Some(Self::BareXdp),
            _ => None,
        }
    }

    /// Whether its ports are on AF_XDP; subjects of one kind have their turns next to each other.
    const fn is_xdp(self) -> bool {
        matches!(self, Self::BareXdp | Self::SwitchXdp | Self::OvsXdp)
    }

    /// Whether its tails are measured by themselves: who is on AF_XDP, and our switch on its usual ports,
    /// which is held against the same rival there.
    const fn has_tails(self) -> bool {
        self.is_xdp() || matches!(self, Self::SwitchRing)
    }

    /// Open vSwitch on ports of the same kind, and then on its fastest.
    pub const fn rivals(self) -> &'static [Self] {
        match self {
            Self::SwitchRing => &[Self::OvsPacket, Self::OvsXdp],
            Self::SwitchRingUnjudged | Self::SwitchRingThread => &[Self::OvsPacket],
            Self::SwitchXdp => &[Self::OvsXdp],
            _ => &[],
        }
    }
}

/// Figures of one subject and size of frames; each is the spread over the windows of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveFigures {
    /// What was measured.
    pub subject: LiveSubject,
    /// Bytes of a frame, FCS included.
    pub frame_bytes: usize,
    /// Frames forwarded under more than it forwards, 1000 per second.
    pub rate_kpps: Spread,
    /// Processor time of such a frame, nanoseconds.
    pub processor_ns: Spread,
    /// Delays of a paced load, in microseconds: median, 99 %, 99.9 % and the greatest of a window.
    pub delays_us: [Spread; 4],
    /// Frames of the paced load that did not arrive, in all windows, and how many were sent.
    pub lost: (u64, u64),
}

/// A subject between two interfaces.
pub(super) struct Bench {
    pub(super) subject: LiveSubject,
    wiring: Wiring,
    runner: Runner,
    /// By size of frames; the n-th of all subjects are of the same turn.
    pub(super) rates: [Vec<Window>; 2],
    pub(super) delays: [Vec<Window>; 2],
}

enum Runner {
    Bare(BareForwarder),
    Ours(OurSwitch),
    Ovs(OpenVswitch),
}

impl Runner {
    fn subject(&mut self) -> &mut (dyn Subject + Send) {
        match self {
            Self::Bare(it) => it,
            Self::Ours(it) => &mut it.process,
            Self::Ovs(it) => &mut it.process,
        }
    }
}

impl Bench {
    fn start(subject: LiveSubject, place: usize, processors: Processors) -> io::Result<Self> {
        let processor = processors.forwarder;
        let suffix = place.to_string();
        let here = || Wiring::veth_called(&suffix, None);
        let listen = LISTEN_PORT + u16::try_from(place).unwrap_or(0);
        let bare = |kind| -> io::Result<_> {
            let wiring = here()?;
            let ports = PortSettings { kind: Some(kind), ..PortSettings::default() };
            let settings = ForwarderSettings { ports, policy: WaitPolicy::Spin, processor };
            let (entry, exit) = (wiring.entry.as_str(), wiring.exit.as_str());
            let forwarder = BareForwarder::start(settings, entry, exit)?;
            Ok((wiring, Runner::Bare(forwarder)))
        };
        let ours = |kind, treatment| -> io::Result<_> {
            let wiring = here()?;
            let switch = OurSwitch::start(&wiring, kind, WaitPolicy::Spin, processor, listen)?;
            switch.tell_of_links(treatment)?;
            Ok((wiring, Runner::Ours(switch)))
        };
        let threaded = || -> io::Result<_> {
            let wiring = here()?;
            let processors = (processor, processors.beside);
            let kind = PortKind::PacketRing;
            let switch = OurSwitch::start_with_thread(&wiring, kind, processors, listen)?;
            switch.tell_of_links(Treatment::Judged)?;
            Ok((wiring, Runner::Ours(switch)))
        };
        let ovs = |ports| -> io::Result<_> {
            let (wiring, switch) = OpenVswitch::start(&suffix, ports, processor)?;
            Ok((wiring, Runner::Ovs(switch)))
        };
        let (wiring, runner) = match subject {
            LiveSubject::BareRing => bare(PortKind::PacketRing),
            LiveSubject::BareXdp => bare(PortKind::Xdp),
            LiveSubject::SwitchRing => ours(PortKind::PacketRing, Treatment::Judged),
            LiveSubject::SwitchRingUnjudged => ours(PortKind::PacketRing, Treatment::Matched),
            LiveSubject::SwitchRingThread => threaded(),
            LiveSubject::SwitchXdp => ours(PortKind::Xdp, Treatment::Judged),
            LiveSubject::OvsPacket => ovs(OvsPorts::Usual),
            LiveSubject::OvsXdp => ovs(OvsPorts::Xdp),
        }?;
        Ok(Self { subject, wiring, runner, rates: Default::default(), delays: Default::default() })
    }

    fn window(&mut self, size: usize, rate_pps: Option<u64>, how: Timing) -> io::Result<()> {
        let (frame, mark_at) = entries::frame(FRAME_BYTES[size]);
        let (flows, beside, window) = (None, None, how.window);
        let load = Load { frame, mark_at, flows, rate_pps, beside, window };
        let subject = self.runner.subject();
        let window = measure(&self.wiring, &load, how.generator, subject).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.subject.name()))
        })?;
        match rate_pps {
            None => self.rates[size].push(window),
            Some(_) => self.delays[size].push(window),
        }
        Ok(())
    }

    fn figures(&self, size: usize) -> LiveFigures {
        let (rates, delays) = (&self.rates[size], &self.delays[size]);
        let of = |values: Vec<u64>, scale: f64| {
            Spread::of(values.into_iter().map(|value| value as f64 / scale).collect())
        };
        let delay = |permille| {
            spread_us(&delays.iter().filter_map(|it| it.delay_ns(permille)).collect::<Vec<_>>())
        };
        LiveFigures {
            subject: self.subject,
            frame_bytes: FRAME_BYTES[size],
            rate_kpps: of(rates.iter().map(Window::rate_pps).collect(), 1e3),
            processor_ns: of(rates.iter().map(Window::processor_ns_per_frame).collect(), 1.0),
            delays_us: [500, 990, 999, 1_000].map(delay),
            lost: delays.iter().fold((0, 0), |(lost, sent), it| {
                (lost + it.offered.saturating_sub(it.arrived), sent + it.offered)
            }),
        }
    }
}

/// Of every window.
#[derive(Clone, Copy)]
pub(super) struct Timing {
    pub(super) window: Span,
    /// Processor of who sends.
    pub(super) generator: usize,
}

/// In which order subjects have their turns: those of one kind of ports next to each other, so that
/// what is compared is close in time (all, where nothing but tails is measured), and otherwise drawn anew
/// for each turn, so that nobody is always behind the same neighbour.
struct Turns {
    kinds: [Vec<usize>; 2],
    drawn: u64,
}

impl Turns {
    fn new(benches: &[Bench], is_all: bool) -> Self {
        let of = |is_second: bool| {
            let is_of = |subject: LiveSubject| (!is_all || subject.is_xdp()) == is_second;
            (0..benches.len()).filter(|&place| is_of(benches[place].subject)).collect()
        };
        Self { kinds: [of(false), of(true)], drawn: 1 }
    }

    /// The places of all, in the order of the next turn.
    fn shuffled(&mut self) -> Vec<usize> {
        let Self { kinds, drawn } = self;
        let mut draw = |below: usize| {
            *drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from((*drawn >> 33) % below as u64).expect("less than a place")
        };
        for kind in kinds.iter_mut() {
            for last in (1..kind.len()).rev() {
                kind.swap(last, draw(last + 1));
            }
        }
        let first = draw(2);
        [first, 1 - first].into_iter().flat_map(|kind| kinds[kind].clone()).collect()
    }
}

/// Measures all that can be.
pub(super) fn measured(order: LiveOrder, processors: Processors) -> io::Result<LiveReport> {
    let mut report = LiveReport::default();
    let is_all = order.task != LiveTask::Tails;
    let mut benches = started(is_all, processors, &mut report);
    let generator = processors.generator;
    let how = Timing { window: Span::from_ms(order.window_ms), generator };
    let mut turns = Turns::new(&benches, is_all);
    let windows = if is_all { 1 } else { TAIL_WINDOWS };
    for repetition in 1..=order.repetitions {
        for (size, bytes) in FRAME_BYTES.into_iter().enumerate() {
            let rates_pps = if is_all { &[None, Some(PACED_PPS)][..] } else { &[Some(PACED_PPS)] };
            for &rate_pps in rates_pps {
                for place in (0..windows).flat_map(|_| turns.shuffled()).collect::<Vec<_>>() {
                    let bench = &mut benches[place];
                    let what = if rate_pps.is_some() { "delay" } else { "rate" };
                    say(format!(
                        "live: repetition {repetition} of {}, {what} at {bytes} B, {}",
                        order.repetitions,
                        bench.subject.name()
                    ));
                    bench.window(size, rate_pps, how)?;
                }
            }
        }
    }
    for size in 0..FRAME_BYTES.len() {
        report.rates.extend(benches.iter().map(|bench| bench.figures(size)));
        report.ratios.extend(ratios::of(&benches, size));
    }
    report.notes = notes(&benches, processors);
    Ok(report)
}

/// The subjects that can be measured here; the report names the others.
fn started(is_all: bool, processors: Processors, report: &mut LiveReport) -> Vec<Bench> {
    let mut benches = Vec::new();
    let wanted = LiveSubject::ALL.into_iter().filter(|subject| is_all || subject.has_tails());
    for (place, subject) in wanted.enumerate() {
        say(format!("live: starting {}", subject.name()));
        match Bench::start(subject, place, processors) {
            Ok(bench) => benches.push(bench),
            Err(error) => report.skipped.push((subject.name().into(), error.to_string())),
        }
    }
    benches
}

fn notes(benches: &[Bench], processors: Processors) -> Vec<String> {
    let mut windows = benches.iter().flat_map(|it| it.rates.iter().flatten());
    let mut notes = Vec::new();
    if windows.any(|window| !window.is_real_time) {
        notes.push("SCHED_FIFO is not allowed here: neighbours are in the figures".into());
    }
    notes.push(format!("delays at {PACED_PPS} frames per second"));
    notes.push(match processors.beside {
        Some(_) => "the I/O thread has a processor of its own; processor time is of both".into(),
        None => "for want of a third processor the I/O thread shares that of the switch; both \
                 sleep when they wait"
            .into(),
    });
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_one_turn_and_kinds_stay_together() {
        let mut turns = Turns { kinds: [vec![0, 1, 2, 3], vec![4, 5, 6]], drawn: 1 };
        let mut firsts = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let order = turns.shuffled();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..7).collect::<Vec<_>>());
            let changes = order.windows(2).filter(|pair| (pair[0] < 4) != (pair[1] < 4)).count();
            assert_eq!(changes, 1, "{order:?}");
            firsts.insert(order[0]);
        }
        assert_eq!(firsts.len(), 7, "whoever is first is drawn");
    }
}
