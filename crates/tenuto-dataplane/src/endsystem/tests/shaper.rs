//! When messages are released.

use super::*;
use proptest::prelude::*;

const T: Span = Span::from_ms(10);

fn source(behaviours: Vec<Behaviour>) -> Pair {
    let mut pair = pair(Form::Message, behaviours[0], &[1], None);
    let mut config = pair.source.config().as_ref().clone();
    config.senders[0].behaviours = behaviours;
    pair.source = EndSystem::new(Arc::new(config)).expect("valid");
    pair
}

/// Planned and actual instants of every release so far.
fn releases(pair: &Pair) -> Vec<(Instant, Instant)> {
    let events = pair.fx.events.iter();
    events
        .filter_map(|event| match *event {
            HostEvent::Released { planned, actual, .. } => Some((planned, actual)),
            _ => None,
        })
        .collect()
}

/// Fires the release timer at its deadline, or that much later.
fn release(pair: &mut Pair, late: Span) -> Instant {
    let mut deadline = None;
    pair.source.for_each_deadline(|timer, at| {
        if timer == TimerId::Release(FLOW) {
            deadline = Some(at);
        }
    });
    let now = deadline.expect("armed") + late;
    // One frame is in flight at most.
    pair.source.fire(TimerId::PortReady(1), now, &mut pair.frames, &mut pair.fx);
    pair.fx.transmits.drain(..).for_each(|t| pair.frames.release(t.frame));
    pair.source.fire(TimerId::Release(FLOW), now, &mut pair.frames, &mut pair.fx);
    now
}

fn planned(pair: &Pair) -> Vec<u64> {
    releases(pair).into_iter().map(|(planned, _)| planned.as_ns() / 1_000_000).collect()
}

#[test]
fn a_stall_moves_every_later_release() {
    let mut pair = source(vec![Behaviour::constant(T, 100, 0)]);
    pair.source.start_flow(FLOW, ms(5)).expect("known");
    for late_ms in [0, 0, 25, 0, 0] {
        let _ = release(&mut pair, Span::from_ms(late_ms));
    }
    // 5, 15, planned for 25 but released at 50; never 35 or 45 afterwards.
    assert_eq!(planned(&pair), [5, 15, 25, 60, 70]);
    let counters = pair.source.sender_counters(FLOW).expect("known");
    assert_eq!(counters.lateness_max, Span::from_ms(25));
}

#[test]
fn a_timer_fired_early_does_nothing() {
    let mut pair = source(vec![Behaviour::constant(T, 100, 0)]);
    pair.source.start_flow(FLOW, ms(5)).expect("known");
    pair.source.fire(TimerId::Release(FLOW), ms(4), &mut pair.frames, &mut pair.fx);
    assert!(pair.fx.is_empty());
    assert_eq!(pair.source.next_deadline(), Some((TimerId::Release(FLOW), ms(5))));
}

#[test]
fn a_new_behaviour_counts_its_period_from_the_last_release() {
    let contract = |period_ms, queue| Behaviour::constant(Span::from_ms(period_ms), 100, queue);
    let mut pair = source(vec![contract(200, 2), contract(22, 1)]);
    pair.source.start_flow(FLOW, ms(0)).expect("known");
    let _ = release(&mut pair, Span::ZERO);
    // 22 ms after the last release are over at once; 30 is now.
    pair.source.set_behaviour(ms(30), FLOW, Conduct::Mode(1)).expect("there are two");
    let _ = release(&mut pair, Span::ZERO);
    let _ = release(&mut pair, Span::ZERO);
    pair.source.set_behaviour(ms(60), FLOW, Conduct::Mode(0)).expect("there are two");
    let _ = release(&mut pair, Span::ZERO);
    pair.source.set_behaviour(ms(253), FLOW, Conduct::Custom(contract(7, 3))).expect("possible");
    let _ = release(&mut pair, Span::ZERO);
    assert_eq!(planned(&pair), [0, 30, 52, 252, 259]);
    assert_eq!(pair.source.behaviour(FLOW), Some(contract(7, 3)));
}

