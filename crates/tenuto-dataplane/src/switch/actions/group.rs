//! Groups: what they are, and which of their buckets a frame goes to (OpenFlow 1.3.5, section
//! 5.6).

use crate::switch::PortState;
use crate::switch::classifier::key::PacketKey;
use crate::switch::port::index::PortIndex;
use crate::switch::tables::EntryCounter;
use crate::switch::tables::entry::ActionStep;
use std::collections::BTreeMap;
use std::ops::{Deref, RangeInclusive};
use tenuto_openflow::constants::{group, port};
use tenuto_openflow::{Bucket, GroupType};
use tenuto_units::Instant;

/// Groups that may follow each other; deeper ones are refused when they are added.
pub(in crate::switch) const DEPTH_MAX: usize = 8;
/// What one frame may cost from a group on, in actions and looks at liveness: chains of groups
/// multiply, and a frame must not keep the others waiting.
pub(in crate::switch) const COST_MAX: usize = 10_000;

/// Pairs of groups of which one leads to the other: a change of a group that others lead to looks at
/// all of them.
pub(in crate::switch) const LINKS_MAX: usize = 8_192;

/// What a bucket does, and what decides whether it is live.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::switch) struct BucketState {
    pub(in crate::switch) steps: Vec<ActionStep>,
    pub(in crate::switch) weight: u16,
    pub(in crate::switch) watch_port: u32,
    pub(in crate::switch) watch_group: u32,
}

/// A group, as executed and as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::switch) struct GroupState {
    pub(in crate::switch) buckets: Vec<BucketState>,
    /// Buckets as they were sent.
    pub(in crate::switch) sent: Vec<Bucket>,
    pub(in crate::switch) type_: GroupType,
    /// Groups that buckets hand on to, or watch, and how many times: noted once, as every change of
    /// a group asks all others.
    used: Vec<(u32, usize)>,
    /// Actions and looks at liveness of all buckets.
    cost: usize,
    /// The queue of its outputs; one for all, as the deployment gives a flow one class.
    queue: Option<u8>,
}

/// What a group has seen; beside the group, which packets do not write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::switch) struct GroupCounters {
    pub(in crate::switch) all: EntryCounter,
    pub(in crate::switch) buckets: Vec<EntryCounter>,
    pub(in crate::switch) since: Instant,
}

/// Groups by number, and how many groups lead to each.
#[derive(Clone, Debug, Default)]
pub(in crate::switch) struct Groups {
    states: BTreeMap<u32, GroupState>,
    leading: BTreeMap<u32, u32>,
    links: usize,
}

impl Deref for Groups {
    type Target = BTreeMap<u32, GroupState>;

    fn deref(&self) -> &Self::Target {
        &self.states
    }
}

impl Groups {
    /// Groups that hand frames on to a group, or watch it.
    pub(in crate::switch) fn leading(&self, id: u32) -> u32 {
        self.leading.get(&id).copied().unwrap_or(0)
    }

    /// Pairs of groups of which one leads to the other, once a group is `state`.
    pub(in crate::switch) fn links_with(&self, id: u32, state: &GroupState) -> usize {
        let before = self.states.get(&id).map_or(0, |before| before.used.len());
        self.links - before + state.used.len()
    }

    /// Puts a group in the place of the one of this number, if there is one.
    pub(in crate::switch) fn insert(&mut self, id: u32, state: GroupState) {
        self.remove(id);
        for used in state.uses() {
            *self.leading.entry(used).or_default() += 1;
        }
        self.links += state.used.len();
        self.states.insert(id, state);
    }

    /// Takes a group out.
    pub(in crate::switch) fn remove(&mut self, id: u32) {
        if let Some(state) = self.states.remove(&id) {
            self.unlink(&state);
        }
    }

    /// Takes out the group of the lowest number.
    pub(in crate::switch) fn pop_first(&mut self) -> Option<(u32, GroupState)> {
        let (id, state) = self.states.pop_first()?;
        self.unlink(&state);
        Some((id, state))
    }

