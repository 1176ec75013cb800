//! `sim`: campaigns and the command that repeats a case, captures, traces, delays at every port.

use crate::stranger::{LINE, folder, networks, tenuto, tenuto_in, write};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

fn campaign(args: &[&str]) -> Value {
    let all = [&["sim", "vehicle.yaml", "--json", "--for", "250ms"], args].concat();
    tenuto(&all).exits(0).json()
}

#[test]
fn a_campaign_holds_every_case_against_the_plan() {
    let document = campaign(&["--campaign", "16", "--jobs", "2"]);
    assert_eq!(document["schema"], "tenuto-campaign/1");
    assert_eq!((&document["verdict"], &document["cases"]), (&"kept".into(), &16.into()));
    assert_eq!(document["broken_cases"], 0);
    assert!(document["mode_changes"].as_u64() > Some(0), "{document:#}");
    for row in document["rows"].as_array().expect("rows") {
        let (seen, bound) = (row["observed_delay_ns_max"].as_u64(), row["delay_bound_ns"].as_u64());
        assert!(seen.zip(bound).is_none_or(|(seen, bound)| seen <= bound), "{row:#}");
    }
    // Who works on which case changes nothing.
    assert_eq!(campaign(&["--campaign", "16", "--jobs", "1"]), document);
    let said = tenuto(&["sim", "vehicle.yaml", "--campaign", "3", "--for", "100ms"]).exits(0);
    said.says(&["3 cases from seed 1 within the fault model", "KEPT  every invariant held"]);
}

#[test]
fn a_case_is_repeated_by_its_seed() {
    let document = campaign(&["--campaign", "8"]);
    let rows = document["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["observed_delay_ns_max"].is_u64()).expect("observed");
    let seed = row["seed"].to_string();
    let again = tenuto(&["sim", "vehicle.yaml", "--json", "--for", "250ms", "--drawn", &seed]);
    let run = again.exits(0).json();
    let own = |it: &&Value| ["flow", "target", "mode"].iter().all(|key| it[*key] == row[*key]);
    let flows = run["flows"].as_array().expect("flows");
    let seen = flows.iter().find(own).expect("its row");
    assert_eq!(seen["observed_delay_ns_max"], row["observed_delay_ns_max"]);
}

#[test]
fn a_campaign_beyond_the_fault_model_checks_what_must_always_hold() {
    let document = campaign(&["--campaign", "12", "--beyond"]);
    assert_eq!((&document["verdict"], &document["is_beyond"]), (&"kept".into(), &true.into()));
    assert!(document["runs"]["broken"].as_u64() > Some(0), "{document:#}");
    let kinds = document["events"].as_object().expect("kinds");
    assert!(kinds.keys().any(|it| it == "cut_link" || it == "kill_node"), "{kinds:?}");
}

#[test]
fn flags_of_campaigns_belong_together() {
    tenuto(&["sim", "vehicle.yaml", "--beyond"]).exits(2).complains_of(&["--campaign"]);
    tenuto(&["sim", "vehicle.yaml", "--jobs", "2"]).exits(2);
    tenuto(&["sim", "vehicle.yaml", "--campaign", "0"]).exits(2);
    tenuto(&["sim", "vehicle.yaml", "--campaign", "1", "--drawn", "1"]).exits(2);
    tenuto(&["sim", "vehicle.yaml", "--links", "sw1-sw2"]).exits(2).complains_of(&["--pcap"]);
}

/// Frames of a capture with nanoseconds: when, and how long.
fn frames(bytes: &[u8]) -> Vec<(u64, usize)> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 1), "nanoseconds, Ethernet");
    let (mut at, mut frames) = (24, Vec::new());
    while at < bytes.len() {
        let len = word(at + 8) as usize;
        assert_eq!(word(at + 12) as usize, len);
        frames.push((u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)), len));
        at += 16 + len;
    }
    assert_eq!(at, bytes.len(), "the last frame is whole");
    frames
}

