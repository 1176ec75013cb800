//! What the reading of network files refuses, the checker refuses in the description of a plan: one
//! change for each rule.

use crate::support;

use serde_json::{Value, json};
use support::{cabin, car, list, sealed};
use tenuto_certify::certify;

type Change = fn(&mut Value);

/// A list of this many copies of a value.
fn many(count: usize, of: impl Fn(usize) -> Value) -> Value {
    (0..count).map(of).collect()
}

/// The flow of that number.
fn flow(plan: &mut Value, number: usize) -> &mut Value {
    &mut plan["network"]["flows"][number]
}

fn processor(plan: &mut Value) -> &mut Value {
    let per_entry = json!({"port": 1, "tp_dst": 1, "dl_dst": 1, "masked_nw_dst": 1,
        "five_tuple": 1, "all": 1});
    let profile = &mut plan["network"]["profiles"]["p"];
    profile["processor"] = json!({"base_ps": 1_000, "per_byte_ps": 1, "per_entry_ps": per_entry,
        "look_up": {"by-mask": 4}, "per_output_ps": 1, "spread_percent": 1, "link": null,
        "receive": "fifo", "control": {"time_ps": 0, "period_ps": 1}});
    &mut profile["processor"]
}

/// Changes of the car: two modes, one network, no copies.
fn of_the_car() -> Vec<(&'static str, Change)> {
    vec![
        ("a mode is one word", |p| p["network"]["modes"][0] = json!("L O")),
        ("at most 8 modes", |p| p["network"]["modes"] = many(9, |i| json!(format!("m{i}")))),
        ("at most two networks", |p| p["network"]["networks"] = json!(["A", "B", "C"])),
        ("a switch belongs to a network", |p| p["network"]["networks"] = json!(["A", "B"])),
        ("there is no such network", |p| p["network"]["switches"][0]["network"] = json!("A")),
        ("datapath ids are above zero", |p| p["network"]["switches"][0]["datapath_id"] = json!(0)),
        ("a controller of a switch that there is not", |p| {
            p["network"]["controllers"] = json!([controller("c1", &["s9"])]);
        }),
        ("a controller of a host", |p| {
            p["network"]["controllers"] = json!([controller("c1", &["h1"])]);
        }),
        ("a switch with two controllers", |p| {
            p["network"]["controllers"] =
                json!([controller("c1", &["s1"]), controller("c2", &["s1", "s2"])]);
        }),
        ("a switch that is managed twice by one", |p| {
            p["network"]["controllers"] = json!([controller("c1", &["s1", "s1"])]);
        }),
        ("controllers share the names of nodes", |p| {
            p["network"]["controllers"] = json!([controller("s1", &["s1"])]);
        }),
        ("controllers have names of their own", |p| {
            p["network"]["controllers"] = json!([controller("c1", &["s1"]), controller("c1", &[])]);
        }),
        ("a controller's name", |p| {
            p["network"]["controllers"] = json!([controller("c:1", &["s1"])]);
        }),
        ("port 0", |p| p["network"]["links"][4]["a"]["port"] = json!(0)),
        ("a reserved port", |p| p["network"]["links"][4]["a"]["port"] = json!(65_280)),
        ("a line slower than 1 kbit/s", |p| p["network"]["links"][4]["rate_bps"] = json!(999)),
        ("a host with two links", |p| {
            let link = json!({"a": {"node": "h1", "port": 2}, "b": {"node": "s1", "port": 9},
                "rate_bps": 100_000_000, "propagation_ns": 100});
            list(&mut p["network"]["links"]).push(link);
        }),
        ("virtual link 0", |p| flow(p, 0)["vl"] = json!(0)),
        ("a number for a virtual link", |p| flow(p, 0)["matching"] = json!("vl")),
        ("UDP port 0", |p| flow(p, 0)["udp_port"] = json!(0)),
        ("a message without room for its stamp", |p| {
            for mode in [0, 1] {
                flow(p, 2)["contracts"][mode]["size"] = json!({"message_bytes": 15});
            }
        }),
        ("a message above 16 MB", |p| {
            flow(p, 2)["contracts"][1]["size"] = json!({"message_bytes": 16_000_001});
        }),
        ("a payload of nothing", |p| {
            flow(p, 1)["contracts"][0]["size"] = json!({"payload_bytes": 0});
        }),
        ("a frame of less than its headers", |p| {
            flow(p, 1)["contracts"][0]["size"] = json!({"frame_bytes": 17});
        }),
        ("a release jitter of a period", |p| {
            flow(p, 1)["contracts"][0]["jitter_ns"] = json!(20_000_000);
        }),
        ("a BAG of 20 ms", |p| {
            flow(p, 1)["vl"] = json!(7);
        }),
        ("a BAG of 256 ms", |p| {
            flow(p, 1)["vl"] = json!(7);
            flow(p, 1)["contracts"][0]["period_ns"] = json!(256_000_000);
        }),
        ("a virtual link of several frames", |p| {
            flow(p, 2)["vl"] = json!(7);
            for mode in [0, 1] {
                flow(p, 2)["contracts"][mode]["period_ns"] = json!(64_000_000);
            }
        }),
        ("a flow that alone overloads its line", |p| {
            flow(p, 1)["contracts"][0]["period_ns"] = json!(100_000);
        }),
        ("a message that no meter lets through at once", |p| {
            p["network"]["profiles"]["p"]["meter_burst_max_bytes"] = json!(1_000);
        }),
        ("a class that switches have", |p| flow(p, 1)["contracts"][0]["priority"] = json!(8)),
        ("monitored at a switch that there is not", |p| flow(p, 0)["monitor_at"] = json!(["s9"])),
        ("monitored at a host", |p| flow(p, 0)["monitor_at"] = json!(["h1"])),
        ("a copy on a network that there is not", |p| flow(p, 0)["copies"] = json!(["A"])),
        ("a skew of one copy", |p| flow(p, 0)["skew_max_ns"] = json!(1_000)),
        ("a deadline of zero", |p| flow(p, 0)["targets"][0]["deadline_ns"][0] = json!(0)),
        ("a route for a copy that there is not", |p| {
            flow(p, 0)["targets"][0]["routes"] = json!([null, null]);
        }),
        ("a target that no path leads to", |p| list(&mut p["network"]["links"]).truncate(4)),
        ("other traffic in frames below 64 B", |p| {
            p["network"]["other_traffic"] = json!({"policy": "carry", "priority": 7,
                "rate_bps": 1_000_000, "frame_bytes_max": 63});
        }),
        ("other traffic at no rate", |p| {
            p["network"]["other_traffic"] = json!({"policy": "carry", "priority": 7,
                "rate_bps": 0, "frame_bytes_max": 1_518});
        }),
        ("babbling hosts", |p| p["network"]["tolerates"]["babbling_hosts"] = json!(4_001)),
        ("lost signals", |p| p["network"]["tolerates"]["lost_signals"] = json!(17)),
        ("lost links", |p| p["network"]["tolerates"]["links_lost"] = json!(2)),
        ("a stated quiet window below the plan's", |p| {
            p["network"]["mode_return"]["quiet_ns"] = json!(99_000_000);
        }),
        ("a profile by another name", |p| p["network"]["profiles"]["p"]["name"] = json!("q")),
        ("a profile without queues", |p| {
            p["network"]["profiles"]["p"]["queues_per_port"] = json!(0);
        }),
        ("more queues than a port can have", |p| {
            p["network"]["profiles"]["p"]["queues_per_port"] = json!(65);
        }),
        ("more entries than are counted", |p| {
            p["network"]["profiles"]["p"]["entries_max"] = json!(1_000_000_001);
        }),
        ("a step of meters of zero", |p| {
            p["network"]["profiles"]["p"]["meter_rate_step_bps"] = json!(0);
        }),
        ("a burst step of meters of zero", |p| {
            p["network"]["profiles"]["p"]["meter_burst_step_bytes"] = json!(0);
        }),
        ("a burst that no band states", |p| {
            p["network"]["profiles"]["p"]["meter_burst_max_bytes"] = json!(536_870_911_876_u64);
        }),
        ("least and largest latency swapped", |p| {
            p["network"]["profiles"]["p"]["latency_ns_min"] = json!(20_001);
        }),
        ("a buffer beyond 64 bits", |p| {
            p["network"]["profiles"]["p"]["buffer_bytes_per_port"] = json!(u64::MAX);
        }),
        ("a processor behind a link that is not one queue", |p| {
            let it = processor(p);
            it["link"] = json!({"rate_bps": 1_000_000_000, "tag_bytes": 0});
            it["receive"] = json!({"round-robin": 4});
        }),
        ("a processor that takes no time", |p| {
            let it = processor(p);
            (it["base_ps"], it["per_byte_ps"]) = (json!(0), json!(0));
        }),
        ("a processor without masks", |p| processor(p)["look_up"] = json!({"by-mask": 0})),
        ("visits of more frames than any port receives", |p| {
            processor(p)["receive"] = json!({"round-robin": 1_000_001});
        }),
        ("visits of no frame", |p| processor(p)["receive"] = json!({"round-robin": 0})),
        ("a link to the processor without rate", |p| {
            processor(p)["link"] = json!({"rate_bps": 0, "tag_bytes": 0});
        }),
        ("a spread of all", |p| processor(p)["spread_percent"] = json!(100)),
        ("a share of control in no time", |p| {
            processor(p)["control"] = json!({"time_ps": 1, "period_ps": 0});
        }),
        ("a receive buffer of nothing", |p| receive_buffer(p, &json!("frames"), 0)),
        ("cells of nothing", |p| receive_buffer(p, &json!({"cells": 0}), 24)),
        ("more cells than are counted", |p| {
            receive_buffer(p, &json!({"cells": 128}), 2_000_000_000)
        }),
    ]
}

