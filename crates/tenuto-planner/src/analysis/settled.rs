//! The proof that a network has settled.

use tenuto_model::{PortEnded, SettlingRound};

/// The proof that a network settles before a return.
#[derive(Debug)]
pub(crate) struct Settled {
    /// From the last violation, picoseconds.
    pub(crate) after_ps: i128,
    /// Ŵ + Ω, where there are rounds: how far a step up a tree of a whole path may look back.
    pub(crate) round_ps: Option<i128>,
    pub(crate) rounds: Vec<SettlingRound>,
    /// Port by port, where there are no rounds.
    pub(crate) ended: Vec<PortEnded>,
}

impl Settled {
    /// Waits until proofs over whole paths of that depth look at nothing that came before.
    pub(crate) fn wait_for(&mut self, nodes_behind_root: usize) {
        let nodes = i128::try_from(nodes_behind_root).unwrap_or(i128::MAX);
        let longer = self.round_ps.map_or(0, |round| round.saturating_mul(nodes));
        self.after_ps = self.after_ps.saturating_add(longer);
    }
}
