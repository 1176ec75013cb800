//! Claims about processors that ports share: every frame's time there, against what all ports
//! together demand (theory, "A processor that the ports share").

mod flooded;

pub(crate) use flooded::flooded;

use crate::description::device::{Device, PerBit, Weight};
use crate::description::net::Net;
use crate::description::read::{
    MeterCounts, Mode, OtherTraffic, ProcessorService, Receive, ReceiveBuffer,
};
use crate::description::slices::slice_work;
use crate::finding::rule;
use crate::kernel::exact::{self, Curve, Line};
use crate::rows::context::{Context, DWELL_NS, Entries};
use crate::streams::levels::{host_levels, levels_of};
use num_bigint::BigInt;
use std::collections::BTreeMap;
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};

/// A mode signal with FCS, bytes.
const SIGNAL_BYTES: u32 = 82;

/// A stream that enters a processor.
#[derive(Clone, Copy, Debug)]
struct Entering {
    /// `None` for mode signals.
    flow: Option<Passing>,
    outputs: u32,
    /// X: `None` without a bound.
    late_ps: Option<u64>,
}

/// A stream of a flow at the end of a port in its tree.
#[derive(Clone, Copy, Debug)]
struct Passing {
    stream: usize,
    place: usize,
    /// The contracts that count.
    levels: (usize, usize),
}

/// The end of a port in a stream's tree, and X there; `None` without a bound.
struct Place {
    stream: usize,
    place: usize,
    late_ps: Option<u64>,
}

/// Everything that enters over one port.
#[derive(Debug)]
struct Entrance {
    line: usize,
    is_babbling: bool,
    streams: Vec<Entering>,
}

/// One switch with a processor, in one mode.
#[derive(Debug)]
pub(crate) struct Site<'c, 'a> {
    context: &'c Context<'a>,
    mode: Mode,
    pub(crate) node: usize,
    pub(crate) device: Device<'a>,
    pub(crate) buffer: Option<ReceiveBuffer>,
    entrances: Vec<Entrance>,
}

/// A sum of weights over time.
#[derive(Clone, Debug)]
struct Amount {
    burst: BigInt,
    rate: BigInt,
}

/// The claims of a plan.
pub(crate) fn entries(claims: &[ProcessorService], net: &Net<'_>) -> Entries {
    let modes = net.raw.modes.len();
    entries_of(claims, net, |mode| crate::streams::levels::is_analysed(mode, modes))
}

/// Claims of modes that `is_meant` knows.
pub(crate) fn entries_of(
    claims: &[ProcessorService],
    net: &Net<'_>,

    is_meant: impl Fn(Mode) -> bool,
) -> Entries {
    let mut entries = Entries::new();
    for claim in claims {
        let label = format!("{}:{} processor", claim.entry.node, claim.entry.port);
        let said = format!("{} ps in {}", claim.delay_ps, claim.mode.label(&net.raw.modes));
        let port = net.port(&claim.entry);
        let Some(port) = port.filter(|port| net.device(net.ports[*port].node).is_some()) else {
            net.wrong(rule::PROCESSOR, label, said, "no such port of a shared processor");
            continue;
        };
        if !is_meant(claim.mode) {
            net.wrong(rule::PROCESSOR, label, said, "no such mode or raise");
            continue;
        }
        if matches!(net.raw.other_traffic, OtherTraffic::Carry { .. }) {
            let found = "other traffic takes its time too, and meters stand behind it: no bound";
            net.wrong(rule::PROCESSOR, label, said, found);
            continue;
        }
        let of_mode = entries.entry(claim.mode).or_default();
        if of_mode.insert(Net::reverse(port), claim.delay_ps).is_some() {
            net.wrong(rule::PROCESSOR, label, said, "it is claimed twice");
        }
    }
    entries
}

