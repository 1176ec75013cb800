//! `bench`: the papers' figures as a stranger sees them.

use crate::stranger::{folder, tenuto};

#[test]
fn loko_is_held_against_its_print() {
    tenuto(&["bench", "loko", "table2"]).exits(0).says(&[
        "full-rate burst",
        "2.02",
        "2.55 KiB, not 2.32",
    ]);
    let said = tenuto(&["bench", "loko", "--json"]).exits(0);
    let document = said.json();
    assert_eq!(document["schema"], "tenuto-bench/1");
    let sheets = document["sheets"].as_array().expect("a list");
    let title = |words: &str| {
        let of =
            |sheet: &&serde_json::Value| sheet["title"].as_str().is_some_and(|t| t.contains(words));
        sheets.iter().find(of).unwrap_or_else(|| panic!("{words}"))
    };
    // Fig. 14a is white where not one frame is left as a burst.
    let white = |row: usize| {
        title("full-rate, delay")["rows"][row]
            .as_array()
            .map_or(0, |cells| cells.iter().filter(|cell| cell.is_null()).count())
    };
    assert_eq!([0, 1, 2, 4, 5, 6].map(white), [0, 0, 0, 9, 9, 9]);
    assert!(title("Silo")["title"].as_str().is_some_and(|t| t.contains("NOT VALID")));
    assert!(title("QJump")["title"].as_str().is_some_and(|t| t.contains("NOT VALID")));
}

#[test]
fn a_profile_tells_its_service_for_a_stated_use() {
    let value = |args: &[&str], quantity: &str| {
        let said = tenuto(&[&["bench", "loko", "service", "--json"], args].concat()).exits(0);
        let sheet = said.json()["sheets"][0].clone();
        let rows = sheet["rows"].as_array().expect("rows").clone();
        let row = rows.into_iter().find(|row| row[0] == quantity);
        row.unwrap_or_else(|| panic!("no {quantity} in {sheet:#}"))[2].clone()
    };
    // Table 2, and section 4 for a full table.
    assert_eq!(value(&[], "full-rate burst"), 2_067);
    let full = value(&["--entries", "128"], "rate R").as_f64().expect("a number");
    assert!((full - 1.88).abs() < 0.01, "{full}");
    let port = value(&["--match", "port"], "rate R").as_f64().expect("a number");
    let rewritten = value(&["--action", "set-nw-src"], "rate R").as_f64().expect("a number");
    assert!(port > 11.79 && rewritten < 11.79, "{port} {rewritten}");
    assert_eq!(value(&["--frame", "1032"], "full-rate"), "less than a frame fits");
    tenuto(&["bench", "loko", "service", "--network", "cell.yaml"]).exits(0).says(&["cell-switch"]);
    let other = ["bench", "loko", "service", "--profile"];
    tenuto(&[&other[..], &["zodiac-fz"]].concat())
        .exits(2)
        .complains_of(&["did you mean zodiac-fx?"]);
    tenuto(&[&other[..], &["afdx"]].concat()).exits(2).complains_of(&["no processor is in front"]);
}

#[test]
fn figure_20_is_drawn_from_few_runs_too() {
    let said = tenuto(&["bench", "loko", "fig20", "--runs", "5", "--json"]).exits(0);
    let document = said.json();
    let sheets = document["sheets"].as_array().expect("a list");
    assert_eq!(sheets.len(), 3);
    for sheet in sheets {
        assert_eq!(sheet["rows"].as_array().map(Vec::len), Some(31));
    }
    tenuto(&["bench", "loko", "fig20", "--runs", "0"]).exits(2);
    tenuto(&["bench", "loki"]).exits(2);
}

