//! A small switch in memory: takes commands, answers barriers, tells what it holds. It shares no
//! code with what it is to check, and can be told to misbehave.

use std::collections::BTreeMap;
use tenuto_openflow::constants::{OFP_VERSION, group, meter, multipart_flag, table};
use tenuto_openflow::{
    BadRequest, Body, Bucket, ErrorCode, ErrorMessage, Experimenter, Features, FlowMod,
    FlowModCommand, FlowModFailed, FlowStats, Framer, GroupDescription, GroupModCommand, Hello,
    Instruction, Match, Message, MeterBand, MeterConfig, MeterModCommand, ModeConfig, ModeStatus,
    ModesMessage, MonitorCommand, MonitorContract, MonitorStats, MultipartReply, ReplyBody,
    RequestBody,
};

/// Level, table, priority, match.
type Key = (u8, u8, u16, Vec<u8>);

/// What it holds, for comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Held {
    pub(super) entries: BTreeMap<Key, (u64, Match, Vec<Instruction>)>,
    pub(super) groups: BTreeMap<u32, Vec<Bucket>>,
    pub(super) meters: BTreeMap<u32, (u16, Vec<MeterBand>)>,
    pub(super) monitors: BTreeMap<u32, Vec<MonitorContract>>,
    pub(super) config: Option<ModeConfig>,
}

type Refuse = fn(&Body) -> Option<ErrorCode>;

#[derive(Clone, Debug)]
pub(super) struct FakeSwitch {
    pub(super) dpid: u64,
    pub(super) held: Held,
    /// Every message received, in order.
    pub(super) log: Vec<Body>,
    pub(super) knows_modes: bool,
    /// Refuses instead of carrying out.
    pub(super) refuse: Refuse,
    /// Refuses so manieth command from now on, and counts down to it.
    pub(super) refuse_at: Option<usize>,
    /// Answers fields and instructions in another order, and in many parts.
    pub(super) is_contrary: bool,
    /// Answers nothing any more.
    pub(super) is_mute: bool,
    /// (epoch, level) of the last activation.
    pub(super) active: Option<(u64, u8)>,
    pub(super) framer: Framer,
    pub(super) output: Vec<u8>,
}

/// Whether a message changes what a switch holds.
fn is_command(body: &Body) -> bool {
    match body {
        Body::Experimenter(Experimenter::Modes(message)) => matches!(
            message,
            ModesMessage::ShadowFlowMod { .. }
                | ModesMessage::MonitorMod(_)
                | ModesMessage::ModeConfig(_)
        ),
        other => matches!(other, Body::FlowMod(_) | Body::GroupMod(_) | Body::MeterMod(_)),
    }
}

fn match_bytes(match_: &Match) -> Vec<u8> {
    let flow_mod = FlowMod { match_: match_.clone(), ..FlowMod::new(FlowModCommand::Add, 0) };
    Message::new(0, Body::FlowMod(flow_mod)).to_bytes()
}

impl FakeSwitch {
    pub(super) fn new(dpid: u64) -> Self {
        let mut switch = Self {
            dpid,
            held: Held::default(),
            log: Vec::new(),
            knows_modes: true,
            refuse: |_| None,
            refuse_at: None,
            is_contrary: false,
            is_mute: false,
            active: None,
            framer: Framer::new(),
            output: Vec::new(),
        };
        switch.reconnect();
        switch
    }

    /// A new connection to the same switch.
    pub(super) fn reconnect(&mut self) {
        self.framer = Framer::new();
        self.output.clear();
        self.tell(0, Body::Hello(Hello::default()));
    }

    pub(super) fn tell(&mut self, xid: u32, body: Body) {
        if !self.is_mute {
            Message::new(xid, body).emit(&mut self.output);
        }
    }

    pub(super) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// The commands received since the log was last cleared.
    pub(super) fn commands(&self) -> impl Iterator<Item = &Body> {
        self.log.iter().filter(|body| is_command(body))
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) {
        self.framer.push(bytes).expect("the controller's turns are small");
        while let Some(message) = self.framer.next() {
            let message = message.expect("the controller sends well-formed messages");
            self.log.push(message.body.clone());
            if let Err(error) = self.handle(&message) {
                let bytes = message.to_bytes();
                self.tell(message.xid, Body::Error(ErrorMessage::new(error, &bytes)));
            }
        }
    }

