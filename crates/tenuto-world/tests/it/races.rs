//! Races in records: traces of SDNRacer where they are at hand, and runs of our own controller.

use crate::applications::{app, line, sends};
use std::path::PathBuf;
use tenuto_controller::reactive::ReactiveApp;
use tenuto_world::applied::{RunSettings, run};
use tenuto_world::explore::reactive::{Protocol, Send};
use tenuto_world::races::{Detected, RaceKind, Record, detect, read_hb, read_record};

/// Where somebody has put traces of SDNRacer, a folder each with `hb.json` and `summary.csv`.
const TRACES: &str = "TENUTO_SDNRACER_TRACES";

/// The last value of a row of `summary.csv`: that without a filter by time.
fn published(summary: &str, row: &str) -> Option<u64> {
    let line = summary.lines().find(|line| line.split(',').next() == Some(row))?;
    line.rsplit(',').next()?.trim().parse().ok()
}

#[test]
fn traces_of_sdnracer_have_the_events_accesses_and_pairs_that_were_published() {
    let Some(folder) = std::env::var_os(TRACES).map(PathBuf::from) else {
        println!("skipped: {TRACES} names no folder");
        return;
    };
    let mut read = 0;
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let (Ok(trace), Ok(summary)) = (
            std::fs::read_to_string(path.join("hb.json")),
            std::fs::read_to_string(path.join("summary.csv")),
        ) else {
            continue;
        };
        if trace.is_empty() {
            continue;
        }
        let run = read_hb(&trace).expect("a trace");
        let found = detect(&run, None).expect("small enough");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let of = |row: &str| published(&summary, row).expect("a row");
        let ours = [found.events, found.reads, found.writes].map(|count| count as u64);
        assert_eq!(ours, ["num_events", "num_read", "num_writes"].map(of), "{name}");
        assert_eq!(found.races, of("num_races"), "{name}");
        // There deletions that name a port delete entries to other ports too.
        if !name.contains("circuitpusher") {
            assert_eq!(found.commuting, of("num_commute"), "{name}");
        }
        println!(
            "{name}: {} pairs, {} commute ({}), {} matter ({}), {} covered ({})",
            found.races,
            found.commuting,
            of("num_commute"),
            found.harmful(),
            of("num_harmful"),
            found.covered(),
            of("num_covered")
        );
        read += 1;
    }
    assert!(read > 0, "no trace in the folder that {TRACES} names");
}

/// A look-up that finds nothing, an entry that the same packet would have matched, from an answer to another packet:
/// nothing orders them.
#[test]
fn an_entry_races_with_a_packet_that_it_would_have_matched() {
    let packet = "AAAAAAACAAAAAAABiLU=";
    let add = "AQ4AUAAAAAAAP//3AAAAAAAAAAAAAAAAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABf///////wAAAAAACAACAAA=";
    let read = |eid: u32, pid: u32, mid: u32| {
        format!(
            r#"{{"eid": {eid}, "type": "HbPacketHandle", "pid_in": {pid}, "mid_out": [{mid}], "dpid": 1, "packet": "{packet}", "in_port": 1, "operations": ["{{\"type\": \"TraceSwitchFlowTableRead\", \"flow_mod\": null, \"t\": \"{eid}.0\"}}"]}}"#
        )
    };
    let write = format!(
        r#"{{"eid": 5, "type": "HbMessageHandle", "mid_in": 12, "msg_type": "OFPT_FLOW_MOD", "dpid": 1, "operations": ["{{\"type\": \"TraceSwitchFlowTableWrite\", \"flow_mod\": \"{add}\", \"t\": \"5.0\"}}"]}}"#
    );
    let controller = r#"{"eid": 3, "type": "HbControllerHandle", "mid_in": 10, "mid_out": [12]}"#;
    let text = [read(1, 1, 10), read(2, 2, 11), controller.into(), write].join("\n");
    let found = detect(&read_hb(&text).expect("a trace"), None).expect("small");
    assert_eq!((found.reads, found.writes, found.races), (2, 1, 1), "{found:?}");
    assert_eq!((found.harmful(), found.found[0].kind), (1, RaceKind::ReadWrite));
    assert_eq!(
        (found.found[0].one, found.found[0].other),
        (1, 3),
        "the packet that was not answered"
    );
    let near = detect(&read_hb(&text).expect("a trace"), Some(2.0)).expect("small");
    assert_eq!((near.harmful(), near.apart), (0, 1));
}

fn recorded(app: Box<dyn ReactiveApp>, protocol: Protocol, packets: u8) -> Detected {
    let settings = RunSettings {
        protocol,
        sends: vec![Send { packets, ..sends(1).sends[0].clone() }],
        flows: 1,
        // The next packet is there before the agent has carried the flow-mod out.
        command: tenuto_units::Span::from_ms(1),
        has_record: true,
        ..RunSettings::default()
    };
    let done = run(&line(), app, &settings).expect("it fits");
    assert!(!done.record.is_empty());
    let lines: Vec<String> = done.record.iter().map(Record::line).collect();
    let text = format!("{}\n{}", Record::head(), lines.join("\n"));
    detect(&read_record(&text).expect("our own record"), None).expect("small")
}

/// \[Attendre\] Fig. 1 (a): the second packet of a flow races against the entry for it. One packet alone does not: what
/// its switch is told comes after its question.
#[test]
fn a_run_of_our_controller_has_the_race_of_the_second_packet() {
    let route = || app("route-flow", &[("way", "02:00:00:00:01:20@1:2,2:2")], None);
    for protocol in [Protocol::Openflow, Protocol::OpenflowBarrier] {
        let three = recorded(route(), protocol, 3);
        assert!(three.reads > 1 && three.writes >= 2, "{three:?}");
        assert!(three.harmful() > 0, "{three:?}");
        assert!(three.found.iter().any(|race| race.kind == RaceKind::ReadWrite));
        let one = recorded(route(), protocol, 1);
        assert!(one.reads == 1 && one.writes >= 2, "{one:?}");
        assert_eq!(one.harmful(), 0, "{one:?}");
    }
}

#[test]
fn what_is_no_record_is_refused_with_its_line() {
    let head = Record::head();
    let wrong = |text: &str| read_record(text).expect_err("it is wrong");
    assert!(wrong("").starts_with("line 1: "));
    assert!(wrong(&format!("{head}\n{{}}")).starts_with("line 2: a message heard or told"));
    let record = |message: &str, because: &str| {
        format!(
            "{head}\n{{\"at_ns\": 1, \"datapath\": 1, \"heard\": false{because}, \"message\": \"{message}\"}}"
        )
    };
    assert!(wrong(&record("0", "")).contains("pairs of hexadecimal digits"));
    assert!(wrong(&record("zz", "")).contains("pairs of hexadecimal digits"));
    assert!(wrong(&record("00", "")).contains("OpenFlow 1.3"));
    assert!(wrong(&record("0414000800000000", ", \"because\": 7")).contains("message 7"));
}
