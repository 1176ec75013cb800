//! How many flows of Loko's demand an admission engine holds that knows the switches' processors.

use super::allocations::{Indexed, LISTS, published};
use super::loko::{FRAME, RING, model};
use super::sheet::{Sheet, rounded};
use serde_json::Value;
use tenuto_admission::audit::{Claim, audit};
use tenuto_admission::{
    Decision, Engine, Method, Network, Node, NodeId, Port, Processor, Request, Reservation, Visit,
};
use tenuto_planner::loko::{
    Allocation, Demand, Draws, SwitchModel, admit, between_hosts, optimised, ring,
};

const ENTRIES: u32 = 17;
const HOPS: [usize; 6] = [0, 1, 3, 5, 10, 20];
const ASKED: [usize; 3] = [50, 100, 200];
const LINE_BPS: u64 = 100_000_000;
/// Lists whose outcome is recomputed from nothing.
const AUDITED: usize = 4;
/// Room of a line, bytes: Loko's switches wait for the processor, not for their lines.
const LINE_BYTES: u32 = 65_536;

pub(super) fn sheets() -> Vec<Sheet> {
    let columns =
        ["asked", "full-rate", "fifth-rate", "chosen", "exact", "reserve", "more than best %"];
    let model = model(ENTRIES, FRAME);
    let mut rings = Sheet::new(
        format!("flows held on Loko's ring of 31 Zodiac FX, mean of {LISTS} lists of 100"),
        &[&["hops"], &columns[..], &["kept"]].concat(),
    );
    let ring_of = Switches::ring();
    for hops in HOPS {
        let list = |draws: &mut Draws| ring(RING, hops, 100, FRAME, draws);
        rings.push(row(hops.into(), 100, &model, &ring_of, &list));
    }
    for note in [
        "deadline of each flow: what full rate promises to it, 1.86 ms per switch; the engine's bound \
         contains the hosts' lines besides",
        "more than best: exact or reserve against the best allocation",
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
                wind.push(row("wind-oss".into(), asked, &model, &switches, &list));
            }
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
) -> Vec<Value> {
    let lists = |seed: u64| -> Vec<Vec<Demand>> {
        let mut draws = Draws::new(seed);
        (0..LISTS).map(|_| list(&mut draws)).collect()
    };
    let judged = lists(2);
    let models = vec![*model; switches.count];
    let mean = |count: usize| count as f64 / LISTS as f64;
    let allocated = |allocations: &[Option<Allocation>]| {
        mean(judged.iter().map(|list| admit(allocations, list).accepted).sum())
    };
    let share = |k: u64| allocated(&models.iter().map(|model| model.share(k)).collect::<Vec<_>>());
    let best_known = [share(1), share(5), allocated(&optimised(&models, &lists(1), 1))];
    let network = switches.network(model);
    let delay_ps = model.share(1).map_or(0, |it| it.delay_ps);
    let mut is_kept = true;
    let mut held = |method| {
        let mut count = 0;
        for (at, list) in judged.iter().enumerate() {
            let engine = switches.decide(&network, method, list, delay_ps);
            count += engine.len();
            is_kept &= at >= AUDITED || is_kept_by(&engine);
        }
        mean(count)
    };
    let engines = [held(Method::Exact), held(Method::Reserve)];
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let more = (most(&engines) / most(&best_known) - 1.0) * 100.0;
    let mut row = vec![name, asked.into()];
    row.extend(best_known.iter().chain(&engines).map(|value| rounded(*value, 1)));
    row.push(rounded(more, 1));
    row.push(is_kept.into());
    row
}

fn is_kept_by(engine: &Engine) -> bool {
    let held: Vec<(Request, Vec<Visit>)> =
        engine.held().map(|(request, visits)| (request.clone(), visits)).collect();
    let claims: Vec<Claim<'_>> =
        held.iter().map(|(request, visits)| Claim { request, visits }).collect();
    audit(engine.network(), &claims).is_kept()
}

/// Switches by index with a sending and a receiving host each, and directed links between them.
struct Switches {
    count: usize,
    links: Vec<(usize, usize)>,
}

impl Switches {
    /// Flows go one way around, as Loko's.
    fn ring() -> Self {
        Self { count: RING, links: (0..RING).map(|at| (at, (at + 1) % RING)).collect() }
    }

    fn of(it: &Indexed) -> Self {
        let links = it.links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        Self { count: it.switches, links }
    }

    fn network(&self, model: &SwitchModel) -> Network {
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

    fn decide(&self, network: &Network, method: Method, list: &[Demand], delay_ps: u64) -> Engine {
        let reservation = Reservation::starting_on(network);
        let mut engine = Engine::new(network.clone(), method, reservation);
        for (id, demand) in (0_u64..).zip(list) {
            let (Some(first), Some(last)) = (demand.path.first(), demand.path.last()) else {
                continue;
            };
            let switches = u64::try_from(demand.path.len()).unwrap_or(u64::MAX);
            let request = Request {
                id,
                source: self.source(*first),
                targets: vec![self.target(*last)],
                rate_bps: demand.rate_bps,
                burst_bits: demand.burst_bytes * 8,
                frame_bits: u64::from(FRAME) * 8,
                deadline_ns: delay_ps.saturating_mul(switches) / 1_000,
            };
            let (Decision::Accepted(_) | Decision::Refused(_)) = engine.add(&request);
        }
        engine
    }
}

fn node(at: usize) -> NodeId {
    NodeId(u32::try_from(at).expect("a few hundred"))
}
