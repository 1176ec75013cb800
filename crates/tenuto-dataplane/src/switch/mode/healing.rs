//! Agreement with every neighbour, whatever was lost (docs/theory/modes.md, "Healing").
//!
//! A switch that has changed its mode *owes* it to its neighbours: it repeats itself to each of them,
//! one signal per [`repeat_period`], until that neighbour has reported the same mode. So two neighbours that
//! are alive, with a link that delivers now and then, cannot stay in different modes, and neither
//! can a network of such links.

use super::debts::repeat_period;
use super::{EPOCH_MAX, ModeAction, ModeAgent, Phase, is_mutant};
use std::cmp::Ordering;
use tenuto_units::Instant;
use tenuto_wire::{SignalKind, SignalRepr};

impl ModeAgent {
    /// Whether every neighbour has reported the mode in force here.
    pub fn owes_nothing(&self) -> bool {
        self.debts.are_none()
    }

    /// The mode is new here: every neighbour is to report it.
    pub(super) fn owe_all(&mut self, now: Instant) {
        self.debts.owed.fill(true);
        self.debts.repeat_at = now + repeat_period(self.config.retry);
    }

    /// The neighbour at this trunk is to report the mode.
    pub(super) fn owe(&mut self, now: Instant, port: u32) {
        if self.debts.are_none() {
            self.debts.repeat_at = now + repeat_period(self.config.retry);
        }
        self.debts.set(port, true);
    }

    /// A return has confirmations of its own.
    pub(super) fn owe_nobody(&mut self) {
        self.debts.owed.fill(false);
    }

    /// When the mode is repeated. Between commit and resume the leader's and the members' repeats speak.
    pub(super) fn repeat_at(&self) -> Option<Instant> {
        let speaks = !matches!(self.phase, Phase::Joining { .. } | Phase::Committed { .. });
        let speaks = speaks && !is_mutant!(self, RepeatsNever);
        (speaks && !self.owes_nothing()).then_some(self.debts.repeat_at)
    }

    /// Tells the mode to each neighbour that has not reported it.
    pub(super) fn repeat(&mut self, now: Instant, actions: &mut Vec<ModeAction>) {
        self.debts.repeat_at = now + repeat_period(self.config.retry);
        let state = self.report(SignalKind::State);
        actions.extend(self.debts.owed().map(|port| ModeAction::Reply(port, state)));
        if is_mutant!(self, RepeatsOnce) {
            self.debts.owed.fill(false);
        }
    }

    /// The mode in force, and the highest epoch known of: a leader that has forgotten its own
    /// proposals would else propose what the members take for old.
    pub(super) fn report(&self, kind: SignalKind) -> SignalRepr {
        let report = self.signal(kind, self.epoch, self.level, self.admitted);
        SignalRepr { nonce: self.epoch_seen, ..report }
    }

    /// The network is at `level`, and we have missed it: up at once, in the epoch that we know of,
    /// until a neighbour tells the other. To ask, and to forward as if just started, could leave
    /// nobody who knows the mode, were the one that answers to start again.
    pub(super) fn catch_up(&mut self, now: Instant, level: u8, actions: &mut Vec<ModeAction>) {
        let level = level.min(self.config.levels.saturating_sub(1));
        self.adopt(now, self.epoch, level, level);
        self.owe_all(now);
        actions.push(self.swap_action());
    }

    /// A neighbour's mode: adopted if it is greater, noted if it is the same, and else the
    /// neighbour is told ours until it has adopted that.
    pub(super) fn on_state(
        &mut self,
        now: Instant,
        port: u32,
        signal: &SignalRepr,
        actions: &mut Vec<ModeAction>,
    ) {
        let is_raise = signal.kind == SignalKind::Raise;
        let is_ignored = is_mutant!(self, IgnoresState) && signal.kind != SignalKind::Raise;
        if is_raise || self.has_joined() && !is_ignored {
            self.on_raise(now, &SignalRepr { kind: SignalKind::Raise, ..*signal }, actions);
        }
        if matches!(self.phase, Phase::Joining { .. } | Phase::Committed { .. }) {
            return;
        }
        let is_report = matches!(signal.kind, SignalKind::State | SignalKind::Known);
        if is_report && signal.nonce <= EPOCH_MAX {
            self.epoch_seen = self.epoch_seen.max(signal.nonce);
        }
        match (signal.epoch, signal.level).cmp(&(self.epoch, self.level)) {
            Ordering::Equal => self.debts.set(port, false),
            Ordering::Less => self.owe(now, port),
            Ordering::Greater => {}
        }
        if signal.kind != SignalKind::Known && !is_mutant!(self, ReportsNothing) {
            actions.push(ModeAction::Reply(port, self.report(SignalKind::Known)));
        }
    }
}
