//! A switch on the bench: interfaces of this machine at its ports, and its control connection.

use super::channel::Channel;
use super::host_watch::HostWatch;
use super::taps::{StampsWanted, Taps};
use std::collections::BTreeMap;
use std::io;
use tenuto_io::{BURST_FRAMES, Interest, MonotonicClock, PollSet, StampedStream};
use tenuto_units::{Instant, Span};
use tenuto_world::profiling::{Event, ProfileError, Rig, Stamps};

const PREAMBLE_BYTES: u64 = 8;
const HEADER_BYTES: usize = 8;
const NS_PER_S: u64 = 1_000_000_000;
/// A device that takes none of what it is told for so long is not there.
const WRITING: Span = Span::from_s(10);
/// An interface that is full is tried again so much later.
const FULL: Span = Span::from_us(20);
/// Frames that wait to be sent, at most.
const WAITING_MAX: usize = 1 << 18;
/// Readings of the clock that tell its resolution.
const READINGS: usize = 2_000;

/// How a bench is set up.
#[derive(Clone, Debug, Default)]
pub struct LiveRigSettings {
    /// Interfaces, each wired to another port of the device: frames go into the first and come out of the second.
    pub ports: Vec<String>,
    /// The device that is meant; any unless said.
    pub datapath_id: Option<u64>,
    /// Rate of its ports, bit/s; as the interfaces have it unless said.
    pub rate_bps: Option<u64>,
    /// Which stamps are taken.
    pub stamps: StampsWanted,
}

/// The bench.
pub struct LiveRig<'p> {
    taps: Taps,
    is_wired: bool,
    channel: Channel,
    stream: Option<StampedStream>,
    datapath_id: Option<u64>,
    rate_bps: u64,
    resolution_ns: u64,
    waiting: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    order: u64,
    poll: PollSet,
    events: Vec<Event>,
    failure: Option<ProfileError>,
    host: HostWatch,
    progress: &'p mut dyn FnMut(&str, u32),
}

impl<'p> LiveRig<'p> {
    /// Opens the interfaces; the device is waited for later. `progress` is told what is measured, and how much of the whole
    /// is done, in percent.
    ///
    /// # Errors
    /// When an interface cannot be opened, or has no rate that is known; the text says which.
    pub fn open(
        settings: &LiveRigSettings,
        channel: Channel,
        progress: &'p mut dyn FnMut(&str, u32),
    ) -> io::Result<Self> {
        let taps = Taps::open(&settings.ports, settings.stamps)?;
        let rate_bps = match settings.rate_bps {
            Some(rate_bps) => rate_bps,
            None => taps.rate_bps()?.ok_or_else(|| {
                io::Error::other("the interfaces have no known rate in common: say it with --rate")
            })?,
        };
        let mut rig = Self {
            taps,
            is_wired: false,
            channel,
            stream: None,
            datapath_id: settings.datapath_id,
            rate_bps: rate_bps.max(1),
            resolution_ns: clock_step_ns(),
            waiting: BTreeMap::new(),
            order: 0,
            poll: PollSet::new(),
            events: Vec::new(),
            failure: None,
            host: HostWatch::start(),
            progress,
        };
        rig.watch_all();
        Ok(rig)
    }

    fn watch_all(&mut self) {
        self.poll = PollSet::new();
        for tap in &self.taps.taps {
            self.poll.add(tap.port.poll_fd(), Interest::Read);
        }
        if let Some(stream) = &self.stream {
            self.poll.add(stream.poll_fd(), Interest::Read);
        }
        if let Some(line) = self.host.poll_fd() {
            self.poll.add(line, Interest::Read);
        }
    }

    fn fail(&mut self, error: impl std::fmt::Display) {
        if self.failure.is_none() {
            self.failure = Some(ProfileError::Broken(error.to_string()));
        }
    }

