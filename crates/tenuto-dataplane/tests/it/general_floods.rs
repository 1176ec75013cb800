//! What a controller may ask for at worst: limits are told, and frames wait for none of it.

use support::general::{any, config, entry, group_of};
use support::{Bench, apply, mode_config, monitor, output};
use tenuto_dataplane::switch::{ConnectionId, GeneralConfig, SwitchConfig};
use tenuto_openflow::constants::{flow_flag, group, meter, multipart_flag, port};
use tenuto_openflow::*;

use crate::support;

fn bench(change: impl FnOnce(&mut GeneralConfig)) -> Bench {
    let SwitchConfig { general, .. } = config();
    let mut general = general.expect("a general switch");
    change(&mut general);
    Bench::with(SwitchConfig { general: Some(general), entries_max: 1_000, ..config() })
}

/// Works off what is under way for a connection; what it says meanwhile, and how many steps that took.
fn finish(bench: &mut Bench, id: u16) -> (Vec<Body>, usize) {
    let (mut heard, mut steps) = (Vec::new(), 0);
    while bench.switch.at_work().any(|other| other.0 == id) {
        bench.switch.work_on(ConnectionId(id), bench.now, &mut bench.frames, &mut bench.fx);
        heard.extend(bench.heard(id));
        steps += 1;
    }
    (heard, steps)
}

/// What a message is answered with in the end, and how many steps that took.
fn answered(bench: &mut Bench, body: Body) -> (Vec<Body>, usize) {
    let mut heard = bench.ask_on(0, body);
    let (more, steps) = finish(bench, 0);
    heard.extend(more);
    (heard, steps)
}

/// Type and code of the one error that was heard, if any.
fn code(heard: &[Body]) -> Option<(u16, u16)> {
    match heard {
        [] => None,
        [Body::Error(error)] => Some((error.type_, error.code)),
        other => panic!("{other:?}"),
    }
}

fn refusal(code: FlowModFailed) -> Option<(u16, u16)> {
    let error = ErrorMessage::new(code.into(), &[]);
    Some((error.type_, error.code))
}

fn source(n: u8, mask: Option<[u8; 6]>) -> Oxm {
    Oxm::EthSrc { value: [2, 0, 0, 0, 0, n], mask }
}

fn checked(oxms: Vec<Oxm>, priority: u16) -> Body {
    Body::FlowMod(FlowMod {
        match_: Match::from(oxms),
        flags: flow_flag::CHECK_OVERLAP,
        ..any(priority, vec![output(2)])
    })
}

#[test]
fn overlap_is_found_alike_at_once_and_in_steps() {
    let overlap = refusal(FlowModFailed::Overlap);
    let type_ = || Oxm::EthType(0x0800);
    let cases = [
        ("the same fields", vec![source(200, None)], 100, None),
        ("one of these is there already", vec![source(7, None)], 100, None),
        ("asks for less", vec![source(0, Some([0xff, 0xff, 0, 0, 0, 0]))], 100, overlap),
        ("asks for something else", vec![type_()], 100, overlap),
        ("asks for something else at a precedence of its own", vec![type_()], 99, None),
        ("asks for more of one", vec![source(7, None), type_()], 100, overlap),
        ("asks for more of none", vec![source(201, None), type_()], 100, None),
    ];
    for (case, oxms, priority, expected) in cases {
        let mut steps_taken = Vec::new();
        for limit in [None, Some(4)] {
            let mut bench = bench(|it| it.entries_at_once = limit);
            bench.install((0..50).map(|n| entry(vec![source(n, None)], vec![output(2)])));
            let (heard, steps) = answered(&mut bench, checked(oxms.clone(), priority));
            assert_eq!(code(&heard), expected, "{case}, {limit:?}");
            let is_there = case.contains("there already");
            let more = usize::from(expected.is_none() && !is_there);
            assert_eq!(bench.entries().len(), 50 + more, "{case}");
            steps_taken.push(steps);
        }
        // Entries that ask for more than it does have to be looked at, and no others.
        let is_long = case == "asks for less" || case == "asks for something else";
        assert_eq!((steps_taken[0], steps_taken[1] > 0), (0, is_long), "{case}");
    }
}