fn receive_buffer(plan: &mut Value, unit: &Value, count: u64) {
    plan["network"]["profiles"]["p"]["receive_buffer"] =
        json!({"count": count, "unit": unit, "is_per_port": false, "has_place_in_service": false});
}

fn controller(name: &str, manages: &[&str]) -> Value {
    json!({"name": name, "manages": manages, "channel": "out-of-band", "when_lost": "secure"})
}

/// Changes of the cabin: one mode, networks A and B, a virtual link with a copy on each.
fn of_the_cabin() -> Vec<(&'static str, Change)> {
    vec![
        ("a flow on no network", |p| flow(p, 0)["copies"] = json!([])),
        ("two copies on one network", |p| flow(p, 0)["copies"] = json!(["A", "A"])),
        ("copies that never arrive at once", |p| flow(p, 0)["skew_max_ns"] = json!(0)),
        ("networks that share a link", |p| {
            let link = json!({"a": {"node": "sa", "port": 9}, "b": {"node": "sb", "port": 9},
                "rate_bps": 100_000_000, "propagation_ns": 100});
            list(&mut p["network"]["links"]).push(link);
        }),
        ("a link between hosts, of no network", |p| {
            let link = json!({"a": {"node": "h1", "port": 9}, "b": {"node": "h2", "port": 9},
                "rate_bps": 100_000_000, "propagation_ns": 100});
            list(&mut p["network"]["links"]).push(link);
        }),
        ("a host with two links to a network", |p| {
            let link = json!({"a": {"node": "h1", "port": 9}, "b": {"node": "sa", "port": 9},
                "rate_bps": 100_000_000, "propagation_ns": 100});
            list(&mut p["network"]["links"]).push(link);
        }),
        ("a switch of no network", |p| p["network"]["switches"][0]["network"] = json!(null)),
        ("a virtual link of two flows", |p| {
            let mut again = flow(p, 0).clone();
            (again["name"], again["matching"]) = (json!("vl1 again"), json!("five-tuple"));
            list(&mut p["network"]["flows"]).push(again);
        }),
        ("two flows that look alike", |p| {
            let mut again = flow(p, 0).clone();
            again["name"] = json!("vl1 again");
            list(&mut p["network"]["flows"]).push(again);
        }),
        ("no path on a network", |p| {
            list(&mut p["network"]["links"]).remove(1);
        }),
        ("a stated BAG of 3 ms", |p| flow(p, 0)["contracts"][0]["period_ns"] = json!(3_000_000)),
    ]
}

