//! What random networks once found, each in its smallest form.

use crate::support;

use support::{certified, network};
use tenuto_model::{Event, EventAction, Network, Offsets, Scenario, Transition, Verdict};
use tenuto_world::clockwork;

const MS: u64 = 1_000_000;

fn found(rest: &str) -> Network {
    let text = format!(
        "tenuto: 1\nname: found\nhosts: [h0, h1, h2]\n\
         controllers: {{c1: {{manages: all, channel: out-of-band, when_lost: secure}}}}\n\
         defaults: {{link: {{rate: 10 Mbit/s, length: 10 m}}, switch: {{profile: tenuto}}}}\n{rest}"
    );
    network(&text)
}

const TWO_SWITCHES: &str = "switches: {s0: {}, s1: {}}\nlinks:\n  - {ends: [s0, s1]}\n  \
                            - {ends: [h0, s0]}\n  - {ends: [h1, s1]}\n  - {ends: [h2, s0]}\n";

/// Two flows of one host, one by virtual link and one by five-tuple, could be one frame.
#[test]
fn a_virtual_link_beside_a_five_tuple() {
    let flows = "flows:\n  \
        V: {source: h0, targets: [h1], vl: 1, bag: 4 ms, frame: 500 B}\n  \
        U: {source: h0, targets: [h2], period: 10 ms, message: 2 kB}\n";
    let plan = certified(&found(&format!("{TWO_SWITCHES}{flows}")));
    assert!(plan.feasible, "{:?}", plan.refusals);
}

/// The line in front carries no more than the port, but what is sent over it does.
#[test]
fn an_overloaded_port_behind_one_line_has_no_backlog_bound() {
    let flows = "flows:\n  \
        F: {source: h0, targets: [h1], period: 10 ms, message: 8 kB, deadline: 9 ms}\n  \
        G: {source: h2, targets: [h1], period: 10 ms, message: 8 kB, deadline: 9 ms}\n";
    let plan = certified(&found(&format!("{TWO_SWITCHES}{flows}")));
    assert!(!plan.feasible);
    let last = plan.port_rows.iter().find(|row| row.port.node == "s1" && row.rate_bps > 0);
    assert_eq!(last.expect("flows pass here").backlog_bound_bits, None);
}

/// Raise and return within the dwell of signals spent the credit of the next raise.
#[test]
fn a_mode_that_flaps_still_reaches_every_switch() {
    let flows = "modes: [LO, HI]\nflows:\n  \
        W: {source: h0, targets: [h1], level: HI, period: {LO: 90 ms, HI: 30 ms}, message: 1 kB}\n  \
        L: {source: h2, targets: [h1], level: LO, period: 40 ms, message: 2930 B}\n";
    let plan = certified(&found(&format!("{TWO_SWITCHES}{flows}")));
    assert!(plan.feasible, "{:?}", plan.refusals);
    assert!(plan.quiet_ns.is_some_and(|quiet| quiet >= 100 * MS));
    let back =
        |row: &&tenuto_model::ModeChangeBound| matches!(row.change, Transition::Return { .. });
    assert!(plan.mode_changes.iter().any(|row| back(&row) && row.bound_ps >= 150_000_000_000));
    let mut scenario = Scenario::plain(4_000 * MS, 1);
    scenario.traffic.offsets = Offsets::Zero;
    for turn in 0..24 {
        let mode = usize::try_from(turn % 2).expect("a mode");
        let behave = EventAction::Behave { flow: "W".into(), mode };
        let at_ns = (100 + 150 * turn) * MS + turn * 777_777;
        scenario.events.push(Event { at_ns, action: behave, note: None });
    }
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
    let raises = run.mode_changes.iter().filter(|change| change.to == "HI");
    assert!(raises.count() > 3, "{:?}", run.mode_changes.len());
}