    fn unlink(&mut self, state: &GroupState) {
        self.links -= state.used.len();
        for used in state.uses() {
            if let Some(count) = self.leading.get_mut(&used) {
                *count -= 1;
                if *count == 0 {
                    self.leading.remove(&used);
                }
            }
        }
    }
}

impl FromIterator<(u32, GroupState)> for Groups {
    fn from_iter<I: IntoIterator<Item = (u32, GroupState)>>(groups: I) -> Self {
        let mut all = Self::default();
        groups.into_iter().for_each(|(id, state)| all.insert(id, state));
        all
    }
}

impl GroupState {
    pub(in crate::switch) fn new(
        type_: GroupType,
        buckets: Vec<BucketState>,
        sent: Vec<Bucket>,
    ) -> Self {
        let mut used = BTreeMap::<u32, usize>::new();
        for id in buckets.iter().flat_map(BucketState::uses) {
            *used.entry(id).or_default() += 1;
        }
        let cost = buckets.iter().map(|bucket| bucket.steps.len() + 1).sum();
        let queue = queue_of(&buckets);
        Self { buckets, sent, type_, used: used.into_iter().collect(), cost, queue }
    }

    /// The queue of its outputs, if it has any.
    pub(in crate::switch) const fn queue(&self) -> Option<u8> {
        self.queue
    }

    /// Groups that it hands frames to, or watches, each once.
    pub(in crate::switch) fn uses(&self) -> impl Iterator<Item = u32> {
        self.used.iter().map(|(id, _)| *id)
    }
}

/// The queue of the first output of buckets.
fn queue_of(buckets: &[BucketState]) -> Option<u8> {
    let mut queue = 0;
    for step in buckets.iter().flat_map(|bucket| &bucket.steps) {
        match *step {
            ActionStep::SetQueue(id) => queue = u8::try_from(id).unwrap_or(u8::MAX - 1),
            ActionStep::Output(_) => return Some(queue),
            _ => {}
        }
    }
    None
}

impl BucketState {
    fn uses(&self) -> impl Iterator<Item = u32> {
        let forwards = self.steps.iter().filter_map(|step| match step {
            ActionStep::Group(id) => Some(*id),
            _ => None,
        });
        forwards.chain(Some(self.watch_group).filter(|&id| id != group::ANY))
    }
}

/// What a frame can meet from a group on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::switch) struct Extent {
    /// Groups that follow each other, this one included.
    pub(in crate::switch) depth: usize,
    /// Actions and looks at liveness, if every bucket had its turn.
    pub(in crate::switch) cost: usize,
}

/// The largest extent that one of the groups `from` has once the group `id` is `state`; `None` if
/// some group would come back to itself.
pub(in crate::switch) fn extent(
    groups: &Groups,
    (id, state): (u32, &GroupState),
    from: impl Iterator<Item = u32>,
) -> Option<Extent> {
    /// Notes the extent of one group; each is walked once, however many lead to it.
    fn walk<'a>(
        at: &impl Fn(u32) -> Option<&'a GroupState>,
        id: u32,
        known: &mut BTreeMap<u32, Option<Extent>>,
    ) -> Option<Extent> {
        let Some(state) = at(id) else { return Some(Extent::default()) };
        if let Some(found) = known.get(&id) {
            // Begun and not ended: this is a loop.
            return *found;
        }
        known.insert(id, None);
        let mut extent = Extent { depth: 0, cost: state.cost };
        for &(next, times) in &state.used {
            let below = walk(at, next, known)?;
            extent.depth = extent.depth.max(below.depth);
            extent.cost = extent.cost.saturating_add(below.cost.saturating_mul(times));
        }
        extent.depth += 1;
        known.insert(id, Some(extent));
        Some(extent)
    }
    let at = |other| if other == id { Some(state) } else { groups.get(&other) };
    let (mut known, mut largest) = (BTreeMap::new(), Extent::default());
    for id in from {
        let Extent { depth, cost } = walk(&at, id, &mut known)?;
        largest = Extent { depth: largest.depth.max(depth), cost: largest.cost.max(cost) };
    }
    Some(largest)
}

/// What groups have seen, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(in crate::switch) struct GroupCounts(Vec<(u32, GroupCounters)>);

