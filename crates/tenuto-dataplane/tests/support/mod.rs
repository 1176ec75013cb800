//! A switch on a bench: OpenFlow bytes and frames in, frames, drops and messages out.

#![allow(dead_code)] // each test binary uses its part

pub(crate) mod attendre;
pub(crate) mod general;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tenuto_dataplane::switch::{
    Burst, ClassifierKind, HashKey, PortConfig, PortRole, Switch, SwitchConfig, SwitchEvent,
};
use tenuto_dataplane::{DropReason, Effects, EgressConfig, FramePool, Frames, TimerId, Work};
use tenuto_openflow::constants::meter_flag;
use tenuto_openflow::{
    Action, Body, Bucket, ErrorCode, ExactDrop, Experimenter, FlowMod, FlowModCommand, Framer,
    GroupMod, GroupModCommand, GroupType, Instruction, Match, Message, MeterBand, MeterMod,
    MeterModCommand, ModeConfig, ModeStatus, ModesMessage, MonitorCommand, MonitorContract,
    MonitorKind, MonitorMod, Oxm,
};
use tenuto_units::{Instant, Rate, Span};
use tenuto_wire::{LinkKey, MacAddress, ShimRepr, SignalKind, SignalRepr, Stamp, UdpFrame};

/// Ports 1 and 2 are hosts', 3 and 4 trunks.
pub(crate) const KEYS: [LinkKey; 2] = [LinkKey::new([3; 16]), LinkKey::new([4; 16])];
pub(crate) const TABLES: u8 = 3;
/// The neighbour behind both trunks.
pub(crate) const NEIGHBOUR: MacAddress = MacAddress([2, 0x54, 0, 0, 0, 1]);
pub(crate) const GENERATION: u64 = 7;

pub(crate) fn config() -> SwitchConfig {
    let rate = Rate::from_bps(100_000_000).expect("not zero");
    let egress = EgressConfig { rate, queues: 4, buffer_bits: 8 * 1538 * 8, unpromised_from: None };
    let port = |port, role| PortConfig { port, role, egress };
    SwitchConfig {
        datapath_id: 2,
        ports: vec![
            port(1, PortRole::Host),
            port(2, PortRole::Host),
            port(3, PortRole::Trunk(KEYS[0].clone())),
            port(4, PortRole::Trunk(KEYS[1].clone())),
        ],
        tables: TABLES,
        entries_max: 64,
        meters_max: 16,
        groups_max: 4,
        meter_extra_bytes: 24,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 1_000,
        mode_retry: Span::from_ms(10),
        general: None,
    }
}

/// Frames and bytes of an entry, by (level, table, cookie).
pub(crate) type Counted = ((u8, u8, u64), (u64, u64));