    fn handle(&mut self, message: &Message) -> Result<(), ErrorCode> {
        if let Some(error) = (self.refuse)(&message.body) {
            return Err(error);
        }
        if is_command(&message.body)
            && let Some(left) = &mut self.refuse_at
        {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.refuse_at = None;
                return Err(BadRequest::Eperm.into());
            }
        }
        let xid = message.xid;
        match &message.body {
            Body::Hello(hello) => assert!(hello.offers(OFP_VERSION)),
            Body::FeaturesRequest => {
                let (datapath_id, n_tables) = (self.dpid, 3);
                let (n_buffers, auxiliary_id, capabilities) = (0, 0, 0);
                let features =
                    Features { datapath_id, n_buffers, n_tables, auxiliary_id, capabilities };
                self.tell(xid, Body::FeaturesReply(features));
            }
            Body::EchoRequest(data) => self.tell(xid, Body::EchoReply(data.clone())),
            Body::BarrierRequest => self.tell(xid, Body::BarrierReply),
            Body::FlowMod(flow_mod) => return self.flow_mod(0, flow_mod),
            Body::GroupMod(group) => match group.command {
                GroupModCommand::Delete => {
                    let all = group.group_id == group::ALL;
                    self.held.groups.retain(|id, _| !all && *id != group.group_id);
                }
                command => {
                    let old = self.held.groups.insert(group.group_id, group.buckets.clone());
                    assert_eq!(old.is_some(), command == GroupModCommand::Modify);
                }
            },
            Body::MeterMod(meter) => match meter.command {
                MeterModCommand::Delete => {
                    let all = meter.meter_id == meter::ALL;
                    self.held.meters.retain(|id, _| !all && *id != meter.meter_id);
                }
                command => {
                    let value = (meter.flags, meter.bands.clone());
                    let old = self.held.meters.insert(meter.meter_id, value);
                    assert_eq!(old.is_some(), command == MeterModCommand::Modify);
                }
            },
            Body::MultipartRequest(request) => self.multipart(xid, &request.body),
            Body::Experimenter(Experimenter::Modes(message)) if self.knows_modes => {
                return self.modes(xid, message);
            }
            Body::Experimenter(_) => return Err(BadRequest::BadExperimenter.into()),
            _ => {}
        }
        Ok(())
    }

    fn flow_mod(&mut self, level: u8, flow_mod: &FlowMod) -> Result<(), ErrorCode> {
        let matching = match_bytes(&flow_mod.match_);
        let key = (level, flow_mod.table_id, flow_mod.priority, matching);
        match flow_mod.command {
            FlowModCommand::Add => {
                assert_ne!(flow_mod.table_id, table::ALL);
                self.check_references(&flow_mod.instructions)?;
                let (match_, instructions) = (flow_mod.match_.clone(), &flow_mod.instructions);
                let value = (flow_mod.cookie, match_, instructions.clone());
                self.held.entries.insert(key, value);
            }
            FlowModCommand::DeleteStrict => {
                self.held.entries.remove(&key).expect("only what is there is deleted strictly");
            }
            FlowModCommand::Delete => self.held.entries.retain(|key, _| key.0 != level),
            _ => return Err(FlowModFailed::BadCommand.into()),
        }
        Ok(())
    }

    /// What an entry refers to must be there first.
    fn check_references(&self, instructions: &[Instruction]) -> Result<(), ErrorCode> {
        for instruction in instructions {
            let is_known = match instruction {
                Instruction::Meter(id) => self.held.meters.contains_key(id),
                Instruction::ApplyActions(actions) => actions.iter().all(|action| match action {
                    tenuto_openflow::Action::Group(id) => self.held.groups.contains_key(id),
                    tenuto_openflow::Action::Monitor(id) => self.held.monitors.contains_key(id),
                    _ => true,
                }),
                _ => true,
            };
            if !is_known {
                return Err(FlowModFailed::Unknown.into());
            }
        }
        Ok(())
    }

    fn modes(&mut self, xid: u32, message: &ModesMessage) -> Result<(), ErrorCode> {
        let reply = match message {
            ModesMessage::ShadowFlowMod { level, flow_mod } => {
                // A level that it was not told of has no table.
                if self.held.config.as_ref().is_none_or(|config| config.levels <= *level) {
                    return Err(FlowModFailed::BadTableId.into());
                }
                return self.flow_mod(*level, flow_mod);
            }
            ModesMessage::MonitorMod(monitor) => {
                match monitor.command {
                    MonitorCommand::Delete => self.held.monitors.remove(&monitor.monitor_id),
                    _ => {
                        let contracts = monitor.contracts.clone();
                        self.held.monitors.insert(monitor.monitor_id, contracts)
                    }
                };
                return Ok(());
            }
            ModesMessage::ModeConfig(config) => {
                if self.held.config.as_ref() != Some(config) {
                    self.held.config = Some(config.clone());
                    self.active = None;
                }
                return Ok(());
            }
            ModesMessage::ModeActivate { generation, epoch, level } => {
                assert_eq!(Some(*generation), self.held.config.as_ref().map(|c| c.generation));
                self.active = Some((*epoch, *level));
                return Ok(());
            }
            ModesMessage::ModeStatusRequest => ModesMessage::ModeStatusReply(self.status()),
            ModesMessage::MonitorStatsRequest => {
                let ids = self.held.monitors.keys();
                let stats = |&monitor_id| MonitorStats { monitor_id, messages: 7, violations: 0 };
                ModesMessage::MonitorStatsReply(ids.map(stats).collect())
            }
            ModesMessage::ShadowStatsRequest { level } => {
                let entries = self.stats(*level);
                let half = entries.len() / 2;
                let part = |entries: &[FlowStats], more| {
                    let (level, entries) = (*level, entries.to_vec());
                    ModesMessage::ShadowStatsReply { level, more, entries }
                };
                let first = part(&entries[..half], true);
                self.tell(xid, Body::Experimenter(Experimenter::Modes(first)));
                part(&entries[half..], false)
            }
            _ => return Err(BadRequest::BadExpType.into()),
        };
        self.tell(xid, Body::Experimenter(Experimenter::Modes(reply)));
        Ok(())
    }

    pub(super) fn status(&self) -> ModeStatus {
        let levels = self.held.config.as_ref().map_or(1, |config| config.levels);
        let (epoch, level) = self.active.unwrap_or((0, levels - 1));
        ModeStatus {
            generation: self.held.config.as_ref().map_or(0, |config| config.generation),
            epoch,
            level,
            admitted_level: level,
            phase: 0,
            is_standalone: false,
            purged_frames: 0,
            raises: 0,
            returns: 0,
            signals_rejected: 0,
        }
    }

    fn stats(&self, level: u8) -> Vec<FlowStats> {
        let entries = self.held.entries.iter().filter(|((l, ..), _)| *l == level);
        let stats = |((_, table_id, priority, _), (cookie, match_, instructions)): (
            &Key,
            &(u64, Match, Vec<Instruction>),
        )| {
            let (mut match_, mut instructions) = (match_.clone(), instructions.clone());
            if self.is_contrary {
                match_.oxms.reverse();
                instructions.reverse();
            }
            FlowStats {
                table_id: *table_id,
                duration_sec: 1,
                duration_nsec: 2,
                priority: *priority,
                idle_timeout: 0,
                hard_timeout: 0,
                flags: 0,
                cookie: *cookie,
                packet_count: 3,
                byte_count: 4,
                match_,
                instructions,
            }
        };
        entries.map(stats).collect()
    }

    fn multipart(&mut self, xid: u32, request: &RequestBody) {
        let body = match request {
            RequestBody::Flow(_) => {
                let entries = self.stats(0);
                let size = if self.is_contrary { 1 } else { entries.len().max(1) };
                for part in entries.chunks(size) {
                    let (flags, body) = (multipart_flag::MORE, ReplyBody::Flow(part.to_vec()));
                    self.tell(xid, Body::MultipartReply(MultipartReply { flags, body }));
                }
                ReplyBody::Flow(Vec::new())
            }
            RequestBody::GroupDesc => {
                let describe = |(&group_id, buckets): (&u32, &Vec<Bucket>)| GroupDescription {
                    type_: tenuto_openflow::GroupType::All,
                    group_id,
                    buckets: buckets.clone(),
                };
                ReplyBody::GroupDesc(self.held.groups.iter().map(describe).collect())
            }
            RequestBody::MeterConfig { .. } => {
                let config = |(&meter_id, (flags, bands)): (&u32, &(u16, Vec<MeterBand>))| {
                    MeterConfig { flags: *flags, meter_id, bands: bands.clone() }
                };
                ReplyBody::MeterConfig(self.held.meters.iter().map(config).collect())
            }
            other => panic!("the controller never asks for {other:?}"),
        };
        self.tell(xid, Body::MultipartReply(MultipartReply { flags: 0, body }));
    }
}
