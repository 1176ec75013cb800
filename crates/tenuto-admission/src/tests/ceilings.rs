//! Ceilings keep room, whoever asks; and a portfolio takes what holds most of what is expected.

use super::networks::{chain, host, request};
use crate::{
    Ceilings, Decision, Kept, Method, Network, PortId, Refusal, Request, Reservation, Resource,
    best_for, narrowed,
};

fn line() -> Network {
    chain(3, 2, false, 100_000_000)
}

fn open(method: Method) -> Kept {
    Kept { method, reservation: Reservation::none(), ceilings: Ceilings::default() }
}

/// One long flow after the other, then short ones that need the same lines.
fn asked(network: &Network) -> Vec<Request> {
    let long = (0..40_u64).map(|id| request(id, host(network, 0), host(network, 4), 3));
    let short = (40..120_u64).map(|id| request(id, host(network, 2), host(network, 4), 3));
    long.chain(short).collect()
}

/// The line from the first to the second switch.
fn first_trunk(network: &Network) -> PortId {
    let mut ports = (0_u32..).map(PortId).zip(network.ports());
    let is_it = |(_, port): &(PortId, &crate::Port)| (port.from.0, port.to.0) == (0, 1);
    ports.find(is_it).map(|(id, _)| id).expect("a line has it")
}

fn closed(network: &Network, port: PortId) -> Ceilings {
    let mut ceilings = Ceilings::default();
    (0..network.port(port).queues).for_each(|queue| ceilings.set(port, queue, 0));
    ceilings
}

#[test]
fn nobody_crosses_a_server_with_a_ceiling_of_nothing() {
    let network = line();
    let trunk = first_trunk(&network);
    let kept = Kept { ceilings: closed(&network, trunk), ..open(Method::Exact) };
    let mut engine = kept.engine(network.clone());
    let Decision::Refused(Refusal::Scarce(scarce)) =
        engine.add(&request(1, host(&network, 0), host(&network, 4), 50))
    else {
        panic!("it has to cross the closed line")
    };
    assert_eq!((scarce.port, scarce.resource, scarce.available), (trunk, Resource::Delay, 0));
    let other = request(2, host(&network, 2), host(&network, 4), 50);
    assert!(matches!(engine.add(&other), Decision::Accepted(_)));
}

#[test]
fn no_delay_is_raised_beyond_its_ceiling() {
    let network = line();
    let trunk = first_trunk(&network);
    let mut ceilings = Ceilings::default();
    (0..4).for_each(|queue| ceilings.set(trunk, queue, 400_000));
    for method in [Method::Exact, Method::Reserve] {
        let limited = Kept { ceilings: ceilings.clone(), ..open(method) };
        let mut engine = limited.engine(network.clone());
        for one in asked(&network) {
            let _decision = engine.add(&one);
        }
        for queue in 0..4 {
            assert!(engine.reserved_ns(trunk, queue) <= 400_000, "{method:?} {queue}");
        }
        assert!(!engine.is_empty());
    }
}

#[test]
fn the_best_of_a_portfolio_holds_no_less_than_the_first() {
    let network = line();
    let lists = vec![asked(&network); 2];
    let shut = Kept { ceilings: closed(&network, first_trunk(&network)), ..open(Method::Exact) };
    let candidates = [open(Method::Exact), shut.clone(), open(Method::Reserve)];
    let best = best_for(&network, &candidates, &lists, &mut |_| {}).expect("there are candidates");
    let held: Vec<usize> = candidates.iter().map(|kept| kept.holds(&network, &lists)).collect();
    assert_eq!(best.holds(&network, &lists), held.iter().copied().max().expect("three"));
    let servers = [first_trunk(&network)];
    let mut told = Vec::new();
    let fewer = narrowed(&network, best.clone(), &servers, 10_000_000, &lists, &mut |done| {
        told.push(done);
    });
    assert_eq!(told, [0], "one server, none done before it");
    assert!(fewer.holds(&network, &lists) >= best.holds(&network, &lists));
    assert_eq!(best_for(&network, &[], &lists, &mut |_| {}), None);
}
