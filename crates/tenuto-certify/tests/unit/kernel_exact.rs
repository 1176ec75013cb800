use super::*;
use num_rational::BigRational;

fn line(burst: i64, rate: i64) -> Line {
    Line::new(burst.into(), rate.into())
}

/// The naive twin: every crossing of two lines of one curve is tried.
fn largest_naive(curves: &[Curve], capacity: i64) -> Option<BigRational> {
    let whole = |n: &BigInt| BigRational::from_integer(n.clone());
    let tail: BigInt =
        curves.iter().map(|c| c.iter().map(|l| l.rate.clone()).min().unwrap_or_default()).sum();
    if tail > capacity.into() {
        return None;
    }
    let mut times = vec![whole(&BigInt::zero())];
    for curve in curves {
        for a in curve {
            for b in curve.iter().filter(|b| b.rate < a.rate && b.burst > a.burst) {
                times.push(BigRational::new(&b.burst - &a.burst, &a.rate - &b.rate));
            }
        }
    }
    let at = |t: &BigRational| -> BigRational {
        let least = |c: &Curve| c.iter().map(|l| whole(&l.burst) + whole(&l.rate) * t).min();
        let sum: BigRational = curves.iter().filter_map(least).sum();
        sum - whole(&capacity.into()) * t
    };
    times.iter().map(at).max()
}

#[test]
fn the_walk_agrees_with_trying_every_crossing() {
    // A small linear congruential generator: the same cases in every run.
    let mut state = 7_u64;
    let mut draw = |limit: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((state >> 33) % limit).expect("small")
    };
    for _ in 0..3_000 {
        let curves: Vec<Curve> = (0..1 + draw(4))
            .map(|_| (0..1 + draw(4)).map(|_| line(draw(50), draw(12))).collect())
            .collect();
        let total = sum(&curves);
        for t in [0, 1, 3, 17, 60].map(BigInt::from) {
            let least = |c: &Curve| c.iter().map(|l| &l.burst + &l.rate * &t).min();
            let each: BigInt = curves.iter().filter_map(least).sum();
            assert_eq!(least(&total), Some(each), "{curves:?} at {t}");
        }
        let capacity = 1 + draw(20);
        let fast = largest_excess(&curves, &capacity.into());
        let fast = fast.map(|f| BigRational::new(f.num, f.den));
        assert_eq!(fast, largest_naive(&curves, capacity), "{curves:?} over {capacity}");

        for t in [0_u64, 2, 5] {
            let at = BigInt::from(t) * capacity;
            let least = |c: &Curve| c.iter().map(|l| &l.burst + &l.rate * t).min();
            let each: BigInt = curves.iter().filter_map(least).sum();
            assert_eq!(sum_at(&curves, t).map(|sum| sum - &at), Some(each - &at));
        }
    }
}
