//! One device in virtual time: the switch core, and servers that everything waits for.

use super::agenda::Agenda;
use super::{DeviceModel, FirmwareTable};
use std::collections::VecDeque;
use std::sync::Arc;
use tenuto_dataplane::switch::{
    ClassifierKind, GeneralConfig, HashKey, PortConfig, PortRole, Switch, SwitchConfig, SwitchEvent,
};
use tenuto_dataplane::{Effects, FrameId, FramePool, Frames};
use tenuto_model::{MeterCounts, Processor};
use tenuto_openflow::{Body, Message};
use tenuto_units::{Draws, FRAME_BYTES_MIN, Instant, Span};

/// Ethernet, IPv4 and TCP around a message ([Loko] section 6.1: 66 B for an echo request of 8 B).
const MESSAGE_OVERHEAD_BYTES: u64 = 58;
/// Preamble and start of frame delimiter.
const PREAMBLE_BYTES: u64 = 8;
/// Gap between frames.
const GAP_BYTES: u64 = 12;
const HEADER_BYTES: usize = 8;
const FRAMES_MAX: usize = 1 << 16;
const PS_PER_NS: u64 = 1_000;

/// What left the device. Stamps are those of the start of frame delimiter, as a measurement card takes them
/// (\[Loko\] section 3.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Bytes to the controller.
    Control {
        /// When.
        at: Instant,
        /// What.
        bytes: Vec<u8>,
    },
    /// A frame.
    Frame {
        /// When.
        at: Instant,
        /// By which port.
        port: u32,
        /// What, without FCS.
        bytes: Vec<u8>,
    },
}

#[derive(Clone, Debug)]
enum Job {
    Frame {
        port: u32,
        frame: FrameId,
        arrival: Instant,
        bytes: u32,
    },
    Control(Vec<u8>),
    Own,
    /// The rest of the loop behind a frame.
    Rest,
}

#[derive(Clone, Debug)]
enum Step {
    /// The last bit of a frame is in.
    Arrived { port: u32, frame: FrameId },
    /// Something stands in front of a server.
    AtServer { server: usize, job: Job },
    /// A server is done.
    Done { server: usize },
    /// A frame enters the switch core.
    Enter { port: u32, frame: FrameId, arrival: Instant },
    /// The firmware's own turn.
    Own,
}

#[derive(Clone, Debug, Default)]
struct Server {
    waiting: VecDeque<Job>,
    serving: Option<Job>,
}

/// The processor of frames; of control messages too, if the ports share one.
const DATA: usize = 0;
/// Control messages, where they have a processor of their own.
const MANAGEMENT: usize = 1;
/// Frames that the hardware has no entry for.
const SOFTWARE: usize = 2;

/// A device in virtual time: frames and control bytes in, stamped frames and control bytes out.
#[derive(Debug)]
pub struct VirtualDevice {
    model: DeviceModel,
    switch: Switch,
    pool: FramePool,
    fx: Effects<SwitchEvent>,
    table: FirmwareTable,
    draw: Draws,
    now: Instant,
    agenda: Agenda<Step>,
    servers: [Server; 3],
    line_in: Instant,
    line_out: Instant,
    /// When the line of the management port is free again.
    management_free: Instant,
    /// By port of entry: when the last frame entered the core, so that order is kept.
    entered: Vec<Instant>,
    /// When the software table has worked off what it was offered, at the rate at which it loses nothing.
    software_free: Instant,
    seen: Vec<Seen>,
}

