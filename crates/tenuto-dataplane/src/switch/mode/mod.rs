//! The mode agent: raises and returns agreed between switches, without the controller.
//!
//! State is (generation, epoch, level); that triple is also the order of signals (docs/theory/modes.md, "Raise").
//!
//! **Raise.** A switch that sees behaviour above the level in force takes an epoch above every
//! epoch it knows of, swaps and floods. Whoever receives a greater (epoch, level) adopts it and
//! floods on. A raise never lowers anyone: a switch that is higher answers with its own level in
//! the new epoch, so concurrent raises end in one epoch at the highest level.
//!
//! **Return.** Led by the member with the lowest datapath id. When nothing above level t was seen
//! for the quiet window, the leader proposes (epoch p, level t); every member that was quiet as
//! well votes; with all votes the leader commits; each member swaps its forwarding tables and
//! confirms; with all confirmations the leader lets sources resume, and only then do the edges admit the
//! lower level. A violation after a vote raises with an epoch above p, so that the commit, wherever
//! it has got to, is overtaken; the confirmation is then never given and no source resumes.
//! A missing vote means no return. What is lost beyond the copies is repeated by the leader.
//!
//! **Join.** A switch starts in the highest level, not yet joined, and forwards no lower one until
//! a neighbour has answered its challenge (a fresh nonce) or the controller activates it.
//!
//! **Healing.** A raise is repeated to each neighbour that has not reported it ([`healing`]). A
//! switch that learns from a proposal that it missed a raise goes up at once.

pub(in crate::switch) mod credit;
mod debts;
mod going_back;
mod healing;
mod identity;
mod mutant;
mod purging;
pub(in crate::switch) mod signals;
pub(in crate::switch) mod swapped;

use debts::Debts;
pub use debts::repeat_period;
pub use mutant::Mutant;
use mutant::is_mutant;
use std::collections::BTreeMap;
use std::sync::Arc;
pub use swapped::PURGE_STEP_FRAMES;
use tenuto_units::{Instant, Span};
use tenuto_wire::{SignalKind, SignalRepr};

/// More members than this cannot vote: votes are kept as bits.
pub const MEMBERS_MAX: usize = 64;
/// Largest epoch that is taken from outside, so that a raise above it always remains possible.
pub(super) const EPOCH_MAX: u64 = u64::MAX / 2;
/// Repeats of a commit before the leader gives the return up; a member waits for twice as many.
const TRIES_MAX: u8 = 8;
/// Levels that a network may have.
pub const LEVELS_MAX: usize = 8;

/// What the agent is told by the controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModeConfig {
    /// Generation of the plan; a new plan has a higher one.
    pub generation: u64,
    /// Number of levels.
    pub levels: u8,
    /// Quiet window before a return.
    pub quiet: Span,
    /// Time after which a leader repeats itself, and a joining switch asks again.
    pub retry: Span,
    /// Copies of each signal per link.
    pub copies: u8,
    /// Datapath ids that take part, ascending; at most [`MEMBERS_MAX`].
    pub members: Arc<[u64]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Waits for a neighbour's or the controller's word.
    Joining {
        nonce: u64,
        retry_at: Instant,
    },
    Steady,
    /// Leader: waits for votes on its proposal.
    Proposed {
        epoch: u64,
        to: u8,
        votes: u64,
        retry_at: Instant,
    },
    /// Member: has voted.
    Voted {
        epoch: u64,
        to: u8,
    },
    /// Has swapped its forwarding tables; edges still admit the higher level only.
    Committed {
        confirms: u64,
        retry_at: Instant,
        tries: u8,
    },
}

/// What the agent wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeAction {
    /// Flood a signal on every trunk, in the configured number of copies.
    Flood(SignalRepr),
    /// Send a signal on one trunk.
    Reply(u32, SignalRepr),
    /// Forward by `level` and admit by `admitted` from now on.
    Swap {
        /// Level of the forwarding tables.
        level: u8,
        /// Level of the admission table.
        admitted: u8,
    },
}

/// The agreement on modes, at one switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModeAgent {
    me: u64,
    config: ModeConfig,
    #[cfg(feature = "mutants")]
    mutant: Mutant,
    epoch: u64,
    level: u8,
    admitted: u8,
    phase: Phase,
    /// Highest epoch seen in any signal, proposals included.
    epoch_seen: u64,
    /// Last instant at which behaviour above level i was seen, or had to be assumed.
    excess_at: [Instant; LEVELS_MAX],
    /// What was flooded on already: (epoch, attempt) by (origin, kind). Bounded by the members.
    relayed: BTreeMap<(u64, u8), (u64, u64)>,
    /// Number of the last flood of ours, so that repeats count as news.
    attempt: u64,
    nonce_next: u64,
    debts: Debts,
}

