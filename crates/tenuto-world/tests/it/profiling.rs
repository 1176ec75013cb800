//! Measured models: they give back what a device was built from, and cover what it does.

use tenuto_model::{
    Action, BufferUnit, MatchCosts, MatchType, MemorySources, Processor, ProcessorLink, Profile,
    ReceiveBuffer, Use, read_network,
};
use tenuto_planner::{Options, plan};
use tenuto_units::{Draws, Span};
use tenuto_world::device::{DeviceModel, OwnWork};
use tenuto_world::profiling::{
    CheckRow, Design, Measured, RowVerdict, Settings, Shape, VirtualRig, check, profile, to_yaml,
};

fn settings(like: &str) -> Settings {
    Settings {
        name: "measured".into(),
        like: like.into(),
        samples: 25,
        listening: Span::from_ms(200),
        ..Settings::default()
    }
}

fn measured(model: DeviceModel, like: &str, seed: u64) -> Measured {
    measured_by(model, seed, &settings(like))
}

fn measured_by(model: DeviceModel, seed: u64, settings: &Settings) -> Measured {
    profile(&mut VirtualRig::new(model, seed), settings).unwrap_or_else(|e| panic!("{e}"))
}

/// Claims that the device does not keep.
fn exceeded(profile: &Profile, measured: &Measured) -> Vec<CheckRow> {
    let rows = check(profile, measured);
    assert!(rows.iter().any(|it| it.verdict == RowVerdict::Kept), "nothing was kept");
    rows.into_iter().filter(|it| it.verdict == RowVerdict::Exceeded).collect()
}

/// Uses over the whole of Table 1, drawn.
fn uses(draws: &mut Draws, entries_max: u32) -> Vec<Use> {
    let one = |draws: &mut Draws| {
        let kind = draws.one_of(&MatchType::ALL);
        let entries = 1 + u32::try_from(draws.below(entries_max.min(128).into())).expect("few");
        let bytes = 64 + u32::try_from(draws.below(1_453)).expect("few");
        Use::worst(kind, Action::Output, entries, bytes)
    };
    (0..200).map(|_| one(draws)).collect()
}

/// Whether `found` is at least `truth`, and above it by no more than 3 %.
#[track_caller]
fn covers(what: &str, found: u64, truth: u64) {
    assert!(found >= truth, "{what}: {found} is below {truth}");
    assert!(found <= truth + truth * 3 / 100, "{what}: {found} is far above {truth}");
}

#[test]
fn a_zodiac_gives_back_the_model_that_it_was_built_from() {
    let truth = Profile::built_in("zodiac-fx").expect("it is");
    // As many samples as the paper takes.
    let hundred = Settings { samples: 100, ..settings("zodiac-fx") };
    let found = measured_by(DeviceModel::built_in("zodiac-fx").expect("it is"), 7, &hundred);
    assert_eq!(found.shape, Shape::SharedProcessor);
    assert_eq!(found.profile.entries_max, 128);
    assert_eq!(found.profile.receive_buffer, truth.receive_buffer);
    assert!(found.is_buffer_explained);
    let (is, was) = (found.profile.processor.as_ref(), truth.processor.as_ref());
    let (is, was) = (is.expect("found"), was.expect("there"));
    for used in uses(&mut Draws::new(1), 128) {
        let (is, was) = (is.service(&used), was.service(&used));
        let whole =
            |it: tenuto_model::FrameService, latency: u64| it.traversal_ps + latency * 1_000;
        let name = format!("{used:?}");
        covers(&name, whole(is, found.profile.latency_ns_max), whole(was, truth.latency_ns_max));
        let (is, was) = (is.rate_bps, was.rate_bps);
        assert!(is <= was && is * 103 >= was * 100, "{name}: {is} {was} bit/s");
    }
    for action in [Action::SetVlanId, Action::SetDlSrc, Action::SetNwSrc, Action::SetTpSrc] {
        let used = Use::worst(MatchType::FiveTuple, action, 17, 306);
        covers(&format!("{action:?}"), is.cpu_ps(&used), was.cpu_ps(&used));
    }
    assert_eq!(found.is_barrier_true(), Some(true), "{:?}", found.updates);
    let firmware = found.firmware.as_ref().expect("looked at");
    assert!(firmware.keeps_entries && !firmware.forwards_unknown);
    assert!(firmware.echo_under_traffic_ns > 20_000.0, "{firmware:?}");
}

