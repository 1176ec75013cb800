//! The verdict of a run: over all combinations of what is known, and from what nodes tell.

use crate::support;

use tenuto_model::{Event, EventAction, Expect, Plan, Scenario, Verdict};
use tenuto_planner::{Options, plan};
use tenuto_world::{
    Ending, Facts, Ledger, LedgerSettings, Observation, Played, RunDocument, VerdictReason,
    clockwork,
};

const START_NS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn facts(bits: u16) -> Facts {
    let has = |bit: u16| bits >> bit & 1 == 1;
    Facts {
        is_comparison: has(0),
        is_violated: has(1),
        is_broken: has(2),
        is_stopped: has(3),
        is_undecided: has(4),
        is_late: has(5),
        is_unobserved: has(6),
        is_modelled: has(7),
    }
}

/// All 256 combinations: the lowest bit that is set decides, as the order of the words says.
#[test]
fn the_first_word_that_a_fact_speaks_for_is_said() {
    for bits in 0..256_u16 {
        let first = usize::try_from(bits.trailing_zeros().min(8)).expect("eight facts");
        assert_eq!(facts(bits).verdict(), Verdict::ALL[first], "{bits:08b}");
    }
    assert_eq!(facts(0).verdict(), Verdict::Kept, "nothing else is kept");
    assert!((1..256).all(|bits| facts(bits).verdict() != Verdict::Kept));
}

/// Each word of a reason is one fact, and facts are nothing but reasons.
#[test]
fn facts_are_what_reasons_speak_for() {
    for bits in 0..256_u16 {
        let words = (0..8).filter(|bit| bits >> bit & 1 == 1).map(|bit| Verdict::ALL[bit]);
        let reasons: Vec<VerdictReason> = words
            .map(|verdict| VerdictReason {
                verdict,
                who: "sw1".into(),
                what: "did".into(),
                at_ns: None,
            })
            .collect();
        assert_eq!(Facts::of(&reasons), facts(bits));
    }
}

fn line() -> Plan {
    let plan = plan(&support::shipped("line.yaml"), &Options::default());
    assert!(plan.feasible);
    plan
}

