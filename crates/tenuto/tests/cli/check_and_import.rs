//! `check` and `import`.

use crate::stranger::{LINE, folder, tenuto, tenuto_in, write};
use serde_json::Value;

#[test]
fn shipped_networks_are_consistent() {
    for network in [
        "line.yaml",
        "vehicle.yaml",
        "vehicle-as-printed.yaml",
        "avionics.yaml",
        "a380-switch.yaml",
        "cell.yaml",
    ] {
        let said = tenuto(&["check", network, "--json"]).exits(0);
        let document = said.json();
        assert_eq!(document["schema"], "tenuto-check/1");
        assert_eq!(document["verdict"], "consistent");
        assert!(document["flows"].as_u64().is_some_and(|n| n > 0), "{document:#}");
    }
    tenuto(&["check", "vehicle.yaml"]).exits(0).says(&["4 hosts, 3 switches", "CAM", "154 kB"]);
}

#[test]
fn every_problem_is_said_at_once_with_place_and_hint() {
    let folder = folder("problems");
    let text = LINE
        .replace("period: 10 ms", "period: 10")
        .replace("100 Mbit/s}\n  - {ends: [sw1", "100 Mbps}\n  - {ends: [sw1")
        .replace("message: 1 kB", "message: 1 KB");
    write(&folder, "wrong.yaml", &text);
    let said = tenuto_in(&folder, &["check", "wrong.yaml", "--json"]).exits(2).complains_of(&[
        "wrong.yaml:6",
        "wrong.yaml:9",
        "did you mean 10 ms?",
        "100 Mbit/s",
        "1 kB = 1000 B",
        "3 errors",
    ]);
    let document = said.json();
    assert_eq!(document["verdict"], "bad_input");
    let problems = document["problems"].as_array().expect("problems");
    assert_eq!(problems.len(), 3, "{document:#}");
    assert!(problems.iter().all(|p| p["file"] == "wrong.yaml" && p["line"].is_u64()));
}

#[test]
fn a_scenario_beside_the_network_is_read_too() {
    let folder = folder("beside");
    write(&folder, "line.yaml", LINE);
    write(&folder, "line.scenario.yaml", "tenuto_scenario: 1\nduration: 20\n");
    tenuto_in(&folder, &["check", "line.yaml"])
        .exits(2)
        .complains_of(&["line.scenario.yaml:2", "did you mean"]);
}

#[test]
fn an_import_tells_programs_what_was_assumed() {
    let folder = folder("import-json");
    write(&folder, "two.xml", WOPANETS);
    let said = tenuto_in(&folder, &["import", "auto", "two.xml", "--json"]).exits(0);
    let document = said.json();
    assert_eq!(document["schema"], "tenuto-import/1");
    assert_eq!(document["verdict"], "imported");
    assert_eq!(
        (&document["format"], &document["becomes"]),
        (&"wopanets".into(), &"network".into())
    );
    assert!(document["text"].as_str().is_some_and(|text| text.contains("tenuto: 1")));
    assert!(document["notes"].as_array().is_some_and(|notes| !notes.is_empty()));
    let said = tenuto_in(&folder, &["import", "auto", "two.xml", "-o", "two.yaml", "--json"]);
    let document = said.exits(0).json();
    assert_eq!((&document["file"], &document["text"]), (&"two.yaml".into(), &Value::Null));
    let said = tenuto_in(&folder, &["import", "saihu", "two.xml", "--json"]).exits(2);
    let said = said.complains_of(&["looks like one of wopanets", "nothing was imported"]);
    assert_eq!(said.json()["verdict"], "bad_input");
}

pub(crate) const WOPANETS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<elements>
  <network name="two" overhead="67" transmission-capacity="100Mbps"/>
  <station name="a" nb-input="1" nb-output="1" transmission-capacity="100Mbps"/>
  <station name="b" nb-input="1" nb-output="1" transmission-capacity="100Mbps"/>
  <switch name="s" nb-input="2" nb-output="2" tech-latency="0" transmission-capacity="100Mbps"/>
  <link name="l1" from="a" fromPort="0" to="s" toPort="0"/>
  <link name="l2" from="s" fromPort="0" to="b" toPort="0"/>
  <flow name="f" source="a" max-payload="500" min-payload="500" period="8" deadline="8" jitter="0">
    <target name="b"><path node="s"/><path node="b"/></target>
  </flow>
</elements>
"#;

#[test]
fn an_imported_network_can_be_planned() {
    let folder = folder("import");
    write(&folder, "two.xml", WOPANETS);
    tenuto_in(&folder, &["import", "wopanets", "two.xml", "-o", "two.yaml"]).exits(0);
    tenuto_in(&folder, &["plan", "two.yaml"]).exits(0).says(&["GUARANTEED"]);
    let said = tenuto_in(&folder, &["import", "wopanets", "two.xml", "-o", "two.json"]).exits(2);
    said.complains_of(&["two.json", "name it two.yaml"]);
    write(&folder, "others.json", r#"{"flows": []}"#);
    let said = tenuto_in(&folder, &["plan", "others.json"]).exits(2);
    said.complains_of(&["this is JSON", "import auto"]);
    let said = tenuto_in(&folder, &["import", "wopanets", "two.xml"]).exits(0);
    assert!(said.stdout.contains("tenuto: 1"), "{}", said.stdout);
    tenuto_in(&folder, &["plan", "two.xml"]).exits(2).complains_of(&["tenuto import auto"]);
}

#[test]
fn an_unknown_format_is_a_usage_error() {
    let said = tenuto(&["import", "graphmml", "line.yaml"]).exits(2);
    said.complains_of(&["graphmml", "graphml"]);
}
