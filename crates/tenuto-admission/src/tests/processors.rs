//! Switches with a shared processor: what one is worth, and that nothing is taken for line rate.

use super::networks::{host, request};
use crate::audit::{Claim, audit};
use crate::{
    Decision, Engine, Method, Network, NetworkError, Node, NodeId, Port, Processor, Refusal,
    Request, Reservation, Visit,
};

const FRAME: u32 = 306;
/// The Zodiac FX for 306 B and 17 entries ([Loko] section 6).
const ZODIAC: Processor = Processor {
    rate_bps: 11_800_000,
    latency_ns: 464_000,
    room_frames: 9,
    frame_bytes: FRAME,
    output_bps: 100_000_000,
};

/// Switches in a line, two hosts at each.
fn line(switches: u32, processors: &[Option<Processor>]) -> Result<Network, NetworkError> {
    let mut nodes: Vec<Node> =
        (0..switches).map(|at| Node { name: format!("s{at}"), is_switch: true }).collect();
    let mut ports = Vec::new();
    let mut join = |a: u32, b: u32| {
        for (from, to) in [(a, b), (b, a)] {
            ports.push(Port {
                from: NodeId(from),
                to: NodeId(to),
                rate_bps: 100_000_000,
                propagation_ns: 0,
                queues: 1,
                queue_bytes: 100_000,
                blocking_bytes: FRAME,
            });
        }
    };
    (1..switches).for_each(|at| join(at - 1, at));
    for at in 0..2 * switches {
        nodes.push(Node { name: format!("h{at}"), is_switch: false });
        join(switches + at, at / 2);
    }
    Network::with_processors(nodes, ports, processors)
}

/// The nodes behind processors are no hosts: those stand where they stood.
fn end(switches: u32, at: u32) -> NodeId {
    NodeId(switches + at)
}

fn filled(method: Method, network: &Network) -> (Engine, u64) {
    let mut engine = Engine::new(network.clone(), method, Reservation::starting_on(network));
    let ask = |id: u64| {
        let at = u32::try_from(id).expect("small");
        request(id, end(3, at % 2), end(3, 4 + at % 2), 6)
    };
    let accepted =
        (0..40).filter(|id| matches!(engine.add(&ask(*id)), Decision::Accepted(_))).count();
    (engine, accepted as u64)
}

#[test]
fn a_processor_holds_what_its_rate_and_room_allow() {
    let network = line(3, &[Some(ZODIAC); 3]).expect("consistent");
    for method in [Method::Budget, Method::Exact, Method::Reserve] {
        let (engine, accepted) = filled(method, &network);
        // 0.9 Mbit/s each: 13 fill the processor's rate; nine frames its room.
        assert!((2..=9).contains(&accepted), "{method:?} {accepted}");
        let held: Vec<(Request, Vec<Visit>)> =
            engine.held().map(|(request, visits)| (request.clone(), visits)).collect();
        let claims: Vec<Claim<'_>> =
            held.iter().map(|(request, visits)| Claim { request, visits }).collect();
        let found = audit(&network, &claims);
        assert!(found.is_kept(), "{:?} {:?}", found.late, found.full);
        for (_, visits) in &held {
            let processors = visits.iter().filter(|visit| network.is_processor(visit.port));
            assert_eq!(processors.count(), 3, "one per switch, once");
        }
    }
}

#[test]
fn one_flow_alone_waits_for_the_latency_of_each_processor() {
    let network = line(3, &[Some(ZODIAC); 3]).expect("consistent");
    let mut engine =
        Engine::new(network.clone(), Method::Exact, Reservation::starting_on(&network));
    let Decision::Accepted(grant) = engine.add(&request(1, end(3, 0), end(3, 4), 50)) else {
        panic!("an empty network")
    };
    // T and one frame at R per switch (its burst grows by r·ΣD), and a frame behind another on each
    // of four lines.
    let processor_ns = 464_000 + 306 * 8 * 1_000 / 118 * 10;
    let least = 3 * processor_ns + 4 * 2 * 306 * 8 * 10;
    assert!((least..least + least / 4).contains(&grant.bound_ns), "{} {least}", grant.bound_ns);
}

#[test]
fn other_frames_than_those_measured_are_refused() {
    let network = line(2, &[Some(ZODIAC), None]).expect("consistent");
    let mut engine =
        Engine::new(network.clone(), Method::Reserve, Reservation::starting_on(&network));
    let known = request(1, end(2, 0), end(2, 3), 50);
    let short = Request { frame_bits: 64 * 8, burst_bits: 64 * 8, ..known.clone() };
    assert!(matches!(engine.add(&short), Decision::Refused(Refusal::OutOfRange(_))));
    assert!(matches!(engine.add(&known), Decision::Accepted(_)));
}

#[test]
fn processors_that_do_not_go_together_are_refused() {
    let other = Processor { frame_bytes: 64, ..ZODIAC };
    let sizes = NetworkError::FrameSizes { one: FRAME, other: 64 };
    assert_eq!(line(2, &[Some(ZODIAC), Some(other)]), Err(sizes));
    let at_a_host = line(2, &[None, None, Some(ZODIAC)]);
    assert_eq!(at_a_host, Err(NetworkError::NoSwitch { node: 2 }));
    let plain = line(2, &[]).expect("consistent");
    assert_eq!(host(&plain, 0), end(2, 0));
}
