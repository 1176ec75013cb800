//! A tenant floods the switch that it shares with everything that OpenFlow has, in virtual time: no frame of an admitted
//! flow takes longer than the plan says, with the switch's own code behind a processor of exactly the plan's costs.

use std::collections::VecDeque;
use std::sync::Arc;
use tenuto_dataplane::switch::{
    ClassifierKind, ConnectionId, Datapath, GeneralConfig, HashKey, MessageBudget, PortConfig,
    PortRole, SliceConfig, SliceSetup, SliceTraffic, SlicedSwitch, SwitchConfig, SwitchEvent,
};
use tenuto_dataplane::{Effects, EgressConfig, FramePool, Frames};
use tenuto_model::{MemorySources, Plan, read_network};
use tenuto_openflow::constants::{NO_BUFFER, flow_flag, group, port, table};
use tenuto_openflow::*;
use tenuto_planner::{Options, plan};
use tenuto_units::{Instant, Rate, Span};

const VICTIM: ConnectionId = ConnectionId(2);
const FLOODERS: [ConnectionId; 2] = [ConnectionId(3), ConnectionId(4)];
const BASE_NS: u64 = 12_000;
const MESSAGE_NS: u64 = 50_000;
const BYTE_NS: u64 = 8;
const FRAME_BYTES: usize = 300;

/// What the plan counts of the tenant.
const BUDGET: MessageBudget = MessageBudget {
    messages: 200,
    changes: 200,
    packet_outs: 200,
    statistics: 200,
    packet_ins: 100,
    bytes: 1_000_000,
};

/// Two hosts of the victim, two of the tenant, at one switch; the plan was accepted by the checker.
fn planned(receive: &str) -> Plan {
    let text = format!(
        "tenuto: 1\nhosts: [a, c, r, q]\nswitches: {{s1: {{profile: shared}}}}\nprofiles:\n  shared:\n    like: ideal\n    \
         entries: 500\n    meters: 64\n    \
         processor:\n      base: {BASE_NS} ns\n      receive: {receive}\n      slices: {{message: {MESSAGE_NS} ns, \
         byte: {BYTE_NS} ns, budgets: {{victim: {{messages: 1 /s, packet_ins: 1 /s, bytes: 1 B/s}}, red: \
         {{messages: {} /s, packet_ins: {} /s, bytes: {} B/s}}}}}}\nlinks:\n  \
         - {{ends: [a, \"s1:1\"], rate: 100 Mbit/s}}\n  - {{ends: [c, \"s1:2\"], rate: 100 Mbit/s}}\n  \
         - {{ends: [r, \"s1:3\"], rate: 100 Mbit/s}}\n  - {{ends: [q, \"s1:4\"], rate: 100 Mbit/s}}\nflows:\n  \
         victim: {{source: a, targets: [c], frame: {FRAME_BYTES} B, period: 1 ms, deadline: 40 ms}}\n  \
         red: {{source: r, targets: [q], frame: 1000 B, period: 2 ms, deadline: 40 ms}}\n",
        BUDGET.messages, BUDGET.packet_ins, BUDGET.bytes
    );
    let (network, _) = read_network(&MemorySources::new().with("n.yaml", &text), "n.yaml")
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let plan = plan(&network, &Options { would_fit: false, ..Options::default() });
    assert!(plan.feasible, "{:?}", plan.refusals);
    tenuto_certify::certify(&plan.to_json()).expect("the checker accepts it");
    plan
}

/// The plan's claim for frames that enter at port 1.
fn bound(plan: &Plan) -> Span {
    let row = plan.processors.iter().find(|row| row.entry.port == 1).expect("a claim");
    Span::from_ns(row.delay_ps / 1_000)
}

