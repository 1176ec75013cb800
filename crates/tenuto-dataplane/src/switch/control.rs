//! The OpenFlow channel, seen from the switch.
//!
//! Messages are handled in order, each to its end, on the thread of the data path: a barrier reply
//! therefore means *in effect*, not merely accepted. Whatever a message changes is put into effect
//! (indices rebuilt) before the next frame is looked up.

use super::key::Pattern;
use super::meter::{Meter, MeterConfig};
use super::mode::{self, ModeAgent, ModeConfig};
use super::monitor::{LevelContract, Monitor, MonitorKind};
use super::table::{ActionStep, Behaviour, Entry};
use super::tables::{EntryCounter, TABLE_WATCH};
use super::{MeterState, MonitorState, Switch, SwitchEvent};
use crate::{Effects, Frames};
use std::sync::Arc;
use tenuto_openflow::constants::{self, flow_flag, group, meter, port, table};
use tenuto_openflow::{
    Action, BadAction, BadInstruction, BadRequest, Body, Bucket, EXPERIMENTER_ID, ErrorCode,
    ErrorMessage, Experimenter, Features, FixedText, FlowMod, FlowModCommand, FlowModFailed,
    FlowStats, FlowStatsRequest, Framer, GroupDescription, GroupMod, GroupModCommand,
    GroupModFailed, GroupType, Hello, HelloFailed, Instruction, Message, MeterBand, MeterMod,
    MeterModCommand, MeterModFailed, ModeStatus, ModesMessage, MonitorCommand, MonitorMod,
    MonitorStats, MultipartReply, MultipartRequest, ReplyBody, RequestBody,
};
use tenuto_units::{Instant, Span};

/// A group of type *all*, as executed and as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupState {
    /// Actions of each bucket.
    pub buckets: Vec<Vec<ActionStep>>,
    sent: Vec<Bucket>,
    type_: GroupType,
}

type Done = Result<(), ErrorCode>;

/// Actions of one list, and over all buckets of one group; and buckets. With these limits whatever
/// is accepted can be read back in one message.
const ACTIONS_MAX: usize = 1_000;
/// Flags of a flow-mod that this switch acts on, or may leave aside (it counts all the same).
const FLOW_FLAGS: u16 = flow_flag::CHECK_OVERLAP
    | flow_flag::RESET_COUNTS
    | flow_flag::NO_PKT_COUNTS
    | flow_flag::NO_BYT_COUNTS;

impl Switch {
    /// A controller has connected: says hello.
    pub fn connected(&mut self, fx: &mut Effects<SwitchEvent>) {
        self.channel = Some(Framer::default());
        Message { xid: 0, body: Body::Hello(Hello::default()) }.emit(&mut fx.control);
    }

    /// The session is lost. Fail-secure: every entry stays, the unknown is dropped as before.
    pub fn disconnected(&mut self) {
        self.channel = None;
    }

    /// Bytes from the controller. Returns false if the stream cannot be followed any more and
    /// the session must be closed; nothing of what could not be read has changed anything.
    pub fn control(
        &mut self,
        now: Instant,
        bytes: &[u8],
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let Some(mut framer) = self.channel.take() else { return false };
        let mut alive = true;
        // However much was read at once: a segment always fits when all before it was taken out.
        for segment in bytes.chunks(Framer::PUSH_BYTES_MAX) {
            alive = alive && framer.push(segment).is_ok();
            while alive && let Some(next) = framer.next() {
                match next {
                    Ok(message) => alive = self.message(now, message, frames, fx),
                    Err(error) => {
                        alive = !error.is_fatal();
                        if let Some(answer) = error.answer() {
                            answer.emit(&mut fx.control);
                        }
                    }
                }
            }
        }
        self.settle();
        if alive {
            self.channel = Some(framer);
        }
        alive
    }

    fn settle(&mut self) {
        let groups = self.groups.clone();
        self.tables.settle(|id| groups.get(&id).and_then(GroupState::queue));
    }

