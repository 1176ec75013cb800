//! Neighbours that have not reported the mode in force (docs/theory/modes.md, "Healing").

use std::sync::Arc;
use tenuto_units::{Instant, Span};

/// Time in which the signals of one change are charged, and may be sent again.
pub(crate) const DWELL: Span = Span::from_ms(100);

/// Time after which a mode is repeated: the analysis charges a raise and a return per `DWELL` to
/// everybody, and leaves so much room for repeats.
pub fn repeat_period(retry: Span) -> Span {
    retry.max(DWELL)
}

/// Neighbours that may not know the mode yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Debts {
    /// Every trunk.
    trunks: Arc<[u32]>,
    /// By trunk: whether its neighbour has not reported the mode in force.
    pub(super) owed: Box<[bool]>,
    /// When the mode is repeated to them.
    pub(super) repeat_at: Instant,
}

impl Debts {
    pub(super) fn new(trunks: Arc<[u32]>) -> Self {
        Self { owed: vec![false; trunks.len()].into(), trunks, repeat_at: Instant::ZERO }
    }

    /// Trunks that are owed the mode.
    pub(super) fn owed(&self) -> impl Iterator<Item = u32> {
        self.trunks.iter().zip(&self.owed).filter(|(_, owed)| **owed).map(|(&trunk, _)| trunk)
    }

    /// Whether every neighbour has reported it.
    pub(super) fn are_none(&self) -> bool {
        !self.owed.contains(&true)
    }

    /// Notes whether a trunk is owed the mode; other ports are nobody's business.
    pub(super) fn set(&mut self, trunk: u32, owed: bool) {
        if let Some(place) = self.trunks.iter().position(|&known| known == trunk) {
            self.owed[place] = owed;
        }
    }
}
