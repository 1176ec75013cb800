//! The mode change and return, every interleaving, on a line and a ring of three switches.

use crate::support;

use tenuto_model::Plan;
use tenuto_planner::{Options, plan};
use tenuto_world::clockwork;
use tenuto_world::explore::{Action, Mutant, Outcome, Property, Settings, Trace, explore, replay};

/// So many switches, a host at each; `up` and `low` are watched at the first, `over` and
/// `down` at the last; `video` has no place above LO.
fn network(switches: usize, links: &[(usize, usize)]) -> String {
    let each =
        |one: &dyn Fn(usize) -> String| (1..=switches).map(one).collect::<Vec<_>>().join(", ");
    let hosts = each(&|n| format!("h{n}: {{}}"));
    let nodes = each(&|n| format!("sw{n}: {{profile: tenuto}}"));
    let edges: String = (1..=switches).map(|n| format!("  - {{ends: [h{n}, sw{n}]}}\n")).collect();
    let trunks: String =
        links.iter().map(|(a, b)| format!("  - {{ends: [sw{a}, sw{b}]}}\n")).collect();
    format!(
        "
tenuto: 1
name: explored
modes: [LO, MID, HI]
hosts: {{{hosts}}}
switches: {{{nodes}}}
defaults: {{link: {{rate: 100 Mbit/s, length: 2 m}}}}
links:
{edges}{trunks}
flows:
  up: {{source: h1, targets: [h{switches}], level: HI, message: 1 kB, period: {{LO: 80 ms, MID: 40 ms, HI: 20 ms}}, deadline: 20 ms, priority: 0}}
  down: {{source: h{switches}, targets: [h1], level: MID, message: 1 kB, period: {{LO: 80 ms, MID: 40 ms}}, deadline: 40 ms, priority: 1}}
  over: {{source: h{switches}, targets: [h1], level: HI, message: 1 kB, period: {{LO: 80 ms, MID: 40 ms, HI: 20 ms}}, deadline: 20 ms, priority: 0}}
  low: {{source: h1, targets: [h{switches}], level: MID, message: 1 kB, period: {{LO: 80 ms, MID: 40 ms}}, deadline: 40 ms, priority: 1}}
  video: {{source: h1, targets: [h{switches}], level: LO, message: 1 kB, period: 40 ms, deadline: 40 ms, priority: 2}}
tolerates: {{lost_signals: 1}}
"
    )
}

fn planned(switches: usize, links: &[(usize, usize)]) -> Plan {
    plan(&support::network(&network(switches, links)), &Options::default())
}

/// The least in which two can be in different modes.
fn pair() -> Plan {
    planned(2, &[(1, 2)])
}

fn line() -> Plan {
    planned(3, &[(1, 2), (2, 3)])
}

fn ring() -> Plan {
    planned(3, &[(1, 2), (2, 3), (3, 1)])
}

/// Its hub leads returns.
fn star() -> Plan {
    planned(4, &[(1, 2), (1, 3), (1, 4)])
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
        println!("{}: {}", trace.property, trace.finding);
        for step in trace.steps.iter().filter(|step| !matches!(step.action, Action::Tick)) {
            println!("{} {}: {}", step.tick, step.action, step.modes.join(", "));
        }
    }
    outcome
}

fn holds(plan: &Plan, settings: &Settings) {
    let outcome = explored(plan, settings);
    assert!(outcome.is_exhaustive, "every state was visited");
    assert!(outcome.counterexample.is_none(), "nothing is violated");
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
fn switches_agree_again_after_two_lost_copies_on_a_line() {
    holds(&line(), &Settings { lost_signals: 2, ..up_once() });
}

#[test]
fn two_switches_agree_again_after_a_lost_signal_and_a_crash() {
    holds(&pair(), &Settings { lost_signals: 1, crashes: 1, ..up_once() });
}

#[test]
fn switches_agree_again_after_a_lost_signal_on_a_ring_and_a_star() {
    holds(&ring(), &Settings { lost_signals: 1, ..up_once() });
    holds(&star(), &Settings { lost_signals: 1, ..up_once() });
}

#[test]
fn two_raises_and_a_lost_signal_of_two_switches() {
    let excesses = vec![("up".into(), 1), ("down".into(), 1)];
    holds(&pair(), &Settings { excesses, lost_signals: 1, ..Settings::default() });
}

#[test]
fn switches_agree_again_after_a_crash_on_a_line() {
    holds(&line(), &Settings { crashes: 1, ..up_once() });
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

/// What goes beyond the tolerated must heal: each broken variant is caught, by somebody's faults.
#[test]
fn broken_ways_to_agree_are_caught() {
    let of = |flows: &[&str]| flows.iter().map(|&flow| (flow.to_owned(), 1)).collect::<Vec<_>>();
    // The leader sits at `up`: a raise of `down` that it misses is not mended by its proposals.
    let lossy = |flow, lost_signals, crashes| Settings {
        excesses: of(&[flow]),
        lost_signals,
        crashes,
        ..Settings::default()
    };
    let both = |quiet_ticks| Settings {
        excesses: of(&["up", "down"]),
        quiet_ticks,
        ..Settings::default()
    };
    // The leader raises to the lower of two levels, with the greater epoch.
    let three = Settings { excesses: of(&["down", "over", "low"]), ..Settings::default() };
    let cases = [
        (Mutant::RepeatsNever, pair(), lossy("down", 1, 0), Property::Heals),
        (Mutant::RepeatsOnce, pair(), lossy("down", 2, 0), Property::Heals),
        (Mutant::IgnoresState, pair(), lossy("down", 1, 0), Property::Heals),
        (Mutant::ReportsNothing, pair(), lossy("up", 0, 1), Property::Heals),
        (Mutant::AsksOnce, pair(), lossy("up", 1, 1), Property::Heals),
        (Mutant::MemberWaits, pair(), lossy("up", 0, 1), Property::Heals),
        (Mutant::LeaderWaits, pair(), lossy("up", 0, 1), Property::Heals),
        (Mutant::FirstConfirmation, line(), lossy("up", 0, 0), Property::ResumeLast),
        (Mutant::VotesUnquiet, line(), both(20), Property::QuietBeforeResume),
        (Mutant::AnswersCommitted, line(), lossy("up", 0, 1), Property::ResumeLast),
        (Mutant::RaiseLowers, pair(), three, Property::QuietBeforeResume),
        (Mutant::LevelIgnored, line(), both(8), Property::Agreement),
    ];
    for (mutant, plan, settings, property) in cases {
        println!("{mutant:?}");
        caught(&plan, &Settings { mutant, ..settings }, property);
    }
}
