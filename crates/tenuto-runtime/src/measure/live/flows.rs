//! Delay against the number of flows: Fig. 8 of Deterministic OpenFlow, its four ways rebuilt.

use super::entries::{self, Treatment, everything_to, virtual_link};
use super::ours::OurSwitch;
use super::rates::Timing;
use super::reactive::Reactive;
use super::{LiveOrder, LiveReport, Spread, say, spread_us};
use serde::{Deserialize, Serialize};
use std::io;
use tenuto_io::measure::{Flows, Load, Window, Wiring, measure};
use tenuto_io::{PortKind, WaitPolicy};
use tenuto_openflow::constants::port;
use tenuto_units::Span;

/// How many flows, in the order in which their entries are added.
const COUNTS: [u32; 6] = [1, 10, 100, 500, 1_000, 2_000];
/// Below what the slowest way carries, as in the paper.
const PACED_PPS: u64 = 5_000;
const FRAME_BYTES: usize = 64;
const LISTEN_PORT: u16 = 6_801;

/// A way of frames through the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FlowCurve {
    /// A learning bridge, which knows no flow and floods: output `NORMAL`.
    Normal,
    /// One exact entry for each flow.
    Matched,
    /// One exact entry and one meter for each flow.
    Metered,
    /// No entry: each packet goes to a controller, which sends it out.
    Controller,
}

impl FlowCurve {
    /// All, in the order of the paper.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Matched, Self::Metered, Self::Controller];

    /// How it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal switching",
            Self::Matched => "matched",
            Self::Metered => "matched and metered",
            Self::Controller => "by a controller",
        }
    }

    fn prepare(self) -> Option<u32> {
        match self {
            Self::Normal => Some(port::NORMAL),
            Self::Controller => Some(port::CONTROLLER),
            Self::Matched | Self::Metered => None,
        }
    }

    fn treatment(self) -> Option<Treatment> {
        match self {
            Self::Matched => Some(Treatment::Forwarded),
            Self::Metered => Some(Treatment::Metered),
            Self::Normal | Self::Controller => None,
        }
    }
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowPoint {
    /// The curve.
    pub curve: FlowCurve,
    /// Flows, each with its own destination; frames go round.
    pub flows: u32,
    /// Delay in microseconds: median, 99 % and the greatest of a window.
    pub delays_us: [Spread; 3],
    /// Frames that did not arrive, and frames sent, over all windows.
    pub lost: (u64, u64),
}

struct Way {
    curve: FlowCurve,
    wiring: Wiring,
    switch: OurSwitch,
    _controller: Option<Reactive>,
}

impl Way {
    fn start(curve: FlowCurve, place: u16, (generator, forwarder): Places) -> io::Result<Self> {
        let wiring = Wiring::veth_called(&place.to_string(), None)?;
        let (kind, policy) = (PortKind::PacketRing, WaitPolicy::Spin);
        let switch = OurSwitch::start(&wiring, kind, policy, forwarder, LISTEN_PORT + place)?;
        switch.tell(curve.prepare().map(everything_to).into_iter().collect())?;
        let is_asked = curve == FlowCurve::Controller;
        switch.process.go_on()?;
        let controller = is_asked.then(|| Reactive::start(&switch.endpoint, generator));
        let controller = controller.transpose()?;
        switch.process.rest()?;
        Ok(Self { curve, wiring, switch, _controller: controller })
    }

    fn add(&self, flows: std::ops::Range<u32>) -> io::Result<()> {
        let Some(treatment) = self.curve.treatment() else { return Ok(()) };
        self.switch.tell(flows.flat_map(|flow| virtual_link(flow, treatment)).collect())
    }
}

/// Processor of who sends, and of who forwards.
type Places = (usize, Option<usize>);

/// Measures all points.
pub(super) fn measured(order: LiveOrder, places: Places) -> io::Result<LiveReport> {
    let mut ways = Vec::new();
    for (place, curve) in (0..).zip(FlowCurve::ALL) {
        say(format!("flows: starting the switch for {}", curve.name()));
        ways.push(Way::start(curve, place, places)?);
    }
    let how = Timing { window: Span::from_ms(order.window_ms), generator: places.0 };
    let mut report = LiveReport::default();
    let mut present = 0;
    for count in COUNTS {
        ways.iter().try_for_each(|way| way.add(present..count))?;
        present = count;
        let mut windows: Vec<Vec<Window>> = vec![Vec::new(); ways.len()];
        for repetition in 1..=order.repetitions {
            say(format!("flows: {count}, repetition {repetition} of {}", order.repetitions));
            for (way, windows) in ways.iter_mut().zip(&mut windows) {
                windows.push(way.window(count, how)?);
            }
        }
        let points = ways.iter().zip(&windows).map(|(way, all)| point(way.curve, count, all));
        report.flows.extend(points);
    }
    report.notes.push(format!("{FRAME_BYTES} B, {PACED_PPS} frames per second over all flows"));
    Ok(report)
}

impl Way {
    fn window(&mut self, count: u32, how: Timing) -> io::Result<Window> {
        let (frame, mark_at) = entries::frame(FRAME_BYTES);
        let flows = Some(Flows { at: entries::LINK_AT, count });
        let (rate_pps, beside, window) = (Some(PACED_PPS), None, how.window);
        let load = Load { frame, mark_at, flows, rate_pps, beside, window };
        measure(&self.wiring, &load, how.generator, &mut self.switch.process)
    }
}

fn point(curve: FlowCurve, flows: u32, windows: &[Window]) -> FlowPoint {
    let delay = |permille| {
        spread_us(&windows.iter().filter_map(|it| it.delay_ns(permille)).collect::<Vec<_>>())
    };
    FlowPoint {
        curve,
        flows,
        delays_us: [500, 990, 1_000].map(delay),
        lost: windows.iter().fold((0, 0), |(lost, sent), it| {
            (lost + it.offered.saturating_sub(it.arrived), sent + it.offered)
        }),
    }
}
