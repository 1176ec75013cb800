//! Slow lines farther back bound what faster ones bring (theory, "Lines farther back"). Least delays
//! by hand: 1538 B on the wire are 12304 bit, and ten of them every 10 ms are 12.304 Mbit/s.

use crate::support;

use serde_json::{Value, json};
use support::{Flow, Net, Size, car, list, path, sealed};
use tenuto_certify::{Finding, certify};

const SERVICE: &str = "delay of a class (x >= F(x))";
const FAST: u64 = 1_000_000_000;
/// Ten frames at 100 Mbit/s.
const HOST_PS: u64 = 1_230_400_000;

/// Two hosts send ten frames each over `switches` in a line to a third.
fn line(switches: usize, latency_ns_max: u64) -> Net {
    let mut net = car();
    net.modes = vec!["normal"];
    net.babbling = 0;
    net.hosts.truncate(3);
    net.switches = (1..=switches).map(|s| (format!("s{s}"), None)).collect();
    let trunk = |s: usize| (format!("s{s}"), format!("s{}", s + 1));
    net.links = (1..switches).map(trunk).collect();
    net.links.extend([
        ("h1".into(), "s1".into()),
        ("h2".into(), "s1".into()),
        (format!("s{switches}"), "h3".into()),
    ]);
    let flow = |name, source: &str| {
        let mut nodes = vec![source.to_owned()];
        nodes.extend((1..=switches).map(|s| format!("s{s}")));
        nodes.push("h3".into());
        Flow {
            name,
            vl: None,
            contracts: vec![(Size::Message(14_600), 10_000_000, 0)],
            copies: vec![],
            paths: vec![vec![nodes]],
            deadline_ns: 100_000_000,
        }
    };
    net.flows = vec![flow("x", "h1"), flow("y", "h2")];
    net.profile["latency_ns_max"] = json!(latency_ns_max);
    net.profile["clock_tolerance_ppm"] = json!(0);
    net.delay_ps = 3_000_000_000;
    net
}

/// The plan with other rates of the links between these nodes.
fn with_rates(net: &Net, rates: &[(&str, &str, u64)]) -> Value {
    support::with_rates(net, |_, link| {
        let is = |a: &str, b: &str| link["a"]["node"] == a && link["b"]["node"] == b;
        rates.iter().find(|(a, b, _)| is(a, b) || is(b, a)).map(|rate| rate.2)
    })
}

fn claim<'p>(plan: &'p mut Value, node: &str) -> &'p mut Value {
    let mut claims = list(&mut plan["ports"]).iter_mut();
    claims.find(|claim| claim["port"]["node"] == node).expect("a claim")
}

/// Claims by node, and bounds that are just their sums.
fn claiming(plan: &mut Value, claims: &[(&str, u64)], latency_ns_max: u64) {
    for (node, delay_ps) in claims {
        for claim in list(&mut plan["ports"]) {
            if claim["port"]["node"] == *node {
                claim["delay_ps"] = json!(delay_ps);
            }
        }
    }
    for row in list(&mut plan["flows"]) {
        let mut bound = 0;
        for (number, hop) in list(&mut row["copies"][0]["hops"]).iter_mut().enumerate() {
            let node = hop["port"]["node"].as_str().expect("a name");
            let claimed = claims.iter().find(|(name, _)| *name == node).expect("a claim").1;
            hop["queueing_ps"] = json!(claimed);
            bound += claimed + 100_000 + if number > 0 { latency_ns_max * 1_000 } else { 0 };
        }
        row["delay_bound_ps"] = json!(bound);
        row["copies"][0]["delay_bound_ps"] = json!(bound);
    }
}

/// What is found of the claim of a node when it says one picosecond.
fn least(mut plan: Value, node: &str) -> String {
    claim(&mut plan, node)["delay_ps"] = json!(1);
    let findings = certify(&sealed(plan)).expect_err("too short");
    let at = |f: &&Finding| f.rule == SERVICE && f.place.starts_with(&format!("{node}:"));
    findings.into_iter().find(|f| at(&f)).expect("one of the claim").found
}

fn at_least(ps: u64) -> String {
    format!("at least {ps} ps")
}

