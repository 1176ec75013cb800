//! Networks, from a text or as shipped, and plans that the checker accepts.
#![allow(dead_code, reason = "each test file uses some of these")]

use std::path::PathBuf;
use tenuto_model::{MemorySources, Network, Plan, Sources, read_network};
use tenuto_planner::{Options, plan};

struct Folder(PathBuf);

impl Sources for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }
}

fn networks() -> Folder {
    Folder(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../networks"))
}

/// The network that a text describes; problems fail the test.
pub(crate) fn network(text: &str) -> Network {
    match read_network(&MemorySources::new().with("n.yaml", text), "n.yaml") {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}\n{text}"),
    }
}

/// A network of the folder of examples.
pub(crate) fn shipped(file: &str) -> Network {
    match read_network(&networks(), file) {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}"),
    }
}

/// A file of the folder of examples, as it stands there.
pub(crate) fn shipped_text(file: &str) -> String {
    networks().read(file).expect("it is shipped")
}

/// Plans without looking for what would fit, and lets the checker rebuild everything.
pub(crate) fn certified(network: &Network) -> Plan {
    let plan = plan(network, &Options { would_fit: false, ..Options::default() });
    let certificate = tenuto_certify::certify(&plan.to_json());
    assert!(certificate.is_ok(), "{certificate:#?}");
    plan
}
