//! What a network can end as: under Attendre nothing that it cannot under OpenFlow (\[Attendre\] IV.D).

use std::collections::BTreeSet;
use tenuto_world::explore::classic::apps::{MacLearning, Redundant, RouteFlow, TrafficEngineering};
use tenuto_world::explore::classic::graph::graph;
use tenuto_world::explore::classic::lines::line;
use tenuto_world::explore::classic::response::response;
use tenuto_world::explore::classic::{Application, Protocol, Role, Setup, explore_outcomes};

/// Under Attendre there is an outcome, and each is one of OpenFlow's.
fn is_special_case<A: Application>(setup: &Setup, application: A) {
    let outcomes = |protocol| -> BTreeSet<u128> {
        let setup = super::bugs::exact(setup.clone().with_protocol(protocol), vec![]);
        let (count, outcomes) = explore_outcomes(&setup, application.clone());
        assert!(count.is_exhaustive);
        outcomes
    };
    let [openflow, barriers, attendre] = Protocol::ALL.map(outcomes);
    assert!(!attendre.is_empty() && attendre.is_subset(&openflow));
    assert!(!barriers.is_empty());
}

#[test]
fn outcomes_of_attendre_are_outcomes_of_openflow() {
    for (switches, packets) in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)] {
        is_special_case(&line(switches, packets, true), MacLearning::default());
    }
    for (switches, packets) in [(1, 3), (2, 2), (3, 2), (6, 1)] {
        let application = RouteFlow::new(switches.into(), Redundant::Mixed);
        is_special_case(&line(switches, packets, false), application);
    }
    for connections in [1, 2] {
        let (setup, map) = response(0, 1, connections);
        is_special_case(&setup, TrafficEngineering::new(&map));
    }
}

/// States and transitions of a graph, which has one end.
fn interleavings(protocol: Protocol, switches: u8, packets: u8) -> (usize, usize) {
    let setup = line(switches, packets, false).with_protocol(protocol);
    let mut setup = super::bugs::exact(setup, vec![]);
    setup.hosts[1].role = Role::Server { has_statistics: false };
    let graph = graph(&setup, RouteFlow::new(switches.into(), Redundant::Mixed));
    assert!(!graph.is_cut);
    (graph.depths.len(), graph.edges.len())
}

#[test]
fn attendre_has_fewer_interleavings_to_draw() {
    for (switches, packets) in [(1, 2), (2, 1)] {
        let plain = interleavings(Protocol::OpenFlow, switches, packets);
        let attendre = interleavings(Protocol::Attendre, switches, packets);
        assert!(attendre.0 < plain.0 && attendre.1 < plain.1, "{plain:?} {attendre:?}");
    }
    let one = interleavings(Protocol::OpenFlow, 1, 1);
    assert_eq!(one, interleavings(Protocol::Attendre, 1, 1));
    assert_eq!(one, (6, 5));
}