/// Every claim, and every bound, less by a picosecond.
fn assert_least(plan: &Value) {
    if let Err(findings) = certify(&sealed(plan.clone())) {
        panic!("{findings:#?}");
    }
    for number in 0..plan["ports"].as_array().expect("claims").len() {
        let mut less = plan.clone();
        let ps = less["ports"][number]["delay_ps"].as_u64().expect("a time");
        less["ports"][number]["delay_ps"] = json!(ps - 1);
        let findings = certify(&sealed(less)).expect_err("a picosecond too little");
        let found = findings.iter().any(|f| f.rule == SERVICE && f.found == at_least(ps));
        assert!(found, "{number}: {findings:#?}");
    }
    for number in 0..plan["flows"].as_array().expect("rows").len() {
        for copy in [false, true] {
            let mut less = plan.clone();
            let row = &mut less["flows"][number];
            let row = if copy { &mut row["copies"][0] } else { row };
            row["delay_bound_ps"] = json!(row["delay_bound_ps"].as_u64().expect("a time") - 1);
            let findings = certify(&sealed(less)).expect_err("a picosecond too little");
            assert!(findings.iter().any(|f| f.rule == "flow bound"), "{findings:#?}");
        }
    }
}

/// Behind the hosts each bucket is 123040 + 12.304·1230.4 = 138178.8416 bit. At s1 the lines let one
/// frame each in at once, 24608 bit, which take 24.608 µs at 1 Gbit/s; the buckets grow to
/// 138481.618432 bit. At s2 the trunk lets 12304 bit + 1 Gbit/s·t in, but each host's line no more
/// than 12304 bit + 100 Mbit/s·(t + 24.608 µs) = 14764.8 bit + 100 Mbit/s·t, which meets the bucket
/// after t* = 123716.818432 bit / 87.696 Mbit/s. The queue is longest then: 2·14764.8 bit take
/// 295.296 µs, and t* comes on top.
const TWO_HOPS: [(&str, u64); 4] =
    [("h1", HOST_PS), ("h2", HOST_PS), ("s1", 24_608_000), ("s2", BEHIND_TRUNK_PS)];
const MEET_PS: u64 = 123_716_818_432_000_u64.div_ceil(87_696);
const BEHIND_TRUNK_PS: u64 = 295_296_000 + MEET_PS;

fn two_hops() -> Value {
    let mut plan = with_rates(&line(2, 0), &[("s1", "s2", FAST)]);
    claiming(&mut plan, &TWO_HOPS, 0);
    plan
}

#[test]
fn what_a_slow_line_has_spread_a_fast_one_does_not_bring_together() {
    assert_least(&two_hops());
    // Without lines both buckets come at once.
    let mut plan = two_hops();
    plan["line_shaping"] = json!(false);
    claim(&mut plan, "s1")["delay_ps"] = json!(24_608_000);
    let both_ubit = 2 * 138_481_618_432_u64;
    assert_eq!(least(plan, "s2"), at_least(both_ubit.div_ceil(100)));
}

#[test]
fn a_delay_that_forgets_a_hop_between_is_refused() {
    // One frame and the line's rate from the first instant on, as if s1 delayed all alike.
    let forgetful = 246_080_000 + 126_177_618_432_000_u64.div_ceil(87_696);
    assert!(forgetful < BEHIND_TRUNK_PS);
    let mut plan = two_hops();
    claim(&mut plan, "s2")["delay_ps"] = json!(forgetful);
    let findings = certify(&sealed(plan)).expect_err("a hop is missing");
    assert!(findings.iter().any(|f| f.found == at_least(BEHIND_TRUNK_PS)), "{findings:#?}");
    // A larger claim between allows more bunching: the same claim behind it no longer holds.
    let mut plan = two_hops();
    claim(&mut plan, "s1")["delay_ps"] = json!(24_609_000);
    let grown = 138_481_630_736_u64 - 14_764_900_000;
    let later = 295_298_000 + (grown * 1_000).div_ceil(87_696);
    assert_eq!(least(plan, "s2"), at_least(later));
}

/// Switches take up to 1 µs, and what varies there counts at every hop: at s1 2·(12304 + 100) bit are
/// 24.808 µs; at s2 the trunk's frame and its 1 µs bound, 13304 bit, 13.304 µs. At s3 the lines of the
/// hosts are 1 + 24.808 + 1 + 13.304 + 1 µs late: 16415.2 bit each, and the buckets
/// 123040 + 12.304·1271.512 = 138684.683648 bit.
#[test]
fn every_hop_between_counts_with_its_delay_and_its_switch() {
    let mut plan = with_rates(&line(3, 1_000), &[("s1", "s2", FAST), ("s2", "s3", FAST)]);
    let meet = 122_269_483_648_000_u64.div_ceil(87_696);
    let last = 328_304_000 + meet;
    let claims =
        [("h1", HOST_PS), ("h2", HOST_PS), ("s1", 24_808_000), ("s2", 13_304_000), ("s3", last)];
    claiming(&mut plan, &claims, 1_000);
    assert_least(&plan);
    // The second trunk half as fast is a slower line on its own: the first brings no more than
    // before, and the hosts' lines bound both.
    let mut slower = with_rates(&line(3, 1_000), &[("s1", "s2", FAST), ("s2", "s3", FAST / 2)]);
    claiming(&mut slower, &claims, 1_000);
    // 2·(12304 bit + 100 Mbit/s·26.808 µs) + 200 Mbit/s·t meet 13304 bit + 1 Gbit/s·t after
    // 16665.6 bit / 800 Mbit/s = 20.832 µs; 13304 bit + 20832 bit are there, less 10416 bit sent.
    assert_eq!(least(slower, "s2"), at_least(47_440_000));
}

