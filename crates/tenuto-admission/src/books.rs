//! What is held: flows, the sums they add up to at every queue, and the delays reserved there.
//!
//! The vector of reserved delays x and the flows' grown bursts belong together: every burst is
//! b + r·Σx upstream, exactly. Changing an entry of x changes the bursts behind it by rate × change,
//! so each change can be taken back to the last digit. What a change costs does not depend on how
//! many flows there are: per queue the rates that go on from there are summed by where they go.

use crate::behind::Behind;
use crate::ceilings::Ceiling;
use crate::curves::{Curves, Group, NBIT, QUEUES_MAX, times};
use crate::frames::Frames;
use crate::network::{Network, PortId};
use crate::request::{Request, Visit};

/// A flow that is held, by its place in the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub u32);

/// One port on the tree of a flow that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) visit: Visit,
    pub(crate) group: u16,
    /// Place among the members of its queue.
    member: u32,
    /// Σ of the propagations up to the end of this port's link.
    pub(crate) propagation_ns: i64,
}

/// A flow that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) request: Request,
    pub(crate) hops: Vec<Hop>,
    /// Whether every visit follows the one before it.
    is_path: bool,
}

/// One queue: who is in it, and what is reserved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Queue {
    members: Vec<(Slot, u16)>,
    delay_ns: i64,
    /// What the delay is not lowered below: frames of flows that have gone may have known no less.
    floor_ns: i64,
    /// How far it may go; `None` where its flows alone say.
    ceiling: Option<Ceiling>,
    /// Rates that go on from here, by where they go.
    behind: Behind,
    /// No member had less slack than this, ns, when [`Books::raised_ns`] stood at `known_at_ns`.
    slack_ns: i64,
    known_at_ns: i64,
}

/// A change, as it is taken back.
#[derive(Clone, Debug)]
enum Undo {
    Entered(Slot),
    Struck(Slot, Request, Vec<Visit>),
    Reserved(PortId, usize, i64),
}

/// Everything that is held.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    pub(crate) network: Network,
    curves: Vec<Curves>,
    queues: Vec<[Queue; QUEUES_MAX]>,
    /// The sizes behind every [`crate::curves::Sum::frame_bits`], per port and group.
    frames: Vec<Vec<[Frames; QUEUES_MAX]>>,
    /// Σ of all raises there ever were, ns: no slack has shrunk by more since it was known.
    raised_ns: i64,
    flows: Vec<Option<Held>>,
    free: Vec<Slot>,
    /// Changes since the last [`Books::keep`], oldest first.
    log: Vec<Undo>,
}

impl Books {
    pub(crate) fn new(network: Network) -> Self {
        let ids = (0_u32..).map(PortId).take(network.ports().len());
        let curves: Vec<Curves> = ids.map(|id| empty_curves(&network, id)).collect();
        let none = |curves: &Curves| curves.groups.iter().map(|_| Default::default()).collect();
        Self {
            queues: curves.iter().map(|_| Default::default()).collect(),
            frames: curves.iter().map(none).collect(),
            network,
            curves,
            raised_ns: 0,
            flows: Vec::new(),
            free: Vec::new(),
            log: Vec::new(),
        }
    }

    pub(crate) fn curves(&self, port: PortId) -> &Curves {
        &self.curves[port.index()]
    }

    pub(crate) fn delay_ns(&self, port: PortId, queue: usize) -> i64 {
        self.queues[port.index()][queue].delay_ns
    }

    pub(crate) fn members(&self, port: PortId, queue: usize) -> &[(Slot, u16)] {
        &self.queues[port.index()][queue].members
    }

    pub(crate) fn held(&self, slot: Slot) -> Option<&Held> {
        self.flows.get(slot.0 as usize)?.as_ref()
    }

    /// The least delay that may be reserved at a queue.
    pub(crate) fn floor_ns(&self, port: PortId, queue: usize) -> i64 {
        self.queues[port.index()][queue].floor_ns
    }

    /// From now on a queue's delay is not lowered below this.
    pub(crate) fn set_floor(&mut self, port: PortId, queue: usize, floor_ns: i64) {
        self.queues[port.index()][queue].floor_ns = floor_ns;
    }

    /// How far a queue may go.
    pub(crate) fn ceiling(&self, port: PortId, queue: usize) -> Ceiling {
        self.queues[port.index()][queue].ceiling.unwrap_or(Ceiling::NONE)
    }

