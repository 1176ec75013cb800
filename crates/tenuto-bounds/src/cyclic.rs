//! Bursts inside cyclic networks: the least vector that linear programs prove from itself.
//!
//! Each program bounds the burst of a flow behind a server from the bursts of all flows where its
//! tree ends. Its multipliers are a plane above that concave map, so the fixed point of all planes
//! lies above that of the map: Newton's method from above, a few rounds. The vector is then
//! raised until every program proves strictly less (docs/theory/end-to-end.md, "Cycles").

use crate::outcome::Options;
use crate::program::Objective;
use crate::proof::{BurstClaim, LinearProof, Term};
use crate::prove::{Proved, Solved, fingerprint_of, prove};
use crate::search::{Setting, settings};
use crate::surroundings::Known;
use crate::topology::Stop;
use num_traits::ToPrimitive;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_calculus::Bucket;

/// Rounds of Newton's method at most.
const ROUNDS_MAX: usize = 24;
/// Settled is what moves by less than this share.
const SETTLED_SHARE: f64 = 1e-8;
/// Shares by which bursts are raised until they are proved, least first.
const RAISES: [f64; 4] = [1e-8, 1e-7, 1e-5, 1e-3];
/// A start above everything: so many times all bursts of the network.
const START_TIMES: f64 = 1_000.0;
/// Programs that are built for one burst, about.
const PROGRAMS_PER_BURST: usize = 10;
/// Rows of such a program: too few find no fixed point where there is one.
const ROWS_MIN: usize = 3_000;
const ROWS_MAX: usize = 3_000;
/// Servers of such a tree: once round a cycle, if it is not long; more dates are worth more.
const SERVERS_MIN: usize = 8;
const SERVERS_MAX: usize = 24;
/// Bursts that are searched for at most.
const CLAIMS_MAX: usize = 2_000;

/// A burst that is searched for: of a flow where it arrives behind a server on a cycle.
struct Wanted {
    /// Where it arrives.
    stop: Stop,
    /// Its visit before.
    behind: Stop,
    server: usize,
    rate_ubps: i128,
    /// Wanted bursts whose programs are alike are equal.
    class: usize,
}

/// What the program of one wanted burst says: constant + Σ share·burst, by class.
struct Plane {
    constant: f64,
    shares: Vec<f64>,
}

/// Proves bursts on all cycles; nothing if there is no cycle or no fixed point.
pub(crate) fn bursts(
    known: &Known<'_>,
    options: &Options,
    solved: &mut Solved<'_>,
) -> Vec<BurstClaim> {
    if known.topology.is_acyclic {
        return Vec::new();
    }
    let mut wanted = wanted(known);
    if wanted.is_empty() || wanted.len() > CLAIMS_MAX {
        return Vec::new();
    }
    search(known, options, solved, &mut wanted).unwrap_or_default()
}

fn wanted(known: &Known<'_>) -> Vec<Wanted> {
    let reach = reach(&known.topology.upstream);
    let mut wanted = Vec::new();
    for (flow, of) in known.graph.flows.iter().enumerate() {
        // The bucket that counts in the long run.
        let Some(rate_ubps) = of.arrival.iter().map(|bucket| bucket.rate_ubps).min() else {
            continue;
        };
        for (visit, at) in of.visits.iter().enumerate() {
            let Some(parent) = at.parent else { continue };
            let server = of.visits[parent].server;
            if reach[server].contains(&at.server) {
                let (stop, behind) = (Stop { flow, visit }, Stop { flow, visit: parent });
                wanted.push(Wanted { stop, behind, server, rate_ubps, class: 0 });
            }
        }
    }
    wanted
}

/// Per server: all that lie upstream of it.
fn reach(upstream: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let from = |server: usize| {
        let (mut found, mut waiting) = (BTreeSet::new(), vec![server]);
        while let Some(at) = waiting.pop() {
            waiting.extend(upstream[at].iter().filter(|&&before| found.insert(before)));
        }
        found
    };
    (0..upstream.len()).map(from).collect()
}

