//! Equality with counts that the classic tool printed when it was run for this project, and with
//! those of the switch models that were tried in its place.

use tenuto_world::explore::classic::apps::{MacLearning, Redundant, RouteFlow, TrafficEngineering};
use tenuto_world::explore::classic::lines::line;
use tenuto_world::explore::classic::response::response;
use tenuto_world::explore::classic::{
    BufferIds, Count, Counting, Loads, Mac, Property, Protocol, Role, Setup, Strategy, Traffic,
    explore,
};

fn learning(setup: &Setup) -> Count {
    let count = explore(setup, MacLearning::default());
    assert!(count.is_exhaustive);
    count
}

fn transitions_and_states(count: &Count) -> (u64, u64) {
    (count.transitions, count.unique_states)
}

#[test]
fn pings_over_two_switches() {
    let two = learning(&line(2, 2, false));
    assert_eq!(transitions_and_states(&two), (530, 315));
    assert_eq!((two.depth, two.violations), (32, 0));
    assert_eq!(transitions_and_states(&learning(&line(2, 3, false))), (14_777, 6_332));
}

#[test]
fn without_delay_of_the_controller() {
    let no_delay = |packets| Setup { strategy: Strategy::NoDelay, ..line(2, packets, false) };
    assert_eq!(transitions_and_states(&learning(&no_delay(2))), (177, 139));
    assert_eq!(transitions_and_states(&learning(&no_delay(3))), (1_237, 777));
}

#[test]
fn learning_while_the_replier_moves() {
    let cases = [
        (1, 1, 77, 77),
        (1, 2, 2_261, 1_884),
        (1, 3, 41_840, 17_238),
        (2, 1, 200, 200),
        (2, 2, 13_104, 10_004),
    ];
    for (switches, packets, openflow, attendre) in cases {
        let setup = line(switches, packets, true);
        assert_eq!(learning(&setup).transitions, openflow, "{switches} {packets}");
        let setup = setup.with_protocol(Protocol::Attendre);
        assert_eq!(learning(&setup).transitions, attendre, "{switches} {packets}");
    }
}

#[test]
fn other_ways_to_number_buffers() {
    let ways = [
        (BufferIds::LastFreed, [530, 77, 200, 2_261]),
        (BufferIds::FirstFreed, [530, 77, 200, 2_241]),
        (BufferIds::Fresh, [382, 65, 152, 1_292]),
    ];
    for (buffer_ids, expected) in ways {
        let counting = Counting { buffer_ids, ..Counting::default() };
        let setups = [line(2, 2, false), line(1, 1, true), line(2, 1, true), line(1, 2, true)];
        let counted = setups.map(|it| learning(&Setup { counting, ..it }).transitions);
        assert_eq!(counted, expected, "{buffer_ids:?}");
    }
    let counting = Counting { buffer_ids: BufferIds::Lowest, ..Counting::default() };
    let counted = [line(1, 1, true), line(2, 1, true), line(1, 2, true)]
        .map(|it| learning(&Setup { counting, ..it }).transitions);
    assert_eq!(counted, [77, 200, 2_271]);
}

#[test]
fn other_keys_and_tables() {
    let counted = |counting: Counting, setups: &[Setup]| -> Vec<u64> {
        let all = setups.iter().cloned();
        all.map(|it| learning(&Setup { counting, ..it }).transitions).collect()
    };
    let setups = [line(2, 2, false), line(1, 1, true), line(2, 1, true), line(1, 2, true)];
    let merged = Counting { merges_rules: true, ..Counting::default() };
    assert_eq!(counted(merged, &setups), [504, 77, 200, 2_231]);
    let complete = Counting { has_learned: true, has_commands: true, ..Counting::default() };
    assert_eq!(counted(complete, &setups), [534, 77, 200, 2_310]);
}

#[test]
fn properties_have_a_place_in_the_key() {
    let with = |setup: Setup, properties: Vec<Property>| {
        learning(&Setup { properties, ..setup }).transitions
    };
    let mobile = || vec![Property::NoBlackHolesMobile];
    assert_eq!(with(line(1, 1, true), mobile()), 81);
    assert_eq!(with(line(2, 1, true), mobile()), 207);
    assert_eq!(with(line(1, 2, true), mobile()), 2_695);
    let strict = || vec![Property::NoForwardingLoops, Property::StrictDirectPaths];
    assert_eq!(with(line(1, 1, true), strict()), 77);
    assert_eq!(with(line(2, 1, true), strict()), 200);
    assert_eq!(with(line(1, 2, true), strict()), 2_363);
}

fn routed(switches: u8, packets: u8, redundant: Redundant, protocol: Protocol) -> u64 {
    let setup = line(switches, packets, false).with_protocol(protocol);
    let count = explore(&setup, RouteFlow::new(switches.into(), redundant));
    assert!(count.is_exhaustive && count.violations == 0);
    count.transitions
}

#[test]
fn route_flow_of_one_packet_grows_as_its_formulas_say() {
    for n in 1..=8_u8 {
        let doubled = 1_u64 << n;
        let attendre = routed(n, 1, Redundant::Mixed, Protocol::Attendre);
        assert_eq!(attendre, 2 * u64::from(n) * doubled + 6, "{n}");
        let openflow = routed(n, 1, Redundant::Mixed, Protocol::OpenFlow);
        assert_eq!(openflow, doubled / 2 * (7 * u64::from(n) - 1) + 4, "{n}");
    }
}