fn slice(name: &str, id: u64, ports: Vec<u32>, budget: MessageBudget) -> SliceSetup {
    let egress = EgressConfig {
        rate: Rate::from_bps(100_000_000).expect("not zero"),
        queues: 4,
        buffer_bits: 8_000_000,
        unpromised_from: None,
    };
    let port = |port: &u32| PortConfig { port: *port, role: PortRole::Host, egress };
    let config = SwitchConfig {
        datapath_id: id,
        ports: ports.iter().map(port).collect(),
        tables: 16,
        entries_max: 2_000,
        meters_max: 16,
        groups_max: 64,
        meter_extra_bytes: 24,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 1,
        mode_retry: Span::from_ms(10),
        general: Some(GeneralConfig {
            connections_max: 8,
            buffers_max: 16,
            entries_at_once: Some(64),
            actions_max: 20_000,
            slice: Some(SliceConfig {
                traffic: Arc::new(SliceTraffic::new(ports, None, Vec::new())),
                budget,
                reads_only: name == "operator",
            }),
            ..GeneralConfig::default()
        }),
    };
    SliceSetup { name: name.into(), config: Arc::new(config) }
}

/// A switch behind a processor in virtual time.
struct Device {
    switch: SlicedSwitch,
    frames: FramePool,
    fx: Effects<SwitchEvent>,
    now: Instant,
    queues: [VecDeque<Instant>; 2],
    by_turns: bool,
    turn: usize,
    next: [Instant; 2],
    /// Messages of each flooder that wait.
    floods: [Flood; 2],
    longest: Span,
    answered_max: usize,
    pauses: bool,
}

/// What a flooder sends, one thing after another.
struct Flood {
    draw: u64,
    next: Vec<u8>,
    sent: u64,
    /// It waits until its buckets are full again, so that it has most at once.
    quiet_until: Instant,
}

impl Flood {
    fn new(seed: u64) -> Self {
        let mut flood = Self { draw: seed, next: Vec::new(), sent: 0, quiet_until: Instant::ZERO };
        flood.advance();
        flood
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.draw = self.draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (self.draw >> 33) % below
    }

    fn advance(&mut self) {
        self.sent += 1;
        let many = |count: usize| vec![Action::Output { port: 4, max_len: 0 }; count];
        let flow = |flood: &mut Self, actions: Vec<Action>, hard_timeout, flags| {
            let dst = u16::try_from(flood.draw(900)).expect("small");
            let match_ = Match::from(vec![
                Oxm::EthType(0x0800),
                Oxm::IpProto(17),
                Oxm::UdpDst { value: dst, mask: None },
            ]);
            let instructions = vec![Instruction::ApplyActions(actions)];
            Body::FlowMod(FlowMod {
                priority: 5,
                match_,
                instructions,
                hard_timeout,
                flags,
                ..FlowMod::new(FlowModCommand::Add, 0)
            })
        };
        let flows = |table_id| FlowStatsRequest {
            table_id,
            out_port: port::ANY,
            out_group: group::ANY,
            cookie: 0,
            cookie_mask: 0,
            match_: Match::default(),
        };
        let ask = |body| Body::MultipartRequest(MultipartRequest::new(body));
        // Few of what throws the others away.
        // Small ones first: a long one takes the bytes of all that come behind it.
        let kind = if self.sent % 24 < 9 { 22 } else { self.draw(24) };
        let body = match kind {
            0..=2 => Body::EchoRequest(vec![7; 65_500]),
            3..=6 => flow(self, many(1), 1, flow_flag::SEND_FLOW_REM),
            7..=10 => flow(self, many(60), 0, 0),
            11 => flow(self, many(900), 0, 0),
            12..=14 => ask(RequestBody::Flow(flows(table::ALL))),
            15 => ask(RequestBody::Aggregate(flows(table::ALL))),
            16 => ask(RequestBody::GroupDesc),
            17 => ask(RequestBody::TableFeatures(Vec::new())),
            18 => {
                let bucket = Bucket { weight: 0, ..Bucket::new(many(900)) };
                let group_id = u32::try_from(1 + self.draw(60)).expect("small");
                let (command, type_) = (GroupModCommand::Add, GroupType::All);
                Body::GroupMod(GroupMod { command, type_, group_id, buckets: vec![bucket] })
            }
            19 | 20 => Body::PacketOut(PacketOut {
                buffer_id: NO_BUFFER,
                in_port: port::CONTROLLER,
                actions: vec![Action::Output { port: port::CONTROLLER, max_len: 0xffff }],
                data: frame(1_400),
            }),
            21 if self.sent.is_multiple_of(7) => {
                Body::FlowMod(FlowMod::new(FlowModCommand::Delete, table::ALL))
            }
            _ => Body::BarrierRequest,
        };
        self.next = match self.draw(30) {
            0 => vec![4, 14, 0, 12, 0, 0, 0, 1, 9, 9, 9, 9],
            _ => Message::new(7, body).to_bytes(),
        };
    }
}

