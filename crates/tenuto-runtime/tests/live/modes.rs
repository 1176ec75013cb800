//! The vehicle: a watched flow raises the mode, and the network finds its way back.

use crate::networks::{Words, options, planned, possible, shipped};
use tenuto_model::{Event, EventAction, Scenario, Verdict};
use tenuto_runtime::up;

const MS: u64 = 1_000_000;

pub(crate) fn the_mode_rises_and_returns() {
    let network = shipped("vehicle.yaml");
    let plan = planned(&network);
    let mut scenario = Scenario::plain(3_000 * MS, 1);
    let behave = |at_ms: u64, mode| Event {
        at_ns: at_ms * MS,
        action: EventAction::Behave { flow: "CAM".into(), mode },
        note: None,
    };
    scenario.events = vec![behave(500, 1), behave(1_200, 0)];
    let options = options(&plan, "modes");
    let outcome = up(&plan, &scenario, &options, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("the_mode_rises_and_returns", outcome) else { return };
    let document = outcome.document;
    println!("{}", document.summary);
    document.flows.iter().for_each(|row| println!("{row:?}"));
    document.mode_changes.iter().for_each(|row| println!("{row:?}"));
    document.violations.iter().for_each(|row| println!("{row:?}"));
    document.policed.iter().for_each(|row| println!("{row:?}"));
    document.stalls.iter().for_each(|row| println!("{row:?}"));
    document.ports.iter().for_each(|row| println!("{row:?}"));
    assert_eq!(outcome.crashed, None);
    assert_ne!(document.verdict, Verdict::Broken);
    let changes: Vec<(&str, &str)> =
        document.mode_changes.iter().map(|c| (c.from.as_str(), c.to.as_str())).collect();
    assert_eq!(changes, [("LO", "HI"), ("HI", "LO")]);
}
