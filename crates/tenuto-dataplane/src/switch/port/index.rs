//! From the number of a port to its place.

use std::collections::BTreeMap;

/// Numbers below this are found by one look.
const DENSE: usize = 4_096;

/// Places of ports by number.
#[derive(Clone, Debug, Default)]
pub(in crate::switch) struct PortIndex {
    dense: Vec<Option<usize>>,
    sparse: BTreeMap<u32, usize>,
}

impl PortIndex {
    pub(in crate::switch) fn get(&self, number: &u32) -> Option<&usize> {
        match self.dense.get(*number as usize) {
            Some(place) => place.as_ref(),
            None => self.sparse.get(number),
        }
    }

    pub(in crate::switch) fn contains_key(&self, number: &u32) -> bool {
        self.get(number).is_some()
    }
}

impl FromIterator<(u32, usize)> for PortIndex {
    fn from_iter<T: IntoIterator<Item = (u32, usize)>>(ports: T) -> Self {
        let (mut dense, mut sparse) = (Vec::new(), BTreeMap::new());
        for (number, place) in ports {
            let at = number as usize;
            if at < DENSE {
                dense.resize(dense.len().max(at + 1), None);
                dense[at] = Some(place);
            } else {
                sparse.insert(number, place);
            }
        }
        Self { dense, sparse }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_found_wherever_their_numbers_lie() {
        let ports: PortIndex = [(1, 0), (7, 1), (4_096, 2), (0xffff_feff, 3)].into_iter().collect();
        let found = [0, 1, 6, 7, 8, 4_096, 5_000, 0xffff_feff].map(|n| ports.get(&n).copied());
        assert_eq!(found, [None, Some(0), None, Some(1), None, Some(2), None, Some(3)]);
    }
}