impl VirtualDevice {
    /// A device without entries, connected to nobody; `seed` decides every draw.
    pub fn new(model: DeviceModel, seed: u64) -> Self {
        let mut agenda = Agenda::new();
        if let Some(own) = model.own_work {
            agenda.push(Instant::from_ns(own.period_ps / PS_PER_NS), Step::Own);
        }
        let ports = model.ports as usize + 1;
        Self {
            switch: Switch::new(config_of(&model)),
            model,
            pool: FramePool::new(FRAMES_MAX),
            fx: Effects::new(),
            table: FirmwareTable::default(),
            draw: Draws::new(seed),
            now: Instant::ZERO,
            agenda,
            servers: Default::default(),
            line_in: Instant::ZERO,
            line_out: Instant::ZERO,
            management_free: Instant::ZERO,
            entered: vec![Instant::ZERO; ports],
            software_free: Instant::ZERO,
            seen: Vec::new(),
        }
    }

    /// What it is made of.
    pub const fn model(&self) -> &DeviceModel {
        &self.model
    }

    /// How far its time has come.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// A controller connects, or connects again.
    pub fn connect(&mut self) {
        self.switch.connected(&mut self.fx);
        self.collect();
    }

    /// The controller is gone.
    pub fn disconnect(&mut self) {
        self.switch.disconnected();
        self.collect();
    }

    /// Messages of the controller, each in a frame of its own; the first one's delimiter passes at `at` or when the
    /// line is free. Gives the stamp of each.
    pub fn control(&mut self, at: Instant, bytes: &[u8]) -> Vec<Instant> {
        let mut stamps = Vec::new();
        let mut rest = bytes;
        while rest.len() >= HEADER_BYTES {
            let len = usize::from(u16::from_be_bytes([rest[2], rest[3]])).max(HEADER_BYTES);
            let (message, behind) = rest.split_at(len.min(rest.len()));
            let stamp = at.max(self.management_free).max(self.now);
            let frame = message_frame_bytes(message.len());
            let arrived = stamp + self.line_time(frame);
            self.management_free = arrived + self.line_time(GAP_BYTES + PREAMBLE_BYTES);
            let server = self.control_server();
            let job = Job::Control(message.to_vec());
            self.agenda.push(arrived, Step::AtServer { server, job });
            stamps.push(stamp);
            rest = behind;
        }
        stamps
    }

    /// A frame without FCS whose delimiter passes at `at`.
    pub fn frame(&mut self, at: Instant, port: u32, bytes: &[u8]) {
        let Some(frame) = self.pool.insert(bytes) else { return };
        let arrived = at.max(self.now) + self.line_time(u64::from(frame_bytes(bytes.len())));
        self.agenda.push(arrived, Step::Arrived { port, frame });
    }

    /// A frame whose last bit is in now.
    pub fn arrive(&mut self, port: u32, bytes: &[u8]) {
        if let Some(frame) = self.pool.insert(bytes) {
            self.agenda.push(self.now, Step::Arrived { port, frame });
        }
    }

    /// When something happens next by itself.
    pub fn next_at(&self) -> Option<Instant> {
        let timer = self.switch.next_deadline().map(|(_, at)| at);
        self.agenda.next_at().into_iter().chain(timer).min()
    }

    /// Lets time pass until `end`, and gives what left until then, in order.
    pub fn run_until(&mut self, end: Instant) -> Vec<Seen> {
        loop {
            let step = self.agenda.next_at().filter(|at| *at <= end);
            let timer = self.switch.next_deadline().filter(|(_, at)| *at <= end);
            match (step, timer) {
                (Some(step), Some((_, at))) if at < step => self.fire(at),
                (Some(_), _) => self.step(),
                (None, Some((_, at))) => self.fire(at),
                (None, None) => break,
            }
        }
        self.now = self.now.max(end);
        let (now, later): (Vec<Seen>, Vec<Seen>) =
            std::mem::take(&mut self.seen).into_iter().partition(|it| it.at() <= end);
        self.seen = later;
        let mut now = now;
        now.sort_by_key(Seen::at);
        now
    }

    fn fire(&mut self, at: Instant) {
        self.now = self.now.max(at);
        self.switch.fire_due(self.now, &mut self.pool, &mut self.fx);
        self.collect();
    }

