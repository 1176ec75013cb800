//! Bounds on server graphs: the document is read, and every claim in it is rebuilt
//! (docs/theory/end-to-end.md).

use super::description;
use super::read::{Bound, Document};
use crate::digest::Compact;
use crate::finding::{Finding, Findings, rule};
use crate::kernel::exact::Curve;
use crate::kernel::server_graph::{FINE, Multiplexing, Net, Objective, Proof, Stop, proved};
use crate::text;
use num_bigint::BigInt;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

const SCHEMA: &str = "tenuto-bounds/1";

/// Bounds of a server graph whose every claim was rebuilt and holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BoundsCertificate {
    /// SHA-256 of the description in compact JSON, hex.
    pub description_digest: String,
    /// SHA-256 of the document in compact JSON with an empty `plan_hash`, hex.
    pub plan_hash: String,
    /// Name of the graph.
    pub network: String,
    /// Servers whose delay x ≥ F(x) was shown.
    pub servers_checked: usize,
    /// Bursts inside the network that were proved.
    pub bursts_checked: usize,
    /// Flows and targets with a bound that holds.
    pub bounds_checked: usize,
    /// Those of them with a linear proof.
    pub linear_proofs: usize,
    /// Flows and targets for which no bound is claimed.
    pub unbounded: usize,
    /// Targets whose bound exceeds their deadline, or that have a deadline and no bound.
    pub deadlines_missed: usize,
}

impl fmt::Display for BoundsCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: every bound holds", self.network)?;
        writeln!(
            f,
            "{} bounds ({} with a linear proof), {} server delays, {} bursts; {} without a bound, \
             {} past a deadline",
            self.bounds_checked,
            self.linear_proofs,
            self.servers_checked,
            self.bursts_checked,
            self.unbounded,
            self.deadlines_missed
        )?;
        writeln!(f, "description {}", self.description_digest)?;
        write!(f, "plan        {}", self.plan_hash)
    }
}

/// Checks the text of bounds on a server graph.
///
/// # Errors
/// Every claim that does not follow from the description; one finding if the text is no such
/// document.
pub fn certify_bounds(json: &str) -> Result<BoundsCertificate, Vec<Finding>> {
    let findings = Findings::default();
    let nothing = BoundsCertificate::default();
    if !text::is_readable(json, "bounds", &findings) {
        return findings.into_result(nothing);
    }
    let document: Document = match serde_json::from_str(json) {
        Ok(document) => document,
        Err(error) => {
            findings.add(rule::FORMAT, "bounds", "bounds in JSON", error);
            return findings.into_result(nothing);
        }
    };
    if document.schema != SCHEMA {
        findings.add(rule::FORMAT, "schema", &document.schema, SCHEMA);
    }
    let compact = Compact::of_member(json, "description");
    compact.compare(&document.description_digest, &document.plan_hash, &findings);
    description::names(&document.description, &findings);
    let Some(net) = net_of(&document, &findings) else {
        return findings.into_result(nothing);
    };
    let mut certificate = BoundsCertificate {
        description_digest: document.description_digest.clone(),
        plan_hash: document.plan_hash.clone(),
        network: document.description.name.clone(),
        ..nothing
    };
    let check = Check { document: &document, net: &net, findings: &findings };
    check.lines();
    certificate.servers_checked = check.servers();
    certificate.bursts_checked = check.bursts();
    check.bounds(&mut certificate);
    findings.into_result(certificate)
}

fn net_of<'a>(document: &'a Document, findings: &Findings) -> Option<Net<'a>> {
    let before = findings.len();
    description::check(&document.description, findings);
    description::claims(document, findings);
    let claimed = (document.server_delays_ps.as_slice(), document.bursts.as_slice());
    let net = || Net::new(&document.description, claimed, document.line_shaping);
    (findings.len() == before).then(net)
}

struct Check<'a> {
    document: &'a Document,
    net: &'a Net<'a>,
    findings: &'a Findings,
}

