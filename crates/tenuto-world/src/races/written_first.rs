//! Races that are covered: what was read had been written, which orders the two accesses of the race.

use super::commute::{deletes, modifies};
use super::event::{Access, Command, FlowEntry, Run, Write};
use super::order::{Order, Reach, product};
use super::race::Race;
use std::collections::{BTreeMap, BTreeSet};

/// Races times look-ups that are compared at most: a minute or so.
const PAIRS_MAX: u64 = 20_000_000_000;

/// An entry of a table, and the events that have written it.
struct Standing {
    entry: FlowEntry,
    added_by: usize,
    modified_by: Option<usize>,
}

/// For each look-up of an entry in turn: the event that wrote it last, and the event that read it.
pub(super) fn dependencies(run: &Run) -> Vec<(usize, usize)> {
    let mut tables: BTreeMap<Option<u64>, Vec<Standing>> = BTreeMap::new();
    let mut found = Vec::new();
    for (place, event) in run.events.iter().enumerate() {
        let table = tables.entry(event.datapath).or_default();
        for (access, _) in &event.accesses {
            match access {
                Access::Write(write) => carry_out(table, write, place),
                Access::Expiry(entry) => table.retain(|it| !is_same(&it.entry, entry)),
                Access::Read { entry: Some(read), .. } => {
                    let standing = table.iter().find(|it| is_same(&it.entry, read));
                    let writer = standing.map(|it| it.modified_by.unwrap_or(it.added_by));
                    found.extend(writer.filter(|by| *by != place).map(|by| (by, place)));
                }
                Access::Read { entry: None, .. } => {}
            }
        }
    }
    found
}

fn is_same(one: &FlowEntry, other: &FlowEntry) -> bool {
    one.matching == other.matching && one.priority == other.priority
}

fn carry_out(table: &mut Vec<Standing>, write: &Write, by: usize) {
    let add = |table: &mut Vec<Standing>| {
        table.retain(|it| !is_same(&it.entry, &write.entry));
        table.push(Standing { entry: write.entry.clone(), added_by: by, modified_by: None });
    };
    match write.command {
        Command::Add => add(table),
        Command::Delete { is_strict } => table.retain(|it| !deletes(write, &it.entry, is_strict)),
        Command::Modify { is_strict } => {
            let mut is_found = false;
            for it in table.iter_mut().filter(|it| modifies(write, &it.entry, is_strict)) {
                it.entry.actions.clone_from(&write.entry.actions);
                it.modified_by = Some(by);
                is_found = true;
            }
            // A modification of nothing adds (OpenFlow 1.0, section 4.6).
            if !is_found {
                add(table);
            }
        }
    }
}

/// Marks races whose accesses are ordered once each reader comes behind its writer. A race that is such a pair itself
/// stays.
///
/// # Errors
/// In words, if the run is too large.
pub(super) fn covered(
    races: &mut [Race],
    dependencies: &[(usize, usize)],
    order: &mut Order,
) -> Result<(), String> {
    let pair = |race: &Race| (race.one, race.other);
    let racing: BTreeSet<usize> = races.iter().flat_map(|it| [it.one, it.other]).collect();
    let reach = Reach::of(order, &racing)?;
    order.check_walks(2 * dependencies.len())?;
    if product(dependencies.len(), races.len()) > PAIRS_MAX {
        let count = races.len();
        return Err(format!("{count} races and {} look-ups are too many", dependencies.len()));
    }
    let mut open: Vec<usize> = (0..races.len()).collect();
    open.retain(|&at| !reach.is_ordered(races[at].one, races[at].other));
    for &(writer, reader) in dependencies {
        order.add(writer, reader);
        let (before, behind) = (order.to(writer), order.from(reader));
        open.retain(|&at| {
            let (one, other) = pair(&races[at]);
            if (one, other) == (reader, writer) || (one, other) == (writer, reader) {
                return false;
            }
            let is_ordered = before[one] && behind[other] || before[other] && behind[one];
            races[at].is_covered |= is_ordered;
            !is_ordered
        });
    }
    Ok(())
}
