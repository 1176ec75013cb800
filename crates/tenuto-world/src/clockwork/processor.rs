//! A processor that the ports of a switch share, in virtual time.
//!
//! Frames cross the line to the processor, if there is one, wait in the receive buffer, are served
//! by the profile's discipline at the sample of its cost function, and cross the line back. Further
//! copies of a frame cost nothing here: less than what is planned for them, never more.

use super::{Clockwork, Event, FrameId, Instant, Span};
use std::collections::{BTreeMap, VecDeque};
use tenuto_dataplane::{DropReason, Dropped, Frames};
use tenuto_model::{Processor, ProcessorLink, Profile, Receive, ReceiveBuffer};
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

/// The processor of one switch.
#[derive(Debug)]
pub(super) struct SharedProcessor {
    costs: Processor,
    buffer: Option<ReceiveBuffer>,
    /// Entries that are installed: what a frame is compared with.
    entries: u32,
    /// Frames that wait, by port of entry; with one queue all under port 0.
    waiting: BTreeMap<u32, VecDeque<Received>>,
    serving: Option<Received>,
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
            turn: (0, 0),
            line_in: Instant::ZERO,
            line_out: Instant::ZERO,
        })
    }

    /// Everything that is in it, which a dead switch forgets.
    pub(super) fn empty(&mut self) -> Vec<FrameId> {
        let waiting = std::mem::take(&mut self.waiting).into_values().flatten();
        waiting.chain(self.serving.take()).map(|received| received.frame).collect()
    }

    /// Whether one more frame fits the buffer.
    fn has_room(&self, port: u32, bytes: u32) -> bool {
        let Some(buffer) = self.buffer else { return true };
        let is_counted = |it: &&Received| !buffer.is_per_port || it.port == port;
        let in_service = self.serving.iter().filter(|_| !buffer.has_place_in_service);
        let there = self.waiting.values().flatten().chain(in_service).filter(is_counted);
        let held: u64 = there.map(|it| buffer.unit.of_frame(it.bytes)).sum();
        let goes_to_its_place = self.serving.is_none() && buffer.has_place_in_service;
        goes_to_its_place || held + buffer.unit.of_frame(bytes) <= buffer.count
    }

    fn queue(&mut self, received: Received) {
        let ring = match self.costs.receive {
            Receive::Fifo => 0,
            Receive::RoundRobin(_) => received.port,
        };
        self.waiting.entry(ring).or_default().push_back(received);
    }

    /// The next frame: of the port whose turn it is, until it has none left or its burst is done.
    fn next(&mut self) -> Option<Received> {
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

    /// What a frame takes of it, for a draw.
    fn takes(&self, bytes: u32, draw: u16) -> Span {
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
            processor.queue(received);
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

    /// Starts on the next frame, if the processor is free.
    fn serve(&mut self, node: usize) {
        let draw = u16::try_from(self.draw.below(1 << 16)).unwrap_or(u16::MAX);
        let state = &mut self.nodes[node];
        let incarnation = state.incarnation;
        let Some(processor) = state.processor.as_mut().filter(|p| p.serving.is_none()) else {
            return;
        };
        let Some(next) = processor.next() else { return };
        processor.serving = Some(next);
        let done = self.now + processor.takes(next.bytes, draw);
        self.queue.push(done, Event::Processed { node, incarnation });
    }

    /// The frame in service is done and on its way to the switch's tables and queues.
    pub(super) fn processed(&mut self, node: usize, incarnation: u64) {
        let state = &mut self.nodes[node];
        if state.incarnation != incarnation || !state.alive {
            return;
        }
        let (least, most) = state.latency_ns;
        let Some(processor) = &mut state.processor else { return };
        let Some(Received { port, frame, arrival, bytes }) = processor.serving.take() else {
            return;
        };
        let link = processor.costs.link;
        let out = cross(link, &mut processor.line_out, self.now, bytes);
        let latency = least + self.draw.below(most - least + 1);
        // Over one line they come in order, whatever their ports.
        let order = if link.is_some() { 0 } else { port };
        let last = self.nodes[node].processed.entry(order).or_default();
        let at = (out + Span::from_ns(latency)).max(*last);
        *last = at;
        self.queue.push(at, Event::Enter { node, port, frame, arrival });
        self.serve(node);
    }
}

/// Flow index and message id of a frame that carries its stamp.
fn stamp_of(frame: &[u8]) -> Option<(u16, u32)> {
    let payload = tenuto_wire::build::UDP_PAYLOAD_START;
    let at = |start: usize| frame.get(start..).and_then(Stamp::parse);
    let stamp = at(payload).or_else(|| at(payload + tenuto_wire::shim::SHIM_BYTES))?;
    Some((stamp.flow, stamp.message_id))
}
