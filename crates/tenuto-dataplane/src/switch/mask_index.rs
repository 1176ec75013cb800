//! The entries of one mask, found by one probe: a hash table that grows a segment at a time.
//!
//! A cell is the slot and precedence of an entry and the words of its value that count, side by
//! side, so that a probe mostly reads one line of cache. The upper bits of a hash choose a segment
//! by a directory, those right behind them a cell in it: values whose hashes are spread evenly, as those of
//! addresses that count up are, stand in cells of their own. A segment that is half full is split by one more
//! bit of the hash (extendible hashing, [Fagin79]): an update moves one segment's cells at most,
//! however many entries there are, and look-ups never search an old table beside a new one.
//!
//! Half of the cells at least are empty, and a value stands at most [`AWAY_MAX`] cells from where
//! it belongs as long as more memory can see to it.

use super::ethernet_key::Words;
use super::key::{PacketKey, UsedWords, hashed};
use std::collections::BTreeMap;

/// Cells that a probe reads at most, if more memory helps.
const AWAY_MAX: usize = 32;
/// Memory helps up to so many cells for a value; beyond that, values were chosen to collide.
const CELLS_PER_VALUE_MAX: usize = 64;
const CELLS_MIN: usize = 8;
/// A segment of so many cells is split. Only values that the hash cannot tell apart make it grow
/// further.
const CELLS_MAX: usize = 512;
/// Bits of a hash that choose the segment; the directory has up to two to this places.
const DEPTH_MAX: u32 = 16;

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

/// Values whose hashes begin alike.
#[derive(Clone, Debug)]
struct Segment {
    /// Words of all cells: precedence and slot ([`Found`]; 0: empty), then the words that count.
    cells: Box<[u64]>,
    /// One less than the number of cells, which is a power of two.
    last: usize,
    /// How far to shift a hash for its cell, whose bits are those behind what the hashes have in common.
    shift: u32,
    /// So many upper bits its hashes have in common.
    depth: u32,
    values: usize,
}

/// From value under a mask to the best entry with it.
#[derive(Clone, Debug)]
pub(super) struct MaskIndex {
    mask: PacketKey,
    used: UsedWords,
    /// How many entries there are of each precedence.
    precedences: BTreeMap<u16, u32>,
    /// By the upper bits of a hash, the place of its segment.
    directory: Vec<u32>,
    /// How far to shift a hash for its place in the directory.
    shift: u32,
    segments: Vec<Segment>,
}

