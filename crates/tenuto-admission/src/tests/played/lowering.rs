//! A directed attack on lowering: frames that a flow held back before it went are still on a long
//! cable when it is free. They come in a bunch where another flow's burst meets them, and wait
//! for longer than the flows that are left could ever make them.

use super::{Draws, Event, Live, NBIT, World};
use crate::{
    Decision, Engine, Method, Network, Node, NodeId, Port, Pricing, QUEUES_MAX, Request,
    Reservation, Share,
};
use tenuto_units::{Instant, Span};

const RATE_BPS: u64 = 100_000_000;
const CABLE_NS: i64 = 50_000_000;
const FRAME_BITS: u64 = 1_500 * 8;

/// s0 - s1 -long- s2; A and B at s0, D at s1, H and T at s2.
fn network() -> Network {
    let names = ["s0", "s1", "s2", "A", "B", "D", "H", "T"];
    let node = |name: &&str| Node { name: (*name).into(), is_switch: name.starts_with('s') };
    let links = [(0, 1, 100), (1, 2, CABLE_NS), (3, 0, 100), (4, 0, 100), (5, 1, 100)];
    let links = links.into_iter().chain([(6, 2, 100), (7, 2, 100)]);
    let port = |(from, to, ns): (u32, u32, i64)| Port {
        from: NodeId(from),
        to: NodeId(to),
        rate_bps: RATE_BPS,
        propagation_ns: u64::try_from(ns).expect("positive"),
        queues: if from < 3 { 4 } else { 1 },
        queue_bytes: 400_000,
        blocking_bytes: 1_530,
    };
    let ports = links.flat_map(|(a, b, ns)| [port((a, b, ns)), port((b, a, ns))]);
    Network::new(names.iter().map(node).collect(), ports.collect()).expect("consistent")
}

/// The second queue is the cheapest, the first the fastest. On trunks the second is kept for 0.7 ms.
fn reservation() -> Reservation {
    let share = |delay_ns: i64, cost| Share { delay_ns, cost };
    let shares = |second_ns: i64| {
        let mut shares = [share(900_000_000, 9); QUEUES_MAX];
        (shares[0], shares[1]) = (share(0, 5), share(second_ns, 1));
        shares
    };
    Reservation {
        source: share(0, 0),
        trunk: shares(700_000),
        edge: shares(0),
        processor: share(0, 0),
        headroom_percent: 0,
        pricing: Pricing::ByShare,
        yielding: crate::Yielding::Nothing,
    }
}

fn flow(id: u64, ends: (u32, u32), rate_bps: u64, frames: u64, deadline_us: u64) -> Request {
    Request {
        id,
        source: NodeId(ends.0),
        targets: vec![NodeId(ends.1)],
        rate_bps,
        burst_bits: frames * FRAME_BITS,
        frame_bits: FRAME_BITS,
        deadline_ns: deadline_us * 1_000,
    }
}

struct Attack {
    engine: Engine,
    world: World,
    draws: Draws,
}

impl Attack {
    /// Held, and sending whenever it is told to.
    fn add(&mut self, request: Request) -> usize {
        let Decision::Accepted(grant) = self.engine.add(&request) else {
            panic!("flow {} fits", request.id)
        };
        let burst = i64::try_from(request.burst_bits).expect("small") * NBIT;
        let meter_nbit = i128::from(grant.meter.burst_bits) * i128::from(NBIT);
        self.world.lives.push(Live {
            request,
            visits: grant.visits,
            tokens: (burst, 0),
            meter: grant.meter,
            passing: (meter_nbit, 0),
            as_asked: (i128::from(burst), 0),
            stops_ns: i64::MAX,
        });
        self.world.lives.len() - 1
    }

    fn send(&mut self, live: usize, at_ns: i64) {
        self.world.at(at_ns, &mut self.draws, Event::Send { live });
    }

    /// What is reserved at the last queue of a flow,
    fn reserved_ns(&self, live: usize) -> i64 {
        let last = self.world.lives[live].visits.last().expect("a target");
        self.engine.reserved_ns(last.port, last.queue)
    }

    /// and the longest that a frame has stayed there.
    fn stayed_ns(&self, live: usize) -> i64 {
        let last = self.world.lives[live].visits.last().expect("a target");
        self.world.longest_ns[&(last.port, last.queue)]
    }
}

fn instant(ns: i64) -> Instant {
    Instant::ZERO + Span::from_ns(u64::try_from(ns).expect("positive"))
}

#[test]
fn frames_on_a_long_cable_are_waited_for_before_anything_is_lowered() {
    let network = network();
    let mut attack = Attack {
        engine: Engine::new(network.clone(), Method::Reserve, reservation()),
        world: World::new(network),
        draws: Draws::new(1),
    };
    let steady = attack.add(flow(1, (4, 7), 50_000_000, 1, 300_000));
    let meeting = attack.add(flow(2, (6, 7), 1_000_000, 36, 300_000));
    let urgent = attack.add(flow(3, (3, 5), 1_000_000, 30, 4_500));
    let first_queue = attack.world.lives[urgent].visits[1];
    assert_eq!((attack.world.lives[steady].visits[1].queue, first_queue.queue), (1, 0));
    // The urgent burst goes, for 3.6 ms, and what the steady flow sends meanwhile stays behind it.
    let burst_ns = 30 * 12_000 * super::NS_PER_BIT;
    let sent_ns = 1_000_000;
    attack.send(urgent, sent_ns);
    for frame in 0..60 {
        attack.send(steady, frame * 240_000);
    }
    attack.world.lives[urgent].stops_ns = sent_ns + 1;
    assert!(attack.engine.remove(3).is_ok());
    let since = instant(sent_ns + 1);
    let free = attack.engine.confirm_removed(3, since).expect("it was asked for");
    // The bunch is on the cable when the urgent flow is free.
    let gathered_ns = sent_ns + burst_ns + 500_000;
    let free_ns = i64::try_from(free.as_ns()).expect("small");
    assert!((gathered_ns..CABLE_NS).contains(&free_ns), "{free_ns}");
    attack.world.run(free_ns, &attack.engine, &mut attack.draws);
    assert_eq!(attack.engine.advance(free), 1);
    let before_ns = attack.reserved_ns(steady);
    let due = attack.engine.relax(free).expect("there is much to lower");
    let due_ns = i64::try_from(due.as_ns()).expect("small");
    // Another burst meets it at the last port; meanwhile lowering is asked for all the time.
    attack.send(meeting, gathered_ns + CABLE_NS);
    for now_ns in (free_ns..due_ns).step_by(1_000_000) {
        attack.engine.relax(instant(now_ns));
        attack.world.run(now_ns, &attack.engine, &mut attack.draws);
    }
    let stayed_ns = attack.stayed_ns(steady);
    let mut now = due;
    while let Some(next) = attack.engine.relax(now) {
        now = next;
    }
    let after_ns = attack.reserved_ns(steady);
    assert!(stayed_ns > after_ns, "{stayed_ns} ns, within {after_ns} ns too: no attack");
    assert!(stayed_ns <= before_ns);
}