#[test]
fn messages_cost_what_the_firmware_was_built_with() {
    let model = DeviceModel::built_in("zodiac-fx").expect("it is");
    let truth = model.messages;
    let found = measured(model, "zodiac-fx", 3).messages.expect("determined");
    covers("echo", found.echo_ps, truth.echo_ps);
    covers("barrier", found.barrier_ps, truth.barrier_ps);
    covers("features", found.other_ps, truth.other_ps);
    covers("four actions", found.add_ps + 4 * found.action_ps, truth.add_ps + 4 * truth.action_ps);
    let deleted = |it: &tenuto_world::device::MessageCosts| {
        it.change_ps + 128 * (it.loose_entry_ps + it.deleted_ps)
    };
    covers("128 deleted", deleted(&found), deleted(&truth));
    let listed =
        |it: &tenuto_world::device::MessageCosts| it.statistics_ps + 128 * it.statistics_entry_ps;
    covers("128 listed", listed(&found), listed(&truth));
}

#[test]
fn every_virtual_device_is_covered_by_its_measured_model() {
    for name in Profile::BUILT_IN {
        let model = DeviceModel::built_in(name).expect("it is");
        let is_shared = model.profile.processor.is_some();
        let found = measured(model.clone(), name, 5);
        assert_eq!(found.shape == Shape::SharedProcessor, is_shared, "{name}");
        // The same device on another day, with more samples of more uses.
        let again = Settings { samples: 60, seed: 9, design: Design::Spare, ..settings(name) };
        let later = profile(&mut VirtualRig::new(model.clone(), 77), &again).expect("measured");
        assert_eq!(exceeded(&found.profile, &later), [], "{name}");
        if let Some(truth) = &model.profile.processor {
            let is = found.profile.processor.as_ref().expect("one");
            for used in uses(&mut Draws::new(3), model.profile.entries_max) {
                let (cost, true_cost) = (is.cost_ps(&used), truth.cost_ps(&used));
                assert!(cost >= true_cost, "{name}, {used:?}: {cost} is below {true_cost}");
                assert!(cost <= true_cost * 106 / 100, "{name}, {used:?}: {cost} {true_cost}");
            }
        } else {
            let most = model.profile.latency_ns_max;
            let found = found.profile.latency_ns_max;
            assert!(found * 100 >= most * 97 && found * 100 <= most * 103 + 100, "{name}: {found}");
        }
    }
}

/// A device whose costs nobody has written down.
fn hidden(draws: &mut Draws) -> DeviceModel {
    let mut model = DeviceModel::built_in("zodiac-fx").expect("it is");
    let mut entry = || 2_000_000 + draws.below(14_000_000);
    let per_entry_ps = MatchCosts {
        port: entry(),
        tp_dst: entry(),
        dl_dst: entry(),
        masked_nw_dst: entry(),
        five_tuple: entry(),
        all: entry(),
    };
    let is_linked = draws.below(3) > 0;
    let rate_bps = draws.one_of(&[100_000_000, 200_000_000, 400_000_000]);
    let truth = model.profile.processor.take().expect("one");
    model.profile.processor = Some(Processor {
        base_ps: 15_000_000 + draws.below(60_000_000),
        per_byte_ps: draws.below(60_000),
        per_entry_ps,
        spread_percent: u32::try_from(draws.below(8)).expect("few"),
        link: is_linked.then_some(ProcessorLink { rate_bps, tag_bytes: 1 }),
        ..truth
    });
    model.profile.latency_ns_max = draws.below(6_000);
    model.profile.receive_buffer = Some(ReceiveBuffer {
        count: 16 + draws.below(40),
        unit: draws.one_of(&[BufferUnit::Cells(128), BufferUnit::Cells(256), BufferUnit::Frames]),
        is_per_port: false,
        has_place_in_service: draws.below(2) == 0,
    });
    model
}

