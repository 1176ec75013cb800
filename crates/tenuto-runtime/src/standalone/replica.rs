//! A switch built again from what it told, to see what its tables do to a frame.
//!
//! What its answers do not tell is as in a fresh switch: buckets of meters are full, no addresses
//! are learned, and monitors, whose contracts no answer tells, ask for no other mode.

use super::dump::Dump;
use std::collections::BTreeSet;
use std::sync::Arc;
use tenuto_controller::compile;
use tenuto_dataplane::switch::{
    ClassifierKind, ConnectionId, FailMode, GeneralConfig, HashKey, PortConfig, PortRole, Switch,
    SwitchConfig, SwitchEvent, TraceStep,
};
use tenuto_dataplane::{Effects, EgressConfig, FramePool};
use tenuto_model::{Plan, SwitchDeployment};
use tenuto_openflow::constants::port_state;
use tenuto_openflow::{
    Action, Body, Experimenter, FlowMod, FlowModCommand, FlowStats, Framer, GroupMod,
    GroupModCommand, Instruction, Message, MeterMod, MeterModCommand, ModeConfig, ModesMessage,
    MonitorCommand, MonitorKind, MonitorMod,
};
use tenuto_units::{Instant, Rate, Span};
use tenuto_world::{mode_settings, switch_config};

/// When everything happens.
const NOW: Instant = Instant::from_ns(1_000_000_000);
/// The largest number of a meter or monitor that is built again.
const NUMBERS_MAX: u32 = 1 << 24;
/// Pace of ports that tell none.
const RATE_BPS: u64 = 1_000_000_000;
const ENTRIES_MAX: usize = 10_000_000;
/// The generation of modes: there is no other.
const GENERATION: u64 = 1;

/// A switch built again.
pub struct Replica {
    switch: Switch,
    pool: FramePool,
    /// What could not be built again, and why: a sentence each.
    pub left_out: Vec<String>,
}

impl Replica {
    /// Of what a running switch, or a file of its answers, has told: in the mode in force there, or in
    /// that of another level.
    pub fn of_dump(dump: &Dump, level: Option<u8>) -> Self {
        let mut replica = Self::new(Switch::new(Arc::new(config(dump))));
        for port in &dump.ports {
            let is_up = port.state & port_state::LINK_DOWN == 0;
            replica.switch.set_link(port.port_no, is_up, &mut Effects::new());
            replica.switch.set_port_config(port.port_no, port.config);
        }
        for meter in &dump.meters {
            replica.tell(Body::MeterMod(MeterMod {
                command: MeterModCommand::Add,
                flags: meter.flags,
                meter_id: meter.meter_id,
                bands: meter.bands.clone(),
            }));
        }
        replica.add_groups(dump);
        for monitor_id in monitors(dump) {
            replica.tell(ours(ModesMessage::MonitorMod(MonitorMod {
                command: MonitorCommand::Add,
                monitor_id,
                kind: MonitorKind::Frame,
                contracts: Vec::new(),
            })));
        }
        let level = level.unwrap_or_else(|| dump.mode.as_ref().map_or(0, |mode| mode.level));
        let is_in_modes = dump.mode.is_some() || !dump.shadows.is_empty();
        if is_in_modes {
            replica.tell(ours(ModesMessage::ModeConfig(ModeConfig {
                generation: GENERATION,
                levels: levels(dump).max(level.saturating_add(1)),
                quiet_ns: 0,
                signal_copies: 1,
                dwell_ns: 0,
                members: vec![dump.features.as_ref().map_or(0, |it| it.datapath_id)],
            })));
        }
        for flow in &dump.flows {
            replica.tell(Body::FlowMod(added(flow)));
        }
        for (level, flow) in &dump.shadows {
            let (level, flow_mod) = (*level, added(flow));
            replica.tell(ours(ModesMessage::ShadowFlowMod { level, flow_mod }));
        }
        if is_in_modes {
            replica.activate(level);
        }
        if dump.is_standalone {
            // There, too, nobody tells it what to do.
            replica.switch.disconnected_from(ConnectionId::FIRST);
        }
        replica
    }

    /// Of a plan, in a mode level.
    pub fn of_plan(plan: &Plan, deployment: &SwitchDeployment, level: u8) -> Self {
        let config = switch_config(plan, deployment, [0; 16], 1, HashKey::fixed());
        let mut replica = Self::new(Switch::new(config));
        let modes = mode_settings(plan, GENERATION);
        let has_modes = modes.levels > 1;
        compile(deployment, &modes).into_iter().for_each(|body| replica.tell(body));
        if has_modes {
            replica.activate(level);
        }
        replica
    }

    fn activate(&mut self, level: u8) {
        let epoch = u64::from(level) + 1;
        self.tell(ours(ModesMessage::ModeActivate { generation: GENERATION, epoch, level }));
    }

