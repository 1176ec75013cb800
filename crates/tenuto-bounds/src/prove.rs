//! From floating multipliers to a proof in integers, and what exactly it proves.

use crate::program::{Objective, Program, Row, Unknown};
use crate::proof::{LinearProof, Term};
use crate::shorten::shortened;
use crate::simplex::Simplex;
use crate::solver::{FloatProgram, InteriorPoint, LinearSolver, Vertex};
use crate::topology::Stop;
use crate::tree::Tree;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

/// Multipliers are stored in this many binary digits, the largest using all of them.
const DIGITS: i32 = 50;
/// Multipliers below this share of the largest are left off: boxes repay them.
const NEGLIGIBLE: f64 = 1e-11;

/// A proof and the bound that follows from it: ps, or 10⁻⁶ bit.
pub(crate) struct Proved {
    pub(crate) bound: i128,
    pub(crate) proof: LinearProof,
    /// Where a burst is bounded: the buckets that it rests on.
    pub(crate) shares: Vec<Share>,
}

/// How far a bound grows with the burst of a bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The flow and where it enters the tree.
    pub(crate) stop: Stop,
    /// Which of its buckets.
    pub(crate) which: usize,
    pub(crate) share: f64,
}

/// The solver of this crate.
pub(crate) const SOLVER: Simplex<InteriorPoint> = Simplex(InteriorPoint);

/// A solver, and what it answered: networks are often full of programs that are alike.
pub(crate) struct Solved<'a> {
    solver: &'a (dyn LinearSolver + Sync),
    answers: Mutex<BTreeMap<u128, Answer>>,
}

type Answer = Option<Arc<Vec<f64>>>;

impl<'a> Solved<'a> {
    pub(crate) fn new(solver: &'a (dyn LinearSolver + Sync)) -> Self {
        Self { solver, answers: Mutex::default() }
    }

    /// An answer depends on the program alone, so it does not matter who asks first.
    fn multipliers(&self, program: &FloatProgram) -> Answer {
        let print = fingerprint(program);
        let known = self.answers.lock().ok().and_then(|answers| answers.get(&print).cloned());
        known.unwrap_or_else(|| {
            let answer = self.solver.multipliers(program).map(Arc::new);
            if let Ok(mut answers) = self.answers.lock() {
                answers.insert(print, answer.clone());
            }
            answer
        })
    }
}

/// As [`fingerprint`], in the units in which a program is solved.
pub(crate) fn fingerprint_of(program: &Program) -> u128 {
    fingerprint(&Units::of(program).floats(program))
}

/// Equal for equal programs. Should two others ever share it, multipliers that belong to another
/// program prove little, and nothing wrong.
fn fingerprint(program: &FloatProgram) -> u128 {
    let mut hasher = SipHasher13::new();
    program.unknowns.hash(&mut hasher);
    let mut hash = |terms: &[(usize, f64)], most: f64| {
        terms.len().hash(&mut hasher);
        terms.iter().for_each(|(unknown, c)| (unknown, c.to_bits()).hash(&mut hasher));
        most.to_bits().hash(&mut hasher);
    };
    hash(&program.objective, 0.0);
    program.rows.iter().zip(&program.most).for_each(|(row, most)| hash(row, *most));
    hasher.finish128().as_u128()
}

/// Units in which a program is solved.
struct Units {
    /// ps.
    time: f64,
    /// 10⁻¹⁸ bit.
    data: f64,
}

impl Units {
    /// The widest date, and as much as the fastest rate carries meanwhile.
    fn of(program: &Program) -> Self {
        let reach = |u: &Unknown| match u {
            Unknown::Time { reach_ps } => reach_ps.to_f64().unwrap_or(1.0),
            Unknown::Amount { .. } => 0.0,
        };
        let time = program.unknowns.iter().map(reach).fold(1.0, f64::max) / 10.0;
        let rates = program.rows.iter().filter(|row| !row.is_time()).flat_map(|row| {
            let time = |(u, _): &&(usize, i128)| is_time(&program.unknowns[*u]);
            row.coefficients.iter().filter(time).map(|(_, c)| c.to_f64().unwrap_or(1.0).abs())
        });
        Self { time, data: rates.fold(1.0, f64::max) * time }
    }