    /// Returns whether the session goes on.
    fn message(
        &mut self,
        now: Instant,
        message: Message,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let xid = message.xid;
        // Mode events of this very message must find the channel open.
        self.channel = Some(Framer::default());
        let done = self.handle(now, xid, &message.body, frames, fx);
        self.channel = None;
        if let Err(code) = done {
            let mut head = message.to_bytes();
            head.truncate(64);
            let body = Body::Error(ErrorMessage::new(code, &head));
            Message { xid, body }.emit(&mut fx.control);
        }
        done != Err(HelloFailed::Incompatible.into())
    }

    fn handle(
        &mut self,
        now: Instant,
        xid: u32,
        body: &Body,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let mut reply = |body: Body| Message { xid, body }.emit(&mut fx.control);
        match body {
            Body::Hello(hello) if !hello.offers(constants::OFP_VERSION) => {
                return Err(HelloFailed::Incompatible.into());
            }
            Body::Hello(_) | Body::Error(_) | Body::EchoReply(_) | Body::SetConfig(_) => {}
            Body::EchoRequest(data) => reply(Body::EchoReply(data.clone())),
            Body::FeaturesRequest => reply(Body::FeaturesReply(self.features())),
            Body::GetConfigRequest => {
                reply(Body::GetConfigReply(tenuto_openflow::SwitchConfigMsg {
                    flags: 0,
                    miss_send_len: 0,
                }));
            }
            Body::BarrierRequest => {
                self.settle();
                reply(Body::BarrierReply);
            }
            Body::RoleRequest(role) => reply(Body::RoleReply(*role)),
            Body::FlowMod(flow_mod) => self.flow_mod(None, flow_mod)?,
            Body::GroupMod(group_mod) => self.group_mod(group_mod)?,
            Body::MeterMod(meter_mod) => self.meter_mod(meter_mod)?,
            Body::MultipartRequest(request) => self.multipart(xid, request, fx)?,
            Body::Experimenter(Experimenter::Modes(modes)) => {
                self.modes(now, xid, modes, frames, fx)?;
            }
            Body::Experimenter(Experimenter::Unknown { experimenter: EXPERIMENTER_ID, .. }) => {
                return Err(BadRequest::BadExpType.into());
            }
            Body::Experimenter(Experimenter::Unknown { .. }) => {
                return Err(BadRequest::BadExperimenter.into());
            }
            _ => return Err(BadRequest::BadType.into()),
        }
        Ok(())
    }

    fn features(&self) -> Features {
        Features {
            datapath_id: self.config.datapath_id,
            n_buffers: 0,
            n_tables: self.config.tables,
            auxiliary_id: 0,
            capabilities: constants::capability::FLOW_STATS
                | constants::capability::PORT_STATS
                | constants::capability::GROUP_STATS,
        }
    }

    fn flow_mod(&mut self, level: Option<u8>, flow_mod: &FlowMod) -> Done {
        use FlowModCommand as C;
        let pattern = Pattern::from_match(&flow_mod.match_)?;
        let level = level.unwrap_or(0);
        if matches!(flow_mod.command, C::Delete | C::DeleteStrict) {
            return self.delete_flows(level, flow_mod, &pattern);
        }
        if flow_mod.table_id >= self.config.tables {
            return Err(FlowModFailed::BadTableId.into());
        }
        // What this switch does not do is refused, not silently left out.
        if flow_mod.idle_timeout != 0 || flow_mod.hard_timeout != 0 {
            return Err(FlowModFailed::BadTimeout.into());
        }
        if flow_mod.flags & !FLOW_FLAGS != 0 {
            return Err(FlowModFailed::BadFlags.into());
        }
        let behaviour = self.behaviour(flow_mod)?;
        let entry = Entry {
            pattern,
            precedence: flow_mod.priority,
            cookie: flow_mod.cookie,
            flags: flow_mod.flags,
            behaviour,
            matching: flow_mod.match_.clone(),
            instructions: flow_mod.instructions.clone(),
        };
        if flow_mod.command == C::Add {
            if flow_mod.flags & flow_flag::CHECK_OVERLAP != 0
                && self.tables.overlaps(level, flow_mod.table_id, &entry)
            {
                return Err(FlowModFailed::Overlap.into());
            }
            let added = self.tables.add(level, flow_mod.table_id, entry);
            return added.map_err(|_| FlowModFailed::TableFull.into());
        }
        let strict = flow_mod.command == C::ModifyStrict;
        let chosen = |e: &Entry| chosen(e, flow_mod, &pattern, strict);
        let change = |e: &mut Entry| {
            e.behaviour.clone_from(&entry.behaviour);
            e.instructions.clone_from(&entry.instructions);
        };
        let reset = flow_mod.flags & flow_flag::RESET_COUNTS != 0;
        self.tables.modify(level, flow_mod.table_id, chosen, change, reset);
        Ok(())
    }

