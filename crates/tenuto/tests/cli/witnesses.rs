//! `witness`: schedules beside bounds, files that repeat them.

use crate::stranger::{LINE, folder, tenuto, tenuto_in, write};

#[test]
fn the_smallest_network_has_a_witness_that_reaches_its_bound() {
    let said = tenuto(&["witness", "line.yaml", "--plays", "100"]).exits(0);
    said.says(&["speed", "sw1:2 > display", "delay, normal", "no schedule is above a bound"]);
}

#[test]
fn what_is_reported_is_what_the_files_repeat() {
    let at = folder("witness_files");
    write(&at, "line.yaml", LINE);
    let out = ["witness", "line.yaml", "--plays", "100", "-o", "found", "--json"];
    let document = tenuto_in(&at, &out).exits(0).json();
    assert_eq!(document["schema"], "tenuto-witness/1");
    assert_eq!((&document["verdict"], &document["seed"]), (&"kept".into(), &1.into()));
    assert_eq!(document["is_complete"], true);
    let rows = document["rows"].as_array().expect("rows");
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row["witness_delay_ns"], row["searched_delay_ns"], "{row:#}");
        assert!(row["tightness"].as_f64().expect("a witness") <= 1.0, "{row:#}");
        let file = format!("found/{}", row["schedule"].as_str().expect("a file"));
        let again = ["sim", "line.yaml", "--schedule", &file, "--gantt", "it.svg", "--json"];
        let run = tenuto_in(&at, &again).exits(0).json();
        let own = |it: &&serde_json::Value| it["flow"] == row["flow"] && it["mode"] == row["mode"];
        let seen = run["flows"].as_array().expect("flows").iter().find(own).expect("its row");
        assert_eq!(seen["observed_delay_ns_max"], row["witness_delay_ns"], "{row:#}");
        let svg = std::fs::read_to_string(at.join("it.svg")).expect("drawn");
        let drawn = roxmltree::Document::parse(&svg).expect("XML");
        assert!(drawn.descendants().any(|it| it.attribute("fill") == Some("#c02020")), "{svg}");
    }
    let written = std::fs::read_to_string(at.join("found/witness.json")).expect("written");
    let written: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(written, document);
}

#[test]
fn modes_and_raises_have_witnesses_that_the_switch_core_repeats() {
    let out = ["witness", "vehicle.yaml", "--plays", "200", "--json", "--threads", "2"];
    let document = tenuto(&out).exits(0).json();
    let rows = document["rows"].as_array().expect("rows");
    let modes: Vec<&str> = rows.iter().filter_map(|it| it["mode"].as_str()).collect();
    assert!(modes.contains(&"LO") && modes.contains(&"HI") && modes.contains(&"LO>HI"));
    // In a raise the player and the switch core swap at other instants.
    let is_steady = |it: &&serde_json::Value| it["mode"] != "LO>HI";
    for row in rows.iter().filter(is_steady) {
        let witness = row["witness_delay_ns"].as_u64();
        assert!(witness >= row["searched_delay_ns"].as_u64(), "{row:#}");
    }
    assert_eq!(document["mode_changes"][0]["to"], "HI");
    let one = ["witness", "vehicle.yaml", "--plays", "200", "--json", "--threads", "1"];
    assert_eq!(tenuto(&one).exits(0).json(), document, "threads change nothing");
}

#[test]
fn the_page_of_a_flow_names_the_term_that_gives_most_away() {
    let said = tenuto(&["witness", "vehicle.yaml", "--flow", "LIDAR", "--plays", "60"]).exits(0);
    let said =
        said.says(&["LIDAR to d1 in LO>HI", "given away ms", "at sw2:2 > sw3 the bound counts"]);
    let terms = said.stdout.split("most given away first:").nth(1).expect("terms");
    let first = terms.lines().nth(2).expect("the first term");
    assert!(first.contains("mode signals"), "{terms}");
}

#[test]
fn what_cannot_be_searched_says_why() {
    let said = tenuto(&["witness", "cell.yaml"]).exits(3);
    said.complains_of(&["no witness is searched: ports share a processor", "tenuto sim"]);
    let said = tenuto(&["witness", "line.yaml", "--flow", "sped"]).exits(2);
    said.complains_of(&["--flow sped: no such flow with a bound"]);
    let at = folder("witness_wrong");
    write(&at, "line.yaml", LINE);
    write(&at, "wrong.json", "{}");
    let said = tenuto_in(&at, &["sim", "line.yaml", "--schedule", "wrong.json"]).exits(2);
    said.complains_of(&["not a schedule"]);
}
