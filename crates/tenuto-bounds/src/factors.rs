//! A square matrix as factors: triangles of a sparse elimination, and one column more for every
//! column that was replaced since ([Van20], chapter 8).
//!
//! The columns are the constraints that hold a point of the simplex method: most are between two
//! or four unknowns, so nearly all are eliminated without any fill.

use std::collections::BTreeSet;

/// Pivots below this share of the largest in their column are not taken.
const PIVOT_SHARE: f64 = 0.1;
/// Columns that are looked at for a pivot.
const CANDIDATES: usize = 4;
/// What is smaller is rounding.
const NOTHING: f64 = 1e-14;
/// Pivots below this mean that columns depend on each other.
const SINGULAR: f64 = 1e-10;
/// Columns that are replaced before the triangles are made anew.
const REPLACED_MAX: usize = 100;

/// Lists of places with values, one after the other.
#[derive(Clone, Debug, Default)]
struct Lists {
    starts: Vec<usize>,
    entries: Vec<(usize, f64)>,
}

impl Lists {
    fn new() -> Self {
        Self { starts: vec![0], entries: Vec::new() }
    }

    /// Ends the list that entries were pushed to.
    fn close(&mut self) {
        self.starts.push(self.entries.len());
    }

    fn of(&self, index: usize) -> &[(usize, f64)] {
        &self.entries[self.starts[index]..self.starts[index + 1]]
    }
}

/// A row and a column that were eliminated together.
#[derive(Clone, Copy, Debug)]
struct Pivot {
    row: usize,
    column: usize,
    value: f64,
}

/// A column that took the place of another.
#[derive(Clone, Debug)]
struct Replaced {
    column: usize,
    pivot: f64,
    others: Vec<(usize, f64)>,
}

/// The matrix B of some columns, ready for B·x = b and its transpose.
#[derive(Clone, Debug)]
pub(crate) struct Factors {
    pivots: Vec<Pivot>,
    /// Per pivot: by how much of its row others were lowered.
    lower: Lists,
    /// Per pivot: the rest of its row, by column.
    upper_rows: Lists,
    /// Per column: the rest of it, by row.
    upper_columns: Lists,
    replaced: Vec<Replaced>,
    replaced_len: usize,
}

impl Factors {
    /// Of as many columns as rows, or fewer: unit columns for the rows that these leave free take
    /// the places behind, in the order of the rows returned. `None` if columns depend on each other.
    pub(crate) fn new(size: usize, columns: Vec<Vec<(usize, f64)>>) -> Option<(Self, Vec<usize>)> {
        let count = columns.len();
        let mut elimination = Elimination::new(size, columns);
        for _ in 0..count {
            elimination.step()?;
        }
        Some(elimination.finish(size, count))
    }

    /// Whether many columns were replaced since.
    pub(crate) fn is_worn(&self) -> bool {
        let triangles = self.lower.entries.len() + self.upper_rows.entries.len();
        self.replaced.len() >= REPLACED_MAX
            || self.replaced_len > 3 * (triangles + self.pivots.len())
    }

    /// Solves B·x = b; `b` by row, left all zero.
    pub(crate) fn solve(&self, b: &mut [f64]) -> Vec<f64> {
        for (index, pivot) in self.pivots.iter().enumerate() {
            let value = b[pivot.row];
            if value != 0.0 {
                self.lower.of(index).iter().for_each(|&(row, factor)| b[row] -= factor * value);
            }
        }
        let mut x = vec![0.0; b.len()];
        for pivot in self.pivots.iter().rev() {
            let value = std::mem::take(&mut b[pivot.row]) / pivot.value;
            if value.abs() > NOTHING {
                let above = self.upper_columns.of(pivot.column);
                above.iter().for_each(|&(row, factor)| b[row] -= factor * value);
                x[pivot.column] = value;
            }
        }
        for replaced in &self.replaced {
            let value = x[replaced.column];
            if value != 0.0 {
                let value = value / replaced.pivot;
                x[replaced.column] = value;
                replaced.others.iter().for_each(|&(column, factor)| x[column] -= factor * value);
            }
        }
        x
    }

    /// Solves Bᵀ·x = b; `b` by column, left all zero.
    pub(crate) fn solve_transposed(&self, b: &mut [f64]) -> Vec<f64> {
        for replaced in self.replaced.iter().rev() {
            let others: f64 = replaced.others.iter().map(|&(column, f)| f * b[column]).sum();
            b[replaced.column] = (b[replaced.column] - others) / replaced.pivot;
        }
        let mut x = vec![0.0; b.len()];
        for (index, pivot) in self.pivots.iter().enumerate() {
            let value = std::mem::take(&mut b[pivot.column]) / pivot.value;
            if value.abs() > NOTHING {
                let right = self.upper_rows.of(index);
                right.iter().for_each(|&(column, factor)| b[column] -= factor * value);
                x[pivot.row] = value;
            }
        }
        for (index, pivot) in self.pivots.iter().enumerate().rev() {
            let below = self.lower.of(index);
            if !below.is_empty() {
                x[pivot.row] -= below.iter().map(|&(row, factor)| factor * x[row]).sum::<f64>();
            }
        }
        x
    }

