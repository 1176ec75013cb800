//! That a network is again as the lower mode's analysis has it before a return makes it so (theory,
//! "Settling").
//!
//! Without circles that is a drain. In a circle a plan brings rounds: claims for what is forwarded
//! until the return, each round implied by the one before, the last within the lower mode's claims.

use crate::description::read::{Mode, ModeChange, SettlingRound};
use crate::finding::rule;
use crate::rows::analysis::{self, Analysis};
use crate::rows::context::{Claims, Context, Entries};
use crate::rows::drain::Drain;
use crate::rows::ends::Ends;
use crate::rows::inequality::{Place, check_busy};
use crate::rows::{bounds, processor};
use crate::streams::levels::is_guaranteed;
use std::collections::BTreeMap;

/// A mode, or a raise into it, that a return may follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before<'a> {
    pub(crate) analysis: &'a Analysis,
    /// When every switch has swapped, picoseconds from the last violation.
    pub(crate) swapped: Option<u128>,
}

/// The time after the last violation from which the lower mode's claims hold, per return; `None`
/// where nothing proves that. Checks what the plan says of it.
pub(crate) fn check(context: &Context<'_>, before: &[Before<'_>]) -> BTreeMap<Mode, Option<u128>> {
    let mut settled = BTreeMap::new();
    for raise in context.raises() {
        let Mode::Raise { from: to, to: from } = raise else { continue };
        let mode = Mode::Return { from, to };
        let row = context.plan.mode_changes.iter().find(|row| row.change == mode);
        let place = mode.label(&context.net.raw.modes);
        let leads_there = |it: &&Before<'_>| match it.analysis.mode {
            Mode::Steady(level) => level == from,
            Mode::Raise { to: level, .. } => level == from,
            Mode::Return { .. } => false,
        };
        let before: Vec<Before<'_>> = before.iter().filter(leads_there).copied().collect();
        let time = by_drain(context, &before, mode)
            .or_else(|| Return { context, before: &before, from, to }.in_rounds(row?));
        if let Some(claimed) = row.and_then(|row| row.settled_ps)
            && time.is_none_or(|needed| needed > claimed.into())
        {
            let found = time.map_or("no proof of it".into(), |ps| format!("{ps} ps"));
            let claim = format!("settled after {claimed} ps");
            context.wrong(rule::MODE_CHANGE, &place, claim, found);
        }
        if context.plan.feasible && row.is_some_and(|row| row.settled_ps.is_none()) {
            let found = "a feasible plan says when it has settled";
            context.wrong(rule::MODE_CHANGE, &place, "a return", found);
        }
        check_rows(context, mode, time.is_some());
        settled.insert(mode, time);
    }
    settled
}

/// Bounds of a return rest on the lower mode's.
fn check_rows(context: &Context<'_>, mode: Mode, is_settled: bool) {
    for row in context.plan.flows.iter().filter(|row| row.mode == mode && !is_settled) {
        if row.delay_bound_ps.is_some() || row.copies.iter().any(|c| c.delay_bound_ps.is_some()) {
            let place =
                format!("{} to {}, {}", row.flow, row.target, mode.label(&context.net.raw.modes));
            context.wrong(rule::FLOW_BOUND, place, "a bound", "the network may not have settled");
        }
    }
}

fn by_drain(context: &Context<'_>, before: &[Before<'_>], back: Mode) -> Option<u128> {
    let steady = before.iter().find(|it| matches!(it.analysis.mode, Mode::Steady(_)))?.analysis;
    let mut longest = 0;
    for it in before {
        let drain = Drain::new(context, it.analysis, it.swapped)?;
        longest = longest.max(drain.settled(steady, back)?);
    }
    Some(longest)
}

struct Return<'c, 'a> {
    context: &'c Context<'a>,
    before: &'c [Before<'c>],
    from: u8,
    to: u8,
}

