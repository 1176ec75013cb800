//! Every phase against every signal, and random sequences against what must always hold.

use super::*;
use proptest::prelude::*;

const QUIET: Span = Span::from_ms(50);
const RETRY: Span = Span::from_ms(10);
const GENERATION: u64 = 3;

fn config(levels: u8) -> ModeConfig {
    let (quiet, retry) = (QUIET, RETRY);
    ModeConfig {
        generation: GENERATION,
        levels,
        quiet,
        retry,
        copies: 1,
        members: [1, 2, 3].into(),
    }
}

fn ms(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

fn from(origin: u64, kind: SignalKind, epoch: u64, level: u8, nonce: u64) -> SignalRepr {
    let (from_level, hops, sequence) = (1, 0, 0);
    SignalRepr {
        kind,
        level,
        from_level,
        hops,
        generation: GENERATION,
        epoch,
        origin,
        nonce,
        sequence,
    }
}

/// Agent `me` of two levels in the named phase at 1 s: epoch 5 in steady state at level 1, the
/// return proposed as epoch 6.
fn in_phase(me: u64, phase: &str) -> ModeAgent {
    let mut agent = ModeAgent::new(me, config(2), [3].into(), 99, Instant::ZERO);
    let mut actions = Vec::new();
    if phase == "joining" {
        agent.fire(ms(1_000), &mut actions);
        return agent;
    }
    agent.activate(Instant::ZERO, 5, 1, &mut actions);
    if phase == "steady" {
        return agent;
    }
    if me == 1 {
        agent.fire(ms(1_000), &mut actions);
        if phase == "committed" {
            for origin in [2, 3] {
                let vote = from(origin, SignalKind::Vote, 6, 0, 1);
                agent.receive(ms(1_000), 3, &vote, &mut actions);
            }
        }
    } else {
        let propose = from(1, SignalKind::Propose, 6, 0, 1);
        agent.receive(ms(1_000), 3, &propose, &mut actions);
        if phase == "committed" {
            let commit = from(1, SignalKind::Commit, 6, 0, 2);
            agent.receive(ms(1_000), 3, &commit, &mut actions);
        }
    }
    agent
}

fn name(agent: &ModeAgent) -> &'static str {
    match agent.phase {
        Phase::Joining { .. } => "joining",
        Phase::Steady => "steady",
        Phase::Proposed { .. } => "proposed",
        Phase::Voted { .. } => "voted",
        Phase::Committed { .. } => "committed",
    }
}

/// Phase, (epoch, level, admitted) afterwards, and what was sent.
fn after(mut agent: ModeAgent, signal: &SignalRepr) -> String {
    let mut actions = Vec::new();
    agent.receive(ms(1_001), 3, signal, &mut actions);
    shown(&agent, &actions)
}

fn shown(agent: &ModeAgent, actions: &[ModeAction]) -> String {
    let one = |action: &ModeAction| match action {
        ModeAction::Flood(s) if s.hops > 0 => "relay".into(),
        ModeAction::Flood(s) => format!("{} {}/{}", s.kind, s.epoch, s.level),
        ModeAction::Reply(port, s) => format!("{} {}/{} at {port}", s.kind, s.epoch, s.level),
        ModeAction::Swap { level, admitted } => format!("swap {level} {admitted}"),
    };
    let actions: Vec<String> = actions.iter().map(one).collect();
    let (epoch, level, admitted) = (agent.epoch, agent.level, agent.admitted);
    format!("{} {epoch}/{level}/{admitted}: {}", name(agent), actions.join(", "))
}