    fn delete_flows(&mut self, level: u8, flow_mod: &FlowMod, pattern: &Pattern) -> Done {
        let all = flow_mod.table_id == table::ALL;
        if !all && flow_mod.table_id >= self.config.tables {
            return Err(FlowModFailed::BadTableId.into());
        }
        let strict = flow_mod.command == FlowModCommand::DeleteStrict;
        for id in 0..self.config.tables {
            if all || id == flow_mod.table_id {
                self.tables.remove(level, id, |e| {
                    chosen(e, flow_mod, pattern, strict)
                        && sends_to(e, flow_mod.out_port, flow_mod.out_group)
                });
            }
        }
        Ok(())
    }

    fn behaviour(&self, flow_mod: &FlowMod) -> Result<Behaviour, ErrorCode> {
        let mut behaviour = Behaviour::default();
        for (place, instruction) in flow_mod.instructions.iter().enumerate() {
            // One of each type (section 5.9), for which OpenFlow 1.3 has no code of its own.
            let kind = std::mem::discriminant(instruction);
            if flow_mod.instructions[..place].iter().any(|i| std::mem::discriminant(i) == kind) {
                return Err(BadInstruction::UnsupInst.into());
            }
            match instruction {
                Instruction::Meter(id) => {
                    let known = matches!(self.meters.get(*id as usize), Some(Some(_)));
                    if !known {
                        return Err(MeterModFailed::UnknownMeter.into());
                    }
                    behaviour.meter = Some(*id);
                }
                Instruction::ApplyActions(actions) => behaviour.apply = self.steps(actions)?,
                Instruction::WriteActions(actions) => behaviour.write = self.steps(actions)?,
                Instruction::ClearActions => behaviour.clear = true,
                Instruction::WriteMetadata { metadata, mask } => {
                    behaviour.metadata = Some((*metadata, *mask));
                }
                Instruction::GotoTable(next) => {
                    if *next <= flow_mod.table_id || *next >= self.config.tables {
                        return Err(BadInstruction::BadTableId.into());
                    }
                    behaviour.goto = Some(*next);
                }
                Instruction::Experimenter { .. } => {
                    return Err(BadInstruction::BadExperimenter.into());
                }
                Instruction::Unknown { .. } => return Err(BadInstruction::UnknownInst.into()),
            }
        }
        Ok(behaviour)
    }

    fn steps(&self, actions: &[Action]) -> Result<Vec<ActionStep>, ErrorCode> {
        // Which port it is for only the output says; a queue that no port has is certainly wrong.
        let queues =
            self.config.ports.iter().map(|p| u32::from(p.egress.queues)).max().unwrap_or(0);
        let step = |action: &Action| match action {
            Action::Output { port, .. } if self.port_index.contains_key(port) => {
                Ok(ActionStep::Output(*port))
            }
            Action::Output { .. } => Err(BadAction::BadOutPort.into()),
            Action::SetQueue(queue) if *queue < queues => Ok(ActionStep::SetQueue(*queue)),
            Action::SetQueue(_) => Err(BadAction::BadQueue.into()),
            Action::Group(id) if self.groups.contains_key(id) => Ok(ActionStep::Group(*id)),
            Action::Group(_) => Err(BadAction::BadOutGroup.into()),
            Action::Monitor(id) if matches!(self.monitors.get(*id as usize), Some(Some(_))) => {
                Ok(ActionStep::Monitor(*id))
            }
            Action::Monitor(_) => Err(BadAction::BadArgument.into()),
            Action::Experimenter { experimenter: EXPERIMENTER_ID, .. } => {
                Err(BadAction::BadExpType.into())
            }
            Action::Experimenter { .. } => Err(BadAction::BadExperimenter.into()),
            _ => Err(BadAction::BadType.into()),
        };
        if actions.len() > ACTIONS_MAX {
            return Err(BadAction::TooMany.into());
        }
        actions.iter().map(step).collect()
    }

