//! Whole reports: well-formed, complete, small, and deaf to hostile names.

use super::html;
use std::path::PathBuf;
use tenuto_model::{Plan, Scenario, Sources};
use tenuto_planner::{Options, plan};
use tenuto_world::{RunDocument, clockwork};

const LARGEST_FILE_BYTES: usize = 3_000_000;

struct Folder(PathBuf);

impl Sources for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }
}

fn networks() -> Folder {
    Folder(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../networks"))
}

fn planned(file: &str) -> Plan {
    match tenuto_model::read_network(&networks(), file) {
        Ok((network, _)) => plan(&network, &Options { would_fit: false, ..Options::default() }),
        Err(problems) => panic!("{problems}"),
    }
}

fn scenario(plan: &Plan, file: &str, duration_ns: u64) -> Scenario {
    let text = networks().read(file).expect("the scenario is shipped");
    let mut scenario = match tenuto_model::read_scenario(&text, file, &plan.network) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{problems}"),
    };
    scenario.duration_ns = duration_ns;
    scenario
}

fn ran(plan: &Plan, scenario: &Scenario) -> RunDocument {
    clockwork::run(plan, scenario).expect("the plan runs")
}

/// The ids of the parts, if the file is well-formed and keeps to itself.
fn parts(name: &str, page: &str) -> Vec<String> {
    if let Some(folder) = std::env::var_os("TENUTO_REPORTS") {
        std::fs::write(PathBuf::from(folder).join(format!("{name}.html")), page)
            .expect("the folder can be written to");
    }
    assert!(page.len() < LARGEST_FILE_BYTES, "{name} has {} bytes", page.len());
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(page, options)
        .unwrap_or_else(|error| panic!("{name} is not well-formed: {error}"));
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let tag = node.tag_name().name();
        assert!(!["script", "img", "link", "iframe", "object", "foreignObject"].contains(&tag));
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on"), "{name} on {tag}");
            if ["href", "src"].contains(&name) {
                assert!(value.starts_with("data:text/csv;") || value.starts_with('#'), "{value}");
            }
        }
    }
    assert!(!page.contains("NaN") && !page.contains("inf\""), "{name} draws what is no number");
    let sections = document.descendants().filter(|n| n.has_tag_name(XHTML_SECTION));
    sections.filter_map(|n| n.attribute("id").map(str::to_owned)).collect()
}

const XHTML_SECTION: (&str, &str) = ("http://www.w3.org/1999/xhtml", "section");
const OF_A_PLAN: [&str; 6] = ["verdict", "network", "bounds", "hops", "resources", "foundations"];

#[test]
fn a_plan_has_its_six_parts() {
    for file in ["line", "vehicle", "avionics", "vehicle-as-printed"] {
        let plan = planned(&format!("{file}.yaml"));
        let page = html(&plan, None);
        assert_eq!(parts(&format!("{file}-plan"), &page), OF_A_PLAN);
        let word = if plan.feasible { "GUARANTEED" } else { "REFUSED" };
        assert!(page.contains(word) && page.contains(&plan.plan_hash));
    }
}

#[test]
fn a_mode_change_is_drawn_in_time_and_per_switch() {
    let plan = planned("vehicle.yaml");
    let run = ran(&plan, &scenario(&plan, "vehicle.scenario.yaml", 12_000_000_000));
    let page = html(&plan, Some(&run));
    let parts = parts("vehicle-run", &page);
    for id in ["time", "changes", "queues", "distribution", "accounting"] {
        assert!(parts.iter().any(|p| p == id), "{id} is missing of {parts:?}");
    }
    assert!(page.contains("LO&gt;HI") && page.contains("D_arrange"));
}

#[test]
fn a_babbling_host_is_shown_beside_everyone_else() {
    let plan = planned("avionics.yaml");
    let mut scenario = scenario(&plan, "avionics.scenario.yaml", 3_000_000_000);
    scenario.events.iter_mut().for_each(|event| event.at_ns /= 6);
    let run = ran(&plan, &scenario);
    let parts = parts("avionics-run", &html(&plan, Some(&run)));
    for id in ["policed", "copies"] {
        assert!(parts.iter().any(|p| p == id), "{id} is missing of {parts:?}");
    }
}

#[test]
fn a_run_without_events_has_a_report() {
    let plan = planned("line.yaml");
    let run = ran(&plan, &Scenario::plain(2_000_000_000, 7));
    let page = html(&plan, Some(&run));
    parts("line-run", &page);
    assert!(page.contains("--seed 7") && page.contains("tenuto sim line.yaml"));
}

