//! Bursts inside cyclic networks: the least vector that linear programs prove from itself.
//!
//! Each program bounds the burst of a flow behind a server from the bursts of all flows where its
//! tree ends. Its multipliers are a plane above that concave map, so the fixed point of all planes
//! lies above that of the map: Newton's method from above, a few rounds. The vector is then
//! raised until every program proves strictly less (docs/theory/end-to-end.md, "Cycles").

use crate::executor::{Executor, gather};
use crate::outcome::{Effort, Options};
use crate::program::Objective;
use crate::proof::BurstClaim;
use crate::prove::{SOLVER, fingerprint_of, multipliers_from, proved};
use crate::search::{Setting, settings};
use crate::solver::Vertex;
use crate::surroundings::{Bursts, Known};
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
/// Rows of a program for one burst, many dates: too few find no fixed point where there is one.
const ROWS_MAX: usize = 3_000;
/// Rows of such a program with few dates in a larger tree.
const ROWS_FEW_DATES_MAX: usize = 8_000;
/// Servers of such a tree: once round a cycle, if it is not long; more dates are worth more.
const SERVERS_MIN: usize = 8;
const SERVERS_MAX: usize = 24;
/// How far the start of each class is above that of the one before, as a share.
const APART: f64 = 1e-3;
/// Bursts that are searched for at most.
const CLAIMS_MAX: usize = 2_000;

/// A burst that is searched for: of a flow where it arrives behind a server on a cycle.
struct Wanted {
    /// Where it arrives.
    stop: Stop,
    /// Which of the claims there.
    place: usize,
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
    /// Of the rows of its program.
    multipliers: Vec<f64>,
}

/// Proves bursts on all cycles; nothing if there is no cycle or no fixed point.
pub(crate) fn bursts(
    known: &Known<'_>,
    options: &Options,
    executor: &dyn Executor,
) -> Vec<BurstClaim> {
    if known.topology.is_acyclic {
        return Vec::new();
    }
    // Peak rates make bursts less, and programs twice as many.
    let all = wanted(known, |_| true);
    let in_the_long_run = wanted(known, |is_least| is_least);
    let are_same = all.len() == in_the_long_run.len();
    let search = |mut wanted: Vec<Wanted>, options: &Options, rows_max: usize| {
        if wanted.is_empty() || wanted.len() > CLAIMS_MAX {
            return None;
        }
        Search::new(known, options, executor, rows_max)?.claims(&mut wanted)
    };
    // Many dates in a small tree, or few in a large one: where data goes round far, only the
    // latter may settle.
    let few_dates = Options { effort: Effort::Plp, ..*options };
    let found = (options.effort > Effort::Plp).then(|| search(all, options, ROWS_MAX)).flatten();
    found
        .or_else(|| search(wanted(known, |_| true), &few_dates, ROWS_FEW_DATES_MAX))
        .or_else(|| {
            let few = || search(in_the_long_run, &few_dates, ROWS_FEW_DATES_MAX);
            (!are_same).then(few).flatten()
        })
        .unwrap_or_default()
}

