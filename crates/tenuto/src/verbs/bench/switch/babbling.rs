//! Fig. 9 of Deterministic OpenFlow: what an end system that sends up to a whole line does to
//! another one's delay, with policing and without, beside the certified bound; in virtual time.

use super::figures::Figures;
use crate::failure::Failure;
use crate::planning;
use crate::report::curves::{Curve, curves};
use crate::verbs::bench::sheet::{Sheet, rounded};
use serde_json::Value;
use tenuto_model::{
    Event, EventAction, Expect, MemorySources, Network, Offsets, Plan, Scenario, Sizes, Traffic,
    read_network,
};
use tenuto_world::{RunDocument, clockwork};

/// Ends of the paper's set-up at its 100 Mbit/s: who suffers, who fails, and others as ever.
const NETWORK: &str = "tenuto: 1
name: babbling
defaults: {link: {rate: 100 Mbit/s, length: 2 m}, flow: {match: five-tuple}}
hosts: [victim, idiot, other1, other2, sink]
switches: {w1: {profile: tenuto}}
controllers: {c1: {manages: all}}
tolerates: {babbling_hosts: 1}
links:
  - {ends: [victim, w1]}
  - {ends: [idiot, w1]}
  - {ends: [other1, w1]}
  - {ends: [other2, w1]}
  - {ends: [sink, w1]}
flows:
  suffers: {source: victim, targets: [sink], message: 100 B, period: 2 ms, priority: 0}
  fails: {source: idiot, targets: [sink], message: 1460 B, period: 8 ms, priority: 0}
  same1: {source: other1, targets: [sink], message: 1000 B, period: 500 us, priority: 0}
  same2: {source: other2, targets: [sink], message: 1000 B, period: 500 us, priority: 0}
";
const LINE_BPS: u64 = 100_000_000;
const STEP_PERCENT: u64 = 10;
const DURATION_NS: u64 = 400_000_000;
/// Frames of the end system that fails, FCS included: as large as its contract allows.
const FRAME_BYTES: u32 = 1_518;

/// Of the table of rates.
const COLUMNS: [&str; 8] = [
    "sent of line %",
    "policed max us",
    "policed median us",
    "policed lost",
    "bound us",
    "unpoliced max us",
    "unpoliced median us",
    "unpoliced lost",
];

/// The table, and whether the victim was always within its bound while others are policed.
pub(super) fn sheet(
    figures: &Figures,
    progress: &mut dyn FnMut(&str),
) -> Result<(Sheet, bool), Failure> {
    let mut sheet = Sheet::new(
        "Deterministic OpenFlow, Fig. 9: delay beside an end system that sends up to line rate \
         (virtual time)",
        &COLUMNS,
    );
    let network = read_own(NETWORK)?;
    let planned = planning::planned(&network, &planning::usual_options(&network))?;
    let policed = &planned.plan;
    let mut unpoliced = policed.clone();
    let entries = unpoliced.switches.iter_mut().flat_map(|switch| &mut switch.entries);
    entries.for_each(|entry| entry.meter = None);
    let mut is_kept = true;
    let mut lines: [Vec<(u64, u64)>; 3] = Default::default();
    for percent in (0..=100).step_by(usize::try_from(STEP_PERCENT).unwrap_or(1)) {
        progress(&format!("babbling: {percent} % of the line"));
        let scenario = scenario(percent);
        let with = Victim::of(&run(policed, &scenario)?)?;
        let without = Victim::of(&run(&unpoliced, &scenario)?)?;
        is_kept &= with.lost == 0 && with.max_ns.zip(with.bound_ns).is_some_and(|(a, b)| a <= b);
        sheet.push(row(percent, &with, &without));
        let drawn = [with.max_ns, with.bound_ns, without.max_ns];
        for (line, ns) in lines.iter_mut().zip(drawn) {
            line.extend(ns.map(|ns| (percent, ns)));
        }
    }
    sheet.note(
        "100 Mbit/s; the victim sends 100 B each 2 ms, two others 1000 B each 0.5 ms; the fourth \
         may send 1460 B each 8 ms, and sends frames of 1518 B at the rate stated; all in one queue",
    );
    sheet.note("the bound is the planner's, certified; it counts what meters let pass, so that it");
    sheet.note("holds whatever the fourth sends. Unpoliced: the same tables without their meters");
    draw(lines, figures, &mut sheet)?;
    Ok((sheet, is_kept))
}

