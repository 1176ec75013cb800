//! What a switch holds, in a form that can be compared: the state that commands lead to, the state
//! that a read-back found, and the commands that lead from one to the other.

use crate::compile::ours;
use std::collections::BTreeMap;
use tenuto_openflow::constants::{OFP_HEADER_LEN, port};
use tenuto_openflow::{
    Action, Body, Bucket, Experimenter, FlowMod, FlowModCommand, FlowStats, GroupDescription,
    GroupMod, GroupModCommand, GroupType, Instruction, Match, Message, MeterBand, MeterConfig,
    MeterMod, MeterModCommand, ModeConfig, ModesMessage, MonitorCommand, MonitorContract,
    MonitorKind, MonitorMod, Oxm,
};

/// Name of an entry: no two entries of a switch have equal ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryKey {
    /// 0 for the tables, else the level of the shadow table.
    pub(crate) level: u8,
    /// Table number.
    pub(crate) table_id: u8,
    /// OpenFlow priority: higher wins.
    pub(crate) priority: u16,
    /// The match in canonical order, as bytes.
    matching: Vec<u8>,
}

/// The rest of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EntryValue {
    /// Names the flow.
    pub(crate) cookie: u64,
    /// Seconds without a packet after which the entry goes; 0 for never.
    pub(crate) idle_timeout: u16,
    /// Seconds after which the entry goes; 0 for never.
    pub(crate) hard_timeout: u16,
    /// Flags of the flow-mod.
    pub(crate) flags: u16,
    /// The match in canonical order.
    pub(crate) match_: Match,
    /// What is done, in the order of execution.
    pub(crate) instructions: Vec<Instruction>,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupValue {
    /// How it chooses among its buckets.
    pub(crate) type_: GroupType,
    /// Its buckets, in order.
    pub(crate) buckets: Vec<Bucket>,
}

/// A meter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MeterValue {
    /// Units and statistics.
    pub(crate) flags: u16,
    /// Its bands, in order.
    pub(crate) bands: Vec<MeterBand>,
}

/// A monitor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MonitorValue {
    /// What it counts.
    pub(crate) kind: MonitorKind,
    /// What is allowed per level.
    pub(crate) contracts: Vec<MonitorContract>,
}

/// What a switch holds or shall hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SwitchTables {
    /// Meters by id.
    pub(crate) meters: BTreeMap<u32, MeterValue>,
    /// Groups by id.
    pub(crate) groups: BTreeMap<u32, GroupValue>,
    /// Monitors by id; `None` for one whose contracts are not known, because a switch tells only
    /// which monitors there are.
    pub(crate) monitors: BTreeMap<u32, Option<MonitorValue>>,
    /// Mode settings, where known.
    pub(crate) mode_config: Option<ModeConfig>,
    /// Entries of the tables and of the shadow tables.
    pub(crate) entries: BTreeMap<EntryKey, EntryValue>,
}

impl SwitchTables {
    /// The state that these messages lead to on an empty switch.
    pub(crate) fn after(commands: &[Body]) -> Self {
        let mut tables = Self::default();
        commands.iter().for_each(|command| tables.add(command));
        tables
    }

    /// Carries out an addition; other messages change nothing.
    fn add(&mut self, command: &Body) {
        match command {
            Body::MeterMod(meter) => {
                let value = MeterValue { flags: meter.flags, bands: meter.bands.clone() };
                self.meters.insert(meter.meter_id, value);
            }
            Body::GroupMod(group) => self.add_group(group.group_id, group.type_, &group.buckets),
            Body::FlowMod(flow_mod) => self.add_entry(0, flow_mod),
            Body::Experimenter(Experimenter::Modes(message)) => match message {
                ModesMessage::ShadowFlowMod { level, flow_mod } => self.add_entry(*level, flow_mod),
                ModesMessage::MonitorMod(monitor) => {
                    let contracts = monitor.contracts.clone();
                    let value = MonitorValue { kind: monitor.kind, contracts };
                    self.monitors.insert(monitor.monitor_id, Some(value));
                }
                ModesMessage::ModeConfig(config) => self.mode_config = Some(config.clone()),
                _ => {}
            },
            _ => {}
        }
    }

