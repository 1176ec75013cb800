//! The mode change and return, every interleaving, on a line and a ring of three switches.

use crate::support;

use tenuto_model::Plan;
use tenuto_planner::{Options, plan};
use tenuto_world::clockwork;
use tenuto_world::explore::{Mutant, Outcome, Property, Settings, Trace, explore, replay};

/// Three switches, a host at each; `up` and `down` are watched at opposite ends, `video` has no
/// place above LO.
fn network(links: &str) -> String {
    format!(
        "
tenuto: 1
name: three
modes: [LO, MID, HI]
hosts: {{h1: {{}}, h2: {{}}, h3: {{}}}}
switches: {{sw1: {{profile: tenuto}}, sw2: {{profile: tenuto}}, sw3: {{profile: tenuto}}}}
defaults: {{link: {{rate: 100 Mbit/s, length: 2 m}}}}
links:
  - {{ends: [h1, sw1]}}
  - {{ends: [h2, sw2]}}
  - {{ends: [h3, sw3]}}
{links}
flows:
  up: {{source: h1, targets: [h3], level: HI, message: 1 kB, period: {{LO: 80 ms, MID: 40 ms, HI: 20 ms}}, deadline: 20 ms, priority: 0}}
  down: {{source: h3, targets: [h1], level: MID, message: 1 kB, period: {{LO: 80 ms, MID: 40 ms}}, deadline: 40 ms, priority: 1}}
  video: {{source: h1, targets: [h3], level: LO, message: 1 kB, period: 40 ms, deadline: 40 ms, priority: 2}}
tolerates: {{lost_signals: 1}}
"
    )
}

fn planned(links: &str) -> Plan {
    plan(&support::network(&network(links)), &Options::default())
}

fn line() -> Plan {
    planned("  - {ends: [sw1, sw2]}\n  - {ends: [sw2, sw3]}")
}

fn ring() -> Plan {
    planned("  - {ends: [sw1, sw2]}\n  - {ends: [sw2, sw3]}\n  - {ends: [sw3, sw1]}")
}

fn explored(plan: &Plan, settings: &Settings) -> Outcome<Trace> {
    let started = std::time::Instant::now();
    let outcome = explore(plan, settings).expect("the settings fit the plan");
    println!(
        "{} states, {} transitions, depth {}, exhaustive {}, {:.1?}",
        outcome.states,
        outcome.transitions,
        outcome.depth,
        outcome.is_exhaustive,
        started.elapsed()
    );
    if let Some(trace) = &outcome.counterexample {
        println!("{trace}");
    }
    outcome
}

fn holds(plan: &Plan, settings: &Settings) {
    let outcome = explored(plan, settings);
    assert!(outcome.is_exhaustive, "every state was visited");
    assert_eq!(outcome.counterexample, None);
}

fn up_once() -> Settings {
    Settings { excesses: vec![("up".into(), 1)], ..Settings::default() }
}

#[test]
fn one_raise_and_return_on_a_line() {
    holds(&line(), &up_once());
}

#[test]
fn one_raise_and_return_on_a_ring() {
    holds(&ring(), &up_once());
}

#[test]
fn out_of_mode_frames_are_never_committed_after_the_swap() {
    holds(&line(), &Settings { frames: vec![("video".into(), 2)], ..up_once() });
}

#[test]
fn one_lost_signal_of_two_copies_changes_nothing_on_a_line() {
    holds(&line(), &Settings { lost_signals: 1, signal_copies: 2, ..up_once() });
}

#[test]
fn concurrent_raises_on_a_line_end_in_one_epoch() {
    let excesses = vec![("up".into(), 1), ("down".into(), 1)];
    holds(&line(), &Settings { excesses, ..Settings::default() });
}

/// The mutant is caught, by the property it breaks; the trace replays to the same finding, and the
/// driver of virtual time, given the same order of events, comes to the same modes at every step.
fn caught(plan: &Plan, settings: &Settings, property: Property) -> Trace {
    let outcome = explored(plan, settings);
    let trace = outcome.counterexample.expect("the mutant is caught");
    assert_eq!(trace.property, property.name());
    let again = replay(plan, settings, &trace).expect("every step is possible again");
    assert_eq!(again.as_ref(), Some(&trace));
    let followed = clockwork::follow(plan, settings, &trace).expect("virtual time can follow");
    assert_eq!(followed, trace.steps, "the same modes after every step");
    trace
}

#[test]
fn a_switch_that_does_not_flood_on_is_caught() {
    let settings = Settings { mutant: Mutant::NoForwarding, ..up_once() };
    caught(&line(), &settings, Property::Agreement);
}

#[test]
fn a_single_copy_under_a_lost_signal_is_caught() {
    let lossy = Settings { lost_signals: 1, signal_copies: 2, ..up_once() };
    caught(&line(), &Settings { mutant: Mutant::SingleCopy, ..lossy }, Property::Agreement);
}

#[test]
fn resuming_at_the_commit_is_caught() {
    let settings = Settings { mutant: Mutant::ResumeAtCommit, ..up_once() };
    caught(&line(), &settings, Property::ResumeLast);
}

#[test]
fn a_commit_without_votes_is_caught() {
    let excesses = vec![("up".into(), 1), ("down".into(), 1)];
    let settings = Settings { excesses, mutant: Mutant::CommitWithoutVotes, ..Settings::default() };
    let outcome = explored(&line(), &settings);
    let trace = outcome.counterexample.expect("the mutant is caught");
    let followed = clockwork::follow(&line(), &settings, &trace).expect("virtual time can follow");
    assert_eq!(followed, trace.steps);
}

#[test]
fn a_vote_that_survives_a_violation_is_caught() {
    let excesses = vec![("up".into(), 1), ("down".into(), 1)];
    let settings =
        Settings { excesses, mutant: Mutant::VoteSurvivesViolation, ..Settings::default() };
    caught(&line(), &settings, Property::QuietBeforeResume);
}
