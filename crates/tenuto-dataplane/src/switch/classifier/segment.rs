//! Values whose hashes begin alike, in buckets of four.
//!
//! A value stands in the bucket where its hash belongs, or in one of the next [`REACH`] - 1 if that is
//! full. If all of them are, it stands in an ordered map: a look-up reads [`REACH`] buckets and searches
//! that map once at worst, whoever chose the values and whatever is known of the hash.
//!
//! Each bucket counts the values that found it full and stand further on. A search ends at a bucket
//! that nobody has passed, and a value that goes leaves nothing behind and moves no other.

use super::ethernet_key::Words;
use super::index_work::{ChangeWork, Tally};
use super::key::{PacketKey, UsedWords, WORDS};
use super::mask_index::Found;
use std::collections::BTreeMap;

/// Cells of a bucket.
pub(in crate::switch) const BUCKET: usize = 4;
/// Buckets that a value may stand in.
pub(in crate::switch) const REACH: usize = 8;
/// A segment of so many buckets is divided instead of growing.
pub(in crate::switch) const BUCKETS_MAX: usize = 128;
pub(in crate::switch) const BUCKETS_MIN: usize = 2;
/// A segment with more values beside its buckets is not divided: that would move them all at once.
const DIVIDED_BESIDE_MAX: usize = BUCKETS_MAX * BUCKET / 2;

/// One row of a bucket is what its cells have in the same place. The first row has precedence and slot
/// ([`Found`]; 0: empty), the next the first word that counts, and so on: a bucket of one word is one line of cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Line([[u64; BUCKET]; 2]);

/// Values whose hashes begin alike.
#[derive(Clone, Debug)]
pub(in crate::switch) struct Segment {
    lines: Box<[Line]>,
    /// Of each bucket, a byte of the hash of each value (0: empty), and in the upper half how many values
    /// have found it full.
    marks: Box<[u64]>,
    /// One less than the number of buckets, which is a power of two.
    last: usize,
    /// How far to shift a hash for its bucket, whose bits are those behind what the hashes have in common.
    shift: u32,
    /// So many upper bits its hashes have in common.
    pub(in crate::switch) depth: u32,
    /// Values in buckets.
    values: usize,
    /// Values that have found all their buckets full.
    beside: BTreeMap<Box<[u64]>, u64>,
}

/// A value that is to be found: its hash, and what compares it.
pub(in crate::switch) struct Sought<'a, K> {
    pub(in crate::switch) used: &'a UsedWords,
    pub(in crate::switch) hash: u64,
    pub(in crate::switch) key: &'a K,
}

/// Where a value stands in its buckets.
#[derive(Clone, Copy)]
struct Cell {
    bucket: usize,
    cell: usize,
    /// Buckets in front of it that were full.
    away: usize,
}

/// The byte of a hash that is kept beside its value: none of those that choose segment and bucket.
#[allow(clippy::cast_possible_truncation)] // eight bits of it
const fn mark(hash: u64) -> u64 {
    match (hash >> 32) as u8 {
        0 => 1,
        mark => mark as u64,
    }
}

/// A cell without a mark, this one before others.
const fn free_cell(marks: u64, first: usize) -> Option<usize> {
    if marks >> (8 * first) & 0xff == 0 {
        return Some(first);
    }
    match marked(marks, 0) {
        0 => None,
        free => Some(free.trailing_zeros() as usize / 8),
    }
}

const LOW_BITS: u64 = 0x0101_0101;

/// The cells of a bucket with a mark, a bit each eighth: those with it, and at times more.
const fn marked(marks: u64, mark: u64) -> u64 {
    let differ = (marks & 0xffff_ffff) ^ (mark * LOW_BITS);
    differ.wrapping_sub(LOW_BITS) & !differ & (LOW_BITS << 7)
}

/// Values that have found a bucket full.
const PASSED: u64 = 1 << 32;

const fn is_passed(marks: u64) -> bool {
    marks >= PASSED
}

impl Segment {
    pub(in crate::switch) fn new(used: &UsedWords, buckets: usize, depth: u32) -> Self {
        let lines = vec![Line::default(); buckets * stride(used)].into_boxed_slice();
        let shift = u64::BITS - depth - buckets.ilog2();
        let marks = vec![0; buckets].into_boxed_slice();
        Self { lines, marks, last: buckets - 1, shift, depth, values: 0, beside: BTreeMap::new() }
    }

    pub(in crate::switch) const fn buckets(&self) -> usize {
        self.last + 1
    }

