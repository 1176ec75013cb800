//! The result of one mode or raise.

use crate::fixed_point::Solution;
use crate::processor::Held;
use crate::scene::Scene;

/// One analysed mode or raise.
#[derive(Debug)]
pub(crate) struct Outlook {
    pub(crate) scene: Scene,
    pub(crate) solution: Solution,
    /// Per server, bits on the wire; `None` where it has no bound.
    pub(crate) backlogs: Vec<Option<u64>>,
    /// What receive buffers have to hold, by node.
    pub(crate) held: Vec<(usize, Held)>,
}
