//! Bounds of the published AFDX network of 265 virtual links and 1002 targets: method by method,
//! in both forwarding models, with time, size of the plan and the checker's time.
//!
//! `TENUTO_DATA=../shared/data cargo run --release -p tenuto-planner --example afdx`
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures time")]

mod measured;

use tenuto_model::{ForwardingModel, ImportFormat, ImportOptions, Network, import};
use tenuto_planner::{Options, WholePaths};

const NAME_WIDTH: usize = 22;

fn network() -> Option<Network> {
    let root = std::env::var("TENUTO_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let text = std::fs::read_to_string(format!("{root}/afdx-isae/AFDX.xml")).ok()?;
    let options = ImportOptions::default();
    let imported = import(Some(ImportFormat::Wopanets), &text, "AFDX.xml", &options).ok()?;
    let mut network = imported.network()?;
    // The published tools know neither clocks nor babbling sources nor latency.
    network.tolerates.babbling_hosts = 0;
    for profile in network.profiles.values_mut() {
        profile.clock_tolerance_ppm = 0;
        (profile.latency_ns_min, profile.latency_ns_max) = (0, 0);
    }
    network.links.iter_mut().for_each(|link| link.propagation_ns = 0);
    Some(network)
}

fn main() {
    let Some(network) = network() else {
        println!("SKIPPED: afdx-isae/AFDX.xml is not there (set TENUTO_DATA)");
        return;
    };
    let only = std::env::args().nth(1);
    let wide = WholePaths::default();
    let methods = [
        ("tfa", None),
        ("auto", Some(wide)),
        ("best", Some(WholePaths { is_thorough: true, ..wide })),
    ];
    measured::print_head("model and method", NAME_WIDTH);
    for (name, model) in
        [("store-and-forward", ForwardingModel::StoreAndForward), ("fluid", ForwardingModel::Fluid)]
    {
        for (method, whole_paths) in methods {
            if only.as_ref().is_some_and(|only| only != method) {
                continue;
            }
            let options = Options {
                model,
                as_stated: true,
                would_fit: false,
                whole_paths,
                ..Options::default()
            };
            measured::print_row(&format!("{name} {method}"), NAME_WIDTH, &network, &options);
        }
    }
}
