//! State identity of the agent.

use super::{ModeAgent, Phase};
use std::hash::{Hash, Hasher};
use tenuto_units::Instant;

impl ModeAgent {
    /// Every time in its state relative to `now`, saturated, with the rest of the state: equal
    /// keys behave alike from here on.
    pub fn identify(&self, now: Instant, hasher: &mut impl Hasher) {
        let rel =
            |at: Instant| (at.since(now).as_ns(), now.since(at).min(self.config.quiet).as_ns());
        (self.epoch, self.level, self.admitted, self.epoch_seen, self.attempt).hash(hasher);
        (self.nonce_next, &self.relayed, &self.config).hash(hasher);
        self.excess_at.iter().for_each(|&at| rel(at).hash(hasher));
        self.debts.owed().for_each(|trunk| trunk.hash(hasher));
        self.repeat_at().map(rel).hash(hasher);
        match self.phase {
            Phase::Joining { nonce, retry_at } => (0u8, nonce, rel(retry_at)).hash(hasher),
            Phase::Steady => 1u8.hash(hasher),
            Phase::Proposed { epoch, to, votes, retry_at } => {
                (2u8, epoch, to, votes, rel(retry_at)).hash(hasher);
            }
            Phase::Voted { epoch, to } => (3u8, epoch, to).hash(hasher),
            Phase::Committed { confirms, retry_at, tries } => {
                (4u8, confirms, rel(retry_at), tries).hash(hasher);
            }
        }
    }
}