#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) switch: Switch,
    pub(crate) frames: FramePool,
    pub(crate) fx: Effects<SwitchEvent>,
    pub(crate) now: Instant,
    pub(crate) sequence: u64,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(config())
    }

    pub(crate) fn with(config: SwitchConfig) -> Self {
        let mut bench = Self {
            switch: Switch::new(Arc::new(config)),
            frames: FramePool::new(1_000),
            fx: Effects::new(),
            now: Instant::from_ns(1_000_000_000),
            sequence: 0,
        };
        bench.switch.connected(&mut bench.fx);
        bench.fx.clear();
        bench
    }

    pub(crate) fn wait(&mut self, span: Span) {
        self.now += span;
    }

    /// Sends bytes and gives the messages that came back.
    pub(crate) fn control(&mut self, bytes: &[u8]) -> Vec<Message> {
        let alive = self.switch.control(self.now, bytes, &mut self.frames, &mut self.fx);
        assert!(alive, "the session goes on");
        self.messages()
    }

    pub(crate) fn messages(&mut self) -> Vec<Message> {
        let mut framer = Framer::new();
        let mut messages = Vec::new();
        for part in self.fx.control.chunks(Framer::PUSH_BYTES_MAX) {
            framer.push(part).expect("everything was taken out");
            while let Some(message) = framer.next() {
                messages.push(message.expect("a switch sends well-formed messages"));
            }
        }
        self.fx.control.clear();
        messages
    }

    pub(crate) fn ask(&mut self, body: Body) -> Vec<Message> {
        self.control(&Message::new(77, body).to_bytes())
    }

    /// Sends messages none of which may be answered.
    pub(crate) fn install(&mut self, bodies: impl IntoIterator<Item = Body>) {
        for body in bodies {
            let answers = self.ask(body.clone());
            assert!(answers.is_empty(), "{body:?} is answered {answers:?}");
        }
    }

    #[track_caller]
    pub(crate) fn refused(&mut self, body: Body, code: impl Into<ErrorCode>) {
        let before = self.key();
        let code = code.into();
        let answers = self.ask(body.clone());
        let [Message { xid: 77, body: Body::Error(error) }] = answers.as_slice() else {
            panic!("{body:?} is answered {answers:?}, not {}", code.name());
        };
        let found = ErrorCode::from_wire(error.type_, error.code);
        assert_eq!(found.map(ErrorCode::name), Some(code.name()), "{body:?}");
        assert_eq!(self.key(), before, "what is refused changes nothing");
    }

    pub(crate) fn status(&mut self) -> ModeStatus {
        let answers = self.ask(modes(ModesMessage::ModeStatusRequest));
        let status = answers.into_iter().find_map(|message| match message.body {
            Body::Experimenter(Experimenter::Modes(ModesMessage::ModeStatusReply(s))) => Some(s),
            _ => None,
        });
        status.expect("it is answered")
    }

    pub(crate) fn receive(&mut self, port: u32, bytes: &[u8]) -> Work {
        self.receive_late(self.now, port, bytes)
    }

    pub(crate) fn receive_late(&mut self, arrival: Instant, port: u32, bytes: &[u8]) -> Work {
        let frame = self.frames.insert(bytes).expect("the pool is large");
        self.switch.receive(self.now, arrival, port, frame, &mut self.frames, &mut self.fx)
    }

    /// Takes frames that come to port 1, one by one or as a burst.
    pub(crate) fn take_all(&mut self, burst: &mut Burst, frames: &[Vec<u8>], is_burst: bool) {
        for bytes in frames {
            if is_burst {
                let frame = self.frames.insert(bytes).expect("the pool is large");
                burst.push(1, self.now, frame);
            } else {
                self.receive(1, bytes);
            }
        }
        let Self { switch, frames, fx, now, .. } = self;
        while switch.receive_next(*now, burst, frames, fx).is_some() {}
    }

    /// Fires a timer at its time, and gives back the frames that left: how many.
    pub(crate) fn fire_and_release(&mut self, timer: TimerId, at: Instant) -> usize {
        self.now = at;
        self.switch.fire(timer, at, &mut self.frames, &mut self.fx);
        let mut sent = 0;
        while let Some(transmit) = self.fx.transmits.pop() {
            self.frames.release(transmit.frame);
            sent += 1;
        }
        sent
    }

    /// Fires what is due until `end`, and gives what left, in order.
    pub(crate) fn run_to(&mut self, end: Instant) -> Vec<(u32, Vec<u8>)> {
        self.fire_to(end);
        self.take_transmits()
    }

    /// Fires what is due until `end`.
    pub(crate) fn fire_to(&mut self, end: Instant) {
        while let Some((timer, at)) = self.switch.next_deadline().filter(|(_, at)| *at <= end) {
            self.now = self.now.max(at);
            self.switch.fire(timer, self.now, &mut self.frames, &mut self.fx);
        }
        self.now = self.now.max(end);
    }

    pub(crate) fn take_transmits(&mut self) -> Vec<(u32, Vec<u8>)> {
        let sent = std::mem::take(&mut self.fx.transmits);
        let mut out = Vec::new();
        for transmit in sent {
            out.push((transmit.port, self.frames.bytes(transmit.frame).to_vec()));
            self.frames.release(transmit.frame);
        }
        out
    }

    /// Lets every egress run empty.
    pub(crate) fn drain(&mut self) -> Vec<(u32, Vec<u8>)> {
        let mut out = Vec::new();
        loop {
            let mut next: Option<(TimerId, Instant)> = None;
            self.switch.for_each_deadline(|timer, at| {
                let earlier = next.is_none_or(|(_, best)| at < best);
                if matches!(timer, TimerId::PortReady(_)) && earlier {
                    next = Some((timer, at));
                }
            });
            let Some((timer, at)) = next else { break };
            self.now = self.now.max(at);
            self.switch.fire(timer, self.now, &mut self.frames, &mut self.fx);
            out.extend(self.take_transmits());
        }
        assert_eq!(self.frames.in_use(), 0, "every handle is accounted for");
        out
    }

    /// Ports and flows of everything that leaves.
    pub(crate) fn drain_flows(&mut self) -> Vec<(u32, u8)> {
        self.drain().into_iter().map(|(port, bytes)| (port, bytes[5])).collect()
    }

    pub(crate) fn drops(&mut self) -> Vec<DropReason> {
        std::mem::take(&mut self.fx.drops).into_iter().map(|d| d.reason).collect()
    }

    pub(crate) fn events(&mut self) -> Vec<SwitchEvent> {
        std::mem::take(&mut self.fx.events)
    }

    /// The state identity now.
    pub(crate) fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.switch.identify(self.now, &mut hasher, |frame| {
            let mut content = DefaultHasher::new();
            let bytes = self.frames.bytes(frame);
            // Sequence numbers, and tags with them, never decide.
            match tenuto_wire::SignalFrame::parse(bytes) {
                Ok(signal) => SignalRepr { sequence: 0, ..signal.repr() }.hash(&mut content),
                Err(_) => bytes.hash(&mut content),
            }
            content.finish()
        });
        hasher.finish()
    }

    /// A signal from the neighbour over trunk 3 or 4, with a fresh sequence number.
    pub(crate) fn signal(&mut self, port: u32, signal: SignalRepr) {
        self.sequence += 1;
        let bytes = signal_bytes(port, SignalRepr { sequence: self.sequence, ..signal });
        self.receive(port, &bytes);
    }

    /// Signals that left, by port.
    pub(crate) fn drain_signals(&mut self) -> Vec<(u32, SignalRepr)> {
        let sent = self.drain();
        let parsed = sent.iter().filter_map(|(port, bytes)| {
            Some((*port, tenuto_wire::SignalFrame::parse(bytes).ok()?.repr()))
        });
        parsed.collect()
    }

    /// Frames and bytes of every entry that matched anything, by (level, table, cookie).
    pub(crate) fn entry_counters(&self) -> Vec<Counted> {
        let tables = self.switch.tables();
        let mut found = Vec::new();
        for level in 0..tables.levels() {
            for id in 0..TABLES {
                let state = tables.get(level, id).expect("in range");
                for (entry, counter) in state.table().entries().iter().zip(state.counters()) {
                    if counter.frames > 0 {
                        let counted = (counter.frames, counter.bytes);
                        found.push(((level, id, entry.cookie), counted));
                    }
                }
            }
        }
        found
    }

    /// Named by pattern, what a switch holds: (level, table, precedence, cookie).
    pub(crate) fn entries(&self) -> Vec<(u8, u8, u16, u64)> {
        let tables = self.switch.tables();
        let mut found = Vec::new();
        for level in 0..tables.levels() {
            for id in 0..TABLES {
                let state = tables.get(level, id).expect("in range");
                let entries = state.table().entries();
                found.extend(entries.iter().map(|e| (level, id, e.precedence, e.cookie)));
            }
        }
        found
    }
}

