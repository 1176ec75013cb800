//! A change of several switches, all of it or nothing.
//!
//! ```text
//!  adding:    what is new, beside what is old, from the switches next to destinations to those next to sources
//!  removing:  what is old, from the switches next to sources on
//!  undoing:   if a switch refuses in between: all of them back to what they had
//! ```
//!
//! So a frame of a new flow finds its way on wherever it has come to, and one of a flow that goes is dropped at
//! its first switch and nowhere behind it. A switch that is not there, or had failed before, is not waited for: it is
//! brought to what is wanted when it comes.

use super::Controller;
use crate::change::{Change, Stage};
use crate::compile::ModeSettings;
use crate::events::ControllerEvent;
use crate::outcome::InstallFailure;
use crate::target::Target;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_model::SwitchDeployment;
use tenuto_units::Instant;

impl Controller {
    /// Whether a change is under way.
    pub const fn is_changing(&self) -> bool {
        self.change.is_some()
    }

    /// Wants other deployments of the same switches under the same modes, all or none of them: should a switch refuse,
    /// every switch goes back to what it had, and [`ControllerEvent::ChangeRefused`] says which it was.
    /// `nearest` names switches by how near they are to where changed flows go, destinations first;
    /// the others come last. `false` while a change is under way: nothing is begun.
    pub fn change(
        &mut self,
        now: Instant,
        deployments: &[SwitchDeployment],
        modes: &ModeSettings,
        nearest: &[Vec<u64>],
    ) -> bool {
        if self.change.is_some() {
            return false;
        }
        self.is_ready = false;
        let dpids: Vec<u64> = self.members.by_dpid.keys().copied().collect();
        let members = self.members.by_dpid.iter();
        let old = members.clone().map(|(dpid, it)| (*dpid, it.target.clone())).collect();
        let is_there = |(dpid, it): (&u64, &crate::members::Member)| {
            (it.conn.is_some() && it.is_installed).then_some(*dpid)
        };
        let taking_part: BTreeSet<u64> = members.filter_map(is_there).collect();
        let new: BTreeMap<u64, Target> =
            super::targets(&dpids, deployments, modes, self.watches_links).collect();
        self.members.set_modes(modes.clone());
        for (dpid, member) in &mut self.members.by_dpid {
            if let Some(target) = new.get(dpid) {
                member.target = target.clone();
            }
        }
        let (waves, awaited) = (waves(&dpids, nearest), BTreeSet::new());
        self.change =
            Some(Change { stage: Stage::Adding, waves, begun: 0, awaited, taking_part, old, new });
        // Those that do not take part have one step only: they are connecting, or had failed.
        self.restart_others(now, &dpids);
        self.go_on(now);
        true
    }

    fn restart_others(&mut self, now: Instant, dpids: &[u64]) {
        for &dpid in dpids {
            let takes_part = self.change.as_ref().is_some_and(|it| it.taking_part.contains(&dpid));
            if takes_part {
                continue;
            }
            let target = self.members.by_dpid.get(&dpid).map(|member| member.target.clone());
            let Some(target) = target else { continue };
            self.give(now, dpid, target, false);
        }
    }

    /// Begins waves until one has to be waited for, or the change is over.
    fn go_on(&mut self, now: Instant) {
        while let Some(change) = &mut self.change
            && change.awaited.is_empty()
        {
            match change.next_wave() {
                Some(wave) => self.begin(now, &wave),
                None if change.stage == Stage::Adding => {
                    (change.stage, change.begun) = (Stage::Removing, 0);
                }
                None => {
                    self.change = None;
                    self.check_ready();
                }
            }
        }
    }

    fn begin(&mut self, now: Instant, wave: &[u64]) {
        let Some(change) = &mut self.change else { return };
        let stage = change.stage;
        let wave: Vec<u64> =
            wave.iter().copied().filter(|dpid| change.taking_part.contains(dpid)).collect();
        change.awaited.extend(&wave);
        for dpid in wave {
            // One of the wave may have refused at once.
            let change = self.change.as_ref().filter(|it| it.stage == stage);
            let Some((target, keeps_old)) = change.and_then(|it| it.target(dpid)) else { return };
            self.give(now, dpid, target, keeps_old);
        }
    }

    fn give(&mut self, now: Instant, dpid: u64, target: Target, keeps_old: bool) {
        let Some(conn) = self.members.by_dpid.get(&dpid).and_then(|member| member.conn) else {
            return;
        };
        if let Some((_, installer)) =
            self.channels.get_mut(&conn).and_then(|channel| channel.switch.as_mut())
        {
            installer.change_to(target, keeps_old);
            self.work(now, conn);
        }
    }

    /// A switch has what it was given; whether more of a change follows at it.
    pub(super) fn changed(&mut self, now: Instant, dpid: u64) -> bool {
        let Some(change) = &mut self.change else { return false };
        if !change.awaited.remove(&dpid) {
            return false;
        }
        let more = change.stage == Stage::Adding;
        self.go_on(now);
        more
    }

    /// A switch refused, or does not answer: if it takes part, all go back.
    pub(super) fn change_failed(&mut self, now: Instant, dpid: u64, failure: &InstallFailure) {
        let Some(change) = &mut self.change else { return };
        if !change.taking_part.contains(&dpid) {
            return;
        }
        if let Some(member) = self.members.by_dpid.get_mut(&dpid) {
            member.is_installed = false;
        }
        if change.stage == Stage::Undoing {
            // It stays failed, and the next audit tries it again.
            return self.change_lost(now, dpid);
        }
        (change.stage, change.begun) = (Stage::Undoing, 0);
        change.awaited.clear();
        for (dpid, member) in &mut self.members.by_dpid {
            if let Some(target) = change.old.get(dpid) {
                member.target = target.clone();
            }
        }
        self.tell(ControllerEvent::ChangeRefused { dpid, failure: failure.clone() });
        let dpids: Vec<u64> = self.members.by_dpid.keys().copied().collect();
        self.restart_others(now, &dpids);
        self.go_on(now);
    }

    /// A switch is gone: nothing of it is waited for.
    pub(super) fn change_lost(&mut self, now: Instant, dpid: u64) {
        if let Some(change) = &mut self.change {
            change.taking_part.remove(&dpid);
            if change.awaited.remove(&dpid) {
                self.go_on(now);
            }
        }
    }
}

/// Every switch once, those that are named in their order and the others behind them.
fn waves(dpids: &[u64], nearest: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let mut left: BTreeSet<u64> = dpids.iter().copied().collect();
    let mut waves: Vec<Vec<u64>> = Vec::new();
    for wave in nearest {
        waves.push(wave.iter().copied().filter(|dpid| left.remove(dpid)).collect());
    }
    waves.push(left.into_iter().collect());
    waves.retain(|wave| !wave.is_empty());
    waves
}