    /// Sends what is due, as many frames at once as stand together.
    fn send_due(&mut self, now: Instant) -> io::Result<()> {
        while let Some((&(at, _), &(tap, _))) = self.waiting.first_key_value() {
            if at > now {
                return Ok(());
            }
            let mut burst: Vec<((Instant, u64), Vec<u8>)> = Vec::new();
            while burst.len() < BURST_FRAMES
                && let Some(entry) = self.waiting.first_entry()
                && entry.key().0 <= now
                && entry.get().0 == tap
            {
                let key = *entry.key();
                burst.push((key, entry.remove().1));
            }
            let frames: Vec<&[u8]> = burst.iter().map(|(_, it)| it.as_slice()).collect();
            let taken = self.taps.taps[tap].send(now, &frames, &mut self.events)?;
            let is_full = taken < burst.len();
            for ((_, order), frame) in burst.split_off(taken) {
                self.waiting.insert((now + FULL, order), (tap, frame));
            }
            if is_full {
                return Ok(());
            }
        }
        Ok(())
    }

    fn look(&mut self, now: Instant) -> io::Result<()> {
        for tap in &mut self.taps.taps {
            tap.look(&mut self.events)?;
            let overflowed = tap.port.take_overflowed()?;
            if overflowed > 0 {
                let text = format!(
                    "the bench itself lost {overflowed} frames at {}: this machine is too slow for it",
                    tap.name
                );
                return Err(io::Error::other(text));
            }
            if tap.port.unstamped() > 0 {
                let text = format!(
                    "interface {} left {} frames without a stamp: try --stamps kernel",
                    tap.name,
                    tap.port.unstamped()
                );
                return Err(io::Error::other(text));
            }
        }
        let is_quiet = self.waiting.is_empty() && self.events.is_empty();
        self.host.look(now, is_quiet);
        let mut room = [0; 16 * 1024];
        while let Some(stream) = &mut self.stream {
            match stream.read(&mut room)? {
                None => break,
                Some((0, _)) => {
                    self.stream = None;
                    self.watch_all();
                    return Err(io::Error::other("the device closed its control connection"));
                }
                Some((count, at)) => {
                    self.events.push(Event::Control { at, bytes: room[..count].to_vec() });
                }
            }
        }
        Ok(())
    }

    fn pass(&mut self, end: Instant) -> io::Result<()> {
        loop {
            let now = MonotonicClock::now();
            self.send_due(now)?;
            self.look(now)?;
            if !self.events.is_empty() || now >= end {
                return Ok(());
            }
            let due = self.waiting.first_key_value().map_or(end, |((at, _), _)| end.min(*at));
            if self.poll.wait(Some(due))? == 0 {
                self.host.woken(due, MonotonicClock::now());
            }
        }
    }
}