    fn new(switch: Switch) -> Self {
        let mut replica = Self { switch, pool: FramePool::new(64), left_out: Vec::new() };
        replica.switch.connected(&mut Effects::new());
        replica
    }

    /// Groups may name each other, in any order of their answers.
    fn add_groups(&mut self, dump: &Dump) {
        let mut waiting: Vec<_> = dump.groups.iter().collect();
        loop {
            let before = waiting.len();
            waiting.retain(|group| {
                self.refusal(Body::GroupMod(GroupMod {
                    command: GroupModCommand::Add,
                    type_: group.type_,
                    group_id: group.group_id,
                    buckets: group.buckets.clone(),
                }))
                .is_some()
            });
            if waiting.len() == before {
                break;
            }
        }
        let left = waiting
            .iter()
            .map(|group| format!("group {} refers to what is not there", group.group_id));
        self.left_out.extend(left);
    }

    fn tell(&mut self, body: Body) {
        let shown = Message::new(0, body.clone()).to_string();
        if let Some(why) = self.refusal(body) {
            self.left_out.push(format!("{why}: {shown}"));
        }
    }

    /// Carries out a message; why it was refused, if it was.
    fn refusal(&mut self, body: Body) -> Option<String> {
        let mut fx: Effects<SwitchEvent> = Effects::new();
        let mut bytes = Vec::new();
        // What is too long for a message was never in one.
        Message::new(1, body).try_emit(&mut bytes).ok()?;
        let Self { switch, pool, .. } = self;
        switch.control_from(ConnectionId::FIRST, NOW, &bytes, pool, &mut fx);
        let mut framer = Framer::new();
        for part in fx.control.chunks(Framer::PUSH_BYTES_MAX) {
            framer.push(part).ok()?;
            while let Some(Ok(message)) = framer.next() {
                if let Body::Error(error) = message.body {
                    return Some(
                        error.error().map_or_else(|| error.to_string(), |e| e.to_string()),
                    );
                }
            }
        }
        None
    }

    /// What its tables do to a frame that enters by `port`; nothing changes.
    pub fn trace(&self, port: u32, frame: &[u8]) -> Vec<TraceStep> {
        self.switch.trace(NOW, port, frame)
    }

    /// The numbers of its ports.
    pub fn ports(&self) -> Vec<u32> {
        self.switch.ports().map(|(number, ..)| number).collect()
    }
}

fn ours(message: ModesMessage) -> Body {
    Body::Experimenter(Experimenter::Modes(message))
}

/// The message that adds an entry.
fn added(flow: &FlowStats) -> FlowMod {
    FlowMod {
        cookie: flow.cookie,
        priority: flow.priority,
        match_: flow.match_.clone(),
        instructions: flow.instructions.clone(),
        ..FlowMod::new(FlowModCommand::Add, flow.table_id)
    }
}

/// How many mode levels are told of.
fn levels(dump: &Dump) -> u8 {
    let of_shadows = dump.shadows.iter().map(|(level, _)| *level);
    let of_mode = dump.mode.iter().flat_map(|mode| [mode.level, mode.admitted_level]);
    of_shadows.chain(of_mode).max().unwrap_or(0).saturating_add(1)
}

/// Monitors that entries name.
fn monitors(dump: &Dump) -> BTreeSet<u32> {
    let flows = dump.flows.iter().chain(dump.shadows.iter().map(|(_, flow)| flow));
    let actions = flows.flat_map(|flow| &flow.instructions).filter_map(|it| match it {
        Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => Some(actions),
        _ => None,
    });
    let ids = actions.flatten().filter_map(|action| match action {
        Action::Monitor(id) if *id <= NUMBERS_MAX => Some(*id),
        _ => None,
    });
    ids.collect()
}

