//! One test per check that attacks on plans have led to: what used to be believed is not any more.

use crate::support;

use serde_json::{Value, json};
use support::{Flow, Net, Size, cabin, car, find, list, path, sealed};
use tenuto_certify::{Finding, certify};

/// The findings on a plan that a change was made to; the plan without it holds.
fn refused(net: &Net, change: impl FnOnce(&mut Value)) -> Vec<Finding> {
    let mut plan = net.plan();
    if let Err(findings) = certify(&sealed(plan.clone())) {
        panic!("before the change: {findings:#?}");
    }
    change(&mut plan);
    certify(&sealed(plan)).expect_err("it is to be refused")
}

#[track_caller]
fn assert_rule(findings: &[Finding], rule: &str, found: &str) {
    let is_it = |f: &&Finding| f.rule == rule && f.found.contains(found);
    assert!(findings.iter().any(|f| is_it(&f)), "{rule}: {found}: {findings:#?}");
}

fn trusted() -> Net {
    Net { babbling: 0, ..car() }
}

/// Both switches carry what is of no flow, below every flow.
fn carrying() -> (Net, impl Fn(&mut Value)) {
    let carry = |p: &mut Value| {
        p["network"]["other_traffic"] = json!({"policy": "carry", "priority": 6,
            "rate_bps": 1_000_000, "frame_bytes_max": 1518});
    };
    (car(), carry)
}

#[test]
fn a_flow_of_one_copy_has_no_skew() {
    let findings = refused(&car(), |p| p["flows"][0]["skew_bound_ps"] = json!(1));
    assert_rule(&findings, "skew", "one copy has none");
}

#[test]
fn a_second_entry_with_the_same_match_is_refused() {
    let findings = refused(&car(), |p| {
        let mut again = find(&mut p["switches"][1]["entries"], |e| e["flow"] == "b").clone();
        again["goto"] = json!(2);
        list(&mut p["switches"][1]["entries"]).push(again);
        let used = p["switches"][1]["usage"]["entries"].as_u64().expect("a count");
        p["switches"][1]["usage"]["entries"] = json!(used + 1);
    });
    assert_rule(&findings, "deployment", "a second replaces it");
}

#[test]
fn a_host_has_a_queue_for_every_class_that_it_sends() {
    let findings = refused(&car(), |p| p["hosts"][1]["ports"][0]["queues"] = json!(1));
    assert_rule(&findings, "end system", "at least 2");
}

#[test]
fn a_host_drops_nothing_at_its_port() {
    let findings = refused(&car(), |p| p["hosts"][0]["ports"][0]["buffer_bytes"] = json!(100));
    assert_rule(&findings, "end system", "never dropped there");
}

#[test]
fn a_hosts_port_is_no_trunk() {
    let findings = refused(&car(), |p| p["hosts"][0]["ports"][0]["role"] = json!("trunk"));
    assert_rule(&findings, "end system", "the port of a host");
}

#[test]
fn a_receiver_allows_the_skew_of_the_description() {
    let findings = refused(&cabin(), |p| {
        p["hosts"][1]["receivers"][0]["skew_max_ns"] = json!(8_000_000);
    });
    assert_rule(&findings, "end system", "in the description");
}

#[test]
fn a_plan_speaks_of_one_lost_link_at_a_time() {
    let findings = refused(&car(), |p| p["network"]["tolerates"]["links_lost"] = json!(2));
    assert_rule(&findings, "after the loss of a link", "one at a time");
}

#[test]
fn every_link_that_may_be_lost_is_spoken_of() {
    let findings = refused(&car(), |p| p["network"]["tolerates"]["links_lost"] = json!(1));
    assert_rule(&findings, "after the loss of a link", "nothing is said of its loss");
}

#[test]
fn every_term_of_a_change_stands_there_once() {
    let findings = refused(&car(), |p| {
        list(&mut p["mode_changes"][1]["terms"]).pop();
    });
    assert_rule(&findings, "D_mc", "one of each");
    let findings = refused(&car(), |p| {
        let quiet = p["mode_changes"][1]["terms"][0].clone();
        list(&mut p["mode_changes"][1]["terms"]).push(quiet);
    });
    assert_rule(&findings, "D_mc", "one of each");
    let findings = refused(&car(), |p| p["mode_changes"][1]["terms"][4]["name"] = json!("luck"));
    assert_rule(&findings, "D_mc", "no term of this change");
}

