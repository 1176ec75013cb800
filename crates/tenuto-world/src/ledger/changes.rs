//! Mode changes: the windows in which messages are judged by them, their terms, what was expected.

use super::summary::Sums;
use super::timeline::Change;
use super::{Ledger, ModeChangeRow, StallRow, SwitchSwap, TermRow, Violation};
use tenuto_model::Transition;

/// A stretch of time in which messages are judged by a change's bound.
pub(super) struct Window {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) change: Transition,
}

impl Window {
    /// The level at which the stretch of changes began that this window is the last of.
    fn start_level(&self, otherwise: u8) -> u8 {
        match self.change {
            Transition::Raise { from, .. } => from.min(otherwise),
            _ => otherwise,
        }
    }
}

/// A return's window opens when the first switch swaps, not with the last violation.
fn return_window(change: &Change, opened: u64) -> Window {
    let closed = change.admissions.iter().map(|a| a.1).max().unwrap_or(opened);
    Window { from_ns: opened, to_ns: closed.max(opened), change: change.change }
}

impl Ledger<'_> {
    /// The windows of one timeline's changes, in order of time.
    pub(super) fn windows(&self, changes: &[Change]) -> Vec<Window> {
        let mut windows: Vec<Window> = Vec::with_capacity(changes.len());
        for change in changes {
            let window = match change.change {
                Transition::Raise { from, to } => {
                    let before = windows.last().filter(|before| before.to_ns > change.at_ns);
                    self.raise_window(change, before.map_or(from, |b| b.start_level(from)), to)
                }
                _ => {
                    let opened = change.swaps.iter().map(|s| s.1).min().unwrap_or(change.at_ns);
                    // What a raise left behind is over when the network returns.
                    if let Some(raise) = windows.last_mut() {
                        raise.to_ns = raise.to_ns.min(opened.max(raise.from_ns));
                    }
                    return_window(change, opened)
                }
            };
            windows.push(window);
        }
        windows
    }

    /// From the trigger until the new mode's own bounds hold (theory, "Drain"). A raise on the heels
    /// of another is judged as one from where that one began.
    fn raise_window(&self, change: &Change, from: u8, to: u8) -> Window {
        let whole = Transition::Raise { from, to };
        let bound = self.plan.mode_changes.iter().find(|b| b.change == whole);
        let drain = bound.and_then(|b| b.drain_ps).map(|ps| ps.div_ceil(1_000));
        let seen = change.swaps.iter().map(|s| s.1).max().unwrap_or(change.at_ns);
        let over =
            |drain: u64| (change.at_ns + drain + self.settings.change_allowance_ns).max(seen);
        Window { from_ns: change.at_ns, to_ns: drain.map_or(u64::MAX, over), change: whole }
    }

    pub(super) fn change_bound(&self, change: Transition) -> Option<u64> {
        let bound = self.plan.mode_changes.iter().find(|b| b.change == change)?;
        Some(bound.bound_ps.div_ceil(1_000) + self.settings.change_allowance_ns)
    }

    pub(super) fn change_row(
        &self,
        change: &Change,
        end_ns: u64,
        sums: &mut Sums,
    ) -> ModeChangeRow {
        let label = change.change.label(&self.plan.network.modes);
        let (from, to) = label.split_once('>').unwrap_or((label.as_str(), ""));
        let bound_ns = self.change_bound(change.change);
        let observed_ns = change.complete_ns().map(|at| at.saturating_sub(change.at_ns));
        let is_late = match (observed_ns, bound_ns) {
            (Some(observed), Some(bound)) => observed > bound,
            (None, Some(bound)) => {
                end_ns.saturating_sub(change.at_ns) > bound && !change.is_overtaken
            }
            _ => false,
        };
        if is_late {
            let to_ns = change.at_ns + observed_ns.or(bound_ns).unwrap_or(0);
            match self.switch_stall(change.at_ns, to_ns) {
                Some(stall) => {
                    sums.undecided_changes += 1;
                    sums.undecided_by(stall);
                }
                None => {
                    let late = self.late_change(change, &label, observed_ns, bound_ns);
                    sums.violated(late, self.is_explained(change.at_ns, to_ns));
                }
            }
        }
        ModeChangeRow {
            from: from.into(),
            to: to.into(),
            trigger: self.trigger_words(change),
            at_ns: self.since_start(change.at_ns),
            observed_ns,
            bound_ns,
            purged_frames: change.swaps.iter().map(|s| u64::from(s.2)).sum(),
            terms: self.term_rows(change, observed_ns, bound_ns),
            switches: self.swap_rows(change),
        }
    }

    fn late_change(
        &self,
        change: &Change,
        label: &str,
        observed_ns: Option<u64>,
        bound_ns: Option<u64>,
    ) -> Violation {
        Violation {
            kind: "mode_change".into(),
            flow: None,
            target: None,
            mode: Some(label.to_owned()),
            at_ns: self.since_start(change.at_ns),
            observed: observed_ns,
            bound: bound_ns,
            note: match observed_ns {
                Some(_) => "the last switch swapped after the bound".into(),
                None if change.swaps.is_empty() => "no switch has returned".into(),
                None => {
                    let (seen, all) = (change.swaps.len(), change.members);
                    format!("not every switch swapped: {seen} of {all}")
                }
            },
            is_explained: false,
        }
    }

    fn swap_rows(&self, change: &Change) -> Vec<SwitchSwap> {
        let admitted = |switch: &String| change.admissions.iter().find(|a| a.0 == *switch);
        let row = |(switch, at, purged, took): &(String, u64, u32, u64)| SwitchSwap {
            switch: switch.clone(),
            at_ns: self.since_start(*at),
            purged_frames: *purged,
            took_ns: *took,
            admitted_at_ns: admitted(switch).map(|a| self.since_start(a.1)),
        };
        change.swaps.iter().map(row).collect()
    }

    fn term_rows(
        &self,
        change: &Change,
        observed_ns: Option<u64>,
        bound_ns: Option<u64>,
    ) -> Vec<TermRow> {
        let Some(bound) = self.plan.mode_changes.iter().find(|b| b.change == change.change) else {
            return Vec::new();
        };
        let took = change.swaps.iter().map(|s| s.3).max();
        let quiet = bound.terms.iter().find(|t| t.name == "quiet");
        let quiet = quiet.map_or(0, |t| t.bound_ps.div_ceil(1_000));
        let observed = |name: &str| match name {
            // At a return the signals' ways and the leader's poll cannot be told apart.
            "D_arrange" if quiet > 0 => observed_ns.map(|o| o.saturating_sub(quiet)),
            "D_arrange" => observed_ns.map(|o| o.saturating_sub(took.unwrap_or(0))),
            "quiet" => observed_ns.map(|o| o.min(quiet)),
            // Updating and purging happen in one step, which is timed as a whole.
            "D_update" => took,
            _ => None,
        };
        let is_kept = observed_ns.zip(bound_ns).is_some_and(|(seen, bound)| seen <= bound);
        let row = |term: &tenuto_model::ModeChangeTerm| {
            let (observed_ns, bound_ns) = (observed(&term.name), term.bound_ps.div_ceil(1_000));
            let is_above_share = is_kept && observed_ns.is_some_and(|seen| seen > bound_ns);
            TermRow { name: term.name.clone(), observed_ns, bound_ns, is_above_share }
        };
        bound.terms.iter().map(row).collect()
    }

    fn trigger_words(&self, change: &Change) -> String {
        let Some((switch, monitor)) = &change.trigger else {
            return match change.change {
                Transition::Return { .. } => "quiet".into(),
                _ => "unknown".into(),
            };
        };
        let deployed = self.plan.switches.iter().find(|d| d.switch == *switch);
        let spec = deployed.and_then(|d| d.monitors.iter().find(|m| m.id == *monitor));
        match spec {
            Some(spec) => format!("{}, seen by {switch}", spec.flow),
            None => format!("monitor {monitor} of {switch}"),
        }
    }

    /// Whether every change came and went as the scenario says.
    pub(super) fn check_expectations(&self, changes: &[Change], sums: &mut Sums) {
        let complete = |c: &&Change| c.complete_ns().is_some();
        let raises = changes.iter().filter(|c| matches!(c.change, Transition::Raise { .. }));
        let returns = changes.iter().filter(|c| matches!(c.change, Transition::Return { .. }));
        let expect = self.settings.played.expect;
        let counted = [
            ("raise", expect.raises, raises.filter(complete).count()),
            ("return", expect.returns, returns.filter(complete).count()),
        ];
        for (what, expected, seen) in counted {
            let Some(expected) = expected.filter(|n| *n as usize != seen) else { continue };
            let by_stall = changes.iter().find_map(|change| self.trigger_stall(change));
            if let Some(stall) = by_stall {
                sums.undecided_changes += 1;
                sums.undecided_by(stall);
                continue;
            }
            let violation = Violation {
                kind: "expectation".into(),
                flow: None,
                target: None,
                mode: None,
                at_ns: 0,
                observed: Some(seen as u64),
                bound: Some(u64::from(expected)),
                note: format!("{} seen where the scenario expects {expected}", were(seen, what)),
                is_explained: false,
            };
            sums.violated(violation, self.has_lasting_death());
        }
    }

    /// A stall that may have made a conforming flow look like one that asks for a raise.
    fn trigger_stall(&self, change: &Change) -> Option<&StallRow> {
        let (switch, monitor) = change.trigger.as_ref()?;
        let deployed = self.plan.switches.iter().find(|d| d.switch == *switch)?;
        let spec = deployed.monitors.iter().find(|m| m.id == *monitor)?;
        let flow = self.plan.network.flow(&spec.flow)?;
        let period = flow.contracts.iter().map(|c| c.period_ns).max().unwrap_or(0);
        let from = change.at_ns.saturating_sub(period);
        self.stalled(from, change.at_ns, |node| node == switch || node == flow.source)
    }
}

/// `1 return was`, `3 returns were`.
fn were(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what} was"),
        n => format!("{n} {what}s were"),
    }
}
