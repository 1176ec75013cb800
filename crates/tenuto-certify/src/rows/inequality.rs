//! x ≥ F(x): every claimed delay against the curves of its mode, and the backlog behind them.
//!
//! A claim D is accepted if, with d = D − tick, for all t ≥ 0
//!
//! C·(t + d) ≥ S + Σ_g A_g(t, d).
//!
//! Any such d bounds the delay, not only the least one, and the right side minus the left is
//! concave in t, so it is evaluated once, where it is largest. Everything that is not known
//! (a burst behind a port without a claim) is infinite, which can only refuse.

use crate::description::read::{Mode, OtherTraffic};
use crate::finding::rule;
use crate::kernel::exact::{self, Curve, Line, ceil_div};
use crate::rows::analysis::{Analysis, Load, SIGNAL_BITS};
use crate::rows::context::Context;
use crate::rows::ends::Ends;
use crate::rows::group::{Group, Sum};
use crate::rows::nested::{self, Own};
use num_bigint::BigInt;
use num_traits::{Signed, Zero};

/// The port of one inequality, and the class that it is about.
pub(crate) struct Place<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) mode: Mode,
    pub(crate) load: Option<&'a Load>,
    pub(crate) port: usize,
    pub(crate) class: u8,
    /// Θ, where something ends.
    pub(crate) end: Option<&'a BigInt>,
}

impl Place<'_> {
    pub(crate) fn capacity(&self) -> BigInt {
        self.context.scale.bps(self.context.net.ports[self.port].rate_bps, 1, 1)
    }

    /// The curves of the class for the delay `delay_ps`, or, with none, what of it and above comes
    /// within one window.
    pub(crate) fn curves(&self, delay_ps: u64) -> Vec<Curve> {
        let Place { context, port, class, end, .. } = *self;
        let mut all: Vec<Curve> = Vec::new();
        for (key, group) in self.load.into_iter().flat_map(|load| &load.groups) {
            let own = |at: usize| {
                let (mut same, mut above) = (Sum::default(), Sum::default());
                for (highest, sum) in group.sets[at].classes.range(..=class) {
                    if *highest == class { same.merge(sum) } else { above.merge(sum) }
                }
                let none = BigInt::zero();
                Own::new(&same.curve(0, end), &above.curve(delay_ps, end), &none, &none)
            };
            all.extend(nested::curve(context, (port, *key), group, class, delay_ps, own));
        }
        all.extend(context.signals(port).map(|signals| {
            let burst = &signals.burst + &signals.rate * delay_ps;
            vec![Line::new(burst, signals.rate)]
        }));
        all
    }

    /// Whether `delay_ps` satisfies the inequality.
    pub(crate) fn is_sufficient(&self, delay_ps: u64) -> bool {
        let Some(delay) = delay_ps.checked_sub(self.tick_ps()) else {
            return false;
        };
        let is_enough = |lack: Option<BigInt>| lack.is_some_and(|lack| !lack.is_positive());
        // A bucket is never below the messages in it: what holds for buckets holds.
        is_enough(self.lack(delay))
            || (self.context.counts_messages() && is_enough(self.lack_in_messages(delay)))
    }

    /// By how much more than what is served in `delay_ps` (without the pacer's rounding) buckets may
    /// bring, rounded up; `None` without a bound.
    fn lack(&self, delay_ps: u64) -> Option<BigInt> {
        let Place { context, load, port, class, .. } = *self;
        if !context.budget.spend(load.map_or(1, |load| 1 + load.sets())) {
            return None;
        }
        let capacity = self.capacity();
        let room = &capacity * delay_ps - context.blocking(port, load, class);
        Some(exact::largest_excess(&self.curves(delay_ps), &capacity)?.ceil() - room)
    }

    /// A delay that the inequality asks for at least, `delay_ps` being too little; for the finding only.
    fn needed(&self, delay_ps: u64) -> Option<BigInt> {
        let delay = delay_ps.saturating_sub(self.tick_ps());
        let in_messages =
            if self.context.counts_messages() { self.lack_in_messages(delay) } else { None };
        let lack = self.lack(delay).into_iter().chain(in_messages).min()?;
        // What comes until then can only be more.
        Some(ceil_div(lack.max(BigInt::zero()), self.capacity()) + delay + self.tick_ps())
    }

    /// What the pacer's rounding adds to every delay.
    fn tick_ps(&self) -> u64 {
        self.context.net.ports[self.port].tick_ps
    }

    /// Whether all that came within `busy_ps` of the start of a busy period has then been served: no
    /// busy period is longer.
    pub(crate) fn is_over_by(&self, busy_ps: u64) -> bool {
        let Place { context, load, port, class, .. } = *self;
        if !context.budget.spend(load.map_or(1, |load| 1 + load.sets())) {
            return false;
        }
        let curves = match context.counts_messages() {
            true => self.in_messages(busy_ps),
            false => self.curves(0),
        };
        let come = exact::sum_at(&curves, busy_ps);
        let served = self.capacity() * busy_ps;
        let is_served = |come| context.blocking(port, load, class) + come <= served;
        // Where nothing of these classes comes no busy period begins, whatever is on the line.
        curves.is_empty() || (busy_ps > 0 && come.is_some_and(is_served))
    }

    /// The sum of all rates up to the class that never end.
    pub(crate) fn long_run_rate(&self) -> BigInt {
        let signals = self.context.signals(self.port);
        let mut rate = signals.map_or_else(BigInt::zero, |signals| signals.rate);
        for group in self.load.into_iter().flat_map(|load| load.groups.values()) {
            for (_, sum) in group.sums().filter(|(highest, _)| *highest <= self.class) {
                rate += &sum.rate;
                if self.end.is_none() {
                    rate += &sum.rate_until_swap;
                }
            }
        }
        rate
    }
}

