//! What one message asks of very many entries, a few at a time, beside a twin that does it at once.

use support::Bench;
use support::general::{any, config, entry, group_of};
use support::{apply, frame, output};
use tenuto_dataplane::switch::{ConnectionId, GeneralConfig, SwitchConfig};
use tenuto_openflow::constants::{flow_flag, group, meter, meter_flag, multipart_flag, table};
use tenuto_openflow::*;
use tenuto_units::Span;

use crate::support;

const ENTRIES: u64 = 50;

fn bench(entries_at_once: Option<u32>) -> Bench {
    let general = GeneralConfig { entries_at_once, ..config().general.expect("a general switch") };
    let mut bench = Bench::with(SwitchConfig { general: Some(general), ..config() });
    bench.connect(1);
    for n in 0..ENTRIES {
        bench.install([numbered(n)]);
    }
    bench
}

/// Of table 0 or 1; every third wants to be missed.
fn numbered(n: u64) -> Body {
    let source = [2, 0, 0, 0, 0, u8::try_from(n).expect("few entries")];
    let Body::FlowMod(flow_mod) =
        entry(vec![Oxm::EthSrc { value: source, mask: None }], vec![output(2)])
    else {
        unreachable!()
    };
    Body::FlowMod(FlowMod {
        cookie: n,
        table_id: u8::from(n % 2 == 1),
        flags: if n.is_multiple_of(3) { flow_flag::SEND_FLOW_REM } else { 0 },
        ..flow_mod
    })
}

fn all(cookie: u64, cookie_mask: u64) -> FlowStatsRequest {
    FlowStatsRequest { cookie, cookie_mask, ..FlowStatsRequest::ALL }
}

fn request(body: RequestBody) -> Body {
    Body::MultipartRequest(MultipartRequest::new(body))
}

/// Every message of a connection until its work is done, with how many steps it took.
fn finish(bench: &mut Bench, id: u16, mut heard: Vec<Body>) -> (Vec<Body>, usize) {
    let mut steps = 0;
    while bench.switch.at_work().any(|other| other.0 == id) {
        bench.switch.work_on(ConnectionId(id), bench.now, &mut bench.frames, &mut bench.fx);
        heard.extend(bench.heard(id));
        steps += 1;
    }
    (heard, steps)
}

fn meter_of(command: MeterModCommand, meter_id: u32) -> MeterMod {
    let bands = vec![MeterBand::Drop { rate: 1_000_000, burst_size: 0 }];
    MeterMod { command, flags: meter_flag::KBPS, meter_id, bands }
}

fn group_mod(command: GroupModCommand, id: u32, buckets: Vec<Bucket>) -> Body {
    group_of(command, GroupType::All, id, buckets)
}

/// Each group, or what it has seen, of a reply in parts.
fn joined(heard: &[Body]) -> Vec<String> {
    let mut found = Vec::new();
    for (place, body) in heard.iter().enumerate() {
        let Body::MultipartReply(MultipartReply { flags, body }) = body else { panic!("{body:?}") };
        assert_eq!(flags & multipart_flag::MORE != 0, place + 1 < heard.len());
        match body {
            ReplyBody::GroupDesc(list) => found.extend(list.iter().map(|it| format!("{it:?}"))),
            ReplyBody::Group(list) => found.extend(list.iter().map(|it| format!("{it:?}"))),
            other => panic!("{other:?}"),
        }
    }
    found
}

fn cookies(heard: &[Body]) -> Vec<u64> {
    let mut found = Vec::new();
    for (place, body) in heard.iter().enumerate() {
        let Body::MultipartReply(MultipartReply { flags, body: ReplyBody::Flow(stats) }) = body
        else {
            panic!("{body:?}")
        };
        let has_more = flags & multipart_flag::MORE != 0;
        assert_eq!(has_more, place + 1 < heard.len(), "only the last part is the last");
        found.extend(stats.iter().map(|entry| entry.cookie));
    }
    found.sort_unstable();
    found
}

#[test]
fn a_dump_in_steps_tells_what_a_dump_at_once_tells() {
    for (cookie, mask) in [(0, 0), (1, 1), (7, u64::MAX), (1_000, u64::MAX)] {
        let (mut whole, mut stepped) = (bench(None), bench(Some(4)));
        let ask = || request(RequestBody::Flow(all(cookie, mask)));
        let at_once = whole.ask_on(0, ask());
        assert_eq!(whole.switch.at_work().count(), 0);
        let heard = stepped.ask_on(0, ask());
        assert!(heard.is_empty(), "nothing is said before the first step");
        let (heard, steps) = finish(&mut stepped, 0, heard);
        assert_eq!(cookies(&heard), cookies(&at_once));
        assert!(steps > 1, "it takes steps");

        let ask = || request(RequestBody::Aggregate(all(cookie, mask)));
        let at_once = whole.ask_on(0, ask());
        let heard = stepped.ask_on(0, ask());
        assert_eq!(finish(&mut stepped, 0, heard).0, at_once);
    }
}

