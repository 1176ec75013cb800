//! Breadth-first search over fingerprints: the first counterexample found is a shortest one.

use super::corridor::pass;
use super::explored::Explored;
use super::frames::Interned;
use super::retrace::retrace;
use std::collections::{HashSet, VecDeque};
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

/// Where an action has led.
enum Taken<S: Explored> {
    Impossible,
    To(u128),
    Violates(Violation<S>),
}

/// How far a search has come.
struct Search<S: Explored> {
    visited: HashSet<u128, BuildHasherDefault<WordHasher>>,
    /// States one step further than those that are expanded now.
    next_layer: HashSet<u128, BuildHasherDefault<WordHasher>>,
    /// How far those are.
    layer: usize,
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
    let mut search = Search::new(start, states_max, fixed, frames);
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
    fn new(start: &S, states_max: usize, fixed: &S::Fixed, frames: &Interned) -> Self {
        let fingerprint = start.fingerprint(fixed, frames);
        let mut visited = HashSet::default();
        visited.insert(fingerprint);
        let (states, transitions, depth) = (1, 0, 0);
        Self {
            visited,
            next_layer: HashSet::default(),
            layer: 0,
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
        if from.depth == self.layer {
            self.next_layer.clear();
            self.layer = from.depth + 1;
        }
        let all = 0..u16::try_from(actions.len()).map_err(|error| error.to_string())?;
        let first = from.world.sufficient(&actions, fixed);
        let rest: Vec<u16> = match &first {
            Some(first) => all.clone().filter(|choice| !first.contains(choice)).collect(),
            None => Vec::new(),
        };
        let mut goes_on = false;
        for choice in first.unwrap_or_else(|| all.collect()) {
            let taken = self.take(from, &actions, choice, fixed, frames, progress)?;
            match taken {
                Taken::Violates(violation) => return Ok(Some(violation)),
                Taken::To(fingerprint) => goes_on |= self.next_layer.contains(&fingerprint),
                Taken::Impossible => {}
            }
        }
        // What was put off must come in the end: not where all ways lead back.
        for choice in rest.into_iter().filter(|_| !goes_on) {
            if let Taken::Violates(it) =
                self.take(from, &actions, choice, fixed, frames, progress)?
            {
                return Ok(Some(it));
            }
        }
        Ok(None)
    }

    /// Takes one action, and what can only follow it.
    fn take(
        &mut self,
        from: &Waiting<S>,
        actions: &[S::Action],
        choice: u16,
        fixed: &S::Fixed,
        frames: &mut Interned,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Taken<S>, String> {
        let action = &actions[usize::from(choice)];
        let Some(next) = from.world.after(action, fixed, frames) else {
            return Ok(Taken::Impossible);
        };
        self.outcome.transitions += 1;
        let violation = |finding, this: &Self| {
            Ok(Taken::Violates((finding, this.path(from.number, Some(choice)))))
        };
        let is_end = actions.len() == 1 && next.fingerprint(fixed, frames) == from.fingerprint;
        if let Some(finding) = from.world.check(&next, is_end, fixed) {
            return violation(finding, self);
        }
        let passed = pass(next, fixed, frames, &mut |_| self.outcome.transitions += 1);
        let next = match passed {
            Ok(next) => next,
            Err(finding) => return violation(finding, self),
        };
        let fingerprint = next.fingerprint(fixed, frames);
        if self.visit(from, choice, fingerprint, next)? {
            self.tell(progress);
        }
        Ok(Taken::To(fingerprint))
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
        self.next_layer.insert(fingerprint);
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
    for &choice in choices {
        let possible = world.possible(fixed, frames).map_err(|_| lost())?;
        let action = possible.get(usize::from(choice)).ok_or_else(lost)?;
        actions.push(action.clone());
        world = world.after(action, fixed, frames).ok_or_else(lost)?;
        // Behind the last choice what is violated may come on the way.
        match pass(world, fixed, frames, &mut |action: &S::Action| actions.push(action.clone())) {
            Ok(further) => world = further,
            Err(_) => return Ok(actions),
        }
    }
    Ok(actions)
}
