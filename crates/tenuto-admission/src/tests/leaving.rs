//! Removal in two steps: nothing is free before it is gone.

use super::networks::{chain, host, request};
use crate::{Decision, Engine, Method, RemovalError, Reservation};
use tenuto_units::{Instant, Span};

#[test]
fn what_a_flow_held_is_free_only_after_it_drained() {
    let network = chain(2, 1, false, 100_000_000);
    let mut engine =
        Engine::new(network.clone(), Method::Exact, Reservation::starting_on(&network));
    // Two thirds of the line each: one at a time.
    let heavy = |id| crate::Request {
        rate_bps: 66_000_000,
        ..request(id, host(&network, 0), host(&network, 1), 10)
    };
    assert!(matches!(engine.add(&heavy(1)), Decision::Accepted(_)));
    assert!(matches!(engine.add(&heavy(2)), Decision::Refused(_)));
    let at = Instant::ZERO + Span::from_ms(5);
    assert_eq!(engine.confirm_removed(1, at), Err(RemovalError::NotAskedFor));
    assert_eq!(engine.remove(1), Ok(()));
    assert_eq!(engine.remove(1), Err(RemovalError::AlreadyLeaving));
    assert!(matches!(engine.add(&heavy(2)), Decision::Refused(_)), "not even deleted");
    let free = engine.confirm_removed(1, at).expect("it was asked for");
    assert!(free > at);
    assert_eq!(engine.advance(at), 0);
    assert!(matches!(engine.add(&heavy(2)), Decision::Refused(_)), "still in the network");
    assert_eq!(engine.advance(free), 1);
    assert!(matches!(engine.add(&heavy(2)), Decision::Accepted(_)));
    assert_eq!(engine.remove(1), Err(RemovalError::NotHeld));
}

#[test]
fn a_number_that_is_leaving_is_taken() {
    let network = chain(2, 1, false, 100_000_000);
    let mut engine =
        Engine::new(network.clone(), Method::Reserve, Reservation::starting_on(&network));
    let flow = request(1, host(&network, 0), host(&network, 1), 10);
    assert!(matches!(engine.add(&flow), Decision::Accepted(_)));
    assert_eq!(engine.remove(1), Ok(()));
    assert!(matches!(engine.add(&flow), Decision::Refused(crate::Refusal::IdInUse)));
}