#[test]
fn without_a_claim_between_a_line_farther_back_bounds_nothing() {
    let mut plan = with_rates(&line(2, 0), &[("s1", "s2", FAST)]);
    claiming(&mut plan, &TWO_HOPS, 0);
    plan["feasible"] = json!(false);
    list(&mut plan["ports"]).retain(|claim| claim["port"]["node"] != "s1");
    assert_eq!(least(plan, "s2"), "unbounded");
}

/// In the fluid model no frame comes at once: 100 Mbit/s each from the hosts wait nowhere at s1, and at
/// s2 they meet buckets of 138178.8416 bit after 138178.8416 bit / 87.696 Mbit/s; with the line as much.
#[test]
fn fluids_are_spread_too() {
    let mut plan = with_rates(&line(2, 0), &[("s1", "s2", FAST)]);
    claiming(&mut plan, &TWO_HOPS, 0);
    plan["model"] = json!("fluid");
    plan["feasible"] = json!(false);
    claim(&mut plan, "s1")["delay_ps"] = json!(0);
    assert_eq!(least(plan, "s2"), at_least(138_178_841_600_000_u64.div_ceil(87_696)));
}

/// What waits at s2 by hand: 2·14764.8 bit, 100 Mbit/s·t*, and the frame that is being sent.
#[test]
fn backlogs_are_as_spread_as_what_comes() {
    let mut plan = two_hops();
    let row = list(&mut plan["port_rows"]).iter_mut().find(|row| row["port"]["node"] == "s2");
    row.expect("a row")["backlog_bound_bits"] = json!(1);
    let findings = certify(&sealed(plan)).expect_err("too little");
    let bits = (295_296_u64 * 87_696 + 123_716_818_432).div_ceil(87_696 * 10) + 12_304;
    let found = format!("at least {bits} bit");
    assert!(findings.iter().any(|f| f.rule == "backlog" && f.found == found), "{findings:#?}");
}

/// Two flows of one host, over one line: x of class 0 sends 520 B on the wire, late by up to 5 ms, y of
/// class 1 full frames. What x may bunch depends on its own frames and delays alone.
#[test]
fn a_class_sees_the_frames_and_delays_of_its_own_and_above() {
    let mut net = line(2, 0);
    net.flows[0].contracts[0] = (Size::Frame(500), 1_000_000, 0);
    net.flows[1].contracts[0] = (Size::Message(14_600), 10_000_000, 1);
    net.flows[1].paths[0][0][0] = "h1".into();
    let mut plan = with_rates(&net, &[("s1", "s2", FAST)]);
    plan["feasible"] = json!(false);
    plan["network"]["flows"][0]["contracts"][0]["jitter_ns"] = json!(5_000_000);
    let with = |plan: &mut Value, node: &str, class: u8, ps: u64| {
        for claim in list(&mut plan["ports"]) {
            if claim["port"]["node"] == node && claim["class"] == class {
                claim["delay_ps"] = json!(ps);
            }
        }
    };
    // 4160 + 4.16·5000 = 24960 bit at once, behind one frame of y: 372.64 µs. At s1 the line of the
    // host is the group itself, its frame the largest of both classes.
    with(&mut plan, "h1", 0, 372_640_000);
    with(&mut plan, "s1", 0, 24_608_000);
    with(&mut plan, "s1", 1, 900_000_000);
    // 24960 + 4.16·397.248 bit = 26612.55168 bit come no faster than 4160 bit +
    // 100 Mbit/s·(t + 24.608 µs) at 100 Mbit/s: 6620.8 bit behind 12304 bit of y.
    let found = least(plan, "s2");
    assert_eq!(found, at_least(189_248_000));
}

