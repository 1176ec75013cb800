//! The entries of one mask, found by one probe: an open hash table in one piece of memory.
//!
//! A cell is the slot and precedence of an entry and the words of its value that count, side by
//! side, so that a probe mostly reads one line of cache. Half of the cells at least are empty, and a value stands
//! at most [`AWAY_MAX`] cells from where it belongs as long as a larger table can see to it.

use super::key::{PacketKey, UsedWords, hashed};
use std::collections::BTreeMap;

/// Cells that a probe reads at most, if more memory helps.
const AWAY_MAX: usize = 32;
/// Memory helps up to so many cells for a value; beyond that, values were chosen to collide.
const CELLS_PER_VALUE_MAX: usize = 64;
const CELLS_MIN: usize = 8;

/// The best entry for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) slot: u32,
    pub(super) precedence: u16,
}

impl Found {
    /// The precedence above the slot and one more.
    const fn word(self) -> u64 {
        (self.precedence as u64) << 33 | (self.slot as u64 + 1)
    }

    #[allow(clippy::cast_possible_truncation)] // of a word that was made above
    #[inline]
    const fn of(word: u64) -> Option<Self> {
        match word {
            0 => None,
            _ => Some(Self {
                slot: ((word & 0x1_ffff_ffff) - 1) as u32,
                precedence: (word >> 33) as u16,
            }),
        }
    }
}

/// From value under a mask to the best entry with it.
#[derive(Clone, Debug)]
pub(super) struct MaskIndex {
    mask: PacketKey,
    used: UsedWords,
    /// How many entries there are of each precedence.
    precedences: BTreeMap<u16, u32>,
    /// Words of all cells: precedence and slot ([`Found`]; 0: empty), then the words that count.
    cells: Vec<u64>,
    /// The number of cells is two to this.
    bits: u32,
    values: usize,
}

impl MaskIndex {
    pub(super) fn new(mask: PacketKey) -> Self {
        let used = UsedWords::of(&mask);
        let cells = vec![0; CELLS_MIN * (used.count() + 1)];
        let bits = CELLS_MIN.trailing_zeros();
        Self { mask, used, precedences: BTreeMap::new(), cells, bits, values: 0 }
    }

    pub(super) const fn mask(&self) -> &PacketKey {
        &self.mask
    }

    /// The best precedence of its entries.
    pub(super) fn precedence_max(&self) -> u16 {
        self.precedences.last_key_value().map_or(0, |(precedence, _)| *precedence)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.precedences.is_empty()
    }

    /// Counts an entry in.
    pub(super) fn count_in(&mut self, precedence: u16) {
        *self.precedences.entry(precedence).or_default() += 1;
    }

    /// Counts an entry out.
    pub(super) fn count_out(&mut self, precedence: u16) {
        if let Some(count) = self.precedences.get_mut(&precedence) {
            *count -= 1;
            if *count == 0 {
                self.precedences.remove(&precedence);
            }
        }
    }

    /// What is there for a key under the mask.
    #[inline]
    pub(super) fn find(&self, key: &PacketKey) -> Option<Found> {
        match self.used.only(key) {
            Some(word) => self.find_word(word),
            None => self.find_words(key),
        }
    }

    /// The same where one word counts, as it does for virtual links.
    #[inline]
    fn find_word(&self, word: u64) -> Option<Found> {
        let (cells, _) = self.cells.as_chunks::<2>();
        let mut cell = self.home(hashed(0, word));
        loop {
            let [found, value] = *cells.get(cell)?;
            if found == 0 || value == word {
                return Found::of(found);
            }
            cell = self.after(cell);
        }
    }

    fn find_words(&self, key: &PacketKey) -> Option<Found> {
        let mut cell = self.home(self.used.hash(key));
        loop {
            let (found, words) = self.cell(cell);
            let found = found?;
            if self.used.equal(key, words) {
                return Some(found);
            }
            cell = self.after(cell);
        }
    }

    /// Puts an entry in the place of the one that this value has, or in a cell of its own.
    pub(super) fn put(&mut self, value: &PacketKey, found: Found) {
        let mut cell = self.home(self.used.hash(value));
        let mut away = 0;
        while self.cell(cell).0.is_some() && !self.used.equal(value, self.cell(cell).1) {
            cell = self.after(cell);
            away += 1;
        }
        let is_new = self.cell(cell).0.is_none();
        let start = cell * self.stride();
        let end = start + self.stride();
        self.used.write(value, found.word(), &mut self.cells[start..end]);
        self.values += usize::from(is_new);
        let count = 1 << self.bits;
        let helps = count < self.values.saturating_mul(CELLS_PER_VALUE_MAX);
        if self.values * 2 > count || away > AWAY_MAX && helps {
            self.grow();
        }
    }

