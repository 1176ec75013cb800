//! Plans that hold, and how tight the checker is.

use crate::support;

use serde_json::json;
use support::{Flow, Size, cabin, car, list, path, sealed};
use tenuto_certify::{Certificate, Finding, certify};

fn show(findings: &[Finding]) -> String {
    findings.iter().map(|f| format!("{f}\n")).collect()
}

/// Delays hold, and a picosecond less of any one does not.
fn assert_least<const N: usize>(
    least_ps: [u64; N],
    with: impl Fn([u64; N]) -> Result<Certificate, Vec<Finding>>,
) {
    with(least_ps).unwrap_or_else(|f| panic!("{}", show(&f)));
    for (place, least) in least_ps.iter().enumerate() {
        let mut less = least_ps;
        less[place] -= 1;
        let findings = with(less).expect_err("a picosecond too little");
        let expected = format!("at least {least} ps");
        assert!(findings.iter().any(|f| f.found == expected), "{}", show(&findings));
    }
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
    let with = |[host, merged]: [u64; 2]| {
        let mut plan = net.plan();
        for claim in list(&mut plan["ports"]) {
            let delay = if claim["port"]["node"] == "s1" { merged } else { host };
            claim["delay_ps"] = json!(delay);
        }
        certify(&sealed(plan))
    };
    assert_least([HOST_PS, MERGED_PS], with);
}

/// A raise that overloads its port until the swap, by hand, without line shaping at 100 Mbit/s.
///
/// `x` sends 12304 bit every 1 ms in LO and every 0.2 ms in HI, `y` every 0.25 ms in LO only. At
/// its host each takes 123.04 µs, so that behind it the buckets are, in bit (x in LO by what its monitor
/// bears with, a nanosecond more):
/// x in LO 12304 + 1513.896464, x in HI 12304 + 7569.4208, y 12304 + 6055.53664.
///
/// * LO: 32177.433104 bit, 321.77433104 µs; HI: 19873.4208 bit, 198.734208 µs.
/// * W = 32177.433104 bit / (100 − 61.52) Mbit/s; D_update = 50 µs; no signal has to travel. D_q = 200 ns
///   times 118 frames of 672 bit: 44482 bit of backlog (32177.433104 + 12304, whole bits up), and what two
///   lines bring in 50 µs, 2 · (12304 + 5000) bit.
/// * LO>HI: 38232.95744 bit at once and 10.736 Mbit/s more than the line until Θ = W + D_mc.
#[test]
fn the_least_delay_of_a_raise_is_exact_to_the_picosecond() {
    const HOST_PS: u64 = 123_040_000;
    const BUSY_PS: u64 = 3_217_743_310_400_u64.div_ceil(3_848);
    const THETA_PS: u64 = BUSY_PS + 50_000_000 + 118 * 200_000;
    const RAISE_PS: u64 = (382_329_574_400_000 + 107_360 * THETA_PS).div_ceil(1_000_000);
    // Its own busy period: x goes on at 61.52 Mbit/s, y at 49.216 Mbit/s until Θ.
    const RAISE_BUSY_PS: u64 = (38_232_957_440_000 + 49_216 * THETA_PS).div_ceil(38_480);
    let mut net = car();
    net.babbling = 0;
    net.switches.truncate(1);
    net.hosts.truncate(3);
    net.links = ["h1", "h2", "h3"].map(|h| (h.to_owned(), "s1".to_owned())).to_vec();
    net.profile["latency_ns_max"] = json!(0);
    net.profile["clock_tolerance_ppm"] = json!(0);
    let flow = |name, source, periods: &[u64]| Flow {
        name,
        vl: None,
        contracts: periods.iter().map(|period| (Size::Frame(1_518), *period, 0)).collect(),
        copies: vec![],
        paths: vec![vec![path(&[source, "s1", "h3"])]],
        deadline_ns: 10_000_000,
    };
    net.flows = vec![flow("x", "h1", &[1_000_000, 200_000]), flow("y", "h2", &[250_000])];
    let with_busy = |(busy_ps, raise_busy_ps): (u64, u64), [low, high, raise]: [u64; 3]| {
        let mut plan = net.plan();
        plan["line_shaping"] = json!(false);
        for claim in list(&mut plan["ports"]) {
            let delay = match (&claim["port"]["node"], &claim["mode"]["steady"]) {
                (node, _) if node != "s1" => HOST_PS,
                (_, level) if level == 0 => low,
                (_, level) if level == 1 => high,
                _ => raise,
            };
            claim["delay_ps"] = json!(delay);
        }
        for busy in list(&mut plan["witnesses"]["busy"]) {
            if busy["port"]["node"] == "s1" && busy["mode"]["steady"] == 0 {
                busy["busy_ps"] = json!(busy_ps);
            }
            if busy["port"]["node"] == "s1" && !busy["mode"]["raise"].is_null() {
                busy["busy_ps"] = json!(raise_busy_ps);
            }
        }
        for row in list(&mut plan["port_rows"]) {
            row["rate_bps"] = json!(100_000_000);
        }
        let monitor = &mut plan["switches"][0]["monitors"][0];
        for (contract, period) in monitor["contracts"]
            .as_array_mut()
            .expect("a list")
            .iter_mut()
            .zip([1_000_000, 200_000])
        {
            (contract["period_ns"], contract["jitter_ns"]) =
                (json!(period), json!(HOST_PS / 1_000));
        }
        certify(&sealed(plan))
    };
    let (low, high) = (321_774_332, 198_734_208);
    let least = (BUSY_PS, RAISE_BUSY_PS);
    assert_least([low, high, RAISE_PS], |claims| with_busy(least, claims));
    // A busy period that is a picosecond shorter is none; one that is longer leaves what ends in the way for longer.
    for shorter in [(BUSY_PS - 1, RAISE_BUSY_PS), (BUSY_PS, RAISE_BUSY_PS - 1)] {
        let shorter = with_busy(shorter, [low, high, RAISE_PS]).expect_err("it may last longer");
        assert!(shorter.iter().all(|it| it.rule.starts_with("busy period")), "{}", show(&shorter));
    }
    let longer = (BUSY_PS + 1_000_000, 2 * RAISE_BUSY_PS);
    let longer = with_busy(longer, [low, high, RAISE_PS]).expect_err("Θ is later");
    assert!(longer.iter().any(|it| it.rule.starts_with("delay of a class")), "{}", show(&longer));
}