    /// Replaces a column by another, given as what it is of the columns so far: `solve` of it.
    pub(crate) fn replace(&mut self, column: usize, shares: &[f64]) {
        let is_other = |(index, share): &(usize, &f64)| *index != column && share.abs() > NOTHING;
        let others = shares.iter().enumerate().filter(is_other);
        let others: Vec<(usize, f64)> = others.map(|(index, share)| (index, *share)).collect();
        self.replaced_len += others.len();
        self.replaced.push(Replaced { column, pivot: shares[column], others });
    }
}

/// Gauss's elimination, the pivot that is likely to fill least first ([Van20], chapter 8).
struct Elimination {
    /// Per column that is left: its rows that are left.
    columns: Vec<Vec<(usize, f64)>>,
    /// Per row that is left: its columns that are left.
    rows: Vec<Vec<usize>>,
    /// Columns that are left, by length.
    waiting: BTreeSet<(usize, usize)>,
    /// Rows that had one column left when they were put here.
    single: Vec<usize>,
    is_done: Vec<bool>,
    pivots: Vec<Pivot>,
    lower: Lists,
    upper: Lists,
    /// Scratch, all zero between uses: per row its place in a column, counted from one.
    place: Vec<usize>,
}

impl Elimination {
    fn new(size: usize, columns: Vec<Vec<(usize, f64)>>) -> Self {
        let mut rows = vec![Vec::new(); size];
        for (index, column) in columns.iter().enumerate() {
            column.iter().for_each(|&(row, _)| rows[row].push(index));
        }
        let waiting = columns.iter().enumerate().map(|(index, c)| (c.len(), index)).collect();
        let single = (0..size).filter(|&row| rows[row].len() == 1).collect();
        Self {
            columns,
            rows,
            waiting,
            single,
            is_done: vec![false; size],
            pivots: Vec::new(),
            lower: Lists::new(),
            upper: Lists::new(),
            place: vec![0; size],
        }
    }

    fn step(&mut self) -> Option<()> {
        let (row, column) = match self.of_single_row() {
            Some(found) if self.waiting.first().is_some_and(|(length, _)| *length > 1) => found,
            _ => self.of_short_column()?,
        };
        self.eliminate(row, column)
    }

    /// A pivot that is alone in its row: nothing is filled.
    fn of_single_row(&mut self) -> Option<(usize, usize)> {
        while let Some(&row) = self.single.last() {
            if let [column] = *self.rows[row].as_slice()
                && !self.is_done[row]
                && self.is_large(row, column)
            {
                return Some((row, column));
            }
            self.single.pop();
        }
        None
    }

    fn is_large(&self, row: usize, column: usize) -> bool {
        let largest = largest(&self.columns[column]);
        let own = self.columns[column].iter().find(|(at, _)| *at == row);
        own.is_some_and(|(_, value)| value.abs() >= largest * PIVOT_SHARE)
    }

