//! The bound of a way as the sum of its hops.

use tenuto_model::Hop;

/// The bound hop by hop, picoseconds; `None` if a hop has none.
pub(crate) fn sum_of_hops(hops: &[Hop]) -> Option<u64> {
    hops.iter().try_fold(0_u64, |sum, hop| {
        let own = hop.latency_ps.saturating_add(hop.propagation_ps);
        hop.queueing_ps.map(|d| sum.saturating_add(d).saturating_add(own))
    })
}
