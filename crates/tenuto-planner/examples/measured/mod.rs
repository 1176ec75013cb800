//! One plan, one row: bounds, what planning took, the size of the plan, and what the checker says.

use std::time::Instant;
use tenuto_model::Network;
use tenuto_planner::{Options, plan};

const PS_PER_US: f64 = 1e6;

/// The head of a table whose first column is `name_width` wide.
pub(crate) fn print_head(name: &str, name_width: usize) {
    println!("{name:<name_width$}   mean us    max us  feasible  plan s  plan MB  check s");
}

/// Plans, has the plan checked, and prints the row.
pub(crate) fn print_row(name: &str, name_width: usize, network: &Network, options: &Options) {
    let started = Instant::now();
    let plan = plan(network, options);
    let took = started.elapsed().as_secs_f64();
    let bounds: Vec<u64> = plan.flows.iter().filter_map(|row| row.delay_bound_ps).collect();
    let mean = bounds.iter().map(|&ps| ps as f64).sum::<f64>() / bounds.len() as f64 / PS_PER_US;
    let most = bounds.iter().max().map_or(0.0, |&ps| ps as f64 / PS_PER_US);
    let text = plan.to_json();
    let started = Instant::now();
    let certified = tenuto_certify::certify(&text);
    let checked = started.elapsed().as_secs_f64();
    let (mega, feasible) = (text.len() as f64 / 1e6, plan.feasible);
    println!(
        "{name:<name_width$} {mean:>9.3} {most:>9.3}  {feasible:<8} {took:>7.2} {mega:>8.1} {checked:>8.2}"
    );
    if bounds.len() < plan.flows.len() {
        println!(
            "  {} of {} targets without a bound",
            plan.flows.len() - bounds.len(),
            plan.flows.len()
        );
    }
    if let Err(findings) = certified {
        println!("  REJECTED, {} findings: {}", findings.len(), findings[0]);
    }
}
