//! No input makes a reader panic, hang, or fill memory.

use proptest::prelude::*;
use tenuto_model::{
    Expect, ForwardingModel, ImportFormat, ImportOptions, MemorySources, Network, Plan, import,
    read_network, read_scenario, write_network,
};

fn car_text() -> &'static str {
    include_str!("../../../../networks/vehicle.yaml")
}

fn network(text: &str) -> Option<Network> {
    read_network(&MemorySources::new().with("n.yaml", text), "n.yaml").ok().map(|(n, _)| n)
}

fn car() -> Network {
    network(car_text()).expect("it is shipped")
}

/// Reads as everything; what is accepted must come back from what is written.
fn read_all(text: &str, car: &Network) {
    if let Some(n) = network(text) {
        assert_eq!(network(&write_network(&n)).as_ref(), Some(&n));
    }
    let sources = MemorySources::new()
        .with("n.yaml", "tenuto: 1\nhosts: {}\nlinks: []\nflow_tables: [t.csv]\nswitches: {s: {profile: ./p.yaml}}\n")
        .with("t.csv", text)
        .with("p.yaml", text);
    let shown = read_network(&sources, "n.yaml").map_or_else(|e| e.to_string(), |_| String::new());
    assert!(shown.len() < 1_000_000);
    drop(read_scenario(text, "s.yaml", car).map_err(|e| e.to_string()));
    let options = ImportOptions { rate_bps: Some(100_000_000), ..ImportOptions::default() };
    for format in ImportFormat::ALL {
        drop(import(Some(format), text, "i", &options).map_err(|e| e.to_string()));
    }
    drop(Plan::from_json(text));
}

fn plan() -> Plan {
    let mut plan = Plan {
        schema: tenuto_model::PLAN_SCHEMA.into(),
        version: "0".into(),
        description_digest: String::new(),
        plan_hash: String::new(),
        network: car(),
        model: ForwardingModel::StoreAndForward,
        as_stated: false,
        line_shaping: true,
        staircases: false,
        modelled: false,
        feasible: false,
        routes: vec![],
        ports: vec![],
        processors: Vec::new(),
        witnesses: tenuto_model::Witnesses::default(),
        processor_rows: Vec::new(),
        port_rows: vec![],
        flows: vec![],
        mode_changes: vec![],
        quiet_ns: None,
        signal_copies: 0,
        switches: vec![],
        hosts: vec![],
        link_losses: vec![],
        refusals: vec![],
        assumptions: vec![],
        ranked: tenuto_model::Ranked::AsGiven,
    };
    plan.seal();
    plan
}

#[test]
fn a_plan_comes_back_and_knows_when_it_was_changed() {
    let plan = plan();
    let again = Plan::from_json(&plan.to_json()).expect("it was written by us");
    assert_eq!(again, plan);
    assert_eq!(again.verify_digest(), Ok(()));
    let changed = Plan { feasible: true, ..plan.clone() };
    assert!(changed.verify_digest().is_err_and(|e| e.contains("the plan was changed")));
    let mut moved = plan;
    moved.network.name = "other".into();
    assert!(moved.verify_digest().is_err_and(|e| e.contains("description")));
    let error = Plan::from_json("{\n \"schema\": 3}").expect_err("a number");
    assert!(error.contains("line 2 column"), "{error}");
    assert_eq!(Expect::default().raises, None);
}

#[test]
fn files_that_are_made_to_hurt() {
    let car = car();
    let deep_xml = format!("<elements>{}", "<a>".repeat(200_000));
    for text in [
        "[".repeat(100_000),
        "{".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        "a: ".repeat(50_000),
        "a: &a [*a, *a]".to_owned(),
        "'".repeat(100_001),
        "\"\\".repeat(50_001),
        "x,".repeat(100_000),
        "\n".repeat(100_000),
        "!".repeat(100_000),
        "&".repeat(10_000),
        "%YAML 9.9\n---\n".repeat(1_000),
        "k: v\n".repeat(50_000),
        "- |\n".repeat(50_000),
        "\u{feff}\u{85}\u{2028}: \0".to_owned(),
        "\"".repeat(3),
        format!("{}1 ms", "9".repeat(1_000_000)),
        deep_xml,
        "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>".to_owned(),
    ] {
        read_all(&text, &car);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_all(&String::from_utf8_lossy(&bytes), &car());
    }

    #[test]
    fn random_yaml_does_no_harm(text in "[-a-c:{}\\[\\]&*!|>'\"%#?, \n\t0-9é]{0,120}") {
        read_all(&text, &car());
    }

    /// The shipped car with some characters replaced: deep into the readers.
    #[test]
    fn damaged_networks_do_no_harm(
        edits in prop::collection::vec((any::<prop::sample::Index>(), "[-a-z:{}\\[\\]\"' \n0-9é,]{0,3}", 0_usize..6), 1..6),
    ) {
        let mut text: Vec<char> = car_text().chars().collect();
        for (at, with, cut) in edits {
            let at = at.index(text.len());
            let end = (at + cut).min(text.len());
            text.splice(at..end, with.chars());
        }
        read_all(&text.into_iter().collect::<String>(), &car());
    }
}
