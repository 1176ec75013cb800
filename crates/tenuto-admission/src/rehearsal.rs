//! Choosing what to reserve: by trial on a forecast.
//!
//! What shares serve a network best depends on who will ask. The engine remembers who asked, draws
//! more of the same, and lets copies of itself with other shares decide them. Nothing of that
//! changes a promise: shares say where the proof keeps room, not what is promised, and new ones are
//! taken only with a proof that every flow held still holds.

use crate::engine::{Decision, Engine};
use crate::network::NodeId;
use crate::request::Request;
use crate::reservation::{QUEUES_OF_SHARES, Reservation};

/// Requests of a forecast at least and at most.
const REQUESTS_MIN: usize = 128;
const REQUESTS_MAX: usize = 2_048;
/// Scales at which each known reservation is tried, in quarters.
const SCALES: [i64; 3] = [1, 4, 12];

/// How much work a rehearsal may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Forecasts decided at most.
    pub trials: u32,
    /// Seed of what is drawn.
    pub seed: u64,
}

/// What a rehearsal found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rehearsed {
    /// The best reservation tried.
    pub reservation: Reservation,
    /// Forecast flows it held, and how many the present one held.
    pub flows: usize,
    /// The same of the present reservation.
    pub flows_now: usize,
    /// Length of the forecast.
    pub requests: usize,
}

/// Numbers that repeat with the seed (xorshift64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n.max(1)
    }

    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }
}

/// Tries reservations on requests like those of `history`; `None` without history.
pub fn rehearse(engine: &Engine, history: &[Request], effort: Effort) -> Option<Rehearsed> {
    let mut draw = Draw(effort.seed | 1);
    let mut forecast = Vec::new();
    let short = saturate(engine, history, &mut forecast, &mut draw)?;
    let mut best = (short, *engine.reservation());
    let mut trial = Trial { engine, forecast: &forecast, left: effort.trials };
    for known in Reservation::known() {
        for quarters in SCALES {
            trial.better(&mut best, known.scaled(quarters, 4));
        }
    }
    // Whoever holds more needs a longer forecast to be put to the test.
    let left = trial.left;
    let (better, _) = engine.placed_anew(best.1)?;
    best.0 = saturate(&better, history, &mut forecast, &mut draw)?;
    let now = decide(&mut engine.clone(), &forecast);
    let mut trial = Trial { engine, forecast: &forecast, left };
    while trial.left > 0 {
        let changed = varied(best.1, &mut draw);
        trial.better(&mut best, changed);
    }
    let flows = best.0.flows;
    let requests = forecast.len();
    Some(Rehearsed { reservation: best.1, flows, flows_now: now.flows, requests })
}

/// What of a forecast was held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Score {
    flows: usize,
    rate_bps: u64,
    /// Flows and rate, each as parts of a million of what was asked; at half time and at the end.
    parts: u64,
}

struct Trial<'a> {
    engine: &'a Engine,
    forecast: &'a [Request],
    left: u32,
}

impl Trial<'_> {
    fn better(&mut self, best: &mut (Score, Reservation), candidate: Reservation) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let Some((mut copy, _)) = self.engine.placed_anew(candidate) else { return };
        let score = decide(&mut copy, self.forecast);
        if score.parts >= best.0.parts {
            *best = (score, candidate);
        }
    }
}

fn decide(engine: &mut Engine, forecast: &[Request]) -> Score {
    let asked_bps: u64 = forecast.iter().map(|request| request.rate_bps).sum();
    let mut score = Score::default();
    for (at, request) in forecast.iter().enumerate() {
        if matches!(engine.decide(request), Decision::Accepted(_)) {
            score.flows += 1;
            score.rate_bps += request.rate_bps;
        }
        if at + 1 == forecast.len() / 2 || at + 1 == forecast.len() {
            let flows = score.flows as u64 * 1_000_000 / forecast.len() as u64;
            score.parts += flows + score.rate_bps.saturating_mul(1_000_000) / asked_bps.max(1);
        }
    }
    score
}

/// Makes a forecast long enough that a good part of it is refused: before that, all shares are
/// equal.
fn saturate(
    engine: &Engine,
    history: &[Request],
    forecast: &mut Vec<Request>,
    draw: &mut Draw,
) -> Option<Score> {
    if history.is_empty() {
        return None;
    }
    let mut length = forecast.len().max(REQUESTS_MIN);
    loop {
        while forecast.len() < length {
            forecast.push(drawn(engine, history, forecast.len(), draw));
        }
        let score = decide(&mut engine.clone(), forecast);
        if score.flows * 5 < length * 3 || length >= REQUESTS_MAX {
            return Some(score);
        }
        length = length * 3 / 2;
    }
}

/// Someone like those who asked: the contract of one, between the ends of others. While few have
/// asked, ends are drawn from all hosts as often (one imagined request per host).
fn drawn(engine: &Engine, history: &[Request], number: usize, draw: &mut Draw) -> Request {
    let nodes = (0_u32..).map(NodeId).zip(engine.network().nodes());
    let hosts: Vec<NodeId> = nodes.filter(|(_, node)| !node.is_switch).map(|(id, _)| id).collect();
    let mut request = history[draw.index(history.len())].clone();
    // Numbers from the top, which no one else uses here.
    request.id = u64::MAX - number as u64;
    let mut end = |of: fn(&Request) -> NodeId| match draw.index(history.len() + hosts.len()) {
        seen if seen < history.len() => of(&history[seen]),
        imagined => hosts[imagined - history.len()],
    };
    let (source, target) = (end(|r| r.source), end(|r| r.targets[0]));
    if source != target && request.targets.len() == 1 {
        request.source = source;
        request.targets[0] = target;
    }
    request
}

/// The reservation with one to three of its values changed.
fn varied(mut reservation: Reservation, draw: &mut Draw) -> Reservation {
    for _ in 0..1 + draw.below(3) {
        let queue = draw.index(QUEUES_OF_SHARES);
        // A factor between a third and three, most often close to one.
        let percent = 33 + draw.below(134) + draw.below(134);
        let times = |ns: i64| (ns / 100 * i64::try_from(percent).unwrap_or(100)).max(1_000);
        match draw.below(13) {
            0..=4 => {
                let share = &mut reservation.trunk[queue];
                share.delay_ns = times(share.delay_ns);
            }
            5..=7 => {
                let share = &mut reservation.edge[queue];
                share.delay_ns = times(share.delay_ns);
            }
            8 => reservation.source.delay_ns = times(reservation.source.delay_ns),
            9 => reservation.headroom_percent = i64::try_from(draw.below(100)).unwrap_or(0),
            10 | 11 => reservation.trunk[queue].cost = 1 + draw.below(12) as u32,
            _ => reservation.edge[queue].cost = 1 + draw.below(12) as u32,
        }
    }
    reservation
}
