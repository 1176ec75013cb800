//! A switch as the planner deploys it: watch, police, forward, one entry per virtual link in each.

use std::sync::Arc;
use tenuto_dataplane::switch::{
    Burst, ClassifierKind, GeneralConfig, PortConfig, PortRole, Switch, SwitchConfig, SwitchEvent,
};
use tenuto_dataplane::{Effects, EgressConfig, FrameId, FramePool, Frames};
use tenuto_openflow::constants::meter_flag;
use tenuto_openflow::{
    Action, Body, Experimenter, FlowMod, FlowModCommand, Instruction, Match, Message, MeterBand,
    MeterMod, MeterModCommand, ModesMessage, MonitorCommand, MonitorContract, MonitorKind,
    MonitorMod, Oxm,
};
use tenuto_units::{Instant, Rate, Span};
use tenuto_wire::{EtherType, MacAddress, ShimRepr, UdpFrame};

/// Frames enter here, in turn.
const ENTRIES: [u32; 2] = [1, 2];
/// Frames leave here, by virtual link.
const EXITS: [u32; 2] = [3, 4];
/// Frames that are taken in before any is handed over, as a live port gives them.
const BURST: u32 = 32;
/// So much virtual time passes between bursts: enough for 32 of the largest frames.
const BURST_TIME: Span = Span::from_us(10);
const QUEUES: u32 = 4;
const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
/// 100 Gbit/s and 10 Mbit.
const METER_WIDE: (u32, u32) = (100_000_000, 10_000);
const RATE_BPS: u64 = 100_000_000_000;
/// Steps through the virtual links without any order that a cache could foresee.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A switch with virtual links that are matched by destination, watched, policed and queued.
pub struct PlannedSwitch {
    switch: Switch,
    frames: FramePool,
    burst: Burst,
    effects: Effects<SwitchEvent>,
    now: Instant,
    links: u32,
    frame: Vec<u8>,
    message_at: usize,
    message: u32,
    draw: u64,
}

impl PlannedSwitch {
    /// With `links` virtual links, for frames of `bytes`, FCS included (64 to 1522); what passes
    /// their meters is more than is ever sent.
    pub fn new(links: u32, bytes: usize) -> Self {
        Self::with(links, bytes, METER_WIDE)
    }

    /// With one virtual link whose meter has this rate and burst.
    pub fn metered(rate_kbps: u32, burst_kbit: u32, bytes: usize) -> Self {
        Self::with(1, bytes, (rate_kbps, burst_kbit))
    }

    /// A general switch in its place: so many entries in one table, each for the Ethernet header of
    /// one link, that set the queue and send.
    pub fn general(entries: u32, bytes: usize) -> Self {
        let config = SwitchConfig { general: Some(GeneralConfig::default()), ..config(entries) };
        let mut it = Self::empty(config, entries, bytes);
        it.install((0..entries).map(header_entry));
        it
    }

    fn with(links: u32, bytes: usize, meter: (u32, u32)) -> Self {
        let mut it = Self::empty(config(links), links, bytes);
        it.install((0..links).flat_map(|n| link(n, meter)));
        it
    }

    fn empty(config: SwitchConfig, links: u32, bytes: usize) -> Self {
        let (frame, message_at) = frame(bytes.clamp(64, 1522) - 4);
        let mut it = Self {
            switch: Switch::new(Arc::new(config)),
            frames: FramePool::new(4_096),
            burst: Burst::new(),
            effects: Effects::new(),
            now: Instant::from_ns(1_000_000_000),
            links,
            frame,
            message_at,
            message: 0,
            draw: 0,
        };
        it.switch.keep_delays();
        it.switch.connected(&mut it.effects);
        it.effects.clear();
        it
    }

    fn install(&mut self, bodies: impl Iterator<Item = Body>) {
        let mut channel = Vec::new();
        bodies.for_each(|body| Message::new(1, body).emit(&mut channel));
        self.control(&channel);
    }

    /// Control bytes, none of which may be refused; gives how many bytes were answered.
    ///
    /// # Panics
    ///
    /// If anything is refused: what is measured would not be what was meant.
    pub fn control(&mut self, bytes: &[u8]) -> usize {
        let Self { switch, frames, effects, now, .. } = self;
        assert!(switch.control(*now, bytes, frames, effects), "the channel is well-formed");
        let answered = effects.control.len();
        // An error is type 1 of its second byte.
        let is_refused = effects.control.get(1) == Some(&1);
        assert!(!is_refused, "refused: {:?}", Message::parse(&effects.control));
        effects.clear();
        answered
    }