pub(crate) fn signal_bytes(port: u32, signal: SignalRepr) -> Vec<u8> {
    let mut bytes = vec![0; tenuto_wire::signal::SIGNAL_FRAME_LEN];
    signal.emit(NEIGHBOUR, &KEYS[port as usize - 3], &mut bytes);
    bytes
}

pub(crate) fn signal(kind: SignalKind, epoch: u64, level: u8) -> SignalRepr {
    SignalRepr {
        kind,
        level,
        from_level: 0,
        hops: 0,
        generation: GENERATION,
        epoch,
        origin: 1,
        nonce: 0,
        sequence: 0,
    }
}

/// A frame of flow `flow`, `len` bytes long in memory, to 03:00:00:00:00:flow.
pub(crate) fn frame(flow: u8, len: usize) -> Vec<u8> {
    message_frame(flow, 0, len)
}

/// The same with a shim that carries message `id`, and a stamp.
pub(crate) fn message_frame(flow: u8, id: u32, len: usize) -> Vec<u8> {
    let udp = UdpFrame {
        eth_dst: MacAddress([3, 0, 0, 0, 0, flow]),
        eth_src: MacAddress([2, 0, 0, 0, 0, 9]),
        ip_src: [10, 0, 0, 1],
        ip_dst: [10, 0, 1, flow],
        udp_src: 1,
        udp_dst: 20_000 + u16::from(flow),
        dscp: 0,
        payload_len: len.max(72) - 42,
    };
    let mut buffer = vec![0; 1_514];
    let written = udp.emit(&mut buffer).expect("fits");
    let payload = &mut buffer[written.payload];
    ShimRepr { message_id: id, message_bytes: 0, sequence: 0 }.emit(payload);
    let stamp = Stamp { release: Instant::ZERO, flow: u16::from(flow), message_id: id };
    let _without_room = stamp.emit(&mut payload[12..]);
    buffer.truncate(written.len);
    buffer
}

pub(crate) const fn modes(message: ModesMessage) -> Body {
    Body::Experimenter(Experimenter::Modes(message))
}

pub(crate) fn to_flow(flow: u8) -> Match {
    Match::from(vec![Oxm::EthDst { value: [3, 0, 0, 0, 0, flow], mask: None }])
}