/// Every processor of the network in one mode.
pub(crate) fn sites<'c, 'a>(context: &'c Context<'a>, mode: Mode) -> Vec<Site<'c, 'a>> {
    let nodes = 0..context.net.nodes.len();
    let mut places: BTreeMap<usize, Vec<Place>> = BTreeMap::new();
    for node in nodes.clone().filter(|node| context.net.device(*node).is_some()) {
        places.insert(node, Vec::new());
    }
    if places.is_empty() {
        return Vec::new();
    }
    for (stream, it) in context.streams.iter().enumerate() {
        let late = context.late_at_entries(mode, stream);
        for (place, (tree_port, late_ps)) in it.tree.iter().zip(late).enumerate() {
            let node = context.net.ports[tree_port.port].peer;
            if let Some(here) = places.get_mut(&node) {
                here.push(Place { stream, place, late_ps });
            }
        }
    }
    nodes.filter_map(|node| Site::new(context, mode, node, places.get(&node)?)).collect()
}

/// Checks every claim of one mode, and that a feasible plan has all. Returns the number of
/// inequalities.
pub(crate) fn check(context: &Context<'_>, mode: Mode) -> usize {
    let mut count = 0;
    for site in sites(context, mode) {
        let busy = context.sites_busy.get(&(mode, site.node));
        if let Some(busy_ps) = busy.filter(|busy| !site.is_over_by(**busy)) {
            let name = context.net.nodes[site.node].name;
            let place = format!("{name}, processor, {}", mode.label(&context.net.raw.modes));
            context.wrong(rule::BUSY, place, format!("{busy_ps} ps"), "more may have come");
        }
        for entrance in &site.entrances {
            let claim = context.entries.get(&mode).and_then(|of| of.get(&entrance.line)).copied();
            let place = || {
                let label = context.net.label(entrance.line);
                format!("{label}, processor, {}", mode.label(&context.net.raw.modes))
            };
            match claim {
                Some(delay_ps) => {
                    count += 1;
                    if !site.is_sufficient(entrance, delay_ps) {
                        let found = "less than what the frames of all ports demand";
                        context.wrong(rule::PROCESSOR, place(), format!("{delay_ps} ps"), found);
                    }
                }
                None if context.plan.feasible && !entrance.streams.is_empty() => {
                    context.wrong(rule::PROCESSOR, place(), "no claim", "flows enter there");
                }
                None => {}
            }
        }
    }
    count
}

impl<'c, 'a> Site<'c, 'a> {
    fn new(context: &'c Context<'a>, mode: Mode, node: usize, places: &[Place]) -> Option<Self> {
        let device = context.net.device(node)?;
        let buffer = context.net.profile(node)?.receive_buffer;
        let mut by_line: BTreeMap<usize, Vec<Entering>> = BTreeMap::new();
        for &Place { stream: index, place, late_ps } in places {
            let stream = &context.streams[index];
            let tree_port = stream.tree[place];
            let level = context.net.flows[stream.flow].level;
            let forwarded = levels_of(context.net, stream, mode);
            if tree_port.parent.is_some() && forwarded.is_none() {
                continue;
            }
            // Monitors count bits on the wire, not frames: what a host may send is counted.
            let levels = host_levels(level);
            // What has no place in the mode is dropped at its first switch, for one copy's work.
            let copies = if forwarded.is_some() { stream.children[place].len() } else { 1 };
            let entering = Entering {
                flow: Some(Passing { stream: index, place, levels }),
                outputs: u32::try_from(copies).unwrap_or(u32::MAX).max(1),
                late_ps,
            };
            by_line.entry(tree_port.port).or_default().push(entering);
        }
        for (&line, &wait) in &context.changes.waits {
            if context.net.ports[line].peer == node {
                let signals = Entering { flow: None, outputs: 1, late_ps: Some(wait) };
                by_line.entry(line).or_default().push(signals);
            }
        }
        let into = (0..context.net.ports.len()).filter(|p| context.net.ports[*p].peer == node);
        let entrances = into.filter_map(|line| {
            let is_host = context.net.nodes[context.net.ports[line].node].switch.is_none();
            let is_babbling = is_host && context.net.is_babbling();
            let streams = by_line.remove(&line).unwrap_or_default();
            (is_babbling || !streams.is_empty()).then_some(Entrance { line, is_babbling, streams })
        });
        let entrances = entrances.collect();
        Some(Self { context, mode, node, device, buffer, entrances })
    }

