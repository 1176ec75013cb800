//! A processor that the ports of a switch share, in virtual time.
//!
//! Frames cross the line to the processor, if there is one, wait in the receive buffer, are served
//! by the profile's discipline at the sample of its cost function, and cross the line back. Further
//! copies of a frame cost nothing here: less than what is planned for them, never more. Where switches behave
//! as the devices of their profiles ([`Devices`]), control messages and the firmware's own work wait among the frames.

use super::firmware::{Devices, Firmware, messages};
use super::{Clockwork, Core, Event, FrameId, Instant, Span};
use crate::device::message_frame_bytes;
use std::collections::{BTreeMap, VecDeque};
use tenuto_dataplane::{DropReason, Dropped, Frames};
use tenuto_model::{Processor, ProcessorLink, Profile, Receive, ReceiveBuffer};
use tenuto_openflow::{Body, Message};
use tenuto_units::FRAME_BYTES_MIN;
use tenuto_wire::Stamp;

/// A received frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    pub(super) port: u32,
    pub(super) frame: FrameId,
    pub(super) arrival: Instant,
    /// With FCS.
    bytes: u32,
}

/// What waits for a processor.
#[derive(Clone, Debug)]
enum Job {
    Frame(Received),
    Message(Vec<u8>),
    /// The firmware's own turn.
    Own,
}

impl Job {
    const fn frame(&self) -> Option<FrameId> {
        match self {
            Self::Frame(received) => Some(received.frame),
            Self::Message(_) | Self::Own => None,
        }
    }
}

/// The processor of one switch.
#[derive(Debug)]
pub(super) struct SharedProcessor {
    costs: Processor,
    buffer: Option<ReceiveBuffer>,
    /// Entries that are installed: what a frame is compared with.
    entries: u32,
    /// What waits, frames by port of entry; with one queue all under port 0, where control waits too.
    waiting: BTreeMap<u32, VecDeque<Job>>,
    serving: Option<Job>,
    /// What else it is there for, if switches behave as devices.
    firmware: Option<Box<Firmware>>,
    /// The port whose turn it is, and how many of its frames are done.
    turn: (u32, u32),
    /// When the line to the processor, and back, is free again.
    line_in: Instant,
    line_out: Instant,
}

impl SharedProcessor {
    pub(super) fn of(profile: &Profile, entries: u32) -> Option<Self> {
        Some(Self {
            costs: profile.processor.clone()?,
            buffer: profile.receive_buffer,
            entries: entries.clamp(1, profile.entries_max.max(1)),
            waiting: BTreeMap::new(),
            serving: None,
            firmware: None,
            turn: (0, 0),
            line_in: Instant::ZERO,
            line_out: Instant::ZERO,
        })
    }

    /// Everything that is in it, which a dead switch forgets.
    pub(super) fn empty(&mut self) -> Vec<FrameId> {
        let waiting = std::mem::take(&mut self.waiting).into_values().flatten();
        if let Some(firmware) = &mut self.firmware {
            firmware.forget();
        }
        waiting.chain(self.serving.take()).filter_map(|job| job.frame()).collect()
    }

    /// Whether one more frame fits the buffer.
    fn has_room(&self, port: u32, bytes: u32) -> bool {
        let Some(buffer) = self.buffer else { return true };
        let units = |job: &Job| match job {
            Job::Frame(it) if !buffer.is_per_port || it.port == port => {
                buffer.unit.of_frame(it.bytes)
            }
            Job::Message(message) if !buffer.is_per_port => {
                let bytes = message_frame_bytes(message.len());
                buffer.unit.of_frame(u32::try_from(bytes).unwrap_or(u32::MAX))
            }
            _ => 0,
        };
        let in_service = self.serving.iter().filter(|_| !buffer.has_place_in_service);
        let held: u64 = self.waiting.values().flatten().chain(in_service).map(units).sum();
        let goes_to_its_place = self.serving.is_none() && buffer.has_place_in_service;
        goes_to_its_place || held + buffer.unit.of_frame(bytes) <= buffer.count
    }

    fn queue(&mut self, job: Job) {
        let ring = match (&job, self.costs.receive) {
            (Job::Frame(received), Receive::RoundRobin(_)) => received.port,
            _ => 0,
        };
        self.waiting.entry(ring).or_default().push_back(job);
    }

