//! Bursts inside of graphs without cycles whose servers serve in order of arrival: for trees that
//! end in the middle of paths, or have too many servers for all dates (docs/theory/end-to-end.md,
//! "Bursts without cycles").

use crate::executor::{Executor, gather};
use crate::outcome::{Effort, Options};
use crate::program::Objective;
use crate::proof::BurstClaim;
use crate::prove::{Solved, prove};
use crate::search::settings;
use crate::surroundings::{Bursts, FineBucket, Known};
use crate::topology::Stop;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_calculus::{Bucket, Multiplexing};

/// Bursts that are proved at most: each costs a program, and a proof in the document.
const BURSTS_MAX: usize = 4_000;
/// Rows of all programs of bursts together.
const ROWS_TOTAL_MAX: usize = 2_000_000;
/// Servers of whole trees up to which programs have all that bursts could tell them.
const WHOLE_SERVERS_MAX: usize = 8;
/// Servers and rows of the program of one burst.
const TREE_SERVERS_MAX: usize = 24;
const ROWS_MAX: usize = 3_000;
/// Shares of 10⁻⁶ by which a burst has to be less than what delays say: every bucket is a row more
/// for each pair of dates.
const LESS: i128 = 100;

/// A flow behind a server that it goes on from, in the long term and at each rate above.
struct Wanted {
    stop: Stop,
    /// Its visits right behind.
    next: Vec<usize>,
    rate_ubps: i128,
}

/// Bursts of a graph without cycles that are less than what total flow analysis says of them, each
/// proved from those upstream; none where whole trees are small.
pub(crate) fn bursts(
    known: Known<'_>,
    options: &Options,
    executor: &dyn Executor,
    solved: &Solved<'_>,
) -> Vec<BurstClaim> {
    let (graph, topology) = (known.graph, known.topology);
    let is_in_order = graph.servers.iter().all(|s| s.multiplexing == Multiplexing::Fifo);
    if options.effort < Effort::Tight || !is_in_order || are_small(&known, options) {
        return Vec::new();
    }
    let wanted = wanted(&known);
    let count = wanted.iter().map(Vec::len).sum::<usize>();
    if count > BURSTS_MAX {
        return Vec::new();
    }
    let options = Options {
        tree_servers_max: options.tree_servers_max.min(TREE_SERVERS_MAX),
        rows_max: options.rows_max.min(ROWS_MAX).min(ROWS_TOTAL_MAX / count.max(1)),
        ..*options
    };
    let mut claims = Vec::new();
    let mut proved: BTreeMap<Stop, Vec<Bucket>> = BTreeMap::new();
    for &server in &topology.order {
        let bursts = Bursts::new(proved.clone(), graph.servers.len());
        let known = Known { bursts: &bursts, ..known };
        let here = &wanted[server];
        let found = gather(executor, here.len(), |index| {
            here[index].claims(&known, server, &options, solved)
        });
        for claim in found.into_iter().flatten().flatten() {
            let stop = Stop { flow: claim.flow, visit: claim.visit };
            proved.entry(stop).or_default().push(claim.bucket);
            claims.push(claim);
        }
    }
    claims
}

/// Whether the whole trees of all servers are small, or fit and have no server twice: copies of one
/// server know nothing of each other, and that is what bursts make up for.
fn are_small(known: &Known<'_>, options: &Options) -> bool {
    let mut trees = vec![(0_usize, BTreeSet::new()); known.graph.servers.len()];
    for &server in &known.topology.order {
        let (mut size, mut distinct) = (1_usize, BTreeSet::from([server]));
        for &from in &known.topology.upstream[server] {
            size = size.saturating_add(trees[from].0);
            distinct.extend(&trees[from].1);
        }
        trees[server] = (size, distinct);
    }
    let is_small = |(size, distinct): &(usize, BTreeSet<usize>)| {
        *size <= WHOLE_SERVERS_MAX || (*size == distinct.len() && *size <= options.tree_servers_max)
    };
    trees.iter().all(is_small)
}

/// Per server: what goes on from there.
fn wanted(known: &Known<'_>) -> Vec<Vec<Wanted>> {
    let at = |&stop: &Stop| {
        let flow = &known.graph.flows[stop.flow];
        let behind = known.topology.onward[stop.flow][stop.visit].iter();
        let next: Vec<usize> = behind.map(|(_, visit)| *visit).collect();
        let rates: BTreeSet<i128> = flow.arrival.iter().map(|bucket| bucket.rate_ubps).collect();
        let goes_on = rates.into_iter().filter(|_| !next.is_empty());
        let wanted = |rate_ubps| Wanted { stop, next: next.clone(), rate_ubps };
        goes_on.map(wanted).collect::<Vec<_>>()
    };
    known.topology.stops.iter().map(|stops| stops.iter().flat_map(at).collect()).collect()
}

impl Wanted {
    /// The burst at all visits behind, if it says something there.
    fn claims(
        &self,
        known: &Known<'_>,
        server: usize,
        options: &Options,
        solved: &Solved<'_>,
    ) -> Vec<BurstClaim> {
        let Self { stop, rate_ubps, .. } = *self;
        let (objective, trunk) = (Objective::Burst { stop, rate_ubps }, [server]);
        let found = settings(known, &trunk, objective, options, options.rows_max)
            .find_map(|it| prove(solved, &it.program, &it.tree, objective));
        let Some(found) = found else { return Vec::new() };
        // A claim is strictly above what its proof gives.
        let bucket = Bucket { burst_ubit: found.bound.saturating_add(1), rate_ubps };
        let says_more = |visit: &&usize| {
            let grown = known.buckets(Stop { visit: **visit, ..stop }).unwrap_or_default();
            FineBucket::of(bucket).is_some_and(|claim| {
                let more = claim.burst / 1_000_000 * (1_000_000 + LESS);
                grown.iter().all(|b| b.rate > claim.rate || b.burst > more)
            })
        };
        let claim = |&visit: &usize| BurstClaim {
            flow: stop.flow,
            visit,
            bucket,
            proof: found.proof.clone(),
        };
        self.next.iter().filter(says_more).map(claim).collect()
    }
}