fn search(
    known: &Known<'_>,
    options: &Options,
    solved: &mut Solved<'_>,
    wanted: &mut [Wanted],
) -> Option<Vec<BurstClaim>> {
    let total: i128 = known.graph.flows.iter().flat_map(|f| &f.arrival).map(|b| b.burst_ubit).sum();
    let start = total.to_f64()? * START_TIMES;
    let share = options.rows_total_max / (PROGRAMS_PER_BURST * wanted.len());
    let rows_max = share.clamp(ROWS_MIN, ROWS_MAX).min(options.rows_max);
    let on_cycles: BTreeSet<usize> = wanted.iter().map(|w| w.server).collect();
    let servers_max = on_cycles.len().clamp(SERVERS_MIN, SERVERS_MAX);
    let options =
        &Options { tree_servers_max: options.tree_servers_max.min(servers_max), ..*options };
    let mut bursts = vec![start];
    let classes = classify(known, options, rows_max, wanted, &bursts)?;
    bursts = vec![start; classes];
    let mut planes = Vec::new();
    for _ in 0..ROUNDS_MAX {
        planes = self::planes(known, options, rows_max, solved, wanted, &bursts)?;
        let next = fixed_point(&planes, &constants(&planes))?;
        let is_settled =
            next.iter().zip(&bursts).all(|(new, old)| (new - old).abs() <= old * SETTLED_SHARE);
        bursts = next;
        if is_settled {
            break;
        }
    }
    for share in RAISES {
        let more: Vec<f64> =
            planes.iter().zip(&bursts).map(|(plane, b)| plane.constant + b * share).collect();
        let raised = fixed_point(&planes, &more)?;
        let claims = proved(known, options, rows_max, solved, wanted, &raised);
        if claims.is_some() {
            return claims;
        }
    }
    None
}

fn constants(planes: &[Plane]) -> Vec<f64> {
    planes.iter().map(|plane| plane.constant).collect()
}

/// The bursts of the network if every class has that one.
fn table(wanted: &[Wanted], bursts: &[f64]) -> Option<BTreeMap<Stop, Vec<Bucket>>> {
    let bucket = |w: &Wanted| {
        let burst_ubit = bursts[w.class].ceil().to_i128().filter(|burst| *burst >= 0)?;
        Some((w.stop, vec![Bucket { burst_ubit, rate_ubps: w.rate_ubps }]))
    };
    wanted.iter().map(bucket).collect()
}

fn with<'a>(known: &Known<'a>, bursts: &'a BTreeMap<Stop, Vec<Bucket>>) -> Known<'a> {
    Known { bursts, ..*known }
}

/// The program of a wanted burst.
fn setting(
    known: &Known<'_>,
    options: &Options,
    rows_max: usize,
    wanted: &Wanted,
) -> Option<(Setting, Objective)> {
    let trunk = [wanted.server];
    let objective = Objective::Burst { stop: wanted.behind };
    let setting = settings(known, &trunk, objective, options, rows_max).next()?;
    Some((setting, objective))
}

/// Finds out whose programs are alike: their number.
fn classify(
    known: &Known<'_>,
    options: &Options,
    rows_max: usize,
    wanted: &mut [Wanted],
    bursts: &[f64],
) -> Option<usize> {
    let table = table(wanted, bursts)?;
    let known = with(known, &table);
    let mut classes: BTreeMap<u128, usize> = BTreeMap::new();
    for w in wanted {
        let (setting, _) = setting(&known, options, rows_max, w)?;
        let next = classes.len();
        w.class = *classes.entry(fingerprint_of(&setting.program)).or_insert(next);
    }
    Some(classes.len())
}

/// One plane per class.
fn planes(
    known: &Known<'_>,
    options: &Options,
    rows_max: usize,
    solved: &mut Solved<'_>,
    wanted: &[Wanted],
    bursts: &[f64],
) -> Option<Vec<Plane>> {
    let table = table(wanted, bursts)?;
    let known = with(known, &table);
    let class_of: BTreeMap<Stop, usize> = wanted.iter().map(|w| (w.stop, w.class)).collect();
    let mut planes: Vec<Option<Plane>> = (0..bursts.len()).map(|_| None).collect();
    for w in wanted {
        if planes[w.class].is_some() {
            continue;
        }
        let (setting, objective) = setting(&known, options, rows_max, w)?;
        let Proved { bound, proof } = prove(solved, &setting.program, &setting.tree, objective)?;
        let mut shares = vec![0.0; bursts.len()];
        for (stop, share) in shares_of(&known, &proof, w.behind)? {
            shares[class_of[&stop]] += share;
        }
        let used: f64 = shares.iter().zip(bursts).map(|(share, burst)| share * burst).sum();
        planes[w.class] = Some(Plane { constant: bound.to_f64()? - used, shares });
    }
    planes.into_iter().collect()
}

