//! \[MC-SDN\] Fig. 2 and Table I: how long a mode change takes that a controller makes, one switch and 30 rules, 100 trials.
//!
//! Of its three parts two are of the authors' controller and switch: how long rules take to come, and to be carried out.
//! They are drawn from the printed means and deviations. The third, until packets without a place are gone, is what the
//! simulated queues show, and so is the whole.

use super::figure::{Figure, Printed};
use super::plot::{Curve, curves};
use crate::failure::Failure;
use crate::verbs::bench::sheet::{Sheet, rounded};
use std::fmt::Write;
use tenuto_model::{MemorySources, Plan, read_network};
use tenuto_planner::{Options, plan};
use tenuto_units::{Draws, Span};
use tenuto_world::clockwork::{ControlCosts, ControlledChange, controlled_changes};

const TRIALS: u64 = 100;
/// Rules of the higher mode.
const RULES: usize = 30;
/// Table I, ms: mean and deviation of the parts that are of the authors' machines.
const ARRANGED_MS: (f64, f64) = (31.83, 10.54);
const UPDATED_MS: (f64, f64) = (12.06, 0.52);
/// Both overlap (section III-B).
const OVERLAP_MS: f64 = 2.35;
const TRIGGER: &str = "t";
const LINE_BPS: u64 = 100_000_000;

/// Hosts at one switch; two flows of LO that send 490 kB each 100 ms share a line with the flow of HI.
fn network() -> Result<Plan, Failure> {
    let mut text = String::from(
        "tenuto: 1\nname: controller-driven\nmodes: [LO, HI]\nhosts: {a: {}, b: {}, c: {}, d: {}}\n\
         switches: {sw1: {profile: tenuto}}\ncontrollers: {c1: {manages: all}}\n\
         defaults: {link: {rate: 100 Mbit/s, length: 2 m}, flow: {match: five-tuple}}\n\
         links:\n  - {ends: [a, sw1]}\n  - {ends: [b, sw1]}\n  - {ends: [c, sw1]}\n  - {ends: [sw1, d]}\nflows:\n  \
         t: {source: a, targets: [d], level: HI, message: 100 kB, period: {LO: 100 ms, HI: 20 ms}, priority: 1}\n",
    );
    for source in ["b", "c"] {
        let _ = writeln!(
            text,
            "  lo-{source}: {{source: {source}, targets: [d], level: LO, message: 490 kB, period: 100 ms, priority: 0, \
             out_of_mode: drop}}"
        );
    }
    for rule in 1..RULES {
        let _ = writeln!(
            text,
            "  r{rule}: {{source: a, targets: [d], level: HI, message: 50 B, period: 1 s, priority: 1}}"
        );
    }
    text.push_str("mode_return: {quiet: 400 ms}\n");
    let sources = MemorySources::new().with("n.yaml", &text);
    let (network, _) = read_network(&sources, "n.yaml")?;
    Ok(plan(&network, &Options { would_fit: false, ..Options::default() }))
}

/// One change with these costs, at a phase that the seed draws.
fn change(planned: &Plan, costs: ControlCosts, phase: Span) -> Result<ControlledChange, Failure> {
    let times = (1, Span::from_ms(2_000) + phase, Span::from_ms(60));
    let found = controlled_changes(planned, TRIGGER, times, costs, &mut |_| {});
    let found = found.map_err(|error| Failure::undecidable(error.to_string(), None))?;
    found.into_iter().next().ok_or_else(|| Failure::undecidable("no change came".to_owned(), None))
}

/// A controller and switches that cost nothing.
const FREE: ControlCosts = ControlCosts {
    making: Span::ZERO,
    carrying_out: Span::ZERO,
    waiting: Span::ZERO,
    line_bps: LINE_BPS,
};

/// What the authors' controller and switch take of a change, as printed: until rules come, and until they are carried out.
fn drawn(draws: &mut Draws) -> (f64, f64) {
    (normal(draws, ARRANGED_MS).max(1.0), normal(draws, UPDATED_MS))
}

/// A controller that takes so long in all, of which `least_ms` passes anyway.
fn slow((arranging, updating): (f64, f64), least_ms: f64) -> ControlCosts {
    let waiting = arranging + updating - OVERLAP_MS - least_ms;
    ControlCosts { waiting: span_ms(waiting), ..FREE }
}

