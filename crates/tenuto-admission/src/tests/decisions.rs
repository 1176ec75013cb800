//! Single decisions: what is said, and that it is so.

use super::networks::{chain, host, request};
use crate::{Decision, Engine, Method, Network, Refusal, Reservation, Resource};

const M100: u64 = 100_000_000;

fn engine(network: &Network, method: Method) -> Engine {
    Engine::new(network.clone(), method, Reservation::starting_on(network))
}

#[test]
fn the_first_flow_waits_for_one_frame_per_port() {
    let network = chain(2, 1, false, M100);
    let mut engine = engine(&network, Method::Exact);
    let first = request(1, host(&network, 0), host(&network, 1), 10);
    let Decision::Accepted(grant) = engine.add(&first) else { panic!("an empty network") };
    // Three ports: 1530 B in the way and 306 B of its own each; the burst grows by r·D per hop,
    // but a line brings no more than it carries: the frame itself.
    let hop_ns = (1_538 + 306) * 8 * 10;
    let least = 3 * hop_ns + 3 * 100;
    // What is claimed is eased by a 64th, so that the next flow needs no raise.
    assert!(
        (least..=least + least / 64 + 10).contains(&grant.bound_ns),
        "{} against {least}",
        grant.bound_ns
    );
    assert_eq!(grant.visits.len(), 3);
}

#[test]
fn a_number_asked_again_changes_nothing() {
    let network = chain(3, 2, true, M100);
    for method in [Method::Budget, Method::Exact, Method::Reserve] {
        let mut engine = engine(&network, method);
        let first = request(7, host(&network, 0), host(&network, 3), 50);
        let Decision::Accepted(grant) = engine.add(&first) else { panic!("{method:?}") };
        assert_eq!(engine.add(&first), Decision::Accepted(grant));
        assert_eq!(engine.len(), 1);
        let other = request(7, host(&network, 1), host(&network, 3), 50);
        assert_eq!(engine.add(&other), Decision::Refused(Refusal::IdInUse));
    }
}

#[test]
fn a_refusal_names_what_is_scarce() {
    let network = chain(2, 1, false, M100);
    let mut engine = engine(&network, Method::Exact);
    let tight = crate::Request {
        deadline_ns: 100_000,
        ..request(1, host(&network, 0), host(&network, 1), 1)
    };
    let Decision::Refused(Refusal::Scarce(scarce)) = engine.add(&tight) else {
        panic!("three frames in the way take longer")
    };
    assert_eq!(scarce.resource, Resource::Delay);
    assert!(scarce.needed > scarce.available, "{scarce:?}");
    let wide =
        crate::Request { rate_bps: M100, ..request(2, host(&network, 0), host(&network, 1), 50) };
    let Decision::Refused(Refusal::Scarce(scarce)) = engine.add(&wide) else {
        panic!("a line that is full never catches up")
    };
    assert_eq!((scarce.resource, scarce.needed), (Resource::Rate, 100_020_000));
    let big = crate::Request {
        burst_bits: 12_001 * 8,
        ..request(3, host(&network, 0), host(&network, 1), 50)
    };
    let Decision::Refused(Refusal::Scarce(scarce)) = engine.add(&big) else {
        panic!("larger than the queue")
    };
    assert_eq!((scarce.resource, scarce.available), (Resource::Buffer, 96_000));
    assert!(engine.is_empty());
}

#[test]
fn what_would_fit_was_tried() {
    let network = chain(4, 2, false, M100);
    let mut engine = engine(&network, Method::Reserve);
    let asked = crate::Request {
        deadline_ns: 1_000_000,
        ..request(1, host(&network, 0), host(&network, 7), 1)
    };
    assert!(matches!(engine.add(&asked), Decision::Refused(_)));
    let fits = engine.would_fit(&asked).expect("a later deadline");
    assert!(fits.deadline_ns > asked.deadline_ns);
    assert!(matches!(engine.add(&fits), Decision::Accepted(_)));
}

#[test]
fn values_out_of_range_are_refused_in_words() {
    let network = chain(2, 1, false, M100);
    let mut engine = engine(&network, Method::Budget);
    let fine = request(1, host(&network, 0), host(&network, 1), 10);
    for wrong in [
        crate::Request { rate_bps: 0, ..fine.clone() },
        crate::Request { frame_bits: 0, ..fine.clone() },
        crate::Request { frame_bits: 10_000, ..fine.clone() },
        crate::Request { frame_bits: 1_539 * 8, burst_bits: 1_539 * 8, ..fine.clone() },
        crate::Request { deadline_ns: u64::MAX, ..fine.clone() },
        crate::Request { targets: vec![], ..fine.clone() },
        crate::Request { targets: vec![fine.source], ..fine.clone() },
        crate::Request { source: crate::NodeId(99), ..fine.clone() },
        crate::Request { targets: vec![crate::NodeId(99)], ..fine },
    ] {
        let said = engine.add(&wrong);
        assert!(
            matches!(said, Decision::Refused(Refusal::OutOfRange(_) | Refusal::Unreachable)),
            "{said:?}"
        );
    }
}

#[test]
fn a_batch_is_held_whole_or_not_at_all() {
    let network = chain(3, 2, false, M100);
    let mut engine = engine(&network, Method::Reserve);
    let good = request(1, host(&network, 0), host(&network, 5), 50);
    let also = request(2, host(&network, 1), host(&network, 4), 50);
    let bad = crate::Request {
        deadline_ns: 1_000,
        ..request(3, host(&network, 2), host(&network, 4), 50)
    };
    let before = engine.bounds();
    let refused = engine.add_all(&[good.clone(), also.clone(), bad]);
    assert!(matches!(refused, Err((2, Refusal::Scarce(_)))), "{refused:?}");
    assert_eq!(engine.bounds(), before);
    assert_eq!(engine.add_all(&[good, also]).map(|grants| grants.len()), Ok(2));
    assert_eq!(engine.len(), 2);
}

#[test]
fn a_line_that_hands_over_at_whole_nanoseconds_costs_a_tick_per_hop() {
    // At 10 Gbit/s a bit takes 0.1 ns; at 1 Gbit/s just one.
    for (rate_bps, tick_ns) in [(1_000_000_000, 0), (10_000_000_000, 1)] {
        let network = chain(2, 1, false, rate_bps);
        let mut engine = engine(&network, Method::Exact);
        let first = request(1, host(&network, 0), host(&network, 1), 10);
        assert!(matches!(engine.add(&first), Decision::Accepted(_)));
        // Three ports with a frame in the way; the burst grows by a bit or two.
        let hop_ns = ((1_538 + 306) * 8 * 1_000_000_000_u64).div_ceil(rate_bps) + tick_ns;
        let least = 3 * (hop_ns + 100);
        let bound = engine.bounds()[0].1;
        assert!((least..=least + 10).contains(&bound), "{bound} against {least}");
    }
}