#[test]
fn every_phase_against_every_signal() {
    use SignalKind as K;
    // Kind, epoch, level, origin of the signal; "=" is: nothing happens, "relay" that only.
    let signals = [
        (K::Raise, 7, 1, 2),
        (K::Raise, 6, 1, 2),
        (K::Raise, 5, 1, 2),
        (K::Propose, 8, 0, 1),
        (K::Propose, 6, 0, 1),
        (K::Vote, 6, 0, 3),
        (K::Commit, 6, 0, 1),
        (K::Commit, 7, 0, 1),
        (K::Confirm, 6, 0, 3),
        (K::Resume, 6, 0, 1),
        (K::Challenge, 0, 1, 3),
        (K::Answer, 9, 0, 3),
        (K::State, 7, 1, 2),
        (K::State, 5, 1, 2),
        (K::State, 4, 1, 2),
        (K::Known, 7, 1, 2),
        (K::Known, 5, 1, 2),
    ];
    let raised = |epoch: u64| format!("steady {epoch}/1/1: swap 1 1, relay, known {epoch}/1 at 3");
    let adopted = |epoch: u64| format!("steady {epoch}/1/1: swap 1 1, relay");
    for (me, phase) in [
        (2, "joining"),
        (2, "steady"),
        (2, "voted"),
        (2, "committed"),
        (1, "steady"),
        (1, "proposed"),
        (1, "committed"),
    ] {
        let agent = in_phase(me, phase);
        assert_eq!(name(&agent), phase);
        let same = shown(&agent, &[]);
        for (kind, epoch, level, origin) in signals {
            let origin = if origin == me { 3 } else { origin };
            let found = after(agent.clone(), &from(origin, kind, epoch, level, 9));
            let relay = format!("{same}relay");
            let expected = match (me, phase, kind, epoch) {
                (_, "joining", K::Raise, _) => format!("joining {epoch}/1/1: swap 1 1, relay"),
                // The nonce is wrong; everything else waits until it has joined.
                (_, "joining", ..) => same.clone(),
                (_, _, K::Raise, 7) => raised(7),
                (_, "committed", K::Raise, 6) => raised(6),
                (_, "steady" | "proposed" | "voted", K::Raise, 6) => raised(6),
                (_, "committed", K::Raise | K::State | K::Known, ..=6) => same.clone(),
                (_, _, K::State, 7) => raised(7),
                (_, _, K::Known, 7) => adopted(7),
                (_, _, K::Known, _) => same.clone(),
                (_, _, K::Raise | K::State, _) => format!("{same}known 5/1 at 3"),
                // Nobody was asked, but it is a neighbour's mode: higher than ours, at a lower level.
                (_, _, K::Answer, _) => "steady 9/1/1: swap 1 1, raise 9/1, known 9/1 at 3".into(),
                // A proposal and a vote change nothing in force: they may be answered.
                (_, "steady" | "proposed" | "voted", K::Challenge, _) => {
                    format!("{same}answer 5/1 at 3")
                }
                (_, _, K::Challenge, _) => same.clone(),
                (2, "steady", K::Propose, _) => format!("voted 5/1/1: relay, vote {epoch}/0"),
                (2, "voted", K::Propose, 8) => "voted 5/1/1: relay, vote 8/0".into(),
                (2, "voted", K::Commit, 6) => {
                    "committed 6/0/1: relay, swap 0 1, confirm 6/0".into()
                }
                (2, "committed", K::Commit, 6) => "committed 6/0/1: relay, confirm 6/0".into(),
                (2, "committed", K::Resume, _) => "steady 6/0/0: relay, swap 0 0".into(),
                // Only the leader itself may.
                (1, _, K::Propose | K::Commit | K::Resume, _) => same.clone(),
                _ => relay,
            };
            assert_eq!(found, expected, "member {me}, {phase}, {kind} {epoch}/{level}");
        }
    }
}

#[test]
fn the_leader_commits_with_all_votes_and_resumes_with_all_confirmations() {
    use SignalKind as K;
    let mut agent = in_phase(1, "proposed");
    let mut step = |signal: SignalRepr| {
        let mut actions = Vec::new();
        agent.receive(ms(1_001), 3, &signal, &mut actions);
        shown(&agent, &actions)
    };
    assert_eq!(step(from(2, K::Vote, 6, 0, 1)), "proposed 5/1/1: relay");
    assert_eq!(step(from(2, K::Vote, 6, 0, 2)), "proposed 5/1/1: relay", "the same once more");
    assert_eq!(step(from(9, K::Vote, 6, 0, 2)), "proposed 5/1/1: ", "no member");
    assert_eq!(step(from(3, K::Vote, 5, 0, 2)), "proposed 5/1/1: relay", "for something else");
    let committed = "committed 6/0/1: relay, swap 0 1, commit 6/0";
    assert_eq!(step(from(3, K::Vote, 6, 0, 3)), committed);
    assert_eq!(step(from(2, K::Confirm, 6, 0, 4)), "committed 6/0/1: relay");
    let resumed = "steady 6/0/0: relay, swap 0 0, resume 6/0";
    assert_eq!(step(from(3, K::Confirm, 6, 0, 4)), resumed);
    assert_eq!(step(from(3, K::Confirm, 6, 0, 5)), "steady 6/0/0: relay, resume 6/0", "repeated");
}