    /// The next frame, of some virtual link, a message of its own.
    fn next_frame(&mut self) -> u32 {
        self.draw = self.draw.wrapping_add(STEP);
        let link = u32::try_from(self.draw.wrapping_mul(STEP) >> 32).unwrap_or(0);
        let link = u32::try_from((u64::from(link) * u64::from(self.links)) >> 32).unwrap_or(0);
        self.message = self.message.wrapping_add(1);
        self.frame[..6].copy_from_slice(&address(link));
        let id = self.message_at..self.message_at + 4;
        self.frame[id].copy_from_slice(&self.message.to_be_bytes());
        link
    }

    /// Takes frames in and hands them over, a burst at a time; gives how many left.
    pub fn pass(&mut self, count: u32) -> u64 {
        let mut left = 0;
        for burst in 0..count.div_ceil(BURST) {
            let port = ENTRIES[burst as usize % ENTRIES.len()];
            for _ in 0..BURST {
                self.next_frame();
                let Some(frame) = self.frames.insert(&self.frame) else { continue };
                self.burst.push(port, self.now, frame);
            }
            let Self { switch, frames, effects, burst, now, .. } = self;
            while switch.receive_next(*now, burst, frames, effects).is_some() {}
            self.now += BURST_TIME;
            left += self.hand_over();
        }
        left
    }

    /// Takes one frame in at this instant, not before an earlier one, and says whether it is sent.
    pub fn offer(&mut self, at: Instant) -> bool {
        self.now = self.now.max(at);
        self.next_frame();
        let Some(frame) = self.frames.insert(&self.frame) else { return false };
        let Self { switch, frames, effects, .. } = self;
        switch.receive(at, at, ENTRIES[0], frame, frames, effects);
        let is_sent = effects.drops.is_empty();
        self.now += BURST_TIME;
        self.hand_over();
        is_sent
    }

    fn hand_over(&mut self) -> u64 {
        let Self { switch, frames, effects, now, .. } = self;
        switch.fire_due(*now, frames, effects);
        let left = effects.transmits.len() as u64;
        effects.transmits.iter().for_each(|transmit| frames.release(transmit.frame));
        effects.clear();
        left
    }

    /// Takes the same frames into the store and out again, past the switch; gives how many.
    pub fn pass_by(&mut self, count: u32) -> u64 {
        let mut held = [FrameId(0); BURST as usize];
        for _ in 0..count.div_ceil(BURST) {
            for place in &mut held {
                self.next_frame();
                *place = self.frames.insert(&self.frame).unwrap_or(FrameId(0));
            }
            held.iter().for_each(|&frame| self.frames.release(frame));
        }
        u64::from(count.div_ceil(BURST) * BURST)
    }

    /// The switch.
    pub const fn switch(&self) -> &Switch {
        &self.switch
    }
}

fn config(links: u32) -> SwitchConfig {
    let rate = Rate::from_bps(RATE_BPS).expect("not zero");
    let queues = u8::try_from(QUEUES).unwrap_or(u8::MAX);
    let egress = EgressConfig { rate, queues, buffer_bits: 1 << 30, unpromised_from: None };
    let port = |port| PortConfig { port, role: PortRole::Host, egress };
    let links = links as usize;
    SwitchConfig {
        datapath_id: 1,
        ports: ENTRIES.into_iter().chain(EXITS).map(port).collect(),
        tables: 3,
        entries_max: 3 * links + 200_000,
        meters_max: links + 2,
        groups_max: 4,
        meter_extra_bytes: 24,
        classifier: ClassifierKind::ByMask,
        boot_seed: 1,
        mode_retry: Span::from_ms(10),
        general: None,
    }
}

fn address(link: u32) -> [u8; 6] {
    let [a, b, c, d] = link.to_be_bytes();
    [0x03, 0, a, b, c, d]
}

/// How the frames of a link go on: its queue and its port.
fn send(link: u32) -> Instruction {
    let port = EXITS[link as usize % EXITS.len()];
    let actions = vec![Action::SetQueue(link % QUEUES), Action::Output { port, max_len: 0 }];
    Instruction::ApplyActions(actions)
}

