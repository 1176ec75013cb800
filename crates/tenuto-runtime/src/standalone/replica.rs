//! A switch built again from what it told, to see what its tables do to a frame.
//!
//! What its answers do not tell is as in a fresh switch: buckets of meters are full, no addresses
//! are learned.

use super::dump::Dump;
use std::sync::Arc;
use tenuto_controller::compile;
use tenuto_dataplane::switch::{
    ClassifierKind, ConnectionId, GeneralConfig, PortConfig, PortRole, Switch, SwitchConfig,
    SwitchEvent, TraceStep,
};
use tenuto_dataplane::{Effects, EgressConfig, FramePool};
use tenuto_model::{Plan, SwitchDeployment};
use tenuto_openflow::constants::port_state;
use tenuto_openflow::{
    Body, Experimenter, FlowMod, FlowModCommand, Framer, GroupMod, GroupModCommand, Message,
    MeterMod, MeterModCommand, ModesMessage,
};
use tenuto_units::{Instant, Rate, Span};
use tenuto_world::{mode_settings, switch_config};

/// When everything happens.
const NOW: Instant = Instant::from_ns(1_000_000_000);
/// Pace of ports that tell none.
const RATE_BPS: u64 = 1_000_000_000;
const ENTRIES_MAX: usize = 10_000_000;

/// A switch built again.
pub struct Replica {
    switch: Switch,
    pool: FramePool,
    /// What could not be built again, and why: a sentence each.
    pub left_out: Vec<String>,
}

impl Replica {
    /// Of what a running switch, or a file of its answers, has told.
    pub fn of_dump(dump: &Dump) -> Self {
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
        for flow in &dump.flows {
            replica.tell(Body::FlowMod(FlowMod {
                cookie: flow.cookie,
                priority: flow.priority,
                match_: flow.match_.clone(),
                instructions: flow.instructions.clone(),
                ..FlowMod::new(FlowModCommand::Add, flow.table_id)
            }));
        }
        replica
    }

    /// Of a plan, in a mode level.
    pub fn of_plan(plan: &Plan, deployment: &SwitchDeployment, level: u8) -> Self {
        const GENERATION: u64 = 1;
        let config = switch_config(plan, deployment, [0; 16], 1);
        let mut replica = Self::new(Switch::new(config));
        let modes = mode_settings(plan, GENERATION);
        let has_modes = modes.levels > 1;
        compile(deployment, &modes).into_iter().for_each(|body| replica.tell(body));
        if has_modes {
            let epoch = u64::from(level) + 1;
            let activate = ModesMessage::ModeActivate { generation: GENERATION, epoch, level };
            replica.tell(Body::Experimenter(Experimenter::Modes(activate)));
        }
        replica
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
    let meters = dump.meters.iter().map(|meter| meter.meter_id).filter(|id| *id <= 1 << 24);
    SwitchConfig {
        datapath_id: dump.features.as_ref().map_or(0, |features| features.datapath_id),
        ports: ports.collect(),
        tables: tables.max(1),
        entries_max: ENTRIES_MAX,
        meters_max: meters.max().unwrap_or(0) as usize,
        groups_max: dump.groups.len(),
        meter_extra_bytes: 4,
        classifier: ClassifierKind::ByMask,
        boot_seed: 1,
        mode_retry: Span::from_ms(100),
        general: Some(GeneralConfig { bands_max: u8::MAX, ..GeneralConfig::default() }),
    }
}