    /// What is next: of the port whose turn it is, until it has none left or its burst is done.
    fn next(&mut self) -> Option<Job> {
        let burst = match self.costs.receive {
            Receive::Fifo => u32::MAX,
            Receive::RoundRobin(burst) => burst,
        };
        let has_frames = |ring: &u32| self.waiting.get(ring).is_some_and(|ring| !ring.is_empty());
        let (now, done) = self.turn;
        if done >= burst || !has_frames(&now) {
            let used = || self.waiting.keys().copied().filter(has_frames);
            let after = used().find(|&ring| ring > now).or_else(|| used().next())?;
            self.turn = (after, 0);
        }
        self.turn.1 = self.turn.1.saturating_add(1);
        self.waiting.get_mut(&self.turn.0)?.pop_front()
    }

    /// What it takes, for a draw.
    fn takes(&self, job: &Job, draw: u16) -> Span {
        let most = match job {
            Job::Frame(received) => return self.takes_frame(received.bytes, draw),
            Job::Message(bytes) => self.firmware.as_ref().map_or(0, |it| it.message_ps(bytes)),
            Job::Own => self.firmware.as_ref().and_then(|it| it.own).map_or(0, |it| it.time_ps),
        };
        let spread = most / 100 * u64::from(self.costs.spread_percent.min(100));
        let less = u128::from(spread) * u128::from(draw) / u128::from(u16::MAX);
        Span::from_ns((most - u64::try_from(less).unwrap_or(0)) / 1_000)
    }

    fn takes_frame(&self, bytes: u32, draw: u16) -> Span {
        let most = self.costs.planned_ps(bytes, self.entries, 1);
        let sample = self.costs.simulated_ps(bytes, self.entries, draw);
        Span::from_ns(sample.div_ceil(1_000).min(most / 1_000))
    }
}

/// When a frame that is there at `at` has crossed a line, which is then taken until its gap is over.
fn cross(link: Option<ProcessorLink>, free: &mut Instant, at: Instant, bytes: u32) -> Instant {
    let Some(link) = link else { return at };
    let start = at.max(*free);
    *free = start + Span::from_ns(link.occupied_ps(bytes).div_ceil(1_000));
    start + Span::from_ns(link.passed_ps(bytes).div_ceil(1_000))
}