#[test]
fn signals_are_repeated_as_often_as_the_plan_says() {
    let findings = refused(&car(), |p| p["signal_copies"] = json!(null));
    assert_rule(&findings, "D_mc", "one more than may be lost");
}

#[test]
fn the_least_frame_is_no_larger_than_the_largest() {
    let findings = refused(&cabin(), |p| {
        p["network"]["flows"][0]["contracts"][0]["frame_bytes_min"] = json!(201);
    });
    assert_rule(&findings, "description", "no larger than the largest");
}

#[test]
fn a_monitor_of_a_trusted_host_is_as_strict_as_its_contract() {
    let mut net = trusted();
    net.delay_ps = 1_000_000_000;
    let findings = refused(&net, |p| {
        p["switches"][0]["monitors"][0]["contracts"][0]["period_ns"] = json!(9_000_000);
    });
    assert_rule(&findings, "monitor", "9998000 ns");
    let findings = refused(&net, |p| {
        let jitter = &mut p["switches"][0]["monitors"][0]["contracts"][0]["jitter_ns"];
        *jitter = json!(jitter.as_u64().expect("a time") + 1);
    });
    assert_rule(&findings, "monitor", "what exceeds the contract raises the mode");
}

#[test]
fn other_traffic_stays_below_every_flow_behind_trunks() {
    let (net, carry) = carrying();
    let with = |output: Value, precedence: u16| {
        let carry = &carry;
        move |p: &mut Value| {
            carry(p);
            list(&mut p["switches"][1]["entries"]).push(json!({"table": 2, "level": null,
                "precedence": precedence, "cookie": 0, "flow": null,
                "match": {"eth_dst": [255, 255, 255, 255, 255, 255]}, "monitor": null,
                "meter": null, "output": {"port": output}, "goto": null}));
            let used = p["switches"][1]["usage"]["entries"].as_u64().expect("a count");
            p["switches"][1]["usage"]["entries"] = json!(used + 1);
        }
    };
    let findings = refused(&net, with(json!({"port": 1, "queue": 0}), 5));
    assert_rule(&findings, "walk through the tables", "queue 0");
}

#[test]
fn other_traffic_leaves_by_ports_that_there_are() {
    let (net, carry) = carrying();
    for port in [0_u32, 77, 0xffff_fffb] {
        let findings = refused(&net, |p| {
            carry(p);
            list(&mut p["switches"][1]["groups"]).push(json!({"id": 9,
                "outputs": [{"port": 1, "queue": 6}, {"port": port, "queue": 6}]}));
        });
        assert_rule(&findings, "deployment", "outputs to ports and queues that exist");
        let findings = refused(&net, |p| {
            carry(p);
            list(&mut p["switches"][1]["entries"]).push(json!({"table": 2, "level": null,
                "precedence": 5, "cookie": 0, "flow": null,
                "match": {"eth_dst": [255, 255, 255, 255, 255, 255]}, "monitor": null,
                "meter": null, "output": {"port": {"port": port, "queue": 6}}, "goto": null}));
        });
        assert_rule(&findings, "deployment", "something that does not exist");
    }
}

#[test]
fn an_entry_counts_for_the_flow_of_its_meter() {
    let findings = refused(&car(), |p| {
        let entries = &mut p["switches"][0]["entries"];
        let own = find(entries, |e| e["flow"] == "b" && !e["meter"].is_null());
        (own["flow"], own["cookie"]) = (json!("a"), json!(1));
    });
    assert_rule(&findings, "deployment", "of another flow");
}

#[test]
fn no_host_fills_the_meter_of_another() {
    let findings = refused(&car(), |p| {
        // What host h2 sends and no entry takes is dropped, but first shown to the meter of a.
        let entries = &mut p["switches"][0]["entries"];
        let drop = find(entries, |e| e["table"] == 1 && e["match"] == json!({"in_port": 2}));
        drop["meter"] = json!(1);
    });
    assert_rule(&findings, "walk through the tables", "meter 1 judges frames of no flow");
}

