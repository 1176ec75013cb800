//! Every interleaving: the mode change and return of a plan's switches, model-checked (`ticked`).
//!
//! The very switches that run live are driven through every order of events. Time is in ticks:
//! a frame stays on a link for 1 to [`Settings::delay_ticks_max`] ticks, nothing overdue survives a
//! tick, and instants enter the state only relative to now, saturated where more makes no
//! difference. What is explored at any moment: a watched flow asks for its highest level (so
//! several switches may raise at once), a frame of a start-level flow arrives at its edge, a
//! signal is lost, a switch starts again, each within a budget. A MAC is symbolic here: nobody forges.
//!
//! Abstractions, named in every verdict: links run at a rate at which any frame leaves within a
//! tick; monitors judge by a period of [`PERIOD_TICKS`]; the quiet window is
//! [`Settings::quiet_ticks`], which must exceed the spread of signals, as the plan's does.

pub mod classic;
pub mod compared;
mod corridor;
mod deployed;
mod exploration;
mod explored;
mod frames;
mod properties;
pub mod reactive;
mod retrace;
mod search;
pub(crate) mod source;
mod ticked;
mod trace;
mod world;

pub use exploration::{explore, explore_with_progress, replay};
pub use properties::Property;
pub use search::{Outcome, Verdict};
pub use tenuto_dataplane::switch::Mutant;
pub use trace::{Action, Step, Trace};

pub(crate) use deployed::Deployed;
pub(crate) use ticked::{mode_words, ticked_config, ticked_plan};

use tenuto_units::Span;

/// One tick.
pub const TICK: Span = Span::from_ms(1);
/// Least spacing that monitors accept below a flow's highest level, in ticks.
pub const PERIOD_TICKS: u64 = 2;

/// How far to explore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Times that each watched flow exceeds its start contract, by flow name; others never do.
    pub excesses: Vec<(String, u8)>,
    /// Frames of flows that have no place in higher modes, by flow name.
    pub frames: Vec<(String, u8)>,
    /// Signals that may be lost.
    pub lost_signals: u8,
    /// Times that a switch may lose its power and start again, with its tables and without its mode.
    pub crashes: u8,
    /// Copies of each signal per link.
    pub signal_copies: u8,
    /// Most ticks that a frame is on a link.
    pub delay_ticks_max: u8,
    /// Quiet window before a return, ticks.
    pub quiet_ticks: u8,
    /// Most states; beyond, the verdict says `bounded`.
    pub states_max: usize,
    /// The protocol as it is, or a broken one.
    pub mutant: Mutant,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            excesses: Vec::new(),
            frames: Vec::new(),
            lost_signals: 0,
            crashes: 0,
            signal_copies: 1,
            delay_ticks_max: 1,
            quiet_ticks: 8,
            states_max: 5_000_000,
            mutant: Mutant::None,
        }
    }
}
