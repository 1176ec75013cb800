//! An independent recomputation: from the flows and their routes alone, from nothing.
//!
//! Total flow analysis with line shaping, by the exact operators of tenuto-calculus (10⁻⁶ bit, ps):
//! one delay per port and queue, iterated from zero to a fixed point, every burst grown by r·ΣD from
//! its source, and the fixed point then checked as x ≥ F(x). Nothing of the engine's books is used.

mod frames;

use crate::network::{Network, PortId};
use crate::request::{Request, Visit};
use std::collections::BTreeMap;
use tenuto_calculus::{Bucket, Flows, GroupCurves, Server, UBIT_PER_BIT, delay, div_up, ubits};
use tenuto_units::Picos;

const PS_PER_NS: i128 = 1_000;
const NS_PER_S: i128 = 1_000_000_000;
const PPM: i128 = 1_000_000;
/// Passes after which a network counts as one without bounds.
const PASSES_MAX: u32 = 2_000;
/// Growth of a delay per pass below which it is settled, then inflated by as much and checked.
const SETTLED: i128 = 100_000;

/// How near the peak of a backlog is found, ps.
const RESOLUTION_PS: i128 = 4;

/// A flow to be audited.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The promise.
    pub request: &'a Request,
    /// Where it goes.
    pub visits: &'a [Visit],
}

/// The findings of the recomputation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Per claim the delay to its last target, ns rounded up; `None` without a bound.
    pub bounds_ns: Vec<Option<u64>>,
    /// Claims whose bound exceeds their deadline, or that have none.
    pub late: Vec<u64>,
    /// Queues whose backlog may exceed their room: port, queue, bits, room in bits.
    pub full: Vec<(PortId, u8, i128, i128)>,
    /// Whether the delays found satisfy x ≥ F(x) exactly.
    pub is_certified: bool,
}

impl Audit {
    /// Whether every promise holds.
    pub fn is_kept(&self) -> bool {
        self.is_certified && self.late.is_empty() && self.full.is_empty()
    }
}

type Queue = (PortId, u8);
type Delays = BTreeMap<Queue, i128>;

/// Recomputes everything for these flows together.
pub fn audit(network: &Network, claims: &[Claim<'_>]) -> Audit {
    let mut delays = Delays::new();
    for claim in claims {
        for visit in claim.visits {
            delays.insert((visit.port, visit.queue), 0);
        }
    }
    if settle(network, claims, &mut delays).is_none() {
        let late = claims.iter().map(|claim| claim.request.id).collect();
        return Audit { bounds_ns: vec![None; claims.len()], late, ..Audit::default() };
    }
    // A frame larger than what a port expects in the way would block the queues above it for longer.
    let is_expected = |claim: &Claim<'_>| {
        let bits = claim.request.frame_bits;
        bits <= network.frame_bits_max() && network.frame_bits_exact().is_none_or(|it| it == bits)
    };
    let is_certified = claims.iter().all(is_expected) && is_fixed(network, claims, &delays);
    let mut found = Audit { is_certified, ..Audit::default() };
    for claim in claims {
        let bound_ns = u64::try_from(div_up(bound_ps(network, claim, &delays), PS_PER_NS)).ok();
        if bound_ns.is_none_or(|bound| bound > claim.request.deadline_ns) {
            found.late.push(claim.request.id);
        }
        found.bounds_ns.push(bound_ns);
    }
    let curves = curves(network, claims, &delays);
    for ((port, queue), delay_ps) in &delays {
        let room = i128::from(network.port(*port).queue_bytes) * 8;
        let most = backlog_bits(network, *port, *queue, *delay_ps, &curves[port]);
        if most > room {
            found.full.push((*port, *queue, most, room));
        }
    }
    found
}

