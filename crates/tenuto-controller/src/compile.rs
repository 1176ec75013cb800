//! A deployment as OpenFlow messages, one to one.
//!
//! | deployment | message |
//! |---|---|
//! | meter of whole kbit/s and kbit | meter-mod with one drop band |
//! | meter of other values | meter-mod with our drop band, in bit/s and bytes |
//! | group | group-mod of type *all*, one bucket per output |
//! | monitor | our monitor-mod |
//! | mode settings | our mode-config, where modes are used at all |
//! | entry of level 0 or of every level | flow-mod |
//! | entry of a higher level | our shadow flow-mod |
//!
//! The order is that of installation: what entries refer to comes before them. An OpenFlow queue id
//! is the scheduling class. What no entry matches is dropped, as OpenFlow 1.3 does without a
//! table-miss entry (1.3.5, section 5.4).

use tenuto_model::{
    EntrySpec, GroupOutput, GroupSpec, MatchSpec, MeterSpec, MonitorKind, MonitorSpec, OutputSpec,
    SwitchDeployment,
};
use tenuto_openflow::constants::meter_flag;
use tenuto_openflow::{
    Action, Body, Bucket, ExactDrop, Experimenter, FlowMod, FlowModCommand, GroupMod,
    GroupModCommand, GroupType, Instruction, Match, MeterBand, MeterMod, MeterModCommand,
    ModeConfig, ModesMessage, MonitorCommand, MonitorContract, MonitorMod, Oxm,
};

const BPS_PER_KBPS: u64 = 1_000;
const BYTES_PER_KBIT: u64 = 125;

/// What every switch of a network is told about modes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModeSettings {
    /// Generation of the plan. A new plan must have a higher one: a switch that answers with this
    /// generation is taken to have this plan's monitors, whose contracts cannot be read back.
    pub generation: u64,
    /// Number of mode levels; up to 1 means that there are no modes.
    pub levels: u8,
    /// Quiet window before a return, nanoseconds.
    pub quiet_ns: u64,
    /// Copies of each signal per link.
    pub signal_copies: u8,
    /// Least time between mode changes, nanoseconds.
    pub dwell_ns: u64,
    /// Datapath ids that take part; sent in ascending order.
    pub members: Vec<u64>,
}

/// Whether a switch must speak our experimenter messages for this deployment. Where not, none is
/// ever sent, so that any OpenFlow 1.3 switch will do.
pub(crate) fn needs_modes(deployment: &SwitchDeployment, modes: &ModeSettings) -> bool {
    modes.levels > 1
        || !deployment.monitors.is_empty()
        || deployment.entries.iter().any(|entry| shadow_level(entry).is_some())
}

/// The messages that install `deployment` on an empty switch, in order, without barriers.
///
/// Their number is that of meters, groups, monitors and entries, and one more for the mode
/// settings of a switch that must know them.
pub fn compile(deployment: &SwitchDeployment, modes: &ModeSettings) -> Vec<Body> {
    let config = needs_modes(deployment, modes).then(|| mode_config(modes));
    let meters = deployment.meters.iter().map(meter);
    let groups = deployment.groups.iter().map(group);
    let monitors = deployment.monitors.iter().map(monitor);
    let entries = deployment.entries.iter().map(entry);
    meters.chain(groups).chain(monitors).chain(config).chain(entries).collect()
}

/// One of our messages as a body.
pub(crate) const fn ours(message: ModesMessage) -> Body {
    Body::Experimenter(Experimenter::Modes(message))
}

/// The shadow table of an entry; `None` if it goes to the tables.
fn shadow_level(entry: &EntrySpec) -> Option<u8> {
    entry.level.filter(|level| *level > 0)
}

pub(crate) fn meter(spec: &MeterSpec) -> Body {
    Body::MeterMod(MeterMod {
        command: MeterModCommand::Add,
        flags: meter_flag::KBPS | meter_flag::BURST | meter_flag::STATS,
        meter_id: spec.id,
        bands: vec![band(spec)],
    })
}

