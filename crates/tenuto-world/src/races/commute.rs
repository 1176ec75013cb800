//! Whether two accesses have the same effect in either order (\[SDNRacer\] section 4).

use super::event::{Command, FlowEntry, Write};
use super::matching::Matching;

/// Whether a flow-mod of that command means an entry.
fn means(write: &Write, entry: &FlowEntry, is_strict: bool) -> bool {
    let mine = &write.entry;
    match is_strict {
        true => mine.matching == entry.matching && mine.priority == entry.priority,
        false => mine.matching.covers(&entry.matching),
    }
}

/// Whether a deletion deletes an entry.
pub(super) fn deletes(write: &Write, entry: &FlowEntry, is_strict: bool) -> bool {
    let sends_there = |port: u32| entry.outputs.contains(&port);
    means(write, entry, is_strict) && write.out_port.is_none_or(sends_there)
}

/// Whether a modification changes an entry.
pub(super) fn modifies(write: &Write, entry: &FlowEntry, is_strict: bool) -> bool {
    means(write, entry, is_strict)
}

/// Whether two flow-mods have the same effect in either order.
pub(super) fn writes_commute(one: &Write, other: &Write) -> bool {
    use Command::{Add, Delete, Modify};
    match (one.command, other.command) {
        (Delete { .. }, Delete { .. }) => true,
        (Add, Add) => adds_commute(one, other),
        (Add, Delete { is_strict }) => add_and_delete_commute(one, other, is_strict),
        (Delete { is_strict }, Add) => add_and_delete_commute(other, one, is_strict),
        (Add, Modify { is_strict }) => add_and_modify_commute(one, other, is_strict),
        (Modify { is_strict }, Add) => add_and_modify_commute(other, one, is_strict),
        (Delete { .. }, Modify { is_strict }) => delete_and_modify_commute(one, other, is_strict),
        (Modify { is_strict }, Delete { .. }) => delete_and_modify_commute(other, one, is_strict),
        (Modify { is_strict: strict }, Modify { is_strict: other_strict }) => {
            modifications_commute((one, strict), (other, other_strict))
        }
    }
}

fn adds_commute(one: &Write, other: &Write) -> bool {
    let (one, other) = (&one.entry, &other.entry);
    one.matching != other.matching || one.priority != other.priority || one.actions == other.actions
}

fn add_and_delete_commute(add: &Write, delete: &Write, is_strict: bool) -> bool {
    let refuses = add.checks_overlap && add.entry.matching.overlaps(&delete.entry.matching);
    !deletes(delete, &add.entry, is_strict) && !refuses
}

fn add_and_modify_commute(add: &Write, modify: &Write, is_strict: bool) -> bool {
    match add.checks_overlap {
        true => !add.entry.matching.overlaps(&modify.entry.matching),
        false => {
            !modifies(modify, &add.entry, is_strict) || add.entry.actions == modify.entry.actions
        }
    }
}

fn delete_and_modify_commute(delete: &Write, modify: &Write, is_strict: bool) -> bool {
    match is_strict {
        true => !deletes(delete, &modify.entry, true),
        false => !delete.entry.matching.overlaps(&modify.entry.matching),
    }
}

fn modifications_commute(
    (one, strict): (&Write, bool),
    (other, other_strict): (&Write, bool),
) -> bool {
    let meets = match (strict, other_strict) {
        (false, false) => one.entry.matching.overlaps(&other.entry.matching),
        (true, true) => means(one, &other.entry, true),
        _ => means(other, &one.entry, other_strict) || means(one, &other.entry, strict),
    };
    !meets || one.entry.actions == other.entry.actions
}

/// Whether a look-up finds the same before and after a flow-mod. What it has found is known, and whether the flow-mod
/// came first in the record.
pub(super) fn read_commutes(
    packet: &Matching,
    found: Option<&FlowEntry>,
    write: &Write,
    is_write_first: bool,
) -> bool {
    let own = &write.entry;
    let differs = match (write.command, is_write_first, found) {
        (Command::Add | Command::Modify { .. }, true, None) => false,
        (Command::Add, true, Some(found)) => found == own,
        (Command::Add, false, None) => own.matching.covers(packet),
        (Command::Add, false, Some(found)) => {
            own.matching.covers(packet)
                && found.priority <= own.priority
                && found.actions != own.actions
        }
        (Command::Modify { is_strict }, true, Some(found)) => {
            modifies(write, found, is_strict) && found.actions == own.actions
        }
        (Command::Modify { .. }, false, None) => false,
        (Command::Modify { .. }, false, Some(found)) => {
            own.matching.covers(packet) && found.actions != own.actions
        }
        (Command::Delete { .. }, true, _) => own.matching.covers(packet),
        (Command::Delete { is_strict }, false, found) => {
            found.is_some_and(|found| deletes(write, found, is_strict))
        }
    };
    !differs
}
