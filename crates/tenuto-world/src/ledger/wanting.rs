//! What a run did not show: flows of which nothing was observed, rows that were not exercised,
//! events that were not played; and who was gone.

use super::summary::{Sums, seconds};
use super::{Ending, EventRow, FlowRow, Ledger, UnobservedRow, Unseen};
use std::collections::BTreeSet;
use std::fmt::Write;
use tenuto_model::{Expect, Flow, Verdict};
use tenuto_units::counted;

impl Ledger<'_> {
    /// Whether a message that is missing, as it showed at this time of the run's clock, may have arrived
    /// and not been told.
    pub(super) fn may_be_unseen(&self, at_ns: u64) -> bool {
        let at_ns = self.since_start(at_ns);
        self.unseen.iter().any(|unseen| unseen.at_ns <= at_ns)
    }

    /// The reasons that lie in who lived and what was seen.
    pub(super) fn conclude(&self, rows: &[FlowRow], sums: &mut Sums) {
        if sums.is_comparison {
            let what = "is refused: nothing was promised";
            sums.reason(Verdict::Comparison, "the network", what, None);
        }
        for death in &self.deaths {
            sums.reason(Verdict::Broken, &death.who, &death.what, Some(death.at_ns));
        }
        if let Some((at_ns, Ending::Stopped)) = self.ended_early {
            let what = format!("stopped the run{}", self.of_whole());
            sums.reason(Verdict::Stopped, "the user", what, Some(self.since_start(at_ns)));
        }
        sums.conclude_undecided();
        self.conclude_standstills(sums);
        self.conclude_unseen(sums);
        self.conclude_late(rows, sums);
        self.conclude_unobserved(rows, sums);
        self.conclude_typical(sums);
        sums.shortened = self.shortened();
    }

    /// A node that stood still for longer than any message through it may take.
    fn conclude_standstills(&self, sums: &mut Sums) {
        let mut told = BTreeSet::new();
        for stall in &self.stalls {
            let longest = self.longest_bound_through(&stall.node);
            if longest.is_some_and(|bound| stall.length_ns > bound) && told.insert(&stall.node) {
                let ms = stall.length_ns / 1_000_000;
                let what = format!("stood still for {ms} ms, longer than any bound through it");
                sums.reason(Verdict::Undecided, &stall.node, what, Some(stall.at_ns));
            }
        }
    }

    /// Nothing is kept where not everything that was seen is known.
    fn conclude_unseen(&self, sums: &mut Sums) {
        for Unseen { node, lines, at_ns } in &self.unseen {
            let what = format!("could not tell {lines} of the things that it saw");
            sums.reason(Verdict::Undecided, node, what, Some(*at_ns));
        }
    }

    fn longest_bound_through(&self, node: &str) -> Option<u64> {
        let flows = (0_u16..).zip(&self.plan.network.flows);
        let targets = flows.flat_map(|(index, flow)| {
            (0..).zip(&flow.targets).map(move |(place, target)| (index, place, &target.host))
        });
        let through =
            targets.filter(|(index, place, _)| self.paths.passes((*index).into(), *place, node));
        through.filter_map(|(index, _, target)| self.widest_bound(index, target)).max()
    }

    fn conclude_late(&self, rows: &[FlowRow], sums: &mut Sums) {
        for row in rows.iter().filter(|row| row.late > 0) {
            let who = format!("{} to {} in {}", row.flow, row.target, row.mode);
            let seen = seconds(row.observed_delay_ns_max.unwrap_or(0)) * 1e3;
            let deadline = seconds(row.deadline_ns) * 1e3;
            let what = format!("{} late, {seen:.3} of {deadline:.3} ms", row.late);
            sums.late += row.late;
            // A refused network is late by itself.
            if !sums.is_comparison {
                sums.reason(Verdict::Late, who, what, None);
            }
        }
    }

    fn conclude_unobserved(&self, rows: &[FlowRow], sums: &mut Sums) {
        for (host, &(released, refused)) in &self.programs {
            if released == 0 && refused > 0 {
                let what = format!("had all {} of its program refused", counted(refused, "frame"));
                sums.reason(Verdict::NothingObserved, host, what, None);
            }
        }
        let played = &self.settings.played;
        let is_seen = |flow: &Flow, target: &str| {
            rows.iter()
                .any(|it| it.flow == flow.name && it.target == target && it.sent > it.in_flight)
        };
        let due = played.sends.iter().filter(|flow| !self.taken_over.contains(flow));
        let flows = due.filter_map(|flow| self.plan.network.flows.get(usize::from(*flow)));
        for flow in flows {
            for target in flow.targets.iter().filter(|it| !is_seen(flow, &it.host)) {
                let who = format!("{} to {}", flow.name, target.host);
                sums.reason(Verdict::NothingObserved, who, "was not seen", None);
            }
        }
        let has_reason = sums.reasons.iter().any(|it| it.verdict == Verdict::NothingObserved);
        if rows.iter().all(|row| row.sent == row.in_flight) && !has_reason {
            sums.reason(Verdict::NothingObserved, "the run", "showed no message", None);
        }
    }

    fn conclude_typical(&self, sums: &mut Sums) {
        if self.plan.modelled {
            let what = "rests on typical times, not worst ones; nothing is guaranteed";
            sums.reason(Verdict::Modelled, "the plan", what, None);
        }
    }

    /// Rows of the plan without a message.
    pub(super) fn not_observed(&self, rows: &[FlowRow]) -> Vec<UnobservedRow> {
        let label = |row: &tenuto_model::FlowBound| row.mode.label(&self.plan.network.modes);
        let seen: BTreeSet<(&str, &str, &str)> = rows
            .iter()
            .filter(|row| row.sent > row.in_flight)
            .map(|row| (row.flow.as_str(), row.target.as_str(), row.mode.as_str()))
            .collect();
        let rows = self.plan.flows.iter().map(|row| UnobservedRow {
            flow: row.flow.clone(),
            target: row.target.clone(),
            mode: label(row),
        });
        rows.filter(|it| !seen.contains(&(it.flow.as_str(), it.target.as_str(), it.mode.as_str())))
            .collect()
    }

    /// Until when the scenario was played, nanoseconds after traffic started.
    fn played_ns(&self) -> u64 {
        let play_ns = self.settings.played.play_ns;
        self.ended_early.map_or(play_ns, |(at_ns, _)| self.since_start(at_ns).min(play_ns))
    }

    /// Events that were not played, in order of time.
    pub(super) fn not_played(&self) -> Vec<EventRow> {
        let until_ns = self.played_ns();
        let events = &self.settings.played.events;
        let after = events.iter().filter(|(at_ns, _)| *at_ns > until_ns);
        let after = after.map(|(at_ns, text)| EventRow {
            at_ns: *at_ns,
            text: text.clone(),
            tolerated: None,
        });
        let mut all: Vec<EventRow> = self.not_played.iter().cloned().chain(after).collect();
        all.sort_by_key(|event| event.at_ns);
        all
    }

    /// Why what the scenario expects is not judged; `None` where it is, or nothing is expected.
    pub(super) fn expect_not_judged(&self) -> Option<String> {
        let played = &self.settings.played;
        if played.expect == Expect::default() || self.played_ns() >= played.whole_ns {
            return None;
        }
        let how = match self.ended_early {
            Some((_, Ending::Stopped)) => "stopped",
            Some((_, Ending::Lost)) => "lost",
            None => "cut",
        };
        Some(format!("the run was {how}{}", self.of_whole()))
    }

    /// ` at 5.000 s of 20.000 s`; empty where the length of the scenario is not known.
    fn of_whole(&self) -> String {
        let whole_ns = self.settings.played.whole_ns;
        if whole_ns == 0 {
            return String::new();
        }
        format!(" at {:.3} s of {:.3} s", seconds(self.played_ns()), seconds(whole_ns))
    }

    /// How the run was shorter than its scenario, for the end of the last line.
    fn shortened(&self) -> String {
        let (played, mut out) = (&self.settings.played, String::new());
        if self.played_ns() < played.whole_ns {
            let _ = write!(out, "; ended{}", self.of_whole());
        }
        let not_played = self.not_played().len();
        if not_played > 0 {
            let _ = write!(out, "; {} not played", counted(not_played as u64, "event"));
        }
        if self.expect_not_judged().is_some() {
            out.push_str("; what the scenario expects was not judged");
        }
        out
    }
}