#[test]
fn every_link_has_its_capture() {
    let at = folder("sim_pcap");
    write(&at, "line.yaml", LINE);
    let args = ["sim", "line.yaml", "--for", "100ms", "--pcap", "links", "--json"];
    let run = tenuto_in(&at, &args).exits(0).json();
    let ports = run["ports"].as_array().expect("ports");
    for (file, port) in [
        ("sensor.1-sw1.1.pcap", "sensor > sw1"),
        ("sw1.2-display.1.pcap", "sw1:2 > display"),
        ("sw1.1-sensor.1.pcap", "sw1:1 > sensor"),
        ("display.1-sw1.2.pcap", "display > sw1"),
    ] {
        let bytes = std::fs::read(at.join("links").join(file)).expect(file);
        let frames = frames(&bytes);
        let row = ports.iter().find(|row| row["port"] == port);
        let count = row.map_or(0, |row| row["frames"].as_u64().expect("a count"));
        assert_eq!(frames.len() as u64, count, "{file}");
        assert!(frames.windows(2).all(|pair| pair[0].0 < pair[1].0), "{file}: in order");
        assert!(frames.iter().all(|it| it.0 <= 100_000_000 && it.1 >= 60), "{file}");
    }
    read_by_others(&at.join("links/sensor.1-sw1.1.pcap"));
    let one = ["sim", "line.yaml", "--for", "20ms", "--pcap", "one", "--links", "display-sw1"];
    tenuto_in(&at, &one).exits(0);
    assert_eq!(std::fs::read_dir(at.join("one")).expect("a folder").count(), 2);
    let none = ["sim", "line.yaml", "--pcap", "one", "--links", "sw1-sw9"];
    tenuto_in(&at, &none)
        .exits(2)
        .complains_of(&["--links sw1-sw9: there is no such link", "sensor-sw1"]);
}

/// What other tools say of a capture, where they are there.
fn read_by_others(file: &std::path::Path) {
    let said = |program: &str, args: &[&str]| {
        Command::new(program).args(args).arg(file).output().ok().filter(|it| it.status.success())
    };
    let count = frames(&std::fs::read(file).expect("read before")).len();
    match said("capinfos", &["-M", "-c"]) {
        Some(out) => {
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            assert!(text.contains(&count.to_string()), "{text}");
        }
        None => println!("capinfos is not there: its reading of {} is SKIPPED", file.display()),
    }
    match said("tcpdump", &["-nr"]) {
        Some(out) => assert_eq!(String::from_utf8_lossy(&out.stdout).lines().count(), count),
        None => println!("tcpdump is not there: its reading of {} is SKIPPED", file.display()),
    }
    match said("tshark", &["-n", "-r"]) {
        Some(out) => assert_eq!(String::from_utf8_lossy(&out.stdout).lines().count(), count),
        None => println!("tshark is not there: its reading of {} is SKIPPED", file.display()),
    }
}

#[test]
fn a_trace_has_frames_queues_modes_and_drops() {
    let at = folder("sim_trace");
    let scenario = "tenuto_scenario: 1\nduration: 300 ms\nevents:\n  - {at: 50 ms, flow: CAM, behave: HI}\n  \
                    - {at: 100 ms, host: s2, babble: {frame: 64 B, for: 5 ms}}\n";
    write(&at, "up.scenario.yaml", scenario);
    let vehicle = networks().join("vehicle.yaml");
    let vehicle = vehicle.to_str().expect("UTF-8");
    let args = ["sim", vehicle, "--scenario", "up.scenario.yaml", "--trace", "t.json", "--json"];
    let run = tenuto_in(&at, &args).exits(0).json();
    let text = std::fs::read_to_string(at.join("t.json")).expect("written");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let of = |kind: &'static str| events.iter().filter(move |it| it["ph"] == kind);
    // A line carries one frame at a time: its slices do not overlap.
    let mut lines: BTreeMap<(u64, u64), Vec<(f64, f64)>> = BTreeMap::new();
    for slice in of("X") {
        let number = |key: &str| slice[key].as_f64().expect("a number");
        let key = (slice["pid"].as_u64().expect("pid"), slice["tid"].as_u64().expect("tid"));
        lines.entry(key).or_default().push((number("ts"), number("ts") + number("dur")));
        assert!(slice["args"]["bytes"].as_u64() >= Some(64), "{slice:#}");
    }
    for (line, slices) in &mut lines {
        slices.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(slices.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 0.0015), "{line:?}");
    }
    let frames: u64 =
        run["ports"].as_array().expect("ports").iter().filter_map(|it| it["frames"].as_u64()).sum();
    // But for signals of the set-up, two on each of four trunks, every frame is a slice.
    assert!((frames - 8..=frames).contains(&(of("X").count() as u64)), "{frames}");
    let named = |words: &str| {
        of("i").filter(|it| it["name"].as_str().is_some_and(|it| it.contains(words))).count()
    };
    let drops = of("i").filter(|it| it["cat"] == "drop").count();
    assert!(named("mode HI") >= 3 && drops > 100, "{} and {drops}", named("mode HI"));
    assert!(of("C").any(|it| it["args"]["bytes"].as_u64() > Some(1_500)));
    assert!(of("M").any(|it| it["args"]["name"] == "sw1:3 > sw2"));
}