#[test]
fn of_entries_of_equal_precedence_every_outcome_passes() {
    let findings = refused(&car(), |p| {
        let mut other =
            find(&mut p["switches"][1]["entries"], |e| e["flow"] == "b" && e["table"] == 2).clone();
        other["match"]["in_port"] = json!(3);
        other["output"] = json!(null);
        list(&mut p["switches"][1]["entries"]).push(other);
        let used = p["switches"][1]["usage"]["entries"].as_u64().expect("a count");
        p["switches"][1]["usage"]["entries"] = json!(used + 1);
    });
    assert_rule(&findings, "walk through the tables", "dropped");
}

#[test]
fn what_a_mode_allows_every_higher_mode_allows() {
    for (key, value) in [("period_ns", 20_000_000_u64), ("jitter_ns", 0)] {
        let findings = refused(&trusted(), |p| {
            let contracts = &mut p["network"]["flows"][2]["contracts"];
            contracts[0]["jitter_ns"] = json!(10);
            contracts[1]["jitter_ns"] = json!(10);
            contracts[0]["period_ns"] = json!(10_000_000);
            contracts[1]["period_ns"] = json!(10_000_000);
            contracts[1][key] = json!(value);
        });
        assert_rule(&findings, "description", "hosts do not know the mode");
    }
    let findings = refused(&trusted(), |p| {
        p["network"]["flows"][2]["contracts"][1]["size"] = json!({"message_bytes": 3_999});
    });
    assert_rule(&findings, "description", "hosts do not know the mode");
}

#[test]
fn a_flow_has_one_priority_in_all_modes() {
    let findings = refused(&car(), |p| {
        p["network"]["flows"][0]["contracts"][1]["priority"] = json!(1);
    });
    assert_rule(&findings, "description", "one priority in all modes");
}

#[test]
fn messages_and_frames_of_one_flow_are_not_mixed_where_it_matters() {
    let findings = refused(&trusted(), |p| {
        p["network"]["flows"][2]["contracts"][0]["size"] = json!({"frame_bytes": 500});
    });
    assert_rule(&findings, "description", "messages in all modes, or frames in all");
}

/// A flow that states a frame in one mode and a message of one frame in the other.
fn mixed() -> Net {
    let mut net = car();
    net.flows[0].contracts =
        vec![(Size::Frame(500), 10_000_000, 0), (Size::Message(1_000), 5_000_000, 0)];
    net
}

#[test]
fn a_monitor_of_frames_fits_messages_of_one_frame() {
    let mut plan = mixed().plan();
    plan["switches"][0]["monitors"][0]["kind"] = json!("frame");
    if let Err(findings) = certify(&sealed(plan.clone())) {
        panic!("{findings:#?}");
    }
    plan["switches"][0]["monitors"][0]["kind"] = json!("message");
    let findings = certify(&sealed(plan)).expect_err("frames have no number");
    assert_rule(&findings, "monitor", "messages that are numbered");
}

#[test]
fn modes_and_networks_have_names_of_their_own() {
    let findings = refused(&car(), |p| p["network"]["modes"] = json!(["LO", "LO"]));
    assert_rule(&findings, "description", "the name is taken");
    let findings = refused(&cabin(), |p| p["network"]["networks"] = json!(["A", "B", "A"]));
    assert_rule(&findings, "description", "the name is taken");
}

#[test]
fn names_are_short_and_without_marks() {
    for name in ["", "LO>HI", "a:b", "a\nb", &"x".repeat(65)] {
        let findings = refused(&car(), |p| p["network"]["modes"][0] = json!(name));
        assert_rule(&findings, "description", "1 to 64 characters");
    }
}

#[test]
fn switches_have_datapath_ids_of_their_own() {
    let findings = refused(&car(), |p| {
        p["network"]["switches"][1]["datapath_id"] = json!(1);
        p["switches"][1]["datapath_id"] = json!(1);
    });
    assert_rule(&findings, "description", "another switch's too");
}

#[test]
fn other_traffic_has_a_queue_at_every_switch() {
    let findings = refused(&car(), |p| {
        p["network"]["other_traffic"] = json!({"policy": "carry", "priority": 8,
            "rate_bps": 1_000_000, "frame_bytes_max": 1518});
    });
    assert_rule(&findings, "description", "a class below every flow that switches have");
}

