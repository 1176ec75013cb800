//! Before it refuses, a reservation gives up what is not needed, and harms nobody.

use super::networks::{chain, host, request};
use crate::audit::{Claim, audit};
use crate::{Decision, Engine, Method, Network, Request, Reservation, Visit, Yielding};
use tenuto_units::Xorshift;

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
    // Of more than eight per host some are kept for others, as long as `exact` holds a few; of more than
    // 256 in all as many as may be.
    assert!(held(96) && held(256) && !held(257));
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

/// Requests of a small network, drawn: short and long bursts, tight deadlines and loose ones.
fn drawn(draw: &mut Xorshift) -> (Network, Vec<Request>) {
    let rate_bps = [M100, 10 * M100][draw.index(2)];
    let (switches, each) = (1 + draw.index(4), 1 + draw.index(3));
    let (switches, each) =
        (u32::try_from(switches).expect("few"), u32::try_from(each).expect("few"));
    let network = chain(switches, each.max(2 / switches), false, rate_bps);
    let hosts = switches * each.max(2 / switches);
    let count = (u64::from(hosts) * (1 + draw.index(30)) as u64).min(256);
    let requests = (0..count).map(|id| {
        let from = draw.index(hosts as usize);
        let to = (from + 1 + draw.index(hosts as usize - 1)) % hosts as usize;
        let end = |at: usize| host(&network, u32::try_from(at).expect("few"));
        let burst_bits = [704, 2_448, 4_800, 12_240, 32_000, 64_000][draw.index(6)];
        Request {
            rate_bps: [200_000, 828_322, 3_000_000, rate_bps / 40][draw.index(4)],
            burst_bits,
            frame_bits: burst_bits.min(12_304),
            ..request(id, end(from), end(to), [1, 2, 3, 5, 10, 50][draw.index(6)])
        }
    });
    let requests = requests.collect();
    (network, requests)
}

/// Reserving for others costs at most about a quarter of the flows that `exact` holds, where no more than 256
/// requests are expected, and gains on the whole.
#[test]
fn a_reservation_falls_behind_exact_by_little_and_gains_on_the_whole() {
    let mut draw = Xorshift::new(22);
    let (mut by_exact, mut by_reserve) = (0, 0);
    for number in 0..120 {
        let (network, requests) = drawn(&mut draw);
        let held = |method: Method| {
            let reservation = Reservation::starting_on(&network);
            let engine = Engine::new(network.clone(), method, reservation);
            let mut engine = engine.expecting(requests.len());
            requests.iter().for_each(|asked| drop(engine.add(asked)));
            engine.len()
        };
        let (exact, reserve) = (held(Method::Exact), held(Method::Reserve));
        let asked = requests.len();
        assert!(reserve * 10 >= exact * 7, "list {number}: {reserve} against {exact} of {asked}");
        by_exact += exact;
        by_reserve += reserve;
    }
    assert!(by_reserve > by_exact, "{by_reserve} against {by_exact}");
}
