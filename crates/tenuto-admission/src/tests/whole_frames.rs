//! Frames counted before a processor against a count at every nanosecond, and against buckets.

use crate::curves::{Curves, Group, NBIT, Sum};
use crate::whole_frames::{Inflow, stay};
use proptest::prelude::*;

const FRAME_BITS: i64 = 306 * 8;
const RATE_BPS: i64 = 11_800_000;
const LINE_BPS: i64 = 100_000_000;
const LATENCY_BITS: i64 = 684 * 8;

fn inflow() -> impl Strategy<Value = Inflow> {
    (0_usize..3, 1_i64..4, 0_i64..6_000_000, 100_000_i64..1_500_000).prop_map(
        |(group, frames, delay_ns, rate_bps)| Inflow {
            group,
            burst_nbit: i128::from(frames * FRAME_BITS) * NBIT
                + i128::from(rate_bps) * i128::from(delay_ns),
            rate_bps,
        },
    )
}

fn curves(inflows: &[Inflow]) -> Curves {
    let mut groups = vec![Group { line_bps: Some(LINE_BPS), ..Group::default() }; 3];
    for inflow in inflows {
        let sum: &mut Sum = &mut groups[inflow.group].sums[0];
        sum.burst_nbit += inflow.burst_nbit;
        sum.rate_bps += inflow.rate_bps;
        sum.frame_bits = FRAME_BITS;
    }
    let (rate_bps, blocking_bits) = (RATE_BPS, LATENCY_BITS);
    Curves { rate_bps, blocking_bits, counts_whole_frames: true, tick_ns: 0, groups }
}

/// Whole frames that may have come by `t_ns`.
fn came(inflows: &[Inflow], t_ns: i64) -> i64 {
    let frame = i128::from(FRAME_BITS) * NBIT;
    let group = |group: usize| {
        let own = inflows.iter().filter(|it| it.group == group);
        let frames =
            own.map(|it| (it.burst_nbit + i128::from(it.rate_bps) * i128::from(t_ns)) / frame);
        let spaced = 1 + i128::from(LINE_BPS) * i128::from(t_ns) / frame;
        frames.sum::<i128>().min(spaced)
    };
    i64::try_from((0..3).map(group).sum::<i128>()).expect("a few")
}

/// Whole frames that have left by `t_ns` at least.
fn served(t_ns: i64) -> i64 {
    let bits = i128::from(RATE_BPS) * i128::from(t_ns) - i128::from(LATENCY_BITS) * NBIT;
    i64::try_from(crate::curves::div_up(bits.max(0), i128::from(FRAME_BITS) * NBIT)).expect("a few")
}

/// The instants from which on one more frame may have come, and those just before: between two points of
/// a grid what waits may rise and fall again.
fn arrivals_ns(inflows: &[Inflow], end_ns: i64) -> Vec<i64> {
    let frame = i128::from(FRAME_BITS) * NBIT;
    let mut instants = Vec::new();
    for it in inflows {
        let own = (1..).map(|n| (n * frame - it.burst_nbit).max(0).div_euclid(it.rate_bps.into()));
        instants.extend(own.take_while(|ns| *ns < i128::from(end_ns)));
    }
    let spaced = (0..inflows.len() as i128 * 64).map(|n| n * frame / i128::from(LINE_BPS));
    instants.extend(spaced);
    let ns = instants.into_iter().flat_map(|ns| [ns, ns + 1]);
    ns.map(|ns| i64::try_from(ns).expect("within a busy period"))
        .filter(|ns| *ns < end_ns)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn frames_are_counted_as_at_every_instant(inflows in proptest::collection::vec(inflow(), 1..7)) {
        let curves = curves(&inflows);
        let found = stay(&curves, &inflows, FRAME_BITS).expect("below capacity");
        let (mut delay, mut waiting, mut at_most) = (0, 0, 0);
        let grid = (0..curves.busy_ns()).step_by(50);
        for t in grid.chain(arrivals_ns(&inflows, curves.busy_ns())) {
            let frames = came(&inflows, t);
            let served_ns = (LATENCY_BITS + frames * FRAME_BITS) * 1_000_000 / (RATE_BPS / 1_000);
            delay = delay.max(served_ns - t);
            waiting = waiting.max(frames - served(t));
            // An arrival is rounded down to the nanosecond.
            at_most = at_most.max(frames - served(t - 1));
        }
        prop_assert!(found.delay_ns >= delay, "{} below {delay}", found.delay_ns);
        prop_assert!(found.delay_ns <= delay + 60, "{} far above {delay}", found.delay_ns);
        let waits = waiting * FRAME_BITS..=at_most * FRAME_BITS;
        prop_assert!(waits.contains(&found.backlog_bits), "{} not in {waits:?}", found.backlog_bits);
        // Buckets allow more.
        let fluid = curves.delay_ns(0, 0).expect("below capacity");
        prop_assert!(found.delay_ns <= fluid + 5, "{} above {fluid}", found.delay_ns);
        prop_assert!(found.backlog_bits <= curves.backlog_bits(0, fluid));
    }
}
