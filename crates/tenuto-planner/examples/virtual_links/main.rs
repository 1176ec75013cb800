//! The plan of 1000 virtual links with 6000 paths: bounds, time, and what the checker says.
//!
//! `cargo run --release -p tenuto-planner --example virtual_links [SEED]`
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures time")]

mod drawn;
#[path = "../measured/mod.rs"]
mod measured;

use drawn::Scale;
use tenuto_planner::{Options, WholePaths};

const SCALE: Scale = Scale { switches: 8, hosts_each: 16, links: 1_000 };
const NAME_WIDTH: usize = 6;

fn main() {
    let seed = std::env::args().nth(1).and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let network = drawn::network(SCALE, seed);
    let paths: usize = network.flows.iter().map(|flow| flow.targets.len()).sum();
    println!("{} virtual links, {paths} paths, seed {seed}", network.flows.len());
    measured::print_head("method", NAME_WIDTH);
    for (method, whole_paths) in [("tfa", None), ("auto", Some(WholePaths::default()))] {
        let options = Options { would_fit: false, whole_paths, ..Options::default() };
        measured::print_row(method, NAME_WIDTH, &network, &options);
    }
}
