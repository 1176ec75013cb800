//! Interfaces of this machine that are wired to ports of the device.

use std::io;
use std::sync::Arc;
use tenuto_io::{
    DeviceClock, LinkState, StampedPort, device_clock_of, driver_of, link_features,
    stamps_departures,
};
use tenuto_units::Instant;
use tenuto_world::profiling::{Event, number_of};

/// Drivers of interfaces whose other end is in the same memory: nothing is serialised.
const IN_MEMORY: [&str; 3] = ["veth", "tun", "dummy"];

/// Which stamps are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StampsWanted {
    /// The device's, if all interfaces have the same clock and stamp every frame; else the kernel's.
    #[default]
    Best,
    /// The kernel's.
    Kernel,
    /// The device's, or none.
    Device,
}

/// All interfaces, and what they have in common.
pub(super) struct Taps {
    pub(super) taps: Vec<Tap>,
    /// The clock of the network device, if it stamps.
    pub(super) clock: Option<Arc<DeviceClock>>,
    /// Both ends of all of them are in the memory of this machine.
    pub(super) are_in_memory: bool,
}

/// One interface.
pub(super) struct Tap {
    pub(super) name: String,
    pub(super) port: StampedPort,
    /// The number of the device's port; its own place until that is known.
    pub(super) number: u32,
    /// The kernel tells when frames left.
    stamps_departures: bool,
}

impl Taps {
    pub(super) fn open(names: &[String], wanted: StampsWanted) -> io::Result<Self> {
        let clock = match wanted {
            StampsWanted::Kernel => None,
            StampsWanted::Best => common_clock(names)?,
            StampsWanted::Device => Some(common_clock(names)?.ok_or_else(no_clock)?),
        };
        let clock = match (clock, wanted) {
            (None, _) => None,
            (Some(number), StampsWanted::Device) => Some(Arc::new(DeviceClock::open(number)?)),
            // Who may not read the clock is served by the kernel.
            (Some(number), _) => DeviceClock::open(number).ok().map(Arc::new),
        };
        let mut taps = Vec::new();
        for (place, name) in (0..).zip(names) {
            let mut port = StampedPort::open(name, clock.clone())?;
            if port.link()? != LinkState::Up {
                let text = format!("interface {name} has no link: is it up, and its other end?");
                return Err(io::Error::other(text));
            }
            let stamps_departures = clock.is_some() || stamps_departures(name)?;
            taps.push(Tap { name: name.clone(), port, number: place, stamps_departures });
        }
        let mut are_in_memory = true;
        for name in names {
            let driver = driver_of(name)?;
            are_in_memory &= driver.is_some_and(|it| IN_MEMORY.contains(&it.as_str()));
        }
        Ok(Self { taps, clock, are_in_memory })
    }

    /// The rate that all of them have, bit/s.
    pub(super) fn rate_bps(&self) -> io::Result<Option<u64>> {
        let mut rates = Vec::new();
        for tap in &self.taps {
            let speed = link_features(&tap.name)?.speed;
            rates.push(speed.map(|it| u64::from(it.mbps) * 1_000_000));
        }
        let first = rates.first().copied().flatten();
        Ok(first.filter(|_| rates.iter().all(|it| *it == first)))
    }

    /// Where stamps come from, in words.
    pub(super) fn source(&self) -> String {
        let departures = self.taps.iter().all(|it| it.stamps_departures);
        match (&self.clock, departures) {
            (Some(_), _) => "the network device".into(),
            (None, true) => "the kernel, both ways".into(),
            (None, false) => "the kernel for what comes, this program for what leaves".into(),
        }
    }

    /// The least difference that stamps tell, nanoseconds.
    pub(super) fn grain_ns(&self) -> u64 {
        self.taps.iter().map(|it| it.port.grain_ns()).max().unwrap_or(0).max(1)
    }
}

impl Tap {
    /// Sends marked frames; how many the interface took.
    pub(super) fn send(
        &mut self,
        now: Instant,
        frames: &[&[u8]],
        events: &mut Vec<Event>,
    ) -> io::Result<usize> {
        let done = self.port.offer(frames)?;
        let taken = done.report.sent + done.report.refused;
        if !self.stamps_departures {
            let numbers = frames[..taken].iter().filter_map(|it| number_of(it));
            events.extend(numbers.map(|number| Event::Sent { at: now, number }));
        }
        Ok(taken)
    }

    /// Takes what has left and what has come.
    pub(super) fn look(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        if self.stamps_departures {
            self.port.departed(&mut |at, frame| {
                events.extend(number_of(frame).map(|number| Event::Sent { at, number }));
            })?;
        }
        let port = self.number;
        self.port.receive(&mut |at, frame| {
            // Frames of others are none of the measurement's.
            if number_of(frame).is_some() {
                events.push(Event::Frame { at, port, bytes: frame.to_vec() });
            }
        })
    }
}

/// The clock that stamps at every interface.
fn common_clock(names: &[String]) -> io::Result<Option<u32>> {
    let mut clocks = Vec::new();
    for name in names {
        clocks.push(device_clock_of(name)?);
    }
    let first = clocks.first().copied().flatten();
    Ok(first.filter(|_| clocks.iter().all(|it| *it == first)))
}

fn no_clock() -> io::Error {
    io::Error::other(
        "the interfaces have no clock in common that stamps every frame: take the ports of one network device, or \
         --stamps kernel",
    )
}
