//! Applications on the switches of network files: explored, and in virtual time.

use tenuto_controller::reactive::{Answer, Packet, ReactiveApp, Settings, named, output};
use tenuto_model::Network;
use tenuto_openflow::constants::port;
use tenuto_world::applied::{self, AppliedRun, RunSettings};
use tenuto_world::explore::reactive::{
    Budgets, Move, Property, Protocol, Send, Setup, Trace, explore_on, replay_on,
};
use tenuto_world::explore::{Outcome, Verdict};

pub(crate) fn network(
    name: &str,
    switches: &[&str],
    links: &[(&str, &str)],
    hosts: &[&str],
) -> Network {
    let list = |names: &[&str], what: &str| {
        names.iter().map(|it| format!("{it}: {what}")).collect::<Vec<_>>().join(", ")
    };
    let links: Vec<String> =
        links.iter().map(|(a, b)| format!("  - {{ends: [{a}, {b}], rate: 100 Mbit/s}}")).collect();
    let text = format!(
        "tenuto: 1\nname: {name}\nhosts: {{{}}}\nswitches: {{{}}}\nlinks:\n{}\nflows:\n  f: {{source: {}, targets: [{}], \
         message: 1 kB, period: 10 ms, deadline: 9 ms}}\n",
        list(hosts, "{}"),
        list(switches, "{profile: tenuto}"),
        links.join("\n"),
        hosts[0],
        hosts[1],
    );
    crate::support::network(&text)
}

pub(crate) fn one_switch() -> Network {
    network("one", &["s1"], &[("h1", "s1"), ("h2", "s1"), ("h3", "s1")], &["h1", "h2", "h3"])
}

pub(crate) fn line() -> Network {
    network("line", &["s1", "s2"], &[("h1", "s1"), ("s1", "s2"), ("s2", "h2")], &["h1", "h2"])
}

pub(crate) fn triangle() -> Network {
    let links = [("h1", "s1"), ("h2", "s2"), ("s1", "s2"), ("s2", "s3"), ("s3", "s1")];
    network("triangle", &["s1", "s2", "s3"], &links, &["h1", "h2"])
}

pub(crate) fn app(
    name: &str,
    settings: &[(&str, &str)],
    network: Option<&Network>,
) -> Box<dyn ReactiveApp> {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let settings: &Settings = &settings;
    named(name, settings, network).expect("an application")
}

pub(crate) fn sends(packets: u8) -> Setup {
    Setup {
        sends: vec![Send { from: "h1".into(), to: "h2".into(), packets }],
        replies: vec!["h2".into()],
        states_max: 200_000,
        ..Setup::default()
    }
}

fn explored(network: &Network, app: Box<dyn ReactiveApp>, setup: &Setup) -> Outcome<Trace> {
    let started = std::time::Instant::now();
    let found = explore_on(network, app, setup, &mut |_, _| {}).expect("it fits");
    println!(
        "{} {}: {} states, {} transitions, depth {}, {} bytes each, {:.1?}",
        network.name,
        setup.protocol.name(),
        found.states,
        found.transitions,
        found.depth,
        found.bytes / found.states,
        started.elapsed()
    );
    if let Some(trace) = &found.counterexample {
        println!("{trace}");
    }
    found
}

#[track_caller]
fn holds(network: &Network, app: Box<dyn ReactiveApp>, setup: &Setup) -> Outcome<Trace> {
    let found = explored(network, app, setup);
    assert_eq!(found.verdict(), Verdict::Holds);
    found
}

/// Violated, and violated again when the trace is replayed.
#[track_caller]
fn violates(
    property: Property,
    network: &Network,
    app: &dyn Fn() -> Box<dyn ReactiveApp>,
    setup: &Setup,
) -> Trace {
    let setup = Setup { properties: vec![property], ..setup.clone() };
    let trace = explored(network, app(), &setup).counterexample.expect("a counterexample");
    assert_eq!(trace.property, property.name());
    assert_eq!(replay_on(network, app(), &setup, &trace).as_ref(), Ok(&Some(trace.clone())));
    trace
}

#[test]
fn a_learning_switch_holds_on_a_line_under_every_protocol() {
    let network = line();
    for protocol in Protocol::ALL {
        for packets in 1..=2 {
            let setup = Setup { protocol, ..sends(packets) };
            holds(&network, app("learning-switch", &[], Some(&network)), &setup);
        }
    }
}

#[test]
fn floods_circle_in_a_triangle_unless_they_keep_to_a_tree() {
    let network = triangle();
    let plain = || app("learning-switch", &[], None);
    let trace = violates(Property::NoLoops, &network, &plain, &sends(1));
    assert!(trace.finding.contains("again"), "{trace}");
    assert!(trace.steps.iter().any(|step| step.between == ["s1", "controller"]));
    // The third switch has nowhere to flood to, and does not keep what it was asked about.
    let properties = vec![Property::NoLoops, Property::NoBlackHoles, Property::NoForgottenPackets];
    let setup = Setup { properties, ..sends(2) };
    holds(&network, app("learning-switch", &[], Some(&network)), &setup);
}

