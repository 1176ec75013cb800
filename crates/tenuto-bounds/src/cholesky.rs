//! L·Lᵀ of sparse positive definite matrices of one pattern, columns of like pattern together.
//!
//! Columns whose entries stand in the same rows are kept as one dense block, so that most of the
//! work is on runs of numbers that lie side by side. A block takes from all blocks before it that
//! reach into its columns ([DRS16], section 9).

use clarabel::algebra::CscMatrix;
use clarabel::qdldl::{QDLDLFactorisation, QDLDLSettingsBuilder};
use std::collections::BTreeSet;
use std::ops::Range;

/// Zeros that a block may hold so that it is wider: one in so many.
const ONE_ZERO_IN: usize = 5;
/// A pivot below this is none: its unknown is left at zero.
const PIVOT_MIN: f64 = 1e-30;
/// What takes its place.
const PIVOT_NONE: f64 = 1e30;
/// For no block.
const NONE: usize = usize::MAX;

/// Columns `first..end` as one dense block.
struct Block {
    first: usize,
    end: usize,
    /// Its rows: its own columns, then those below.
    rows: Vec<usize>,
    /// Where its numbers begin, column by column.
    start: usize,
}

/// The factor, and where everything stands in it.
pub(crate) struct Cholesky {
    /// Per row of the factor: which of the matrix.
    order: Vec<usize>,
    blocks: Vec<Block>,
    /// Per row of the factor: the block whose column it is.
    block_of: Vec<usize>,
    /// Per entry of the matrix: its place among the numbers.
    places: Vec<usize>,
    numbers: Vec<f64>,
    room: Room,
}

/// Scratch of one factorisation.
#[derive(Default)]
struct Room {
    /// Per row of the factor: its place among those of the block at hand.
    relative: Vec<usize>,
    /// Places of the rows of another block.
    places: Vec<usize>,
    sums: Vec<f64>,
}

impl Cholesky {
    /// For matrices with these entries: row and column, each pair of different ones once, the
    /// diagonal whole.
    pub(crate) fn new(size: usize, entries: &[(usize, usize)]) -> Option<Self> {
        let order = ordered(size, entries)?;
        let mut turn = vec![0; size];
        order.iter().enumerate().for_each(|(place, &row)| turn[row] = place);
        let turned: Vec<(usize, usize)> =
            entries.iter().map(|&(a, b)| (turn[a].max(turn[b]), turn[a].min(turn[b]))).collect();
        let below = pattern(size, &turned);
        let blocks = blocks(&below);
        let mut block_of = vec![0; size];
        for (index, block) in blocks.iter().enumerate() {
            block_of[block.first..block.end].fill(index);
        }
        let place = |&(row, column): &(usize, usize)| {
            let block = &blocks[block_of[column]];
            let at = block.rows.binary_search(&row).ok()?;
            Some(block.start + (column - block.first) * block.rows.len() + at)
        };
        let places = turned.iter().map(place).collect::<Option<Vec<usize>>>()?;
        let len = blocks.last().map_or(0, |b| b.start + (b.end - b.first) * b.rows.len());
        let numbers = vec![0.0; len];
        let room = Room { relative: vec![0; size], ..Room::default() };
        Some(Self { order, blocks, block_of, places, numbers, room })
    }

    /// Factors the matrix of these entries.
    pub(crate) fn factor(&mut self, values: &[f64]) {
        self.numbers.fill(0.0);
        self.places.iter().zip(values).for_each(|(&place, value)| self.numbers[place] += value);
        let count = self.blocks.len();
        // Blocks that reach into one, as lists: the first of each, the next of each, and the first
        // of its rows that is not done.
        let (mut first, mut next) = (vec![NONE; count], vec![NONE; count]);
        let mut begin = vec![0; count];
        for index in 0..count {
            let block = &self.blocks[index];
            block.rows.iter().enumerate().for_each(|(at, &row)| self.room.relative[row] = at);
            let (before, own) = self.numbers.split_at_mut(block.start);
            let mut other = first[index];
            while other != NONE {
                let following = next[other];
                let from = &self.blocks[other];
                let end = begin[other]
                    + from.rows[begin[other]..].partition_point(|&row| row < block.end);
                take(block, own, from, &before[from.start..], begin[other]..end, &mut self.room);
                begin[other] = end;
                if let Some(&row) = from.rows.get(end) {
                    let onward = self.block_of[row];
                    (next[other], first[onward]) = (first[onward], other);
                }
                other = following;
            }
            let width = block.end - block.first;
            dense(own, block.rows.len(), width);
            begin[index] = width;
            if let Some(&row) = block.rows.get(width) {
                let onward = self.block_of[row];
                (next[index], first[onward]) = (first[onward], index);
            }
        }
    }

