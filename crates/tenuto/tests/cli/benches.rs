//! `bench`: the papers' figures as a stranger sees them.

use crate::stranger::tenuto;

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
    tenuto(&["bench", "mc-sdn"]).exits(0).says(&["1453.45", "13.135", "linear"]);
    tenuto(&["bench", "attendre-delay"]).exits(0).says(&["OpenFlow-Attendre", "OpenFlow-B"]);
}
