//! Signals between switches are served before every queue, and counted.

use super::networks::{chain, host, request};
use crate::audit::{Claim, audit};
use crate::{Decision, Engine, Method, Network, Request, Reservation, Visit};

const M100: u64 = 100_000_000;
/// Twenty signals of 102 B at once, as many ten times a second.
const SIGNALS: (u64, u64) = (20 * 816, 10 * 20 * 816);

/// The bound of one flow over two lines between switches, ns; recomputed with the same verdict.
fn bound_ns(network: Network) -> u64 {
    let asked = request(1, host(&network, 0), host(&network, 2), 20);
    let mut engine = Engine::new(network, Method::Exact, Reservation::none());
    assert!(matches!(engine.add(&asked), Decision::Accepted(_)));
    let bound = engine.bounds()[0].1;
    let held: Vec<(Request, Vec<Visit>)> =
        engine.held().map(|(request, visits)| (request.clone(), visits)).collect();
    let claims: Vec<Claim<'_>> =
        held.iter().map(|(request, visits)| Claim { request, visits }).collect();
    let found = audit(engine.network(), &claims);
    assert!(found.is_kept() && found.bounds_ns[0] <= Some(bound), "{found:?} {bound}");
    bound
}

#[test]
fn a_burst_of_signals_delays_a_frame_at_every_line_between_switches() {
    let plain = bound_ns(chain(3, 1, false, M100));
    let signalled = bound_ns(chain(3, 1, false, M100).with_signals(SIGNALS.0, SIGNALS.1));
    let burst_ns = SIGNALS.0 * 10;
    assert!(signalled >= plain + 2 * burst_ns, "{plain} {signalled}");
    assert!(signalled <= plain + 2 * burst_ns + burst_ns / 20, "{plain} {signalled}");
}

#[test]
fn signals_that_fill_a_line_leave_flows_nothing() {
    let network = chain(2, 1, false, M100).with_signals(816, M100);
    let asked = request(1, host(&network, 0), host(&network, 1), 50);
    let mut engine = Engine::new(network, Method::Exact, Reservation::none());
    assert!(matches!(engine.add(&asked), Decision::Refused(_)));
}
