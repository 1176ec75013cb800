//! A simplex method for programs of trees: small, sparse, highly degenerate, feasible at zero.
//!
//! A point is kept as the crossing of as many *held* constraints as there are unknowns; at first
//! each unknown is held at zero. Multipliers of held constraints are the prices of the objective.
//! So a vertex names no more inequalities than there are unknowns, and mostly far fewer: proofs are
//! short. Right-hand sides are widened by a little for the way up (degenerate steps would stall)
//! and put right again by a few dual steps at the end ([Van20], chapters 3 and 5).

use crate::factors::Factors;
use crate::solver::{Below, FloatProgram, LinearSolver, Vertex};

/// Unknowns beyond which an interior point is quicker.
const UNKNOWNS_MAX: usize = 400;
/// Coefficients and prices below this are rounding.
const TINY: f64 = 1e-9;
/// How far a point may lie beyond a constraint.
const FEASIBLE: f64 = 1e-9;
/// Right-hand sides are widened by one to two times this.
const WIDENED: f64 = 1e-6;
/// Steps per unknown after which it is stuck.
const STEPS_PER_UNKNOWN: usize = 12;

/// Vertices by steps along edges; programs that are too large are left to another solver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Simplex<S>(pub(crate) S);

impl<S: LinearSolver> LinearSolver for Simplex<S> {
    fn multipliers(&self, program: &FloatProgram) -> Option<Vec<f64>> {
        self.multipliers_below(program, f64::INFINITY)?.multipliers()
    }

    fn multipliers_below(&self, program: &FloatProgram, limit: f64) -> Option<Below> {
        if program.unknowns > UNKNOWNS_MAX {
            return self.0.multipliers_below(program, limit);
        }
        match Tableau::new(program).and_then(|tableau| tableau.solve(program, limit)) {
            Some((found, _)) => Some(found),
            None => self.0.multipliers_below(program, limit),
        }
    }

    fn ends_at_vertex(&self, program: &FloatProgram) -> bool {
        program.unknowns <= UNKNOWNS_MAX
    }

    fn multipliers_from(&self, program: &FloatProgram, vertex: &mut Vertex) -> Option<Vec<f64>> {
        if program.unknowns > UNKNOWNS_MAX {
            return self.0.multipliers(program);
        }
        let again = Tableau::new(program).and_then(|tableau| tableau.solve_again(program, vertex));
        let found = again.or_else(|| {
            let (found, end) = Tableau::new(program)?.solve(program, f64::INFINITY)?;
            Some((found.multipliers()?, end))
        });
        match found {
            Some((multipliers, end)) => {
                *vertex = end;
                Some(multipliers)
            }
            None => self.0.multipliers(program),
        }
    }
}

/// What holds the point in one of its dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// An unknown is zero: nothing that the program says, so its price must come to nothing.
    AtZero(usize),
    /// A row is tight.
    Row(usize),
}

/// Coefficients of rows or columns, one after the other.
struct Sparse {
    starts: Vec<usize>,
    places: Vec<usize>,
    values: Vec<f64>,
}

impl Sparse {
    fn rows(program: &FloatProgram) -> Self {
        let mut this = Self { starts: vec![0], places: Vec::new(), values: Vec::new() };
        for row in &program.rows {
            for &(place, value) in row {
                this.places.push(place);
                this.values.push(value);
            }
            this.starts.push(this.places.len());
        }
        this
    }

