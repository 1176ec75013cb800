//! What `sim --campaign --json` says.

use super::command::replay;
use crate::header::Header;
use crate::outcome::Outcome;
use serde::Serialize;
use std::collections::BTreeMap;
use tenuto_model::{Plan, Verdict};
use tenuto_world::campaign::{Finding, Invariant, Reach, Tally};

/// All cases of a campaign together.
#[derive(Debug, Serialize)]
pub(crate) struct Document {
    #[serde(flatten)]
    pub(crate) header: Header,
    /// Name of the network.
    pub(crate) network: String,
    /// Whether faults beyond the fault model were drawn too: then no bound was held against what was seen.
    pub(crate) is_beyond: bool,
    /// The least seed; those that follow are the others.
    pub(crate) first_seed: u64,
    /// Cases that were run.
    pub(crate) cases: u64,
    /// Cases that break an invariant.
    pub(crate) broken_cases: u64,
    /// Virtual time of all cases, nanoseconds.
    pub(crate) simulated_ns: u64,
    /// Frames handed over in all cases.
    pub(crate) packet_hops: u64,
    /// Messages sent, by flow and target.
    pub(crate) sent: u64,
    /// Of these received.
    pub(crate) received: u64,
    /// Mode changes.
    pub(crate) mode_changes: u64,
    /// Longest of each mode change.
    pub(crate) longest_changes: Vec<CampaignChangeRow>,
    /// Cases by verdict of their run.
    pub(crate) runs: BTreeMap<String, u64>,
    /// Events that were drawn, by kind.
    pub(crate) events: BTreeMap<String, u64>,
    /// The worst of every row, flows of misbehaving hosts left out.
    pub(crate) rows: Vec<CampaignRow>,
    /// Cases that break an invariant: at most 20, those of the least seeds.
    pub(crate) findings: Vec<FindingRow>,
}

/// The longest mode change of its kind.
#[derive(Debug, Serialize)]
pub(crate) struct CampaignChangeRow {
    /// Mode before.
    pub(crate) from: String,
    /// Mode after.
    pub(crate) to: String,
    /// The longest, nanoseconds.
    pub(crate) observed_ns_max: u64,
    /// Bound, nanoseconds.
    pub(crate) bound_ns: Option<u64>,
}

/// The worst of a row of the plan.
#[derive(Debug, Serialize)]
pub(crate) struct CampaignRow {
    /// Flow.
    pub(crate) flow: String,
    /// Target.
    pub(crate) target: String,
    /// Mode, or `LO>HI`.
    pub(crate) mode: String,
    /// Messages received.
    pub(crate) received: u64,
    /// Largest delay, nanoseconds.
    pub(crate) observed_delay_ns_max: Option<u64>,
    /// Bound, nanoseconds; null if unbounded.
    pub(crate) delay_bound_ns: Option<u64>,
    /// The least seed that shows the largest delay.
    pub(crate) seed: u64,
}

/// A case that breaks an invariant.
#[derive(Debug, Serialize)]
pub(crate) struct FindingRow {
    /// Its seed.
    pub(crate) seed: u64,
    /// What it breaks.
    pub(crate) broken: Vec<BrokenRow>,
    /// The command that repeats it.
    pub(crate) command: String,
}

/// An invariant that a case breaks.
#[derive(Debug, Serialize)]
pub(crate) struct BrokenRow {
    /// Which.
    pub(crate) invariant: Invariant,
    /// What was seen, beside what was promised.
    pub(crate) what: String,
}

impl Document {
    /// How the verb ends.
    pub(crate) fn outcome(&self) -> Outcome {
        let is_modelled = self.runs.contains_key(Verdict::Modelled.word());
        if self.broken_cases > 0 {
            Outcome::Bad
        } else if self.received == 0 || is_modelled {
            Outcome::Undecidable
        } else {
            Outcome::Good
        }
    }
}

/// The document of a campaign.
pub(crate) fn of(plan: &Plan, reach: Reach, first_seed: u64, tally: &Tally) -> Document {
    let owned = |counts: &BTreeMap<&'static str, u64>| {
        counts.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect()
    };
    let mut document = Document {
        header: Header::new("tenuto-campaign/1", "kept"),
        network: plan.network.name.clone(),
        is_beyond: reach == Reach::Beyond,
        first_seed,
        cases: tally.cases,
        broken_cases: tally.broken,
        simulated_ns: tally.simulated_ns,
        packet_hops: tally.packet_hops,
        sent: tally.sent,
        received: tally.received,
        mode_changes: tally.mode_changes,
        longest_changes: changes(tally),
        runs: owned(&tally.verdicts),
        events: owned(&tally.events),
        rows: rows(tally),
        findings: tally.findings.values().map(finding).collect(),
    };
    let word = match document.outcome() {
        Outcome::Bad => Verdict::Violated,
        Outcome::Good => Verdict::Kept,
        _ if document.received == 0 => Verdict::NothingObserved,
        _ => Verdict::Modelled,
    };
    document.header = Header::new("tenuto-campaign/1", word.word())
        .world("simulated")
        .seed(Some(first_seed))
        .plan_hash(&plan.plan_hash);
    document
}

fn changes(tally: &Tally) -> Vec<CampaignChangeRow> {
    let longest = tally.longest_change.iter();
    let row =
        |((from, to), &(observed_ns_max, bound_ns)): (&(String, String), &(u64, Option<u64>))| {
            CampaignChangeRow { from: from.clone(), to: to.clone(), observed_ns_max, bound_ns }
        };
    longest.map(row).collect()
}

fn rows(tally: &Tally) -> Vec<CampaignRow> {
    let rows = tally.rows.iter().map(|((flow, target, mode), seen)| CampaignRow {
        flow: flow.clone(),
        target: target.clone(),
        mode: mode.clone(),
        received: seen.received,
        observed_delay_ns_max: seen.delay_ns_max,
        delay_bound_ns: seen.bound_ns,
        seed: seen.seed,
    });
    rows.collect()
}

fn finding(it: &Finding) -> FindingRow {
    let broken = it.broken.iter();
    let row = |it: &tenuto_world::campaign::Broken| BrokenRow {
        invariant: it.invariant,
        what: it.what.clone(),
    };
    FindingRow { seed: it.seed, broken: broken.map(row).collect(), command: replay(it.seed) }
}
