//! What is held: flows, the sums they add up to at every queue, and the delays reserved there.
//!
//! The vector of reserved delays x and the flows' grown bursts belong together: every burst is
//! b + r·Σx upstream, exactly. Changing an entry of x changes the bursts behind it by rate × change,
//! so each change can be taken back to the last digit.

use crate::curves::{Curves, Group, NBIT, QUEUES_MAX, times};
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
    /// Σ of the reserved delays before this port.
    pub(crate) upstream_ns: i64,
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
    flows: Vec<Option<Held>>,
    free: Vec<Slot>,
    /// Changes since the last [`Books::keep`], oldest first.
    log: Vec<Undo>,
}

impl Books {
    pub(crate) fn new(network: Network) -> Self {
        let ids = (0_u32..).map(PortId).take(network.ports().len());
        let curves = ids.map(|id| empty_curves(&network, id)).collect();
        let queues = network.ports().iter().map(|_| Default::default()).collect();
        Self { network, curves, queues, flows: Vec::new(), free: Vec::new(), log: Vec::new() }
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
    pub(crate) fn reached_ns(&self, hop: &Hop) -> i64 {
        let here = self.delay_ns(hop.visit.port, hop.visit.queue.into());
        hop.upstream_ns + here + hop.propagation_ns
    }

    /// The largest reserved delay to any target.
    pub(crate) fn promised_ns(&self, held: &Held) -> i64 {
        let last = held.hops.iter().filter(|hop| hop.visit.is_last);
        last.map(|hop| self.reached_ns(hop)).max().unwrap_or(i64::MAX)
    }

    /// The largest delay of a queue that every flow in it can bear, all else as reserved.
    pub(crate) fn bearable_ns(&self, port: PortId, queue: usize) -> i64 {
        let here = self.delay_ns(port, queue);
        let slack = |(slot, place): &(Slot, u16)| {
            let held = self.held(*slot)?;
            Some(signed(held.request.deadline_ns) - self.promised_through_ns(held, *place))
        };
        let least = self.members(port, queue).iter().filter_map(slack).min();
        least.map_or(here, |slack| here.saturating_add(slack))
    }

    /// The largest reserved delay to a target behind one hop.
    fn promised_through_ns(&self, held: &Held, place: u16) -> i64 {
        let hops = held.hops.iter().enumerate();
        let behind = hops.filter(|(at, hop)| {
            let is_here = *at == usize::from(place) || held.is_path;
            hop.visit.is_last && (is_here || is_behind(&held.hops, *at, place))
        });
        behind.map(|(_, hop)| self.reached_ns(hop)).max().unwrap_or(i64::MIN / 2)
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
            self.count(&request, &hop, 1);
            hops.push(hop);
        }
        let follows = |(at, visit): (u16, &Visit)| visit.parent == at.checked_sub(1);
        let is_path = (0..).zip(visits).all(follows);
        self.flows[slot.0 as usize] = Some(Held { request, hops, is_path });
    }

    fn hop(&mut self, visit: &Visit, before: &[Hop], slot: Slot) -> Hop {
        let parent = visit.parent.map(|parent| &before[usize::from(parent)]);
        let upstream_ns =
            parent.map_or(0, |p| p.upstream_ns + self.delay_ns(p.visit.port, p.visit.queue.into()));
        let group = self.network.group_of(parent.map(|p| p.visit.port), visit.port);
        let propagation = self.network.port(visit.port).propagation_ns;
        let members = &mut self.queues[visit.port.index()][usize::from(visit.queue)].members;
        let place = u16::try_from(before.len()).expect("fewer hops than 2^16");
        members.push((slot, place));
        Hop {
            visit: *visit,
            group: u16::try_from(group).expect("fewer links at a node than 2^16"),
            member: u32::try_from(members.len() - 1).expect("fewer flows than 2^32"),
            upstream_ns,
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
        for hop in &held.hops {
            self.count(&held.request, hop, -1);
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
            self.recount_frame(hop);
        }
        self.free.push(slot);
        Some(held)
    }

    fn count(&mut self, request: &Request, hop: &Hop, sign: i64) {
        let group = &mut self.curves[hop.visit.port.index()].groups[usize::from(hop.group)];
        let sum = &mut group.sums[usize::from(hop.visit.queue)];
        let rate_bps = signed(request.rate_bps);
        let burst = i128::from(request.burst_bits) * NBIT + times(rate_bps, hop.upstream_ns);
        sum.burst_nbit += burst * i128::from(sign);
        sum.rate_bps += rate_bps * sign;
        sum.frame_bits = sum.frame_bits.max(signed(request.frame_bits));
    }

    /// The largest frame is not a sum: it is looked up among those who stay.
    fn recount_frame(&mut self, hop: &Hop) {
        let (port, queue) = (hop.visit.port.index(), usize::from(hop.visit.queue));
        let members = self.queues[port][queue].members.iter();
        let frames = members.filter_map(|(slot, place)| {
            let held = self.flows[slot.0 as usize].as_ref()?;
            let same = held.hops[usize::from(*place)].group == hop.group;
            same.then_some(held.request.frame_bits)
        });
        let largest = frames.max().map_or(0, signed);
        self.curves[port].groups[usize::from(hop.group)].sums[queue].frame_bits = largest;
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
        for at in 0..entry.members.len() {
            let (slot, place) = self.queues[port.index()][queue].members[at];
            let Some(held) = self.flows[slot.0 as usize].as_mut() else { continue };
            let grown = times(signed(held.request.rate_bps), by);
            for later in usize::from(place) + 1..held.hops.len() {
                if !held.is_path && !is_behind(&held.hops, later, place) {
                    continue;
                }
                let hop = &mut held.hops[later];
                hop.upstream_ns += by;
                let queue = usize::from(hop.visit.queue);
                let groups = &mut self.curves[hop.visit.port.index()].groups;
                groups[usize::from(hop.group)].sums[queue].burst_nbit += grown;
                changed(hop.visit.port, queue);
            }
        }
        before
    }
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
        line_bps: Some(signed(network.port(*from).rate_bps)),
        ..Group::default()
    };
    let groups = match network.is_source(id) {
        true => vec![Group::default()],
        false => network.arriving(port.from).iter().map(line).collect(),
    };
    Curves {
        rate_bps: signed(port.rate_bps),
        blocking_bits: i64::from(port.blocking_bytes) * 8,
        groups,
    }
}

/// What was checked to be in range, as the engine counts.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