/// A host that moves and says so is found again by what learns; a packet from its old place that comes late undoes
/// that, until it speaks again.
#[test]
fn a_host_that_moves_is_found_again_unless_its_old_packets_come_late() {
    let network = line();
    let moves = vec![Move { host: "h2".into(), switch: "s1".into(), port: 9 }];
    let replying = Setup { moves, properties: vec![Property::NoBlackHoles], ..sends(2) };
    let silent = Setup { replies: vec![], ..replying.clone() };
    let learning = || app("learning-switch", &[], None);
    let stubborn = || -> Box<dyn ReactiveApp> { Box::<Stubborn>::default() };
    let moves_in = |trace: &Trace| {
        let moves = |it: &&tenuto_world::explore::reactive::Step| {
            it.action.to_string().contains("h2 moves")
        };
        trace.steps.iter().position(|step| moves(&step)).expect("it moves")
    };
    holds(&network, learning(), &silent);
    let late = violates(Property::NoBlackHoles, &network, &learning, &replying);
    let behind = &late.steps[moves_in(&late)..];
    assert!(behind.iter().any(|step| step.note == "reply of h2 to h1"), "{late}");
    let stuck = violates(Property::NoBlackHoles, &network, &stubborn, &replying);
    assert!(moves_in(&stuck) < stuck.steps.len(), "{stuck}");
}

/// Learns where a station is, once and for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Stubborn {
    seen: std::collections::BTreeMap<(u64, [u8; 6]), u32>,
}

impl ReactiveApp for Stubborn {
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        self.seen.entry((datapath, packet.src)).or_insert(packet.in_port);
        let to = self.seen.get(&(datapath, packet.dst)).copied().unwrap_or(port::FLOOD);
        answer.send(datapath, vec![output(to)], packet);
    }
}

/// Forgets to answer the second question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Forgetful {
    asked: u32,
}

impl ReactiveApp for Forgetful {
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        self.asked += 1;
        if self.asked != 2 {
            answer.send(datapath, vec![output(port::FLOOD)], packet);
        }
    }
}

#[test]
fn a_packet_that_is_not_answered_is_forgotten_and_a_black_hole() {
    let forgetful = || -> Box<dyn ReactiveApp> { Box::<Forgetful>::default() };
    for property in [Property::NoForgottenPackets, Property::NoBlackHoles] {
        let trace = violates(property, &one_switch(), &forgetful, &sends(2));
        assert!(trace.finding.starts_with("nothing is left to happen"), "{trace}");
    }
}

#[test]
fn who_may_not_reach_whom_is_noticed_also_in_a_flood() {
    let network = one_switch();
    let learning = || app("learning-switch", &[], Some(&one_switch()));
    let forbidden = vec![("h1".to_owned(), "h3".to_owned())];
    let setup = Setup { forbidden, ..sends(1) };
    let trace = violates(Property::Policy, &network, &learning, &setup);
    assert!(trace.finding.starts_with("h3 gets packet of h1 to h2"), "{trace}");
    // Entries for the pair alone flood nothing.
    let ways = [("way", "02:00:00:00:01:20@1:2"), ("way", "02:00:00:00:00:20@1:1")];
    holds(&network, app("route-flow", &ways, None), &setup);
}

/// \[Attendre\] Fig. 1 (b): two switches on the way of a flow.
#[test]
fn a_second_question_about_a_flow_is_a_race_that_barriers_and_attendre_end() {
    let network = line();
    let route = || app("route-flow", &[("way", "02:00:00:00:01:20@1:2,2:2")], None);
    let setup = Setup { replies: vec![], ..sends(1) };
    violates(Property::DirectPaths, &network, &route, &setup);
    violates(Property::OnePacketIn, &network, &route, &setup);
    for protocol in [Protocol::OpenflowBarrier, Protocol::Attendre] {
        let properties = vec![Property::DirectPaths, Property::OnePacketIn, Property::NoBlackHoles];
        holds(&network, route(), &Setup { protocol, properties, ..setup.clone() });
    }
}

#[test]
fn each_fault_has_a_budget_and_excuses_what_it_takes() {
    let network = triangle();
    let budgets = [
        Budgets { losses: 1, ..Budgets::default() },
        Budgets { duplicates: 1, ..Budgets::default() },
        Budgets { link_failures: 1, ..Budgets::default() },
        Budgets { switch_failures: 1, ..Budgets::default() },
        Budgets { controller_crashes: 1, ..Budgets::default() },
    ];
    let learning = || app("learning-switch", &[], Some(&triangle()));
    let properties = vec![Property::NoLoops, Property::NoFailure];
    let without =
        holds(&network, learning(), &Setup { properties: properties.clone(), ..sends(1) });
    for budgets in budgets {
        let setup = Setup { budgets, properties: properties.clone(), ..sends(1) };
        let with = holds(&network, learning(), &setup);
        assert!(with.states > without.states, "{budgets:?} changes nothing");
    }
}

