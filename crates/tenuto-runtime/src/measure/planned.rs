//! A switch as the planner deploys it: watch, police, forward, one entry per virtual link in each.

use serde::Serialize;
use std::sync::Arc;
use tenuto_dataplane::switch::{
    Burst, ClassifierKind, GeneralConfig, HashKey, PortConfig, PortRole, Switch, SwitchConfig,
    SwitchEvent,
};
use tenuto_dataplane::{Effects, EgressConfig, FrameId, FramePool, Frames};
use tenuto_openflow::constants::meter_flag;
use tenuto_openflow::{
    Action, Body, Bucket, Experimenter, FlowMod, FlowModCommand, GroupMod, GroupModCommand,
    GroupType, Instruction, Match, Message, MeterBand, MeterMod, MeterModCommand, ModesMessage,
    MonitorCommand, MonitorContract, MonitorKind, MonitorMod, Oxm,
};
use tenuto_units::{Draws, Instant, Rate, Span};
use tenuto_wire::{EtherType, MacAddress, ShimRepr, UdpFrame};

/// Frames enter here, in turn.
const ENTRIES: [u32; 2] = [1, 2];
/// Frames leave from here on, by virtual link: by two ports, or as many as a frame has copies.
const FIRST_EXIT: u32 = 3;
/// Frames that are taken in before any is handed over, as a live port gives them.
const BURST: u32 = 32;
/// So much virtual time passes between bursts: enough for 32 of the largest frames.
const BURST_TIME: Span = Span::from_us(10);
const QUEUES: u32 = 4;
/// As of a port that nothing else is said of: 1 MiB.
const BUFFER_BITS: u64 = 8 << 20;
const FRAMES: usize = 4_096;
const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
/// 100 Gbit/s and 10 Mbit.
const METER_WIDE: (u32, u32) = (100_000_000, 10_000);
const RATE_BPS: u64 = 100_000_000_000;

/// What becomes of the frames of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Handling {
    /// A planned switch watches, meters and queues them, at so many ports by a group.
    Planned(u32),
    /// A general switch queues them at so many ports, one action behind the other.
    Outputs(u32),
    /// A general switch queues them by a group of type *all*.
    Group(u32),
    /// A general switch queues them at one port by an action set, from a second table.
    Written,
    /// The addresses are replaced and the time to live is decremented, as routers do.
    Routed,
    /// A VLAN tag is pushed, with its number.
    Tagged,
    /// The VLAN tag is popped.
    Untagged,
    /// A group sends them by the first of two ports that is live.
    Failover,
    /// A group sends them by one of two ports, as their headers have it.
    Select,
}

impl Handling {
    /// How often a frame leaves.
    pub const fn copies(self) -> u32 {
        match self {
            Self::Planned(copies) | Self::Outputs(copies) | Self::Group(copies) => copies,
            _ => 1,
        }
    }

    fn exits(self) -> u32 {
        self.copies().max(2)
    }

    /// Where a copy of the frames of a link leaves.
    fn exit(self, link: u32, copy: u32) -> u32 {
        FIRST_EXIT + (link + copy) % self.exits()
    }

    /// How a copy of the frames of a link leaves.
    fn send(self, link: u32, copy: u32) -> Vec<Action> {
        let port = self.exit(link, copy);
        vec![Action::SetQueue(link % QUEUES), Action::Output { port, max_len: 0 }]
    }

    /// The group of a link, if it has one.
    fn group(self, link: u32) -> Option<Body> {
        let copy = |copy| Bucket::new(self.send(link, copy));
        let (type_, buckets): (_, Vec<Bucket>) = match self {
            Self::Group(copies) => (GroupType::All, (0..copies).map(copy).collect()),
            Self::Planned(copies) if copies > 1 => {
                (GroupType::All, (0..copies).map(copy).collect())
            }
            Self::Failover => {
                let watch = |place| Bucket { watch_port: self.exit(link, place), ..copy(place) };
                (GroupType::FastFailover, [0, 1].map(watch).to_vec())
            }
            Self::Select => {
                let weigh = |place| Bucket { weight: 1, ..copy(place) };
                (GroupType::Select, [0, 1].map(weigh).to_vec())
            }
            _ => return None,
        };
        let command = GroupModCommand::Add;
        Some(Body::GroupMod(GroupMod { command, type_, group_id: link + 1, buckets }))
    }

    /// What the last entry of a link does.
    fn actions(self, link: u32) -> Vec<Action> {
        let before = match self {
            Self::Routed => vec![
                Action::SetField(Oxm::EthDst { value: [2, 0, 0, 0, 0, 8], mask: None }),
                Action::SetField(Oxm::EthSrc { value: [2, 0, 0, 0, 0, 9], mask: None }),
                Action::DecNwTtl,
            ],
            Self::Tagged => vec![
                Action::PushVlan(EtherType::VLAN.0),
                Action::SetField(Oxm::VlanVid { value: 0x1000 | 7, mask: None }),
            ],
            Self::Untagged => vec![Action::PopVlan],
            _ if self.group(link).is_some() => return vec![Action::Group(link + 1)],
            _ => Vec::new(),
        };
        let copies = (0..self.copies()).flat_map(|copy| self.send(link, copy));
        before.into_iter().chain(copies).collect()
    }
}

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
    draws: Draws,
}

impl PlannedSwitch {
    /// With `links` virtual links, for frames of `bytes`, FCS included (64 to 1522); what passes
    /// their meters is more than is ever sent.
    pub fn new(links: u32, bytes: usize) -> Self {
        Self::handling(Handling::Planned(1), links, bytes)
    }

