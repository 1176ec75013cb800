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
    // One lost signal is tolerated: each is sent twice.
    let (from, to) = ("sw1".to_owned(), "sw2".to_owned());
    let lose = EventAction::LoseSignals { from, to, frames: 1 };
    scenario.events =
        vec![Event { at_ns: 400 * MS, action: lose, note: None }, behave(500, 1), behave(1_200, 0)];
    let options = options(&plan, "modes");
    let outcome = up(&plan, &scenario, &options, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("the_mode_rises_and_returns", outcome) else { return };
    let document = outcome.document;
    println!("{}", document.summary);
    document.mode_changes.iter().for_each(|row| println!("{row:?}"));
    assert_eq!(outcome.crashed, None);
    assert_ne!(document.verdict, Verdict::Broken);
    let changes: Vec<(&str, &str)> =
        document.mode_changes.iter().map(|c| (c.from.as_str(), c.to.as_str())).collect();
    assert_eq!(changes, [("LO", "HI"), ("HI", "LO")]);
    let lost = document.events.iter().find(|e| e.text.contains("mode signals from sw1"));
    assert_eq!(lost.map(|event| event.tolerated), Some(Some(true)));
}
