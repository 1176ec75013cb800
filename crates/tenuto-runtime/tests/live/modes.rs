//! The vehicle: a watched flow raises the mode, and the network finds its way back.

use crate::networks::{Words, options, planned, possible, shipped};
use tenuto_model::{Event, EventAction, Scenario, Verdict};
use tenuto_runtime::{ModeController, SwitchProcesses, UpOptions, up, up_by_controller};

const MS: u64 = 1_000_000;

pub(crate) fn the_mode_rises_and_returns() {
    rises_and_returns("the_mode_rises_and_returns", SwitchProcesses::Apart);
}

/// The same where one thread is all switches: their ports, namespaces and sessions are their own.
pub(crate) fn switches_of_one_process_do_the_same() {
    rises_and_returns("switches_of_one_process_do_the_same", SwitchProcesses::Together);
}

/// One switch of several in a process cannot be ended alone: told before anything is started.
pub(crate) fn switches_of_one_process_end_together() {
    let plan = planned(&shipped("vehicle.yaml"));
    let mut scenario = Scenario::plain(100 * MS, 1);
    let action = EventAction::KillNode { node: "sw2".into() };
    scenario.events = vec![Event { at_ns: 30 * MS, action, note: None }];
    let mut options = options(&plan, "together-kill");
    options.switches = SwitchProcesses::Together;
    let refused = up(&plan, &scenario, &options, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let text = refused.expect_err("it shares its process").to_string();
    assert!(text.contains("sw2 at 30 ms") && text.contains("run them apart"), "{text}");
}

fn rises_and_returns(name: &str, switches: SwitchProcesses) {
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
    let options = UpOptions { switches, ..options(&plan, name) };
    let outcome = up(&plan, &scenario, &options, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible(name, outcome) else { return };
    let document = outcome.document;
    println!("{}", document.summary);
    document.mode_changes.iter().for_each(|row| println!("{row:?}"));
    assert_eq!(outcome.crashed, None);
    assert!(!matches!(document.verdict, Verdict::Violated | Verdict::Broken));
    let changes: Vec<(&str, &str)> =
        document.mode_changes.iter().map(|c| (c.from.as_str(), c.to.as_str())).collect();
    assert_eq!(changes, [("LO", "HI"), ("HI", "LO")]);
    let lost = document.events.iter().find(|e| e.text.contains("mode signals from sw1"));
    assert_eq!(lost.map(|event| event.tolerated), Some(Some(true)));
}

/// The same excess, and a controller that changes the mode: every switch is told and answers, and
/// the lowest mode comes back, so that the next excess raises it again.
pub(crate) fn a_controller_raises_the_mode_and_takes_it_back() {
    by_controller("a_controller_raises_the_mode_and_takes_it_back", SwitchProcesses::Apart);
}

/// The same with all switches in one process.
pub(crate) fn a_controller_changes_switches_of_one_process() {
    by_controller("a_controller_changes_switches_of_one_process", SwitchProcesses::Together);
}

fn by_controller(name: &str, switches: SwitchProcesses) {
    let plan = planned(&shipped("vehicle.yaml"));
    let mut scenario = Scenario::plain(2_500 * MS, 1);
    let behave = |at_ms: u64, mode| Event {
        at_ns: at_ms * MS,
        action: EventAction::Behave { flow: "CAM".into(), mode },
        note: None,
    };
    scenario.events = vec![behave(400, 1), behave(500, 0), behave(1_400, 1), behave(1_500, 0)];
    let options = UpOptions { switches, ..options(&plan, name) };
    let outcome =
        up_by_controller(&plan, &scenario, &options, ModeController::Own, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(run) = possible(name, outcome) else { return };
    println!("{run:?}");
    assert!(!run.interrupted);
    assert_eq!((run.changes.len() >= 2, run.unfinished), (true, 0));
    for change in &run.changes {
        assert!(change.in_effect.as_ns() > 0 && change.in_effect <= change.confirmed);
        assert!(change.in_effect <= change.drained);
        assert!(change.out_of_mode > 0 || change.drained == change.in_effect);
    }
}
