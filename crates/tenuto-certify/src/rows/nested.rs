//! A_X: what a group can have brought, each of its sets bounded by its own line (theory, "Delay of
//! class k at port p").

use crate::kernel::exact::{self, Curve, Line};
use crate::rows::context::Context;
use crate::rows::group::{Group, GroupKey};
use num_bigint::BigInt;
use num_traits::Zero;

/// What a set has of its own: flows that are in no set below it.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    /// K(t) + H(t+d).
    pub(crate) both: Curve,
    /// H(d); `None` without a bound.
    pub(crate) waiting: Option<BigInt>,
}

/// Λ(t) and Λ(t+d).
#[derive(Clone, Debug)]
struct Shaped {
    now: Line,
    then: Line,
}

/// One set, behind the one that it lies in.
#[derive(Clone, Debug)]
struct Piece {
    parent: Option<usize>,
    own: Own,
    shaped: Option<Shaped>,
}

impl Own {
    /// Of flows with K(t) and with H(t+d), `come` more in messages, of it `come_above` in H(d).
    pub(crate) fn new(same: &[Line], above: &[Line], come: &BigInt, come_above: &BigInt) -> Self {
        let mut both = exact::add(same, above);
        for line in &mut both {
            line.burst += come;
        }
        let waiting = above.iter().map(|line| &line.burst).min().map(|least| least + come_above);
        Self { both, waiting }
    }
}

/// The curve of a group as `class` sees it with the delay `delay_ps`; `own` tells of each set.
/// `None` where nothing of the class or above comes.
pub(crate) fn curve(
    context: &Context<'_>,
    (port, key): (usize, GroupKey),
    group: &Group,
    class: u8,
    delay_ps: u64,
    own: impl Fn(usize) -> Own,
) -> Option<Curve> {
    if !group.reaches(class) {
        return None;
    }
    let shaped = |at: usize| {
        let line = |ahead_ps: u64| match &group.sets[at].below {
            None => context.shaping((port, key), group, class, ahead_ps),
            Some(below) => context.upstream_shaping(below, class, ahead_ps),
        };
        Some(Shaped { now: line(0)?, then: line(delay_ps)? })
    };
    let pieces = group.sets.iter().enumerate().map(|(at, set)| Piece {
        parent: set.below.as_ref().map(|below| below.parent),
        own: own(at),
        shaped: shaped(at),
    });
    Some(nested(pieces.collect()))
}

