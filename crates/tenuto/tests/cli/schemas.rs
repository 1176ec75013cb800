//! JSON Schemas of documents and the page of their keys: what stands in `docs/reference` is what the
//! types declare, and real output is as it says. `TENUTO_WRITE_SCHEMAS=1` writes both anew.

use crate::stranger::{LINE, folder, networks, tenuto_in, write};
use crate::{check_and_import, declared, server_graphs};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tenuto_runtime::standalone::Dump;
use tenuto_world::explore::{Action, Step, Trace};

/// Words that are a unit.
const UNITS: [&str; 10] =
    ["ns", "ps", "us", "ms", "bps", "mbps", "bits", "bytes", "percent", "ppm"];
/// Words that may stand behind a unit: which of several values it is, or of what one has it.
const BEHIND: [&str; 9] = ["max", "min", "p50", "p80", "p99", "p999", "per", "port", "median"];

type Document = (&'static str, &'static [declared::Root], &'static str);

/// Every document: its name, the types that it may be of, and who writes it.
const DOCUMENTS: [Document; 31] = [
    (
        "tenuto-run/1",
        &[("tenuto-world/src/ledger/document.rs", "RunDocument")],
        "`sim --json`, `up --json`, `run.json`",
    ),
    (
        "tenuto-frames/1",
        &[("tenuto-world/src/clockwork/frame_log.rs", "FrameLog")],
        "`sim --frames FRAMES`",
    ),
    ("tenuto-plan/2", &[("tenuto-model/src/plan.rs", "Plan")], "`plan NET -o PLAN`, `plan.json`"),
    (
        "tenuto-campaign/1",
        &[("tenuto/src/campaign/document.rs", "Document")],
        "`sim --campaign N --json`",
    ),
    (
        "tenuto-plan-report/1",
        &[
            ("tenuto/src/plan_json.rs", "Document"),
            ("tenuto/src/server_bounds/json.rs", "Document"),
        ],
        "`plan --json` of a network, and of a server graph; other verbs, where a network is refused",
    ),
    (
        "tenuto-explanation/1",
        &[("tenuto/src/verbs/plan.rs", "Explained")],
        "`plan --explain FLOW --json` of a network",
    ),
    (
        "tenuto-server-explanation/1",
        &[("tenuto/src/server_bounds/explain.rs", "Explanation")],
        "`plan --explain FLOW --json` of a server graph",
    ),
    (
        "tenuto-plan-difference/1",
        &[
            ("tenuto/src/plan_diff.rs", "Difference"),
            ("tenuto/src/server_bounds/difference.rs", "Difference"),
        ],
        "`plan --diff OLD --json` of a network, and of a server graph",
    ),
    (
        "tenuto-comparison/1",
        &[("tenuto/src/compared.rs", "Document")],
        "`plan --method silo --json`, `plan --method qjump --json`",
    ),
    (
        "tenuto-bounds/1",
        &[("tenuto-bounds/src/document.rs", "Document")],
        "`plan GRAPH -o PLAN`, of a server graph",
    ),
    (
        "tenuto-check/1",
        &[
            ("tenuto/src/verbs/check.rs", "Document"),
            ("tenuto/src/verbs/check.rs", "ServersDocument"),
        ],
        "`check --json` of a network, and of a server graph",
    ),
    ("tenuto-import/1", &[("tenuto/src/verbs/import.rs", "Document")], "`import --json`"),
    ("tenuto-tables/1", &[("tenuto/src/verbs/tables.rs", "Document")], "`tables --json`"),
    (
        "tenuto-certificate/1",
        &[
            ("tenuto/src/verbs/certify.rs", "Document"),
            ("tenuto/src/verbs/certify.rs", "BoundsDocument"),
        ],
        "`certify --json` of a plan, and of bounds on a server graph",
    ),
    ("tenuto-witness/1", &[("tenuto/src/witness/document.rs", "Document")], "`witness --json`"),
    (
        "tenuto-schedule/1",
        &[("tenuto-world/src/clockwork/schedule.rs", "Schedule")],
        "`witness -o DIR`, per bound; what `sim --schedule` reads",
    ),
    ("tenuto-exploration/1", &[("tenuto/src/verbs/explore.rs", "Document")], "`explore --json`"),
    ("tenuto-trace/1", &[("tenuto-world/src/explore/trace.rs", "Trace")], "`explore -o TRACE`"),
    (
        "tenuto-application-exploration/1",
        &[("tenuto/src/verbs/explore_app.rs", "Document")],
        "`explore NET --app --json`",
    ),
    (
        "tenuto-application-run/1",
        &[("tenuto/src/verbs/sim_app.rs", "Document")],
        "`sim NET --app --json`",
    ),
    (
        "tenuto-reactive-exploration/1",
        &[("tenuto/src/verbs/explore_attendre.rs", "Document")],
        "`explore attendre --json`",
    ),
    (
        "tenuto-reactive-trace/1",
        &[("tenuto-world/src/explore/reactive/trace.rs", "Trace")],
        "`explore attendre -o TRACE`, `explore NET --app -o TRACE`",
    ),
    (
        "tenuto-bench/1",
        &[("tenuto/src/verbs/bench/sheet.rs", "Document")],
        "`bench --json`, but for `bench admission`",
    ),
    (
        "tenuto-admission/1",
        &[("tenuto/src/verbs/bench/admission.rs", "Document")],
        "`bench admission --json`",
    ),
    (
        "tenuto-profile/1",
        &[("tenuto/src/verbs/profile/document.rs", "Document")],
        "`profile --json`, and `profile --check FILE --json`",
    ),
    ("tenuto-races/1", &[("tenuto/src/verbs/races.rs", "Document")], "`races --json`"),
    ("tenuto-doctor/1", &[("tenuto/src/verbs/doctor.rs", "Document")], "`doctor --json`"),
    ("tenuto-dump/1", &[("tenuto/src/verbs/dump.rs", "Document")], "`dump --json`"),
    (
        "tenuto-tenants-check/1",
        &[("tenuto/src/verbs/tenants.rs", "CheckDocument")],
        "`tenants check --json`",
    ),
    ("tenuto-tenants/1", &[("tenuto/src/verbs/tenants.rs", "Document")], "`tenants status --json`"),
    (
        "tenuto-failure/1",
        &[("tenuto/src/failure.rs", "Document")],
        "any verb with `--json` that could not do what it was asked",
    ),
];

fn reference(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name)
}

