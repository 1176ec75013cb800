//! Routes that keep every promise, where the fewest hops do not.
//!
//! First all flows are routed again and again at prices that grow with load and with what the
//! analysis found to hurt (negotiated congestion, McMurchie and Ebeling 1995); then single flows
//! of the best choice so far are moved away from where it hurts. The order of steps depends on
//! the description alone, and effort only says how many of them are taken.

use super::grow::{self, Choice, Ground};
use super::load::Load;
use super::pain::{Verdict, overload};
use super::plot::Plot;
use super::tree::{Routes, Tree};
use crate::input::topology::Topology;
use crate::options::Progress;
use tenuto_model::Chosen;

/// Hops that may be analysed in one search, over all analyses.
const HOPS_ANALYSED_MAX: usize = 200_000;
/// Most analyses of one search.
const ANALYSES_MAX: usize = 96;
/// Fewest analyses that a search is worth.
const ANALYSES_MIN: usize = 6;
/// Rounds in which every flow is routed again.
const ROUNDS_MAX: usize = 24;
/// Rounds without a change after which prices are taken to have no choice left.
const UNCHANGED_MAX: usize = 6;
/// One, in prices' factors.
const ONE: u64 = 16;
/// The most that one place's history may raise its price.
const HISTORY_MAX: u64 = 64 * ONE;

/// How many steps a search may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// What a plan deserves.
    Full,
    /// A beginning of the same steps, for plans that are only tried.
    Brief,
}

/// Says what is wrong with trees, and the largest delay of each port, picoseconds.
pub(crate) type Judge<'a> = dyn Fn(&[Tree]) -> (Verdict, Vec<Option<u64>>) + 'a;

/// How to search.
pub(crate) struct Search<'a> {
    pub(crate) effort: Effort,
    pub(crate) judge: &'a Judge<'a>,
    pub(crate) progress: &'a mut dyn FnMut(Progress),
}

/// Better routes than these, if these break a promise and there are any.
pub(crate) fn improved(plot: &Plot<'_>, routes: Routes, search: Search<'_>) -> Routes {
    if !plot.has_choice() {
        return routes;
    }
    let first = routes.trees.clone();
    let trees = improve(plot, search, routes.trees);
    let chosen = |(index, known): (usize, Chosen)| match trees[index] == first[index] {
        true => known,
        false => Chosen::LoadAndDeadlines,
    };
    let chosen = routes.chosen.into_iter().enumerate().map(chosen).collect();
    Routes { trees, chosen, refusals: routes.refusals }
}

/// Routes and what is wrong with them.
struct Choosing<'a> {
    plot: &'a Plot<'a>,
    judge: &'a Judge<'a>,
    analyses_left: usize,
    analyses_done: usize,
    progress: &'a mut dyn FnMut(Progress),
    /// What one largest frame takes at each port, nanoseconds.
    base_ns: Vec<u64>,
    /// Factor by which a port's price was raised for what it did, in 16ths.
    history: Vec<u64>,
    best: Judged,
}

/// A choice that was judged.
#[derive(Clone)]
struct Judged {
    trees: Vec<Tree>,
    verdict: Verdict,
    /// Largest delay of each port, picoseconds, where there was an analysis.
    slowness: Vec<Option<u64>>,
}

/// The best routes that were found from `first` on; those themselves if nothing hurts there.
fn improve(plot: &Plot<'_>, search: Search<'_>, first: Vec<Tree>) -> Vec<Tree> {
    let Search { effort, judge, progress } = search;
    let hops: usize = first.iter().map(|tree| tree.hops.len()).sum();
    let mode_inputs = crate::input::transitions::transitions(plot.topology.network).len();
    let affordable = HOPS_ANALYSED_MAX / (hops * mode_inputs).max(1);
    let most = match effort {
        Effort::Full => affordable.clamp(ANALYSES_MIN, ANALYSES_MAX),
        Effort::Brief => affordable.clamp(ANALYSES_MIN, ANALYSES_MAX) / 4,
    };
    let unjudged = Judged { trees: first, verdict: Verdict::default(), slowness: Vec::new() };
    let mut choosing = Choosing {
        plot,
        judge,
        analyses_left: most + 1,
        analyses_done: 0,
        progress,
        base_ns: base_ns(plot.topology),
        history: vec![ONE; plot.topology.servers.len()],
        best: unjudged,
    };
    if let Some(judged) = choosing.judge(choosing.best.trees.clone()) {
        choosing.best = judged;
    }
    if choosing.best.verdict.pain > 0 {
        choosing.spread();
        choosing.moves();
    }
    choosing.best.trees
}

