//! What entries refer to: groups, meters and monitors. Whatever goes takes its entries with it.

use super::task::{Deletion, Task};
use super::{Done, Request};
use crate::Effects;
use crate::switch::actions::group::{
    BucketState, COST_MAX, DEPTH_MAX, Extent, GroupCounters, GroupState, Groups, LINKS_MAX, extent,
};
use crate::switch::meter::BURST_BITS_MAX;
use crate::switch::monitor::{LevelContract, MonitorKind};
use crate::switch::path_cache::invalidation::Change;
use crate::switch::policy::ACTIONS_MAX;
use crate::switch::tables::EntryCounter;
use crate::switch::tables::entry::ActionStep;
use crate::switch::{LEVELS_MAX, MeterState, MonitorState, Switch, SwitchEvent};
use std::collections::BTreeSet;
use std::sync::Arc;
use tenuto_openflow::constants::{group, meter, meter_flag, port};
use tenuto_openflow::{
    Action, BadAction, BadRequest, Bucket, ErrorCode, ExactDrop, GroupMod, GroupModCommand,
    GroupModFailed, GroupType, MeterBand, MeterMod, MeterModCommand, MeterModFailed,
    MonitorCommand, MonitorMod,
};
use tenuto_units::{Instant, Span};

/// Steps of drop precedence that a band can raise by: more have no meaning (RFC 2597).
const PRECEDENCES: std::ops::RangeInclusive<u8> = 1..=2;

impl Switch {
    pub(super) fn group_mod(
        &mut self,
        request: Request,
        group_mod: &GroupMod,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let now = request.now;
        let known = self.groups.contains_key(&group_mod.group_id);
        match group_mod.command {
            GroupModCommand::Delete => {
                self.check_unchained(group_mod.group_id)?;
                let deletion = Deletion::Groups(group_mod.clone());
                return self.delete_in_steps(request, deletion, fx);
            }
            GroupModCommand::Add if known => return Err(GroupModFailed::GroupExists.into()),
            GroupModCommand::Modify if !known => return Err(GroupModFailed::UnknownGroup.into()),
            GroupModCommand::Add if self.groups.len() >= self.config.groups_max => {
                return Err(GroupModFailed::OutOfGroups.into());
            }
            _ => {}
        }
        let state = self.checked_group(group_mod)?;
        let counters = GroupCounters {
            all: EntryCounter::default(),
            buckets: vec![EntryCounter::default(); state.buckets.len()],
            since: now,
        };
        Arc::make_mut(&mut self.groups).insert(group_mod.group_id, state);
        if let Some(general) = &mut self.general {
            general.groups.put(group_mod.group_id, counters);
        }
        // Cached paths lead through what groups do, and to where their counters are.
        self.tables.invalidate_paths(Change::Any);
        Ok(())
    }

    fn checked_group(&self, group_mod: &GroupMod) -> Result<GroupState, ErrorCode> {
        let type_ = group_mod.type_;
        if group_mod.group_id > group::MAX {
            return Err(GroupModFailed::InvalidGroup.into());
        }
        if !self.policy.takes_group(type_) {
            return Err(GroupModFailed::BadType.into());
        }
        let actions: usize = group_mod.buckets.iter().map(|bucket| bucket.actions.len()).sum();
        if group_mod.buckets.len() > self.policy.buckets_max {
            return Err(GroupModFailed::OutOfBuckets.into());
        }
        if actions > ACTIONS_MAX {
            return Err(BadAction::TooMany.into());
        }
        if type_ == GroupType::Indirect && group_mod.buckets.len() != 1 {
            return Err(GroupModFailed::InvalidGroup.into());
        }
        let all_actions = group_mod.buckets.iter().flat_map(|bucket| &bucket.actions);
        if self.policy.takes_chains()
            && all_actions.into_iter().any(|a| *a == Action::Group(group_mod.group_id))
        {
            // Also where it is not there yet, and so could not be referred to.
            return Err(GroupModFailed::Loop.into());
        }
        let mut buckets = Vec::with_capacity(group_mod.buckets.len());
        for bucket in &group_mod.buckets {
            let steps = self.bucket_steps(&bucket.actions)?;
            let is_chained = steps.iter().any(|step| matches!(step, ActionStep::Group(_)));
            if is_chained && !self.policy.takes_chains() {
                return Err(GroupModFailed::ChainingUnsupported.into());
            }
            if self.policy.is_general() {
                self.check_bucket(type_, bucket)?;
            }
            let Bucket { weight, watch_port, watch_group, .. } = *bucket;
            buckets.push(BucketState { steps, weight, watch_port, watch_group });
        }
        let state = GroupState::new(type_, buckets, group_mod.buckets.clone());
        if self.policy.takes_chains() {
            self.check_chain(group_mod.group_id, &state)?;
        }
        Ok(state)
    }

