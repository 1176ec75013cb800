//! Everything that was computed of one set of routes.

use super::meters::Policing;
use super::mode_result::ModeResult;
use super::port::Ports;
use super::purging::Purging;
use super::raise_terms::RaiseTerms;
use super::settled::Settled;
use super::whole_paths::WholePaths;
use crate::input::envelope::Reading;
use crate::routes::Tree;
use tenuto_model::{FlowBound, PortRow, Transition};

/// Everything that was computed of a network.
#[derive(Debug)]
pub(crate) struct Analysis<'a> {
    pub(crate) ports: Ports<'a>,
    pub(crate) trees: &'a [Tree],
    pub(crate) reading: Reading,
    /// Per tree.
    pub(crate) policing: Vec<Policing>,
    /// Steady modes, then raises.
    pub(crate) results: Vec<ModeResult>,
    /// D_arrange, picoseconds.
    pub(crate) arrange: Option<i128>,
    /// What D_q rests on beside backlogs.
    pub(crate) purging: Purging,
    /// D_mc and the drain per raise.
    pub(crate) raises: Vec<(Transition, Option<RaiseTerms>, Option<i128>)>,
    /// Whether what mode changes take of shared processors found no bound: nothing is claimed.
    pub(crate) is_given_up: bool,
    /// Per return from the first mode to the second: that the network has settled before.
    pub(crate) returns: Vec<((u8, u8), Option<Settled>)>,
    /// Bounds of whole paths that are less than the sums of their hops.
    pub(crate) whole_paths: WholePaths,
    pub(crate) rows: Vec<FlowBound>,
    pub(crate) port_rows: Vec<PortRow>,
}

impl Analysis<'_> {
    /// That the network has settled before a return; `None` where there is no proof of it.
    pub(crate) fn settled(&self, from: u8, to: u8) -> Option<&Settled> {
        let mut returns = self.returns.iter();
        returns.find(|(pair, _)| *pair == (from, to)).and_then(|(_, settled)| settled.as_ref())
    }

    /// The result of one mode or raise.
    pub(crate) fn result(&self, transition: Transition) -> Option<&ModeResult> {
        self.results.iter().find(|result| result.mode_input.transition == transition)
    }
}
