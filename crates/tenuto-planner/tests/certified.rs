//! The independent checker accepts what the planner claims, and nothing that was tampered with.

use std::path::PathBuf;
use tenuto_model::{Network, Plan};
use tenuto_planner::{Options, plan};

struct Folder(PathBuf);

impl tenuto_model::Sources for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }
}

fn network(file: &str) -> Network {
    let folder = Folder(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../networks"));
    match tenuto_model::read_network(&folder, file) {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}"),
    }
}

fn certified(file: &str) -> Plan {
    let plan = plan(&network(file), &Options { would_fit: false, ..Options::default() });
    match tenuto_certify::certify(&plan.to_json()) {
        Ok(certificate) => assert_eq!(certificate.feasible, plan.feasible),
        Err(findings) => {
            let lines: Vec<String> = findings.iter().take(12).map(ToString::to_string).collect();
            panic!("{} findings:\n{}", findings.len(), lines.join("\n"))
        }
    }
    plan
}

#[test]
fn every_shipped_network_is_certified() {
    for file in ["line.yaml", "vehicle.yaml", "avionics.yaml", "a380-switch.yaml", "cell.yaml"] {
        assert!(certified(file).feasible, "{file}");
    }
}

#[test]
fn a_refused_network_is_certified_for_what_it_claims() {
    assert!(!certified("vehicle-as-printed.yaml").feasible);
}