    fn group_mod(&mut self, group_mod: &GroupMod) -> Done {
        let known = self.groups.contains_key(&group_mod.group_id);
        match group_mod.command {
            GroupModCommand::Delete => {
                let all = group_mod.group_id == group::ALL;
                let gone = |id: u32| all || id == group_mod.group_id;
                Arc::make_mut(&mut self.groups).retain(|&id, _| !gone(id));
                self.remove_entries_using(
                    |step| matches!(*step, ActionStep::Group(id) if gone(id)),
                );
                return Ok(());
            }
            GroupModCommand::Add if known => return Err(GroupModFailed::GroupExists.into()),
            GroupModCommand::Modify if !known => return Err(GroupModFailed::UnknownGroup.into()),
            GroupModCommand::Add if self.groups.len() >= self.config.groups_max => {
                return Err(GroupModFailed::OutOfGroups.into());
            }
            _ => {}
        }
        if group_mod.group_id > group::MAX {
            return Err(GroupModFailed::InvalidGroup.into());
        }
        if !matches!(group_mod.type_, GroupType::All | GroupType::Indirect) {
            return Err(GroupModFailed::BadType.into());
        }
        let actions: usize = group_mod.buckets.iter().map(|bucket| bucket.actions.len()).sum();
        if group_mod.buckets.len() > ACTIONS_MAX {
            return Err(GroupModFailed::OutOfBuckets.into());
        }
        if actions > ACTIONS_MAX {
            return Err(BadAction::TooMany.into());
        }
        if group_mod.type_ == GroupType::Indirect && group_mod.buckets.len() != 1 {
            return Err(GroupModFailed::InvalidGroup.into());
        }
        let mut buckets = Vec::with_capacity(group_mod.buckets.len());
        for bucket in &group_mod.buckets {
            let steps = self.steps(&bucket.actions)?;
            if steps.iter().any(|step| matches!(step, ActionStep::Group(_))) {
                return Err(GroupModFailed::ChainingUnsupported.into());
            }
            buckets.push(steps);
        }
        let state = GroupState { buckets, sent: group_mod.buckets.clone(), type_: group_mod.type_ };
        Arc::make_mut(&mut self.groups).insert(group_mod.group_id, state);
        self.tables.touch();
        Ok(())
    }

    fn remove_entries_using(&mut self, uses: impl Fn(&ActionStep) -> bool) {
        for (level, id) in self.every_table() {
            self.tables.remove(level, id, |e| {
                e.behaviour.apply.iter().chain(&e.behaviour.write).any(&uses)
            });
        }
    }

    fn every_table(&self) -> Vec<(u8, u8)> {
        let tables = self.config.tables;
        (0..self.tables.levels()).flat_map(|l| (0..tables).map(move |t| (l, t))).collect()
    }

