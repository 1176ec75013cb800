//! Races of a run: pairs of accesses, those that matter, those that are covered.

use super::commute::{read_commutes, writes_commute};
use super::event::{Access, FlowEntry, Run, Write};
use super::matching::Matching;
use super::order::{Order, Reach};
use super::written_first::{covered, dependencies};
use std::collections::BTreeSet;

/// Races that matter and are kept at most; beyond they are only counted.
const KEPT_MAX: usize = 2_000_000;

/// Which accesses race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RaceKind {
    /// Two flow-mods.
    Writes,
    /// A packet and a flow-mod.
    ReadWrite,
}

/// Two accesses that are not ordered, and do not commute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Race {
    /// Which accesses.
    pub kind: RaceKind,
    /// Place of the event of the first access in the run; of a look-up, if there is one.
    pub one: usize,
    /// Place of the event of the other.
    pub other: usize,
    /// Seconds between them in the record.
    pub apart_s: f64,
    /// Whether what was read orders them.
    pub is_covered: bool,
}

/// What was found in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detected {
    /// Events that count.
    pub events: usize,
    /// What happens directly before what, what is read behind what was written too.
    pub edges: usize,
    /// Look-ups.
    pub reads: usize,
    /// Flow-mods.
    pub writes: usize,
    /// Pairs that are not ordered and of which one writes.
    pub races: u64,
    /// Of these, pairs whose order does not matter.
    pub commuting: u64,
    /// Of the others, those further apart than was asked for.
    pub apart: u64,
    /// Races that are left, covered ones too.
    pub found: Vec<Race>,
}

impl Detected {
    /// Races that are left and covered.
    pub fn covered(&self) -> u64 {
        self.found.iter().map(|race| u64::from(race.is_covered)).sum()
    }

    /// Races that are left and not covered.
    pub fn harmful(&self) -> u64 {
        self.found.len() as u64 - self.covered()
    }
}

struct ReadAt<'a> {
    event: usize,
    at_s: f64,
    packet: &'a Matching,
    entry: Option<&'a FlowEntry>,
}

struct WriteAt<'a> {
    event: usize,
    at_s: f64,
    write: &'a Write,
}

/// Looks for the races of a run. Of those that matter, accesses more than `within_s` apart are taken to be ordered by
/// time, if it is given.
///
/// # Errors
/// In words, if the run is too large.
pub fn detect(run: &Run, within_s: Option<f64>) -> Result<Detected, String> {
    let mut order = Order::of(run);
    let (reads, writes) = accesses(run);
    let mut found = Detected {
        events: run.events.len(),
        reads: reads.len(),
        writes: writes.len(),
        ..Detected::default()
    };
    let touching: BTreeSet<usize> =
        reads.iter().map(|it| it.event).chain(writes.iter().map(|it| it.event)).collect();
    let reach = Reach::of(&order, &touching)?;
    let is_race = |one: usize, other: usize| {
        one != other
            && run.events[one].datapath == run.events[other].datapath
            && !reach.is_ordered(one, other)
    };
    for (place, one) in writes.iter().enumerate() {
        for other in &writes[place + 1..] {
            if is_race(one.event, other.event) {
                let commutes = writes_commute(one.write, other.write);
                let apart_s = (one.at_s - other.at_s).abs();
                found.take(RaceKind::Writes, (one.event, other.event), apart_s, commutes)?;
            }
        }
    }
    for read in &reads {
        for write in &writes {
            if is_race(read.event, write.event) {
                let is_write_first = run.events[write.event].id < run.events[read.event].id;
                let orders: &[bool] =
                    if run.has_table_order { &[is_write_first] } else { &[true, false] };
                let commutes = orders.iter().all(|is_write_first| {
                    read_commutes(read.packet, read.entry, write.write, *is_write_first)
                });
                let apart_s = (read.at_s - write.at_s).abs();
                found.take(RaceKind::ReadWrite, (read.event, write.event), apart_s, commutes)?;
            }
        }
    }
    found.leave_out(within_s, run, &mut order);
    covered(&mut found.found, &dependencies(run), &mut order)?;
    found.edges = order.edges();
    Ok(found)
}

fn accesses(run: &Run) -> (Vec<ReadAt<'_>>, Vec<WriteAt<'_>>) {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for (place, event) in run.events.iter().enumerate() {
        for (access, at_s) in &event.accesses {
            match access {
                Access::Read { packet, entry } => {
                    let entry = entry.as_ref();
                    reads.push(ReadAt { event: place, at_s: *at_s, packet, entry });
                }
                Access::Write(write) => {
                    writes.push(WriteAt { event: place, at_s: *at_s, write });
                }
                Access::Expiry(_) => {}
            }
        }
    }
    (reads, writes)
}

impl Detected {
    fn take(
        &mut self,
        kind: RaceKind,
        (one, other): (usize, usize),
        apart_s: f64,
        commutes: bool,
    ) -> Result<(), String> {
        self.races += 1;
        if commutes {
            self.commuting += 1;
            return Ok(());
        }
        if self.found.len() >= KEPT_MAX {
            return Err(format!("more than {KEPT_MAX} races that matter"));
        }
        self.found.push(Race { kind, one, other, apart_s, is_covered: false });
        Ok(())
    }

    /// Takes accesses that are far apart to be ordered.
    fn leave_out(&mut self, within_s: Option<f64>, run: &Run, order: &mut Order) {
        let Some(within_s) = within_s else { return };
        let (near, far): (Vec<Race>, Vec<Race>) =
            self.found.drain(..).partition(|race| race.apart_s <= within_s);
        for race in &far {
            let is_first = run.events[race.one].id < run.events[race.other].id;
            let (first, second) =
                if is_first { (race.one, race.other) } else { (race.other, race.one) };
            order.add(first, second);
        }
        self.apart = far.len() as u64;
        self.found = near;
    }
}
