//! Readers of files: network, scenario, plan, imports, and the checker of plans.

use tenuto_model::{
    MemorySources, Network, Plan, import_wopanets, read_network, read_scenario, write_network,
};

fn network(text: &str) -> Option<Network> {
    read_network(&MemorySources::new().with("n.yaml", text), "n.yaml").ok().map(|(n, _)| n)
}

/// What is accepted comes back from what is written.
pub fn network_yaml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let sources = MemorySources::new().with("n.yaml", text);
    match read_network(&sources, "n.yaml") {
        Ok((read, _)) => assert_eq!(network(&write_network(&read)).as_ref(), Some(&read)),
        Err(diagnostics) => assert!(!diagnostics.to_string().is_empty()),
    }
}

/// A scenario of the shipped car.
pub fn scenario_yaml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let car = network(include_str!("../../networks/vehicle.yaml")).expect("it is shipped");
    if let Err(diagnostics) = read_scenario(text, "s.yaml", &car) {
        assert!(!diagnostics.to_string().is_empty());
    }
}

/// An import is a network, or says why not.
pub fn wopanets_xml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(diagnostics) = import_wopanets(text, "i.xml") {
        assert!(!diagnostics.to_string().is_empty());
    }
}

/// A plan that is read is written as one that is read as the same.
pub fn plan_json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(plan) = Plan::from_json(text) {
        assert_eq!(Plan::from_json(&plan.to_json()).as_ref(), Ok(&plan));
    }
}

/// The checker has an answer for any text.
pub fn certify_plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _verdict = tenuto_certify::certify(text);
}
