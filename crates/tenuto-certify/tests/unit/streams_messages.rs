use super::*;

#[test]
fn counting_agrees_with_trying_every_message() {
    for (period_ps, tolerance_ppm, jitter_ps) in
        [(1, 0, 0), (7, 0, 3), (10, 200, 25), (1_000, 999_999, 1), (3, 333_333, 100)]
    {
        let it = Messages { size: 1.into(), period_ps, tolerance_ppm, jitter_ps };
        let mut seen = it.within(0);
        for window in 0..300_u128 {
            let due = |n: u128| n * period_ps * MILLION / (MILLION + tolerance_ppm);
            let count = (1..2_000).take_while(|n| due(*n) <= window + jitter_ps).count();
            assert_eq!(it.within(window), BigInt::from(count + 1), "{it:?} in {window}");
            let steps = it.instants(0, window, 5_000).expect("not too many");
            assert!(steps.iter().all(|at| (1..=window).contains(at)), "{it:?} {steps:?}");
            if it.within(window) > seen {
                assert_eq!(steps.last(), Some(&window), "{it:?}");
                seen = it.within(window);
            }
        }
    }
}
