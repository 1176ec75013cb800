//! Plays a schedule: frames through ports and switches, one event after the other.
//!
//! A host queues all frames of a message at its release. A port sends by strict priority, one frame at a time. A
//! switch has a frame when its last bit is there, watches and polices it, and puts it after its latency, in the
//! order of its input line, into the queues of its class. A violation raises the mode: every switch swaps within
//! the certified spread, at the adversary's instant, and from then on drops what is out of mode.

use crate::events::{Event, Events, LINE_FREE_ORDER};
use crate::framing::frames_of;
use crate::guard::{Meter, Monitor};
use crate::layout::{Layout, part_of};
use crate::port::{Frame, PortState, SIGNALS};
use crate::raises::{Raised, Raises};
use crate::rows::{Row, Subject, Values};
use crate::schedule::{Release, Schedule};
use crate::scope::Scope;
use tenuto_model::NodeRef;
use tenuto_units::FRAME_BYTES_MIN;

/// Frames that one schedule may move; a longer one ends there.
const FRAME_HOPS_MAX: u64 = 2_000_000;
/// The order of a swap among what happens at one instant.
const SWAP_ORDER: u8 = 64;

/// What a schedule showed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The largest value seen of every row: delays in ps, backlogs in bits.
    pub seen: Values,
    /// Frames handed over.
    pub frame_hops: u64,
    /// Raises.
    pub raises: u32,
    /// Frames that a meter dropped of hosts that conform.
    pub policed: u64,
    /// The first that raised the mode.
    pub violation: Option<Violation>,
}

/// A message that asked for more than the mode in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When its last bit arrived at the switch that saw it, ns.
    pub at_ns: u64,
    /// Release by its place in the schedule.
    pub release: usize,
    /// How much too early it was for the mode in force, ns; 0 if it was too large.
    pub early_ns: u64,
}

/// Plays schedules of one plan, one after the other, in the same memory.
pub struct Player<'a> {
    layout: &'a Layout,
    ports: Vec<PortState>,
    monitors: Vec<Monitor>,
    meters: Vec<Meter>,
    events: Events,
    raises: Raises,
    levels: Vec<u8>,
    /// Per port: when the last frame of its line was queued at the far end.
    queued_ns: Vec<u64>,
    /// Per release: its first place in `missing`, and one past the last.
    missing_at: Vec<usize>,
    /// Per release and leaf of its flow: frames that have not come.
    missing: Vec<u32>,
    outcome: Outcome,
    /// By hop: whether frames are played there.
    scope: Vec<bool>,
    /// A play ends when every message of this leaf's flow has come there, if there is one.
    awaited: Option<usize>,
    /// Messages that have not.
    awaited_count: usize,
    /// Per release: its first place in `queued`, less the first hop of its flow.
    passages_at: Vec<usize>,
    /// Per release and hop: when its last frame was queued there, 0 if none was.
    passages: Vec<u64>,
}

impl<'a> Player<'a> {
    /// A player of a plan.
    pub fn new(layout: &'a Layout) -> Self {
        let counts = (layout.leaves.len(), layout.ports.len(), layout.transitions.len());
        Self {
            layout,
            ports: layout.ports.iter().map(|_| PortState::new()).collect(),
            monitors: layout.monitors.iter().map(Monitor::new).collect(),
            meters: layout.meters.iter().map(|(spec, counts)| Meter::new(spec, *counts)).collect(),
            events: Events::default(),
            raises: Raises::default(),
            levels: Vec::new(),
            queued_ns: Vec::new(),
            missing_at: Vec::new(),
            missing: Vec::new(),
            outcome: Outcome {
                seen: Values::none(counts.0, counts.1, counts.2),
                frame_hops: 0,
                raises: 0,
                policed: 0,
                violation: None,
            },
            scope: vec![true; layout.hops.len()],
            awaited: None,
            awaited_count: 0,
            passages_at: Vec::new(),
            passages: Vec::new(),
        }
    }

    /// From now on plays these hops only, and no longer than until the messages of the awaited leaf's flow have
    /// come there. Rows of other leaves may show less than they would.
    pub fn limit_to(&mut self, scope: &Scope, awaited: Option<usize>) {
        self.scope.clone_from(&scope.hops);
        self.awaited = awaited;
    }

    /// From now on plays everything, to its end.
    pub fn lift_limits(&mut self) {
        self.scope.fill(true);
        self.awaited = None;
    }

