//! One mode or raise: the buckets of every stream at every port, gathered by input link and class.

use crate::description::net::{Flow, Net};
use crate::description::read::{self, Mode, Model};
use crate::finding::rule;
use crate::kernel::exact::Line;
use crate::rows::context::{Claims, Context, DWELL_NS};
use crate::rows::group::{Below, Group, GroupKey};
use crate::streams::envelopes::{
    Bucket, Envelope, STAMP_PS, contract_envelope, enforced_envelope, is_bounded_anew, own_bits,
};
use crate::streams::levels::{host_levels, is_analysed, is_guaranteed, levels, levels_of};
use crate::streams::stream::{SlowLine, Stream};
use crate::streams::upstream::{Late, Upstream};
use num_bigint::BigInt;
use num_traits::Zero;
use std::collections::BTreeMap;

/// Bits of one mode signal on the wire.
pub(crate) const SIGNAL_BITS: u64 = 816;

/// All arrivals at the ports in one mode or raise.
#[derive(Debug)]
pub(crate) struct Analysis {
    pub(crate) mode: Mode,
    /// Per stream that takes part, its bucket at every port of its tree.
    pub(crate) buckets: BTreeMap<usize, Vec<Bucket>>,
    pub(crate) loads: BTreeMap<usize, Load>,
}

/// What arrives at one port.
#[derive(Debug, Default)]
pub(crate) struct Load {
    pub(crate) groups: BTreeMap<GroupKey, Group>,
    /// The largest frame by the lowest class in which it can be.
    pub(crate) frames: BTreeMap<u8, BigInt>,
    /// Every class in use.
    pub(crate) classes: BTreeMap<u8, ()>,
    /// What the line could have carried while it was idle at swaps.
    pub(crate) idle: BigInt,
}

/// A stream at a port.
struct Coming<'c> {
    key: GroupKey,
    /// How much the time at the processor in front varies; `None` without a bound.
    varying_ps: Option<u64>,
    envelope: &'c Envelope,
    counts_messages: bool,
    /// Whether it goes on after the swap.
    stays: bool,
    /// The slower lines that it came over, the nearest first.
    upstream: &'c [Upstream],
}

impl<'c> Coming<'c> {
    /// A stream at its source's own port, which asks no mode.
    const fn from_host(stream: usize, envelope: &'c Envelope, counts_messages: bool) -> Self {
        let key = GroupKey::Alone(stream);
        Self { key, varying_ps: Some(0), envelope, counts_messages, stays: true, upstream: &[] }
    }
}

/// The classes of a flow in some levels.
fn classes(flow: &Flow<'_>, (low, high): (usize, usize)) -> impl Iterator<Item = u8> + Clone {
    flow.contracts[low..=high].iter().map(|contract| contract.class)
}

impl Load {
    /// Adds a stream that can be in any of `classes`.
    fn add(&mut self, coming: &Coming<'_>, classes: impl Iterator<Item = u8> + Clone) {
        let highest = classes.clone().min().unwrap_or(0);
        let lowest = classes.clone().max().unwrap_or(0);
        let group = self.groups.entry(coming.key);
        let group = group.or_insert_with(|| Group::new(coming.varying_ps));
        let how = (coming.stays, coming.counts_messages);
        group.add(coming.envelope, highest, how, coming.upstream);
        let frame = self.frames.entry(lowest).or_default();
        if coming.envelope.frame_max > *frame {
            *frame = coming.envelope.frame_max.clone();
        }
        self.classes.extend(classes.map(|class| (class, ())));
    }

    /// The lowest class in use.
    pub(crate) fn lowest(&self) -> u8 {
        self.classes.keys().next_back().copied().unwrap_or(0)
    }

    /// The sets of all groups.
    pub(crate) fn sets(&self) -> usize {
        self.groups.values().map(|group| group.sets.len()).sum()
    }
}

impl<'a> Context<'a> {
    /// The delay that the plan claims for a class at a port.
    pub(crate) fn claim(&self, mode: Mode, port: usize, class: u8) -> Option<u64> {
        self.claims.get(&mode)?.get(&(port, class)).copied()
    }

    /// The claim for a stream: the largest over the classes that it has in the mode.
    pub(crate) fn claim_for(&self, mode: Mode, stream: &Stream, port: usize) -> Option<u64> {
        self.claim_of(mode, stream, port, levels(mode, self.net.flows[stream.flow].level)?)
    }