#[test]
fn few_entries_are_told_at_once() {
    let mut stepped = bench(Some(4));
    let Body::FlowMod(one) = numbered(7) else { unreachable!() };
    let exact = FlowStatsRequest { match_: one.match_, ..all(0, 0) };
    let heard = stepped.ask_on(0, request(RequestBody::Flow(exact)));
    assert_eq!(cookies(&heard), [7], "of the same mask only one can be meant");
    let other_table = FlowStatsRequest { table_id: 9, ..all(0, 0) };
    assert_eq!(cookies(&stepped.ask_on(0, request(RequestBody::Flow(other_table)))), []);
}

#[test]
fn a_removal_in_steps_removes_what_a_removal_at_once_removes() {
    let delete = |cookie, cookie_mask, table_id| FlowMod {
        cookie,
        cookie_mask,
        ..FlowMod::new(FlowModCommand::Delete, table_id)
    };
    for flow_mod in [delete(0, 0, table::ALL), delete(0, 0, 1), delete(3, 3, table::ALL)] {
        let (mut whole, mut stepped) = (bench(None), bench(Some(4)));
        let mut told = whole.ask_on(0, Body::FlowMod(flow_mod.clone()));
        let heard = stepped.ask_on(0, Body::FlowMod(flow_mod));
        let (mut heard, steps) = finish(&mut stepped, 0, heard);
        assert!(steps > 1);
        assert_eq!(stepped.entries(), whole.entries());
        let by_cookie = |body: &Body| match body {
            Body::FlowRemoved(removed) => removed.cookie,
            other => panic!("{other:?}"),
        };
        told.sort_by_key(by_cookie);
        heard.sort_by_key(by_cookie);
        assert_eq!(heard, told);
    }
}

#[test]
fn a_change_in_steps_changes_what_a_change_at_once_changes() {
    let modify = FlowMod {
        cookie: 2,
        cookie_mask: 2,
        flags: flow_flag::RESET_COUNTS,
        ..FlowMod { command: FlowModCommand::Modify, ..any(9, vec![output(3)]) }
    };
    let (mut whole, mut stepped) = (bench(None), bench(Some(4)));
    for bench in [&mut whole, &mut stepped] {
        for n in 0..ENTRIES {
            let mut bytes = frame(1, 60);
            bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, u8::try_from(n).expect("few")]);
            bench.ports_of(1, &bytes);
        }
    }
    whole.install([Body::FlowMod(modify.clone())]);
    stepped.install([Body::FlowMod(modify)]);
    assert_eq!(finish(&mut stepped, 0, Vec::new()).0, []);
    assert_eq!(stepped.key(), whole.key());
    assert_eq!(stepped.entry_counters(), whole.entry_counters());
    let wrong = FlowMod { flags: 0x4000, ..any(9, vec![]) };
    let wrong = FlowMod { command: FlowModCommand::Modify, ..wrong };
    stepped.refused_on(0, Body::FlowMod(wrong), FlowModFailed::BadFlags);
}

/// What a meter or a group takes along goes in steps, and it itself at the end.
#[test]
fn meters_and_groups_take_their_entries_along_in_steps() {
    let deletions = [
        (Body::MeterMod(meter_of(MeterModCommand::Delete, 1)), FlowRemovedReason::Delete),
        (Body::MeterMod(meter_of(MeterModCommand::Delete, meter::ALL)), FlowRemovedReason::Delete),
        (group_mod(GroupModCommand::Delete, 1, vec![]), FlowRemovedReason::GroupDelete),
        (group_mod(GroupModCommand::Delete, group::ALL, vec![]), FlowRemovedReason::GroupDelete),
    ];
    for (deletion, reason) in deletions {
        let (mut whole, mut stepped) = (bench(None), bench(Some(4)));
        for bench in [&mut whole, &mut stepped] {
            bench.install([
                Body::MeterMod(meter_of(MeterModCommand::Add, 1)),
                group_mod(GroupModCommand::Add, 1, vec![Bucket::new(vec![output(3)])]),
            ]);
            // The first 30 use both.
            for n in 0..30 {
                let Body::FlowMod(it) = numbered(n) else { unreachable!() };
                let instructions = vec![Instruction::Meter(1), apply(vec![Action::Group(1)])];
                bench.install([Body::FlowMod(FlowMod { instructions, ..it })]);
            }
        }
        let mut told = whole.ask_on(0, deletion.clone());
        assert_eq!(whole.switch.at_work().count(), 0);
        let mut heard = stepped.ask_on(0, deletion);
        stepped.switch.work_on(ConnectionId(0), stepped.now, &mut stepped.frames, &mut stepped.fx);
        heard.extend(stepped.heard(0));
        assert_eq!(stepped.switch.tables().entries(), 46, "four are gone");
        let (mut heard, _) = finish(&mut stepped, 0, heard);
        assert_eq!((whole.switch.tables().entries(), whole.entries()), (20, stepped.entries()));
        assert_eq!(whole.key(), stepped.key());
        let cookie_and_reason = |body: &Body| match body {
            Body::FlowRemoved(removed) => (removed.cookie, removed.reason.to_wire()),
            other => panic!("{other:?}"),
        };
        told.sort_by_key(cookie_and_reason);
        heard.sort_by_key(cookie_and_reason);
        assert_eq!(heard, told);
        assert_eq!(heard.len(), 10);
        assert!(heard.iter().all(|body| cookie_and_reason(body).1 == reason.to_wire()));
    }
}