    fn meter_mod(&mut self, meter_mod: &MeterMod) -> Done {
        let id = meter_mod.meter_id as usize;
        if meter_mod.command == MeterModCommand::Delete {
            let all = meter_mod.meter_id == meter::ALL;
            for (place, state) in self.meters.iter_mut().enumerate() {
                if all || place == id {
                    *state = None;
                }
            }
            for (level, table) in self.every_table() {
                self.tables.remove(level, table, |e| {
                    e.behaviour.meter.is_some_and(|m| all || m == meter_mod.meter_id)
                });
            }
            return Ok(());
        }
        if id == 0 || id > self.config.meters_max {
            return Err(MeterModFailed::InvalidMeter.into());
        }
        let config = meter_config(meter_mod)?;
        if self.meters.len() <= id {
            self.meters.resize(id + 1, None);
        }
        match (&mut self.meters[id], meter_mod.command) {
            (Some(_), MeterModCommand::Add) => return Err(MeterModFailed::MeterExists.into()),
            (None, MeterModCommand::Modify) => return Err(MeterModFailed::UnknownMeter.into()),
            (Some(state), _) => state.meter.reconfigure(config),
            (slot, _) => {
                *slot = Some(MeterState {
                    meter: Meter::new(config),
                    seen: EntryCounter::default(),
                    dropped: EntryCounter::default(),
                });
            }
        }
        Ok(())
    }

    fn modes(
        &mut self,
        now: Instant,
        xid: u32,
        message: &ModesMessage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let mut reply = |message: ModesMessage| {
            let body = Body::Experimenter(Experimenter::Modes(message));
            Message { xid, body }.emit(&mut fx.control);
        };
        match message {
            ModesMessage::ShadowFlowMod { level, flow_mod } => {
                let deletes = matches!(
                    flow_mod.command,
                    FlowModCommand::Delete | FlowModCommand::DeleteStrict
                );
                if *level == 0 || *level >= self.tables.levels() {
                    // Nothing is there to delete; anything else needs the level to exist.
                    return if deletes { Ok(()) } else { Err(FlowModFailed::BadTableId.into()) };
                }
                if flow_mod.table_id == TABLE_WATCH {
                    return Err(FlowModFailed::BadTableId.into());
                }
                self.flow_mod(Some(*level), flow_mod)?;
            }
            ModesMessage::MonitorMod(monitor_mod) => self.monitor_mod(monitor_mod)?,
            ModesMessage::ModeConfig(config) => self.mode_config(now, config, frames, fx)?,
            ModesMessage::ModeActivate { generation, epoch, level } => {
                self.settle();
                let Some(agent) = &mut self.agent else {
                    return Err(BadRequest::BadType.into());
                };
                if agent.generation() == *generation {
                    agent.activate(now, *epoch, *level, &mut self.mode_actions);
                    self.carry_out(now, None, frames, fx);
                }
            }
            ModesMessage::ModeStatusRequest => {
                reply(ModesMessage::ModeStatusReply(self.mode_status()));
            }
            ModesMessage::MonitorStatsRequest => {
                let stats = self.monitors().map(|(monitor_id, state)| MonitorStats {
                    monitor_id,
                    messages: state.messages,
                    violations: state.violations,
                });
                reply(ModesMessage::MonitorStatsReply(stats.collect()));
            }
            ModesMessage::ShadowStatsRequest { level } => {
                let stats = if *level == 0 { Vec::new() } else { self.flow_stats(*level, None) };
                for message in ModesMessage::shadow_stats_replies(*level, stats) {
                    reply(message);
                }
            }
            _ => return Err(BadRequest::BadType.into()),
        }
        Ok(())
    }

    fn monitor_mod(&mut self, monitor_mod: &MonitorMod) -> Done {
        let id = monitor_mod.monitor_id as usize;
        if id == 0 || id > self.config.meters_max {
            return Err(BadRequest::BadLen.into());
        }
        if monitor_mod.command == MonitorCommand::Delete {
            if let Some(state) = self.monitors.get_mut(id) {
                *state = None;
            }
            let uses = |step: &ActionStep| *step == ActionStep::Monitor(monitor_mod.monitor_id);
            self.remove_entries_using(uses);
            return Ok(());
        }
        if monitor_mod.contracts.len() > mode::LEVELS_MAX {
            return Err(BadRequest::BadLen.into());
        }
        let kind = match monitor_mod.kind {
            tenuto_openflow::MonitorKind::Message => MonitorKind::Message,
            tenuto_openflow::MonitorKind::Frame => MonitorKind::Frame,
        };
        let contract = |c: &tenuto_openflow::MonitorContract| LevelContract {
            level: c.level,
            wire_bytes_max: c.bytes_max,
            period: Span::from_ns(c.period_ns),
            jitter: Span::from_ns(c.jitter_ns),
        };
        let mut contracts: Vec<_> = monitor_mod.contracts.iter().map(contract).collect();
        contracts.sort_by_key(|contract| contract.level);
        if self.monitors.len() <= id {
            self.monitors.resize(id + 1, None);
        }
        let monitor = Monitor::new(kind, &contracts);
        self.monitors[id] =
            Some(MonitorState { monitor, told: Instant::ZERO, messages: 0, violations: 0 });
        Ok(())
    }

