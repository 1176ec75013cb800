//! Fig. 9 of Deterministic OpenFlow on veth pairs: a victim's delay through a port that is paced,
//! beside an end system that sends up to the whole line, with its meter and without.

use super::entries::{frame, frame_of, policed};
use super::ours::OurSwitch;
use super::{LiveOrder, LiveReport, Processors, Spread, say, spread_us};
use serde::{Deserialize, Serialize};
use std::io;
use tenuto_io::links::LinkName;
use tenuto_io::measure::{Beside, Load, Window, Wiring, measure};
use tenuto_io::service_probe::ServiceProbe;
use tenuto_io::{PortKind, WaitPolicy, realtime};
use tenuto_units::{Span, wire_bits};

/// Rate of the port that both leave by.
pub const LINE_BPS: u64 = 100_000_000;
/// What the meter of who babbles lets pass: rate in kbit/s and burst in kbit, of frames with FCS.
pub const METER_KBIT: (u32, u32) = (1_518, 13);
/// Frames of who babbles, with FCS.
pub const BABBLE_FRAME_BYTES: usize = 1_518;
/// Frames of the victim, with FCS, and how many each second.
pub const VICTIM_FRAME_BYTES: usize = 146;
/// See above.
pub const VICTIM_PPS: u64 = 500;
/// Sent of the line.
const PERCENTS: [u64; 6] = [0, 20, 40, 60, 80, 100];
/// What waits at the port at most: a frame behind it is late by a tenth of a window, not lost.
const BUFFER: &str = "128kB";
const LISTEN_PORT: u16 = 6_901;
const FIFO_PRIORITY: u8 = 10;
const VICTIM: u32 = 0;
const BABBLER: u32 = 1;

/// A point of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BabblePoint {
    /// What the other one sends, in hundredths of the line.
    pub percent: u64,
    /// Whether it is metered.
    pub is_policed: bool,
    /// Delay of the victim in microseconds: median, 99 % and the greatest of a window.
    pub delays_us: [Spread; 3],
    /// Frames of the victim that did not arrive, and frames sent, over all windows.
    pub lost: (u64, u64),
}

/// A switch and who sends to it.
struct Case {
    is_policed: bool,
    wiring: Wiring,
    also: LinkName,
    switch: OurSwitch,
}

impl Case {
    fn start(is_policed: bool, place: u16, processors: Processors) -> io::Result<Self> {
        let suffix = place.to_string();
        let wiring = Wiring::veth_called(&suffix, None)?;
        let (also, third) = Wiring::further_entry(&suffix)?;
        let kind = PortKind::PacketRing;
        let ports = [
            format!("{},kind={kind}", wiring.entry),
            format!("{},kind={kind},rate={LINE_BPS}bit/s,buffer={BUFFER}", wiring.exit),
            format!("{third},kind={kind}"),
        ];
        let listen = LISTEN_PORT + place;
        let switch = OurSwitch::start_at(&ports, processors.forwarder, listen)?;
        let meter = is_policed.then_some(METER_KBIT);
        switch.tell([policed(VICTIM, None), policed(BABBLER, meter)].concat())?;
        Ok(Self { is_policed, wiring, also, switch })
    }

    fn window(&mut self, percent: u64, window: Span, generator: usize) -> io::Result<Window> {
        let (frame, mark_at) = frame(VICTIM_FRAME_BYTES);
        let bits = wire_bits(u32::try_from(BABBLE_FRAME_BYTES).map_err(io::Error::other)?);
        let beside = (percent > 0).then(|| Beside {
            interface: self.also.clone(),
            frame: frame_of(BABBLER, BABBLE_FRAME_BYTES),
            rate_pps: LINE_BPS * percent / 100 / bits,
        });
        let rate_pps = Some(VICTIM_PPS);
        let load = Load { frame, mark_at, flows: None, rate_pps, beside, window };
        measure(&self.wiring, &load, generator, &mut self.switch.process)
    }
}

/// Measures all points, and how this machine served threads meanwhile.
pub(super) fn measured(order: LiveOrder, processors: Processors) -> io::Result<LiveReport> {
    let mut cases = Vec::new();
    for (place, is_policed) in [(0, true), (1, false)] {
        say("babbling, live: starting a switch".into());
        cases.push(Case::start(is_policed, place, processors)?);
    }
    let window = Span::from_ms(order.window_ms);
    let mut report = LiveReport::default();
    let mut stall = Span::ZERO;
    for percent in PERCENTS {
        let mut windows: [Vec<Window>; 2] = Default::default();
        for repetition in 1..=order.repetitions {
            say(format!("babbling, live: {percent} %, {repetition} of {}", order.repetitions));
            for (case, windows) in cases.iter_mut().zip(&mut windows) {
                windows.push(case.window(percent, window, processors.generator)?);
            }
            stall = stall.max(host_stall(processors, window)?);
        }
        let points = cases.iter().zip(&windows);
        report.babbling.extend(points.map(|(case, all)| point(percent, case.is_policed, all)));
    }
    report.stall_ns = Some(stall.as_ns());
    Ok(report)
}

/// The longest time for which a thread as those of the measurement was not served, on either of
/// their processors.
fn host_stall(processors: Processors, duration: Span) -> io::Result<Span> {
    let places = [Some(processors.generator), processors.forwarder];
    let probe = move |processor: usize| {
        realtime::pin_to(&[processor])?;
        let _ = realtime::try_fifo(FIFO_PRIORITY);
        let probe = ServiceProbe { policy: WaitPolicy::Spin, period: Span::ZERO, duration };
        Ok(probe.run()?.stall_max)
    };
    let mut worst = Span::ZERO;
    for processor in places.into_iter().flatten() {
        let thread = std::thread::spawn(move || probe(processor));
        let found: io::Result<Span> =
            thread.join().map_err(|_| io::Error::other("a probe failed"))?;
        worst = worst.max(found?);
    }
    Ok(worst)
}

fn point(percent: u64, is_policed: bool, windows: &[Window]) -> BabblePoint {
    let delay = |permille| {
        spread_us(&windows.iter().filter_map(|it| it.delay_ns(permille)).collect::<Vec<_>>())
    };
    BabblePoint {
        percent,
        is_policed,
        delays_us: [500, 990, 1_000].map(delay),
        // What arrived beside is none of the victim's; its frames are marked.
        lost: windows.iter().fold((0, 0), |(lost, sent), it| {
            let arrived = it.delays_ns.len() as u64;
            (lost + it.offered.saturating_sub(arrived), sent + it.offered)
        }),
    }
}