impl Clockwork<'_> {
    /// A frame's last bit has come to a switch with a processor.
    pub(super) fn received(&mut self, node: usize, port: u32, frame: FrameId, arrival: Instant) {
        let bytes = u32::try_from(self.pool.bytes(frame).len() + 4).unwrap_or(u32::MAX);
        let received = Received { port, frame, arrival, bytes: bytes.max(FRAME_BYTES_MIN) };
        let state = &mut self.nodes[node];
        let Some(processor) = state.processor.as_mut().filter(|_| state.alive) else {
            self.pool.release(frame);
            return;
        };
        let link = processor.costs.link;
        let at = cross(link, &mut processor.line_in, self.now, received.bytes);
        let incarnation = state.incarnation;
        self.queue.push(at, Event::AtProcessor { node, incarnation, received });
    }

    /// It is at the processor: it waits, is served at once, or finds no room.
    pub(super) fn at_processor(&mut self, node: usize, incarnation: u64, received: Received) {
        let state = &mut self.nodes[node];
        let is_there = state.alive && state.incarnation == incarnation;
        let Some(processor) = state.processor.as_mut().filter(|_| is_there) else {
            self.pool.release(received.frame);
            return;
        };
        if processor.has_room(received.port, received.bytes) {
            processor.queue(Job::Frame(received));
            self.serve(node);
        } else {
            let dropped = Dropped {
                reason: DropReason::BufferFull,
                port: received.port,
                cookie: 0,
                message: stamp_of(self.pool.bytes(received.frame)),
                frame_bytes: received.bytes,
            };
            self.pool.release(received.frame);
            self.observe_drop(node, &dropped);
        }
    }

    /// Starts on what is next, if the processor is free.
    fn serve(&mut self, node: usize) {
        let draw = u16::try_from(self.draw.below(1 << 16)).unwrap_or(u16::MAX);
        let state = &mut self.nodes[node];
        let incarnation = state.incarnation;
        let Some(processor) = state.processor.as_mut().filter(|p| p.serving.is_none()) else {
            return;
        };
        let Some(next) = processor.next() else { return };
        let done = self.now + processor.takes(&next, draw);
        processor.serving = Some(next);
        self.queue.push(done, Event::Processed { node, incarnation });
    }

    /// What is in service is done.
    pub(super) fn processed(&mut self, node: usize, incarnation: u64) {
        let state = &mut self.nodes[node];
        if state.incarnation != incarnation || !state.alive {
            return;
        }
        let Some(processor) = &mut state.processor else { return };
        match processor.serving.take() {
            Some(Job::Frame(received)) => self.frame_processed(node, received),
            Some(Job::Message(bytes)) => {
                if let Some(firmware) = &mut processor.firmware {
                    firmware.carried_out(&bytes);
                }
                self.control_in(node, incarnation, &bytes);
                self.note_carried_out(node);
            }
            Some(Job::Own) => {}
            None => return,
        }
        self.serve(node);
    }

    /// A frame is on its way to the switch's tables and queues.
    fn frame_processed(&mut self, node: usize, received: Received) {
        let Received { port, frame, arrival, bytes } = received;
        let state = &mut self.nodes[node];
        let (least, most) = state.latency_ns;
        let Some(processor) = &mut state.processor else { return };
        let link = processor.costs.link;
        let out = cross(link, &mut processor.line_out, self.now, bytes);
        let latency = least + self.draw.below(most - least + 1);
        // Over one line they come in order, whatever their ports.
        let order = if link.is_some() { 0 } else { port };
        let last = self.nodes[node].processed.entry(order).or_default();
        let at = (out + Span::from_ns(latency)).max(*last);
        *last = at;
        self.queue.push(at, Event::Enter { node, port, frame, arrival });
    }

    /// Switches behave as the devices of their profiles from now on.
    pub(super) fn equip(&mut self, devices: Devices) {
        let network = &self.plan.network;
        for node in 0..self.nodes.len() {
            let state = &mut self.nodes[node];
            let profile = network.switch(&state.name).map(|it| network.profile_of(it));
            let (Some(processor), Some(profile)) = (&mut state.processor, profile) else {
                continue;
            };
            let firmware = Firmware::of(profile, devices);
            if let Some(own) = firmware.own {
                let first = Span::from_ns(self.draw.below(own.period_ps / 1_000));
                self.queue.push(self.now + first, Event::OwnWork { node });
            }
            processor.firmware = Some(Box::new(firmware));
        }
        self.devices = Some(devices);
    }

    /// The controller begins to ask every switch whether it is there.
    pub(super) fn start_probes(&mut self) {
        let Some(every) = self.probe_period() else { return };
        for node in 0..self.nodes.len() {
            if matches!(self.nodes[node].core, Core::Switch(_)) {
                let first = Span::from_ns(self.draw.below(every.as_ns()));
                self.queue.push(self.start + first, Event::Probe { node });
            }
        }
    }

    fn probe_period(&self) -> Option<Span> {
        let per_s = self.devices.map_or(0, |it| it.control_per_s);
        (per_s > 0).then(|| Span::from_ns((1_000_000_000 / per_s).max(1)))
    }

    /// The controller asks a switch whether it is there.
    pub(super) fn probe(&mut self, node: usize) {
        let Some(every) = self.probe_period() else { return };
        let bytes = Message::new(0, Body::EchoRequest(Vec::new())).to_bytes();
        let incarnation = self.nodes[node].incarnation;
        if self.controller.is_some() {
            self.hand_to_switch(node, incarnation, bytes);
        }
        self.queue.push(self.now + every, Event::Probe { node });
    }

    /// The firmware's own turn has come.
    pub(super) fn own_work(&mut self, node: usize) {
        let Some(processor) = &self.nodes[node].processor else { return };
        let Some(own) = processor.firmware.as_ref().and_then(|it| it.own) else { return };
        if self.nodes[node].alive {
            self.queue_job(node, Job::Own);
        }
        self.queue.push(self.now + Span::from_ns(own.period_ps / 1_000), Event::OwnWork { node });
    }

    /// Bytes of the controller are at a switch: at its processor, if that is what carries them out.
    pub(super) fn hand_to_switch(&mut self, node: usize, incarnation: u64, bytes: Vec<u8>) {
        let state = &self.nodes[node];
        let has_firmware = state.processor.as_ref().is_some_and(|it| it.firmware.is_some());
        if !has_firmware {
            self.control_in(node, incarnation, &bytes);
            self.note_carried_out(node);
            return;
        }
        if state.alive && state.incarnation == incarnation {
            messages(&bytes).into_iter().for_each(|it| self.queue_job(node, Job::Message(it)));
        }
    }

    fn queue_job(&mut self, node: usize, job: Job) {
        if let Some(processor) = &mut self.nodes[node].processor {
            processor.queue(job);
            self.serve(node);
        }
    }
}

/// Flow index and message id of a frame that carries its stamp.
fn stamp_of(frame: &[u8]) -> Option<(u16, u32)> {
    let payload = tenuto_wire::build::UDP_PAYLOAD_START;
    let at = |start: usize| frame.get(start..).and_then(Stamp::parse);
    let stamp = at(payload).or_else(|| at(payload + tenuto_wire::shim::SHIM_BYTES))?;
    Some((stamp.flow, stamp.message_id))
}
