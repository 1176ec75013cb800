//! Virtual time: the cores, links, hosts and faults of a plan, driven event by event.
//!
//! Switch, end system and controller are those that run live; every frame is real bytes through the
//! full pipeline. An event is a frame entering a core, a core's timer, bytes on a control channel,
//! or a line of the scenario; events of one instant happen in the order they were caused. Nothing
//! is drawn but from the seed, so a run replays bit for bit from (plan, scenario, seed, version).

mod choices;
mod controlled;
mod events;
mod faults;
mod firmware;
mod frame_log;
mod hop_delays;
mod processor;
mod recorded;
mod schedule;
mod script;
mod setup;
mod watch;

pub use controlled::{ControlCosts, ControlledChange, controlled_changes};
pub use firmware::Devices;
pub use frame_log::{FrameLog, HOPS_MAX, LoggedFrame, LoggedHop};
pub use hop_delays::HopDelays;
pub use recorded::{run_to_rest, run_watched, run_with_frames};
pub use schedule::{
    FlowChoices, SCHEDULE_SCHEMA, Schedule, ScheduledFrame, ScheduledRelease, Transmission, Witness,
};
pub use script::follow;
pub use setup::play_schedule;
pub use watch::{Departed, Onlooker, Onlookers, Place};

use crate::{Ledger, LedgerSettings, Observation, Release, RunDocument, assemble};
use events::{Event, Queue};
use processor::SharedProcessor;
use schedule::LINE_FREE_RANK;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tenuto_controller::{ConnId, Controller, ControllerEvent};
use tenuto_dataplane::endsystem::{EndSystem, HostEvent};
use tenuto_dataplane::switch::{Switch, SwitchEvent};
use tenuto_dataplane::{DropReason, Dropped, Effects, FrameId, FramePool, Frames};
use tenuto_model::{Plan, Scenario};
use tenuto_units::{Draws, Instant, Span};

/// One way on the management network.
const CONTROL_LATENCY: Span = Span::from_us(500);
/// A controller that is not ready after this has failed.
const SETUP_LIMIT: Span = Span::from_s(60);
/// From ready to the first release.
const LEAD: Span = Span::from_ms(10);
/// Frames that may be on their way at once; more is a fault of the run, not of the network.
const FRAMES_MAX: usize = 4_000_000;

/// The nodes of a run of `plan` by number: its switches, then its hosts.
pub fn node_names(plan: &Plan) -> Vec<&str> {
    let switches = plan.switches.iter().map(|it| it.switch.as_str());
    switches.chain(plan.hosts.iter().map(|it| it.host.as_str())).collect()
}

/// Why a run could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The plan has no deployment: it was refused before routes existed.
    NothingDeployed,
    /// The controller did not bring the switches up.
    SetupFailed(String),
    /// More hops than a log of frames holds.
    LogFull,
    /// An end system refuses its configuration.
    Host(String),
    /// A schedule is not of this plan.
    Schedule(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NothingDeployed => f.write_str("the plan has no deployment to run"),
            Self::LogFull => {
                write!(f, "its frames take more than {HOPS_MAX} hops; a shorter run has fewer")
            }
            Self::SetupFailed(why) => write!(f, "the switches did not come up: {why}"),
            Self::Schedule(why) => f.write_str(why),
            Self::Host(why) => write!(f, "an end system refuses its configuration: {why}"),
        }
    }
}

impl std::error::Error for RunError {}

/// A node's core.
enum Core {
    Switch(Box<Switch>),
    Host(Box<EndSystem>),
}

struct Node {
    name: String,
    core: Core,
    alive: bool,
    /// It started afresh, and nobody has brought its tables.
    is_bare: bool,
    /// The instant for which a timer event is queued.
    due: Option<Instant>,
    latency_ns: (u64, u64),
    /// The processor that its ports share, if they do.
    processor: Option<SharedProcessor>,
    /// Per port: when the last frame in has been processed, so that order is kept.
    processed: BTreeMap<u32, Instant>,
    /// Per port: far node, its port, propagation, whether the link carries.
    links: BTreeMap<u32, Far>,
    incarnation: u64,
}

#[derive(Clone, Copy)]
struct Far {
    node: usize,
    port: u32,
    propagation: Span,
    carries: bool,
    signals_to_lose: u32,
}

/// How a run is going, for a progress line.
#[derive(Clone, Copy, Debug)]
pub struct RunProgress {
    /// Virtual time since traffic started, nanoseconds.
    pub at_ns: u64,
    /// Length of the run, nanoseconds.
    pub of_ns: u64,
    /// Frames handed over so far.
    pub packet_hops: u64,
}

