//! Linear proofs about a graph that the checker made itself, of a plan instead of a document.

use super::linear::{Objective, proved};
use super::net::Net;
use super::read::{Node, Proof, Stop};
use num_bigint::BigInt;

impl Net<'_> {
    /// What a proof gives for a way (last server first), picoseconds: of one flow, or of all that go it.
    ///
    /// # Errors
    /// In words, what is wrong with the proof.
    pub(crate) fn delay_of(
        &self,
        proof: &Proof,
        way: &[usize],
        of: Option<Stop>,
    ) -> Result<BigInt, String> {
        let from = trunk(&proof.nodes, way)?;
        Ok(proved(self, proof, Objective::Delay { from, of })?.most)
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
}

/// The node where a way (last server first) enters the tree whose root is its last server.
fn trunk(nodes: &[Node], way: &[usize]) -> Result<usize, String> {
    let mut at = None;
    for &server in way {
        let leads = |(_, node): &(usize, &Node)| node.next == at && node.server == server;
        let found = nodes.iter().enumerate().find(leads);
        at = Some(found.ok_or("the way is not in the tree")?.0);
    }
    at.ok_or_else(|| "a way without servers".to_owned())
}
