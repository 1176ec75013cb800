//! How much of the processors mode changes need, found by analysing again with more.

use super::mode_change;
use crate::analysis::context::Analysis;
use crate::analysis::mode_input::ModeInput;
use crate::analysis::port::Ports;
use crate::analysis::processor::{Changing, SIGNAL_WIRE_UBIT};
use tenuto_units::Picos;

impl Changing {
    /// Nothing waits at a processor, nothing is purged.
    pub(crate) fn first(ports: &Ports<'_>, mode_inputs: &[ModeInput]) -> Self {
        let topology = ports.topology;
        let wait = |server: usize| {
            let is_modal = topology.servers[server].is_trunk && !ports.signals.is_zero();
            is_modal.then(|| mode_change::signal_wait(ports, mode_inputs, server))
        };
        Self {
            arrange: mode_change::arrange(ports, mode_inputs, &|_| Some(0)),
            signals: ports.signals.burst_ubit / SIGNAL_WIRE_UBIT,
            waits: (0..topology.servers.len()).map(wait).collect(),
            swaps: i128::try_from(topology.network.modes.len()).unwrap_or(i128::MAX),
            purges: vec![0; topology.nodes.len()],
        }
    }

    /// What has to be taken instead, since `analysis` needs more; `None` if it does not.
    ///
    /// The step goes beyond what is needed: what is needed then grows too.
    pub(crate) fn exceeded(
        &self,
        analysis: &Analysis<'_>,
        mode_inputs: &[ModeInput],
    ) -> Option<Needed> {
        let Some(needed) = self.needed(analysis, mode_inputs) else {
            return Some(Needed::Unbounded);
        };
        let (arrange, purges) = (needed.arrange, needed.purges);
        let is_enough =
            arrange <= self.arrange && purges.iter().zip(&self.purges).all(|(a, b)| a <= b);
        if is_enough {
            return None;
        }
        let beyond = |now: i128, then: i128| {
            if then <= now { now } else { then + (then - now) / 4 + then / 256 }
        };
        let purges = self.purges.iter().zip(purges).map(|(&now, then)| beyond(now, then)).collect();
        let arrange = self.arrange.zip(arrange).map(|(now, then)| beyond(now, then));
        Some(Needed::More(Self { arrange, purges, ..self.clone() }))
    }

    /// What `analysis` needs; what was taken, where nothing is shared. `None` if there is no bound.
    ///
    /// Less that is taken needs less: where `analysis` took no less than it needs, what it needs can be
    /// taken instead.
    pub(crate) fn needed(
        &self,
        analysis: &Analysis<'_>,
        mode_inputs: &[ModeInput],
    ) -> Option<Self> {
        let ports = &analysis.ports;
        if ports.signals.is_zero() || ports.processors.is_empty() {
            return Some(self.clone());
        }
        let processing = |line: usize| {
            let all = analysis.results.iter().map(|result| result.solution.processing[line]);
            all.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten().map(|it: Picos| it.0)
        };
        let mut purges = vec![0_i128; self.purges.len()];
        for result in &analysis.results {
            let needed = mode_change::purges(ports, &result.backlogs)?;
            purges.iter_mut().zip(needed).for_each(|(most, one)| *most = one.max(*most));
        }
        let nodes = ports.topology.servers.iter().enumerate();
        let mut into = nodes.filter(|(_, it)| ports.processors.site(it.peer).is_some());
        if into.any(|(line, _)| processing(line).is_none()) {
            return None;
        }
        let arrange = mode_change::arrange(ports, mode_inputs, &processing);
        Some(Self { arrange, purges, ..self.clone() })
    }
}

/// What turns out to be needed.
#[derive(Debug)]
pub(crate) enum Needed {
    /// More than was taken.
    More(Changing),
    /// More than any bound.
    Unbounded,
}
