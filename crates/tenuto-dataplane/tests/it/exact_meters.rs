//! Meters whose band states bit/s and bytes: exact to the byte, over however long a time.

use support::{Bench, add, apply, frame, output};
use tenuto_openflow::constants::meter as meter_id;
use tenuto_openflow::{
    BadRequest, Body, Instruction, MeterBand, MeterModCommand as M, MeterModFailed, MultipartReply,
    MultipartRequest, ReplyBody, RequestBody,
};
use tenuto_units::{Instant, Span};

use crate::support;

/// What a frame has in memory less than on the wire, where these meters count it.
const UNSEEN_BYTES: usize = 24;
/// Frames of 64 and of 1500 B, with their check sequence.
const FRAMES_BYTES: [usize; 2] = [64, 1_500];
const NS_PER_S: u128 = 1_000_000_000;

fn exact(rate_bps: u64, burst_bytes: u64) -> Body {
    support::exact_meter(1, rate_bps, burst_bytes)
}

/// A frame of so many bytes with its check sequence, and what its meter counts.
fn sized(bytes: usize) -> (Vec<u8>, u64) {
    let mut frame = frame(1, bytes - 4);
    frame.truncate(bytes - 4);
    let counted = u64::try_from(frame.len() + UNSEEN_BYTES).expect("small");
    (frame, counted)
}

/// A switch whose only entry meters and, `is_sent`, sends.
fn metered(rate_bps: u64, burst_bytes: u64, is_sent: bool) -> Bench {
    let mut bench = Bench::new();
    let mut instructions = vec![Instruction::Meter(1)];
    instructions.extend(is_sent.then(|| apply(vec![output(3)])));
    bench.install([exact(rate_bps, burst_bytes), add(0, 1, instructions)]);
    bench
}

fn dropped(bench: &Bench) -> u64 {
    let (_, meter) = bench.switch.meters().next().expect("there is one");
    meter.dropped.frames
}

/// Whether a frame passes its meter when it arrives at that time.
fn passes(bench: &mut Bench, arrival: Instant, frame: &[u8]) -> bool {
    let before = dropped(bench);
    bench.now = bench.now.max(arrival);
    bench.receive_late(arrival, 1, frame);
    bench.fx.clear();
    dropped(bench) == before
}

#[test]
fn the_bytes_of_the_bucket_pass_and_not_one_more() {
    for bytes in FRAMES_BYTES {
        let (frame, counted) = sized(bytes);
        for (short, passed) in [(0, 5), (1, 4)] {
            // At 1 bit/s a byte comes back in eight seconds.
            let mut bench = metered(1, 5 * counted - short, true);
            for _ in 0..8 {
                bench.receive(1, &frame);
            }
            assert_eq!(bench.drain().len(), passed, "{bytes} B, {short} short");
            assert_eq!(dropped(&bench), 8 - passed as u64);
        }
    }
}

#[test]
fn rates_to_the_bit_per_second_do_not_drift() {
    for (bytes, rate_bps) in [(64, 672_135), (1_500, 999_999_937), (64, 1), (1_500, 7_001)] {
        let (frame, counted) = sized(bytes);
        // Room for what comes back in a fraction of a nanosecond more than a frame.
        let mut bench = metered(rate_bps, 2 * counted, false);
        let start = bench.now;
        assert!(passes(&mut bench, start, &frame) && passes(&mut bench, start, &frame));
        // The bucket is empty, and refused frames take nothing: the n-th frame conforms in the very
        // nanosecond in which n frames have come back.
        for n in 1..=20_000_u128 {
            let cost = u128::from(counted) * 8 * NS_PER_S;
            let due_ns =
                u64::try_from((n * cost).div_ceil(u128::from(rate_bps))).expect("292 years");
            let due = start + Span::from_ns(due_ns);
            assert!(!passes(&mut bench, due.saturating_sub(Span::from_ns(1)), &frame), "{n}");
            assert!(passes(&mut bench, due, &frame), "{n} of {bytes} B at {rate_bps} bit/s");
        }
    }
}

/// What a bucket without any limit of numbers would pass.
struct Oracle {
    rate_bps: u128,
    depth: u128,
    tokens: u128,
    at: Instant,
}

impl Oracle {
    fn passes(&mut self, arrival: Instant, counted: u64) -> bool {
        let earned = u128::from(arrival.since(self.at).as_ns()) * self.rate_bps;
        self.tokens = (self.tokens + earned).min(self.depth);
        self.at = arrival;
        let cost = u128::from(counted) * 8 * NS_PER_S;
        let conforms = cost <= self.tokens;
        self.tokens -= if conforms { cost } else { 0 };
        conforms
    }
}

