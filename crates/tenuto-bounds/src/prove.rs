//! From floating multipliers to a proof in integers, and what exactly it proves.

use crate::exact;
use crate::natural::{DIGITS_MAX, Natural};
use crate::program::{Objective, Program, Row, Unknown};
use crate::proof::{LinearProof, Term};
use crate::shorten::shortened;
use crate::simplex::Simplex;
use crate::solver::{Below, FloatProgram, InteriorPoint, LinearSolver, Vertex};
use crate::topology::Stop;
use crate::tree::Tree;
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

/// Multipliers are stored in this many binary digits, the largest using all of them.
const DIGITS: i32 = 50;
/// Dates that lie so many bursts and latencies off say nothing of what is usual in a program.
const WIDE: f64 = 1e6;
/// Repaid by boxes beyond this share of a bound, multipliers are made exact.
const REPAID_SHARE: f64 = 1e-7;
/// A program is given up where its bound is above a limit by this factor: solvers widen what they
/// solve by less.
const ABOVE: f64 = 1.001;
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

/// A program whose bound is above the limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Above;

impl<'a> Solved<'a> {
    pub(crate) fn new(solver: &'a (dyn LinearSolver + Sync)) -> Self {
        Self { solver, answers: Mutex::default() }
    }

    /// An answer depends on the program alone, so it does not matter who asks first. `Err` if it
    /// was given up above a limit: whoever asks next may have another.
    fn multipliers(&self, program: &FloatProgram, limit: f64) -> Result<Answer, Above> {
        let print = fingerprint(program);
        let known = self.answers.lock().ok().and_then(|answers| answers.get(&print).cloned());
        if let Some(answer) = known {
            return Ok(answer);
        }
        let answer = match self.solver.multipliers_below(program, limit) {
            Some(Below::Above) => return Err(Above),
            Some(Below::Multipliers(multipliers)) => Some(Arc::new(multipliers)),
            None => None,
        };
        if let Ok(mut answers) = self.answers.lock() {
            answers.insert(print, answer.clone());
        }
        Ok(answer)
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
    /// Whether dates may lie so far off, or anywhere, that boxes cannot repay what rounding leaves.
    is_wide: bool,
}

impl Units {
    /// The widest date, and as much as the fastest rate carries meanwhile.
    fn of(program: &Program) -> Self {
        let reach = |u: &Unknown| match u {
            Unknown::Time { reach_ps } => reach_ps.map_or(f64::INFINITY, float),
            Unknown::Amount { .. } => 0.0,
        };
        let widest = program.unknowns.iter().map(reach).fold(1.0, f64::max);
        let rate = |row: &Row| {
            let time = |(u, _): &&(usize, i128)| program.unknowns[*u].is_time();
            let rates = row.coefficients.iter().filter(time);
            rates.map(|(_, c)| float(*c).abs()).fold(0.0, f64::max)
        };
        // How long a burst takes, or a latency: nothing else is known where dates may lie anywhere.
        let long =
            |row: &Row| float(row.most) / if row.is_time() { 1.0 } else { rate(row).max(1.0) };
        let longest = program.rows.iter().map(long).fold(1.0, f64::max);
        let is_wide = widest > longest * WIDE;
        let time = if is_wide { longest } else { widest } / 10.0;
        let rates = program.rows.iter().filter(|row| !row.is_time()).map(rate);
        Self { time, data: rates.fold(1.0, f64::max) * time, is_wide }
    }

