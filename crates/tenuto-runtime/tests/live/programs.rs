//! Programs of a user's own, in the nodes of a lab.

use crate::networks::{Words, options, planned, possible, row};
use std::path::PathBuf;
use std::process::Command;
use tenuto_model::Scenario;
use tenuto_runtime::{Executed, Ui, exec, up};
use tenuto_units::Span;
use tenuto_world::ProgressRow;

const MS: u64 = 1_000_000;

/// Datagrams of a program cross the network in the place of our sender's, spaced by contract.
pub(crate) fn a_program_sends_and_is_heard() {
    if !Command::new("bash").args(["-c", "true"]).status().is_ok_and(|s| s.success()) {
        return println!("SKIPPED a_program_sends_and_is_heard: no bash here");
    }
    let plan = planned(&row(1));
    // `tick`, the second flow: UDP port 20001.
    let options = options(&plan, "programs");
    let dir = options.run_dir.clone();
    let mut words = Words::at_start(move || {
        let script = "for i in 1 2 3 4 5; do echo hello > /dev/udp/display/20001; done";
        let command = ["bash".into(), "-c".into(), script.into()];
        exec(&dir, "sensor", &command).expect("the lab can be entered");
    });
    let outcome = up(&plan, &Scenario::plain(1_000 * MS, 7), &options, &mut words);
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("a_program_sends_and_is_heard", outcome) else { return };
    let document = outcome.document;
    let told = |text: &str| document.events.iter().any(|event| event.text == text);
    assert!(told("a program sends flow tick from now on"), "{:?}", document.events);
    assert!(told("programs of sensor sent 5 frames of tick, 0 refused"));
    assert!(told("programs of display were handed 5 frames"));
    assert_eq!(document.violations, []);
    // What it sent is judged beside what our end system sent before.
    let row = document.flows.iter().find(|row| row.flow == "tick").expect("a row");
    let own = document.releases.iter().filter(|it| it.flow == 1).count() as u64;
    assert_eq!((row.sent, row.received + row.undecided), (own + 5, own + 5), "{row:?}");
}

/// Sends what is refused, and asks why as soon as the last of it was.
struct Asking {
    dir: PathBuf,
    told: Option<Executed>,
}

impl Asking {
    fn run(&self, script: &str) -> Executed {
        let command = ["bash".into(), "-c".into(), script.into()];
        exec(&self.dir, "sensor", &command).expect("the lab can be entered")
    }
}

impl Ui for Asking {
    fn step(&mut self, text: &str) {
        if text.ends_with("traffic starts") {
            self.run("echo hello > /dev/udp/display/20000");
            self.run("head -c 200 /dev/zero > /dev/udp/display/20001");
            self.run("echo hello > /dev/udp/display/9");
        }
    }

    fn progress(&mut self, _rows: &[ProgressRow], _mode: &str, _elapsed: Span) {}

    fn event(&mut self, text: &str) {
        println!("  {text}");
        if text.contains(":9 is of no flow") {
            self.told = Some(self.run("exit 3"));
        }
    }
}

/// A message flow has a shim, a datagram can be too large, and a port can be of no flow: each is
/// said where the program was started, in the events of the run, and with its count at the end.
pub(crate) fn refused_frames_are_explained() {
    if !Command::new("bash").args(["-c", "true"]).status().is_ok_and(|s| s.success()) {
        return println!("SKIPPED refused_frames_are_explained: no bash here");
    }
    let plan = planned(&row(1));
    let options = options(&plan, "refused");
    let mut asking = Asking { dir: options.run_dir.clone(), told: None };
    let outcome = up(&plan, &Scenario::plain(2_000 * MS, 7), &options, &mut asking);
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("refused_frames_are_explained", outcome) else { return };
    let events = &outcome.document.events;
    let has = |words: &str| events.iter().any(|event| event.text.contains(words));
    let told = asking.told.expect("a frame of no flow is refused");
    assert_eq!(told.code, 3);
    for words in [
        "speed has messages of many frames, whose shim header",
        "200 B of payload, and the contract of tick has 100 B",
        "no flow of this host (its flows are speed (UDP to",
    ] {
        assert!(has(words), "{words}: {events:?}");
        assert!(told.refusals.iter().any(|line| line.contains(words)), "{:?}", told.refusals);
    }
    assert!(has("sent 0 frames of tick, 1 refused (1 larger than the contract)"), "{events:?}");
    assert!(has("programs of sensor had 1 other frames refused (1 in no flow)"), "{events:?}");
}

/// Datagrams that a program sends at once, more than the buffer before its host takes.
const FLOOD: u64 = 20_000;

/// Each is sent, refused, or found the buffer full, and is counted once.
pub(crate) fn every_datagram_of_a_flood_is_counted() {
    if !Command::new("bash").args(["-c", "true"]).status().is_ok_and(|s| s.success()) {
        return println!("SKIPPED every_datagram_of_a_flood_is_counted: no bash here");
    }
    let plan = planned(&row(1));
    let options = options(&plan, "flood");
    let dir = options.run_dir.clone();
    let mut words = Words::at_start(move || {
        let script = format!(
            "for ((i = 0; i < {FLOOD}; i++)); do echo hello; done > /dev/udp/display/20001"
        );
        let command = ["bash".into(), "-c".into(), script.into()];
        exec(&dir, "sensor", &command).expect("the lab can be entered");
    });
    let outcome = up(&plan, &Scenario::plain(2_000 * MS, 7), &options, &mut words);
    std::fs::remove_dir_all(&options.run_dir).expect("ours");
    let Some(outcome) = possible("every_datagram_of_a_flood_is_counted", outcome) else { return };
    let events = &outcome.document.events;
    // The number that stands before some words.
    let number = |words: &str| {
        let text = events.iter().find_map(|event| event.text.split_once(words)).map(|it| it.0);
        text.and_then(|it| it.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    let (sent, refused) = (number(" frames of tick,"), number(" refused ("));
    let overflowed = number(" frames that found the buffer before it full");
    assert!(sent > 10, "{events:?}");
    // The host itself says something on that interface, too.
    let counted = sent + refused + overflowed;
    assert!(counted.wrapping_sub(FLOOD) < 50, "{sent} + {refused} + {overflowed}: {events:?}");
}
