//! Flows that are held, the sums they add up to at every queue, and the delays reserved there.
//!
//! The vector of reserved delays x and the flows' grown bursts belong together: every burst is
//! b + r·Σx upstream, exactly. Changing an entry of x changes the bursts behind it by rate × change,
//! so each change can be taken back to the last digit. What a change costs does not depend on how
//! many flows there are: per queue the rates that go on from there are summed by where they go.

use crate::behind::Behind;
use crate::curves::{Curves, Group, NBIT, QUEUES_MAX, times};
use crate::envelope::{Envelope, Meter};
use crate::frames::Frames;
use crate::network::{Network, PortId};
use crate::request::{Request, Visit};
use crate::slack::Known;

/// Stamps are whole nanoseconds.
const STAMP_NS: u64 = 1;

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
    /// Σ of latencies and propagations up to the end of this port's link.
    pub(crate) transit_ns: i64,
    /// Σ of how much the latencies of the switches up to this port's vary.
    pub(crate) jitter_ns: i64,
}

/// A flow that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) request: Request,
    /// The bucket of the flow, by the clock of the network.
    pub(crate) envelope: Envelope,
    pub(crate) hops: Vec<Hop>,
    /// Whether every visit follows the one before it.
    is_path: bool,
    /// Places of its queues among [`Books`]' delays: what is looked at most lies together.
    spots: Vec<u32>,
}

/// A queue: its flows and its reservation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    members: Vec<(Slot, u16)>,
    /// The least delay that may be reserved: frames of flows that have gone may have known no less.
    floor_ns: i64,
    /// The largest delay that may be reserved, ns; `None` where its flows alone say.
    ceiling_ns: Option<i64>,
    /// Rates that go on from here, by where they go.
    behind: Behind,
    /// A lower bound of the least slack of its members.
    pub(crate) known: Known,
}

/// A change, as it is taken back.
#[derive(Clone, Debug)]
enum Undo {
    Entered(Slot),
    Struck(Slot, Request, Vec<Visit>),
    Reserved(PortId, usize, i64),
    /// The lower bound of the slack of a queue before.
    Known(PortId, usize, Known),
}

