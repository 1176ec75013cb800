//! Bounds on a server graph, changed with intent: nothing less than what the graph gives is believed.

use crate::support;

use serde_json::{Value, json};
use support::digested;
use tenuto_certify::{Finding, certify_bounds};

fn sealed(document: Value) -> String {
    digested(document, "description")
}

/// Two servers of 1 Mbit/s in a row; 1000 bit at once take 1 ms at the first, and what 0.1 Mbit/s
/// bring in it more at the second.
fn row() -> Value {
    let server = |name| {
        json!({"name": name, "service": [{"rate_ubps": 1_000_000_000_000_i64, "latency_ps": 0}],
            "line": null, "multiplexing": "fifo", "packet_ubit": 0})
    };
    json!({"schema": "tenuto-bounds/1", "description_digest": "", "plan_hash": "",
        "description": {"name": "row", "servers": [server("one"), server("two")], "flows": [{
            "name": "f", "arrival": [{"burst_ubit": 1_000_000_000, "rate_ubps": 100_000_000_000_i64}],
            "visits": [{"server": 0, "parent": null}, {"server": 1, "parent": 0}],
            "targets": [{"name": "t", "visit": 1, "deadline_ps": null, "constant_ps": 5}]}]},
        "line_shaping": true, "server_delays_ps": [1_000_000_000, 1_100_000_000], "bursts": [],
        "bounds": [{"flow": 0, "target": 0, "delay_bound_ps": 2_100_000_005_i64, "proof": null}]})
}

fn findings(change: impl FnOnce(&mut Value)) -> Vec<Finding> {
    let mut document = row();
    change(&mut document);
    certify_bounds(&sealed(document)).expect_err("it is to be refused")
}

#[test]
fn the_row_holds_as_it_is() {
    let certificate = certify_bounds(&sealed(row())).expect("it holds");
    assert_eq!((certificate.servers_checked, certificate.bounds_checked), (2, 1));
}

#[test]
fn what_is_less_or_elsewhere_is_refused() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 22] = [
        ("a bound less", |d| d["bounds"][0]["delay_bound_ps"] = json!(2_100_000_004_i64)),
        ("a delay less", |d| d["server_delays_ps"][0] = json!(999_999_999)),
        ("a later delay less", |d| d["server_delays_ps"][1] = json!(1_099_999_999)),
        ("no rate", |d| d["description"]["servers"][0]["service"][0]["rate_ubps"] = json!(0)),
        ("a slower server", |d| {
            d["description"]["servers"][1]["service"][0]["rate_ubps"] = json!(999_999_999_999_i64);
        }),
        ("a later start", |d| {
            d["description"]["servers"][0]["service"][0]["latency_ps"] = json!(1)
        }),
        ("no service", |d| d["description"]["servers"][0]["service"] = json!([])),
        ("a larger burst", |d| {
            d["description"]["flows"][0]["arrival"][0]["burst_ubit"] = json!(1_000_000_001);
        }),
        ("no curve", |d| d["description"]["flows"][0]["arrival"] = json!([])),
        ("overload", |d| {
            d["description"]["flows"][0]["arrival"][0]["rate_ubps"] = json!(2_000_000_000_000_i64);
        }),
        ("a negative burst", |d| {
            d["description"]["flows"][0]["arrival"][0]["burst_ubit"] = json!(-1)
        }),
        ("a negative constant", |d| {
            d["description"]["flows"][0]["targets"][0]["constant_ps"] = json!(-1);
        }),
        ("a larger constant", |d| {
            d["description"]["flows"][0]["targets"][0]["constant_ps"] = json!(6)
        }),
        ("a circle of visits", |d| d["description"]["flows"][0]["visits"][0]["parent"] = json!(1)),
        ("no such server", |d| d["description"]["flows"][0]["visits"][1]["server"] = json!(2)),
        ("a server before", |d| {
            d["description"]["flows"][0]["visits"] = json!([{"server": 1, "parent": null},
                {"server": 0, "parent": 0}]);
        }),
        ("no delay of a server", |d| d["server_delays_ps"][0] = json!(null)),
        ("too few delays", |d| d["server_delays_ps"] = json!([1_000_000_000])),
        ("a bound twice", |d| {
            let again = d["bounds"][0].clone();
            d["bounds"].as_array_mut().expect("a list").push(again);
        }),
        ("no bounds", |d| d["bounds"] = json!([])),
        ("a burst of the first visit", |d| {
            d["bursts"] = json!([{"flow": 0, "visit": 0, "bucket": {"burst_ubit": 0, "rate_ubps": 0},
                "proof": {"nodes": [], "time_parts": 1, "data_parts": 1, "terms": []}}]);
        }),
        ("a burst without a proof", |d| {
            d["bursts"] = json!([{"flow": 0, "visit": 1, "bucket": {"burst_ubit": 0, "rate_ubps": 0},
                "proof": {"nodes": [{"server": 0, "next": null, "delay_ps": 0, "busy_ps": 0, "dates": []}],
                    "time_parts": 1, "data_parts": 1, "terms": []}}]);
        }),
    ];
    for (name, change) in changes {
        assert!(findings(change).iter().all(|f| f.rule != "digest"), "{name}");
    }
}

#[test]
fn what_claims_less_is_believed() {
    let mut document = row();
    document["bounds"][0]["delay_bound_ps"] = json!(i64::MAX);
    certify_bounds(&sealed(document.clone())).expect("more is no less");
    document["bounds"][0]["delay_bound_ps"] = json!(null);
    document["server_delays_ps"] = json!([null, null]);
    assert_eq!(certify_bounds(&sealed(document)).expect("nothing").unbounded, 1);
    // A flow of nothing is served by nothing.
    let mut nothing = row();
    nothing["description"]["servers"][0]["service"][0]["rate_ubps"] = json!(0);
    nothing["description"]["flows"][0]["arrival"] = json!([{"burst_ubit": 0, "rate_ubps": 0}]);
    nothing["server_delays_ps"] = json!([0, 0]);
    certify_bounds(&sealed(nothing)).expect("nothing waits");
}