/// A band of OpenFlow wherever it can say the same: every switch knows that, and every tool shows
/// it. Steps of a profile are finer only where a switch knows our band.
fn band(spec: &MeterSpec) -> MeterBand {
    let MeterSpec { rate_bps, burst_bytes, .. } = *spec;
    let whole = |value: u64, each: u64| match value % each {
        0 => u32::try_from(value / each).ok(),
        _ => None,
    };
    match (whole(rate_bps, BPS_PER_KBPS), whole(burst_bytes, BYTES_PER_KBIT)) {
        (Some(rate), Some(burst_size)) => MeterBand::Drop { rate, burst_size },
        _ => ExactDrop { rate_bps, burst_bytes }.into(),
    }
}

fn group(spec: &GroupSpec) -> Body {
    Body::GroupMod(GroupMod {
        command: GroupModCommand::Add,
        type_: GroupType::All,
        group_id: spec.id,
        buckets: spec.outputs.iter().map(|output| Bucket::new(output_actions(output))).collect(),
    })
}

fn monitor(spec: &MonitorSpec) -> Body {
    let kind = match spec.kind {
        MonitorKind::Message => tenuto_openflow::MonitorKind::Message,
        MonitorKind::Frame => tenuto_openflow::MonitorKind::Frame,
    };
    let contract = |contract: &tenuto_model::LevelContract| MonitorContract {
        level: contract.level,
        bytes_max: contract.bytes_max,
        period_ns: contract.period_ns,
        jitter_ns: contract.jitter_ns,
    };
    ours(ModesMessage::MonitorMod(MonitorMod {
        command: MonitorCommand::Add,
        monitor_id: spec.id,
        kind,
        contracts: spec.contracts.iter().map(contract).collect(),
    }))
}

fn mode_config(modes: &ModeSettings) -> Body {
    let mut members = modes.members.clone();
    members.sort_unstable();
    members.dedup();
    ours(ModesMessage::ModeConfig(ModeConfig {
        generation: modes.generation,
        levels: modes.levels.max(1),
        quiet_ns: modes.quiet_ns,
        signal_copies: modes.signal_copies,
        dwell_ns: modes.dwell_ns,
        members,
    }))
}

pub(crate) fn entry(spec: &EntrySpec) -> Body {
    let flow_mod = FlowMod {
        cookie: spec.cookie,
        priority: spec.precedence,
        match_: Match::from(oxms(&spec.matching)),
        instructions: instructions(spec),
        ..FlowMod::new(FlowModCommand::Add, spec.table)
    };
    match shadow_level(spec) {
        None => Body::FlowMod(flow_mod),
        Some(level) => ours(ModesMessage::ShadowFlowMod { level, flow_mod }),
    }
}

/// The fields in the order of their numbers, which puts every field behind its prerequisites
/// (OpenFlow 1.3.5, section 7.2.3.6).
fn oxms(matching: &MatchSpec) -> Vec<Oxm> {
    let fields = [
        matching.in_port.map(Oxm::InPort),
        matching.eth_dst.map(|value| Oxm::EthDst { value, mask: None }),
        matching.eth_type.map(Oxm::EthType),
        matching.ip_proto.map(Oxm::IpProto),
        matching.ip_src.map(|value| Oxm::Ipv4Src { value, mask: None }),
        matching.ip_dst.map(|value| Oxm::Ipv4Dst { value, mask: None }),
        matching.udp_dst.map(|value| Oxm::UdpDst { value, mask: None }),
    ];
    fields.into_iter().flatten().collect()
}

/// Meter, then actions, then the next table: the order in which a switch executes them whatever
/// their order in the message (section 5.9). There can be one list of actions only, so a monitor
/// stands at its head.
fn instructions(spec: &EntrySpec) -> Vec<Instruction> {
    let mut actions: Vec<Action> = spec.monitor.map(Action::Monitor).into_iter().collect();
    match &spec.output {
        Some(OutputSpec::Port(output)) => actions.extend(output_actions(output)),
        Some(OutputSpec::Group(id)) => actions.push(Action::Group(*id)),
        None => {}
    }
    let meter = spec.meter.map(Instruction::Meter);
    let apply = (!actions.is_empty()).then_some(Instruction::ApplyActions(actions));
    let goto = spec.goto.map(Instruction::GotoTable);
    [meter, apply, goto].into_iter().flatten().collect()
}

fn output_actions(output: &GroupOutput) -> Vec<Action> {
    let queue = Action::SetQueue(u32::from(output.queue));
    vec![queue, Action::Output { port: output.port, max_len: 0 }]
}