impl Check<'_> {
    /// No claim is of or behind a server whose line is to carry more than it can.
    fn lines(&self) {
        if !self.document.line_shaping {
            return;
        }
        let graph = self.net.graph;
        let choked = description::choked(graph);
        let found = "the line behind a server carries less than what is to cross it";
        for &server in choked.iter().filter(|&&server| self.net.delay(server).is_some()) {
            self.findings.add(rule::OVERLOAD, &graph.servers[server].name, "a delay", found);
        }
        let known = |bound: &&Bound| {
            let flow = graph.flows.get(bound.flow);
            flow.is_some_and(|flow| bound.target < flow.targets.len())
        };
        let bounded = |bound: &&Bound| bound.delay_bound_ps.is_some();
        for bound in self.document.bounds.iter().filter(known).filter(bounded) {
            if self.way(bound).iter().any(|server| choked.contains(server)) {
                let name = &graph.flows[bound.flow].name;
                self.findings.add(rule::OVERLOAD, name, "a bound", found);
            }
        }
        for claim in &self.document.bursts {
            let flow = &graph.flows[claim.flow];
            let up = |&visit: &usize| flow.visits[visit].parent;
            let mut before = std::iter::successors(up(&claim.visit), up);
            if before.any(|visit| choked.contains(&flow.visits[visit].server)) {
                self.findings.add(rule::OVERLOAD, &flow.name, "a burst", found);
            }
        }
    }

    /// x ≥ F(x) at every server with a claim.
    fn servers(&self) -> usize {
        let is_cyclic = self.is_cyclic();
        let mut checked = 0;
        for server in 0..self.net.graph.servers.len() {
            let Some(claim) = self.net.delay(server) else { continue };
            checked += 1;
            let name = &self.net.graph.servers[server].name;
            let grown = |stop: Stop| {
                let by = self.net.before(stop)?;
                Some(self.net.source(stop.0, by))
            };
            let Some(arrivals) = self.net.arrivals(server, &grown) else {
                let found = "a flow there has no bound before";
                self.findings.add(rule::SERVICE, name, format!("{claim} ps"), found);
                continue;
            };
            let holds = |arrivals: &Curve, delay: i128| {
                let service = self.net.service(server, BigInt::ZERO);
                match self.net.graph.servers[server].multiplexing {
                    Multiplexing::Fifo => service.keeps_up(arrivals, delay),
                    Multiplexing::Arbitrary => service.catches_up(arrivals, delay),
                }
            };
            if !holds(&arrivals, claim) {
                self.findings.add(rule::SERVICE, name, format!("{claim} ps"), "more is possible");
            }
            // Around a cycle the claims bound each other: they need a positive start, or slack.
            if is_cyclic && !holds(&arrivals, claim.saturating_sub(1)) {
                let fresh = |stop: Stop| Some(self.net.source(stop.0, &BigInt::ZERO));
                let start = self.net.arrivals(server, &fresh);
                if start.is_none_or(|start| holds(&start, 0)) {
                    let found = "in a cycle, without a positive least delay and without slack";
                    self.findings.add(rule::SERVICE, name, format!("{claim} ps"), found);
                }
            }
        }
        checked
    }

    /// Whether data may return to a server with a claim.
    fn is_cyclic(&self) -> bool {
        let servers = self.net.graph.servers.len();
        let mut upstream: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); servers];
        for (server, stops) in self.net.stops.iter().enumerate() {
            let from = stops.iter().filter_map(|stop| self.net.earlier(*stop).map(|(_, s)| s));
            upstream[server].extend(from);
        }
        let mut downstream = vec![Vec::new(); servers];
        for (server, from) in upstream.iter().enumerate() {
            from.iter().for_each(|&from| downstream[from].push(server));
        }
        let mut waiting: Vec<usize> = upstream.iter().map(BTreeSet::len).collect();
        let mut ready: Vec<usize> = (0..servers).filter(|&s| waiting[s] == 0).collect();
        let mut done = 0;
        while let Some(server) = ready.pop() {
            done += 1;
            for &next in &downstream[server] {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    ready.push(next);
                }
            }
        }
        done < servers
    }

    /// Every burst is strictly more than the others allow: so none can be exceeded first.
    fn bursts(&self) -> usize {
        for claim in &self.document.bursts {
            let place = format!("burst of flow {}, visit {}", claim.flow, claim.visit);
            let said = format!("{} ubit", claim.bucket.burst_ubit);
            let Some((stop, server)) = self.net.earlier((claim.flow, claim.visit)) else {
                self.findings.add(rule::LINEAR, place, said, "it is the flow's first visit");
                continue;
            };
            if claim.proof.nodes.first().map(|root| root.server) != Some(server) {
                self.findings.add(rule::LINEAR, place, said, "its proof has another root");
                continue;
            }
            match proved(self.net, &claim.proof, Objective::Burst { stop }) {
                Ok(proved) if proved.rate > claim.bucket.rate_ubps.into() => {
                    self.findings.add(rule::LINEAR, place, said, "the rate is higher");
                }
                Ok(proved) if proved.most >= BigInt::from(claim.bucket.burst_ubit) * FINE => {
                    let found = format!("{} times 10^-18 bit", proved.most);
                    self.findings.add(rule::LINEAR, place, said, found);
                }
                Ok(_) => {}
                Err(flaw) => self.findings.add(rule::LINEAR, place, said, flaw),
            }
        }
        self.document.bursts.len()
    }

    fn bounds(&self, certificate: &mut BoundsCertificate) {
        let mut seen = BTreeSet::new();
        for bound in &self.document.bounds {
            let flow = self.net.graph.flows.get(bound.flow);
            let Some(target) = flow.and_then(|flow| flow.targets.get(bound.target)) else {
                let place = format!("flow {}, target {}", bound.flow, bound.target);
                self.findings.add(rule::FORMAT, place, "a bound", "no such flow or target");
                continue;
            };
            let place = format!("{} to {}", flow.map_or("", |flow| &flow.name), target.name);
            if !seen.insert((bound.flow, bound.target)) {
                self.findings.add(rule::FORMAT, &place, "a bound", "it stands there twice");
            }
            let Some(claim) = bound.delay_bound_ps else {
                certificate.unbounded += 1;
                certificate.deadlines_missed += usize::from(target.deadline_ps.is_some());
                continue;
            };
            let is_late = target.deadline_ps.is_some_and(|deadline| deadline < claim);
            certificate.deadlines_missed += usize::from(is_late);
            certificate.bounds_checked += 1;
            certificate.linear_proofs += usize::from(bound.proof.is_some());
            let most = match &bound.proof {
                Some(proof) => self.linear(bound, proof),
                None => self.sum(bound),
            };
            let said = format!("{claim} ps");
            match most.map(|most| most + target.constant_ps) {
                Ok(most) if most > claim.into() => {
                    self.findings.add(rule::FLOW_BOUND, place, said, format!("{most} ps"));
                }
                Ok(_) => {}
                Err(flaw) => self.findings.add(rule::LINEAR, place, said, flaw),
            }
        }
        for (index, flow) in self.net.graph.flows.iter().enumerate() {
            for (place, target) in flow.targets.iter().enumerate() {
                if !seen.contains(&(index, place)) {
                    let place = format!("{} to {}", flow.name, target.name);
                    self.findings.add(rule::FORMAT, place, "no row", "every target has one");
                }
            }
        }
    }

    /// The servers on the way to a target, last first.
    fn way(&self, bound: &Bound) -> Vec<usize> {
        let flow = &self.net.graph.flows[bound.flow];
        let (mut way, mut at) = (Vec::new(), Some(flow.targets[bound.target].visit));
        while let Some(visit) = at {
            way.push(flow.visits[visit].server);
            at = flow.visits[visit].parent;
        }
        way
    }

    fn sum(&self, bound: &Bound) -> Result<BigInt, String> {
        let delays = self.way(bound).into_iter().map(|server| self.net.delay(server));
        let sum: Option<BigInt> = delays.map(|delay| delay.map(BigInt::from)).sum();
        sum.ok_or_else(|| "a server on the way has no bound".to_owned())
    }

    fn linear(&self, bound: &Bound, proof: &Proof) -> Result<BigInt, String> {
        let visit = self.net.graph.flows[bound.flow].targets[bound.target].visit;
        self.net.delay_of(proof, &self.way(bound), Some((bound.flow, visit)))
    }
}