    fn floats(&self, program: &Program) -> FloatProgram {
        // What counts as zero is no unknown of the solver.
        let (mut numbers, mut unknowns) = (Vec::new(), 0);
        for unknown in &program.unknowns {
            let is_zero = matches!(unknown, Unknown::Amount { is_reference: true, .. });
            numbers.push((!is_zero).then_some(unknowns));
            unknowns += usize::from(!is_zero);
        }
        let row = |row: &Row| -> (Vec<(usize, f64)>, f64) {
            let unit = if row.is_time() { self.time } else { self.data };
            let scaled = |&(unknown, coefficient): &(usize, i128)| {
                let of = if is_time(&program.unknowns[unknown]) { self.time } else { self.data };
                Some((numbers[unknown]?, coefficient.to_f64()? * of / unit))
            };
            let coefficients = row.coefficients.iter().filter_map(scaled).collect();
            (coefficients, row.most.to_f64().unwrap_or(f64::INFINITY) / unit)
        };
        let (rows, most) = program.rows.iter().map(row).unzip();
        let objective = program.objective.iter();
        let objective = objective.filter_map(|&(u, c)| Some((numbers[u]?, c.to_f64()?))).collect();
        FloatProgram { unknowns, rows, most, objective }
    }
}

const fn is_time(unknown: &Unknown) -> bool {
    matches!(unknown, Unknown::Time { .. })
}

/// Solves, rounds, and computes exactly what the rounded multipliers prove.
pub(crate) fn prove(
    solved: &Solved<'_>,
    program: &Program,
    tree: &Tree,
    objective: Objective,
) -> Option<Proved> {
    let multipliers = solved.multipliers(&Units::of(program).floats(program))?;
    proved(&multipliers, program, tree, objective)
}

/// As [`prove`], with multipliers that are known: one per row, in ps and 10⁻¹⁸ bit.
pub(crate) fn prove_with(
    program: &Program,
    tree: &Tree,
    objective: Objective,
    multipliers: &[f64],
) -> Option<Proved> {
    let units = Units::of(program);
    let is_delay = matches!(objective, Objective::Delay { .. });
    let scaled = |(row, z): (&Row, &f64)| match (row.is_time(), is_delay) {
        (true, true) | (false, false) => *z,
        (false, true) => z * units.data / units.time,
        (true, false) => z * units.time / units.data,
    };
    let multipliers: Vec<f64> = program.rows.iter().zip(multipliers).map(scaled).collect();
    proved(&multipliers, program, tree, objective)
}

/// Multipliers of a program, from where one ended that differs in its right-hand sides only.
pub(crate) fn multipliers_from(
    solver: &dyn LinearSolver,
    program: &Program,
    vertex: &mut Vertex,
) -> Option<Vec<f64>> {
    solver.multipliers_from(&Units::of(program).floats(program), vertex)
}

/// Rounds multipliers, and computes exactly what they prove.
pub(crate) fn proved(
    multipliers: &[f64],
    program: &Program,
    tree: &Tree,
    objective: Objective,
) -> Option<Proved> {
    if multipliers.len() != program.rows.len() {
        return None;
    }
    let units = Units::of(program);
    let is_delay = matches!(objective, Objective::Delay { .. });
    // A multiplier times its row has the unit of the objective; data in 10⁻⁶ bit.
    let ubit = units.data / 1e12;
    let (time_unit, data_unit) =
        if is_delay { (1.0, units.time / ubit) } else { (ubit / units.time, 1.0) };
    let largest = |is_time: bool, unit: f64| {
        let own =
            program.rows.iter().zip(multipliers.iter()).filter(|(r, _)| r.is_time() == is_time);
        own.map(|(_, z)| z * unit).fold(0.0, f64::max)
    };
    let time_parts = parts(largest(true, time_unit));
    let data_parts = parts(largest(false, data_unit));
    let top = multipliers.iter().copied().fold(0.0, f64::max);
    let mut terms = Vec::new();
    let mut used = Vec::new();
    for (row, &z) in program.rows.iter().zip(multipliers.iter()) {
        let (unit, parts) =
            if row.is_time() { (time_unit, time_parts) } else { (data_unit, data_parts) };
        let multiplier = (z * unit * parts.to_f64().unwrap_or(1.0)).round().to_u64().unwrap_or(0);
        if multiplier > 0 && z > top * NEGLIGIBLE {
            terms.push(with_multiplier(row.term, multiplier));
            used.push((row, multiplier));
        }
    }
    let fine_bound = total(program, &used, is_delay, time_parts, data_parts);
    let bound =
        if is_delay { fine_bound } else { ceil_div(fine_bound, BigInt::from(crate::curve::FINE)) };
    let bound = bound.to_i128().filter(|b| *b >= 0)?;
    let nodes = tree.nodes.clone();
    let proof = shortened(LinearProof { nodes, time_parts, data_parts, terms }, objective);
    let shares = if is_delay { Vec::new() } else { shares(&used, data_parts) };
    Some(Proved { bound, proof, shares })
}