/// Strict priority at one host, 100 Mbit/s, two flows of 12304 bit every 1 ms, by hand: class 0
/// waits for one frame of class 1, (12304 + 12304) bit · 10 ns; class 1 for what of class 0 comes
/// meanwhile, 24608 bit / (100 − 12.304) Mbit/s.
#[test]
fn the_least_delays_of_two_classes_are_exact_to_the_picosecond() {
    const ABOVE_PS: u64 = 246_080_000;
    const BELOW_PS: u64 = 24_608_000_000_000_u64.div_ceil(87_696);
    let mut net = car();
    net.modes = vec!["normal"];
    net.babbling = 0;
    net.switches.truncate(1);
    net.hosts.truncate(2);
    net.links = ["h1", "h2"].map(|h| (h.to_owned(), "s1".to_owned())).to_vec();
    net.profile["clock_tolerance_ppm"] = json!(0);
    let flow = |name, class| Flow {
        name,
        vl: None,
        contracts: vec![(Size::Frame(1_518), 1_000_000, class)],
        copies: vec![],
        paths: vec![vec![path(&["h1", "s1", "h2"])]],
        deadline_ns: 10_000_000,
    };
    net.flows = vec![flow("x", 0), flow("y", 1)];
    let with = |[above, below]: [u64; 2]| {
        let mut plan = net.plan();
        for claim in list(&mut plan["ports"]) {
            if claim["port"]["node"] == "h1" {
                claim["delay_ps"] = json!(if claim["class"] == 0 { above } else { below });
            }
        }
        certify(&sealed(plan))
    };
    assert_least([ABOVE_PS, BELOW_PS], with);
}

/// Hosts do not know the mode. `x` of class 0 is admitted in LO only, but its host goes on sending
/// it in HI, where `y` of class 1 waits for it as computed above; behind the switch it is gone, and
/// `y` alone takes 12304 bit plus what its bucket grew by, r·(D + 0), over a line of 100 Mbit/s that
/// hands over one frame at once: 123.04 µs.
#[test]
fn what_a_mode_does_not_admit_still_waits_at_its_source() {
    const BELOW_PS: u64 = 24_608_000_000_000_u64.div_ceil(87_696);
    const ALONE_PS: u64 = 123_040_000;
    let mut net = car();
    net.babbling = 0;
    net.switches.truncate(1);
    net.hosts.truncate(2);
    net.links = ["h1", "h2"].map(|h| (h.to_owned(), "s1".to_owned())).to_vec();
    net.profile["clock_tolerance_ppm"] = json!(0);
    net.profile["latency_ns_max"] = json!(0);
    let flow = |name, class, modes| Flow {
        name,
        vl: None,
        contracts: vec![(Size::Frame(1_518), 1_000_000, class); modes],
        copies: vec![],
        paths: vec![vec![path(&["h1", "s1", "h2"])]],
        deadline_ns: 10_000_000,
    };
    net.flows = vec![flow("x", 0, 1), flow("y", 1, 2)];
    let with = |[host, switch]: [u64; 2]| {
        let mut plan = net.plan();
        for claim in list(&mut plan["ports"]) {
            if claim["mode"]["steady"] == 1 && claim["class"] == 1 {
                let delay = if claim["port"]["node"] == "h1" { host } else { switch };
                claim["delay_ps"] = json!(delay);
            }
        }
        certify(&sealed(plan))
    };
    assert_least([BELOW_PS, ALONE_PS], with);
}
