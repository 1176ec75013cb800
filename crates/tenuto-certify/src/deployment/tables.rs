//! The tables of one switch, walked with classes of frames.
//!
//! A class is a set of headers without the headers that some other sets have. It enters a table;
//! every entry that some frame of it hits takes its share along, and the rest misses. The walk ends
//! in all things that can happen to any frame of the class and in no others: what entries of higher
//! precedence took in this table and in those before is left out of a share. Of two overlapping
//! entries of equal precedence either may win (OpenFlow 1.3.5, section 5.3), so both are followed.

use crate::deployment::header_index::HeaderIndex;
use crate::description::read::{self, Entry, Match, Output, PortQueue};
use std::collections::BTreeMap;

/// Sets that may be looked at in one certification.
pub(crate) const STEPS_MAX: u64 = 100_000_000;
/// Things that can happen to the frames of one class, outputs counted: they are kept in memory.
const OUTCOMES_MAX: usize = 2_000_000;
/// The table whose entries follow the forwarding level; those before follow the admitted level.
const TABLE_FORWARD: u8 = 2;

/// Tables of a switch, with entries by what they match.
#[derive(Debug)]
pub(crate) struct Tables<'a> {
    /// Entries by table and level, of equal matches the one of highest precedence first.
    tables: BTreeMap<(u8, usize), HeaderIndex<&'a Entry>>,
    groups: BTreeMap<u32, &'a [PortQueue]>,
}

/// The levels in force at a switch; while a return is under way the admitted one is higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) admitted: usize,
    pub(crate) forwarding: usize,
}

impl InForce {
    /// The tables of which a level is looked up.
    const fn level_of(self, table: u8) -> usize {
        if table >= TABLE_FORWARD { self.forwarding } else { self.admitted }
    }
}

/// Frames that can come together: all with these headers but those of the other sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class<'a> {
    pub(crate) headers: Match,
    pub(crate) without: Option<&'a HeaderIndex<()>>,
}

impl Class<'_> {
    /// Every frame with these headers.
    pub(crate) const fn of(headers: Match) -> Self {
        Self { headers, without: None }
    }
}

/// What a frame is shown to on its way through the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Check {
    Monitor(u32),
    Meter(u32),
}

/// One thing that can happen to a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Outcome {
    /// In the order in which the frame meets them.
    pub(crate) checks: Vec<Check>,
    /// Where it goes, by port; nowhere if dropped.
    pub(crate) outputs: Vec<PortQueue>,
    /// Whether some check came after an output, and so could not keep the frame from it.
    pub(crate) is_checked_late: bool,
    /// The flow that it counts for, by the last cookie above 0 that it met; 0 for none.
    pub(crate) cookie: u64,
    /// For whom it counted each time that it was sent: by this a switch knows where it belongs when it waits
    /// at a change of modes.
    pub(crate) sent_as: Vec<u64>,
    /// Whether it came to a table that has nothing for it.
    pub(crate) is_missed: bool,
}

/// A walk that would take too long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooLong;

/// A share of a class on its way.
#[derive(Clone, Debug)]
struct Share {
    /// The table that comes next.
    table: u8,
    headers: Match,
    /// Tables before, each with the precedence of the entry that was hit there: what entries of
    /// higher precedence match is not in the share.
    hit: Vec<(u8, u16)>,
    so_far: Outcome,
}

impl<'a> Tables<'a> {
    /// The tables of a switch in a network of so many modes.
    pub(crate) fn new(deployment: &'a read::SwitchDeployment, modes: usize) -> Self {
        let mut tables: BTreeMap<(u8, usize), HeaderIndex<&'a Entry>> = BTreeMap::new();
        for entry in &deployment.entries {
            let own = entry.level.map(usize::from);
            for level in (0..modes.max(1)).filter(|level| own.is_none_or(|own| own == *level)) {
                tables.entry((entry.table, level)).or_default().add(entry.matching, entry);
            }
        }
        for same_match in tables.values_mut().flat_map(HeaderIndex::each_mut) {
            same_match.sort_by_key(|entry| std::cmp::Reverse(entry.precedence));
        }
        let group = |g: &'a read::Group| (g.id, g.outputs.as_slice());
        Self { tables, groups: deployment.groups.iter().map(group).collect() }
    }