impl MaskIndex {
    pub(super) fn new(mask: PacketKey) -> Self {
        let used = UsedWords::of(&mask);
        let segments = vec![Segment::new(&used, CELLS_MIN, 0)];
        // Two places, as a shift by all bits is none.
        let (directory, shift) = (vec![0; 2], u64::BITS - 1);
        Self { mask, used, precedences: BTreeMap::new(), directory, shift, segments }
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

    /// How many entries there are, those of equal values included.
    pub(super) fn entries(&self) -> usize {
        self.precedences.values().map(|&count| count as usize).sum()
    }

    /// Whether there are entries of a precedence.
    pub(super) fn has(&self, precedence: u16) -> bool {
        self.precedences.contains_key(&precedence)
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
    pub(super) fn find(&self, key: &impl Words) -> Option<Found> {
        match self.used.only(key) {
            Some(word) => self.find_word(word),
            None => self.find_words(key),
        }
    }

    /// The word that counts, of a key, if there is only one, as it is with virtual links.
    #[inline]
    pub(super) fn only(&self, key: &impl Words) -> Option<u64> {
        self.used.only(key)
    }

    /// The same for that word alone.
    #[inline]
    fn find_word(&self, word: u64) -> Option<Found> {
        Found::of(self.find_cell(word))
    }

    /// The slot that is there for it.
    #[allow(clippy::cast_possible_truncation)] // the lower half of the word
    #[inline(always)]
    pub(super) fn find_slot(&self, word: u64) -> Option<u32> {
        match self.find_cell(word) {
            0 => None,
            found => Some(((found & 0x1_ffff_ffff) - 1) as u32),
        }
    }

    /// The first word of its cell; 0 if there is none.
    #[inline(always)]
    fn find_cell(&self, word: u64) -> u64 {
        let hash = hashed(0, word);
        let segment = &self.segments[self.place(hash)];
        let (cells, _) = segment.cells.as_chunks::<2>();
        let mut cell = segment.home(hash);
        loop {
            let Some(&[found, value]) = cells.get(cell) else { return 0 };
            if found == 0 || value == word {
                return found;
            }
            cell = segment.after(cell);
        }
    }

    fn find_words(&self, key: &impl Words) -> Option<Found> {
        let hash = self.used.hash(key);
        let segment = &self.segments[self.place(hash)];
        let (cell, _) = segment.search(&self.used, hash, key);
        segment.cell(&self.used, cell).0
    }

    /// Puts an entry in the place of the one that this value has, or in a cell of its own.
    pub(super) fn put(&mut self, value: &PacketKey, found: Found) {
        let hash = self.used.hash(value);
        let place = self.place(hash);
        if self.segments[place].put(&self.used, hash, value, found) && !self.split(place, hash) {
            self.segments[place].double(&self.used);
        }
    }

    /// Takes out the cell of a value.
    pub(super) fn take(&mut self, value: &PacketKey) {
        let hash = self.used.hash(value);
        let place = self.place(hash);
        self.segments[place].take(&self.used, hash, value);
    }

    /// The best slot of each value.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        let cells = self.segments.iter().flat_map(|it| it.cells.chunks_exact(stride(&self.used)));
        cells.filter_map(|cell| Some(Found::of(cell[0])?.slot))
    }

    /// The segment of a hash.
    #[allow(clippy::cast_possible_truncation)] // a directory has few places
    #[inline]
    fn place(&self, hash: u64) -> usize {
        self.directory[(hash >> self.shift) as usize] as usize
    }

    /// Divides a segment, that of a hash, by one more bit; `false` if it has to grow instead.
    fn split(&mut self, place: usize, hash: u64) -> bool {
        let Segment { last, depth, .. } = self.segments[place];
        let bits = u64::BITS - self.shift;
        let full = depth == bits && bits == DEPTH_MAX;
        let Some(other) = u32::try_from(self.segments.len()).ok().filter(|_| !full) else {
            return false;
        };
        if last + 1 < CELLS_MAX {
            return false;
        }
        if depth == bits {
            self.directory = self.directory.iter().flat_map(|&place| [place, place]).collect();
            self.shift -= 1;
        }
        let [low, high] = self.segments[place].halves(&self.used);
        self.segments[place] = low;
        self.segments.push(high);
        // Of the places that its hashes share, the upper half.
        let half = 1 << (u64::BITS - self.shift - depth - 1);
        let first = hash.checked_shr(u64::BITS - depth).unwrap_or(0);
        #[allow(clippy::cast_possible_truncation)] // a directory has few places
        let first = first as usize * 2 * half;
        self.directory[first + half..first + 2 * half].fill(other);
        true
    }
}

const fn stride(used: &UsedWords) -> usize {
    used.count() + 1
}

impl Segment {
    fn new(used: &UsedWords, cells: usize, depth: u32) -> Self {
        let words = vec![0; cells * stride(used)].into_boxed_slice();
        let shift = u64::BITS - depth - cells.ilog2();
        Self { cells: words, last: cells - 1, shift, depth, values: 0 }
    }

    /// Where a hash belongs.
    #[allow(clippy::cast_possible_truncation)] // the upper bits do not count
    #[inline]
    const fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize & self.last
    }

    #[inline]
    const fn after(&self, cell: usize) -> usize {
        (cell + 1) & self.last
    }

    fn cell(&self, used: &UsedWords, cell: usize) -> (Option<Found>, &[u64]) {
        let cell = &self.cells[cell * stride(used)..(cell + 1) * stride(used)];
        (Found::of(cell[0]), &cell[1..])
    }

    /// The cell of a value, or the empty one where it would be, and how far that is from its home.
    fn search(&self, used: &UsedWords, hash: u64, value: &impl Words) -> (usize, usize) {
        let (mut cell, mut away) = (self.home(hash), 0);
        loop {
            let (found, words) = self.cell(used, cell);
            if found.is_none() || used.equal(value, words) {
                return (cell, away);
            }
            (cell, away) = (self.after(cell), away + 1);
        }
    }

    /// Puts an entry into the cell of its value; whether more room is needed now.
    fn put(&mut self, used: &UsedWords, hash: u64, value: &PacketKey, found: Found) -> bool {
        let (cell, away) = self.search(used, hash, value);
        self.values += usize::from(self.cell(used, cell).0.is_none());
        let stride = stride(used);
        used.write(value, found.word(), &mut self.cells[cell * stride..(cell + 1) * stride]);
        let count = self.last + 1;
        let helps = count < self.values.saturating_mul(CELLS_PER_VALUE_MAX);
        self.values * 2 > count || away > AWAY_MAX && helps
    }