    /// Weight and watches that go with the type (OpenFlow 1.3.5, sections 6.7 and 7.3.4.3). A weight of
    /// zero is a bucket that gets nothing; only where one is selected may there be another.
    fn check_bucket(&self, type_: GroupType, bucket: &Bucket) -> Done {
        if type_ != GroupType::Select && bucket.weight != 0 {
            return Err(GroupModFailed::InvalidGroup.into());
        }
        let watches_port = bucket.watch_port != port::ANY;
        let watches_group = bucket.watch_group != group::ANY;
        let bad = Err(GroupModFailed::BadWatch.into());
        match type_ {
            GroupType::FastFailover if !watches_port && !watches_group => return bad,
            GroupType::FastFailover | GroupType::Select => {}
            // Other types send whether anything is live or not; what their buckets say of it has
            // no meaning, and zero is what is often sent there.
            _ => return Ok(()),
        }
        if watches_port && !self.port_index.contains_key(&bucket.watch_port) {
            return bad;
        }
        if watches_group && !self.groups.contains_key(&bucket.watch_group) {
            return bad;
        }
        Ok(())
    }

    fn check_chain(&self, id: u32, state: &GroupState) -> Done {
        // A change can lengthen every chain that leads here.
        let is_led_to = self.groups.leading(id) > 0;
        if self.groups.links_with(id, state) > LINKS_MAX {
            return Err(GroupModFailed::OutOfBuckets.into());
        }
        let all = self.groups.keys().copied().filter(|_| is_led_to);
        let largest = extent(&self.groups, (id, state), all.chain([id]));
        let Extent { depth, cost } = largest.ok_or(GroupModFailed::Loop)?;
        if depth > DEPTH_MAX {
            return Err(GroupModFailed::ChainingUnsupported.into());
        }
        match cost > COST_MAX {
            true => Err(GroupModFailed::OutOfBuckets.into()),
            false => Ok(()),
        }
    }

    /// Whether no group that stays leads to what is to go.
    fn check_unchained(&self, group_id: u32) -> Done {
        match group_id != group::ALL && self.groups.leading(group_id) > 0 {
            true => Err(GroupModFailed::ChainedGroup.into()),
            false => Ok(()),
        }
    }

    /// Removes groups that no group leads to any more; the entries that use them are gone.
    fn delete_groups(&mut self, group_id: u32) -> Done {
        self.check_unchained(group_id)?;
        let groups = Arc::make_mut(&mut self.groups);
        match group_id {
            group::ALL => *groups = Groups::default(),
            id => groups.remove(id),
        }
        if let Some(general) = &mut self.general {
            general.groups.remove(group_id);
        }
        self.tables.invalidate_paths(Change::Any);
        Ok(())
    }

    /// Removes what goes, and first the entries that use it: in steps if there may be very many.
    fn delete_in_steps(
        &mut self,
        request: Request,
        deletion: Deletion,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let now = match self.takes_much_along(&deletion) {
            true => self.note_down(request, Task::Delete(deletion)),
            false => Some(Task::Delete(deletion)),
        };
        match now {
            Some(Task::Delete(deletion)) => self.finish_deletion(request.now, &deletion, fx),
            _ => Ok(()),
        }
    }

    /// Whether more entries, or groups and buckets, may go than are handled at once.
    fn takes_much_along(&self, deletion: &Deletion) -> bool {
        let Some(limit) = self.entries_at_once() else { return false };
        let groups = match deletion {
            Deletion::Groups(it) if it.group_id == group::ALL => {
                self.groups.values().map(|state| 1 + state.buckets.len()).sum()
            }
            _ => 0,
        };
        groups + self.tables.seats(deletion.used()).take(limit + 1).count() > limit
    }

