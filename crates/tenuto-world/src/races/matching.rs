//! What entries match, field by field.

use std::collections::BTreeMap;

/// Fields with value and mask; a field that is not there may have any value. Packets have all their fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Matching(BTreeMap<u8, (u128, u128)>);

impl Matching {
    /// Asks for a field; bits outside of the mask are any.
    pub fn insert(&mut self, field: u8, value: u128, mask: u128) {
        if mask != 0 {
            self.0.insert(field, (value & mask, mask));
        }
    }

    /// Asks for the whole of a field.
    pub fn exact(&mut self, field: u8, value: u128) {
        self.insert(field, value, u128::MAX);
    }

    /// A field, if it is asked for.
    pub fn get(&self, field: u8) -> Option<u128> {
        self.0.get(&field).map(|(value, _)| *value)
    }

    /// Asks for a field no more.
    pub(super) fn remove(&mut self, field: u8) {
        self.0.remove(&field);
    }

    /// Whether everything that the other matches is matched.
    pub fn covers(&self, other: &Self) -> bool {
        self.0.iter().all(|(field, (value, mask))| {
            other.0.get(field).is_some_and(|(theirs, their_mask)| {
                their_mask & mask == *mask && theirs & mask == *value
            })
        })
    }

    /// Whether some packet may be matched by both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().all(|(field, (value, mask))| {
            let differs =
                |(theirs, their_mask): &(u128, u128)| (value ^ theirs) & mask & their_mask != 0;
            !other.0.get(field).is_some_and(differs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &[(u8, u128, u128)]) -> Matching {
        let mut matching = Matching::default();
        fields.iter().for_each(|(field, value, mask)| matching.insert(*field, *value, *mask));
        matching
    }

    #[test]
    fn a_prefix_covers_what_begins_with_it_and_overlaps_what_it_may_meet() {
        let net = of(&[(1, 0x0a00, 0xff00)]);
        let host = of(&[(1, 0x0a07, 0xffff), (2, 6, u128::MAX)]);
        let other = of(&[(1, 0x0b07, 0xffff)]);
        let service = of(&[(2, 6, u128::MAX)]);
        assert!(net.covers(&host) && !host.covers(&net));
        assert!(Matching::default().covers(&host));
        assert!(net.overlaps(&host) && !net.overlaps(&other));
        assert!(service.overlaps(&other) && service.overlaps(&net));
    }
}