/// Whoever is quicker: a group that leads to what is being deleted keeps it.
#[test]
fn a_group_that_is_led_to_meanwhile_stays() {
    let mut bench = bench(Some(4));
    let add = |id, buckets| group_mod(GroupModCommand::Add, id, buckets);
    bench.install([add(1, vec![])]);
    for n in 0..30 {
        let Body::FlowMod(it) = numbered(n) else { unreachable!() };
        let instructions = vec![apply(vec![Action::Group(1)])];
        bench.install([Body::FlowMod(FlowMod { instructions, flags: 0, ..it })]);
    }
    assert!(bench.ask_on(1, group_mod(GroupModCommand::Delete, 1, vec![])).is_empty());
    bench.install([add(2, vec![Bucket::new(vec![Action::Group(1)])])]);
    let (heard, _) = finish(&mut bench, 1, Vec::new());
    let [Body::Error(error)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!(error.error(), Some(GroupModFailed::ChainedGroup.into()));
    let heard = bench.ask_on(0, request(RequestBody::GroupDesc));
    let (heard, _) = finish(&mut bench, 0, heard);
    assert_eq!(joined(&heard).len(), 2, "{heard:?}");
    assert_eq!(bench.switch.tables().entries(), 20);
}

#[test]
fn groups_are_told_in_steps_as_at_once() {
    let (mut whole, mut stepped) = (bench(None), bench(Some(4)));
    for bench in [&mut whole, &mut stepped] {
        for id in 1..=4 {
            let hands_on = if id > 1 { Action::Group(1) } else { output(3) };
            let buckets = vec![Bucket::new(vec![hands_on]), Bucket::new(vec![output(2)])];
            bench.install([group_mod(GroupModCommand::Add, id, buckets)]);
        }
        bench.install([entry(vec![Oxm::InPort(1)], vec![Action::Group(1)])]);
        bench.ports_of(1, &frame(1, 100));
    }
    for wanted in [
        RequestBody::GroupDesc,
        RequestBody::Group { group_id: group::ALL },
        RequestBody::Group { group_id: 1 },
        RequestBody::Group { group_id: 99 },
    ] {
        let at_once = whole.ask_on(0, request(wanted.clone()));
        let heard = stepped.ask_on(0, request(wanted.clone()));
        let (heard, steps) = finish(&mut stepped, 0, heard);
        assert_eq!(at_once.len(), 1);
        assert_eq!(joined(&heard), joined(&at_once), "{wanted:?}");
        let is_of_all = !matches!(wanted, RequestBody::Group { group_id: 1 | 99 });
        assert_eq!(steps > 1, is_of_all, "{wanted:?} took {steps} steps");
    }
}

/// Groups without entries go in steps too; what another connection has told to use one goes along.
#[test]
fn all_groups_go_in_steps() {
    let mut bench = bench(Some(4));
    let add = |id| group_mod(GroupModCommand::Add, id, vec![Bucket::new(vec![output(3)]); 3]);
    bench.ask_on(0, Body::FlowMod(FlowMod::new(FlowModCommand::Delete, table::ALL)));
    finish(&mut bench, 0, Vec::new());
    // It was told of the entries that are gone.
    bench.heard(1);
    bench.install((1..=4).map(add));
    assert!(bench.ask_on(1, group_mod(GroupModCommand::Delete, group::ALL, vec![])).is_empty());
    bench.switch.work_on(ConnectionId(1), bench.now, &mut bench.frames, &mut bench.fx);
    bench.refused_on(0, add(2), GroupModFailed::GroupExists);
    bench.install([entry(vec![Oxm::InPort(1)], vec![Action::Group(3)])]);
    let (heard, steps) = finish(&mut bench, 1, Vec::new());
    assert!(heard.is_empty() && steps > 1, "{steps}: {heard:?}");
    assert_eq!(bench.switch.tables().entries(), 0);
    bench.install((1..=4).map(add));
}

/// The time of fifty entries has come: a few go, and frames and other timers have their turn.
#[test]
fn entries_go_in_steps_when_their_time_has_come() {
    let mut bench = bench(Some(4));
    for n in 0..ENTRIES {
        let Body::FlowMod(it) = numbered(n) else { unreachable!() };
        bench.install([Body::FlowMod(FlowMod { hard_timeout: 1, flags: 0, ..it })]);
    }
    bench.now += Span::from_s(1);
    let began = bench.now;
    let mut left = Vec::new();
    while bench.switch.tables().entries() > 0 {
        let (_, at) = bench.switch.next_deadline().expect("entries are there");
        assert!(at <= bench.now + Span::from_us(20), "it goes on soon");
        bench.now = bench.now.max(at);
        bench.switch.fire_due(bench.now, &mut bench.frames, &mut bench.fx);
        left.push(bench.switch.tables().entries());
    }
    assert_eq!(left[..3], [46, 42, 38]);
    assert_eq!(left.len(), 13);
    assert!(bench.now <= began + Span::from_ms(1));
    assert!(bench.switch.next_deadline().is_none(), "and rests when all are gone");
}

#[test]
fn a_barrier_waits_and_frames_and_others_do_not() {
    let mut bench = bench(Some(4));
    let delete = FlowMod::new(FlowModCommand::Delete, table::ALL);
    bench.install([Body::FlowMod(delete)]);
    bench.switch.work_on(ConnectionId(0), bench.now, &mut bench.frames, &mut bench.fx);
    // Half done: frames are forwarded by what is there still.
    assert_eq!(bench.switch.tables().entries(), 46);
    let mut bytes = frame(1, 60);
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 48]);
    assert_eq!(bench.ports_of(1, &bytes), [2]);
    // Another connection is served, and its answer is its own.
    let heard = bench.ask_on(1, Body::BarrierRequest);
    assert_eq!(heard.last(), Some(&Body::BarrierReply));
    assert_eq!(bench.switch.tables().entries(), 46);
    // The barrier behind the removal means that it is done, whoever drives the switch.
    let heard = bench.ask_on(0, Body::BarrierRequest);
    assert_eq!(heard.last(), Some(&Body::BarrierReply));
    assert_eq!((bench.switch.tables().entries(), bench.switch.at_work().count()), (0, 0));
    assert_eq!(bench.ports_of(1, &bytes), []);
}

