//! [Loko] section 6.1 on virtual devices: what keeps to the allocation is served in time, what does not is lost or late
//! from where the paper prints it.

use tenuto_model::{Action, MatchType, Profile, Use};
use tenuto_planner::loko::SwitchModel;
use tenuto_units::Span;
use tenuto_world::device::DeviceModel;
use tenuto_world::profiling::{TwoSwitches, TwoSwitchesSeen};

/// The allocation of one part of the rate, on the switch with the rest of its loop.
fn case(part: u64) -> TwoSwitches {
    let profile = Profile::built_in("zodiac-fx").expect("it is");
    let used = Use::worst(MatchType::FiveTuple, Action::Output, 17, 306);
    let model = SwitchModel::of(&profile, &used).expect("it has a processor and cells");
    let share = model.share(part).expect("feasible");
    TwoSwitches {
        model: DeviceModel::built_in("zodiac-fx-loop").expect("it is"),
        rate_bps: share.rate_bps as f64,
        burst_bytes: share.burst_bytes as f64,
        delay_ns: share.delay_ps / 1_000,
        first_times: if part == 1 { 0.0 } else { 2.0 },
        rate_times: 1.0,
        burst_times: 1.0,
        control_modelled_per_s: 0.0,
        control_per_s: 0,
        duration: Span::from_s(4),
        seed: 1,
    }
}

#[track_caller]
fn clean(case: &TwoSwitches) -> TwoSwitchesSeen {
    let seen = case.run();
    assert!(seen.sent > 1_000 && seen.lost == 0 && seen.late == 0, "{seen:?}");
    seen
}

#[test]
fn what_keeps_to_its_allocation_is_neither_lost_nor_late() {
    for seed in 0..3 {
        clean(&TwoSwitches { seed, ..case(5) });
        clean(&TwoSwitches { seed, rate_times: 0.95, ..case(1) });
    }
}

#[test]
fn a_fifth_of_the_rate_may_be_exceeded_until_the_processor_is_full() {
    // Fig. 17a: losses from m_r = 5, around 60 % at 11.
    clean(&TwoSwitches { rate_times: 3.0, ..case(5) });
    let at = |rate_times| TwoSwitches { rate_times, ..case(5) }.run();
    assert!(at(5.0).lost > 0, "{:?}", at(5.0));
    let much = at(11.0);
    let percent = much.lost * 100 / much.sent;
    assert!((45..=70).contains(&percent), "{percent} %");
}

#[test]
fn the_full_rate_is_lossy_and_a_twentieth_less_is_not() {
    // Fig. 18a: Eq. 6 errs by a few percent.
    let whole = case(1).run();
    assert!(whole.lost > 0, "{whole:?}");
}

#[test]
fn control_traffic_that_the_allocation_does_not_know_loses_frames() {
    // Fig. 19a: from 450 requests per second.
    let at = |control_per_s| TwoSwitches { rate_times: 0.95, control_per_s, ..case(1) }.run();
    assert_eq!(at(150).lost, 0, "{:?}", at(150));
    assert!(at(600).lost > 0, "{:?}", at(600));
    // Fig. 19b: 750 in the allocation.
    let known = TwoSwitches { rate_times: 0.95, control_modelled_per_s: 750.0, ..case(1) };
    clean(&TwoSwitches { control_per_s: 600, ..known });
}
