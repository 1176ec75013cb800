use super::builder::{MS, contract, flow, line, link, quick, vehicle};
use crate::{Options, plan};
use tenuto_model::{Plan, Size, Transition};

#[test]
fn the_refused_car_is_told_what_would_fit() {
    let refused = plan(&vehicle(432, 2, 1), &Options::default());
    let rate = refused.refusals.iter().find(|r| r.resource == "rate").expect("overload");
    assert!(!rate.would_fit.is_empty());
    let size = rate.would_fit.iter().find(|line| line.starts_with("STREAM message <= "));
    let size = size.expect("a smaller message fits");
    let kb: u32 = size.split(' ').nth(3).and_then(|n| n.parse().ok()).expect("a whole number");
    assert!(plan(&vehicle(kb, 2, 1), &Options::default()).feasible, "{size} was promised");
    assert!(kb >= 48, "and it is near the largest: {size}");
}

#[test]
fn a_late_flow_is_told_the_deadline_that_holds() {
    let mut it = line("ideal");
    let mut late = flow("late", "s1", &["d1"], contract(Size::FrameBytes(1518), MS, 0));
    late.targets[0].deadline_ns = vec![400_000];
    it.flows.push(late);
    let refused = plan(&it, &Options::default());
    let refusal = &refused.refusals[0];
    assert_eq!(refusal.resource, "deadline");
    assert_eq!((refusal.needed, refusal.available), (Some(492_160), Some(400_000)));
    assert_eq!(refusal.mode, Some(Transition::Steady(0)));
    assert!(
        refusal.would_fit.iter().any(|l| l == "late deadline >= 0.5 ms"),
        "{:?}",
        refusal.would_fit
    );
    assert!(refusal.would_fit.iter().any(|l| l.starts_with("late frame <= ")));
}

#[test]
fn limits_of_the_device_are_refused_by_name() {
    let mut it = line("ideal");
    for profile in it.profiles.values_mut() {
        (profile.entries_max, profile.meters_max, profile.queues_per_port) = (3, 0, 1);
        profile.buffer_bytes_per_port = Some(1_000);
    }
    it.flows.push(flow("f", "s1", &["d1"], contract(Size::FrameBytes(1518), MS, 1)));
    let refused = plan(&it, &Options::default());
    for resource in ["entries", "meters", "queues", "buffer"] {
        let place =
            refused.refusals.iter().find(|r| r.resource == resource).map(|r| r.place.as_str());
        assert!(place.is_some_and(|p| p.starts_with("sw1")), "{resource}: {place:?}");
    }
}

#[test]
fn a_group_has_so_many_outputs() {
    let with = |targets: usize| {
        let names: Vec<String> = (0..targets).map(|number| format!("t{number}")).collect();
        let mut it = line("ideal");
        let all: Vec<&'static str> = names.iter().map(|name| &*name.clone().leak()).collect();
        for &name in &all {
            it.hosts.push(tenuto_model::Host { name: name.into() });
            link(&mut it, "sw1", name);
        }
        it.flows.push(flow("f", "s1", &all, contract(Size::FrameBytes(64), 100 * MS, 0)));
        plan(&it, &Options { would_fit: false, ..Options::default() })
    };
    let fits = with(500);
    assert!(fits.refusals.iter().all(|it| it.resource != "outputs"), "{:?}", fits.refusals);
    let refused = with(501);
    let refusal = refused.refusals.iter().find(|it| it.resource == "outputs").expect("too many");
    assert_eq!((&*refusal.place, refusal.needed, refusal.available), ("sw1", Some(501), Some(500)));
    let told = tenuto_certify::certify(&refused.to_json());
    assert!(told.is_ok(), "a refused plan is certified as that: {told:?}");
}

#[test]
fn a_profile_that_comes_with_the_program_is_what_it_is() {
    let with = |name: &str| {
        let mut it = line("tenuto");
        let mut profile = it.profiles.remove("tenuto").expect("the profile of the line");
        profile.entries_max = 3;
        profile.name = name.into();
        it.profiles.insert(name.into(), profile);
        it.switches.iter_mut().for_each(|switch| switch.profile = name.into());
        it.flows.push(flow("f", "s1", &["d1"], contract(Size::FrameBytes(64), MS, 0)));
        let refused = plan(&it, &Options::default());
        let lines = refused.refusals.iter().flat_map(|it| it.would_fit.clone());
        lines.filter(|line| line.contains(" entries >= ")).count()
    };
    // What `--set` would not change is not offered either.
    assert_eq!(with("tenuto"), 0);
    assert!(with("own") > 0);
}