    fn mode_config(
        &mut self,
        now: Instant,
        config: &tenuto_openflow::ModeConfig,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let levels_fit = (1..=mode::LEVELS_MAX).contains(&usize::from(config.levels));
        if !levels_fit || config.members.len() > mode::MEMBERS_MAX || config.signal_copies == 0 {
            return Err(BadRequest::BadLen.into());
        }
        let mut members = config.members.clone();
        members.sort_unstable();
        members.dedup();
        let config = ModeConfig {
            generation: config.generation,
            levels: config.levels,
            quiet: Span::from_ns(config.quiet_ns),
            retry: self.config.mode_retry,
            copies: config.signal_copies,
            members: members.into(),
        };
        if self.agent.as_ref().is_some_and(|agent| *agent.config() == config) {
            return Ok(());
        }
        self.tables.set_levels(config.levels);
        let nonce_seed = self.agent.as_ref().map_or(self.config.boot_seed, ModeAgent::nonce_next);
        let mut agent = ModeAgent::new(self.config.datapath_id, config, nonce_seed, now);
        agent.set_mutant(self.mutant);
        (self.level, self.admitted) = (agent.level(), agent.admitted());
        self.agent = Some(agent);
        // Back at the highest level until it has joined: what has no place there leaves the queues.
        self.settle();
        self.purged += u64::from(self.purge(self.level, frames, fx));
        Ok(())
    }

    fn mode_status(&self) -> ModeStatus {
        let (level, admitted_level, epoch) = self.mode();
        let steady = self.agent.as_ref().is_none_or(ModeAgent::is_steady);
        ModeStatus {
            generation: self.agent.as_ref().map_or(0, ModeAgent::generation),
            epoch,
            level,
            admitted_level,
            phase: u8::from(!steady) + u8::from(!self.has_joined()),
            purged_frames: self.purged,
            raises: self.raises,
            returns: self.returns,
            signals_rejected: self.ports.iter().map(|p| p.counters.signals_rejected).sum(),
        }
    }

    fn flow_stats(&self, level: u8, request: Option<&FlowStatsRequest>) -> Vec<FlowStats> {
        let pattern = request.and_then(|r| Pattern::from_match(&r.match_).ok());
        let mut stats = Vec::new();
        for id in 0..self.config.tables {
            let wanted = request.is_none_or(|r| r.table_id == table::ALL || r.table_id == id);
            let Some(state) = self.tables.get(level, id).filter(|_| wanted) else { continue };
            for (entry, counter) in state.table().entries().iter().zip(state.counters()) {
                let in_cookie = request
                    .is_none_or(|r| entry.cookie & r.cookie_mask == r.cookie & r.cookie_mask);
                let sends = request.is_none_or(|r| sends_to(entry, r.out_port, r.out_group));
                if in_cookie && sends && pattern.is_none_or(|p| entry.pattern.is_within(&p)) {
                    stats.push(entry_stats(id, entry, *counter));
                }
            }
        }
        stats
    }

