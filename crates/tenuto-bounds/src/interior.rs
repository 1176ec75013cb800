//! An interior-point method for programs of trees: Mehrotra's predictor and corrector on normal
//! equations ([Van20], chapters 18 to 20).
//!
//! Rows are many and short, unknowns few and free, so the normal equations Aᵀ·D·A are positive
//! definite, sparse, and an order smaller than the system of both.

use crate::cholesky::Cholesky;
use crate::solver::FloatProgram;
use std::collections::BTreeMap;

/// Steps after which it is stuck.
const STEPS_MAX: usize = 80;
/// The gap, and what is left over of either side, at which it stops, as shares.
const GAP: f64 = 1e-10;
/// Worse than this, what it ends with is not taken.
const POOR: f64 = 1e-8;
/// How far towards the border a step goes.
const STEP_SHARE: f64 = 0.9995;
/// A shorter step leads nowhere.
const STEP_MIN: f64 = 1e-8;
/// Added to what is eliminated, as a share of the largest.
const REGULAR_SHARE: f64 = 1e-16;

/// Multipliers of rows, or `None` if the steps end far from any optimum.
pub(crate) fn multipliers(program: &FloatProgram) -> Option<Vec<f64>> {
    let rows = program.rows.len();
    if rows == 0 || program.unknowns == 0 || program.most.iter().any(|most| !most.is_finite()) {
        return None;
    }
    let mut normal = Normal::new(program)?;
    let mut at = Point::start(program, &mut normal);
    let mut best: Option<(f64, Vec<f64>)> = None;
    for _ in 0..STEPS_MAX {
        let left = at.left(program, &normal);
        let error = left.error(program, &at);
        if !error.is_finite() {
            break;
        }
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, at.prices.clone()));
        }
        if error <= GAP {
            break;
        }
        if at.step(&mut normal, &left) < STEP_MIN {
            break;
        }
    }
    best.filter(|(error, _)| *error <= POOR).map(|(_, prices)| prices)
}

/// Unknowns x, slacks s and prices y.
struct Point {
    unknowns: Vec<f64>,
    slacks: Vec<f64>,
    prices: Vec<f64>,
}

/// What equations leave over: b − A·x − s, c − Aᵀ·y, and the mean of s·y.
struct Left {
    rows: Vec<f64>,
    columns: Vec<f64>,
    mean: f64,
}

impl Left {
    /// The largest of what is left over and the gap, as a share.
    fn error(&self, program: &FloatProgram, at: &Point) -> f64 {
        let largest = |values: &[f64]| values.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        let bound = dot(&program.most, &at.prices);
        let reached: f64 = program.objective.iter().map(|&(j, c)| c * at.unknowns[j]).sum();
        let gap = (bound - reached).abs() / (1.0 + bound.abs());
        gap.max(largest(&self.columns)).max(largest(&self.rows) / (1.0 + largest(&program.most)))
    }
}

impl Point {
    /// Least squares of both sides, moved inside.
    fn start(program: &FloatProgram, normal: &mut Normal) -> Self {
        normal.factor(&vec![1.0; program.rows.len()]);
        let unknowns = normal.rows.transposed(&program.most);
        let unknowns = normal.solve(&unknowns);
        let slacks: Vec<f64> =
            program.most.iter().zip(normal.rows.times(&unknowns)).map(|(b, ax)| b - ax).collect();
        let prices = normal.solve(&objective(program));
        let prices = normal.rows.times(&prices);
        let least = |values: &[f64]| values.iter().copied().fold(0.0, f64::min);
        let (more_slack, more_price) = (-1.5 * least(&slacks), -1.5 * least(&prices));
        let moved = |values: &[f64], by: f64| values.iter().map(|v| v + by).collect::<Vec<f64>>();
        let (slacks, prices) = (moved(&slacks, more_slack), moved(&prices, more_price));
        let product = dot(&slacks, &prices).max(1e-4);
        let share = |of: &[f64]| 0.5 * product / of.iter().sum::<f64>().max(1e-8);
        let (more_slack, more_price) = (share(&prices), share(&slacks));
        let (slacks, prices) = (moved(&slacks, more_slack), moved(&prices, more_price));
        Self { unknowns, slacks, prices }
    }

    fn left(&self, program: &FloatProgram, normal: &Normal) -> Left {
        let here = normal.rows.times(&self.unknowns);
        let rows = program.most.iter().zip(&here).zip(&self.slacks);
        let rows = rows.map(|((b, ax), s)| b - ax - s).collect();
        let paid = normal.rows.transposed(&self.prices);
        let columns = objective(program).iter().zip(paid).map(|(c, p)| c - p).collect();
        let mean = dot(&self.slacks, &self.prices) / self.slacks.len() as f64;
        Left { rows, columns, mean }
    }

