//! What mode changes take of processors: signals that come and go, swaps, and queues that are purged
//! (theory, "Shared processors and modes").

use super::FINE_PER_PS;
use super::demand::{Costs, Counted, Entering};
use crate::analysis::Analysis;
use crate::mode_change;
use crate::port::Ports;
use crate::scene::Scene;
use crate::topology::Topology;
use tenuto_calculus::Bucket;
use tenuto_units::Picos;

/// A mode signal with FCS, bytes, and on the wire, 10⁻⁶ bit.
const SIGNAL_BYTES: u32 = 82;
const SIGNAL_WIRE_UBIT: i128 = 816_000_000;
/// Signals and changes are charged once per 100 ms.
const DWELLS_PER_S: i128 = 10;

/// What is taken for the time of a change while everything is analysed; right once nothing turns
/// out to need more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changing {
    /// D_arrange, picoseconds; `None` where signals do not reach every switch.
    pub(crate) arrange: Option<i128>,
    /// N_s: signals of one trunk per dwell time; 0 without modes.
    signals: i128,
    /// Per server that is a trunk: the longest time from a signal's place in the queue to its last
    /// bit.
    waits: Vec<Option<i128>>,
    /// Swaps per dwell time.
    swaps: i128,
    /// Per node: purging its queues once, picoseconds.
    purges: Vec<i128>,
}

impl Changing {
    /// Nothing waits at a processor, nothing is purged.
    pub(crate) fn first(ports: &Ports<'_>, scenes: &[Scene]) -> Self {
        let topology = ports.topology;
        let wait = |server: usize| {
            let is_modal = topology.servers[server].is_trunk && !ports.signals.is_zero();
            is_modal.then(|| mode_change::signal_wait(ports, scenes, server))
        };
        Self {
            arrange: mode_change::arrange(ports, scenes, &|_| Some(0)),
            signals: ports.signals.burst_ubit / SIGNAL_WIRE_UBIT,
            waits: (0..topology.servers.len()).map(wait).collect(),
            swaps: i128::try_from(topology.network.modes.len()).unwrap_or(i128::MAX),
            purges: vec![0; topology.nodes.len()],
        }
    }

    /// What has to be taken instead, since `analysis` needs more; `None` if it does not.
    ///
    /// The step goes beyond what is needed: what is needed then grows too.
    pub(crate) fn exceeded(&self, analysis: &Analysis<'_>, scenes: &[Scene]) -> Option<Needed> {
        let ports = &analysis.ports;
        if ports.signals.is_zero() || ports.processors.is_empty() {
            return None;
        }
        let processing = |line: usize| {
            let all = analysis.results.iter().map(|result| result.solution.processing[line]);
            all.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten().map(|it: Picos| it.0)
        };
        let mut purges = vec![0_i128; self.purges.len()];
        for result in &analysis.results {
            let Some(needed) = mode_change::purges(ports, &result.backlogs) else {
                return Some(Needed::Unbounded);
            };
            purges.iter_mut().zip(needed).for_each(|(most, one)| *most = one.max(*most));
        }
        let nodes = ports.topology.servers.iter().enumerate();
        let mut into = nodes.filter(|(_, it)| ports.processors.site(it.peer).is_some());
        if into.any(|(line, _)| processing(line).is_none()) {
            return Some(Needed::Unbounded);
        }
        let arrange = mode_change::arrange(ports, scenes, &processing);
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

    /// Signals that enter over a line.
    pub(super) fn entering(&self, line: usize, costs: &Costs<'_>) -> Option<Entering> {
        let wait = Picos((*self.waits.get(line)?)?);
        let bucket = |what: Counted| {
            let burst_ubit = self.signals.saturating_mul(costs.counted(what, SIGNAL_BYTES, 1));
            let rate_ubps = burst_ubit.saturating_mul(DWELLS_PER_S);
            Bucket { burst_ubit, rate_ubps }.grown(wait)
        };
        Some(Entering {
            visit: None,
            outputs: 1,
            frame_bytes_max: SIGNAL_BYTES,
            frame_bytes_min: SIGNAL_BYTES,
            work: bucket(Counted::Work),
            frames: bucket(Counted::Frames),
            units: bucket(Counted::Units),
        })
    }

    /// What a switch itself does: signals that it sends over its trunks, and its own changes.
    pub(super) fn work(&self, topology: &Topology<'_>, node: usize, costs: &Costs<'_>) -> Bucket {
        if self.signals == 0 {
            return Bucket::ZERO;
        }
        let leaving = topology.leaving(node).iter();
        let trunks = leaving.filter(|&&server| topology.servers[server].is_trunk).count();
        let trunks = i128::try_from(trunks).unwrap_or(i128::MAX);
        let copy_ps = costs.of(SIGNAL_BYTES, 2) - costs.of(SIGNAL_BYTES, 1);
        let swap_ps = topology.nodes[node].profile.map_or(0, |p| i128::from(p.swap_ns_max) * 1_000);
        let changes = (swap_ps + self.purges[node]).saturating_mul(self.swaps);
        let sent = copy_ps.saturating_mul(self.signals).saturating_mul(trunks);
        let burst_ubit = sent.saturating_add(changes).saturating_mul(FINE_PER_PS);
        Bucket { burst_ubit, rate_ubps: burst_ubit.saturating_mul(DWELLS_PER_S) }
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