/// The schemas of all documents, with who writes them.
fn schemas() -> Vec<(Value, &'static str)> {
    let schema = |(id, roots, of): &Document| (declared::schema(id, roots), *of);
    DOCUMENTS.iter().map(schema).collect()
}

fn file_name(schema: &Value) -> String {
    schema["title"].as_str().expect("a title").replace('/', "-")
}

#[track_caller]
fn is_written(name: &str, text: &str) {
    let path = reference(name);
    if std::env::var_os("TENUTO_WRITE_SCHEMAS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file of the reference");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "{name} is not what the types say: TENUTO_WRITE_SCHEMAS=1 writes it");
}

#[test]
fn the_reference_has_the_schema_of_each_document() {
    let mut page = String::from(HEAD);
    for (schema, of) in schemas() {
        let text = serde_json::to_string_pretty(&schema).expect("a document") + "\n";
        is_written(&format!("schemas/{}.json", file_name(&schema)), &text);
        write_section(&mut page, &schema, of);
    }
    is_written("json.md", &page);
}

#[test]
fn every_document_that_the_sources_name_has_a_schema() {
    let known: BTreeSet<&str> = DOCUMENTS.iter().map(|it| it.0).collect();
    let mut named = BTreeSet::new();
    let sources = crate::source::Sources::read();
    for text in sources.texts() {
        for part in text.split('"').filter(|part| part.starts_with("tenuto-")) {
            if part.split_once('/').is_some_and(|(_, number)| number.parse::<u8>().is_ok()) {
                named.insert(part.to_owned());
            }
        }
    }
    let named: BTreeSet<&str> = named.iter().map(String::as_str).collect();
    assert_eq!(named, known, "documents in the sources, and those with a schema");
}

