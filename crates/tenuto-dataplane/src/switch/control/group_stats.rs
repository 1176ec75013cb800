//! Reading groups back, some at a time: each may have as many buckets as a table has entries.

use super::task::{GroupReading, Task};
use super::{Done, Request};
use crate::Effects;
use crate::switch::actions::group::{GroupCounters, GroupState};
use crate::switch::tables::expiry::duration;
use crate::switch::tables::users::User;
use crate::switch::{EntryCounter, Switch, SwitchEvent};
use tenuto_openflow::constants::{group, multipart_flag};
use tenuto_openflow::{Body, BucketStats, GroupDescription, GroupStats, MultipartReply, ReplyBody};
use tenuto_units::Instant;

impl Switch {
    /// Tells groups, or with `counted` what they have seen.
    pub(super) fn read_groups(
        &mut self,
        request: Request,
        counted: Option<u32>,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let reading = GroupReading { counted, next: Some(0) };
        if let Some(Task::Groups(mut reading)) = self.note_down(request, Task::Groups(reading)) {
            self.tell_groups(request, &mut reading, fx);
        }
        Ok(())
    }

    /// Tells the next groups; true if these were the last.
    pub(super) fn tell_groups(
        &self,
        request: Request,
        reading: &mut GroupReading,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let from = reading.next.unwrap_or(u32::MAX);
        let body = match reading.counted {
            None => {
                let chosen = self.groups.range(from..);
                let chosen = chosen.map(|(&id, state)| (id, state, state.buckets.len()));
                let chosen = self.some_of(chosen, &mut reading.next);
                ReplyBody::GroupDesc(chosen.into_iter().map(described).collect())
            }
            Some(wanted) => {
                let range = if wanted == group::ALL { from..=u32::MAX } else { wanted..=wanted };
                let counters =
                    self.general.iter().flat_map(|general| general.groups.range(range.clone()));
                let chosen = counters.map(|(id, seen)| (id, seen, seen.buckets.len()));
                let chosen = self.some_of(chosen, &mut reading.next);
                let told = chosen.into_iter().map(|(id, seen)| self.counted(request.now, id, seen));
                ReplyBody::Group(told.collect())
            }
        };
        let is_done = reading.next.is_none();
        let flags = if is_done { 0 } else { multipart_flag::MORE };
        for part in (MultipartReply { flags, body }).split() {
            self.answer(request, Body::MultipartReply(part), fx);
        }
        is_done
    }

    /// As many of the groups as are told at once, by their buckets; `next` is then the one behind.
    fn some_of<'a, T>(
        &self,
        groups: impl Iterator<Item = (u32, &'a T, usize)>,
        next: &mut Option<u32>,
    ) -> Vec<(u32, &'a T)> {
        let limit = self.policy.entries_at_once;
        let (mut chosen, mut cost) = (Vec::new(), 0);
        *next = None;
        for (id, state, buckets) in groups {
            if limit.is_some_and(|limit| cost >= limit as usize) {
                *next = Some(id);
                break;
            }
            cost += 1 + buckets;
            chosen.push((id, state));
        }
        chosen
    }

    fn counted(&self, now: Instant, id: u32, seen: &GroupCounters) -> GroupStats {
        let (duration_sec, duration_nsec) = duration(now, seen.since);
        let bucket = |counter: &EntryCounter| BucketStats {
            packet_count: counter.frames,
            byte_count: counter.bytes,
        };
        GroupStats {
            group_id: id,
            ref_count: self.tables.users(0, User::Group(id)) + self.groups.leading(id),
            packet_count: seen.all.frames,
            byte_count: seen.all.bytes,
            duration_sec,
            duration_nsec,
            buckets: seen.buckets.iter().map(bucket).collect(),
        }
    }
}

fn described((group_id, state): (u32, &GroupState)) -> GroupDescription {
    GroupDescription { type_: state.type_, group_id, buckets: state.sent.clone() }
}