    fn packets(&self, it: Passing) -> impl Iterator<Item = &crate::description::net::Contract> {
        let (low, high) = it.levels;
        let stream = &self.context.streams[it.stream];
        self.context.net.flows[stream.flow].contracts[low..=high].iter()
    }

    /// Whether a stream is what its meter lets through, no more its contract.
    fn is_metered(&self, it: Passing) -> bool {
        it.place > 0 && self.context.net.is_babbling()
    }

    fn frame_bytes_max(&self, entering: &Entering) -> u32 {
        let Some(it) = entering.flow else { return SIGNAL_BYTES };
        if self.is_metered(it) {
            return FRAME_BYTES_MAX;
        }
        let sizes = self.packets(it).map(|c| c.packets.frame_bytes_max());
        sizes.max().unwrap_or(0).max(FRAME_BYTES_MIN)
    }

    fn frame_bytes_min(&self, entering: &Entering) -> u32 {
        let Some(it) = entering.flow else { return SIGNAL_BYTES };
        if self.is_metered(it) {
            return FRAME_BYTES_MIN;
        }
        let sizes = self.packets(it).map(|c| c.frame_bytes_min);
        sizes.min().unwrap_or(0).clamp(FRAME_BYTES_MIN, self.frame_bytes_max(entering))
    }

    fn is_babbling(&self) -> bool {
        self.entrances.iter().any(|entrance| entrance.is_babbling)
    }

    /// L_n.
    fn largest(&self) -> u32 {
        if self.is_babbling() {
            return FRAME_BYTES_MAX;
        }
        let streams = self.entrances.iter().flat_map(|entrance| &entrance.streams);
        streams.map(|s| self.frame_bytes_max(s)).max().unwrap_or(FRAME_BYTES_MIN)
    }

    /// So much of a weight, a size of the scale: work in nanoseconds.
    fn size(&self, what: Weight, weight: u64) -> BigInt {
        self.context.scale.bits(weight, 1, per(what))
    }

    /// What one stream brings; `None` without a bound.
    fn brings(&self, what: Weight, entering: &Entering) -> Option<Amount> {
        let late = entering.late_ps?;
        let net = self.context.net;
        let Some(it) = entering.flow else { return Some(self.signals(what, late)) };
        if self.is_metered(it) {
            let meter = self.context.enforced[it.stream].meter?;
            let first = self.context.streams[it.stream].first_switch?;
            let counts = net.profile(first)?.meter_counts;
            let per_bit = self.device.most_per_bit(what, counts, entering.outputs);
            let rate = self.rate(what, per_bit, meter.rate_bps);
            let burst = self.scaled(what, per_bit, meter.burst_bits());
            return Some(Amount { burst: burst + &rate * late, rate });
        }
        let (mut burst, mut rate) = (BigInt::default(), BigInt::default());
        for contract in self.packets(it) {
            let weight = self.device.message(what, contract.packets, entering.outputs);
            let (num, den) = (1_000_000 + net.tolerance_ppm, 1_000_000 * per(what));
            let r = self.context.scale.rate(weight, contract.period_ns, num, den);
            burst = burst.max(self.size(what, weight) + &r * contract.jitter_ps);
            rate = rate.max(r);
        }
        Some(Amount { burst: burst + &rate * late, rate })
    }

    /// The signals of one trunk, so late.
    fn signals(&self, what: Weight, late_ps: u64) -> Amount {
        let each = match what {
            Weight::Work(more) => self.device.cost_ps(SIGNAL_BYTES, 1).saturating_add(more),
            Weight::Units => self.device.units(SIGNAL_BYTES),
        };
        let all = each.saturating_mul(self.context.signal_frames());
        let rate = self.context.scale.rate(all, DWELL_NS, 1, per(what));
        Amount { burst: self.size(what, all) + &rate * late_ps, rate }
    }

