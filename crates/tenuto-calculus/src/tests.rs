use crate::oracle::excess_at;
use crate::{Bucket, Flows, GroupCurves, Server, backlog, busy_period, delay, holds, ubits};
use proptest::prelude::*;
use tenuto_units::Picos;

const MBIT: u64 = 1_000_000;

fn bucket(bits: u64, bps: u64) -> Bucket {
    Bucket { burst_ubit: ubits(bits), rate_ubps: ubits(bps) }
}

fn steady(bucket: Bucket) -> Flows {
    Flows { steady: bucket, ending: Bucket::ZERO }
}

fn group(class: Bucket, higher: Bucket, line: Option<Bucket>) -> GroupCurves {
    GroupCurves { class: steady(class), higher: steady(higher), line, under: None }
}

#[test]
fn a_frame_alone_takes_its_time_on_the_wire_at_every_hop() {
    // 1538 B at 100 Mbit/s take 123.04 us; three store-and-forward hops 369.12 us.
    let frame = 1538 * 8;
    let server = Server::new(100 * MBIT, 0);
    let mut flow = bucket(frame, 8_536_000);
    let mut sum = 0;
    for hop in 0..3 {
        let line = (hop > 0).then(|| Bucket::line(ubits(frame), 100 * MBIT));
        let d = delay(server, &[group(flow, Bucket::ZERO, line)]).expect("the load is low");
        sum += d.0;
        flow = flow.grown(d);
    }
    assert_eq!(sum, 369_120_000);
}

#[test]
fn without_lines_bursts_grow_by_rate_times_delay() {
    // Published plain total flow analysis: 1067 B every 1 ms over two hops, 178.006 us.
    let server = Server::new(100 * MBIT, 0);
    let mut flow = bucket(1067 * 8, 8_536_000);
    let mut sum = 0;
    for _ in 0..2 {
        let d = delay(server, &[group(flow, Bucket::ZERO, None)]).expect("the load is low");
        sum += d.0;
        flow = flow.grown(d);
    }
    assert_eq!(sum / 1_000_000, 178);
    assert_eq!(sum.div_euclid(1_000), 178_006);
}

#[test]
fn higher_classes_and_blocking_delay() {
    // (10 kbit + 20 kbit + 30 kbit) / (100 - 50) Mbit/s = 1.2 ms.
    let server = Server::new(100 * MBIT, ubits(10_000));
    let groups = [group(bucket(20_000, MBIT), bucket(30_000, 50 * MBIT), None)];
    assert_eq!(delay(server, &groups), Some(Picos(1_200_000_000)));
    // Over one line with frames of 10 kbit, all that is queued at t came with the line; then
    // (10 + 10 + 30) kbit / 50 Mbit/s.
    let shaped = [GroupCurves { line: Some(Bucket::line(ubits(10_000), 100 * MBIT)), ..groups[0] }];
    assert_eq!(delay(server, &shaped), Some(Picos(1_000_000_000)));
}

#[test]
fn flows_that_end_do_not_need_rate_for_ever() {
    let mut one = group(bucket(1_000, 60 * MBIT), Bucket::ZERO, None);
    one.higher.ending = bucket(1_000, 50 * MBIT);
    let server = Server::new(100 * MBIT, 0);
    assert_eq!(delay(server, &[one]), None, "110 of 100 Mbit/s");
    let ending = Server { ending_after: Some(Picos(1_000_000_000)), ..server };
    let d = delay(ending, &[one]).expect("after 1 ms 60 of 100 Mbit/s are left");
    // At the end, 1 ms: 2 kbit + 110 kbit have come by t + d = 1 ms, 100 kbit are served.
    assert!(d.0 <= 520_000_000, "{d:?}");
    assert!(holds(ending, &[one], d) && !holds(ending, &[one], Picos(d.0 - 1)));
}

#[test]
fn overload_has_no_bound() {
    let server = Server::new(100 * MBIT, 0);
    let groups = [group(bucket(1, 60 * MBIT), bucket(1, 41 * MBIT), None)];
    assert_eq!(delay(server, &groups), None);
    assert_eq!(busy_period(server, &groups), None);
    assert_eq!(backlog(server, &groups), None);
    let huge = [group(Bucket { burst_ubit: i128::MAX, rate_ubps: 1 }, Bucket::ZERO, None)];
    assert_eq!(delay(server, &huge), None, "no overflow, no number");
}

