//! A row of one switch: everything that is sent arrives.

use crate::networks::{Words, options, planned, possible, row};
use tenuto_model::{Scenario, Verdict};
use tenuto_runtime::up;

const MS: u64 = 1_000_000;

pub(crate) fn every_message_arrives() {
    let plan = planned(&row(1));
    let scenario = Scenario::plain(1_500 * MS, 7);
    let options = options(&plan, "line");
    let outcome = up(&plan, &scenario, &options, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("every_message_arrives", outcome) else { return };
    let document = outcome.document;
    println!("{}", document.summary);
    assert_eq!(outcome.crashed, None);
    assert!(!outcome.interrupted);
    assert_eq!(document.violations, [], "{:?}", document.stalls);
    assert!(matches!(document.verdict, Verdict::Kept | Verdict::Undecided | Verdict::Late));
    for row in &document.flows {
        println!("{row:?}");
        assert_eq!(row.sent, row.received + row.undecided, "{}", row.flow);
        assert_eq!((row.lost, row.policed, row.out_of_mode, row.in_flight), (0, 0, 0, 0));
        // 1.5 s hold 150 periods of 10 ms; a late machine spaces further apart, never closer.
        let most = if row.flow == "speed" { 150 } else { 300 };
        assert!((most / 2..=most).contains(&row.sent), "{} sent {}", row.flow, row.sent);
    }
    // 3 kB are three frames, over two links; every frame is counted at both senders.
    let frames = |port: &str| {
        let found = document.ports.iter().find(|p| p.port == port);
        found.unwrap_or_else(|| panic!("{port} in {:?}", document.ports)).frames
    };
    let sent = |flow: &str| document.flows.iter().find(|r| r.flow == flow).expect("a row").sent;
    let expected = 3 * sent("speed") + sent("tick");
    assert_eq!(frames("sensor > sw1"), expected);
    assert_eq!(frames("sw1:2 > display"), expected);
    assert_eq!(document.packet_hops, 2 * expected);
}

/// Nodes and the supervisor go on where their log has no room: the run is judged by what was seen.
pub(crate) fn a_full_log_ends_nothing() {
    let plan = planned(&row(1));
    let options = options(&plan, "full-log");
    std::os::unix::fs::symlink("/dev/full", options.run_dir.join("lab.log")).expect("a link");
    let scenario = Scenario::plain(500 * MS, 7);
    let outcome = up(&plan, &scenario, &options, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("a_full_log_ends_nothing", outcome) else { return };
    assert_eq!(outcome.crashed, None);
    let document = outcome.document;
    assert_eq!(document.violations, [], "{:?}", document.stalls);
    assert!(document.flows.iter().all(|row| row.received > 0), "{:?}", document.flows);
}
