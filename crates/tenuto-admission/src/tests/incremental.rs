//! What the books keep from decision to decision against what is counted flow by flow, from the
//! flows and the reserved delays alone, after every single step.

use super::networks::{chain, host, request};
use crate::network::PortId;
use crate::{Decision, Engine, Method, Network, Request, Reservation, Visit};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tenuto_units::{Instant, Span};

#[derive(Clone, Debug)]
enum Step {
    Add { from: u32, to: u32, also: Option<u32>, deadline_ms: u64, frames: u64, bytes: u64 },
    Remove { nth: usize },
    Relax,
}

fn step() -> impl Strategy<Value = Step> {
    let add = (
        0_u32..12,
        0_u32..12,
        proptest::option::weighted(0.2, 0_u32..12),
        prop_oneof![Just(2_u64), Just(5), Just(10), Just(50)],
        1_u64..6,
        64_u64..1_530,
    );
    prop_oneof![
        6 => add.prop_map(|(from, to, also, deadline_ms, frames, bytes)| {
            Step::Add { from, to, also, deadline_ms, frames, bytes }
        }),
        2 => (0_usize..64).prop_map(|nth| Step::Remove { nth }),
        1 => Just(Step::Relax),
    ]
}

fn asked(network: &Network, id: u64, step: &Step) -> Option<Request> {
    let Step::Add { from, to, also, deadline_ms, frames, bytes } = step else { return None };
    let source = host(network, *from);
    let mut targets = vec![host(network, *to)];
    targets.extend(also.map(|also| host(network, also)).filter(|also| *also != targets[0]));
    let plain = request(id, source, targets[0], *deadline_ms);
    let (frame_bits, burst_bits) = (bytes * 8, bytes * 8 * frames);
    (!targets.contains(&source)).then_some(Request { targets, frame_bits, burst_bits, ..plain })
}

/// A port, the line that leads there, and the queue.
type Inflow = (PortId, Option<PortId>, u8);

/// Per port, line and queue: bursts in 10⁻⁹ bit, rate, largest frame; and per queue the least slack.
#[derive(Default)]
struct Naive {
    sums: BTreeMap<Inflow, (i128, i64, i64)>,
    slack_ns: BTreeMap<(PortId, u8), i64>,
}

fn naive(engine: &Engine) -> Naive {
    let network = engine.network();
    let mut naive = Naive::default();
    for (flow, visits) in engine.held() {
        let upstream = |at: usize| {
            let (mut sum, mut parent) = (0_i64, visits[at].parent);
            while let Some(at) = parent {
                let visit: Visit = visits[usize::from(at)];
                sum += engine.reserved_ns(visit.port, visit.queue);
                parent = visit.parent;
            }
            sum
        };
        let propagation = |at: usize| {
            let (mut sum, mut next) = (0_i64, u16::try_from(at).ok());
            while let Some(at) = next {
                let visit: Visit = visits[usize::from(at)];
                sum += i64::try_from(network.port(visit.port).propagation_ns).expect("small");
                next = visit.parent;
            }
            sum
        };
        // Fast by ρ, and as often as its period in whole nanoseconds allows.
        let ppm = 1_000_000 + u128::from(network.clock_tolerance_ppm());
        let burst = flow.burst_bits;
        let period_ns = u128::from(burst) * 1_000_000_000 / u128::from(flow.rate_bps);
        let asked = (u128::from(flow.rate_bps) * ppm).div_ceil(1_000_000);
        let rate = (u128::from(burst) * 1_000 * ppm).div_ceil(period_ns).max(asked);
        let rate = i64::try_from(rate).expect("small");
        let frame = i64::try_from(flow.frame_bits).expect("small");
        let deadline = i64::try_from(flow.deadline_ns).expect("small");
        let reached =
            |at: usize| upstream(at) + engine.reserved_ns(visits[at].port, visits[at].queue);
        let lasts = (0..visits.len()).filter(|at| visits[*at].is_last);
        let bound = lasts.map(|at| reached(at) + propagation(at)).max().expect("a target");
        assert!(bound <= deadline, "flow {} is promised {deadline}, reserved {bound}", flow.id);
        for (at, visit) in visits.iter().enumerate() {
            let from = visit.parent.map(|parent| visits[usize::from(parent)].port);
            let sum = naive.sums.entry((visit.port, from, visit.queue)).or_default();
            sum.0 +=
                i128::from(burst) * 1_000_000_000 + i128::from(rate) * i128::from(upstream(at));
            sum.1 += rate;
            sum.2 = sum.2.max(frame);
            // A raise here is borne by the targets behind this visit.
            let is_behind = |last: &usize| {
                let mut next = Some(*last);
                while let Some(place) = next.filter(|place| *place != at) {
                    next = visits[place].parent.map(usize::from);
                }
                next.is_some()
            };
            let behind = (0..visits.len()).filter(|last| visits[*last].is_last).filter(is_behind);
            let bound = behind.map(|last| reached(last) + propagation(last)).max();
            let slack = naive.slack_ns.entry((visit.port, visit.queue)).or_insert(i64::MAX);
            *slack = (*slack).min(deadline - bound.expect("a target"));
        }
    }
    naive
}