    /// The claim for a stream at its source's port, in modes that do not admit it too.
    pub(crate) fn claim_at_source(&self, mode: Mode, stream: &Stream, port: usize) -> Option<u64> {
        self.claim_of(mode, stream, port, host_levels(self.net.flows[stream.flow].level))
    }

    fn claim_of(
        &self,
        mode: Mode,
        stream: &Stream,
        port: usize,
        (low, high): (usize, usize),
    ) -> Option<u64> {
        let mut largest = 0;
        for contract in &self.net.flows[stream.flow].contracts[low..=high] {
            largest = largest.max(self.claim(mode, port, contract.class)?);
        }
        Some(largest)
    }

    /// W that the plan claims for a class and those above it at a port.
    pub(crate) fn busy_ps(&self, mode: Mode, port: usize, class: u8) -> Option<u64> {
        self.busy.get(&mode)?.get(&(port, class)).copied()
    }

    /// P over a directed port, 0 where no processor is behind it; `None` without a claim.
    pub(crate) fn processing_ps(&self, mode: Mode, line: usize) -> Option<u64> {
        match self.net.device(self.net.ports[line].peer) {
            None => Some(0),
            Some(_) => self.entries.get(&mode)?.get(&line).copied(),
        }
    }

    /// The longest that frames which a port's far end accepts take there: P, or P° where a host may
    /// fill its own queue; `None` without a bound.
    pub(crate) fn longest_ps(&self, mode: Mode, line: usize) -> Option<u64> {
        let claimed = self.processing_ps(mode, line)?;
        self.flooded.get(&line).map_or(Some(claimed), |flooded| *flooded)
    }

    /// Y over a directed port: how much that varies.
    pub(crate) fn varying_ps(&self, mode: Mode, line: usize) -> Option<u64> {
        Some(self.longest_ps(mode, line)?.saturating_sub(self.least_ps(line)))
    }

    /// How much P varies over a directed port: what frames see whose host keeps its contracts.
    pub(crate) fn conforming_varies_ps(&self, mode: Mode, line: usize) -> Option<u64> {
        Some(self.processing_ps(mode, line)?.saturating_sub(self.least_ps(line)))
    }

    /// cost⁻ behind a directed port, 0 where no processor is.
    fn least_ps(&self, line: usize) -> u64 {
        self.net.device(self.net.ports[line].peer).map_or(0, |device| device.least_ps())
    }

    /// X of a stream at the end of every port in its tree, since its release or its meter.
    pub(crate) fn late_at_entries(&self, mode: Mode, stream: usize) -> Vec<Option<u64>> {
        let it = &self.streams[stream];
        let mut late: Vec<Option<u64>> = Vec::with_capacity(it.tree.len());
        // Parents come first.
        for here in &it.tree {
            let (before, waiting) = match here.parent {
                None => (Some(0), self.claim_at_source(mode, it, here.port)),
                Some(parent) => {
                    let metered = parent == 0 && self.net.is_babbling();
                    let so_far = if metered { Some(STAMP_PS) } else { late[parent] };
                    let jitter = self.net.latency_jitter_ps(self.net.ports[here.port].node);
                    let varying = self.varying_ps(mode, it.tree[parent].port);
                    let before = so_far
                        .zip(varying)
                        .and_then(|(late, varying)| late.checked_add(jitter)?.checked_add(varying));
                    (before, self.claim_for(mode, it, here.port))
                }
            };
            let sum = before.zip(waiting).and_then(|(a, b)| a.checked_add(b));
            late.push(sum);
        }
        late
    }

    /// Whether flows that come in whole messages are counted so.
    pub(crate) fn counts_messages(&self) -> bool {
        self.plan.staircases && self.is_for_frames()
    }

    /// Whether delays are those of frames.
    pub(crate) fn is_for_frames(&self) -> bool {
        self.plan.model == Model::StoreAndForward
    }

    /// All steady modes, lowest first.
    pub(crate) fn steady_modes(&self) -> impl Iterator<Item = Mode> + use<> {
        // At most 16 modes passed the reading.
        let count = u8::try_from(self.net.raw.modes.len()).unwrap_or(u8::MAX);
        (0..count).map(Mode::Steady)
    }

    /// All raises, by level after, then before: one that can come before another is before it.
    pub(crate) fn raises(&self) -> impl Iterator<Item = Mode> + use<> {
        let count = u8::try_from(self.net.raw.modes.len()).unwrap_or(u8::MAX);
        (0..count).flat_map(move |to| (0..to).map(move |from| Mode::Raise { from, to }))
    }