    fn rate(&self, what: Weight, per_bit: PerBit, bps: u64) -> BigInt {
        self.context.scale.bps(bps, per_bit.weight, per_bit.bits * per(what))
    }

    fn scaled(&self, what: Weight, per_bit: PerBit, bits: u64) -> BigInt {
        self.context.scale.bits(bits, per_bit.weight, per_bit.bits * per(what))
    }

    /// Σ over the streams of an entrance; `None` without a bound.
    fn sum(&self, what: Weight, entrance: &Entrance) -> Option<Amount> {
        let mut sum = Amount { burst: BigInt::default(), rate: BigInt::default() };
        for entering in &entrance.streams {
            let one = self.brings(what, entering)?;
            sum = Amount { burst: sum.burst + one.burst, rate: sum.rate + one.rate };
        }
        Some(sum)
    }

    /// c_l, picoseconds: the cost of the largest frame that enters there, and its ports.
    fn largest_cost(&self, entrance: &Entrance) -> (u64, u32) {
        let outputs = entrance.streams.iter().map(|s| s.outputs).max().unwrap_or(1);
        let sizes = entrance.streams.iter().map(|s| self.frame_bytes_max(s)).max();
        let bytes = if entrance.is_babbling { Some(FRAME_BYTES_MAX) } else { sizes };
        (self.device.cost_ps(bytes.unwrap_or(FRAME_BYTES_MIN), outputs), outputs)
    }

    /// What the line itself can bring, with `more` on every frame.
    fn line(&self, entrance: &Entrance, more: u64) -> Amount {
        let upstream = &self.context.net.ports[entrance.line];
        let (largest, outputs) = self.largest_cost(entrance);
        let what = Weight::Work(more);
        let per_bit = self.device.most_per_bit(what, MeterCounts::Wire, outputs);
        let ticked = u128::from(upstream.rate_bps) * u128::from(upstream.tick_ps);
        let ticked = u64::try_from(ticked.div_ceil(1_000_000_000_000)).unwrap_or(u64::MAX);
        let below = self.context.net.below_scheduler_bits(upstream.node).saturating_add(ticked);
        let first = self.size(what, largest.saturating_add(more));
        Amount {
            burst: first + self.scaled(what, per_bit, below),
            rate: self.rate(what, per_bit, upstream.rate_bps),
        }
    }

    fn shapes(&self) -> bool {
        self.context.plan.line_shaping && self.context.is_for_frames()
    }

    /// A_l(t) of an entrance whose frames are asked for.
    fn own(&self, entrance: &Entrance, more: u64) -> Curve {
        let mut curve = Curve::new();
        curve.extend(self.sum(Weight::Work(more), entrance).map(|a| Line::new(a.burst, a.rate)));
        if self.shapes() && !curve.is_empty() {
            let line = self.line(entrance, more);
            curve.push(Line::new(line.burst, line.rate));
        }
        curve
    }

    /// A_l(t + `ahead_ps`) of an entrance as the others see it; infinite without a bound.
    fn of_others(&self, entrance: &Entrance, ahead_ps: u64) -> Curve {
        let line = self.line(entrance, 0);
        let line_then = Line::new(&line.burst + &line.rate * ahead_ps, line.rate.clone());
        if entrance.is_babbling {
            return vec![line_then];
        }
        let Some(sum) = self.sum(Weight::Work(0), entrance) else { return Curve::new() };
        let mut curve = vec![Line::new(&sum.burst + &sum.rate * ahead_ps, sum.rate.clone())];
        if self.shapes() {
            let waiting = &sum.burst + &sum.rate * ahead_ps;
            curve.push(Line::new(&line.burst + waiting, line.rate));
            curve.push(line_then);
        }
        curve
    }

    /// U(t + `ahead_ps`).
    fn control(&self, ahead_ps: u64) -> Line {
        let share = self.device.processor.control;
        let burst = self.context.scale.bits(share.time_ps, 1, 1_000);
        // time per period, both in picoseconds: nanoseconds of work per second.
        let rate = self.context.scale.bps(share.time_ps, 1_000_000_000, share.period_ps);
        Line::new(burst + &rate * ahead_ps, rate)
    }

