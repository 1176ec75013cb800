//! Reductions of the native exploration: each, and all together, against the search without any.

use crate::applications::{Forgetful, Stubborn, app, line, one_switch, sends, triangle};
use tenuto_controller::reactive::{Answer, Packet, ReactiveApp, output};
use tenuto_model::Network;
use tenuto_openflow::constants::port;
use tenuto_world::explore::Verdict;
use tenuto_world::explore::compared::Case;
use tenuto_world::explore::reactive::{
    Budgets, Move, Property, Protocol, Reductions, Setup, explore_on, replay_on,
};

/// One property of each way in which properties look: at a step, at the end, at packets, at two switches.
const ASKED: [Property; 8] = [
    Property::NoLoops,
    Property::NoBlackHoles,
    Property::NoForgottenPackets,
    Property::Policy,
    Property::OnePacketIn,
    Property::DirectPaths,
    Property::NoDuplicate,
    Property::Completes,
];

fn each() -> Vec<Reductions> {
    let alone = |name: &&str| Reductions::NONE.with(name).expect("a reduction");
    let mut each: Vec<Reductions> = Reductions::NAMES.iter().map(alone).collect();
    each.push(Reductions::ALL);
    each
}

/// What every reduction says of every property by itself is what the search without any says. Which
/// properties are violated.
#[track_caller]
fn agree(network: &Network, of: &dyn Fn() -> Box<dyn ReactiveApp>, setup: &Setup) -> Vec<Property> {
    let mut violated = Vec::new();
    for property in ASKED {
        let setup = Setup { properties: vec![property], ..setup.clone() };
        let found = |reductions| {
            let setup = Setup { reductions, ..setup.clone() };
            let found = explore_on(network, of(), &setup, &mut |_, _| {}).expect("it fits");
            if let Some(trace) = &found.counterexample {
                let again = replay_on(network, of(), &setup, trace);
                assert_eq!(again.as_ref(), Ok(&Some(trace.clone())), "{property:?} {reductions:?}");
            }
            found
        };
        let whole = found(Reductions::NONE);
        assert_ne!(whole.verdict(), Verdict::Bounded, "{property:?}: more room");
        for reductions in each() {
            let reduced = found(reductions);
            assert_eq!(reduced.verdict(), whole.verdict(), "{property:?} with {reductions:?}");
            let is_whole = whole.verdict() == Verdict::Holds;
            assert!(!is_whole || reduced.states <= whole.states, "{property:?} {reductions:?}");
            let steps = |found: &tenuto_world::explore::Outcome<_>| {
                let trace: Option<&tenuto_world::explore::reactive::Trace> =
                    found.counterexample.as_ref();
                trace.map(|it| it.steps.len())
            };
            assert_eq!(
                steps(&reduced),
                steps(&whole),
                "a shortest one: {property:?} {reductions:?}"
            );
        }
        if whole.verdict() == Verdict::Violated {
            violated.push(property);
        }
    }
    violated
}

#[test]
fn reductions_change_no_verdict_on_one_switch() {
    let network = one_switch();
    let learning = || app("learning-switch", &[], Some(&one_switch()));
    for protocol in Protocol::ALL {
        agree(&network, &learning, &Setup { protocol, ..sends(2) });
    }
    let moves = vec![Move { host: "h2".into(), switch: "s1".into(), port: 9 }];
    let forbidden = vec![("h1".to_owned(), "h3".to_owned())];
    let violated = agree(&network, &learning, &Setup { moves, forbidden, ..sends(2) });
    assert!(violated.contains(&Property::Policy), "{violated:?}");
    agree(&network, &learning, &Setup { threads: true, ..sends(2) });
}