/// A of the first of these sets, every one of which is behind the one that it lies in:
/// min{K(t) + H(t+d) + Σ A_Z, Λ(t) + H'(d), Λ(t+d)} with H'(d) = H(d) + Σ min{H'_Z(d), Λ_Z(d)}.
fn nested(mut pieces: Vec<Piece>) -> Curve {
    let mut within: Vec<Vec<Curve>> = vec![Vec::new(); pieces.len()];
    let mut higher: Vec<Option<BigInt>> = vec![Some(BigInt::zero()); pieces.len()];
    while let Some(Piece { parent, own, shaped }) = pieces.pop() {
        let at = pieces.len();
        let mut parts = within.pop().unwrap_or_default();
        let mut curve = own.both;
        if !parts.is_empty() {
            parts.push(curve);
            curve = exact::sum(&parts);
        }
        let mut waiting = higher.pop().flatten().zip(own.waiting).map(|(a, b)| a + b);
        if let Some(Shaped { now, then }) = shaped {
            curve.extend(waiting.as_ref().map(|more| Line::new(now.burst + more, now.rate)));
            waiting =
                Some(waiting.map_or_else(|| then.burst.clone(), |own| own.min(then.burst.clone())));
            curve.push(then);
        }
        match parent.filter(|parent| *parent < at) {
            None => return curve,
            Some(parent) => {
                within[parent].push(curve);
                higher[parent] = higher[parent].take().zip(waiting).map(|(a, b)| a + b);
            }
        }
    }
    Curve::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;
    use proptest::prelude::*;

    /// Burst and rate of K and of H, the line if there is one (L + …, C), and which set it lies in.
    type Drawn = ((i64, i64), (i64, i64), Option<(i64, i64)>, usize);

    fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
        let bucket = || (0_i64..60, 0_i64..9);
        let line = prop::option::weighted(0.8, (0_i64..30, 1_i64..12));
        prop::collection::vec((bucket(), bucket(), line, any::<usize>()), 1..7)
    }

    fn line((burst, rate): (i64, i64), ahead: i64) -> Line {
        Line::new((burst + rate * ahead).into(), rate.into())
    }

    /// The sets as they are nested, the first of them the group.
    fn pieces(all: &[Drawn], delay: i64) -> Vec<Piece> {
        let piece = |(at, &(same, above, shaped, lies_in)): (usize, &Drawn)| Piece {
            parent: (at > 0).then(|| lies_in % at),
            own: Own::new(
                &[line(same, 0)],
                &[line(above, delay)],
                &BigInt::zero(),
                &BigInt::zero(),
            ),
            shaped: shaped.map(|of| Shaped { now: line(of, 0), then: line(of, delay) }),
        };
        all.iter().enumerate().map(piece).collect()
    }

    /// The formula of the theory, word by word, at one instant: A of a set, and its H'.
    fn naive(all: &[Drawn], at: usize, t: &BigRational, d: i64) -> (BigRational, BigRational) {
        let whole = |n: i64| BigRational::from_integer(n.into());
        let of = |(burst, rate): (i64, i64), t: &BigRational| whole(burst) + whole(rate) * t;
        let (same, above, shaped, _) = all[at];
        let mut come = of(same, t) + of(above, &(t + whole(d)));
        let mut waiting = of(above, &whole(d));
        for (below, &(_, _, shaped, lies_in)) in all.iter().enumerate().skip(at + 1) {
            if lies_in % below == at {
                let (its, higher) = naive(all, below, t, d);
                come += its;
                let line = shaped.map(|line| of(line, &whole(d)));
                waiting += line.map_or_else(|| higher.clone(), |line| line.min(higher.clone()));
            }
        }
        if let Some(line) = shaped {
            come = come.min(of(line, t) + &waiting).min(of(line, &(t + whole(d))));
        }
        (come, waiting)
    }

    fn at(curve: &[Line], t: &BigRational) -> BigRational {
        let whole = |n: &BigInt| BigRational::from_integer(n.clone());
        let values = curve.iter().map(|line| whole(&line.burst) + whole(&line.rate) * t);
        values.min().expect("a curve")
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nested_sets_are_what_the_formula_says_and_never_above_the_group_alone(
            all in drawn(),
            delay in 0_i64..20,
            instants in prop::collection::vec((0_i64..400, 1_i64..9), 8),
        ) {
            let curve = nested(pieces(&all, delay));
            // The same flows with the line of the group alone, as if there were no sets below.
            let sum = |of: fn(&Drawn) -> (i64, i64)| {
                all.iter().map(of).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
            };
            let alone = [(sum(|d| d.0), sum(|d| d.1), all[0].2, 0)];
            let flat = nested(pieces(&alone, delay));
            for (num, den) in instants {
                let t = BigRational::new(num.into(), den.into());
                prop_assert_eq!(at(&curve, &t), naive(&all, 0, &t, delay).0);
                prop_assert!(at(&curve, &t) <= at(&flat, &t));
            }
        }

        #[test]
        fn a_set_without_a_bound_leaves_that_to_the_lines_around_it(
            all in drawn(),
            delay in 0_i64..20,
            which in any::<prop::sample::Index>(),
            (num, den) in (0_i64..400, 1_i64..9),
        ) {
            let which = which.index(all.len());
            let mut unknown = pieces(&all, delay);
            unknown[which].own = Own { both: Curve::new(), waiting: None };
            let curve = nested(unknown);
            // Whether a line stands anywhere from the set up to the group.
            let mut up = vec![which];
            while let Some(&last) = up.last().filter(|last| **last > 0) {
                up.push(all[last].3 % last);
            }
            prop_assert_eq!(curve.is_empty(), up.iter().all(|set| all[*set].2.is_none()));
            if !curve.is_empty() {
                let t = BigRational::new(num.into(), den.into());
                let mut huge = all.clone();
                huge[which].0 = (1_000_000, 0);
                huge[which].1 = (1_000_000, 0);
                prop_assert_eq!(at(&curve, &t), naive(&huge, 0, &t, delay).0);
            }
        }
    }
}
