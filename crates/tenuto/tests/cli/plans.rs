//! `plan`, `tables` and `certify`.

use crate::stranger::{LINE, folder, networks, tenuto, tenuto_in, write};
use serde_json::Value;

#[test]
fn the_vehicle_is_guaranteed() {
    tenuto(&["plan", "vehicle.yaml"]).exits(0).says(&[
        "vehicle  3 switches, 3 flows, modes LO HI   model store-and-forward",
        "deadline ms",
        "sw1:3 > sw2",
        "mode change LO>HI <=",
        "D_arrange",
        "tolerates   1 babbling host, 1 lost signal, controller loss",
        "GUARANTEED: 10 of 10 bounds, certified exactly",
    ]);
}

/// On a full disk what was worked out is shown all the same, and the file is told of last.
#[test]
fn a_plan_is_shown_even_if_it_cannot_be_kept() {
    const FULL: &str = "the disk is full";
    for keep in ["-o", "--csv"] {
        let args = ["plan", "line.yaml", keep, "/dev/full"];
        let said = tenuto(&args).exits(2).complains_of(&[FULL]).says(&["GUARANTEED: 1 of 1"]);
        assert!(!said.stdout.contains("certify /dev/full"), "{}", said.stdout);
        let said = tenuto(&[&args[..], &["--json"]].concat()).exits(2);
        assert_eq!(said.json()["verdict"], "guaranteed");
        // What is refused stays refused.
        let said = tenuto(&["plan", "vehicle-as-printed.yaml", keep, "/dev/full"]).exits(1);
        said.complains_of(&["REFUSED", "would fit", FULL]);
    }
    let said = tenuto(&["plan", "line.yaml", "--diff", "line.yaml", "-o", "/dev/full"]).exits(2);
    said.says(&["every bound is the same"]).complains_of(&[FULL]);
}

#[test]
fn the_sample_of_the_readme_is_what_is_printed() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(readme).expect("shipped");
    let (_, sample) = readme.split_once("$ tenuto plan networks/vehicle.yaml\n").expect("a sample");
    let (sample, _) = sample.split_once("```").expect("its end");
    let lines: Vec<&str> = sample.lines().filter(|line| *line != "…").collect();
    assert!(lines.len() >= 5, "{sample}");
    tenuto(&["plan", "vehicle.yaml"]).exits(0).says(&lines);
}

#[test]
fn explanations_and_differences_are_documents_like_all_others() {
    let said = tenuto(&["plan", "line.yaml", "--explain", "speed", "--json"]).exits(0).json();
    assert_eq!(said["schema"], "tenuto-explanation/1");
    assert_eq!((&said["verdict"], &said["flow"]), (&"guaranteed".into(), &"speed".into()));
    assert!(said["assumptions"][0].as_str().is_some_and(|text| text.contains("store-and-forward")));
    let said = tenuto(&["plan", "line.yaml", "--diff", "line.yaml", "--json"]).exits(0).json();
    assert_eq!(said["schema"], "tenuto-plan-difference/1");
    assert_eq!((&said["verdict"], &said["unchanged"]), (&"guaranteed".into(), &1.into()));
    assert_eq!(said["plan_hash"], said["before_hash"]);
}

#[test]
fn lines_of_would_fit_hold_as_they_stand() {
    let folder = folder("lines");
    let printed = std::fs::read_to_string(networks().join("vehicle-as-printed.yaml"));
    write(&folder, "printed.yaml", &printed.expect("an example"));
    let said = tenuto_in(&folder, &["plan", "printed.yaml", "--json"]).exits(1).json();
    let refusals = said["refusals"].as_array().expect("refusals");
    let lines = refusals.iter().filter_map(|it| it["would_fit"].as_array()).flatten();
    let lines: Vec<&str> = lines.filter_map(|line| line.as_str()).collect();
    assert!(lines.len() >= 2, "{said}");
    for line in lines {
        let code = i32::from(line.contains("stays refused"));
        let _ = tenuto_in(&folder, &["plan", "printed.yaml", "--set", line]).exits(code);
    }
}

#[test]
fn words_that_the_checker_does_not_find_are_shown_nowhere() {
    let folder = folder("words");
    write(&folder, "line.yaml", LINE);
    let _ = tenuto_in(&folder, &["plan", "line.yaml", "-o", "plan.json"]).exits(0);
    let text = std::fs::read_to_string(folder.join("plan.json")).expect("a plan");
    let mut plan = tenuto_model::Plan::from_json(&text).expect("a plan");
    plan.assumptions[0].text = "measured in a laboratory".into();
    plan.seal();
    write(&folder, "forged.json", &plan.to_json());
    for args in [
        &["certify", "forged.json"][..],
        &["report", "forged.json"],
        &["sim", "forged.json"],
        &["tables", "forged.json"],
        &["export", "saihu", "forged.json"],
        &["plan", "line.yaml", "--diff", "forged.json"],
    ] {
        tenuto_in(&folder, args).exits(3).complains_of(&["what is assumed: model: measured"]);
    }
}