#[test]
fn backlog_and_busy_period_by_hand() {
    let server = Server::new(100 * MBIT, 0);
    // Two bursts of 10 kbit over one line each: both lines full until the bursts are through.
    let line = Some(Bucket::line(ubits(1_000), 100 * MBIT));
    let one = group(bucket(10_000, 10 * MBIT), Bucket::ZERO, line);
    // K = line at t = 9 kbit / 90 Mbit/s = 100 us: 2 · 11 kbit have come, 10 kbit are served.
    assert_eq!(backlog(server, &[one, one]), Some(ubits(12_000)));
    // 20 kbit + 20 Mbit/s · w = 100 Mbit/s · w.
    assert_eq!(busy_period(server, &[one, one]), Some(Picos(250_000_000)));
}

prop_compose! {
    fn any_bucket(bits: u64, mbps: u64)(b in 0..bits, r in 0..mbps * 1_000) -> Bucket {
        bucket(b, r * 1_000)
    }
}

prop_compose! {
    fn any_group()(
        class in any_bucket(50_000, 12),
        higher in any_bucket(30_000, 10),
        class_ending in any_bucket(10_000, 20),
        higher_ending in any_bucket(10_000, 20),
        line in proptest::option::of(any_bucket(13_000, 2)),
        line_mbps in prop_oneof![Just(100_u64), Just(1_000), Just(30), Just(10)],
        kind in 0..4,
    ) -> GroupCurves {
        let or_none = |bucket, wanted| if wanted { bucket } else { Bucket::ZERO };
        GroupCurves {
            class: Flows { steady: class, ending: or_none(class_ending, kind & 1 == 1) },
            higher: Flows { steady: or_none(higher, kind > 0), ending: or_none(higher_ending, kind & 2 == 2) },
            line: line.map(|l| Bucket { rate_ubps: ubits(line_mbps * MBIT), ..l }),
            under: None,
        }
    }
}

prop_compose! {
    /// Groups, and sets within groups and within sets; lines within are mostly slower.
    fn any_sets(most: usize)(
        mut sets in proptest::collection::vec(any_group(), 1..=most),
        around in proptest::collection::vec(proptest::option::weighted(0.7, 0..most), most),
    ) -> Vec<GroupCurves> {
        for place in 0..sets.len() {
            sets[place].under = around[place].filter(|around| *around < place);
        }
        sets
    }
}

#[test]
fn a_slow_line_farther_back_spreads_what_a_fast_one_brings() {
    // A message of 60 kbit comes over 10 Mbit/s and then over 1 Gbit/s to a line of 20 Mbit/s,
    // frames of 10 kbit: Λ = 10 kbit + 10 Mbit/s · (t + 1 ms). No more than 20 kbit comes at once, and
    // with 10 kbit in the way 30 kbit / 20 Mbit/s = 1.5 ms are the delay.
    let server = Server::new(20 * MBIT, ubits(10_000));
    let fast = group(Bucket::ZERO, Bucket::ZERO, Some(Bucket::line(ubits(25_000), 1_000 * MBIT)));
    let slow = Bucket::line(ubits(10_000), 10 * MBIT).grown(Picos(1_000_000_000));
    let message = group(bucket(60_000, MBIT), Bucket::ZERO, Some(slow));
    let nested = [fast, GroupCurves { under: Some(0), ..message }];
    assert_eq!(delay(server, &nested), Some(Picos(1_500_000_000)));
    // From then on it comes at 10 Mbit/s, and 20 Mbit/s are served.
    assert_eq!(backlog(server, &nested), Some(ubits(20_000)));
    // Without that line: 10 + 60 kbit at 20 Mbit/s, less the 35 us that 1 Gbit/s takes for 35 kbit.
    let flat = [GroupCurves { class: message.class, ..fast }];
    assert!(delay(server, &flat).expect("1 of 20 Mbit/s") > Picos(3_400_000_000));
    // The same above a class with 5 kbit of its own: while these wait for d, 20 kbit + 10 Mbit/s · d
    // come of it, and (10 + 5 + 20) kbit / (20 − 10) Mbit/s = 3.5 ms. All 60 kbit would be there by 4.4 ms.
    let own = GroupCurves { class: steady(bucket(5_000, MBIT)), ..fast };
    let higher = GroupCurves { class: Flows::default(), higher: message.class, ..nested[1] };
    assert_eq!(delay(server, &[own, higher]), Some(Picos(3_500_000_000)));
}

