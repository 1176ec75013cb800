//! Server graphs: networks reduced to servers and the flows through them.
//!
//! The common ground of end-to-end methods and of files of other analysis tools: no frames, no
//! switches, only curves. All numbers are exact (10⁻⁶ bit, 10⁻⁶ bit/s, ps), already rounded in
//! the safe direction by who made the graph.

use crate::Bucket;
use serde::{Deserialize, Serialize};
use tenuto_units::Picos;

/// A service curve R·[t − T]⁺.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLatency {
    /// R, 10⁻⁶ bit/s.
    pub rate_ubps: i128,
    /// T.
    #[serde(rename = "latency_ps")]
    pub latency: Picos,
}

/// How flows share a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Multiplexing {
    /// First in, first out over all flows.
    #[default]
    Fifo,
    /// Any order between flows, in order within each; the service curve is strict.
    Arbitrary,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphServer {
    /// Its name in the file.
    pub name: String,
    /// Service: the maximum of these; at least one.
    pub service: Vec<RateLatency>,
    /// What leaves the server towards each next one, all flows together, is bounded by this
    /// curve: the line behind it. `None`: no line is known.
    pub line: Option<Bucket>,
    /// The order of service.
    pub multiplexing: Multiplexing,
    /// The largest packet that passes, 10⁻⁶ bit, where packets leave as a whole; 0 in the fluid
    /// model. A path through the server sees [β − this]⁺ unless the server is the path's last.
    pub packet_ubit: i128,
}

/// One server on a flow's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphVisit {
    /// Index of the server.
    pub server: usize,
    /// The visit before, always of a lower index; `None` at the source.
    pub parent: Option<usize>,
}

/// Where a path of a flow ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphTarget {
    /// Its name in the file.
    pub name: String,
    /// The last visit.
    pub visit: usize,
    /// Deadline: the bound must not exceed it.
    #[serde(rename = "deadline_ps")]
    pub deadline: Option<Picos>,
    /// Delay that every packet has besides that of the servers.
    #[serde(rename = "constant_ps")]
    pub constant: Picos,
}

/// A flow and its tree of servers; a server on several of its paths is visited once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphFlow {
    /// Its name in the file.
    pub name: String,
    /// Arrivals at the source: the minimum of these; at least one.
    pub arrival: Vec<Bucket>,
    /// Parents first.
    pub visits: Vec<GraphVisit>,
    /// The ends of its paths.
    pub targets: Vec<GraphTarget>,
    /// Whether its data may be dropped behind any of its servers: no more comes to the next one than
    /// has left the one before. No file of a graph says so of a flow.
    #[serde(skip)]
    pub is_lossy: bool,
}

/// Servers and flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerGraph {
    /// Its name in the file.
    pub name: String,
    /// All servers.
    pub servers: Vec<GraphServer>,
    /// All flows.
    pub flows: Vec<GraphFlow>,
}

impl ServerGraph {
    /// The servers from the source to a target of a flow, in order.
    pub fn path(&self, flow: usize, target: usize) -> Vec<usize> {
        let flow = &self.flows[flow];
        let mut path = Vec::new();
        let mut at = Some(flow.targets[target].visit);
        while let Some(visit) = at {
            path.push(flow.visits[visit].server);
            at = flow.visits[visit].parent;
        }
        path.reverse();
        path
    }
}