#[test]
fn no_profile_stands_there_twice() {
    let text = sealed(car().plan());
    let profile = car().profile.to_string();
    let twice = text.replacen(
        &format!("\"profiles\":{{\"p\":{profile}}}"),
        &format!("\"profiles\":{{\"p\":{profile},\"p\":{profile}}}"),
        1,
    );
    assert_ne!(text, twice, "the profile is there");
    let findings = certify(&twice).expect_err("twice");
    assert_rule(&findings, "format", "`p` stands there twice");
}

#[test]
fn no_field_stands_there_twice_or_is_no_number() {
    let text = sealed(car().plan());
    for (from, to) in [
        ("\"feasible\":true", "\"feasible\":true,\"feasible\":true"),
        ("\"quiet_ns\":100000000", "\"quiet_ns\":-1"),
        ("\"quiet_ns\":100000000", "\"quiet_ns\":NaN"),
        ("\"quiet_ns\":100000000", "\"quiet_ns\":1e400"),
        ("\"quiet_ns\":100000000", "\"quiet_ns\":1e8"),
        ("\"quiet_ns\":100000000", "\"quiet_ns\":100000000.0"),
        ("\"quiet_ns\":100000000", "\"quiet_ns\":18446744073709551616"),
        ("\"quiet_ns\":100000000", "\"quiet_ns\":\"100000000\""),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(text, changed, "{from}");
        let findings = certify(&changed).expect_err(to);
        assert_eq!((findings.len(), findings[0].rule), (1, "format"), "{to}: {findings:#?}");
    }
    for end in [1, text.len() / 3, text.len() - 1] {
        let findings = certify(&text[..end]).expect_err("cut");
        assert_eq!((findings.len(), findings[0].rule), (1, "format"), "{findings:#?}");
    }
}

#[test]
fn a_plan_of_another_network_has_no_place_in_this_one() {
    let mut foreign = car();
    foreign.rate_bps = 1_000_000_000;
    foreign.delay_ps = 400_000_000;
    let findings = refused(&car(), |p| {
        let other = foreign.plan();
        for claims in ["ports", "port_rows", "flows", "switches", "hosts", "mode_changes"] {
            p[claims] = other[claims].clone();
        }
        p["network"]["links"].as_array_mut().expect("links").iter_mut().for_each(|link| {
            link["rate_bps"] = json!(5_000_000);
        });
    });
    assert_rule(&findings, "port row", "5000000 bit/s");
    let mut kept = car().plan();
    kept["network"] = foreign.plan()["network"].clone();
    kept["assumptions"] = json!([]);
    let findings = certify(&kept.to_string()).expect_err("other digests");
    assert_rule(&findings, "digest", "");
}

#[test]
fn a_finding_is_short_however_long_the_names_are() {
    let findings = refused(&car(), |p| {
        let name = "x".repeat(1 << 20);
        p["network"]["flows"][0]["name"] = json!(name);
        p["flows"][0]["flow"] = json!(name);
        p["switches"][0]["switch"] = json!(name);
    });
    let longest = findings.iter().flat_map(|f| [f.place.len(), f.claim.len(), f.found.len()]).max();
    assert!(longest < Some(1_100), "{longest:?}");
}

/// A line of switches, each with `extra` in its profile.
fn line(switches: usize, extra: &[(&str, Value)]) -> Net {
    let mut net = car();
    net.modes = vec!["normal"];
    net.babbling = 0;
    net.hosts = path(&["h1", "h2"]);
    net.switches = (0..switches).map(|s| (format!("s{s}"), None)).collect();
    let mut nodes = vec!["h1".to_owned()];
    nodes.extend((0..switches).map(|s| format!("s{s}")));
    nodes.push("h2".into());
    net.links = nodes.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    net.flows = vec![Flow {
        name: "one",
        vl: Some(1),
        contracts: vec![(Size::Frame(100), 128_000_000, 0)],
        copies: vec![],
        paths: vec![vec![nodes]],
        deadline_ns: 3_000_000_000,
    }];
    for (key, value) in extra {
        net.profile[key] = value.clone();
    }
    net
}

