//! Forty ways to get a network wrong: each is told, with its place and what would fit.

use tenuto_model::{MemorySources, read_network};

const CAR: &str = include_str!("../../../../networks/vehicle.yaml");

fn said(text: &str) -> String {
    let sources = MemorySources::new().with("car.yaml", text);
    read_network(&sources, "car.yaml")
        .map_or_else(|e| e.to_string(), |(_, w)| format!("accepted {w}"))
}

#[test]
fn one_change_and_the_car_is_refused() {
    for (from, to) in [
        ("name: vehicle", "nmae: vehicle"),
        ("message: 8 kB", "message: 8"),
        ("message: 8 kB", "message: 8 KB"),
        ("message: 8 kB", "message: -8 kB"),
        ("message: 8 kB", "message: 8e99 kB"),
        ("message: 8 kB", "message: 99999999999999999999 kB"),
        ("message: 8 kB", "message: 0 B"),
        ("message: 8 kB", "message: NaN kB"),
        ("message: 8 kB", "payload: 2000 B"),
        ("message: 8 kB", "frame: 1519 B"),
        ("message: 8 kB", "frame: 10 B"),
        ("message: 8 kB", "message: 8 kB, frame: 64 B"),
        ("message: 8 kB, ", ""),
        ("message: 8 kB", "message: 8 kB, message: 9 kB"),
        ("message: 8 kB", "message: [8 kB]"),
        ("message: 8 kB", "message: {LO: 8 kB, MID: 9 kB}"),
        ("message: 8 kB", "message: *anchor"),
        ("message: 8 kB", "message: &a 8 kB, jitter: *a"),
        ("message: 8 kB", "message: !!binary 8kB"),
        ("period: 25 ms", "period: 0 ms"),
        ("period: 25 ms", "period: 25 m"),
        ("period: 25 ms", "period: 1 ns"),
        ("period: 25 ms", "bag: 20 ms, vl: 1"),
        ("period: 25 ms", "period: 25 ms, deadline: 0 ms"),
        ("period: 25 ms", "period: 25 ms, jitter: 26 ms"),
        ("period: 25 ms", "period: 25 ms, priority: 99"),
        ("targets: [d1]", "targets: [d9]"),
        ("targets: [d1]", "targets: [s1]"),
        ("targets: [d1]", "targets: [sw1]"),
        ("targets: [d1]", "targets: []"),
        ("level: HI", "level: HIGH"),
        ("modes: [LO, HI]", "modes: [LO, LO]"),
        ("modes: [LO, HI]", "modes: []"),
        ("  - {ends: [sw3, d1]}\n", ""),
        ("  - {ends: [sw3, d1]}\n", "  - {ends: [sw3, sw3]}\n"),
        ("  - {ends: [sw3, d1]}\n", "\t- {ends: [sw3, d1]}\n"),
        ("rate: 100 Mbit/s", "rate: 0 bit/s"),
        ("rate: 100 Mbit/s", "rate: 100 Mbps"),
        ("sw3: {profile: tenuto}", "sw3: {profile: tenutto}"),
        ("sw3: {profile: tenuto}", "sw3: {profile: ./car.yaml}"),
        ("tolerates: {babbling_hosts: 1", "tolerates: {babbling_hosts: many"),
        ("tenuto: 1", "tenuto: 2"),
        ("tenuto: 1", "tenuto: 1\n<<: *x"),
    ] {
        assert!(CAR.contains(from), "{from}");
        let said = said(&CAR.replacen(from, to, 1));
        println!("=== {from} -> {to}\n{said}");
        assert!(said.starts_with("error") || said.contains("\nerror"), "{to}: {said}");
        assert!(said.contains("car.yaml:"), "{to} has no place: {said}");
    }
}

#[test]
fn line_ends_and_marks_of_other_systems_change_nothing() {
    assert!(said(&CAR.replace('\n', "\r\n")).starts_with("accepted"));
    assert!(said(&format!("\u{feff}{CAR}")).starts_with("accepted"));
}

#[test]
fn a_port_that_another_flow_has_without_writing_it_is_told_with_one_that_is_free() {
    // LIDAR and CAM have one source and one target, and ports 20000 and 20001 by their places.
    for replaced in [
        CAR.replace("  CAM:\n", "  CAM:\n    udp_port: 20000\n"),
        CAR.replace("LIDAR:  {", "LIDAR:  {udp_port: 20001, "),
    ] {
        let told = said(&replaced);
        let line =
            1 + replaced.lines().position(|line| line.contains("udp_port")).expect("it is there");
        assert!(told.contains("cannot be told apart"), "{told}");
        assert!(told.contains(&format!(":{line},")), "line {line}: {told}");
        assert!(told.contains("20003"), "a port that is free: {told}");
    }
    let own = CAR.replace("  CAM:\n", "  CAM:\n    udp_port: 20001\n");
    assert!(said(&own).starts_with("accepted"), "{}", said(&own));
    let free = CAR.replace("  CAM:\n", "  CAM:\n    udp_port: 20003\n");
    assert!(said(&free).starts_with("accepted"), "{}", said(&free));
}

#[test]
fn other_traffic_has_a_rate_that_meters_state() {
    let with = |rate: &str| {
        CAR.replace("profile: tenuto", "profile: steps").replace(
            "hosts: {s1",
            &format!(
                "profiles: {{steps: {{like: tenuto, meter_rate_step: 3 kbit/s}}}}\n\
                 other_traffic: {{priority: 7, rate: {rate}, frame: 1518 B}}\nhosts: {{s1"
            ),
        )
    };
    let told = said(&with("1500 bit/s"));
    assert!(told.contains("no rate below 3 kbit/s"), "{told}");
    assert!(said(&with("3 kbit/s")).starts_with("accepted"), "{}", said(&with("3 kbit/s")));
}

#[test]
fn at_most_64_switches_change_modes_together() {
    let with = |count: usize| {
        let switches: String =
            (4..=count).map(|n| format!(", x{n}: {{profile: tenuto}}")).collect();
        CAR.replace("sw3: {profile: tenuto}", &format!("sw3: {{profile: tenuto}}{switches}"))
    };
    let told = said(&with(65));
    assert!(told.contains("at most 64"), "{told}");
    assert!(said(&with(64)).starts_with("accepted"), "{}", said(&with(64)));
}