/// Bursts that rest on each other, for those rates of a flow's buckets that are asked for: is it
/// the least one, which counts in the long run?
fn wanted(known: &Known<'_>, is_asked: impl Fn(bool) -> bool) -> Vec<Wanted> {
    let reach = reach(&known.topology.upstream);
    let mut wanted = Vec::new();
    for (flow, of) in known.graph.flows.iter().enumerate() {
        let rates: BTreeSet<i128> = of.arrival.iter().map(|bucket| bucket.rate_ubps).collect();
        for (visit, at) in of.visits.iter().enumerate() {
            let Some(parent) = at.parent else { continue };
            let server = of.visits[parent].server;
            if !reach[server].contains(&at.server) {
                continue;
            }
            let (stop, behind) = (Stop { flow, visit }, Stop { flow, visit: parent });
            let asked = rates.iter().enumerate().filter(|(place, _)| is_asked(*place == 0));
            wanted.extend(asked.map(|(place, &rate_ubps)| Wanted {
                stop,
                place,
                behind,
                server,
                rate_ubps,
                class: 0,
            }));
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

/// What stays the same during a search.
struct Search<'a> {
    known: &'a Known<'a>,
    options: Options,
    executor: &'a dyn Executor,
    rows_max: usize,
    /// Above every burst there is.
    start: f64,
}

impl<'a> Search<'a> {
    fn new(
        known: &'a Known<'a>,
        options: &Options,
        executor: &'a dyn Executor,
        rows_max: usize,
    ) -> Option<Self> {
        let flows = known.graph.flows.iter();
        let total: i128 = flows.flat_map(|f| &f.arrival).map(|b| b.burst_ubit).sum();
        Some(Self {
            known,
            options: *options,
            executor,
            rows_max: rows_max.min(options.rows_max),
            start: total.to_f64()? * START_TIMES,
        })
    }

    fn claims(mut self, wanted: &mut [Wanted]) -> Option<Vec<BurstClaim>> {
        let on_cycles: BTreeSet<usize> = wanted.iter().map(|w| w.server).collect();
        let servers_max = on_cycles.len().clamp(SERVERS_MIN, SERVERS_MAX);
        self.options.tree_servers_max = self.options.tree_servers_max.min(servers_max);
        let classes = self.classify(wanted)?;
        let mut bursts = vec![self.start; classes];
        let mut ends: Vec<Vertex> = vec![Vertex::new(); classes];
        let mut planes = Vec::new();
        for _ in 0..ROUNDS_MAX {
            planes = self.planes(wanted, &bursts, &mut ends)?;
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
            let claims = self.proved(wanted, &raised, &planes);
            if claims.is_some() {
                return claims;
            }
        }
        None
    }

    /// The bursts of the network if every class has that one.
    fn table(&self, wanted: &[Wanted], bursts: &[f64]) -> Option<Bursts> {
        let mut table: BTreeMap<Stop, Vec<Bucket>> = BTreeMap::new();
        for w in wanted {
            table.entry(w.stop).or_default().push(w.bucket(bursts)?);
        }
        Some(Bursts::new(table, self.known.graph.servers.len()))
    }

    /// The program of a wanted burst.
    fn setting(&self, bursts: &Bursts, wanted: &Wanted) -> Option<(Setting, Objective)> {
        let known = Known { bursts, ..*self.known };
        let trunk = [wanted.server];
        let objective = Objective::Burst { stop: wanted.behind, rate_ubps: wanted.rate_ubps };
        let mut settings = settings(&known, &trunk, objective, &self.options, self.rows_max);
        let setting = settings.next()?;
        Some((setting, objective))
    }

    /// Finds out whose programs are alike: their number. Programs that are equal as long as all
    /// bursts are may rest on bursts that are not alike, so those of each class are made
    /// to differ, until no class falls apart any more.
    fn classify(&self, wanted: &mut [Wanted]) -> Option<usize> {
        let mut count = 1;
        loop {
            let apart = |class: usize| 1.0 + class.to_f64().unwrap_or(0.0) * APART;
            let bursts: Vec<f64> = (0..count).map(|class| self.start * apart(class)).collect();
            let table = self.table(wanted, &bursts)?;
            let prints = gather(self.executor, wanted.len(), |index| {
                let (setting, _) = self.setting(&table, &wanted[index])?;
                Some(fingerprint_of(&setting.program))
            });
            let mut classes: BTreeMap<(usize, u128), usize> = BTreeMap::new();
            for (w, print) in wanted.iter_mut().zip(prints) {
                let next = classes.len();
                w.class = *classes.entry((w.class, print.flatten()?)).or_insert(next);
            }
            if classes.len() == count {
                return Some(count);
            }
            count = classes.len();
        }
    }

    /// One plane per class, each from where it ended the last time.
    fn planes(
        &self,
        wanted: &[Wanted],
        bursts: &[f64],
        ends: &mut Vec<Vertex>,
    ) -> Option<Vec<Plane>> {
        let table = self.table(wanted, bursts)?;
        let class_of: BTreeMap<(Stop, usize), usize> =
            wanted.iter().map(|w| ((w.stop, w.place), w.class)).collect();
        let found = gather(self.executor, bursts.len(), |class| {
            let first = wanted.iter().find(|w| w.class == class)?;
            self.plane(&table, first, bursts, &class_of, ends[class].clone())
        });
        let found: Option<Vec<(Plane, Vertex)>> = found.into_iter().map(Option::flatten).collect();
        let (planes, last) = found?.into_iter().unzip();
        *ends = last;
        Some(planes)
    }

    fn plane(
        &self,
        table: &Bursts,
        wanted: &Wanted,
        bursts: &[f64],
        class_of: &BTreeMap<(Stop, usize), usize>,
        mut end: Vertex,
    ) -> Option<(Plane, Vertex)> {
        let (setting, objective) = self.setting(table, wanted)?;
        let multipliers = multipliers_from(&SOLVER, &setting.program, &mut end)?;
        let proved = proved(&multipliers, &setting.program, &setting.tree, objective)?;
        let known = Known { bursts: table, ..*self.known };
        let mut shares = vec![0.0; bursts.len()];
        for share in &proved.shares {
            // Claims stand behind the grown buckets of the source.
            let grown = known.buckets(share.stop)?.len() - table.of(share.stop).len();
            if let Some(place) = share.which.checked_sub(grown) {
                shares[*class_of.get(&(share.stop, place))?] += share.share;
            }
        }
        let used: f64 = shares.iter().zip(bursts).map(|(share, burst)| share * burst).sum();
        let constant = proved.bound.to_f64()? - used;
        Some((Plane { constant, shares, multipliers }, end))
    }

    /// Claims with these bursts, if each is strictly above what its program proves. Multipliers
    /// that were best a hair below are good enough.
    fn proved(
        &self,
        wanted: &[Wanted],
        bursts: &[f64],
        planes: &[Plane],
    ) -> Option<Vec<BurstClaim>> {
        let table = self.table(wanted, bursts)?;
        let claims = gather(self.executor, wanted.len(), |index| {
            let w = &wanted[index];
            let (setting, objective) = self.setting(&table, w)?;
            let multipliers = &planes[w.class].multipliers;
            let proved = proved(multipliers, &setting.program, &setting.tree, objective)?;
            let bucket = w.bucket(bursts)?;
            let (flow, visit) = (w.stop.flow, w.stop.visit);
            let claim = BurstClaim { flow, visit, bucket, proof: proved.proof };
            (proved.bound < bucket.burst_ubit).then_some(claim)
        });
        claims.into_iter().map(Option::flatten).collect()
    }
}

impl Wanted {
    /// The bucket that is claimed if its class has that burst.
    fn bucket(&self, bursts: &[f64]) -> Option<Bucket> {
        let burst = bursts.get(self.class).or(bursts.first())?;
        let burst_ubit = burst.ceil().to_i128().filter(|burst| *burst >= 0)?;
        Some(Bucket { burst_ubit, rate_ubps: self.rate_ubps })
    }
}

fn constants(planes: &[Plane]) -> Vec<f64> {
    planes.iter().map(|plane| plane.constant).collect()
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
