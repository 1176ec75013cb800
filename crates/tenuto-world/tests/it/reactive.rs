//! Reactive applications with the real switch, every interleaving: the races of plain OpenFlow, and
//! that Attendre ends them (\[Attendre\] Figs. 1 to 3).

use tenuto_world::explore::Outcome;
use tenuto_world::explore::reactive::{
    Application, AttendreMutant, Property, Settings, Trace, explore, replay,
};

fn explored(settings: &Settings) -> Outcome<Trace> {
    let started = std::time::Instant::now();
    let outcome = explore(settings, &mut |_, _| {}).expect("the settings fit");
    println!(
        "{} {} switches {} packets attendre {} faults {}+{}: {} states, {} transitions, depth {}, {:.1?}",
        settings.application.name(),
        settings.switches,
        settings.packets,
        settings.attendre,
        settings.timeouts,
        settings.lost_commands,
        outcome.states,
        outcome.transitions,
        outcome.depth,
        started.elapsed()
    );
    if let Some(trace) = &outcome.counterexample {
        println!("{trace}");
    }
    outcome
}

fn plain(settings: Settings) -> Settings {
    Settings { attendre: false, ..settings }
}

fn only(property: Property, settings: Settings) -> Settings {
    Settings { properties: vec![property], ..settings }
}

#[track_caller]
fn holds(settings: &Settings) -> Outcome<Trace> {
    let outcome = explored(settings);
    assert_eq!(outcome.counterexample, None);
    assert!(outcome.is_exhaustive);
    outcome
}

#[track_caller]
fn violates(property: Property, settings: &Settings) -> Trace {
    let trace = explored(settings).counterexample.expect("there is one");
    assert_eq!(trace.property, property.name(), "{trace}");
    assert_eq!(replay(settings, &trace).as_ref(), Ok(&Some(trace.clone())));
    trace
}

fn route(switches: u8, packets: u8) -> Settings {
    Settings::new(Application::RouteFlow, switches, packets)
}

#[test]
fn one_switch_and_two_packets() {
    // Fig. 2 (a): the second packet races against the flow-mod of the first.
    let trace = violates(Property::OnePacketIn, &plain(route(1, 2)));
    assert!(trace.finding.starts_with("s1 asks although"), "{trace}");
    // Fig. 3 (a).
    for packets in 1..=4 {
        holds(&route(1, packets));
    }
}

#[test]
fn two_switches_and_one_packet() {
    // Fig. 2 (b): the packet races against the flow-mod of the second switch.
    let trace = violates(Property::OnePacketIn, &plain(route(2, 1)));
    assert!(trace.finding.starts_with("s2 asks although"), "{trace}");
    // Fig. 3 (b).
    for packets in 1..=3 {
        holds(&route(2, packets));
    }
    holds(&route(3, 2));
    holds(&route(4, 1));
}

#[test]
fn plain_openflow_reorders_and_sends_a_flow_to_two_servers() {
    // What waits for its packet-out is overtaken by what comes after the flow-mod.
    violates(Property::InOrder, &only(Property::InOrder, plain(route(1, 3))));
    let balancer = Settings::new(Application::LoadBalancer, 1, 2);
    violates(Property::OneTarget, &only(Property::OneTarget, plain(balancer.clone())));
    holds(&balancer);
    holds(&Settings::new(Application::LoadBalancer, 1, 3));
}

#[test]
fn the_states_of_plain_openflow_are_many_more() {
    // With nothing to violate both are explored to their ends ([Attendre] section VI).
    let both = [route(1, 3), route(3, 1), route(2, 2)].map(|settings| {
        let whole = |settings| {
            let outcome = explored(&Settings { properties: vec![], ..settings });
            assert!(outcome.is_exhaustive);
            outcome.transitions
        };
        (whole(settings.clone()), whole(plain(settings)))
    });
    for (attendre, openflow) in both {
        assert!(attendre < openflow, "{attendre} against {openflow}");
    }
}

/// The extent of \[Attendre\] Fig. 8; minutes, so not with the others.
#[test]
#[ignore = "for the figures: cargo test -p tenuto-world reactive -- --ignored --nocapture"]
fn figure_8() {
    for (switches, packets) in [(8, 1), (1, 5), (3, 2), (4, 2), (6, 2)] {
        for attendre in [true, false] {
            let properties = if attendre { Property::OF_ATTENDRE.to_vec() } else { vec![] };
            let states_max = 300_000;
            explored(&Settings { attendre, properties, states_max, ..route(switches, packets) });
        }
    }
}

#[test]
fn a_learning_switch_and_a_firewall() {
    for application in [Application::LearningSwitch, Application::Firewall] {
        violates(Property::OnePacketIn, &plain(Settings::new(application, 1, 2)));
        for packets in 1..=2 {
            holds(&Settings::new(application, 1, packets));
        }
    }
}

#[test]
fn lost_commands_and_timers_lose_no_packet() {
    for settings in [route(1, 2), route(2, 1), route(2, 2)] {
        for (timeouts, lost) in [(1, 0), (0, 1), (2, 1)] {
            holds(&settings.clone().with_faults(timeouts, lost));
        }
    }
    // Without a command the next switch is one of plain OpenFlow, which is what is promised.
    let lost = Settings { lost_commands: 1, ..route(2, 1) };
    violates(Property::OnePacketIn, &lost);
}

#[test]
fn broken_variants_are_noticed() {
    let broken = |mutant, settings| Settings { mutant, ..settings };
    let cases = [
        (AttendreMutant::ReleasesOutOfOrder, Property::InOrder, route(1, 3)),
        (AttendreMutant::ForgetsCompletion, Property::Completes, route(1, 2)),
        (AttendreMutant::CommandBehindPacket, Property::OnePacketIn, route(2, 1)),
        (AttendreMutant::TimeoutDrops, Property::NoDrop, route(1, 2).with_faults(1, 0)),
    ];
    for (mutant, property, settings) in cases {
        holds(&settings);
        violates(property, &broken(mutant, settings));
    }
}

#[test]
fn what_is_no_scenario_is_refused_and_what_is_cut_off_says_so() {
    assert!(explore(&route(0, 1), &mut |_, _| {}).is_err());
    assert!(explore(&route(1, 0), &mut |_, _| {}).is_err());
    let balancer = Settings::new(Application::LoadBalancer, 2, 1);
    assert!(explore(&balancer, &mut |_, _| {}).is_err());
    let cut = Settings { states_max: 10, ..route(2, 1) };
    assert!(!explored(&cut).is_exhaustive);
}