impl Rig for LiveRig<'_> {
    fn now(&self) -> Instant {
        MonotonicClock::now()
    }

    fn control(&mut self, _: Instant, bytes: &[u8]) -> Vec<Instant> {
        let until = MonotonicClock::now() + WRITING;
        let at = match &mut self.stream {
            None => MonotonicClock::now(),
            Some(stream) => match stream.write(bytes, until) {
                Ok(at) => at,
                Err(error) => {
                    self.fail(format!("the control connection: {error}"));
                    until
                }
            },
        };
        vec![at; messages_of(bytes)]
    }

    fn frame(&mut self, at: Instant, port: u32, bytes: &[u8]) {
        let Some(tap) = self.taps.taps.iter().position(|it| it.number == port) else { return };
        if self.waiting.len() >= WAITING_MAX {
            return self.fail("more frames wait to be sent than there is room for");
        }
        self.order += 1;
        self.waiting.insert((at, self.order), (tap, bytes.to_vec()));
    }

    fn run_until(&mut self, at: Instant) -> Vec<Event> {
        if self.failure.is_none()
            && let Err(error) = self.pass(at)
        {
            self.fail(error);
        }
        // Stamps of what leaves are known after what has come is seen.
        let mut events = std::mem::take(&mut self.events);
        events.sort_by_key(|it| match it {
            Event::Control { at, .. } | Event::Frame { at, .. } | Event::Sent { at, .. } => *at,
        });
        events
    }

    fn controller(&mut self, is_there: bool) -> Result<(), ProfileError> {
        self.stream = None;
        if is_there {
            let what = format!("waiting for {}", self.channel.name());
            (self.progress)(&what, 0);
            let stream = self.channel.connect();
            self.stream = Some(stream.map_err(|it| ProfileError::Broken(it.to_string()))?);
        }
        self.watch_all();
        Ok(())
    }

    fn is_meant(&self, datapath_id: u64) -> bool {
        self.datapath_id.is_none_or(|meant| meant == datapath_id)
    }

    fn ports(&self) -> Vec<u32> {
        if !self.is_wired {
            return Vec::new();
        }
        self.taps.taps.iter().map(|it| it.number).collect()
    }

    fn unwired(&self) -> Vec<String> {
        if self.is_wired {
            return Vec::new();
        }
        self.taps.taps.iter().map(|it| it.name.clone()).collect()
    }

    fn wire(&mut self, numbers: &[u32]) {
        for (tap, number) in self.taps.taps.iter_mut().zip(numbers) {
            tap.number = *number;
        }
        self.is_wired = true;
    }

    fn begins(&mut self) {
        if let Some(clock) = &self.taps.clock
            && let Err(error) = clock.adjust()
        {
            self.fail(format!("the clock of the network device: {error}"));
        }
    }

    fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// A device stamps the delimiters, as a measurement card does; the kernel stamps before the first bit leaves and after
    /// the last one came, so that the line is crossed twice between its stamps.
    fn outside_ns(&self, frame_bytes: u32) -> u64 {
        if self.taps.are_in_memory {
            return 0;
        }
        let bits = (u64::from(frame_bytes) + PREAMBLE_BYTES) * 8;
        let once = (bits * NS_PER_S) / self.rate_bps;
        if self.taps.clock.is_some() { once } else { once * 2 }
    }

    /// The way of control messages is not known: it counts as the device's.
    fn control_outside_ns(&self, _: usize) -> (u64, u64) {
        (0, 0)
    }

    fn stamps(&self) -> Stamps {
        let host = self.host.noise();
        let resolution_ns =
            if self.taps.clock.is_some() { self.taps.grain_ns() } else { self.resolution_ns };
        Stamps {
            source: self.taps.source(),
            resolution_ns,
            noise_ns: host.as_ref().map_or(0, |it| it.frame_ns_p99),
            is_exact: false,
            host,
        }
    }

    fn failure(&mut self) -> Option<ProfileError> {
        self.failure.clone()
    }

    fn progress(&mut self, what: &str, percent: u32) {
        (self.progress)(what, percent);
    }
}

/// Messages of a text of whole messages.
fn messages_of(bytes: &[u8]) -> usize {
    let (mut rest, mut count) = (bytes, 0);
    while rest.len() >= HEADER_BYTES {
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]])).max(HEADER_BYTES);
        rest = rest.get(len..).unwrap_or(&[]);
        count += 1;
    }
    count
}

/// The least difference between two readings of the clock that differ.
fn clock_step_ns() -> u64 {
    let mut last = MonotonicClock::now();
    let mut least = u64::MAX;
    for _ in 0..READINGS {
        let now = MonotonicClock::now();
        let step = now.since(last).as_ns();
        least = if step > 0 { least.min(step) } else { least };
        last = now;
    }
    least.min(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::messages_of;

    #[test]
    fn messages_are_counted_by_their_lengths_whatever_they_say() {
        let hello = [4, 0, 0, 8, 0, 0, 0, 1];
        let long = [4, 2, 0, 12, 0, 0, 0, 1, 9, 9, 9, 9];
        assert_eq!(messages_of(&[&hello[..], &long, &hello].concat()), 3);
        assert_eq!(messages_of(&hello[..7]), 0);
        assert_eq!(messages_of(&[4, 0, 0, 0, 0, 0, 0, 1]), 1);
        assert_eq!(messages_of(&[4, 0, 0xff, 0xff, 0, 0, 0, 1]), 1);
    }
}