    fn add_entry(&mut self, level: u8, flow_mod: &FlowMod) {
        let (matching, match_) = canonical_match(&flow_mod.match_);
        let (table_id, priority) = (flow_mod.table_id, flow_mod.priority);
        let value = EntryValue {
            cookie: flow_mod.cookie,
            idle_timeout: flow_mod.idle_timeout,
            hard_timeout: flow_mod.hard_timeout,
            flags: flow_mod.flags,
            match_,
            instructions: canonical_instructions(&flow_mod.instructions),
        };
        self.entries.insert(EntryKey { level, table_id, priority, matching }, value);
    }

    fn add_group(&mut self, id: u32, type_: GroupType, buckets: &[Bucket]) {
        let bucket = |bucket: &Bucket| Bucket {
            actions: canonical_actions(&bucket.actions),
            // Weights and watching mean nothing in other groups, and switches fill them in.
            ..match type_ {
                GroupType::All | GroupType::Indirect => Bucket::new(Vec::new()),
                _ => bucket.clone(),
            }
        };
        self.groups.insert(id, GroupValue { type_, buckets: buckets.iter().map(bucket).collect() });
    }

    /// Takes an entry that the switch told of; `level` 0 is the tables.
    pub(crate) fn found_entry(&mut self, level: u8, stats: FlowStats) {
        let flow_mod = FlowMod {
            cookie: stats.cookie,
            idle_timeout: stats.idle_timeout,
            hard_timeout: stats.hard_timeout,
            priority: stats.priority,
            flags: stats.flags,
            match_: stats.match_,
            instructions: stats.instructions,
            ..FlowMod::new(FlowModCommand::Add, stats.table_id)
        };
        self.add_entry(level, &flow_mod);
    }

    pub(crate) fn found_group(&mut self, group: &GroupDescription) {
        self.add_group(group.group_id, group.type_, &group.buckets);
    }

    pub(crate) fn found_meter(&mut self, meter: MeterConfig) {
        let value = MeterValue { flags: meter.flags, bands: meter.bands };
        self.meters.insert(meter.meter_id, value);
    }

    /// The commands that lead from `self` to `wanted`, in steps between which a barrier belongs:
    /// first what entries refer to, then new and changed entries, then entries that go, then what
    /// only they referred to, and at last changed mode settings. A flow that both have is forwarded
    /// at every moment; deleting a group or a meter first would delete its entries as well.
    ///
    /// Mode settings that are not known come first of all: a switch takes no entry of a level that it
    /// does not have, and settings that it has already change nothing.
    pub(crate) fn steps_to(&self, wanted: &Self) -> [Vec<Body>; 4] {
        let mut referred = self.objects_to(wanted);
        let changed =
            |(key, value): &(&EntryKey, &EntryValue)| self.entries.get(*key) != Some(*value);
        let added = wanted.entries.iter().filter(changed);
        let gone = self.entries.iter().filter(|(key, _)| !wanted.entries.contains_key(*key));
        let added = added.map(|(key, value)| entry_command(FlowModCommand::Add, key, value));
        let gone = gone.map(|(key, value)| entry_command(FlowModCommand::DeleteStrict, key, value));
        let mut last = self.objects_gone(wanted);
        if let Some(config) = &wanted.mode_config
            && self.mode_config.as_ref() != Some(config)
        {
            let command = ours(ModesMessage::ModeConfig(config.clone()));
            match self.mode_config {
                Some(_) => last.push(command),
                None => referred.insert(0, command),
            }
        }
        [referred, added.collect(), gone.collect(), last]
    }