    fn transposed(&self, columns: usize) -> Self {
        let mut starts = vec![0; columns + 1];
        self.places.iter().for_each(|&place| starts[place + 1] += 1);
        for column in 0..columns {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut places = vec![0; self.places.len()];
        let mut values = vec![0.0; self.places.len()];
        for row in 0..self.starts.len() - 1 {
            for (place, value) in self.of(row) {
                places[next[place]] = row;
                values[next[place]] = value;
                next[place] += 1;
            }
        }
        Self { starts, places, values }
    }

    fn of(&self, index: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[index]..self.starts[index + 1];
        self.places[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}

struct Tableau<'a> {
    most: &'a [f64],
    rows: Sparse,
    columns: Sparse,
    size: usize,
    held: Vec<Held>,
    /// Per row: whether it is held.
    is_held: Vec<bool>,
    /// Held constraints, by column.
    factors: Factors,
    /// Per row: how far the point is from it.
    slack: Vec<f64>,
    /// Per held constraint: its price.
    prices: Vec<f64>,
    /// Per held constraint: about how long its edge is, squared (Devex).
    weights: Vec<f64>,
    steps: usize,
    /// Scratch, all zero between uses: what every row gains along an edge.
    gains: Vec<f64>,
}

impl<'a> Tableau<'a> {
    /// `None` unless zero is feasible.
    fn new(program: &'a FloatProgram) -> Option<Self> {
        if program.most.iter().any(|most| !(0.0..f64::INFINITY).contains(most)) {
            return None;
        }
        let (size, count) = (program.unknowns, program.rows.len());
        let rows = Sparse::rows(program);
        let columns = rows.transposed(size);
        let (factors, _) = Factors::new(size, Vec::new())?;
        let widened = |(row, most): (usize, &f64)| most + WIDENED * (1.0 + noise(row));
        Some(Self {
            most: &program.most,
            rows,
            columns,
            size,
            held: (0..size).map(Held::AtZero).collect(),
            is_held: vec![false; count],
            factors,
            slack: program.most.iter().enumerate().map(widened).collect(),
            prices: vec![0.0; size],
            weights: vec![1.0; size],
            steps: 0,
            gains: vec![0.0; count],
        })
    }

    /// From zero, and up to a limit.
    fn solve(mut self, program: &FloatProgram, limit: f64) -> Option<(Below, Vertex)> {
        self.price(&program.objective);
        if self.climb(&program.objective, limit)? {
            return Some((Below::Above, Vertex::new()));
        }
        self.settle(&program.objective);
        let (multipliers, end) = self.end(program);
        Some((Below::Multipliers(multipliers), end))
    }

    /// From a vertex whose prices are good: dual steps alone.
    fn solve_again(
        mut self,
        program: &FloatProgram,
        vertex: &Vertex,
    ) -> Option<(Vec<f64>, Vertex)> {
        if vertex.is_empty() || vertex.iter().any(|&row| row >= self.slack.len()) {
            return None;
        }
        self.hold(vertex, &program.objective)?;
        let is_good = |(held, price): (&Held, &f64)| match held {
            Held::AtZero(_) => price.abs() <= 1e-7,
            Held::Row(_) => *price >= -1e-7,
        };
        if !self.held.iter().zip(&self.prices).all(is_good) {
            return None;
        }
        self.settle(&program.objective);
        Some(self.end(program))
    }

    fn end(&mut self, program: &FloatProgram) -> (Vec<f64>, Vertex) {
        (self.multipliers(&program.objective), self.vertex())
    }

    fn vertex(&self) -> Vertex {
        let row = |held: &Held| if let Held::Row(row) = held { Some(*row) } else { None };
        self.held.iter().filter_map(row).collect()
    }

    /// Prices of held constraints: objective · inverse.
    fn price(&mut self, objective: &[(usize, f64)]) {
        let mut wanted = vec![0.0; self.size];
        objective.iter().for_each(|&(unknown, c)| wanted[unknown] += c);
        self.prices = self.factors.solve(&mut wanted);
    }

    /// Primal steps: along edges on which the objective grows, until it cannot or is above a
    /// limit: whether it is. `None` if an edge has no end, or if it takes too long.
    fn climb(&mut self, objective: &[(usize, f64)], limit: f64) -> Option<bool> {
        let steps_max = self.steps + STEPS_PER_UNKNOWN * self.size;
        let mut reached = 0.0;
        while let Some((leaving, sign)) = self.steepest() {
            let edge = self.edge(leaving, sign);
            self.gain(&edge);
            let found = self.nearest();
            if let Some((_, length)) = found {
                self.advance(length);
                reached += self.prices[leaving].abs() * length;
            }
            self.forget(&edge);
            let (entering, _) = found?;
            if reached > limit && reached - self.widened() > limit {
                return Some(true);
            }
            self.exchange(entering, leaving)?;
            self.steps += 1;
            if self.steps > steps_max {
                return None;
            }
            if self.factors.is_worn() {
                self.invert(objective)?;
            }
        }
        Some(false)
    }

    /// About what the objective owes to right-hand sides being wider than they are.
    fn widened(&self) -> f64 {
        let of_rows = self.prices.iter().zip(&self.held).filter(|(_, h)| matches!(h, Held::Row(_)));
        2.0 * WIDENED * of_rows.map(|(price, _)| price.abs()).sum::<f64>()
    }

    /// The held constraint that it pays most to leave, and in which direction.
    fn steepest(&self) -> Option<(usize, f64)> {
        let (mut best, mut most) = (None, 0.0);
        for (at, (&price, held)) in self.prices.iter().zip(&self.held).enumerate() {
            let sign = match held {
                Held::AtZero(_) if price.abs() > TINY => price.signum(),
                Held::Row(_) if price < -TINY => -1.0,
                _ => continue,
            };
            let rate = price * price / self.weights[at];
            if rate > most {
                (best, most) = (Some((at, sign)), rate);
            }
        }
        best
    }

    /// Where the point goes if a held constraint is let go: unknowns that change, and how fast.
    fn edge(&self, leaving: usize, sign: f64) -> Vec<(usize, f64)> {
        let mut unit = vec![0.0; self.size];
        unit[leaving] = sign;
        let speeds = self.factors.solve_transposed(&mut unit);
        speeds.into_iter().enumerate().filter(|(_, speed)| speed.abs() > 1e-14).collect()
    }

    /// What every row gains along an edge.
    fn gain(&mut self, edge: &[(usize, f64)]) {
        for &(unknown, speed) in edge {
            for (row, coefficient) in self.columns.of(unknown) {
                self.gains[row] += coefficient * speed;
            }
        }
    }

    fn forget(&mut self, edge: &[(usize, f64)]) {
        for &(unknown, _) in edge {
            let range = self.columns.starts[unknown]..self.columns.starts[unknown + 1];
            self.columns.places[range].iter().for_each(|&row| self.gains[row] = 0.0);
        }
    }

    /// The first row in the way: of those about equally near the one that is met most squarely.
    fn nearest(&self) -> Option<(usize, f64)> {
        let mut reach = f64::INFINITY;
        for (row, &gain) in self.gains.iter().enumerate() {
            if gain > TINY && !self.is_held[row] {
                reach = reach.min((self.slack[row].max(0.0) + FEASIBLE) / gain);
            }
        }
        let (mut best, mut most) = (None, 0.0);
        for (row, &gain) in self.gains.iter().enumerate() {
            if gain > TINY && gain > most && !self.is_held[row] {
                let length = self.slack[row].max(0.0) / gain;
                if length <= reach {
                    (best, most) = (Some((row, length)), gain);
                }
            }
        }
        best
    }

    fn advance(&mut self, length: f64) {
        self.slack.iter_mut().zip(&self.gains).for_each(|(slack, gain)| *slack -= length * gain);
    }

    /// How a row is made up of held constraints.
    fn made_up(&self, row: usize) -> Vec<f64> {
        let mut wanted = vec![0.0; self.size];
        self.rows.of(row).for_each(|(unknown, c)| wanted[unknown] += c);
        self.factors.solve(&mut wanted)
    }

    /// Holds a row in place of a held constraint.
    fn exchange(&mut self, entering: usize, leaving: usize) -> Option<()> {
        let shares = self.made_up(entering);
        self.exchange_with(entering, leaving, &shares)
    }

    fn exchange_with(&mut self, entering: usize, leaving: usize, shares: &[f64]) -> Option<()> {
        let pivot = shares[leaving];
        if pivot.abs() < TINY {
            return None;
        }
        let price = self.prices[leaving] / pivot;
        let weight = self.weights[leaving] / (pivot * pivot);
        for (at, &share) in shares.iter().enumerate() {
            if at == leaving || share.abs() < 1e-13 {
                continue;
            }
            self.prices[at] -= share * price;
            self.weights[at] = self.weights[at].max(share * share * weight);
        }
        self.factors.replace(leaving, shares);
        self.prices[leaving] = price;
        self.weights[leaving] = weight.max(1.0);
        if let Held::Row(row) = self.held[leaving] {
            self.is_held[row] = false;
        }
        self.is_held[entering] = true;
        self.held[leaving] = Held::Row(entering);
        self.slack[entering] = 0.0;
        Some(())
    }

    /// Dual steps: to the vertex for the right-hand sides as they are. Prices stay good all the
    /// way, so wherever this ends they prove something.
    fn settle(&mut self, objective: &[(usize, f64)]) {
        self.place();
        let steps_max = self.steps + self.size;
        while let Some(entering) = self.worst() {
            let shares = self.made_up(entering);
            let Some(leaving) = self.cheapest(&shares) else { return };
            let length = -self.slack[entering] / shares[leaving];
            let edge = self.edge(leaving, -1.0);
            self.gain(&edge);
            self.advance(length);
            self.forget(&edge);
            self.steps += 1;
            let is_done = self.steps > steps_max;
            if is_done || self.exchange_with(entering, leaving, &shares).is_none() {
                return;
            }
            if self.factors.is_worn() && self.invert(objective).is_none() {
                return;
            }
        }
    }

    /// The row that the point is farthest beyond.
    fn worst(&self) -> Option<usize> {
        let beyond = self.slack.iter().enumerate().filter(|(_, slack)| **slack < -FEASIBLE);
        beyond.min_by(|a, b| a.1.total_cmp(b.1)).map(|(row, _)| row)
    }

    /// The held constraint whose price falls to nothing first as another's rises.
    fn cheapest(&self, shares: &[f64]) -> Option<usize> {
        let ratio = |at: usize| match self.held[at] {
            Held::AtZero(_) if shares[at].abs() > 1e-7 => Some(0.0),
            Held::Row(_) if shares[at] > 1e-7 => Some(self.prices[at].max(0.0) / shares[at]),
            _ => None,
        };
        let ratios = (0..self.size).filter_map(|at| Some((at, ratio(at)?)));
        let least = ratios.clone().map(|(_, ratio)| ratio).fold(f64::INFINITY, f64::min);
        let near = ratios.filter(|(_, ratio)| *ratio <= least + 1e-10);
        near.max_by(|a, b| shares[a.0].abs().total_cmp(&shares[b.0].abs())).map(|(at, _)| at)
    }

    /// Computes slacks anew, of right-hand sides as they are.
    fn place(&mut self) {
        let most = |held: &Held| if let Held::Row(row) = *held { self.most[row] } else { 0.0 };
        let mut most: Vec<f64> = self.held.iter().map(most).collect();
        let point = self.factors.solve_transposed(&mut most);
        for row in 0..self.slack.len() {
            let here: f64 = self.rows.of(row).map(|(unknown, c)| c * point[unknown]).sum();
            let is_exact = self.is_held[row];
            self.slack[row] = if is_exact { 0.0 } else { self.most[row] - here };
        }
    }

    /// Makes the factors anew, which rounding has worn.
    fn invert(&mut self, objective: &[(usize, f64)]) -> Option<()> {
        let column = |held: &Held| match *held {
            Held::AtZero(unknown) => vec![(unknown, 1.0)],
            Held::Row(row) => self.rows.of(row).collect(),
        };
        let columns = self.held.iter().map(column).collect();
        (self.factors, _) = Factors::new(self.size, columns)?;
        self.price(objective);
        Some(())
    }

    /// Holds these rows, and unknowns at zero where they leave any free.
    fn hold(&mut self, held: &Vertex, objective: &[(usize, f64)]) -> Option<()> {
        let columns = held.iter().map(|&row| self.rows.of(row).collect()).collect();
        let (factors, free) = Factors::new(self.size, columns)?;
        self.factors = factors;
        self.held = held.iter().map(|&row| Held::Row(row)).collect();
        self.held.extend(free.into_iter().map(Held::AtZero));
        self.is_held.fill(false);
        held.iter().for_each(|&row| self.is_held[row] = true);
        self.weights.fill(1.0);
        self.price(objective);
        Some(())
    }

    /// Prices as multipliers of rows, what rounding left of the objective put right once.
    fn multipliers(&mut self, objective: &[(usize, f64)]) -> Vec<f64> {
        let mut rest = vec![0.0; self.size];
        objective.iter().for_each(|&(unknown, c)| rest[unknown] += c);
        for (held, price) in self.held.iter().zip(&self.prices) {
            if let Held::Row(row) = *held {
                self.rows.of(row).for_each(|(unknown, c)| rest[unknown] -= c * price);
            }
        }
        let more = self.factors.solve(&mut rest);
        let mut multipliers = vec![0.0; self.slack.len()];
        for (at, held) in self.held.iter().enumerate() {
            if let Held::Row(row) = *held {
                multipliers[row] = (self.prices[at] + more[at]).max(0.0);
            }
        }
        multipliers
    }
}

/// A number between 0 and 1 that depends on the index alone, without a pattern.
fn noise(index: usize) -> f64 {
    let mixed = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    f64::from(u16::try_from(mixed >> 48).unwrap_or(0)) / 65_536.0
}
