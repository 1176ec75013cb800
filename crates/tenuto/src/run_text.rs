//! A run as people read it: what was observed beside what was promised.

use crate::format::{Table, counted, ms_down, ms_up_ns, percent_down, percent_up, seconds};
use std::fmt::Write;
use tenuto_world::{FlowRow, HopDelayRow, ModeChangeRow, RunDocument, UnobservedRow, Violation};

/// Rows, events and violations that are shown unless all are asked for.
const ROWS_SHOWN: usize = 20;

/// Rows without an observation that are named.
const NAMES_SHOWN: usize = 4;

/// Flows of redundant networks whose copies are shown unless all are asked for.
const COPIES_SHOWN: usize = 5;

/// The tables of a run; the verdict is a line of its own.
pub(crate) fn text(run: &RunDocument, all: bool) -> String {
    let mut out = header(run);
    out.push_str(&events(run, all));
    out.push_str(&flow_table(run, all));
    out.push_str(&marks(run));
    out.push_str(&host_share(run));
    out.push_str(&not_observed(run, all));
    out.push_str(&copy_table(run, all));
    out.push_str(&hop_table(run, all));
    out.push_str(&change_table(run));
    out.push_str(&policed(run, all));
    out.push_str(&machine(run));
    out.push_str(&not_played(run, all));
    out.push_str(&violations(run, all));
    out
}

/// The last line; `folder` is where the report was written.
pub(crate) fn verdict(run: &RunDocument, written: Option<&str>) -> String {
    match written {
        Some(written) => format!("{}   {written}\n", run.summary),
        None => format!("{}\n", run.summary),
    }
}

fn header(run: &RunDocument) -> String {
    let mut out = format!("{}  {} {} s", run.network, run.world, seconds(run.duration_ns));
    if run.slow > 1 {
        let _ = write!(out, ", {} times slower than described", run.slow);
    }
    let hash: String = run.plan_hash.chars().take(8).collect();
    let hops = tenuto_units::counted(run.packet_hops, "packet hop");
    let _ = writeln!(out, "   seed {}   plan {hash}…   {hops}", run.seed);
    out
}

fn shown_of(total: usize, all: bool) -> usize {
    if all { total } else { total.min(ROWS_SHOWN) }
}

fn events(run: &RunDocument, all: bool) -> String {
    let mut out = String::new();
    let shown = shown_of(run.events.len(), all);
    for event in &run.events[..shown] {
        let beyond = match event.tolerated {
            Some(false) => "   (beyond what is tolerated)",
            _ => "",
        };
        let _ = writeln!(out, "  {:>9} s  {}{beyond}", seconds(event.at_ns), event.text);
    }
    if shown < run.events.len() {
        let _ = writeln!(out, "  … {} more events", run.events.len() - shown);
    }
    out
}

/// Margin of a row in nanoseconds; `None` without a bound or an observation, and where the sender
/// broke its contract: the bound was not promised to it.
fn margin_ns(row: &FlowRow) -> Option<i128> {
    if row.is_misbehaving {
        return None;
    }
    Some(i128::from(row.delay_bound_ns?) - i128::from(row.observed_delay_ns_max?))
}

/// Rows that broke or could not be judged come first, then by margin as a share of the bound.
fn order(row: &FlowRow) -> (bool, i128) {
    let share = margin_ns(row)
        .map(|margin| margin * 1_000_000 / i128::from(row.delay_bound_ns.unwrap_or(1).max(1)));
    let is_well = row.lost == 0 && row.undecided == 0 && row.late == 0;
    (is_well || row.is_misbehaving, share.unwrap_or(i128::MAX))
}

fn flow_table(run: &RunDocument, all: bool) -> String {
    let mut rows: Vec<&FlowRow> = run.flows.iter().collect();
    rows.sort_by_key(|row| order(row));
    let shown = shown_of(rows.len(), all);
    let is_live = rows.iter().any(|row| row.host_allowance_ns > 0);
    let bound = if is_live { ">queueing + host = bound ms" } else { ">bound ms" };
    let mut table = Table::new(&[
        "flow",
        "target",
        "mode",
        ">sent",
        ">received",
        ">lost",
        ">policed",
        ">out-of-mode",
        ">in-flight",
        ">undecided",
        bound,
        ">observed max",
        ">deadline",
        ">slack",
        ">margin",
    ]);
    for row in &rows[..shown] {
        table.push(flow_cells(row, is_live));
    }
    let mut out = table.text();
    if shown < rows.len() {
        let _ = writeln!(out, "… {} more with more margin (--all)", rows.len() - shown);
    }
    out
}