#[test]
fn a_difference_names_networks_assumptions_and_changes() {
    let folder = folder("other");
    write(&folder, "line.yaml", LINE);
    write(&folder, "own.yaml", &LINE.replace("name: line", "name: own"));
    let said = tenuto_in(&folder, &["plan", "own.yaml", "--diff", "line.yaml"]).exits(0);
    said.says(&["two networks: before line, after own", "every bound is the same"]);
    let said = ["plan", "line.yaml", "--diff", "line.yaml", "--no-line-shaping"];
    let said = tenuto_in(&folder, &said).exits(0);
    said.says(&["assumed after: input lines are not counted as shaping"]);
    let car = ["plan", "vehicle.yaml", "--diff", "vehicle.yaml", "--set", "CAM deadline >= 30 ms"];
    let said = tenuto(&[&car[..], &["--set", "quiet >= 600 ms"]].concat()).exits(0);
    said.says(&["22.000 > 30.000 ms", "quiet before a return: 500.000 > 600.000 ms"]);
}

#[test]
fn many_late_flows_are_named_and_their_deadlines_offered() {
    let folder = folder("late");
    let flow =
        "{source: sensor, targets: [display], message: 1 kB, period: 10 ms, deadline: 100 us}";
    let flows: String = (0..5).map(|n| format!("  f{n}: {flow}\n")).collect();
    write(&folder, "late.yaml", &format!("{LINE}{flows}"));
    let said = tenuto_in(&folder, &["plan", "late.yaml"]).exits(1);
    said.complains_of(&["late too: f", "f4 deadline >= ", "f0 deadline >= "]);
}

#[test]
fn a_bound_is_explained_hop_by_hop() {
    let plan = tenuto(&["plan", "vehicle.yaml", "--json"]).exits(0).json();
    let rows =
        plan["flows"].as_array().expect("flows").iter().filter(|row| row["flow"] == "STREAM");
    let bound_ns = rows.filter_map(|row| row["delay_bound_ns"].as_i64()).max().expect("bounds");
    let whole = format!("bound {}.", bound_ns / 1_000_000);
    let said = tenuto(&["plan", "vehicle.yaml", "--explain", "STREAM"])
        .exits(0)
        .says(&["assumes     store-and-forward", "babbling sources"]);
    // STREAM does not run in HI: what is promised there is no part of it.
    let way = said.stdout.lines().find(|line| line.starts_with("way")).expect("its way");
    assert!(way.starts_with("way     s2 sw1 sw2 d2: ") && way.contains(&whole), "{way}");
    said.says(&["1  s2 > sw1", "2  sw1:3 > sw2", "itself", "mode signals", "each planned"]);
    tenuto(&["plan", "vehicle.yaml", "--explain", "STREEM"]).exits(2).complains_of(&["STREAM"]);
}

#[test]
fn the_document_has_the_keys_that_programs_rely_on() {
    let document = tenuto(&["plan", "vehicle.yaml", "--json"]).exits(0).json();
    assert_eq!(document["schema"], "tenuto-plan-report/1");
    assert_eq!(document["verdict"], "guaranteed");
    assert_eq!(document["feasible"], true);
    assert_eq!(document["certificate"]["verdict"], "certified");
    let rows = document["flows"].as_array().expect("flows");
    assert_eq!(rows.len(), 10);
    for row in rows {
        let number = |key: &str| row[key].as_i64().unwrap_or_else(|| panic!("{key} in {row:#}"));
        assert_eq!(number("delay_bound_ns"), number("queueing_bound_ns"));
        assert_eq!(number("host_allowance_ns"), 0);
        assert_eq!(number("slack_ns"), number("deadline_ns") - number("delay_bound_ns"));
        for key in ["flow", "target", "mode", "level", "priority", "method", "hops", "copies"] {
            assert!(!row[key].is_null(), "{key} in {row:#}");
        }
        let hop = &row["hops"][0];
        for key in ["port", "latency_ns", "queueing_ns", "propagation_ns", "burst_bits"] {
            assert!(!hop[key].is_null(), "{key} in {hop:#}");
        }
    }
    assert!(rows.iter().any(|row| row["mode"] == "LO>HI"));
    let port = &document["ports"][0];
    assert!(port["load"].as_f64().is_some_and(|load| load > 0.0 && load < 1.0), "{port:#}");
    assert_eq!(document["mode_changes"][0]["from"], "LO");
    assert!(document["mode_changes"][0]["terms"][0]["bound_ns"].is_u64());
}

