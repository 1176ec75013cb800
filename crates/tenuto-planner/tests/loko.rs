//! Loko's printed figures: tables, regions and appendix; slips of the print beside them.

use tenuto_model::{Action, MatchType, Profile, Use};
use tenuto_planner::comparison::{qjump, silo};
use tenuto_planner::loko::SwitchModel;

/// A size that is printed in kB but was meant in KiB.
const KIB: f64 = 1_024.0;

fn zodiac(entries: u32, frame_bytes: u32) -> SwitchModel {
    let profile = Profile::built_in("zodiac-fx").expect("built in");
    let it = Use::worst(MatchType::FiveTuple, Action::Output, entries, frame_bytes);
    SwitchModel::of(&profile, &it).expect("a processor and its cells")
}

/// To the printed digits: half a unit of the last one, and the fit's half per cent.
fn is_printed(value: f64, printed: f64, digit: f64) -> bool {
    (value - printed).abs() <= digit / 2.0 + printed * 0.005
}

#[test]
fn table_2_at_full_rate() {
    let it = zodiac(17, 306).share(1).expect("feasible");
    assert!(is_printed(it.rate_bps as f64 / 1e6, 11.8, 0.1), "{it:?}");
    assert!(is_printed(it.burst_bytes as f64 / KIB, 2.02, 0.01), "{it:?}");
    assert!(is_printed(it.delay_ps as f64 / 1e9, 1.86, 0.01), "{it:?}");
}

#[test]
fn table_2_at_fifth_rate_does_not_follow_from_its_own_formula() {
    let model = zodiac(17, 306);
    let it = model.share(5).expect("feasible");
    assert!(is_printed(it.rate_bps as f64 / 1e6, 2.37, 0.01), "{it:?}");
    // b = B − r·T = 2.56 KiB; printed are 2.32, with which the printed delay is consistent.
    assert!(is_printed(it.burst_bytes as f64 / KIB, 2.56, 0.01), "{it:?}");
    assert!(is_printed(it.delay_ps as f64 / 1e9, 2.24, 0.01), "{it:?}");
    let printed = model.with(it.rate_bps, (2.32 * KIB) as u64).expect("less burst");
    assert!(is_printed(printed.delay_ps as f64 / 1e9, 2.07, 0.01), "{printed:?}");
}

#[test]
fn the_white_cells_of_figure_14() {
    // Full rate: b = B − R·T < one frame. Large frames never fit, small ones nearly always.
    let feasible = |k: u64, bytes: u32| {
        [1, 17, 33, 49, 65, 81, 97, 113, 128].map(|n| zodiac(n, bytes).share(k).is_some())
    };
    for bytes in [64, 306, 548] {
        assert_eq!(feasible(1, bytes), [true; 9], "{bytes}");
    }
    assert_eq!(feasible(1, 1032), [false; 9]);
    assert_eq!(feasible(1, 1516), [false; 9]);
    // A fifth of the rate leaves room for a burst everywhere.
    for bytes in [64, 306, 548, 790, 1032, 1274, 1516] {
        assert_eq!(feasible(5, bytes), [true; 9], "{bytes}");
    }
}

#[test]
fn silo_promises_what_appendix_a_says() {
    // Eqs. 13 to 18: three buffers of 306 B per port, two hops.
    for (line_bps, host_bps, capacity, sum, trunk, host) in [
        (100_000_000, 45_000_000, 73.4, 146.9, 49.0, 57.5),
        (1_000_000_000, 450_000_000, 7.34, 14.7, 4.90, 5.75),
    ] {
        let us = |ps: u64| ps as f64 / 1e6;
        let digit = if line_bps > 100_000_000 { 0.01 } else { 0.1 };
        let port = silo::SiloPort { line_bps, buffer_bytes: 3 * 306 };
        assert!((us(port.queue_capacity_ps()) - capacity).abs() <= digit);
        assert!((us(silo::guarantee_ps(&[port, port])) - sum).abs() <= digit.max(0.1));
        let flow = silo::SiloLoad { rate_bps: host_bps, burst_bits: 306 * 8 };
        let two = silo::SiloLoad { rate_bps: 2 * host_bps, burst_bits: 2 * 306 * 8 };
        let bound = |load| us(port.queue_bound_ps(load).expect("below the line's rate"));
        assert!((bound(two) - trunk).abs() <= digit);
        assert!((bound(flow.behind(&port)) - host).abs() <= digit);
        assert!(port.accepts(two) && port.accepts(flow.behind(&port)));
    }
    // Eq. 20 prints 45 Mbit/s where its result, 5.75 us, needs the 450 of the text.
    let port = silo::SiloPort { line_bps: 1_000_000_000, buffer_bytes: 3 * 306 };
    let slip = silo::SiloLoad { rate_bps: 45_000_000, burst_bits: 306 * 8 };
    let as_printed = port.queue_bound_ps(slip.behind(&port)).expect("bounded");
    assert_eq!(as_printed / 10_000, 277, "2.78 us, not 5.75");
    let over = silo::SiloLoad { rate_bps: 1_000_000_001, burst_bits: 1 };
    assert_eq!(port.queue_bound_ps(over), None);
}

#[test]
fn qjump_promises_an_epoch() {
    // Section 2.3: n = 4, P = 306 B; Banana Pi with ε = 4 us, Zodiac with the printed ε = 257 us,
    // which is one p_FX; two switches make 2·p_FX = 515 us.
    assert_eq!(qjump::epoch_ps(4, 306, 1_000_000_000, 4_000_000), 23_584_000);
    assert_eq!(qjump::epoch_ps(4, 306, 100_000_000, 257_000_000), 452_840_000);
    let profile = Profile::built_in("zodiac-fx").expect("built in");
    let processor = profile.processor.expect("one");
    let it = Use::worst(MatchType::FiveTuple, Action::Output, 17, 306);
    let one = processor.service(&it).traversal_ps;
    assert!((one as f64 / 1e6 - 257.0).abs() <= 1.5, "{one}");
    assert_eq!(qjump::rate_bps(306, 452_840_000), 5_405_882);
}
