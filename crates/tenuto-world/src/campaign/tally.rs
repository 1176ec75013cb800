//! What many cases showed together, in memory that does not grow with their number.

use super::{Broken, Ran};
use crate::FlowRow;
use std::collections::BTreeMap;
use tenuto_model::{EventAction, Scenario, Verdict};

/// Findings that are kept: those of the least seeds.
const FINDINGS_MAX: usize = 20;

/// The worst that was seen of a row of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTally {
    /// Messages received.
    pub received: u64,
    /// Largest delay, nanoseconds.
    pub delay_ns_max: Option<u64>,
    /// The least seed that shows it.
    pub seed: u64,
    /// Its bound, nanoseconds.
    pub bound_ns: Option<u64>,
}

/// A case that breaks an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its seed.
    pub seed: u64,
    /// What it breaks.
    pub broken: Vec<Broken>,
}

/// What cases showed. Sums and extremes: the order of the cases changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cases.
    pub cases: u64,
    /// Messages sent, by flow and target.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Frames handed over.
    pub packet_hops: u64,
    /// Virtual time, nanoseconds.
    pub simulated_ns: u64,
    /// Mode changes.
    pub mode_changes: u64,
    /// The longest of each change, nanoseconds, with its bound, by modes.
    pub longest_change: BTreeMap<(String, String), (u64, Option<u64>)>,
    /// Events by kind.
    pub events: BTreeMap<&'static str, u64>,
    /// Cases by verdict of the ledger.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Rows by flow, target and mode.
    pub rows: BTreeMap<(String, String, String), RowTally>,
    /// Cases that break an invariant.
    pub broken: u64,
    /// The first of these by seed.
    pub findings: BTreeMap<u64, Finding>,
}

impl Tally {
    /// Counts a case.
    pub fn count(&mut self, seed: u64, ran: &Ran) {
        let run = &ran.document;
        self.cases += 1;
        self.packet_hops += run.packet_hops;
        self.simulated_ns = self.simulated_ns.saturating_add(run.duration_ns);
        self.mode_changes += run.mode_changes.len() as u64;
        *self.verdicts.entry(Verdict::word(run.verdict)).or_default() += 1;
        for change in &run.mode_changes {
            let key = (change.from.clone(), change.to.clone());
            let longest = self.longest_change.entry(key).or_insert((0, change.bound_ns));
            longest.0 = longest.0.max(change.observed_ns.unwrap_or(0));
        }
        self.count_events(&ran.scenario);
        for row in &run.flows {
            self.count_row(seed, row);
        }
        if !ran.broken.is_empty() {
            self.broken += 1;
            self.keep(Finding { seed, broken: ran.broken.clone() });
        }
    }

    fn count_events(&mut self, scenario: &Scenario) {
        for event in &scenario.events {
            if let Some(kind) = kind(&event.action) {
                *self.events.entry(kind).or_default() += 1;
            }
        }
    }

    fn count_row(&mut self, seed: u64, row: &FlowRow) {
        self.sent += row.sent;
        self.received += row.received;
        if row.is_misbehaving {
            return;
        }
        let key = (row.flow.clone(), row.target.clone(), row.mode.clone());
        let seen = RowTally {
            received: row.received,
            delay_ns_max: row.observed_delay_ns_max,
            seed,
            bound_ns: row.delay_bound_ns,
        };
        self.rows.entry(key).and_modify(|it| it.join(&seen)).or_insert(seen);
    }

    fn keep(&mut self, finding: Finding) {
        self.findings.insert(finding.seed, finding);
        if self.findings.len() > FINDINGS_MAX {
            self.findings.pop_last();
        }
    }

    /// Takes in what other cases showed.
    pub fn join(&mut self, other: Self) {
        self.cases += other.cases;
        self.sent += other.sent;
        self.received += other.received;
        self.packet_hops += other.packet_hops;
        self.simulated_ns = self.simulated_ns.saturating_add(other.simulated_ns);
        self.mode_changes += other.mode_changes;
        self.broken += other.broken;
        for (key, (seen, bound)) in other.longest_change {
            let longest = self.longest_change.entry(key).or_insert((0, bound));
            longest.0 = longest.0.max(seen);
        }
        for (kind, count) in other.events {
            *self.events.entry(kind).or_default() += count;
        }
        for (word, count) in other.verdicts {
            *self.verdicts.entry(word).or_default() += count;
        }
        for (key, seen) in other.rows {
            self.rows.entry(key).and_modify(|it| it.join(&seen)).or_insert(seen);
        }
        other.findings.into_values().for_each(|finding| self.keep(finding));
    }
}

impl RowTally {
    fn join(&mut self, other: &Self) {
        self.received += other.received;
        let is_larger = other.delay_ns_max > self.delay_ns_max;
        let is_earlier = other.delay_ns_max == self.delay_ns_max && other.seed < self.seed;
        if is_larger || is_earlier {
            (self.delay_ns_max, self.seed) = (other.delay_ns_max, other.seed);
        }
    }
}

/// What an event counts as; `None` for what every case does.
const fn kind(action: &EventAction) -> Option<&'static str> {
    Some(match action {
        EventAction::Behave { .. } => "behave",
        EventAction::Oversend { .. } => "oversend",
        EventAction::StartFlow { .. } | EventAction::StopFlow { .. } => return None,
        EventAction::Babble { .. } => "babble",
        EventAction::Garbage { .. } => "garbage",
        EventAction::Forge { .. } => "forge",
        EventAction::CutLink { .. } => "cut_link",
        EventAction::HealLink { .. } => "heal_link",
        EventAction::KillNode { .. } => "kill_node",
        EventAction::StopNode { .. } => "stop_node",
        EventAction::StartNode { .. } => "start_node",
        EventAction::LoseSignals { .. } => "lose_signals",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Invariant;

    fn of(seeds: impl Iterator<Item = u64>) -> Tally {
        let mut tally = Tally::default();
        for seed in seeds {
            let broken = vec![Broken::new(Invariant::Repeat, "drawn")];
            tally.keep(Finding { seed, broken });
            let seen =
                RowTally { received: 1, delay_ns_max: Some(seed % 7), seed, bound_ns: Some(9) };
            let key = ("f".into(), "t".into(), "m".into());
            tally.rows.entry(key).and_modify(|it| it.join(&seen)).or_insert(seen);
        }
        tally
    }

    /// However cases are shared out, what they show together is the same, and no more than so many are kept.
    #[test]
    fn the_order_of_cases_changes_nothing() {
        let whole = of(0..100);
        assert_eq!(whole.findings.keys().copied().collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
        let mut joined = of((0..100).rev().filter(|seed| seed % 3 == 0));
        joined.join(of((0..100).rev().filter(|seed| seed % 3 != 0)));
        assert_eq!(joined, whole);
        let row = whole.rows.values().next().expect("a row");
        assert_eq!((row.received, row.delay_ns_max, row.seed), (100, Some(6), 6));
    }
}
