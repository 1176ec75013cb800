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

#[test]
fn a_flow_is_watched_on_its_way() {
    let cam = "    priority: 1\n";
    let said = problems_of(cam, "    priority: 1\n    monitor_at: [sw2, sw4]\n");
    assert!(said.contains("there is no switch `sw4`"), "{said}");
    let side = CAR.replacen(
        "sw3: {profile: tenuto}}",
        "sw3: {profile: tenuto}, sw4: {profile: tenuto}}",
        1,
    );
    let side =
        side.replacen("  - {ends: [sw2, d2]}", "  - {ends: [sw2, d2]}\n  - {ends: [sw2, sw4]}", 1);
    let said = |at: &str| {
        let text = side.replacen(cam, &format!("{cam}    monitor_at: {at}\n"), 1);
        let read = read_network(&MemorySources::new().with("car.yaml", &text), "car.yaml");
        read.map_or_else(|problems| problems.to_string(), |_| String::new())
    };
    assert_eq!(said("[sw3, sw4]"), "");
    let off = said("[sw4]");
    assert!(off.contains("car.yaml:36, flows.CAM.monitor_at"), "{off}");
    assert!(off.contains("no way of flow `CAM` crosses sw4"), "{off}");
    assert!(off.contains("the first on its way is sw1"), "{off}");
    // Written for all flows: STREAM has nothing to watch, and CAM crosses it.
    let all = "flow: {match: five-tuple}";
    assert_eq!(problems_of(all, "flow: {match: five-tuple, monitor_at: [sw3]}"), "");
}