    fn multipart(
        &mut self,
        xid: u32,
        request: &MultipartRequest,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        self.settle();
        let body = match &request.body {
            RequestBody::Flow(request) => {
                Pattern::from_match(&request.match_)?;
                if request.table_id != table::ALL && request.table_id >= self.config.tables {
                    return Err(BadRequest::BadTableId.into());
                }
                ReplyBody::Flow(self.flow_stats(0, Some(request)))
            }
            RequestBody::GroupDesc => ReplyBody::GroupDesc(
                self.groups
                    .iter()
                    .map(|(&group_id, state)| GroupDescription {
                        type_: state.type_,
                        group_id,
                        buckets: state.sent.clone(),
                    })
                    .collect(),
            ),
            RequestBody::MeterConfig { meter_id } => ReplyBody::MeterConfig(
                self.meters()
                    .filter(|(id, _)| *meter_id == meter::ALL || id == meter_id)
                    .map(|(meter_id, state)| described_meter(meter_id, state))
                    .collect(),
            ),
            _ => return self.statistics(xid, request, fx),
        };
        emit_reply(xid, body, fx);
        Ok(())
    }

    fn statistics(
        &self,
        xid: u32,
        request: &MultipartRequest,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let body = match &request.body {
            RequestBody::Desc => ReplyBody::Desc(Box::new(tenuto_openflow::Description {
                mfr_desc: FixedText::new("Tenuto"),
                hw_desc: FixedText::new("software switch"),
                sw_desc: FixedText::new(env!("CARGO_PKG_VERSION")),
                serial_num: FixedText::new(""),
                dp_desc: FixedText::new(""),
            })),
            RequestBody::Table => ReplyBody::Table(
                (0..self.config.tables)
                    .filter_map(|table_id| {
                        let state = self.tables.get(0, table_id)?;
                        let matched_count = state.counters().iter().map(|c| c.frames).sum();
                        Some(tenuto_openflow::TableStats {
                            table_id,
                            active_count: u32::try_from(state.counters().len()).unwrap_or(u32::MAX),
                            lookup_count: matched_count,
                            matched_count,
                        })
                    })
                    .collect(),
            ),
            RequestBody::PortStats { port_no } => ReplyBody::PortStats(
                self.ports
                    .iter()
                    .filter(|p| *port_no == port::ANY || p.number == *port_no)
                    .map(port_stats)
                    .collect(),
            ),
            RequestBody::Meter { meter_id } => ReplyBody::Meter(
                self.meters()
                    .filter(|(id, _)| *meter_id == meter::ALL || id == meter_id)
                    .map(|(meter_id, state)| meter_stats(meter_id, state))
                    .collect(),
            ),
            RequestBody::PortDescription => ReplyBody::PortDescription(
                self.ports.iter().map(|p| described_port(p, self.config.mac().0)).collect(),
            ),
            _ => return Err(BadRequest::BadMultipart.into()),
        };
        emit_reply(xid, body, fx);
        Ok(())
    }
}

fn emit_reply(xid: u32, body: ReplyBody, fx: &mut Effects<SwitchEvent>) {
    for part in (MultipartReply { flags: 0, body }).split() {
        Message { xid, body: Body::MultipartReply(part) }.emit(&mut fx.control);
    }
}

impl GroupState {
    /// The queue of its outputs; one for all, as the deployment gives a flow one class.
    fn queue(&self) -> Option<u8> {
        let mut queue = 0;
        let mut sends = None;
        for step in self.buckets.iter().flatten() {
            match *step {
                ActionStep::SetQueue(id) => queue = u8::try_from(id).unwrap_or(u8::MAX - 1),
                ActionStep::Output(_) => sends = sends.or(Some(queue)),
                _ => {}
            }
        }
        sends
    }
}

/// Whether a modify or delete touches an entry (OpenFlow 1.3.5, section 6.4).
fn chosen(entry: &Entry, flow_mod: &FlowMod, pattern: &Pattern, strict: bool) -> bool {
    let cookie = entry.cookie & flow_mod.cookie_mask == flow_mod.cookie & flow_mod.cookie_mask;
    let matched = if strict {
        entry.pattern == *pattern && entry.precedence == flow_mod.priority
    } else {
        entry.pattern.is_within(pattern)
    };
    cookie && matched
}

/// Whether an entry passes the conditions on its outputs that a delete or a request may make.
fn sends_to(entry: &Entry, out_port: u32, out_group: u32) -> bool {
    let has = |wanted: ActionStep| {
        let Behaviour { apply, write, .. } = &entry.behaviour;
        apply.iter().chain(write).any(|step| *step == wanted)
    };
    (out_port == port::ANY || has(ActionStep::Output(out_port)))
        && (out_group == group::ANY || has(ActionStep::Group(out_group)))
}

