//! The graph of a small network's states, for drawing interleavings (\[Attendre\] Figs. 2 and 3).

use super::application::Application;
use super::narrate::told;
use super::setup::Setup;
use super::step::Step;
use super::world::World;
use std::collections::{BTreeMap, VecDeque};

/// Most states of a graph.
pub const STATES_MAX: usize = 1_000;

/// A transition between states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Number of the state before.
    pub from: usize,
    /// Number of the state after.
    pub to: usize,
    /// Who does what.
    pub label: String,
}

/// States by number, the start first, and what leads from one to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// By state: fewest transitions from the start.
    pub depths: Vec<usize>,
    /// Transitions.
    pub edges: Vec<Edge>,
    /// Whether there are states beyond [`STATES_MAX`], which are left out.
    pub is_cut: bool,
}

/// The graph of all that can happen, breadth first.
pub fn graph<A: Application>(setup: &Setup, application: A) -> Graph {
    let start = World::new(setup, application);
    let mut numbers = BTreeMap::from([(start.key(), 0)]);
    let mut graph = Graph { depths: vec![0], ..Graph::default() };
    let mut waiting = VecDeque::from([(0, start)]);
    while let Some((from, world)) = waiting.pop_front() {
        for transition in world.transitions(setup.strategy) {
            let name = setup.node_name(transition.node.into());
            let label = format!("{name} {}", told(&world, setup, transition));
            let mut next = world.clone();
            Step::run(&mut next, setup, transition);
            let known = numbers.get(&next.key()).copied();
            if known.is_none() && graph.depths.len() == STATES_MAX {
                graph.is_cut = true;
                continue;
            }
            let to = known.unwrap_or_else(|| {
                numbers.insert(next.key(), graph.depths.len());
                graph.depths.push(graph.depths[from] + 1);
                waiting.push_back((graph.depths.len() - 1, next));
                graph.depths.len() - 1
            });
            graph.edges.push(Edge { from, to, label });
        }
    }
    graph
}