fn frame(bytes: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0, 0x45, 0];
    frame.resize(bytes - 4, 0);
    frame
}

impl Device {
    fn new(budget: MessageBudget, by_turns: bool) -> Self {
        let operator = slice("operator", 1, vec![], MessageBudget::default()).config;
        let mut all = (*operator).clone();
        all.ports =
            slice("all", 1, vec![1, 2, 3, 4], MessageBudget::default()).config.ports.clone();
        let slices = vec![
            slice("victim", 2, vec![1, 2], MessageBudget::default()),
            slice("red", 3, vec![3, 4], budget),
        ];
        let switch = SlicedSwitch::new(Arc::new(all), slices).expect("ports apart");
        let began = Instant::from_ns(1_000_000_000);
        let mut device = Self {
            switch,
            frames: FramePool::new(4_096),
            fx: Effects::new(),
            now: began,
            queues: [VecDeque::new(), VecDeque::new()],
            by_turns,
            turn: 0,
            next: [began + Span::from_ms(1); 2],
            floods: [Flood::new(1), Flood::new(2)],
            longest: Span::ZERO,
            answered_max: 0,
            pauses: true,
        };
        for (slice, id) in [(1, VICTIM), (2, FLOODERS[0]), (2, FLOODERS[1])] {
            device.switch.connected_in(slice, id, None, &mut device.fx).expect("room");
        }
        let to = |actions| {
            let instructions = vec![Instruction::ApplyActions(actions)];
            Body::FlowMod(FlowMod { instructions, ..FlowMod::new(FlowModCommand::Add, 0) })
        };
        let forward = to(vec![Action::Output { port: 2, max_len: 0 }]);
        let tell = to(vec![Action::Output { port: port::CONTROLLER, max_len: 0xffff }]);
        for (id, body) in [(VICTIM, forward), (FLOODERS[0], tell)] {
            let bytes = Message::new(1, body).to_bytes();
            assert!(device.switch.control_from(
                id,
                began,
                &bytes,
                &mut device.frames,
                &mut device.fx
            ));
        }
        device.told();
        // The first message that was sent above has been earned anew.
        device.now = began;
        device
    }

    /// Bytes for controllers since it was last asked.
    fn told(&mut self) -> usize {
        let told = self.fx.channels.iter().map(|(_, bytes)| bytes.len()).sum();
        self.fx.channels.clear();
        self.fx.events.clear();
        self.fx.drops.clear();
        for sent in std::mem::take(&mut self.fx.transmits) {
            self.frames.release(sent.frame);
        }
        told
    }

    fn costs(&mut self, ns: u64, bytes: usize) {
        self.now += Span::from_ns(ns + BYTE_NS * u64::try_from(bytes).expect("small"));
    }

    /// Frames that have come by now.
    fn arrive(&mut self) {
        for (line, period) in [Span::from_ms(1), Span::from_ms(2)].into_iter().enumerate() {
            while self.next[line] <= self.now {
                self.queues[line].push_back(self.next[line]);
                self.next[line] += period;
            }
        }
    }

    /// Control work that is within the budget, before any frame: the worst for frames.
    fn control(&mut self) -> bool {
        let entries = |device: &Self| {
            device.switch.slices().map(|(_, switch, _)| switch.tables().entries()).sum::<usize>()
        };
        let before = entries(self);
        self.switch.fire_due(self.now, &mut self.frames, &mut self.fx);
        let (told, gone) = (self.told(), before - entries(self));
        if told > 0 || gone > 0 {
            self.answered_max = self.answered_max.max(told);
            self.costs(MESSAGE_NS, told);
            return true;
        }
        for (at, id) in FLOODERS.into_iter().enumerate() {
            let is_at_work = self.switch.at_work().any(|other| other == id);
            if is_at_work {
                if self.switch.work_at(id, self.now) > self.now {
                    continue;
                }
                self.switch.work_on(id, self.now, &mut self.frames, &mut self.fx);
                let told = self.told();
                self.answered_max = self.answered_max.max(told);
                self.costs(MESSAGE_NS, told);
                return true;
            }
            if self.floods[at].quiet_until > self.now {
                continue;
            }
            let message = self.floods[at].next.clone();
            if self.switch.message_at(id, self.now, &message) > self.now {
                continue;
            }
            let (frames, fx) = (&mut self.frames, &mut self.fx);
            assert!(self.switch.control_from(id, self.now, &message, frames, fx));
            self.floods[at].advance();
            if self.floods[at].sent.is_multiple_of(24) && self.pauses {
                // Both together.
                let quiet = self.now + Span::from_ms(250);
                self.floods.iter_mut().for_each(|flood| flood.quiet_until = quiet);
            }
            let told = self.told();
            self.answered_max = self.answered_max.max(told);
            self.costs(MESSAGE_NS, message.len() + told);
            return true;
        }
        false
    }