#[test]
fn the_unit_of_a_key_is_its_last_word() {
    for (schema, _) in schemas() {
        for (name, it) in schema["$defs"].as_object().expect("definitions") {
            for key in it["properties"].as_object().into_iter().flatten().map(|(key, _)| key) {
                let parts: Vec<&str> = key.split('_').collect();
                let unit = parts.iter().position(|part| UNITS.contains(part));
                let behind = unit.map_or(&[][..], |at| &parts[at + 1..]);
                let is_right = behind.iter().all(|part| BEHIND.contains(part));
                assert!(is_right, "{}: {name}.{key}", schema["title"]);
            }
        }
    }
}

const HEAD: &str = "\
# Keys of the JSON documents

Every document that a verb prints with `--json`, and every JSON file that one writes. The page and the JSON Schemas in
`schemas/` are made of the types that the program writes, by a test that also holds real output against them.

Every document begins with `schema` (its name and version), `version` of the program, `world` (where what is told
happens: `planned`, `simulated`, `live`, `explored`, `computed`), `seed`, `plan_hash` and `verdict`; what does not apply is
null. Files that are read back (plans, traces) begin with `schema`. A key that is *optional* may be absent; a file may
lack keys that newer versions write.

One rule for units: the unit is the last word of a key, and only `max`, `min`, `median` or a percentile (`p50`, `p80`, `p99`, `p999`)
stands behind it; `bytes_per_port` is a unit. `ns`, `ps`, `us` and `ms` are times, `bps` and `mbps` rates in bit/s and Mbit/s,
`bits` and `bytes` amounts, `percent` and `ppm` shares. Whole numbers without a unit count what the key names, `load` and keys
with `over` are ratios, and where a resource decides the unit, `unit` beside it names it. `bound`s and delays are rounded up.

";

fn write_section(page: &mut String, schema: &Value, of: &str) {
    let title = schema["title"].as_str().expect("a title");
    let roots: Vec<String> = roots(schema).map(|it| format!("`{it}`")).collect();
    let _ = writeln!(page, "## `{title}`\n\n{of}. The document is a {}.", roots.join(" or a "));
    for (name, it) in schema["$defs"].as_object().expect("definitions") {
        let _ = writeln!(page, "\n### `{name}`\n");
        if let Some(variants) = it["anyOf"].as_array() {
            let words: Vec<String> = variants.iter().map(words).collect();
            let _ = writeln!(page, "One of: {}.", words.join("; "));
            continue;
        }
        let Some(properties) = it["properties"].as_object() else {
            let _ = writeln!(page, "{}", words(it));
            continue;
        };
        let _ = writeln!(page, "| key | type | |\n|---|---|---|");
        let required: BTreeSet<&str> =
            it["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, form) in properties {
            let optional = if required.contains(key.as_str()) { "" } else { "*optional*" };
            let meaning = form["description"].as_str().unwrap_or_default();
            let meaning = meaning.replace("[`", "`").replace("`]", "`").replace('|', "\\|");
            let notes = [optional, &meaning].into_iter().filter(|it| !it.is_empty());
            let notes = notes.collect::<Vec<_>>().join(" ");
            let _ = writeln!(page, "| `{key}` | {} | {notes} |", words(form));
        }
    }
    page.push('\n');
}

/// The definitions that a document may be of.
fn roots(schema: &Value) -> impl Iterator<Item = &str> {
    let several = schema["anyOf"].as_array().map_or(&[][..], Vec::as_slice);
    let one = schema.get("$ref").map(|_| schema);
    one.into_iter().chain(several).map(reference_of)
}

fn reference_of(form: &Value) -> &str {
    let path = form["$ref"].as_str().expect("a reference");
    path.strip_prefix("#/$defs/").expect("a definition")
}