#[test]
fn delays_at_every_port_stand_beside_their_bounds() {
    let run =
        tenuto(&["sim", "vehicle.yaml", "--for", "500ms", "--hops", "--json"]).exits(0).json();
    let rows = run["hop_delays"].as_array().expect("rows");
    assert!(rows.len() >= 8, "{rows:#?}");
    for row in rows {
        let number = |key: &str| row[key].as_u64().expect("a number");
        assert!(number("observed_ns_max") <= number("bound_ns"), "{row:#}");
        let frames = row["histogram"].as_array().expect("buckets").iter();
        assert_eq!(frames.filter_map(|it| it["frames"].as_u64()).sum::<u64>(), number("frames"));
    }
    let said = tenuto(&["sim", "vehicle.yaml", "--for", "500ms", "--hops"]).exits(0);
    said.says(&["largest ms", "sw2:2 > sw3"]);
    let plain = tenuto(&["sim", "vehicle.yaml", "--for", "50ms", "--json"]);
    assert!(plain.exits(0).json().get("hop_delays").is_none());
}

#[test]
fn a_refused_network_runs_for_comparison_only() {
    let at = folder("sim_comparison");
    write(&at, "late.yaml", &LINE.replace("deadline: 5 ms", "deadline: 10 us"));
    let said = tenuto_in(&at, &["sim", "late.yaml", "--for", "1s"]).exits(1);
    said.complains_of(&["nothing was run"]);
    let said = tenuto_in(&at, &["sim", "late.yaml", "--for", "1s", "--comparison", "--json"]);
    let run = said.exits(3).json();
    assert_eq!(run["verdict"], "comparison");
    assert!(run["summary"].as_str().is_some_and(|it| it.starts_with("COMPARISON: ")), "{run:#}");
    assert_eq!(run["schema"], "tenuto-run/1");
    assert!(run["flows"][0]["received"].as_u64() > Some(90), "{run:#}");
    // What is not refused is judged as ever.
    write(&at, "line.yaml", LINE);
    tenuto_in(&at, &["sim", "line.yaml", "--for", "1s", "--comparison"]).exits(0).says(&["KEPT"]);
}

#[test]
fn control_messages_wait_at_the_processor_of_a_device() {
    // Over all flows: what an echo request meets depends on its phase.
    let most = |args: &[&str]| -> u64 {
        let all = [&["sim", "cell.yaml", "--for", "5s", "--json"], args].concat();
        let run = tenuto(&all).exits(0).json();
        let flows = run["flows"].as_array().expect("flows").iter();
        flows.filter_map(|row| row["observed_delay_ns_max"].as_u64()).sum()
    };
    // The cell plans for two echo requests in 100 ms.
    assert!(most(&["--devices", "--control-rate", "19"]) > most(&["--devices"]));
    tenuto(&["sim", "cell.yaml", "--control-rate", "10"]).exits(2).complains_of(&["--devices"]);
    tenuto(&["sim", "cell.yaml", "--devices", "--control-rate", "0"]).exits(2);
}