#[test]
fn no_later_draw_of_a_hidden_device_is_above_its_measured_envelope() {
    for seed in 0..8 {
        let draws = &mut Draws::new(seed);
        let model = hidden(draws);
        let more = Settings { samples: 60, ..settings("ideal") };
        let found = measured_by(model.clone(), seed + 100, &more);
        let truth = model.profile.processor.as_ref().expect("one");
        let is = found.profile.processor.as_ref().expect("found");
        let latencies =
            (found.profile.latency_ns_max * 1_000, model.profile.latency_ns_max * 1_000);
        for used in uses(draws, 128) {
            let name = format!("seed {seed}, {used:?}");
            let (cost, true_cost) = (is.cost_ps(&used), truth.cost_ps(&used));
            assert!(cost >= true_cost, "{name}: {cost} is below {true_cost}");
            let stated = is.service(&used).traversal_ps + latencies.0;
            let most = truth.service(&used).traversal_ps + latencies.1;
            assert!(stated >= most, "{name}: {stated} is below {most}");
            assert!(stated <= most + most * 4 / 100, "{name}: {stated} is far above {most}");
        }
        let (is, was) = (found.profile.receive_buffer, model.profile.receive_buffer);
        for bytes in [64, 306, 548, 1_032, 1_516] {
            let frames = |it: Option<ReceiveBuffer>| it.expect("found").frames(bytes);
            assert!(frames(is) <= frames(was), "seed {seed}, {bytes} B: {is:?} {was:?}");
        }
    }
}

#[test]
fn a_plan_reads_what_was_measured() {
    let found = measured(DeviceModel::built_in("zodiac-fx").expect("it is"), "zodiac-fx", 2);
    let yaml = to_yaml(&found);
    let network = "tenuto: 1\nhosts: [h1, h2]\nswitches: {s: {profile: ./mine.profile.yaml}}\nlinks:\n  \
        - {ends: [h1, s], rate: 100 Mbit/s}\n  - {ends: [h2, s], rate: 100 Mbit/s}\nflows:\n  \
        f: {source: h1, targets: [h2], frame: 306 B, period: 100 ms}\n";
    let sources = MemorySources::new().with("n/n.yaml", network).with("n/mine.profile.yaml", &yaml);
    let (network, _) = read_network(&sources, "n/n.yaml").unwrap_or_else(|e| panic!("{e}\n{yaml}"));
    assert_eq!(network.profiles["measured"], found.profile, "{yaml}");
    let plan = plan(&network, &Options::default());
    assert!(plan.feasible, "{:?}", plan.refusals);
    tenuto_certify::certify(&plan.to_json()).unwrap_or_else(|e| panic!("{e:#?}"));
}

#[test]
fn a_device_that_is_slower_than_its_profile_is_found() {
    let truth = Profile::built_in("zodiac-fx").expect("it is");
    let mut model = DeviceModel::built_in("zodiac-fx").expect("it is");
    let as_stated = measured(model.clone(), "zodiac-fx", 1);
    assert_eq!(exceeded(&truth, &as_stated), []);
    // A tenth more per entry, and a cell less.
    let costs = model.profile.processor.as_mut().expect("one");
    costs.per_entry_ps.five_tuple += costs.per_entry_ps.five_tuple / 10;
    model.profile.receive_buffer.as_mut().expect("cells").count -= 5;
    let slower = measured(model, "zodiac-fx", 1);
    let found = exceeded(&truth, &slower);
    assert!(found.iter().any(|it| it.what.contains("five-tuple")), "{found:#?}");
    assert!(found.iter().any(|it| it.unit == "frames"), "{found:#?}");
    assert!(!found.iter().any(|it| it.what.contains("tp-dst")), "{found:#?}");
}

#[test]
fn work_of_its_own_is_found_and_not_below_what_it_is() {
    let mut model = DeviceModel::built_in("zodiac-fx-timers").expect("it is");
    let own = OwnWork { time_ps: 3_000_000_000, period_ps: 400_000_000_000 };
    model.own_work = Some(own);
    let listening = Span::from_s(2);
    let settings = Settings { listening, ..settings("zodiac-fx") };
    let found = profile(&mut VirtualRig::new(model, 4), &settings).expect("measured");
    let seen = found.firmware.expect("looked at").own_work.expect("it is seen");
    assert!(seen.time_ps >= own.time_ps * 98 / 100, "{seen:?}");
    assert!(seen.time_ps <= own.time_ps + 700_000_000, "{seen:?}");
    assert!(
        seen.period_ps <= own.period_ps && seen.period_ps * 100 >= own.period_ps * 99,
        "{seen:?}"
    );
    let control = found.profile.processor.expect("one").control;
    assert_eq!((control.time_ps, control.period_ps), (seen.time_ps, seen.period_ps));
    let quiet = measured(DeviceModel::built_in("zodiac-fx").expect("it is"), "zodiac-fx", 4);
    assert_eq!(quiet.firmware.expect("looked at").own_work, None);
}

