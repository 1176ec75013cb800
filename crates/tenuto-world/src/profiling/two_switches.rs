//! The evaluation of \[Loko\] section 6.1 on virtual devices: two switches, two hosts at each, a controller that may
//! interfere (Fig. 16). Hosts may send more than they were allowed.

use super::rig::line_time;
use super::scene::Scene;
use crate::device::{DeviceModel, Seen, VirtualDevice};
use std::collections::BTreeMap;
use tenuto_model::{Action, MatchType, Use};
use tenuto_openflow::{Body, FlowMod, Hello, Message};
use tenuto_units::{Draws, Instant, Span};
use tenuto_wire::build::UDP_PAYLOAD_START;

const FRAME_BYTES: u32 = 306;
/// Four used entries behind thirteen others.
const ENTRIES: u32 = 17;
const TRUNK: u32 = 3;
const SLOT_BYTES: u64 = 20;
/// \[Loko\] section 6.1: b_CP.
const CONTROL_BYTES: f64 = 66.0;
/// From the last entry to the first frame.
const LEAD: Span = Span::from_ms(20);

/// What is played.
#[derive(Clone, Debug)]
pub struct TwoSwitches {
    /// Both switches.
    pub model: DeviceModel,
    /// R: the rate that a switch may be offered, bit/s.
    pub rate_bps: f64,
    /// B: the burst that a switch may be offered, bytes.
    pub burst_bytes: f64,
    /// D: what a switch promises, nanoseconds.
    pub delay_ns: u64,
    /// N: how many times larger rate and burst of the first hosts are; 0: they send nothing.
    pub first_times: f64,
    /// m_r: how much faster hosts send than allowed.
    pub rate_times: f64,
    /// m_b: how much larger their bursts are than allowed.
    pub burst_times: f64,
    /// c_pps that the allocation knows of.
    pub control_modelled_per_s: f64,
    /// c_pps that the controller sends.
    pub control_per_s: u64,
    /// How long hosts send.
    pub duration: Span,
    /// Decides draws and gaps.
    pub seed: u64,
}

/// What became of the frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TwoSwitchesSeen {
    /// Frames that hosts sent.
    pub sent: u64,
    /// Of these, frames that did not arrive.
    pub lost: u64,
    /// Frames that arrived later than promised.
    pub late: u64,
    /// The largest delay, nanoseconds.
    pub delay_ns_max: u64,
    /// Half of the delays were not longer, nanoseconds.
    pub delay_ns_median: u64,
    /// Least, 1 %, 25 %, 50 %, 75 %, 99 % and largest delay, nanoseconds; none if nothing arrived.
    pub quantiles_ns: Option<[u64; 7]>,
}

/// A host behind a token bucket that keeps to its long-term rate and sends what the bucket holds at line rate, after
/// random gaps in which it fills.
struct Source {
    switch: usize,
    port: u32,
    frame: Vec<u8>,
    rate_bytes_per_ns: f64,
    burst_bytes: f64,
    tokens: f64,
    filled: Instant,
    next: Instant,
}

impl Source {
    /// Frames that may leave now, and when to look again.
    fn take(&mut self, now: Instant, draw: &mut Draws) -> u64 {
        let since = now.since(self.filled).as_ns() as f64;
        self.tokens = (self.tokens + since * self.rate_bytes_per_ns).min(self.burst_bytes);
        self.filled = now;
        let frames = whole(self.tokens / f64::from(FRAME_BYTES));
        self.tokens -= (frames * u64::from(FRAME_BYTES)) as f64;
        let one_ns = whole((f64::from(FRAME_BYTES) - self.tokens) / self.rate_bytes_per_ns) + 1;
        let fill_ns = whole((self.burst_bytes - self.tokens) / self.rate_bytes_per_ns) + 1;
        // Never so long that tokens are lost, never so short that no frame may leave.
        let gap = one_ns + draw.below(fill_ns.saturating_sub(one_ns) + 1);
        self.next = now + Span::from_ns(gap);
        frames
    }
}

