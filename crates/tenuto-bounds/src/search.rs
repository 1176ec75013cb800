//! Which linear program is solved for a target: the largest that the options allow.

use crate::grouping::Grouping;
use crate::outcome::{Effort, Method, Options};
use crate::program::{Objective, Program, program};
use crate::prove::{Above, Proved, Solved, prove_below};
use crate::surroundings::{Known, survey};
use crate::tree::{Dates, Tree};
use tenuto_calculus::Multiplexing;

/// Sets of dates, richest first.
const LADDER: [Dates; 6] = [
    Dates::All,
    Dates::Once { fifo: usize::MAX, service: usize::MAX },
    Dates::Once { fifo: usize::MAX, service: 2 },
    Dates::Once { fifo: usize::MAX, service: 1 },
    Dates::Once { fifo: 2, service: 1 },
    Dates::Polynomial,
];

/// More dates have not been seen to make a bound smaller than by this: a tree whose bound with few
/// of them is so many percent of one that is known is not tried with more.
const HOPELESS_PERCENT: i128 = 160;

/// So many buckets of a flow count as one in the size of a program of parts.
const BUCKETS_MAX: usize = 4;

/// A tree with its program, small enough.
pub(crate) struct Setting {
    pub(crate) tree: Tree,
    pub(crate) program: Program,
    pub(crate) method: Method,
    /// Which set of dates of those that were tried.
    rung: usize,
}

/// Settings for a trunk of servers that fit within `rows_max`, richest first.
pub(crate) fn settings<'a>(
    known: &'a Known<'a>,
    trunk: &'a [usize],
    objective: Objective,
    options: &'a Options,
    rows_max: usize,
) -> impl Iterator<Item = Setting> + 'a {
    settings_of(known, trunk, objective, options, rows_max, &LADDER)
}

/// As [`settings`], of these sets of dates alone.
fn settings_of<'a>(
    known: &'a Known<'a>,
    trunk: &'a [usize],
    objective: Objective,
    options: &'a Options,
    rows_max: usize,
    ladder: &'a [Dates],
) -> impl Iterator<Item = Setting> + 'a {
    // Every date has at least four rows of its own.
    let dates_max = options.dates_max.min(rows_max / 4);
    let trees = sizes(trunk.len(), options.tree_servers_max).into_iter();
    let surveyed = trees.filter_map(move |servers_max| {
        let is_burst = matches!(objective, Objective::Burst { .. });
        let (graph, topology, order) = (known.graph, known.topology, Multiplexing::Fifo);
        let mut tree = Tree::unfold(graph, topology, trunk, servers_max, is_burst, order)?;
        survey(known, &mut tree)?;
        let alone = match objective {
            Objective::Delay { .. } => None,
            Objective::Burst { stop, .. } => Some(stop.flow),
        };
        let grouping = Grouping::new(known, &tree, alone)?;
        Some((tree, grouping))
    });
    surveyed.flat_map(move |(tree, grouping)| {
        let rungs = ladder.iter().copied().enumerate().filter(move |(_, dates)| {
            options.effort >= Effort::Tight || *dates == Dates::Polynomial
        });
        rungs.filter_map(move |(rung, dates)| {
            let tree = tree.clone().with_dates(dates, dates_max)?;
            let program = program(known, &tree, &grouping, objective, rows_max)?;
            let method = match dates {
                Dates::Polynomial => Method::Plp,
                Dates::Once { .. } | Dates::Parts => Method::PlpMore,
                Dates::All => Method::Elp,
            };
            Some(Setting { tree, program, method, rung })
        })
    })
}

/// Sizes of trees that are tried in turn.
fn sizes(trunk: usize, servers_max: usize) -> Vec<usize> {
    let mut sizes = vec![servers_max.max(trunk)];
    while let Some(&last) = sizes.last()
        && last > trunk
    {
        sizes.push((last / 2).max(trunk));
    }
    sizes
}

/// The least bound of the delay along a trunk of servers that linear programs within the options
/// prove, constants not included; `None` if that is not below `limit_ps`.
pub(crate) fn delay(
    known: &Known<'_>,
    trunk: &[usize],
    options: &Options,
    rows_max: usize,
    solved: &Solved<'_>,
    limit_ps: Option<i128>,
) -> Option<(Method, Proved)> {
    let way = Way { known, trunk, rows_max, solved };
    let mut best = Best { limit_ps, found: None };
    // Whatever a smaller tree says with the same dates or fewer, a larger one says too.
    let mut ladder: &[Dates] = &LADDER;
    // Whether the largest tree ends in the middle of paths, or has few dates.
    let mut is_cut = None;
    for servers_max in chosen(trunk.len(), options) {
        let options = Options { tree_servers_max: servers_max, ..*options };
        if is_cut.is_some() && way.is_hopeless(&options, &best) {
            continue;
        }
        let Some(tried) = way.solve(&options, ladder, best.limit_ps, 0) else { continue };
        if is_cut.is_none() {
            is_cut = Some(tried.servers >= servers_max || tried.method == Method::Plp);
        }
        ladder = &ladder[..tried.rung];
        best.take(tried);
        if ladder.is_empty() {
            break;
        }
    }
    if is_cut == Some(true) && trunk.len() > 1 && options.effort >= Effort::Tight {
        // Several buckets of a flow say more: that is no reason for a smaller tree.
        let buckets = known.graph.flows.iter().map(|flow| flow.arrival.len()).max().unwrap_or(1);
        let larger = Way { rows_max: rows_max.saturating_mul(buckets.min(BUCKETS_MAX)), ..way };
        if let Some(tried) = larger.solve(options, &[Dates::Parts], best.limit_ps, 0) {
            best.take(tried);
        }
    }
    best.found
}

