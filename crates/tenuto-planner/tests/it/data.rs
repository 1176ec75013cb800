//! Networks of vehicles, a spacecraft and plants: planned, or refused with the reason.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::path::PathBuf;
use tenuto_model::{ImportOptions, Network, Plan, Sources, import};
use tenuto_planner::{Options, plan};

/// A folder of the data sets.
struct Folder(PathBuf);

impl Sources for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }
}

fn folder(name: &str) -> Option<Folder> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let data = std::env::var_os("TENUTO_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let folder = data.join(name);
    if folder.is_dir() {
        return Some(Folder(folder));
    }
    println!("SKIPPED: {name} is not there (set TENUTO_DATA)");
    None
}

fn imported(folder: &Folder, file: &str, options: &ImportOptions<'_>) -> Network {
    let text = folder.read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let options = ImportOptions { sources: folder, ..*options };
    match import(None, &text, file, &options) {
        Ok(imported) => imported.network().expect("a network"),
        Err(problems) => panic!("{file}: {problems}"),
    }
}

/// The plan, which the checker accepts whether or not it promises everything.
fn certified(network: &Network, file: &str) -> Plan {
    let plan = plan(network, &Options { would_fit: false, ..Options::default() });
    if let Err(findings) = tenuto_certify::certify(&plan.to_json()) {
        panic!("{file}: {}", findings[0]);
    }
    plan
}

fn applications(name: &str, topology: &str, files: &[&str], rates_mbps: &[u64]) -> Vec<Plan> {
    let Some(folder) = folder(name) else { return Vec::new() };
    let mut plans = Vec::new();
    for file in files {
        for rate in rates_mbps {
            let options = ImportOptions {
                rate_bps: Some(rate * 1_000_000),
                topology: Some(topology),
                ..ImportOptions::default()
            };
            let network = imported(&folder, file, &options);
            plans.push(certified(&network, file));
        }
    }
    plans
}

fn assert_feasible(plans: &[Plan]) {
    for plan in plans {
        let because: Vec<&str> = plan.refusals.iter().map(|it| it.because.as_str()).collect();
        assert!(plan.feasible, "{}: {because:?}", plan.network.name);
    }
}

#[test]
fn the_spacecraft_at_both_rates() {
    let files = [
        "deadline_ORION_T1.xml",
        "deadline_ORION_T2.xml",
        "deadline_ORION_T3.xml",
        "tsncf_ORION_T1.xml",
        "tsncf_ORION_T2.xml",
    ];
    assert_feasible(&applications("orion-cev", "ORION.graphml", &files, &[100, 1_000]));
}

#[test]
fn the_plant() {
    let files =
        ["deadline_ABB_T1.xml", "deadline_ABB_T4.xml", "tsncf_ABB_T1.xml", "tsncf_ABB_T2.xml"];
    assert_feasible(&applications("abb-industrial", "ABB.graphml", &files, &[1_000]));
}

#[test]
fn the_vehicle_backbones() {
    let first = ["TC1_T1.xml", "TC1_T2.xml", "TC1_T3.xml", "TC1_T4.xml"];
    assert_feasible(&applications("vehicle-tc", "TC1.graphml", &first, &[1_000]));
    let second = ["TC5_T10.xml", "TC5_T11.xml"];
    assert_feasible(&applications("vehicle-tc", "TC5.graphml", &second, &[1_000]));
    // Time-triggered flows of 125 and 167 us deadlines behind largest frames of three AVB flows
    // at ports that every way of theirs crosses.
    let crowded = ["TC5_T12.xml", "TC5_T13.xml"];
    for plan in applications("vehicle-tc", "TC5.graphml", &crowded, &[1_000]) {
        assert!(plan.refusals.iter().all(|it| it.resource == "deadline"), "{:?}", plan.refusals);
        assert!(plan.refusals.iter().flat_map(|it| &it.flows).all(|flow| flow.starts_with("TT")));
    }
}

#[test]
fn the_lists_of_time_sensitive_sdn() {
    for (name, is_large) in [
        ("ER-s6-h24-p0.5-f20-mp1-md1-seed0-c1", false),
        ("ER-s6-h24-p0.5-f110-mp1-md1-seed0-c1", false),
        ("RRG-s10-h50-d3-f100-mp1-md1-seed0-c1", false),
        ("ER-s20-h500-p0.7-f2500-mp1-md3-seed0-c1", true),
    ] {
        let Some(folder) = folder(&format!("tssdn/{name}")) else { continue };
        let options = ImportOptions {
            rate_bps: Some(if is_large { 10_000_000_000 } else { 1_000_000_000 }),
            flows: Some("flows.dat"),
            ..ImportOptions::default()
        };
        let network = imported(&folder, "links.dat", &options);
        assert_feasible(&[certified(&network, name)]);
    }
}