fn check(engine: &Engine) {
    let found = naive(engine);
    for ((port, from, queue), (burst, rate, frame)) in &found.sums {
        let group = engine.network().group_of(*from, *port);
        let sum = engine.curves_of(*port).groups[group].sums[usize::from(*queue)];
        assert_eq!((sum.burst_nbit, sum.rate_bps, sum.frame_bits), (*burst, *rate, *frame));
    }
    let rates: i64 = found.sums.values().map(|sum| sum.1).sum();
    let ports = (0_u32..).map(PortId).take(engine.network().ports().len());
    let kept: i64 = ports.map(|port| engine.curves_of(port).rate_up_to(7)).sum();
    assert_eq!(kept, rates, "a sum holds what no flow brings");
    for ((port, queue), slack) in &found.slack_ns {
        // What is known without looking may be less than what there is, and never more.
        assert!(engine.known_slack_ns(*port, *queue) <= *slack);
        let curves = engine.curves_of(*port);
        let (queue, delay) = (usize::from(*queue), engine.reserved_ns(*port, *queue));
        assert!(curves.holds(queue, delay), "x < F(x) at {port:?} {queue}");
        let room = i64::from(engine.network().port(*port).queue_bytes) * 8;
        // Frames stay for F(x), which is no more than x.
        let stay = curves.delay_ns(queue, delay).expect("it holds");
        assert!(curves.backlog_bits(queue, stay.min(delay)) <= room);
    }
}

fn play(method: Method, is_ring: bool, steps: &[Step]) {
    let network = chain(4, 3, is_ring, 100_000_000);
    let mut engine = Engine::new(network.clone(), method, Reservation::starting_on(&network));
    let mut now = Instant::ZERO;
    for (id, step) in (0_u64..).zip(steps) {
        match step {
            Step::Add { .. } => {
                let Some(asked) = asked(&network, id, step) else { continue };
                let before = engine.fingerprint();
                if let Decision::Refused(_) = engine.add(&asked) {
                    assert_eq!(engine.fingerprint(), before, "a refusal left something");
                }
            }
            Step::Remove { nth } => {
                let ids: Vec<u64> = engine.held().map(|(request, _)| request.id).collect();
                let Some(gone) = ids.get(nth % ids.len().max(1)) else { continue };
                assert!(engine.remove(*gone).is_ok());
                now = engine.confirm_removed(*gone, now).expect("it was asked for");
                assert_eq!(engine.advance(now), 1);
            }
            Step::Relax => {
                if let Some(due) = engine.relax(now) {
                    now = due;
                    engine.relax(now);
                }
            }
        }
        check(&engine);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn the_books_are_what_is_counted_flow_by_flow(
        steps in proptest::collection::vec(step(), 1..80),
        is_ring in any::<bool>(),
    ) {
        for method in [Method::Budget, Method::Exact, Method::Reserve] {
            play(method, is_ring, &steps);
        }
    }
}

/// Fills a line, empties it but for one flow, and looks at what that one is granted.
#[test]
fn after_removals_delays_come_down_again_round_by_round() {
    let network = chain(3, 2, false, 100_000_000);
    let mut engine =
        Engine::new(network.clone(), Method::Exact, Reservation::starting_on(&network));
    let flow = |id| Request {
        burst_bits: 306 * 8 * 3,
        ..request(id, host(&network, u32::try_from(id % 2).expect("small")), host(&network, 5), 50)
    };
    assert!(matches!(engine.add(&flow(0)), Decision::Accepted(_)));
    let alone = engine.bounds()[0].1;
    let held = (1..12).filter(|id| matches!(engine.add(&flow(*id)), Decision::Accepted(_)));
    let held: Vec<u64> = held.collect();
    assert!(held.len() > 4);
    let mut now = Instant::ZERO + Span::from_ms(1);
    for id in &held {
        assert_eq!(engine.remove(*id), Ok(()));
        now = engine.confirm_removed(*id, now).expect("asked for");
        engine.advance(now);
    }
    assert_eq!(engine.len(), 1);
    let crowded = engine.bounds()[0].1;
    assert!(crowded > alone * 3 / 2, "{crowded} against {alone}");
    let mut rounds = 0;
    while let Some(due) = engine.relax(now) {
        if due == now {
            break;
        }
        let before = engine.fingerprint();
        assert_eq!(engine.relax(due.saturating_sub(Span::from_ns(1))), Some(due));
        assert_eq!(engine.fingerprint(), before, "one nanosecond early is early");
        check(&engine);
        now = due;
        rounds += 1;
        assert!(rounds < 100);
    }
    let at_last = engine.bounds()[0].1;
    assert!(at_last <= alone + alone / 20, "{at_last} against {alone}");
}

/// A flow accepted while another drains prolongs the busy periods that have to end.
#[test]
fn what_is_accepted_while_a_flow_drains_is_waited_for() {
    let network = chain(2, 1, false, 100_000_000);
    let mut engine =
        Engine::new(network.clone(), Method::Exact, Reservation::starting_on(&network));
    let light = request(1, host(&network, 0), host(&network, 1), 50);
    let heavy = Request { burst_bits: 8_000 * 8, ..request(2, light.source, light.targets[0], 50) };
    assert!(matches!(engine.add(&light), Decision::Accepted(_)));
    let at = Instant::ZERO + Span::from_ms(1);
    assert_eq!(engine.remove(1), Ok(()));
    let first = engine.confirm_removed(1, at).expect("asked for");
    assert!(matches!(engine.add(&heavy), Decision::Accepted(_)));
    assert_eq!(engine.advance(first), 0, "the burst of 8000 B is still before the last frame");
    assert_eq!(engine.advance(first + Span::from_ms(10)), 1);
}