#[test]
fn a_reader_that_goes_is_forgotten_and_a_removal_is_finished() {
    let mut bench = bench(Some(4));
    assert!(bench.ask_on(1, request(RequestBody::Flow(all(0, 0)))).is_empty());
    bench.switch.disconnected_from(ConnectionId(1));
    assert_eq!(bench.switch.at_work().count(), 0);
    bench.connect(1);
    assert!(bench.ask_on(1, Body::FlowMod(FlowMod::new(FlowModCommand::Delete, 0))).is_empty());
    bench.switch.disconnected_from(ConnectionId(1));
    let (heard, _) = finish(&mut bench, 1, Vec::new());
    assert!(heard.is_empty(), "nobody is told");
    assert_eq!(bench.switch.tables().entries(), 25);
}

#[test]
fn what_comes_and_goes_meanwhile_is_met_at_most_once_and_the_rest_once() {
    let mut bench = bench(Some(4));
    let heard = bench.ask_on(1, request(RequestBody::Flow(all(0, 0))));
    bench.switch.work_on(ConnectionId(1), bench.now, &mut bench.frames, &mut bench.fx);
    for n in [0, 20, 48] {
        let Body::FlowMod(it) = numbered(n) else { unreachable!() };
        let gone = FlowMod { command: FlowModCommand::DeleteStrict, flags: 0, ..it };
        bench.ask_on(0, Body::FlowMod(gone));
    }
    bench.install([numbered(60), numbered(62), numbered(64), numbered(66)]);
    let mut heard = heard;
    heard.extend(bench.heard(1).into_iter().filter(|it| matches!(it, Body::MultipartReply(_))));
    let (heard, _) = finish(&mut bench, 1, heard);
    let found = cookies(&heard);
    let stayed = (0..ENTRIES).filter(|n| ![0, 20, 48].contains(n));
    for n in stayed {
        assert_eq!(found.iter().filter(|&&other| other == n).count(), 1, "{n}");
    }
    assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "none twice");
}
