//! Changes of mode by the switches themselves, beside a change that a controller makes.

use super::networks::{Laboratory, Shape};
use crate::failure::Failure;
use crate::planning;
use crate::side_by_side::SideBySide;
use crate::verbs::bench::sheet::{Sheet, rounded};
use serde_json::Value;
use std::sync::{Mutex, OnceLock};
use tenuto_bounds::Executor;
use tenuto_model::{
    Event, EventAction, Expect, ModeChangeBound, Offsets, Plan, Scenario, Sizes, Traffic,
    Transition,
};
use tenuto_units::Span;
use tenuto_world::clockwork::{self, ControlCosts, ControlledChange};

pub(crate) const SEED: u64 = 1;
/// For so long the trigger sends as in HI: at least one message comes too early for LO.
const EXCESS_NS: u64 = 5_000_000;
/// Before the first raise.
const LEAD_NS: u64 = 40_000_000;
/// Changes by a controller, per network: their spread is small.
const CONTROLLED: u32 = 100;
/// A message that the controller makes; a switch's time for an entry is what \[MC-SDN\] measured
/// (Table III, copying one rule), its line is as fast as the network's.
const COSTS: ControlCosts = ControlCosts {
    making: Span::from_us(1),
    carrying_out: Span::from_ns(3_800),
    waiting: Span::ZERO,
    line_bps: 1_000_000_000,
};
/// What a median of ours is to be below a controller's.
pub(super) const TARGET_RATIO: f64 = 10.0;

/// Changes of one network.
#[derive(Debug, Default)]
struct Changes {
    raises_ns: Vec<u64>,
    unfinished: usize,
    over_bound: usize,
    purged: Vec<u64>,
}

/// One network with both kinds of changes.
#[derive(Debug)]
struct Found {
    own: Changes,
    theirs: Vec<ControlledChange>,
    bound_ps: u64,
}

impl Found {
    /// Median of the switches' own changes.
    fn median_ns(&self) -> f64 {
        median(self.own.raises_ns.clone())
    }

    /// Median of a time of the controller's changes.
    fn theirs_ns(&self, what: fn(&ControlledChange) -> Span) -> f64 {
        median(self.theirs.iter().map(|change| what(change).as_ns()).collect())
    }

    /// How many times longer the controller takes, until nothing out of mode is queued.
    fn ratio(&self) -> f64 {
        self.theirs_ns(|change| change.drained) / self.median_ns().max(1.0)
    }

    fn row(&self, it: &Laboratory) -> Vec<Value> {
        let Self { own, bound_ps, .. } = self;
        let us = |ns: f64| rounded(ns / 1e3, 1);
        vec![
            it.shape.name().into(),
            it.rules_words().into(),
            own.raises_ns.len().into(),
            rounded(median(own.purged.clone()), 0),
            own.purged.iter().max().copied().into(),
            us(self.median_ns()),
            own.raises_ns.iter().max().map_or(Value::Null, |&ns| us(ns as f64)),
            rounded(*bound_ps as f64 / 1e6, 1),
            (own.over_bound + own.unfinished).into(),
            us(self.theirs_ns(|change| change.in_effect)),
            us(self.theirs_ns(|change| change.confirmed)),
            us(self.theirs_ns(|change| change.drained)),
            rounded(self.ratio(), 1),
        ]
    }
}

/// Of the table of networks.
const COLUMNS: [&str; 13] = [
    "topology",
    "rules",
    "changes",
    "purged median",
    "purged most",
    "median us",
    "largest us",
    "bound us",
    "over bound",
    "controller: in effect us",
    "confirmed us",
    "drained us",
    "ratio",
];

