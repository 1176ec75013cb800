//! What one message asks of very many entries, a few at a time, beside a twin that does it at once.

use support::Bench;
use support::general::{any, config, entry};
use support::{frame, output};
use tenuto_dataplane::switch::{ConnectionId, GeneralConfig, SwitchConfig};
use tenuto_openflow::constants::{flow_flag, multipart_flag, table};
use tenuto_openflow::*;

mod support;

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
        bench.switch.work_on(ConnectionId(id), bench.now, &mut bench.fx);
        heard.extend(bench.heard(id));
        steps += 1;
    }
    (heard, steps)
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

#[test]
fn a_barrier_waits_and_frames_and_others_do_not() {
    let mut bench = bench(Some(4));
    let delete = FlowMod::new(FlowModCommand::Delete, table::ALL);
    bench.install([Body::FlowMod(delete)]);
    bench.switch.work_on(ConnectionId(0), bench.now, &mut bench.fx);
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
    bench.switch.work_on(ConnectionId(1), bench.now, &mut bench.fx);
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