fn row(percent: u64, policed: &Victim, unpoliced: &Victim) -> Vec<Value> {
    let us = |ns: Option<u64>| ns.map_or(Value::Null, |ns| rounded(ns as f64 / 1e3, 1));
    vec![
        percent.into(),
        us(policed.max_ns),
        us(policed.p50_ns),
        policed.lost.into(),
        us(policed.bound_ns),
        us(unpoliced.max_ns),
        us(unpoliced.p50_ns),
        unpoliced.lost.into(),
    ]
}

fn draw(lines: [Vec<(u64, u64)>; 3], figures: &Figures, sheet: &mut Sheet) -> Result<(), Failure> {
    let mut drawn = Vec::new();
    let shown = [("policed, largest", 0), ("bound", 4), ("unpoliced, largest", 1)];
    for ((name, colour), points) in shown.into_iter().zip(lines) {
        drawn.push(Curve { name: name.into(), points, colour, is_thin: name == "bound" });
    }
    let title = "Delay beside an end system that sends more than it may";
    let svg = curves(title, "sent of the line, %", false, &drawn);
    figures.write("fig9-babbling.svg", &svg, sheet)
}

/// A network of this program.
pub(super) fn read_own(text: &str) -> Result<Network, Failure> {
    let sources = MemorySources::new().with("babbling.yaml", text);
    let read = read_network(&sources, "babbling.yaml").map(|(network, _)| network);
    // Ours, and read in the tests: what is reported here would be a slip of this file.
    read.map_err(|found| Failure::undecidable(format!("{found:?}"), None))
}

fn scenario(percent: u64) -> Scenario {
    let babble = Event {
        at_ns: 0,
        action: EventAction::Babble {
            host: "idiot".into(),
            flows: vec!["fails".into()],
            frame_bytes: FRAME_BYTES,
            rate_bps: Some(LINE_BPS * percent / 100),
            for_ns: None,
        },
        note: None,
    };
    Scenario {
        duration_ns: DURATION_NS,
        cut_from_ns: None,
        seed: 1,
        traffic: Traffic { offsets: Offsets::Random, sizes: Sizes::Largest },
        programs: std::collections::BTreeMap::new(),
        events: if percent == 0 { Vec::new() } else { vec![babble] },
        expect: Expect::default(),
    }
}

fn run(plan: &Plan, scenario: &Scenario) -> Result<RunDocument, Failure> {
    clockwork::run(plan, scenario).map_err(|error| {
        Failure::undecidable(format!("babbling: the run could not be made: {error}"), None)
    })
}

/// What became of the victim.
struct Victim {
    bound_ns: Option<u64>,
    max_ns: Option<u64>,
    p50_ns: Option<u64>,
    lost: u64,
}

impl Victim {
    fn of(run: &RunDocument) -> Result<Self, Failure> {
        let row = run.flows.iter().find(|row| row.flow == "suffers");
        let row = row.ok_or_else(|| Failure::undecidable("babbling: no victim", None))?;
        Ok(Self {
            bound_ns: row.queueing_bound_ns,
            max_ns: row.observed_delay_ns_max,
            p50_ns: row.observed_delay_ns_p50,
            lost: row.lost + row.policed + row.out_of_mode,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policing_is_what_keeps_the_victim_within_its_bound() {
        let (sheet, is_kept) = sheet(&Figures(None), &mut |_| ()).expect("it is ours");
        assert!(is_kept);
        let document = serde_json::to_value(&sheet).expect("a table");
        let rows = document["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 11);
        let at = |row: usize, column: usize| rows[row][column].as_f64().expect("a number");
        // Without policing the same traffic breaks the bound, and does not at rest.
        assert!(at(0, 5) <= at(0, 4));
        assert!(at(10, 5) > 10.0 * at(10, 4), "{} beside {}", at(10, 5), at(10, 4));
        // With it the delay hardly moves once more is sent than may be.
        assert!(at(10, 1) <= at(10, 4) && at(10, 3) == 0.0);
    }
}
