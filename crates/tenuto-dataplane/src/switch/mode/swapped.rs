//! A swap whose purge may not be over.

use tenuto_units::Instant;

/// Frames that are asked where they belong before a frame or signal that waits is served: what the analysis charges
/// a hop of signals with (docs/theory/analysis.md, "D_mc").
pub const PURGE_STEP_FRAMES: usize = 16;

/// How a switch purges, and what is left of the last swap.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::switch) struct Purging {
    pub(in crate::switch) in_steps: bool,
    pub(in crate::switch) owed: Option<Swapped>,
}

/// A swap whose frames were not all asked yet.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Swapped {
    pub(in crate::switch) at: Instant,
    pub(in crate::switch) epoch: u64,
    pub(in crate::switch) from: u8,
    pub(in crate::switch) to: u8,
    pub(in crate::switch) admitted: u8,
    pub(in crate::switch) purged: u32,
    /// The place of the port that is asked.
    pub(in crate::switch) place: usize,
    /// The place of the port whose turn it is among those that wait.
    pub(in crate::switch) turn: usize,
}