#[test]
fn what_comes_while_overlap_is_looked_for_counts_too() {
    for (priority, expected) in [(100, refusal(FlowModFailed::Overlap)), (99, None)] {
        let mut bench = bench(|it| it.entries_at_once = Some(4));
        bench.connect(1);
        let narrow = |n| entry(vec![source(n, None)], vec![output(2)]);
        bench.install((0..50).map(narrow));
        // Apart from all of them in its last octet.
        let wide = vec![source(0x80, Some([0xff, 0xff, 0xff, 0xff, 0xff, 0x80]))];
        assert_eq!(bench.ask_on(0, checked(wide, 100)), []);
        bench.switch.work_on(ConnectionId(0), bench.now, &mut bench.frames, &mut bench.fx);
        let Body::FlowMod(late) = narrow(0x81) else { unreachable!() };
        assert_eq!(bench.ask_on(1, Body::FlowMod(FlowMod { priority, ..late })), []);
        let (heard, _) = finish(&mut bench, 0);
        assert_eq!(code(&heard), expected);
        assert_eq!(bench.entries().len(), 51 + usize::from(expected.is_none()));
    }
}

#[test]
fn masks_are_limited_over_all_tables_and_free_again_with_their_last_entry() {
    let mut bench = bench(|it| it.masks_max = 3);
    let masked = |n: u8, table_id| {
        let mut mask = [0xff; 6];
        mask[0] = n;
        let value = [0; 6];
        let match_ = Match::from(vec![Oxm::EthSrc { value, mask: Some(mask) }]);
        Body::FlowMod(FlowMod { match_, table_id, ..any(1, vec![output(2)]) })
    };
    bench.install([masked(1, 0), masked(2, 0), masked(1, 5)]);
    bench.refused_on(0, masked(3, 0), FlowModFailed::TableFull);
    bench.refused_on(0, masked(3, 9), FlowModFailed::TableFull);
    // One that is there once more.
    bench.install([masked(2, 0)]);
    let Body::FlowMod(gone) = masked(1, 5) else { unreachable!() };
    bench.install([Body::FlowMod(FlowMod { command: FlowModCommand::DeleteStrict, ..gone })]);
    bench.install([masked(3, 9)]);
    bench.refused_on(0, masked(4, 9), FlowModFailed::TableFull);
}

#[test]
fn one_message_cannot_multiply_its_actions_over_all_entries() {
    for limit in [None, Some(4)] {
        let mut bench = bench(|it| (it.actions_max, it.entries_at_once) = (200, limit));
        bench.install((0..50).map(|n| entry(vec![source(n, None)], vec![output(2)])));
        let change = FlowMod { command: FlowModCommand::Modify, ..any(0, vec![output(1); 10]) };
        let (heard, _) = answered(&mut bench, Body::FlowMod(change.clone()));
        assert_eq!(code(&heard), refusal(FlowModFailed::TableFull));
        let actions = |bench: &Bench| -> usize {
            let tables = (0..64).filter_map(|table| bench.switch.tables().get(0, table));
            let entries = tables.flat_map(|state| state.table().entries().iter());
            entries.map(|entry| entry.behaviour.apply.len()).sum()
        };
        // In steps those in front of the first that does not fit are changed.
        assert!(actions(&bench) <= 200 && (limit.is_some() || actions(&bench) == 50));
        let (heard, _) = answered(
            &mut bench,
            Body::FlowMod(FlowMod { instructions: vec![apply(vec![output(1); 4])], ..change }),
        );
        assert_eq!((code(&heard), actions(&bench)), (None, 200));
        let more = entry(vec![source(99, None)], vec![output(2)]);
        bench.refused_on(0, more.clone(), FlowModFailed::TableFull);
        let one = FlowMod { command: FlowModCommand::Delete, ..any(0, vec![]) };
        let match_ = Match::from(vec![source(3, None)]);
        bench.install([Body::FlowMod(FlowMod { match_, ..one }), more]);
    }
}