    /// One step; how long the shorter of its two sides is.
    fn step(&mut self, normal: &mut Normal, left: &Left) -> f64 {
        let weights: Vec<f64> = self.prices.iter().zip(&self.slacks).map(|(y, s)| y / s).collect();
        normal.factor(&weights);
        let products = |aim: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let own = self.slacks.iter().zip(&self.prices).enumerate();
            own.map(|(row, (s, y))| aim(row) - s * y).collect()
        };
        let predicted = self.direction(normal, left, &weights, &products(&|_| 0.0));
        let (by_slack, by_price) = self.lengths(&predicted);
        let after: f64 = (0..self.slacks.len())
            .map(|row| {
                (self.slacks[row] + by_slack * predicted.slacks[row])
                    * (self.prices[row] + by_price * predicted.prices[row])
            })
            .sum();
        let share = (after / self.slacks.len() as f64 / left.mean).clamp(0.0, 1.0);
        let aim = share * share * share * left.mean;
        let wanted = |row: usize| aim - predicted.slacks[row] * predicted.prices[row];
        let mut corrected = self.direction(normal, left, &weights, &products(&wanted));
        corrected.refine(normal, left, &weights);
        let (by_slack, by_price) = self.lengths(&corrected);
        let (by_slack, by_price) =
            ((by_slack * STEP_SHARE).min(1.0), (by_price * STEP_SHARE).min(1.0));
        go(&mut self.unknowns, &corrected.unknowns, by_slack);
        go(&mut self.slacks, &corrected.slacks, by_slack);
        go(&mut self.prices, &corrected.prices, by_price);
        by_slack.min(by_price)
    }

    /// Newton's direction for what is left over and these products of slacks and prices.
    fn direction(&self, normal: &Normal, left: &Left, weights: &[f64], products: &[f64]) -> Self {
        let rows = 0..self.slacks.len();
        let fixed: Vec<f64> = rows
            .clone()
            .map(|row| products[row] / self.slacks[row] - weights[row] * left.rows[row])
            .collect();
        let paid = normal.rows.transposed(&fixed);
        let wanted: Vec<f64> = left.columns.iter().zip(&paid).map(|(l, p)| l - p).collect();
        let unknowns = normal.solve(&wanted);
        let along = normal.rows.times(&unknowns);
        let slacks = rows.clone().map(|row| left.rows[row] - along[row]).collect();
        let prices = rows.map(|row| fixed[row] + weights[row] * along[row]).collect();
        Self { unknowns, slacks, prices }
    }

    /// Puts right what rounding left of a direction: that prices pay for the objective.
    fn refine(&mut self, normal: &Normal, left: &Left, weights: &[f64]) {
        let paid = normal.rows.transposed(&self.prices);
        let rest: Vec<f64> = left.columns.iter().zip(&paid).map(|(l, p)| l - p).collect();
        let more = normal.solve(&rest);
        let along = normal.rows.times(&more);
        go(&mut self.unknowns, &more, 1.0);
        go(&mut self.slacks, &along, -1.0);
        let changed: Vec<f64> = along.iter().zip(weights).map(|(a, w)| a * w).collect();
        go(&mut self.prices, &changed, 1.0);
    }

    /// How far slacks and prices may go in a direction.
    fn lengths(&self, direction: &Self) -> (f64, f64) {
        let length = |values: &[f64], speeds: &[f64]| {
            let ends = values.iter().zip(speeds).filter(|(_, speed)| **speed < 0.0);
            ends.map(|(value, speed)| -value / speed).fold(1.0 / STEP_SHARE, f64::min)
        };
        (length(&self.slacks, &direction.slacks), length(&self.prices, &direction.prices))
    }
}

/// Aᵀ·D·A of a program, and its factors.
struct Normal {
    rows: Rows,
    factors: Cholesky,
    /// Per row of the program where its products end, and by which place.
    ends: Vec<usize>,
    products: Vec<(u32, f64)>,
    values: Vec<f64>,
}

impl Normal {
    fn new(program: &FloatProgram) -> Option<Self> {
        let rows = Rows::of(program)?;
        // The diagonal comes first.
        let mut places: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        let mut entries: Vec<(usize, usize)> = (0..rows.unknowns).map(|j| (j, j)).collect();
        let (mut ends, mut products) = (Vec::new(), Vec::new());
        for row in &program.rows {
            for (index, &(a, x)) in row.iter().enumerate() {
                products.push((u32::try_from(a).ok()?, x * x));
                for &(b, y) in &row[..index] {
                    let count = u32::try_from(entries.len()).ok()?;
                    let place = *places.entry((a.max(b), a.min(b))).or_insert(count);
                    if place == count {
                        entries.push((a, b));
                    }
                    products.push((place, x * y));
                }
            }
            ends.push(products.len());
        }
        let factors = Cholesky::new(rows.unknowns, &entries)?;
        Some(Self { rows, factors, ends, products, values: vec![0.0; entries.len()] })
    }

