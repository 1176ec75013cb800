//! Groups: what they are, and which of their buckets a frame goes to (OpenFlow 1.3.5, section
//! 5.6).

use super::Switch;
use super::entry::ActionStep;
use super::key::PacketKey;
use super::tables::EntryCounter;
use std::collections::BTreeMap;
use tenuto_openflow::constants::{group, port};
use tenuto_openflow::{Bucket, GroupType};
use tenuto_units::Instant;

/// Groups that may follow each other; deeper ones are refused when they are added.
pub(super) const DEPTH_MAX: usize = 8;

/// What a bucket does, and what decides whether it is live.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BucketState {
    pub(super) steps: Vec<ActionStep>,
    pub(super) weight: u16,
    pub(super) watch_port: u32,
    pub(super) watch_group: u32,
}

/// A group, as executed and as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupState {
    pub(super) buckets: Vec<BucketState>,
    /// Buckets as they were sent.
    pub(super) sent: Vec<Bucket>,
    pub(super) type_: GroupType,
}

/// What a group has seen; beside the group, which packets do not write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupCounters {
    pub(super) all: EntryCounter,
    pub(super) buckets: Vec<EntryCounter>,
    pub(super) since: Instant,
}

pub(super) type Groups = BTreeMap<u32, GroupState>;

impl GroupState {
    /// The queue of its outputs; one for all, as the deployment gives a flow one class.
    pub(super) fn queue(&self) -> Option<u8> {
        let mut queue = 0;
        let mut sends = None;
        for step in self.buckets.iter().flat_map(|bucket| &bucket.steps) {
            match *step {
                ActionStep::SetQueue(id) => queue = u8::try_from(id).unwrap_or(u8::MAX - 1),
                ActionStep::Output(_) => sends = sends.or(Some(queue)),
                _ => {}
            }
        }
        sends
    }

    /// Groups that it hands frames to, or watches.
    pub(super) fn uses(&self) -> impl Iterator<Item = u32> {
        self.buckets.iter().flat_map(|bucket| {
            let forwards = bucket.steps.iter().filter_map(|step| match step {
                ActionStep::Group(id) => Some(*id),
                _ => None,
            });
            let watched = Some(bucket.watch_group).filter(|&id| id != group::ANY);
            forwards.chain(watched)
        })
    }
}

/// How many groups follow each other from this one on; `None` if they come back to where they were.
pub(super) fn depth(groups: &Groups, id: u32) -> Option<usize> {
    fn walk(groups: &Groups, id: u32, left: usize) -> Option<usize> {
        let left = left.checked_sub(1)?;
        let Some(state) = groups.get(&id) else { return Some(1) };
        let mut below = state.uses().map(|next| walk(groups, next, left));
        below.try_fold(0, |most, depth| Some(most.max(depth?))).map(|depth| depth + 1)
    }
    // Without a loop no chain is longer than there are groups.
    walk(groups, id, groups.len() + 1)
}

impl Switch {
    /// Whether a bucket can deliver: what it watches is live, or it watches nothing.
    fn is_bucket_live(&self, groups: &Groups, bucket: &BucketState, left: usize) -> bool {
        let port_live = bucket.watch_port == port::ANY || self.is_port_live(bucket.watch_port);
        let group_live = bucket.watch_group == group::ANY
            || left > 0
                && groups.get(&bucket.watch_group).is_some_and(|state| {
                    state.buckets.iter().any(|b| self.is_bucket_live(groups, b, left - 1))
                });
        port_live && group_live
    }

    /// The bucket of a group that a frame goes to: by its headers for select groups, the first
    /// live one for fast failover. `None` if no bucket is live.
    pub(super) fn choose_bucket(
        &self,
        groups: &Groups,
        state: &GroupState,
        key: &PacketKey,
    ) -> Option<usize> {
        let live = |bucket: &BucketState| self.is_bucket_live(groups, bucket, DEPTH_MAX);
        if state.type_ != GroupType::Select {
            return state.buckets.iter().position(live);
        }
        let weight = |bucket: &BucketState| u64::from(bucket.weight);
        let total: u64 = state.buckets.iter().filter(|b| live(b)).map(weight).sum();
        // The upper half of a product spreads a hash evenly over any number.
        let hash = u128::from(key.flow_hash()) * u128::from(total);
        let mut ticket = u64::try_from(hash >> 64).unwrap_or(0);
        for (place, bucket) in state.buckets.iter().enumerate().filter(|(_, b)| live(b)) {
            match ticket.checked_sub(weight(bucket)) {
                Some(left) => ticket = left,
                None => return Some(place),
            }
        }
        None
    }
}
