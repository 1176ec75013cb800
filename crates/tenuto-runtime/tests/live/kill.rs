//! Deaths: the run goes on or ends at once, and nothing is left behind.

use crate::networks::{Words, options, planned, possible, row};
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use tenuto_io::MonotonicClock;
use tenuto_model::{Event, EventAction, Scenario, Verdict};
use tenuto_runtime::{NodesFile, running_lab, up};
use tenuto_units::Span;

const MS: u64 = 1_000_000;

fn file(dir: &Path) -> NodesFile {
    running_lab(dir).expect("a running lab")
}

/// Waits for the end of every process of a lab that this program has started.
fn nothing_is_left(guardian: u32) {
    assert!(!Path::new(&format!("/proc/{guardian}")).exists(), "the guardian was waited for");
    let deadline = MonotonicClock::now() + Span::from_s(10);
    loop {
        let left = processes_of_labs();
        if left.is_empty() {
            return;
        }
        assert!(MonotonicClock::now() < deadline, "still there: {left:?}");
        std::thread::yield_now();
    }
}

fn processes_of_labs() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("proc").filter_map(Result::ok);
    let numbered = processes.filter_map(|e| e.file_name().into_string().ok());
    let is_number = |name: &String| name.parse::<u32>().is_ok();
    let in_lab = |pid: &String| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        let roles = ["\0__node", "\0__netns", "\0__supervisor"];
        of_this_test(pid) && roles.iter().any(|role| line.contains(role))
    };
    numbered.filter(is_number).filter(in_lab).collect()
}

/// Labs of other tests and users on this machine are none of ours.
fn of_this_test(pid: &str) -> bool {
    let exe = |pid: &str| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    exe(pid).is_some() && exe(pid) == exe("self")
}

/// A switch is killed from outside in mid-run; the run goes on to its end and says what it saw.
pub(crate) fn a_killed_switch_does_not_end_the_run() {
    let plan = planned(&row(2));
    let scenario = Scenario::plain(1_200 * MS, 7);
    let options = options(&plan, "kill");
    let dir = options.run_dir.clone();
    let guardian = Rc::new(RefCell::new(0));
    let seen = guardian.clone();
    let at = dir.clone();
    let mut words = Words::at_start(move || {
        let lab = file(&at);
        *seen.borrow_mut() = lab.guardian;
        let pid = lab.nodes.iter().find(|n| n.name == "sw2").expect("a switch").pid;
        let pid = pid.expect("it runs").to_string();
        let killed = Command::new("kill").args(["-9", &pid]).status();
        assert!(killed.expect("kill runs").success(), "it is known out here by this number");
    });
    let outcome = up(&plan, &scenario, &options, &mut words);
    let Some(outcome) = possible("a_killed_switch", outcome) else { return };
    assert_eq!(outcome.crashed, None);
    let document = outcome.document;
    println!("{}", document.summary);
    let death = document.events.iter().find(|e| e.text == "sw2 died").expect("it is told");
    assert_eq!(death.tolerated, Some(false));
    assert_eq!(document.verdict, Verdict::Broken, "{}", document.summary);
    for row in &document.flows {
        assert!(row.sent > 0 && row.received < row.sent, "{row:?}");
    }
    nothing_is_left(*guardian.borrow());
    std::fs::remove_dir_all(dir).expect("ours");
}

/// A scenario that kills a switch and starts it again: messages arrive again afterwards.
pub(crate) fn a_switch_comes_back() {
    let plan = planned(&row(2));
    let mut scenario = Scenario::plain(2_000 * MS, 7);
    let node = || "sw1".to_owned();
    let event = |at_ms: u64, action| Event { at_ns: at_ms * MS, action, note: None };
    scenario.events = vec![
        event(300, EventAction::KillNode { node: node() }),
        event(600, EventAction::StartNode { node: node() }),
    ];
    let options = options(&plan, "back");
    let outcome = up(&plan, &scenario, &options, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("a_switch_comes_back", outcome) else { return };
    let document = outcome.document;
    println!("{}", document.summary);
    assert_eq!(outcome.crashed, None);
    // Half of 200 periods of 10 ms is more than could pass before the switch was killed.
    let row = document.flows.iter().find(|r| r.flow == "speed").expect("a row");
    assert!(row.lost > 0 && row.received > 60, "{row:?}");
    assert!(document.events.iter().any(|e| e.text == "sw1 is started"));
}

/// A link is cut and healed: what was sent meanwhile is lost, what comes later arrives.
pub(crate) fn a_cut_link_heals() {
    let plan = planned(&row(1));
    let mut scenario = Scenario::plain(1_500 * MS, 7);
    let ends = || ["sw1".to_owned(), "display".to_owned()];
    let event = |at_ms: u64, action| Event { at_ns: at_ms * MS, action, note: None };
    scenario.events = vec![
        event(300, EventAction::CutLink { ends: ends() }),
        event(600, EventAction::HealLink { ends: ends() }),
    ];
    let options = options(&plan, "cut");
    let outcome = up(&plan, &scenario, &options, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("a_cut_link_heals", outcome) else { return };
    assert_eq!(outcome.crashed, None);
    let row = outcome.document.flows.into_iter().find(|r| r.flow == "speed").expect("a row");
    // 30 periods of 10 ms pass before the cut, 90 after it is healed.
    assert!(row.lost > 0 && row.received > 40, "{row:?}");
    assert_eq!(row.sent, row.received + row.lost + row.undecided + row.in_flight);
}

/// The controller dies and the plan goes on without it, as it promises.
pub(crate) fn a_lost_controller_is_tolerated() {
    let plan = planned(&row(1));
    let mut scenario = Scenario::plain(600 * MS, 7);
    let action = EventAction::KillNode { node: "controller".into() };
    scenario.events = vec![Event { at_ns: 100 * MS, action, note: None }];
    let options = options(&plan, "controller");
    let outcome = up(&plan, &scenario, &options, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("a_lost_controller_is_tolerated", outcome) else { return };
    let document = outcome.document;
    assert_eq!(document.violations, []);
    assert!(document.events.iter().any(|e| e.tolerated == Some(true)));
    for row in &document.flows {
        assert_eq!(row.sent, row.received + row.undecided, "{row:?}");
    }
}

/// The guardian is killed: everything inside dies with it, and what was seen is kept.
pub(crate) fn a_killed_lab_leaves_nothing() {
    let plan = planned(&row(1));
    let scenario = Scenario::plain(60_000 * MS, 7);
    let options = options(&plan, "lab");
    let dir = options.run_dir.clone();
    let guardian = Rc::new(RefCell::new(0));
    let (seen, at) = (guardian.clone(), dir.clone());
    let mut words = Words::at_start(move || {
        *seen.borrow_mut() = file(&at).guardian;
        let kill = Command::new("kill").arg("-9").arg(seen.borrow().to_string()).status();
        assert!(kill.expect("a program").success());
    });
    let outcome = up(&plan, &scenario, &options, &mut words);
    let Some(outcome) = possible("a_killed_lab_leaves_nothing", outcome) else { return };
    let crashed = outcome.crashed.expect("it did not end by itself");
    assert!(crashed.starts_with("the lab ended early"), "{crashed}");
    assert_eq!(outcome.document.events.last().map(|e| e.tolerated), Some(Some(false)));
    assert_eq!(outcome.document.verdict, Verdict::Broken, "{}", outcome.document.summary);
    // This machine may have its own reasons beside.
    assert_eq!(outcome.document.verdict_reasons[0].who, "the lab");
    nothing_is_left(*guardian.borrow());
    std::fs::remove_dir_all(dir).expect("ours");
}
