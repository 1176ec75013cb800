//! The result of one mode or raise.

use crate::analysis::fixed_point::Solution;
use crate::analysis::mode_input::ModeInput;
use crate::analysis::processor::Held;

/// One analysed mode or raise.
#[derive(Debug)]
pub(crate) struct ModeResult {
    pub(crate) mode_input: ModeInput,
    pub(crate) solution: Solution,
    /// Per server, bits on the wire; `None` where it has no bound.
    pub(crate) backlogs: Vec<Option<u64>>,
    /// What receive buffers have to hold, by node.
    pub(crate) held: Vec<(usize, Held)>,
}
