//! A file that is not there, or is something else, is told alike by every verb: which, what was meant, what there is.

use crate::stranger::{LINE, folder, tenuto_in, write};

#[test]
fn a_missing_file_is_told_alike_by_every_verb() {
    let at = folder("named_files");
    write(&at, "line.yaml", LINE);
    write(&at, "slices.yaml", "tenuto_slices: 1\n");
    let said = |args: &[&str]| tenuto_in(&at, args).exits(2);
    for (args, kind) in [
        (&["check", "lnie.yaml"][..], "a network or a plan"),
        (&["plan", "lnie.yaml"], "a network or a plan"),
        (&["plan", "line.yaml", "--diff", "lnie.yaml"], "a network or a plan"),
        (&["sim", "lnie.yaml"], "a network or a plan"),
        (&["up", "lnie.yaml"], "a network or a plan"),
        (&["witness", "lnie.yaml"], "a network or a plan"),
        (&["explore", "lnie.yaml"], "a network or a plan"),
        (&["tables", "lnie.yaml"], "a network or a plan"),
        (&["export", "saihu", "lnie.yaml"], "a network or a plan"),
        (&["controller", "lnie.yaml"], "a network or a plan"),
        (&["app", "learning-switch", "--network", "lnie.yaml"], "a network or a plan"),
        (&["bench", "loko", "service", "--network", "lnie.yaml"], "a network or a plan"),
        (&["sim", "line.yaml", "--scenario", "lnie.yaml"], "a scenario"),
        (&["sim", "line.yaml", "--schedule", "lnie.json"], "a schedule"),
        (&["certify", "lnie.json"], "a plan"),
        (&["report", "lnie.json"], "a plan, or the run.json"),
        (&["races", "lnie.jsonl"], "the record of a run"),
        (&["proxy", "slice.yaml"], "a file of slices"),
        (&["switch", "lnie.yaml"], "a file that describes a switch"),
        (&["tenants", "check", "lnie.yaml"], "a file of tenants"),
        (&["dump", "--dump", "lnie"], "a dump of"),
        (&["import", "auto", "lnie.csv"], "a file of another tool"),
        (&["app", "lnie.py"], "a program"),
        (&["explore", "line.yaml", "--app", "learning-switch", "--replay", "lnie"], "a trace"),
        (&["profile", "--virtual", "zodiac-fx", "--check", "lnie.yaml"], "a profile"),
        (&["bench", "admission", "--operations", "lnie"], "a network, a list or a log"),
    ] {
        let said = said(args);
        assert_eq!(said.stdout, "", "{args:?}");
        let said = said.complains_of(&["the file cannot be read: there is no such file"]);
        let _ = said.complains_of(&[args[args.len() - 1], kind, "is meant"]);
    }
    let _ = said(&["check", "lnie.yaml"]).complains_of(&["did you mean ./line.yaml?"]);
    let _ = said(&["proxy", "slice.yaml"]).complains_of(&["did you mean ./slices.yaml?"]);
    // What is there and is none.
    for args in [&["proxy", "."][..], &["tenants", "check", "."], &["switch", "."], &["races", "."]]
    {
        let _ = said(args).complains_of(&["it is a folder", "is meant"]);
    }
    std::fs::write(at.join("nul.yaml"), b"tenuto: 1\0").expect("written");
    for args in
        [&["proxy", "nul.yaml"][..], &["tenants", "check", "nul.yaml"], &["switch", "nul.yaml"]]
    {
        let _ = said(args).complains_of(&["there is a NUL byte in it"]);
    }
}

#[test]
fn a_folder_of_a_run_is_reported_and_another_one_says_what_would_fit() {
    let at = folder("report_folder");
    write(&at, "line.yaml", LINE);
    let report = |folder: &str| tenuto_in(&at, &["report", folder]);
    report(".").exits(2).complains_of(&["there is no run.json in this folder", "out/NAME-TIME/"]);
    tenuto_in(&at, &["sim", "line.yaml", "--for", "100ms", "--report"]).exits(0);
    let run = std::fs::read_dir(at.join("out")).expect("a folder").next().expect("a run");
    let run = format!("out/{}", run.expect("an entry").file_name().into_string().expect("text"));
    report("out").exits(2).complains_of(&[&format!("did you mean {run}/run.json?")]);
    report(&run).exits(0).says(&["run.html"]);
    std::fs::remove_file(at.join(&run).join("run.json")).expect("removed");
    report(&run).exits(2).complains_of(&["the run did not end", "plan.json"]);
}

/// Nothing is a number that asks for nothing.
#[test]
fn numbers_that_ask_for_nothing_are_refused() {
    let at = folder("nothing_asked");
    write(&at, "line.yaml", LINE);
    let app = ["line.yaml", "--app", "learning-switch"];
    for (verb, more, words) in [
        ("sim", &["--flows", "0"][..], "1..=1000000"),
        ("explore", &["--states", "0"], "from 1 on"),
        ("explore", &["--move", "nope="], "the place has no SWITCH:PORT"),
        ("explore", &["--move", "=sw1:9"], "no host is named"),
        ("explore", &["--move", "sensor=sw1:0"], "from 1 on"),
        ("explore", &["--forbid", "sensor:sensor"], "always reaches itself"),
        ("sim", &["--send", "sensor:display=0"], "N from 1 to 255"),
        ("sim", &["--app-set", "idle="], "one of them is empty"),
        ("sim", &["--app-set", "idle=99999999"], "from 0 to 65535"),
    ] {
        let args = [&[verb][..], &app, more].concat();
        tenuto_in(&at, &args).exits(2).complains_of(&[words]);
    }
    let monitor = ["sim", "line.yaml", "--app", "monitor", "--app-set", "poll=0"];
    tenuto_in(&at, &monitor).exits(2).complains_of(&["from 1 to 86400"]);
}
