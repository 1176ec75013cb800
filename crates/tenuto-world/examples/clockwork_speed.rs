//! Packet-hops per second of one core: a frame through a node's full pipeline with real bytes and out
//! of its port. Run with `cargo run --release -p tenuto-world --example clockwork_speed`.

use std::path::PathBuf;
use tenuto_model::{MemorySources, Scenario};
use tenuto_planner::{Options, plan};
use tenuto_world::clockwork;

const SECONDS: u64 = 20;
const RUNS: u64 = 5;

fn main() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../networks");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    for file in ["vehicle.yaml", "avionics.yaml", "a380-switch.yaml"] {
        let tables = ["avionics-vls.csv", "a380-switch-vls.csv"];
        let sources = tables
            .iter()
            .fold(MemorySources::new().with(file, &read(file)), |s, t| s.with(t, &read(t)));
        let Ok((network, _)) = tenuto_model::read_network(&sources, file) else {
            eprintln!("{file} cannot be read");
            continue;
        };
        let plan = plan(&network, &Options::default());
        let mut rates: Vec<u64> = (0..RUNS).filter_map(|seed| rate(&plan, seed)).collect();
        rates.sort_unstable();
        if let [least, .., most] = rates[..] {
            let median = rates[rates.len() / 2];
            println!("{file:<18} {median:>9} packet-hops/s   (of {RUNS}: {least} to {most})");
        }
    }
}

fn rate(plan: &tenuto_model::Plan, seed: u64) -> Option<u64> {
    let scenario = Scenario::plain(SECONDS * 1_000_000_000, seed);
    let started = std::time::Instant::now();
    let run = clockwork::run(plan, &scenario).ok()?;
    let took_us = u64::try_from(started.elapsed().as_micros()).ok()?;
    Some(run.packet_hops * 1_000_000 / took_us.max(1))
}