    /// What waits for nobody, at t + `ahead_ps`: messages of slices, and what the switch itself does for
    /// mode changes; infinite where nothing bounds it.
    fn unasked(&self, ahead_ps: u64) -> Curve {
        let (at_once, in_second) = slice_work(&self.device.processor.slices);
        let (Ok(at_once), Ok(in_second)) = (u64::try_from(at_once), u64::try_from(in_second))
        else {
            return Curve::new();
        };
        let scale = &self.context.scale;
        let rate = scale.rate(in_second, 1_000_000_000, 1, 1_000);
        let burst = scale.bits(at_once, 1, 1_000) + &rate * ahead_ps;
        let more = |line: Line| Line::new(line.burst + &burst, line.rate + &rate);
        self.changing(ahead_ps).into_iter().map(more).collect()
    }

    /// What the switch itself does for mode changes, at t + `ahead_ps`: signals that go out over its
    /// trunks, swaps and purges; infinite where nothing bounds what is purged.
    fn changing(&self, ahead_ps: u64) -> Curve {
        let (context, net) = (self.context, self.context.net);
        if !net.has_modes() {
            return vec![Line::new(BigInt::default(), BigInt::default())];
        }
        let Some(&purge) = context.changes.purges.get(&self.node) else { return Curve::new() };
        let trunks = (0..net.ports.len())
            .filter(|port| net.ports[*port].node == self.node && net.is_trunk(*port))
            .count();
        let copy = self.device.cost_ps(SIGNAL_BYTES, 2) - self.device.cost_ps(SIGNAL_BYTES, 1);
        let sent = u128::from(copy)
            .saturating_mul(context.signal_frames().into())
            .saturating_mul(u128::try_from(trunks).unwrap_or(u128::MAX));
        let swap = net.profile(self.node).map_or(0, |p| u128::from(p.swap_ns_max) * 1_000);
        let swaps = u128::try_from(net.raw.modes.len()).unwrap_or(u128::MAX);
        let changes = (swap + u128::from(purge)).saturating_mul(swaps);
        let Ok(all) = u64::try_from(sent.saturating_add(changes)) else { return Curve::new() };
        let rate = context.scale.rate(all, DWELL_NS, 1, 1_000);
        vec![Line::new(context.scale.bits(all, 1, 1_000) + &rate * ahead_ps, rate)]
    }

    /// One second of work per second.
    fn capacity(&self) -> BigInt {
        self.context.scale.bps(1_000_000_000, 1, 1)
    }

    /// Whether Σ `curves`(t) + `blocking` ≤ t + d for all t.
    fn holds(&self, curves: &[Curve], blocking: BigInt, delay_ps: u64) -> bool {
        let capacity = self.capacity();
        let room = &capacity * delay_ps - blocking;
        exact::largest_excess(curves, &capacity).is_some_and(|excess| excess.at_most(&room))
    }

    /// Σ A_l(t) + U(t) as one queue, and what changes take until t + `ahead_ps`.
    fn together(&self, ahead_ps: u64) -> Vec<Curve> {
        let all = self.entrances.iter().map(|entrance| self.of_others(entrance, 0));
        all.chain([vec![self.control(0)], self.unasked(ahead_ps)]).collect()
    }

    fn is_sufficient(&self, entrance: &Entrance, delay_ps: u64) -> bool {
        match self.device.processor.receive {
            Receive::Fifo => {
                let beside = self.device.link_ps(self.largest()).saturating_mul(2);
                let queued = delay_ps.checked_sub(beside);
                queued.is_some_and(|d| self.holds(&self.together(d), BigInt::default(), d))
            }
            Receive::RoundRobin(burst) => {
                self.holds_by_share(entrance, burst, delay_ps)
                    || self.holds_in_any_order(entrance, delay_ps)
            }
        }
    }

