//! Flows played frame by frame while others come and go: no frame stays in a queue for longer than
//! what is reserved there when it leaves, none is late, none finds a queue full - at any instant,
//! with frames of flows that have gone still on their way.

mod lowering;
mod timed;

use super::networks::{chain, host, request, star};
use crate::audit::{Claim, audit};
use crate::{
    Engine, Meter, Method, Network, PortId, QUEUES_MAX, Request, Reservation, Visit, Yielding,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use tenuto_units::{Instant, Span};

/// Exact at 100 Mbit/s.
const NS_PER_BIT: i64 = 10;
const NBIT: i64 = 1_000_000_000;

/// Draws that are times and lengths in turn.
struct Draws(tenuto_units::Draws);

impl Draws {
    const fn new(seed: u64) -> Self {
        Self(tenuto_units::Draws::new(seed))
    }

    fn below(&mut self, limit: i64) -> i64 {
        let limit = u64::try_from(limit.max(1)).expect("positive");
        i64::try_from(self.0.below(limit)).expect("below a limit of its kind")
    }

    fn is_one_of(&mut self, of: i64) -> bool {
        self.below(of) == 0
    }
}

/// A flow that sends, or has sent.
struct Live {
    request: Request,
    visits: Vec<Visit>,
    /// Of its bucket, 10⁻⁹ bit, at the instant beside.
    tokens: (i64, i64),
    /// What its first switch lets pass, and what of that is left, at the instant beside.
    meter: Meter,
    passing: (i128, i64),
    /// Tokens left in the bucket as asked for, 10⁻⁹ bit, at the instant beside.
    as_asked: (i128, i64),
    /// It sends nothing from then on.
    stops_ns: i64,
}

#[derive(Clone, Copy)]
struct Frame {
    live: usize,
    /// Place among the visits of its flow.
    at: usize,
    released_ns: i64,
    queued_ns: i64,
}

#[derive(Default)]
struct Line {
    queues: [VecDeque<Frame>; QUEUES_MAX],
    bits: [i64; QUEUES_MAX],
    /// What is on the wire; `None` within is a frame of other traffic.
    sent: Option<Option<Frame>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive { live: usize, at: usize, released_ns: i64 },
    Done { port: u32 },
    Send { live: usize },
}

struct World {
    network: Network,
    lines: Vec<Line>,
    events: BinaryHeap<Reverse<(i64, u64, Event)>>,
    lives: Vec<Live>,
    /// Messages that arrived, and the closest that a stay came to what was reserved, percent.
    seen: usize,
    closest: i64,
    /// The longest stay so far, by port and queue.
    longest_ns: BTreeMap<(PortId, u8), i64>,
    /// When the last frame of a line came to a queue: frames of a line keep their order.
    ready_ns: BTreeMap<PortId, i64>,
    /// Frames that a meter of the bucket as asked for would have dropped.
    dropped_as_asked: usize,
}

impl World {
    fn new(network: Network) -> Self {
        let lines = network.ports().iter().map(|_| Line::default()).collect();
        Self {
            network,
            lines,
            events: BinaryHeap::new(),
            lives: Vec::new(),
            seen: 0,
            closest: 0,
            longest_ns: BTreeMap::new(),
            ready_ns: BTreeMap::new(),
            dropped_as_asked: 0,
        }
    }

    fn at(&mut self, ns: i64, draws: &mut Draws, event: Event) {
        // What happens at one instant happens in any order.
        let order = u64::try_from(draws.below(1 << 40)).expect("positive");
        self.events.push(Reverse((ns, order, event)));
    }

    /// Everything until `end_ns`, held against what the engine says now.
    fn run(&mut self, end_ns: i64, engine: &Engine, draws: &mut Draws) {
        while let Some(Reverse((now_ns, _, event))) = self.events.peek().copied() {
            if now_ns > end_ns {
                return;
            }
            self.events.pop();
            match event {
                Event::Send { live } => self.send(live, now_ns, draws),
                Event::Arrive { live, at, released_ns } => {
                    let frame = Frame { live, at, released_ns, queued_ns: now_ns };
                    self.arrive(frame, now_ns, draws);
                }
                Event::Done { port } => self.done(port, now_ns, engine, draws),
            }
        }
    }

    /// All that the bucket allows, at once.
    fn send(&mut self, live: usize, now_ns: i64, draws: &mut Draws) {
        let it = &mut self.lives[live];
        let frame = i64::try_from(it.request.frame_bits).expect("small") * NBIT;
        let burst = i64::try_from(it.request.burst_bits).expect("small") * NBIT;
        // Its clock is as fast as it may be.
        let ppm = i64::from(self.network.clock_tolerance_ppm());
        let rate =
            i64::try_from(it.request.rate_bps).expect("small") * (1_000_000 + ppm) / 1_000_000;
        let (known, since_ns) = it.tokens;
        let mut tokens = burst.min(known + (now_ns - since_ns).saturating_mul(rate));
        let mut frames = 0;
        while tokens >= frame && now_ns < it.stops_ns {
            tokens -= frame;
            frames += 1;
        }
        it.tokens = (tokens, now_ns);
        let roots = it.visits.iter().filter(|visit| visit.parent.is_none()).count();
        assert_eq!(roots, 1, "a host has one port here");
        for _ in 0..frames {
            self.at(now_ns, draws, Event::Arrive { live, at: 0, released_ns: now_ns });
        }
        if draws.is_one_of(2) && now_ns < self.lives[live].stops_ns {
            self.at(now_ns + (frame - tokens) / rate + 1, draws, Event::Send { live });
        }
    }

    fn arrive(&mut self, frame: Frame, now_ns: i64, draws: &mut Draws) {
        let visit = self.lives[frame.live].visits[frame.at];
        let queue = usize::from(visit.queue);
        let line = &mut self.lines[visit.port.index()];
        line.queues[queue].push_back(frame);
        line.bits[queue] +=
            i64::try_from(self.lives[frame.live].request.frame_bits).expect("small");
        let room = i64::from(self.network.port(visit.port).queue_bytes) * 8;
        assert!(line.bits[queue] <= room, "{visit:?} is full at {now_ns} ns");
        if line.sent.is_none() {
            // A frame of other traffic has just begun.
            line.sent = Some(None);
            let below = self.network.timing(visit.port).below_scheduler_bytes;
            let bytes = self.network.port(visit.port).blocking_bytes.max(below);
            let blocked = i64::from(bytes) * 8 * NS_PER_BIT;
            self.at(now_ns + blocked, draws, Event::Done { port: visit.port.0 });
        }
    }

    fn done(&mut self, port: u32, now_ns: i64, engine: &Engine, draws: &mut Draws) {
        let id = PortId(port);
        let sent = self.lines[id.index()].sent.take().expect("a frame was on the wire");
        if let Some(frame) = sent {
            self.left(frame, now_ns, engine, draws);
        }
        let line = &mut self.lines[id.index()];
        let next = line.queues.iter_mut().find_map(VecDeque::pop_front);
        if let Some(frame) = next {
            line.sent = Some(Some(frame));
            let bits = i64::try_from(self.lives[frame.live].request.frame_bits).expect("small");
            self.at(now_ns + bits * NS_PER_BIT, draws, Event::Done { port });
        }
    }

    fn left(&mut self, frame: Frame, now_ns: i64, engine: &Engine, draws: &mut Draws) {
        let it = &self.lives[frame.live];
        let (visit, visits) = (it.visits[frame.at], it.visits.clone());
        let bits = i64::try_from(it.request.frame_bits).expect("small");
        let deadline = i64::try_from(it.request.deadline_ns).expect("small");
        self.lines[visit.port.index()].bits[usize::from(visit.queue)] -= bits;
        let stayed = now_ns - frame.queued_ns;
        let reserved = engine.reserved_ns(visit.port, visit.queue);
        let id = it.request.id;
        let longest = self.longest_ns.entry((visit.port, visit.queue)).or_default();
        *longest = (*longest).max(stayed);
        // While flows are moved, the proof is about both places together, and promises deadlines.
        if !engine.is_changing() {
            assert!(stayed <= reserved, "flow {id} stayed {stayed} of {reserved} ns in {visit:?}");
            self.closest = self.closest.max(stayed * 100 / reserved);
        }
        let propagation =
            i64::try_from(self.network.port(visit.port).propagation_ns).expect("small");
        let there_ns = now_ns + propagation;
        if visit.is_last {
            let took = there_ns - frame.released_ns;
            assert!(took <= deadline, "flow {id} took {took} of {deadline} ns");
            self.seen += 1;
        }
        if frame.at == 0 {
            self.meter(frame.live, there_ns, bits);
        }
        let is_next = |visit: &Visit| visit.parent.map(usize::from) == Some(frame.at);
        let next = (0..visits.len()).find(|at| is_next(&visits[*at]));
        let there_ns = next
            .map_or(there_ns, |at| self.queued_ns(visit.port, visits[at].port, there_ns, draws));
        for at in (0..visits.len()).filter(|at| is_next(&visits[*at])) {
            let (live, released_ns) = (frame.live, frame.released_ns);
            self.at(there_ns, draws, Event::Arrive { live, at, released_ns });
        }
    }

    /// When a frame that came over `line` is in the queue: the latency of the switch varies.
    fn queued_ns(&mut self, line: PortId, port: PortId, there_ns: i64, draws: &mut Draws) -> i64 {
        let timing = self.network.timing(port);
        let [least, most] = [timing.latency_ns_min, timing.latency_ns_max]
            .map(|ns| i64::try_from(ns).expect("small"));
        let latency = match draws.below(4) {
            0 => least,
            1 => most,
            _ => least + draws.below(most - least + 1),
        };
        let ready = self.ready_ns.entry(line).or_default();
        *ready = (*ready).max(there_ns + latency);
        *ready
    }

    /// The first switch judges a frame: none that conforms is dropped.
    fn meter(&mut self, live: usize, now_ns: i64, bits: i64) {
        let it = &mut self.lives[live];
        let refilled = |(known, since_ns): (i128, i64), rate: u64, burst: u64| {
            let more = i128::from(rate) * i128::from(now_ns - since_ns);
            (known + more).min(i128::from(burst) * i128::from(NBIT))
        };
        let left = refilled(it.passing, it.meter.rate_bps, it.meter.burst_bits);
        let left = left - i128::from(bits) * i128::from(NBIT);
        assert!(left >= 0, "flow {} is dropped at its first switch", it.request.id);
        it.passing = (left, now_ns);
        let as_asked = refilled(it.as_asked, it.request.rate_bps, it.request.burst_bits);
        let left = as_asked - i128::from(bits) * i128::from(NBIT);
        it.as_asked = (if left >= 0 { left } else { as_asked }, now_ns);
        self.dropped_as_asked += usize::from(left < 0);
    }

    /// Everyone at once, or nearly.
    fn kick(&mut self, now_ns: i64, draws: &mut Draws) {
        for live in 0..self.lives.len() {
            if now_ns < self.lives[live].stops_ns && !draws.is_one_of(5) {
                self.at(now_ns, draws, Event::Send { live });
            }
        }
    }
}

/// A network, its engine, and what is being asked of it.
struct Play {
    engine: Engine,
    world: World,
    draws: Draws,
    /// Flows that send, by number.
    sending: BTreeMap<u64, usize>,
    /// Asked to go: confirmed when its source has stopped.
    going: Vec<(i64, u64)>,
    /// Flows that were freed.
    freed: usize,
    rounds: usize,
    moved: usize,
    /// What its reservations give up before a refusal.
    yielding: Yielding,
    /// Whether other reservations are taken at times.
    is_moving: bool,
    /// Where moved flows sent before: they may until the old entries are deleted.
    unconfirmed: Vec<usize>,
}

impl Play {
    fn new(network: Network, method: Method, seed: u64) -> Self {
        let yielding = yielding(seed);
        let reservation = Reservation::starting_on(&network).yielding(yielding);
        Self {
            yielding,
            engine: Engine::new(network.clone(), method, reservation),
            world: World::new(network),
            draws: Draws::new(seed),
            sending: BTreeMap::new(),
            going: Vec::new(),
            freed: 0,
            rounds: 0,
            moved: 0,
            is_moving: method != Method::Exact,
            unconfirmed: Vec::new(),
        }
    }

    fn step(&mut self, now_ns: i64) {
        self.world.run(now_ns, &self.engine, &mut self.draws);
        let now = Instant::ZERO + Span::from_ns(u64::try_from(now_ns).expect("positive"));
        let due: Vec<(i64, u64)> =
            self.going.extract_if(.., |(stops_ns, _)| *stops_ns <= now_ns).collect();
        for (_, id) in due {
            self.engine.confirm_removed(id, now).expect("it was asked for");
            self.sending.remove(&id);
        }
        if !self.unconfirmed.is_empty() && self.draws.is_one_of(3) {
            self.confirm(now_ns, now);
        }
        self.freed += self.engine.advance(now);
        let before = self.engine.fingerprint();
        self.engine.relax(now);
        self.rounds += usize::from(before != self.engine.fingerprint());
        match self.draws.below(20) {
            0..=9 => self.add(now_ns),
            10..=13 => self.remove(now_ns),
            14 => self.batch(now_ns),
            15 if self.is_moving => self.adapt(now_ns),
            _ => self.world.kick(now_ns, &mut self.draws),
        }
    }

    /// Someone asks: also with the number of one that has gone, or that is held.
    fn asked(&mut self) -> Request {
        let draws = &mut self.draws;
        let network = self.engine.network();
        let mut end = || host(network, u32::try_from(draws.below(12)).expect("small"));
        let (source, first, second) = (end(), end(), end());
        let id = u64::try_from(draws.below(40)).expect("positive");
        let deadline_ms = [2, 5, 10, 50][usize::try_from(draws.below(4)).expect("small")];
        let plain = request(id, source, first, deadline_ms);
        let frame_bits = u64::try_from(672 + 8 * draws.below(1_000)).expect("positive");
        let frames = u64::try_from(1 + draws.below(6)).expect("positive");
        let rate_bps = u64::try_from(200_000 + draws.below(6_000_000)).expect("positive");
        let also = second != first && draws.is_one_of(4);
        let targets = if also { vec![first, second] } else { vec![first] };
        Request { targets, rate_bps, frame_bits, burst_bits: frame_bits * frames, ..plain }
    }

    fn add(&mut self, now_ns: i64) {
        let asked = self.asked();
        let said = self.engine.what_if(&asked);
        let held = self.engine.len();
        assert_eq!(self.engine.add(&asked), said, "a what-if told something else");
        if self.engine.len() > held {
            self.start(asked, now_ns);
        }
    }

    fn batch(&mut self, now_ns: i64) {
        let asked: Vec<Request> = (0..3).map(|_| self.asked()).collect();
        let known: Vec<u64> = self.engine.held().map(|(request, _)| request.id).collect();
        if self.engine.add_all(&asked).is_ok() {
            for request in asked {
                if !known.contains(&request.id) && !self.sending.contains_key(&request.id) {
                    self.start(request, now_ns);
                }
            }
        }
    }

    fn start(&mut self, request: Request, now_ns: i64) {
        let held = self.engine.held().find(|(held, _)| held.id == request.id);
        let visits = held.expect("it was accepted").1;
        let burst = i64::try_from(request.burst_bits).expect("small") * NBIT;
        self.sending.insert(request.id, self.world.lives.len());
        let crate::Decision::Accepted(grant) = self.engine.add(&request) else {
            panic!("it is held, so asking again tells what it has")
        };
        self.world.lives.push(Live {
            meter: grant.meter,
            passing: (i128::from(grant.meter.burst_bits) * i128::from(NBIT), now_ns),
            as_asked: (i128::from(burst), now_ns),
            request,
            visits,
            tokens: (burst, now_ns),
            stops_ns: i64::MAX,
        });
    }

    fn remove(&mut self, now_ns: i64) {
        let nth = self.draws.below(i64::try_from(self.sending.len()).expect("small"));
        let some = self.sending.iter().nth(usize::try_from(nth).expect("positive"));
        let Some((id, live)) = some.map(|(id, live)| (*id, *live)) else { return };
        if self.engine.remove(id).is_ok() {
            let stops_ns = now_ns + self.draws.below(2_000_000);
            // The last thing that it does is to send all that it may.
            let last_ns = now_ns.max(stops_ns - 1);
            self.world.at(last_ns, &mut self.draws, Event::Send { live });
            self.world.lives[live].stops_ns = stops_ns;
            self.going.push((stops_ns, id));
        }
    }

    /// Another reservation: a moved flow sends by the old or the new way until the old is deleted.
    fn adapt(&mut self, now_ns: i64) {
        let known = Reservation::known();
        let nth = usize::try_from(self.draws.below(10)).expect("small") % known.len();
        let reservation = known[nth].scaled(1 + self.draws.below(8), 4);
        let reservation = reservation.yielding(self.yielding);
        let Some(replanned) = self.engine.replan(reservation) else { return };
        self.moved += replanned.moves.len();
        for moved in &replanned.moves {
            let (id, old) = (moved.id, self.sending[&moved.id]);
            // Its bucket is one: it turns to the new way when it has sent what it may by the old.
            let last_ns = now_ns + self.draws.below(1_000_000);
            self.world.at(last_ns, &mut self.draws, Event::Send { live: old });
            self.world.lives[old].stops_ns = last_ns + 1;
            let request = self.world.lives[old].request.clone();
            let visits = moved.visits.clone();
            let live = self.world.lives.len();
            let tokens = (0, last_ns);
            let Live { meter, passing, as_asked, .. } = self.world.lives[old];
            let stops_ns = i64::MAX;
            self.world.lives.push(Live {
                request,
                visits,
                tokens,
                meter,
                passing,
                as_asked,
                stops_ns,
            });
            self.sending.insert(id, live);
            self.unconfirmed.push(old);
        }
        if replanned.moves.is_empty() {
            let now = Instant::ZERO + Span::from_ns(u64::try_from(now_ns).expect("positive"));
            self.engine.confirm_replanned(now);
        }
    }

    fn confirm(&mut self, now_ns: i64, now: Instant) {
        let has_stopped = |live: &usize| self.world.lives[*live].stops_ns <= now_ns;
        if self.unconfirmed.iter().all(has_stopped) {
            self.unconfirmed.clear();
            self.engine.confirm_replanned(now).expect("moves take time");
        }
    }
}

fn yielding(seed: u64) -> Yielding {
    match seed % 3 {
        0 => Yielding::Nothing,
        1 => Yielding::FirstBetweenSwitches,
        _ => Yielding::Everything,
    }
}

fn play(network: &Network, method: Method, seed: u64, steps: usize) -> Play {
    let mut play = Play::new(network.clone(), method, seed);
    let mut now_ns = 0;
    for _ in 0..steps {
        now_ns += play.draws.below(1_500_000);
        play.step(now_ns);
    }
    let end_ns = now_ns + 1_000_000_000;
    play.world.run(end_ns, &play.engine, &mut play.draws);
    play
}

fn audited(engine: &Engine) -> bool {
    let held: Vec<(Request, Vec<Visit>)> =
        engine.held().map(|(request, visits)| (request.clone(), visits)).collect();
    let claims: Vec<Claim<'_>> =
        held.iter().map(|(request, visits)| Claim { request, visits }).collect();
    audit(engine.network(), &claims).is_kept()
}

/// Many plays on one network; none of what is tried may have been left out.
fn play_all(network: &Network, method: Method, seeds: std::ops::Range<u64>) {
    let (mut seen, mut closest, mut freed, mut rounds, mut moved) = (0, 0, 0, 0, 0);
    let mut dropped_as_asked = 0;
    for seed in seeds {
        let play = play(network, method, seed, 80);
        assert!(audited(&play.engine), "seed {seed}");
        dropped_as_asked += play.world.dropped_as_asked;
        seen += play.world.seen;
        closest = closest.max(play.world.closest);
        (freed, rounds) = (freed + play.freed, rounds + play.rounds);
        moved += play.moved;
    }
    assert!(seen > 1_000 && freed > 50 && closest > 90, "{seen} {freed} {closest}");
    // A meter of the bucket alone, without what delays vary, would have dropped frames that conform.
    assert!(dropped_as_asked > 0);
    match method {
        // Nothing is reserved, so there is nothing to be moved for, and all to be lowered.
        Method::Exact => assert!(rounds > 20, "{rounds}"),
        Method::Budget | Method::Reserve => assert!(moved > 5, "{moved}"),
    }
}

#[test]
fn no_frame_is_harmed_in_a_line() {
    for method in [Method::Exact, Method::Reserve] {
        play_all(&chain(3, 2, false, 100_000_000), method, 0..30);
    }
}

#[test]
fn no_frame_is_harmed_in_a_ring() {
    for method in [Method::Exact, Method::Reserve] {
        play_all(&chain(4, 2, true, 100_000_000), method, 100..130);
    }
}

#[test]
fn no_frame_is_harmed_in_a_star() {
    for method in [Method::Exact, Method::Budget] {
        play_all(&star(3, 3, 100_000_000), method, 200..230);
    }
}
