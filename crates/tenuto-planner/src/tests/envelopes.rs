use super::builder::{MS, contract, flow_of};
use crate::input::envelope::{MeterSetting, Reading, jitter};
use tenuto_calculus::{Bucket, ubits};
use tenuto_model::{MeterCounts, Profile, Size};
use tenuto_units::Picos;

const READING: Reading = Reading { as_stated: false, clock_ppm: 200 };

fn profile(counts: MeterCounts) -> Profile {
    Profile { meter_counts: counts, ..Profile::built_in("tenuto").expect("built in") }
}

#[test]
fn a_contract_is_a_bucket_with_its_jitter() {
    // 84 B every 1 ms at 200 ppm: 672 134.4 bit/s; 0.5 ms of jitter adds 336.0672 bit.
    let mut it = contract(Size::FrameBytes(64), MS, 0);
    it.jitter_ns = 500_000;
    let expected = Bucket { burst_ubit: 1_008_067_200, rate_ubps: 672_134_400_000 };
    assert_eq!(READING.bucket(&it, jitter(&it)), expected);
}

#[test]
fn meters_never_drop_what_conforms() {
    for counts in [MeterCounts::L2WithoutFcs, MeterCounts::Frame, MeterCounts::Wire] {
        for (size, period) in [
            (Size::FrameBytes(63), 2 * MS),
            (Size::FrameBytes(1518), 128 * MS),
            (Size::PayloadBytes(700), 3 * MS),
            (Size::MessageBytes(154_000), 22 * MS),
        ] {
            let flow = flow_of("f", "a", &["b"], vec![contract(size, period, 0)]);
            let varying = Picos(1_234_567_890);
            let meter = READING.meter(&flow, &profile(counts), varying);
            let mix = size.frames(false);
            let per_frame = match counts {
                MeterCounts::L2WithoutFcs => 24 * 8,
                MeterCounts::Frame => 20 * 8,
                MeterCounts::Wire => 0,
            };
            let bits = u128::from(mix.message_wire_bits) - u128::from(mix.frames) * per_frame;
            // Exact to the bit/s and the byte, as our own switch takes them.
            let rate = (bits * 1_000_200 * 1_000).div_ceil(u128::from(period));
            assert_eq!(u128::from(meter.rate_bps), rate, "{counts:?} {size:?}");
            let burst_ubit = bits * 1_000_000 + (rate * 1_234_567_890).div_ceil(1_000_000);
            let burst_bytes = burst_ubit.div_ceil(8_000_000);
            assert_eq!(u128::from(meter.burst_bytes), burst_bytes, "{counts:?} {size:?}");
            // In steps of others it is the least multiple that is no less; a coarser rate is due for
            // longer.
            let (step_bps, step_bytes) = (64_000_u64, 8_000_u64);
            let coarse = Profile {
                meter_rate_step_bps: step_bps,
                meter_burst_step_bytes: step_bytes,
                ..profile(counts)
            };
            let rounded = READING.meter(&flow, &coarse, varying);
            assert_eq!(rounded.rate_bps, meter.rate_bps.next_multiple_of(step_bps));
            let late = u128::from(rounded.rate_bps) * 1_234_567_890;
            let burst_ubit = bits * 1_000_000 + late.div_ceil(1_000_000);
            let steps = burst_ubit.div_ceil(u128::from(step_bytes) * 8_000_000);
            assert_eq!(u128::from(rounded.burst_bytes), steps * u128::from(step_bytes));
        }
    }
}

#[test]
fn what_a_meter_lets_through_is_counted_on_the_wire() {
    let meter = MeterSetting { rate_bps: 600_000, burst_bytes: 7_500 };
    let envelope = |counts| meter.envelope(counts);
    let wire = Bucket { burst_ubit: ubits(60_000), rate_ubps: ubits(600_000) };
    assert_eq!(envelope(MeterCounts::Wire), wire);
    // 64 B frames: 84 B on the wire for 60 B counted.
    let bare = Bucket { burst_ubit: ubits(84_000), rate_ubps: ubits(840_000) };
    assert_eq!(envelope(MeterCounts::L2WithoutFcs), bare);
    let frame = Bucket { burst_ubit: ubits(78_750), rate_ubps: ubits(787_500) };
    assert_eq!(envelope(MeterCounts::Frame), frame);
}

#[test]
fn excess_raises_below_a_contract_that_differs() {
    let (slow, fast) =
        (contract(Size::FrameBytes(100), 20 * MS, 0), contract(Size::FrameBytes(100), MS, 0));
    let flow = flow_of("f", "a", &["b"], vec![slow, fast, fast]);
    assert!(READING.excess_raises(&flow, 0));
    assert!(!READING.excess_raises(&flow, 1), "the contract above is the same");
    assert!(!READING.excess_raises(&flow, 2));
    // 30 B and 64 B are the same frame on the wire.
    let padded = [30, 64].map(|bytes| contract(Size::FrameBytes(bytes), MS, 0));
    assert!(!READING.excess_raises(&flow_of("f", "a", &["b"], padded.to_vec()), 0));
}

#[test]
fn a_babbling_source_is_what_the_meter_lets_through() {
    let mut it = super::builder::line("hp-e3800");
    let small = contract(Size::FrameBytes(64), MS, 0);
    it.flows.push(super::builder::flow("f", "s1", &["d1"], small));
    let options = crate::Options { would_fit: false, ..crate::Options::default() };
    let trusted = crate::plan(&it, &options);
    it.tolerates.babbling_hosts = 1;
    let babbling = crate::plan(&it, &options);
    let burst = |plan: &tenuto_model::Plan| plan.flows[0].copies[0].hops[1].burst_bits;
    // Frame counting: 512 bit + J rounded up to 1 kbit, times 84/64, and 7 us of latency jitter.
    assert_eq!(burst(&trusted).map(|b| b < 700), Some(true));
    assert_eq!(burst(&babbling).map(|b| (1_312..1_330).contains(&b)), Some(true));
    assert!(babbling.flows[0].delay_bound_ps > trusted.flows[0].delay_bound_ps);
}
