//! The tables of one switch, walked with sets of headers instead of single frames.
//!
//! A set enters; every entry that some header of the set can hit splits off its share. What comes
//! out are all things that can happen to any frame of the set. Entries that a single entry of
//! higher precedence hides are left out; of two overlapping entries of equal precedence both may
//! win, so both are followed.

use crate::read::{self, Entry, Match, Output, PortQueue};
use std::collections::BTreeMap;

/// Entries that may be looked at in one certification.
pub(crate) const STEPS_MAX: u64 = 200_000_000;
/// Things that can happen to the frames of one set, outputs counted: they are kept in memory.
const OUTCOMES_MAX: usize = 2_000_000;
/// The table whose entries follow the forwarding level; those before follow the admitted level.
const TABLE_FORWARD: u8 = 2;

/// Tables of a switch, with entries sorted so that few are looked at.
#[derive(Debug)]
pub(crate) struct Tables<'a> {
    tables: BTreeMap<u8, Table<'a>>,
    groups: BTreeMap<u32, &'a [PortQueue]>,
}

#[derive(Debug, Default)]
struct Table<'a> {
    by_udp: BTreeMap<u16, Vec<&'a Entry>>,
    by_eth: BTreeMap<[u8; 6], Vec<&'a Entry>>,
    /// By port of entry, for entries with neither.
    by_port: BTreeMap<Option<u32>, Vec<&'a Entry>>,
}

/// The levels in force at a switch; while a return is under way the admitted one is higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) admitted: usize,
    pub(crate) forwarding: usize,
}

/// What a frame meets on its way through the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    Monitor(u32),
    Meter(u32),
}

/// One thing that can happen to a frame.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The headers to which it happens.
    pub(crate) headers: Match,
    pub(crate) checks: Vec<Check>,
    /// Where they go, in order; nowhere if dropped.
    pub(crate) outputs: Vec<PortQueue>,
}

/// A walk that would take too long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooLong;

impl<'a> Tables<'a> {
    pub(crate) fn new(deployment: &'a read::SwitchDeployment) -> Self {
        let mut tables: BTreeMap<u8, Table<'a>> = BTreeMap::new();
        for entry in &deployment.entries {
            let table = tables.entry(entry.table).or_default();
            let list = match (entry.matching.udp_dst, entry.matching.eth_dst) {
                (Some(udp), _) => table.by_udp.entry(udp).or_default(),
                (None, Some(eth)) => table.by_eth.entry(eth).or_default(),
                (None, None) => table.by_port.entry(entry.matching.in_port).or_default(),
            };
            list.push(entry);
        }
        let group = |g: &'a read::Group| (g.id, g.outputs.as_slice());
        Self { tables, groups: deployment.groups.iter().map(group).collect() }
    }

    /// Everything that can happen to the frames of `headers`.
    pub(crate) fn walk(
        &self,
        headers: Match,
        levels: InForce,
        steps: &mut u64,
    ) -> Result<Vec<Outcome>, TooLong> {
        let mut outcomes = Vec::new();
        let start = Outcome { headers, checks: vec![], outputs: vec![] };
        let mut open = vec![(0_u8, start)];
        let mut kept = 0_usize;
        while let Some((table, so_far)) = open.pop() {
            let hit = self.hits(table, so_far.headers, levels, steps)?;
            for (entry, headers) in hit {
                let mut next = Outcome { headers, ..so_far.clone() };
                next.checks.extend(entry.monitor.map(Check::Monitor));
                next.checks.extend(entry.meter.map(Check::Meter));
                match entry.output {
                    None => {}
                    Some(Output::Port(one)) => next.outputs.push(one),
                    Some(Output::Group(id)) => {
                        next.outputs.extend(self.groups.get(&id).into_iter().copied().flatten());
                    }
                }
                *steps =
                    steps.saturating_add(u64::try_from(next.outputs.len()).unwrap_or(u64::MAX));
                kept += 1 + next.outputs.len();
                if kept > OUTCOMES_MAX {
                    return Err(TooLong);
                }
                // A table leads to a later one only, so the walk ends.
                match entry.goto.filter(|goto| *goto > table) {
                    Some(goto) => open.push((goto, next)),
                    None => {
                        next.outputs.sort_unstable();
                        outcomes.push(next);
                    }
                }
            }
            // What hits nothing is dropped, unless something before already sent it.
            if !so_far.outputs.is_empty() {
                outcomes.push(so_far);
            }
        }
        Ok(outcomes)
    }

    /// Whether an outcome of a wider walk is one of its own headers too: a wide walk does not
    /// remember which frames an earlier table has already taken out.
    pub(crate) fn can_happen(
        &self,
        outcome: &Outcome,
        levels: InForce,
        steps: &mut u64,
    ) -> Result<bool, TooLong> {
        let again = self.walk(outcome.headers, levels, steps)?;
        Ok(again.iter().any(|it| it.checks == outcome.checks && it.outputs == outcome.outputs))
    }

    /// The entries that some frame of `headers` hits, each with its share.
    fn hits(
        &self,
        table: u8,
        headers: Match,
        levels: InForce,
        steps: &mut u64,
    ) -> Result<Vec<(&'a Entry, Match)>, TooLong> {
        let level = if table >= TABLE_FORWARD { levels.forwarding } else { levels.admitted };
        let mut hits = Vec::new();
        for (entry, share) in self.candidates(table, headers, level, steps)? {
            let rivals = self.candidates(table, share, level, steps)?;
            let hides = |(rival, _): &(&Entry, Match)| {
                rival.precedence > entry.precedence && rival.matching.covers(share)
            };
            if !rivals.iter().any(hides) {
                hits.push((entry, share));
            }
        }
        Ok(hits)
    }

    fn candidates(
        &self,
        table: u8,
        headers: Match,
        level: usize,
        steps: &mut u64,
    ) -> Result<Vec<(&'a Entry, Match)>, TooLong> {
        let Some(table) = self.tables.get(&table) else { return Ok(vec![]) };
        let mut lists: Vec<&Vec<&'a Entry>> = Vec::new();
        match headers.udp_dst {
            Some(udp) => lists.extend(table.by_udp.get(&udp)),
            None => lists.extend(table.by_udp.values()),
        }
        match headers.eth_dst {
            Some(eth) => lists.extend(table.by_eth.get(&eth)),
            None => lists.extend(table.by_eth.values()),
        }
        match headers.in_port {
            Some(_) => {
                lists.extend(table.by_port.get(&headers.in_port));
                lists.extend(table.by_port.get(&None));
            }
            None => lists.extend(table.by_port.values()),
        }
        let mut found = Vec::new();
        for entry in lists.into_iter().flatten() {
            *steps += 1;
            if entry.level.is_none_or(|of| usize::from(of) == level) {
                found.extend(entry.matching.and(headers).map(|share| (*entry, share)));
            }
        }
        if *steps > STEPS_MAX { Err(TooLong) } else { Ok(found) }
    }
}
