//! Every process of a lab killed or stopped, with the verdict said beforehand: by what happened and
//! in which order, never by how fast.

use crate::networks::{Words, options, planned, possible, row};
use std::path::Path;
use std::process::Command;
use tenuto_io::namespaces::supervisor_of;
use tenuto_model::{Event, EventAction, Network, Scenario, Verdict};
use tenuto_runtime::{running_lab, up};
use tenuto_world::RunDocument;

const MS: u64 = 1_000_000;

/// Who is hit.
#[derive(Clone, Copy, Debug)]
enum Whom {
    Node(&'static str),
    Guardian,
    Supervisor,
}

fn pid_of(whom: Whom, dir: &Path) -> u32 {
    let lab = running_lab(dir).expect("a running lab");
    match whom {
        Whom::Node(name) => {
            let node = lab.nodes.iter().find(|node| node.name == name).expect("a node");
            node.pid.expect("it runs")
        }
        Whom::Guardian => lab.guardian,
        Whom::Supervisor => supervisor_of(lab.guardian).expect("the guardian has a child"),
    }
}

fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill").arg(name).arg(pid.to_string()).status();
    assert!(sent.expect("kill runs").success(), "it is known out here by this number");
}

/// Flows that a process that dies or stands still does not send end this: something that happens
/// in mid-run, and changes nothing.
fn marks(at_ms: &[u64]) -> Scenario {
    let mut scenario = Scenario::plain(900 * MS, 7);
    let action = || EventAction::Behave { flow: "speed".into(), mode: 0 };
    let event = |at_ms: &u64| Event { at_ns: at_ms * MS, action: action(), note: None };
    scenario.events = at_ms.iter().map(event).collect();
    scenario
}

/// Runs a row of one switch; each mark of the scenario sends the next of these signals.
fn run(test: &str, network: &Network, whom: Whom, signals: &[&'static str]) -> Option<RunDocument> {
    let plan = planned(network);
    let options = options(&plan, test);
    let dir = options.run_dir.clone();
    let mut waiting = Vec::from(signals).into_iter();
    // Where the flow's own host is gone, its event is told as not played: a mark all the same.
    let mut hit = None;
    let mut words = Words::hearing(move |text| {
        if text.contains("speed behaves")
            && let Some(name) = waiting.next()
        {
            let pid = *hit.get_or_insert_with(|| pid_of(whom, &dir));
            signal(name, pid);
        }
    });
    let times: Vec<u64> = (0..).map(|n| 300 + 400 * n).take(signals.len()).collect();
    let outcome = up(&plan, &marks(&times), &options, &mut words);
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let document = possible(test, outcome)?.document;
    println!("{test}: {}", document.summary);
    document.verdict_reasons.iter().for_each(|reason| println!("  {reason:?}"));
    Some(document)
}

fn is(test: &str, network: &Network, whom: Whom, signals: &[&'static str], verdict: Verdict) {
    if let Some(document) = run(test, network, whom, signals) {
        assert_eq!(document.verdict, verdict, "{test}: {}", document.summary);
        assert!(document.verdict_reasons.iter().any(|reason| reason.verdict == verdict));
    }
}

/// A loss that the plan tolerates: whatever this machine adds, the run is not broken by it.
fn is_tolerated(test: &str, network: &Network, whom: Whom, signals: &[&'static str]) {
    if let Some(document) = run(test, network, whom, signals) {
        let is_kept =
            matches!(document.verdict, Verdict::Kept | Verdict::Undecided | Verdict::Late);
        assert!(is_kept, "{test}: {}", document.summary);
        assert_eq!(document.violations, []);
    }
}

fn relying_on_its_controller() -> Network {
    let mut network = row(1);
    network.tolerates.controller_loss = false;
    network
}

pub(crate) fn a_killed_node_breaks_the_run() {
    let broken = Verdict::Broken;
    for name in ["sensor", "display", "sw1"] {
        is("kill-node", &row(1), Whom::Node(name), &["-KILL"], broken);
    }
    is_tolerated("kill-controller", &row(1), Whom::Node("controller"), &["-KILL"]);
    let network = relying_on_its_controller();
    is("kill-needed-controller", &network, Whom::Node("controller"), &["-KILL"], broken);
}

pub(crate) fn a_killed_lab_breaks_the_run() {
    is("kill-guardian", &row(1), Whom::Guardian, &["-KILL"], Verdict::Broken);
    is("kill-supervisor", &row(1), Whom::Supervisor, &["-KILL"], Verdict::Broken);
}

/// A node that stands still to the end did not answer: it is as good as dead.
pub(crate) fn a_node_that_stands_still_breaks_the_run() {
    let broken = Verdict::Broken;
    for name in ["sensor", "display", "sw1"] {
        is("stop-node", &row(1), Whom::Node(name), &["-STOP"], broken);
    }
    is_tolerated("stop-controller", &row(1), Whom::Node("controller"), &["-STOP"]);
}

/// The guardian only waits; a lab whose supervisor stands still does not answer.
pub(crate) fn a_lab_that_stands_still_breaks_the_run() {
    is_tolerated("stop-guardian", &row(1), Whom::Guardian, &["-STOP"]);
    is("stop-supervisor", &row(1), Whom::Supervisor, &["-STOP"], Verdict::Broken);
}

/// A node that goes on later was late by this machine's doing: that is on record.
pub(crate) fn a_node_that_goes_on_leaves_the_run_undecided() {
    for name in ["sw1", "sensor"] {
        is("stop-go", &row(1), Whom::Node(name), &["-STOP", "-CONT"], Verdict::Undecided);
    }
}

/// A program of the user's own in the sensor's place.
fn with_program(test: &str, line: &str) -> Option<RunDocument> {
    let plan = planned(&row(1));
    let options = options(&plan, test);
    let mut scenario = Scenario::plain(600 * MS, 7);
    scenario.programs.insert("sensor".into(), line.into());
    let outcome = up(&plan, &scenario, &options, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let document = possible(test, outcome)?.document;
    println!("{line}: {}", document.summary);
    Some(document)
}

pub(crate) fn a_program_that_fails_breaks_the_run() {
    let lines = [
        ("/nowhere/at/all", "was not found"),
        ("exit 3", "failed (exit status: 3)"),
        ("kill -KILL $$", "failed (signal: 9 (SIGKILL))"),
    ];
    for (line, what) in lines {
        let Some(document) = with_program("program", line) else { return };
        assert_eq!(document.verdict, Verdict::Broken, "{line}: {}", document.summary);
        let reason = document.verdict_reasons.iter().find(|it| it.verdict == Verdict::Broken);
        let reason = reason.expect("a reason");
        assert_eq!((reason.who.as_str(), reason.what.as_str()), ("the program of sensor", what));
    }
}

pub(crate) fn a_program_that_sends_nothing_shows_nothing() {
    let Some(document) = with_program("program-true", "true") else { return };
    assert_eq!(document.verdict, Verdict::NothingObserved, "{}", document.summary);
    if !Command::new("bash").args(["-c", "true"]).status().is_ok_and(|s| s.success()) {
        return println!("SKIPPED frames that are refused: no bash here");
    }
    let line = "bash -c 'for i in 1 2 3; do echo hello > /dev/udp/display/29999; done'";
    let Some(document) = with_program("program-refused", line) else { return };
    assert_eq!(document.verdict, Verdict::NothingObserved, "{}", document.summary);
    let told = "had all 3 frames of its program refused";
    assert!(document.verdict_reasons.iter().any(|it| it.who == "sensor" && it.what == told));
}