#[test]
fn analytic_delays_of_the_other_papers() {
    let said = tenuto(&["bench", "mc-sdn", "--json"]).exits(0);
    let document = said.json();
    let hop = sheet(&document, "Table II:");
    assert_eq!(hop["columns"][2], "profile us");
    // What no profile states is printed as none of ours.
    let of = |part: &str| {
        let rows = hop["rows"].as_array().expect("a list");
        rows.iter().find(|row| row[0] == part).expect("a part")[2].clone()
    };
    assert!(of("d_prop").is_null() && of("overall").is_null(), "{hop}");
    assert_eq!(
        (of("d_queue").as_f64(), of("d_proc + d_flood").as_f64()),
        (Some(600.64), Some(847.68))
    );
    tenuto(&["bench", "mc-sdn"]).exits(0).says(&["1453.45", "13.135", "linear"]);
    tenuto(&["bench", "attendre-verify", "--only", "engineering"])
        .exits(0)
        .says(&["2366", "31346"]);
    tenuto(&["bench", "attendre-delay"]).exits(0).says(&["OpenFlow-Attendre", "OpenFlow-B"]);
}

/// The sheet with these words in its title.
/// Agents that fall behind are overtaken; with Attendre each flow asks once all the same.
#[test]
fn connections_are_set_up_with_one_question_a_flow_under_attendre() {
    let picture = folder("tcp-setup").join("cdf.svg");
    let picture = picture.to_str().expect("a path");
    let said = tenuto(&[
        "bench",
        "tcp-setup",
        "--connections",
        "60",
        "--hops",
        "2,3",
        "--intervals",
        "4ms,32ms",
        "--picture",
        picture,
        "--json",
    ]);
    let document = said.exits(0).json();
    for hops in ["over 2 switches", "over 3 switches"] {
        let sheet = sheet(&document, hops);
        let (protocols, asked) = (column(sheet, "protocol"), column(sheet, "packet-ins"));
        let of = |name: &str| -> Vec<f64> {
            let rows = protocols.iter().zip(&asked).filter(|(it, _)| **it == name);
            rows.map(|(_, count)| count.as_f64().expect("a number")).collect()
        };
        assert_eq!(of("OpenFlow-Attendre"), [2.0, 2.0], "{hops}");
        assert!(of("OpenFlow").iter().any(|count| *count > 2.0), "{hops}: nothing was overtaken");
        assert!(column(sheet, "lost").iter().all(|lost| **lost == 0));
    }
    assert!(
        std::fs::read_to_string(picture).expect("drawn").contains("OpenFlow-Attendre, 3 switches")
    );
    tenuto(&["bench", "tcp-setup", "--intervals", "0ms"]).exits(2);
}

fn sheet<'a>(document: &'a serde_json::Value, words: &str) -> &'a serde_json::Value {
    let sheets = document["sheets"].as_array().expect("a list");
    let of =
        |sheet: &&serde_json::Value| sheet["title"].as_str().is_some_and(|t| t.contains(words));
    sheets.iter().find(of).unwrap_or_else(|| panic!("no sheet of {words}"))
}

/// Values of a column.
fn column<'a>(sheet: &'a serde_json::Value, name: &str) -> Vec<&'a serde_json::Value> {
    let columns = sheet["columns"].as_array().expect("a list");
    let place = columns.iter().position(|it| it == name).unwrap_or_else(|| panic!("no {name}"));
    sheet["rows"].as_array().expect("a list").iter().map(|row| &row[place]).collect()
}

/// Why the sheet has no figures, if it has none.
fn skipped(sheet: &serde_json::Value) -> Option<&str> {
    let notes = sheet["notes"].as_array().expect("a list");
    notes.iter().filter_map(|note| note.as_str()).find(|note| note.starts_with("SKIPPED"))
}

#[test]
fn a_babbling_idiot_is_held_by_its_meter() {
    let folder = folder("bench-babbling");
    let at = folder.to_str().expect("UTF-8");
    let said = tenuto(&["bench", "switch", "--only", "babbling", "--figures", at, "--json"]);
    let document = said.exits(0).json();
    let sheet = sheet(&document, "Fig. 9");
    let us = |name| -> Vec<f64> {
        column(sheet, name).into_iter().map(|it| it.as_f64().expect("a number")).collect()
    };
    let (policed, bound, free) = (us("policed max us"), us("bound us"), us("unpoliced max us"));
    assert_eq!(policed.len(), 11);
    assert!(policed.iter().zip(&bound).all(|(seen, bound)| seen <= bound));
    assert!(free.last() > bound.last(), "without meters the line is too short");
    let figure = std::fs::read_to_string(folder.join("fig9-babbling.svg")).expect("drawn");
    assert!(figure.starts_with("<svg") && figure.contains("unpoliced"));
}