#[test]
fn redundant_networks_have_their_copies_and_skew() {
    let document = tenuto(&["plan", "avionics.yaml", "--json"]).exits(0).json();
    let row = &document["flows"][0];
    assert_eq!(row["copies"].as_array().map(Vec::len), Some(2), "{row:#}");
    assert!(row["skew_bound_ns"].as_u64() <= row["skew_limit_ns"].as_u64(), "{row:#}");
    let copies = row["copies"].as_array().expect("copies");
    let least = copies.iter().filter_map(|copy| copy["delay_bound_ns"].as_u64()).min();
    assert!(least.is_some() && row["first_arrival_bound_ns"].as_u64() == least, "{row:#}");
    let text =
        tenuto(&["plan", "avionics.yaml"]).exits(0).says(&["skew ms", "more with more slack"]);
    let all = tenuto(&["plan", "avionics.yaml", "--all"]).exits(0);
    assert!(all.stdout.len() > text.stdout.len());
}

#[test]
fn the_vehicle_as_printed_is_refused_with_what_would_fit() {
    let said = tenuto(&["plan", "vehicle-as-printed.yaml", "--json"]).exits(1).complains_of(&[
        "REFUSED: ",
        "  place     sw1:3 > sw2, 100 Mbit/s",
        "  resource  rate: needed 100.41 Mbit/s on the wire, have 100.00; short 0.41 Mbit/s",
        "  because   STREAM 91.02 (432 kB = 296 frames of <= 1538 B per 40 ms), CAM 6.49",
        "  would fit STREAM message <= ",
    ]);
    let document = said.json();
    assert_eq!(document["verdict"], "refused");
    assert_eq!(document["feasible"], false);
    let refusal = &document["refusals"][0];
    assert_eq!(refusal["resource"], "rate");
    assert!(refusal["needed"].as_u64() > refusal["available"].as_u64(), "{refusal:#}");
    assert!(refusal["would_fit"].as_array().is_some_and(|fits| !fits.is_empty()));
    // An unbounded delay is null, never a number.
    let rows = document["flows"].as_array().expect("flows");
    assert!(rows.iter().any(|row| row["delay_bound_ns"].is_null() && row["slack_ns"].is_null()));
}

#[test]
fn what_would_fit_fits() {
    let said = tenuto(&["plan", "vehicle-as-printed.yaml", "--json"]).exits(1);
    let document = said.json();
    let fits = document["refusals"][0]["would_fit"].as_array().expect("what would fit");
    let message = fits.iter().filter_map(Value::as_str).find_map(|fit| {
        fit.strip_prefix("STREAM message <= ").filter(|rest| !rest.contains("stays refused"))
    });
    let setting = format!("flows.STREAM.message={}", message.expect("a size that fits"));
    tenuto(&["plan", "vehicle-as-printed.yaml", "--set", &setting]).exits(0).says(&["GUARANTEED"]);
}

#[test]
fn values_can_be_set() {
    let bound = |setting: &str| {
        let said = tenuto(&["plan", "line.yaml", "--json", "--set", setting]).exits(0);
        said.json()["flows"][0]["delay_bound_ns"].as_u64().expect("a bound")
    };
    assert!(bound("flows.speed.message=2kB") > bound("flows.speed.message=1kB"));
    assert!(bound("links.sw1-sensor.rate=1Gbit/s") < bound("links.sensor-sw1.rate=100Mbit/s"));
    tenuto(&["plan", "line.yaml", "--set", "flows.sped.period=1ms"])
        .exits(2)
        .complains_of(&["no flow has the name `sped`", "did you mean speed?"]);
    tenuto(&["plan", "line.yaml", "--set", "flows.speed.period=1"])
        .exits(2)
        .complains_of(&["did you mean 1 ms?"]);
    tenuto(&["plan", "line.yaml", "--set", "flows.speed.period=0ms"]).exits(2);
}

#[test]
fn priorities_are_found_on_request() {
    let printed = ["plan", "vehicle-as-printed.yaml", "--set", "flows.STREAM.message=200kB"];
    tenuto(&printed).exits(1);
    let ranked = [&printed[..], &["--priorities", "audsley"]].concat();
    tenuto(&ranked).exits(0).says(&[
        "Audsley's, ",
        "0 LIDAR, 1 CAM, 2 STREAM",
        "certified exactly",
    ]);
    let nothing = ["plan", "vehicle-as-printed.yaml", "--priorities", "audsley"];
    tenuto(&nothing).exits(1).complains_of(&["no assignment of priorities holds"]);
}