fn processor() -> Value {
    json!({"base_ps": 1_000_000, "per_byte_ps": 0, "per_entry_ps": {"port": 0, "tp_dst": 0,
        "dl_dst": 0, "masked_nw_dst": 0, "five_tuple": 0, "all": 0}, "look_up": "linear",
        "per_output_ps": 0, "spread_percent": 0, "link": null, "receive": "fifo",
        "control": {"time_ps": 0, "period_ps": 1_000_000_000}})
}

/// The claims and rows that a processor needs, 2 us at every entrance.
fn with_processors(net: &Net) -> Value {
    let mut plan = net.plan();
    let count = net.switches.len();
    let mut claims = Vec::new();
    for s in 0..count {
        claims.push(json!({"mode": {"steady": 0}, "entry": {"node": format!("s{s}"), "port": 1},
            "delay_ps": 2_000_000}));
    }
    plan["processors"] = json!(claims);
    let row = |s| {
        json!({"switch": format!("s{s}"), "port": null, "mode": {"steady": 0},
        "load_ppm": 1_000_000, "backlog_bound": null, "buffer_limit": null, "unit": "frames"})
    };
    plan["processor_rows"] = json!((0..count).map(row).collect::<Vec<_>>());
    for flow in list(&mut plan["flows"]) {
        let bound = flow["delay_bound_ps"].as_u64().expect("a bound") + 2_000_000 * count as u64;
        flow["delay_bound_ps"] = json!(bound);
        let copy = &mut flow["copies"][0];
        copy["delay_bound_ps"] = json!(bound);
        for hop in list(&mut copy["hops"]).iter_mut().skip(1) {
            hop["latency_ps"] = json!(hop["latency_ps"].as_u64().expect("a time") + 2_000_000);
        }
    }
    plan
}

#[test]
fn a_long_line_of_processors_is_followed_without_recursion() {
    let net = line(900, &[("processor", processor()), ("receive_buffer", json!(null))]);
    let plan = sealed(with_processors(&net));
    // A thread with a small stack: whatever goes as deep as the way is long would not end well.
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let thread = small.spawn(move || certify(&plan).map(|c| c.inequalities));
    let found = thread.expect("a thread").join().expect("it comes back");
    assert_eq!(found.map_err(|f| f[0].to_string()), Ok(901 + 900));
}

#[test]
fn where_other_traffic_is_carried_no_shared_processor_has_a_bound() {
    let net = line(2, &[("processor", processor()), ("receive_buffer", json!(null))]);
    let mut plan = with_processors(&net);
    if let Err(findings) = certify(&sealed(plan.clone())) {
        panic!("{findings:#?}");
    }
    plan["network"]["other_traffic"] = json!({"policy": "carry", "priority": 6,
        "rate_bps": 1_000_000, "frame_bytes_max": 1518});
    let findings = certify(&sealed(plan)).expect_err("other traffic takes time of processors");
    assert_rule(&findings, "a processor that the ports share", "other traffic takes its time too");
}

#[test]
fn what_comparing_takes_has_a_number_for_every_kind_of_match() {
    let net = line(1, &[("processor", processor()), ("receive_buffer", json!(null))]);
    let mut plan = with_processors(&net);
    let costs = &mut plan["network"]["profiles"]["p"]["processor"]["per_entry_ps"];
    costs.as_object_mut().expect("a map").remove("all");
    let findings = certify(&sealed(plan)).expect_err("the dearest is missing");
    assert_rule(&findings, "format", "all");
}

#[test]
fn a_line_that_hands_over_at_whole_nanoseconds_bunches_what_it_carries() {
    // 2.5 Gbit/s: 0.4 ns a bit. At the second port nothing but the line in front bounds the flow:
    // one frame of 87 B on the wire, and what a nanosecond brings.
    let mut net = line(1, &[("latency_ns_max", json!(0))]);
    net.rate_bps = 2_500_000_000;
    net.flows[0].contracts[0] = (Size::Message(20_000), 100_000_000, 0);
    let mut plan = net.plan();
    let behind = find(&mut plan["ports"], |claim| claim["port"]["node"] == "s0");
    behind["delay_ps"] = json!(1);
    let findings = certify(&sealed(plan)).expect_err("too short");
    // 1538 B on the wire take 4921.6 ns; 2.5 bits come sooner, up to 1 ns; 1 ns is the pacer's own.
    assert_rule(&findings, "delay of a class (x >= F(x))", "at least 4923600 ps");
}

