//! An interior-point method for programs of trees: Mehrotra's predictor and corrector on normal
//! equations ([Van20], chapters 18 to 20).
//!
//! Rows are many and short, unknowns few and free, so the normal equations Aᵀ·D·A are positive
//! definite, sparse, and an order smaller than the system of both. Programs of trees are highly
//! degenerate: Mehrotra's step alone is short. So his correction is weighted by what lets the step
//! be longest, and products of slacks and prices that lie far from the others are drawn back to
//! them as long as that makes the step longer \[Gon96, CG08\]: factors are made less often.

use crate::cholesky::Cholesky;
use crate::solver::{Below, FloatProgram};
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
/// After a shorter step the next one goes towards the centre only.
const STEP_SHORT: f64 = 0.1;
/// That centre, as a share of the mean product.
const CENTRE_SHARE: f64 = 0.8;
/// Starts that are tried in turn: added to the slacks at zero, and their product with prices.
const STARTS: [(f64, f64); 2] = [(0.1, 0.01), (0.1, 0.001)];
/// Added to what is eliminated: a share of itself, and this.
const REGULAR: (f64, f64) = (1e-13, 1e-12);
/// Products of slacks and prices are drawn to within these multiples of what is aimed at.
const NEAR: (f64, f64) = (0.1, 10.0);
/// How often they are drawn in one step, and by how much the step has to be longer to go on.
const DRAWN_MAX: usize = 2;
const LONGER: f64 = 0.02;
/// A step that is as long as this is long enough.
const STEP_LONG: f64 = 0.95;
/// Shares of a correction that are tried, from the whole of it to the least.
const SHARES: usize = 4;

/// Multipliers of rows, or `None` if the steps end far from any optimum; given up as soon as a
/// point is above the limit.
pub(crate) fn multipliers_below(program: &FloatProgram, limit: f64) -> Option<Below> {
    let rows = program.rows.len();
    if rows == 0 || program.unknowns == 0 || program.most.iter().any(|most| !most.is_finite()) {
        return None;
    }
    let mut normal = Normal::new(program)?;
    STARTS.iter().find_map(|start| multipliers_from(program, &mut normal, *start, limit))
}

fn multipliers_from(
    program: &FloatProgram,
    normal: &mut Normal,
    start: (f64, f64),
    limit: f64,
) -> Option<Below> {
    let mut at = Point::start(program, start);
    let mut best: Option<(f64, Vec<f64>)> = None;
    let mut length = 1.0;
    for _ in 0..STEPS_MAX {
        let left = at.left(program, normal);
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
        if left.reached(program, &at) > limit {
            return Some(Below::Above);
        }
        length = at.step(normal, &left, length < STEP_SHORT);
        if length < STEP_MIN {
            break;
        }
    }
    best.filter(|(error, _)| *error <= POOR).map(|(_, prices)| Below::Multipliers(prices))
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

    /// About what the objective reaches within the rows: less what it owes to going beyond them.
    fn reached(&self, program: &FloatProgram, at: &Point) -> f64 {
        let beyond = self.rows.iter().fold(0.0_f64, |most, left| most.max(-left));
        let reached: f64 = program.objective.iter().map(|&(j, c)| c * at.unknowns[j]).sum();
        reached - beyond * at.prices.iter().sum::<f64>()
    }
}