#[test]
fn a_pattern_of_all_precedences_is_found_at_each_of_them() {
    let mut bench = bench(|_| ());
    let at = |command, priority: u16, to| {
        Body::FlowMod(FlowMod { command, priority, ..any(priority, vec![output(to)]) })
    };
    // In an order of their own, above and below each other.
    let order: Vec<u16> = (0..300_u16).map(|n| n * 7 % 300).collect();
    let best = |bench: &mut Bench| bench.ports_of(1, &support::frame(1, 64));
    for (nth, &priority) in order.iter().enumerate() {
        bench.install([at(FlowModCommand::Add, priority, 2)]);
        bench.install([at(FlowModCommand::ModifyStrict, order[nth / 2], 3)]);
        assert_eq!(bench.switch.tables().entries(), nth + 1);
    }
    bench.install([at(FlowModCommand::ModifyStrict, 299, 2)]);
    assert_eq!(best(&mut bench), [2]);
    bench.install([at(FlowModCommand::DeleteStrict, 299, 2)]);
    bench.install([at(FlowModCommand::ModifyStrict, 298, 3)]);
    assert_eq!(best(&mut bench), [3]);
    for &priority in order.iter().filter(|&&priority| priority != 5) {
        bench.install([at(FlowModCommand::DeleteStrict, priority, 2)]);
    }
    bench.install([at(FlowModCommand::ModifyStrict, 5, 2)]);
    assert_eq!((best(&mut bench), bench.switch.tables().entries()), (vec![2], 1));
}

fn meter_mod(command: MeterModCommand, meter_id: u32) -> Body {
    let bands = vec![MeterBand::Drop { rate: 1_000_000, burst_size: 0 }];
    Body::MeterMod(MeterMod { command, flags: meter_flag(), meter_id, bands })
}

const fn meter_flag() -> u16 {
    tenuto_openflow::constants::meter_flag::KBPS
}

#[test]
fn meters_told_in_steps_are_those_told_at_once() {
    let told = |limit, body: RequestBody| {
        let mut bench = bench(|it| it.entries_at_once = limit);
        bench.install((1..=8).map(|id| meter_mod(MeterModCommand::Add, id)));
        bench.install([meter_mod(MeterModCommand::Delete, 3)]);
        let (heard, steps) =
            answered(&mut bench, Body::MultipartRequest(MultipartRequest::new(body)));
        let (last, first) = heard.split_last().expect("an answer");
        let more = |body: &Body| match body {
            Body::MultipartReply(reply) => reply.flags & multipart_flag::MORE != 0,
            other => panic!("{other:?}"),
        };
        assert!(first.iter().all(more) && !more(last), "only the last part is the last");
        let ids = heard.iter().flat_map(|body| match body {
            Body::MultipartReply(MultipartReply { body: ReplyBody::Meter(list), .. }) => {
                list.iter().map(|it| it.meter_id).collect::<Vec<u32>>()
            }
            Body::MultipartReply(MultipartReply { body: ReplyBody::MeterConfig(list), .. }) => {
                list.iter().map(|it| it.meter_id).collect()
            }
            other => panic!("{other:?}"),
        });
        (ids.collect::<Vec<u32>>(), steps > 0)
    };
    for all in [
        RequestBody::Meter { meter_id: meter::ALL },
        RequestBody::MeterConfig { meter_id: meter::ALL },
    ] {
        assert_eq!(told(None, all.clone()), (vec![1, 2, 4, 5, 6, 7, 8], false));
        assert_eq!(told(Some(2), all), (vec![1, 2, 4, 5, 6, 7, 8], true));
    }
    assert_eq!(told(Some(2), RequestBody::Meter { meter_id: 5 }), (vec![5], false));
}

