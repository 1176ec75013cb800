//! Contracts that no end system could keep, and what the reader says of them.

use tenuto_model::{MemorySources, read_network};

const CAR: &str = include_str!("../../../../networks/vehicle.yaml");

/// Every problem of the vehicle with one change.
fn problems_of(from: &str, to: &str) -> String {
    assert!(CAR.contains(from), "{from}");
    let text = CAR.replacen(from, to, 1);
    match read_network(&MemorySources::new().with("car.yaml", &text), "car.yaml") {
        Ok(_) => String::new(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn a_message_has_room_for_its_stamp() {
    let said = problems_of("message: 8 kB", "message: 8 B");
    assert!(said.contains("no room for its stamp") && said.contains("message >= 16 B"), "{said}");
    assert_eq!(problems_of("message: 8 kB", "message: 16 B"), "");
}

#[test]
fn a_higher_mode_allows_what_a_lower_one_does() {
    for (from, to, key) in [
        ("message: 154 kB", "message: {LO: 154 kB, HI: 10 kB}", "message"),
        ("period: {LO: 200 ms, HI: 22 ms}", "period: {LO: 20 ms, HI: 22 ms}", "period"),
        ("jitter: 0.5 ms", "jitter: {LO: 0.5 ms, HI: 0.1 ms}", "jitter"),
    ] {
        let said = problems_of(from, to);
        assert!(said.contains(&format!("HI allows less than LO: {key}")), "{said}");
        assert!(said.contains("a host does not know the mode"), "{said}");
    }
}