/// A form in words.
fn words(form: &Value) -> String {
    if form.get("$ref").is_some() {
        return format!("`{}`", reference_of(form));
    }
    if let Some(value) = form["const"].as_str() {
        return format!("`\"{value}\"`");
    }
    if let Some(all) = form["anyOf"].as_array() {
        return all.iter().map(words).collect::<Vec<_>>().join(" or ");
    }
    match form["type"].as_str() {
        Some("array") if form["prefixItems"].is_array() => {
            let items = form["prefixItems"].as_array().into_iter().flatten();
            format!("[{}]", items.map(words).collect::<Vec<_>>().join(", "))
        }
        Some("array") => format!("list of {}", words(&form["items"])),
        Some("object") if form["properties"].is_object() => {
            let inner = form["properties"].as_object().into_iter().flatten();
            let inner = inner.map(|(key, form)| format!("`{key}`: {}", words(form)));
            format!("{{{}}}", inner.collect::<Vec<_>>().join(", "))
        }
        Some("object") => format!("map of {}", words(&form["additionalProperties"])),
        Some(plain) => plain.to_owned(),
        None => "anything".to_owned(),
    }
}

/// Where a document is not of a form; nothing if it is.
fn faults(schema: &Value, form: &Value, at: &str, it: &Value, out: &mut Vec<String>) {
    if form.get("$ref").is_some() {
        let form = &schema["$defs"][reference_of(form)];
        return faults(schema, form, at, it, out);
    }
    if let Some(all) = form["anyOf"].as_array() {
        let of = |form: &Value| {
            let mut found = Vec::new();
            faults(schema, form, at, it, &mut found);
            found
        };
        let mut each: Vec<Vec<String>> = all.iter().map(of).collect();
        if each.iter().all(|found| !found.is_empty()) {
            out.append(&mut each[0]);
        }
        return;
    }
    if let Some(value) = form.get("const") {
        if value != it {
            out.push(format!("{at}: {it} for {value}"));
        }
        return;
    }
    let is_right = match form["type"].as_str() {
        Some("boolean") => it.is_boolean(),
        Some("integer") => it.is_u64() || (it.is_i64() && form.get("minimum").is_none()),
        Some("number") => it.is_number(),
        Some("string") => it.is_string(),
        Some("null") => it.is_null(),
        Some("array") => it.is_array(),
        Some("object") => it.is_object(),
        _ => return,
    };
    if !is_right {
        out.push(format!("{at}: {it} for {form}"));
        return;
    }
    for (place, it) in it.as_array().into_iter().flatten().enumerate() {
        let form = form["prefixItems"].get(place).unwrap_or(&form["items"]);
        faults(schema, form, &format!("{at}[{place}]"), it, out);
    }
    let Some(map) = it.as_object() else { return };
    for (key, it) in map {
        let at = format!("{at}.{key}");
        match form["properties"].get(key) {
            Some(form) => faults(schema, form, &at, it, out),
            None if form["additionalProperties"] == false => out.push(format!("{at} is unknown")),
            None => faults(schema, &form["additionalProperties"], &at, it, out),
        }
    }
    for key in form["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !map.contains_key(key) {
            out.push(format!("{at}.{key} is missing"));
        }
    }
}

/// A tenant with a virtual NIC.
const TENANTS: &str = "tenuto_tenants: 1\nname: schemas\ntenants:\n  blue: {program: [/bin/sh], \
    address: 10.99.1.2/30, control: [6653]}\n";