#[test]
fn what_was_not_looked_at_is_not_kept() {
    let truth = Profile::built_in("zodiac-fx").expect("it is");
    let model = DeviceModel::built_in("zodiac-fx").expect("it is");
    let short = Settings { time: Some(Span::from_ms(1_500)), ..settings("zodiac-fx") };
    let found = profile(&mut VirtualRig::new(model, 3), &short);
    let Ok(found) = found else { return assert!(found.is_err(), "too short for a model") };
    assert!(!found.notes.is_empty() && !found.missing.is_empty(), "{:?}", found.notes);
    let rows = check(&truth, &found);
    let silent = rows.iter().filter(|it| it.verdict == RowVerdict::NotObserved);
    assert!(silent.clone().count() >= found.missing.len());
    assert!(silent.clone().all(|it| it.seen.is_none()), "{rows:#?}");
    assert!(rows.iter().all(|it| it.seen.is_some() || it.verdict != RowVerdict::Kept));
}

#[test]
fn a_name_that_is_no_plain_word_is_written_so_that_it_cannot_be_mistaken() {
    let mut found = measured(DeviceModel::built_in("ideal").expect("it is"), "ideal", 2);
    for name in ["my switch", "1.5", "a # b", "null", "[x]", "tag!"] {
        name.clone_into(&mut found.profile.name);
        let yaml = to_yaml(&found);
        let network = "tenuto: 1\nhosts: []\nswitches: {s: {profile: ./mine.yaml}}\nlinks: []\n";
        let sources = MemorySources::new().with("n.yaml", network).with("mine.yaml", &yaml);
        let (network, _) =
            read_network(&sources, "n.yaml").unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(network.profiles[name].latency_ns_max, found.profile.latency_ns_max);
    }
    // A name that no file may have cannot become another key of it.
    "a\nlike: tenuto".clone_into(&mut found.profile.name);
    let first = to_yaml(&found).lines().filter(|it| it.starts_with("like:")).count();
    assert_eq!(first, 1);
}

#[test]
fn meters_queues_and_masks_of_a_virtual_switch_are_found() {
    let found = measured(DeviceModel::built_in("tenuto").expect("it is"), "tenuto", 6);
    let meters = found.meters.as_ref().expect("looked at");
    assert_eq!(meters.refused, None);
    assert_eq!(meters.samples.len(), 6);
    for it in &meters.samples {
        // The meter of this switch counts 20 B beside each frame.
        let beside = f64::from(it.frame_bytes + 20) / f64::from(it.frame_bytes);
        let burst = it.burst_bytes.expect("twice the rate is too much") * beside;
        let asked = f64::from(it.burst_kbit) * 125.0;
        // Frames are whole: one more or less.
        let frame = f64::from(it.frame_bytes) * 2.0;
        assert!((burst - asked).abs() <= frame + asked * 0.2, "{it:?}");
    }
    assert_eq!(meters.extra_bytes, Some(20), "{meters:?}");
    let queues = found.queues.as_ref().expect("looked at");
    assert_eq!(queues.ids.len(), usize::from(found.profile.queues_per_port), "{queues:?}");
    assert!(found.masks.as_ref().expect("looked at").samples.len() == 4);
    assert!(found.updates.iter().all(|it| it.is_true()), "{:?}", found.updates);
    assert_eq!(found.updates.len(), 9);
}

#[test]
fn throughput_by_search_is_what_a_frame_takes_of_the_processor() {
    let found = measured(DeviceModel::built_in("zodiac-fx").expect("it is"), "zodiac-fx", 6);
    assert_eq!(found.throughput.len(), 4);
    for it in &found.throughput {
        let computed = it.computed_bps.expect("a processor");
        // Eq. 6 is of the dearest frame: a search finds no less, and no more than spread and buffer explain.
        assert!(
            it.searched_bps >= computed * 0.999 && it.searched_bps <= computed * 1.25,
            "{it:?}"
        );
    }
}
