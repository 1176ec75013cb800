//! Shipped networks in virtual time: everything that was promised is kept.

use std::path::PathBuf;
use tenuto_model::{Network, Plan, Scenario, Verdict};
use tenuto_planner::{Options, plan};
use tenuto_world::clockwork;

struct Folder(PathBuf);

impl tenuto_model::Sources for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }
}

fn networks() -> Folder {
    Folder(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../networks"))
}

fn network(file: &str) -> Network {
    match tenuto_model::read_network(&networks(), file) {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}"),
    }
}

fn planned(file: &str) -> Plan {
    plan(&network(file), &Options::default())
}

#[test]
fn the_line_keeps_its_promise() {
    let plan = planned("line.yaml");
    assert!(plan.feasible, "{:?}", plan.refusals);
    let scenario = Scenario::plain(2_000_000_000, 1);
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
    assert!(run.flows.iter().all(|row| row.received > 0), "{:#?}", run.flows);
}

fn scenario(file: &str, network: &Network) -> Scenario {
    let text = tenuto_model::Sources::read(&networks(), file).expect("it is shipped");
    match tenuto_model::read_scenario(&text, file, network) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{problems}"),
    }
}

#[test]
fn the_vehicle_raises_and_returns_within_its_bounds() {
    let plan = planned("vehicle.yaml");
    assert!(plan.feasible, "{:#?}", plan.refusals);
    let scenario = scenario("vehicle.scenario.yaml", &plan.network);
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
}

#[test]
fn the_aircraft_keeps_its_promise_beside_a_babbling_idiot() {
    let plan = planned("avionics.yaml");
    assert!(plan.feasible, "{:#?}", plan.refusals);
    let scenario = scenario("avionics.scenario.yaml", &plan.network);
    let started = std::time::Instant::now();
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    println!("{} packet-hops in {:?}", run.packet_hops, started.elapsed());
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
    assert!(run.policed.iter().any(|row| row.reason == "policed" && row.frames > 1_000));
}

#[test]
fn the_649_link_switch_keeps_its_promise() {
    let plan = planned("a380-switch.yaml");
    assert!(plan.feasible, "{:#?}", plan.refusals);
    let scenario = Scenario::plain(2_000_000_000, 1);
    let started = std::time::Instant::now();
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    println!("{} packet-hops in {:?}", run.packet_hops, started.elapsed());
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
}