#[test]
fn a_burst_that_no_meter_of_the_switch_has_is_refused() {
    let with = |bytes: u32, jitter_ns: u64| {
        let mut it = line("tenuto");
        for profile in it.profiles.values_mut() {
            profile.meter_burst_max_bytes = 100_000;
        }
        let mut contract = contract(Size::MessageBytes(bytes), 100 * MS, 0);
        contract.jitter_ns = jitter_ns;
        it.flows.push(flow("f", "s1", &["d1"], contract));
        plan(&it, &Options::default())
    };
    let fits = with(80_000, 0);
    assert!(fits.feasible, "{:?}", fits.refusals);
    // A message that fits, and what comes in its jitter on top.
    for (bytes, jitter_ns) in [(120_000, 0), (80_000, 50 * MS)] {
        let refused = with(bytes, jitter_ns);
        let refusal = refused.refusals.iter().find(|it| it.resource == "meter_burst");
        let refusal = refusal.expect("no meter has such a burst");
        assert_eq!((&*refusal.place, refusal.available), ("sw1", Some(100_000)));
        assert!(refusal.needed.is_some_and(|needed| needed > 100_000), "{refusal:?}");
        assert!(refusal.because.starts_with("f needs a meter with a burst of"), "{refusal:?}");
        let smaller = refusal.would_fit.iter().find(|line| line.starts_with("f message <= "));
        let smaller = smaller.expect("a smaller message fits");
        let kb: f64 = smaller.split(' ').nth(3).and_then(|n| n.parse().ok()).expect("a number");
        assert!((40.0..100.0).contains(&kb), "{smaller}");
        let told = tenuto_certify::certify(&refused.to_json());
        assert!(told.is_ok(), "a refused plan is certified as that: {told:?}");
    }
}

#[test]
fn modes_need_switches_that_know_them() {
    let mut it = vehicle(70, 2, 1);
    it.switches[1].profile = "ideal".into();
    let ideal = tenuto_model::Profile::built_in("ideal").expect("built in");
    it.profiles.insert("ideal".into(), ideal);
    let refused = plan(&it, &quick());
    assert!(refused.refusals.iter().any(|r| r.resource == "modes" && r.place == "sw2"));
}

#[test]
fn other_traffic_slower_than_a_meter_can_count_is_refused() {
    let with = |rate_bps: u64| {
        let mut it = line("ideal");
        it.other_traffic =
            tenuto_model::OtherTraffic::Carry { priority: 7, rate_bps, frame_bytes_max: 1518 };
        it.flows.push(flow("f", "s1", &["d1"], contract(Size::FrameBytes(64), MS, 0)));
        plan(&it, &Options::default())
    };
    assert!(with(1_000_000).feasible);
    let refused = with(999);
    assert!(refused.refusals.iter().any(|r| r.resource == "other_traffic"), "{refused:?}");
}

/// A circle has a way across the switch that is to watch, but the flow takes the shorter one.
#[test]
fn a_way_that_nobody_watches_is_refused_by_name() {
    let mut it = vehicle(200, 2, 1);
    link(&mut it, "sw1", "sw3");
    it.flows[1].monitor_at = vec!["sw2".into()];
    it.flows.truncate(2);
    let refused = plan(&it, &quick());
    let refusal = refused.refusals.iter().find(|it| it.resource == "monitor");
    let refusal = refusal.unwrap_or_else(|| panic!("{:?} {:?}", refused.refusals, refused.routes));
    assert_eq!(refusal.place, "CAM");
    assert!(refusal.because.contains("watched at sw2"), "{}", refusal.because);
    assert!(refusal.because.contains("crosses sw1, sw3 only"), "{}", refusal.because);
    it.flows[1].monitor_at = vec!["sw3".into()];
    assert!(plan(&it, &quick()).refusals.iter().all(|it| it.resource != "monitor"));
}

/// One network may be in another mode than the other, and rows speak of one mode.
#[test]
fn redundant_networks_with_modes_are_refused_by_name() {
    let mut it = vehicle(200, 2, 1);
    it.networks = vec!["A".into(), "B".into()];
    it.switches.iter_mut().for_each(|switch| switch.network = Some("A".into()));
    it.flows.iter_mut().for_each(|flow| flow.copies = vec!["A".into()]);
    let refused = plan(&it, &quick());
    let because = refused.refusals.iter().map(|it| it.because.as_str()).collect::<Vec<_>>();
    assert!(
        because.iter().any(|it| it.contains("A and B change their modes by themselves")),
        "{because:?}"
    );
}

/// The leader of a return asks again after 50 ms, which voids the answers that are on their way.
#[test]
fn a_return_whose_answers_come_late_is_refused() {
    let with_latency = |ms: u64| {
        let mut it = vehicle(20, 2, 1);
        it.mode_return.quiet_ns = Some(10_000 * MS);
        for profile in it.profiles.values_mut() {
            (profile.latency_ns_min, profile.latency_ns_max) = (ms * MS, ms * MS);
        }
        plan(&it, &quick())
    };
    let (near, far) = (with_latency(7), with_latency(9));
    assert!(
        near.refusals.iter().all(|it| !it.because.contains("asks again")),
        "{:?}",
        near.refusals
    );
    assert!(far.refusals.iter().any(|it| it.because.contains("asks again")), "{:?}", far.refusals);
    let has_return =
        |it: &Plan| it.mode_changes.iter().any(|it| matches!(it.change, Transition::Return { .. }));
    assert!(has_return(&near) && !has_return(&far));
}

/// What a monitor behind a way around a lost link has to bear with is not analysed.
#[test]
fn monitors_elsewhere_are_refused_where_links_may_be_lost() {
    let mut it = vehicle(200, 2, 1);
    link(&mut it, "sw1", "sw3");
    it.tolerates.links_lost = 1;
    let is_refused = |it: &tenuto_model::Network| {
        plan(it, &quick()).refusals.iter().any(|it| it.resource == "monitor")
    };
    assert!(!is_refused(&it));
    it.flows[1].monitor_at = vec!["sw3".into()];
    assert!(is_refused(&it));
}
