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