/// A run in virtual time.
pub struct Clockwork<'a> {
    plan: &'a Plan,
    scenario: &'a Scenario,
    now: Instant,
    start: Instant,
    queue: Queue,
    nodes: Vec<Node>,
    pool: FramePool,
    controller: Option<Controller>,
    conns: BTreeMap<u64, usize>,
    ledger: Option<Ledger<'a>>,
    switch_fx: Effects<SwitchEvent>,
    host_fx: Effects<HostEvent>,
    /// The only source of choice in a run.
    draw: Draws,
    secret: [u8; 16],
    babblers: Vec<faults::Babbler>,
    /// Hosts that break their contracts so far.
    misbehaving: BTreeSet<String>,
    packet_hops: u64,
    is_ready: bool,
    failure: Option<String>,
    conn_next: u64,
    /// Releases to repeat, instead of sources that send by themselves.
    recorded: Option<&'a [Release]>,
    /// What a schedule decides, instead of draws.
    choices: Option<Box<choices::Choices>>,
    /// What decides the order of events, instead of timers and links.
    script: Option<script::Script>,
    /// The controller that changes modes itself, instead of one that leaves it to the switches.
    controlled: Option<Box<controlled::Controlled>>,
    /// How switches behave as devices, if they do.
    devices: Option<Devices>,
    /// Who looks on, if somebody does.
    watch: Option<Box<watch::Watch<'a>>>,
}

/// Runs a plan in virtual time.
///
/// # Errors
/// [`RunError`] if the plan cannot be brought up; what a run shows is never an error.
pub fn run(plan: &Plan, scenario: &Scenario) -> Result<RunDocument, RunError> {
    run_with_progress(plan, scenario, &mut |_| {})
}

/// As [`run`], telling how it goes about every 100 ms of virtual time.
///
/// # Errors
/// As [`run`].
pub fn run_with_progress(
    plan: &Plan,
    scenario: &Scenario,
    progress: &mut dyn FnMut(RunProgress),
) -> Result<RunDocument, RunError> {
    let mut world = Clockwork::new(plan, scenario)?;
    world.set_up()?;
    world.start_traffic();
    Ok(world.finish(progress))
}

/// Runs the recorded releases of a live run again in virtual time, where every bound holds
/// strictly (docs/theory/observation.md): what the machine added is gone, what was sent is the same.
/// The scenario's faults happen as before; how flows behave is what was recorded.
///
/// # Errors
/// As [`run`].
pub fn replay<'a>(
    plan: &'a Plan,
    scenario: &'a Scenario,
    releases: &'a [Release],
) -> Result<RunDocument, RunError> {
    let mut world = Clockwork::new(plan, scenario)?;
    world.recorded = Some(releases);
    world.set_up()?;
    world.start_traffic();
    Ok(world.finish(&mut |_| {}))
}

impl<'a> Clockwork<'a> {
    fn finish(mut self, progress: &mut dyn FnMut(RunProgress)) -> RunDocument {
        self.run_to_end(progress)
    }

    /// Plays the scenario to its end, and closes the ledger.
    fn run_to_end(&mut self, progress: &mut dyn FnMut(RunProgress)) -> RunDocument {
        let end = self.start + Span::from_ns(self.scenario.duration_ns);
        let mut next_word = self.start + Span::from_ms(100);
        while let Some(at) = self.queue.next_at() {
            if at > end {
                break;
            }
            if at >= next_word {
                progress(RunProgress {
                    at_ns: at.since(self.start).as_ns(),
                    of_ns: self.scenario.duration_ns,
                    packet_hops: self.packet_hops,
                });
                next_word = at + Span::from_ms(100);
            }
            self.step();
        }
        self.now = self.now.max(end);
        self.observe_ports();
        let ledger = self.ledger.take().expect("traffic has started");
        let mut document = ledger.close(end.as_ns());
        document.packet_hops = self.packet_hops;
        document
    }

    /// One event.
    fn step(&mut self) {
        let Some((at, event)) = self.queue.pop() else { return };
        debug_assert!(at >= self.now, "time does not go back");
        self.now = at;
        match event {
            Event::Enter { node, port, frame, arrival } => self.enter(node, port, frame, arrival),
            Event::Received { node, port, frame, arrival } => {
                self.received(node, port, frame, arrival);
            }
            Event::AtProcessor { node, incarnation, received } => {
                self.at_processor(node, incarnation, received);
            }
            Event::Processed { node, incarnation } => self.processed(node, incarnation),
            Event::Due { node } => self.due(node),
            Event::ToSwitch { node, incarnation, bytes } => {
                self.hand_to_switch(node, incarnation, bytes);
            }
            Event::Probe { node } => self.probe(node),
            Event::OwnWork { node } => self.own_work(node),
            Event::ToController { conn, bytes } => {
                let now = self.now;
                if let Some(controller) = &mut self.controller {
                    controller.received(now, ConnId(conn), &bytes);
                }
                self.told(conn, &bytes);
                self.after_controller();
            }
            Event::ControllerDue => {
                let now = self.now;
                if let Some(controller) = &mut self.controller {
                    controller.fire_due(now);
                }
                self.after_controller();
            }
            Event::Scenario(index) => self.happen(index),
            Event::Babble(index) => self.babble(index),
            Event::ScheduledFrame(index) => self.scheduled_frame(index),
            Event::Release { node, flow, bytes } => self.release(node, flow, bytes),
        }
    }