/// What one frame of the largest size takes from queue to next node, nanoseconds.
fn base_ns(topology: &Topology<'_>) -> Vec<u64> {
    const FRAME_BITS: u64 = 1_538 * 8;
    let of = |egress: &crate::input::topology::Egress<'_>| {
        let sending = FRAME_BITS.saturating_mul(1_000_000_000) / egress.rate_bps.max(1);
        let fixed = topology.nodes[egress.node].latency_max_ps() + egress.propagation_ps;
        sending + u64::try_from(fixed / 1_000).unwrap_or(0) + 1
    };
    topology.servers.iter().map(of).collect()
}

impl Choosing<'_> {
    /// What is wrong with these trees; `None` once there were enough analyses.
    fn judge(&mut self, trees: Vec<Tree>) -> Option<Judged> {
        let load = Load::of(self.plot.topology, &trees);
        // With modes not all that is charged here is ever sent at once.
        let is_single = self.plot.topology.network.modes.len() < 2;
        let verdict = overload(load.ppm());
        if is_single && verdict.pain > 0 {
            return Some(Judged { trees, verdict, slowness: Vec::new() });
        }
        self.analyses_left = self.analyses_left.checked_sub(1)?;
        (self.progress)(Progress::TryingRoutes { done: self.analyses_done });
        self.analyses_done += 1;
        let (verdict, slowness) = (self.judge)(&trees);
        Some(Judged { trees, verdict, slowness })
    }

    /// Keeps a choice if it hurts less; whether it did.
    fn keep(&mut self, judged: Judged) -> bool {
        let is_better = judged.verdict.pain < self.best.verdict.pain;
        if is_better {
            self.best = judged;
        }
        is_better
    }

    /// Routes everything at prices, raises the prices of what hurts, and so on.
    fn spread(&mut self) {
        let mut trees = self.best.trees.clone();
        let mut verdict = self.best.verdict.clone();
        let mut unchanged = 0;
        for round in 0..ROUNDS_MAX {
            self.raise_prices(&verdict);
            let before = trees.clone();
            let sweeps = if round == 0 { 2 } else { 1 };
            (0..sweeps).for_each(|_| self.sweep(&mut trees));
            if trees == before {
                unchanged += 1;
                if unchanged > UNCHANGED_MAX {
                    return;
                }
                continue;
            }
            unchanged = 0;
            let Some(judged) = self.judge(trees.clone()) else { return };
            verdict = judged.verdict.clone();
            self.keep(judged);
            if self.best.verdict.pain == 0 {
                return;
            }
        }
    }

    fn raise_prices(&mut self, verdict: &Verdict) {
        let worst = verdict.ports.first().map_or(0, |(_, pain)| *pain);
        for &(server, pain) in &verdict.ports {
            let history = &mut self.history[server];
            let more = if pain >= worst / 4 { *history / 2 } else { *history / 4 };
            *history = (*history + more).min(HISTORY_MAX);
        }
    }

    /// Every flow once, those with the highest rate first, all others in their places.
    fn sweep(&self, trees: &mut [Tree]) {
        let topology = self.plot.topology;
        let mut load = Load::of(topology, trees);
        let mut order: Vec<usize> = (0..trees.len()).filter(|&t| self.plot.is_free(t)).collect();
        order.sort_by_key(|&t| (std::cmp::Reverse(load.rate_bps(trees[t].flow)), t));
        for index in order {
            load.take(topology, &trees[index]);
            if let Some(tree) = self.regrown(&load, trees, index, &|_| true) {
                trees[index] = tree;
            }
            load.add(topology, &trees[index]);
        }
    }

    /// One tree at today's prices, over allowed ports only; its own load is not in `load`.
    fn regrown(
        &self,
        load: &Load,
        trees: &[Tree],
        index: usize,
        is_allowed: &dyn Fn(usize) -> bool,
    ) -> Option<Tree> {
        let own_bps = load.rate_bps(trees[index].flow);
        let price = |server: usize| {
            let rate = self.plot.topology.servers[server].rate_bps.max(1);
            let own = super::load::ppm(own_bps, rate);
            let crowd = crowd(load.ppm()[server].saturating_add(own));
            let factor = crowd.saturating_mul(self.history[server]) / ONE;
            is_allowed(server).then(|| self.base_ns[server].saturating_mul(factor) / ONE)
        };
        self.grown(load, trees, index, &price)
    }

    fn grown(
        &self,
        load: &Load,
        trees: &[Tree],
        index: usize,
        price: &dyn Fn(usize) -> Option<u64>,
    ) -> Option<Tree> {
        let taken = self.plot.taken_by_others(trees, index);
        let ground = Ground {
            topology: self.plot.topology,
            load: load.ppm(),
            choice: Choice::LeastPrice(price),
            keeps_fixed: self.plot.keeps_fixed(index),
            taken: &taken,
        };
        grow::grow(ground, trees[index].flow, trees[index].copy).ok()
    }

    /// Moves single flows of the best choice for as long as that helps.
    fn moves(&mut self) {
        while self.best.verdict.pain > 0 && self.move_one() {}
    }

    /// The first move that helps; whether there was one.
    fn move_one(&mut self) -> bool {
        for tree in self.candidates() {
            let mut trees = self.best.trees.clone();
            let index = tree.0;
            trees[index] = tree.1;
            let Some(judged) = self.judge(trees) else { return false };
            if self.keep(judged) {
                return true;
            }
        }
        false
    }

    /// Other trees for single flows: quicker ones for the late, and detours around what hurts.
    fn candidates(&self) -> Vec<(usize, Tree)> {
        const LATE_TRIED: usize = 4;
        const PORTS_TRIED: usize = 4;
        const FLOWS_TRIED: usize = 8;
        let best = &self.best;
        let full = Load::of(self.plot.topology, &best.trees);
        let mut found: Vec<(usize, Tree)> = Vec::new();
        let mut offer = |index: usize, tree: Option<Tree>| {
            let tree = tree.filter(|tree| *tree != best.trees[index]);
            if let Some(tree) =
                tree.filter(|tree| !found.iter().any(|(i, t)| (*i, t) == (index, tree)))
            {
                found.push((index, tree));
            }
        };
        let without = |index: usize| {
            let mut load = full.clone();
            load.take(self.plot.topology, &best.trees[index]);
            load
        };
        let is_free = |index: &usize| self.plot.is_free(*index);
        let late = best.verdict.trees.iter().map(|(index, _)| *index).filter(is_free);
        for index in late.take(LATE_TRIED) {
            let slow = |server: usize| best.slowness.get(server).copied().flatten().unwrap_or(0);
            let quick = |server: usize| Some(self.base_ns[server] + slow(server) / 1_000);
            offer(index, self.grown(&without(index), &best.trees, index, &quick));
        }
        for &(hurting, _) in best.verdict.ports.iter().take(PORTS_TRIED) {
            let passes = |tree: &Tree| tree.hops.iter().any(|hop| hop.server == hurting);
            let here = (0..best.trees.len()).filter(|&t| passes(&best.trees[t]) && is_free(&t));
            let mut here: Vec<usize> = here.collect();
            here.sort_by_key(|&t| (std::cmp::Reverse(full.rate_bps(best.trees[t].flow)), t));
            for index in here.into_iter().take(FLOWS_TRIED) {
                let around = |server: usize| server != hurting;
                offer(index, self.regrown(&without(index), &best.trees, index, &around));
            }
        }
        found
    }
}

/// The factor of a price at a load in parts per million, in 16ths: as waiting grows with load.
fn crowd(ppm: u64) -> u64 {
    const FULL: u64 = 1_000_000;
    const LOADED: u64 = 200 * ONE;
    match FULL.checked_sub(ppm) {
        None | Some(0) => LOADED + LOADED.saturating_mul(ppm.saturating_sub(FULL)) / FULL * 4,
        Some(left) => (ONE + 4 * ONE * ppm / left).min(LOADED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_never_falls_as_load_grows() {
        let prices: Vec<u64> = (0..200).map(|step| crowd(step * 10_000)).collect();
        assert_eq!(prices[0], ONE);
        assert!(prices.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(prices[101] > prices[99]);
    }
}