    /// Everything that can happen to the frames of a class, each thing once or more often.
    pub(crate) fn walk(
        &self,
        class: Class<'_>,
        levels: InForce,
        steps: &mut u64,
    ) -> Result<Vec<Outcome>, TooLong> {
        let mut outcomes = Vec::new();
        if is_covered(class.without, class.headers, steps) {
            return Ok(outcomes);
        }
        let (headers, so_far) = (class.headers, Outcome::default());
        let mut open = vec![Share { table: 0, headers, hit: vec![], so_far }];
        let mut kept = 0_usize;
        while let Some(share) = open.pop() {
            for entry in self.hits(class, &share, levels, steps)? {
                let mut so_far = share.so_far.clone();
                self.carry_out(entry, &mut so_far);
                let size = 1 + so_far.outputs.len();
                *steps = steps.saturating_add(u64::try_from(size).unwrap_or(u64::MAX));
                kept += size;
                if kept > OUTCOMES_MAX {
                    return Err(TooLong);
                }
                // A table leads to a later one only, so the walk ends.
                match entry.goto.filter(|goto| *goto > share.table) {
                    None => outcomes.push(so_far),
                    Some(table) => {
                        let headers = entry.matching.and(share.headers).unwrap_or(share.headers);
                        let mut hit = share.hit.clone();
                        hit.push((share.table, entry.precedence));
                        open.push(Share { table, headers, hit, so_far });
                    }
                }
            }
            // What hits nothing is dropped, though it has been shown to what came before.
            if self.highest(share.table, share.headers, levels, steps).is_none() {
                outcomes.push(Outcome { is_missed: true, ..share.so_far });
            }
        }
        for outcome in &mut outcomes {
            outcome.outputs.sort_unstable();
        }
        Ok(outcomes)
    }

    /// The entries of the next table that some frame of a share hits.
    fn hits(
        &self,
        class: Class<'_>,
        share: &Share,
        levels: InForce,
        steps: &mut u64,
    ) -> Result<Vec<&'a Entry>, TooLong> {
        let place = (share.table, levels.level_of(share.table));
        let Some(table) = self.tables.get(&place) else { return Ok(vec![]) };
        let mut hits = Vec::new();
        for entry in table.meeting(share.headers, steps) {
            let Some(headers) = entry.matching.and(share.headers) else { continue };
            let hit = share.hit.iter().copied().chain([(share.table, entry.precedence)]);
            let is_hidden = is_covered(class.without, headers, steps)
                || hit.into_iter().any(|(table, precedence)| {
                    self.highest(table, headers, levels, steps) > Some(precedence)
                });
            if !is_hidden {
                hits.push(*entry);
            }
            if *steps > STEPS_MAX {
                return Err(TooLong);
            }
        }
        Ok(hits)
    }

    /// The highest precedence of the entries of a table that match all these headers.
    fn highest(&self, table: u8, headers: Match, levels: InForce, steps: &mut u64) -> Option<u16> {
        let entries = self.tables.get(&(table, levels.level_of(table)))?;
        entries.covering(headers, steps).filter_map(|same| Some(same.first()?.precedence)).max()
    }

    /// The meter comes first, then the actions: the monitor, then the outputs (OpenFlow 1.3.5,
    /// section 5.9, and the order of a deployment's actions).
    fn carry_out(&self, entry: &Entry, to: &mut Outcome) {
        let is_checked = entry.meter.is_some() || entry.monitor.is_some();
        to.is_checked_late |= is_checked && !to.outputs.is_empty();
        to.checks.extend(entry.meter.map(Check::Meter));
        to.checks.extend(entry.monitor.map(Check::Monitor));
        if entry.cookie != 0 {
            to.cookie = entry.cookie;
        }
        if let Some(output) = entry.output {
            to.sent_as.push(to.cookie);
            to.outputs.extend(self.outputs(output));
        }
    }

    /// Ports and queues of an output.
    pub(crate) fn outputs(&self, output: Output) -> Vec<PortQueue> {
        match output {
            Output::Port(one) => vec![one],
            Output::Group(id) => self.groups.get(&id).map_or(vec![], |group| group.to_vec()),
        }
    }

    /// The entries that forward at a level, in no order that counts.
    pub(crate) fn forwarding(&self, level: usize) -> impl Iterator<Item = &'a Entry> {
        let later = self
            .tables
            .iter()
            .filter(move |((table, of), _)| *table >= TABLE_FORWARD && *of == level);
        later.flat_map(|(_, entries)| entries.each().copied())
    }
}

/// Whether one of some sets has every one of these headers.
fn is_covered(by: Option<&HeaderIndex<()>>, headers: Match, steps: &mut u64) -> bool {
    by.is_some_and(|sets| sets.covering(headers, steps).next().is_some())
}

#[cfg(test)]
#[path = "../../tests/unit/deployment_tables.rs"]
mod tests;
