//! What is gone beyond what is tolerated, since when and until when, and what that explains.
//!
//! Nothing is promised outside the fault model (docs/theory/observation.md, "The verdict"). A cut link
//! that is healed explains what was under way while it was cut. It explains everything after it, too, if the
//! mode changed meanwhile: signals that were lost with it may have left switches in different modes.

use super::Ledger;
use super::changes::Window;
use super::death::Death;
use super::timeline::{Change, Timeline};

impl Ledger<'_> {
    /// Settles until when deaths explain, once all mode changes are known.
    pub(super) fn settle_deaths(&mut self, windows: &[Window]) {
        self.deaths.sort_by_key(|death| death.at_ns);
        let (settle_ns, start_ns) = (self.settle_ns(), self.settings.start_ns);
        for death in &mut self.deaths {
            death.until_ns = death.until_ns.map(|until| until.saturating_add(settle_ns));
            let touches = |window: &Window| {
                let from = window.from_ns.saturating_sub(start_ns);
                death.explains(from, window.to_ns.saturating_sub(start_ns))
            };
            if windows.iter().any(touches) {
                death.until_ns = None;
            }
        }
    }

    /// Whether something that began and showed at these times of the run's clock may be the work of a
    /// death, or was seen by somebody who could not tell.
    pub(super) fn is_explained(&self, began_ns: u64, showed_ns: u64) -> bool {
        let is_untold = self.told_until_ns.is_some_and(|until_ns| until_ns <= showed_ns);
        let (from, to) = (self.since_start(began_ns), self.since_start(showed_ns));
        is_untold || self.deaths.iter().any(|death| death.explains(from, to))
    }

    /// Whether something is gone, or explains what comes after it, to the end of the run.
    pub(super) fn has_lasting_death(&self) -> bool {
        self.deaths.iter().any(|death| death.until_ns.is_none())
    }

    /// After so long nothing is under way any more: the largest bound of any row.
    fn settle_ns(&self) -> u64 {
        let rows = self.plan.flows.iter();
        let bound = rows.filter_map(|row| row.delay_bound_ps).max().unwrap_or(0).div_ceil(1_000);
        let allowance = self.settings.host_allowance_ns.values().max().copied().unwrap_or(0);
        bound.saturating_add(allowance)
    }

    /// One mode change of one redundant network bears as many lost signals as the plan says, over all its
    /// links together. What is lost before no change was never sent.
    pub(super) fn too_many_signals_lost(
        &self,
        timeline: &Timeline,
        changes: &[Change],
    ) -> Vec<Death> {
        let own = self.signals_lost.iter().filter(|loss| timeline.knows(&loss.switch));
        let mut losses: Vec<_> = own.collect();
        losses.sort_by_key(|loss| loss.at_ns);
        let mut losses = losses.into_iter().peekable();
        let tolerated = self.plan.network.tolerates.lost_signals;
        let mut deaths = Vec::new();
        for change in changes {
            let ended_ns = self.since_start(change.complete_ns().unwrap_or(u64::MAX));
            let mut lost = 0_u32;
            while let Some(loss) = losses.next_if(|loss| loss.at_ns <= ended_ns) {
                let before = lost;
                lost = lost.saturating_add(loss.frames);
                if before <= tolerated && lost > tolerated {
                    deaths.push(Death {
                        who: loss.who.clone(),
                        what: "loses more mode signals than is tolerated".into(),
                        at_ns: loss.at_ns.max(self.since_start(change.at_ns)),
                        until_ns: None,
                    });
                }
            }
        }
        deaths
    }
}