impl Point {
    /// Zero, with slacks a little longer than they are and prices that balance them.
    fn start(program: &FloatProgram, (apart, product): (f64, f64)) -> Self {
        let slacks: Vec<f64> = program.most.iter().map(|most| most.max(0.0) + apart).collect();
        let prices = slacks.iter().map(|slack| product / slack).collect();
        Self { unknowns: vec![0.0; program.unknowns], slacks, prices }
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

    /// One step; how long the shorter of its two sides is. With `is_stuck` towards the centre.
    fn step(&mut self, normal: &mut Normal, left: &Left, is_stuck: bool) -> f64 {
        let weights: Vec<f64> = self.prices.iter().zip(&self.slacks).map(|(y, s)| y / s).collect();
        normal.factor(&weights);
        let newton = Newton { normal, weights: &weights };
        let products: Vec<f64> =
            self.slacks.iter().zip(&self.prices).map(|(s, y)| -s * y).collect();
        let mut ahead = self.direction(&newton, Some(left), &products);
        let aim = self.correct(&newton, left, is_stuck, &mut ahead);
        self.draw_together(&newton, aim, &mut ahead);
        ahead.refine(&newton, left);
        let (by_slack, by_price) = self.lengths(&ahead);
        let (by_slack, by_price) =
            ((by_slack * STEP_SHARE).min(1.0), (by_price * STEP_SHARE).min(1.0));
        go(&mut self.unknowns, &ahead.unknowns, by_slack);
        go(&mut self.slacks, &ahead.slacks, by_slack);
        go(&mut self.prices, &ahead.prices, by_price);
        by_slack.min(by_price)
    }

    /// Mehrotra's correction of a predicted direction; what products it aims at.
    fn correct(&self, newton: &Newton<'_>, left: &Left, is_stuck: bool, ahead: &mut Self) -> f64 {
        let (by_slack, by_price) = self.lengths(ahead);
        let (by_slack, by_price) = (by_slack.min(1.0), by_price.min(1.0));
        let after: f64 = self.products(ahead, by_slack, by_price).sum();
        let share = (after / self.slacks.len() as f64 / left.mean).clamp(0.0, 1.0);
        let shorter = by_slack.min(by_price);
        let (aim, least, curved) = match is_stuck {
            true => (CENTRE_SHARE * left.mean, 1.0, 0.0),
            false => (share * share * share * left.mean, shorter * shorter, 1.0),
        };
        let bent = ahead.slacks.iter().zip(&ahead.prices).map(|(s, y)| aim - curved * s * y);
        let more = self.direction(newton, None, &bent.collect::<Vec<f64>>());
        self.add_best(ahead, &more, least);
        aim
    }

    /// Draws products that a longer step would leave far from the aim back to it.
    fn draw_together(&self, newton: &Newton<'_>, aim: f64, ahead: &mut Self) {
        for _ in 0..DRAWN_MAX {
            let (by_slack, by_price) = self.lengths(ahead);
            let shorter = by_slack.min(by_price);
            if shorter > STEP_LONG {
                return;
            }
            let farther = |length: f64| (length * 1.1 + 0.1).min(1.0);
            let products = self.products(ahead, farther(by_slack), farther(by_price));
            let drawn = |product: f64| {
                (product.clamp(NEAR.0 * aim, NEAR.1 * aim) - product).max(-NEAR.1 * aim)
            };
            let more = self.direction(newton, None, &products.map(drawn).collect::<Vec<f64>>());
            let (by_slack, by_price) = self.add_best(ahead, &more, NEAR.0);
            if by_slack.min(by_price) < shorter + LONGER {
                return;
            }
        }
    }

    /// Products of slacks and prices so far along a direction.
    fn products<'a>(
        &'a self,
        ahead: &'a Self,
        by_slack: f64,
        by_price: f64,
    ) -> impl Iterator<Item = f64> + 'a {
        let slacks = self.slacks.iter().zip(&ahead.slacks).map(move |(s, d)| s + by_slack * d);
        let prices = self.prices.iter().zip(&ahead.prices).map(move |(y, d)| y + by_price * d);
        slacks.zip(prices).map(|(s, y)| s * y)
    }

    /// Adds that share of a correction, `least` or more, with which the step is longest; its length.
    fn add_best(&self, ahead: &mut Self, more: &Self, least: f64) -> (f64, f64) {
        let shares: [f64; SHARES] = [1.0, 0.7 + 0.3 * least, 0.4 + 0.6 * least, least];
        let (by_slack, of_slack) = longest(&self.slacks, &ahead.slacks, &more.slacks, &shares);
        let (by_price, of_price) = longest(&self.prices, &ahead.prices, &more.prices, &shares);
        go(&mut ahead.unknowns, &more.unknowns, of_slack);
        go(&mut ahead.slacks, &more.slacks, of_slack);
        go(&mut ahead.prices, &more.prices, of_price);
        (by_slack, by_price)
    }

    /// Newton's direction for what is left over, if anything is to be made good, and these products
    /// of slacks and prices.
    fn direction(&self, newton: &Newton<'_>, left: Option<&Left>, products: &[f64]) -> Self {
        let Newton { normal, weights } = newton;
        let over = |row: usize| left.map_or(0.0, |left| left.rows[row]);
        let rows = 0..self.slacks.len();
        let fixed: Vec<f64> = rows
            .clone()
            .map(|row| products[row] / self.slacks[row] - weights[row] * over(row))
            .collect();
        let mut wanted = normal.rows.transposed(&fixed);
        wanted.iter_mut().for_each(|paid| *paid = -*paid);
        if let Some(left) = left {
            go(&mut wanted, &left.columns, 1.0);
        }
        let unknowns = normal.solve(&wanted);
        let along = normal.rows.times(&unknowns);
        let slacks = rows.clone().map(|row| over(row) - along[row]).collect();
        let prices = rows.map(|row| fixed[row] + weights[row] * along[row]).collect();
        Self { unknowns, slacks, prices }
    }

    /// Puts right what rounding left of a direction: that prices pay for the objective.
    fn refine(&mut self, Newton { normal, weights }: &Newton<'_>, left: &Left) {
        let paid = normal.rows.transposed(&self.prices);
        let rest: Vec<f64> = left.columns.iter().zip(&paid).map(|(l, p)| l - p).collect();
        let more = normal.solve(&rest);
        let along = normal.rows.times(&more);
        go(&mut self.unknowns, &more, 1.0);
        go(&mut self.slacks, &along, -1.0);
        let changed: Vec<f64> = along.iter().zip(*weights).map(|(a, w)| a * w).collect();
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

/// The equations of one step, factored.
struct Newton<'a> {
    normal: &'a Normal,
    /// Per row: D.
    weights: &'a [f64],
}