    /// Plays a settled schedule.
    pub fn play(&mut self, schedule: &Schedule) -> &Outcome {
        self.restart(schedule);
        let mut next = 0;
        while self.outcome.frame_hops < FRAME_HOPS_MAX && !self.is_over() {
            let release = schedule.releases.get(next);
            let is_release = match (release, self.events.next_at()) {
                (None, None) => break,
                (Some(release), Some(event)) => {
                    (release.at_ns, schedule.orders[release.flow]) <= event
                }
                (release, _) => release.is_some(),
            };
            match release.filter(|_| is_release) {
                Some(release) => {
                    self.release(schedule, next, release);
                    next += 1;
                }
                None => self.step(schedule),
            }
        }
        self.outcome.raises = u32::try_from(self.raises.list().len()).unwrap_or(u32::MAX);
        &self.outcome
    }

    const fn is_over(&self) -> bool {
        self.awaited.is_some() && self.awaited_count == 0
    }

    /// What the last schedule showed.
    pub const fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// When the last frame of a release was queued at a hop of its flow, ns; `None` if none came there.
    pub fn queued_ns(&self, schedule: &Schedule, release: usize, hop: usize) -> Option<u64> {
        let first = self.layout.flows[schedule.releases[release].flow].hops.start;
        let at = *self.passages_at.get(release)? + hop - first;
        self.passages.get(at).copied().filter(|&it| it > 0)
    }

    fn restart(&mut self, schedule: &Schedule) {
        self.ports.iter_mut().for_each(PortState::clear);
        self.monitors.iter_mut().for_each(Monitor::clear);
        self.meters.iter_mut().for_each(Meter::clear);
        self.events.clear();
        self.raises.restart(schedule.start_level);
        self.levels.clear();
        self.levels.resize(self.layout.switches.len(), schedule.start_level);
        self.queued_ns.clear();
        self.queued_ns.resize(self.layout.ports.len(), 0);
        self.missing.clear();
        self.missing_at.clear();
        self.passages_at.clear();
        self.passages.clear();
        let awaited = self.awaited.map(|leaf| self.layout.leaves[leaf].flow);
        self.awaited_count = schedule.releases.iter().filter(|it| Some(it.flow) == awaited).count();
        for release in &schedule.releases {
            self.missing_at.push(self.missing.len());
            let flow = &self.layout.flows[release.flow];
            self.passages_at.push(self.passages.len());
            self.passages.resize(self.passages.len() + flow.hops.len(), 0);
            let frames = frames_of(flow.highest().size, release.bytes).count();
            let frames = u32::try_from(frames).unwrap_or(u32::MAX);
            self.missing.extend(flow.leaves.clone().map(|_| frames));
        }
        self.outcome.seen.clear();
        (self.outcome.frame_hops, self.outcome.policed) = (0, 0);
        self.outcome.violation = None;
    }

    fn release(&mut self, schedule: &Schedule, index: usize, release: &Release) {
        let layout = self.layout;
        let flow = &layout.flows[release.flow];
        let number = u32::try_from(index).unwrap_or(Frame::SIGNAL);
        for &hop in &flow.roots {
            if !self.scope[hop] {
                continue;
            }
            let frame = |frame_bytes| Frame { release: number, hop: index_u32(hop), frame_bytes };
            if release.babbled.is_some() {
                let bytes = release.bytes.max(FRAME_BYTES_MIN);
                self.enqueue(schedule, release.at_ns, frame(bytes), SIGNALS + 1);
                continue;
            }
            for bytes in frames_of(flow.highest().size, release.bytes) {
                self.enqueue(schedule, release.at_ns, frame(bytes), usize::from(flow.class) + 1);
            }
        }
    }

    fn step(&mut self, schedule: &Schedule) {
        let Some((now_ns, event)) = self.events.pop() else { return };
        match event {
            Event::HandOver { port } => self.hand_over(schedule, now_ns, port),
            Event::Forward { frame } => self.forward(schedule, now_ns, frame),
            Event::Swap { switch, level } => self.swap(schedule, now_ns, switch as usize, level),
            Event::Arrive { frame, queued_ns } => {
                if self.judge(schedule, now_ns, queued_ns, frame) {
                    let order = order_of(schedule, frame);
                    self.events.push(queued_ns, order, Event::Forward { frame });
                }
            }
        }
    }