/// The table, and whether every change was done within its bound.
pub(super) fn sheet(
    changes: u32,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Result<(Sheet, bool), Failure> {
    let laboratories = Laboratory::all();
    let each = changes.div_ceil(u32::try_from(laboratories.len()).unwrap_or(u32::MAX));
    let mut sheet =
        Sheet::new("MC-SDN, section VI: changes of mode in virtual time, nine switches", &COLUMNS);
    let (mut is_kept, mut short) = (true, 0);
    let (mut done, mut medians) = (0, Vec::new());
    let all = all_found(&laboratories, each, progress);
    for (it, found) in laboratories.iter().zip(all) {
        let found = found?;
        is_kept &= found.own.over_bound + found.own.unfinished == 0;
        done += found.own.raises_ns.len();
        medians.push((it, found.median_ns()));
        short += u32::from(found.ratio() < TARGET_RATIO);
        sheet.push(found.row(it));
    }
    sheet.note(format!(
        "{done} changes in all; between 1 and 100 rules our medians differ by {:.1} % at most",
        by_rules(&medians) * 100.0
    ));
    notes(&mut sheet);
    if short > 0 {
        sheet.note(format!("{short} ratios are below the target of {TARGET_RATIO:.0}"));
    }
    Ok((sheet, is_kept))
}

fn notes(sheet: &mut Sheet) {
    sheet.note("100+: four lines fill the queue of one; a change takes such packets back");
    sheet.note(
        "from the excess at the first switch to the swap of the last; the bound is certified",
    );
    sheet.note(format!(
        "the controller, run in the same world ({CONTROLLED} changes each at most): told of the \
         excess, sends every switch its entries of the new mode, deletions and a barrier over a \
         channel of 500 us and a line of 1 Gbit/s; making a message takes {} us, carrying it out \
         {} us",
        COSTS.making.as_ns() as f64 / 1e3,
        COSTS.carrying_out.as_ns() as f64 / 1e3,
    ));
    sheet.note(
        "in effect: the last switch has carried out its barrier; confirmed: the controller knows; \
         drained: no switch has packets queued that have no place in the new mode, which is what \
         our change includes and the ratio compares",
    );
}

/// Every network, on as many threads as there are cores; in their order.
fn all_found(
    laboratories: &[Laboratory],
    each: u32,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Vec<Result<Found, Failure>> {
    let progress = Mutex::new(progress);
    let all: Vec<OnceLock<Result<Found, Failure>>> =
        laboratories.iter().map(|_| OnceLock::new()).collect();
    SideBySide.run(laboratories.len(), &|index| {
        let mut say = |text: &str| {
            if let Ok(mut progress) = progress.lock() {
                progress(text);
            }
        };
        // Each is run once.
        let _ = all[index].set(found(laboratories[index], each, &mut say));
    });
    all.into_iter().map(|it| it.into_inner().expect("every task is run")).collect()
}

/// Both kinds of changes of one network.
fn found(it: Laboratory, count: u32, progress: &mut dyn FnMut(&str)) -> Result<Found, Failure> {
    let name = it.name();
    progress(&format!("changes: {name}, planning"));
    let network = it.network()?;
    let planned = planning::planned(&network, &planning::usual_options(&network))?;
    let bound_ps = raise_bound_ps(&planned.plan, &name)?;
    let own = run(&planned.plan, (count, it.cycle_ns()), &name, progress)?;
    let theirs =
        by_controller(&planned.plan, (count.min(CONTROLLED), it.cycle_ns()), &name, progress)?;
    Ok(Found { own, theirs, bound_ps })
}

/// The certified bound of a raise.
pub(super) fn raise_bound_ps(plan: &Plan, name: &str) -> Result<u64, Failure> {
    let raise = |change: &&ModeChangeBound| matches!(change.change, Transition::Raise { .. });
    let bound_ps = plan.mode_changes.iter().find(raise).map(|change| change.bound_ps);
    bound_ps.filter(|_| plan.feasible).ok_or_else(|| {
        let because = plan.refusals.first().map_or("no bound", |refusal| &refusal.because);
        Failure::undecidable(format!("{name}: the network is refused: {because}"), None)
    })
}

/// The largest difference that the number of rules makes to a median of one topology, in parts.
fn by_rules(medians: &[(&Laboratory, f64)]) -> f64 {
    let of_shape = |shape| {
        let same = medians.iter().filter(|(it, _)| it.shape == shape && it.crowd.is_none());
        let (least, most) = same.fold((f64::MAX, 0.0_f64), |(least, most), (_, median)| {
            (least.min(*median), most.max(*median))
        });
        most / least.max(1.0) - 1.0
    };
    Shape::ALL.into_iter().map(of_shape).fold(0.0, f64::max)
}

fn run(
    plan: &Plan,
    (count, cycle_ns): (u32, u64),
    name: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<Changes, Failure> {
    let scenario = scenario(plan, count, (cycle_ns, EXCESS_NS));
    let document = clockwork::run_with_progress(plan, &scenario, &mut |at| {
        progress(&format!("changes: {name}, {} %", at.at_ns * 100 / at.of_ns.max(1)));
    })
    .map_err(|error| {
        Failure::undecidable(format!("{name}: the run could not be made: {error}"), None)
    })?;
    let mut found = Changes::default();
    for change in document.mode_changes.iter().filter(|change| change.to == plan.network.modes[1]) {
        found.purged.push(change.purged_frames);
        match (change.observed_ns, change.bound_ns) {
            (Some(observed), Some(bound)) => {
                found.raises_ns.push(observed);
                found.over_bound += usize::from(observed > bound);
            }
            _ => found.unfinished += 1,
        }
    }
    // A raise that never came is none that was kept.
    found.unfinished += (count as usize).saturating_sub(document.mode_changes.len() / 2);
    Ok(found)
}

/// The network without modes in its switches: the controller changes them.
fn by_controller(
    plan: &Plan,
    (count, cycle_ns): (u32, u64),
    name: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<ControlledChange>, Failure> {
    let times = (count, Span::from_ns(cycle_ns), Span::from_ns(EXCESS_NS));
    let mut say = |done| progress(&format!("changes: {name}, by a controller, {done} of {count}"));
    clockwork::controlled_changes(plan, Laboratory::TRIGGER, times, COSTS, &mut say).map_err(
        |error| {
            let text = format!("{name}: a controller could not change the mode: {error}");
            Failure::undecidable(text, None)
        },
    )
}

/// The trigger exceeds its lower contract again and again, at no fixed phase of the other traffic.
pub(super) fn scenario(plan: &Plan, count: u32, (cycle_ns, excess_ns): (u64, u64)) -> Scenario {
    let behave = |at_ns, mode| Event {
        at_ns,
        action: EventAction::Behave { flow: Laboratory::TRIGGER.into(), mode },
        note: None,
    };
    let mut draw = SEED;
    let events = (0..u64::from(count)).flat_map(|n| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = LEAD_NS + n * cycle_ns + (draw >> 33) % 30_000_000;
        [behave(at, 1), behave(at + excess_ns, 0)]
    });
    let events: Vec<Event> = events.collect();
    Scenario {
        duration_ns: LEAD_NS + (u64::from(count) + 1) * cycle_ns,
        cut_from_ns: None,
        seed: plan.network.flows.len() as u64,
        traffic: Traffic { offsets: Offsets::Zero, sizes: Sizes::Largest },
        programs: std::collections::BTreeMap::new(),
        events,
        expect: Expect::default(),
    }
}

pub(super) fn median(mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    values.get(values.len() / 2).map_or(0.0, |&ns| ns as f64)
}
