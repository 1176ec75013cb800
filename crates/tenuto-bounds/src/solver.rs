//! The library that solves linear programs, behind a trait. Its answers are not believed.

use crate::interior;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SupportedConeT};

/// maximise Σ objective·x subject to rows·x ≤ most, x free; in units in which numbers are of
/// moderate size.
#[derive(Clone, Debug, Default)]
pub(crate) struct FloatProgram {
    pub(crate) unknowns: usize,
    pub(crate) rows: Vec<Vec<(usize, f64)>>,
    pub(crate) most: Vec<f64>,
    pub(crate) objective: Vec<(usize, f64)>,
}

/// Finds multipliers of the rows that prove (nearly) the least bound of the objective.
pub(crate) trait LinearSolver {
    /// One per row, none far below zero; `None` if there seems to be no bound.
    fn multipliers(&self, program: &FloatProgram) -> Option<Vec<f64>>;

    /// As [`LinearSolver::multipliers`], given up where the least bound turns out to be above a
    /// limit, in the unit of the objective.
    fn multipliers_below(&self, program: &FloatProgram, _limit: f64) -> Option<Below> {
        self.multipliers(program).map(Below::Multipliers)
    }

    /// Whether what it finds are the multipliers of a vertex: exact ones can be made of these.
    fn ends_at_vertex(&self, _: &FloatProgram) -> bool {
        false
    }

    /// As [`LinearSolver::multipliers`], from where a program ended that differs in its right-hand
    /// sides only; leaves there where this one ended.
    fn multipliers_from(&self, program: &FloatProgram, _: &mut Vertex) -> Option<Vec<f64>> {
        self.multipliers(program)
    }
}

/// What a solver finds that has a limit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Below {
    /// One multiplier per row.
    Multipliers(Vec<f64>),
    /// Some point that the rows allow is above the limit, so that every bound is.
    Above,
}

impl Below {
    /// Multipliers, if it went so far.
    pub(crate) fn multipliers(self) -> Option<Vec<f64>> {
        match self {
            Self::Multipliers(multipliers) => Some(multipliers),
            Self::Above => None,
        }
    }
}

/// Rows that are tight where a program ended; empty for none.
pub(crate) type Vertex = Vec<usize>;

/// Interior-point methods: the same steps in every run, whatever is degenerate. The one for
/// programs of trees is tried first, one for all kinds of cones where that gets stuck.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InteriorPoint;

/// Iterations after which an interior-point method is stuck.
const ITERATIONS_MAX: u32 = 100;
/// The gap at which it stops, as a share.
const GAP: f64 = 1e-10;

impl LinearSolver for InteriorPoint {
    fn multipliers(&self, program: &FloatProgram) -> Option<Vec<f64>> {
        self.multipliers_below(program, f64::INFINITY)?.multipliers()
    }

    fn multipliers_below(&self, program: &FloatProgram, limit: f64) -> Option<Below> {
        interior::multipliers_below(program, limit)
            .or_else(|| Self::of_cones(program).map(Below::Multipliers))
    }
}

impl InteriorPoint {
    fn of_cones(program: &FloatProgram) -> Option<Vec<f64>> {
        let matrix = columns(program);
        let mut cost = vec![0.0; program.unknowns];
        for &(unknown, coefficient) in &program.objective {
            cost[unknown] -= coefficient;
        }
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .max_iter(ITERATIONS_MAX)
            .tol_gap_abs(GAP)
            .tol_gap_rel(GAP)
            .tol_feas(GAP)
            .build()
            .ok()?;
        let quadratic = CscMatrix::zeros((program.unknowns, program.unknowns));
        let cones = [SupportedConeT::NonnegativeConeT(program.rows.len())];
        let mut solver =
            DefaultSolver::new(&quadratic, &cost, &matrix, &program.most, &cones, settings).ok()?;
        solver.solve();
        // Whatever it says of its success: multipliers are worth what they prove.
        let multipliers = solver.solution.z;
        multipliers.iter().all(|z| z.is_finite()).then_some(multipliers)
    }
}

/// The rows by columns.
fn columns(program: &FloatProgram) -> CscMatrix<f64> {
    let mut by_column: Vec<Vec<(usize, f64)>> = vec![Vec::new(); program.unknowns];
    for (index, row) in program.rows.iter().enumerate() {
        for &(unknown, coefficient) in row {
            by_column[unknown].push((index, coefficient));
        }
    }
    let (mut starts, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
    for column in by_column {
        for (row, value) in column {
            places.push(row);
            values.push(value);
        }
        starts.push(places.len());
    }
    CscMatrix::new(program.rows.len(), program.unknowns, starts, places, values)
}
