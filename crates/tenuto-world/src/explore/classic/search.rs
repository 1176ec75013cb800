//! Depth first, as the classic tool goes: the order decides which of two states with one key goes on.

use super::application::Application;
use super::property::Finding;
use super::setup::Setup;
use super::step::Step;
use super::transition::Transition;
use super::world::World;
use std::collections::{BTreeSet, HashSet};
use std::hash::BuildHasherDefault;
use tenuto_dataplane::switch::WordHasher;

/// A run that violates a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What is violated.
    pub finding: Finding,
    /// What happened, from the start.
    pub path: Vec<Transition>,
    /// Transitions that were counted before it was found.
    pub found_after: u64,
}

/// What a search counted and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Transitions that violated nothing on the way, those to known states included.
    pub transitions: u64,
    /// Keys, the start's not among them unless it was reached again.
    pub unique_states: u64,
    /// Longest path, in transitions.
    pub depth: usize,
    /// Violations, each as often as it was met.
    pub violations: u64,
    /// Ends at which nothing more could happen.
    pub ends: u64,
    /// Whether everything was explored.
    pub is_exhaustive: bool,
    /// The first trace of each property that was violated.
    pub traces: Vec<Trace>,
}

/// A state on the path, and what is still to be tried there.
struct Frame<A> {
    world: World<A>,
    left: std::vec::IntoIter<Transition>,
    /// What led here; unknown of the start.
    by: Option<Transition>,
}

struct Search<'a, A> {
    setup: &'a Setup,
    outcomes: BTreeSet<u128>,
    known: HashSet<u128, BuildHasherDefault<WordHasher>>,
    path: Vec<Frame<A>>,
    count: Count,
}

/// Explores all that a network under an application can do, within the setup's limits.
pub fn explore<A: Application>(setup: &Setup, application: A) -> Count {
    explore_outcomes(setup, application).0
}

/// As [`explore`], with what the network can end as: rules, what is left in buffers, what hosts got
/// and what the application knows, as fingerprints that different protocols share.
pub fn explore_outcomes<A: Application>(setup: &Setup, application: A) -> (Count, BTreeSet<u128>) {
    let world = World::new(setup, application);
    let left = world.transitions(setup.strategy).into_iter();
    let mut search = Search {
        setup,
        outcomes: BTreeSet::new(),
        known: HashSet::default(),
        path: vec![Frame { world, left, by: None }],
        count: Count { is_exhaustive: true, ..Count::default() },
    };
    while search.go_on() {}
    search.count.unique_states = search.known.len() as u64;
    (search.count, search.outcomes)
}

impl<A: Application> Search<'_, A> {
    /// Whether there is more to try.
    fn go_on(&mut self) -> bool {
        let Some(frame) = self.path.last_mut() else { return false };
        let Some(transition) = frame.left.next() else {
            self.path.pop();
            return true;
        };
        let depth = self.path.len();
        if self.setup.path_max > 0 && depth > self.setup.path_max {
            self.count.is_exhaustive = false;
            self.path.pop();
            return true;
        }
        if self.count.transitions >= self.setup.transitions_max {
            self.count.is_exhaustive = false;
            return false;
        }
        self.take(transition, depth);
        !(self.setup.stops_at_violation && self.count.violations > 0)
    }

    fn take(&mut self, transition: Transition, depth: usize) {
        let mut world = self.path[depth - 1].world.clone();
        let found = Step::run(&mut world, self.setup, transition);
        if !found.is_empty() {
            return self.violated(found, transition);
        }
        self.count.transitions += 1;
        self.count.depth = self.count.depth.max(depth);
        if !self.known.insert(world.key()) {
            return;
        }
        let left = world.transitions(self.setup.strategy);
        if left.is_empty() {
            self.count.ends += 1;
            self.outcomes.insert(world.outcome(self.setup));
            return self.violated(world.at_end(self.setup), transition);
        }
        self.path.push(Frame { world, left: left.into_iter(), by: Some(transition) });
    }

    fn violated(&mut self, found: Vec<Finding>, last: Transition) {
        for finding in found {
            self.count.violations += 1;
            let is_known =
                self.count.traces.iter().any(|it| it.finding.property == finding.property);
            if !is_known {
                let path = self.path.iter().filter_map(|frame| frame.by).chain([last]).collect();
                let found_after = self.count.transitions;
                self.count.traces.push(Trace { finding, path, found_after });
            }
        }
    }
}
