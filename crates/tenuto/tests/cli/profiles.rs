//! `profile`: a measured profile is read by a plan and held against devices; wrong input is told.

use crate::stranger::{LINE, folder, tenuto_in, write};

#[test]
fn a_measured_profile_covers_its_device_and_no_slower_one() {
    let at = folder("profile_measured");
    write(&at, "line.yaml", &LINE.replace("profile: tenuto", "profile: ./mine.yaml"));
    let out = ["profile", "--virtual", "banana-pi-r1", "--samples", "5", "-o", "mine.yaml"];
    tenuto_in(&at, &out).exits(0).says(&[
        "banana-pi-r1: ",
        "uses of 5 samples",
        "processor per frame",
    ]);
    tenuto_in(&at, &["check", "line.yaml"]).exits(0);
    let held = |device| {
        let out = ["profile", "--virtual", device, "--samples", "5", "--check", "mine.yaml"];
        tenuto_in(&at, &out)
    };
    // With so few samples not every use is looked at: nothing is above, and that is not yet "covers".
    let said = held("banana-pi-r1").exits(3);
    said.says(&["measured: nothing says that it does not cover the device", " 0 exceeded"]);
    held("zodiac-fx").exits(1).says(&["measured: does not cover the device", "beyond the profile"]);
}

/// Draws from typical costs are no worst ones: a measured profile inherits that, with a processor and without.
#[test]
fn a_profile_measured_of_typical_costs_is_typical() {
    let at = folder("profile_typical");
    write(&at, "line.yaml", &LINE.replace("profile: tenuto", "profile: ./mine.yaml"));
    for (device, verdict) in [
        ("open-vswitch", "modelled"),
        ("hp-e3800-software", "modelled"),
        ("zodiac-fx", "guaranteed"),
        ("ideal", "guaranteed"),
    ] {
        let out = ["profile", "--virtual", device, "--samples", "5", "-o", "mine.yaml"];
        tenuto_in(&at, &out).exits(0);
        let said = tenuto_in(&at, &["plan", "line.yaml", "--json"]);
        let code = if verdict == "modelled" { 3 } else { 0 };
        assert_eq!(said.exits(code).json()["verdict"], verdict, "{device}");
    }
    let by_hand = |rest: &str| {
        let text = format!("tenuto_profile: 1\nname: mine\nlike: open-vswitch\n{rest}");
        write(&at, "mine.yaml", &text);
        tenuto_in(&at, &["plan", "line.yaml", "--json"])
    };
    by_hand("processor: none\n").exits(3);
    by_hand("processor: none\ntypical: true\n").exits(3);
    by_hand("processor: none\ntypical: false\n").exits(0);
}

#[test]
fn one_seed_gives_one_profile() {
    let at = folder("profile_seed");
    let out = ["profile", "--virtual", "zodiac-fx", "--samples", "5", "--seed", "3"];
    let said = tenuto_in(&at, &out).exits(0);
    assert!(said.stdout.contains("\nmeasured:"), "{}", said.stdout);
    assert_eq!(tenuto_in(&at, &out).exits(0).stdout, said.stdout);
}

#[test]
fn what_cannot_be_measured_or_held_says_why() {
    let at = folder("profile_wrong");
    write(&at, "notes.yaml", "hello\n");
    for (more, words) in [
        (&["--virtual", "zodiak"][..], "there is no virtual device \"zodiak\""),
        (
            &["--virtual", "zodiac-fx", "--like", "zodiak"],
            "there is no built-in profile \"zodiak\"",
        ),
        (&["--virtual", "zodiac-fx", "--check", "gone.yaml"], "there is no such file"),
        (&["--virtual", "zodiac-fx", "--check", "notes.yaml"], "notes.yaml"),
        (&["--virtual", "zodiac-fx", "--samples", "4"], "--samples"),
        (&["--virtual", "zodiac-fx", "--name", "a: \"b"], "is no name of a profile"),
        (&["--virtual", "zodiac-fx", "--check", "a", "-o", "b"], "cannot be used with"),
        (&["--virtual", "zodiac-fx", "--ports", "a,b"], "--live"),
        (&["--virtual", "zodiac-fx", "--live", "--ports", "a,b"], "cannot be used with"),
        (&["--live"], "--ports"),
        (&[], "--virtual"),
    ] {
        let said = tenuto_in(&at, &[&["profile"], more].concat()).exits(2);
        assert_eq!(said.complains_of(&[words]).stdout, "", "{more:?}");
    }
}

#[test]
fn what_was_measured_is_told_though_the_file_cannot_be_written() {
    let at = folder("profile_unwritten");
    let out = ["profile", "--virtual", "ideal", "--samples", "5", "-o", "/dev/full"];
    let said = tenuto_in(&at, &out).exits(2);
    said.says(&["measured of the device"]).complains_of(&["/dev/full", "cannot be written"]);
}

#[test]
fn every_claim_of_a_profile_has_a_verdict() {
    let at = folder("profile_verdicts");
    let out = ["profile", "--virtual", "zodiac-fx", "--samples", "5", "-o", "mine.yaml"];
    tenuto_in(&at, &out).exits(0);
    let held =
        ["profile", "--virtual", "zodiac-fx", "--samples", "5", "--check", "mine.yaml", "--json"];
    let said = tenuto_in(&at, &held).exits(0);
    let told: serde_json::Value = serde_json::from_str(&said.stdout).expect("a document");
    assert_eq!(told["verdict"], "kept");
    let rows = told["rows"].as_array().expect("rows");
    // A traversal and a spacing of each use, entries, five sizes of the buffer, and work of its own.
    assert_eq!(rows.len(), told["frames"].as_array().expect("uses").len() * 2 + 7);
    assert!(
        rows.iter().all(|it| !it["seen"].is_null() && it["verdict"] != "exceeded"),
        "{rows:#?}"
    );
    let page =
        ["profile", "--virtual", "zodiac-fx", "--samples", "5", "--report", "page.html", "-o", "x"];
    tenuto_in(&at, &page).exits(0);
    let page = std::fs::read_to_string(at.join("page.html")).expect("a page");
    for figure in
        ["Fig. 6a", "Figs. 6b", "Fig. 7b", "Fig. 9", "Fig. 10a", "Fig. 10b", "Fig. 10c", "Fig. 12b"]
    {
        assert!(page.contains(figure), "{figure}");
    }
}
