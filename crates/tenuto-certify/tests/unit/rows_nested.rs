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
        own: Own::new(&[line(same, 0)], &[line(above, delay)], &BigInt::zero(), &BigInt::zero()),
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