/// The entry of a link in a general switch.
fn header_entry(link: u32) -> Body {
    let oxms = vec![
        Oxm::EthDst { value: address(link), mask: None },
        Oxm::EthSrc { value: SOURCE.0, mask: None },
        Oxm::EthType(EtherType::IPV4.0),
    ];
    Body::FlowMod(FlowMod {
        cookie: u64::from(link) + 1,
        match_: Match::from(oxms),
        instructions: vec![send(link)],
        ..FlowMod::new(FlowModCommand::Add, 0)
    })
}

/// Everything that one virtual link is given.
fn link(link: u32, (rate, burst_size): (u32, u32)) -> Vec<Body> {
    let id = link + 1;
    let to = Oxm::EthDst { value: address(link), mask: None };
    let entry = |table: u8, instructions| {
        Body::FlowMod(FlowMod {
            cookie: u64::from(id),
            match_: Match::from(vec![to.clone()]),
            instructions,
            ..FlowMod::new(FlowModCommand::Add, table)
        })
    };
    let contract =
        |level: u8, period_ns| MonitorContract { level, bytes_max: 2_000, period_ns, jitter_ns: 0 };
    vec![
        Body::MeterMod(MeterMod {
            command: MeterModCommand::Add,
            flags: meter_flag::KBPS | meter_flag::BURST,
            meter_id: id,
            bands: vec![MeterBand::Drop { rate, burst_size }],
        }),
        Body::Experimenter(Experimenter::Modes(ModesMessage::MonitorMod(MonitorMod {
            command: MonitorCommand::Add,
            monitor_id: id,
            kind: MonitorKind::Message,
            // A burst may hold several messages of one link: none is early.
            contracts: vec![contract(0, 0), contract(1, 0)],
        }))),
        entry(
            0,
            vec![Instruction::ApplyActions(vec![Action::Monitor(id)]), Instruction::GotoTable(1)],
        ),
        entry(1, vec![Instruction::Meter(id), Instruction::GotoTable(2)]),
        entry(2, vec![send(link)]),
    ]
}

/// A frame of our end systems, `len` bytes long in memory, and where its message id stands.
fn frame(len: usize) -> (Vec<u8>, usize) {
    let udp = UdpFrame {
        eth_dst: MacAddress([3, 0, 0, 0, 0, 0]),
        eth_src: SOURCE,
        ip_src: [10, 0, 0, 1],
        ip_dst: [10, 1, 0, 1],
        udp_src: 20_000,
        udp_dst: 20_000,
        dscp: 0,
        payload_len: len.saturating_sub(42),
    };
    let mut buffer = vec![0; 1_600];
    let written = udp.emit(&mut buffer).expect("the buffer has room");
    let start = written.payload.start;
    let shim = ShimRepr { message_id: 0, message_bytes: 0, sequence: 0 };
    shim.emit(&mut buffer[written.payload]);
    buffer.truncate(written.len);
    (buffer, start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_of_a_general_switch_is_sent() {
        let mut it = PlannedSwitch::general(100, 64);
        assert_eq!((it.pass(3_200), it.frames.in_use()), (3_200, 0));
        let table = it.switch.tables().get(0, 0).expect("there is one");
        assert_eq!(table.lookups(), (3_200, 3_200));
        assert!(table.counters().all(|counter| counter.frames > 0), "every entry had its turn");
        assert_eq!(table.counters().map(|counter| counter.bytes).sum::<u64>(), 3_200 * 64);
    }

    #[test]
    fn every_frame_is_watched_policed_and_sent() {
        for bytes in [64, 1500] {
            let mut it = PlannedSwitch::new(100, bytes);
            assert_eq!(it.pass(3_200), 3_200);
            let seen: u64 = it.switch.meters().map(|(_, meter)| meter.seen.frames).sum();
            let messages: u64 = it.switch.monitors().map(|(_, monitor)| monitor.messages()).sum();
            let violations: u64 = it.switch.monitors().map(|(_, m)| m.violations).sum();
            assert_eq!((seen, messages, violations), (3_200, 3_200, 0));
            let met = it.switch.meters().filter(|(_, meter)| meter.seen.frames > 0).count();
            assert_eq!(met, 100, "every link had its turn");
            let queued: u64 = it.switch.ports().map(|(.., egress)| egress.stats().frames).sum();
            assert_eq!((queued, it.frames.in_use()), (3_200, 0));
        }
    }
}
