//! The inequality where flows come in whole messages (theory, "Staircases").
//!
//! From one step to the next the curves are concave as ever, with what has come in messages so far
//! as a constant: the inequality is evaluated from every step on that lies in the longest busy
//! period. Constants from before a step are too little behind it, where the next one judges; behind
//! the busy period nobody waits.

use crate::kernel::exact::{self, Curve, Line};
use crate::rows::group::{Group, GroupKey, Set, Stepped, Sum};
use crate::rows::inequality::Place;
use crate::rows::nested::{self, Own};
use crate::streams::messages::WINDOW_PS_MAX;
use num_bigint::BigInt;
use num_traits::Zero;
use std::collections::BTreeSet;

/// Steps of one flow that are looked at; a flow with more is taken as its bucket.
const STEPS_MAX: u128 = 64;

/// One group as a class sees it.
struct View<'a> {
    key: GroupKey,
    group: &'a Group,
    sets: Vec<SetView<'a>>,
}

/// One of its sets: what is no message of its own, and what is.
struct SetView<'a> {
    same: Sum,
    above: Sum,
    messages: Vec<(bool, &'a Stepped)>,
}

impl<'a> Place<'a> {
    fn views(&self) -> Vec<View<'a>> {
        let groups = self.load.into_iter().flat_map(|load| &load.groups);
        let of = |(key, group): (&GroupKey, &'a Group)| {
            let sets = group.sets.iter().map(|set| self.view(set)).collect();
            group.reaches(self.class).then_some(View { key: *key, group, sets })
        };
        groups.filter_map(of).collect()
    }

    fn view(&self, set: &'a Set) -> SetView<'a> {
        let (mut same, mut above) = (Sum::default(), Sum::default());
        for (highest, sum) in set.trickling.range(..=self.class) {
            if *highest == self.class { same.merge(sum) } else { above.merge(sum) }
        }
        let here = set.stepped.iter().filter(|flow| flow.class <= self.class);
        let messages = here.map(|flow| (flow.class < self.class, flow)).collect();
        SetView { same, above, messages }
    }

    /// What a flow brings in messages within a window, up to its end.
    fn within(&self, flow: &Stepped, window_ps: u128) -> BigInt {
        let end = self.end.filter(|_| !flow.stays).and_then(|end| u128::try_from(end).ok());
        flow.messages.within(end.map_or(window_ps, |end| end.min(window_ps)))
    }

    /// What flows bring in messages, those of the classes above within a window of their own.
    fn come(&self, set: &SetView<'_>, same_ps: u128, above_ps: u128) -> BigInt {
        let of = |(is_above, flow): &(bool, &Stepped)| {
            self.within(flow, if *is_above { above_ps } else { same_ps })
        };
        set.messages.iter().map(of).sum()
    }

    /// A(t, d) of every group, and signals, messages counted as of `from`.
    fn delayed(&self, views: &[View<'_>], from: u128, delay_ps: u64) -> Vec<Curve> {
        let delay = u128::from(delay_ps);
        let of = |view: &View<'_>| {
            let own = |at: usize| {
                let set = &view.sets[at];
                let (same, above) =
                    (set.same.curve(0, self.end), set.above.curve(delay_ps, self.end));
                let higher = set.messages.iter().filter(|(is_above, _)| *is_above);
                let come_above = higher.map(|(_, flow)| self.within(flow, delay)).sum();
                Own::new(&same, &above, &self.come(set, from, from + delay), &come_above)
            };
            let place = (self.port, view.key);
            nested::curve(self.context, place, view.group, self.class, delay_ps, own)
        };
        let signals = self.context.signals(self.port).map(|signals| {
            let burst = &signals.burst + &signals.rate * delay_ps;
            vec![Line::new(burst, signals.rate)]
        });
        views.iter().filter_map(of).chain(signals).collect()
    }

    /// A(t, 0) of every group, and signals, messages counted as within `window_ps`.
    pub(crate) fn in_messages(&self, window_ps: u64) -> Vec<Curve> {
        self.delayed(&self.views(), window_ps.into(), 0)
    }

    /// Behind the busy period nobody waits.
    fn horizon(&self) -> Option<u128> {
        self.context.busy_ps(self.mode, self.port, self.class).map(u128::from)
    }

    /// Where the inequality is looked at; flows with too many steps go back into their buckets.
    fn instants(&self, views: &mut [View<'_>], horizon_ps: u128, delay_ps: u128) -> BTreeSet<u128> {
        let mut all = BTreeSet::from([0]);
        for set in views.iter_mut().flat_map(|view| &mut view.sets) {
            let (same, above) = (&mut set.same, &mut set.above);
            set.messages.retain(|(is_above, flow)| {
                let ahead = if *is_above { delay_ps } else { 0 };
                match flow.messages.instants(ahead, horizon_ps + ahead, STEPS_MAX) {
                    Some(steps) => {
                        all.extend(steps.into_iter().map(|at| at - ahead));
                        true
                    }
                    None => {
                        let sum = if *is_above { &mut *above } else { &mut *same };
                        sum.add(&flow.bucket, flow.stays);
                        false
                    }
                }
            });
        }
        all
    }

    /// By how much more than what is served in `delay_ps` (without the pacer's rounding) there may be to
    /// serve, a size of the scale rounded up: nobody waits longer where that is none. `None` without a bound.
    pub(crate) fn lack_in_messages(&self, delay_ps: u64) -> Option<BigInt> {
        let horizon = self.horizon()?;
        let delay = u128::from(delay_ps);
        if horizon.saturating_add(delay) > WINDOW_PS_MAX {
            return None;
        }
        let capacity = self.capacity();
        let blocking = self.context.blocking(self.port, self.load, self.class);
        let mut views = self.views();
        let instants = self.instants(&mut views, horizon, delay);
        let each = looked_at(&views);
        if !self.context.budget.spend(instants.len().saturating_mul(each)) {
            return None;
        }
        let mut lack: Option<BigInt> = None;
        for from in instants {
            let curves = self.delayed(&views, from, delay_ps);
            let room = &capacity * (delay + from) - &blocking;
            let curves: Vec<Curve> = curves.into_iter().map(|c| seen_from(c, from)).collect();
            let here = exact::largest_excess(&curves, &capacity)?.ceil() - room;
            lack = Some(lack.map_or(here.clone(), |lack| lack.max(here)));
        }
        lack
    }

    /// The largest backlog, a size of the scale rounded up, without what is being sent.
    pub(crate) fn backlog_in_messages(&self) -> Option<BigInt> {
        let horizon = self.horizon().filter(|w| *w <= WINDOW_PS_MAX)?;
        let capacity = self.capacity();
        let mut views = self.views();
        let mut most = BigInt::zero();
        let instants = self.instants(&mut views, horizon, 0);
        let each = looked_at(&views);
        if !self.context.budget.spend(instants.len().saturating_mul(each)) {
            return None;
        }
        for from in instants {
            let curves = self.delayed(&views, from, 0);
            let curves: Vec<Curve> = curves.into_iter().map(|c| seen_from(c, from)).collect();
            let excess = exact::largest_excess(&curves, &capacity)?.ceil() - &capacity * from;
            most = most.max(excess);
        }
        Some(most)
    }
}

/// Curves that one look at the views takes.
fn looked_at(views: &[View<'_>]) -> usize {
    let sets = views.iter().flat_map(|view| &view.sets);
    sets.map(|set| 1 + set.messages.len()).sum()
}

/// A curve whose time starts at `from`.
fn seen_from(curve: Curve, from: u128) -> Curve {
    curve.into_iter().map(|line| Line::new(line.burst + &line.rate * from, line.rate)).collect()
}
