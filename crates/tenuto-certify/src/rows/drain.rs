//! The time after which a change is over for good, and the new mode's own bounds hold.
//!
//! What reaches a switch's port is clean once the mode has changed and every port that feeds it is
//! over with what was before, its last delayed frame having come across; the port itself is over when the busy
//! period that may contain anything older has ended. A plan states for every port when that is; each
//! time is put into the inequality that it has to satisfy. Every step takes time, so in a circle of
//! ports no times satisfy all of them. Hosts know no mode; before a return they have to go
//! back to lower contracts themselves. Behind a processor that ports share no line can be told
//! from another: there is no drain.

use crate::description::read::{Mode, ModeChange};
use crate::finding::rule;
use crate::rows::analysis::{Analysis, Load};
use crate::rows::context::Context;
use crate::rows::group::GroupKey;
use std::collections::BTreeMap;

/// Times that are stated port by port, picoseconds.
type Times = BTreeMap<usize, u64>;

/// A raise with the times at which ports are over with what was before it.
pub(crate) struct Drain<'a> {
    context: &'a Context<'a>,
    raise: &'a Analysis,
    /// When every switch has swapped, from the trigger.
    swapped_ps: u128,
    /// Nothing where the mode was there from the start.
    drained: Option<Times>,
}

impl<'a> Drain<'a> {
    /// `None` where there is no drain, or the times that the plan states are none.
    pub(crate) fn new(
        context: &'a Context<'a>,
        raise: &'a Analysis,
        swapped_ps: Option<u128>,
    ) -> Option<Self> {
        if (0..context.net.nodes.len()).any(|node| context.net.device(node).is_some()) {
            return None;
        }
        let is_raise = matches!(raise.mode, Mode::Raise { .. });
        let drained = is_raise.then(|| stated(context, raise.mode, raise.mode));
        let this = Self { context, raise, swapped_ps: swapped_ps?, drained };
        let ports = raise.loads.keys().filter(|port| !is_of_host(context, **port));
        let holds = |port: usize| {
            Some(this.drained(port)? >= this.clean(port)? + longest(context, raise, port)?)
        };
        (!is_raise || this.all_hold(ports, raise.mode, holds)).then_some(this)
    }

    /// When all of them are over.
    pub(crate) fn end(&self) -> u128 {
        self.drained.iter().flat_map(Times::values).copied().max().unwrap_or(0).into()
    }

    /// From when on all busy periods of a port are of the new mode: of a host's they always are.
    fn drained(&self, port: usize) -> Option<u128> {
        match &self.drained {
            Some(drained) if !is_of_host(self.context, port) => {
                drained.get(&port).copied().map(u128::from)
            }
            _ => Some(0),
        }
    }

    /// From when on what comes to a port is of the new mode.
    fn clean(&self, port: usize) -> Option<u128> {
        let mut clean = self.swapped_ps;
        if self.drained.is_none() {
            return Some(clean);
        }
        for feeder in feeders(&self.raise.loads[&port]) {
            let handed_on = handed_on(self.context, self.raise, feeder)?;
            clean = clean.max(self.drained(feeder)? + handed_on);
        }
        Some(clean)
    }

    /// The time from the last violation until every busy period has seen contracts of the lower
    /// mode only, `steady` being the mode that the raise led to.
    ///
    /// At a host's port the busy period of before has to end. Elsewhere: what a port takes from S' on
    /// is of the lower contracts; a busy period at S' is either one of the raise, over when that is, or
    /// one of the steady mode.
    pub(crate) fn settled(&self, steady: &Analysis, back: Mode) -> Option<u128> {
        let (context, raise) = (self.context, self.raise);
        let settled = stated(context, back, raise.mode);
        let time = |port: usize| settled.get(&port).copied().map(u128::from);
        let holds = |port: usize| {
            let before = longest(context, raise, port)?;
            if is_of_host(context, port) {
                return Some(time(port)? >= before);
            }
            let mut clean = self.clean(port)?;
            for feeder in feeders(&raise.loads[&port]) {
                let slow = handed_on(context, raise, feeder)?;
                let fast = handed_on(context, steady, feeder)?;
                let last = (self.drained(feeder)? + slow).max(time(feeder)? + fast);
                clean = clean.max(last.min(time(feeder)? + slow));
            }
            let after = longest(context, steady, port)?;
            Some(time(port)? >= self.drained(port)?.max(clean + after).min(clean + before))
        };
        let holds = self.all_hold(raise.loads.keys(), back, holds);
        holds.then(|| settled.values().copied().max().unwrap_or(0).into())
    }

    /// Whether the time of every port satisfies what is asked of it. Where none is stated nothing is
    /// claimed; the first that does not is told.
    fn all_hold<'p>(
        &self,
        mut ports: impl Iterator<Item = &'p usize>,
        change: Mode,
        holds: impl Fn(usize) -> Option<bool>,
    ) -> bool {
        let Some(port) = ports.find(|port| holds(**port) != Some(true)) else { return true };
        if holds(*port) == Some(false) {
            let label = change.label(&self.context.net.raw.modes);
            let place = format!("{}, {label}", self.context.net.label(*port));
            let found = "what was before may still be there";
            self.context.wrong(rule::MODE_CHANGE, place, "over by a time", found);
        }
        false
    }
}

/// What the row of a change states of the time after a mode or raise.
fn stated(context: &Context<'_>, change: Mode, before: Mode) -> Times {
    let rows = context.plan.mode_changes.iter().filter(|row: &&ModeChange| row.change == change);
    let ended = rows.flat_map(|row| &row.ended).filter(|ended| ended.mode == before);
    ended.filter_map(|it| Some((context.net.port(&it.port)?, it.after_ps))).collect()
}

fn is_of_host(context: &Context<'_>, port: usize) -> bool {
    context.net.profile(context.net.ports[port].node).is_none()
}

/// The longest busy period of all classes at a port; none where nothing comes.
fn longest(context: &Context<'_>, analysis: &Analysis, port: usize) -> Option<u128> {
    let Some(load) = analysis.loads.get(&port) else { return Some(0) };
    context.busy_ps(analysis.mode, port, load.lowest()).map(u128::from)
}

/// From a place in a port's queue to one in the next: its largest claim, the link, the switch.
fn handed_on(context: &Context<'_>, analysis: &Analysis, port: usize) -> Option<u128> {
    let mut largest = 0;
    for class in analysis.loads.get(&port).into_iter().flat_map(|load| load.classes.keys()) {
        largest = largest.max(context.claim(analysis.mode, port, *class)?);
    }
    let link = &context.net.ports[port];
    let after = [largest, link.propagation_ps, context.net.latency_max_ps(link.peer)];
    Some(after.into_iter().map(u128::from).sum())
}

fn feeders(load: &Load) -> impl Iterator<Item = usize> + '_ {
    load.groups.keys().filter_map(|key| match key {
        GroupKey::Link(port) => Some(*port),
        GroupKey::Alone(_) | GroupKey::Processor => None,
    })
}
