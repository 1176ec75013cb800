//! Measuring what forwards frames between two interfaces: rate, processor time and delay.
//!
//! ```text
//! generator ── entry ═ what is measured ═ exit ── sink
//!  (one processor)      (another one)             kernel stamps, read afterwards
//! ```
//!
//! A window is shorter than half a second, so that its threads may run under SCHED_FIFO without
//! being stopped by the kernel, and series are comparable when their windows alternate. Delays run
//! from just before a frame is sent to the sink's stamp in the kernel, so that no wake-up of the
//! sink is in them. All of it describes this machine at that time.

use crate::links::{IpBatch, LinkName, VethEnd, disable_ipv6_on, offloads_off};
use crate::namespaces::within_netns;
use crate::{MonotonicClock, PollSet, realtime};
use std::io;
use tenuto_units::Span;

mod forwarder;
mod generator;
mod process;
mod sink;

pub use forwarder::{BareForwarder, ForwarderSettings};
pub use process::{Forwarding, ProcessSubject};

/// Windows may not be longer: real-time threads would be stopped.
pub const WINDOW_MAX: Span = Span::from_ms(500);
/// Priority under SCHED_FIFO of the threads of a measurement.
const PRIORITY: u8 = 10;
/// Between the last frame and the last look at what arrived.
const DRAIN: Span = Span::from_ms(20);
/// A paced load is sent for so long before its window: the first frames after a rest find all caches cold, in who
/// sends and in who forwards, and would be the tail of each short window whatever is measured.
const RUN_IN: Span = Span::from_ms(5);
/// Until the last frame of it has arrived, if nobody is late; what is told apart all the same.
const RUN_OUT: Span = Span::from_ms(1);
/// Between two windows, or as long as the window: real-time threads have used half a second of a second at most.
const PAUSE: Span = Span::from_ms(150);

/// Where frames enter and leave what is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// The generator sends here.
    pub generator: LinkName,
    /// What is measured receives here.
    pub entry: LinkName,
    /// What is measured sends here.
    pub exit: LinkName,
    /// The sink hears here.
    pub sink: LinkName,
}

impl Wiring {
    /// Two veth pairs `gen`-`in` and `out`-`sink` in the present network namespace, without
    /// addresses, IPv6 and offloads.
    ///
    /// # Errors
    ///
    /// When CAP_NET_ADMIN is missing, or the names are taken.
    pub fn veth() -> io::Result<Self> {
        Self::veth_called("", None)
    }

    /// As [`Wiring::veth`] with `suffix` behind each name; `in` and `out` in the network namespace
    /// of the process `inside`, if one is given.
    ///
    /// # Errors
    ///
    /// As [`Wiring::veth`], and when there is no such process.
    pub fn veth_called(suffix: &str, inside: Option<u32>) -> io::Result<Self> {
        let name = |text: &str| LinkName::new(&format!("{text}{suffix}")).map_err(io::Error::other);
        let wiring = Self {
            generator: name("gen")?,
            entry: name("in")?,
            exit: name("out")?,
            sink: name("sink")?,
        };
        let end = |name: &LinkName, pid| VethEnd { name: name.clone(), pid, mac: None };
        let mut batch = IpBatch::new();
        batch.veth_pair(&end(&wiring.generator, None), &end(&wiring.entry, inside));
        batch.veth_pair(&end(&wiring.sink, None), &end(&wiring.exit, inside));
        batch.run().map_err(io::Error::other)?;
        quieten([&wiring.generator, &wiring.sink])?;
        let inner = [&wiring.entry, &wiring.exit];
        match inside {
            None => quieten(inner)?,
            Some(pid) => within_netns(pid, || quieten(inner))??,
        }
        Ok(wiring)
    }

    /// One more veth pair, `also`-`third` with `suffix` behind: where something else is sent, and
    /// where what is measured receives it.
    ///
    /// # Errors
    ///
    /// As [`Wiring::veth`].
    pub fn further_entry(suffix: &str) -> io::Result<(LinkName, LinkName)> {
        let name = |text: &str| LinkName::new(&format!("{text}{suffix}")).map_err(io::Error::other);
        let (outer, inner) = (name("also")?, name("third")?);
        let end = |name: &LinkName| VethEnd { name: name.clone(), pid: None, mac: None };
        let mut batch = IpBatch::new();
        batch.veth_pair(&end(&outer), &end(&inner)).run().map_err(io::Error::other)?;
        quieten([&outer, &inner])?;
        Ok((outer, inner))
    }

    /// Two TAP interfaces, which the forwarder makes.
    ///
    /// # Errors
    ///
    /// None in practice: the names are good.
    pub fn tap() -> io::Result<Self> {
        let name = |text: &str| LinkName::new(text).map_err(io::Error::other);
        let (entry, exit) = (name("tap-in")?, name("tap-out")?);
        Ok(Self { generator: entry.clone(), sink: exit.clone(), entry, exit })
    }
}

/// Without IPv6 and offloads, and up.
fn quieten(links: [&LinkName; 2]) -> io::Result<()> {
    let mut up = IpBatch::new();
    for link in links {
        disable_ipv6_on(link)?;
        offloads_off(link)?;
        up.up(link);
    }
    up.run().map_err(io::Error::other)
}

/// Several flows in one load: four bytes that count from frame to frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flows {
    /// Where the bytes are.
    pub at: usize,
    /// They count from 0 to one less than this, again and again; 0 is as 1.
    pub count: u32,
}

/// Frames of somebody else, sent beside those that are measured, by another interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Where they are sent.
    pub interface: LinkName,
    /// What is sent, without FCS and never marked.
    pub frame: Vec<u8>,
    /// Frames per second at equal distances.
    pub rate_pps: u64,
}

