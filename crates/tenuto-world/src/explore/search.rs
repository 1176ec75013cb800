//! Breadth-first search over fingerprints: the first counterexample found is a shortest one.

use super::frames::Interned;
use super::retrace::retrace;
use std::collections::{HashSet, VecDeque};
use std::fmt::Display;
use std::hash::BuildHasherDefault;
use tenuto_dataplane::switch::WordHasher;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<T> {
    /// Distinct states.
    pub states: usize,
    /// Transitions, those to known states included.
    pub transitions: u64,
    /// Longest shortest path from the start, in steps.
    pub depth: usize,
    /// Whether every reachable state was visited.
    pub is_exhaustive: bool,
    /// Bytes that known states take: fingerprints, and how each was reached.
    pub bytes: usize,
    /// A run that violates a property.
    pub counterexample: Option<T>,
}

/// What a search says of the properties, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// They hold in every state.
    Holds,
    /// No violation; some states were not visited.
    Bounded,
    /// There is a counterexample.
    Violated,
}

impl Verdict {
    /// Its word in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Bounded => "bounded",
            Self::Violated => "violated",
        }
    }
}

impl<T> Outcome<T> {
    /// What a replay of so many steps found; other states were not looked at.
    pub fn of_replay(steps: usize, counterexample: Option<T>) -> Self {
        let transitions = u64::try_from(steps).unwrap_or(u64::MAX);
        let is_exhaustive = false;
        Self { states: steps, transitions, depth: steps, is_exhaustive, bytes: 0, counterexample }
    }

    /// What the search says of the properties.
    pub const fn verdict(&self) -> Verdict {
        match (&self.counterexample, self.is_exhaustive) {
            (Some(_), _) => Verdict::Violated,
            (None, true) => Verdict::Holds,
            (None, false) => Verdict::Bounded,
        }
    }

    pub(super) fn map<U>(self, told: impl FnOnce(T) -> U) -> Outcome<U> {
        let Self { states, transitions, depth, is_exhaustive, bytes, counterexample } = self;
        let counterexample = counterexample.map(told);
        Outcome { states, transitions, depth, is_exhaustive, bytes, counterexample }
    }
}

/// A state of a world that can be explored.
pub(super) trait Explored: Clone {
    /// What never changes while exploring.
    type Fixed;
    /// One thing that can happen.
    type Action: Clone + PartialEq + Display;
    /// What a trace tells of it.
    type Step;
    /// A violated property and what is wrong, in words.
    type Finding;

    /// Identity: equal fingerprints, equal behaviour from here on.
    fn fingerprint(&self, frames: &Interned) -> u128;

    /// Everything that can happen now, or what is wrong if too little can.
    fn possible(
        &self,
        fixed: &Self::Fixed,
        frames: &Interned,
    ) -> Result<Vec<Self::Action>, Self::Finding>;

    /// The state after an action; `None` if it is not possible here.
    fn after(
        &self,
        action: &Self::Action,
        fixed: &Self::Fixed,
        frames: &mut Interned,
    ) -> Option<Self>;

    /// What a trace tells of an action that leads to `next`.
    fn step(
        &self,
        action: &Self::Action,
        next: &Self,
        fixed: &Self::Fixed,
        frames: &Interned,
    ) -> Self::Step;

    /// What a step to `next` violates. With `is_end` it is the only one that is possible, and leads
    /// back to this state: nothing changes any more.
    fn check(&self, next: &Self, is_end: bool, fixed: &Self::Fixed) -> Option<Self::Finding>;
}

/// What is violated, and the choices that lead there.
type Violation<S> = (<S as Explored>::Finding, Vec<u16>);
/// A finding, with the steps of a trace.
pub(super) type Counterexample<S> = (<S as Explored>::Finding, Vec<<S as Explored>::Step>);

/// How a state was first reached. Millions are kept, so an action is its place among those that were possible.
struct Origin {
    parent: u32,
    choice: u16,
}

/// A state whose actions are still to be tried.
struct Waiting<S> {
    number: u32,
    fingerprint: u128,
    depth: usize,
    world: S,
}

/// How far a search has come.
struct Search<S: Explored> {
    visited: HashSet<u128, BuildHasherDefault<WordHasher>>,
    origins: Vec<Origin>,
    queue: VecDeque<Waiting<S>>,
    states_max: usize,
    outcome: Outcome<Counterexample<S>>,
}