#[test]
fn whole_messages_carry_what_buckets_refuse() {
    let set = ["plan", "vehicle.yaml", "--set", "flows.STREAM.message=211kB", "--method", "tfa"];
    tenuto(&set).exits(0).says(&["whole messages", "certified exactly"]);
    let buckets = [&set[..], &["--curves", "buckets"]].concat();
    tenuto(&buckets).exits(1);
}

#[test]
fn a_fluid_plan_guarantees_nothing() {
    let said = tenuto(&["plan", "vehicle.yaml", "--model", "fluid"]).exits(3);
    said.says(&["model fluid: not valid for frames", "FOR COMPARISON ONLY"]);
    let document = tenuto(&["plan", "vehicle.yaml", "--model", "fluid", "--json"]).exits(3).json();
    assert_eq!(document["verdict"], "comparison");
    assert_eq!(document["feasible"], false);
}

#[test]
fn bounds_as_a_table() {
    let folder = folder("csv");
    let file = folder.join("bounds.csv");
    let file = file.to_str().expect("a path of text");
    tenuto(&["plan", "vehicle.yaml", "--csv", file]).exits(0);
    let text = std::fs::read_to_string(file).expect("the table was written");
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|head| head.starts_with("flow,target,mode,level,priority,")));
    assert_eq!(lines.count(), 10);
}

#[test]
fn tables_say_what_a_switch_is_told() {
    tenuto(&["tables", "vehicle.yaml", "--switch", "sw1"]).exits(0).says(&[
        "sw1  profile tenuto",
        "table 0: watch",
        "table 1: police",
        "HI (shadow)",
        "meter:2",
        "set_queue:1,output:3",
    ]);
    let document = tenuto(&["tables", "vehicle.yaml", "--json"]).exits(0).json();
    assert_eq!(document["switches"].as_array().map(Vec::len), Some(3));
    assert!(document["switches"][0]["limits"]["meters"].is_u64());
    assert!(document["deployments"][0]["entries"][0]["match"].is_object());
    tenuto(&["tables", "vehicle.yaml", "--switch", "sw9"])
        .exits(2)
        .complains_of(&["switches: sw1, sw2, sw3"]);
}

#[test]
fn a_plan_file_is_certified_and_can_be_used_like_its_network() {
    let folder = folder("plan-file");
    let network = networks().join("vehicle.yaml");
    let network = network.to_str().expect("a path of text");
    tenuto_in(&folder, &["plan", network, "-o", "vehicle.plan.json"])
        .exits(0)
        .says(&["(`tenuto certify vehicle.plan.json`)"]);
    let certify = tenuto_in(&folder, &["certify", "vehicle.plan.json", "--json"]).exits(0).json();
    assert_eq!(certify["verdict"], "certified");
    assert_eq!(certify["certificate"]["flows_checked"], 3);
    tenuto_in(&folder, &["certify", "vehicle.plan.json"]).exits(0).says(&["CERTIFIED: 10 bounds"]);
    let of_plan = tenuto_in(&folder, &["tables", "vehicle.plan.json"]).exits(0);
    assert_eq!(of_plan.stdout, tenuto(&["tables", "vehicle.yaml"]).exits(0).stdout);
}

/// The proved checker itself is run beside the proofs (`make prove`).
#[test]
fn a_proof_that_cannot_be_asked_for_is_not_taken_for_one() {
    let folder = folder("proved");
    write(&folder, "line.yaml", LINE);
    tenuto_in(&folder, &["plan", "line.yaml", "-o", "line.plan.json"]).exits(0);
    tenuto_in(&folder, &["certify", "--proved=./nowhere", "line.plan.json"])
        .exits(3)
        .complains_of(&["./nowhere cannot be started"]);
    tenuto_in(&folder, &["certify", "--proved=no-such-program", "line.plan.json"])
        .exits(3)
        .complains_of(&["no-such-program is not installed here", "make prove"]);
    // Programs that say something else, or nothing.
    for other in ["/bin/true", "/bin/echo", "/bin/false"] {
        tenuto_in(&folder, &["certify", &format!("--proved={other}"), "line.plan.json"])
            .exits(3)
            .complains_of(&[other, "said"]);
    }
}