    fn enqueue(&mut self, schedule: &Schedule, now_ns: u64, frame: Frame, class: usize) {
        let hop = &self.layout.hops[frame.hop as usize];
        let port = &mut self.ports[hop.port];
        let next = port.enqueue(now_ns, class, frame, self.layout.ports[hop.port].line);
        let backlog_bits = port.backlog_bits;
        self.hand_over_at(next, hop.port);
        self.see_backlog(schedule, now_ns, hop.port, backlog_bits);
        let first = self.layout.flows[hop.flow].hops.start;
        let passage = self.passages_at[frame.release as usize] + frame.hop as usize - first;
        self.passages[passage] = now_ns;
    }

    fn hand_over_at(&mut self, at_ns: Option<u64>, port: usize) {
        if let Some(at_ns) = at_ns {
            self.events.push(at_ns, LINE_FREE_ORDER, Event::HandOver { port: index_u32(port) });
        }
    }

    fn hand_over(&mut self, schedule: &Schedule, now_ns: u64, port: u32) {
        let port = port as usize;
        let layout = self.layout;
        let (frame, next) = self.ports[port].hand_over(layout.ports[port].line);
        self.hand_over_at(next, port);
        self.outcome.frame_hops += 1;
        let arrival_ns = now_ns + layout.ports[port].propagation_ns;
        if frame.release == Frame::SIGNAL {
            self.signal(schedule, arrival_ns, frame, port);
            return;
        }
        let hop = &layout.hops[frame.hop as usize];
        if let Some(leaf) = hop.leaf {
            self.receive(schedule, arrival_ns, frame, leaf);
        }
        let NodeRef::Switch(switch) = layout.ports[port].far else { return };
        let at_ns = arrival_ns + self.latency_ns(schedule, frame, switch);
        let queued_ns = at_ns.max(self.queued_ns[port]);
        self.queued_ns[port] = queued_ns;
        let order = order_of(schedule, frame);
        if hop.monitor.is_some() || hop.meter.is_some() {
            self.events.push(arrival_ns, order, Event::Arrive { frame, queued_ns });
        } else {
            self.events.push(queued_ns, order, Event::Forward { frame });
        }
    }

    /// A mode signal has come to the far end of a line; it takes effect after that switch's latency.
    fn signal(&mut self, schedule: &Schedule, arrival_ns: u64, frame: Frame, port: usize) {
        let NodeRef::Switch(switch) = self.layout.ports[port].far else { return };
        if !schedule.signalled {
            return;
        }
        let at_ns = arrival_ns + self.layout.latency_ns(switch, schedule.swaps[switch]);
        let at_ns = at_ns.max(self.queued_ns[port]);
        self.queued_ns[port] = at_ns;
        let level = u8::try_from(frame.hop).unwrap_or(u8::MAX);
        let event = Event::Swap { switch: index_u32(switch), level };
        self.events.push(at_ns, SWAP_ORDER, event);
    }

    fn latency_ns(&self, schedule: &Schedule, frame: Frame, switch: usize) -> u64 {
        let release = &schedule.releases[frame.release as usize];
        let of_flow = schedule.latencies[release.flow * self.layout.switches.len() + switch];
        let part = release.latency.unwrap_or(of_flow);
        self.layout.latency_ns(switch, part)
    }

    /// Monitor, then meter; whether the frame goes on.
    fn judge(&mut self, schedule: &Schedule, now_ns: u64, queued_ns: u64, frame: Frame) -> bool {
        let hop = &self.layout.hops[frame.hop as usize];
        let release = &schedule.releases[frame.release as usize];
        let switch = self.layout.far_switch(frame.hop as usize);
        if let Some(monitor) = hop.monitor {
            let message = release.babbled.unwrap_or(frame.release);
            let wanted = self.monitors[monitor].observe(now_ns, message, frame.frame_bytes);
            if wanted > self.raises.level() {
                let early_ns = self.monitors[monitor].early_ns(self.raises.level());
                let violation =
                    Violation { at_ns: now_ns, release: frame.release as usize, early_ns };
                self.outcome.violation.get_or_insert(violation);
                self.raise(schedule, (now_ns, queued_ns), switch, wanted);
            }
        }
        let Some(meter) = hop.meter else { return true };
        let is_in_mode = switch.is_none_or(|it| self.is_in_mode(release.flow, it));
        let passes = is_in_mode && self.meters[meter].passes(now_ns, frame.frame_bytes);
        self.outcome.policed += u64::from(is_in_mode && !passes && release.babbled.is_none());
        passes
    }

    fn is_in_mode(&self, flow: usize, switch: usize) -> bool {
        self.layout.flows[flow].level >= self.levels[switch]
    }