    /// Every mode or raise that has claims of its own.
    pub(crate) fn claimed_modes(&self) -> impl Iterator<Item = Mode> + use<> {
        self.steady_modes().chain(self.raises())
    }

    /// Repeats of a mode signal: as deployed, but never fewer than the fault model asks for.
    pub(crate) fn signal_copies(&self) -> u64 {
        let needed = u64::from(self.net.raw.tolerates.lost_signals) + 1;
        needed.max(self.plan.signal_copies.map_or(0, u64::from))
    }

    /// Mode signals of one trunk per dwell time; none without modes.
    pub(crate) fn signal_frames(&self) -> u64 {
        if !self.net.has_modes() {
            return 0;
        }
        let switches = u64::try_from(self.net.raw.switches.len()).unwrap_or(u64::MAX);
        let levels = u64::try_from(self.net.raw.modes.len()).unwrap_or(u64::MAX);
        self.signal_copies() * ((2 * levels.saturating_sub(1)).max(4) + 2 * switches)
    }

    /// The bucket of mode signals, of which every trunk port has one above all classes.
    pub(crate) fn signals(&self, port: usize) -> Option<Line> {
        if !self.net.has_modes() || !self.net.is_trunk(port) {
            return None;
        }
        let bits = self.signal_frames() * SIGNAL_BITS;
        Some(Line::new(self.scale.bits(bits, 1, 1), self.scale.rate(bits, DWELL_NS, 1, 1)))
    }

    /// Λ of a group's frames of `class` and above at time t + `ahead_ps`, where its link shapes it.
    pub(crate) fn shaping(
        &self,
        (port, key): (usize, GroupKey),
        group: &Group,
        class: u8,
        ahead_ps: u64,
    ) -> Option<Line> {
        if !self.plan.line_shaping {
            return None;
        }
        let node = self.net.ports[port].node;
        let link = match key {
            GroupKey::Alone(_) => return None,
            GroupKey::Link(link) => link,
            GroupKey::Processor => {
                let line = self.net.device(node)?.processor.link?;
                let rate = self.scale.bps(line.rate_bps, 1, 1);
                let mut burst = &rate * ahead_ps;
                if self.is_for_frames() {
                    burst += group.frame_max(class) + &rate * self.net.latency_jitter_ps(node);
                }
                return Some(Line::new(burst, rate));
            }
        };
        let upstream = &self.net.ports[link];
        let rate = self.scale.bps(upstream.rate_bps, 1, 1);
        let mut burst = &rate * ahead_ps;
        if self.is_for_frames() {
            let below = self.net.below_scheduler_bits(upstream.node);
            burst += group.frame_max(class)
                + self.scale.bits(below, 1, 1)
                + &rate * self.net.latency_jitter_ps(node)
                + &rate * upstream.tick_ps
                + &rate * group.varying_ps?;
        }
        Some(Line::new(burst, rate))
    }

    /// Λ of a set behind a line farther back, of its flows up to `class`, at time t + `ahead_ps`.
    pub(crate) fn upstream_shaping(&self, set: &Below, class: u8, ahead_ps: u64) -> Option<Line> {
        if !self.plan.line_shaping {
            return None;
        }
        let carried = set.carried(class)?;
        let line = &self.net.ports[set.line];
        let rate = self.scale.bps(line.rate_bps, 1, 1);
        let mut burst = &rate * ahead_ps + &rate * carried.late_ps?;
        if self.is_for_frames() {
            let below = self.net.below_scheduler_bits(line.node);
            burst += carried.frame_max
                + self.scale.bits(below, 1, 1)
                + &rate * self.net.latency_jitter_ps(line.peer)
                + &rate * line.tick_ps
                + &rate * set.varying_ps?;
        }
        Some(Line::new(burst, rate))
    }

    /// S: what can be in the way of class `class` without being of it or above, and in a raise what idle lines add.
    pub(crate) fn blocking(&self, port: usize, load: Option<&Load>, class: u8) -> BigInt {
        if !self.is_for_frames() {
            return BigInt::zero();
        }
        let below = self.net.below_scheduler_bits(self.net.ports[port].node);
        let mut blocking = self.scale.bits(below, 1, 1);
        if let read::OtherTraffic::Carry { frame_bytes_max, .. } = self.net.raw.other_traffic {
            // No switch enforces the size: a babbling host sends what the line carries.
            let frame = match self.net.is_babbling() {
                true => crate::description::packets::WIRE_BITS_MAX,
                false => crate::description::packets::wire_bits(frame_bytes_max),
            };
            blocking = blocking.max(self.scale.bits(frame, 1, 1));
        }
        let lower = load.into_iter().flat_map(|load| load.frames.iter());
        let blocking = lower
            .filter(|(lowest, _)| **lowest > class)
            .fold(blocking, |blocking, (_, frame)| blocking.max(frame.clone()));
        load.map_or(blocking.clone(), |load| blocking + &load.idle)
    }

