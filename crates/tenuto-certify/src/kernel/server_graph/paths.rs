//! Linear proofs about a graph that the checker made itself, of a plan instead of a document.

use super::linear::{Objective, proved};
use super::net::Net;
use super::read::{self, Document, Multiplexing, Proof, Stop, Term};
use super::trunk;
use crate::finding::Findings;
use num_bigint::BigInt;

/// A token bucket: 10⁻⁶ bit and 10⁻⁶ bit/s.
pub(crate) type Plain = read::Bucket;

/// A part of a service curve.
pub(crate) type Latency = read::RateLatency;

/// A server that serves one class first in, first out.
#[derive(Clone, Debug)]
pub(crate) struct GraphServer {
    /// The most of these; at least one.
    pub(crate) service: Vec<Latency>,
    pub(crate) line: Option<Plain>,
    pub(crate) packet_ubit: i128,
}

/// A flow: what it brings, and its visits (server, visit before), parents first.
#[derive(Clone, Debug)]
pub(crate) struct GraphFlow {
    /// The least of these; at least one.
    pub(crate) arrival: Vec<Plain>,
    pub(crate) visits: Vec<(usize, Option<usize>)>,
    /// Whether switches on its way may drop of it.
    pub(crate) is_lossy: bool,
}

/// Servers and flows.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) servers: Vec<GraphServer>,
    pub(crate) flows: Vec<GraphFlow>,
}

impl Document {
    /// A graph with the delays that are claimed of its servers.
    pub(crate) fn of(graph: &Graph, delays: &[Option<i128>], line_shaping: bool) -> Self {
        let server = |s: &GraphServer| read::Server {
            name: String::new(),
            service: s.service.clone(),
            line: s.line,
            multiplexing: Multiplexing::Fifo,
            packet_ubit: s.packet_ubit,
        };
        let flow = |f: &GraphFlow| read::Flow {
            name: String::new(),
            arrival: f.arrival.clone(),
            visits: f
                .visits
                .iter()
                .map(|&(server, parent)| read::Visit { server, parent })
                .collect(),
            targets: Vec::new(),
            is_lossy: f.is_lossy,
        };
        Self {
            schema: String::new(),
            description_digest: String::new(),
            plan_hash: String::new(),
            description: read::Graph {
                name: String::new(),
                servers: graph.servers.iter().map(server).collect(),
                flows: graph.flows.iter().map(flow).collect(),
            },
            line_shaping,
            server_delays_ps: delays.to_vec(),
            bursts: Vec::new(),
            bounds: Vec::new(),
        }
    }
}

/// A graph against which proofs are checked.
pub(crate) struct Paths<'a> {
    net: Net<'a>,
}

impl<'a> Paths<'a> {
    /// `None` if the graph is none; findings say why.
    pub(crate) fn new(document: &'a Document, findings: &mut Findings) -> Option<Self> {
        Net::new(document, findings).map(|net| Self { net })
    }

    /// What a proof gives for a way (last server first), picoseconds.
    ///
    /// # Errors
    /// In words, what is wrong with the proof.
    pub(crate) fn bound(&self, proof: &Proof, way: &[usize]) -> Result<BigInt, String> {
        let from = trunk(&proof.nodes, way)?;
        Ok(proved(&self.net, proof, Objective::Delay { from, of: None })?.most)
    }
}

impl Proof {
    /// The server where its paths end.
    pub(crate) fn root(&self) -> Option<usize> {
        self.nodes.first().map(|node| node.server)
    }

    /// Nodes behind the root on the longest branch, as far as the tree is one.
    pub(crate) fn nodes_behind_root(&self) -> usize {
        let mut behind: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let next = node.next.and_then(|next| behind.get(next));
            behind.push(next.map_or(0, |nodes| nodes + 1));
        }
        behind.into_iter().max().unwrap_or(0)
    }

    /// The proof with other names for flows' visits.
    ///
    /// # Errors
    /// If it names a visit that there is none of.
    pub(crate) fn renamed(
        &self,
        name: impl Fn(usize, usize) -> Option<Stop>,
    ) -> Result<Self, String> {
        let other = |(flow, visit): Stop| {
            name(flow, visit).ok_or_else(|| format!("flow {flow} does not visit {visit}"))
        };
        let mut proof = self.clone();
        for term in &mut proof.terms {
            match term {
                Term::Monotone(_, stop, ..)
                | Term::Arrival(_, stop, ..)
                | Term::Passed(_, stop, ..)
                | Term::Left(_, stop, ..)
                | Term::Through(_, stop, ..)
                | Term::AllMonotone(_, stop, ..)
                | Term::AllArrival(_, stop, ..) => *stop = other(*stop)?,
                _ => {}
            }
        }
        Ok(proof)
    }
}
