//! Forwarding on veth pairs: ours beside the bare ports and Open vSwitch.

use super::figures::Figures;
use crate::failure::Failure;
use crate::report::curves::{Curve, curves};
use crate::verbs::bench::sheet::{Sheet, rounded};
use serde_json::Value;
use std::io;
use tenuto_runtime::measure::{
    FlowCurve, FlowPoint, LiveFigures, LiveOrder, LiveQuantity, LiveRatio, LiveReport, LiveSubject,
    LiveTask, measure_live,
};

/// What is measured inside; an `Err` inside when that is not allowed here.
pub(super) fn measured(
    order: LiveOrder,
    progress: &mut dyn FnMut(&str),
) -> Result<Result<LiveReport, String>, Failure> {
    match measure_live(order, progress) {
        Ok(report) => Ok(Ok(report)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Err(error.to_string())),
        Err(error) => {
            let hint = "`tenuto doctor` says what this machine allows";
            Err(Failure::undecidable(format!("live: {error}"), Some(hint)))
        }
    }
}

/// Rate and delay of all subjects.
pub(super) fn rates(
    repetitions: u32,
    window_ms: u64,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Sheet>, Failure> {
    let order = LiveOrder { task: LiveTask::Rates, repetitions, window_ms };
    Ok(match measured(order, progress)? {
        Ok(report) => vec![rate_sheet(&report), delay_sheet(&report), compared(&report)],
        Err(why) => vec![skipped(&why)],
    })
}

/// Delay of the subjects whose tails are asked for.
pub(super) fn tails(
    repetitions: u32,
    window_ms: u64,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Sheet>, Failure> {
    let order = LiveOrder { task: LiveTask::Tails, repetitions, window_ms };
    Ok(match measured(order, progress)? {
        Ok(report) => {
            let mut delay = delay_sheet(&report);
            for (subject, why) in &report.skipped {
                delay.note(format!("SKIPPED {subject}: {why}"));
            }
            report.notes.iter().for_each(|note| delay.note(note.clone()));
            vec![delay, compared(&report)]
        }
        Err(why) => vec![skipped(&why)],
    })
}

fn skipped(why: &str) -> Sheet {
    let mut sheet = Sheet::new("live: forwarding between two veth pairs", &["subject"]);
    sheet.note(format!("SKIPPED: {why}"));
    sheet
}

const RATE_COLUMNS: [&str; 8] = [
    "subject",
    "frame B",
    "median kpps",
    "least kpps",
    "most kpps",
    "processor ns",
    "of bare %",
    "of Open vSwitch",
];

fn rate_sheet(report: &LiveReport) -> Sheet {
    let title = "live: frames forwarded between two veth pairs under overload, one processor";
    let mut sheet = Sheet::new(title, &RATE_COLUMNS);
    for it in &report.rates {
        sheet.push(rate_row(it, &report.rates));
    }
    for (subject, why) in &report.skipped {
        let mut row = vec![Value::Null; RATE_COLUMNS.len()];
        row[0] = format!("SKIPPED {subject}: {why}").into();
        sheet.push(row);
    }
    sheet.note(
        "tenuto switch: 649 virtual links, each frame matched in three tables, watched, metered, \
         queued by strict priority; Open vSwitch: the same 649 destinations in one table, no meter",
    );
    report.notes.iter().for_each(|note| sheet.note(note.clone()));
    sheet
}

fn rate_row(it: &LiveFigures, all: &[LiveFigures]) -> Vec<Value> {
    let (bare, rival) = peers(it, all);
    let ratio = |other: Option<&LiveFigures>, scale: f64, decimals| {
        other.map_or(Value::Null, |other| {
            let share = it.rate_kpps.median / other.rate_kpps.median.max(1e-9);
            rounded(share * scale, decimals)
        })
    };
    vec![
        it.subject.name().into(),
        it.frame_bytes.into(),
        rounded(it.rate_kpps.median, 0),
        rounded(it.rate_kpps.min, 0),
        rounded(it.rate_kpps.max, 0),
        rounded(it.processor_ns.median, 0),
        ratio(bare, 100.0, 1),
        ratio(rival, 1.0, 2),
    ]
}

fn delay_sheet(report: &LiveReport) -> Sheet {
    let mut sheet = Sheet::new(
        "live: delay of a paced load, medians over windows",
        &[
            "subject",
            "frame B",
            "p50 us",
            "p99 us",
            "p99.9 us",
            "max us",
            "least max us",
            "p50 of bare",
            "p50 of Open vSwitch",
            "lost %",
        ],
    );
    for it in &report.rates {
        sheet.push(delay_row(it, &report.rates));
    }
    sheet
}

fn delay_row(it: &LiveFigures, all: &[LiveFigures]) -> Vec<Value> {
    let (bare, rival) = peers(it, all);
    let share = |other: Option<&LiveFigures>| {
        other.map_or(Value::Null, |other| {
            rounded(it.delays_us[0].median / other.delays_us[0].median.max(1e-9), 2)
        })
    };
    let mut row = vec![it.subject.name().into(), it.frame_bytes.into()];
    row.extend(it.delays_us.iter().map(|spread| rounded(spread.median, 1)));
    row.push(rounded(it.delays_us[3].min, 1));
    row.extend([share(bare), share(rival), lost(it.lost)]);
    row
}

/// What is to be reached.
#[derive(Clone, Copy)]
enum Target {
    AtLeast(f64),
    Below(f64),
}

fn target(it: &LiveRatio) -> Option<Target> {
    use LiveSubject as S;
    match (it.other, it.quantity) {
        (S::BareRing | S::BareXdp | S::SwitchRingUnjudged, LiveQuantity::Rate) => {
            Some(Target::AtLeast(0.95))
        }
        (S::OvsPacket, LiveQuantity::Rate) => Some(Target::AtLeast(1.8)),
        (S::OvsXdp, LiveQuantity::Rate) => Some(Target::AtLeast(1.0)),
        (S::OvsXdp, _) => Some(Target::Below(1.0)),
        _ => None,
    }
}

/// Quotients of windows next to each other.
fn compared(report: &LiveReport) -> Sheet {
    let mut sheet = Sheet::new(
        "live: window by window of the same turn",
        &["subject", "by", "frame B", "what", "median", "low", "high", "target", "reached"],
    );
    for it in &report.ratios {
        let (wanted, reached) = match target(it) {
            None => (Value::Null, Value::Null),
            Some(Target::AtLeast(limit)) => (
                format!("{limit} or more").into(),
                word(it.ratio.is_at_least(limit), it.ratio.is_below(limit)),
            ),
            Some(Target::Below(limit)) => (
                format!("below {limit}").into(),
                word(it.ratio.is_below(limit), it.ratio.is_at_least(limit)),
            ),
        };
        let ratio = |value| rounded(value, 3);
        sheet.push(vec![
            it.subject.name().into(),
            it.other.name().into(),
            it.frame_bytes.into(),
            it.quantity.name().into(),
            ratio(it.ratio.median),
            ratio(it.ratio.low),
            ratio(it.ratio.high),
            wanted,
            reached,
        ]);
    }
    let pairs = report.ratios.iter().map(|it| it.ratio.pairs);
    let (least, most) = (pairs.clone().min().unwrap_or(0), pairs.max().unwrap_or(0));
    sheet.note(format!(
        "medians of {least} to {most} quotients of windows that had their turns next to each other, in an order \
         drawn anew for each turn; low and high enclose the true median in 95 of 100 such \
         measurements (ranks of the sign test), from six pairs on"
    ));
    sheet
        .note("open: the interval holds values on both sides of the target; `--repeat` narrows it");
    sheet.note(
        "pooled: of the frames of all windows together, so that a few long pauses of the machine decide; low \
         and high are of 2000 draws of pairs of windows, with replacement",
    );
    sheet.note("by the same switch without monitor and meter: what both cost together");
    sheet
}

fn word(is_reached: bool, is_missed: bool) -> Value {
    match (is_reached, is_missed) {
        (true, _) => "yes",
        (_, true) => "no",
        _ => "open",
    }
    .into()
}

/// What the same ports do bare, and under Open vSwitch.
fn peers<'a>(
    it: &LiveFigures,
    all: &'a [LiveFigures],
) -> (Option<&'a LiveFigures>, Option<&'a LiveFigures>) {
    let find = |subject: Option<LiveSubject>| {
        let same = |other: &&LiveFigures| {
            Some(other.subject) == subject && other.frame_bytes == it.frame_bytes
        };
        all.iter().find(same)
    };
    (find(it.subject.bare()), find(it.subject.rivals().first().copied()))
}

fn lost((lost, sent): (u64, u64)) -> Value {
    rounded(lost as f64 * 100.0 / sent.max(1) as f64, 3)
}

/// Fig. 8 of Deterministic OpenFlow.
pub(super) fn flows(
    repetitions: u32,
    window_ms: u64,
    figures: &Figures,
    progress: &mut dyn FnMut(&str),
) -> Result<Sheet, Failure> {
    let mut sheet = Sheet::new(
        "Deterministic OpenFlow, Fig. 8: delay against the number of parallel flows",
        &["way", "flows", "p50 us", "p99 us", "max us", "least max us", "lost %"],
    );
    let order = LiveOrder { task: LiveTask::Flows, repetitions, window_ms };
    let report = match measured(order, progress)? {
        Ok(report) => report,
        Err(why) => {
            sheet.note(format!("SKIPPED: {why}"));
            return Ok(sheet);
        }
    };
    for curve in FlowCurve::ALL {
        for it in report.flows.iter().filter(|point| point.curve == curve) {
            let mut row = vec![curve.name().into(), it.flows.into()];
            row.extend(it.delays_us.iter().map(|spread| rounded(spread.median, 1)));
            row.extend([rounded(it.delays_us[2].min, 1), lost(it.lost)]);
            sheet.push(row);
        }
    }
    sheet.note(
        "the paper's ways on a hardware switch: normal switching, matching, matching and metering \
         in hardware, matching in software; the last has its counterpart in a packet that takes \
         the slow way, through a controller that sends it out",
    );
    report.notes.iter().for_each(|note| sheet.note(note.clone()));
    let drawn = drawn(&report.flows);
    let title = "Delay against the number of parallel flows (median, dashed: 99 %)";
    figures.write("fig8-flows.svg", &curves(title, "flows", true, &drawn), &mut sheet)?;
    Ok(sheet)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // delays, far below 2^64 ns
fn drawn(points: &[FlowPoint]) -> Vec<Curve> {
    let mut all = Vec::new();
    for (place, curve) in FlowCurve::ALL.into_iter().enumerate() {
        for (which, is_thin) in [(0, false), (1, true)] {
            let of = points.iter().filter(|point| point.curve == curve);
            let ns = |it: &FlowPoint| (it.delays_us[which].median * 1e3) as u64;
            let name =
                if is_thin { format!("{}, 99 %", curve.name()) } else { curve.name().into() };
            let points = of.map(|it| (it.flows.into(), ns(it))).collect();
            all.push(Curve { name, points, colour: place, is_thin });
        }
    }
    all
}
