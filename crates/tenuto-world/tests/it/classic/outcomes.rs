//! What a network can end as: under Attendre nothing that it cannot under OpenFlow ([Attendre] IV.D).

use std::collections::BTreeSet;
use tenuto_world::explore::classic::apps::{MacLearning, Redundant, RouteFlow, TrafficEngineering};
use tenuto_world::explore::classic::lines::line;
use tenuto_world::explore::classic::response::response;
use tenuto_world::explore::classic::{Application, Protocol, Setup, explore_outcomes};

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