/// A switch of three levels with entries of table 2 in the lowest two.
fn with_levels(limit: Option<u32>) -> Bench {
    let mut bench = bench(|it| it.entries_at_once = limit);
    bench.install([mode_config(3, &[1]), meter_mod(MeterModCommand::Add, 1)]);
    bench.install([monitor(MonitorKind::Frame, 1, &[(2_000, 20)])]);
    for n in 0..40 {
        let Body::FlowMod(plain) = entry(vec![source(n, None)], vec![output(2)]) else {
            unreachable!()
        };
        let uses = match n % 4 {
            0 => vec![Instruction::Meter(1), apply(vec![output(2)])],
            1 => vec![apply(vec![Action::Monitor(1), output(2)])],
            _ => plain.instructions.clone(),
        };
        let flow_mod = FlowMod { table_id: 2, cookie: n.into(), instructions: uses, ..plain };
        bench.install([Body::FlowMod(flow_mod.clone()), shadowed(flow_mod)]);
    }
    bench
}

fn shadowed(flow_mod: FlowMod) -> Body {
    Body::Experimenter(Experimenter::Modes(ModesMessage::ShadowFlowMod { level: 1, flow_mod }))
}

#[test]
fn work_on_the_entries_of_a_level_goes_in_steps() {
    let delete = FlowMod { command: FlowModCommand::Delete, table_id: 2, ..any(0, vec![]) };
    let modify = FlowMod { command: FlowModCommand::Modify, ..delete.clone() };
    let mon = |command| {
        Body::Experimenter(Experimenter::Modes(ModesMessage::MonitorMod(MonitorMod {
            command,
            monitor_id: 1,
            kind: MonitorKind::Frame,
            contracts: Vec::new(),
        })))
    };
    let messages = [
        (shadowed(delete), 40),
        (shadowed(modify), 80),
        (meter_mod(MeterModCommand::Delete, 1), 60),
        (mon(MonitorCommand::Delete), 60),
    ];
    for (message, left) in messages {
        let (mut whole, mut stepped) = (with_levels(None), with_levels(Some(4)));
        assert_eq!(answered(&mut whole, message.clone()), (vec![], 0));
        let (heard, steps) = answered(&mut stepped, message);
        assert!(heard.is_empty() && steps > 4, "{steps} steps");
        assert_eq!(stepped.entries(), whole.entries());
        assert_eq!(stepped.switch.tables().entries(), left);
    }
}

/// What a switch has in all levels, and where the frames of its flows belong.
fn all_of(bench: &Bench) -> (u8, usize, Vec<Option<Option<u8>>>) {
    let tables = bench.switch.tables();
    let levels = 0..tables.levels();
    let places = levels.flat_map(|level| (0..200).map(move |cookie| (level, cookie)));
    let places = places.map(|(level, cookie)| bench.switch.place(level, cookie)).collect();
    (tables.levels(), tables.entries(), places)
}

#[test]
fn the_number_of_levels_changes_in_steps_as_it_does_at_once() {
    let (mut whole, mut stepped) = (with_levels(None), with_levels(Some(4)));
    for (levels, steps_min) in [(2, 0), (1, 10), (3, 0), (1, 0)] {
        assert_eq!(answered(&mut whole, mode_config(levels, &[1])), (vec![], 0));
        let (heard, steps) = answered(&mut stepped, mode_config(levels, &[1]));
        assert!(heard.is_empty() && steps >= steps_min.max(1), "{levels} levels: {steps} steps");
        assert_eq!(all_of(&stepped), all_of(&whole), "{levels} levels");
        assert_eq!(stepped.entries(), whole.entries());
    }
}