    /// The end of a deletion, and all of one that takes no steps.
    pub(super) fn finish_deletion(
        &mut self,
        now: Instant,
        deletion: &Deletion,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        match deletion {
            Deletion::Meters(it) => self.delete_meters(it.meter_id),
            Deletion::Groups(it) => self.delete_groups(it.group_id)?,
            Deletion::Monitor(it) if self.tables.has_monitor(it.monitor_id) => {
                *self.tables.monitor_place(it.monitor_id) = None;
            }
            Deletion::Monitor(_) => {}
        }
        self.remove_users(now, deletion, usize::MAX, fx);
        Ok(())
    }

    /// Removes entries that use what goes, not more than `limit`; gives how many.
    pub(super) fn remove_users(
        &mut self,
        now: Instant,
        deletion: &Deletion,
        limit: usize,
        fx: &mut Effects<SwitchEvent>,
    ) -> usize {
        // An entry that uses several groups is among them several times.
        let mut seats = BTreeSet::new();
        for (level, (table, slot)) in self.tables.seats(deletion.used()) {
            if seats.len() == limit {
                break;
            }
            let rank = self.tables.get(level, table).map(|state| state.table().rank(slot));
            seats.insert((level, table, rank, slot));
        }
        let seats: Vec<_> =
            seats.into_iter().map(|(level, table, _, slot)| (level, table, slot)).collect();
        for &(level, table, slot) in &seats {
            let removed = [self.tables.remove_slot(level, table, slot)];
            self.forget(now, (level, table), &removed, deletion.reason(), fx);
        }
        seats.len()
    }

    pub(super) fn meter_mod(
        &mut self,
        request: Request,
        meter_mod: &MeterMod,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let now = request.now;
        if meter_mod.command == MeterModCommand::Delete {
            return self.delete_in_steps(request, Deletion::Meters(meter_mod.clone()), fx);
        }
        let is_virtual =
            meter_mod.meter_id == meter::CONTROLLER && self.policy.has_controller_meter();
        if !is_virtual {
            self.check_meter_id(meter_mod)?;
        }
        self.check_meter(meter_mod)?;
        if self.policy.is_general() && meter_mod.command == MeterModCommand::Modify {
            // A cached path leads past no meter that changes frames, as those of planned switches never do.
            self.tables.invalidate_paths(Change::Any);
        }
        let new = MeterState::new(meter_mod.flags, &meter_mod.bands, now);
        let place = match &mut self.general {
            Some(general) if is_virtual => &mut general.controller_meter,
            _ => self.tables.meter_place(meter_mod.meter_id),
        };
        match (place, meter_mod.command) {
            (Some(_), MeterModCommand::Add) => Err(MeterModFailed::MeterExists.into()),
            (None, MeterModCommand::Modify) => Err(MeterModFailed::UnknownMeter.into()),
            (Some(state), _) => {
                state.reconfigure(new);
                Ok(())
            }
            (place, _) => {
                *place = Some(new);
                Ok(())
            }
        }
    }

    fn delete_meters(&mut self, meter_id: u32) {
        let all = self.tables.meter_ids();
        let gone = if meter_id == meter::ALL { all } else { meter_id..meter_id.saturating_add(1) };
        for id in gone {
            if self.tables.has_meter(id) {
                *self.tables.meter_place(id) = None;
            }
        }
        if let Some(general) = &mut self.general
            && matches!(meter_id, meter::ALL | meter::CONTROLLER)
        {
            general.controller_meter = None;
        }
    }

    /// Ids are places: there is no room beyond the last one.
    fn check_meter_id(&self, meter_mod: &MeterMod) -> Done {
        let id = meter_mod.meter_id;
        let is_beyond = id as usize > self.config.meters_max;
        match meter_mod.command {
            _ if id == 0 || id > meter::MAX => Err(MeterModFailed::InvalidMeter.into()),
            MeterModCommand::Modify if is_beyond => Err(MeterModFailed::UnknownMeter.into()),
            _ if is_beyond => Err(MeterModFailed::OutOfMeters.into()),
            _ => Ok(()),
        }
    }