impl<'a> Return<'_, 'a> {
    fn mode(&self) -> Mode {
        Mode::Return { from: self.from, to: self.to }
    }

    /// The context with the claims of the return in place of its own.
    fn claiming(&self, claims: Claims, entries: Entries) -> Context<'a> {
        let it = self.context;
        Context {
            plan: it.plan,
            net: it.net,
            streams: it.streams,
            attributed: it.attributed.clone(),
            enforced: it.enforced.clone(),
            scale: it.scale.clone(),
            claims,
            entries,
            busy: Claims::new(),
            sites_busy: BTreeMap::new(),
            changes: it.changes.clone(),
            flooded: it.flooded.clone(),
            budget: it.budget.clone(),
        }
    }

    fn in_rounds(&self, row: &ModeChange) -> Option<u128> {
        let mut now = self.first();
        let length = self.round(&now)?;
        for round in &row.rounds {
            now = self.tightened(now, round)?;
        }
        if !self.is_within_lower(&now) {
            return None;
        }
        let mut swapped = 0;
        for it in self.before {
            swapped = swapped.max(it.swapped?);
        }
        let steps = u128::try_from(row.rounds.len() + 1 + self.deepest()).ok()?;
        length.checked_mul(steps)?.checked_add(swapped)
    }

    /// How many nodes a proof of the lower mode has behind its root: each may look back a round.
    fn deepest(&self) -> usize {
        let rows = self.context.plan.flows.iter();
        let rows = rows.filter(|row| row.mode == Mode::Steady(self.to));
        let proofs = rows.flat_map(|row| &row.copies).filter_map(|copy| copy.proof.as_ref());
        proofs.map(|proof| proof.linear.nodes_behind_root()).max().unwrap_or(0)
    }

    /// What holds until the return in any case: the largest claims of the mode, and of raises into it.
    fn first(&self) -> Context<'a> {
        let (mut claims, mut entries) = (BTreeMap::new(), BTreeMap::new());
        for (number, it) in self.before.iter().enumerate() {
            let none = BTreeMap::new();
            let own = self.context.claims.get(&it.analysis.mode).unwrap_or(&none);
            merge(&mut claims, own, number == 0);
            let none = BTreeMap::new();
            let own = self.context.entries.get(&it.analysis.mode).unwrap_or(&none);
            merge(&mut entries, own, number == 0);
        }
        self.claiming(
            BTreeMap::from([(self.mode(), claims)]),
            BTreeMap::from([(self.mode(), entries)]),
        )
    }

    /// The longest way of a frame and the longest busy period, picoseconds.
    fn round(&self, first: &Context<'a>) -> Option<u128> {
        let mut way = 0_u128;
        for stream in first.streams {
            if is_guaranteed(self.mode(), first.net.flows[stream.flow].level) {
                for target in 0..stream.paths.len() {
                    way = way.max(bounds::longest_way(first, stream, target, self.mode())?);
                }
            }
        }
        let mut busy = 0;
        for it in self.before {
            let mode = it.analysis.mode;
            for (port, load) in &it.analysis.loads {
                busy = busy.max(self.context.busy_ps(mode, *port, load.lowest())?);
            }
            for site in processor::sites(self.context, mode) {
                busy = busy.max(*self.context.sites_busy.get(&(mode, site.node))?);
            }
        }
        way.checked_add(busy.into())
    }

    /// The claims of one round, if those of the round before imply them.
    fn tightened(&self, mut before: Context<'a>, round: &SettlingRound) -> Option<Context<'a>> {
        let mode = self.mode();
        before.busy = analysis::busy(before.net, &round.busy, |claimed| claimed == mode);
        let before = &before;
        let claims = analysis::delays(before.net, &round.ports, |claimed| claimed == mode);
        let entries =
            processor::entries_of(&round.processors, before.net, |claimed| claimed == mode);
        let next = self.claiming(claims, entries);
        let analysis = before.analyse(mode);
        check_busy(before, &analysis, &Ends::default());
        let is_kept = |known: Option<u64>, claim: u64| known.is_some_and(|known| known <= claim);
        for (&(port, class), &delay_ps) in next.claims.get(&mode).into_iter().flatten() {
            let load = analysis.loads.get(&port);
            let place = Place { context: before, mode, load, port, class, end: None };
            let follows =
                || place.long_run_rate() <= place.capacity() && place.is_sufficient(delay_ps);
            if !is_kept(before.claim(mode, port, class), delay_ps) && !follows() {
                self.wrong(&before.net.label(port), delay_ps);
                return None;
            }
        }
        for site in processor::sites(before, mode) {
            for (line, delay_ps) in site.insufficient(next.entries.get(&mode)) {
                let known = before.entries.get(&mode).and_then(|of| of.get(&line)).copied();
                if !is_kept(known, delay_ps) {
                    self.wrong(&before.net.label(line), delay_ps);
                    return None;
                }
            }
        }
        Some(next)
    }

    fn wrong(&self, label: &str, delay_ps: u64) {
        let place = format!("{label}, {}", self.mode().label(&self.context.net.raw.modes));
        let found = "the round before does not imply it";
        self.context.wrong(rule::MODE_CHANGE, place, format!("{delay_ps} ps in a round"), found);
    }

    /// Whether everything in use until the return is within the lower mode's claims.
    fn is_within_lower(&self, last: &Context<'a>) -> bool {
        let (mode, lower) = (self.mode(), Mode::Steady(self.to));
        let no_more = |own: Option<u64>, most: Option<u64>| {
            own.zip(most).is_some_and(|(own, most)| own <= most)
        };
        let at_ports = last.analyse(mode).loads.iter().all(|(port, load)| {
            load.classes.keys().all(|class| {
                let most = self.context.claim(lower, *port, *class);
                no_more(last.claim(mode, *port, *class), most)
            })
        });
        let entry = |of: &Context<'_>, mode: Mode, line: usize| {
            of.entries.get(&mode).and_then(|of| of.get(&line)).copied()
        };
        at_ports
            && processor::sites(last, mode).iter().all(|site| {
                site.lines()
                    .all(|line| no_more(entry(last, mode, line), entry(self.context, lower, line)))
            })
    }
}

/// Keeps the largest of what all claim.
fn merge<K: Ord + Copy>(all: &mut BTreeMap<K, u64>, own: &BTreeMap<K, u64>, is_first: bool) {
    if is_first {
        all.clone_from(own);
        return;
    }
    all.retain(|key, _| own.contains_key(key));
    for (key, most) in all {
        *most = (*most).max(own.get(key).copied().unwrap_or(*most));
    }
}