/// How long frames were at every port, the nearest to their bound first.
fn hop_table(run: &RunDocument, all: bool) -> String {
    if run.hop_delays.is_empty() {
        return String::new();
    }
    let share = |row: &HopDelayRow| match row.bound_ns {
        Some(bound) if bound > 0 => u128::from(row.observed_ns_max) * 1_000_000 / u128::from(bound),
        _ => 0,
    };
    let mut rows: Vec<&HopDelayRow> = run.hop_delays.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(share(row)));
    let shown = shown_of(rows.len(), all);
    let heads =
        ["port", "flow", ">frames", ">median ms", ">99 % ms", ">largest ms", ">bound ms", ">share"];
    let mut table = Table::new(&heads);
    for row in &rows[..shown] {
        let most = row.observed_ns_max;
        table.push(vec![
            row.port.clone(),
            row.flow.clone(),
            row.frames.to_string(),
            ms_up_ns(row.observed_ns_p50),
            ms_up_ns(row.observed_ns_p99),
            ms_up_ns(most),
            row.bound_ns.map_or_else(|| "-".to_owned(), ms_up_ns),
            row.bound_ns.map_or_else(|| "-".to_owned(), |bound| percent_up(most, bound)),
        ]);
    }
    let mut out = format!("\n{}", table.text());
    if shown < rows.len() {
        let _ = writeln!(out, "… {} with a smaller share (--all)", rows.len() - shown);
    }
    out
}

fn flow_cells(row: &FlowRow, is_live: bool) -> Vec<String> {
    let dash = || "-".to_owned();
    // A row without a bound is of a flow that has no place in its mode, or of a refused network.
    let bound = row.delay_bound_ns.map_or_else(dash, ms_up_ns);
    let bound = match row.queueing_bound_ns {
        Some(queueing) if is_live => {
            format!("{} + {} = {bound}", ms_up_ns(queueing), ms_up_ns(row.host_allowance_ns))
        }
        _ => bound,
    };
    let slack = row.delay_bound_ns.map(|b| i128::from(row.deadline_ns) - i128::from(b));
    let whole = i128::from(row.delay_bound_ns.unwrap_or(0));
    vec![
        row.flow.clone(),
        row.target.clone(),
        row.mode.clone(),
        row.sent.to_string(),
        row.received.to_string(),
        row.lost.to_string(),
        row.policed.to_string(),
        row.out_of_mode.to_string(),
        row.in_flight.to_string(),
        row.undecided.to_string(),
        bound,
        row.observed_delay_ns_max.map_or_else(dash, ms_up_ns),
        ms_down(i128::from(row.deadline_ns) * 1_000),
        slack.map_or_else(dash, |ns| ms_down(ns * 1_000)),
        match row.is_misbehaving {
            true => "misbehaves".to_owned(),
            false => margin_ns(row).map_or_else(dash, |margin| percent_down(margin, whole)),
        },
    ]
}

/// What the marks in the table mean.
fn marks(run: &RunDocument) -> String {
    match run.flows.iter().any(|row| row.is_misbehaving) {
        true => "misbehaves: it or its host sends above its contract; nothing is promised to it\n",
        false => "",
    }
    .to_owned()
}

/// Rows of the plan that were not exercised: they say nothing, and are in the way of nothing.
fn not_observed(run: &RunDocument, all: bool) -> String {
    if run.not_observed.is_empty() {
        return String::new();
    }
    let shown = if all { run.not_observed.len() } else { run.not_observed.len().min(NAMES_SHOWN) };
    let name = |row: &UnobservedRow| format!("{} to {} in {}", row.flow, row.target, row.mode);
    let names: Vec<String> = run.not_observed[..shown].iter().map(name).collect();
    let more = match run.not_observed.len() - shown {
        0 => String::new(),
        n => format!(" and {n} more (--all)"),
    };
    format!("not observed: {}{more}\n", names.join(", "))
}

