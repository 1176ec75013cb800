//! Lists of requests that reference implementations decided, and a car's log: more is held, every
//! promise is kept by the audit. The data lie outside of the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The data folder; `None`, said once, where it is not.
fn data(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("TENUTO_DATA").map_or(beside, PathBuf::from).join(name);
    if !folder.exists() {
        eprintln!("skipped: {name} is not in TENUTO_DATA");
        return None;
    }
    Some(folder)
}

fn bench(args: &[&str]) -> serde_json::Value {
    let output = Command::new(env!("CARGO_BIN_EXE_tenuto"))
        .args(["bench", "admission", "--json", "--repeat", "1"])
        .args(args)
        .output()
        .expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).expect("one document")
}

/// Flows, Mbit/s and trunk load of the best column of the reference implementations.
fn holds_more_than(list: &str, flows: u64, rate_mbps: f64, load_percent: f64) {
    let Some(folder) = data("admission-lists") else { return };
    let network = folder.join(list).join("network.json").display().to_string();
    let requests = folder.join(list).join("requests.json").display().to_string();
    let report =
        bench(&["--network", &network, "--requests", &requests, "--adapt-after", "1000000"]);
    assert_eq!(report["verdict"], "kept");
    assert!(report["flows"].as_u64() > Some(flows), "{report}");
    assert!(report["rate_mbps"].as_f64() > Some(rate_mbps), "{report}");
    assert!(report["trunk_load_percent"].as_f64() > Some(load_percent), "{report}");
    assert!(report["granted_over_recomputed_median"].as_f64() <= Some(1.05), "{report}");
    let ceiling = &report["ceiling"];
    assert!(report["flows"].as_u64() <= ceiling["flows_max"].as_u64(), "{report}");
    assert!(report["rate_mbps"].as_f64() <= ceiling["rate_mbps_max"].as_f64(), "{report}");
    assert!(ceiling["in_order_flows"].as_u64() <= ceiling["flows_max"].as_u64(), "{report}");
}

#[test]
fn the_ring_holds_more_than_any_reference_implementation() {
    holds_more_than("ring31-100M-1000", 486, 414.0, 41.5);
}

/// The first requests of a list, by an engine that expects no more.
#[test]
fn of_few_requests_the_default_holds_no_fewer_than_the_other_engines() {
    let Some(folder) = data("admission-lists") else { return };
    for (list, count) in [("ring31-100M-1000", 100), ("line4-1G", 100)] {
        let folder = folder.join(list);
        let text = std::fs::read_to_string(folder.join("requests.json")).expect("a list");
        let mut file: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        file["requests"].as_array_mut().expect("requests").truncate(count);
        let few = std::env::temp_dir().join(format!("tenuto-few-{list}-{}", std::process::id()));
        std::fs::write(&few, file.to_string()).expect("written");
        let network = folder.join("network.json").display().to_string();
        let held = |engine: &str| {
            let requests = few.display().to_string();
            let asked = ["--network", &network, "--requests", &requests, "--engine", engine];
            let report = bench(&asked);
            assert_eq!(report["verdict"], "kept");
            report["flows"].as_u64().expect("flows")
        };
        let (budget, exact, reserve) = (held("budget"), held("exact"), held("reserve"));
        std::fs::remove_file(&few).expect("ours");
        assert!(reserve >= exact && reserve >= budget, "{list}: {reserve}, {exact}, {budget}");
        assert_eq!(reserve, count as u64, "{list}");
    }
}

#[test]
fn the_line_holds_more_than_any_reference_implementation() {
    // A fifth more flows than the best of them, and 24 % more load.
    holds_more_than("line4-1G", 587, 690.0, 12.4);
}

#[test]
fn every_reservation_of_a_car_is_accepted() {
    let Some(folder) = data("car-sdn4core") else { return };
    let log = folder.join("admission_1G.json").display().to_string();
    for engine in ["budget", "exact", "reserve"] {
        let asked = ["--operations", &log, "--engine", engine, "--adapt-after", "1000000"];
        // Lines of the same car: all alike, or ten times as fast between its switches.
        for rates in [&[][..], &["--trunk-rate", "10Gbit/s"], &["--line-rate", "10Gbit/s"]] {
            let report = bench(&[&asked[..], rates].concat());
            let counts = (report["flows"].as_u64(), report["requests"].as_u64());
            assert_eq!(counts, (Some(447), Some(447)), "{rates:?}");
            assert!(report["bound_max_ms"].as_f64() <= Some(5.304), "{report}");
        }
    }
}

