//! What mode changes take of processors: signals that come and go, swaps, and queues that are purged
//! (theory, "Shared processors and modes").

use super::costs::{Costs, Counted, FINE_PER_PS};
use super::site::Entering;
use crate::input::topology::Topology;
use tenuto_calculus::Bucket;
use tenuto_units::Picos;

/// A mode signal with FCS, bytes, and on the wire, 10⁻⁶ bit.
const SIGNAL_BYTES: u32 = 82;
pub(crate) const SIGNAL_WIRE_UBIT: i128 = 816_000_000;
/// Signals and changes are charged once per 100 ms.
const DWELLS_PER_S: i128 = 10;

/// What is taken for the time of a change while everything is analysed; right once nothing turns
/// out to need more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changing {
    /// D_arrange, picoseconds; `None` where signals do not reach every switch.
    pub(crate) arrange: Option<i128>,
    /// N_s: signals of one trunk per dwell time; 0 without modes.
    pub(crate) signals: i128,
    /// Per server that is a trunk: the longest time from a signal's place in the queue to its last
    /// bit.
    pub(crate) waits: Vec<Option<i128>>,
    /// Swaps per dwell time.
    pub(crate) swaps: i128,
    /// Per node: purging its queues once, picoseconds.
    pub(crate) purges: Vec<i128>,
}

impl Changing {
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
