//! Published figures of the AFDX network of 265 virtual links and 1002 targets.

use std::path::PathBuf;
use tenuto_model::{ForwardingModel, ImportFormat, ImportOptions, Network, import};
use tenuto_planner::{Curves, Options, plan};

/// A file of the data set, or nothing where it is absent: then the test says so and passes.
#[allow(clippy::disallowed_methods, reason = "a test reads its data")]
fn file(name: &str) -> Option<String> {
    let root = std::env::var_os("TENUTO_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(root.join("afdx-isae").join(name)).ok();
    if text.is_none() {
        println!("SKIPPED: afdx-isae/{name} is not there (set TENUTO_DATA)");
    }
    text
}

/// A network as the published tools see it.
fn network(name: &str) -> Option<Network> {
    let text = file(name)?;
    let mut network = import(Some(ImportFormat::Wopanets), &text, name, &ImportOptions::default())
        .unwrap_or_else(|e| panic!("{e}"))
        .network()
        .expect("a network");
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
    let options =
        Options { model, line_shaping, as_stated: true, would_fit: false, ..Options::default() };
    let plan = plan(network, &options);
    let bounds: Vec<u64> = plan.flows.iter().filter_map(|row| row.delay_bound_ps).collect();
    assert_eq!(bounds.len(), 1_002);
    let sum: u128 = bounds.iter().map(|&ps| u128::from(ps)).sum();
    let mean = u64::try_from(sum / 1_002 / 1_000).expect("a delay");
    (mean, bounds.iter().max().expect("not empty") / 1_000)
}

#[test]
fn the_published_bounds_are_reproduced() {
    let Some(network) = network("AFDX.xml") else { return };
    let near = |ours: (u64, u64), mean: u64, max: u64| {
        assert!(ours.0.abs_diff(mean) <= 2 && ours.1.abs_diff(max) <= 2, "{ours:?}");
    };
    near(figures(&network, ForwardingModel::Fluid, false), 591_050, 1_473_348);
    near(figures(&network, ForwardingModel::Fluid, true), 379_869, 1_098_138);
    near(figures(&network, ForwardingModel::StoreAndForward, true), 453_973, 1_148_094);
}

#[test]
fn whole_messages_tighten_the_published_bounds() {
    let Some(network) = network("AFDX.xml") else { return };
    let of = |curves| {
        let options = Options { as_stated: true, would_fit: false, curves, ..Options::default() };
        plan(&network, &options)
    };
    let (buckets, whole) = (of(Curves::Buckets), of(Curves::Staircases));
    let mut sums = [0, 0];
    let mut largest = [0, 0];
    for (bucket, stepped) in buckets.flows.iter().zip(&whole.flows) {
        let bounds = [bucket, stepped].map(|row| row.delay_bound_ps.expect("a bound"));
        assert!(bounds[1] <= bounds[0], "{}", stepped.flow);
        for (place, bound) in bounds.into_iter().enumerate() {
            sums[place] += bound;
            largest[place] = bound.max(largest[place]);
        }
    }
    let us = |ps: u64| ps / 1_000_000;
    println!("mean {:?} us, largest {:?} us", sums.map(|sum| us(sum / 1_002)), largest.map(us));
    assert!(sums[1] < sums[0] / 100 * 95, "at least a twentieth less on average");
    let checked = tenuto_certify::certify(&whole.to_json());
    assert!(checked.is_ok(), "{:?}", checked.err().map(|findings| findings[0].to_string()));
}

/// The value of an attribute in a line of XML; enough for the flat result files.
fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!("{name}=\""))?.1.split_once('"').map(|(value, _)| value)
}

#[test]
fn the_small_networks_agree_target_by_target() {
    let options = Options {
        model: ForwardingModel::Fluid,
        line_shaping: false,
        as_stated: true,
        would_fit: false,
        ..Options::default()
    };
    for name in ["ESE", "ES2E_M", "ESSE", "ISAE_TEST_1", "STAR_3"] {
        let Some(network) = network(&format!("{name}.xml")) else { return };
        let Some(published) = file(&format!("{name}_res.xml")) else { return };
        let plan = plan(&network, &options);
        let (mut flow, mut compared) = (String::new(), 0);
        for line in published.lines().map(str::trim) {
            if line.starts_with("<flow ") {
                attribute(line, "name").unwrap_or_default().clone_into(&mut flow);
            }
            if !line.starts_with("<target ") {
                continue;
            }
            let target = attribute(line, "name").expect("a target has a name");
            let value: f64 =
                attribute(line, "value").and_then(|v| v.parse().ok()).expect("a delay");
            let row = plan.flows.iter().find(|r| r.flow == flow && r.target == target);
            let ours = row.and_then(|r| r.delay_bound_ps).expect("a bound") as f64 / 1e6;
            // Published with two digits.
            assert!(
                (ours - value).abs() <= 0.0051,
                "{name} {flow} {target}: {ours} us, {value} us"
            );
            compared += 1;
        }
        assert_eq!(compared, plan.flows.len(), "{name}: every target is compared");
    }
}