    /// Where a hash belongs.
    #[allow(clippy::cast_possible_truncation)] // the upper bits do not count
    #[inline(always)]
    const fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize & self.last
    }

    /// The cell of a bucket where a value stands if it is free: the next bits of its hash choose it.
    #[allow(clippy::cast_possible_truncation)] // the upper bits do not count
    #[inline(always)]
    const fn first_cell(&self, hash: u64) -> usize {
        (hash >> (self.shift - BUCKET.ilog2())) as usize % BUCKET
    }

    /// Buckets that a value may stand in, its own first.
    fn around(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let (home, last) = (self.home(hash), self.last);
        (0..REACH.min(last + 1)).map(move |away| (home + away) & last)
    }

    /// What stands for a value of one word in its own bucket; 0 if nothing does.
    #[inline(always)]
    pub(in crate::switch) fn find_at_home(&self, hash: u64, word: u64) -> u64 {
        let Some(Line([found, words])) = self.lines.get(self.home(hash)) else { return 0 };
        // A guess that is mostly right lets the processor go on before it has compared.
        let first = self.first_cell(hash);
        if words[first] == word && found[first] != 0 {
            return found[first];
        }
        let one = |cell: usize| if words[cell] == word { found[cell] } else { 0 };
        one(0) | one(1) | one(2) | one(3)
    }

    /// Whether values that belong into the bucket of a hash stand elsewhere.
    #[inline(always)]
    pub(in crate::switch) fn goes_on(&self, hash: u64) -> bool {
        self.marks.get(self.home(hash)).is_some_and(|marks| is_passed(*marks))
    }

    /// What stands for a value; 0 if nothing does.
    #[inline]
    pub(in crate::switch) fn find(
        &self,
        sought: &Sought<'_, impl Words>,
        tally: &mut impl Tally,
    ) -> u64 {
        match self.search(sought, tally) {
            Ok(cell) => cell.map_or(0, |at| self.row(sought.used, at.bucket, 0)[at.cell]),
            Err(Beside) => {
                tally.overflow();
                let (words, count) = sought.used.words_of(sought.key);
                self.beside.get(&words[..count]).copied().unwrap_or(0)
            }
        }
    }

    /// The cell of a value; an error if it can only be beside the buckets.
    #[inline]
    fn search(
        &self,
        &Sought { used, hash, key }: &Sought<'_, impl Words>,
        tally: &mut impl Tally,
    ) -> Result<Option<Cell>, Beside> {
        let mark = mark(hash);
        for (away, bucket) in self.around(hash).enumerate() {
            tally.bucket();
            let marks = self.marks[bucket];
            let mut cells = marked(marks, mark);
            while cells != 0 {
                let cell = cells.trailing_zeros() as usize / 8;
                if self.is_at(used, key, bucket, cell) {
                    return Ok(Some(Cell { bucket, cell, away }));
                }
                cells &= cells - 1;
            }
            if !is_passed(marks) {
                return Ok(None);
            }
        }
        Err(Beside)
    }

    fn is_at(&self, used: &UsedWords, key: &impl Words, bucket: usize, cell: usize) -> bool {
        let mut rows = 1..;
        let is_equal =
            used.all(key, |word| self.row(used, bucket, rows.next().unwrap_or(0))[cell] == word);
        is_equal && self.row(used, bucket, 0)[cell] != 0
    }

    fn row(&self, used: &UsedWords, bucket: usize, row: usize) -> &[u64; BUCKET] {
        &self.lines[bucket * stride(used) + row / 2].0[row % 2]
    }

    fn row_mut(&mut self, used: &UsedWords, bucket: usize, row: usize) -> &mut [u64; BUCKET] {
        &mut self.lines[bucket * stride(used) + row / 2].0[row % 2]
    }

    /// Puts an entry in the place of the one that this value has, or in a cell of its own; whether more
    /// room is needed now.
    pub(in crate::switch) fn put(
        &mut self,
        sought: &Sought<'_, PacketKey>,
        found: Found,
        work: &mut ChangeWork,
    ) -> bool {
        let &Sought { used, hash, key } = sought;
        let (words, count) = used.words_of(key);
        match self.search(sought, work) {
            Ok(Some(Cell { bucket, cell, .. })) => {
                self.row_mut(used, bucket, 0)[cell] = found.word();
                return false;
            }
            Ok(None) => {}
            Err(Beside) => {
                work.overflows += 1;
                if let Some(place) = self.beside.get_mut(&words[..count]) {
                    *place = found.word();
                    return false;
                }
            }
        }
        self.add(used, hash, (found.word(), &words[..count]), work);
        self.values * 2 > self.buckets() * BUCKET
    }

    /// Adds a value that is not there.
    fn add(
        &mut self,
        used: &UsedWords,
        hash: u64,
        (found, words): (u64, &[u64]),
        work: &mut ChangeWork,
    ) {
        for bucket in self.around(hash) {
            work.buckets += 1;
            if let Some(cell) = free_cell(self.marks[bucket], self.first_cell(hash)) {
                self.marks[bucket] |= mark(hash) << (8 * cell);
                self.row_mut(used, bucket, 0)[cell] = found;
                for (row, word) in (1..).zip(words) {
                    self.row_mut(used, bucket, row)[cell] = *word;
                }
                self.values += 1;
                return;
            }
            self.marks[bucket] += PASSED;
        }
        work.overflows += 1;
        self.beside.insert(words.into(), found);
    }

    /// Takes out a value.
    pub(in crate::switch) fn take(
        &mut self,
        sought: &Sought<'_, PacketKey>,
        work: &mut ChangeWork,
    ) {
        let &Sought { used, hash, key } = sought;
        let passed = match self.search(sought, work) {
            Ok(None) => return,
            Ok(Some(Cell { bucket, cell, away })) => {
                self.marks[bucket] &= !(0xff << (8 * cell));
                (0..=used.count()).for_each(|row| self.row_mut(used, bucket, row)[cell] = 0);
                self.values -= 1;
                away
            }
            Err(Beside) => {
                work.overflows += 1;
                let (words, count) = used.words_of(key);
                if self.beside.remove(&words[..count]).is_none() {
                    return;
                }
                REACH
            }
        };
        for bucket in self.around(hash).take(passed) {
            self.marks[bucket] -= PASSED;
        }
    }

    /// All values: what was found, then the words that count.
    pub(in crate::switch) fn each(&self, used: &UsedWords, mut visit: impl FnMut(u64, &[u64])) {
        for bucket in 0..self.buckets() {
            for cell in 0..BUCKET {
                let found = self.row(used, bucket, 0)[cell];
                if found != 0 {
                    let mut words = [0; WORDS];
                    for (row, word) in (1..=used.count()).zip(&mut words) {
                        *word = self.row(used, bucket, row)[cell];
                    }
                    visit(found, &words[..used.count()]);
                }
            }
        }
        self.beside.iter().for_each(|(words, found)| visit(*found, words));
    }

    /// What was found of all values.
    pub(in crate::switch) fn all_found(&self, used: &UsedWords) -> impl Iterator<Item = u64> {
        let firsts = self.lines.iter().step_by(stride(used));
        let cells = firsts.flat_map(|line| line.0[0]).filter(|found| *found != 0);
        cells.chain(self.beside.values().copied())
    }

    /// Whether it is divided, not made larger.
    pub(in crate::switch) fn is_to_be_divided(&self) -> bool {
        self.buckets() >= BUCKETS_MAX && self.beside.len() <= DIVIDED_BESIDE_MAX
    }

    /// Makes it larger, if it is not as large as segments become.
    pub(in crate::switch) fn grow(&mut self, used: &UsedWords, work: &mut ChangeWork) {
        if self.buckets() >= BUCKETS_MAX {
            return;
        }
        let mut new = Self::new(used, self.buckets() * 2, self.depth);
        self.each(used, |found, words| {
            work.moved += 1;
            new.add(used, used.hash_words(words), (found, words), work);
        });
        *self = new;
    }

    /// Its values by the next bit of their hashes; each half with as many buckets as it needs.
    pub(in crate::switch) fn halves(&self, used: &UsedWords, work: &mut ChangeWork) -> [Self; 2] {
        let is_high = |hash: u64| hash << self.depth >> (u64::BITS - 1) == 1;
        let mut counts = [0; 2];
        self.each(used, |_, words| counts[usize::from(is_high(used.hash_words(words)))] += 1);
        let mut halves = counts.map(|values: usize| {
            let buckets = values.next_power_of_two().clamp(BUCKETS_MIN, self.buckets());
            Self::new(used, buckets, self.depth + 1)
        });
        self.each(used, |found, words| {
            let hash = used.hash_words(words);
            work.moved += 1;
            halves[usize::from(is_high(hash))].add(used, hash, (found, words), work);
        });
        halves
    }
}