/// Real output of every document that can be had without a switch that runs, with what it is of.
fn real_output() -> Vec<(String, String)> {
    let folder = folder("schemas");
    write(&folder, "line.yaml", LINE);
    write(&folder, "graph.yaml", server_graphs::OWN);
    write(&folder, "tenants.yaml", TENANTS);
    write(&folder, "late.yaml", &LINE.replace("deadline: 5 ms", "deadline: 10 us"));
    write(&folder, "slower.yaml", &LINE.replace("1 kB", "2 kB"));
    write(&folder, "two.xml", check_and_import::WOPANETS);
    let shipped = |name: &str| networks().join(name).to_string_lossy().into_owned();
    let (vehicle, avionics) = (shipped("vehicle.yaml"), shipped("avionics.yaml"));
    let dump = dump();
    std::fs::write(folder.join("dump"), dump.to_bytes()).expect("a dump");
    let mut all = Vec::new();
    for network in [vehicle.as_str(), &avionics, "line.yaml", "graph.yaml"] {
        let stem = Path::new(network).file_stem().expect("a name").to_string_lossy().into_owned();
        let path = format!("{stem}.plan.json");
        tenuto_in(&folder, &["plan", network, "-o", &path]).exits(0);
        let text = std::fs::read_to_string(folder.join(&path)).expect("a plan");
        all.push((format!("the plan of {stem}"), text));
    }
    tenuto_in(&folder, &["sim", "line.yaml", "--for", "1s", "--frames", "frames.json"]).exits(0);
    let text = std::fs::read_to_string(folder.join("frames.json")).expect("the frames of a run");
    all.push(("the frames of line".into(), text));
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut lines = vec![
        words("sim line.yaml"),
        words("sim late.yaml"),
        words("sim late.yaml --comparison --for 1s"),
        words("sim line.yaml --for 1s --hops"),
        words("sim line.yaml --campaign 2 --for 100ms"),
        words("plan line.yaml"),
        words("witness line.yaml --plays 50 -o found"),
        words("plan late.yaml"),
        words("plan graph.yaml"),
        words("plan line.yaml --explain speed"),
        words("plan graph.yaml --explain f"),
        words("plan slower.yaml --diff line.plan.json"),
        words("plan graph.yaml --method tfa --diff graph.plan.json"),
        words("check line.yaml"),
        words("check graph.yaml"),
        words("check nothing.yaml"),
        words("import auto two.xml"),
        words("tables line.yaml"),
        words("certify line.plan.json"),
        words("certify graph.plan.json"),
        words("explore attendre --app firewall --plain -o reactive.json"),
        words("explore line.yaml --app learning-switch"),
        words("sim line.yaml --app learning-switch --record record.jsonl"),
        words("races record.jsonl"),
        words("bench loko table2"),
        words("bench papers --only braking"),
        words("bench admission --generated star3-1G --repeat 1"),
        words("doctor --for 20ms"),
        words("dump all --dump dump"),
        words("tenants check tenants.yaml"),
        words("profile --virtual zodiac-fx --samples 5"),
    ];
    for args in ["tables", "check", "plan", "explore"] {
        lines.push(vec![args.to_owned(), vehicle.clone()]);
    }
    lines.push(["plan", &vehicle, "--explain", "CAM"].map(str::to_owned).into());
    for (time, network) in [("12s", &vehicle), ("1s", &avionics)] {
        lines.push(["sim", network, "--for", time].map(str::to_owned).into());
    }
    lines.push(["plan", &shipped("cell.yaml"), "--method", "silo"].map(str::to_owned).into());
    for line in lines {
        let args: Vec<&str> = line.iter().map(String::as_str).chain(["--json"]).collect();
        all.push((line.join(" "), tenuto_in(&folder, &args).stdout));
    }
    all.extend(crate::tenants::status(&folder).map(|text| ("tenants status".into(), text)));
    let trace = std::fs::read_to_string(folder.join("reactive.json")).expect("a trace");
    let schedule = folder.join("found/0000-speed-to-display-in-normal.schedule.json");
    let schedule = std::fs::read_to_string(schedule).expect("a schedule");
    all.push(("witness -o".into(), schedule));
    all.push(("explore attendre -o".into(), trace));
    all.push(("explore -o".into(), serde_json::to_string(&trace_of_all()).expect("a trace")));
    all
}

