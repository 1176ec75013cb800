//! What a client knows: which sets were accepted, which were confirmed, and what may be on the medium without an answer.

use super::routes::Probe;
use crate::change::Change;
use crate::view::View;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_model::Flow;

/// Flows by name, each with the frame that finds out where it comes to.
type Set = BTreeMap<String, (Flow, Probe)>;

#[derive(Debug)]
pub(super) struct Model {
    /// The set of every decision.
    sets: BTreeMap<u64, Set>,
    /// The latest decision that all switches had confirmed.
    confirmed: u64,
    /// What a decision without an answer may have brought.
    unknown: Option<Unknown>,
    /// Every frame of every flow that ever was.
    probes: Vec<(String, Probe)>,
    pub(super) undone: u64,
}

#[derive(Debug)]
enum Unknown {
    Changes(Vec<Change>),
    Undo,
}

fn set_of(view: &View) -> Set {
    let entry =
        |flow: &Flow| (flow.name.clone(), (flow.clone(), Probe::of(&view.plan, &flow.name)));
    view.network.flows.iter().map(entry).collect()
}

fn names(set: &Set) -> BTreeSet<&str> {
    set.keys().map(String::as_str).collect()
}

/// Names behind changes.
fn after<'a>(set: &'a Set, changes: &'a [Change]) -> BTreeSet<&'a str> {
    let mut names = names(set);
    for change in changes {
        match change {
            Change::Remove { name } => drop(names.remove(name.as_str())),
            other => drop(names.insert(other.name())),
        }
    }
    names
}

/// Whether a set is what changes make of another; what they do not name is as it was.
fn is_after(set: &Set, before: &Set, changes: &[Change]) -> bool {
    let is_named = |name: &str| changes.iter().any(|it| it.name() == name);
    let rest_stays = before
        .iter()
        .filter(|(name, _)| !is_named(name))
        .all(|(name, it)| set.get(name) == Some(it));
    rest_stays && names(set) == after(before, changes)
}

impl Model {
    pub(super) fn new(view: &View) -> Self {
        let mut it = Self {
            sets: BTreeMap::new(),
            confirmed: 0,
            unknown: None,
            probes: Vec::new(),
            undone: 0,
        };
        it.put(0, set_of(view));
        it
    }

    fn put(&mut self, decision: u64, set: Set) {
        for (name, (_, probe)) in &set {
            let known = (name.clone(), probe.clone());
            if !self.probes.contains(&known) {
                self.probes.push(known);
            }
        }
        self.sets.insert(decision, set);
    }

    pub(super) fn latest(&self) -> &Set {
        self.sets.last_key_value().expect("the first").1
    }

    pub(super) fn decision(&self) -> u64 {
        *self.sets.last_key_value().expect("the first").0
    }

    pub(super) fn probes(&self) -> impl Iterator<Item = (&str, &Probe)> {
        self.probes.iter().map(|(name, probe)| (name.as_str(), probe))
    }

    /// Flows that every set has alike since the one that all switches had confirmed.
    pub(super) fn stays(&self) -> BTreeSet<String> {
        let base = &self.sets[&self.confirmed];
        let later = || self.sets.range(self.confirmed..).map(|(_, set)| set);
        let is_in_all =
            |(name, it): &(&String, &(Flow, Probe))| later().all(|set| set.get(*name) == Some(*it));
        base.iter().filter(is_in_all).map(|(name, _)| name.clone()).collect()
    }

    /// A decision was answered with yes.
    pub(super) fn accepted(&mut self, decision: u64, changes: &[Change], view: &View) {
        assert_eq!((decision, view.decision), (self.decision() + 1, decision));
        let set = set_of(view);
        assert!(is_after(&set, self.latest(), changes), "{changes:?}");
        self.put(decision, set);
    }

    /// What is seen: a set that was undone is that of a decision that nobody had confirmed away.
    pub(super) fn observe(&mut self, view: &View) {
        if view.decision > self.decision() {
            assert_eq!(view.decision, self.decision() + 1, "one refusal after the other");
            self.take_undone(view);
        }
        assert!(set_of(view) == *self.latest(), "the set is that of its decision");
        if let Some(installed) = view.installed {
            self.confirmed = self.confirmed.max(installed);
        }
    }

    fn take_undone(&mut self, view: &View) {
        let set = set_of(view);
        let later = self.sets.range(self.confirmed..);
        assert!(later.clone().any(|(_, it)| *it == set), "what was confirmed is never undone");
        self.undone += 1;
        self.put(view.decision, set);
    }

    /// The power went while these were stored.
    pub(super) fn may_have(&mut self, changes: &[Change]) {
        self.unknown = Some(Unknown::Changes(changes.to_vec()));
    }

    /// The power went while a refusal was stored.
    pub(super) fn may_have_undone(&mut self) {
        self.unknown = Some(Unknown::Undo);
    }

    /// Another service has read the medium: nothing is lost, and of what had no answer all or nothing is there.
    pub(super) fn restarted(&mut self, view: &View) {
        let unknown = self.unknown.take();
        let set = set_of(view);
        if view.decision == self.decision() {
            assert!(set == *self.latest(), "what was accepted is there");
            return;
        }
        assert_eq!(view.decision, self.decision() + 1, "nothing is lost, nothing made up");
        match unknown {
            Some(Unknown::Changes(changes)) => {
                assert!(is_after(&set, self.latest(), &changes), "{changes:?} are there or not");
                self.put(view.decision, set);
            }
            Some(Unknown::Undo) => self.take_undone(view),
            None => panic!("a decision that nobody asked for"),
        }
    }

    /// The set of the service is what the client knows.
    pub(super) fn is_as(&self, view: &View) {
        assert!(set_of(view) == *self.latest() && view.decision == self.decision());
    }
}