#[test]
fn a_due_release_stays_due_when_the_behaviour_changes() {
    let mut pair = source(vec![Behaviour::constant(T, 100, 0)]);
    pair.source.start_flow(FLOW, ms(0)).expect("known");
    let slow = Behaviour::constant(Span::from_s(1), 100, 0);
    pair.source.set_behaviour(ms(3), FLOW, Conduct::Custom(slow)).expect("possible");
    assert_eq!(pair.source.next_deadline(), Some((TimerId::Release(FLOW), ms(0))));
}

#[test]
fn stopping_and_starting_again_keeps_the_period() {
    let mut pair = source(vec![Behaviour::constant(T, 100, 0)]);
    pair.source.start_flow(FLOW, ms(0)).expect("known");
    let _ = release(&mut pair, Span::ZERO);
    pair.source.fire(TimerId::PortReady(1), ms(1), &mut pair.frames, &mut pair.fx);
    pair.source.stop_flow(FLOW).expect("known");
    assert_eq!(pair.source.next_deadline(), None);
    pair.source.start_flow(FLOW, ms(4)).expect("known");
    assert_eq!(pair.source.next_deadline(), Some((TimerId::Release(FLOW), ms(10))));
}

#[test]
fn submitted_messages_wait_for_their_turn() {
    let mut pair = source(vec![Behaviour::constant(T, 100, 0)]);
    let submit = |pair: &mut Pair, at, bytes| pair.source.submit(ms(at), FLOW, bytes);
    for _ in 0..3 {
        submit(&mut pair, 5, 50).expect("fits");
    }
    for _ in 0..3 {
        let _ = release(&mut pair, Span::ZERO);
    }
    submit(&mut pair, 99, 60).expect("fits");
    let _ = release(&mut pair, Span::ZERO);
    assert_eq!(planned(&pair), [5, 15, 25, 99]);
    for _ in 0..SHAPER_MESSAGES_MAX {
        submit(&mut pair, 99, 50).expect("room");
    }
    let limit = SHAPER_MESSAGES_MAX;
    assert_eq!(submit(&mut pair, 99, 50), Err(SendError::ShaperFull { flow: FLOW, limit }));
}

#[test]
fn what_cannot_be_sent_is_refused_and_changes_nothing() {
    let mut pair = source(vec![Behaviour::constant(T, 100, 0)]);
    let source = &mut pair.source;
    let too_large = Err(SendError::Size { flow: FLOW, bytes: 101, bytes_max: 100 });
    assert_eq!(source.submit(ms(0), FLOW, 101), too_large);
    let error = BehaviourError::TooSmall { bytes: 15, limit_min: 16 };
    let too_small = Err(SendError::Behaviour { flow: FLOW, error });
    assert_eq!(source.submit(ms(0), FLOW, 15), too_small);
    let no_mode = Err(SendError::UnknownMode { flow: FLOW, mode: 1, modes: 1 });
    assert_eq!(source.set_behaviour(ms(0), FLOW, Conduct::Mode(1)), no_mode);
    assert_eq!(source.start_flow(8, ms(0)), Err(SendError::UnknownFlow(8)));
    let error = BehaviourError::ZeroPeriod;
    let endless = Behaviour::constant(Span::ZERO, 100, 0);
    assert_eq!(
        source.set_behaviour(ms(0), FLOW, Conduct::Custom(endless)),
        Err(SendError::Behaviour { flow: FLOW, error })
    );
    assert_eq!(source.next_deadline(), None);
    assert_eq!(source.sender_counters(FLOW), Some(SenderCounters::default()));
}

