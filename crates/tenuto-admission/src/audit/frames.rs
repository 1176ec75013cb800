//! What waits before a processor, in whole frames: counted at every instant at which one more may come.

use super::{Port, tick};
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
    let brought = |bucket: &Bucket, t: i128| bucket.grown(Picos(t)).burst_ubit / frame;
    if curves.flows.iter().map(|(_, bucket)| brought(bucket, end)).sum::<i128>() > FRAMES_MAX {
        return None;
    }
    let lines: Vec<Option<PortId>> = curves.sums.keys().copied().collect();
    let over_line = |from: Option<PortId>, t: i128| -> i128 {
        let own = curves.flows.iter().filter(|(line, _)| *line == from);
        let frames = own.map(|(_, bucket)| brought(bucket, t)).sum();
        from.map_or(frames, |from| {
            let line = i128::from(network.emitted_bps(from)) * UBIT_PER_BIT;
            frames.min(1 + line * (t + tick(network, from).0) / PS_PER_S / frame)
        })
    };
    let mut instants = vec![0];
    for (_, bucket) in &curves.flows {
        for n in 1..=brought(bucket, end) {
            let missing = (n * frame - bucket.burst_ubit).max(0);
            instants.push(div_up(missing * PS_PER_S, bucket.rate_ubps));
        }
    }
    // Where a line brings less than its flows would, its own frames count.
    for line in lines.iter().flatten() {
        let bps = i128::from(network.emitted_bps(*line)) * UBIT_PER_BIT;
        let frames = over_line(Some(*line), end);
        let early = tick(network, *line).0;
        instants.extend((1..frames).map(|n| (div_up(n * frame * PS_PER_S, bps) - early).max(0)));
    }
    instants.sort_unstable();
    instants.dedup();
    let (mut delay, mut waiting) = (0, 0);
    for t in instants.into_iter().filter(|t| *t <= end) {
        let frames: i128 = lines.iter().map(|line| over_line(*line, t)).sum();
        let served_at = div_up((latency + frames * frame) * PS_PER_S, rate);
        // The instant is rounded up by less than a picosecond.
        delay = delay.max(served_at - (t - 1).max(0));
        // Frames leave whole: what is served beyond n of them is the next one.
        let served = div_up((rate * (t - 1).max(0) / PS_PER_S - latency).max(0), frame);
        waiting = waiting.max((frames - served) * frame / UBIT_PER_BIT);
    }
    Some((delay, waiting))
}
