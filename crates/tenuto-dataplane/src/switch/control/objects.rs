//! What entries refer to: groups, meters and monitors. Whatever goes takes its entries with it.

use super::{ACTIONS_MAX, Done};
use crate::switch::meter::{Meter, MeterConfig};
use crate::switch::monitor::{LevelContract, Monitor, MonitorKind};
use crate::switch::table::ActionStep;
use crate::switch::tables::EntryCounter;
use crate::switch::{LEVELS_MAX, MeterState, MonitorState, Switch};
use std::sync::Arc;
use tenuto_openflow::constants::{group, meter, meter_flag};
use tenuto_openflow::{
    BadAction, BadRequest, Bucket, ErrorCode, GroupMod, GroupModCommand, GroupModFailed, GroupType,
    MeterBand, MeterMod, MeterModCommand, MeterModFailed, MonitorCommand, MonitorMod,
};
use tenuto_units::{Instant, Span};

/// A group of type *all*, as executed and as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::switch) struct GroupState {
    /// Actions of each bucket.
    pub buckets: Vec<Vec<ActionStep>>,
    /// Buckets as they were sent.
    pub(super) sent: Vec<Bucket>,
    /// Type as it was sent.
    pub(super) type_: GroupType,
}

impl GroupState {
    /// The queue of its outputs; one for all, as the deployment gives a flow one class.
    pub(super) fn queue(&self) -> Option<u8> {
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

impl Switch {
    pub(super) fn group_mod(&mut self, group_mod: &GroupMod) -> Done {
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

    pub(super) fn meter_mod(&mut self, meter_mod: &MeterMod) -> Done {
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

    pub(super) fn monitor_mod(&mut self, monitor_mod: &MonitorMod) -> Done {
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
        if monitor_mod.contracts.len() > LEVELS_MAX {
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
}

/// One drop band in kbit/s with a burst; anything else this switch does not do yet.
fn meter_config(meter_mod: &MeterMod) -> Result<MeterConfig, ErrorCode> {
    let kbps = meter_mod.flags & meter_flag::KBPS != 0;
    let burst = meter_mod.flags & meter_flag::BURST != 0;
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