/// What the scenario holds and the run did not play.
fn not_played(run: &RunDocument, all: bool) -> String {
    let mut out = String::new();
    let shown = shown_of(run.not_played.len(), all);
    for event in &run.not_played[..shown] {
        let _ = writeln!(out, "not played: {} at {} s", event.text, seconds(event.at_ns));
    }
    if shown < run.not_played.len() {
        let _ = writeln!(out, "not played: … {} more events", run.not_played.len() - shown);
    }
    if let Some(why) = &run.expect_not_judged {
        let _ = writeln!(out, "not judged: what the scenario expects ({why})");
    }
    out
}

/// Why slack is less than nothing where only this machine makes it so.
fn host_share(run: &RunDocument) -> String {
    let own =
        |row: &FlowRow| Some(i128::from(row.deadline_ns) - i128::from(row.queueing_bound_ns?));
    let is_eaten = |row: &&FlowRow| {
        let is_above = row.delay_bound_ns.is_some_and(|bound| bound > row.deadline_ns);
        is_above && own(row).is_some_and(|slack| slack >= 0)
    };
    let eaten: Vec<&FlowRow> = run.flows.iter().filter(is_eaten).collect();
    let least = eaten.iter().filter_map(|&row| Some((own(row)?, row))).min_by_key(|(ns, _)| *ns);
    let Some((slack, row)) = least else { return String::new() };
    let rows = format!("the slack of {} is", counted(eaten.len(), "row"));
    let slack = ms_down(slack * 1_000);
    format!(
        "{rows} below zero by what this machine adds; the plan's own is {slack} ms or more \
         ({} to {})\n",
        row.flow, row.target
    )
}

/// Each copy of what redundant networks carried, the pairs that came furthest apart first.
fn copy_table(run: &RunDocument, all: bool) -> String {
    let mut rows: Vec<&FlowRow> = run.flows.iter().filter(|row| row.copies.len() > 1).collect();
    if rows.is_empty() {
        return String::new();
    }
    rows.sort_by_key(|row| {
        let lost: u64 = row.copies.iter().map(|copy| copy.lost).sum();
        std::cmp::Reverse((lost, row.observed_skew_ns_max))
    });
    let shown = if all { rows.len() } else { rows.len().min(COPIES_SHOWN) };
    let mut table = Table::new(&[
        "copies",
        "target",
        "mode",
        "network",
        ">received",
        ">lost",
        ">observed max / bound ms",
        ">skew max / limit ms",
    ]);
    for row in &rows[..shown] {
        (0..row.copies.len()).for_each(|place| table.push(copy_row(row, place)));
    }
    format!("\n{}copies in all: {}\n", table.text(), copies_by_network(run))
}

/// One copy; what both share stands beside the first.
fn copy_row(row: &FlowRow, place: usize) -> Vec<String> {
    let dash = || "-".to_owned();
    let copy = &row.copies[place];
    let skew = match (place, row.skew_limit_ns) {
        (0, Some(limit)) => {
            let limit = ms_up_ns(limit);
            let seen = row.observed_skew_ns_max.map_or_else(dash, ms_up_ns);
            match row.host_allowance_ns {
                0 => format!("{seen} / {limit}"),
                host => format!("{seen} / {limit} + {} host", ms_up_ns(host)),
            }
        }
        _ => String::new(),
    };
    let first = |text: &str| if place == 0 { text.to_owned() } else { String::new() };
    let seen = copy.observed_delay_ns_max.map_or_else(dash, ms_up_ns);
    let bound = copy.delay_bound_ns.map_or_else(dash, ms_up_ns);
    vec![
        first(&row.flow),
        first(&row.target),
        first(&row.mode),
        copy.network.clone(),
        copy.received.to_string(),
        copy.lost.to_string(),
        format!("{seen} / {bound}"),
        skew,
    ]
}

fn copies_by_network(run: &RunDocument) -> String {
    let lost = |name: &str| {
        let copies = run.flows.iter().flat_map(|row| &row.copies).filter(|c| c.network == name);
        let (received, lost) = copies.fold((0, 0), |sum, c| (sum.0 + c.received, sum.1 + c.lost));
        format!("{name} {received} received, {lost} lost")
    };
    let mut names: Vec<&str> = Vec::new();
    for copy in run.flows.iter().flat_map(|row| &row.copies) {
        if !names.contains(&copy.network.as_str()) {
            names.push(&copy.network);
        }
    }
    names.into_iter().map(lost).collect::<Vec<_>>().join("; ")
}