impl ModeAgent {
    /// An agent at the highest level that has not joined yet; `trunks` lead to its neighbours.
    ///
    /// # Panics
    /// With more than [`LEVELS_MAX`] levels or [`MEMBERS_MAX`] members: the control channel
    /// refuses such a configuration first.
    pub fn new(
        me: u64,
        config: ModeConfig,
        trunks: Arc<[u32]>,
        nonce_seed: u64,
        now: Instant,
    ) -> Self {
        assert!(usize::from(config.levels) <= LEVELS_MAX && config.members.len() <= MEMBERS_MAX);
        let top = config.levels.saturating_sub(1);
        Self {
            me,
            config,
            #[cfg(feature = "mutants")]
            mutant: Mutant::None,
            epoch: 0,
            level: top,
            admitted: top,
            phase: Phase::Joining { nonce: nonce_seed, retry_at: now },
            epoch_seen: 0,
            excess_at: [now; LEVELS_MAX],
            relayed: BTreeMap::new(),
            attempt: 0,
            nonce_next: nonce_seed,
            debts: Debts::new(trunks),
        }
    }

    /// Replaces the protocol by a broken one; for exploration only.
    #[cfg(feature = "mutants")]
    pub(in crate::switch) fn broken(self, mutant: Mutant) -> Self {
        Self { mutant, ..self }
    }

    /// Level of the forwarding tables.
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Level that edges admit.
    pub const fn admitted(&self) -> u8 {
        self.admitted
    }

    /// Epoch in force.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Generation of the plan in force.
    pub const fn generation(&self) -> u64 {
        self.config.generation
    }

    /// What it was told.
    pub const fn config(&self) -> &ModeConfig {
        &self.config
    }

    /// Where a successor goes on with nonces, so that none is used twice.
    pub(super) const fn nonce_next(&self) -> u64 {
        self.nonce_next
    }

    /// Copies of each signal per link.
    pub fn copies(&self) -> u8 {
        if is_mutant!(self, SingleCopy) { 1 } else { self.config.copies }
    }

    /// When behaviour above `level` was last seen, or had to be assumed.
    pub fn last_excess(&self, level: u8) -> Instant {
        self.excess_at.get(usize::from(level)).copied().unwrap_or(Instant::ZERO)
    }

    /// Whether it knows the network's mode.
    pub const fn has_joined(&self) -> bool {
        !matches!(self.phase, Phase::Joining { .. })
    }

    /// Whether no return is under way here.
    pub const fn is_steady(&self) -> bool {
        matches!(self.phase, Phase::Steady)
    }

    fn leads(&self) -> bool {
        self.config.members.first() == Some(&self.me)
    }

    fn member_bit(&self, id: u64) -> u64 {
        self.config.members.iter().position(|&m| m == id).map_or(0, |place| 1 << place)
    }

    fn all_members(&self) -> u64 {
        match self.config.members.len() {
            MEMBERS_MAX.. => u64::MAX,
            n => (1 << n) - 1,
        }
    }

    /// A flood of ours, numbered so that a repeat is told from an echo.
    fn announce(&mut self, kind: SignalKind, epoch: u64, level: u8) -> ModeAction {
        self.attempt += 1;
        let signal = self.signal(kind, epoch, level, self.admitted);
        ModeAction::Flood(SignalRepr { nonce: self.attempt, ..signal })
    }

    fn signal(&self, kind: SignalKind, epoch: u64, level: u8, from_level: u8) -> SignalRepr {
        SignalRepr {
            kind,
            level,
            from_level,
            hops: 0,
            generation: self.config.generation,
            epoch,
            origin: self.me,
            nonce: 0,
            sequence: 0,
        }
    }

    fn swap_action(&self) -> ModeAction {
        ModeAction::Swap { level: self.level, admitted: self.admitted }
    }

    /// Asks the neighbours for the network's mode, with a nonce that was never used before.
    fn challenge(&mut self, now: Instant, actions: &mut Vec<ModeAction>) {
        self.nonce_next = self.nonce_next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let nonce = self.nonce_next;
        self.phase = Phase::Joining { nonce, retry_at: now + self.config.retry };
        let challenge = self.signal(SignalKind::Challenge, self.epoch, self.level, self.level);
        actions.push(ModeAction::Flood(SignalRepr { nonce, ..challenge }));
    }

