//! What the adversary found, as a file that can be played again.

use serde::{Deserialize, Serialize};
use tenuto_witness::layout::Layout;
use tenuto_witness::play::Player;
use tenuto_witness::rows::{Row, ratio_ppm};
use tenuto_witness::schedule::Schedule;

/// A promise that a schedule broke, or a plan that planner and checker do not agree on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Name of the network.
    pub network: String,
    /// What is wrong: the row, or the checker's words.
    pub what: String,
    /// The kind of the row, as the table has it.
    pub kind: String,
    /// What was seen: ps, or bits on the wire.
    pub seen: u64,
    /// What was certified.
    pub bound: u64,
    /// What the planner was asked for: curves, whole paths.
    pub planned: crate::campaign::Planning,
    /// The network file.
    pub text: String,
    /// The releases and choices that show it; none of a plan that is not accepted.
    pub schedule: Option<Schedule>,
}

impl Finding {
    /// Seen by bound, parts per million.
    pub fn ratio_ppm(&self) -> u64 {
        ratio_ppm(self.seen, self.bound)
    }
}

/// The rows that a schedule takes above their bounds, with what it shows.
pub fn exceeded(layout: &Layout, player: &Player<'_>) -> Vec<(Row, u64, u64)> {
    let seen = player.outcome().seen.iter();
    let above = seen.filter_map(|(row, seen)| {
        let bound = layout.bounds.get(row)?;
        (seen > bound).then_some((row, seen, bound))
    });
    above.collect()
}