/// Between a processor and its ports runs a line of 1 Gbit/s: the lines of 100 Mbit/s in front of it are
/// the next, late by what the processor varies.
#[test]
fn lines_in_front_of_a_processors_own_bound_what_that_brings() {
    let mut net = line(1, 0);
    net.profile["processor"] = json!({"base_ps": 1_000_000, "per_byte_ps": 0,
        "per_entry_ps": {"port": 0, "tp_dst": 0, "dl_dst": 0, "masked_nw_dst": 0, "five_tuple": 0,
            "all": 0},
        "look_up": "linear", "per_output_ps": 0, "spread_percent": 0,
        "link": {"rate_bps": FAST, "tag_bytes": 0}, "receive": "fifo",
        "control": {"time_ps": 0, "period_ps": 1_000_000_000}});
    net.profile["receive_buffer"] = json!(null);
    let mut plan = net.plan();
    plan["feasible"] = json!(false);
    let entry = |port: u32| {
        json!({"mode": {"steady": 0}, "entry": {"node": "s1", "port": port},
            "delay_ps": 101_000_000})
    };
    plan["processors"] = json!([entry(1), entry(2)]);
    for host in ["h1", "h2"] {
        claim(&mut plan, host)["delay_ps"] = json!(HOST_PS);
    }
    // A frame of 64 B takes 1 µs at least, so that P varies by 100 µs: buckets of
    // 123040 + 12.304·1330.4 = 139409.2416 bit, lines of 12304 bit + 100 Mbit/s·(t + 100 µs), which
    // are 22304 bit; 446.08 µs for both.
    let meet = (117_105_241_600_u64 * 1_000).div_ceil(87_696);
    assert_eq!(least(plan, "s1"), at_least(446_080_000 + meet));
}

/// Whole messages of trusted hosts: as for buckets, but that 123040 bit are there until the next message is
/// due, and it never is in the busy period: t* = (123040 − 14764.8) bit / 100 Mbit/s.
#[test]
fn messages_are_spread_too() {
    let mut plan = two_hops();
    plan["staircases"] = json!(true);
    plan["witnesses"]["busy"] = json!(line(2, 0).busy());
    assert_eq!(least(plan, "s2"), at_least(295_296_000 + 1_082_752_000));
}

/// Two ways from one line to one port are two sets: how late they are to one another nobody knows.
#[test]
fn other_ways_between_are_other_sets() {
    // Both flows come from h1 over s1, one by s2, one by s3, to s4 and s5.
    let mut net = line(2, 0);
    net.switches = (1..=5).map(|s| (format!("s{s}"), None)).collect();
    let trunks = [("s1", "s2"), ("s1", "s3"), ("s2", "s4"), ("s3", "s4"), ("s4", "s5")];
    net.links = trunks.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
    for (host, switch) in [("h1", "s1"), ("h2", "s1"), ("h3", "s5")] {
        net.links.push((host.into(), switch.into()));
    }
    net.flows[0].paths = vec![vec![path(&["h1", "s1", "s2", "s4", "s5", "h3"])]];
    net.flows[1].paths = vec![vec![path(&["h1", "s1", "s3", "s4", "s5", "h3"])]];
    let mut plan = with_rates(&net, &trunks.map(|(a, b)| (a, b, FAST)));
    plan["feasible"] = json!(false);
    for claim in list(&mut plan["ports"]) {
        claim["delay_ps"] = match claim["port"]["node"].as_str().expect("a name") {
            // 20 frames at the host; behind it one frame at each port, at 1 Gbit/s; 30 us at s4.
            "h1" => json!(2 * HOST_PS),
            "s4" => json!(30_000_000),
            _ => json!(12_304_000),
        };
    }
    // Buckets of 123040 + 12.304·(2460.8 + 24.608 + 30) = 153989.580032 bit; lines of 12304 bit +
    // 100 Mbit/s·(t + 54.608 µs), 17764.8 bit each.
    let meet = (153_989_580_032_u64 - 17_764_800_000) * 1_000;
    assert_eq!(least(plan.clone(), "s5"), at_least(355_296_000 + meet.div_ceil(87_696)));
    // By one way they share the line, and it is all that bounds them: one frame.
    let one = plan["routes"][0]["paths"][0]["ports"].clone();
    plan["routes"][1]["paths"][0]["ports"] = one;
    assert_eq!(least(plan, "s5"), at_least(177_648_000));
}

#[test]
fn a_certificate_says_that_lines_farther_back_count() {
    let says = |plan: Value| {
        let certificate = certify(&sealed(plan)).unwrap_or_else(|f| panic!("{f:#?}"));
        certificate.assumptions.iter().any(|text| text.contains("farther back"))
    };
    assert!(says(two_hops()));
    assert!(!says(line(2, 0).plan()));
}