    fn enter(&mut self, node: usize, port: u32, frame: FrameId, arrival: Instant) {
        if !self.nodes[node].alive {
            self.pool.release(frame);
            return;
        }
        let now = self.now;
        match &mut self.nodes[node].core {
            Core::Switch(switch) => {
                if let Some(watch) = &mut self.watch {
                    watch.enter(node, self.pool.bytes(frame), arrival, now);
                }
                if let Some(choices) = &mut self.choices {
                    choices.record_queued(node, frame, now);
                }
                switch.receive(now, arrival, port, frame, &mut self.pool, &mut self.switch_fx);
                self.after_switch(node);
            }
            Core::Host(host) => {
                host.receive(now, arrival, port, frame, &mut self.pool, &mut self.host_fx);
                self.after_host(node);
            }
        }
    }

    fn due(&mut self, node: usize) {
        let is_stale = self.nodes[node].due != Some(self.now) || !self.nodes[node].alive;
        if is_stale || self.script.is_some() {
            return;
        }
        self.nodes[node].due = None;
        let now = self.now;
        match &mut self.nodes[node].core {
            Core::Switch(switch) => {
                while let Some((timer, _)) = switch.next_deadline().filter(|(_, at)| *at <= now) {
                    switch.fire(timer, now, &mut self.pool, &mut self.switch_fx);
                }
                self.after_switch(node);
                self.note_left(node);
            }
            Core::Host(host) => {
                while let Some((timer, _)) = host.next_deadline().filter(|(_, at)| *at <= now) {
                    host.fire(timer, now, &mut self.pool, &mut self.host_fx);
                }
                self.after_host(node);
            }
        }
    }

    /// Queues the node's next timer, if it is not queued already.
    fn arm(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        let next = match &state.core {
            Core::Switch(switch) => switch.next_deadline().map(|(_, at)| at),
            Core::Host(host) => host.next_deadline().map(|(_, at)| at),
        };
        let Some(at) = next.filter(|_| self.script.is_none()) else { return };
        let at = at.max(self.now);
        if state.due.is_none_or(|due| at < due) {
            state.due = Some(at);
            self.queue.push(at, Event::Due { node });
        }
    }

    fn after_switch(&mut self, node: usize) {
        let mut fx = std::mem::take(&mut self.switch_fx);
        for sent in fx.transmits.drain(..) {
            self.transmit(node, sent.port, sent.frame, sent.departure);
        }
        for event in fx.events.drain(..) {
            self.observe_switch(node, event);
        }
        for dropped in fx.drops.drain(..) {
            self.observe_drop(node, &dropped);
        }
        if !fx.control.is_empty() {
            let conn = self.conn_of(node);
            let bytes = std::mem::take(&mut fx.control);
            self.queue.push(self.now + CONTROL_LATENCY, Event::ToController { conn, bytes });
        }
        self.switch_fx = fx;
        self.watch_depths(node);
        self.arm(node);
    }

    fn after_host(&mut self, node: usize) {
        let mut fx = std::mem::take(&mut self.host_fx);
        for sent in fx.transmits.drain(..) {
            self.transmit(node, sent.port, sent.frame, sent.departure);
        }
        for event in fx.events.drain(..) {
            self.observe_host(node, event);
        }
        for dropped in fx.drops.drain(..) {
            self.observe_drop(node, &dropped);
        }
        self.host_fx = fx;
        self.watch_depths(node);
        self.arm(node);
    }

    /// Tells who looks on how full the queues of a node are.
    fn watch_depths(&mut self, node: usize) {
        let Some(watch) = self.watch.as_mut().filter(|it| it.wants_depths()) else { return };
        let now = self.now;
        match &self.nodes[node].core {
            Core::Switch(switch) => {
                for (port, _, egress) in switch.ports() {
                    watch.depth(Place { node, port }, egress.backlog_bits(), now);
                }
            }
            Core::Host(host) => {
                for port in &host.config().ports {
                    if let Some(egress) = host.egress(port.port) {
                        watch.depth(Place { node, port: port.port }, egress.backlog_bits(), now);
                    }
                }
            }
        }
    }