    fn check_meter(&self, meter_mod: &MeterMod) -> Done {
        if !self.policy.is_general() {
            return check_planned_meter(meter_mod);
        }
        const KNOWN: u16 =
            meter_flag::KBPS | meter_flag::PKTPS | meter_flag::BURST | meter_flag::STATS;
        // Without a unit rates are kbit/s (section 7.3.4.5).
        const UNITS: u16 = meter_flag::KBPS | meter_flag::PKTPS;
        if meter_mod.flags & !KNOWN != 0 || meter_mod.flags & UNITS == UNITS {
            return Err(MeterModFailed::BadFlags.into());
        }
        if meter_mod.bands.len() > usize::from(self.policy.bands_max) {
            return Err(MeterModFailed::OutOfBands.into());
        }
        let counts_bits = meter_mod.flags & meter_flag::PKTPS == 0;
        let is_stated = counts_bits && meter_mod.flags & meter_flag::BURST != 0;
        meter_mod.bands.iter().try_for_each(|band| match *band {
            MeterBand::DscpRemark { prec_level, .. } if !PRECEDENCES.contains(&prec_level) => {
                Err(MeterModFailed::BadBandValue.into())
            }
            MeterBand::Drop { burst_size, .. } | MeterBand::DscpRemark { burst_size, .. } => {
                check_burst(if is_stated { kbit(burst_size) } else { 0 })
            }
            _ => match band.as_exact_drop()? {
                None => Err(MeterModFailed::BadBand.into()),
                // A burst in bytes fills with bits.
                Some(_) if !counts_bits => Err(MeterModFailed::BadFlags.into()),
                Some(exact) => check_exact(exact),
            },
        })
    }

    pub(super) fn monitor_mod(
        &mut self,
        request: Request,
        monitor_mod: &MonitorMod,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let id = monitor_mod.monitor_id as usize;
        if id == 0 || id > self.config.meters_max {
            return Err(BadRequest::BadLen.into());
        }
        if monitor_mod.command == MonitorCommand::Delete {
            return self.delete_in_steps(request, Deletion::Monitor(monitor_mod.clone()), fx);
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
        let place = self.tables.monitor_place(monitor_mod.monitor_id);
        // Said again, as a controller that was restarted does, it keeps what it has seen: a fresh one would
        // let one message pass that came too early.
        if !place.as_ref().is_some_and(|it| it.is_of(kind, &contracts)) {
            *place = Some(MonitorState::new(kind, &contracts));
        }
        Ok(())
    }
}

/// Bits of a burst in kbit.
const fn kbit(burst_size: u32) -> u64 {
    burst_size as u64 * 1_000
}

/// Whether a bucket holds so many bits.
fn check_burst(bits: u64) -> Done {
    match bits <= BURST_BITS_MAX {
        true => Ok(()),
        false => Err(MeterModFailed::BadBurst.into()),
    }
}

/// A bucket of nothing would pass nothing.
fn check_exact(exact: ExactDrop) -> Done {
    match exact.burst_bytes {
        0 => Err(MeterModFailed::BadBurst.into()),
        bytes => check_burst(bytes.saturating_mul(8)),
    }
}

/// One band that drops bits beyond a burst: what the analysis of a planned network knows.
fn check_planned_meter(meter_mod: &MeterMod) -> Done {
    let kbps = meter_mod.flags & meter_flag::KBPS != 0;
    let burst = meter_mod.flags & meter_flag::BURST != 0;
    if !kbps || !burst {
        return Err(MeterModFailed::BadFlags.into());
    }
    match meter_mod.bands.as_slice() {
        [MeterBand::Drop { burst_size: 0, .. }] => Err(MeterModFailed::BadBurst.into()),
        [MeterBand::Drop { burst_size, .. }] => check_burst(kbit(*burst_size)),
        [band] => match band.as_exact_drop()? {
            Some(exact) => check_exact(exact),
            None => Err(MeterModFailed::BadBand.into()),
        },
        _ => Err(MeterModFailed::OutOfBands.into()),
    }
}
