//! Things that stand under sets of headers, found by the sets that meet or cover another one.
//!
//! A set fixes some fields and leaves the others open. Every field has more values than any plan
//! names, counted with *absent*, so a set that is covered by no single one of several others has a
//! header that is in none of them: the one with values in its open fields that nobody names.

use crate::deployment::header::Fields;
use crate::description::read::Match;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Sets that fix the same fields, by the values of some of these.
type ByValues = BTreeMap<Match, Vec<Match>>;

/// Things under sets of headers.
#[derive(Debug)]
pub(crate) struct HeaderIndex<T> {
    /// By the fields that are fixed, then by their values.
    by_fields: BTreeMap<Fields, BTreeMap<Match, Vec<T>>>,
    /// The sets that fix the first fields, by the values of the second; made when it is asked for.
    by_fewer: RefCell<BTreeMap<(Fields, Fields), Rc<ByValues>>>,
}

impl<T> Default for HeaderIndex<T> {
    fn default() -> Self {
        Self { by_fields: BTreeMap::new(), by_fewer: RefCell::default() }
    }
}

impl<T> HeaderIndex<T> {
    /// Puts something under a set; before the first question only.
    pub(crate) fn add(&mut self, headers: Match, thing: T) {
        let same_fields = self.by_fields.entry(headers.fields()).or_default();
        same_fields.entry(headers).or_default().push(thing);
    }

    /// Everything, to be put in order.
    /// Everything, in no order that counts.
    pub(crate) fn each(&self) -> impl Iterator<Item = &T> {
        self.by_fields.values().flat_map(BTreeMap::values).flatten()
    }

    pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = &mut Vec<T>> {
        self.by_fields.values_mut().flat_map(BTreeMap::values_mut)
    }

    /// What stands under the sets that have every header of `headers`, set by set.
    pub(crate) fn covering(&self, headers: Match, steps: &mut u64) -> impl Iterator<Item = &[T]> {
        let fixed = headers.fields();
        *steps += self.by_fields.len() as u64;
        let within = self.by_fields.iter().filter(move |(fields, _)| fields.are_within(fixed));
        within.filter_map(move |(fields, sets)| sets.get(&headers.only(*fields)).map(Vec::as_slice))
    }

    /// What stands under the sets that have some header of `headers`.
    pub(crate) fn meeting(&self, headers: Match, steps: &mut u64) -> Vec<&T> {
        let fixed = headers.fields();
        let mut found = Vec::new();
        for (fields, sets) in &self.by_fields {
            *steps += 1;
            let both = fields.both(fixed);
            if both == *fields {
                found.extend(sets.get(&headers.only(both)).into_iter().flatten());
                continue;
            }
            let by_fewer = self.by_fewer(*fields, both, steps);
            let same_values = by_fewer.get(&headers.only(both)).into_iter().flatten();
            found.extend(same_values.filter_map(|set| sets.get(set)).flatten());
        }
        *steps += found.len() as u64;
        found
    }

    /// The sets that fix `fields`, by the values of `fewer` of these.
    fn by_fewer(&self, fields: Fields, fewer: Fields, steps: &mut u64) -> Rc<ByValues> {
        let mut known = self.by_fewer.borrow_mut();
        let made = known.entry((fields, fewer)).or_insert_with(|| {
            let mut by_values = ByValues::new();
            for set in self.by_fields.get(&fields).into_iter().flat_map(BTreeMap::keys) {
                *steps += 1;
                by_values.entry(set.only(fewer)).or_default().push(*set);
            }
            Rc::new(by_values)
        });
        Rc::clone(made)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/deployment_header_index.rs"]
mod tests;
