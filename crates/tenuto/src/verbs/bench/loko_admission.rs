//! How many flows of Loko's demand an admission engine holds that knows the switches' processors.
//!
//! Like with like: every flow has a deadline that each of the allocations beside meets, so that none of
//! them holds flows which it could not serve in time.

use super::allocations::{Indexed, LISTS, published};
use super::loko::{FRAME, RING, model};
use super::sheet::{Sheet, rounded};
use crate::progress::{Progress, bar};
use serde_json::Value;
use tenuto_admission::audit::{Claim, audit};
use tenuto_admission::{
    Ceilings, Engine, Kept, Method, Network, Node, NodeId, Port, PortId, Processor, Request,
    Reservation, Visit, best_for, narrowed,
};
use tenuto_planner::loko::{
    Allocation, Demand, SwitchModel, admit, between_hosts, optimised, ring,
};
use tenuto_units::Draws;

const ENTRIES: u32 = 17;
const HOPS: [usize; 8] = [0, 1, 2, 3, 4, 5, 7, 10];
const ASKED: [usize; 3] = [50, 100, 200];
const LINE_BPS: u64 = 100_000_000;
/// Lists whose outcome is recomputed from nothing.
const AUDITED: usize = 4;
/// Expected lists on which single switches are tried.
const NARROWED: usize = 32;
/// Room of a line, bytes: Loko's switches wait for the processor, not for their lines.
const LINE_BYTES: u32 = 65_536;
/// Hundredths of the chosen allocation's delays that are tried as ceilings.
const CEILINGS_PERCENT: [u64; 3] = [95, 100, 105];
const NS_PER_S: u64 = 1_000_000_000;

/// What is being counted, for whoever waits.
struct Counting {
    progress: Progress,
    row: String,
}

impl Counting {
    fn say(&mut self, what: &str, done: usize, of: usize) {
        let row = &self.row;
        self.progress.say(|| {
            let bar = bar(done as u64, of as u64);
            format!("{row}   {what}  {bar} {done}/{of}")
        });
    }
}

pub(super) fn sheets() -> Vec<Sheet> {
    let mut counting = Counting { progress: Progress::new(), row: String::new() };
    let columns =
        ["asked", "full-rate", "half-rate", "chosen", "exact", "reserve", "more than best %"];
    let model = model(ENTRIES, FRAME);
    let mut rings = Sheet::new(
        format!("flows held on Loko's ring of 31 Zodiac FX, mean of {LISTS} lists of 100"),
        &[&["hops"], &columns[..], &["kept"]].concat(),
    );
    let ring_of = Switches::ring();
    for hops in HOPS {
        let list = |draws: &mut Draws| ring(RING, hops, 100, FRAME, draws);
        counting.row = format!("ring of {RING}, {hops} hops");
        rings.push(row(hops.into(), 100, &model, &ring_of, &list, &mut counting));
    }
    let brim_ms = brim_ns(&model) as f64 / 1e6;
    rings.note(format!(
        "deadline of each flow: {brim_ms:.2} ms per switch, in which it empties a full buffer, and what \
         the lines take, which only the engines count: every allocation meets it"
    ));
    for note in [
        "reserve: what holds most of 64 lists drawn alike (exact; no more raises than usual; the chosen \
         allocation's delays as ceilings), counted on 64 others",
        "more than best: reserve against the best allocation",
    ] {
        rings.note(note);
    }
    let mut wind = Sheet::new(
        "flows held between hosts of wind-oss (60 hosts, 40 switches, each a Zodiac FX)",
        &[&["network"], &columns[..], &["kept"]].concat(),
    );
    match published() {
        Some(it) => {
            let switches = Switches::of(&it);
            for asked in ASKED {
                let list = |draws: &mut Draws| {
                    between_hosts(&it.links, it.switches, &it.hosts, asked, FRAME, draws)
                };
                counting.row = format!("wind-oss, {asked} asked");
                wind.push(row("wind-oss".into(), asked, &model, &switches, &list, &mut counting));
            }
            wind.note("reserve: besides, single switches closed or given away less, where that holds more");
        }
        None => wind.note("skipped: wind-oss/topology.json is not there (set TENUTO_DATA)"),
    }
    vec![rings, wind]
}

