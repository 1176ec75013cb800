//! What one stream demands of a processor: its buckets with costs, frames or buffer units in the place
//! of bits.

use super::builder::Builder;
use super::costs::{Counted, frame_bytes};
use super::site::Entering;
use crate::analysis::meters::Policing;
use crate::input::envelope;
use std::ops::RangeInclusive;
use tenuto_calculus::{Bucket, div_up};
use tenuto_model::{Contract, Flow, MeterCounts};
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};

const NS_PER_S: i128 = 1_000_000_000;
const MILLION: i128 = 1_000_000;

impl Builder<'_, '_> {
    /// A stream whose source keeps its contract.
    pub(super) fn contracted(
        &self,
        (flow, modes): (&Flow, RangeInclusive<usize>),
        visit: usize,
        outputs: u32,
    ) -> Entering {
        let contracts = flow.contracts.get(modes).unwrap_or_default();
        let bucket = |what: Counted| {
            let of = |contract: &Contract| {
                let most = self.costs.message(what, contract, self.reading.as_stated, outputs);
                let stretched = most * (MILLION + i128::from(self.reading.clock_ppm)) * NS_PER_S;
                let period = i128::from(contract.period_ns.max(1)) * MILLION;
                let rate_ubps = div_up(stretched, period);
                Bucket { burst_ubit: most, rate_ubps }.grown(envelope::jitter(contract))
            };
            contracts.iter().map(of).fold(Bucket::ZERO, Bucket::or)
        };
        let sizes = || contracts.iter().map(|c| c.size.frames(self.reading.as_stated));
        let largest = sizes().map(|mix| frame_bytes(mix.frame_wire_bits_max)).max();
        let smallest = contracts.iter().map(|c| c.frame_bytes_min.unwrap_or(FRAME_BYTES_MIN));
        let largest = largest.unwrap_or(FRAME_BYTES_MIN);
        Entering {
            visit: Some(visit),
            outputs,
            frame_bytes_max: largest,
            frame_bytes_min: smallest
                .min()
                .unwrap_or(FRAME_BYTES_MIN)
                .clamp(FRAME_BYTES_MIN, largest),
            work: bucket(Counted::Work),
            frames: bucket(Counted::Frames),
            units: bucket(Counted::Units),
        }
    }

    /// A stream behind its meter, at the switch `first`.
    pub(super) fn metered(
        &self,
        policing: &Policing,
        first: usize,
        visit: usize,
        outputs: u32,
    ) -> Entering {
        let profile = self.topology.nodes[first].profile;
        let counts = profile.map_or(MeterCounts::Wire, |profile| profile.meter_counts);
        let meter = policing.meter.counted();
        let bucket = |what| self.costs.most_per_bit(what, counts, outputs).times(meter);
        Entering {
            visit: Some(visit),
            outputs,
            frame_bytes_max: FRAME_BYTES_MAX,
            frame_bytes_min: FRAME_BYTES_MIN,
            work: bucket(Counted::Work),
            frames: bucket(Counted::Frames),
            units: bucket(Counted::Units),
        }
    }
}