/// A live run of a line: every flow sends once and is heard, then `tell` adds what else was seen.
fn judged(plan: &Plan, scenario: &Scenario, tell: impl Fn(&mut Ledger<'_>)) -> RunDocument {
    let played = Played::live(&plan.network, scenario);
    let settings =
        LedgerSettings { world: "live", ..LedgerSettings::simulated(1, START_NS, played) };
    let mut ledger = Ledger::new(plan, settings);
    ledger.set_up_complete(0);
    tell(&mut ledger);
    ledger.close(START_NS + scenario.duration_ns)
}

/// One message of every flow at every target, so long after its release.
fn heard(plan: &Plan, ledger: &mut Ledger<'_>, delay_ns: u64) {
    for (flow, it) in (0..).zip(&plan.network.flows) {
        let release_ns = START_NS + MS;
        ledger.observe(&Observation::Released { flow, message: 1, at_ns: release_ns, bytes: 0 });
        for target in &it.targets {
            let place = plan.network.hosts.iter().position(|host| host.name == target.host);
            let host = u16::try_from(place.expect("a host")).expect("few hosts");
            let at_ns = release_ns + delay_ns;
            ledger.observe(&Observation::Delivered { flow, message: 1, host, release_ns, at_ns });
        }
    }
}

fn scenario() -> Scenario {
    Scenario::plain(10_000 * MS, 1)
}

fn died(who: &str, tolerated: bool, at_ns: u64) -> Observation {
    Observation::Died { who: who.into(), what: "died".into(), at_ns, tolerated }
}

#[test]
fn a_run_of_which_everything_was_seen_is_kept() {
    let plan = line();
    let run = judged(&plan, &scenario(), |ledger| heard(&plan, ledger, 1));
    assert_eq!(run.verdict, Verdict::Kept, "{}", run.summary);
    assert_eq!((run.verdict_reasons.len(), run.not_played.len()), (0, 0));
    assert!(run.summary.starts_with("KEPT: "), "{}", run.summary);
}

#[test]
fn a_run_of_which_nothing_was_seen_is_not_kept() {
    let plan = line();
    let run = judged(&plan, &scenario(), |_| {});
    assert_eq!(run.verdict, Verdict::NothingObserved, "{}", run.summary);
    assert!(run.summary.starts_with("NOTHING OBSERVED: "), "{}", run.summary);
    assert_eq!(run.not_observed.len(), plan.flows.len(), "every row of the plan says so");
    // So short a run sends nothing for certain; nothing is still nothing.
    let short = judged(&plan, &Scenario::plain(1, 1), |_| {});
    assert_eq!(short.verdict, Verdict::NothingObserved);
}

#[test]
fn a_flow_that_nobody_heard_of_is_named() {
    let plan = plan(&support::shipped("vehicle.yaml"), &Options::default());
    let run = judged(&plan, &scenario(), |ledger| {
        let flow = &plan.network.flows[0];
        let host = plan.network.hosts.iter().position(|h| h.name == flow.targets[0].host);
        let host = u16::try_from(host.expect("a host")).expect("few");
        let (release_ns, at_ns) = (START_NS, START_NS + 1);
        ledger.observe(&Observation::Released { flow: 0, message: 1, at_ns: START_NS, bytes: 0 });
        ledger.observe(&Observation::Delivered { flow: 0, message: 1, host, release_ns, at_ns });
    });
    assert_eq!(run.verdict, Verdict::NothingObserved, "{}", run.summary);
    let named: Vec<&str> = run.verdict_reasons.iter().map(|it| it.who.as_str()).collect();
    let missing = &plan.network.flows[1];
    assert!(named.iter().any(|who| who.starts_with(&missing.name)), "{named:?}");
    assert!(!named.iter().any(|who| who.starts_with(&plan.network.flows[0].name)), "{named:?}");
}

#[test]
fn a_death_beyond_what_is_tolerated_breaks_a_run_that_lost_nothing() {
    let plan = line();
    let run = |tolerated: bool| {
        judged(&plan, &scenario(), |ledger| {
            heard(&plan, ledger, 1);
            ledger.observe(&died("s1", tolerated, START_NS + 500 * MS));
        })
    };
    assert_eq!(run(true).verdict, Verdict::Kept);
    let broken = run(false);
    assert_eq!(broken.verdict, Verdict::Broken);
    assert!(broken.summary.starts_with("BROKEN: s1 died at 0.500 s"), "{}", broken.summary);
    let [reason] = &broken.verdict_reasons[..] else { panic!("{:?}", broken.verdict_reasons) };
    assert_eq!((reason.who.as_str(), reason.what.as_str()), ("s1", "died"));
    assert_eq!(reason.at_ns, Some(500 * MS));
}

#[test]
fn what_was_lost_before_a_death_is_not_explained_by_it() {
    let plan = line();
    let run = |died_at_ns: u64| {
        judged(&plan, &scenario(), |ledger| {
            heard(&plan, ledger, 1);
            let at_ns = START_NS + 2_000 * MS;
            ledger.observe(&Observation::Released { flow: 0, message: 2, at_ns, bytes: 0 });
            ledger.observe(&died("sw1", false, START_NS + died_at_ns));
        })
    };
    assert_eq!(run(1_000 * MS).verdict, Verdict::Broken, "lost after the death");
    assert_eq!(run(1_000 * MS).violations.len(), 1, "and told all the same");
    let violated = run(9_000 * MS);
    assert_eq!(violated.verdict, Verdict::Violated, "{}", violated.summary);
    let words: Vec<Verdict> = violated.verdict_reasons.iter().map(|it| it.verdict).collect();
    assert_eq!(words, [Verdict::Violated, Verdict::Broken], "both are told");
}

#[test]
fn a_message_after_its_deadline_is_late_by_this_machine() {
    let plan = line();
    let row = &plan.flows[0];
    let allowance_ns = 60_000 * MS;
    let host_allowance_ns: std::collections::BTreeMap<_, _> = (0_u16..)
        .zip(&plan.network.flows)
        .flat_map(|(index, flow)| {
            plan.flows.iter().filter(|r| r.flow == flow.name).map(move |r| (index, r))
        })
        .map(|(index, r)| ((index, r.target.clone(), r.mode), allowance_ns))
        .collect();
    let longest = plan.flows.iter().map(|row| row.deadline_ns).max().expect("rows");
    let played = Played::live(&plan.network, &scenario());
    let settings = LedgerSettings {
        world: "live",
        host_allowance_ns,
        ..LedgerSettings::simulated(1, START_NS, played)
    };
    let mut ledger = Ledger::new(&plan, settings);
    ledger.set_up_complete(0);
    heard(&plan, &mut ledger, longest + 1);
    let run = ledger.close(START_NS + 10_000 * MS);
    assert_eq!(run.verdict, Verdict::Late, "{}", run.summary);
    assert!(run.summary.starts_with("LATE BY THIS MACHINE: "), "{}", run.summary);
    assert!(run.summary.contains(&format!("{} to {}", row.flow, row.target)), "{}", run.summary);
    assert_eq!(run.violations, []);
    assert!(run.flows.iter().all(|row| row.late == 1 && row.received == 1));
}

#[test]
fn a_stopped_run_says_so_and_what_it_did_not_play() {
    let plan = line();
    let mut scenario = scenario();
    scenario.expect.raises = Some(3);
    let flow = plan.network.flows[0].name.clone();
    let action = EventAction::StopFlow { flow };
    scenario.events = vec![Event { at_ns: 8_000 * MS, action, note: None }];
    let run = judged(&plan, &scenario, |ledger| {
        heard(&plan, ledger, 1);
        ledger.end_early(START_NS + 3_000 * MS, Ending::Stopped, None);
    });
    assert_eq!(run.verdict, Verdict::Stopped, "{}", run.summary);
    assert!(run.summary.contains("ended at 3.000 s of 10.000 s; 1 event not played"));
    assert_eq!(
        run.expect_not_judged.as_deref(),
        Some("the run was stopped at 3.000 s of 10.000 s")
    );
    assert_eq!(run.not_played.len(), 1);
    assert_eq!(run.violations, [], "what is expected may come later");
}

/// A second Ctrl-C, or a lab that is lost, leaves things untold: what is missing since is no loss.
#[test]
fn what_nobody_could_tell_is_no_violation() {
    let plan = line();
    let run = |told_until_ms: u64, ending: Ending| {
        judged(&plan, &scenario(), |ledger| {
            heard(&plan, ledger, 1);
            let at_ns = START_NS + 2_000 * MS;
            ledger.observe(&Observation::Released { flow: 0, message: 2, at_ns, bytes: 0 });
            let told_until_ns = Some(START_NS + told_until_ms * MS);
            ledger.end_early(START_NS + 4_000 * MS, ending, told_until_ns);
        })
    };
    assert_eq!(run(2_000, Ending::Stopped).verdict, Verdict::Stopped);
    assert_eq!(run(3_500, Ending::Stopped).verdict, Verdict::Violated, "its end would be known");
}

#[test]
fn a_cut_run_may_be_kept_and_says_what_was_cut() {
    let plan = line();
    let mut scenario = scenario();
    scenario.expect.raises = Some(3);
    let flow = plan.network.flows[0].name.clone();
    let action = EventAction::StopFlow { flow };
    scenario.events = vec![Event { at_ns: 8_000 * MS, action, note: None }];
    let cut = scenario.clone().played_for(5_000 * MS);
    let run = judged(&plan, &cut, |ledger| heard(&plan, ledger, 1));
    assert_eq!(run.verdict, Verdict::Kept, "{}", run.summary);
    assert!(run.summary.contains("1 event not played"), "{}", run.summary);
    assert!(run.summary.contains("what the scenario expects was not judged"), "{}", run.summary);
    assert_eq!((run.scenario_ns, run.not_played.len()), (10_000 * MS, 1));
    let whole = judged(&plan, &scenario, |ledger| heard(&plan, ledger, 1));
    assert_eq!(whole.verdict, Verdict::Violated, "nothing raised the mode");
    assert_eq!(whole.violations[0].to_string(), "0 raises were seen where the scenario expects 3");
}

#[test]
fn a_node_that_stood_still_leaves_the_run_undecided() {
    let plan = line();
    let run = |length_ns: u64| {
        judged(&plan, &scenario(), |ledger| {
            heard(&plan, ledger, 1);
            let from_ns = START_NS + 4_000 * MS;
            let node = plan.network.flows[0].source.clone();
            ledger.observe(&Observation::Stall { node, from_ns, length_ns });
        })
    };
    let bound = plan.flows.iter().filter_map(|row| row.delay_bound_ps).max().expect("bounds");
    assert_eq!(run(bound / 1_000).verdict, Verdict::Kept, "no longer than a message may take");
    let stood = run(bound / 1_000 + 2 * MS);
    assert_eq!(stood.verdict, Verdict::Undecided, "{}", stood.summary);
    assert!(stood.summary.contains("stood still for"), "{}", stood.summary);
}

#[test]
fn what_a_node_could_not_tell_leaves_the_run_undecided() {
    let plan = line();
    let run = |lost_ms: &[u64], from_ms: Option<u64>| {
        judged(&plan, &scenario(), |ledger| {
            heard(&plan, ledger, 1);
            for (message, at_ms) in (2..).zip(lost_ms) {
                let at_ns = START_NS + at_ms * MS;
                ledger.observe(&Observation::Released { flow: 0, message, at_ns, bytes: 0 });
            }
            let node = plan.network.flows[0].targets[0].host.clone();
            if let Some(from_ms) = from_ms {
                let from_ns = START_NS + from_ms * MS;
                ledger.observe(&Observation::Unseen { node, lines: 3, from_ns });
            }
        })
    };
    let all = run(&[], Some(2_000));
    assert_eq!(all.verdict, Verdict::Undecided, "{}", all.summary);
    assert!(all.summary.contains("could not tell 3"), "{}", all.summary);
    // A message that is missing since then may have arrived; one that was missing before did not.
    assert_eq!(run(&[3_000], None).verdict, Verdict::Violated);
    let missing = run(&[3_000], Some(2_000));
    assert_eq!(missing.verdict, Verdict::Undecided, "{}", missing.summary);
    assert_eq!(run(&[1_000], Some(2_000)).verdict, Verdict::Violated);
}

#[test]
fn a_program_whose_frames_were_all_refused_sent_nothing() {
    let plan = line();
    let source = plan.network.flows[0].source.clone();
    let mut scenario = scenario();
    scenario.programs.insert(source.clone(), "./sender".into());
    let run = |released: u64, refused: u64| {
        judged(&plan, &scenario, |ledger| {
            heard(&plan, ledger, 1);
            let (host, at_ns) = (source.clone(), START_NS);
            ledger.observe(&Observation::Program { host, released, refused, at_ns });
        })
    };
    assert_eq!(run(3, 2).verdict, Verdict::Kept);
    assert_eq!(run(0, 0).verdict, Verdict::Kept, "a program may only listen");
    let refused = run(0, 7);
    assert_eq!(refused.verdict, Verdict::NothingObserved, "{}", refused.summary);
    assert!(refused.summary.contains("had all 7 frames of its program refused"));
}

/// Nothing was promised: what is above a bound or missing is told, and violates nothing.
#[test]
fn a_refused_plan_is_compared_and_never_violated() {
    let mut plan = Plan { feasible: false, ..line() };
    let seen =
        |plan: &Plan, delay_ns: u64| judged(plan, &scenario(), |it| heard(plan, it, delay_ns));
    for delay_ns in [1, 9_000 * MS] {
        let run = seen(&plan, delay_ns);
        assert_eq!(run.verdict, Verdict::Comparison, "{}", run.summary);
        assert!(run.summary.starts_with("COMPARISON: the network is refused"), "{}", run.summary);
        let words = |word| run.verdict_reasons.iter().any(|it| it.verdict == word);
        assert!(!words(Verdict::Violated) && !words(Verdict::Late), "{:?}", run.verdict_reasons);
        assert!(run.violations.iter().all(|it| it.is_explained));
        assert_eq!(run.violations.is_empty(), delay_ns == 1);
    }
    let nobody = judged(&plan, &scenario(), |_| ());
    assert_eq!(nobody.verdict, Verdict::Comparison, "{}", nobody.summary);
    plan.flows.iter_mut().for_each(|row| row.delay_bound_ps = None);
    let run = seen(&plan, 1);
    assert_eq!(run.verdict, Verdict::Comparison);
    assert!(run.summary.contains(" 0 of "), "nothing is within no bound: {}", run.summary);
    assert!(run.summary.contains(" without a bound, 0 lost"), "{}", run.summary);
}

#[test]
fn a_plan_on_typical_times_is_at_best_modelled() {
    let plan = Plan { modelled: true, ..line() };
    let run = judged(&plan, &scenario(), |ledger| heard(&plan, ledger, 1));
    assert_eq!(run.verdict, Verdict::Modelled, "{}", run.summary);
    assert!(run.summary.starts_with("MODELLED: "), "{}", run.summary);
    // A bound of a model that is exceeded is exceeded.
    let late = judged(&plan, &scenario(), |ledger| heard(&plan, ledger, 9_000 * MS));
    assert_eq!(late.verdict, Verdict::Violated);
}

#[test]
fn rows_of_who_sends_too_much_are_marked() {
    let plan = plan(&support::shipped("vehicle.yaml"), &Options::default());
    let flow = plan.network.flows[0].name.clone();
    let mut scenario = Scenario::plain(2_000 * MS, 1);
    let action = EventAction::Oversend { flow: flow.clone(), percent: 300 };
    scenario.events = vec![Event { at_ns: 500 * MS, action, note: None }];
    let run = clockwork::run(&plan, &scenario).expect("a run");
    let source = &plan.network.flows[0].source;
    for row in &run.flows {
        let of = plan.network.flow(&row.flow).expect("a flow");
        assert_eq!(row.is_misbehaving, of.source == *source, "{}", row.flow);
    }
    assert!(run.flows.iter().any(|row| row.is_misbehaving));
}

/// A simulated switch that a scenario kills: its loss is not tolerated, so the run is broken, and
/// what a dead node was to do is told as not done.
#[test]
fn a_scenario_that_kills_a_switch_breaks_its_run() {
    let plan = line();
    let mut scenario = Scenario::plain(2_000 * MS, 1);
    let node = plan.network.switches[0].name.clone();
    let event = |at_ms: u64, action| Event { at_ns: at_ms * MS, action, note: None };
    scenario.events = vec![
        event(500, EventAction::KillNode { node: node.clone() }),
        event(900, EventAction::StopNode { node: node.clone() }),
    ];
    let run = clockwork::run(&plan, &scenario).expect("a run");
    assert_eq!(run.verdict, Verdict::Broken, "{}", run.summary);
    assert!(run.flows.iter().any(|row| row.lost > 0), "it carried everything");
    let [event] = &run.not_played[..] else { panic!("{:?}", run.not_played) };
    assert!(event.text.ends_with(&format!("{node} is gone")), "{}", event.text);
}

/// The vehicle, over whose trunk between sw2 and sw3 every flow goes.
fn cut_vehicle(events: impl IntoIterator<Item = (u64, EventAction)>) -> RunDocument {
    let plan = plan(&support::shipped("vehicle.yaml"), &Options::default());
    let mut scenario = Scenario::plain(2_000 * MS, 1);
    let event = |(at_ms, action)| Event { at_ns: at_ms * MS, action, note: None };
    scenario.events = events.into_iter().map(event).collect();
    clockwork::run(&plan, &scenario).expect("a run")
}

/// Nothing is promised without a link, so what is lost since it is cut violates nothing.
#[test]
fn a_link_that_is_cut_breaks_its_run() {
    let ends = ["sw2".to_owned(), "sw3".to_owned()];
    let run = cut_vehicle([(1_000, EventAction::CutLink { ends })]);
    assert!(run.flows.iter().any(|row| row.lost > 0), "it carried everything");
    assert_eq!(run.verdict, Verdict::Broken, "{}", run.summary);
    assert!(run.summary.contains("link sw2 - sw3"), "{}", run.summary);
}

/// The vehicle tolerates one lost signal.
#[test]
fn more_lost_signals_than_are_tolerated_break_their_run() {
    let lose = |frames| {
        let (from, to) = ("sw1".to_owned(), "sw2".to_owned());
        cut_vehicle([
            (0, EventAction::LoseSignals { from, to, frames }),
            (500, EventAction::Behave { flow: "CAM".into(), mode: 1 }),
        ])
    };
    assert_eq!(lose(1).verdict, Verdict::Kept, "{}", lose(1).summary);
    assert_eq!(lose(2).verdict, Verdict::Broken, "{}", lose(2).summary);
}

/// Over all links together, and change by change: what was lost where no mode changed was never sent.
#[test]
fn lost_signals_are_counted_per_mode_change() {
    let lose = |at_ms: u64, from: &str, to: &str| {
        (at_ms, EventAction::LoseSignals { from: from.into(), to: to.into(), frames: 1 })
    };
    let raise = |at_ms: u64| (at_ms, EventAction::Behave { flow: "CAM".into(), mode: 1 });
    let (here, there) = (lose(0, "sw1", "sw2"), lose(0, "sw2", "sw3"));
    let one_by_one = cut_vehicle([here.clone(), lose(1, "sw1", "sw2"), raise(500)]);
    assert_eq!(one_by_one.verdict, Verdict::Broken, "{}", one_by_one.summary);
    let on_two_links = cut_vehicle([here.clone(), there.clone(), raise(500)]);
    assert_eq!(on_two_links.verdict, Verdict::Broken, "{}", on_two_links.summary);
    let without_a_change = cut_vehicle([here, there]);
    assert_eq!(without_a_change.verdict, Verdict::Kept, "{}", without_a_change.summary);
}

/// Redundant networks change their modes apart: one signal lost in each is one per change.
#[test]
fn lost_signals_are_counted_per_redundant_network() {
    let network = support::network(
        "tenuto: 1
name: twice
modes: [LO, HI]
networks: [A, B]
hosts: [h, g]
defaults: {link: {rate: 100 Mbit/s}, switch: {profile: tenuto}}
switches: {a1: {network: A}, a2: {network: A}, b1: {network: B}, b2: {network: B}}
controllers: {c1: {manages: all, channel: out-of-band, when_lost: secure}}
links:
  - {ends: [a1, a2]}
  - {ends: [b1, b2]}
  - {ends: [h, a1]}
  - {ends: [h, b1]}
  - {ends: [g, a2]}
  - {ends: [g, b2]}
flows:
  f: {source: h, targets: [g], copies: [A, B], skew_max: 50 ms, level: HI, message: 100 B, period: {LO: 100 ms, HI: 50 ms}}
tolerates: {lost_signals: 1}
",
    );
    // Networks that change their modes apart are refused; the ledger counts their signals all the same.
    let plan = Plan { feasible: true, ..support::certified(&network) };
    let run = |ends: &[(&str, &str)]| {
        let lose = |&(from, to): &(&str, &str)| {
            (0, EventAction::LoseSignals { from: from.into(), to: to.into(), frames: 1 })
        };
        let raise = (500, EventAction::Behave { flow: "f".into(), mode: 1 });
        let mut scenario = Scenario::plain(2_000 * MS, 1);
        let event = |(at_ms, action)| Event { at_ns: at_ms * MS, action, note: None };
        scenario.events = ends.iter().map(lose).chain([raise]).map(event).collect();
        clockwork::run(&plan, &scenario).expect("a run")
    };
    let in_each = run(&[("a1", "a2"), ("b1", "b2")]);
    assert_eq!(in_each.mode_changes.iter().filter(|it| it.to == "HI").count(), 2, "both raise");
    assert_eq!(in_each.verdict, Verdict::Kept, "{}", in_each.summary);
    let in_one = run(&[("a1", "a2"), ("a2", "a1")]);
    assert_eq!(in_one.verdict, Verdict::Broken, "{}", in_one.summary);
}

/// What was cut for a moment explains what was under way then, and nothing long after.
#[test]
fn a_link_that_is_healed_explains_no_more() {
    let plan = plan(&support::shipped("vehicle.yaml"), &Options::default());
    let run = |heal_ms: u64, raise_ms: u64| {
        let event = |at_ms: u64, action| Event { at_ns: at_ms * MS, action, note: None };
        let ends = ["d2".to_owned(), "sw2".to_owned()];
        let back = [ends[1].clone(), ends[0].clone()];
        let mut scenario = Scenario::plain(4_000 * MS, 1);
        scenario.expect = Expect { raises: Some(0), returns: None };
        scenario.events = vec![
            event(100, EventAction::CutLink { ends }),
            event(heal_ms, EventAction::HealLink { ends: back }),
            event(raise_ms, EventAction::Behave { flow: "CAM".into(), mode: 1 }),
        ];
        clockwork::run(&plan, &scenario).expect("a run")
    };
    let later = run(101, 2_000);
    assert_eq!(later.verdict, Verdict::Violated, "{}", later.summary);
    assert!(later.violations.iter().all(|it| it.is_explained == (it.kind != "expectation")));
    // A change of modes while it is cut may leave switches apart for good.
    let meanwhile = run(2_500, 2_000);
    assert_eq!(meanwhile.verdict, Verdict::Broken, "{}", meanwhile.summary);
    assert!(meanwhile.violations.iter().all(|it| it.is_explained), "{}", meanwhile.summary);
}

/// The vehicle tolerates one babbling host.
#[test]
fn more_babbling_hosts_than_are_tolerated_break_their_run() {
    let babble = |host: &str| {
        let (host, flows, frame_bytes) = (host.to_owned(), Vec::new(), 64);
        let action = EventAction::Babble { host, flows, frame_bytes, rate_bps: None, for_ns: None };
        (500, action)
    };
    let one = cut_vehicle([babble("s1")]);
    assert_eq!(one.verdict, Verdict::Kept, "{}", one.summary);
    let two = cut_vehicle([babble("s1"), babble("s2")]);
    assert_eq!(two.verdict, Verdict::Broken, "{}", two.summary);
    assert!(two.summary.contains("s2 sends more than is tolerated"), "{}", two.summary);
}

/// A switch that starts afresh while no controller runs holds no tables: its network does not stand.
#[test]
fn a_switch_without_tables_is_no_redundant_way() {
    let plan = plan(&support::shipped("avionics-live.yaml"), &Options::default());
    let event = |at_ms: u64, action| Event { at_ns: at_ms * MS, action, note: None };
    let kill = |node: &str| EventAction::KillNode { node: node.into() };
    let mut scenario = Scenario::plain(1_500 * MS, 1);
    scenario.events = vec![
        event(200, kill("c1")),
        event(300, kill("a1")),
        event(301, EventAction::StartNode { node: "a1".into() }),
        event(800, kill("b1")),
    ];
    let run = clockwork::run(&plan, &scenario).expect("a run");
    assert_eq!(run.verdict, Verdict::Broken, "{}", run.summary);
    assert!(run.summary.contains("b1 is gone"), "{}", run.summary);
}

#[test]
fn what_runs_is_not_started_again() {
    let run = cut_vehicle([(1_000, EventAction::StartNode { node: "sw3".into() })]);
    assert_eq!(run.verdict, Verdict::Kept, "{}", run.summary);
    let [event] = &run.not_played[..] else { panic!("{:?}", run.not_played) };
    assert!(event.text.ends_with("sw3 runs already"), "{}", event.text);
}