    fn holds_by_share(&self, entrance: &Entrance, burst_frames: u32, delay_ps: u64) -> bool {
        let (curves, blocking) = self.turns(entrance, burst_frames, delay_ps);
        self.holds(&curves, blocking, delay_ps)
    }

    /// S: a largest frame of every other port, picoseconds.
    fn round(&self, entrance: &Entrance) -> u64 {
        let others = self.entrances.iter().filter(|other| other.line != entrance.line);
        others.fold(0, |sum: u64, h| sum.saturating_add(self.largest_cost(h).0))
    }

    /// What the turns of other ports make of its frames, and what is in front of them.
    fn turns(&self, entrance: &Entrance, burst_frames: u32, ahead_ps: u64) -> (Vec<Curve>, BigInt) {
        let round = self.round(entrance);
        let blocking = self.size(Weight::Work(0), round) * (u64::from(burst_frames) - 1);
        let own = self.own(entrance, round);
        (vec![own, vec![self.control(ahead_ps)], self.unasked(ahead_ps)], blocking)
    }

    fn holds_in_any_order(&self, entrance: &Entrance, delay_ps: u64) -> bool {
        let of = |other: &Entrance| {
            if other.line == entrance.line {
                self.own(other, 0)
            } else {
                self.of_others(other, delay_ps)
            }
        };
        let own = [vec![self.control(delay_ps)], self.unasked(delay_ps)];
        let all = self.entrances.iter().map(of).chain(own);
        self.holds(&all.collect::<Vec<_>>(), BigInt::default(), delay_ps)
    }

