//! Hosts and users that do what they should not: nobody else notices.

use crate::networks::{Words, options, planned, possible, row};
use std::process::Command;
use tenuto_model::{Event, EventAction, Network, Scenario, Verdict};
use tenuto_runtime::{Ui, up};
use tenuto_units::Span;
use tenuto_world::ProgressRow;

const MS: u64 = 1_000_000;

/// Two sources at the first switch: `sensor`, and `noisy` with a flow of its own.
fn with_noisy_host() -> Network {
    let mut network = row(1);
    network.hosts.push(tenuto_model::Host { name: "noisy".into() });
    let mut link = network.links[0].clone();
    link.a.node = "noisy".into();
    link.b.port = 3;
    network.links.push(link);
    let mut flow = network.flows[1].clone();
    flow.name = "chatter".into();
    flow.source = "noisy".into();
    network.flows.push(flow);
    network
}

pub(crate) fn a_babbling_host_harms_nobody() {
    let plan = planned(&with_noisy_host());
    let mut scenario = Scenario::plain(1_500 * MS, 7);
    let host = || "noisy".to_owned();
    let event = |at_ms: u64, action| Event { at_ns: at_ms * MS, action, note: None };
    let babble = EventAction::Babble {
        host: host(),
        flows: Vec::new(),
        frame_bytes: 64,
        rate_bps: Some(10_000_000),
        for_ns: Some(300 * MS),
    };
    scenario.events = vec![
        event(200, babble),
        event(
            700,
            EventAction::Garbage { host: host(), frames_per_s: 1_000, for_ns: Some(100 * MS) },
        ),
        event(900, EventAction::Forge { host: host() }),
    ];
    let options = options(&plan, "babble");
    let outcome = up(&plan, &scenario, &options, &mut Words::default());
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("a_babbling_host_harms_nobody", outcome) else { return };
    let document = outcome.document;
    println!("{}", document.summary);
    document.policed.iter().for_each(|row| println!("{row:?}"));
    assert_eq!(document.violations, []);
    for row in document.flows.iter().filter(|row| row.flow != "chatter") {
        assert_eq!(row.sent, row.received + row.undecided, "{row:?}");
        assert_eq!((row.lost, row.policed), (0, 0));
    }
    let policed = |reason: &str| -> u64 {
        let rows = document.policed.iter().filter(|p| p.reason == reason && p.switch == "sw1");
        rows.map(|p| p.frames).sum()
    };
    // How much of it is sent in time is the machine's affair.
    assert!(policed("policed") > 0, "babble meets the meter");
    assert!(policed("unknown") + policed("malformed") > 0, "garbage is in no table");
    assert!(policed("signal_rejected") > 0, "nobody believes a host");
    assert_eq!(document.mode_changes, []);
}

pub(crate) fn an_interrupted_run_ends_in_order() {
    let plan = planned(&row(1));
    let scenario = Scenario::plain(60_000 * MS, 7);
    let options = options(&plan, "interrupt");
    let mut words = Words::at_start(move || {
        let own = std::process::id().to_string();
        assert!(Command::new("kill").args(["-INT", &own]).status().expect("a program").success());
    });
    let outcome = up(&plan, &scenario, &options, &mut words);
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("an_interrupted_run_ends_in_order", outcome) else { return };
    assert!(outcome.interrupted);
    assert_eq!((outcome.crashed, outcome.document.violations), (None, Vec::new()));
    assert!(outcome.document.duration_ns < 30_000 * MS);
    assert_eq!(outcome.document.verdict, Verdict::Stopped, "{}", outcome.document.summary);
    assert!(
        outcome.document.ports.iter().any(|p| p.port == "sw1:2 > display"),
        "counters are told"
    );
}

/// Interrupts this program with the first step of setting up.
#[derive(Default)]
struct Impatient {
    steps: Vec<String>,
}

impl Ui for Impatient {
    fn step(&mut self, text: &str) {
        if self.steps.is_empty() {
            let own = std::process::id().to_string();
            let sent = Command::new("kill").args(["-INT", &own]).status().expect("a program");
            assert!(sent.success());
        }
        self.steps.push(text.to_owned());
    }

    fn progress(&mut self, _rows: &[ProgressRow], _mode: &str, _elapsed: Span) {}

    fn event(&mut self, _text: &str) {}
}

/// Before traffic nobody has anything to tell: no counters are waited for, and the run has no
/// length, whatever the clock of the machine says.
pub(crate) fn an_interrupted_set_up_ends_at_once() {
    let plan = planned(&row(3));
    let scenario = Scenario::plain(60_000 * MS, 7);
    let options = options(&plan, "set-up");
    let mut user = Impatient::default();
    let outcome = up(&plan, &scenario, &options, &mut user);
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("an_interrupted_set_up_ends_at_once", outcome) else { return };
    assert!(outcome.interrupted && outcome.at_once);
    let waited = ["traffic starts", "last counters"];
    let has_waited = |step: &String| waited.iter().any(|text| step.contains(text));
    assert!(!user.steps.iter().any(has_waited), "{:?}", user.steps);
    let document = outcome.document;
    assert_eq!((document.duration_ns, document.releases.len()), (0, 0));
    assert_eq!(document.verdict, Verdict::Stopped, "{}", document.summary);
}