/// The frames of one window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// What is sent, without FCS; 16 bytes from `mark_at` on are overwritten in each frame.
    pub frame: Vec<u8>,
    /// Where the mark of a frame goes: behind whatever is matched.
    pub mark_at: usize,
    /// In which bytes frames differ; `None` if all are of one flow.
    pub flows: Option<Flows>,
    /// Frames per second at equal distances; `None` for bursts of 32 without a pause.
    pub rate_pps: Option<u64>,
    /// What else is sent meanwhile.
    pub beside: Option<Beside>,
    /// How long frames are sent, at most [`WINDOW_MAX`].
    pub window: Span,
}

impl Load {
    /// Frames of `bytes` between made-up addresses, of an EtherType for experiments.
    pub fn plain(bytes: usize, rate_pps: Option<u64>, window: Span) -> Self {
        let mut frame = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x88, 0xb5];
        let mark_at = frame.len();
        frame.resize(bytes.max(mark_at + generator::MARK_BYTES), 0);
        Self { frame, mark_at, flows: None, rate_pps, beside: None, window }
    }
}

/// What may be measured: a thread of this process, or another process.
pub trait Subject {
    /// A window begins: run as fast as you will run.
    ///
    /// # Errors
    ///
    /// Whatever makes the window worthless.
    fn begin(&mut self) -> io::Result<()>;

    /// The window has ended; gives the processor time used in it.
    ///
    /// # Errors
    ///
    /// As above.
    fn end(&mut self) -> io::Result<Span>;
}

/// What one window showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Frames that the generator's interface took.
    pub offered: u64,
    /// Frames that reached the sink, whoever sent them.
    pub arrived: u64,
    /// Time for which frames were sent, nanoseconds.
    pub sent_for_ns: u64,
    /// Processor time that the subject used, nanoseconds.
    pub processor_ns: u64,
    /// Delays of the frames of a paced load, nanoseconds, shortest first; at most as many as the
    /// sink keeps.
    pub delays_ns: Vec<u64>,
    /// Whether the generator ran under SCHED_FIFO.
    pub is_real_time: bool,
}

impl Window {
    /// Frames that arrived, per second of sending.
    pub fn rate_pps(&self) -> u64 {
        per(u128::from(self.arrived) * 1_000_000_000, self.sent_for_ns)
    }

    /// Processor time per arrived frame.
    pub fn processor_ns_per_frame(&self) -> u64 {
        per(u128::from(self.processor_ns), self.arrived)
    }

    /// The delay that `permille` of all frames do not exceed.
    pub fn delay_ns(&self, permille: usize) -> Option<u64> {
        let rank = (self.delays_ns.len() * permille).div_ceil(1_000).max(1);
        self.delays_ns.get(rank - 1).copied()
    }
}

fn per(amount: u128, count: u64) -> u64 {
    u64::try_from(amount / u128::from(count.max(1))).unwrap_or(u64::MAX)
}

/// Runs one window: the generator on `processor`, under SCHED_FIFO where that is allowed.
///
/// One thread does all that a window consists of, so that no neighbour comes between its beginning,
/// the first frame, the last one and its end: what the subject uses meanwhile is the window's.
///
/// # Errors
///
/// When an interface is missing, the load is not sendable, or the subject fails.
pub fn measure(
    wiring: &Wiring,
    load: &Load,
    processor: usize,
    subject: &mut (dyn Subject + Send),
) -> io::Result<Window> {
    if load.window > WINDOW_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("a window of {}: at most {WINDOW_MAX} can be measured", load.window),
        ));
    }
    let mut sink = sink::Sink::open(wiring.sink.as_str(), load)?;
    let mut generator = generator::Generator::open(wiring.generator.as_str(), load)?;
    pause(PAUSE.min(load.window))?;
    let mut window = std::thread::scope(|scope| {
        let work = || {
            realtime::pin_to(&[processor])?;
            let is_real_time = realtime::try_fifo(PRIORITY).is_ok();
            subject.begin()?;
            if load.rate_pps.is_some() {
                generator.run_in(load, RUN_IN)?;
                spin(RUN_OUT);
            }
            sink.forget()?;
            let began = MonotonicClock::now();
            let offered = generator.run(load);
            let sent_for_ns = MonotonicClock::now().since(began).as_ns();
            pause(DRAIN)?;
            let processor_ns = subject.end()?.as_ns();
            let offered = offered?;
            let window =
                Window { offered, sent_for_ns, processor_ns, is_real_time, ..Window::default() };
            io::Result::Ok(window)
        };
        scope.spawn(work).join().map_err(|_| io::Error::other("the generator panicked"))
    })??;
    (window.arrived, window.delays_ns) = sink.finish()?;
    Ok(window)
}

/// Lets time pass, with no descriptor to wait for.
fn pause(length: Span) -> io::Result<()> {
    PollSet::new().wait(Some(MonotonicClock::now() + length)).map(|_| ())
}

/// Lets time pass without a rest.
fn spin(length: Span) {
    let end = MonotonicClock::now() + length;
    while MonotonicClock::now() < end {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_known_window() {
        let window = Window {
            offered: 1_100,
            arrived: 1_000,
            sent_for_ns: 500_000_000,
            processor_ns: 2_000_000,
            delays_ns: (1..=1_000).collect(),
            is_real_time: true,
        };
        assert_eq!(window.rate_pps(), 2_000);
        assert_eq!(window.processor_ns_per_frame(), 2_000);
        let delay = |permille| window.delay_ns(permille);
        assert_eq!((delay(500), delay(999), delay(1_000)), (Some(500), Some(999), Some(1_000)));
        let empty = Window::default();
        assert_eq!((empty.rate_pps(), empty.delay_ns(500)), (0, None));
    }
}
