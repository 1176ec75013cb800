//! What a port's queues cost: strictly in order, with delays counted, and with shared levels.

use super::Spread;
use super::pipeline::timed;
use serde::Serialize;
use tenuto_dataplane::{Egress, EgressConfig, FrameId, Queued, Share};
use tenuto_units::{Instant, Rate, Span};

const QUEUES: u8 = 8;
/// Frames that wait at once.
const BURST: u32 = 32;
/// A frame of 1500 bytes on the wire, and 100 Gbit/s.
const WIRE_BITS: u32 = 1_524 * 8;
const RATE_BPS: u64 = 100_000_000_000;
/// Until a burst has left.
const BURST_TIME: Span = Span::from_us(10);

/// A frame through one port.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueCost {
    /// Whether how long frames take is counted.
    pub keeps_delays: bool,
    /// Whether all queues share a level.
    pub shares_level: bool,
    /// Processor time of a frame from being queued to being handed over, nanoseconds.
    pub ns_per_frame: Spread,
}

/// Measures ports of eight queues, taking turns, `repetitions` times.
pub fn queue_costs(frames: u32, repetitions: u32) -> Vec<QueueCost> {
    let kinds = [(false, false), (true, false), (true, true)];
    let mut ports: Vec<(Bench, Vec<f64>)> =
        kinds.iter().map(|&(keeps, shares)| (Bench::new(keeps, shares), Vec::new())).collect();
    for _ in 0..repetitions {
        for (port, found) in &mut ports {
            port.pass(frames / 8);
            found.push(timed(|| port.pass(frames)));
        }
    }
    let cost = |(&(keeps_delays, shares_level), (_, found)): (&(bool, bool), (_, Vec<f64>))| {
        QueueCost { keeps_delays, shares_level, ns_per_frame: Spread::of(found) }
    };
    kinds.iter().zip(ports).map(cost).collect()
}

struct Bench {
    port: Egress,
    now: Instant,
}

impl Bench {
    fn new(keeps_delays: bool, shares_level: bool) -> Self {
        let rate = Rate::from_bps(RATE_BPS).expect("not zero");
        let config =
            EgressConfig { rate, queues: QUEUES, buffer_bits: 1 << 30, unpromised_from: None };
        let mut port = Egress::new(config);
        if keeps_delays {
            port.keep_delays();
        }
        if shares_level {
            port.set_shares((1..=QUEUES).map(|weight| Share { level: 0, weight }).collect());
        }
        Self { port, now: Instant::ZERO }
    }

    fn pass(&mut self, frames: u32) -> u64 {
        let mut left = 0;
        for _ in 0..frames.div_ceil(BURST) {
            for n in 0..BURST {
                let queue = u8::try_from(n % u32::from(QUEUES)).unwrap_or(0);
                let frame =
                    Queued { frame: FrameId(n), wire_bits: WIRE_BITS, cookie: 1, since: self.now };
                // The buffer holds many bursts: nothing is refused, or fewer frames are counted.
                let _ = self.port.enqueue(self.now, queue, frame);
            }
            self.now += BURST_TIME;
            while self.port.hand_over(1, self.now).is_some() {
                left += 1;
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_passes_and_is_counted() {
        for (keeps, shares) in [(false, false), (true, false), (true, true)] {
            let mut bench = Bench::new(keeps, shares);
            assert_eq!(bench.pass(320), 320);
            let counted: u64 = bench.port.delays().iter().map(|delays| delays.frames()).sum();
            assert_eq!(counted, if keeps { 320 } else { 0 });
            assert_eq!(bench.port.is_strict(), !shares);
        }
    }
}
