//! Loko's printed figures: tables, regions and appendix; slips of the print beside them.

use tenuto_model::{Action, MatchType, Profile, Use};
use tenuto_planner::comparison::{qjump, silo};
use tenuto_planner::loko::SwitchModel;

/// A size that is printed in kB but was meant in KiB.
const KIB: f64 = 1_024.0;
/// Table 2, fifth-rate: 2.32 KiB.
const PRINTED_BURST_BYTES: u64 = 2_376;

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
    let printed = model.with(it.rate_bps, PRINTED_BURST_BYTES).expect("less burst");
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

#[test]
fn a_ring_accepts_what_its_buffers_hold() {
    use tenuto_planner::loko::{Demand, admit, optimised, ring};
    use tenuto_units::Draws;
    let model = zodiac(17, 306);
    let allocation = model.share(1);
    // Fig. 20a: six flows of one frame fill the 2.02 KiB of a switch, half of its rate at most.
    let here: Vec<Demand> =
        (0..100).map(|_| Demand { path: vec![0], rate_bps: 1_000_000, burst_bytes: 306 }).collect();
    let admission = admit(&[allocation], &here);
    assert_eq!((admission.accepted, admission.rate_bps[0]), (6, 6_000_000));
    let share = |hops: usize, buffer: u64, as_printed: bool| {
        let grown = model.with_buffer(buffer).share(1).zip(allocation).map(|(own, printed)| {
            let delay_ps = if as_printed { printed.delay_ps } else { own.delay_ps };
            tenuto_planner::loko::Allocation { delay_ps, ..own }
        });
        let mut draws = Draws::new(1);
        let (mut accepted, mut most) = (0, 0);
        for _ in 0..200 {
            let it = admit(&[grown; 31], &ring(31, hops, 100, 306, &mut draws));
            accepted += it.accepted;
            most = most.max(it.rate_bps.iter().copied().max().unwrap_or(0));
        }
        (accepted as f64 / 20_000.0, most as f64 / model.rate_bps as f64)
    };
    // Section 6.2: only up to 49 %, i.e. 6 Mbit/s; around five hops is how far it scales.
    let (near, most) = share(0, 1, false);
    assert!(near > 0.9 && (0.45..0.52).contains(&most), "{near} {most}");
    let (far, _) = share(30, 1, false);
    assert!(far < 0.1, "{far}");
    // With ten times the buffer the rate is the limit, if the delay stays the printed one.
    let (_, most) = share(5, 10, true);
    assert!(most > 0.95, "{most}");
    // An allocation made for five hops accepts more flows than full or fifth rate, on other flows.
    let lists = |seed: u64| -> Vec<Vec<Demand>> {
        let mut draws = Draws::new(seed);
        (0..32).map(|_| ring(31, 5, 100, 306, &mut draws)).collect()
    };
    let chosen = optimised(&[model; 31], &lists(7), 0);
    let count = |allocations: &[Option<tenuto_planner::loko::Allocation>]| -> usize {
        lists(8).iter().map(|list| admit(allocations, list).accepted).sum()
    };
    let (full, fifth) = (count(&[model.share(1); 31]), count(&[model.share(5); 31]));
    assert!(count(&chosen) > full.max(fifth), "{} {full} {fifth}", count(&chosen));
    for allocation in chosen.iter().flatten() {
        assert!(model.with(allocation.rate_bps, allocation.burst_bytes) == Some(*allocation));
    }
}

#[test]
fn mode_changes_of_odroids_are_bounded_as_printed() {
    use tenuto_planner::comparison::mc_sdn::ODROID_XU4;
    // Table II, Overall.
    assert_eq!(ODROID_XU4.hop_ps(), 1_453_450_000);
    assert_eq!((5_460 + 2_048) * 8 * 10_000, ODROID_XU4.queueing_ps);
    // Fig. 6(b): star, grid and linear have 0, 4 and 8 links; queues of 1000 frames.
    let ms = |links, rules| ODROID_XU4.bound(links, rules, 1_000).sum_ps() as f64 / 1e9;
    assert!((ms(0, 1) - 1.11606).abs() < 1e-9, "{}", ms(0, 1));
    assert!((ms(4, 50) - 7.12341).abs() < 1e-9, "{}", ms(4, 50));
    assert!((ms(8, 100) - 13.13471).abs() < 1e-9, "{}", ms(8, 100));
    let profile = Profile::built_in("odroid-xu4-mc-sdn").expect("built in");
    assert_eq!(profile.latency_ns_max * 1_000, ODROID_XU4.processing_ps + ODROID_XU4.flooding_ps);
    assert_eq!(u64::from(profile.below_scheduler_bytes) * 80_000, ODROID_XU4.queueing_ps);
}

#[test]
fn attendre_never_waits_longer_than_barriers() {
    use tenuto_planner::comparison::attendre::{Way, link_ps};
    const US: u64 = 1_000_000;
    let way = |switches: usize, trip: &[u64], controller: u64| {
        let link = link_ps(3_400_000, 576_000, 167_000, 3_400_000);
        Way {
            links_ps: vec![link; switches + 1],
            packet_ps: vec![5 * US; switches],
            command_ps: vec![1_000 * US; switches],
            round_trip_ps: (0..switches).map(|k| trip[k % trip.len()] * US).collect(),
            controller_ps: vec![controller * US; switches],
        }
    };
    // One switch: the three are the same.
    let one = way(1, &[50], 100);
    assert_eq!(one.openflow_ps(), one.attendre_ps());
    assert_eq!(one.barriers_ps(), one.attendre_ps());
    // Six switches: barriers cost about 1 ms more, whatever the controller.
    for controller in [100, 400, 700, 1_000] {
        for trips in [[50, 90], [250, 50], [130, 250]] {
            let six = way(6, &trips, controller);
            let more = six.barriers_ps() - six.attendre_ps();
            assert!((900 * US..1_400 * US).contains(&more), "{more}");
            assert!(six.attendre_ps() <= six.openflow_ps());
        }
    }
}