    /// From now on a queue goes no further.
    pub(crate) fn set_ceiling(&mut self, port: PortId, queue: usize, ceiling: Ceiling) {
        self.queues[port.index()][queue].ceiling = Some(ceiling);
    }

    /// Where a flow goes.
    pub(crate) fn visits(&self, slot: Slot) -> impl Iterator<Item = Visit> {
        let hops = self.held(slot).map_or(&[][..], |held| &held.hops);
        hops.iter().map(|hop| hop.visit)
    }

    /// The same network without flows, nothing reserved.
    pub(crate) fn emptied(&self) -> Self {
        Self::new(self.network.clone())
    }

    /// Sums and reserved delays as text, for comparison in tests.
    #[cfg(test)]
    pub(crate) fn fingerprint(&self) -> String {
        let delays: Vec<_> =
            self.queues.iter().map(|all| all.each_ref().map(|q| q.delay_ns)).collect();
        format!("{:?} {delays:?}", self.curves)
    }

    /// Every queue with flows.
    pub(crate) fn queues_in_use(&self) -> Vec<(PortId, usize)> {
        let queues = (0_u32..).map(PortId).zip(&self.queues);
        let used = |(port, all): (PortId, &[Queue; QUEUES_MAX])| {
            let used = (0..QUEUES_MAX).filter(|at| !all[*at].members.is_empty());
            used.map(|at| (port, at)).collect::<Vec<_>>()
        };
        queues.flat_map(used).collect()
    }