/// Everything that is held.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    pub(crate) network: Network,
    curves: Vec<Curves>,
    pub(crate) queues: Vec<[Queue; QUEUES_MAX]>,
    /// Reserved delays, by [`spot`].
    delays_ns: Vec<i64>,
    /// The sizes behind every [`crate::curves::Sum::frame_bits`], per port and group.
    frames: Vec<Vec<[Frames; QUEUES_MAX]>>,
    /// Σ of all raises there ever were, ns: no slack has shrunk by more since it was known.
    pub(crate) raised_ns: i64,
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
            delays_ns: vec![0; curves.len() * QUEUES_MAX],
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
        self.delays_ns[spot(port, queue)]
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

    /// The largest delay that may be reserved at a queue, ns.
    pub(crate) fn ceiling_ns(&self, port: PortId, queue: usize) -> i64 {
        self.queues[port.index()][queue].ceiling_ns.unwrap_or(i64::MAX)
    }

    /// From now on a queue's delay is not raised beyond this.
    pub(crate) fn set_ceiling(&mut self, port: PortId, queue: usize, ceiling_ns: i64) {
        self.queues[port.index()][queue].ceiling_ns = Some(ceiling_ns);
    }

    /// Where a flow goes.
    pub(crate) fn visits(&self, slot: Slot) -> impl Iterator<Item = Visit> {
        let hops = self.held(slot).map_or(&[][..], |held| &held.hops);
        hops.iter().map(|hop| hop.visit)
    }

    /// The network without flows, nothing reserved.
    pub(crate) fn emptied(&self) -> Self {
        Self::new(self.network.clone())
    }

    /// Sums and reserved delays as text, for comparison in tests.
    #[cfg(test)]
    pub(crate) fn fingerprint(&self) -> String {
        format!("{:?} {:?}", self.curves, self.delays_ns)
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

    /// The reserved delay of the tree up to and including a hop, latencies and propagation included.
    pub(crate) fn reached_ns(&self, held: &Held, at: usize) -> i64 {
        let hop = &held.hops[at];
        let here = self.delay_ns(hop.visit.port, hop.visit.queue.into());
        self.upstream_ns(held, hop) + here + hop.transit_ns
    }

    /// Σ of what is reserved before a hop.
    pub(crate) fn upstream_ns(&self, held: &Held, hop: &Hop) -> i64 {
        upstream_ns(&self.delays_ns, &held.hops, hop)
    }

    /// How much what came before a hop may vary: all waits, and the latencies of switches.
    pub(crate) fn varied_ns(&self, held: &Held, hop: &Hop) -> i64 {
        self.upstream_ns(held, hop) + hop.jitter_ns
    }

    /// The meter of a flow at its first switch. A frame is there no later than its deadline less what it
    /// takes on from there at least, and its stamp is taken up to a nanosecond later.
    pub(crate) fn meter(&self, held: &Held) -> Meter {
        let transit_ns = held.hops.iter().filter(|hop| hop.visit.is_last).map(|hop| hop.transit_ns);
        let beyond_ns = u64::try_from(transit_ns.max().unwrap_or(0)).unwrap_or(0);
        let jitters_ns = held.hops.iter().map(|hop| hop.jitter_ns);
        let jitter_ns = u64::try_from(jitters_ns.max().unwrap_or(0)).unwrap_or(0);
        let late_ns = held.request.deadline_ns.saturating_sub(beyond_ns);
        held.envelope.meter(late_ns + jitter_ns + STAMP_NS)
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
        let mut learnt = Vec::new();
        let mut has_only_grown = true;
        while self.log.len() > mark {
            match self.log.pop() {
                Some(Undo::Known(port, queue, before)) => {
                    let known = &mut self.queues[port.index()][queue].known;
                    learnt.push((port, queue, known.slack_ns));
                    *known = before;
                }
                Some(Undo::Entered(slot)) => drop(self.remove(slot)),
                Some(Undo::Struck(slot, request, visits)) => {
                    has_only_grown = false;
                    self.free.retain(|free| *free != slot);
                    self.insert(slot, request, &visits);
                }
                Some(Undo::Reserved(port, queue, delay_ns)) => {
                    let after = self.set_delay(port, queue, delay_ns, |_, _| {});
                    has_only_grown &= after >= delay_ns;
                    self.raised_ns -= (after - delay_ns).max(0);
                }
                None => break,
            }
        }
        // Slack that was seen among more flows and greater delays holds for fewer and smaller ones.
        if has_only_grown {
            learnt.into_iter().for_each(|(port, queue, slack)| self.learn(port, queue, slack));
        }
        if mark == 0 {
            self.keep();
        }
    }

    /// Keeps all changes since the last call.
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

    /// Notes what is known of a queue's slack, so that it can be taken back.
    pub(crate) fn log_known(&mut self, port: PortId, queue: usize) {
        let known = self.queues[port.index()][queue].known;
        self.log.push(Undo::Known(port, queue, known));
    }

    /// Σ of what is reserved on a whole path, latencies and propagations included.
    pub(crate) fn along_ns(&self, held: &Held) -> Option<i64> {
        let last = held.hops.last().filter(|_| held.is_path)?;
        let delays = held.spots.iter().map(|spot| self.delays_ns[*spot as usize]);
        Some(delays.sum::<i64>() + last.transit_ns)
    }

    fn insert(&mut self, slot: Slot, request: Request, visits: &[Visit]) {
        let mut hops: Vec<Hop> = Vec::with_capacity(visits.len());
        for visit in visits {
            let hop = self.hop(visit, &hops, slot);
            hops.push(hop);
        }
        let follows = |(at, visit): (u16, &Visit)| visit.parent == at.checked_sub(1);
        let is_path = (0..).zip(visits).all(follows);
        let at = |hop: &Hop| u32::try_from(spot(hop.visit.port, hop.visit.queue.into()));
        let spots = hops.iter().map(|hop| at(hop).expect("fewer queues than 2^32")).collect();
        let envelope = Envelope::of(&request, &self.network);
        let held = Held { request, envelope, hops, is_path, spots };
        self.count(&held, 1);
        let slack = signed(held.request.deadline_ns).saturating_sub(self.promised_ns(&held));
        for hop in &held.hops {
            self.join(hop.visit.port, hop.visit.queue.into(), slack);
        }
        self.flows[slot.0 as usize] = Some(held);
    }

    fn hop(&mut self, visit: &Visit, before: &[Hop], slot: Slot) -> Hop {
        let parent = visit.parent.map(|parent| &before[usize::from(parent)]);
        let group = self.network.group_of(parent.map(|p| p.visit.port), visit.port);
        let transit_ns = signed(self.network.transit_ns(visit.port));
        let jitter_ns = signed(self.network.timing(visit.port).jitter_ns());
        let members = &mut self.queues[visit.port.index()][usize::from(visit.queue)].members;
        let place = u16::try_from(before.len()).expect("fewer hops than 2^16");
        members.push((slot, place));
        Hop {
            visit: *visit,
            group: u16::try_from(group).expect("fewer links at a node than 2^16"),
            member: u32::try_from(members.len() - 1).expect("fewer flows than 2^32"),
            transit_ns: parent.map_or(0, |p| p.transit_ns) + transit_ns,
            jitter_ns: parent.map_or(0, |p| p.jitter_ns) + jitter_ns,
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
            // The last member takes the free place.
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
        let rate_bps = signed(held.envelope.rate_bps) * sign;
        let source_nbit = i128::from(held.envelope.burst_bits) * NBIT * i128::from(sign);
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
            let varied_ns = upstream_ns(&self.delays_ns, &held.hops, hop) + hop.jitter_ns;
            let sum = &mut self.curves[port].groups[group].sums[queue];
            sum.burst_nbit += source_nbit + times(rate_bps, varied_ns);
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
            self.raised_ns = self.raised_ns.saturating_add((delay_ns - before).max(0));
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
        let entry = &mut self.delays_ns[spot(port, queue)];
        let before = *entry;
        let by = delay_ns - before;
        if by == 0 {
            return before;
        }
        *entry = delay_ns;
        for later in self.queues[port.index()][queue].behind.iter() {
            let group = &mut self.curves[later.port.index()].groups[later.group];
            group.sums[later.queue].burst_nbit += times(later.rate_bps, by);
            changed(later.port, later.queue);
        }
        before
    }
}

/// The place of a queue where there is one entry for each.
pub(crate) const fn spot(port: PortId, queue: usize) -> usize {
    port.index() * QUEUES_MAX + queue
}

/// Σ of the reserved delays before a hop.
fn upstream_ns(delays_ns: &[i64], hops: &[Hop], hop: &Hop) -> i64 {
    let mut sum = 0;
    let mut parent = hop.visit.parent;
    while let Some(at) = parent {
        let visit = &hops[usize::from(at)].visit;
        sum += delays_ns[spot(visit.port, visit.queue.into())];
        parent = visit.parent;
    }
    sum
}

/// Whether `later` is on a branch through `place`. A parent stands before its child, so the walk
/// ends as soon as it is past `place`.
pub(crate) fn is_behind(hops: &[Hop], later: usize, place: u16) -> bool {
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
    let line = |from: &PortId| {
        let line_bps = signed(network.emitted_bps(*from));
        let below = i128::from(network.timing(*from).below_scheduler_bits()) * NBIT;
        let early_nbit = times(line_bps, signed(network.varying_ns(*from, id))) + below;
        Group { line_bps: Some(line_bps), early_nbit, ..Group::default() }
    };
    let groups = match network.is_source(id) {
        true => vec![Group::default()],
        false => network.arriving(port.from).iter().map(line).collect(),
    };
    let below_bits = network.timing(id).below_scheduler_bits();
    let blocking_bits = (u64::from(port.blocking_bytes) * 8).max(below_bits);
    // Signals are served first and shaped by nothing: to the queues the line is slower by their rate,
    // and their burst is in the way.
    let (signals_bits, signals_bps) = network.signals(id);
    Curves {
        rate_bps: signed(port.rate_bps.saturating_sub(signals_bps)),
        blocking_bits: signed(blocking_bits.saturating_add(signals_bits)),
        counts_whole_frames: network.is_processor(id),
        // The time that a processor takes is measured, its ticks included.
        tick_ns: if network.is_processor(id) { 0 } else { signed(network.tick_ns(id)) },
        groups,
    }
}

/// A value that was checked to be in range, as the engine counts.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