#[test]
fn numbers_beyond_any_are_no_numbers() {
    let text = sealed(row());
    for number in ["1e400", "NaN", "-", "1.0", "340282366920938463463374607431768211456"] {
        let changed = text.replacen("1100000000", number, 1);
        let findings = certify_bounds(&changed).expect_err(number);
        assert_eq!((findings.len(), findings[0].rule), (1, "format"), "{number}");
    }
}

#[test]
fn a_proof_is_not_larger_than_what_is_looked_at() {
    // One flow visits 3,000 servers in a row; a tree of all of them is looked at, a flow more per
    // server is not.
    let count = 3_000;
    let server = |n: usize| {
        json!({"name": format!("s{n}"), "service": [{"rate_ubps": 1_000_000_000_000_i64,
            "latency_ps": 0}], "line": null, "multiplexing": "fifo", "packet_ubit": 0})
    };
    let flow = |name: String| {
        let visit = |n: usize| json!({"server": n, "parent": n.checked_sub(1)});
        json!({"name": name, "arrival": [{"burst_ubit": 1, "rate_ubps": 1}],
            "visits": (0..count).map(visit).collect::<Vec<_>>(), "targets": []})
    };
    let node = |n: usize| {
        json!({"server": count - 1 - n, "next": n.checked_sub(1), "delay_ps": 1_000_000,
            "busy_ps": 1_000_000, "dates": []})
    };
    let mut document = row();
    document["description"]["servers"] = (0..count).map(server).collect();
    document["description"]["flows"] = (0..12).map(|n| flow(format!("f{n}"))).collect();
    document["server_delays_ps"] = (0..count).map(|_| 1_000_000).collect();
    document["bounds"] = json!([]);
    document["bursts"] = json!([{"flow": 0, "visit": count - 1,
        "bucket": {"burst_ubit": 0, "rate_ubps": 0},
        "proof": {"nodes": (1..count).map(node).map(|mut node| {
            node["next"] = match node["next"].as_u64() { Some(0) | None => Value::Null, Some(n) => json!(n - 1) };
            node
        }).collect::<Vec<_>>(), "time_parts": 1, "data_parts": 1, "terms": []}}]);
    let findings = certify_bounds(&sealed(document)).expect_err("too large");
    assert!(
        findings.iter().any(|f| f.found.contains("larger than what is looked at")),
        "{findings:?}"
    );
}

#[test]
fn terms_cost_what_they_look_at() {
    // A thousand flows at one server, each named by itself, and sums of them again and again.
    let (flows, sums) = (1_000, 40_000);
    let mut document = row();
    let flow = &document["description"]["flows"][0];
    let of = |n: usize| {
        let mut flow = flow.clone();
        flow["name"] = json!(format!("f{n}"));
        flow["arrival"] = json!([{"burst_ubit": 1, "rate_ubps": 1}]);
        flow["targets"] = json!([]);
        flow
    };
    let all: Vec<Value> = (0..flows).map(of).collect();
    document["description"]["flows"] = json!(all);
    document["bounds"] = json!([]);
    let named = (0..flows).map(|n| json!({"monotone": [0, [n, 0], 0, 0, 0]}));
    let summed = (0..sums).map(|_| json!({"all-arrival": [0, [1, 0], 0, 0, 0, 1]}));
    let terms: Vec<Value> = named.chain(summed).collect();
    let node = json!({"server": 0, "next": null, "delay_ps": 1_000_000_000, "busy_ps": null,
        "dates": [[0, "service"]]});
    document["bursts"] = json!([{"flow": 0, "visit": 1, "bucket": {"burst_ubit": 0, "rate_ubps": 0},
        "proof": {"nodes": [node], "time_parts": 1, "data_parts": 1, "terms": terms}}]);
    let findings = certify_bounds(&sealed(document)).expect_err("too large");
    let is_spent = |it: &Finding| it.found.contains("larger than what is looked at");
    assert!(findings.iter().any(is_spent), "{findings:?}");
}

#[test]
fn names_are_of_one_server_flow_and_target_each() {
    let taken = |findings: Vec<Finding>| findings.iter().any(|it| it.to_string().contains("taken"));
    assert!(taken(findings(|it| it["description"]["servers"][1]["name"] = json!("one"))));
    assert!(taken(findings(|it| {
        let flow = it["description"]["flows"][0].clone();
        it["description"]["flows"].as_array_mut().expect("flows").push(flow);
    })));
    assert!(taken(findings(|it| {
        let target = it["description"]["flows"][0]["targets"][0].clone();
        it["description"]["flows"][0]["targets"].as_array_mut().expect("targets").push(target);
    })));
}

#[test]
fn a_line_that_carries_less_than_comes_has_nothing_behind_it() {
    let line = |rate_ubps: i64| {
        let mut document = row();
        document["description"]["servers"][0]["line"] =
            json!({"burst_ubit": 0, "rate_ubps": rate_ubps});
        certify_bounds(&sealed(document))
    };
    assert!(line(100_000_000_000).is_ok(), "as much as the flow brings");
    let findings = line(99_999_999_999).expect_err("the queue in front of it grows for ever");
    assert!(findings.iter().any(|it| it.to_string().contains("carries less")), "{findings:?}");
}
