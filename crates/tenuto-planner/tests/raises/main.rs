//! Bounds of whole paths in raises: below the sums of hops, and found again by the checker.

mod networks;
#[path = "../it/support/mod.rs"]
mod support;

use networks::networks;
use support::{accepted, quick};
use tenuto_model::{Network, Plan, Transition};
use tenuto_planner::{Options, WholePaths, plan};

fn planned(network: &Network, whole_paths: Option<WholePaths>) -> Plan {
    accepted(plan(network, &Options { whole_paths, ..quick() }))
}

const fn is_raise(mode: Transition) -> bool {
    matches!(mode, Transition::Raise { .. })
}

#[test]
fn raises_have_bounds_of_whole_paths() {
    for (name, network) in networks() {
        let thorough = WholePaths { is_thorough: true, ..WholePaths::default() };
        let (whole, sums) = (planned(&network, Some(thorough)), planned(&network, None));
        let mut lower = 0;
        for (row, sum) in whole.flows.iter().zip(&sums.flows) {
            assert!(row.delay_bound_ps <= sum.delay_bound_ps, "{name}: {row:?}");
            lower += usize::from(is_raise(row.mode) && row.delay_bound_ps < sum.delay_bound_ps);
        }
        assert!(lower > 0, "{name}: no raise is tighter");
    }
}

/// A little less than what a raise proves is not proved, nor is it if what ends came for longer.
#[test]
fn no_proof_of_a_raise_is_believed() {
    for (name, network) in networks() {
        let mut plan = planned(&network, Some(WholePaths::default()));
        let raises = plan.flows.iter_mut().filter(|row| is_raise(row.mode));
        let copies = raises.flat_map(|row| &mut row.copies).filter(|copy| copy.proof.is_some());
        let mut lowered = 0;
        for copy in copies {
            copy.delay_bound_ps = copy.delay_bound_ps.map(|ps| ps - ps / 50);
            lowered += 1;
        }
        assert!(lowered > 0, "{name}: no raise has a proof");
        plan.seal();
        tenuto_certify::certify(&plan.to_json()).expect_err("claims less than is proved");
    }
}