    /// The frame that arrived at `at_ns` is looked up at `queued_ns`: then its switch swaps.
    fn raise(
        &mut self,
        schedule: &Schedule,
        (at_ns, queued_ns): (u64, u64),
        starter: Option<usize>,
        to: u8,
    ) {
        let from = self.raises.level();
        let times = self.layout.raise_times.get(&(from, to)).copied();
        let drain_ns = times.and_then(|it| it.drain_ns);
        let settled_ns = drain_ns.map_or(u64::MAX, |it| at_ns + it);
        self.raises.push(Raised { at_ns, from, to, settled_ns });
        if let (true, Some(switch)) = (schedule.signalled, starter) {
            let event = Event::Swap { switch: index_u32(switch), level: to };
            self.events.push(queued_ns, 0, event);
            return;
        }
        let spread_ns = times.map_or(0, |it| it.spread_ns);
        for switch in 0..self.layout.switches.len() {
            let swap_ns = at_ns + part_of(spread_ns, schedule.swaps[switch]);
            let event = Event::Swap { switch: index_u32(switch), level: to };
            self.events.push(swap_ns, SWAP_ORDER, event);
        }
    }

    fn swap(&mut self, schedule: &Schedule, now_ns: u64, switch: usize, level: u8) {
        if self.levels[switch] >= level {
            return;
        }
        self.levels[switch] = level;
        let layout = self.layout;
        let ends = |frame: Frame| {
            layout.flows[schedule.releases[frame.release as usize].flow].level < level
        };
        for &port in &layout.switches[switch].ports {
            self.ports[port].purge(ends);
        }
        let signal =
            Frame { release: Frame::SIGNAL, hop: level.into(), frame_bytes: FRAME_BYTES_MIN };
        for &port in &layout.switches[switch].trunks {
            for _ in 0..layout.signal_copies {
                let next =
                    self.ports[port].enqueue(now_ns, SIGNALS, signal, layout.ports[port].line);
                self.hand_over_at(next, port);
            }
        }
    }

    fn forward(&mut self, schedule: &Schedule, now_ns: u64, frame: Frame) {
        let layout = self.layout;
        let hop = &layout.hops[frame.hop as usize];
        let switch = layout.far_switch(frame.hop as usize).expect("switches forward");
        if !self.is_in_mode(hop.flow, switch) {
            return;
        }
        let class = usize::from(layout.flows[hop.flow].class) + 1;
        for &next in &hop.next {
            if self.scope[next] {
                self.enqueue(schedule, now_ns, Frame { hop: index_u32(next), ..frame }, class);
            }
        }
    }

    fn receive(&mut self, schedule: &Schedule, now_ns: u64, frame: Frame, leaf: usize) {
        let index = frame.release as usize;
        let release = &schedule.releases[index];
        let flow = &self.layout.flows[release.flow];
        if schedule.babbler == Some(flow.host) {
            return;
        }
        let missing = &mut self.missing[self.missing_at[index] + leaf - flow.leaves.start];
        *missing = missing.saturating_sub(1);
        if *missing > 0 {
            return;
        }
        let is_awaited = usize::from(self.awaited == Some(leaf));
        self.awaited_count = self.awaited_count.saturating_sub(is_awaited);
        let found = self.raises.transition(self.layout, release.at_ns, now_ns);
        if let Some((transition, _)) = found.filter(|&(_, to)| flow.level >= to) {
            let row = Row { subject: Subject::Delay(leaf), transition };
            self.outcome.seen.raise_to(row, (now_ns - release.at_ns) * 1_000);
        }
    }

    fn see_backlog(&mut self, schedule: &Schedule, now_ns: u64, port: usize, backlog_bits: u64) {
        let is_babblers =
            self.layout.ports[port].host().is_some_and(|it| schedule.babbler == Some(it));
        if is_babblers {
            return;
        }
        // The frame that raises the mode may be queued at that very instant: it counts for the raise.
        let found = self.raises.transition(self.layout, now_ns, now_ns + 1);
        if let Some((transition, _)) = found {
            let row = Row { subject: Subject::Backlog(port), transition };
            self.outcome.seen.raise_to(row, backlog_bits);
        }
    }
}

fn order_of(schedule: &Schedule, frame: Frame) -> u8 {
    schedule.orders[schedule.releases[frame.release as usize].flow]
}

fn index_u32(index: usize) -> u32 {
    u32::try_from(index).expect("a plan has fewer")
}