#[test]
fn so_many_lines_farther_back_that_sums_are_not_exact_are_left_out() {
    // 2 000 lines of 1 Gbit/s are 2 Tbit/s.
    let server = Server::new(10_000 * MBIT, 0);
    let fast = group(bucket(1_000, MBIT), Bucket::ZERO, Some(Bucket::line(0, 10_000 * MBIT)));
    let slow = group(bucket(1_000, MBIT), Bucket::ZERO, Some(Bucket::line(0, 1_000 * MBIT)));
    let mut groups = vec![fast];
    groups.extend((0..2_000).map(|_| GroupCurves { under: Some(0), ..slow }));
    let flat: Vec<GroupCurves> =
        groups.iter().map(|it| if it.under.is_some() { it.free() } else { *it }).collect();
    assert!(delay(server, &flat).is_some());
    assert_eq!(delay(server, &groups), delay(server, &flat));
    assert_eq!(backlog(server, &groups), backlog(server, &flat));
    assert_eq!(busy_period(server, &groups), busy_period(server, &flat));
}

proptest! {
    #[test]
    fn lines_farther_back_never_make_anything_longer(
        groups in any_sets(6),
        blocking in 0_u64..13_000,
        cut_us in proptest::option::of(1_i128..3_000),
    ) {
        let ending_after = cut_us.map(|us| Picos(us * 1_000_000));
        let server = Server { ending_after, ..Server::new(100 * MBIT, ubits(blocking)) };
        let flat: Vec<GroupCurves> =
            groups.iter().map(|it| if it.under.is_some() { it.free() } else { *it }).collect();
        let no_more = |less: Option<i128>, most: Option<i128>| most.is_none_or(|most| {
            less.is_some_and(|less| less <= most)
        });
        let ps = |it: Option<Picos>| it.map(|it| it.0);
        prop_assert!(no_more(ps(delay(server, &groups)), ps(delay(server, &flat))));
        prop_assert!(no_more(ps(busy_period(server, &groups)), ps(busy_period(server, &flat))));
        prop_assert!(no_more(backlog(server, &groups), backlog(server, &flat)));
    }

    #[test]
    fn the_delay_holds_at_every_sample_and_is_the_least(
        groups in any_sets(5),
        blocking in 0_u64..13_000,
        cut_us in proptest::option::of(1_i128..3_000),
    ) {
        let server = Server {
            ending_after: cut_us.map(|us| Picos(us * 1_000_000)),
            ..Server::new(100 * MBIT, ubits(blocking))
        };
        if let Some(d) = delay(server, &groups) {
            for step in 0..400 {
                let t = step * 17_000_003;
                prop_assert!(excess_at(server, &groups, t, d.0) <= 0, "t {t} d {d:?}");
            }
            prop_assert!(holds(server, &groups, d));
            prop_assert!(d.0 == 0 || !holds(server, &groups, Picos(d.0 - 1)));
        }
    }

    #[test]
    fn what_is_refused_is_violated_at_a_sample(
        groups in any_sets(4),
        d_us in 0_i128..2_000,
    ) {
        let server = Server::new(100 * MBIT, 0);
        let d = Picos(d_us * 1_000_000);
        let worst = (0..20_000).map(|i| excess_at(server, &groups, i * 1_000_000, d.0)).max();
        // One sample per microsecond misses at most 1 us at the rate that is in excess.
        let missed = 5_000 * ubits(MBIT) * 1_000_000;
        if worst.is_some_and(|w| w > 0) {
            prop_assert!(!holds(server, &groups, d));
        } else if worst.is_some_and(|w| w < -missed) && delay(server, &groups).is_some() {
            prop_assert!(holds(server, &groups, d));
        }
    }

    #[test]
    fn busy_period_and_backlog_bound_every_sample(
        groups in any_sets(5),
        blocking in 0_u64..13_000,
        cut_us in proptest::option::of(1_i128..3_000),
    ) {
        let ending_after = cut_us.map(|us| Picos(us * 1_000_000));
        let server = Server { ending_after, ..Server::new(100 * MBIT, ubits(blocking)) };
        if let Some(w) = busy_period(server, &groups) {
            prop_assert!(excess_at(server, &groups, w.0, 0) <= 0);
            prop_assert!(w.0 == 0 || excess_at(server, &groups, w.0 - 1, 0) > 0);
        }
        let free = Server::new(100 * MBIT, 0);
        if let Some(most) = backlog(free, &groups) {
            for step in 0..400 {
                let left = excess_at(free, &groups, step * 17_000_003, 0);
                prop_assert!(left <= most * 1_000_000_000_000);
            }
        }
    }
}
