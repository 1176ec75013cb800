//! `sim` and what it leaves behind.

use crate::stranger::{LINE, folder, tenuto, tenuto_in, write};

#[test]
fn the_vehicle_keeps_its_promise_through_a_change_of_mode() {
    let said = tenuto(&["sim", "vehicle.yaml", "--for", "12s"]).exits(0);
    said.says(&[
        "vehicle  simulated 12 s   seed 1",
        "obstacle appears",
        "observed max",
        "LO>HI    CAM, seen by sw1",
        "HI>LO",
        "KEPT: ",
    ]);
}

#[test]
fn the_run_document_is_what_stdout_has() {
    let said = tenuto(&["sim", "vehicle.yaml", "--for", "12s", "--json", "--seed", "7"]).exits(0);
    let document = said.json();
    assert_eq!(document["schema"], "tenuto-run/1");
    assert_eq!(document["world"], "simulated");
    assert_eq!(document["seed"], 7);
    assert_eq!(document["verdict"], "kept");
    for row in document["flows"].as_array().expect("flows") {
        let count = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key} in {row:#}"));
        let told = ["received", "lost", "policed", "out_of_mode", "in_flight", "undecided"];
        assert_eq!(count("sent"), told.iter().map(|key| count(key)).sum::<u64>(), "{row:#}");
        if let (Some(seen), Some(bound)) =
            (row["observed_delay_ns_max"].as_u64(), row["delay_bound_ns"].as_u64())
        {
            assert!(seen <= bound, "{row:#}");
        }
    }
    assert_eq!(document["mode_changes"][0]["to"], "HI");
    let again = tenuto(&["sim", "vehicle.yaml", "--for", "12s", "--json", "--seed", "7"]).exits(0);
    assert_eq!(said.stdout, again.stdout, "a run replays bit for bit");
}

#[test]
fn what_the_scenario_expects_is_held_against_the_run() {
    let folder = folder("expect");
    write(&folder, "line.yaml", LINE);
    let scenario = "tenuto_scenario: 1\nduration: 1 s\nexpect: {raises: 1}\n";
    write(&folder, "line.scenario.yaml", scenario);
    tenuto_in(&folder, &["sim", "line.yaml"]).exits(1).says(&["violated: expectation", "BROKEN"]);
    write(&folder, "other.yaml", "tenuto_scenario: 1\nduration: 1 s\n");
    tenuto_in(&folder, &["sim", "line.yaml", "--scenario", "other.yaml"]).exits(0);
    tenuto_in(&folder, &["plan", "line.yaml", "-o", "line.plan.json"]).exits(0);
    tenuto_in(&folder, &["sim", "line.plan.json", "--for", "1s"]).exits(0);
}

#[test]
fn a_refused_network_is_not_run() {
    let said = tenuto(&["sim", "vehicle-as-printed.yaml", "--json"]).exits(1);
    let document = said.complains_of(&["REFUSED", "nothing was run"]).json();
    assert_eq!(document["verdict"], "refused");
}

#[test]
fn a_run_can_be_kept() {
    let folder = folder("kept");
    write(&folder, "line.yaml", LINE);
    let said = tenuto_in(&folder, &["sim", "line.yaml", "--for", "1s", "-o", "run.json"]);
    said.exits(0).says(&["KEPT", "run.json"]);
    let text = std::fs::read_to_string(folder.join("run.json")).expect("the run was written");
    assert!(text.contains("\"tenuto-run/1\""));
    tenuto_in(&folder, &["sim", "line.yaml", "--for", "1s", "--report"])
        .exits(0)
        .says(&["out/line-"]);
    let out = std::fs::read_dir(folder.join("out")).expect("a folder of reports");
    let run = out.flatten().next().expect("a report").path();
    for name in ["run.json", "plan.json"] {
        assert!(run.join(name).is_file(), "{name}");
    }
}