fn row(
    name: Value,
    asked: usize,
    model: &SwitchModel,
    switches: &Switches,
    list: &dyn Fn(&mut Draws) -> Vec<Demand>,
    counting: &mut Counting,
) -> Vec<Value> {
    counting.say("allocations", 0, 1);
    let lists = |seed: u64| -> Vec<Vec<Demand>> {
        let mut draws = Draws::new(seed);
        (0..LISTS).map(|_| list(&mut draws)).collect()
    };
    let (expected, judged) = (lists(1), lists(2));
    let models = vec![*model; switches.count];
    let chosen = optimised(&models, &expected, 1);
    let mean = |count: usize| count as f64 / LISTS as f64;
    let allocated = |allocations: &[Option<Allocation>]| {
        mean(judged.iter().map(|list| admit(allocations, list).accepted).sum())
    };
    let share = |k: u64| allocated(&models.iter().map(|model| model.share(k)).collect::<Vec<_>>());
    let allocations = [share(1), share(2), allocated(&chosen)];
    let network = switches.network(model);
    let brim_ns = brim_ns(model);
    let requests = |lists: &[Vec<Demand>]| -> Vec<Vec<Request>> {
        lists.iter().map(|list| switches.requests(list, brim_ns)).collect()
    };
    let (expected, judged) = (requests(&expected), requests(&judged));
    let kept = switches.kept(&network, &chosen, brim_ns, &expected, counting);
    let open = open(Method::Exact);
    let engines = [&open, &kept].map(|kept| mean(kept.holds(&network, &judged)));
    let is_kept = judged.iter().take(AUDITED).all(|list| {
        [&open, &kept].into_iter().all(|kept| is_kept_by(&decided(kept, &network, list)))
    });
    let best = allocations.iter().copied().fold(0.0, f64::max);
    let more = if best > 0.0 { rounded((engines[1] / best - 1.0) * 100.0, 1) } else { Value::Null };
    let mut row = vec![name, asked.into()];
    row.extend(allocations.iter().chain(&engines).map(|value| rounded(*value, 1)));
    row.push(more);
    row.push(is_kept.into());
    row
}

/// The longest that a switch takes to empty a full buffer, ns: no allocation promises a later end.
pub(super) fn brim_ns(model: &SwitchModel) -> u64 {
    let bits = model.buffer_bytes.saturating_mul(8 * NS_PER_S);
    model.latency_ps.div_ceil(1_000) + bits.div_ceil(model.rate_bps.max(1))
}

/// Nothing reserved and nothing limited.
pub(super) fn open(method: Method) -> Kept {
    Kept { method, reservation: Reservation::none(), ceilings: Ceilings::default() }
}

pub(super) fn decided(kept: &Kept, network: &Network, list: &[Request]) -> Engine {
    let mut engine = kept.engine(network.clone());
    for request in list {
        let _decision = engine.add(request);
    }
    engine
}

fn is_kept_by(engine: &Engine) -> bool {
    let held: Vec<(Request, Vec<Visit>)> =
        engine.held().map(|(request, visits)| (request.clone(), visits)).collect();
    let claims: Vec<Claim<'_>> =
        held.iter().map(|(request, visits)| Claim { request, visits }).collect();
    audit(engine.network(), &claims).is_kept()
}

/// Switches by index with a sending and a receiving host each, and directed links between them.
pub(super) struct Switches {
    count: usize,
    links: Vec<(usize, usize)>,
    is_ring: bool,
}

impl Switches {
    /// Flows go one way around, as Loko's.
    fn ring() -> Self {
        Self {
            count: RING,
            links: (0..RING).map(|at| (at, (at + 1) % RING)).collect(),
            is_ring: true,
        }
    }

    pub(super) fn of(it: &Indexed) -> Self {
        let links = it.links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        Self { count: it.switches, links, is_ring: false }
    }