/// The least bound of the delay along a trunk that programs over large trees with few dates prove,
/// each over the largest tree whose program fits within `rows_max`; `None` if that is not below
/// `limit_ps`. The polynomial program of the trunk alone has its place however small that is.
pub(crate) fn largest(
    known: &Known<'_>,
    trunk: &[usize],
    options: &Options,
    rows_max: usize,
    solved: &Solved<'_>,
    limit_ps: Option<i128>,
) -> Option<(Method, Proved)> {
    let way = Way { known, trunk, rows_max, solved };
    let mut best = Best { limit_ps, found: None };
    let mut servers = 0;
    if let Some(tried) = way.solve(options, &[Dates::Parts], best.limit_ps, 0) {
        servers = tried.servers;
        best.take(tried);
    }
    // These dates say nothing more of trees that are no larger.
    let polynomial = way.solve(options, &[Dates::Polynomial], best.limit_ps, servers);
    if let Some(tried) = polynomial {
        best.take(tried);
    } else if servers == 0 {
        let options = Options { tree_servers_max: trunk.len(), ..*options };
        let alone = Way { rows_max: options.rows_max, ..way };
        if let Some(tried) = alone.solve(&options, &[Dates::Polynomial], best.limit_ps, 0) {
            best.take(tried);
        }
    }
    best.found
}

/// What is bounded, and within which size.
struct Way<'a> {
    known: &'a Known<'a>,
    trunk: &'a [usize],
    rows_max: usize,
    solved: &'a Solved<'a>,
}

/// The least bound so far, of whatever origin, and what proved it here.
struct Best {
    limit_ps: Option<i128>,
    found: Option<(Method, Proved)>,
}

impl Best {
    fn take(&mut self, tried: Tried) {
        if let Some(proved) = tried.proved {
            self.limit_ps = Some(proved.bound);
            self.found = Some((tried.method, proved));
        }
    }
}

/// The program of a setting that was tried.
struct Tried {
    /// Which set of dates of those that were tried.
    rung: usize,
    method: Method,
    servers: usize,
    /// What is proved; `None` if that is not below the limit.
    proved: Option<Proved>,
}

impl Way<'_> {
    /// The first program that fits and proves something, over a tree of more than so many servers.
    fn solve(
        &self,
        options: &Options,
        ladder: &[Dates],
        limit_ps: Option<i128>,
        servers: usize,
    ) -> Option<Tried> {
        let Self { known, trunk, rows_max, solved } = *self;
        let objective = Objective::Delay { from: trunk.len().checked_sub(1)? };
        for setting in settings_of(known, trunk, objective, options, rows_max, ladder) {
            let Setting { tree, program, method, rung } = setting;
            if tree.nodes.len() <= servers {
                return None;
            }
            let proved = match prove_below(solved, &program, &tree, objective, limit_ps) {
                Ok(None) => continue,
                Ok(proved) => proved,
                Err(Above) => None,
            };
            return Some(Tried { rung, method, servers: tree.nodes.len(), proved });
        }
        None
    }

    /// Whether a tree of that size says too little with few dates for more to be of use.
    fn is_hopeless(&self, options: &Options, best: &Best) -> bool {
        let limit = best.limit_ps.map(|bound| bound.saturating_mul(HOPELESS_PERCENT) / 100);
        let tried = self.solve(options, &[Dates::Polynomial], limit, 0);
        tried.is_some_and(|tried| tried.proved.is_none())
    }
}

/// Sizes of trees for a trunk. With few dates at every server the largest tree says all that
/// smaller ones do; else a large tree with few dates, or a small one with many: neither is always
/// the better.
fn chosen(trunk: usize, options: &Options) -> Vec<usize> {
    let sizes = sizes(trunk, options.tree_servers_max);
    if options.effort < Effort::Tight {
        return vec![sizes[0]];
    }
    let mut sizes: Vec<usize> =
        [0, sizes.len() / 2, sizes.len() - 1].into_iter().map(|index| sizes[index]).collect();
    sizes.dedup();
    sizes
}