pub(crate) fn flow_mod(table: u8, flow: u8, instructions: Vec<Instruction>) -> FlowMod {
    FlowMod {
        cookie: u64::from(flow),
        match_: to_flow(flow),
        instructions,
        ..FlowMod::new(FlowModCommand::Add, table)
    }
}

pub(crate) fn add(table: u8, flow: u8, instructions: Vec<Instruction>) -> Body {
    Body::FlowMod(flow_mod(table, flow, instructions))
}

pub(crate) fn shadow(level: u8, table: u8, flow: u8, instructions: Vec<Instruction>) -> Body {
    modes(ModesMessage::ShadowFlowMod { level, flow_mod: flow_mod(table, flow, instructions) })
}

pub(crate) fn apply(actions: Vec<Action>) -> Instruction {
    Instruction::ApplyActions(actions)
}

pub(crate) const fn output(port: u32) -> Action {
    Action::Output { port, max_len: 0 }
}

pub(crate) fn sent_to(queue: u32, port: u32) -> Instruction {
    apply(vec![Action::SetQueue(queue), output(port)])
}

pub(crate) fn meter(command: MeterModCommand, id: u32, rate: u32, burst_size: u32) -> Body {
    Body::MeterMod(MeterMod {
        command,
        flags: meter_flag::KBPS | meter_flag::BURST,
        meter_id: id,
        bands: vec![MeterBand::Drop { rate, burst_size }],
    })
}

/// A new meter of our own band.
pub(crate) fn exact_meter(meter_id: u32, rate_bps: u64, burst_bytes: u64) -> Body {
    let bands = vec![ExactDrop { rate_bps, burst_bytes }.into()];
    let (command, flags) = (MeterModCommand::Add, meter_flag::KBPS | meter_flag::BURST);
    Body::MeterMod(MeterMod { command, flags, meter_id, bands })
}

pub(crate) fn group(command: GroupModCommand, id: u32, buckets: Vec<Vec<Action>>) -> Body {
    Body::GroupMod(GroupMod {
        command,
        type_: GroupType::All,
        group_id: id,
        buckets: buckets.into_iter().map(Bucket::new).collect(),
    })
}

/// Levels by (largest bytes on the wire, period in ms), without jitter.
pub(crate) fn monitor(kind: MonitorKind, id: u32, levels: &[(u32, u64)]) -> Body {
    let contract = |(level, &(bytes_max, period_ms)): (u8, &(u32, u64))| MonitorContract {
        level,
        bytes_max,
        period_ns: period_ms * 1_000_000,
        jitter_ns: 0,
    };
    modes(ModesMessage::MonitorMod(MonitorMod {
        command: MonitorCommand::Add,
        monitor_id: id,
        kind,
        contracts: (0u8..).zip(levels).map(contract).collect(),
    }))
}

pub(crate) fn mode_config(levels: u8, members: &[u64]) -> Body {
    modes(ModesMessage::ModeConfig(ModeConfig {
        generation: GENERATION,
        levels,
        quiet_ns: 50_000_000,
        signal_copies: 2,
        dwell_ns: 0,
        members: members.to_vec(),
    }))
}

pub(crate) const fn activate(epoch: u64, level: u8) -> Body {
    modes(ModesMessage::ModeActivate { generation: GENERATION, epoch, level })
}

/// A switch of a network with modes: HI flow 1 in both levels, LO flow 2 in level 0 only, other
/// traffic (cookie 0) to 9 in both; all in at port 1 or trunks, out at trunk 3.
pub(crate) fn with_modes() -> Bench {
    let mut bench = Bench::new();
    bench.install([
        monitor(MonitorKind::Message, 1, &[(2_000, 200), (2_000, 20)]),
        meter(MeterModCommand::Add, 1, 10_000, 100),
        mode_config(2, &[1, 2]),
        add(0, 1, vec![apply(vec![Action::Monitor(1)]), Instruction::GotoTable(1)]),
        add(0, 2, vec![Instruction::GotoTable(1)]),
        add(1, 1, vec![Instruction::Meter(1), Instruction::GotoTable(2)]),
        add(1, 2, vec![Instruction::GotoTable(2)]),
        add(2, 1, vec![sent_to(2, 3)]),
        add(2, 2, vec![sent_to(1, 3)]),
        shadow(1, 1, 1, vec![Instruction::Meter(1), Instruction::GotoTable(2)]),
        shadow(1, 1, 2, vec![]),
        shadow(1, 2, 1, vec![sent_to(0, 3)]),
        shadow(1, 2, 2, vec![]),
    ]);
    bench.ask(activate(1, 0));
    assert_eq!(bench.switch.mode(), (0, 0, 1));
    bench.events();
    bench
}