/// One drop band in kbit/s with a burst; anything else this switch does not do yet.
fn meter_config(meter_mod: &MeterMod) -> Result<MeterConfig, ErrorCode> {
    let kbps = meter_mod.flags & constants::meter_flag::KBPS != 0;
    let burst = meter_mod.flags & constants::meter_flag::BURST != 0;
    if !kbps || !burst {
        return Err(MeterModFailed::BadFlags.into());
    }
    match meter_mod.bands.as_slice() {
        [MeterBand::Drop { rate, burst_size }] if *burst_size > 0 => {
            Ok(MeterConfig { rate_kbps: *rate, burst_kbit: *burst_size })
        }
        [MeterBand::Drop { .. }] => Err(MeterModFailed::BadBurst.into()),
        [_] => Err(MeterModFailed::BadBand.into()),
        _ => Err(MeterModFailed::OutOfBands.into()),
    }
}

fn entry_stats(table_id: u8, entry: &Entry, counter: EntryCounter) -> FlowStats {
    FlowStats {
        table_id,
        duration_sec: 0,
        duration_nsec: 0,
        priority: entry.precedence,
        idle_timeout: 0,
        hard_timeout: 0,
        flags: entry.flags,
        cookie: entry.cookie,
        packet_count: counter.frames,
        byte_count: counter.bytes,
        match_: entry.matching.clone(),
        instructions: entry.instructions.clone(),
    }
}

fn described_meter(meter_id: u32, state: &MeterState) -> tenuto_openflow::MeterConfig {
    let MeterConfig { rate_kbps, burst_kbit } = state.meter.config();
    tenuto_openflow::MeterConfig {
        flags: constants::meter_flag::KBPS
            | constants::meter_flag::BURST
            | constants::meter_flag::STATS,
        meter_id,
        bands: vec![MeterBand::Drop { rate: rate_kbps, burst_size: burst_kbit }],
    }
}

fn meter_stats(meter_id: u32, state: &MeterState) -> tenuto_openflow::MeterStats {
    tenuto_openflow::MeterStats {
        meter_id,
        flow_count: 0,
        packet_in_count: state.seen.frames,
        byte_in_count: state.seen.bytes,
        duration_sec: 0,
        duration_nsec: 0,
        bands: vec![tenuto_openflow::BandStats {
            packet_band_count: state.dropped.frames,
            byte_band_count: state.dropped.bytes,
        }],
    }
}

fn port_stats(port: &super::PortState) -> tenuto_openflow::PortStats {
    let sent = port.egress.stats();
    let c = &port.counters;
    tenuto_openflow::PortStats {
        port_no: port.number,
        rx_packets: c.received,
        tx_packets: sent.frames,
        rx_bytes: c.received_bytes,
        tx_bytes: sent.bytes,
        rx_dropped: c.policed + c.unknown + c.out_of_mode + c.buffer_full,
        tx_dropped: sent.refused + sent.purged,
        rx_errors: c.malformed + c.signals_rejected,
        tx_errors: 0,
        rx_frame_err: 0,
        rx_over_err: 0,
        rx_crc_err: 0,
        collisions: 0,
        duration_sec: 0,
        duration_nsec: 0,
    }
}

fn described_port(state: &super::PortState, mac: [u8; 6]) -> tenuto_openflow::Port {
    let kbps = state.egress.config().rate.as_bps() / 1_000;
    let kbps = u32::try_from(kbps).unwrap_or(u32::MAX);
    tenuto_openflow::Port {
        port_no: state.number,
        hw_addr: mac,
        name: FixedText::new(&format!("p{}", state.number)),
        config: 0,
        state: constants::port_state::LIVE,
        curr: 0,
        advertised: 0,
        supported: 0,
        peer: 0,
        curr_speed: kbps,
        max_speed: kbps,
    }
}
