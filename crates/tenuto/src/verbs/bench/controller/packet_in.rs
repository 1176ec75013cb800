//! Answers to packets that no entry knows: ours, `ovs-testcontroller`, os-ken.

use super::super::sheet::{Sheet, rounded};
use super::{Controller, Part};
use crate::failure::Failure;
use serde_json::Value;
use std::path::PathBuf;
use tenuto_runtime::measure::{
    ControllerOrder, ControllerRow, LoadOrder, Spread, measure_controllers,
};
use tenuto_units::Span;

/// Names a Python that has os-ken.
const PYTHON_VARIABLE: &str = "TENUTO_OSKEN_PYTHON";

const COLUMNS: [&str; 12] = [
    "controller",
    "load",
    "asked/s",
    "answers/s",
    "least",
    "most",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "processor us/answer",
    "from",
    "to",
];

/// The table, unless no part of it is wanted.
pub(super) fn sheet(
    args: &Controller,
    progress: &mut dyn FnMut(&str),
) -> Result<Option<Sheet>, Failure> {
    let kinds = [
        (Part::Latency, LoadOrder::Latency),
        (Part::Windowed, LoadOrder::Windowed),
        (Part::OpenLoop, LoadOrder::OpenLoop { per_s: args.rate }),
    ];
    let kinds: Vec<LoadOrder> =
        kinds.into_iter().filter(|(part, _)| args.has(*part)).map(|(_, kind)| kind).collect();
    if kinds.is_empty() {
        return Ok(None);
    }
    let only_open = kinds.iter().all(|kind| matches!(kind, LoadOrder::OpenLoop { per_s: None }));
    if only_open {
        return Err(Failure::usage(
            "at which rate? --rate N with --only open-loop, or --only windowed,open-loop for half of what is answered windowed",
        ));
    }
    let fail = |error: std::io::Error| Failure::undecidable(error.to_string(), None);
    let order = ControllerOrder {
        own: args.program()?,
        os_ken: std::env::var_os(PYTHON_VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from),
        switches: args.switches,
        window: args.window,
        lasts: Span::from_ms(args.lasts),
        repeat: args.repeat,
        kinds,
    };
    let report = measure_controllers(&order, progress).map_err(fail)?;
    let title = format!(
        "Answers to packets of unknown flows, {} switches, window {}",
        args.switches, args.window
    );
    let mut sheet = Sheet::new(title, &COLUMNS);
    report.rows.iter().for_each(|row| sheet.push(cells(row)));
    notes(&mut sheet, args, &report.rows);
    report.skipped.into_iter().for_each(|why| sheet.note(why));
    Ok(Some(sheet))
}

fn cells(row: &ControllerRow) -> Vec<Value> {
    let whole = |value: f64| rounded(value, 0);
    let asked = row.asked_per_s.map_or(Value::Null, |it| whole(it.median));
    let cpu = |of: fn(Spread) -> f64| row.cpu_us.map_or(Value::Null, |it| rounded(of(it), 2));
    let answers = row.answers_per_s;
    let mut cells = vec![row.controller.into(), row.load.into(), asked];
    cells.extend([answers.median, answers.min, answers.max].map(whole));
    cells.extend([row.p50_us, row.p99_us, row.p999_us].map(|it| rounded(it.median, 1)));
    cells.extend([cpu(|it| it.median), cpu(|it| it.min), cpu(|it| it.max)]);
    cells
}

fn notes(sheet: &mut Sheet, args: &Controller, rows: &[ControllerRow]) {
    sheet.note(format!(
        "{} repetitions of {} ms, controllers by turns; medians of them, with the least and the most. Each answer is one flow-mod \
         with the buffer of its packet",
        args.repeat, args.lasts
    ));
    sheet.note(
        "processor: all threads of the controller by the scheduler's count; it does not hold what else the machine does, rates and \
         delays do",
    );
    sheet.note("open loop: delays from the instant at which a question was due, at half of what was answered before unless --rate says");
    let generator = rows.iter().filter_map(|row| row.generator_us).map(|it| it.max);
    if let Some(most) = generator.reduce(f64::max) {
        sheet.note(format!(
            "the generator itself took {most:.2} us of a processor per answer at most"
        ));
    }
    for row in rows.iter().filter(|row| row.unanswered > 0) {
        sheet.note(format!(
            "{}, {}: {} questions without an answer",
            row.controller, row.load, row.unanswered
        ));
    }
}