    /// The arrivals of one mode or raise, with bursts grown by the mode's own claims.
    ///
    /// Hosts do not know the mode: what a mode or the end of a raise does not admit still arrives
    /// at its source's own port, by any of its contracts and without an end.
    pub(crate) fn analyse(&self, mode: Mode) -> Analysis {
        let mut analysis = Analysis { mode, buckets: BTreeMap::new(), loads: BTreeMap::new() };
        let counts = self.counts_messages();
        for (index, stream) in self.streams.iter().enumerate() {
            let flow = &self.net.flows[stream.flow];
            let stays = is_guaranteed(mode, flow.level);
            let range = levels_of(self.net, stream, mode);
            let envelopes =
                range.map_or_else(Vec::new, |range| self.grown(mode, index, stream, range));
            let late = self.late(mode, stream);
            for (at, place) in stream.tree.iter().enumerate() {
                let load = analysis.loads.entry(place.port);
                if place.parent.is_none() {
                    let range = host_levels(flow.level);
                    let envelope = contract_envelope(self.net, &self.scale, stream.flow, range);
                    let coming = Coming::from_host(index, &envelope, counts);
                    load.or_default().add(&coming, classes(flow, range));
                } else if let (Some(envelope), Some(range)) = (envelopes.get(at), range) {
                    let upstream = self.upstream(mode, stream, at, &late);
                    let (key, varying_ps) = self.shared_way(mode, index, stream, at);
                    let coming = Coming {
                        key,
                        varying_ps,
                        envelope,
                        counts_messages: counts,
                        stays,
                        upstream: &upstream,
                    };
                    load.or_default().add(&coming, classes(flow, range));
                }
            }
            if range.is_some() {
                analysis.buckets.insert(index, envelopes.into_iter().map(|e| e.bucket).collect());
            }
        }
        analysis
    }

    /// What a stream shares its way to a place with, and how much the time of that varies.
    fn shared_way(
        &self,
        mode: Mode,
        index: usize,
        stream: &Stream,
        at: usize,
    ) -> (GroupKey, Option<u64>) {
        let place = &stream.tree[at];
        let line = place.parent.map(|parent| stream.tree[parent].port);
        let key = self.group_key(index, line, place.port);
        let varying_ps = match line {
            Some(line) if key != GroupKey::Processor => self.varying_ps(mode, line),
            _ => Some(0),
        };
        (key, varying_ps)
    }

    /// What a stream that came over `line`, if over any, shares its way to `port` with.
    fn group_key(&self, stream: usize, line: Option<usize>, port: usize) -> GroupKey {
        let device = self.net.device(self.net.ports[port].node);
        match line {
            None => GroupKey::Alone(stream),
            Some(_) if device.is_some_and(|device| device.processor.link.is_some()) => {
                GroupKey::Processor
            }
            Some(line) => GroupKey::Link(line),
        }
    }

    /// What may be added to a stream's delays behind every port of its tree; empty where no line
    /// farther back needs it.
    fn late(&self, mode: Mode, stream: &Stream) -> Vec<Late> {
        let mut late: Vec<Late> = Vec::with_capacity(stream.tree.len());
        if !self.plan.line_shaping || stream.slower.iter().all(Vec::is_empty) {
            return late;
        }
        for place in &stream.tree {
            let before = place.parent.map_or_else(Late::default, |parent| late[parent]);
            let behind = self.net.ports[place.port].peer;
            let parts = self.claim_for(mode, stream, place.port);
            let more = parts.zip(self.varying_ps(mode, place.port)).map(|(delay, varying)| {
                let jitter = self.net.latency_jitter_ps(behind);
                [delay, varying, jitter].into_iter().map(u128::from).sum()
            });
            late.push(before.behind(more));
        }
        late
    }

    /// The slower lines over which a stream came to a place in its tree, the nearest first.
    fn upstream(&self, mode: Mode, stream: &Stream, at: usize, late: &[Late]) -> Vec<Upstream> {
        let Some(last) = stream.tree[at].parent.and_then(|parent| late.get(parent)) else {
            return Vec::new();
        };
        let of = |slow: &SlowLine| {
            let line = stream.tree[slow.place].port;
            Upstream {
                line,
                way: slow.way,
                varying_ps: self.varying_ps(mode, line),
                late_ps: last.since(late[slow.place]),
            }
        };
        stream.slower[at].iter().map(of).collect()
    }