    /// A frame's last bit has left; it enters the far core after propagation and that node's
    /// latency, in order.
    fn transmit(&mut self, node: usize, port: u32, frame: FrameId, departure: Instant) {
        self.packet_hops += 1;
        if let Some(watch) = &mut self.watch {
            let is_host = matches!(self.nodes[node].core, Core::Host(_));
            watch.leave(Place { node, port }, is_host, self.pool.bytes(frame), departure);
        }
        if let Some(choices) = &mut self.choices {
            let (name, bytes) = (&self.nodes[node].name, self.pool.bytes(frame));
            choices.record_transmission(
                (node, name, port),
                (frame, bytes),
                departure,
                self.start.as_ns(),
            );
        }
        let is_signal = self.pool.bytes(frame).get(12..14) == Some(&[0x0f, 0x00]);
        let far = self.nodes[node].links.get_mut(&port).and_then(|far| {
            if is_signal && far.signals_to_lose > 0 {
                far.signals_to_lose -= 1;
                return None;
            }
            far.carries.then_some(*far)
        });
        let Some(far) = far.filter(|far| self.nodes[far.node].alive) else {
            self.pool.release(frame);
            return;
        };
        if let Some(script) = &mut self.script {
            match self.nodes[far.node].core {
                Core::Switch(_) => script.hold(node, port, frame),
                Core::Host(_) => self.pool.release(frame),
            }
            return;
        }
        let arrival = departure + far.propagation;
        let target = &mut self.nodes[far.node];
        if target.processor.is_some() {
            let event = Event::Received { node: far.node, port: far.port, frame, arrival };
            self.queue.push(arrival, event);
            return;
        }
        let (least, most) = target.latency_ns;
        let choices = self.choices.as_deref();
        let chosen = choices.map(|it| it.of(self.pool.bytes(frame), far.node, is_signal));
        let latency = match chosen {
            Some(chosen) => chosen.latency_ns.unwrap_or(least),
            None => least + self.draw.below(most - least + 1),
        };
        let rank = chosen.map_or(LINE_FREE_RANK, |it| it.rank);
        let last = self.nodes[far.node].processed.entry(far.port).or_default();
        let at = (arrival + Span::from_ns(latency)).max(*last);
        *last = at;
        self.queue.push_ranked(
            at,
            rank,
            Event::Enter { node: far.node, port: far.port, frame, arrival },
        );
    }

    fn observe(&mut self, observation: &Observation) {
        if let Some(ledger) = &mut self.ledger {
            ledger.observe(observation);
        }
    }

    fn observe_switch(&mut self, node: usize, event: SwitchEvent) {
        self.note_excess(event);
        if let (Some(watch), SwitchEvent::Swapped { at, to, .. }) = (&mut self.watch, event) {
            watch.swapped(node, to, at);
        }
        if let Some(observation) = Observation::of_switch(&self.nodes[node].name, event, 0) {
            self.observe(&observation);
        }
    }

    fn observe_host(&mut self, node: usize, event: HostEvent) {
        if let Some(observation) = Observation::of_host(self.host_index(node), event) {
            self.observe(&observation);
        }
    }

    fn observe_drop(&mut self, node: usize, dropped: &Dropped) {
        // A host drops what it has already, and what the flooded network shows it.
        if dropped.reason == DropReason::Duplicate {
            return;
        }
        if let Some(watch) = &mut self.watch {
            let (flow, why) = (dropped.message.map(|it| it.0), Observation::reason(dropped.reason));
            watch.dropped(Place { node, port: dropped.port }, why, flow, self.now);
        }
        let observation = Observation::Dropped {
            node: self.nodes[node].name.clone(),
            port: dropped.port,
            reason: Observation::reason(dropped.reason).into(),
            cookie: dropped.cookie,
            message: dropped.message,
            frames: 1,
            at_ns: self.now.as_ns(),
        };
        self.observe(&observation);
    }

    fn observe_ports(&mut self) {
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            let name = node.name.clone();
            let mut seen: Vec<(u32, u64, u64)> = Vec::new();
            match &node.core {
                Core::Switch(switch) => {
                    for (port, _, egress) in switch.ports() {
                        let stats = egress.stats();
                        seen.push((port, stats.backlog_bits_max, stats.frames));
                    }
                }
                Core::Host(host) => {
                    for port in &host.config().ports {
                        if let Some(stats) = host.egress(port.port).map(|e| e.stats()) {
                            seen.push((port.port, stats.backlog_bits_max, stats.frames));
                        }
                    }
                }
            }
            for (port, backlog_bits_max, frames) in seen {
                let node = name.clone();
                self.observe(&Observation::Port { node, port, backlog_bits_max, frames });
            }
        }
    }

    fn host_index(&self, node: usize) -> u16 {
        match &self.nodes[node].core {
            Core::Host(host) => host.config().host,
            Core::Switch(_) => u16::MAX,
        }
    }
}