    fn step(&mut self) {
        let Some((at, step)) = self.agenda.pop() else { return };
        self.now = self.now.max(at);
        match step {
            Step::Arrived { port, frame } => self.arrived(port, frame),
            Step::AtServer { server, job } => self.at_server(server, job),
            Step::Done { server } => self.done(server),
            Step::Enter { port, frame, arrival } => {
                let now = self.now;
                self.switch.receive(now, arrival, port, frame, &mut self.pool, &mut self.fx);
                self.collect();
            }
            Step::Own => {
                if let Some(own) = self.model.own_work {
                    self.agenda.push(self.now + span_up(own.period_ps), Step::Own);
                }
                self.at_server(self.control_server(), Job::Own);
            }
        }
    }

    fn arrived(&mut self, port: u32, frame: FrameId) {
        let (now, bytes) = (self.now, frame_bytes(self.pool.bytes(frame).len()));
        let job = Job::Frame { port, frame, arrival: now, bytes };
        if let Some(processor) = &self.model.profile.processor {
            let at = cross(processor, &mut self.line_in, now, bytes);
            self.agenda.push(at, Step::AtServer { server: DATA, job });
        } else if self.is_for_software(port, frame) {
            self.at_software(job);
        } else {
            self.enter(port, frame, now, now);
        }
    }

    fn is_for_software(&self, port: u32, frame: FrameId) -> bool {
        let Some(software) = self.model.software else { return false };
        let place = self.table.walk(self.pool.bytes(frame), port, &Processor::FREE).place;
        place.is_some_and(|place| place >= software.hardware_entries)
    }

    /// Losses set in between the rate without any and the most: the farther behind it is, the likelier.
    fn at_software(&mut self, job: Job) {
        let Some(software) = self.model.software else { return };
        let each = 1_000_000_000 / software.lossless_per_s.max(1);
        let behind = self.software_free.since(self.now).as_ns();
        let span = each * software.most_per_s / software.lossless_per_s.max(1);
        if self.draw.below(span.max(1)) < behind.saturating_sub(each) {
            self.lose(job);
            return;
        }
        self.software_free = self.software_free.max(self.now) + Span::from_ns(each);
        self.at_server(SOFTWARE, job);
    }

    fn lose(&mut self, job: Job) {
        if let Job::Frame { frame, .. } = job {
            self.pool.release(frame);
        }
    }

    fn at_server(&mut self, server: usize, job: Job) {
        if server == DATA && !self.has_room(&job) {
            return self.lose(job);
        }
        self.servers[server].waiting.push_back(job);
        self.serve(server);
    }

    /// Whether the receive buffer takes it too ([Loko] section 3.5). A lost control message is sent again by TCP; that is
    /// not modelled, so it always finds a place, and takes one from frames.
    fn has_room(&self, job: &Job) -> bool {
        let Some(buffer) = self.model.profile.receive_buffer else { return true };
        let Job::Frame { port, bytes, .. } = *job else { return true };
        let server = &self.servers[DATA];
        let in_service = server.serving.iter().filter(|_| !buffer.has_place_in_service);
        let units = |it: &Job| match it {
            Job::Frame { port: of, bytes, .. } if !buffer.is_per_port || *of == port => {
                buffer.unit.of_frame(*bytes)
            }
            Job::Control(message) if !buffer.is_per_port => {
                let bytes = message_frame_bytes(message.len());
                buffer.unit.of_frame(u32::try_from(bytes).unwrap_or(u32::MAX))
            }
            _ => 0,
        };
        let held: u64 = server.waiting.iter().chain(in_service).map(units).sum();
        let goes_to_its_place = server.serving.is_none() && buffer.has_place_in_service;
        goes_to_its_place || held + buffer.unit.of_frame(bytes) <= buffer.count
    }

    fn serve(&mut self, server: usize) {
        if self.servers[server].serving.is_some() {
            return;
        }
        let Some(job) = self.servers[server].waiting.pop_front() else { return };
        let takes = self.takes(server, &job);
        self.servers[server].serving = Some(job);
        self.agenda.push(self.now + takes, Step::Done { server });
    }