    /// Solves for a right-hand side.
    pub(crate) fn solve(&self, wanted: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = self.order.iter().map(|&row| wanted[row]).collect();
        // What a block is about lies side by side while it is at work.
        let mut part: Vec<f64> = Vec::new();
        for block in &self.blocks {
            part.clear();
            part.extend(block.rows.iter().map(|&row| x[row]));
            for (column, numbers) in block.columns(&self.numbers) {
                let value = part[column] / numbers[column];
                part[column] = value;
                let below = part[column + 1..].iter_mut().zip(&numbers[column + 1..]);
                below.for_each(|(x, factor)| *x -= factor * value);
            }
            block.rows.iter().zip(&part).for_each(|(&row, value)| x[row] = *value);
        }
        for block in self.blocks.iter().rev() {
            part.clear();
            part.extend(block.rows.iter().map(|&row| x[row]));
            for (column, numbers) in block.columns(&self.numbers).rev() {
                let below = part[column + 1..].iter().zip(&numbers[column + 1..]);
                let sum: f64 = below.map(|(x, factor)| factor * x).sum();
                part[column] = (part[column] - sum) / numbers[column];
            }
            let width = block.end - block.first;
            x[block.first..block.end].copy_from_slice(&part[..width]);
        }
        let mut found = vec![0.0; x.len()];
        self.order.iter().zip(x).for_each(|(&row, value)| found[row] = value);
        found
    }
}

impl Block {
    /// Its columns, by number, with their numbers.
    fn columns<'a>(
        &self,
        numbers: &'a [f64],
    ) -> impl DoubleEndedIterator<Item = (usize, &'a [f64])> {
        let height = self.rows.len();
        let len = (self.end - self.first) * height;
        numbers[self.start..self.start + len].chunks(height).enumerate()
    }
}

/// An order of elimination that fills little.
fn ordered(size: usize, entries: &[(usize, usize)]) -> Option<Vec<usize>> {
    let mut columns: Vec<BTreeSet<usize>> = (0..size).map(|own| BTreeSet::from([own])).collect();
    entries.iter().for_each(|&(a, b)| {
        columns[a.max(b)].insert(a.min(b));
    });
    let (mut starts, mut rows) = (vec![0], Vec::new());
    for column in columns {
        rows.extend(column);
        starts.push(rows.len());
    }
    let ones = vec![1.0; rows.len()];
    let matrix = CscMatrix::new(size, size, starts, rows, ones);
    let settings = QDLDLSettingsBuilder::default().logical(true).build().ok()?;
    Some(QDLDLFactorisation::new(&matrix, Some(settings)).ok()?.perm)
}

/// Per column of the factor its rows below the diagonal.
fn pattern(size: usize, entries: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); size];
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); size];
    entries.iter().filter(|(row, column)| row != column).for_each(|&(row, column)| {
        below[column].push(row);
    });
    let mut seen = vec![NONE; size];
    for column in 0..size {
        seen[column] = column;
        let mut rows = Vec::new();
        let own = std::mem::take(&mut below[column]);
        let filled = children[column].iter().flat_map(|&child| &below[child]);
        for &row in own.iter().chain(filled) {
            if seen[row] != column {
                seen[row] = column;
                rows.push(row);
            }
        }
        rows.sort_unstable();
        if let Some(&parent) = rows.first() {
            children[parent].push(column);
        }
        below[column] = rows;
    }
    below
}

fn blocks(below: &[Vec<usize>]) -> Vec<Block> {
    let (mut blocks, mut start, mut first) = (Vec::new(), 0, 0);
    let mut zeros = 0;
    for column in 0..below.len() {
        let onward = below.get(column + 1).filter(|_| below[column].first() == Some(&(column + 1)));
        if let Some(onward) = onward {
            // Whatever a column has below the next one, that has too.
            let width = column + 1 - first;
            let more = zeros + (onward.len() + 1 - below[column].len()) * width;
            if more * ONE_ZERO_IN <= (width + 1) * (onward.len() + width + 1) {
                zeros = more;
                continue;
            }
        }
        let rows: Vec<usize> = (first..=column).chain(below[column].iter().copied()).collect();
        let len = rows.len() * (column + 1 - first);
        blocks.push(Block { first, end: column + 1, rows, start });
        (start, first, zeros) = (start + len, column + 1, 0);
    }
    blocks
}