    /// These tables, and what `other` has besides.
    pub(crate) fn with(mut self, other: &Self) -> Self {
        fn join<K: Ord + Clone, V: Clone>(into: &mut BTreeMap<K, V>, from: &BTreeMap<K, V>) {
            for (key, value) in from {
                into.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        join(&mut self.meters, &other.meters);
        join(&mut self.groups, &other.groups);
        join(&mut self.monitors, &other.monitors);
        join(&mut self.entries, &other.entries);
        self
    }

    /// Commands that say what every monitor is, for a switch that has them all.
    pub(crate) fn monitors_again(&self) -> Vec<Body> {
        let known = self.monitors.iter().filter_map(|(id, it)| Some((*id, it.as_ref()?)));
        known.map(|(id, it)| monitor_command(MonitorCommand::Modify, id, it)).collect()
    }

    /// New and changed meters, groups and monitors.
    fn objects_to(&self, wanted: &Self) -> Vec<Body> {
        let meters = wanted.meters.iter().filter_map(|(id, meter)| match self.meters.get(id) {
            Some(old) if old == meter => None,
            Some(_) => Some(meter_command(MeterModCommand::Modify, *id, meter)),
            None => Some(meter_command(MeterModCommand::Add, *id, meter)),
        });
        let groups = wanted.groups.iter().filter_map(|(id, group)| match self.groups.get(id) {
            Some(old) if old == group => None,
            Some(_) => Some(group_command(GroupModCommand::Modify, *id, group)),
            None => Some(group_command(GroupModCommand::Add, *id, group)),
        });
        let monitors = wanted.monitors.iter().filter_map(|(id, monitor)| {
            let command = match self.monitors.get(id) {
                Some(old) if old == monitor => return None,
                Some(_) => MonitorCommand::Modify,
                None => MonitorCommand::Add,
            };
            Some(monitor_command(command, *id, monitor.as_ref()?))
        });
        meters.chain(groups).chain(monitors).collect()
    }

    /// Meters, groups and monitors that are no longer wanted.
    fn objects_gone(&self, wanted: &Self) -> Vec<Body> {
        let groups = self.groups.iter().filter(|(id, _)| !wanted.groups.contains_key(id));
        let meters = self.meters.iter().filter(|(id, _)| !wanted.meters.contains_key(id));
        let monitors = self.monitors.keys().filter(|id| !wanted.monitors.contains_key(id));
        let groups = groups.map(|(id, group)| {
            let empty = GroupValue { type_: group.type_, buckets: Vec::new() };
            group_command(GroupModCommand::Delete, *id, &empty)
        });
        let meters = meters.map(|(id, meter)| {
            let empty = MeterValue { flags: meter.flags, bands: Vec::new() };
            meter_command(MeterModCommand::Delete, *id, &empty)
        });
        groups.chain(meters).chain(monitors.map(|id| delete_monitor(*id))).collect()
    }
}

/// Deletes one monitor.
pub(crate) fn delete_monitor(id: u32) -> Body {
    let empty = MonitorValue { kind: MonitorKind::Message, contracts: Vec::new() };
    monitor_command(MonitorCommand::Delete, id, &empty)
}

fn meter_command(command: MeterModCommand, meter_id: u32, meter: &MeterValue) -> Body {
    Body::MeterMod(MeterMod { command, flags: meter.flags, meter_id, bands: meter.bands.clone() })
}

fn group_command(command: GroupModCommand, group_id: u32, group: &GroupValue) -> Body {
    let buckets = group.buckets.clone();
    Body::GroupMod(GroupMod { command, type_: group.type_, group_id, buckets })
}

fn monitor_command(command: MonitorCommand, monitor_id: u32, monitor: &MonitorValue) -> Body {
    let (kind, contracts) = (monitor.kind, monitor.contracts.clone());
    ours(ModesMessage::MonitorMod(MonitorMod { command, monitor_id, kind, contracts }))
}

fn entry_command(command: FlowModCommand, key: &EntryKey, value: &EntryValue) -> Body {
    let deletes = command == FlowModCommand::DeleteStrict;
    let flow_mod = FlowMod {
        cookie: value.cookie,
        idle_timeout: value.idle_timeout,
        hard_timeout: value.hard_timeout,
        priority: key.priority,
        flags: value.flags,
        match_: value.match_.clone(),
        instructions: if deletes { Vec::new() } else { value.instructions.clone() },
        ..FlowMod::new(command, key.table_id)
    };
    match key.level {
        0 => Body::FlowMod(flow_mod),
        level => ours(ModesMessage::ShadowFlowMod { level, flow_mod }),
    }
}

/// Fields sorted by their numbers, and full masks left out: switches may answer in another order.
/// That order also puts every field behind its prerequisites, as commands must have them.
fn canonical_match(match_: &Match) -> (Vec<u8>, Match) {
    let mut fields: Vec<_> = match_.oxms.iter().map(|oxm| without_full_mask(oxm.clone())).collect();
    fields.sort_by_cached_key(|oxm| match_bytes(&Match::from(vec![oxm.clone()])));
    let match_ = Match::from(fields);
    (match_bytes(&match_), match_)
}

/// The bytes of the fields: class, number and mask bit come first, so that they sort by these.
fn match_bytes(match_: &Match) -> Vec<u8> {
    /// Header, the fixed part of a flow-mod, and the header of the match.
    const BEFORE_FIELDS_LEN: usize = OFP_HEADER_LEN + 40 + 4;
    let flow_mod =
        FlowMod { match_: match_.clone(), ..FlowMod::new(FlowModCommand::DeleteStrict, 0) };
    let mut bytes = Vec::new();
    // What came in a message, or was compiled, fits one; otherwise sending it will say so.
    let _ = Message::new(0, Body::FlowMod(flow_mod)).try_emit(&mut bytes);
    bytes.drain(..BEFORE_FIELDS_LEN.min(bytes.len()));
    bytes
}

fn without_full_mask(oxm: Oxm) -> Oxm {
    match oxm {
        Oxm::EthDst { value, mask: Some([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) } => {
            Oxm::EthDst { value, mask: None }
        }
        Oxm::EthSrc { value, mask: Some([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) } => {
            Oxm::EthSrc { value, mask: None }
        }
        Oxm::Ipv4Src { value, mask: Some([0xff, 0xff, 0xff, 0xff]) } => {
            Oxm::Ipv4Src { value, mask: None }
        }
        Oxm::Ipv4Dst { value, mask: Some([0xff, 0xff, 0xff, 0xff]) } => {
            Oxm::Ipv4Dst { value, mask: None }
        }
        other => other,
    }
}

/// Instructions in their order of execution (OpenFlow 1.3.5, section 5.9), which is not that of
/// the message.
fn canonical_instructions(instructions: &[Instruction]) -> Vec<Instruction> {
    let rank = |instruction: &Instruction| match instruction {
        Instruction::Meter(_) => 0,
        Instruction::ApplyActions(_) => 1,
        Instruction::ClearActions => 2,
        Instruction::WriteActions(_) => 3,
        Instruction::WriteMetadata { .. } => 4,
        Instruction::Experimenter { .. } | Instruction::Unknown { .. } => 5,
        Instruction::GotoTable(_) => 6,
    };
    let canonical = |instruction: &Instruction| match instruction {
        Instruction::ApplyActions(actions) => Instruction::ApplyActions(canonical_actions(actions)),
        other => other.clone(),
    };
    let mut sorted: Vec<_> = instructions.iter().map(canonical).collect();
    sorted.sort_by_key(rank);
    sorted
}

/// The length for the controller means nothing at other ports, and switches fill it in.
fn canonical_actions(actions: &[Action]) -> Vec<Action> {
    let canonical = |action: &Action| match action {
        Action::Output { port, .. } if *port != port::CONTROLLER => {
            Action::Output { port: *port, max_len: 0 }
        }
        other => other.clone(),
    };
    actions.iter().map(canonical).collect()
}
