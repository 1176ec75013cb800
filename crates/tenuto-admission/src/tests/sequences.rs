//! Any sequence of requests: the books equal what is counted anew, every promise holds by an
//! independent recomputation, and what is refused leaves nothing behind.

use super::networks::{chain, host, request};
use crate::audit::{Claim, audit};
use crate::{Decision, Engine, Method, Network, Request, Reservation, Visit};
use proptest::prelude::*;
use tenuto_units::Instant;

#[derive(Clone, Debug)]
enum Step {
    Add { from: u32, to: u32, deadline_ms: u64, frames: u64 },
    WhatIf { from: u32, to: u32, deadline_ms: u64 },
    Remove { nth: usize },
    Batch { from: u32, count: u64 },
    Adapt,
}

fn step() -> impl Strategy<Value = Step> {
    let deadline = prop_oneof![Just(2_u64), Just(5), Just(10), Just(50)];
    prop_oneof![
        12 => (0_u32..12, 0_u32..12, deadline.clone(), 1_u64..6)
            .prop_map(|(from, to, deadline_ms, frames)| Step::Add { from, to, deadline_ms, frames }),
        2 => (0_u32..12, 0_u32..12, deadline)
            .prop_map(|(from, to, deadline_ms)| Step::WhatIf { from, to, deadline_ms }),
        2 => (0_usize..64).prop_map(|nth| Step::Remove { nth }),
        1 => (0_u32..12, 1_u64..12).prop_map(|(from, count)| Step::Batch { from, count }),
    ]
}

fn add(network: &Network, id: u64, step: &Step) -> Option<Request> {
    let (from, to, deadline_ms, frames) = match step {
        Step::Add { from, to, deadline_ms, frames } => (*from, *to, *deadline_ms, *frames),
        Step::WhatIf { from, to, deadline_ms } => (*from, *to, *deadline_ms, 1),
        _ => return None,
    };
    let (source, target) = (host(network, from), host(network, to));
    let asked = request(id, source, target, deadline_ms);
    (source != target).then(|| Request { burst_bits: asked.frame_bits * frames, ..asked })
}

/// Everything that the books say, as it can be compared.
fn shown(engine: &Engine) -> String {
    engine.fingerprint()
}

fn check(engine: &Engine) -> Result<(), TestCaseError> {
    prop_assert_eq!(shown(engine), engine.counted_anew().fingerprint());
    let held: Vec<(Request, Vec<Visit>)> =
        engine.held().map(|(request, visits)| (request.clone(), visits)).collect();
    let claims: Vec<Claim<'_>> =
        held.iter().map(|(request, visits)| Claim { request, visits }).collect();
    let found = audit(engine.network(), &claims);
    prop_assert!(found.is_kept(), "{:?} {:?}", found.late, found.full);
    // What the engine says is never below what the recomputation needs for the same flows.
    let said: std::collections::BTreeMap<u64, u64> = engine.bounds().into_iter().collect();
    for ((request, _), recomputed) in held.iter().zip(&found.bounds_ns) {
        let (said, recomputed) = (said[&request.id], recomputed.expect("kept"));
        prop_assert!(said <= request.deadline_ns);
        // The audit's vector is inflated by a hair.
        prop_assert!(said + said / 1_000 + 100 >= recomputed, "{} below {}", said, recomputed);
    }
    Ok(())
}

fn play(method: Method, is_ring: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let network = chain(4, 3, is_ring, 100_000_000);
    let mut engine = Engine::new(network.clone(), method, Reservation::starting_on(&network));
    let mut now = Instant::ZERO;
    for (id, step) in (0_u64..).zip(steps) {
        let before = shown(&engine);
        match step {
            Step::Add { .. } => {
                let Some(asked) = add(&network, id, step) else { continue };
                if let Decision::Refused(_) = engine.add(&asked) {
                    prop_assert_eq!(shown(&engine), before, "a refusal left something");
                }
            }
            Step::WhatIf { .. } => {
                let Some(asked) = add(&network, id, step) else { continue };
                let said = engine.what_if(&asked);
                prop_assert_eq!(shown(&engine), before, "a question left something");
                prop_assert_eq!(engine.add(&asked), said);
            }
            Step::Remove { nth } => {
                let ids: Vec<u64> = engine.held().map(|(request, _)| request.id).collect();
                let Some(gone) = ids.get(nth % ids.len().max(1)) else { continue };
                prop_assert!(engine.remove(*gone).is_ok());
                now = engine.confirm_removed(*gone, now).expect("it was asked for");
                prop_assert_eq!(engine.advance(now), 1);
            }
            Step::Batch { from, count } => {
                let flow = |n: u64| {
                    let to = from + 1 + u32::try_from(n).expect("small") % 11;
                    request(1_000 * (id + 1) + n, host(&network, *from), host(&network, to), 10)
                };
                let batch: Vec<Request> = (0..*count).map(flow).collect();
                let held = engine.len();
                match engine.add_all(&batch) {
                    Ok(grants) => prop_assert_eq!(engine.len(), held + grants.len()),
                    Err(_) => prop_assert_eq!(shown(&engine), before, "half a batch"),
                }
            }
            Step::Adapt => {
                engine.adapt(1);
                if let Some(end) = engine.confirm_replanned(now) {
                    now = end;
                    engine.advance(now);
                }
            }
        }
    }
    check(&engine)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_promise_holds_in_a_line(steps in proptest::collection::vec(step(), 1..120)) {
        for method in [Method::Budget, Method::Exact, Method::Reserve] {
            play(method, false, &steps)?;
        }
    }

    #[test]
    fn every_promise_holds_in_a_ring(steps in proptest::collection::vec(step(), 1..120)) {
        for method in [Method::Budget, Method::Exact, Method::Reserve] {
            play(method, true, &steps)?;
        }
    }
}

#[test]
fn a_network_that_adapts_keeps_what_it_promised() {
    let adds = |seed: u32, count: u32| {
        (0..count).map(move |n| Step::Add {
            from: (n * 7 + seed) % 12,
            to: (n * 5 + seed / 3 + 1) % 12,
            deadline_ms: [2, 5, 10, 50][(n % 4) as usize],
            frames: 1 + u64::from(n % 3),
        })
    };
    let mut steps: Vec<Step> = adds(1, 24).collect();
    steps.push(Step::Adapt);
    steps.extend(adds(2, 60));
    steps.push(Step::Adapt);
    steps.extend(adds(3, 60));
    play(Method::Reserve, true, &steps).expect("every promise holds");
    play(Method::Budget, false, &steps).expect("every promise holds");
}
