//! Published figures of the AFDX network of 265 virtual links and 1002 targets.

use std::path::PathBuf;
use tenuto_model::{ForwardingModel, Network, import_wopanets};
use tenuto_planner::{Options, plan};

/// The network, or nothing where the data set is absent: then the test says so and passes.
fn afdx() -> Option<Network> {
    let root = std::env::var_os("TENUTO_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let Ok(text) = std::fs::read_to_string(root.join("afdx-isae/AFDX.xml")) else {
        println!("skipped: afdx-isae/AFDX.xml is not there (set TENUTO_DATA)");
        return None;
    };
    let mut network = import_wopanets(&text, "AFDX.xml").unwrap_or_else(|e| panic!("{e}")).network;
    // The published tools know neither clocks nor babbling sources nor latency.
    network.tolerates.babbling_hosts = 0;
    for profile in network.profiles.values_mut() {
        profile.clock_tolerance_ppm = 0;
        (profile.latency_ns_min, profile.latency_ns_max) = (0, 0);
    }
    network.links.iter_mut().for_each(|link| link.propagation_ns = 0);
    Some(network)
}

/// Mean and largest bound, nanoseconds.
fn figures(network: &Network, model: ForwardingModel, line_shaping: bool) -> (u64, u64) {
    let options = Options { model, line_shaping, as_stated: true, would_fit: false };
    let plan = plan(network, &options);
    let bounds: Vec<u64> = plan.flows.iter().filter_map(|row| row.delay_bound_ps).collect();
    assert_eq!(bounds.len(), 1_002);
    let sum: u128 = bounds.iter().map(|&ps| u128::from(ps)).sum();
    let mean = u64::try_from(sum / 1_002 / 1_000).expect("a delay");
    (mean, bounds.iter().max().expect("not empty") / 1_000)
}

#[test]
fn the_published_bounds_are_reproduced() {
    let Some(network) = afdx() else { return };
    let near = |ours: (u64, u64), mean: u64, max: u64| {
        assert!(ours.0.abs_diff(mean) <= 2 && ours.1.abs_diff(max) <= 2, "{ours:?}");
    };
    near(figures(&network, ForwardingModel::Fluid, false), 591_050, 1_473_348);
    near(figures(&network, ForwardingModel::Fluid, true), 379_869, 1_098_138);
    near(figures(&network, ForwardingModel::StoreAndForward, true), 453_973, 1_148_094);
}