fn change_table(run: &RunDocument) -> String {
    if run.mode_changes.is_empty() {
        return String::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for term in run.mode_changes.iter().flat_map(|change| &change.terms) {
        if !names.contains(&term.name.as_str()) {
            names.push(&term.name);
        }
    }
    let heads: Vec<String> = names.iter().map(|name| format!(">{name}")).collect();
    let mut all = vec![">change", "from>to", "trigger", ">at s", ">observed / bound ms"];
    all.extend(heads.iter().map(String::as_str));
    all.push(">purged");
    let mut table = Table::new(&all);
    for (index, change) in run.mode_changes.iter().enumerate() {
        table.push(change_cells(index, change, &names));
    }
    let is_marked = run.mode_changes.iter().flat_map(|it| &it.terms).any(|it| it.is_above_share);
    let note = match is_marked {
        true => "* above its own share of a change that kept its bound: the sum is promised\n",
        false => "",
    };
    format!("\n{}{note}", table.text())
}

fn change_cells(index: usize, change: &ModeChangeRow, names: &[&str]) -> Vec<String> {
    let pair = |observed: Option<u64>, bound: Option<u64>| {
        let part = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), ms_up_ns);
        format!("{} / {}", part(observed), part(bound))
    };
    let mut cells = vec![
        (index + 1).to_string(),
        format!("{}>{}", change.from, change.to),
        change.trigger.clone(),
        seconds(change.at_ns),
        pair(change.observed_ns, change.bound_ns),
    ];
    for name in names {
        let term = change.terms.iter().find(|term| term.name == *name);
        let mark = if term.is_some_and(|term| term.is_above_share) { "*" } else { "" };
        let cell = term.map_or_else(|| "-".into(), |t| pair(t.observed_ns, Some(t.bound_ns)));
        cells.push(format!("{cell}{mark}"));
    }
    cells.push(change.purged_frames.to_string());
    cells
}

fn policed(run: &RunDocument, all: bool) -> String {
    if run.policed.is_empty() {
        return "policed: nothing.\n".into();
    }
    let mut out = String::new();
    let shown = shown_of(run.policed.len(), all);
    for row in &run.policed[..shown] {
        let of = row.flow.as_deref().map_or_else(String::new, |flow| format!(" of {flow}"));
        let from = row.host.as_deref().map_or_else(String::new, |host| format!(" from {host}"));
        let reason = row.reason.replace('_', " ");
        let frames = tenuto_units::counted(row.frames, "frame");
        let place = format!("{}:{}", row.switch, row.port);
        let _ = writeln!(out, "policed: {frames}{of}{from} at {place}: {reason}");
    }
    if shown < run.policed.len() {
        let _ = writeln!(out, "policed: … {} more places", run.policed.len() - shown);
    }
    out
}

fn machine(run: &RunDocument) -> String {
    let longest = run.stalls.iter().max_by_key(|stall| stall.length_ns);
    match longest {
        _ if run.world != "live" => String::new(),
        None => "machine: no stall above the allowance while traffic ran.\n".into(),
        Some(stall) => format!(
            "machine: {} above the allowance, the longest {} ms at {} s in {}\n",
            counted(run.stalls.len(), "stall"),
            ms_up_ns(stall.length_ns),
            seconds(stall.at_ns),
            stall.node,
        ),
    }
}

fn violations(run: &RunDocument, all: bool) -> String {
    if run.violations.is_empty() {
        return String::new();
    }
    // What something that is gone explains, or was never promised, is told, and violates nothing.
    let head = |violation: &Violation| {
        if violation.is_explained { "not kept" } else { "violated" }
    };
    let mut out = String::new();
    let shown = shown_of(run.violations.len(), all);
    for violation in &run.violations[..shown] {
        let _ = writeln!(out, "{}: {violation}", head(violation));
    }
    if shown < run.violations.len() {
        let _ = writeln!(out, "… {} more", run.violations.len() - shown);
    }
    out
}