#[test]
fn a_list_that_is_not_known_is_told_with_those_that_are() {
    let output = Command::new(env!("CARGO_BIN_EXE_tenuto"))
        .args(["bench", "admission", "--generated", "rign"])
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("rign") && said.contains("ring31-100M"), "{said}");
}

/// A car's log at another rate: what the lines carry is asked for, and told.
#[test]
fn rates_of_a_log_are_asked_for_and_told() {
    let folder = std::env::temp_dir().join(format!("tenuto-admission-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder of our own");
    let log = folder.join("log.json");
    let hops = |from: &str, to: &str| format!(r#"[["{from}","a"],["a","b"],["b","{to}"]]"#);
    let entry = |n: usize| {
        let path = hops("h1", "h2");
        format!(
            r#"{{"n":{n},"op":"add","src":"h1","dst":["h2"],"bits":12304,"interval_ms":0.03,
                "deadline_ms":50,"paths":[{{"hops":{path}}}]}}"#
        )
    };
    std::fs::write(&log, format!("[{},{},{}]", entry(1), entry(2), entry(3))).expect("written");
    let log = log.display().to_string();
    let slow = bench(&["--operations", &log]);
    assert_eq!(slow["flows"], 2, "410 Mbit/s each: {slow}");
    assert!(slow["assumed"].to_string().contains("every line carries 1 Gbit/s"), "{slow}");
    let fast = bench(&["--operations", &log, "--line-rate", "10Gbit/s"]);
    assert_eq!(fast["flows"], 3, "{fast}");
    assert!(!fast["assumed"].to_string().contains("--line-rate"), "{fast}");
    let mixed = bench(&["--operations", &log, "--trunk-rate", "10Gbit/s"]);
    assert_eq!(mixed["flows"], 2, "the line of the host is as slow as before: {mixed}");
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn what_is_held_is_written_as_a_plan_that_certifies() {
    let folder = std::env::temp_dir().join(format!("tenuto-held-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder of our own");
    let plan = folder.join("held.json").display().to_string();
    let report = bench(&["--generated", "star-1G", "--adapt-after", "1000000", "--plan", &plan]);
    assert!(report["flows"].as_u64() > Some(100), "{report}");
    let output = Command::new(env!("CARGO_BIN_EXE_tenuto"))
        .args(["certify", &plan, "--json"])
        .output()
        .expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("\"certified\""), "{text}");
    std::fs::remove_dir_all(&folder).expect("ours");
}

/// A list without a name is called as its file is, so that a plan can be written of it.
#[test]
fn a_plan_of_a_list_without_a_name_is_called_as_its_file() {
    let folder = std::env::temp_dir().join(format!("tenuto-unnamed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder of our own");
    let line = |from: &str, to: &str| {
        format!(
            r#"{{"src":"{from}","dst":"{to}","rate_bps":1e8}},{{"src":"{to}","dst":"{from}","rate_bps":1e8}}"#
        )
    };
    let network = format!(
        r#"{{"nodes":[{{"id":"a","kind":"host"}},{{"id":"s","kind":"switch"}},{{"id":"b","kind":"host"}}],
            "links":[{},{}]}}"#,
        line("a", "s"),
        line("s", "b")
    );
    let requests = r#"{"queue_bytes":100000,"host_queue_bytes":100000,"requests":[
        {"id":1,"src":"a","dst":"b","rate_bps":1e6,"burst_bytes":1000,"deadline_ms":10}]}"#;
    let [network_file, list, plan] =
        ["network.json", "shift.json", "held.plan.json"].map(|name| folder.join(name));
    std::fs::write(&network_file, network).expect("written");
    std::fs::write(&list, requests).expect("written");
    let shown = [&network_file, &list, &plan].map(|path| path.display().to_string());
    let report = bench(&["--network", &shown[0], "--requests", &shown[1], "--plan", &shown[2]]);
    assert_eq!(report["flows"], 1, "{report}");
    let written = std::fs::read_to_string(&plan).expect("a plan");
    let written: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(written["network"]["name"], "shift");
    std::fs::remove_dir_all(&folder).expect("ours");
}