    /// A planned switch, or a general one in its place: with an entry for the Ethernet header of each link.
    pub fn handling(handling: Handling, links: u32, bytes: usize) -> Self {
        if let Handling::Planned(_) = handling {
            return Self::with(handling, links, bytes, METER_WIDE);
        }
        let general = Some(GeneralConfig::default());
        let config = SwitchConfig { general, ..config(links, handling.exits()) };
        let mut it = Self::empty(config, links, bytes);
        if handling == Handling::Untagged {
            it.frame.splice(12..12, [0x81, 0, 0, 7]);
            it.message_at += 4;
        }
        it.install((0..links).flat_map(|link| header_entries(handling, link)));
        it
    }

    /// With one virtual link whose meter has this rate and burst.
    pub fn metered(rate_kbps: u32, burst_kbit: u32, bytes: usize) -> Self {
        Self::with(Handling::Planned(1), 1, bytes, (rate_kbps, burst_kbit))
    }

    fn with(handling: Handling, links: u32, bytes: usize, meter: (u32, u32)) -> Self {
        let mut it = Self::empty(config(links, handling.exits()), links, bytes);
        it.install((0..links).flat_map(|n| link(handling, n, meter)));
        it
    }

    fn empty(config: SwitchConfig, links: u32, bytes: usize) -> Self {
        let (frame, message_at) = frame(bytes.clamp(64, 1522) - 4);
        let mut it = Self {
            switch: Switch::new(Arc::new(config)),
            frames: FramePool::set_aside(FRAMES, FRAMES),
            burst: Burst::new(),
            effects: Effects::with_room(FRAMES),
            now: Instant::from_ns(1_000_000_000),
            links,
            frame,
            message_at,
            message: 0,
            draws: Draws::new(0),
        };
        it.switch.keep_delays();
        it.switch.set_aside(FRAMES);
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
        // In no order that a cache could foresee.
        let link = ((self.draws.word() >> 32) * u64::from(self.links)) >> 32;
        let link = u32::try_from(link).unwrap_or(0);
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
    pub(crate) fn pass_by(&mut self, count: u32) -> u64 {
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

fn config(links: u32, exits: u32) -> SwitchConfig {
    let rate = Rate::from_bps(RATE_BPS).expect("not zero");
    let queues = u8::try_from(QUEUES).unwrap_or(u8::MAX);
    let egress = EgressConfig { rate, queues, buffer_bits: BUFFER_BITS, unpromised_from: None };
    let port = |port| PortConfig { port, role: PortRole::Host, egress };
    let links = links as usize;
    SwitchConfig {
        datapath_id: 1,
        ports: ENTRIES.into_iter().chain(FIRST_EXIT..FIRST_EXIT + exits).map(port).collect(),
        tables: 3,
        entries_max: 3 * links + 200_000,
        meters_max: links + 2,
        groups_max: links + 1,
        meter_extra_bytes: 24,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 1,
        mode_retry: Span::from_ms(10),
        general: None,
    }
}

fn address(link: u32) -> [u8; 6] {
    let [a, b, c, d] = link.to_be_bytes();
    [0x03, 0, a, b, c, d]
}

/// The entries of a link in a general switch, and its group.
fn header_entries(handling: Handling, link: u32) -> Vec<Body> {
    let oxms = vec![
        Oxm::EthDst { value: address(link), mask: None },
        Oxm::EthSrc { value: SOURCE.0, mask: None },
        Oxm::EthType(EtherType::IPV4.0),
    ];
    let entry = |table, instructions| {
        Body::FlowMod(FlowMod {
            cookie: u64::from(link) + 1,
            match_: Match::from(oxms.clone()),
            instructions,
            ..FlowMod::new(FlowModCommand::Add, table)
        })
    };
    let actions = handling.actions(link);
    let entries = match handling {
        Handling::Written => vec![
            entry(0, vec![Instruction::WriteActions(actions), Instruction::GotoTable(1)]),
            entry(1, Vec::new()),
        ],
        _ => vec![entry(0, vec![Instruction::ApplyActions(actions)])],
    };
    handling.group(link).into_iter().chain(entries).collect()
}

/// Everything that one virtual link is given.
fn link(handling: Handling, link: u32, (rate, burst_size): (u32, u32)) -> Vec<Body> {
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
    let mut given = vec![
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
    ];
    given.extend(handling.group(link));
    given.push(entry(2, vec![Instruction::ApplyActions(handling.actions(link))]));
    given
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
    fn every_copy_of_every_frame_is_sent() {
        use Handling as H;
        let all = [H::Planned(2), H::Planned(8), H::Outputs(4), H::Group(4), H::Written, H::Routed];
        for handling in all.into_iter().chain([H::Tagged, H::Untagged, H::Failover, H::Select]) {
            let mut it = PlannedSwitch::handling(handling, 10, 64);
            let copies = u64::from(handling.copies());
            assert_eq!((it.pass(3_200), it.frames.in_use()), (3_200 * copies, 0), "{handling:?}");
            let bytes: u64 = it.switch.ports().map(|(.., egress)| egress.stats().bytes).sum();
            let size = match handling {
                H::Tagged => 68,
                _ => 64,
            };
            assert_eq!(bytes, 3_200 * copies * size, "{handling:?}");
        }
    }

    #[test]
    fn every_frame_of_a_general_switch_is_sent() {
        let mut it = PlannedSwitch::handling(Handling::Outputs(1), 100, 64);
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