/// Checks every claim of one mode or raise, and that a feasible plan has all of them. Returns the
/// number of inequalities.
pub(crate) fn check(context: &Context<'_>, analysis: &Analysis, ends: &Ends) -> usize {
    let net = context.net;
    let mode = analysis.mode.label(&net.raw.modes);
    let claims = context.claims.get(&analysis.mode);
    let mut count = 0;
    for (&(port, class), &delay_ps) in claims.into_iter().flatten() {
        count += 1;
        let load = analysis.loads.get(&port);
        let end = ends.get(port, class);
        let it = Place { context, mode: analysis.mode, load, port, class, end };
        let place = || format!("{}, class {class}, {mode}", net.label(port));
        let rate = it.long_run_rate();
        if rate > it.capacity() {
            let found = format!(
                "{} bit/s over {} bit/s",
                context.scale.to_bps_up(&rate),
                net.ports[port].rate_bps
            );
            context.wrong(rule::OVERLOAD, place(), format!("{delay_ps} ps"), found);
        } else if !it.is_sufficient(delay_ps) {
            let needed = it.needed(delay_ps);
            let found = needed.map_or("unbounded".into(), |needed| format!("at least {needed} ps"));
            context.wrong(rule::SERVICE, place(), format!("{delay_ps} ps"), found);
        }
    }
    if context.plan.feasible {
        for (port, load) in &analysis.loads {
            for class in load.classes.keys() {
                if context.claim(analysis.mode, *port, *class).is_none() {
                    let place = format!("{}, class {class}, {mode}", net.label(*port));
                    context.wrong(rule::SERVICE, place, "no claim", "flows of the class pass here");
                }
            }
        }
    }
    count
}

/// Checks every busy period that is claimed of a mode.
pub(crate) fn check_busy(context: &Context<'_>, analysis: &Analysis, ends: &Ends) {
    let mode = analysis.mode;
    for (&(port, class), &busy_ps) in context.busy.get(&mode).into_iter().flatten() {
        let load = analysis.loads.get(&port);
        let it = Place { context, mode, load, port, class, end: ends.get(port, class) };
        if !it.is_over_by(busy_ps) {
            let label = mode.label(&context.net.raw.modes);
            let place = format!("{}, class {class}, {label}", context.net.label(port));
            context.wrong(rule::BUSY, place, format!("{busy_ps} ps"), "more may have come");
        }
    }
}

/// The backlog bound of a port, a size of the scale rounded up; `None` if unbounded.
///
/// Signals wait in a queue of their own but are served first, hence what they take from the line
/// adds to what the flows leave in the buffer.
pub(crate) fn backlog(
    context: &Context<'_>,
    analysis: &Analysis,
    ends: &Ends,
    port: usize,
) -> Option<BigInt> {
    let load = analysis.loads.get(&port);
    let lowest = load.map_or(0, Load::lowest);
    let end = ends.get(port, lowest);
    let place = Place { context, mode: analysis.mode, load, port, class: lowest, end };
    let capacity = place.capacity();
    if place.long_run_rate() > capacity {
        return None;
    }
    let mut bound = exact::largest_excess(&place.curves(0), &capacity)?.ceil();
    if context.counts_messages() {
        bound = place.backlog_in_messages().map_or(bound.clone(), |stepped| stepped.min(bound));
    }
    if context.is_for_frames() {
        let frames = load.into_iter().flat_map(|load| load.frames.values());
        let mut largest = frames.max().cloned().unwrap_or_default();
        if context.signals(port).is_some() {
            largest = largest.max(context.scale.bits(SIGNAL_BITS, 1, 1));
        }
        bound += largest;
        bound += load.map_or_else(BigInt::default, |load| load.idle.clone());
        // A frame is handed over at a whole tick, and is in the buffer until then.
        let info = &context.net.ports[port];
        bound += context.scale.bps(info.rate_bps, 1, 1) * info.tick_ps;
        // What is below every flow may be on the line when the busy period begins.
        if matches!(context.net.raw.other_traffic, OtherTraffic::Carry { .. }) {
            bound += context.blocking(port, load, lowest);
        }
    }
    Some(bound)
}

/// The long-run rate at a port: of all flows that go on, and of signals.
pub(crate) fn arriving_rate(context: &Context<'_>, analysis: &Analysis, port: usize) -> BigInt {
    let load = analysis.loads.get(&port);
    let groups = load.into_iter().flat_map(|load| load.groups.values());
    let flows: BigInt = groups.flat_map(Group::sums).map(|(_, sum)| &sum.rate).sum();
    context.signals(port).map_or(BigInt::zero(), |signals| signals.rate) + flows
}