    /// Takes out the cell of a value, and closes the gap so that no search ends too early.
    pub(super) fn take(&mut self, value: &PacketKey) {
        let mut gap = self.home(self.used.hash(value));
        while self.cell(gap).0.is_some() && !self.used.equal(value, self.cell(gap).1) {
            gap = self.after(gap);
        }
        if self.cell(gap).0.is_none() {
            return;
        }
        self.values -= 1;
        let (stride, last) = (self.stride(), (1 << self.bits) - 1);
        let mut cell = self.after(gap);
        while let (Some(_), words) = self.cell(cell) {
            let home = self.home(self.used.hash_words(words));
            // It may move back unless its home lies behind the gap.
            if cell.wrapping_sub(home) & last >= cell.wrapping_sub(gap) & last {
                self.cells.copy_within(cell * stride..(cell + 1) * stride, gap * stride);
                gap = cell;
            }
            cell = self.after(cell);
        }
        self.cells[gap * stride..(gap + 1) * stride].fill(0);
    }

    /// The best slot of each value.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        (0..1_usize << self.bits).filter_map(|cell| Some(self.cell(cell).0?.slot))
    }

    fn grow(&mut self) {
        self.bits += 1;
        let stride = self.stride();
        let cells = vec![0; stride << self.bits];
        let old = std::mem::replace(&mut self.cells, cells);
        for cell in old.chunks_exact(stride).filter(|cell| cell[0] != 0) {
            let mut place = self.home(self.used.hash_words(&cell[1..]));
            while self.cell(place).0.is_some() {
                place = self.after(place);
            }
            self.cells[place * stride..(place + 1) * stride].copy_from_slice(cell);
        }
    }

    const fn stride(&self) -> usize {
        self.used.count() + 1
    }

    /// Where a hash belongs: the upper bits of a product are those that all bits have a part in.
    #[allow(clippy::cast_possible_truncation)] // fewer cells than a usize counts
    const fn home(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.bits)) as usize
    }

    const fn after(&self, cell: usize) -> usize {
        (cell + 1) & ((1 << self.bits) - 1)
    }

    fn cell(&self, cell: usize) -> (Option<Found>, &[u64]) {
        let stride = self.stride();
        let cell = &self.cells[cell * stride..(cell + 1) * stride];
        (Found::of(cell[0]), &cell[1..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(word: u64) -> PacketKey {
        let mut key = PacketKey::default();
        key.set_metadata(word, u64::MAX);
        key
    }

    fn entry(slot: u32) -> Found {
        Found { slot, precedence: u16::MAX }
    }

    #[test]
    fn what_was_put_is_found_until_it_is_taken() {
        let mut index = MaskIndex::new(key(u64::MAX));
        // Many more values than cells at first, many in neighbouring cells.
        for n in 0..1_000_u32 {
            index.put(&key(u64::from(n)), entry(n));
        }
        for n in (0..1_000).step_by(3) {
            index.take(&key(n));
        }
        index.take(&key(3));
        for n in 0..1_100_u32 {
            let expected = (n < 1_000 && n % 3 != 0).then_some(entry(n));
            assert_eq!(index.find(&key(u64::from(n))), expected);
        }
        index.put(&key(1), entry(u32::MAX));
        assert_eq!((index.find(&key(1)), index.slots().count()), (Some(entry(u32::MAX)), 666));
    }

    #[test]
    fn values_that_collide_get_room_within_reason() {
        let mut index = MaskIndex::new(key(u64::MAX));
        // The inverse of the hash's factor: these products are small numbers, of one home cell.
        let inverse = (0..6).fold(1_u64, |x, _| {
            x.wrapping_mul(2_u64.wrapping_sub(x.wrapping_mul(super::super::key::HASH_FACTOR)))
        });
        for n in 1..=200_u32 {
            index.put(&key(u64::from(n).wrapping_mul(inverse)), entry(n));
        }
        assert!(1_usize << index.bits <= 2 * 200 * CELLS_PER_VALUE_MAX, "{}", index.bits);
        for n in 1..=200_u32 {
            assert_eq!(index.find(&key(u64::from(n).wrapping_mul(inverse))), Some(entry(n)));
        }
    }

    #[test]
    fn a_mask_of_nothing_has_one_value() {
        let mut index = MaskIndex::new(PacketKey::default());
        assert_eq!(index.find(&key(7)), None);
        index.put(&PacketKey::default(), entry(4));
        assert_eq!(index.find(&key(7)), Some(entry(4)));
        index.take(&PacketKey::default());
        assert_eq!(index.find(&key(7)), None);
    }
}
