//! Delays at every port, by flow: how they are spread, and the exact largest.

use super::watch::{Departed, Onlooker, Place};
use crate::{HopBucket, HopDelayRow};
use std::collections::BTreeMap;
use tenuto_model::{Plan, Port};
use tenuto_units::Instant;

/// Buckets per doubling of the delay.
const PER_OCTAVE: u64 = 8;

/// Delays of frames from their last bit in to their last bit out, by port and flow.
#[derive(Clone, Debug, Default)]
pub struct HopDelays {
    start: Instant,
    seen: BTreeMap<(Place, u16), Spread>,
}

#[derive(Clone, Debug, Default)]
struct Spread {
    frames: u64,
    most_ns: u64,
    sum_ns: u128,
    /// By upper end.
    buckets: BTreeMap<u64, u64>,
}

impl Onlooker for HopDelays {
    fn start(&mut self, at: Instant) {
        self.start = at;
    }

    fn left(&mut self, from: Place, frame: &Departed<'_>) {
        let (Some(flow), Some(arrival)) = (frame.flow, frame.arrival) else { return };
        if arrival < self.start {
            return;
        }
        let delay_ns = frame.departure.since(arrival).as_ns();
        let spread = self.seen.entry((from, flow)).or_default();
        spread.frames += 1;
        spread.most_ns = spread.most_ns.max(delay_ns);
        spread.sum_ns += u128::from(delay_ns);
        *spread.buckets.entry(upper_end(delay_ns)).or_default() += 1;
    }
}

impl HopDelays {
    /// The rows of a run of `plan`, in the order of ports and flows.
    pub fn rows(&self, plan: &Plan) -> Vec<HopDelayRow> {
        let names = super::node_names(plan);
        self.seen
            .iter()
            .filter_map(|(&(place, flow), it)| row(plan, &names, place, flow, it))
            .collect()
    }
}

fn row(plan: &Plan, names: &[&str], place: Place, flow: u16, it: &Spread) -> Option<HopDelayRow> {
    let port = Port { node: (*names.get(place.node)?).to_owned(), port: place.port };
    let flow = plan.network.flows.get(usize::from(flow))?;
    let buckets = it.buckets.iter().map(|(&to_ns, &frames)| HopBucket { to_ns, frames });
    Some(HopDelayRow {
        flow: flow.name.clone(),
        frames: it.frames,
        observed_ns_max: it.most_ns,
        observed_ns_p50: percentile(it, 50),
        observed_ns_p99: percentile(it, 99),
        bound_ns: bound(plan, &flow.name, &port),
        port: plan.network.port_label(&port),
        histogram: buckets.collect(),
    })
}

/// The largest bound of the flow's frames there over all modes and targets, without propagation; `None` if one is unbounded.
fn bound(plan: &Plan, flow: &str, port: &Port) -> Option<u64> {
    let rows = plan.flows.iter().filter(|row| row.flow == flow);
    let hops = rows.flat_map(|row| &row.copies).flat_map(|copy| &copy.hops);
    let here = hops.filter(|hop| hop.port == *port);
    let mut most = None;
    for hop in here {
        let ns = (hop.latency_ps + hop.queueing_ps?).div_ceil(1_000);
        most = most.max(Some(ns));
    }
    most
}

/// The upper end of the bucket that holds it; the largest delay itself where the bucket is the last.
fn percentile(it: &Spread, percent: u64) -> u64 {
    let wanted = (it.frames * percent).div_ceil(100).max(1);
    let mut counted = 0;
    for (&to_ns, &frames) in &it.buckets {
        counted += frames;
        if counted >= wanted {
            return to_ns.min(it.most_ns);
        }
    }
    it.most_ns
}

/// The upper end of the bucket of a delay: eight per doubling, so that it is at most an eighth above.
const fn upper_end(ns: u64) -> u64 {
    if ns < PER_OCTAVE * 2 {
        return ns;
    }
    let octave = ns.ilog2() - PER_OCTAVE.ilog2();
    let step = 1 << octave;
    let below = (ns - 1) / step;
    (below + 1).saturating_mul(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_at_most_an_eighth_above_what_it_holds() {
        let mut last = 0;
        for ns in (0..5_000).chain([1_000_000, 123_456_789, u64::MAX / 3]) {
            let end = upper_end(ns);
            assert!(end >= ns && end - ns <= ns / PER_OCTAVE, "{ns} in {end}");
            assert!(end >= last, "{ns}");
            last = end;
            assert_eq!(upper_end(end), end, "an end is in its own bucket");
        }
    }

    #[test]
    fn percentiles_are_of_all_frames_and_the_largest_is_exact() {
        let mut spread = Spread::default();
        for ns in 1..=1_000_u64 {
            spread.frames += 1;
            spread.most_ns = spread.most_ns.max(ns);
            *spread.buckets.entry(upper_end(ns)).or_default() += 1;
        }
        assert_eq!((percentile(&spread, 50), percentile(&spread, 100)), (512, 1_000));
        assert_eq!(spread.buckets.values().sum::<u64>(), 1_000);
    }
}
