//! Networks by chance, the same ones in every run.

use tenuto_bounds::{
    Bucket, GraphFlow, GraphServer, GraphTarget, GraphVisit, Multiplexing, RateLatency, ServerGraph,
};
use tenuto_units::Picos;

/// A small linear congruential generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit.max(1)
    }

    pub(crate) fn below_i128(&mut self, limit: i128) -> i128 {
        let fine = i128::try_from(self.below(1 << 30)).expect("30 bits");
        (limit * fine) >> 30
    }
}

/// What a random network has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) servers: usize,
    pub(crate) flows: usize,
    /// Paths may lead back to lower servers.
    pub(crate) is_cyclic: bool,
    pub(crate) multiplexing: Multiplexing,
    pub(crate) packet_ubit: i128,
}

/// Servers of 5 to 15 Mbit/s loaded to at most 85 %, flows on random trees, buckets of 1 to 3
/// packets; lines as fast as the servers, one packet more.
pub(crate) fn graph(shape: Shape, random: &mut Random) -> ServerGraph {
    let mut graph = ServerGraph { name: "random".into(), ..ServerGraph::default() };
    for index in 0..shape.servers {
        let rate_ubps = 1_000_000_000_000 * i128::try_from(5 + random.below(11)).expect("small");
        let latency = Picos(random.below_i128(200_000_000));
        let line =
            (random.below(3) > 0).then_some(Bucket { burst_ubit: shape.packet_ubit, rate_ubps });
        graph.servers.push(GraphServer {
            name: format!("s{index}"),
            service: vec![RateLatency { rate_ubps, latency }],
            line,
            multiplexing: shape.multiplexing,
            packet_ubit: shape.packet_ubit,
        });
    }
    for index in 0..shape.flows {
        graph.flows.push(flow(index, shape, random));
    }
    share_out(&mut graph);
    graph
}

fn flow(index: usize, shape: Shape, random: &mut Random) -> GraphFlow {
    let mut visits = vec![GraphVisit { server: random.below(shape.servers), parent: None }];
    for _ in 0..random.below(5) {
        // Mostly on from the last visit, sometimes a branch.
        let branch = random.below(visits.len());
        let parent = if random.below(4) > 0 { visits.len() - 1 } else { branch };
        let at = visits[parent].server;
        let server = if shape.is_cyclic {
            (at + 1 + random.below(2)) % shape.servers
        } else {
            at + 1 + random.below(2)
        };
        if server < shape.servers && visits.iter().all(|v| v.server != server) {
            visits.push(GraphVisit { server, parent: Some(parent) });
        }
    }
    let is_end = |visit: &usize| visits.iter().all(|v| v.parent != Some(*visit));
    let target = |visit: usize| GraphTarget {
        name: format!("t{visit}"),
        visit,
        deadline: None,
        constant: Picos(0),
    };
    let targets = (0..visits.len()).filter(is_end).map(target).collect();
    let burst = shape.packet_ubit * i128::try_from(1 + random.below(3)).expect("small");
    let mut arrival = vec![Bucket { burst_ubit: burst, rate_ubps: 1 }];
    if random.below(4) == 0 {
        // A peak as well: a packet, then so many times faster.
        arrival.push(Bucket { burst_ubit: shape.packet_ubit, rate_ubps: 4 });
    }
    GraphFlow { name: format!("f{index}"), arrival, visits, targets, is_lossy: false }
}

/// Gives every flow a rate, so that no server is loaded beyond 85 %.
fn share_out(graph: &mut ServerGraph) {
    let mut count = vec![0_i128; graph.servers.len()];
    for visit in graph.flows.iter().flat_map(|flow| &flow.visits) {
        count[visit.server] += 1;
    }
    let share =
        |server: usize| graph.servers[server].service[0].rate_ubps * 85 / 100 / count[server];
    let rates: Vec<i128> = graph
        .flows
        .iter()
        .map(|flow| flow.visits.iter().map(|v| share(v.server)).min().expect("a visit"))
        .collect();
    for (flow, rate) in graph.flows.iter_mut().zip(rates) {
        flow.arrival.iter_mut().for_each(|bucket| bucket.rate_ubps *= rate);
    }
}
