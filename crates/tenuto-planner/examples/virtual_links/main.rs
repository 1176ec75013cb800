//! The plan of 1000 virtual links with 6000 paths: bounds, time, and what the checker says.
//!
//! `cargo run --release -p tenuto-planner --example virtual_links [SEED]`
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures time")]

mod drawn;

use drawn::Scale;
use std::time::Instant;
use tenuto_planner::{Options, WholePaths, plan};

const SCALE: Scale = Scale { switches: 8, hosts_each: 16, links: 1_000 };

fn main() {
    let seed = std::env::args().nth(1).and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let network = drawn::network(SCALE, seed);
    let paths: usize = network.flows.iter().map(|flow| flow.targets.len()).sum();
    println!("{} virtual links, {paths} paths, seed {seed}", network.flows.len());
    println!("method   mean us    max us  feasible  plan s  plan MB  check s");
    for (method, whole_paths) in [("tfa", None), ("auto", Some(WholePaths::default()))] {
        let options = Options { would_fit: false, whole_paths, ..Options::default() };
        let started = Instant::now();
        let plan = plan(&network, &options);
        let took = started.elapsed().as_secs_f64();
        let bounds: Vec<u64> = plan.flows.iter().filter_map(|row| row.delay_bound_ps).collect();
        let mean = bounds.iter().map(|&ps| ps as f64).sum::<f64>() / bounds.len() as f64 / 1e6;
        let most = bounds.iter().max().map_or(0.0, |&ps| ps as f64 / 1e6);
        let text = plan.to_json();
        let started = Instant::now();
        let certified = tenuto_certify::certify(&text);
        let checked = started.elapsed().as_secs_f64();
        let mega = text.len() as f64 / 1e6;
        let feasible = plan.feasible;
        println!(
            "{method:<6} {mean:>9.1} {most:>9.1}  {feasible:<8} {took:>7.2} {mega:>8.1} {checked:>8.2}"
        );
        if let Err(findings) = certified {
            println!("  REJECTED, {} findings: {}", findings.len(), findings[0]);
        }
    }
}
