//! The mode change and return, every interleaving, on the shipped vehicle's line of three switches.

use std::path::PathBuf;
use tenuto_model::Plan;
use tenuto_planner::{Options, plan};
use tenuto_world::explore::{Mutant, Outcome, Settings, explore, replay};

struct Folder(PathBuf);

impl tenuto_model::Sources for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }
}

fn line() -> Plan {
    let folder = Folder(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../networks"));
    let (network, _) = tenuto_model::read_network(&folder, "vehicle.yaml").expect("it is shipped");
    plan(&network, &Options::default())
}

fn explored(plan: &Plan, settings: &Settings) -> Outcome {
    let started = std::time::Instant::now();
    let outcome = explore(plan, settings).expect("the settings fit the plan");
    println!(
        "{} states, {} transitions, depth {}, exhaustive {} in {:?}",
        outcome.states, outcome.transitions, outcome.depth, outcome.is_exhaustive, started.elapsed()
    );
    if let Some(trace) = &outcome.counterexample {
        println!("{trace}");
    }
    outcome
}

fn one_raise() -> Settings {
    Settings { excesses: vec![("CAM".into(), 1)], ..Settings::default() }
}

#[test]
fn one_raise_and_return_on_a_line() {
    let outcome = explored(&line(), &one_raise());
    assert!(outcome.is_exhaustive);
    assert_eq!(outcome.counterexample, None);
}
