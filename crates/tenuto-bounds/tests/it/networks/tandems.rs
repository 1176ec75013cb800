//! SFA-FIFO and LUDB as their papers define them, for graphs without cycles and without lines: one
//! rate-latency per server, one bucket per flow, no packets. Naive, in floating point.
//!
//! Cross traffic is bounded as in [SSB22]: flows that come over one server and go the same way on
//! are one aggregate, followed back as far as they have one way.

use std::collections::{BTreeMap, BTreeSet};
use tenuto_bounds::ServerGraph;

/// Steps of a search for the best θ of an aggregate, each of which leaves two thirds of a range.
const STEPS: usize = 24;
/// Where such a search ends, as a share of what the service without it gives.
const RANGE: f64 = 1.0;
/// Rounds of such searches, one aggregate after the other.
const ROUNDS: usize = 3;
/// Aggregates of a segment up to which θ is tried at all.
const SEARCHED_MAX: usize = 6;
/// Servers of a path up to which it is cut in every way.
const CUT_SERVERS_MAX: usize = 6;

/// A flow over a part of a tandem: (first, last), burst, rate.
type Cross = ((usize, usize), f64, f64);

/// A latency and, behind it, the least of some buckets [LMS08].
#[derive(Clone, Debug)]
struct PseudoAffine {
    latency: f64,
    stages: Vec<(f64, f64)>,
}

impl PseudoAffine {
    /// How long a burst takes.
    fn delay(&self, burst: f64) -> f64 {
        let stage = |&(start, rate): &(f64, f64)| (burst - start).max(0.0) / rate;
        self.latency + self.stages.iter().map(stage).fold(0.0, f64::max)
    }

    fn then(mut self, other: Self) -> Self {
        self.latency += other.latency;
        self.stages.extend(other.stages);
        self
    }

    /// What is left behind θ = the delay of the cross flow and `more`.
    fn residual(&self, burst: f64, rate: f64, more: f64) -> Self {
        let wait = self.delay(burst) - self.latency + more;
        let stage = |&(start, r): &(f64, f64)| (r * (wait - (burst - start) / r), r - rate);
        let stages = self.stages.iter().map(stage).collect();
        Self { latency: self.latency + wait, stages }
    }
}

/// A graph in floating point, with what is known of its aggregates.
pub(crate) struct Tandems {
    /// Latency and rate.
    servers: Vec<(f64, f64)>,
    /// Burst, rate and path.
    flows: Vec<(f64, f64, Vec<usize>)>,
    bursts: BTreeMap<(Vec<usize>, usize, bool), f64>,
}

impl Tandems {
    pub(crate) fn new(graph: &ServerGraph) -> Self {
        let server = |s: &tenuto_bounds::GraphServer| {
            (s.service[0].latency.0 as f64 / 1e12, s.service[0].rate_ubps as f64 / 1e6)
        };
        let flow = |f: &tenuto_bounds::GraphFlow| {
            let bucket = f.arrival[0];
            let path = f.visits.iter().map(|visit| visit.server).collect();
            (bucket.burst_ubit as f64 / 1e6, bucket.rate_ubps as f64 / 1e6, path)
        };
        Self {
            servers: graph.servers.iter().map(server).collect(),
            flows: graph.flows.iter().map(flow).collect(),
            bursts: BTreeMap::new(),
        }
    }

    /// Residual services of single servers behind each other, seconds.
    pub(crate) fn sfa_fifo(&mut self, flow: usize) -> f64 {
        let (burst, _, path) = self.flows[flow].clone();
        let (mut latency, mut least) = (0.0, f64::INFINITY);
        for &server in &path {
            let cross: Vec<usize> = self.at(server, &BTreeSet::from([flow]));
            let (own_latency, rate) = self.servers[server];
            latency += own_latency + self.arrival(&cross, server, false) / rate;
            least = least.min(rate - self.rate(&cross));
        }
        latency + burst / least
    }