#[test]
fn a_violation_overtakes_whatever_return_is_under_way() {
    for (me, phase, epoch) in
        [(1, "proposed", 7), (1, "committed", 7), (2, "voted", 7), (2, "committed", 7)]
    {
        let mut agent = in_phase(me, phase);
        let mut actions = Vec::new();
        agent.excess(ms(1_001), 1, &mut actions);
        let expected = format!("steady {epoch}/1/1: swap 1 1, raise {epoch}/1");
        assert_eq!(shown(&agent, &actions), expected, "{me} {phase}");
    }
    let mut agent = in_phase(2, "steady");
    let mut actions = Vec::new();
    agent.excess(ms(1_001), 1, &mut actions);
    assert_eq!(shown(&agent, &actions), "steady 5/1/1: ", "it is there already");
}

#[test]
fn a_leader_without_confirmations_goes_back_up() {
    let mut agent = in_phase(1, "committed");
    let mut actions = Vec::new();
    let mut now = ms(1_000);
    for _ in 0..TRIES_MAX {
        now += RETRY;
        agent.fire(now, &mut actions);
        assert_eq!(name(&agent), "committed");
    }
    actions.clear();
    agent.fire(now + RETRY, &mut actions);
    assert_eq!(shown(&agent, &actions), "steady 7/1/1: swap 1 1, raise 7/1");
}

/// Three levels, committed to 0 while edges still admit 2.
fn committed_from_two() -> ModeAgent {
    let mut agent = ModeAgent::new(2, config(3), [3].into(), 99, Instant::ZERO);
    let mut actions = Vec::new();
    agent.activate(Instant::ZERO, 5, 2, &mut actions);
    for (kind, nonce) in [(SignalKind::Propose, 1), (SignalKind::Commit, 2)] {
        agent.receive(ms(1_000), 3, &from(1, kind, 6, 0, nonce), &mut actions);
    }
    assert_eq!((agent.level, agent.admitted), (0, 2));
    agent
}

#[test]
fn a_raise_during_a_return_lets_nobody_in() {
    let mut actions = Vec::new();
    let mut agent = committed_from_two();
    agent.excess(ms(1_001), 1, &mut actions);
    assert_eq!(shown(&agent, &actions), "steady 7/2/2: swap 2 2, raise 7/2");
    let raised = after(committed_from_two(), &from(3, SignalKind::Raise, 7, 1, 0));
    assert_eq!(raised, "steady 7/2/2: swap 2 2, raise 7/2, known 7/2 at 3");
}

#[test]
fn what_a_joining_switch_has_answered_binds_it() {
    let joining = || {
        let mut agent = ModeAgent::new(2, config(3), [3].into(), 99, Instant::ZERO);
        let mut actions = Vec::new();
        agent.fire(ms(1), &mut actions);
        agent.receive(ms(2), 3, &from(3, SignalKind::Raise, 6, 1, 0), &mut actions);
        assert_eq!((agent.epoch, agent.level, agent.has_joined()), (6, 2, false));
        agent
    };
    let Phase::Joining { nonce, .. } = joining().phase else { panic!("it waits") };
    let answer = |epoch, level| after(joining(), &from(3, SignalKind::Answer, epoch, level, nonce));
    assert_eq!(answer(5, 0), "joining 6/2/2: ");
    assert_eq!(answer(6, 1), "joining 6/2/2: ", "it has raised everybody to 2");
    assert_eq!(answer(6, 2), "steady 6/2/2: swap 2 2, state 6/2 at 3");
    assert_eq!(answer(7, 0), "steady 7/0/0: swap 0 0, state 7/0 at 3");
    for (epoch, level, joined) in [(5, 0, false), (6, 1, false), (6, 2, true), (7, 0, true)] {
        let mut agent = joining();
        agent.activate(ms(3), epoch, level, &mut Vec::new());
        assert_eq!(agent.has_joined(), joined, "activation {epoch}/{level}");
    }
}

#[derive(Clone, Debug)]
enum Input {
    Signal(SignalRepr),
    Excess(u8),
    Fire,
    Activate(u64, u8),
    Wait(u64),
}