#[test]
fn reductions_change_no_verdict_on_a_line() {
    let network = line();
    let learning = || app("learning-switch", &[], Some(&line()));
    let route = || app("route-flow", &[("way", "02:00:00:00:01:20@1:2,2:2")], None);
    for protocol in Protocol::ALL {
        agree(&network, &learning, &Setup { protocol, ..sends(1) });
        let silent = Setup { protocol, replies: vec![], ..sends(2) };
        agree(&network, &route, &silent);
    }
    let moves = vec![Move { host: "h2".into(), switch: "s1".into(), port: 9 }];
    let moving = Setup { moves, ..sends(1) };
    agree(&network, &learning, &moving);
    let stubborn = || -> Box<dyn ReactiveApp> { Box::<Stubborn>::default() };
    agree(&network, &stubborn, &moving);
    let budgets = Budgets { losses: 1, ..Budgets::default() };
    agree(&network, &learning, &Setup { budgets, replies: vec![], ..sends(1) });
}

#[test]
fn reductions_change_no_verdict_where_an_application_is_wrong() {
    let forgetful = || -> Box<dyn ReactiveApp> { Box::<Forgetful>::default() };
    let violated = agree(&one_switch(), &forgetful, &sends(2));
    assert!(violated.contains(&Property::NoForgottenPackets), "{violated:?}");
    let violated = agree(&line(), &forgetful, &sends(1));
    assert!(violated.contains(&Property::NoBlackHoles), "{violated:?}");
}

/// A packet that circles for ever must not keep the others from being explored.
#[test]
fn reductions_change_no_verdict_in_a_circle() {
    let properties = [Property::NoFailure, Property::NoLoops, Property::Policy];
    let plain = || app("learning-switch", &[], None);
    for property in properties {
        for reductions in each() {
            let setup = Setup {
                properties: vec![property],
                forbidden: vec![("h2".into(), "h1".into())],
                reductions,
                states_max: 3_000,
                ..sends(1)
            };
            let found = explore_on(&triangle(), plain(), &setup, &mut |_, _| {}).expect("it fits");
            let verdict = found.verdict();
            assert_eq!(
                verdict == Verdict::Violated,
                property != Property::NoFailure,
                "{property:?} {reductions:?}: {verdict:?}"
            );
        }
    }
    let tree = || app("learning-switch", &[], Some(&triangle()));
    agree(&triangle(), &tree, &sends(1));
}

/// Says that it decides switch by switch, and tells another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Meddler;

impl ReactiveApp for Meddler {
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        answer.send(datapath, vec![output(port::FLOOD)], packet);
        let way = tenuto_controller::reactive::entry(packet.addresses(), vec![output(1)]);
        answer.flow_mod(3 - datapath, way);
    }

    fn is_by_switch(&self) -> bool {
        true
    }
}

#[test]
fn an_application_that_says_it_decides_by_switch_and_does_not_is_reported() {
    let setup = Setup { properties: vec![Property::NoFailure], ..sends(1) };
    let found = explore_on(&line(), Box::<Meddler>::default(), &setup, &mut |_, _| {});
    let trace = found.expect("it fits").counterexample.expect("it is told");
    assert!(trace.finding.contains("answers another switch"), "{trace}");
}

/// The same pings counted as the classic tool does and natively (docs/theory/exploration.md, "How many states").
#[test]
fn native_states_beside_classic_ones() {
    for case in Case::shipped(false) {
        let classic = case.classic();
        let native = |reductions| {
            let found = case.native(reductions).expect("it fits");
            assert_eq!(found.verdict(), Verdict::Holds, "{}", case.name());
            found
        };
        let whole = native(Reductions::NONE);
        let same = native(Reductions::SAME_STATES);
        let ordered = native(Reductions { corridors: false, ..Reductions::ALL });
        let all = native(Reductions::ALL);
        println!(
            "{}: classic {} states {} transitions; native {}, one state for alike {}, partial order {}, kept {}",
            case.name(),
            classic.unique_states,
            classic.transitions,
            whole.states,
            same.states,
            ordered.states,
            all.states
        );
        assert!(all.states <= ordered.states && ordered.states <= same.states);
        assert!(same.states <= whole.states);
    }
}