    /// A draw below the most that it takes.
    fn takes(&mut self, server: usize, job: &Job) -> Span {
        let most = match job {
            Job::Frame { .. } if server == SOFTWARE => {
                self.model.software.map_or(0, |software| software.frame_ps)
            }
            Job::Frame { port, frame, bytes, .. } => self.frame_ps(*port, *frame, *bytes),
            Job::Control(bytes) => match Message::parse(bytes) {
                Ok(message) => self.model.messages.of(&message, &self.table),
                Err(_) => self.model.messages.other_ps,
            },
            Job::Own => self.model.own_work.map_or(0, |own| own.time_ps),
            Job::Rest => return span_up(self.model.loop_ps),
        };
        let spread = self.model.profile.processor.as_ref().map_or(0, |it| it.spread_percent);
        let least = most - most / 100 * u64::from(spread.min(100));
        let drawn = least + self.draw.below(most - least + 1);
        // Whole nanoseconds, and never more than the most.
        Span::from_ns(drawn / PS_PER_NS)
    }

    fn frame_ps(&self, port: u32, frame: FrameId, bytes: u32) -> u64 {
        let Some(costs) = &self.model.profile.processor else { return 0 };
        let walk = self.table.walk(self.pool.bytes(frame), port, costs);
        let per_frame = costs.per_byte_ps.saturating_mul(u64::from(bytes));
        let copies = u64::from(walk.outputs.saturating_sub(1));
        let miss = if walk.place.is_none() { self.model.messages.packet_in_ps } else { 0 };
        let own = costs.base_ps.saturating_add(per_frame).saturating_add(walk.compared_ps);
        own.saturating_add(costs.actions_ps.of(walk.change))
            .saturating_add(copies.saturating_mul(costs.per_output_ps.saturating_add(per_frame)))
            .saturating_add(miss)
    }

    fn done(&mut self, server: usize) {
        let Some(job) = self.servers[server].serving.take() else { return };
        let now = self.now;
        match job {
            Job::Frame { port, frame, arrival, bytes } => {
                let out = match self.model.profile.processor.as_ref() {
                    Some(it) => cross(it, &mut self.line_out, now, bytes),
                    None => now + self.software_latency(),
                };
                self.enter(port, frame, arrival, out);
                if self.model.loop_ps > 0 && server == DATA {
                    self.servers[server].waiting.push_front(Job::Rest);
                }
            }
            Job::Control(bytes) => self.carry_out(&bytes),
            Job::Own | Job::Rest => {}
        }
        self.serve(server);
    }

    fn software_latency(&mut self) -> Span {
        let (least, most) = self.model.software.map_or((0, 0), |it| it.latency_ns);
        Span::from_ns(least + self.draw.below(most - least + 1))
    }

    /// A frame is on its way to the tables; frames of one port stay in their order.
    fn enter(&mut self, port: u32, frame: FrameId, arrival: Instant, ready: Instant) {
        let profile = &self.model.profile;
        let (least, most) = (profile.latency_ns_min, profile.latency_ns_max);
        let is_shared = profile.processor.is_some();
        let latency = match self.model.latency_normal_ns {
            None => least + self.draw.below(most - least + 1),
            Some((mean, deviation)) => {
                // Twelve uniform draws have a variance of one.
                let sum: u64 = (0..12).map(|_| self.draw.below(1_000_001)).sum();
                let drawn = mean.saturating_add(deviation * sum / 1_000_000);
                drawn.saturating_sub(deviation * 6).clamp(least, most)
            }
        };
        // Over a shared processor they come in order, whatever their ports.
        let order = if is_shared { 0 } else { port as usize };
        let ready = ready + Span::from_ns(latency);
        let at = self.entered.get(order).map_or(ready, |last| ready.max(*last));
        if let Some(last) = self.entered.get_mut(order) {
            *last = at;
        }
        self.agenda.push(at, Step::Enter { port, frame, arrival });
    }