fn input() -> impl Strategy<Value = Input> {
    let signal = (1u64..5, prop::sample::select(&SignalKind::ALL[..]), 0u64..12, 0u8..4, 0u64..6)
        .prop_map(|(origin, kind, epoch, level, nonce)| {
            Input::Signal(from(origin, kind, epoch, level, nonce))
        });
    prop_oneof![
        8 => signal,
        2 => (0u8..4).prop_map(Input::Excess),
        3 => Just(Input::Fire),
        1 => (0u64..12, 0u8..4).prop_map(|(epoch, level)| Input::Activate(epoch, level)),
        3 => (0u64..80).prop_map(Input::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn what_must_always_hold(me in 1u64..4, inputs in prop::collection::vec(input(), 0..60)) {
        let mut agent = ModeAgent::new(me, config(3), [3].into(), 99, Instant::ZERO);
        let mut now = ms(1);
        let mut votes = std::collections::BTreeSet::new();
        let mut confirms = std::collections::BTreeSet::new();
        for input in inputs {
            let before = agent.clone();
            let mut actions = Vec::new();
            match &input {
                Input::Signal(signal) => {
                    match signal.kind {
                        SignalKind::Vote => drop(votes.insert((signal.epoch, signal.origin))),
                        SignalKind::Confirm => drop(confirms.insert((signal.epoch, signal.origin))),
                        _ => {}
                    }
                    agent.receive(now, 3, signal, &mut actions);
                }
                Input::Excess(wanted) => agent.excess(now, *wanted, &mut actions),
                Input::Fire if agent.deadline().is_some_and(|at| at <= now) => {
                    agent.fire(now, &mut actions);
                }
                Input::Activate(epoch, level) => agent.activate(now, *epoch, *level, &mut actions),
                Input::Fire => {}
                Input::Wait(ms) => now += Span::from_ms(*ms),
            }
            prop_assert!(agent.epoch >= before.epoch && agent.epoch_seen >= before.epoch_seen);
            prop_assert!(agent.level < 3 && agent.level <= agent.admitted);
            prop_assert!(agent.relayed.len() <= 3 * SignalKind::ALL.len());
            // The world is told of every change, and of nothing else.
            let swap = actions.iter().rev().find_map(|action| match action {
                ModeAction::Swap { level, admitted } => Some((*level, *admitted)),
                _ => None,
            });
            let mode = (agent.level, agent.admitted);
            let old = (before.level, before.admitted);
            prop_assert_eq!(swap.unwrap_or(old), mode);
            let told_by_controller = matches!(input, Input::Activate(..));
            // An answer to nobody's question is a neighbour's report: it lowers nothing.
            let answered = !before.has_joined()
                && matches!(&input, Input::Signal(s) if s.kind == SignalKind::Answer);
            if let Phase::Joining { nonce, .. } = before.phase
                && answered
                && agent.has_joined()
            {
                prop_assert!(matches!(&input, Input::Signal(s) if s.nonce == nonce));
            }
            if told_by_controller || answered {
                continue;
            }
            // The leader, in a higher mode, proposes the way back from it: we missed the raise.
            let missed = matches!(&input, Input::Signal(s) if s.kind == SignalKind::Propose
                && s.origin == 1 && s.from_level > before.level && s.epoch > before.epoch);
            if missed && before.is_steady() && !agent.has_joined() {
                prop_assert_eq!((mode, agent.epoch), ((2, 2), before.epoch));
                continue;
            }
            prop_assert_eq!(agent.has_joined(), before.has_joined());
            if agent.level < before.level {
                // Only a commit that this switch has voted for.
                let voted = matches!(before.phase, Phase::Voted { epoch, to }
                    if epoch == agent.epoch && to == agent.level);
                let all = |set: &std::collections::BTreeSet<(u64, u64)>| {
                    (1..4).all(|m| m == me || set.contains(&(agent.epoch, m)))
                };
                prop_assert!(voted || me == 1 && all(&votes), "{before:?} {input:?} {agent:?}");
                prop_assert!(agent.quiet_since(now, &before));
            }
            if agent.admitted < before.admitted {
                let resumed = matches!(&input, Input::Signal(s)
                    if s.kind == SignalKind::Resume && s.epoch == agent.epoch);
                let all = (1..4).all(|m| m == me || confirms.contains(&(agent.epoch, m)));
                prop_assert!(resumed && me != 1 || me == 1 && all, "{before:?} {input:?}");
                let committed = matches!(before.phase, Phase::Committed { .. });
                prop_assert!(committed || me == 1);
            }
        }
    }
}

impl ModeAgent {
    /// Whether nothing above the new level was seen at the vote; it may not have come since.
    fn quiet_since(&self, now: Instant, before: &Self) -> bool {
        before.quiet_for(now, self.level)
    }
}

/// A raise to level 1 in epoch 6 by member 2 of three, whose trunks are 3 and 4.
fn raised_at_two_trunks() -> ModeAgent {
    let mut agent = ModeAgent::new(2, config(2), [3, 4].into(), 99, Instant::ZERO);
    agent.activate(Instant::ZERO, 5, 0, &mut Vec::new());
    assert!(agent.owes_nothing(), "the controller tells everybody");
    agent.excess(ms(1_000), 1, &mut Vec::new());
    agent
}

#[test]
fn a_raise_is_repeated_until_each_neighbour_has_reported_it() {
    let mut agent = raised_at_two_trunks();
    let fired = |agent: &mut ModeAgent, now| {
        let mut actions = Vec::new();
        agent.fire(now, &mut actions);
        shown(agent, &actions)
    };
    assert_eq!(agent.deadline(), Some(ms(1_100)));
    assert_eq!(fired(&mut agent, ms(1_099)), "steady 6/1/1: ", "not yet");
    agent.receive(ms(1_099), 3, &from(1, SignalKind::Known, 6, 1, 6), &mut Vec::new());
    assert_eq!(fired(&mut agent, ms(1_100)), "steady 6/1/1: state 6/1 at 4");
    // A report of something older is none, and is answered with what holds.
    let mut actions = Vec::new();
    agent.receive(ms(1_101), 4, &from(3, SignalKind::State, 5, 0, 5), &mut actions);
    assert_eq!(shown(&agent, &actions), "steady 6/1/1: known 6/1 at 4");
    assert_eq!(fired(&mut agent, ms(1_200)), "steady 6/1/1: state 6/1 at 4");
    agent.receive(ms(1_201), 4, &from(3, SignalKind::Known, 6, 1, 6), &mut Vec::new());
    assert_eq!((agent.deadline(), agent.owes_nothing()), (None, true));
}

#[test]
fn a_neighbour_that_asks_has_forgotten_and_is_owed_again() {
    let mut agent = raised_at_two_trunks();
    for port in [3, 4] {
        agent.receive(ms(1_001), port, &from(1, SignalKind::Known, 6, 1, 6), &mut Vec::new());
    }
    let challenge = from(3, SignalKind::Challenge, 0, 1, 77);
    let mut actions = Vec::new();
    agent.receive(ms(1_002), 4, &challenge, &mut actions);
    assert_eq!(shown(&agent, &actions), "steady 6/1/1: answer 6/1 at 4");
    assert_eq!(agent.deadline(), Some(ms(1_102)));
    let other_plan = SignalRepr { generation: GENERATION + 1, ..challenge };
    agent.receive(ms(1_003), 3, &other_plan, &mut actions);
    assert_eq!(agent.debts.owed().collect::<Vec<_>>(), [4], "it could not report");
}

#[test]
fn a_leader_that_started_again_proposes_above_what_it_has_forgotten() {
    let mut agent = in_phase(1, "steady");
    agent.receive(ms(500), 3, &from(2, SignalKind::Known, 5, 1, 900), &mut Vec::new());
    let mut actions = Vec::new();
    agent.fire(ms(1_000), &mut actions);
    assert_eq!(shown(&agent, &actions), "proposed 5/1/1: propose 901/0");
}

#[test]
fn a_member_whose_leader_is_gone_goes_back_up() {
    let mut agent = in_phase(2, "committed");
    let mut now = ms(1_000);
    for _ in 0..2 * TRIES_MAX {
        now += RETRY;
        agent.fire(now, &mut Vec::new());
        assert_eq!(name(&agent), "committed");
    }
    let mut actions = Vec::new();
    agent.fire(now + RETRY, &mut actions);
    assert_eq!(shown(&agent, &actions), "steady 7/1/1: swap 1 1, raise 7/1");
}
