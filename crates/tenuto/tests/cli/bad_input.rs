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
    write(&folder, "half.json", "{\"schema\": \"tenuto-plan/1\", \"version\"");
    write(&folder, "other.json", "{\"schema\": \"tenuto-run/1\"}");
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