    /// The controller says which mode is in force; ignored unless newer than what is known.
    pub fn activate(&mut self, now: Instant, epoch: u64, level: u8, actions: &mut Vec<ModeAction>) {
        let had_joined = self.has_joined();
        let newer = if had_joined { epoch > self.epoch } else { self.may_join(epoch, level) };
        if level >= self.config.levels || epoch > EPOCH_MAX || !newer {
            return;
        }
        self.adopt(now, epoch, level, level);
        self.phase = Phase::Steady;
        if had_joined {
            // Who joins now is told by the controller as well, or asks.
            self.owe_all(now);
        }
        actions.push(self.swap_action());
    }

    /// Whether a switch that has not joined may take over this mode. It may have heard a raise
    /// meanwhile, and answered it at its own level: what is older than that, or lower, is no news.
    const fn may_join(&self, epoch: u64, level: u8) -> bool {
        epoch > self.epoch || epoch == self.epoch && (epoch == 0 || level >= self.level)
    }

    fn adopt(&mut self, now: Instant, epoch: u64, level: u8, admitted: u8) {
        self.epoch = epoch;
        self.epoch_seen = self.epoch_seen.max(epoch);
        self.level = level;
        self.admitted = admitted;
        for (below, at) in (0u8..).zip(&mut self.excess_at) {
            if below < level {
                *at = now;
            }
        }
    }

    /// A monitor saw behaviour that asks for `wanted`: raises if that is above what is in force,
    /// or if a return to less was voted for.
    pub fn excess(&mut self, now: Instant, wanted: u8, actions: &mut Vec<ModeAction>) {
        let wanted = wanted.min(self.config.levels.saturating_sub(1));
        for (below, at) in (0u8..).zip(&mut self.excess_at) {
            if below < wanted {
                *at = now;
            }
        }
        let voted_away = match self.phase {
            Phase::Voted { to, .. } | Phase::Proposed { to, .. } => {
                to < wanted && !is_mutant!(self, VoteSurvivesViolation)
            }
            Phase::Committed { .. } => self.level < wanted,
            Phase::Joining { .. } | Phase::Steady => false,
        };
        if self.has_joined() && (wanted > self.level || voted_away) {
            self.raise(now, wanted, actions);
        }
    }

    /// Raises to `level`, or to the highest that is in force or admitted here: a raise during a
    /// return goes back to where that began, as only the last confirmation may let more flows in.
    fn raise(&mut self, now: Instant, level: u8, actions: &mut Vec<ModeAction>) {
        let level = level.max(self.level).max(self.admitted);
        let from = self.level;
        self.adopt(now, self.epoch_seen.max(self.epoch) + 1, level, level);
        self.phase = Phase::Steady;
        self.owe_all(now);
        actions.push(self.swap_action());
        actions.push(ModeAction::Flood(self.signal(SignalKind::Raise, self.epoch, level, from)));
    }

    /// A verified signal from the trunk `port`. Returns whether it was of this generation, with a
    /// level and epoch that may be; if not, it has changed nothing.
    pub fn receive(
        &mut self,
        now: Instant,
        port: u32,
        signal: &SignalRepr,
        actions: &mut Vec<ModeAction>,
    ) -> bool {
        if signal.level >= self.config.levels || signal.epoch > EPOCH_MAX {
            return false;
        }
        if signal.kind == SignalKind::Challenge {
            self.answer(now, port, signal, actions);
            return true;
        }
        if signal.generation != self.config.generation {
            return false;
        }
        if !self.has_joined() && !matches!(signal.kind, SignalKind::Answer | SignalKind::Raise) {
            return true;
        }
        self.epoch_seen = self.epoch_seen.max(signal.epoch);
        match signal.kind {
            SignalKind::Answer if !self.has_joined() => self.on_answer(now, port, signal, actions),
            SignalKind::Raise | SignalKind::State | SignalKind::Known | SignalKind::Answer => {
                self.on_state(now, port, signal, actions);
            }
            SignalKind::Challenge => {}
            _ if !self.is_news(signal) => {}
            kind => {
                self.relay(signal, actions);
                match kind {
                    SignalKind::Propose => self.on_propose(now, signal, actions),
                    SignalKind::Vote => self.on_vote(now, signal, actions),
                    SignalKind::Commit => self.on_commit(now, signal, actions),
                    SignalKind::Confirm => self.on_confirm(signal, actions),
                    _ => self.on_resume(signal, actions),
                }
            }
        }
        true
    }

    fn relay(&self, signal: &SignalRepr, actions: &mut Vec<ModeAction>) {
        if !is_mutant!(self, NoForwarding) {
            let hops = signal.hops.saturating_add(1);
            actions.push(ModeAction::Flood(SignalRepr { hops, ..*signal }));
        }
    }

