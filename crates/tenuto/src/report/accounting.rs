//! Where every message went, and what this machine did meanwhile.

use super::page::Part;
use super::table::{Cell, Table};
use super::text::time_ns;
use crate::format::counted;
use tenuto_world::{FlowRow, RunDocument};

/// Every message sent is in exactly one column.
pub(super) fn part(run: &RunDocument) -> Part {
    let mut part = Part::new("accounting", "Accounting");
    let sum = |get: fn(&FlowRow) -> u64| run.flows.iter().map(get).fold(0, u64::saturating_add);
    let sent = sum(|r| r.sent);
    let parts = [
        ("received", sum(|r| r.received)),
        ("lost", sum(|r| r.lost)),
        ("policed", sum(|r| r.policed)),
        ("out of mode", sum(|r| r.out_of_mode)),
        ("in flight", sum(|r| r.in_flight)),
        ("undecided", sum(|r| r.undecided)),
    ];
    let terms: Vec<String> = parts.iter().map(|(name, n)| format!("{n} {name}")).collect();
    let accounted: u64 = parts.iter().map(|p| p.1).fold(0, u64::saturating_add);
    let equal = if accounted == sent { "=" } else { "≠" };
    part.lead("Messages, counted once for every target. Only what is lost breaks a promise.");
    part.paragraph(&format!("{sent} sent {equal} {}", terms.join(" + ")));
    part.table_open(&table(run));
    part
}

fn table(run: &RunDocument) -> Table {
    let header =
        "flow target mode level sent received lost policed out_of_mode in_flight undecided";
    let mut table = Table::new("accounting", header.split(' ').collect());
    // What broke a promise, or might have, comes first.
    let mut rows: Vec<&FlowRow> = run.flows.iter().collect();
    rows.sort_by_key(|r| std::cmp::Reverse((r.lost, r.undecided, r.policed, r.out_of_mode)));
    for row in rows {
        let counts = [
            row.sent,
            row.received,
            row.lost,
            row.policed,
            row.out_of_mode,
            row.in_flight,
            row.undecided,
        ];
        let words = [&row.flow, &row.target, &row.mode, &row.level].map(Cell::text);
        table.push(words.into_iter().chain(counts.map(Cell::number)).collect());
    }
    table
}

/// Wake-ups before the run, stalls during it. A run in virtual time has neither.
pub(super) fn machine(run: &RunDocument) -> Option<Part> {
    if run.world != "live" && run.stalls.is_empty() && run.machine.is_none() {
        return None;
    }
    let mut part = Part::new("machine", "This machine");
    if let Some(machine) = &run.machine {
        let time = |ns: Option<u64>| ns.map_or_else(|| "not measured".to_owned(), time_ns);
        part.facts(&[
            ("machine", machine.text.clone(), false),
            ("wake-up p50", time(machine.wake_up_ns_p50), false),
            ("wake-up p99.9", time(machine.wake_up_ns_p999), false),
            ("wake-up max", time(machine.wake_up_ns_max), false),
            ("host allowance", format!("{} per element", time(machine.host_allowance_ns)), false),
        ]);
    }
    if run.stalls.is_empty() {
        part.paragraph("No thread of the data plane stalled for longer than its allowance.");
        return Some(part);
    }
    let longest = run.stalls.iter().map(|s| s.length_ns).max().unwrap_or(0);
    part.paragraph(&format!(
        "{} above the allowance, the longest {}. What was late or lost during one is undecided.",
        counted(run.stalls.len(), "stall"),
        time_ns(longest)
    ));
    let mut table = Table::new("stalls", vec!["node", "at_ns", "length_ns"]);
    let mut stalls: Vec<_> = run.stalls.iter().collect();
    stalls.sort_by_key(|stall| std::cmp::Reverse(stall.length_ns));
    for stall in stalls {
        table.push(vec![
            Cell::text(&stall.node),
            Cell::ns(Some(stall.at_ns)),
            Cell::ns(Some(stall.length_ns)),
        ]);
    }
    part.table_open(&table);
    Some(part)
}