/// The arrivals at a port.
#[derive(Default)]
struct Port {
    /// Sums per incoming line (`None`: the source itself) and queue, and the largest frame.
    sums: BTreeMap<Option<PortId>, BTreeMap<u8, (Bucket, i128)>>,
    /// Every flow by itself, with the line that it comes over.
    flows: Vec<(Option<PortId>, Bucket)>,
}

/// Every burst grown by r·ΣD upstream, summed where it arrives.
fn curves(network: &Network, claims: &[Claim<'_>], delays: &Delays) -> BTreeMap<PortId, Port> {
    let mut ports: BTreeMap<PortId, Port> = BTreeMap::new();
    for claim in claims {
        let source = contract(network, claim.request);
        let upstream = varied_ps(network, claim, delays);
        for (visit, upstream) in claim.visits.iter().zip(upstream) {
            let from = visit.parent.map(|parent| claim.visits[usize::from(parent)].port);
            let from = from.filter(|_| !network.is_source(visit.port));
            let port = ports.entry(visit.port).or_default();
            let grown = source.grown(Picos(upstream));
            port.flows.push((from, grown));
            let sum = port.sums.entry(from).or_default().entry(visit.queue).or_default();
            sum.0 = sum.0.plus(grown);
            sum.1 = sum.1.max(i128::from(claim.request.frame_bits) * UBIT_PER_BIT);
        }
    }
    ports
}

/// The bucket of a flow whose source's clock is fast by ρ, its bursts whole nanoseconds apart.
fn contract(network: &Network, request: &Request) -> Bucket {
    let fast = PPM + i128::from(network.clock_tolerance_ppm());
    let (burst, rate) = (ubits(request.burst_bits), ubits(request.rate_bps));
    let mut rate_ubps = div_up(rate * fast, PPM);
    let period_ns = i128::from(request.burst_bits) * NS_PER_S / i128::from(request.rate_bps);
    if period_ns > 1 {
        rate_ubps = rate_ubps.max(div_up(burst * fast * NS_PER_S, PPM * period_ns));
    }
    Bucket { burst_ubit: burst, rate_ubps }
}

/// How much what came before each visit may vary: ΣD, and the latency of every switch.
fn varied_ps(network: &Network, claim: &Claim<'_>, delays: &Delays) -> Vec<i128> {
    let mut varied = upstream_ps(claim, delays);
    let mut jitter: Vec<i128> = Vec::with_capacity(varied.len());
    for (at, visit) in claim.visits.iter().enumerate() {
        let before = visit.parent.map_or(0, |parent| jitter[usize::from(parent)]);
        let timing = network.timing(visit.port);
        let own = timing.latency_ns_max - timing.latency_ns_min;
        jitter.push(before + i128::from(own) * PS_PER_NS);
        varied[at] += jitter[at];
    }
    varied
}

/// ΣD before each visit.
fn upstream_ps(claim: &Claim<'_>, delays: &Delays) -> Vec<i128> {
    let mut upstream: Vec<i128> = Vec::with_capacity(claim.visits.len());
    for visit in claim.visits {
        let before = visit.parent.map_or(0, |parent| {
            let parent = usize::from(parent);
            let at = &claim.visits[parent];
            upstream[parent] + delays[&(at.port, at.queue)]
        });
        upstream.push(before);
    }
    upstream
}

fn bound_ps(network: &Network, claim: &Claim<'_>, delays: &Delays) -> i128 {
    let transit = |mut at: usize| {
        let mut sum = 0;
        loop {
            let port = claim.visits[at].port;
            let latency = i128::from(network.timing(port).latency_ns_max);
            sum += (latency + i128::from(network.port(port).propagation_ns)) * PS_PER_NS;
            match claim.visits[at].parent {
                Some(parent) => at = usize::from(parent),
                None => return sum,
            }
        }
    };
    let upstream = upstream_ps(claim, delays);
    let lasts = claim.visits.iter().enumerate().filter(|(_, visit)| visit.is_last);
    let reached =
        lasts.map(|(at, visit)| upstream[at] + delays[&(visit.port, visit.queue)] + transit(at));
    reached.max().unwrap_or(i128::MAX)
}

/// Line and queues as tenuto-calculus takes them, seen from `queue`.
fn groups(network: &Network, (id, queue): Queue, port: &Port) -> Vec<GroupCurves> {
    let group = |(from, sums): (&Option<PortId>, &BTreeMap<u8, (Bucket, i128)>)| {
        let mut curves = GroupCurves::default();
        let mut frame = 0;
        for (at, (bucket, largest)) in sums.range(..=queue) {
            let flows = if *at == queue { &mut curves.class } else { &mut curves.higher };
            flows.add(*bucket, false);
            frame = frame.max(*largest);
        }
        curves.line = from.map(|from| line(network, from, id, frame));
        curves
    };
    port.sums
        .iter()
        .map(group)
        .filter(|g| g.class != Flows::default() || g.higher != Flows::default())
        .chain(before_all(network, id))
        .collect()
}

fn before_all(network: &Network, id: PortId) -> Option<GroupCurves> {
    let signals = signals(network, id);
    let mut curves = GroupCurves::default();
    curves.higher.add(signals, false);
    (signals != Bucket::default()).then_some(curves)
}

/// Arrivals at the queue of a port over a line whose largest frame is `frame_ubit`, 10⁻⁶ bit: frames that end
/// between two ticks are handed over at the later one, what was below the scheduler came with them, and the
/// latency of the switch varies.
fn line(network: &Network, from: PortId, port: PortId, frame_ubit: i128) -> Bucket {
    let timing = network.timing(port);
    let own = i128::from(timing.latency_ns_max - timing.latency_ns_min) * PS_PER_NS;
    let below = ubits(u64::from(network.timing(from).below_scheduler_bytes) * 8);
    let closer = Picos(tick(network, from).0 + own);
    Bucket::line(frame_ubit + below, network.emitted_bps(from)).grown(closer)
}

fn tick(network: &Network, port: PortId) -> Picos {
    Picos(i128::from(network.tick_ns(port)) * PS_PER_NS)
}

fn server(network: &Network, id: PortId) -> Server {
    let port = network.port(id);
    let below = network.timing(id).below_scheduler_bytes;
    Server::new(port.rate_bps, ubits(u64::from(port.blocking_bytes.max(below)) * 8))
}

/// Signals, before every queue and shaped by nothing.
fn signals(network: &Network, id: PortId) -> Bucket {
    let (burst, rate) = network.signals(id);
    Bucket { burst_ubit: ubits(burst), rate_ubps: ubits(rate) }
}

fn delay_ps(network: &Network, (port, queue): Queue, curves: &Port) -> Option<i128> {
    match frames::most(network, port, curves) {
        Some((delay, _)) => Some(delay),
        None => {
            let waiting = delay(server(network, port), &groups(network, (port, queue), curves))?;
            let is_measured = network.is_processor(port);
            Some(waiting.0 + if is_measured { 0 } else { tick(network, port).0 })
        }
    }
}

/// Iterates from zero, then inflates by what the last passes still moved.
fn settle(network: &Network, claims: &[Claim<'_>], delays: &mut Delays) -> Option<()> {
    for _ in 0..PASSES_MAX {
        let curves = curves(network, claims, delays);
        let mut is_settled = true;
        for (queue, known) in delays.iter_mut() {
            let next = delay_ps(network, *queue, &curves[&queue.0])?;
            is_settled &= next - *known <= *known / SETTLED;
            *known = next.max(*known);
        }
        if is_settled {
            return inflate(network, claims, delays);
        }
    }
    None
}

/// A vector slightly above the limit of a concave F is above what F makes of it.
fn inflate(network: &Network, claims: &[Claim<'_>], delays: &mut Delays) -> Option<()> {
    let settled = delays.clone();
    for percent_of_percent in [0, 1, 10, 100] {
        for (queue, delay) in delays.iter_mut() {
            *delay = settled[queue] + settled[queue] * percent_of_percent / 10_000;
        }
        if is_fixed(network, claims, delays) {
            lower(network, claims, delays);
            return Some(());
        }
    }
    None
}

/// From a vector x >= F(x) to F(x), which is one too, until that takes less than a nanosecond off.
fn lower(network: &Network, claims: &[Claim<'_>], delays: &mut Delays) {
    for _ in 0..PASSES_MAX {
        let curves = curves(network, claims, delays);
        let mut most = 0;
        for (queue, known) in delays.iter_mut() {
            let next = delay_ps(network, *queue, &curves[&queue.0]).unwrap_or(*known).min(*known);
            most = most.max(*known - next);
            *known = next;
        }
        if most < PS_PER_NS / 10 {
            return;
        }
    }
}

fn is_fixed(network: &Network, claims: &[Claim<'_>], delays: &Delays) -> bool {
    let curves = curves(network, claims, delays);
    delays.iter().all(|(queue, known)| {
        delay_ps(network, *queue, &curves[&queue.0]).is_some_and(|next| next <= *known)
    })
}

/// The most that waits in a queue, bits: the largest over all break points, and points in between
/// where the two bounds on it cross, of the lesser of what came and what is left.
fn backlog_bits(network: &Network, port: PortId, queue: u8, delay_ps: i128, curves: &Port) -> i128 {
    if let Some((_, waiting)) = frames::most(network, port, curves) {
        return waiting;
    }
    let server = server(network, port);
    let seen = groups(network, (port, queue), curves);
    let own_frames = curves.sums.values().filter_map(|sums| sums.get(&queue).map(|sum| sum.1));
    // A processor's β_{R,T} is one of whole frames: nothing is gone before its frame is.
    let own_frame = match network.is_processor(port) {
        true => 0,
        false => own_frames.max().unwrap_or(0),
    };
    let came = |t: i128| -> i128 {
        curves
            .sums
            .iter()
            .filter_map(|(from, sums)| {
                let (bucket, frame) = sums.get(&queue)?;
                let line = from.map(|from| self::line(network, from, port, *frame));
                Some(least_at(*bucket, line, t))
            })
            .sum()
    };
    let left = |t: i128| -> i128 {
        let all = seen.iter().map(|g| least_at(g.class.all().plus(g.higher.all()), g.line, t));
        let handed_over = (t - tick(network, port).0).max(0);
        let served = server.capacity_ubps * handed_over / 1_000_000_000_000;
        all.sum::<i128>() + server.blocking_ubit + own_frame - served
    };
    // `came` only rises, `left` is concave: the least of both peaks at the peak of `left` or where
    // they cross behind it. Both are found by halving, the peak to within a few picoseconds, charged at the line rate.
    let (mut low, mut high) = (0, delay_ps);
    while high - low > RESOLUTION_PS {
        let (a, b) = (low + (high - low) / 3, high - (high - low) / 3);
        if left(a) < left(b) { low = a } else { high = b }
    }
    let peak = high;
    let slack = server.capacity_ubps * RESOLUTION_PS / 1_000_000_000_000 + 1;
    if came(peak) >= left(peak) {
        return div_up(left(peak).max(0) + slack, UBIT_PER_BIT);
    }
    let (mut low, mut high) = (peak, delay_ps);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if came(middle) <= left(middle) { low = middle } else { high = middle }
    }
    div_up(came(high), UBIT_PER_BIT)
}

/// min{b + r·t, L + C·t}, 10⁻⁶ bit rounded up.
fn least_at(bucket: Bucket, line: Option<Bucket>, t: i128) -> i128 {
    let at = |b: Bucket| b.grown(Picos(t)).burst_ubit;
    line.map_or(at(bucket), |line| at(line).min(at(bucket)))
}
