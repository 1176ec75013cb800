//! Programs of a user's own, in the nodes of a lab.

use crate::networks::{Words, options, planned, possible, row};
use std::process::Command;
use tenuto_model::Scenario;
use tenuto_runtime::{exec, up};

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
}