    /// What the source's port `line` takes for a stream's own bits, picoseconds down.
    fn own_ps(&self, stream: &Stream, line: usize) -> u64 {
        let bits = u128::from(own_bits(self.net, stream.flow)) * 1_000_000_000_000;
        let own = bits / u128::from(self.net.ports[line].rate_bps.max(1));
        u64::try_from(own).unwrap_or(0)
    }

    /// The envelope of a stream at every port of its tree.
    fn grown(
        &self,
        mode: Mode,
        index: usize,
        stream: &Stream,
        range: (usize, usize),
    ) -> Vec<Envelope> {
        let mut envelopes: Vec<Envelope> = Vec::with_capacity(stream.tree.len());
        for place in &stream.tree {
            let node = self.net.ports[place.port].node;
            let envelope = match place.parent {
                None => {
                    let levels = host_levels(self.net.flows[stream.flow].level);
                    contract_envelope(self.net, &self.scale, stream.flow, levels)
                }
                Some(0) if is_bounded_anew(self.net, stream, self.enforced[index], range) => {
                    let enforced = self.enforced[index];
                    let passed =
                        enforced_envelope(self.net, &self.scale, stream, node, enforced, range);
                    let varying = self.varying_ps(mode, stream.tree[0].port);
                    passed.behind(varying, 0, 0)
                }
                Some(parent) => {
                    let line = stream.tree[parent].port;
                    let delay = self.claim_for(mode, stream, line);
                    let delay = delay.zip(self.varying_ps(mode, line));
                    let delay = delay.and_then(|(d, y)| d.checked_add(y));
                    let own_ps = match stream.tree[parent].parent {
                        None => self.own_ps(stream, line),
                        Some(_) => 0,
                    };
                    let jitter = self.net.latency_jitter_ps(node);
                    envelopes[parent].behind(delay, jitter, own_ps)
                }
            };
            envelopes.push(envelope);
        }
        envelopes
    }
}

/// The delays that a plan claims.
pub(crate) fn claims(plan: &read::Plan, net: &Net<'_>) -> Claims {
    delays(net, &plan.ports, |mode| is_analysed(mode, net.raw.modes.len()))
}

/// Claimed delays of modes that `is_meant` knows.
pub(crate) fn delays(
    net: &Net<'_>,
    claims: &[read::PortService],
    is_meant: impl Fn(Mode) -> bool,
) -> Claims {
    let all = claims.iter().map(|it| (it.mode, &it.port, it.class, it.delay_ps));
    times(net, all, is_meant, rule::SERVICE)
}

/// Claimed busy periods of modes that `is_meant` knows.
pub(crate) fn busy(
    net: &Net<'_>,
    claims: &[read::BusyPeriod],
    is_meant: impl Fn(Mode) -> bool,
) -> Claims {
    let all = claims.iter().map(|it| (it.mode, &it.port, it.class, it.busy_ps));
    times(net, all, is_meant, rule::BUSY)
}

/// Times that are claimed by mode, port and class, each once.
fn times<'p>(
    net: &Net<'_>,
    all: impl Iterator<Item = (Mode, &'p read::Port, u8, u64)>,
    is_meant: impl Fn(Mode) -> bool,
    rule: &'static str,
) -> Claims {
    let mut claims = Claims::new();
    for (mode, named, class, ps) in all {
        let label = format!("{}:{} class {class}", named.node, named.port);
        let said = format!("{ps} ps in {}", mode.label(&net.raw.modes));
        match net.port(named) {
            None => net.wrong(rule, label, said, "no such port"),
            Some(_) if !is_meant(mode) => net.wrong(rule, label, said, "no such mode or raise"),
            Some(port) => {
                if claims.entry(mode).or_default().insert((port, class), ps).is_some() {
                    net.wrong(rule, label, said, "it is claimed twice");
                }
            }
        }
    }
    claims
}

/// P in front of a place in a stream's tree; 0 at the source and without a processor.
pub(crate) fn processing(
    context: &Context<'_>,
    stream: &Stream,
    place: usize,
    mode: Mode,
) -> Option<u64> {
    let line = stream.tree[place].parent.map(|parent| stream.tree[parent].port);
    line.map_or(Some(0), |line| context.processing_ps(mode, line))
}