#[test]
fn tables_that_fan_out_end_in_a_finding() {
    // Two tables of 2,000 entries each, whose sets of headers multiply.
    let findings = refused(&car(), |p| {
        let entries = list(&mut p["switches"][0]["entries"]);
        let entry = |table: u8, matching: Value| {
            json!({"table": table, "level": null, "precedence": 50, "cookie": 0, "flow": null,
                "match": matching, "monitor": null, "meter": null, "output": null,
                "goto": (table < 2).then_some(table + 1)})
        };
        for n in 0..2_000_u16 {
            let [high, low] = n.to_be_bytes();
            entries.push(entry(0, json!({"eth_dst": [9, 9, 9, 9, high, low]})));
            entries.push(entry(1, json!({"udp_dst": n})));
        }
    });
    assert_rule(&findings, "limits of the checker", "steps");
}

#[test]
fn a_flow_whose_jitter_grows_with_the_mode_is_watched() {
    // Nobody else would see that the host follows the higher contract.
    let findings = refused(&trusted(), |p| {
        p["network"]["flows"][2]["contracts"][1]["jitter_ns"] = json!(1_000);
    });
    assert_rule(&findings, "monitor", "one monitor where it is watched");
}

/// The least delay of class 0 in mode LO from s1 to s2, in words, of a plan that holds.
fn least_on_the_trunk(mut plan: Value) -> String {
    if let Err(findings) = certify(&sealed(plan.clone())) {
        panic!("{findings:#?}");
    }
    let trunk = find(&mut plan["ports"], |claim| {
        claim["mode"] == json!({"steady": 0})
            && claim["port"] == json!({"node": "s1", "port": 3})
            && claim["class"] == 0
    });
    trunk["delay_ps"] = json!(1);
    let findings = certify(&sealed(plan)).expect_err("too short");
    let of_class = |f: &&Finding| f.rule == "delay of a class (x >= F(x))";
    findings.into_iter().find(|f| of_class(&f)).expect("one").found
}

/// Flow a is watched at its second switch instead of its first.
fn watched_late(net: &Net, jitter_ns: u64) -> Value {
    let mut plan = net.plan();
    plan["network"]["flows"][0]["monitor_at"] = json!(["s2"]);
    let mut monitor = list(&mut plan["switches"][0]["monitors"]).remove(0);
    for contract in list(&mut monitor["contracts"]) {
        contract["jitter_ns"] = json!(jitter_ns);
    }
    list(&mut plan["switches"][1]["monitors"]).push(monitor);
    let watch = find(&mut plan["switches"][0]["entries"], |e| !e["monitor"].is_null());
    let mut elsewhere = watch.clone();
    watch["monitor"] = json!(null);
    elsewhere["match"]["in_port"] = json!(3);
    list(&mut plan["switches"][1]["entries"]).push(elsewhere);
    let used = plan["switches"][1]["usage"]["entries"].as_u64().expect("a count");
    plan["switches"][1]["usage"]["entries"] = json!(used + 1);
    plan
}

#[test]
fn a_monitor_that_no_frame_is_shown_to_enforces_nothing() {
    let honest = watched_late(&car(), 2_100_000);
    let mut phantom = honest.clone();
    phantom["switches"][0]["monitors"] = car().plan()["switches"][0]["monitors"].clone();
    assert_eq!(least_on_the_trunk(phantom), least_on_the_trunk(honest));
}

#[test]
fn what_the_first_switch_does_not_watch_comes_by_the_highest_contract() {
    let late = least_on_the_trunk(watched_late(&trusted(), 2_040_000));
    let mut always = trusted();
    always.flows[0].contracts[0] = always.flows[0].contracts[1];
    assert_eq!(late, least_on_the_trunk(always.plan()));
    assert_ne!(late, least_on_the_trunk(trusted().plan()));
}