    fn on_raise(&mut self, now: Instant, signal: &SignalRepr, actions: &mut Vec<ModeAction>) {
        let greater = (signal.epoch, signal.level) > (self.epoch, self.level);
        if !greater || is_mutant!(self, LevelIgnored) && signal.epoch == self.epoch {
            return;
        }
        // A raise that would lower us was sent without knowing of us: we answer with our level.
        let mut level = signal.level.max(self.level).max(self.admitted);
        if is_mutant!(self, RaiseLowers) {
            level = signal.level;
        }
        let from = self.level;
        self.adopt(now, signal.epoch, level, level);
        self.owe_all(now);
        if self.has_joined() {
            self.phase = Phase::Steady;
        }
        actions.push(self.swap_action());
        if level == signal.level {
            self.relay(signal, actions);
        } else {
            actions.push(ModeAction::Flood(self.signal(
                SignalKind::Raise,
                self.epoch,
                level,
                from,
            )));
        }
    }

    /// When the agent wants to be called.
    pub fn deadline(&self) -> Option<Instant> {
        self.phase_deadline().into_iter().chain(self.repeat_at()).min()
    }

    fn phase_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Joining { nonce, .. }
                if nonce == self.nonce_next && is_mutant!(self, AsksOnce) =>
            {
                None
            }
            Phase::Joining { retry_at, .. } => Some(retry_at),
            Phase::Steady if self.leads() && self.level > 0 => Some(self.quiet_at()),
            Phase::Proposed { retry_at, .. } => Some(retry_at),
            Phase::Committed { retry_at, .. } => Some(retry_at),
            Phase::Steady | Phase::Voted { .. } => None,
        }
    }

    /// Its time has come: ask again, propose, repeat, or give a return up.
    pub fn fire(&mut self, now: Instant, actions: &mut Vec<ModeAction>) {
        if self.repeat_at().is_some_and(|at| at <= now) {
            self.repeat(now, actions);
        }
        if self.phase_deadline().is_some_and(|at| at <= now) {
            self.go_on(now, actions);
        }
    }

    fn go_on(&mut self, now: Instant, actions: &mut Vec<ModeAction>) {
        match self.phase {
            Phase::Joining { .. } => self.challenge(now, actions),
            Phase::Steady | Phase::Proposed { .. } if self.leads() => self.propose(now, actions),
            Phase::Committed { tries, .. } if tries >= self.tries_max() => {
                // Somebody is gone: back to the safe level, until all are there again.
                self.raise(now, self.admitted, actions);
            }
            Phase::Committed { confirms, tries, .. } => {
                let retry_at = now + self.config.retry;
                let tries = tries.saturating_add(1);
                self.phase = Phase::Committed { confirms, retry_at, tries };
                let kind = if self.leads() { SignalKind::Commit } else { SignalKind::Confirm };
                let repeat = self.announce(kind, self.epoch, self.level);
                actions.push(repeat);
            }
            _ => {}
        }
    }

    /// A member waits for longer: its leader may be about to give up, or to start again.
    fn tries_max(&self) -> u8 {
        if self.leads() {
            if is_mutant!(self, LeaderWaits) {
                return u8::MAX;
            }
            return TRIES_MAX;
        }
        if is_mutant!(self, MemberWaits) {
            return u8::MAX;
        }
        2 * TRIES_MAX
    }

    fn answer(
        &mut self,
        now: Instant,
        port: u32,
        challenge: &SignalRepr,
        actions: &mut Vec<ModeAction>,
    ) {
        // A proposal or a vote changes nothing in force yet, and the asker who joins now is quiet
        // only after another window: a leader that waits for its vote must tell it the mode first.
        // Between commit and resume nobody answers: the asker stays at the safe level.
        let is_between = matches!(self.phase, Phase::Committed { .. });
        if self.has_joined() && (!is_between || is_mutant!(self, AnswersCommitted)) {
            let answer = self.signal(SignalKind::Answer, self.epoch, self.level, self.level);
            actions.push(ModeAction::Reply(port, SignalRepr { nonce: challenge.nonce, ..answer }));
            if challenge.generation == self.config.generation {
                // Whoever asks has forgotten what it reported.
                self.owe(now, port);
            }
        }
    }

    fn on_answer(
        &mut self,
        now: Instant,
        port: u32,
        signal: &SignalRepr,
        actions: &mut Vec<ModeAction>,
    ) {
        let Phase::Joining { nonce, .. } = self.phase else { return };
        if signal.nonce == nonce && self.may_join(signal.epoch, signal.level) {
            self.adopt(now, signal.epoch, signal.level, signal.level);
            self.phase = Phase::Steady;
            actions.push(self.swap_action());
            // The one that answered may be behind the others, and waits for a report.
            self.owe_all(now);
            actions.push(ModeAction::Reply(port, self.report(SignalKind::State)));
        }
    }
}

#[cfg(test)]
mod tests;