    /// The least over all ways to cut the path of residual services of nested segments, seconds.
    pub(crate) fn ludb(&mut self, flow: usize) -> f64 {
        let path = self.flows[flow].2.clone();
        let own = vec![flow];
        self.cuts(&path)
            .into_iter()
            .map(|cut| self.along(&own, &cut).0)
            .fold(f64::INFINITY, f64::min)
    }

    fn rate(&self, flows: &[usize]) -> f64 {
        flows.iter().map(|&flow| self.flows[flow].1).sum()
    }

    fn at(&self, server: usize, but: &BTreeSet<usize>) -> Vec<usize> {
        let visits = |flow: &usize| self.flows[*flow].2.contains(&server) && !but.contains(flow);
        (0..self.flows.len()).filter(visits).collect()
    }

    /// The server of a flow in front of another.
    fn before(&self, flow: usize, server: usize) -> Option<usize> {
        let path = &self.flows[flow].2;
        let place = path.iter().position(|&s| s == server)?;
        place.checked_sub(1).map(|place| path[place])
    }

    /// The burst of an aggregate where it comes to a server.
    fn arrival(&mut self, flows: &[usize], server: usize, is_ludb: bool) -> f64 {
        let mut by_server: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for &flow in flows {
            by_server.entry(self.before(flow, server)).or_default().push(flow);
        }
        let mut sum = 0.0;
        for (from, flows) in by_server {
            sum += match from {
                Some(from) => self.output(&flows, from, is_ludb),
                None => flows.iter().map(|&flow| self.flows[flow].0).sum(),
            };
        }
        sum
    }

    /// The burst of an aggregate behind a server that all of it visits.
    fn output(&mut self, flows: &[usize], server: usize, is_ludb: bool) -> f64 {
        let key = (flows.to_vec(), server, is_ludb);
        if let Some(&known) = self.bursts.get(&key) {
            return known;
        }
        let burst = match is_ludb {
            false => {
                let cross = self.at(server, &flows.iter().copied().collect());
                let (latency, rate) = self.servers[server];
                let wait = latency + self.arrival(&cross, server, false) / rate;
                self.arrival(flows, server, false) + self.rate(flows) * wait
            }
            true => {
                let mut path = vec![server];
                while let Some(before) = self.before(flows[0], path[0])
                    && flows.iter().all(|&flow| self.before(flow, path[0]) == Some(before))
                {
                    path.insert(0, before);
                }
                let cuts = self.cuts(&path);
                cuts.into_iter().map(|cut| self.along(flows, &cut).1).fold(f64::INFINITY, f64::min)
            }
        };
        self.bursts.insert(key, burst);
        burst
    }

    /// All ways to cut a path, of a long one those with one cut at most and that at every server.
    fn cuts(&self, path: &[usize]) -> Vec<Vec<Vec<usize>>> {
        let places = path.len() - 1;
        let cut = |mask: usize| {
            let mut parts = vec![vec![path[0]]];
            for place in 0..places {
                if mask >> place & 1 == 1 {
                    parts.push(Vec::new());
                }
                parts.last_mut().expect("a part").push(path[place + 1]);
            }
            parts
        };
        match path.len() <= CUT_SERVERS_MAX {
            true => (0..1 << places).map(cut).collect(),
            false => [0, (1 << places) - 1]
                .into_iter()
                .chain((0..places).map(|place| 1 << place))
                .map(cut)
                .collect(),
        }
    }

    /// Delay and burst of an aggregate along segments; infinite if one is not nested.
    fn along(&mut self, flows: &[usize], segments: &[Vec<usize>]) -> (f64, f64) {
        let rate = self.rate(flows);
        let mut burst = self.arrival(flows, segments[0][0], true);
        let mut delay = 0.0;
        for segment in segments {
            let cross = self.cross(flows, segment);
            let crossing = |a: &Cross, b: &Cross| a.0.0 < b.0.0 && b.0.0 <= a.0.1 && a.0.1 < b.0.1;
            if cross.iter().any(|a| cross.iter().any(|b| crossing(a, b))) {
                return (f64::INFINITY, f64::INFINITY);
            }
            delay += self.least(segment, &cross, &|of| of.delay(burst));
            burst += rate * self.least(segment, &cross, &|of| of.latency);
        }
        (delay, burst)
    }