#[test]
fn configurations_that_contradict_themselves_are_refused() {
    let valid = pair(Form::Message, Behaviour::constant(T, 100, 0), &[1], None);
    let refused = |change: &dyn Fn(&mut EndSystemConfig)| {
        let mut config = valid.source.config().as_ref().clone();
        config.receivers = valid.target.config().receivers.clone();
        change(&mut config);
        config.check().expect_err("contradicts itself")
    };
    let flow = FLOW;
    assert_eq!(refused(&|c| c.ports[1].port = 1), ConfigError::DuplicatePort(1));
    assert_eq!(
        refused(&|c| c.senders.push(c.senders[0].clone())),
        ConfigError::DuplicateFlow(flow)
    );
    assert_eq!(
        refused(&|c| c.senders[0].ports = vec![3]),
        ConfigError::UnknownPort { flow, port: 3 }
    );
    assert_eq!(
        refused(&|c| c.receivers[0].ports = vec![1, 1]),
        ConfigError::Copies { flow, ports: 2 }
    );
    assert_eq!(refused(&|c| c.senders[0].behaviours.clear()), ConfigError::NoBehaviour(flow));
    assert_eq!(refused(&|c| c.senders[0].header.dscp = 64), ConfigError::Dscp { flow, dscp: 64 });
    let error = BehaviourError::SizesReversed { bytes_min: 101, bytes_max: 100 };
    assert_eq!(
        refused(&|c| c.senders[0].behaviours[0].bytes_min = 101),
        ConfigError::Behaviour { flow, error }
    );
    let twin = |c: &mut EndSystemConfig| {
        c.receivers.push(ReceiverConfig { flow: 8, ..c.receivers[0].clone() });
    };
    assert_eq!(refused(&twin), ConfigError::SameHeader { flow: 8, other: flow });
}

proptest! {
    /// docs/theory/observation.md, "Releases": a period between two releases, whatever happens to the host.
    #[test]
    fn releases_are_never_closer_than_the_period(
        lateness_us in proptest::collection::vec(
            prop_oneof![3 => Just(0u64), 2 => 0u64..500, 1 => 0u64..100_000], 2..60,
        ),
    ) {
        let mut pair = source(vec![Behaviour::constant(T, 100, 0)]);
        pair.source.start_flow(FLOW, ms(1)).expect("known");
        for late in lateness_us {
            let _ = release(&mut pair, Span::from_us(late));
        }
        for two in releases(&pair).windows(2) {
            let ((_, last), (planned, actual)) = (two[0], two[1]);
            prop_assert_eq!(planned, last + T);
            prop_assert!(actual >= planned);
        }
    }

    /// The contract (T, J): eligible instants T apart exist, each release at most J after its own.
    #[test]
    fn jitter_and_lateness_keep_the_contract(
        lateness_us in proptest::collection::vec(prop_oneof![Just(0u64), 0u64..30_000], 2..60),
        jitter_us in 0u64..9_000,
        changes in proptest::collection::vec(any::<bool>(), 60),
    ) {
        let jitter = Span::from_us(jitter_us);
        let behaviour = Behaviour { jitter, ..Behaviour::constant(T, 100, 0) };
        let mut pair = source(vec![behaviour]);
        pair.source.start_flow(FLOW, ms(1)).expect("known");
        for (late, change) in lateness_us.into_iter().zip(changes) {
            let now = release(&mut pair, Span::from_us(late));
            if change {
                let now = now + Span::from_us(late % 10_000);
                pair.source.set_behaviour(now, FLOW, Conduct::Mode(0)).expect("there is one");
            }
        }
        // The latest that an instant can be eligible is its release; the earliest, J before.
        let mut eligible = Instant::ZERO;
        for (number, (_, actual)) in releases(&pair).into_iter().enumerate() {
            let least = if number == 0 { Instant::ZERO } else { eligible + T };
            eligible = least.max(actual.saturating_sub(jitter));
            prop_assert!(eligible <= actual, "release {} at {:?}", number, actual);
        }
    }
}