/// A general switch with the tables and ports of the dump.
fn config(dump: &Dump) -> SwitchConfig {
    let rate = |kbps: u32| match kbps {
        0 => Rate::from_bps(RATE_BPS),
        kbps => Rate::from_bps(u64::from(kbps) * 1_000),
    };
    let ports = dump.ports.iter().map(|port| PortConfig {
        port: port.port_no,
        role: PortRole::Host,
        egress: EgressConfig {
            rate: rate(port.curr_speed).expect("not zero"),
            queues: u8::MAX - 1,
            buffer_bits: u64::MAX,
            unpromised_from: None,
        },
    });
    let tables = dump.features.as_ref().map_or(1, |features| features.n_tables);
    let meters = dump.meters.iter().map(|meter| meter.meter_id).filter(|id| *id <= NUMBERS_MAX);
    let numbers = meters.chain(monitors(dump));
    SwitchConfig {
        datapath_id: dump.features.as_ref().map_or(0, |features| features.datapath_id),
        ports: ports.collect(),
        tables: tables.max(1),
        entries_max: ENTRIES_MAX,
        meters_max: numbers.max().unwrap_or(0) as usize,
        groups_max: dump.groups.len(),
        meter_extra_bytes: 4,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 1,
        mode_retry: Span::from_ms(100),
        // What was read is there, whatever may come.
        general: Some(GeneralConfig {
            bands_max: u8::MAX,
            buckets_max: usize::MAX,
            copies_max: u32::MAX,
            fail_mode: if dump.is_standalone { FailMode::Standalone } else { FailMode::Secure },
            ..GeneralConfig::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_openflow::{Features, FixedText, Match, ModeStatus, Port};

    fn port(port_no: u32) -> Port {
        Port {
            port_no,
            hw_addr: [2, 0, 0, 0, 0, 1],
            name: FixedText::new(""),
            config: 0,
            state: 0,
            curr: 0,
            advertised: 0,
            supported: 0,
            peer: 0,
            curr_speed: 0,
            max_speed: 0,
        }
    }

    fn entry(table_id: u8, instructions: Vec<Instruction>) -> FlowStats {
        FlowStats {
            table_id,
            duration_sec: 0,
            duration_nsec: 0,
            priority: 1,
            idle_timeout: 0,
            hard_timeout: 0,
            flags: 0,
            cookie: 1,
            packet_count: 0,
            byte_count: 0,
            match_: Match::ANY,
            instructions,
        }
    }

    /// Watched, then sent by port 2, 3 or nowhere, by mode.
    fn dump(level: u8) -> Dump {
        let send = |port| Instruction::ApplyActions(vec![Action::Output { port, max_len: 0 }]);
        let watch = Instruction::ApplyActions(vec![Action::Monitor(9)]);
        Dump {
            features: Some(Features {
                datapath_id: 7,
                n_buffers: 0,
                n_tables: 3,
                auxiliary_id: 0,
                capabilities: 0,
            }),
            ports: (1..4).map(port).collect(),
            flows: vec![entry(0, vec![watch, Instruction::GotoTable(2)]), entry(2, vec![send(2)])],
            mode: Some(ModeStatus {
                generation: 3,
                epoch: 5,
                level,
                admitted_level: level,
                phase: 0,
                is_standalone: false,
                purged_frames: 0,
                raises: 1,
                returns: 0,
                signals_rejected: 0,
            }),
            shadows: vec![(1, entry(2, vec![send(3)]))],
            ..Dump::default()
        }
    }

    fn leaves_by(replica: &Replica) -> Vec<u32> {
        assert_eq!(replica.left_out, [""; 0]);
        let steps = replica.trace(1, &[0x02; 64]);
        assert!(steps.iter().any(|step| matches!(step, TraceStep::Table { table: 2, .. })));
        let ports = steps.iter().filter_map(|step| match step {
            TraceStep::Output { port, .. } => Some(*port),
            _ => None,
        });
        ports.collect()
    }

    #[test]
    fn entries_of_other_modes_are_built_again() {
        let by = |in_force, asked| leaves_by(&Replica::of_dump(&dump(in_force), asked));
        assert_eq!((by(0, None), by(1, None)), (vec![2], vec![3]), "the mode in force");
        assert_eq!((by(0, Some(1)), by(1, Some(0))), (vec![3], vec![2]), "another");
        assert_eq!(by(1, Some(2)), [0; 0], "a mode in which nothing is sent");
        let without = Dump { mode: None, shadows: Vec::new(), ..dump(0) };
        assert_eq!(leaves_by(&Replica::of_dump(&without, None)), [2]);
    }

    /// Without a controller its entries do not count, and it floods what it has not learned.
    #[test]
    fn a_standalone_switch_is_built_again_as_a_bridge() {
        let dump = Dump { is_standalone: true, ..dump(0) };
        let read = Dump::from_bytes(&dump.to_bytes()).expect("a dump");
        let none = Dump { mode: None, shadows: Vec::new(), flows: Vec::new(), ..dump.clone() };
        let none = Dump::from_bytes(&none.to_bytes()).expect("a dump");
        assert_eq!((none.is_standalone, none.mode), (true, None));
        for dump in [dump, read, none] {
            let mut frame = [0x02; 64];
            frame[6..12].fill(0x04);
            let steps = Replica::of_dump(&dump, None).trace(1, &frame);
            let leaves = |step: &TraceStep| matches!(step, TraceStep::Output { port: 2 | 3, .. });
            assert!(steps[0] == TraceStep::Bridged && steps[1..].iter().all(leaves), "{steps:?}");
            assert_eq!(steps.len(), 3);
        }
    }
}