/// Of shares of `more` that are added to these speeds the one with which no value falls below
/// nothing for longest, behind how long that is.
fn longest(values: &[f64], speeds: &[f64], more: &[f64], shares: &[f64; SHARES]) -> (f64, f64) {
    let mut fastest = [STEP_SHARE; SHARES];
    for ((value, speed), more) in values.iter().zip(speeds).zip(more) {
        let under = -1.0 / value;
        let (speed, more) = (speed * under, more * under);
        for (fastest, share) in fastest.iter_mut().zip(shares) {
            let fall = speed + share * more;
            *fastest = if fall > *fastest { fall } else { *fastest };
        }
    }
    let slowest =
        (1..SHARES).fold(0, |best, at| if fastest[at] < fastest[best] { at } else { best });
    (1.0 / fastest[slowest], shares[slowest])
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
        diagonal.iter_mut().for_each(|value| *value += *value * REGULAR.0 + REGULAR.1);
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

    fn multipliers(program: &FloatProgram) -> Option<Vec<f64>> {
        multipliers_below(program, f64::INFINITY)?.multipliers()
    }

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
    fn programs_are_given_up_above_their_limit_and_only_there() {
        for unknowns in [9, 40] {
            let program = program(unknowns);
            let bound = dot(&multipliers(&program).expect("it converges"), &program.most);
            for solver in [&InteriorPoint as &dyn LinearSolver, &Simplex(InteriorPoint)] {
                let found = |limit: f64| solver.multipliers_below(&program, bound * limit);
                assert_eq!(found(0.9), Some(Below::Above), "{unknowns}");
                let all = solver.multipliers(&program).map(Below::Multipliers);
                assert_eq!(found(1.001), all, "{unknowns}");
            }
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