/// Every text of a document, replaced by one that tries to leave its place.
fn hostile(value: &mut serde_json::Value, keep: &[&str]) {
    const NAME: &str =
        "</title></style><script>alert(1)</script>\"onload='x' & ]]> \u{0}=1+1\u{202e}";
    match value {
        serde_json::Value::String(text) if !keep.contains(&text.as_str()) => {
            *text = format!("{text}{NAME}");
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(|v| hostile(v, keep)),
        serde_json::Value::Object(map) => map.values_mut().for_each(|v| hostile(v, keep)),
        _ => {}
    }
}

#[test]
fn hostile_names_stay_names() {
    let plan = planned("vehicle-as-printed.yaml");
    let vehicle = planned("vehicle.yaml");
    let run = ran(&vehicle, &scenario(&vehicle, "vehicle.scenario.yaml", 5_000_000_000));
    let verdicts = tenuto_model::Verdict::ALL.map(tenuto_model::Verdict::word);
    let words = [
        "store-and-forward",
        "fluid",
        "tenuto",
        "out-of-band",
        "secure",
        "drop",
        "five-tuple",
        "vl",
        "host",
        "trunk",
        "message",
        "frame",
        "wire",
        "l2-without-fcs",
    ];
    let words: Vec<&str> = words.into_iter().chain(verdicts).collect();
    let mut value = serde_json::to_value(&plan).expect("a plan is a document");
    hostile(&mut value, &words);
    let bad_plan: Plan = serde_json::from_value(value).expect("still a plan");
    let mut value = serde_json::to_value(&run).expect("a run is a document");
    hostile(&mut value, &words);
    let bad_run: RunDocument = serde_json::from_value(value).expect("still a run");
    let with_run = html(&bad_plan, Some(&bad_run));
    for (name, page) in [("hostile-plan", html(&bad_plan, None)), ("hostile-run", with_run)] {
        parts(name, &page);
        assert!(!page.contains("<script") && !page.contains("\"onload") && !page.contains('\0'));
        assert_eq!(page.matches("</style>").count(), 1);
    }
}

/// Every number of a document, replaced by the largest that its field holds.
fn extreme(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Number(number) => *number = u64::MAX.into(),
        serde_json::Value::Array(values) => values.iter_mut().for_each(extreme),
        serde_json::Value::Object(map) => map
            .iter_mut()
            .filter(|(key, _)| key.ends_with("_ns") || key.contains("bits") || *key == "frames")
            .for_each(|(_, value)| extreme(value)),
        _ => {}
    }
}

#[test]
fn the_largest_numbers_are_drawn_too() {
    let plan = planned("vehicle.yaml");
    let run = ran(&plan, &scenario(&plan, "vehicle.scenario.yaml", 5_000_000_000));
    let mut value = serde_json::to_value(&run).expect("a run is a document");
    for key in ["flows", "mode_changes", "policed", "ports", "events"] {
        value[key].as_array_mut().expect("rows").iter_mut().for_each(extreme);
    }
    for duration in [0, 1, u64::MAX] {
        value["duration_ns"] = duration.into();
        let run: RunDocument = serde_json::from_value(value.clone()).expect("still a run");
        parts("extreme", &html(&plan, Some(&run)));
    }
}

#[test]
fn a_thousand_rows_stay_below_three_megabytes() {
    let mut plan = planned("vehicle.yaml");
    let mut run = ran(&plan, &scenario(&plan, "vehicle.scenario.yaml", 5_000_000_000));
    let (flows, rows) = (plan.flows.clone(), run.flows.clone());
    let (ports, port) = (plan.port_rows.clone(), run.ports.clone());
    for n in 0..1_000 {
        let mut bound = flows[n % flows.len()].clone();
        bound.flow = format!("{}-{n}", bound.flow);
        plan.flows.push(bound);
        let mut row = rows[n % rows.len()].clone();
        row.flow = format!("{}-{n}", row.flow);
        run.flows.push(row);
        plan.port_rows.push(ports[n % ports.len()].clone());
        run.ports.push(port[n % port.len()].clone());
    }
    let page = html(&plan, Some(&run));
    parts("thousand", &page);
    assert!(page.contains("The worst 50 of"));
}

#[test]
fn a_document_of_an_older_program_is_still_drawn() {
    let plan = planned("line.yaml");
    let run = ran(&plan, &Scenario::plain(100_000_000, 1));
    let mut value = serde_json::to_value(&run).expect("a run is a document");
    for key in ["command", "machine"] {
        value.as_object_mut().expect("an object").remove(key);
    }
    for row in value["flows"].as_array_mut().expect("rows") {
        row.as_object_mut()
            .expect("an object")
            .retain(|key, _| !key.starts_with("delays") && key != "delay_histogram");
    }
    let run: RunDocument = serde_json::from_value(value).expect("what is new has defaults");
    let parts = parts("older", &html(&plan, Some(&run)));
    assert!(!parts.iter().any(|p| p == "time"));
}