/// A value can only be beside the buckets.
struct Beside;

/// Lines of a bucket.
const fn stride(used: &UsedWords) -> usize {
    used.count() / 2 + 1
}

#[cfg(test)]
impl Segment {
    /// Values in buckets, and beside them.
    pub(in crate::switch) fn values(&self) -> (usize, usize) {
        (self.values, self.beside.len())
    }

    /// Whether all that is kept beside the values follows from them.
    pub(in crate::switch) fn is_sound(&self, used: &UsedWords) -> bool {
        let mut new = vec![0_u64; self.buckets()];
        let mut values = 0;
        for bucket in 0..self.buckets() {
            for cell in 0..BUCKET {
                if self.row(used, bucket, 0)[cell] == 0 {
                    continue;
                }
                let words: Vec<u64> =
                    (1..=used.count()).map(|row| self.row(used, bucket, row)[cell]).collect();
                let hash = used.hash_words(&words);
                values += 1;
                new[bucket] |= mark(hash) << (8 * cell);
                self.around(hash).take_while(|at| *at != bucket).for_each(|at| new[at] += PASSED);
            }
        }
        for words in self.beside.keys() {
            self.around(used.hash_words(words)).for_each(|at| new[at] += PASSED);
        }
        values == self.values && *new == *self.marks
    }
}