impl GroupCounts {
    /// The place of a group's counters, until a group comes or goes.
    pub(in crate::switch) fn place(&self, id: u32) -> Option<u32> {
        u32::try_from(self.find(id).ok()?).ok()
    }

    fn find(&self, id: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&id, |(id, _)| *id)
    }

    /// The counters in a place.
    #[inline]
    pub(in crate::switch) fn at(&mut self, place: u32) -> Option<&mut GroupCounters> {
        self.0.get_mut(place as usize).map(|(_, counters)| counters)
    }

    /// The counters of a group.
    pub(in crate::switch) fn get_mut(&mut self, id: u32) -> Option<&mut GroupCounters> {
        let place = self.find(id).ok()?;
        Some(&mut self.0[place].1)
    }

    /// Counts anew for a group.
    pub(in crate::switch) fn put(&mut self, id: u32, counters: GroupCounters) {
        match self.find(id) {
            Ok(place) => self.0[place].1 = counters,
            Err(place) => self.0.insert(place, (id, counters)),
        }
    }

    /// Forgets a group that is gone, or all.
    pub(in crate::switch) fn remove(&mut self, id: u32) {
        if id == group::ALL {
            self.0.clear();
        } else if let Ok(place) = self.find(id) {
            self.0.remove(place);
        }
    }

    /// Forgets all groups up to this number, and that one.
    pub(in crate::switch) fn forget_through(&mut self, last: u32) {
        self.0.drain(..self.0.partition_point(|(id, _)| *id <= last));
    }

    /// Groups and their counters, from a number to another.
    pub(in crate::switch) fn range(
        &self,
        numbers: RangeInclusive<u32>,
    ) -> impl Iterator<Item = (u32, &GroupCounters)> {
        let from = self.find(*numbers.start()).unwrap_or_else(|place| place);
        let until = move |id: &u32| numbers.contains(id);
        self.0[from..].iter().take_while(move |(id, _)| until(id)).map(|(id, seen)| (*id, seen))
    }
}

/// What decides which buckets a frame goes to, beside its headers.
#[derive(Clone, Copy)]
pub(in crate::switch) struct Liveness<'a> {
    pub(in crate::switch) groups: &'a Groups,
    pub(in crate::switch) ports: &'a [PortState],
    pub(in crate::switch) index: &'a PortIndex,
}

/// What is known of the choice of a group without a frame.
pub(in crate::switch) enum Chosen {
    /// It goes to every bucket.
    All,
    /// It goes to this bucket, or to none.
    One(Option<usize>),
    /// It goes to a bucket that its headers decide upon.
    ByHeaders,
}

