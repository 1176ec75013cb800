//! Choosing what to reserve: by trial on a forecast.
//!
//! What shares serve a network best depends on who will ask. The engine remembers who asked, draws
//! more of the same, and lets copies of itself with other shares decide them. Nothing of that
//! changes a promise: shares say where the proof keeps room, not what is promised, and new ones are
//! taken only with a proof that every flow held still holds.

use crate::engine::{Decision, Engine};
use crate::network::NodeId;
use crate::request::Request;
use crate::reservation::{Reservation, Yielding};
use tenuto_units::Xorshift;

/// Requests of a forecast at least and at most.
const REQUESTS_MIN: usize = 128;
const REQUESTS_MAX: usize = 2_048;
/// Scales at which each known reservation is tried, in quarters.
const SCALES_QUARTERS: [i64; 3] = [1, 4, 12];

/// One reservation and how it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ranked {
    pub(crate) score: Score,
    pub(crate) reservation: Reservation,
}

/// What a candidate has to reach, in hundredths of the present one: a forecast is not the future.
const GAIN_PERCENT_MIN: u64 = 105;
/// Candidates that are put to the longer test.
const FINALISTS: usize = 9;

/// Known reservations that would serve requests like those of `history` better than the present
/// one, the best first.
///
/// First all of them decide a short forecast; then the best of them one so long that they too
/// refuse much of it.
pub(crate) fn rehearse(engine: &Engine, history: &[Request], seed: u64) -> Vec<Ranked> {
    // A forecast is longer than what the shadow expects, and copies need none.
    let mut engine = engine.clone();
    engine.shadow = None;
    let engine = &engine;
    let mut draw = Xorshift::new(seed);
    let mut forecast = Vec::new();
    if history.is_empty() {
        return Vec::new();
    }
    saturate(engine, history, &mut forecast, &mut draw);
    let derived = Reservation::derived(engine.network());
    let scaled = Reservation::known()
        .iter()
        .chain([&derived])
        .flat_map(|known| SCALES_QUARTERS.iter().map(|quarters| known.scaled(*quarters, 4)));
    let present = *engine.reservation();
    let yielding = [Yielding::FirstBetweenSwitches, Yielding::Everything];
    let candidates = scaled.chain(yielding.map(|yielding| present.yielding(yielding)));
    let mut ranked = ranked(engine, &forecast, candidates);
    ranked.truncate(FINALISTS);
    if let Some((front, _)) = ranked.first().and_then(|r| engine.placed_anew(r.reservation)) {
        saturate(&front, history, &mut forecast, &mut draw);
    }
    let present = decide(&mut engine.clone(), &forecast);
    let mut last = self::ranked(engine, &forecast, ranked.into_iter().map(|r| r.reservation));
    last.retain(|candidate| {
        candidate.score.parts.saturating_mul(100) > present.parts.saturating_mul(GAIN_PERCENT_MIN)
    });
    last
}

/// Lets every candidate decide the forecast that can hold what is held; the best first.
fn ranked(
    engine: &Engine,
    forecast: &[Request],
    candidates: impl Iterator<Item = Reservation>,
) -> Vec<Ranked> {
    let tried = |reservation| {
        let (mut copy, _) = engine.placed_anew(reservation)?;
        Some(Ranked { score: decide(&mut copy, forecast), reservation })
    };
    let mut ranked: Vec<Ranked> = candidates.filter_map(tried).collect();
    ranked.sort_by_key(|candidate| std::cmp::Reverse(candidate.score.parts));
    ranked
}

/// What of a forecast was held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    flows: usize,
    rate_bps: u64,
    /// Flows and rate, each as parts of a million of what was asked; at half time and at the end.
    pub(crate) parts: u64,
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

/// Makes the forecast long enough that a good part of it is refused: before that, all reservations
/// are equal.
fn saturate(
    engine: &Engine,
    history: &[Request],
    forecast: &mut Vec<Request>,
    draw: &mut Xorshift,
) {
    let mut length = forecast.len().max(REQUESTS_MIN);
    loop {
        while forecast.len() < length {
            forecast.push(drawn(engine, history, forecast.len(), draw));
        }
        let score = decide(&mut engine.clone(), forecast);
        if score.flows * 5 < length * 3 || length >= REQUESTS_MAX {
            return;
        }
        length = length * 3 / 2;
    }
}

/// Someone like those who asked: the contract of one, between the ends of others. While few have
/// asked, ends are drawn from all hosts as often (one imagined request per host).
fn drawn(engine: &Engine, history: &[Request], number: usize, draw: &mut Xorshift) -> Request {
    let nodes = (0_u32..).map(NodeId).zip(engine.network().nodes());
    let hosts: Vec<NodeId> = nodes.filter(|(_, node)| !node.is_switch).map(|(id, _)| id).collect();
    let mut request = history[draw.index(history.len())].clone();
    // Numbers from the top, which no one else uses here.
    request.id = u64::MAX - number as u64;
    // Whole requests repeat once pairs of ends do.
    if draw.index(history.len() + hosts.len() * hosts.len()) < history.len() {
        return request;
    }
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