    pub(super) fn network(&self, model: &SwitchModel) -> Network {
        let named = |kind: &'static str, is_switch: bool| {
            (0..self.count).map(move |at| Node { name: format!("{kind}{at}"), is_switch })
        };
        let nodes = named("s", true).chain(named("out", false)).chain(named("in", false));
        let line = |from: NodeId, to: NodeId| Port {
            from,
            to,
            rate_bps: LINE_BPS,
            propagation_ns: 0,
            queues: 1,
            queue_bytes: LINE_BYTES,
            blocking_bytes: FRAME,
        };
        let mut ports = Vec::new();
        for at in 0..self.count {
            ports.push(line(self.source(at), node(at)));
            ports.push(line(node(at), self.target(at)));
        }
        ports.extend(self.links.iter().map(|&(a, b)| line(node(a), node(b))));
        let processor = Processor {
            rate_bps: model.rate_bps,
            latency_ns: model.latency_ps.div_ceil(1_000),
            room_frames: u32::try_from(model.buffer_bytes / u64::from(FRAME)).unwrap_or(u32::MAX),
            frame_bytes: FRAME,
            output_bps: LINE_BPS,
        };
        Network::with_processors(nodes.collect(), ports, &vec![Some(processor); self.count])
            .expect("made to be consistent")
    }

    fn source(&self, at: usize) -> NodeId {
        node(self.count + at)
    }

    fn target(&self, at: usize) -> NodeId {
        node(2 * self.count + at)
    }

    /// The processor of a switch: those stand behind all lines, in the order of the switches.
    fn processor(&self, network: &Network, at: usize) -> PortId {
        let port = network.ports().len() - self.count + at;
        PortId(u32::try_from(port).expect("a few hundred"))
    }

    pub(super) fn requests(&self, list: &[Demand], brim_ns: u64) -> Vec<Request> {
        let request = |(id, demand): (u64, &Demand)| {
            let (first, last) = (demand.path.first()?, demand.path.last()?);
            let switches = u64::try_from(demand.path.len()).ok()?;
            Some(Request {
                id,
                source: self.source(*first),
                targets: vec![self.target(*last)],
                rate_bps: demand.rate_bps,
                burst_bits: demand.burst_bytes * 8,
                frame_bits: u64::from(FRAME) * 8,
                deadline_ns: switches * brim_ns + lines_ns(switches),
            })
        };
        (0_u64..).zip(list).filter_map(request).collect()
    }

    /// What holds most of the expected lists, of everything there is.
    fn kept(
        &self,
        network: &Network,
        chosen: &[Option<Allocation>],
        brim_ns: u64,
        expected: &[Vec<Request>],
        counting: &mut Counting,
    ) -> Kept {
        let servers: Vec<PortId> = (0..self.count).map(|at| self.processor(network, at)).collect();
        let candidates = candidates(network, &servers, chosen);
        let mut told = |done| counting.say("candidates", done, candidates.len());
        let best = best_for(network, &candidates, expected, &mut told);
        let best = best.expect("there are candidates").clone();
        if self.is_ring {
            // All switches of the ring are alike to its demand.
            return best;
        }
        // One by one, servers are narrowed to where the search happens to end: from three starts, the
        // last without those that the chosen allocation closes. What suits some of the lists is
        // compared on the others.
        let (few, others) = expected.split_at(NARROWED.min(expected.len()));
        let mut closed = open(Method::Reserve);
        for (server, _) in servers.iter().zip(chosen).filter(|(_, it)| it.is_none()) {
            closed.ceilings.set(*server, 0, 0);
        }
        let mut ends = vec![open(Method::Exact), best.clone()];
        let starts = [best, open(Method::Reserve), closed];
        let of = starts.len() * servers.len();
        for (nth, start) in starts.into_iter().enumerate() {
            let mut told = |done| counting.say("servers", nth * servers.len() + done, of);
            ends.push(narrowed(network, start, &servers, brim_ns, few, &mut told));
        }
        let mut told = |done| counting.say("ends of the search", done, ends.len());
        best_for(network, &ends, others, &mut told).expect("there are some").clone()
    }
}

/// What may hold most: everything open, and ceilings at shares of the chosen allocation's delays.
fn candidates(network: &Network, servers: &[PortId], chosen: &[Option<Allocation>]) -> Vec<Kept> {
    let ceilings = |percent: u64| {
        let mut ceilings = Ceilings::default();
        for (server, allocation) in servers.iter().zip(chosen) {
            let delay_ps = allocation.map_or(0, |it| it.delay_ps);
            ceilings.set(*server, 0, delay_ps / 1_000 * percent / 100);
        }
        ceilings
    };
    let mut candidates = vec![open(Method::Exact), open(Method::Reserve)];
    let reservation = Reservation::starting_on(network);
    candidates.push(Kept { reservation, ..open(Method::Reserve) });
    for method in [Method::Exact, Method::Reserve] {
        let limited = |percent| Kept { ceilings: ceilings(percent), ..open(method) };
        candidates.extend(CEILINGS_PERCENT.into_iter().map(limited));
    }
    candidates
}

/// What the lines of a way take: two frames each, and at the sender's a buffer full of bursts.
fn lines_ns(switches: u64) -> u64 {
    const FRAME_NS: u64 = FRAME as u64 * 8 * NS_PER_S / LINE_BPS;
    const FRAMES_OF_BURSTS: u64 = 8;
    ((switches + 1) * 2 + FRAMES_OF_BURSTS) * FRAME_NS
}

fn node(at: usize) -> NodeId {
    NodeId(u32::try_from(at).expect("a few hundred"))
}