    /// The lines that bring streams.
    pub(crate) fn lines(&self) -> impl Iterator<Item = usize> + '_ {
        let used = self.entrances.iter().filter(|entrance| !entrance.streams.is_empty());
        used.map(|entrance| entrance.line)
    }

    /// Claims that what is known of the lines does not imply.
    pub(crate) fn insufficient(&self, claims: Option<&BTreeMap<usize, u64>>) -> Vec<(usize, u64)> {
        let Some(claims) = claims else { return Vec::new() };
        let claimed = self.entrances.iter().filter_map(|entrance| {
            let delay_ps = *claims.get(&entrance.line)?;
            (!self.is_sufficient(entrance, delay_ps)).then_some((entrance.line, delay_ps))
        });
        claimed.collect()
    }

    /// Whether the processor and the lines beside it have done after so long all that came since the
    /// start of a busy period. Where hosts may keep it busy for ever, whether the frames of each port
    /// have had their turns by then: no other argument bounds a delay there.
    pub(crate) fn is_over_by(&self, busy_ps: u64) -> bool {
        let capacity = self.capacity();
        let is_done = |curves: &[Curve], blocking: BigInt, time_ps: u64| {
            let come = exact::sum_at(curves, time_ps);
            come.is_some_and(|come| come + blocking <= &capacity * time_ps)
        };
        let beside = self.device.link_ps(self.largest()).saturating_mul(2);
        let alone = busy_ps.checked_sub(beside);
        if alone.is_some_and(|time| is_done(&self.together(0), BigInt::default(), time)) {
            return true;
        }
        let Receive::RoundRobin(burst) = self.device.processor.receive else { return false };
        let mut used = self.entrances.iter().filter(|entrance| !entrance.streams.is_empty());
        self.is_kept_busy()
            && used.all(|entrance| {
                let (curves, blocking) = self.turns(entrance, burst, 0);
                is_done(&curves, blocking, busy_ps)
            })
    }

    /// Whether what comes is more than is done, in the long term.
    fn is_kept_busy(&self) -> bool {
        let unasked = self.unasked(0);
        let mut load = unasked.first().map(|unasked| self.control(0).rate + &unasked.rate);
        for entrance in &self.entrances {
            let rate = match entrance.is_babbling {
                true => Some(self.line(entrance, 0).rate),
                false => self.sum(Weight::Work(0), entrance).map(|sum| sum.rate),
            };
            load = load.zip(rate).map(|(load, rate)| load + rate);
        }
        load.is_some_and(|load| load > self.capacity())
    }

    /// The load with every host at its contracts, parts per million up; `None` without a meter.
    pub(crate) fn load_ppm(&self) -> Option<u64> {
        let mut rate = self.control(0).rate + &self.unasked(0).first()?.rate;
        for entering in self.entrances.iter().flat_map(|entrance| &entrance.streams) {
            // The rate does not depend on how late it is.
            let punctual = Entering { late_ps: Some(0), ..*entering };
            rate += self.brings(Weight::Work(0), &punctual)?.rate;
        }
        let ppm = exact::ceil_div(rate * 1_000_000_u32, self.capacity());
        Some(u64::try_from(ppm).unwrap_or(u64::MAX))
    }

    /// The ports whose receive buffers count, or `None` for the one of all.
    pub(crate) fn buffers(&self) -> Vec<Option<u32>> {
        match self.buffer {
            Some(buffer) if buffer.is_per_port => {
                let used = self.entrances.iter().filter(|entrance| !entrance.streams.is_empty());
                let port = |line: usize| self.context.net.ports[Net::reverse(line)].number;
                used.map(|entrance| Some(port(entrance.line))).collect()
            }
            _ => vec![None],
        }
    }

    fn processing(&self, line: usize) -> Option<u64> {
        self.context.processing_ps(self.mode, line)
    }

    /// Units that entrances can bring within `within_ps`, whole ones.
    fn window<'e>(
        &self,
        entrances: impl Iterator<Item = &'e Entrance>,
        within_ps: u64,
    ) -> Option<u64> {
        let mut sum = BigInt::default();
        for entrance in entrances {
            let units = self.sum(Weight::Units, entrance)?;
            sum += units.burst + units.rate * within_ps;
        }
        u64::try_from(self.context.scale.to_bits_down(&sum)).ok()
    }

    /// Units that may wait in a buffer; `None` without a bound.
    pub(crate) fn held(&self, port: Option<u32>) -> Option<u64> {
        let buffer = self.buffer?;
        if let Some(number) = port {
            let entry = self.context.net.port_at(self.node, number)?;
            let line = Net::reverse(entry);
            let own = self.entrances.iter().filter(|entrance| entrance.line == line);
            return self.window(own, self.processing(line)?);
        }
        if self.is_babbling() {
            return None;
        }
        let mut longest = 0;
        for entrance in &self.entrances {
            longest = longest.max(self.processing(entrance.line)?);
        }
        let processor = self.device.processor;
        let has_slices = !processor.slices.budgets.is_empty();
        let is_free =
            processor.control.time_ps == 0 && !has_slices && !self.context.net.has_modes();
        let place = buffer.has_place_in_service;
        let spared = if place && is_free { self.device.units(FRAME_BYTES_MIN) } else { 0 };
        let by_window = self.window(self.entrances.iter(), longest)?.saturating_sub(spared);
        if self.device.processor.receive != Receive::Fifo {
            return Some(by_window);
        }
        let excess = exact::largest_excess(&self.together(0), &self.capacity())?.ceil();
        let link = self.size(Weight::Work(0), self.device.link_ps(self.largest()));
        let streams = || self.entrances.iter().flat_map(|entrance| &entrance.streams);
        let least = streams().map(|s| self.frame_bytes_min(s)).min().unwrap_or(FRAME_BYTES_MIN);
        let least = self.size(Weight::Work(0), self.device.cost_ps(least, 1));
        let frames = u64::try_from(exact::ceil_div(excess + link, least)).ok()?;
        let most = streams().map(|s| self.device.units(self.frame_bytes_max(s))).max().unwrap_or(0);
        let by_work = frames.saturating_sub(u64::from(place)).saturating_mul(most);
        Some(by_window.min(by_work))
    }
}

/// Work is kept in nanoseconds and stated in picoseconds.
const fn per(what: Weight) -> u64 {
    match what {
        Weight::Work(_) => 1_000,
        Weight::Units => 1,
    }
}
