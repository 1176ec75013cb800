//! How full queues were, how full they can be, and how full they may be.

use super::bars::{Bar, bars};
use super::page::Part;
use super::table::{Cell, ROWS_SHOWN, Table};
use super::text::{bits, percent_up};
use tenuto_world::{PortObservation, RunDocument};

pub(super) fn part(run: &RunDocument) -> Part {
    let mut part = Part::new("queues", "Queues");
    if run.ports.is_empty() {
        part.paragraph("No queue was observed.");
        return part;
    }
    part.lead("Backlog of every directed egress, all its classes together; fullest first.");
    part.key(&[("k-bound", "backlog bound"), ("k-limit", "buffer"), ("k-max", "observed max")]);
    let mut ports: Vec<&PortObservation> = run.ports.iter().collect();
    ports.sort_by_key(|port| std::cmp::Reverse(share(port)));
    let is_used = |port: &&PortObservation| port.backlog_bound_bits.is_some() || port.frames > 0;
    let used: Vec<&PortObservation> = ports.iter().copied().filter(is_used).collect();
    let rows: Vec<Bar> = used.iter().take(ROWS_SHOWN).map(|port| bar(port, run)).collect();
    let caption = if used.len() > rows.len() {
        format!("The fullest {} of {}.", rows.len(), used.len())
    } else {
        String::new()
    };
    let tick = |bytes: u64| match bytes {
        0 => "0".to_owned(),
        bytes if bytes < 1_000 => format!("{bytes} B"),
        bytes if bytes % 1_000 == 0 => format!("{} kB", bytes / 1_000),
        bytes => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
    };
    part.figure(&caption, &bars(&rows, tick, "max ≤ bound, share", "Backlog of queues"));
    part.table_folded(&table(&ports));
    part
}

/// Observed part of the bound, in millionths; what has no bound comes first.
fn share(port: &PortObservation) -> u128 {
    match port.backlog_bound_bits {
        Some(0) if port.observed_backlog_bits_max == 0 => 0,
        Some(bound) if bound > 0 => {
            u128::from(port.observed_backlog_bits_max) * 1_000_000 / u128::from(bound)
        }
        _ if port.observed_backlog_bits_max == 0 => 0,
        _ => u128::MAX,
    }
}

/// Drawn in bytes, so that ticks are round.
fn bar(port: &PortObservation, run: &RunDocument) -> Bar {
    let seen = port.observed_backlog_bits_max;
    let bound = port.backlog_bound_bits;
    let is_above = bound.is_some_and(|bound| seen > bound);
    let than = if is_above { '>' } else { '≤' };
    let is_violation = run
        .violations
        .iter()
        .any(|violation| violation.kind == "backlog" && violation.note.contains(&port.port));
    // In virtual time every queue is judged but that of a host which sends what it may not.
    let excuse = if run.world == "simulated" { "at fault itself" } else { "not judged live" };
    let bytes = |bits: u64| bits.div_ceil(8);
    let note = match bound {
        Some(bound) if is_above && !is_violation => {
            format!("{} > {}, {excuse}", bits(seen), bits(bound))
        }
        Some(bound) => {
            format!("{} {than} {}, {}", bits(seen), bits(bound), percent_up(seen, bound))
        }
        None => format!("{}, no bound", bits(seen)),
    };
    Bar {
        label: port.port.clone(),
        pieces: bound.map(|bound| (bytes(bound), "bound")).into_iter().collect(),
        ticks: port.buffer_limit_bits.map(|limit| (bytes(limit), "limit")).into_iter().collect(),
        dots: vec![(bytes(seen), "seen", 4.2)],
        title: format!("{}: {note}, {} frames sent", port.port, port.frames),
        note,
        is_bad: is_above && is_violation,
    }
}

fn table(ports: &[&PortObservation]) -> Table {
    let header = vec![
        "port",
        "observed_backlog_max_bits",
        "backlog_bound_bits",
        "buffer_limit_bits",
        "frames",
    ];
    let mut table = Table::new("queues", header);
    for port in ports {
        table.push(vec![
            Cell::text(&port.port),
            Cell::bits(Some(port.observed_backlog_bits_max)),
            Cell::bits(port.backlog_bound_bits),
            Cell::bits(port.buffer_limit_bits),
            Cell::number(port.frames),
        ]);
    }
    table
}
