//! Before it refuses, a reservation gives up what is not needed, and harms nobody.

use super::networks::{chain, host, request};
use crate::audit::{Claim, audit};
use crate::{Decision, Engine, Method, Request, Reservation, Visit, Yielding};

const M100: u64 = 100_000_000;

#[test]
fn the_number_of_requests_that_are_expected_decides_what_is_kept_for_others() {
    let network = chain(12, 1, true, M100);
    let held = |expected: usize| {
        let reservation = Reservation::starting_on(&network);
        let mut engine =
            Engine::new(network.clone(), Method::Reserve, reservation).expecting(expected);
        let urgent = request(1, host(&network, 0), host(&network, 6), 2);
        matches!(engine.add(&urgent), Decision::Accepted(_))
    };
    assert!(held(96) && !held(97));
}

/// Flows of a ring of twelve held of sixty, and whether an audit finds every promise kept.
fn held(yielding: Yielding) -> (usize, bool) {
    let network = chain(12, 1, true, M100);
    let reservation = Reservation::starting_on(&network).yielding(yielding);
    let mut engine = Engine::new(network.clone(), Method::Reserve, reservation);
    for id in 0..60_u32 {
        let (from, to) = (host(&network, id * 5), host(&network, id * 5 + 1 + id % 11));
        let asked = request(id.into(), from, to, [3, 5, 50][id as usize % 3]);
        let before = engine.fingerprint();
        match engine.add(&asked) {
            Decision::Accepted(grant) => assert!(grant.bound_ns <= asked.deadline_ns),
            Decision::Refused(_) => {
                assert_eq!(before, engine.fingerprint(), "a refusal changed it")
            }
        }
    }
    let held: Vec<(Request, Vec<Visit>)> =
        engine.held().map(|(request, visits)| (request.clone(), visits)).collect();
    let claims: Vec<Claim<'_>> =
        held.iter().map(|(request, visits)| Claim { request, visits }).collect();
    (held.len(), audit(&network, &claims).is_kept())
}

#[test]
fn a_reservation_that_yields_holds_urgent_flows_that_others_refuse() {
    let (kept, is_kept) = held(Yielding::Nothing);
    assert!(is_kept);
    for yielding in [Yielding::FirstBetweenSwitches, Yielding::Everything] {
        let (more, is_kept) = held(yielding);
        assert!(is_kept && more > kept, "{yielding:?}: {more} against {kept}");
    }
}