    /// Cross traffic of a segment, one for each part of it that some flows share.
    fn cross(&mut self, flows: &[usize], segment: &[usize]) -> Vec<Cross> {
        let own: BTreeSet<usize> = flows.iter().copied().collect();
        let mut parts: BTreeMap<(usize, usize), BTreeSet<usize>> = BTreeMap::new();
        for (first, &server) in segment.iter().enumerate() {
            for flow in self.at(server, &own) {
                let path = &self.flows[flow].2;
                let place = path.iter().position(|&s| s == server).expect("it is there");
                let comes_along = first > 0 && place > 0 && path[place - 1] == segment[first - 1];
                if comes_along {
                    continue;
                }
                let same = path[place..].iter().zip(&segment[first..]).take_while(|(a, b)| a == b);
                parts.entry((first, first + same.count() - 1)).or_default().insert(flow);
            }
        }
        let mut cross = Vec::new();
        for (part, flows) in parts {
            let flows: Vec<usize> = flows.into_iter().collect();
            let burst = self.arrival(&flows, segment[part.0], true);
            cross.push((part, burst, self.rate(&flows)));
        }
        cross
    }

    /// The least of a measure of the service of a segment, θ searched one after the other.
    fn least(&self, segment: &[usize], cross: &[Cross], of: &dyn Fn(&PseudoAffine) -> f64) -> f64 {
        let mut more = vec![0.0; cross.len()];
        let whole = (0, segment.len() - 1);
        let measure = |more: &[f64]| of(&self.service(segment, cross, more, whole, None));
        let mut best = (measure(&more), more.clone());
        if cross.len() > SEARCHED_MAX {
            return best.0;
        }
        for _ in 0..ROUNDS {
            for index in 0..cross.len() {
                let (mut low, mut high) = (0.0, RANGE * best.0);
                let mut at = |theta: f64| {
                    more[index] = theta;
                    let found = measure(&more);
                    if found < best.0 {
                        best = (found, more.clone());
                    }
                    found
                };
                for _ in 0..STEPS {
                    let third = (high - low) / 3.0;
                    match at(low + third) <= at(high - third) {
                        true => high -= third,
                        false => low += third,
                    }
                }
                more.clone_from(&best.1);
            }
        }
        best.0
    }

    /// What cross traffic within a part leaves, but for the flow `around` all of that part.
    fn service(
        &self,
        segment: &[usize],
        cross: &[Cross],
        more: &[f64],
        part: (usize, usize),
        around: Option<usize>,
    ) -> PseudoAffine {
        let inside = |&index: &usize| {
            let (first, last) = cross[index].0;
            let is_smaller =
                Some(index) != around && around.is_none_or(|a| cross[a].0 != cross[index].0);
            is_smaller && part.0 <= first && last <= part.1
        };
        let within: Vec<usize> = (0..cross.len()).filter(inside).collect();
        let mut sum = PseudoAffine { latency: 0.0, stages: Vec::new() };
        let mut at = part.0;
        while at <= part.1 {
            let widest =
                within.iter().filter(|&&i| cross[i].0.0 == at).max_by_key(|&&i| cross[i].0.1);
            match widest {
                Some(&index) => {
                    let ((first, last), burst, rate) = cross[index];
                    let inner = self.service(segment, cross, more, (first, last), Some(index));
                    sum = sum.then(inner.residual(burst, rate, more[index]));
                    at = last + 1;
                }
                None => {
                    let (latency, rate) = self.servers[segment[at]];
                    sum = sum.then(PseudoAffine { latency, stages: vec![(0.0, rate)] });
                    at += 1;
                }
            }
        }
        sum
    }
}