    fn carry_out(&mut self, bytes: &[u8]) {
        if let Ok(Message { body: Body::FlowMod(it), .. }) = Message::parse(bytes) {
            self.table.apply(&it, self.model.profile.entries_max as usize);
        }
        self.switch.control(self.now, bytes, &mut self.pool, &mut self.fx);
        self.collect();
    }

    fn collect(&mut self) {
        let mut fx = std::mem::take(&mut self.fx);
        for sent in fx.transmits.drain(..) {
            let bytes = self.pool.bytes(sent.frame).to_vec();
            self.pool.release(sent.frame);
            let behind = u64::from(frame_bytes(bytes.len())) + GAP_BYTES;
            let at = sent.departure.saturating_sub(self.line_time(behind));
            self.seen.push(Seen::Frame { at, port: sent.port, bytes });
        }
        fx.events.clear();
        fx.drops.clear();
        if !fx.control.is_empty() {
            let at = self.now + self.line_time(PREAMBLE_BYTES);
            self.seen.push(Seen::Control { at, bytes: std::mem::take(&mut fx.control) });
        }
        self.fx = fx;
    }

    const fn control_server(&self) -> usize {
        if self.model.profile.processor.is_some() { DATA } else { MANAGEMENT }
    }

    fn line_time(&self, bytes: u64) -> Span {
        Span::from_ns((bytes * 8 * 1_000_000_000).div_ceil(self.model.rate_bps.max(1)))
    }
}

impl Seen {
    /// Its stamp.
    pub const fn at(&self) -> Instant {
        match self {
            Self::Control { at, .. } | Self::Frame { at, .. } => *at,
        }
    }
}

/// The frame that a message of so many bytes travels in, FCS included.
pub(crate) fn message_frame_bytes(message: usize) -> u64 {
    (message as u64 + MESSAGE_OVERHEAD_BYTES).max(FRAME_BYTES_MIN.into())
}

/// A frame on the line, FCS included, from its bytes in memory.
fn frame_bytes(len: usize) -> u32 {
    u32::try_from(len + 4).unwrap_or(u32::MAX).max(FRAME_BYTES_MIN)
}

fn span_up(ps: u64) -> Span {
    Span::from_ns(ps.div_ceil(PS_PER_NS))
}

/// When a frame that is there at `at` has crossed the processor's line, which is then taken until its gap is over.
fn cross(processor: &Processor, free: &mut Instant, at: Instant, bytes: u32) -> Instant {
    let Some(link) = processor.link else { return at };
    let start = at.max(*free);
    *free = start + span_up(link.occupied_ps(bytes));
    start + span_up(link.passed_ps(bytes))
}

fn config_of(model: &DeviceModel) -> Arc<SwitchConfig> {
    let profile = &model.profile;
    let egress = crate::assemble::egress(
        model.rate_bps,
        profile.queues_per_port,
        profile.buffer_bytes_per_port,
    );
    let ports = (1..=model.ports).map(|port| PortConfig { port, role: PortRole::Host, egress });
    Arc::new(SwitchConfig {
        datapath_id: 1,
        ports: ports.collect(),
        tables: 1,
        entries_max: profile.entries_max as usize,
        meters_max: profile.meters_max as usize,
        groups_max: profile.groups_max as usize,
        meter_extra_bytes: match profile.meter_counts {
            MeterCounts::L2WithoutFcs => 0,
            MeterCounts::Frame => 4,
            MeterCounts::Wire => 24,
        },
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 1,
        mode_retry: Span::from_ms(50),
        general: Some(GeneralConfig {
            fail_mode: model.fail_mode,
            description: format!("virtual {}", profile.name),
            attendre: None,
            ..GeneralConfig::default()
        }),
    })
}