    /// Every flow that is held.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (Slot, &Held)> {
        (0_u32..).map(Slot).zip(&self.flows).filter_map(|(slot, held)| Some((slot, held.as_ref()?)))
    }

    /// The reserved delay of the tree up to and including a hop, propagation included.
    pub(crate) fn reached_ns(&self, held: &Held, at: usize) -> i64 {
        let hop = &held.hops[at];
        let here = self.delay_ns(hop.visit.port, hop.visit.queue.into());
        upstream_ns(&self.queues, &held.hops, hop) + here + hop.propagation_ns
    }

    /// The largest reserved delay to any target.
    pub(crate) fn promised_ns(&self, held: &Held) -> i64 {
        let lasts = (0..held.hops.len()).filter(|at| held.hops[*at].visit.is_last);
        match held.is_path && !held.hops.is_empty() {
            // The last port of a path is behind all others.
            true => self.reached_ns(held, held.hops.len() - 1),
            false => lasts.map(|at| self.reached_ns(held, at)).max().unwrap_or(i64::MAX),
        }
    }

    /// The largest delay of a queue that every flow in it can bear, all else as reserved; where
    /// `wanted_ns` is known to be bearable, no more is looked for.
    pub(crate) fn bearable_ns(&mut self, port: PortId, queue: usize, wanted_ns: i64) -> i64 {
        let here = self.delay_ns(port, queue);
        let known = here.saturating_add(self.known_slack_ns(port, queue));
        if !self.members(port, queue).is_empty() && known >= wanted_ns {
            return known;
        }
        let Some(slack) = self.least_slack_ns(port, queue) else { return here };
        let entry = &mut self.queues[port.index()][queue];
        (entry.slack_ns, entry.known_at_ns) = (slack, self.raised_ns);
        here.saturating_add(slack)
    }

    /// What is known of the least slack of the flows in a queue: it is no less.
    pub(crate) fn known_slack_ns(&self, port: PortId, queue: usize) -> i64 {
        let entry = &self.queues[port.index()][queue];
        entry.slack_ns.saturating_sub(self.raised_ns - entry.known_at_ns)
    }

    /// The least slack of the flows in a queue, one by one.
    pub(crate) fn least_slack_ns(&self, port: PortId, queue: usize) -> Option<i64> {
        let slack = |(slot, place): &(Slot, u16)| {
            let held = self.held(*slot)?;
            Some(signed(held.request.deadline_ns) - self.promised_through_ns(held, *place))
        };
        self.members(port, queue).iter().filter_map(slack).min()
    }

    /// The largest reserved delay to a target behind one hop.
    fn promised_through_ns(&self, held: &Held, place: u16) -> i64 {
        if held.is_path {
            return self.promised_ns(held);
        }
        let behind = (0..held.hops.len()).filter(|at| {
            let is_here = *at == usize::from(place);
            held.hops[*at].visit.is_last && (is_here || is_behind(&held.hops, *at, place))
        });
        behind.map(|at| self.reached_ns(held, at)).max().unwrap_or(i64::MIN / 2)
    }

    /// The longest time for which a frame stays, and a busy period lasts after it.
    pub(crate) fn longest_ns(&self) -> i64 {
        let promised = self.slots().map(|(_, held)| self.promised_ns(held)).max();
        let busy = self.curves.iter().map(Curves::busy_ns).max();
        promised.unwrap_or(0).saturating_add(busy.unwrap_or(0))
    }

    /// Where the log stands; [`Books::take_back`] returns to there.
    pub(crate) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Takes back every change since `mark`, the latest first.
    pub(crate) fn take_back(&mut self, mark: usize) {
        while self.log.len() > mark {
            match self.log.pop() {
                Some(Undo::Entered(slot)) => drop(self.remove(slot)),
                Some(Undo::Struck(slot, request, visits)) => {
                    self.free.retain(|free| *free != slot);
                    self.insert(slot, request, &visits);
                }
                Some(Undo::Reserved(port, queue, delay_ns)) => {
                    self.set_delay(port, queue, delay_ns, |_, _| {});
                }
                None => break,
            }
        }
    }

    /// What was done stays.
    pub(crate) fn keep(&mut self) {
        self.log.clear();
    }

    /// Enters a flow along `visits`, whether or not it fits.
    pub(crate) fn enter(&mut self, request: Request, visits: &[Visit]) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flows.push(None);
            Slot(u32::try_from(self.flows.len() - 1).expect("fewer flows than 2^32"))
        });
        self.insert(slot, request, visits);
        self.log.push(Undo::Entered(slot));
        slot
    }

    fn insert(&mut self, slot: Slot, request: Request, visits: &[Visit]) {
        let mut hops: Vec<Hop> = Vec::with_capacity(visits.len());
        for visit in visits {
            let hop = self.hop(visit, &hops, slot);
            hops.push(hop);
        }
        let follows = |(at, visit): (u16, &Visit)| visit.parent == at.checked_sub(1);
        let is_path = (0..).zip(visits).all(follows);
        let held = Held { request, hops, is_path };
        self.count(&held, 1);
        let slack = signed(held.request.deadline_ns).saturating_sub(self.promised_ns(&held));
        for hop in &held.hops {
            let entry = &mut self.queues[hop.visit.port.index()][usize::from(hop.visit.queue)];
            let known = match entry.members.len() {
                1 => i64::MAX,
                _ => entry.slack_ns.saturating_sub(self.raised_ns - entry.known_at_ns),
            };
            (entry.slack_ns, entry.known_at_ns) = (known.min(slack), self.raised_ns);
        }
        self.flows[slot.0 as usize] = Some(held);
    }

    fn hop(&mut self, visit: &Visit, before: &[Hop], slot: Slot) -> Hop {
        let parent = visit.parent.map(|parent| &before[usize::from(parent)]);
        let group = self.network.group_of(parent.map(|p| p.visit.port), visit.port);
        let propagation = self.network.port(visit.port).propagation_ns;
        let members = &mut self.queues[visit.port.index()][usize::from(visit.queue)].members;
        let place = u16::try_from(before.len()).expect("fewer hops than 2^16");
        members.push((slot, place));
        Hop {
            visit: *visit,
            group: u16::try_from(group).expect("fewer links at a node than 2^16"),
            member: u32::try_from(members.len() - 1).expect("fewer flows than 2^32"),
            propagation_ns: parent.map_or(0, |p| p.propagation_ns)
                + i64::try_from(propagation).expect("checked when the network was made"),
        }
    }

    /// Strikes a flow out again.
    pub(crate) fn strike(&mut self, slot: Slot) {
        if let Some(held) = self.remove(slot) {
            let visits = held.hops.iter().map(|hop| hop.visit).collect();
            self.log.push(Undo::Struck(slot, held.request, visits));
        }
    }

    fn remove(&mut self, slot: Slot) -> Option<Held> {
        let held = self.flows.get_mut(slot.0 as usize)?.take()?;
        self.count(&held, -1);
        for hop in &held.hops {
            let (port, queue) = (hop.visit.port.index(), usize::from(hop.visit.queue));
            let members = &mut self.queues[port][queue].members;
            members.swap_remove(hop.member as usize);
            // Who was last takes the free place.
            let last = members.get(hop.member as usize).copied();
            let other =
                last.and_then(|(slot, at)| Some((self.flows[slot.0 as usize].as_mut()?, at)));
            if let Some((other, at)) = other {
                other.hops[usize::from(at)].member = hop.member;
            }
        }
        self.free.push(slot);
        Some(held)
    }

    /// Counts a flow in every sum that it is part of, or takes it out again.
    fn count(&mut self, held: &Held, sign: i64) {
        let rate_bps = signed(held.request.rate_bps) * sign;
        let source_nbit = i128::from(held.request.burst_bits) * NBIT * i128::from(sign);
        let frame_bits = signed(held.request.frame_bits);
        for (at, hop) in held.hops.iter().enumerate() {
            let (port, queue) = (hop.visit.port.index(), usize::from(hop.visit.queue));
            let group = usize::from(hop.group);
            let frames = &mut self.frames[port][group][queue];
            if sign > 0 {
                frames.add(frame_bits)
            } else {
                frames.take(frame_bits)
            }
            let upstream_ns = upstream_ns(&self.queues, &held.hops, hop);
            let sum = &mut self.curves[port].groups[group].sums[queue];
            sum.burst_nbit += source_nbit + times(rate_bps, upstream_ns);
            sum.rate_bps += rate_bps;
            sum.frame_bits = frames.largest();
            let behind = &mut self.queues[port][queue].behind;
            let mut add = |later: &Hop| {
                let (port, queue) = (later.visit.port, usize::from(later.visit.queue));
                behind.add(port, usize::from(later.group), queue, rate_bps);
            };
            match held.is_path {
                true => held.hops[at + 1..].iter().for_each(add),
                false => {
                    let place = u16::try_from(at).expect("fewer hops than 2^16");
                    let later = (at + 1..held.hops.len())
                        .filter(|later| is_behind(&held.hops, *later, place));
                    later.for_each(|later| add(&held.hops[later]));
                }
            }
        }
    }

    /// Reserves another delay at a queue: what comes behind it grows or shrinks with it. Tells
    /// every (port, queue) whose sums changed.
    pub(crate) fn reserve(
        &mut self,
        port: PortId,
        queue: usize,
        delay_ns: i64,
        changed: impl FnMut(PortId, usize),
    ) {
        let before = self.set_delay(port, queue, delay_ns, changed);
        if before != delay_ns {
            self.log.push(Undo::Reserved(port, queue, before));
        }
    }

    fn set_delay(
        &mut self,
        port: PortId,
        queue: usize,
        delay_ns: i64,
        mut changed: impl FnMut(PortId, usize),
    ) -> i64 {
        let entry = &mut self.queues[port.index()][queue];
        let before = entry.delay_ns;
        let by = delay_ns - before;
        if by == 0 {
            return before;
        }
        entry.delay_ns = delay_ns;
        self.raised_ns = self.raised_ns.saturating_add(by.max(0));
        for later in self.queues[port.index()][queue].behind.iter() {
            let group = &mut self.curves[later.port.index()].groups[later.group];
            group.sums[later.queue].burst_nbit += times(later.rate_bps, by);
            changed(later.port, later.queue);
        }
        before
    }
}