/// Words that there are no others of.
fn words() -> Vec<(&'static str, Change)> {
    vec![
        ("in band", |p| {
            let mut one = controller("c1", &["s1"]);
            one["channel"] = json!("in-band");
            p["network"]["controllers"] = json!([one]);
        }),
        ("standalone", |p| {
            let mut one = controller("c1", &["s1"]);
            one["when_lost"] = json!("standalone");
            p["network"]["controllers"] = json!([one]);
        }),
        ("kept out of mode", |p| flow(p, 0)["out_of_mode"] = json!("keep")),
    ]
}

#[test]
fn what_no_network_may_say_no_plan_may_say() {
    for (plan, changes, rule) in [
        (car().plan(), of_the_car(), "description"),
        (cabin().plan(), of_the_cabin(), "description"),
        (car().plan(), words(), "format"),
    ] {
        let plan: Value = serde_json::from_str(&sealed(plan)).expect("JSON");
        certify(&sealed(plan.clone())).expect("it holds");
        for (what, change) in changes {
            let mut changed = plan.clone();
            change(&mut changed);
            let findings = certify(&sealed(changed)).expect_err(what);
            let rules = [rule, "limits of the checker"];
            let is_found = findings.iter().any(|it| rules.contains(&it.rule));
            assert!(is_found, "{what}: {:?}", findings.iter().take(3).collect::<Vec<_>>());
        }
    }
}

#[test]
fn what_networks_may_say_plans_may_say() {
    let changes: [(&str, Change); 5] = [
        ("a controller of both", |p| {
            p["network"]["controllers"] = json!([controller("c1", &["s1", "s2"])]);
        }),
        ("a controller of none", |p| p["network"]["controllers"] = json!([controller("c1", &[])])),
        ("the quiet window of the plan", |p| {
            p["network"]["mode_return"]["quiet_ns"] = p["quiet_ns"].clone();
        }),
        ("a UDP port that is the automatic one", |p| flow(p, 0)["udp_port"] = json!(20_000)),
        ("monitored at its first switch", |p| flow(p, 0)["monitor_at"] = json!(["s1"])),
    ];
    for (what, change) in changes {
        let mut plan = car().plan();
        change(&mut plan);
        if let Err(findings) = certify(&sealed(plan)) {
            panic!("{what}: {}", findings[0]);
        }
    }
}