    /// Factors of Aᵀ·D·A for these weights of rows.
    fn factor(&mut self, weights: &[f64]) {
        self.values.fill(0.0);
        let mut start = 0;
        for (&end, weight) in self.ends.iter().zip(weights) {
            for &(place, product) in &self.products[start..end] {
                self.values[place as usize] += weight * product;
            }
            start = end;
        }
        let diagonal = &mut self.values[..self.rows.unknowns];
        let largest = diagonal.iter().copied().fold(0.0, f64::max);
        diagonal.iter_mut().for_each(|value| *value += largest * REGULAR_SHARE);
        self.factors.factor(&self.values);
    }

    fn solve(&self, wanted: &[f64]) -> Vec<f64> {
        self.factors.solve(wanted)
    }
}

fn objective(program: &FloatProgram) -> Vec<f64> {
    let mut objective = vec![0.0; program.unknowns];
    program.objective.iter().for_each(|&(unknown, c)| objective[unknown] += c);
    objective
}

/// The rows of a program one after the other.
struct Rows {
    unknowns: usize,
    ends: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl Rows {
    fn of(program: &FloatProgram) -> Option<Self> {
        let (mut ends, mut entries) = (Vec::new(), Vec::new());
        for row in &program.rows {
            for &(unknown, coefficient) in row {
                entries.push((u32::try_from(unknown).ok()?, coefficient));
            }
            ends.push(entries.len());
        }
        Some(Self { unknowns: program.unknowns, ends, entries })
    }

    fn each(&self) -> impl Iterator<Item = &[(u32, f64)]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.entries[start..end])
    }

    /// A·x.
    fn times(&self, x: &[f64]) -> Vec<f64> {
        self.each().map(|row| row.iter().map(|&(j, c)| c * x[j as usize]).sum()).collect()
    }

    /// Aᵀ·y.
    fn transposed(&self, y: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.unknowns];
        for (row, y) in self.each().zip(y) {
            row.iter().for_each(|&(j, c)| sums[j as usize] += c * y);
        }
        sums
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn go(values: &mut [f64], direction: &[f64], by: f64) {
    values.iter_mut().zip(direction).for_each(|(value, d)| *value += by * d);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplex::Simplex;
    use crate::solver::{InteriorPoint, LinearSolver};

    /// Chains x₀ ≤ x₁ ≤ … with every difference and the last of them limited: feasible at zero.
    fn program(unknowns: usize) -> FloatProgram {
        let mut program = FloatProgram { unknowns, ..FloatProgram::default() };
        let mut push = |row: Vec<(usize, f64)>, most: f64| {
            program.rows.push(row);
            program.most.push(most);
        };
        for early in 0..unknowns {
            for late in early + 1..unknowns {
                push(vec![(early, -1.0), (late, 1.0)], 1.0 + (early * late % 7) as f64);
            }
            push(vec![(early, -1.0)], 2.0 + (early % 3) as f64);
            push(vec![(early, 1.0)], 1.5 * (early + 1) as f64);
        }
        for early in 1..unknowns {
            push(vec![(early - 1, 1.0), (early, -1.0)], 0.0);
        }
        program.objective = vec![(unknowns - 1, 1.0), (0, -0.5), (unknowns / 2, 0.25)];
        program
    }

    #[test]
    fn interior_points_end_where_the_simplex_method_does() {
        for unknowns in [2, 9, 40] {
            let program = program(unknowns);
            let inside = multipliers(&program).expect("it converges");
            let vertex = Simplex(InteriorPoint).multipliers(&program).expect("a vertex");
            let bound = |prices: &[f64]| dot(prices, &program.most);
            let gap = (bound(&inside) - bound(&vertex)).abs();
            assert!(gap < 1e-7, "{} and {}", bound(&inside), bound(&vertex));
            let rows = Rows::of(&program).expect("small");
            let paid = rows.transposed(&inside);
            assert!(objective(&program).iter().zip(paid).all(|(c, p)| (c - p).abs() < 1e-8));
            assert!(inside.iter().all(|price| *price >= 0.0));
        }
    }

    #[test]
    fn what_has_no_bound_has_no_multipliers() {
        let rows = vec![vec![(0, -1.0)], vec![(1, 1.0)]];
        let objective = vec![(0, 1.0)];
        let program = FloatProgram { unknowns: 2, rows, most: vec![1.0, 1.0], objective };
        assert!(multipliers(&program).is_none());
    }
}