#[test]
fn answers_of_several_threads_overtake_each_other() {
    let network = line();
    let learning = || app("learning-switch", &[], Some(&line()));
    let setup = Setup { properties: vec![Property::NoFailure], ..sends(2) };
    let one = holds(&network, learning(), &setup);
    let many = holds(&network, learning(), &Setup { threads: true, ..setup });
    assert!(many.states > one.states, "{} and {}", many.states, one.states);
}

/// Packets that no property tells apart are one packet, which leaves fewer states.
#[test]
fn packets_are_told_apart_only_if_a_property_asks() {
    let network = line();
    let learning = || app("learning-switch", &[], Some(&line()));
    let of = |properties: &[Property]| {
        let setup = Setup { properties: properties.to_vec(), threads: true, ..sends(3) };
        holds(&network, learning(), &setup).states
    };
    let (alike, apart) =
        (of(&[Property::NoBlackHoles]), of(&[Property::NoBlackHoles, Property::NoLoops]));
    assert!(alike < apart, "{alike} and {apart}");
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let refused = |setup: &Setup, word: &str| {
        let found = explore_on(&line(), app("learning-switch", &[], None), setup, &mut |_, _| {});
        let why = found.expect_err("it does not fit");
        assert!(why.contains(word), "{why}");
    };
    let mut setup = sends(1);
    setup.replies = vec!["h7".into()];
    refused(&setup, "no host is called `h7`; there are h1, h2");
    let taken = Move { host: "h2".into(), switch: "s1".into(), port: 1 };
    refused(&Setup { moves: vec![taken], ..sends(1) }, "is taken");
    let nowhere = Move { host: "h2".into(), switch: "s9".into(), port: 9 };
    refused(&Setup { moves: vec![nowhere], ..sends(1) }, "no switch is called `s9`");
    let cut = Setup { states_max: 5, ..sends(2) };
    let found = explored(&line(), app("learning-switch", &[], Some(&line())), &cut);
    assert_eq!(found.verdict(), Verdict::Bounded);
}

fn simulated(network: &Network, app: Box<dyn ReactiveApp>, settings: &RunSettings) -> AppliedRun {
    applied::run(network, app, settings).expect("it fits")
}

fn runs(protocol: Protocol) -> RunSettings {
    RunSettings {
        protocol,
        sends: vec![Send { from: "h1".into(), to: "h2".into(), packets: 3 }],
        replies: vec!["h2".into()],
        ..RunSettings::default()
    }
}

#[test]
fn virtual_time_delivers_and_the_same_seed_repeats_it() {
    let network = line();
    let learning = || app("learning-switch", &[], Some(&line()));
    for protocol in Protocol::ALL {
        let run = simulated(&network, learning(), &runs(protocol));
        assert!(run.is_delivered(), "{run:#?}");
        assert_eq!(run.flows.len(), 10);
        let all = |of: fn(&applied::FlowRow) -> u32| run.flows.iter().map(of).sum::<u32>();
        assert_eq!((all(|it| it.sent), all(|it| it.received)), (30, 30));
        assert_eq!((all(|it| it.replies_sent), all(|it| it.replies_received)), (30, 30));
        let asked: u64 = run.switches.iter().map(|it| it.packet_ins).sum();
        assert_eq!(u64::from(all(|it| it.packet_ins)), asked);
        assert!(run.switches.iter().all(|it| it.waiting == 0 && it.refused == 0));
        assert_eq!(run, simulated(&network, learning(), &runs(protocol)));
        let other = RunSettings { seed: 2, ..runs(protocol) };
        assert_ne!(run, simulated(&network, learning(), &other));
    }
}

/// \[Attendre\]: exactly one packet-in per new flow, however many switches are on its way.
#[test]
fn attendre_asks_once_where_openflow_asks_at_every_switch() {
    let network = line();
    let route = || {
        let ways = [("way", "02:00:00:00:01:20@1:2,2:2"), ("way", "02:00:00:00:00:20@2:1,1:1")];
        app("route-flow", &ways, None)
    };
    let slow = |protocol| RunSettings {
        flows: 1,
        command: tenuto_units::Span::from_ms(1),
        replies: vec![],
        ..runs(protocol)
    };
    let asked = |protocol| simulated(&network, route(), &slow(protocol)).flows[0].packet_ins;
    assert!(asked(Protocol::Openflow) > 1);
    assert_eq!(asked(Protocol::Attendre), 1);
}

#[test]
fn losses_are_counted_where_they_happen() {
    let forgetful: Box<dyn ReactiveApp> = Box::<Forgetful>::default();
    let run = simulated(&one_switch(), forgetful, &runs(Protocol::Openflow));
    assert!(!run.is_delivered());
    let lost: u32 = run.flows.iter().map(applied::FlowRow::lost).sum();
    assert_eq!(lost, 1);
    assert_eq!(run.switches[0].waiting, 1, "it waits at the switch");
    let nowhere = RunSettings { replies: vec!["h9".into()], ..runs(Protocol::Openflow) };
    let app = app("learning-switch", &[], None);
    assert!(applied::run(&one_switch(), app, &nowhere).expect_err("no such host").contains("h9"));
}
