//! `tenants` as a stranger meets it. What sandboxes hold is shown by the tests of tenuto-hosting; where
//! none can be made, those here that need one say so and pass.

use crate::stranger::{Said, folder, tenuto_in, write};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tenuto_io::namespaces::namespace_rights;

const TENUTO: &str = env!("CARGO_BIN_EXE_tenuto");
/// Without a virtual NIC, so that nothing of the machine's network is touched.
const TENANTS: &str = "tenuto_tenants: 1\nname: stranger\ntenants:\n  \
    blue: {program: [/bin/sh, -c, \"echo hello; exec sleep 10000\"], processes: 9}\n";
const STATE: [&str; 2] = ["--state", "state"];

/// Whether sandboxes can be made here.
pub(crate) fn is_possible(test: &str) -> bool {
    let lab = namespace_rights();
    let refusal = lab.lab().err().map(ToString::to_string);
    if let Some(refusal) = &refusal {
        println!("SKIPPED tenants of {test}: no namespaces here: {refusal}");
    }
    refusal.is_none()
}

/// A supervisor that runs; ended at the end.
struct Up(Child);

impl Up {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(TENUTO)
            .args(["tenants", "up", "tenants.yaml"])
            .args(STATE)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let up = Self(child);
        assert!(lines.any(|line| line.is_ok_and(|line| line.contains("blue runs"))), "it runs");
        // Whoever reads no further must not stop the supervisor.
        std::thread::spawn(move || lines.count());
        up
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn tenants(folder: &Path, verb: &str, more: &[&str]) -> Said {
    let args: Vec<&str> = ["tenants", verb, "tenants.yaml"]
        .into_iter()
        .chain(more.iter().copied())
        .chain(STATE)
        .collect();
    tenuto_in(folder, &args)
}

/// The document of a running tenant.
pub(crate) fn status(folder: &Path) -> Option<String> {
    if !is_possible("the schemas") {
        return None;
    }
    write(folder, "tenants.yaml", &TENANTS.replace("stranger", "schemas"));
    let mut up = Up::start(folder);
    let said = tenants(folder, "status", &["--json"]).exits(0);
    tenants(folder, "stop", &[]).exits(0);
    assert!(up.0.wait().expect("a child").success());
    Some(said.stdout)
}

#[test]
fn every_problem_of_a_file_is_told_at_its_line() {
    let folder = folder("tenants-bad");
    let text = TENANTS
        .replace("processes: 9", "processes: none, environment: microvm, memry: 1 MB")
        .replace("/bin/sh", "/no/such/program");
    write(&folder, "tenants.yaml", &text);
    let said = tenuto_in(&folder, &["tenants", "check", "tenants.yaml"]).exits(2);
    said.complains_of(&[
        "tenants.yaml:4",
        "`/no/such/program`",
        "is not a whole number",
        "did you mean memory?",
    ]);
}

#[test]
fn slices_are_checked_with_their_tenants() {
    let folder = folder("tenants-slices");
    let tenants = TENANTS.replace("name: stranger", "name: sliced\nslices: slices.yaml");
    write(&folder, "tenants.yaml", &tenants.replace("processes: 9", "slice: blue"));
    let slices = "tenuto_slices: 1\nmessage: 20 us\ncontrol: {time: 20 ms, per: 100 ms}\nslices:\n  \
        blue: {datapath_id: 0x101, ports: [eth1]}\n  red: {datapath_id: 0x102, ports: [eth2]}\n";
    let check = || tenuto_in(&folder, &["tenants", "check", "tenants.yaml"]);
    write(&folder, "slices.yaml", slices);
    // By default 1000 messages and 500 packet-ins a second, a tenth at once: 300 in 100 ms, 6000 us; and what their bytes take.
    let words = ["take up to 17795 us in 100000 us", "blue 8898 us, red 8898 us"];
    write(&folder, "slices.yaml", &slices.replace("time: 20 ms", "time: 11 ms"));
    check().exits(2).complains_of(&words);
    write(&folder, "slices.yaml", &slices.replace("blue:", "green:"));
    check().exits(2).complains_of(&["tenant blue: no slice is called `blue`"]);
    write(&folder, "slices.yaml", slices);
    let said = check();
    assert!(matches!(said.code, Some(0 | 3)), "{}", said.stderr);
}

#[test]
fn without_a_supervisor_nobody_answers() {
    let folder = folder("tenants-none");
    write(&folder, "tenants.yaml", TENANTS);
    for verb in ["status", "stop"] {
        let said = tenants(&folder, verb, &[]).exits(3);
        said.complains_of(&["no supervisor runs", "tenuto tenants up"]);
    }
}

#[test]
fn starts_are_measured_beside_plain_ones() {
    let folder = folder("tenants-bench");
    let said =
        tenuto_in(&folder, &["bench", "hosting", "--only", "starts", "--starts", "3", "--json"]);
    if !is_possible("starts_are_measured_beside_plain_ones") {
        said.exits(3);
        return;
    }
    let said = said.exits(0).json();
    let rows = said["sheets"][0]["rows"].as_array().expect("a list").clone();
    assert_eq!(rows.len(), 2, "{rows:?}");
    for row in rows {
        let times: Vec<f64> = (1..=3).filter_map(|place| row[place].as_f64()).collect();
        assert!(times.len() == 3 && times.is_sorted() && times[0] > 0.0, "{row}");
    }
}

/// No verdict rests on the figures: each series is there, with a plain row that is 1 to itself.
#[test]
fn messages_and_isolation_are_measured() {
    let folder = folder("tenants-measured");
    let asked = ["bench", "hosting", "--quick", "--only", "requests,isolation", "--json"];
    let said = tenuto_in(&folder, &asked);
    if said.code == Some(3) {
        said.complains_of(&["run as root on a machine with two processors"]);
        return;
    }
    let said = said.exits(0).json();
    let sheets = said["sheets"].as_array().expect("a list").clone();
    assert_eq!(sheets.len(), 2, "{sheets:?}");
    for sheet in &sheets {
        let rows = sheet["rows"].as_array().expect("a list");
        assert_eq!(rows[0][2].as_f64(), Some(1.0), "{rows:?}");
        assert!(rows.iter().all(|row| row[1].as_f64() > Some(0.0)), "{rows:?}");
    }
    let notes = sheets[0]["notes"].to_string();
    assert_eq!(notes.matches("chosen: ").count(), 3, "one for each load: {notes}");
}

#[test]
fn tenants_are_started_asked_and_stopped() {
    if !is_possible("tenants_are_started_asked_and_stopped") {
        return;
    }
    let folder = folder("tenants-up");
    write(&folder, "tenants.yaml", TENANTS);
    let mut up = Up::start(&folder);
    tenants(&folder, "status", &[]).exits(0).says(&["blue", "running"]);
    tenants(&folder, "logs", &["blue"]).exits(0).says(&["hello"]);
    tenants(&folder, "logs", &["blu"]).exits(2).complains_of(&["no tenant `blu`"]);
    tenants(&folder, "up", &[]).exits(0).says(&["blue is as it was"]);
    tenants(&folder, "stop", &["blue"]).exits(0).says(&["blue ended"]);
    tenants(&folder, "status", &[]).exits(1).says(&["ended"]);
    tenants(&folder, "up", &[]).exits(0).says(&["blue starts again"]);
    tenants(&folder, "stop", &[]).exits(0).says(&["all ended"]);
    assert!(up.0.wait().expect("a child").success());
}