#[test]
fn live_forwarding_is_measured_beside_its_peers() {
    let args = ["bench", "switch", "--only", "live", "--repeat", "1", "--window", "40", "--json"];
    let document = tenuto(&args).exits(0).json();
    let rate = sheet(&document, "forwarded between two veth pairs");
    if let Some(why) = skipped(rate) {
        return println!("{why}");
    }
    let of = |words: &str| {
        let subjects = column(rate, "subject");
        let is_it = |name: &&serde_json::Value| name.as_str().is_some_and(|it| it == words);
        subjects.iter().filter(|name| is_it(name)).count()
    };
    // Every subject has a row for each size of frames, or one that says why it has none.
    for words in ["bare forwarder, packet-ring", "tenuto switch, packet-ring"] {
        assert_eq!(of(words), 2, "{words}: {rate:#}");
    }
    let subjects = column(rate, "subject");
    for words in ["Open vSwitch netdev, usual ports", "Open vSwitch netdev, afxdp"] {
        let skipped = format!("SKIPPED {words}");
        let says =
            |name: &&serde_json::Value| name.as_str().is_some_and(|it| it.starts_with(&skipped));
        assert!(of(words) == 2 || subjects.iter().any(says), "{words}: {rate:#}");
    }
    let delay = sheet(&document, "delay of a paced load");
    let us = |name| -> Vec<f64> {
        column(delay, name).into_iter().map(|it| it.as_f64().expect("a number")).collect()
    };
    let quantiles = ["p50 us", "p99 us", "p99.9 us", "max us"].map(us);
    for row in 0..quantiles[0].len() {
        assert!(quantiles.iter().map(|all| all[row]).is_sorted(), "row {row}: {delay:#}");
    }
}

#[test]
fn delay_against_flows_has_four_curves() {
    let folder = folder("bench-flows");
    let at = folder.to_str().expect("UTF-8");
    let args = ["bench", "switch", "--only", "flows", "--repeat", "1", "--window", "30"];
    let args = [&args[..], &["--figures", at, "--json"]].concat();
    let document = tenuto(&args).exits(0).json();
    let sheet = sheet(&document, "Fig. 8");
    if let Some(why) = skipped(sheet) {
        return println!("{why}");
    }
    let ways: std::collections::BTreeSet<&str> =
        column(sheet, "way").into_iter().filter_map(|way| way.as_str()).collect();
    assert_eq!(ways.len(), 4, "{ways:?}");
    let counts = column(sheet, "flows");
    assert_eq!(counts.len(), 24);
    assert!(counts.iter().any(|count| **count == 2_000));
    assert!(folder.join("fig8-flows.svg").exists());
}

#[test]
fn figures_of_the_papers_stand_beside_the_print_in_one_file() {
    let at = folder("papers");
    let args = ["bench", "papers", "--only", "braking", "-o", "papers.html", "--json"];
    let document = crate::stranger::tenuto_in(&at, &args).exits(0).json();
    let statements = sheet(&document, "Table IV: print and ours");
    for agrees in column(statements, "agrees") {
        assert_eq!(agrees, "yes", "{statements:#}");
    }
    let total: Vec<f64> = column(sheet(&document, "distances of 30 trials"), "total mean m")
        .into_iter()
        .map(|it| it.as_f64().expect("a number"))
        .collect();
    assert!(total[0] > total[1] && total[0] > total[2], "LO only stops last: {total:?}");
    let page = std::fs::read_to_string(at.join("papers.html")).expect("written");
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let page = roxmltree::Document::parse_with_options(&page, options).expect("well-formed");
    let named = |name: &str| page.descendants().filter(|it| it.tag_name().name() == name).count();
    assert_eq!((named("h2"), named("figure")), (1, 1));
    tenuto(&["bench", "papers", "--only", "nothing"]).exits(2);
}