/// Takes from a block what an earlier one, of whose rows `inside` are columns of it, says.
fn take(
    block: &Block,
    own: &mut [f64],
    from: &Block,
    numbers: &[f64],
    inside: Range<usize>,
    room: &mut Room,
) {
    let (height, width) = (from.rows.len(), from.end - from.first);
    let start = inside.start;
    room.places.clear();
    room.places.extend(from.rows[start..].iter().map(|&row| room.relative[row]));
    let columns = Columns { numbers: &numbers[..width * height], height };
    for at in inside {
        let begin = (from.rows[at] - block.first) * block.rows.len();
        let own = &mut own[begin..begin + block.rows.len()];
        let places = &room.places[at - start..];
        // Most blocks are narrow: their sums are not worth a place of their own.
        match width {
            1 => {
                let ([a], [fa]) = columns.from(0, at);
                for (&place, a) in places.iter().zip(a) {
                    own[place] -= fa * a;
                }
            }
            2 => {
                let ([a, b], [fa, fb]) = columns.from(0, at);
                for ((&place, a), b) in places.iter().zip(a).zip(b) {
                    own[place] -= fa * a + fb * b;
                }
            }
            3 => {
                let ([a, b, c], [fa, fb, fc]) = columns.from(0, at);
                for (((&place, a), b), c) in places.iter().zip(a).zip(b).zip(c) {
                    own[place] -= fa * a + fb * b + fc * c;
                }
            }
            4 => {
                let ([a, b, c, d], [fa, fb, fc, fd]) = columns.from(0, at);
                for ((((&place, a), b), c), d) in places.iter().zip(a).zip(b).zip(c).zip(d) {
                    own[place] -= fa * a + fb * b + fc * c + fd * d;
                }
            }
            _ => {
                room.sums.clear();
                room.sums.resize(height - at, 0.0);
                add(&mut room.sums, &columns, at, 1.0);
                places.iter().zip(&room.sums).for_each(|(&place, sum)| own[place] -= sum);
            }
        }
    }
}

/// Columns of one height, one after the other.
struct Columns<'a> {
    numbers: &'a [f64],
    height: usize,
}

impl<'a> Columns<'a> {
    /// So many columns from a row on, and what they have there.
    fn from<const COUNT: usize>(
        &self,
        first: usize,
        row: usize,
    ) -> ([&'a [f64]; COUNT], [f64; COUNT]) {
        let column = |k: usize| {
            &self.numbers[(first + k) * self.height + row..(first + k + 1) * self.height]
        };
        let columns: [&[f64]; COUNT] = std::array::from_fn(column);
        (columns, columns.map(|column| column[0]))
    }
}

/// Adds columns from a row on, each times `sign` and what it has in that row, four at a time.
fn add(sums: &mut [f64], columns: &Columns<'_>, row: usize, sign: f64) {
    let width = columns.numbers.len() / columns.height;
    let fours = width - width % 4;
    for first in (0..fours).step_by(4) {
        let ([a, b, c, d], factors) = columns.from(first, row);
        let [fa, fb, fc, fd] = factors.map(|factor| sign * factor);
        for ((((sum, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *sum += fa * a + fb * b + fc * c + fd * d;
        }
    }
    for first in fours..width {
        let ([a], [fa]) = columns.from(first, row);
        let fa = sign * fa;
        sums.iter_mut().zip(a).for_each(|(sum, a)| *sum += fa * a);
    }
}

/// Factors the columns of a block, from which all before it is taken.
fn dense(numbers: &mut [f64], height: usize, width: usize) {
    for column in 0..width {
        let (before, own) = numbers.split_at_mut(column * height);
        let own = &mut own[column..height];
        add(own, &Columns { numbers: before, height }, column, -1.0);
        let pivot = if own[0] > PIVOT_MIN { own[0].sqrt() } else { PIVOT_NONE };
        own[0] = pivot;
        own[1..].iter_mut().for_each(|value| *value /= pivot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Solves what a matrix of `Cholesky` times `x` gives, for x = 1, 2, 3, …
    fn solved(size: usize, entries: &[(usize, usize)], values: &[f64]) -> Vec<f64> {
        let mut wanted = vec![0.0; size];
        for (&(a, b), value) in entries.iter().zip(values) {
            wanted[a] += value * (b + 1) as f64;
            if a != b {
                wanted[b] += value * (a + 1) as f64;
            }
        }
        let mut cholesky = Cholesky::new(size, entries).expect("a pattern");
        // Twice: nothing of the first time is left.
        cholesky.factor(&vec![1.0; entries.len()]);
        cholesky.factor(values);
        cholesky.solve(&wanted)
    }

    #[test]
    fn sparse_factors_solve_what_the_matrix_says() {
        for (size, stride) in [(1, 1), (7, 2), (40, 3), (60, 7), (90, 11)] {
            let mut entries: Vec<(usize, usize)> = (0..size).map(|at| (at, at)).collect();
            let mut values: Vec<f64> = (0..size).map(|at| 20.0 + at as f64).collect();
            for a in 0..size {
                for b in
                    (0..a).filter(|b| (a * a + b * stride).is_multiple_of(5) && a - b < 4 * stride)
                {
                    entries.push(if a % 2 == 0 { (a, b) } else { (b, a) });
                    values.push(-0.5 - (b % 3) as f64 / 4.0);
                }
            }
            let found = solved(size, &entries, &values);
            for (at, value) in found.iter().enumerate() {
                assert!((value - (at + 1) as f64).abs() < 1e-9, "{size}: {at} is {value}");
            }
        }
    }
}