    fn forward(&mut self) -> bool {
        let line = match self.by_turns {
            true if self.queues[self.turn].is_empty() => 1 - self.turn,
            true => self.turn,
            false => usize::from(match (self.queues[0].front(), self.queues[1].front()) {
                (Some(a), Some(b)) => b < a,
                (None, _) => true,
                _ => false,
            }),
        };
        let Some(arrival) = self.queues[line].pop_front() else { return false };
        self.turn = 1 - line;
        let (port, bytes) = [(1, FRAME_BYTES), (3, 1_000)][line];
        let frame = self.frames.insert(&frame(bytes)).expect("room");
        self.switch.receive(self.now, arrival, port, frame, &mut self.frames, &mut self.fx);
        let told = self.told();
        let packet_in = if told > 0 { MESSAGE_NS } else { 0 };
        self.costs(BASE_NS + packet_in, told);
        if line == 0 {
            self.longest = self.longest.max(self.now.since(arrival));
        }
        true
    }

    /// The longest that a frame of the victim took.
    fn run(&mut self, span: Span) -> Span {
        let end = self.now + span;
        while self.now < end {
            self.arrive();
            if self.control() || self.forward() {
                continue;
            }
            let ready = FLOODERS.into_iter().enumerate().map(|(at, id)| {
                match self.switch.at_work().any(|other| other == id) {
                    true => self.switch.work_at(id, self.now),
                    false => self.floods[at].quiet_until.max(self.switch.message_at(
                        id,
                        self.now,
                        &self.floods[at].next,
                    )),
                }
            });
            let due = self.switch.next_deadline_at();
            let next = ready.chain(self.next).chain(due).min().expect("frames come");
            self.now = self.now.max(next) + Span::from_ns(u64::from(next <= self.now));
        }
        self.longest
    }
}

#[test]
fn a_flooding_tenant_delays_no_frame_beyond_its_bound() {
    for (receive, by_turns) in [("fifo", false), ("{round_robin: 1}", true)] {
        let bound = bound(&planned(receive));
        let mut device = Device::new(BUDGET, by_turns);
        let longest = device.run(Span::from_s(4));
        let sent: u64 = device.floods.iter().map(|flood| flood.sent).sum();
        println!(
            "{receive}: bound {bound}, seen {longest}, {sent} messages, answers of {} B",
            device.answered_max
        );
        assert!(longest <= bound, "{receive}: {longest} of {bound}");
        assert!(longest.as_ns() * 5 > bound.as_ns(), "a flood that nobody notices: {longest}");
        // What the analysis takes for the answers of one step.
        assert!(device.answered_max <= 131_072, "{}", device.answered_max);
        assert!(sent > 150, "the tenant goes on: {sent}");
    }
}

/// The same with budgets that the plan has not counted: the bound is exceeded.
#[test]
fn a_switch_that_allows_more_than_was_counted_exceeds_the_bound() {
    let bound = bound(&planned("fifo"));
    let much = MessageBudget { messages: 4_000, bytes: 40_000_000, ..MessageBudget::default() };
    let much = MessageBudget { changes: 4_000, statistics: 4_000, packet_outs: 4_000, ..much };
    let mut device = Device::new(much, false);
    device.pauses = false;
    let longest = device.run(Span::from_s(1));
    assert!(longest > bound, "{longest} of {bound}");
}