impl Liveness<'_> {
    /// Whether frames can leave by a port: what watches it is live.
    fn is_port_live(&self, number: u32) -> bool {
        self.index.get(&number).is_some_and(|&place| self.ports[place].is_live())
    }

    /// Whether a bucket can deliver: what it watches is live, or it watches nothing.
    fn is_bucket_live(&self, bucket: &BucketState, left: usize) -> bool {
        let port_live = bucket.watch_port == port::ANY || self.is_port_live(bucket.watch_port);
        let group_live = bucket.watch_group == group::ANY
            || left > 0
                && self.groups.get(&bucket.watch_group).is_some_and(|state| {
                    state.buckets.iter().any(|b| self.is_bucket_live(b, left - 1))
                });
        port_live && group_live
    }

    /// Which buckets a group has its frames go to, as long as no group and nothing that is live changes.
    pub(in crate::switch) fn chosen(&self, state: &GroupState) -> Chosen {
        match state.type_ {
            GroupType::FastFailover => Chosen::One(self.first_live(state)),
            GroupType::Select => {
                let mut weights = self.weights(state);
                match (weights.next(), weights.next()) {
                    (Some(_), Some(_)) => Chosen::ByHeaders,
                    (only, _) => Chosen::One(only.map(|(place, _)| place)),
                }
            }
            _ => Chosen::All,
        }
    }

    /// The buckets of a select group that get anything, and how much.
    pub(in crate::switch) fn weights(
        &self,
        state: &GroupState,
    ) -> impl Iterator<Item = (usize, u64)> {
        let live = state.buckets.iter().enumerate();
        let live =
            live.filter(|(_, bucket)| bucket.weight > 0 && self.is_bucket_live(bucket, DEPTH_MAX));
        live.map(|(place, bucket)| (place, u64::from(bucket.weight)))
    }

    fn first_live(&self, state: &GroupState) -> Option<usize> {
        state.buckets.iter().position(|bucket| self.is_bucket_live(bucket, DEPTH_MAX))
    }

    /// The bucket of a group that a frame goes to: by its headers for select groups, the first
    /// live one for fast failover. `None` if no bucket is live.
    pub(in crate::switch) fn choose_bucket(
        &self,
        state: &GroupState,
        key: &PacketKey,
    ) -> Option<usize> {
        if state.type_ != GroupType::Select {
            return self.first_live(state);
        }
        let live = |bucket: &BucketState| self.is_bucket_live(bucket, DEPTH_MAX);
        let weight = |bucket: &BucketState| u64::from(bucket.weight);
        let total: u64 = state.buckets.iter().filter(|b| live(b)).map(weight).sum();
        let mut left = ticket(key, total);
        for (place, bucket) in state.buckets.iter().enumerate().filter(|(_, b)| live(b)) {
            match left.checked_sub(weight(bucket)) {
                Some(rest) => left = rest,
                None => return Some(place),
            }
        }
        None
    }
}

/// Which of so many shares a frame's headers draw.
pub(in crate::switch) fn ticket(key: &PacketKey, total: u64) -> u64 {
    // The upper half of a product spreads a hash evenly over any number.
    let hash = u128::from(key.flow_hash()) * u128::from(total);
    u64::try_from(hash >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups whose buckets each hand on to the groups named.
    fn groups(named: &[(u32, &[u32])]) -> Groups {
        let bucket = |&next: &u32| BucketState {
            steps: vec![ActionStep::Group(next)],
            weight: 0,
            watch_port: port::ANY,
            watch_group: group::ANY,
        };
        let state = |next: &[u32]| {
            GroupState::new(GroupType::All, next.iter().map(bucket).collect(), Vec::new())
        };
        named.iter().map(|(id, next)| (*id, state(next))).collect()
    }

    /// The extent of a group whose state is what it is already.
    fn extent_of(groups: &Groups, id: u32) -> Option<Extent> {
        extent(groups, (id, &groups[&id]), [id].into_iter())
    }

    #[test]
    fn chains_are_measured_and_loops_found() {
        let three = groups(&[(1, &[]), (2, &[1, 1]), (3, &[2, 1])]);
        assert_eq!(extent_of(&three, 3), Some(Extent { depth: 3, cost: 4 + 4 }));
        assert_eq!(extent_of(&groups(&[(1, &[2]), (2, &[1])]), 2), None);
        assert_eq!(extent_of(&groups(&[(1, &[1])]), 1), None);
    }

    #[test]
    fn a_change_counts_before_it_is_made() {
        let three = groups(&[(1, &[]), (2, &[1]), (3, &[2])]);
        let longer = &groups(&[(1, &[4])])[&1];
        let with_four = groups(&[(1, &[]), (2, &[1]), (3, &[2]), (4, &[])]);
        let largest = extent(&with_four, (1, longer), [1, 3].into_iter());
        assert_eq!(largest.map(|it| it.depth), Some(4));
        let back = &groups(&[(1, &[3])])[&1];
        assert_eq!(extent(&three, (1, back), [1].into_iter()), None);
    }

    #[test]
    fn a_chain_that_multiplies_is_measured_at_once() {
        let twice: Vec<(u32, [u32; 2])> = (1..200).map(|id| (id, [id - 1, id - 1])).collect();
        let named: Vec<(u32, &[u32])> = twice.iter().map(|(id, next)| (*id, &next[..])).collect();
        let found = extent_of(&groups(&named), 199);
        assert_eq!(found, Some(Extent { depth: 199, cost: usize::MAX }));
    }
}