/// How much of which bucket of which flow is used.
fn shares(used: &[(&Row, u64)], data_parts: u64) -> Vec<Share> {
    let parts = data_parts.to_f64().unwrap_or(f64::INFINITY);
    let mut shares = Vec::new();
    for (row, multiplier) in used {
        let which = match row.term {
            Term::Arrival(_, _, which, ..)
            | Term::AllArrival(_, _, which, ..)
            | Term::Last(which, ..) => which,
            _ => continue,
        };
        let share = multiplier.to_f64().unwrap_or(0.0) / parts;
        shares.extend(row.stops.iter().map(|&stop| Share { stop, which, share }));
    }
    shares
}

/// The power of two that brings the largest multiplier to so many digits.
fn parts(largest: f64) -> u64 {
    let exponent =
        if largest > 0.0 { DIGITS - largest.log2().ceil().to_i32().unwrap_or(0) } else { 0 };
    1 << exponent.clamp(0, 62)
}

const fn with_multiplier(term: Term, m: u64) -> Term {
    match term {
        Term::Order(a, b, c, _) => Term::Order(a, b, c, m),
        Term::Causal(a, b, _) => Term::Causal(a, b, m),
        Term::Monotone(a, b, c, d, _) => Term::Monotone(a, b, c, d, m),
        Term::Arrival(a, b, c, d, e, _) => Term::Arrival(a, b, c, d, e, m),
        Term::AllMonotone(a, b, c, d, _) => Term::AllMonotone(a, b, c, d, m),
        Term::AllArrival(a, b, c, d, e, _) => Term::AllArrival(a, b, c, d, e, m),
        Term::Line(a, b, c, d, _) => Term::Line(a, b, c, d, m),
        Term::Service(a, b, c, _) => Term::Service(a, b, c, m),
        Term::Delay(a, b, _) => Term::Delay(a, b, m),
        Term::Last(a, b, _) => Term::Last(a, b, m),
        Term::Left(a, b, c, _) => Term::Left(a, b, c, m),
        Term::Through(a, b, c, d, e, _) => Term::Through(a, b, c, d, e, m),
        Term::Into(a, b, c, d, _) => Term::Into(a, b, c, d, m),
        Term::Entered(a, _) => Term::Entered(a, m),
        Term::Since(_) => Term::Since(m),
    }
}

/// What the terms prove of the objective, in ps or 10⁻¹⁸ bit, rounded up.
fn total(
    program: &Program,
    used: &[(&Row, u64)],
    is_delay: bool,
    time_parts: u64,
    data_parts: u64,
) -> BigInt {
    let fine = BigInt::from(crate::curve::FINE);
    let (of_time, of_data) = (&fine * data_parts, BigInt::from(time_parts));
    let mut under = BigInt::from(time_parts) * data_parts;
    if is_delay {
        under *= fine;
    }
    let mut left: Vec<BigInt> = vec![BigInt::ZERO; program.unknowns.len()];
    for &(unknown, coefficient) in &program.objective {
        left[unknown] += &under * coefficient;
    }
    let mut sum = BigInt::ZERO;
    for (row, multiplier) in used {
        let weight = if row.is_time() { &of_time } else { &of_data } * *multiplier;
        sum += &weight * row.most;
        for &(unknown, coefficient) in &row.coefficients {
            left[unknown] -= &weight * coefficient;
        }
    }
    // Amounts of a flow add up to nothing: what is left over is a sum of differences.
    for (rest, unknown) in left.iter().zip(&program.unknowns) {
        match unknown {
            Unknown::Time { reach_ps } if rest.is_negative() => sum -= rest * reach_ps,
            Unknown::Amount { flow, .. } if rest.is_positive() => {
                sum += rest * &program.widths[*flow];
            }
            _ => {}
        }
    }
    ceil_div(sum, under)
}

fn ceil_div(over: BigInt, under: BigInt) -> BigInt {
    let quotient = &over / &under;
    if (over - &quotient * under).is_positive() { quotient + 1 } else { quotient }
}
