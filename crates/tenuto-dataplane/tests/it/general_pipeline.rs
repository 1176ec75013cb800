//! Tables that leave the pipeline and come back: requests for table features that describe some
//! (OpenFlow 1.3.5, section 7.3.5.5).

use support::Bench;
use support::general::{any, bench, config};
use support::{frame, output};
use tenuto_dataplane::switch::{ConnectionId, GeneralConfig, SwitchConfig};
use tenuto_openflow::constants::{flow_flag, table};
use tenuto_openflow::*;

use crate::support;

fn read(bench: &mut Bench) -> Vec<TableFeatures> {
    match bench.reply(RequestBody::TableFeatures(vec![])) {
        ReplyBody::TableFeatures(tables) => tables,
        other => panic!("{other:?}"),
    }
}

/// A request for these tables, of which nothing is asked but that they are there.
fn pipeline(ids: &[u8]) -> Body {
    let table = |&table_id: &u8| TableFeatures {
        table_id,
        name: FixedText::new(""),
        metadata_match: 0,
        metadata_write: 0,
        config: 0,
        max_entries: 0,
        properties: vec![],
    };
    let tables = ids.iter().map(table).collect();
    Body::MultipartRequest(MultipartRequest::new(RequestBody::TableFeatures(tables)))
}

fn ids(tables: &[TableFeatures]) -> Vec<u8> {
    tables.iter().map(|it| it.table_id).collect()
}

fn next_tables(of: &TableFeatures) -> &[u8] {
    let next = of.properties.iter().find_map(|property| match property {
        TableProperty::NextTables { tables, .. } => Some(tables),
        _ => None,
    });
    next.expect("it is always told")
}

/// An entry of a table for every frame that leads to another one, wanted to be missed.
fn leading(from: u8, to: u8) -> Body {
    let instructions = vec![Instruction::GotoTable(to)];
    let flags = flow_flag::SEND_FLOW_REM;
    Body::FlowMod(FlowMod { instructions, flags, ..FlowMod::new(FlowModCommand::Add, from) })
}

fn sending(from: u8) -> Body {
    let flow_mod = any(0, vec![output(2)]);
    Body::FlowMod(FlowMod { table_id: from, flags: flow_flag::SEND_FLOW_REM, ..flow_mod })
}