#[test]
fn a_tampered_plan_is_refused_everywhere() {
    let folder = folder("tampered");
    write(&folder, "line.yaml", LINE);
    tenuto_in(&folder, &["plan", "line.yaml", "-o", "line.plan.json"]).exits(0);
    let plan = std::fs::read_to_string(folder.join("line.plan.json")).expect("a plan");
    let key = "\"rate_bps\": ";
    let at = plan.find(key).expect("a meter") + key.len();
    write(&folder, "tampered.json", &format!("{}9{}", &plan[..at], &plan[at..]));
    for verb in ["certify", "sim", "up", "tables", "explore"] {
        let said = tenuto_in(&folder, &[verb, "tampered.json", "--json"]).exits(2);
        let document = said.complains_of(&["tampered", "tampered.json", "plan again"]).json();
        assert_eq!(document["verdict"], "bad_input");
    }
}

#[test]
fn a_resealed_lie_is_not_certified() {
    let folder = folder("resealed");
    write(&folder, "line.yaml", LINE);
    tenuto_in(&folder, &["plan", "line.yaml", "-o", "line.plan.json"]).exits(0);
    let text = std::fs::read_to_string(folder.join("line.plan.json")).expect("a plan");
    let mut plan = tenuto_model::Plan::from_json(&text).expect("a plan");
    plan.ports[0].delay_ps -= 1_000_000;
    plan.seal();
    write(&folder, "lie.json", &plan.to_json());
    for verb in ["certify", "sim", "up"] {
        let said = tenuto_in(&folder, &[verb, "lie.json", "--json"]).exits(3);
        let document = said.complains_of(&["not certified"]).json();
        assert_eq!(document["verdict"], "not_certified");
        assert!(document.get("flows").is_none(), "no bound is shown: {document:#}");
    }
}

/// Promises of others are shown, marked, and never taken for a plan.
#[test]
fn silo_and_qjump_are_for_comparison_only() {
    let cell = "cell.yaml";
    for method in ["silo", "qjump"] {
        let said = tenuto(&["plan", cell, "--method", method, "--json"]).exits(3);
        let document = said.json();
        assert_eq!(document["verdict"], "comparison");
        assert_eq!(document["is_valid_for_frames"], false);
        assert_eq!(document["unfit_switches"].as_array().map(Vec::len), Some(6));
        assert_eq!(document["flows"].as_array().map(Vec::len), Some(9));
        tenuto(&["plan", cell, "--method", method])
            .exits(3)
            .says(&["FOR COMPARISON ONLY", "NOT VALID FOR SUCH SWITCHES"]);
    }
    tenuto(&["plan", cell, "--method", "silo", "-o", "never.json"]).exits(2);
}

#[test]
fn deadlines_that_an_importer_assumed_are_named_as_such() {
    let folder = folder("assumed");
    let note = "# Imported from vls.csv (vl-table).\n\
                # note: deadlines assumed by the importer: the BAG, as the table has none\n";
    let late = LINE.replace("deadline: 5 ms", "deadline: 50 us");
    let words = "the importer assumed deadlines: the BAG, as the table has none";
    write(&folder, "stated.yaml", &late);
    write(&folder, "assumed.yaml", &format!("{note}{late}"));
    let said = tenuto_in(&folder, &["plan", "assumed.yaml", "--json"]).exits(1).json();
    assert!(said["refusals"][0]["because"].as_str().is_some_and(|it| it.contains(words)));
    tenuto_in(&folder, &["plan", "assumed.yaml"]).exits(1).complains_of(&[words]);
    let said = tenuto_in(&folder, &["plan", "stated.yaml"]).exits(1);
    assert!(!said.stderr.contains("importer"), "{}", said.stderr);
}

#[test]
fn a_refusal_comes_before_what_would_fit() {
    let folder = folder("at-once");
    write(&folder, "late.yaml", &LINE.replace("deadline: 5 ms", "deadline: 50 us"));
    let said = tenuto_in(&folder, &["plan", "late.yaml", "-o", "late.plan.json"]).exits(1);
    let at = |words: &str| said.stderr.find(words).unwrap_or_else(|| panic!("{}", said.stderr));
    assert!(at("REFUSED: ") < at("  because ") && at("  because ") < at("  would fit "));
    let plan = std::fs::read_to_string(folder.join("late.plan.json")).expect("a plan");
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    let lines = plan["refusals"][0]["would_fit"].as_array().expect("lines");
    for line in lines.iter().filter_map(Value::as_str) {
        assert!(said.stderr.contains(line), "{line}: {}", said.stderr);
    }
    tenuto_in(&folder, &["certify", "late.plan.json"]);
}
