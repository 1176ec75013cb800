//! What is not a network, a plan or a sensible command line.

use crate::stranger::{LINE, folder, networks, tenuto, tenuto_in, write};
use std::io::Read;
use std::process::{Command, Stdio};

#[test]
fn files_that_are_something_else() {
    let folder = folder("something-else");
    write(&folder, "line.yaml", LINE);
    write(&folder, "notes.txt", "hello\n");
    write(&folder, "empty.yaml", "");
    write(&folder, "half.json", "{\"schema\": \"tenuto-plan/2\", \"version\"");
    write(&folder, "other.json", "{\"schema\": \"tenuto-run/1\"}");
    write(&folder, "older.json", &format!("{{\"schema\": \"tenuto-plan/{}\"}}", 1));
    write(&folder, "bare.json", "{}");
    write(&folder, "scenario.yaml", "tenuto_scenario: 1\nduration: 1 s\n");
    std::fs::write(folder.join("latin.yaml"), b"name: caf\xe9\n").expect("a file for the test");
    std::fs::create_dir(folder.join("folder.yaml")).expect("a folder for the test");
    for (verb, file, words) in [
        ("plan", "lin.yaml", "there is no such file"),
        ("plan", "lin.yaml", "did you mean ./line.yaml?"),
        ("plan", "other-network.yaml", "there are "),
        ("plan", "folder.yaml", "it is a folder"),
        ("plan", "latin.yaml", "not UTF-8 text (byte 9)"),
        ("plan", "notes.txt", "a network file ends in .yaml"),
        ("plan", "empty.yaml", "empty.yaml"),
        ("check", "scenario.yaml", "there is no network in this file"),
        ("sim", "half.json", "is the file complete?"),
        ("sim", "other.json", "`tenuto-run/1`"),
        ("sim", "older.json", "plan again with `tenuto plan NET -o PLAN`"),
        ("certify", "older.json", "plan again with `tenuto plan NET -o PLAN`"),
        ("sim", "bare.json", "no `schema`"),
        ("certify", "line.yaml", "make a plan with `tenuto plan NET -o PLAN`"),
        ("certify", "nope.json", "there is no such file"),
    ] {
        let said = tenuto_in(&folder, &[verb, file, "--json"]).exits(2).complains_of(&[words]);
        let document = said.json();
        assert_eq!(document["verdict"], "bad_input", "{verb} {file}");
        assert!(document["problems"][0]["message"].is_string());
        let said = tenuto_in(&folder, &[verb, file]).exits(2);
        assert_eq!(said.stdout, "", "{verb} {file}");
    }
}

#[test]
fn what_does_not_end_or_is_no_text_is_not_read() {
    let folder = folder("no-text");
    write(&folder, "nul.yaml", &format!("{LINE}\0# the rest\n"));
    let wide: Vec<u8> = LINE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(folder.join("wide.yaml"), [&[0xff, 0xfe], wide.as_slice()].concat())
        .expect("a file for the test");
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.yaml")).expect("a link");
    write(&folder, "table.yaml", &LINE.replace("flows:", "flow_tables: [zero.csv]\nflows:"));
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.csv")).expect("a link");
    for (file, words) in [
        ("nul.yaml", "there is a NUL byte"),
        ("wide.yaml", "UTF-16"),
        ("zero.yaml", "does not end within 64 MB"),
        ("table.yaml", "does not end within 64 MB"),
        ("-", "standard input is not read"),
    ] {
        tenuto_in(&folder, &["plan", file]).exits(2).complains_of(&[words]);
    }
    tenuto_in(&folder, &["import", "auto", "zero.yaml"]).exits(2);
}

#[test]
fn a_switch_of_an_empty_profile_is_refused() {
    let folder = folder("empty-profile");
    write(&folder, "line.yaml", &LINE.replace("profile: tenuto", "profile: ./mine.yaml"));
    write(&folder, "mine.yaml", "");
    for verb in ["check", "plan", "tables", "sim"] {
        tenuto_in(&folder, &[verb, "line.yaml"])
            .exits(2)
            .complains_of(&["the profile is empty", "mine.yaml"]);
    }
}

#[test]
fn a_command_line_that_says_nothing_sensible() {
    for args in [
        &["plan"][..],
        &["plann", "line.yaml"],
        &["plan", "line.yaml", "--jsn"],
        &["plan", "line.yaml", "--model", "token-bucket"],
        &["sim", "line.yaml", "--for", "20"],
        &["sim", "line.yaml", "--for", "0s"],
        &["sim", "line.yaml", "--seed", "-1"],
        &[],
    ] {
        tenuto(args).exits(2);
    }
    let said = tenuto(&["sim", "line.yaml", "--for", "20", "--json"]).exits(2);
    assert_eq!(said.json()["verdict"], "bad_input");
    tenuto(&["sim", "line.yaml", "--for", "20"]).exits(2).complains_of(&["did you mean"]);
}

#[test]
fn help_and_version_are_no_errors() {
    tenuto(&["--help"]).exits(0).says(&["Exit codes", "plan", "certify", "sim"]);
    tenuto(&["plan", "--help"]).exits(0).says(&["--set", "--csv"]);
    tenuto(&["--version"]).exits(0).says(&["tenuto 0"]);
}

#[test]
fn a_file_that_cannot_be_written() {
    tenuto(&["plan", "line.yaml", "-o", "/nowhere/at/all.json"])
        .exits(2)
        .complains_of(&["/nowhere/at/all.json", "is there such a folder?"]);
}

#[test]
fn a_reader_that_goes_away_is_no_problem() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tenuto"))
        .args(["plan", "a380-switch.yaml", "--json"])
        .current_dir(networks())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let status = child.wait().expect("the program ends");
    let mut stderr = String::new();
    let mut pipe = child.stderr.take().expect("stderr is ours");
    pipe.read_to_string(&mut stderr).expect("text");
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_network_that_promises_nothing_is_refused_at_its_line() {
    let folder = folder("no-flows");
    let (head, _) = LINE.split_once("flows:").expect("its flows");
    write(&folder, "none.yaml", &format!("{head}flows: {{}}\n"));
    let line = head.matches('\n').count() + 1;
    for verb in ["check", "plan", "sim"] {
        let said = tenuto_in(&folder, &[verb, "none.yaml", "--json"]).exits(2);
        let problem = &said.json()["problems"][0];
        assert_eq!((&problem["line"], &problem["field_path"]), (&line.into(), &"flows".into()));
        assert!(problem["hint"].as_str().is_some_and(|hint| hint.contains("flow_tables")));
    }
}

#[test]
fn a_time_without_unit_is_asked_about() {
    let folder = folder("no-unit");
    write(&folder, "line.yaml", LINE);
    tenuto_in(&folder, &["sim", "line.yaml", "--for", "20"])
        .exits(2)
        .complains_of(&["20 of what? did you mean 20s or 20ms?"]);
}
