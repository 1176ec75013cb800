//! Lines of all rates in one network: what is planned is certified.

mod networks;

use networks::{network, rates};
use tenuto_model::{ForwardingModel, Network, Plan, Transition};
use tenuto_planner::{Curves, Options, WholePaths, plan};

const SEEDS: u64 = 60;

fn certified(network: &Network, options: Options, seed: u64) -> Plan {
    let plan = plan(network, &Options { would_fit: false, ..options });
    if let Err(findings) = tenuto_certify::certify(&plan.to_json()) {
        panic!("seed {seed}: {}", findings[0]);
    }
    plan
}

#[test]
fn lines_of_all_rates_are_certified() {
    let (mut mixed, mut bounded, mut raises) = (0, 0, 0);
    for seed in 0..SEEDS {
        let network = network(seed);
        let plan = certified(&network, Options::default(), seed);
        mixed += usize::from(rates(&network) > 1);
        let rows = || plan.flows.iter().filter(|row| row.delay_bound_ps.is_some());
        bounded += rows().count();
        raises += rows().filter(|row| matches!(row.mode, Transition::Raise { .. })).count();
    }
    assert!(mixed > 50 && bounded > 300 && raises > 10, "{mixed} {bounded} {raises}");
}

#[test]
fn so_they_are_in_every_kind_of_analysis() {
    let kinds = [
        Options { curves: Curves::Staircases, ..Options::default() },
        Options { whole_paths: Some(WholePaths::default()), ..Options::default() },
        Options { model: ForwardingModel::Fluid, ..Options::default() },
        Options { line_shaping: false, ..Options::default() },
    ];
    for seed in 0..SEEDS / 4 {
        let network = network(seed);
        let usual = certified(&network, Options::default(), seed);
        for (kind, options) in kinds.into_iter().enumerate() {
            let plan = certified(&network, options, seed);
            for (row, other) in usual.flows.iter().zip(&plan.flows) {
                let (bound, other) = (row.delay_bound_ps, other.delay_bound_ps);
                let is_as_it_should = match kind {
                    // Whole messages and whole paths only ever lower a bound, and have none less.
                    0 | 1 => bound.is_none() || other.is_some_and(|it| Some(it) <= bound),
                    // Without lines every bound is as large, if there is one.
                    3 => other.is_none() || bound.is_some_and(|it| Some(it) <= other),
                    _ => true,
                };
                assert!(is_as_it_should, "seed {seed}, kind {kind}: {bound:?} {other:?} {row:?}");
            }
        }
    }
}