/// How much of which claimed burst a proof uses.
fn shares_of(known: &Known<'_>, proof: &LinearProof, behind: Stop) -> Option<Vec<(Stop, f64)>> {
    let parts = proof.data_parts.to_f64()?;
    let mut shares = Vec::new();
    for term in &proof.terms {
        let (stop, which, multiplier) = match *term {
            Term::Arrival(_, (flow, visit), which, .., m) => (Stop { flow, visit }, which, m),
            Term::Last(which, _, m) => (entry(known, proof, behind), which, m),
            _ => continue,
        };
        // Claims stand behind the grown buckets of the source.
        let is_claim =
            which + known.bursts.get(&stop).map_or(0, Vec::len) >= known.buckets(stop)?.len();
        if is_claim && known.bursts.contains_key(&stop) {
            shares.push((stop, multiplier.to_f64()? / parts));
        }
    }
    Some(shares)
}

/// The visit with which a flow enters the tree of a proof, from its visit at the root.
fn entry(known: &Known<'_>, proof: &LinearProof, behind: Stop) -> Stop {
    let visits = &known.graph.flows[behind.flow].visits;
    let (mut node, mut visit) = (0, behind.visit);
    while let Some(parent) = visits[visit].parent {
        let leads =
            |n: &crate::proof::Node| n.next == Some(node) && n.server == visits[parent].server;
        let Some(child) = proof.nodes.iter().position(leads) else { break };
        (node, visit) = (child, parent);
    }
    Stop { flow: behind.flow, visit }
}

/// Solves x = constants + shares·x by elimination; `None` unless x is positive.
fn fixed_point(planes: &[Plane], constants: &[f64]) -> Option<Vec<f64>> {
    let size = planes.len();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (index, (plane, constant)) in planes.iter().zip(constants).enumerate() {
        let mut row: Vec<f64> = plane.shares.iter().map(|share| -share).collect();
        row[index] += 1.0;
        row.push(*constant);
        rows.push(row);
    }
    // Without pivoting: where a pivot is not positive, shares grow without end.
    for pivot in 0..size {
        if rows[pivot][pivot] <= 1e-9 {
            return None;
        }
        let (above, below) = rows.split_at_mut(pivot + 1);
        for row in below {
            let factor = row[pivot] / above[pivot][pivot];
            if factor != 0.0 {
                row.iter_mut().zip(&above[pivot]).skip(pivot).for_each(|(x, p)| *x -= factor * p);
            }
        }
    }
    let mut solution = vec![0.0; size];
    for index in (0..size).rev() {
        let known: f64 = (index + 1..size).map(|i| rows[index][i] * solution[i]).sum();
        solution[index] = (rows[index][size] - known) / rows[index][index];
    }
    solution.iter().all(|x| x.is_finite() && *x > 0.0).then_some(solution)
}

/// Claims with these bursts, if each is strictly above what its program proves.
fn proved(
    known: &Known<'_>,
    options: &Options,
    rows_max: usize,
    solved: &mut Solved<'_>,
    wanted: &[Wanted],
    bursts: &[f64],
) -> Option<Vec<BurstClaim>> {
    let table = table(wanted, bursts)?;
    let known = with(known, &table);
    let claim = |w: &Wanted| {
        let (setting, objective) = setting(&known, options, rows_max, w)?;
        let proved = prove(solved, &setting.program, &setting.tree, objective)?;
        let bucket = *table.get(&w.stop)?.first()?;
        let (flow, visit) = (w.stop.flow, w.stop.visit);
        let claim = BurstClaim { flow, visit, bucket, proof: proved.proof };
        (proved.bound < bucket.burst_ubit).then_some(claim)
    };
    wanted.iter().map(claim).collect()
}