fn quantiles(sorted: &[u64]) -> Option<[u64; 7]> {
    let last = sorted.len().checked_sub(1)?;
    Some(
        [0, 1, 25, 50, 75, 99, 100].map(|percent| sorted[(sorted.len() * percent / 100).min(last)]),
    )
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // finite, and not negative
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

impl TwoSwitches {
    /// Burst of each second host by Eq. 8, bytes; the case is infeasible where it is below a frame.
    pub fn second_burst_bytes(&self) -> f64 {
        let n = self.first_times;
        let control = if self.control_modelled_per_s > 0.0 { CONTROL_BYTES } else { 0.0 };
        let arrived = self.second_rate_bps() / 8e9 * self.delay_ns as f64 * (n + 1.0);
        (self.burst_bytes - control - arrived) / 2.0f64.mul_add(n, 2.0)
    }

    /// Rate of each second host by Eq. 8, bit/s.
    pub fn second_rate_bps(&self) -> f64 {
        let control = CONTROL_BYTES * 8.0 * self.control_modelled_per_s;
        (self.rate_bps - control) / 2.0f64.mul_add(self.first_times, 2.0)
    }

    /// Plays it.
    pub fn run(&self) -> TwoSwitchesSeen {
        let mut draw = Draws::new(self.seed);
        let mut switches = [0, 1].map(|place| self.switch(place, draw.word()));
        let start = switches[0].now().max(switches[1].now()) + LEAD;
        let mut sources = self.sources(start, &mut draw);
        let end = start + self.duration;
        let mut play = Play { switches: &mut switches, sent: BTreeMap::new(), delays: Vec::new() };
        let mut control = start;
        let slot = line_time(self.model.rate_bps, u64::from(FRAME_BYTES) + SLOT_BYTES);
        let mut number = 0_u64;
        let every = Span::from_ns(1_000_000_000 / self.control_per_s.max(1));
        while let Some(at) = sources.iter().map(|it| it.next).min().filter(|at| *at < end) {
            while self.control_per_s > 0 && control <= at {
                play.until(control);
                play.echo(control);
                control += every;
            }
            play.until(at);
            for source in sources.iter_mut().filter(|it| it.next <= at) {
                for nth in 0..source.take(at, &mut draw) {
                    let stamp = at + slot.times(nth);
                    let mut frame = source.frame.clone();
                    frame[UDP_PAYLOAD_START..][..8].copy_from_slice(&number.to_be_bytes());
                    play.sent.insert(number, stamp);
                    play.switches[source.switch].frame(stamp, source.port, &frame);
                    number += 1;
                }
            }
        }
        play.until(end + Span::from_ms(500));
        self.seen(number, play.delays)
    }

    fn seen(&self, sent: u64, mut delays: Vec<u64>) -> TwoSwitchesSeen {
        delays.sort_unstable();
        let promised = 2 * self.delay_ns;
        TwoSwitchesSeen {
            sent,
            lost: sent - delays.len() as u64,
            late: delays.iter().filter(|it| **it > promised).count() as u64,
            delay_ns_max: delays.last().copied().unwrap_or(0),
            delay_ns_median: delays.get(delays.len() / 2).copied().unwrap_or(0),
            quantiles_ns: quantiles(&delays),
        }
    }

    /// Entries 13 and 14 are those of flows from the left, 15 and 16 of those from the right.
    fn switch(&self, place: usize, seed: u64) -> VirtualDevice {
        let mut device = VirtualDevice::new(self.model.clone(), seed);
        device.connect();
        let hello = Message::new(1, Body::Hello(Hello::default()));
        device.control(Instant::ZERO, &hello.to_bytes());
        let outputs = if place == 0 { [TRUNK, TRUNK, 1, 2] } else { [1, 2, TRUNK, TRUNK] };
        for entry in 0..ENTRIES {
            let port_out = match usize::try_from(entry).unwrap_or(0).checked_sub(13) {
                Some(used) => outputs[used],
                None => TRUNK,
            };
            let entry: FlowMod = Scene { port_out, ..scene() }.entry(entry);
            let now = device.now();
            device.control(now, &Message::new(2, Body::FlowMod(entry)).to_bytes());
        }
        device.run_until(Instant::ZERO + Span::from_ms(200));
        device
    }

    fn sources(&self, start: Instant, draw: &mut Draws) -> Vec<Source> {
        let (rate, burst) = (self.second_rate_bps(), self.second_burst_bytes());
        let mut sources = Vec::new();
        for (switch, port, place) in [(0, 1, 13), (0, 2, 14), (1, 1, 15), (1, 2, 16)] {
            let times = if port == 1 { self.first_times } else { 1.0 };
            if times <= 0.0 {
                continue;
            }
            let burst_bytes = (burst * times * self.burst_times).max(f64::from(FRAME_BYTES));
            sources.push(Source {
                switch,
                port,
                frame: scene().frame_for(place),
                rate_bytes_per_ns: rate * times * self.rate_times / 8e9,
                burst_bytes,
                tokens: burst_bytes,
                filled: start,
                next: start + Span::from_ns(draw.below(1_000_000)),
            });
        }
        sources
    }
}

const fn scene() -> Scene {
    Scene::new(Use::worst(MatchType::FiveTuple, Action::Output, ENTRIES, FRAME_BYTES))
}

/// Both switches and what is under way.
struct Play<'a> {
    switches: &'a mut [VirtualDevice; 2],
    sent: BTreeMap<u64, Instant>,
    delays: Vec<u64>,
}

impl Play<'_> {
    fn echo(&mut self, at: Instant) {
        let request = Message::new(3, Body::EchoRequest(Vec::new())).to_bytes();
        for switch in self.switches.iter_mut() {
            switch.control(at, &request);
        }
    }

    /// Lets time pass, event by event: what one switch sends over the trunk is the other's as soon as it has left.
    fn until(&mut self, end: Instant) {
        loop {
            let next = self.switches.iter().filter_map(VirtualDevice::next_at).min();
            let at = next.filter(|at| *at <= end).unwrap_or(end);
            for place in 0..2 {
                for seen in self.switches[place].run_until(at) {
                    self.left(place, seen);
                }
            }
            if next.is_none_or(|next| next > end) {
                return;
            }
        }
    }

    fn left(&mut self, place: usize, seen: Seen) {
        let Seen::Frame { at, port, bytes } = seen else { return };
        if port == TRUNK {
            self.switches[1 - place].arrive(TRUNK, &bytes);
            return;
        }
        let number = bytes.get(UDP_PAYLOAD_START..).and_then(|it| it.first_chunk::<8>());
        let sent = number.and_then(|number| self.sent.remove(&u64::from_be_bytes(*number)));
        if let Some(sent) = sent {
            self.delays.push(at.since(sent).as_ns());
        }
    }
}
