//! Plans that hold, and how tight the checker is.

mod support;

use serde_json::json;
use support::{Flow, Size, cabin, car, path, sealed};
use tenuto_certify::{Finding, certify};

fn show(findings: &[Finding]) -> String {
    findings.iter().map(|f| format!("{f}\n")).collect()
}

#[test]
fn a_plan_with_modes_and_babbling_sources_is_certified() {
    for babbling in [0, 1] {
        let mut net = car();
        net.babbling = babbling;
        let certificate = certify(&sealed(net.plan())).unwrap_or_else(|f| panic!("{}", show(&f)));
        assert_eq!(certificate.modes, ["LO", "HI", "LO>HI"]);
        assert_eq!(certificate.flows_checked, 3);
        assert!(certificate.feasible);
        assert!(certificate.inequalities > 20, "{certificate}");
    }
}

#[test]
fn every_way_of_counting_at_a_meter_is_certified() {
    for counts in ["wire", "frame", "l2-without-fcs"] {
        let mut net = car();
        net.profile["meter_counts"] = json!(counts);
        certify(&sealed(net.plan())).unwrap_or_else(|f| panic!("{counts}: {}", show(&f)));
    }
}

#[test]
fn copies_on_two_networks_are_certified() {
    let certificate = certify(&sealed(cabin().plan())).unwrap_or_else(|f| panic!("{}", show(&f)));
    assert_eq!(certificate.ports_checked, 4);
}

#[test]
fn white_space_does_not_matter() {
    let compact = sealed(car().plan());
    let value: serde_json::Value = serde_json::from_str(&compact).expect("JSON");
    let pretty = serde_json::to_string_pretty(&value).expect("JSON");
    assert_eq!(certify(&compact).expect("holds"), certify(&pretty).expect("holds"));
}

#[test]
fn an_infeasible_plan_is_certified_for_what_it_claims() {
    let mut net = car();
    net.flows[0].deadline_ns = 1_000;
    let mut plan = net.plan();
    assert!(certify(&sealed(plan.clone())).is_err());
    plan["feasible"] = json!(false);
    let certificate = certify(&sealed(plan)).unwrap_or_else(|f| panic!("{}", show(&f)));
    assert!(!certificate.feasible);
}

/// Two hosts send 1518 B frames to a third over an ideal switch at 100 Mbit/s, by hand:
///
/// At a host the frame takes 12304 bit · 10 ns = 123.04 µs. Behind it the bucket of each flow is
/// 12304 bit + 12.304 Mbit/s · 123.04 µs = 13817.88416 bit and its link lets through
/// 12304 bit + 100 Mbit/s·t; they meet after t* = 1513.88416 bit / 87.696 Mbit/s. The queue is
/// longest then: 2·(12304 bit + C·t*) − C·t* = 24608 bit + 151388416/87696 bit, which take
/// 246.08 µs + 17.262864… µs.
#[test]
fn the_least_delay_of_two_merging_flows_is_exact_to_the_picosecond() {
    const HOST_PS: u64 = 123_040_000;
    const MERGED_PS: u64 = 246_080_000 + (151_388_416_u64 * 10_000).div_ceil(87_696);
    let mut net = car();
    net.modes = vec!["normal"];
    net.babbling = 0;
    net.switches.truncate(1);
    net.hosts.truncate(3);
    net.links = ["h1", "h2", "h3"].map(|h| (h.to_owned(), "s1".to_owned())).to_vec();
    net.profile["latency_ns_max"] = json!(0);
    net.profile["clock_tolerance_ppm"] = json!(0);
    let flow = |name, source| Flow {
        name,
        vl: None,
        contracts: vec![(Size::Frame(1_518), 1_000_000, 0)],
        copies: vec![],
        paths: vec![vec![path(&[source, "s1", "h3"])]],
        deadline_ns: 10_000_000,
    };
    net.flows = vec![flow("x", "h1"), flow("y", "h2")];
    let with = |host: u64, merged: u64| {
        let mut plan = net.plan();
        for claim in plan["ports"].as_array_mut().expect("a list") {
            let delay = if claim["port"]["node"] == "s1" { merged } else { host };
            claim["delay_ps"] = json!(delay);
        }
        certify(&sealed(plan))
    };
    with(HOST_PS, MERGED_PS).unwrap_or_else(|f| panic!("{}", show(&f)));
    for (host, merged, least) in
        [(HOST_PS - 1, MERGED_PS, HOST_PS), (HOST_PS, MERGED_PS - 1, MERGED_PS)]
    {
        let findings = with(host, merged).expect_err("a picosecond too little");
        assert!(
            findings.iter().any(|f| f.found == format!("at least {least} ps")),
            "{}",
            show(&findings)
        );
    }
}