    /// Of the shortest columns the pivot whose row is shortest, of those that are not too small.
    fn of_short_column(&self) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize, usize)> = None;
        for &(length, column) in self.waiting.iter().take(CANDIDATES) {
            let least = largest(&self.columns[column]) * PIVOT_SHARE;
            for &(row, value) in &self.columns[column] {
                let fill = length.saturating_sub(1) * (self.rows[row].len() - 1);
                if value.abs() >= least && best.is_none_or(|(fewest, ..)| fill < fewest) {
                    best = Some((fill, row, column));
                }
            }
            if best.is_some_and(|(fill, ..)| fill == 0) {
                break;
            }
        }
        best.map(|(_, row, column)| (row, column))
    }

    fn eliminate(&mut self, row: usize, column: usize) -> Option<()> {
        let own = std::mem::take(&mut self.columns[column]);
        self.waiting.remove(&(own.len(), column));
        let value = own.iter().find(|(at, _)| *at == row)?.1;
        if value.abs() < SINGULAR {
            return None;
        }
        let begin = self.lower.entries.len();
        for &(at, entry) in own.iter().filter(|(at, _)| *at != row) {
            self.lower.entries.push((at, entry / value));
            self.forget(at, column);
        }
        self.lower.close();
        self.is_done[row] = true;
        for other in std::mem::take(&mut self.rows[row]) {
            if other != column {
                self.lower_column(other, row, begin)?;
            }
        }
        self.upper.close();
        self.pivots.push(Pivot { row, column, value });
        Some(())
    }

    /// Takes a column out of a row.
    fn forget(&mut self, row: usize, column: usize) {
        self.rows[row].retain(|&at| at != column);
        if self.rows[row].len() == 1 {
            self.single.push(row);
        }
    }

    /// Lowers a column by the pivot's row, as the factors from `begin` on say.
    fn lower_column(&mut self, column: usize, row: usize, begin: usize) -> Option<()> {
        let Self { columns, rows, lower, place, .. } = self;
        let entries = &mut columns[column];
        self.waiting.remove(&(entries.len(), column));
        let at = entries.iter().position(|(at, _)| *at == row)?;
        let (_, value) = entries.swap_remove(at);
        let factors = &lower.entries[begin..];
        if !factors.is_empty() {
            entries.iter().enumerate().for_each(|(at, (row, _))| place[*row] = at + 1);
            for &(row, factor) in factors {
                match place[row] {
                    0 => {
                        entries.push((row, -factor * value));
                        rows[row].push(column);
                    }
                    at => entries[at - 1].1 -= factor * value,
                }
            }
            entries.iter().for_each(|(row, _)| place[*row] = 0);
        }
        self.waiting.insert((entries.len(), column));
        self.upper.entries.push((column, value));
        Some(())
    }

    fn finish(mut self, size: usize, count: usize) -> (Factors, Vec<usize>) {
        let free: Vec<usize> = (0..size).filter(|&row| !self.is_done[row]).collect();
        for (place, &row) in free.iter().enumerate() {
            self.pivots.push(Pivot { row, column: count + place, value: 1.0 });
            self.lower.close();
            self.upper.close();
        }
        let mut by_column = vec![Vec::new(); size];
        for (index, pivot) in self.pivots.iter().enumerate() {
            for &(column, value) in self.upper.of(index) {
                by_column[column].push((pivot.row, value));
            }
        }
        let mut upper_columns = Lists::new();
        for column in by_column {
            upper_columns.entries.extend(column);
            upper_columns.close();
        }
        let Self { pivots, lower, upper: upper_rows, .. } = self;
        let replaced = Vec::new();
        let factors =
            Factors { pivots, lower, upper_rows, upper_columns, replaced, replaced_len: 0 };
        (factors, free)
    }
}

fn largest(column: &[(usize, f64)]) -> f64 {
    column.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the places of a column of length `size` a few, with values.
    fn column(size: usize, index: usize) -> Vec<(usize, f64)> {
        let others =
            (0..size).filter(|row| (row * 7 + index * 5).is_multiple_of(11) && *row != index);
        let others = others.map(|row| (row, 1.0 - (row % 4) as f64 / 2.0));
        std::iter::once((index, 3.0)).chain(others).collect()
    }

    fn times(columns: &[Vec<(usize, f64)>], x: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; x.len()];
        for (column, x) in columns.iter().zip(x) {
            column.iter().for_each(|&(row, value)| sums[row] += value * x);
        }
        sums
    }

    fn near(found: &[f64], wanted: &[f64]) -> bool {
        found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-8)
    }

    #[test]
    fn factors_solve_both_ways_before_and_after_columns_are_replaced() {
        for size in [1, 5, 30, 80] {
            let mut columns: Vec<_> = (0..size).map(|index| column(size, index)).collect();
            let x: Vec<f64> = (0..size).map(|at| 1.0 + at as f64).collect();
            let (mut factors, free) = Factors::new(size, columns.clone()).expect("independent");
            assert!(free.is_empty());
            for replaced in (0..size).step_by(4) {
                let new = vec![(replaced, 2.0), ((replaced + 1) % size, 0.25)];
                let new = if size == 1 { vec![(0, 2.0)] } else { new };
                let mut wanted = vec![0.0; size];
                new.iter().for_each(|&(row, value)| wanted[row] = value);
                let shares = factors.solve(&mut wanted);
                factors.replace(replaced, &shares);
                columns[replaced] = new;
                assert!(near(&factors.solve(&mut times(&columns, &x)), &x), "{size}");
                let dot = |column: &Vec<(usize, f64)>| -> f64 {
                    column.iter().map(|&(row, value)| value * x[row]).sum()
                };
                let mut transposed: Vec<f64> = columns.iter().map(dot).collect();
                assert!(near(&factors.solve_transposed(&mut transposed), &x), "{size}");
            }
        }
    }

    #[test]
    fn rows_that_columns_leave_free_are_units() {
        let columns = vec![vec![(0, 1.0), (2, 1.0)], vec![(2, 4.0)]];
        let (factors, free) = Factors::new(4, columns).expect("independent");
        assert_eq!(free, [1, 3]);
        assert!(near(&factors.solve(&mut [1.0, 5.0, 9.0, 6.0]), &[1.0, 2.0, 5.0, 6.0]));
    }

    #[test]
    fn dependent_columns_have_no_factors() {
        let columns = vec![vec![(0, 1.0), (1, 2.0)], vec![(0, 2.0), (1, 4.0)]];
        assert!(Factors::new(2, columns).is_none());
    }
}