/// A switch with an entry and a queue that tells all.
fn dump() -> Dump {
    let entry = tenuto_openflow::FlowStats {
        table_id: 2,
        duration_sec: 0,
        duration_nsec: 0,
        priority: 100,
        idle_timeout: 0,
        hard_timeout: 0,
        flags: 0,
        cookie: 1,
        packet_count: 7,
        byte_count: 700,
        match_: tenuto_openflow::Match::ANY,
        instructions: Vec::new(),
    };
    let mode = tenuto_openflow::ModeStatus { generation: 3, ..Default::default() };
    let features = tenuto_openflow::Features {
        datapath_id: 1,
        n_buffers: 0,
        n_tables: 3,
        auxiliary_id: 0,
        capabilities: 0,
    };
    Dump {
        features: Some(features),
        mode: Some(mode),
        shadows: vec![(1, entry.clone())],
        flows: vec![entry],
        queues: vec![tenuto_openflow::QueueStats {
            port_no: 2,
            queue_id: 1,
            tx_bytes: 1_000,
            tx_packets: 1_000,
            tx_errors: 0,
            duration_sec: 0,
            duration_nsec: 0,
        }],
        slices: vec![tenuto_openflow::SliceStatus {
            name: tenuto_openflow::FixedText::new("blue"),
            ports: vec![1],
            ..Default::default()
        }],
        queue_details: vec![tenuto_openflow::QueueDetail {
            port: 2,
            share: tenuto_openflow::QueueShare { queue: 1, level: 1, weight: 3 },
            frames: 0,
            frames_max: 9,
            wire_bytes: 0,
            wire_bytes_max: 1_000,
            delay_ns_max: 23_000,
            delays: vec![tenuto_openflow::DelayRange {
                from_ns: 4_096,
                below_ns: u64::MAX,
                frames: 989,
            }],
        }],
        ..Dump::default()
    }
}

/// A trace with every action: no switch of ours leads to one.
fn trace_of_all() -> Trace {
    let name = || "sw1".to_owned();
    let actions = [
        Action::Deliver { from: name(), to: name() },
        Action::Lose { from: name(), to: name() },
        Action::Send { switch: name(), port: 1 },
        Action::Think { switch: name() },
        Action::Exceed { flow: name() },
        Action::Arrive { flow: name() },
        Action::Tick,
    ];
    let step = |action| Step { action, tick: 1, modes: vec!["sw1 LO/LO@3".to_owned()] };
    Trace {
        schema: "tenuto-trace/1".to_owned(),
        property: "no-out-of-mode".to_owned(),
        finding: "sw1 sends".to_owned(),
        steps: actions.into_iter().map(step).collect(),
    }
}

#[test]
fn real_output_is_as_its_schema_says() {
    let schemas: BTreeMap<String, Value> = schemas()
        .into_iter()
        .map(|(schema, _)| (schema["title"].as_str().expect("a title").to_owned(), schema))
        .collect();
    let mut seen = BTreeSet::new();
    for (of, text) in real_output() {
        let document: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{of}: {e}"));
        let name = document["schema"].as_str().expect("a name of a document").to_owned();
        let schema = schemas.get(&name).unwrap_or_else(|| panic!("{of}: no schema of {name}"));
        let mut found = Vec::new();
        faults(schema, schema, "", &document, &mut found);
        assert!(found.is_empty(), "{of}: {:#?}", &found[..found.len().min(20)]);
        // The test itself sees what is wrong.
        let mut wrong = document.clone();
        wrong["seed_of_nothing"] = Value::Null;
        wrong.as_object_mut().expect("an object").remove("schema");
        faults(schema, schema, "", &wrong, &mut found);
        assert!(found.len() >= 2, "{of}: {found:?}");
        seen.insert(name);
    }
    if !crate::tenants::is_possible("real_output_is_as_its_schema_says") {
        seen.insert("tenuto-tenants/1".to_owned());
    }
    let unseen: Vec<&String> = schemas.keys().filter(|it| !seen.contains(*it)).collect();
    assert!(unseen.is_empty(), "nothing real of {unseen:?}");
}