    fn floats(&self, program: &Program) -> FloatProgram {
        // What counts as zero is no unknown of the solver.
        let (mut numbers, mut unknowns) = (Vec::new(), 0);
        for unknown in &program.unknowns {
            numbers.push((!unknown.is_zero()).then_some(unknowns));
            unknowns += usize::from(!unknown.is_zero());
        }
        let row = |row: &Row| -> (Vec<(usize, f64)>, f64) {
            let unit = if row.is_time() { self.time } else { self.data };
            let scaled = |&(unknown, coefficient): &(usize, i128)| {
                let of = if program.unknowns[unknown].is_time() { self.time } else { self.data };
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

fn float(value: i128) -> f64 {
    value.to_f64().unwrap_or(1.0)
}

/// Solves, rounds, and computes exactly what the rounded multipliers prove.
pub(crate) fn prove(
    solved: &Solved<'_>,
    program: &Program,
    tree: &Tree,
    objective: Objective,
) -> Option<Proved> {
    prove_below(solved, program, tree, objective, None).ok().flatten()
}

/// As [`prove`], of a delay, given up as soon as the bound is known not to be below a limit, ps.
pub(crate) fn prove_below(
    solved: &Solved<'_>,
    program: &Program,
    tree: &Tree,
    objective: Objective,
    limit_ps: Option<i128>,
) -> Result<Option<Proved>, Above> {
    let units = Units::of(program);
    let floats = units.floats(program);
    if units.is_wide && !solved.solver.ends_at_vertex(&floats) {
        return Ok(None);
    }
    let limit = limit_ps.map_or(f64::INFINITY, |limit| float(limit) * ABOVE / units.time);
    let multipliers = solved.multipliers(&floats, limit)?;
    let proved = multipliers.and_then(|multipliers| proved(&multipliers, program, tree, objective));
    // What was solved by chance, for another limit, says no more than what was given up.
    match proved {
        Some(proved) if limit_ps.is_some_and(|limit| proved.bound >= limit) => Err(Above),
        proved => Ok(proved),
    }
}

/// Whether a program takes exact multipliers: boxes cannot repay what rounding leaves.
pub(crate) fn is_wide(program: &Program) -> bool {
    Units::of(program).is_wide
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

/// Rounds multipliers, and computes exactly what they prove; where that leaves much to boxes, or
/// more than they hold, with exact multipliers of the same rows.
pub(crate) fn proved(
    multipliers: &[f64],
    program: &Program,
    tree: &Tree,
    objective: Objective,
) -> Option<Proved> {
    if multipliers.len() != program.rows.len() {
        return None;
    }
    let used = rounded(multipliers, program, objective);
    let total = used.total(program);
    let is_cheap = |total: &Total| float(total.repaid) <= float(total.bound) * REPAID_SHARE;
    let rounded = || total.as_ref().and_then(|total| used.proof(program, total, tree));
    if total.as_ref().is_some_and(is_cheap) {
        return rounded();
    }
    let top = multipliers.iter().copied().fold(0.0, f64::max);
    let support: Vec<usize> =
        (0..multipliers.len()).filter(|&row| multipliers[row] > top * NEGLIGIBLE).collect();
    // More rows than unknowns are no vertex.
    let exactly = Some(&support)
        .filter(|support| support.len() <= program.unknowns.len())
        .and_then(|support| exact::multipliers(program, support))
        .and_then(|fractions| proved_exactly(program, tree, objective, &support, &fractions));
    let both = [exactly, rounded()];
    both.into_iter().flatten().min_by_key(|proved| proved.bound)
}

/// What fractions prove as multipliers of these rows, in ps and 10⁻¹⁸ bit.
pub(crate) fn proved_exactly(
    program: &Program,
    tree: &Tree,
    objective: Objective,
    rows: &[usize],
    fractions: &[BigRational],
) -> Option<Proved> {
    let is_delay = matches!(objective, Objective::Delay { .. });
    let fine = BigRational::from_integer(crate::curve::FINE.into());
    // As proofs state them: see `LinearProof`.
    let stated = |(&row, fraction): (&usize, &BigRational)| {
        let is_time = program.rows[row].is_time();
        match (is_time, is_delay) {
            (true, true) | (false, false) => fraction.clone(),
            (false, true) => fraction * &fine,
            (true, false) => fraction / &fine,
        }
    };
    let stated: Vec<BigRational> = rows.iter().zip(fractions).map(stated).collect();
    let parts = |of_time: bool| {
        let own =
            rows.iter().zip(&stated).filter(|(row, _)| program.rows[**row].is_time() == of_time);
        own.fold(BigInt::one(), |parts, (_, value)| common(parts, value.denom()))
    };
    let (time_parts, data_parts) = (parts(true), parts(false));
    let mut terms = Vec::new();
    for (&row, value) in rows.iter().zip(&stated) {
        let parts = if program.rows[row].is_time() { &time_parts } else { &data_parts };
        let multiplier = (value * parts).to_integer().to_biguint()?;
        if !multiplier.is_zero() {
            terms.push((row, multiplier));
        }
    }
    let digits = |number: &BigUint| number.bits() * 3 / 10;
    let (time_parts, data_parts) = (time_parts.to_biguint()?, data_parts.to_biguint()?);
    let numbers = terms.iter().map(|(_, m)| m).chain([&time_parts, &data_parts]);
    if numbers.map(digits).max()? >= DIGITS_MAX as u64 {
        return None;
    }
    let used = Used { is_delay, objective, time_parts, data_parts, terms };
    used.proof(program, &used.total(program)?, tree)
}

/// The least common multiple.
fn common(a: BigInt, b: &BigInt) -> BigInt {
    let more = BigRational::new(a.clone(), b.clone()).denom().clone();
    a * more
}

/// Multipliers as a proof states them.
struct Used {
    is_delay: bool,
    objective: Objective,
    time_parts: BigUint,
    data_parts: BigUint,
    /// Row and multiplier.
    terms: Vec<(usize, BigUint)>,
}

/// What multipliers prove: ps, or 10⁻⁶ bit.
struct Total {
    bound: i128,
    /// The part that boxes repay.
    repaid: i128,
}

/// Multipliers in so many binary digits.
fn rounded(multipliers: &[f64], program: &Program, objective: Objective) -> Used {
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
    for (index, (row, &z)) in program.rows.iter().zip(multipliers.iter()).enumerate() {
        let (unit, parts) =
            if row.is_time() { (time_unit, time_parts) } else { (data_unit, data_parts) };
        let multiplier = (z * unit * parts.to_f64().unwrap_or(1.0)).round().to_u64().unwrap_or(0);
        if multiplier > 0 && z > top * NEGLIGIBLE {
            terms.push((index, multiplier.into()));
        }
    }
    let (time_parts, data_parts) = (time_parts.into(), data_parts.into());
    Used { is_delay, objective, time_parts, data_parts, terms }
}

impl Used {
    fn proof(&self, program: &Program, total: &Total, tree: &Tree) -> Option<Proved> {
        let term = |(row, multiplier): &(usize, BigUint)| {
            let mut term = program.rows[*row].term.clone();
            *term.multiplier_mut() = Natural(multiplier.clone());
            term
        };
        let proof = LinearProof {
            nodes: tree.nodes.clone(),
            time_parts: Natural(self.time_parts.clone()),
            data_parts: Natural(self.data_parts.clone()),
            terms: self.terms.iter().map(term).collect(),
        };
        let shares = if self.is_delay { Vec::new() } else { self.shares(program) };
        let proof = shortened(proof, self.objective);
        Some(Proved { bound: total.bound, proof, shares })
    }

    /// How much of which bucket of which flow is used.
    fn shares(&self, program: &Program) -> Vec<Share> {
        let parts = self.data_parts.to_f64().unwrap_or(f64::INFINITY);
        let mut shares = Vec::new();
        for (row, multiplier) in &self.terms {
            let row = &program.rows[*row];
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

    /// What the terms prove of the objective, rounded up; `None` if more is left over of an
    /// unknown than anything bounds.
    fn total(&self, program: &Program) -> Option<Total> {
        let fine = BigInt::from(crate::curve::FINE);
        let (time_parts, data_parts) =
            (BigInt::from(self.time_parts.clone()), BigInt::from(self.data_parts.clone()));
        let mut under = &time_parts * &data_parts;
        let (of_time, of_data) = (&fine * data_parts, time_parts);
        if self.is_delay {
            under *= &fine;
        }
        let mut left: Vec<BigInt> = vec![BigInt::ZERO; program.unknowns.len()];
        for &(unknown, coefficient) in &program.objective {
            left[unknown] += &under * coefficient;
        }
        let mut sum = BigInt::ZERO;
        for (row, multiplier) in &self.terms {
            let row = &program.rows[*row];
            let multiplier = BigInt::from(multiplier.clone());
            let weight = if row.is_time() { &of_time } else { &of_data } * multiplier;
            sum += &weight * row.most;
            for &(unknown, coefficient) in &row.coefficients {
                left[unknown] -= &weight * coefficient;
            }
        }
        // Amounts of a flow add up to nothing: what is left over is a sum of differences.
        let mut repaid = BigInt::ZERO;
        for (rest, unknown) in left.iter().zip(&program.unknowns) {
            match unknown {
                Unknown::Time { reach_ps } if rest.is_negative() => repaid -= rest * (*reach_ps)?,
                Unknown::Amount { flow, .. } if rest.is_positive() => {
                    repaid += rest * program.widths[*flow].as_ref()?;
                }
                _ => {}
            }
        }
        if !self.is_delay {
            under *= fine;
        }
        let bound = ceil_div(sum + &repaid, &under).to_i128().filter(|bound| *bound >= 0)?;
        Some(Total { bound, repaid: (repaid / under).to_i128()? })
    }
}

/// The power of two that brings the largest multiplier to so many digits.
fn parts(largest: f64) -> u64 {
    let exponent =
        if largest > 0.0 { DIGITS - largest.log2().ceil().to_i32().unwrap_or(0) } else { 0 };
    1 << exponent.clamp(0, 62)
}

fn ceil_div(over: BigInt, under: &BigInt) -> BigInt {
    let quotient = &over / under;
    if (over - &quotient * under).is_positive() { quotient + 1 } else { quotient }
}
