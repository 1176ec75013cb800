//! Multipliers as exact fractions, from which rows a solver used.
//!
//! Rounded multipliers leave a little of every unknown over, and boxes repay it. Where nothing says
//! how far off an unknown lies, nothing may be left over: the rows that a vertex names are as many
//! equations as determine its multipliers, and these are solved in fractions.

use crate::natural::DIGITS_MAX;
use crate::program::{Program, Unknown};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use std::collections::{BTreeMap, BTreeSet};

/// Binary digits of a fraction beyond which it is given up: a proof could not hold it.
const BITS_MAX: u64 = DIGITS_MAX as u64 * 3;
/// Multiplications after which a system is given up.
const WORK_MAX: usize = 400_000;

/// Multipliers of these rows, none below zero, that leave nothing over of any unknown; in ps and
/// 10⁻¹⁸ bit. `None` if there are none, or if that takes too long.
pub(crate) fn multipliers(program: &Program, used: &[usize]) -> Option<Vec<BigRational>> {
    let mut system = System::new(program, used);
    let solution = system.solve()?;
    solution.iter().all(|value| !value.is_negative()).then_some(solution)
}

/// Σ coefficient·value = right, over the values that are still unknown.
struct Equation {
    coefficients: BTreeMap<usize, BigRational>,
    right: BigRational,
}

struct System {
    equations: Vec<Equation>,
    /// Per value: the equations that it is in.
    places: Vec<BTreeSet<usize>>,
    /// Values that were expressed by others, in turn, with what expresses them.
    expressed: Vec<(usize, Equation)>,
    work: usize,
}

impl System {
    /// One equation per unknown of the program, one value per row.
    fn new(program: &Program, used: &[usize]) -> Self {
        let none = || Equation { coefficients: BTreeMap::new(), right: BigRational::zero() };
        let mut equations: Vec<Equation> = program.unknowns.iter().map(|_| none()).collect();
        for &(unknown, coefficient) in &program.objective {
            equations[unknown].right += BigInt::from(coefficient);
        }
        let mut places = Vec::new();
        for (value, &row) in used.iter().enumerate() {
            let mut of = BTreeSet::new();
            for &(unknown, coefficient) in &program.rows[row].coefficients {
                let fraction = BigRational::from_integer(coefficient.into());
                equations[unknown].coefficients.insert(value, fraction);
                of.insert(unknown);
            }
            places.push(of);
        }
        // Amounts of a flow occur in differences: one of its equations follows from the others.
        for (index, unknown) in program.unknowns.iter().enumerate() {
            if matches!(unknown, Unknown::Amount { is_reference: true, .. }) {
                equations[index] = none();
                places.iter_mut().for_each(|of| {
                    of.remove(&index);
                });
            }
        }
        Self { equations, places, expressed: Vec::new(), work: 0 }
    }

    fn solve(&mut self) -> Option<Vec<BigRational>> {
        // By how many values an equation has: the shortest are used first.
        let lengths = self.equations.iter().enumerate();
        let mut waiting: BTreeSet<(usize, usize)> =
            lengths.map(|(index, equation)| (equation.coefficients.len(), index)).collect();
        while let Some((length, index)) = waiting.pop_first() {
            if length == 0 {
                if !self.equations[index].right.is_zero() {
                    return None;
                }
                continue;
            }
            self.express(index, &mut waiting)?;
        }
        let mut values = vec![BigRational::zero(); self.places.len()];
        for (value, equation) in self.expressed.iter().rev() {
            let known = equation.coefficients.iter().map(|(other, c)| c * &values[*other]);
            values[*value] = known.fold(equation.right.clone(), |rest, term| rest - term);
            if values[*value].denom().bits() > BITS_MAX {
                return None;
            }
        }
        Some(values)
    }

    /// Expresses that value of an equation that is in the fewest others, and puts it into them.
    fn express(&mut self, index: usize, waiting: &mut BTreeSet<(usize, usize)>) -> Option<()> {
        let empty = Equation { coefficients: BTreeMap::new(), right: BigRational::zero() };
        let mut equation = std::mem::replace(&mut self.equations[index], empty);
        let values = equation.coefficients.keys();
        let value = *values.min_by_key(|value| (self.places[**value].len(), **value))?;
        let own = equation.coefficients.remove(&value)?;
        equation.coefficients.values_mut().for_each(|c| *c /= &own);
        equation.right /= &own;
        for other in &equation.coefficients {
            self.places[*other.0].remove(&index);
        }
        self.places[value].remove(&index);
        for place in std::mem::take(&mut self.places[value]) {
            let into = &mut self.equations[place];
            waiting.remove(&(into.coefficients.len(), place));
            let factor = into.coefficients.remove(&value)?;
            into.right -= &factor * &equation.right;
            for (other, coefficient) in &equation.coefficients {
                let sum = into.coefficients.entry(*other).or_default();
                *sum -= &factor * coefficient;
                if sum.is_zero() {
                    into.coefficients.remove(other);
                    self.places[*other].remove(&place);
                } else {
                    self.places[*other].insert(place);
                }
            }
            self.work += equation.coefficients.len() + 1;
            waiting.insert((into.coefficients.len(), place));
            let is_long = into.right.denom().bits() > BITS_MAX;
            if is_long || self.work > WORK_MAX {
                return None;
            }
        }
        self.expressed.push((value, equation));
        Some(())
    }
}
