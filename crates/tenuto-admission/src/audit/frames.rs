//! What waits before a processor, in whole frames: counted at every instant at which one more may come.

use super::{Port, line};
use crate::network::{Network, PortId};
use tenuto_calculus::{Bucket, UBIT_PER_BIT, div_up, ubits};
use tenuto_units::Picos;

const PS_PER_S: i128 = 1_000_000_000_000;
/// Beyond so many frames in a busy period, buckets have to do.
const FRAMES_MAX: i128 = 10_000;

/// The longest delay, ps, and the most that waits, bits; `None` at lines, with too much load, or with too
/// many frames.
pub(super) fn most(network: &Network, port: PortId, curves: &Port) -> Option<(i128, i128)> {
    let frame = ubits(network.frame_bits_exact().filter(|_| network.is_processor(port))?);
    let rate = i128::from(network.port(port).rate_bps) * UBIT_PER_BIT;
    let latency = ubits(u64::from(network.port(port).blocking_bytes) * 8);
    let spare = rate - curves.flows.iter().map(|(_, bucket)| bucket.rate_ubps).sum::<i128>();
    let bursts: i128 = curves.flows.iter().map(|(_, bucket)| bucket.burst_ubit).sum();
    if spare <= 0 {
        return None;
    }
    let end = div_up((latency + bursts) * PS_PER_S, spare);
    let arrivals = Arrivals { network, port, curves, frame };
    if curves.flows.iter().map(|(_, b)| arrivals.of(b, end)).sum::<i128>() > FRAMES_MAX {
        return None;
    }
    let (mut delay, mut waiting) = (0, 0);
    for t in arrivals.instants(end) {
        let frames = arrivals.all(t);
        let served_at = div_up((latency + frames * frame) * PS_PER_S, rate);
        // The instant is rounded up by less than a picosecond.
        delay = delay.max(served_at - (t - 1).max(0));
        // Frames leave whole: what is served beyond n of them is the next one.
        let served = div_up((rate * (t - 1).max(0) / PS_PER_S - latency).max(0), frame);
        waiting = waiting.max((frames - served) * frame / UBIT_PER_BIT);
    }
    Some((delay, waiting))
}

/// Whole frames of `frame` 10⁻⁶ bit that come to a processor within a window, ps.
struct Arrivals<'a> {
    network: &'a Network,
    port: PortId,
    curves: &'a Port,
    frame: i128,
}

impl Arrivals<'_> {
    fn of(&self, bucket: &Bucket, t: i128) -> i128 {
        bucket.grown(Picos(t)).burst_ubit / self.frame
    }

    fn all(&self, t: i128) -> i128 {
        self.curves.sums.keys().map(|line| self.over(*line, t)).sum()
    }

    /// What comes over a line, or from nowhere else.
    fn over(&self, from: Option<PortId>, t: i128) -> i128 {
        let own = self.curves.flows.iter().filter(|(line, _)| *line == from);
        let frames = own.map(|(_, bucket)| self.of(bucket, t)).sum();
        from.map_or(frames, |from| {
            let carried = line(self.network, from, self.port, self.frame);
            frames.min(carried.grown(Picos(t)).burst_ubit / self.frame)
        })
    }

    /// Every instant up to `end` at which one more may come, ascending.
    fn instants(&self, end: i128) -> Vec<i128> {
        let mut instants = vec![0];
        for (_, bucket) in &self.curves.flows {
            for n in 1..=self.of(bucket, end) {
                let missing = (n * self.frame - bucket.burst_ubit).max(0);
                instants.push(div_up(missing * PS_PER_S, bucket.rate_ubps));
            }
        }
        // Where a line brings less than its flows would, its own frames count.
        for from in self.curves.sums.keys().flatten() {
            let carried = line(self.network, *from, self.port, self.frame);
            let missing = |n: i128| (n * self.frame - carried.burst_ubit).max(0);
            let when = |n: i128| div_up(missing(n) * PS_PER_S, carried.rate_ubps);
            instants.extend((2..=self.over(Some(*from), end)).map(when));
        }
        instants.retain(|t| *t <= end);
        instants.sort_unstable();
        instants.dedup();
        instants
    }
}