fn entries(bench: &mut Bench) -> Vec<(u8, u64)> {
    match bench.reply(RequestBody::Flow(FlowStatsRequest::ALL)) {
        ReplyBody::Flow(list) => list.iter().map(|it| (it.table_id, it.packet_count)).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tables_that_are_left_out_go_with_their_entries_and_come_back_empty() {
    let mut bench = bench();
    bench.install([leading(0, 1), leading(1, 2), sending(2), sending(9)]);
    assert_eq!(bench.ports_of(1, &frame(1, 60)), [2]);
    let answers = bench.ask_on(0, pipeline(&[2, 0]));
    let [Body::MultipartReply(MultipartReply { body: ReplyBody::TableFeatures(told), .. })] =
        &answers[..]
    else {
        panic!("nothing but what is there now: {answers:?}")
    };
    assert_eq!(ids(told), [0, 2]);
    assert_eq!((next_tables(&told[0]), next_tables(&told[1])), (&[2][..], &[][..]));
    assert_eq!(*told, read(&mut bench));
    assert_eq!(entries(&mut bench), [(0, 1), (2, 1)], "what stays keeps its counters");
    let ReplyBody::Table(stats) = bench.reply(RequestBody::Table) else { panic!("another reply") };
    assert_eq!(stats.iter().map(|it| it.table_id).collect::<Vec<_>>(), [0, 2]);
    // What leads to a table that is gone finds nothing there.
    assert_eq!(bench.ports_of(1, &frame(1, 60)), [0; 0]);
    bench.install([leading(0, 2)]);
    assert_eq!(bench.ports_of(1, &frame(1, 60)), [2]);

    bench.refused(sending(1), FlowModFailed::BadTableId);
    bench.refused(leading(0, 1), BadInstruction::BadTableId);
    let modify = FlowMod::new(FlowModCommand::Modify, 1);
    bench.refused(Body::FlowMod(modify), FlowModFailed::BadTableId);
    bench
        .refused(Body::FlowMod(FlowMod::new(FlowModCommand::Delete, 1)), FlowModFailed::BadTableId);
    bench.refused(Body::TableMod(TableMod { table_id: 1, config: 0 }), TableModFailed::BadTable);
    let of_one = RequestBody::Flow(FlowStatsRequest { table_id: 1, ..FlowStatsRequest::ALL });
    let ask = |body| Body::MultipartRequest(MultipartRequest::new(body));
    bench.refused(ask(of_one), BadRequest::BadTableId);

    bench.ask_on(0, pipeline(&[0, 1, 2]));
    assert_eq!(ids(&read(&mut bench)), [0, 1, 2]);
    bench.install([leading(0, 1)]);
    assert_eq!(bench.ports_of(1, &frame(1, 60)), [0; 0], "it came back without its entries");
    bench.install([leading(1, 2)]);
    assert_eq!(bench.ports_of(1, &frame(1, 60)), [2]);
    let delete = Body::FlowMod(FlowMod::new(FlowModCommand::Delete, table::ALL));
    assert_eq!(bench.ask_on(0, delete).len(), 3, "as many flow-removed");
    assert_eq!(entries(&mut bench), []);
}

#[test]
fn a_pipeline_that_cannot_be_is_refused_and_nothing_changes() {
    let mut bench = bench();
    bench.install([leading(0, 1), sending(1)]);
    let all = read(&mut bench);
    bench.refused(pipeline(&[1]), TableFeaturesFailed::BadTable);
    bench.refused(pipeline(&[0, 64]), TableFeaturesFailed::BadTable);
    bench.refused(pipeline(&[0, 1, 0]), TableFeaturesFailed::BadTable);
    let ask = |tables: &[TableFeatures]| {
        let body = RequestBody::TableFeatures(tables.to_vec());
        Body::MultipartRequest(MultipartRequest::new(body))
    };
    // Its first table would lead to some that it leaves out.
    bench.refused(ask(&all[..2]), TableFeaturesFailed::BadArgument);
    assert_eq!(read(&mut bench), all);

    let general = GeneralConfig { tables_change: false, ..config().general.expect("general") };
    let mut fixed = Bench::with(SwitchConfig { general: Some(general), ..config() });
    fixed.install([leading(0, 1), sending(1)]);
    fixed.refused(pipeline(&[0, 1]), TableFeaturesFailed::Eperm);
    assert_eq!(read(&mut fixed), all);
    for bench in [&mut bench, &mut fixed] {
        assert_eq!(bench.ports_of(1, &frame(1, 60)), [2]);
    }
}

#[test]
fn many_entries_go_in_steps_and_nobody_brings_their_table_back_meanwhile() {
    const ENTRIES: u16 = 50;
    let general = GeneralConfig { entries_at_once: Some(4), ..config().general.expect("general") };
    let mut bench =
        Bench::with(SwitchConfig { general: Some(general), entries_max: 200, ..config() });
    bench.connect(1);
    let at = |table_id, priority| {
        let flow_mod = any(priority, vec![output(2)]);
        let flags = flow_flag::SEND_FLOW_REM;
        Body::FlowMod(FlowMod { table_id, idle_timeout: 5, flags, ..flow_mod })
    };
    for n in 0..ENTRIES {
        bench.install([at(0, n), at(1, n), at(5, n)]);
    }
    assert!(bench.ask_on(0, pipeline(&[0])).is_empty(), "nothing is said before the end");
    bench.refused_on(1, at(1, 99), FlowModFailed::BadTableId);
    bench.refused_on(1, pipeline(&[0, 1]), TableFeaturesFailed::Eperm);
    let (mut heard, mut steps) = (Vec::new(), 0);
    while bench.switch.at_work().next().is_some() {
        bench.switch.work_on(ConnectionId(0), bench.now, &mut bench.frames, &mut bench.fx);
        heard.extend(bench.heard(0));
        steps += 1;
    }
    assert!(steps > usize::from(ENTRIES) * 2 / 4, "{steps} steps of four entries at most");
    let [Body::MultipartReply(MultipartReply { flags: 0, body })] = &heard[..] else {
        panic!("no flow-removed, and one reply: {heard:?}")
    };
    assert!(matches!(body, ReplyBody::TableFeatures(tables) if ids(tables) == [0]), "{body:?}");
    assert!(bench.heard(1).is_empty());
    assert_eq!(bench.switch.tables().entries(), usize::from(ENTRIES));
    bench.ask_on(1, pipeline(&[0, 1]));
    bench.install([at(1, 99)]);
}