#[test]
fn entries_that_come_and_go_while_levels_change_have_their_places() {
    let flow = |command, cookie: u64, queue| FlowMod {
        command,
        cookie,
        table_id: 2 + u8::from(cookie % 2 == 1),
        match_: Match::from(vec![source(u8::try_from(cookie).expect("few flows"), None)]),
        instructions: vec![apply(vec![Action::SetQueue(queue), output(2)])],
        ..any(100, vec![])
    };
    let (add, delete) = (FlowModCommand::Add, FlowModCommand::DeleteStrict);
    let changes: Vec<Body> = (0..120)
        .map(|n| match n % 3 {
            0 => flow(add, 101 + n / 2, 2),
            1 => flow(delete, 100 - n / 2, 0),
            _ => flow(add, 1 + n / 2, 3),
        })
        .map(Body::FlowMod)
        .collect();
    let filled = |limit| {
        let mut bench = bench(|it| it.entries_at_once = limit);
        bench.connect(1);
        bench.install((1..=100).map(|cookie| Body::FlowMod(flow(add, cookie, 1))));
        bench
    };
    let mut whole = filled(None);
    for change in &changes {
        whole.ask_on(1, change.clone());
    }
    whole.ask_on(0, mode_config(2, &[1]));
    let mut stepped = filled(Some(1));
    assert!(stepped.ask_on(0, mode_config(2, &[1])).is_empty());
    for change in &changes {
        assert!(stepped.switch.at_work().next().is_some(), "more steps than changes");
        stepped.switch.work_on(ConnectionId(0), stepped.now, &mut stepped.frames, &mut stepped.fx);
        stepped.ask_on(1, change.clone());
    }
    assert_eq!(stepped.switch.tables().levels(), 1, "nothing is in force before the end");
    finish(&mut stepped, 0);
    assert_eq!(all_of(&stepped), all_of(&whole));
    let known = (0..200).filter(|&cookie| stepped.switch.place(0, cookie).is_some()).count();
    assert_eq!(known, stepped.switch.tables().entries());
}

#[test]
fn a_level_is_told_in_steps_as_it_is_at_once() {
    let ask =
        || Body::Experimenter(Experimenter::Modes(ModesMessage::ShadowStatsRequest { level: 1 }));
    let cookies = |heard: &[Body]| {
        let mut all = Vec::new();
        for (place, body) in heard.iter().enumerate() {
            let Body::Experimenter(Experimenter::Modes(reply)) = body else { panic!("{body:?}") };
            let ModesMessage::ShadowStatsReply { level: 1, more, entries } = reply else {
                panic!("{reply:?}")
            };
            assert_eq!(*more, place + 1 < heard.len(), "only the last part is the last");
            all.extend(entries.iter().map(|entry| entry.cookie));
        }
        all.sort_unstable();
        all
    };
    let (whole, _) = answered(&mut with_levels(None), ask());
    let (stepped, steps) = answered(&mut with_levels(Some(4)), ask());
    assert!(steps > 4);
    assert_eq!(cookies(&stepped), cookies(&whole));
    assert_eq!(cookies(&whole), (0..40).collect::<Vec<u64>>());
}

#[test]
fn a_group_that_changes_moves_the_flows_of_all_levels() {
    let mut bench = with_levels(None);
    let through = |queue| Bucket {
        weight: 0,
        watch_port: port::ANY,
        watch_group: group::ANY,
        actions: vec![Action::SetQueue(queue), output(2)],
    };
    let put = |command, queue| group_of(command, GroupType::All, 1, vec![through(queue)]);
    bench.install([put(GroupModCommand::Add, 3)]);
    let uses = FlowMod {
        table_id: 2,
        cookie: 99,
        instructions: vec![apply(vec![Action::Group(1)])],
        ..any(1, vec![])
    };
    bench.install([Body::FlowMod(uses.clone()), shadowed(uses)]);
    let place = |bench: &Bench| [0, 1].map(|level| bench.switch.place(level, 99));
    assert_eq!(place(&bench), [Some(Some(3)); 2]);
    bench.install([put(GroupModCommand::Modify, 1)]);
    assert_eq!(place(&bench), [Some(Some(1)); 2]);
    // The same levels once more, in a new configuration: entries and places are as they were.
    bench.install([mode_config(3, &[1, 2])]);
    assert_eq!(place(&bench), [Some(Some(1)); 2]);
    bench.install([put(GroupModCommand::Delete, 0)]);
    assert_eq!(place(&bench), [None; 2]);
}