/// What is drawn around a mean: twelve uniform draws have a variance of one.
fn normal(draws: &mut Draws, (mean, deviation): (f64, f64)) -> f64 {
    let sum: u64 = (0..12).map(|_| draws.below(1_000_001)).sum();
    (sum as f64 / 1e6 - 6.0).mul_add(deviation, mean)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // finite, and not negative
fn span_ms(ms: f64) -> Span {
    Span::from_ns((ms.max(0.0) * 1e6) as u64)
}

fn ms(span: Span) -> f64 {
    span.as_ns() as f64 / 1e6
}

/// Mean and deviation.
fn spread(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|it| (it - mean) * (it - mean)).sum();
    (mean, (squares / count).sqrt())
}

/// The figure and the table.
pub(super) fn figure(progress: &mut dyn FnMut(&str)) -> Result<Figure, Failure> {
    progress("MC-SDN, Fig. 2 and Table I");
    let planned = network()?;
    let least = change(&planned, FREE, Span::ZERO)?;
    let mut draws = Draws::new(1);
    let (mut arranged, mut updated, mut drained, mut whole) = (vec![], vec![], vec![], vec![]);
    let mut waiting = 0;
    for _ in 0..TRIALS {
        let parts = drawn(&mut draws);
        let costs = slow(parts, ms(least.in_effect));
        let phase = Span::from_ns(draws.below(1_000_000_000));
        let seen = change(&planned, costs, phase)?;
        arranged.push(parts.0);
        updated.push(parts.1);
        drained.push(ms(seen.drained) - ms(seen.in_effect));
        whole.push(ms(seen.drained));
        waiting = waiting.max(seen.out_of_mode);
    }
    Ok(shown(&[arranged, updated, drained, whole], waiting))
}

fn shown(parts: &[Vec<f64>; 4], waiting: u64) -> Figure {
    let printed = [(31.83, 10.54), (12.06, 0.52), (9.12, 8.06), (50.65, 17.94)];
    let names = ["mode change arrangement", "new rule update", "out-of-mode packets", "overall"];
    let origin = ["drawn", "drawn", "simulated", "simulated"];
    let mut values = Sheet::new(
        "MC-SDN, Table I: 100 changes by a controller",
        &[
            "part",
            "origin",
            "printed mean ms",
            "mean ms",
            "printed deviation ms",
            "deviation ms",
            "largest ms",
        ],
    );
    let mut statements = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let (mean, deviation) = spread(&parts[place]);
        let most = parts[place].iter().copied().fold(0.0, f64::max);
        values.push(vec![
            (*name).into(),
            origin[place].into(),
            printed[place].0.into(),
            rounded(mean, 2),
            printed[place].1.into(),
            rounded(deviation, 2),
            rounded(most, 2),
        ]);
        if origin[place] == "simulated" {
            statements.push(Printed::value(format!("{name}: mean, ms"), printed[place].0, mean));
            statements.push(Printed::value(
                format!("{name}: deviation, ms"),
                printed[place].1,
                deviation,
            ));
        }
    }
    let whole = &parts[3];
    let most = whole.iter().copied().fold(0.0, f64::max);
    statements.push(Printed::value("largest of 100 trials, ms", 86.0, most));
    statements.push(Printed::value("packets without a place at most", 240.0, waiting as f64));
    let queued = parts[2].iter().copied().fold(0.0, f64::max);
    statements.push(Printed::value("until they are gone at most, ms", 27.0, queued));
    statements.push(Printed::claim("a camera of 16.7 ms may miss its deadline", most > 16.7));
    values.note("arrangement and update are of the authors' controller and switch: drawn with the printed mean and deviation");
    let curve = Curve::distribution("by a controller", whole);
    let svg = curves(
        "Fig. 2: distribution of the mode change delay",
        "ms",
        "share of trials",
        &[curve],
        &[86.0],
    );
    Figure {
        paper: "MC-SDN",
        name: "Fig. 2 and Table I",
        world: "virtual time, one switch, two flows of 490 kB and the trigger on one line; the controller of `bench switch --only changes`".into(),
        values,
        printed: statements,
        svg: Some(svg),
    }
}