#[test]
fn route_flow_of_two_packets() {
    let counted = |protocol, most| -> Vec<u64> {
        (1..=most).map(|n| routed(n, 2, Redundant::Mixed, protocol)).collect()
    };
    assert_eq!(counted(Protocol::OpenFlow, 3), [186, 1_412, 8_115]);
    assert_eq!(counted(Protocol::Attendre, 5), [83, 203, 521, 1_331, 3_333]);
}

#[test]
fn route_flow_over_one_switch() {
    let counted = |protocol, most| -> Vec<u64> {
        (1..=most).map(|packets| routed(1, packets, Redundant::Mixed, protocol)).collect()
    };
    assert_eq!(counted(Protocol::OpenFlow, 3), [10, 186, 2_421]);
    assert_eq!(counted(Protocol::Attendre, 5), [10, 83, 408, 1_601, 5_494]);
}

#[test]
fn other_answers_to_redundant_packet_ins() {
    let counted = |redundant, packets, most| -> Vec<u64> {
        (1..=most).map(|n| routed(n, packets, redundant, Protocol::OpenFlow)).collect()
    };
    assert_eq!(counted(Redundant::Reinstall, 1, 4), [10, 48, 338, 2_934]);
    assert_eq!(counted(Redundant::Reinstall, 2, 2), [186, 3_474]);
    assert_eq!(counted(Redundant::ReinstallHere, 1, 4), [10, 48, 265, 1_467]);
    assert_eq!(counted(Redundant::PacketOut, 2, 3), [130, 607, 2_219]);
}

#[test]
fn traffic_engineering_with_given_loads() {
    let loads = [0, 600, 1_100, 2_200];
    let counted = |connections, classes: usize| {
        let (setup, map) = response(0, 1, connections);
        let setup = Setup { loads: Loads::Given(loads[..classes].to_vec()), ..setup };
        explore(&setup, TrafficEngineering::as_released(&map)).transitions
    };
    assert_eq!([1, 2, 3, 4].map(|classes| counted(1, classes)), [138, 1_078, 2_366, 5_196]);
    assert_eq!(counted(2, 3), 31_346);
}

#[test]
fn barriers_end_races_of_the_second_type_only() {
    let one = |protocol| routed(3, 1, Redundant::Mixed, protocol);
    let two = |protocol| routed(1, 2, Redundant::Mixed, protocol);
    assert!(one(Protocol::OpenFlowBarrier) < one(Protocol::OpenFlow));
    assert_eq!(two(Protocol::OpenFlowBarrier), two(Protocol::OpenFlow));
    assert!(two(Protocol::Attendre) < two(Protocol::OpenFlowBarrier));
}

/// Violations of a property.
fn found(count: &Count, property: Property) -> Option<u64> {
    count.traces.iter().find(|it| it.finding.property == property).map(|it| it.found_after)
}

#[test]
fn one_packet_at_a_time_while_the_replier_moves() {
    let mut setup = line(2, 3, true);
    if let Role::Sender { is_sequential, .. } = &mut setup.hosts[0].role {
        *is_sequential = true;
    }
    let count = learning(&Setup { properties: vec![Property::NoBlackHolesMobile], ..setup });
    assert_eq!(transitions_and_states(&count), (5_221, 3_105));
    assert_eq!((count.depth, count.violations), (51, 10));
    assert_eq!(found(&count, Property::NoBlackHolesMobile), Some(2_149));
    assert_eq!(found(&count, Property::NoBlackHoles(Traffic::Any)), Some(2_149));
}

#[test]
fn strictly_direct_paths_over_two_switches() {
    let properties = vec![Property::NoForwardingLoops, Property::StrictDirectPaths];
    let count = learning(&Setup { properties, ..line(2, 2, false) });
    assert_eq!(transitions_and_states(&count), (540, 329));
    assert_eq!((count.depth, count.violations), (32, 1));
    assert_eq!(found(&count, Property::StrictDirectPaths), Some(540));
}

#[test]
fn a_path_is_cut_at_a_violation() {
    // To itself, over the triangle: what the classic tool ships as its circle.
    let mut setup = super::bugs::triangle();
    setup.hosts[0].mac = Mac(0);
    if let Role::Sender { to, .. } = &mut setup.hosts[0].role {
        *to = Mac(0);
    }
    let setup = Setup {
        properties: vec![Property::NoForwardingLoops],
        counting: Counting::default(),
        path_max: 30,
        ..setup
    };
    let count = explore(&setup, MacLearning::default());
    assert_eq!(transitions_and_states(&count), (665, 299));
    assert_eq!((count.depth, count.violations), (26, 128));
    assert_eq!(found(&count, Property::NoForwardingLoops), Some(23));
}

#[test]
fn direct_paths_end_where_the_second_switch_asks() {
    let with = |setup| learning(&Setup { properties: vec![Property::DirectPaths], ..setup });
    let one = with(line(1, 2, true));
    assert_eq!((transitions_and_states(&one), one.violations), ((2_261, 1_103), 1));
    let counts = [(1, (5, 5), 1), (2, (36, 24), 8)];
    for (packets, counted, violations) in counts {
        let count = with(line(2, packets, true));
        assert_eq!(transitions_and_states(&count), counted);
        assert_eq!(count.violations, violations);
    }
}
