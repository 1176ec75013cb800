//! A set of flow tables.

/// Which of up to 256 tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::switch) struct TableSet([u64; 4]);

impl TableSet {
    pub(in crate::switch) const fn contains(self, table: u8) -> bool {
        self.0[table as usize / 64] >> (table % 64) & 1 == 1
    }

    /// Adds a table; whether it was not there.
    pub(in crate::switch) const fn insert(&mut self, table: u8) -> bool {
        let is_new = !self.contains(table);
        self.0[table as usize / 64] |= 1 << (table % 64);
        is_new
    }

    /// The tables below `count` that are not in it.
    pub(in crate::switch) fn others_below(self, count: u8) -> Self {
        let mut others = Self::default();
        for table in (0..count).filter(|&table| !self.contains(table)) {
            others.insert(table);
        }
        others
    }

    /// The last table that is in it.
    pub(in crate::switch) fn last(self) -> Option<u8> {
        (0..=u8::MAX).rev().find(|&table| self.contains(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_it_or_not() {
        let mut some = TableSet::default();
        assert_eq!(some.last(), None);
        assert!(some.insert(0) && some.insert(63) && some.insert(64) && some.insert(254));
        assert!(!some.insert(64), "it is there");
        let others = some.others_below(66);
        let inside: Vec<u8> = (0..=255).filter(|&table| others.contains(table)).collect();
        assert_eq!(inside, [(1..63).collect(), vec![65]].concat());
        assert_eq!((some.last(), others.last()), (Some(254), Some(65)));
    }
}