/// Visits all that `start` can lead to, at most `states_max` states, and tells states visited and
/// states waiting every so often.
///
/// # Errors
/// In words, if there are more states than can be numbered.
pub(super) fn search<S: Explored>(
    start: &S,
    fixed: &S::Fixed,
    frames: &mut Interned,
    states_max: usize,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome<Counterexample<S>>, String> {
    let mut search = Search::new(start, states_max, frames);
    while let Some(waiting) = search.queue.pop_front() {
        let found = search.expand(&waiting, fixed, frames, progress)?;
        search.count_bytes();
        if let Some((finding, choices)) = found {
            let actions = chosen(start, &choices, fixed, frames)?;
            let again = retrace(start, &actions, fixed, frames)?;
            return Ok(Outcome { counterexample: Some((finding, again.steps)), ..search.outcome });
        }
    }
    Ok(search.outcome)
}

impl<S: Explored> Search<S> {
    fn new(start: &S, states_max: usize, frames: &Interned) -> Self {
        let fingerprint = start.fingerprint(frames);
        let mut visited = HashSet::default();
        visited.insert(fingerprint);
        let (states, transitions, depth) = (1, 0, 0);
        Self {
            visited,
            origins: vec![Origin { parent: 0, choice: 0 }],
            queue: VecDeque::from([Waiting {
                number: 0,
                fingerprint,
                depth,
                world: start.clone(),
            }]),
            states_max,
            outcome: Outcome {
                states,
                transitions,
                depth,
                is_exhaustive: true,
                bytes: 0,
                counterexample: None,
            },
        }
    }

    /// Tries everything that is possible in a state; stops at what violates a property.
    fn expand(
        &mut self,
        from: &Waiting<S>,
        fixed: &S::Fixed,
        frames: &mut Interned,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Option<Violation<S>>, String> {
        let actions = match from.world.possible(fixed, frames) {
            Ok(actions) => actions,
            Err(finding) => return Ok(Some((finding, self.path(from.number, None)))),
        };
        let is_only = actions.len() == 1;
        for (choice, action) in (0..).zip(actions) {
            let Some(next) = from.world.after(&action, fixed, frames) else { continue };
            self.outcome.transitions += 1;
            let fingerprint = next.fingerprint(frames);
            let is_end = is_only && fingerprint == from.fingerprint;
            if let Some(finding) = from.world.check(&next, is_end, fixed) {
                return Ok(Some((finding, self.path(from.number, Some(choice)))));
            }
            if self.visit(from, choice, fingerprint, next)? {
                self.tell(progress);
            }
        }
        Ok(None)
    }

    /// Whether the state is new, and there is room for it.
    fn visit(
        &mut self,
        from: &Waiting<S>,
        choice: u16,
        fingerprint: u128,
        world: S,
    ) -> Result<bool, String> {
        if self.visited.contains(&fingerprint) {
            return Ok(false);
        }
        if self.origins.len() >= self.states_max {
            self.outcome.is_exhaustive = false;
            return Ok(false);
        }
        let number = u32::try_from(self.origins.len()).map_err(|error| error.to_string())?;
        let depth = from.depth + 1;
        self.visited.insert(fingerprint);
        self.origins.push(Origin { parent: from.number, choice });
        self.queue.push_back(Waiting { number, fingerprint, depth, world });
        self.outcome.states = self.origins.len();
        self.outcome.depth = depth;
        Ok(true)
    }

    fn tell(&self, progress: &mut dyn FnMut(usize, usize)) {
        if self.outcome.states.is_multiple_of(10_000) {
            progress(self.outcome.states, self.queue.len());
        }
    }

    fn count_bytes(&mut self) {
        // A hash table takes a byte beside each place.
        let visited = self.visited.capacity() * (size_of::<u128>() + 1);
        self.outcome.bytes = visited + self.origins.capacity() * size_of::<Origin>();
    }

    /// The choices that lead from the start to a state, and on.
    fn path(&self, mut number: u32, last: Option<u16>) -> Vec<u16> {
        let mut choices: Vec<u16> = last.into_iter().collect();
        while number != 0 {
            let Origin { parent, choice } = self.origins[number as usize];
            choices.push(choice);
            number = parent;
        }
        choices.reverse();
        choices
    }
}

/// The actions that choices mean, which a second run from the start tells.
fn chosen<S: Explored>(
    start: &S,
    choices: &[u16],
    fixed: &S::Fixed,
    frames: &mut Interned,
) -> Result<Vec<S::Action>, String> {
    let lost = || "the way to a state is not found again: a step is not deterministic".to_owned();
    let (mut world, mut actions) = (start.clone(), Vec::new());
    for (place, &choice) in choices.iter().enumerate() {
        let possible = world.possible(fixed, frames).map_err(|_| lost())?;
        let action = possible.get(usize::from(choice)).ok_or_else(lost)?;
        if place + 1 < choices.len() {
            world = world.after(action, fixed, frames).ok_or_else(lost)?;
        }
        actions.push(action.clone());
    }
    Ok(actions)
}