    /// Takes out the cell of a value, and closes the gap so that no search ends too early.
    fn take(&mut self, used: &UsedWords, hash: u64, value: &PacketKey) {
        let (mut gap, _) = self.search(used, hash, value);
        if self.cell(used, gap).0.is_none() {
            return;
        }
        self.values -= 1;
        let stride = stride(used);
        let mut cell = self.after(gap);
        while let (Some(_), words) = self.cell(used, cell) {
            let home = self.home(used.hash_words(words));
            // It may move back unless its home lies behind the gap.
            if cell.wrapping_sub(home) & self.last >= cell.wrapping_sub(gap) & self.last {
                self.cells.copy_within(cell * stride..(cell + 1) * stride, gap * stride);
                gap = cell;
            }
            cell = self.after(cell);
        }
        self.cells[gap * stride..(gap + 1) * stride].fill(0);
    }

    /// Takes in a cell of another segment; there is room.
    fn take_in(&mut self, used: &UsedWords, hash: u64, words: &[u64]) {
        let mut cell = self.home(hash);
        while self.cell(used, cell).0.is_some() {
            cell = self.after(cell);
        }
        let stride = stride(used);
        self.cells[cell * stride..(cell + 1) * stride].copy_from_slice(words);
        self.values += 1;
    }

    /// Cells in use, with the hashes of their values.
    fn in_use(&self, used: &UsedWords) -> impl Iterator<Item = (u64, &[u64])> {
        let cells = self.cells.chunks_exact(stride(used)).filter(|cell| cell[0] != 0);
        cells.map(|cell| (used.hash_words(&cell[1..]), cell))
    }

    fn double(&mut self, used: &UsedWords) {
        let mut new = Self::new(used, (self.last + 1) * 2, self.depth);
        self.in_use(used).for_each(|(hash, cell)| new.take_in(used, hash, cell));
        *self = new;
    }

    /// Its values by the next bit of their hashes; each half with as many cells as it needs.
    fn halves(&self, used: &UsedWords) -> [Self; 2] {
        let is_high = |hash: u64| hash << self.depth >> (u64::BITS - 1) == 1;
        let highs = self.in_use(used).filter(|(hash, _)| is_high(*hash)).count();
        let mut halves = [self.values - highs, highs].map(|values| {
            let cells = (values * 4).next_power_of_two().clamp(CELLS_MIN, self.last + 1);
            Self::new(used, cells, self.depth + 1)
        });
        for (hash, cell) in self.in_use(used) {
            halves[usize::from(is_high(hash))].take_in(used, hash, cell);
        }
        halves
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

    fn cells(index: &MaskIndex) -> usize {
        index.segments.iter().map(|segment| segment.last + 1).sum()
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
    fn many_values_stand_in_many_segments_none_of_them_large() {
        let mut index = MaskIndex::new(key(u64::MAX));
        let mut worst = 0;
        for n in 0..20_000_u32 {
            index.put(&key(u64::from(n) << 16), entry(n));
            worst = worst.max(index.segments.iter().map(|it| it.last + 1).max().unwrap_or(0));
            if n.is_power_of_two() {
                let found = (0..=n).map(|n| index.find(&key(u64::from(n) << 16)));
                assert!(found.eq((0..=n).map(|n| Some(entry(n)))), "up to {n}");
            }
        }
        assert_eq!(worst, CELLS_MAX);
        assert!(cells(&index) < 20_000 * 8, "{} cells", cells(&index));
        for segment in &index.segments {
            assert!(segment.values * 2 <= segment.last + 1);
            assert_eq!(segment.values, segment.in_use(&index.used).count());
        }
        for n in 0..20_000 {
            index.take(&key(n << 16));
        }
        assert_eq!(index.slots().count(), 0);
    }

    /// A probe that finds another value first is one that a processor has guessed wrong.
    #[test]
    fn addresses_that_count_up_stand_where_they_belong() {
        for links in [100, 500, 649, 1_000, 2_000, 10_000] {
            let mut index = MaskIndex::new(key(u64::MAX));
            (0..links).for_each(|n| index.put(&key(0x0300 << 48 | u64::from(n) << 16), entry(n)));
            let away: usize = index.segments.iter().map(|it| it.away(&index.used)).sum();
            assert!(away * 100 <= links as usize, "{away} of {links}");
        }
    }

    impl Segment {
        /// Values that do not stand where they belong.
        fn away(&self, used: &UsedWords) -> usize {
            let cells = (0..).zip(self.cells.chunks_exact(stride(used)));
            let filled = cells.filter(|(_, cell)| cell[0] != 0);
            filled.filter(|(at, cell)| self.home(used.hash_words(&cell[1..])) != *at).count()
        }
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
        assert!(cells(&index) <= 2 * 200 * CELLS_PER_VALUE_MAX, "{}", cells(&index));
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