/// Σ of the reserved delays before a hop.
fn upstream_ns(queues: &[[Queue; QUEUES_MAX]], hops: &[Hop], hop: &Hop) -> i64 {
    let mut sum = 0;
    let mut parent = hop.visit.parent;
    while let Some(at) = parent {
        let visit = &hops[usize::from(at)].visit;
        sum += queues[visit.port.index()][usize::from(visit.queue)].delay_ns;
        parent = visit.parent;
    }
    sum
}

/// Whether `later` is on a branch through `place`. A parent stands before its child, so the walk
/// ends as soon as it is past `place`.
fn is_behind(hops: &[Hop], later: usize, place: u16) -> bool {
    let mut at = later;
    while let Some(parent) = hops[at].visit.parent {
        if parent <= place {
            return parent == place;
        }
        at = usize::from(parent);
    }
    false
}

fn empty_curves(network: &Network, id: PortId) -> Curves {
    let port = network.port(id);
    let line = |from: &PortId| Group {
        line_bps: Some(signed(network.emitted_bps(*from))),
        ..Group::default()
    };
    let groups = match network.is_source(id) {
        true => vec![Group::default()],
        false => network.arriving(port.from).iter().map(line).collect(),
    };
    Curves {
        rate_bps: signed(port.rate_bps),
        blocking_bits: i64::from(port.blocking_bytes) * 8,
        counts_whole_frames: network.is_processor(id),
        groups,
    }
}

/// What was checked to be in range, as the engine counts.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