/// Pauses from nothing to centuries, rates up to what 64 bits hold, buckets up to the largest.
#[test]
fn extreme_values_neither_overflow_nor_round() {
    const LARGEST: u64 = 2_305_843_009;
    let mut seed = 7_u64;
    let mut draw = |choice: &[u64]| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        choice[usize::try_from(seed >> 33).expect("31 bits") % choice.len()]
    };
    let (mut conforming, mut refused) = (0, 0);
    for rate_bps in [0, 1, 8, 672_135, 137_438_953_471, 137_438_953_472, u64::MAX] {
        for burst_bytes in [84, 1_519, 1_520, 3_001, 134_217_727, 134_217_728, LARGEST] {
            let mut bench = metered(rate_bps, burst_bytes, false);
            let depth = u128::from(burst_bytes) * 8 * NS_PER_S;
            let at = bench.now;
            let mut oracle = Oracle { rate_bps: rate_bps.into(), depth, tokens: depth, at };
            let mut now = bench.now;
            for _ in 0..300 {
                let pause = draw(&[0, 0, 1, 12_345, 120_000, 1_000_000_007, 1 << 54]);
                now += Span::from_ns(pause);
                let bytes = usize::try_from(draw(&[64, 65, 700, 1_499, 1_500])).expect("small");
                let (frame, counted) = sized(bytes);
                let wanted = oracle.passes(now, counted);
                *(if wanted { &mut conforming } else { &mut refused }) += 1;
                let found = passes(&mut bench, now, &frame);
                assert_eq!(found, wanted, "{rate_bps} bit/s, {burst_bytes} B, {bytes} B");
            }
        }
    }
    assert!(conforming > 1_000 && refused > 1_000, "{conforming} {refused}");
    let mut bench = Bench::new();
    bench.refused(exact(1, LARGEST + 1), MeterModFailed::BadBurst);
    bench.refused(exact(1, u64::MAX), MeterModFailed::BadBurst);
    let standard = |burst_size| support::meter(M::Add, 1, 1, burst_size);
    bench.refused(standard(18_446_745), MeterModFailed::BadBurst);
    bench.install([standard(18_446_744)]);
}

#[test]
fn malformed_bands_are_refused_by_their_code() {
    let mut bench = Bench::new();
    let changed = |change: &dyn Fn(&mut u32, &mut u32, &mut Vec<u8>)| {
        let Body::MeterMod(mut it) = exact(672_135, 1_519) else { unreachable!() };
        if let MeterBand::Experimenter { rate, burst_size, data, .. } = &mut it.bands[0] {
            change(rate, burst_size, data);
        }
        Body::MeterMod(it)
    };
    bench.refused(exact(672_135, 0), MeterModFailed::BadBurst);
    bench.refused(changed(&|rate, _, _| *rate = 672), MeterModFailed::BadRate);
    bench.refused(changed(&|_, burst, _| *burst = 12), MeterModFailed::BadBurst);
    bench.refused(changed(&|_, _, data| data.truncate(16)), BadRequest::BadLen);
    bench.refused(changed(&|_, _, data| data[1] = 9), MeterModFailed::BadBand);
    bench.refused(changed(&|_, _, data| data.clear()), MeterModFailed::BadBand);
    let Body::MeterMod(mut two) = exact(672_135, 1_519) else { unreachable!() };
    two.bands.push(two.bands[0].clone());
    bench.refused(Body::MeterMod(two), MeterModFailed::OutOfBands);
    bench.install([exact(672_135, 1_519)]);
}

#[test]
fn it_is_told_as_it_was_sent_and_counts_what_it_drops() {
    let (frame, counted) = sized(1_500);
    let mut bench = metered(672_135, counted, true);
    let now = bench.now;
    assert!(passes(&mut bench, now, &frame) && !passes(&mut bench, now, &frame));
    let mut reply = |body| {
        let request = Body::MultipartRequest(MultipartRequest { flags: 0, body });
        let answers = bench.ask(request);
        let [answer] = answers.as_slice() else { panic!("{answers:?}") };
        let Body::MultipartReply(MultipartReply { body, .. }) = &answer.body else {
            panic!("{answer:?}")
        };
        (body.clone(), answer.to_string())
    };
    let (config, text) = reply(RequestBody::MeterConfig { meter_id: meter_id::ALL });
    let ReplyBody::MeterConfig(config) = config else { panic!("another reply") };
    let Body::MeterMod(sent) = exact(672_135, counted) else { unreachable!() };
    assert_eq!((config[0].flags, &config[0].bands), (sent.flags, &sent.bands));
    let shown = "type=experimenter rate=673 burst_size=13 experimenter=0x54454e55 \
                 rate_bps=672135 burst_bytes=1520";
    assert!(text.contains(shown), "{text}");
    let (stats, _) = reply(RequestBody::Meter { meter_id: 1 });
    let ReplyBody::Meter(stats) = stats else { panic!("another reply") };
    assert_eq!((stats[0].packet_in_count, stats[0].byte_in_count), (2, 3_000));
    let band = stats[0].bands[0];
    assert_eq!((band.packet_band_count, band.byte_band_count), (1, 1_500));
}
