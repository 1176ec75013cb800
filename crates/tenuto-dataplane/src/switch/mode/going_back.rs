//! Going back to a lower level: propose, vote, commit, confirm, resume (see [`super`]).

use super::{ModeAction, ModeAgent, Phase, is_mutant};
use tenuto_units::Instant;
use tenuto_wire::{SignalKind, SignalRepr};

impl ModeAgent {
    pub(super) fn quiet_for(&self, now: Instant, level: u8) -> bool {
        self.excess_at[usize::from(level)] + self.config.quiet <= now
    }

    /// When the quiet window for some lower level will have passed.
    pub(super) fn quiet_at(&self) -> Instant {
        let lower = &self.excess_at[..usize::from(self.level)];
        lower.iter().min().map_or(Instant::MAX, |&at| at + self.config.quiet)
    }

    /// The lowest level for which all was quiet.
    fn quiet_level(&self, now: Instant) -> Option<u8> {
        (0..self.level).find(|&level| self.quiet_for(now, level))
    }

    pub(super) fn propose(&mut self, now: Instant, actions: &mut Vec<ModeAction>) {
        let Some(to) = self.quiet_level(now) else {
            self.phase = Phase::Steady;
            return;
        };
        let epoch = self.epoch_seen.max(self.epoch) + 1;
        self.epoch_seen = epoch;
        let mut votes = self.member_bit(self.me);
        if is_mutant!(self, CommitWithoutVotes) {
            votes = self.all_members();
        }
        self.phase = Phase::Proposed { epoch, to, votes, retry_at: now + self.config.retry };
        let proposal = self.announce(SignalKind::Propose, epoch, to);
        actions.push(proposal);
        self.commit_if_unanimous(now, actions);
    }

    /// Whether a flooded signal of a member is new here, and its to send: only the leader proposes,
    /// commits and lets sources resume. Notes it if so.
    pub(super) fn is_news(&mut self, signal: &SignalRepr) -> bool {
        let from_member = self.member_bit(signal.origin) != 0 && signal.origin != self.me;
        let leads = self.config.members.first() == Some(&signal.origin);
        let may = leads || matches!(signal.kind, SignalKind::Vote | SignalKind::Confirm);
        if !from_member || !may || signal.epoch < self.epoch {
            return false;
        }
        let seen = self.relayed.entry((signal.origin, signal.kind as u8)).or_insert((0, 0));
        let news = (signal.epoch, signal.nonce) > *seen;
        if news {
            *seen = (signal.epoch, signal.nonce);
        }
        news
    }

    pub(super) fn on_propose(
        &mut self,
        now: Instant,
        signal: &SignalRepr,
        actions: &mut Vec<ModeAction>,
    ) {
        if signal.from_level > self.level && signal.epoch > self.epoch && self.is_steady() {
            // The leader is in a higher mode, and has been for a quiet window: we missed the raise.
            self.catch_up(now, signal.from_level, actions);
            return;
        }
        let known = match self.phase {
            Phase::Voted { epoch, .. } | Phase::Proposed { epoch, .. } => epoch.max(self.epoch),
            _ => self.epoch,
        };
        let stale = signal.epoch <= known || signal.level >= self.level;
        let is_quiet = self.quiet_for(now, signal.level) || is_mutant!(self, VotesUnquiet);
        if stale || self.leads() || !is_quiet {
            return;
        }
        self.phase = Phase::Voted { epoch: signal.epoch, to: signal.level };
        let vote = self.announce(SignalKind::Vote, signal.epoch, signal.level);
        actions.push(vote);
    }

    pub(super) fn on_vote(
        &mut self,
        now: Instant,
        signal: &SignalRepr,
        actions: &mut Vec<ModeAction>,
    ) {
        let bit = self.member_bit(signal.origin);
        if let Phase::Proposed { epoch, votes, .. } = &mut self.phase
            && *epoch == signal.epoch
        {
            *votes |= bit;
            self.commit_if_unanimous(now, actions);
        }
    }

    fn commit_if_unanimous(&mut self, now: Instant, actions: &mut Vec<ModeAction>) {
        let Phase::Proposed { epoch, to, votes, .. } = self.phase else { return };
        if votes != self.all_members() {
            return;
        }
        if !self.quiet_for(now, to) {
            // Our own vote has died with a violation.
            self.phase = Phase::Steady;
            return;
        }
        self.commit(now, epoch, to, actions);
        let commit = self.announce(SignalKind::Commit, epoch, to);
        actions.push(commit);
        self.resume_if_confirmed(actions);
    }

    fn commit(&mut self, now: Instant, epoch: u64, to: u8, actions: &mut Vec<ModeAction>) {
        self.epoch = epoch;
        self.level = to;
        self.owe_nobody();
        if is_mutant!(self, ResumeAtCommit) {
            self.admitted = to;
        }
        let confirms = self.member_bit(self.me);
        self.phase = Phase::Committed { confirms, retry_at: now + self.config.retry, tries: 0 };
        actions.push(self.swap_action());
    }

    pub(super) fn on_commit(
        &mut self,
        now: Instant,
        signal: &SignalRepr,
        actions: &mut Vec<ModeAction>,
    ) {
        match self.phase {
            Phase::Voted { epoch, to } if epoch == signal.epoch && to == signal.level => {
                self.commit(now, epoch, to, actions);
            }
            // The leader repeats itself: what we said was lost.
            Phase::Committed { .. } if self.epoch == signal.epoch && !self.leads() => {}
            _ => return,
        }
        let confirm = self.announce(SignalKind::Confirm, self.epoch, self.level);
        actions.push(confirm);
    }

    pub(super) fn on_confirm(&mut self, signal: &SignalRepr, actions: &mut Vec<ModeAction>) {
        if signal.epoch != self.epoch || !self.leads() {
            return;
        }
        let mut bit = self.member_bit(signal.origin);
        if is_mutant!(self, FirstConfirmation) {
            bit = self.all_members();
        }
        match &mut self.phase {
            Phase::Committed { confirms, .. } => {
                *confirms |= bit;
                self.resume_if_confirmed(actions);
            }
            // A member that still waits has lost our word.
            Phase::Steady if self.admitted == self.level => {
                let resume = self.announce(SignalKind::Resume, self.epoch, self.level);
                actions.push(resume);
            }
            _ => {}
        }
    }

    fn resume_if_confirmed(&mut self, actions: &mut Vec<ModeAction>) {
        let Phase::Committed { confirms, .. } = self.phase else { return };
        if self.leads() && confirms == self.all_members() {
            self.resume(actions);
            let resume = self.announce(SignalKind::Resume, self.epoch, self.level);
            actions.push(resume);
        }
    }

    fn resume(&mut self, actions: &mut Vec<ModeAction>) {
        self.admitted = self.level;
        self.phase = Phase::Steady;
        actions.push(self.swap_action());
    }

    pub(super) fn on_resume(&mut self, signal: &SignalRepr, actions: &mut Vec<ModeAction>) {
        let committed = matches!(self.phase, Phase::Committed { .. });
        if committed && signal.epoch == self.epoch && signal.level == self.level {
            self.resume(actions);
        }
    }
}
