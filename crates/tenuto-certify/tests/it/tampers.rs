//! Every change to a plan that holds is found: by the digests, and, where somebody made those
//! anew, by what is rebuilt.

use crate::support;

use serde_json::{Value, json};
use support::{cabin, car, find, list, sealed};
use tenuto_certify::certify;

struct Tamper {
    name: &'static str,
    /// The rule that must be among the findings.
    rule: &'static str,
    apply: fn(&mut Value),
}

const SERVICE: &str = "delay of a class (x >= F(x))";
const WALK: &str = "walk through the tables";

fn remove(value: &mut Value, is: impl Fn(&Value) -> bool) {
    let list = list(value);
    let at = list.iter().position(is).expect("there is one");
    list.remove(at);
}

fn tampers() -> Vec<Tamper> {
    let one = |name, rule, apply| Tamper { name, rule, apply };
    vec![
        one("lowered delay of a class", SERVICE, |p| p["ports"][0]["delay_ps"] = json!(1_000)),
        one("lowered delay in a raise", SERVICE, |p| {
            let claim = find(&mut p["ports"], |c| !c["mode"]["raise"].is_null());
            claim["delay_ps"] = json!(10_000_000);
        }),
        one("removed claim", SERVICE, |p| remove(&mut p["ports"], |_| true)),
        one("claim made twice", SERVICE, |p| {
            let copy = p["ports"][0].clone();
            p["ports"].as_array_mut().expect("a list").push(copy);
        }),
        one("lowered burst of a hop", "flow bound", |p| {
            p["flows"][0]["copies"][0]["hops"][1]["burst_bits"] = json!(1);
        }),
        one("lowered latency of a hop", "flow bound", |p| {
            p["flows"][0]["copies"][0]["hops"][1]["latency_ps"] = json!(1);
        }),
        one("lowered bound of a flow", "flow bound", |p| {
            p["flows"][0]["delay_bound_ps"] = json!(1_000_000);
        }),
        one("lowered bound of a copy", "flow bound", |p| {
            p["flows"][0]["copies"][0]["delay_bound_ps"] = json!(1_000_000);
        }),
        one("raised least delay", "flow bound", |p| {
            p["flows"][0]["copies"][0]["delay_min_ps"] = json!(900_000_000);
        }),
        one("lowered bound after a return", "flow bound", |p| {
            let row = find(&mut p["flows"], |r| !r["mode"]["return"].is_null());
            row["delay_bound_ps"] = json!(5);
        }),
        one("removed row", "flow bound", |p| remove(&mut p["flows"], |_| true)),
        one("changed deadline of a row", "deadline", |p| {
            p["flows"][0]["deadline_ns"] = json!(20_000_000);
        }),
        one("shortened deadline of the description", "deadline", |p| {
            p["network"]["flows"][0]["targets"][0]["deadline_ns"] = json!([1_000_000, 1_000_000]);
            find(&mut p["flows"], |r| r["target"] == "h3")["deadline_ns"] = json!(1_000_000);
        }),
        one("larger frames in the description", "meter", |p| {
            p["network"]["flows"][1]["contracts"][0]["period_ns"] = json!(10_000_000);
        }),
        one("removed interfering route", "route", |p| {
            remove(&mut p["routes"], |r| r["flow"] == "b");
        }),
        one("route refused in a feasible plan", "route", |p| {
            remove(&mut p["routes"], |r| r["flow"] == "b");
            p["refusals"] = json!([{"resource": "route", "flows": ["b"]}]);
        }),
        one("disconnected route", "route", |p| {
            p["routes"][0]["paths"][0]["ports"].as_array_mut().expect("ports").remove(1);
        }),
        one("route against the user's wish", "route", |p| {
            p["network"]["flows"][1]["targets"][0]["routes"] = json!([["s2", "s1"]]);
        }),
        one("raised capacity of a port row", "port row", |p| {
            p["port_rows"][0]["capacity_bps"] = json!(1_000_000_000);
        }),
        one("lowered rate of a port row", "port row", |p| p["port_rows"][0]["rate_bps"] = json!(1)),
        one("lowered backlog", "backlog", |p| p["port_rows"][0]["backlog_bound_bits"] = json!(1)),
        one("buffer too small for the backlog", "backlog", |p| {
            p["network"]["profiles"]["p"]["buffer_bytes_per_port"] = json!(1_000);
        }),
        one("overloaded link with a finite bound", "overload has no finite bound", |p| {
            for link in p["network"]["links"].as_array_mut().expect("links") {
                link["rate_bps"] = json!(100_000);
            }
        }),
        one("raised rate and burst of a meter", SERVICE, |p| {
            let meter = &mut p["switches"][0]["meters"][0];
            (meter["rate_bps"], meter["burst_bytes"]) = (json!(90_000_000), json!(11_250_000));
        }),
        one("lowered rate of a meter", "meter", |p| {
            p["switches"][0]["meters"][0]["rate_bps"] = json!(10_000);
        }),
        one("lowered burst of a meter", "meter", |p| {
            p["switches"][0]["meters"][0]["burst_bytes"] = json!(125);
        }),
        one("meter between two steps", "limits of the device", |p| {
            p["network"]["profiles"]["p"]["meter_burst_step_bytes"] = json!(125_000);
        }),
        one("burst that no meter has", "limits of the device", |p| {
            p["network"]["profiles"]["p"]["meter_burst_max_bytes"] = json!(100);
        }),
        one("removed meter", "meter", |p| remove(&mut p["switches"][0]["meters"], |_| true)),
        one("meter of another flow", WALK, |p| {
            let entries = &mut p["switches"][0]["entries"];
            find(entries, |e| e["table"] == 1 && e["flow"] == "a")["meter"] = json!(2);
        }),
        one("meter skipped", WALK, |p| {
            let entries = &mut p["switches"][0]["entries"];
            find(entries, |e| e["table"] == 1 && e["flow"] == "a")["meter"] = json!(null);
        }),
        one("monitor skipped", WALK, |p| {
            let entries = &mut p["switches"][0]["entries"];
            find(entries, |e| e["table"] == 0 && e["flow"] == "a")["monitor"] = json!(null);
        }),
        one("monitor behind the meter", WALK, |p| {
            let entries = &mut p["switches"][0]["entries"];
            let watch = find(entries, |e| e["table"] == 0 && e["flow"] == "a");
            let monitor = watch["monitor"].take();
            find(entries, |e| e["table"] == 2 && e["flow"] == "a")["monitor"] = monitor;
        }),
        one("lengthened period of a monitor", "monitor", |p| {
            p["switches"][0]["monitors"][0]["contracts"][0]["period_ns"] = json!(10_000_000);
        }),
        one("shortened jitter of a monitor", "monitor", |p| {
            p["switches"][0]["monitors"][0]["contracts"][0]["jitter_ns"] = json!(1_000);
        }),
        one("wrong size of a monitor", "monitor", |p| {
            p["switches"][0]["monitors"][0]["contracts"][0]["bytes_max"] = json!(500);
        }),
        one("monitor that lets too much through", SERVICE, |p| {
            for contract in
                p["switches"][0]["monitors"][0]["contracts"].as_array_mut().expect("list")
            {
                contract["jitter_ns"] = json!(900_000_000_000_u64);
            }
        }),
        one("monitor that counts otherwise", "monitor", |p| {
            p["switches"][0]["monitors"][0]["kind"] = json!("message");
        }),
        one("swapped queue", WALK, |p| {
            let entries = &mut p["switches"][1]["entries"];
            find(entries, |e| e["table"] == 2 && e["flow"] == "b")["output"]["port"]["queue"] =
                json!(0);
        }),
        one("swapped queue in a group", WALK, |p| {
            p["switches"][1]["groups"][0]["outputs"][0]["queue"] = json!(1);
        }),
        one("another port", WALK, |p| {
            let entries = &mut p["switches"][1]["entries"];
            find(entries, |e| e["table"] == 2 && e["flow"] == "b")["output"]["port"]["port"] =
                json!(2);
        }),
        one("a target more in a group", WALK, |p| {
            let outputs = p["switches"][1]["groups"][0]["outputs"].as_array_mut().expect("list");
            outputs.push(json!({"port": 3, "queue": 0}));
        }),
        one("removed forwarding entry", WALK, |p| {
            remove(&mut p["switches"][1]["entries"], |e| e["table"] == 2 && e["flow"] == "b");
        }),
        one("opened drop entry", WALK, |p| {
            let entries = &mut p["switches"][0]["entries"];
            find(entries, |e| e["precedence"] == 10 && e["table"] == 1)["goto"] = json!(2);
        }),
        one("police entry open to every port", WALK, |p| {
            let entries = &mut p["switches"][0]["entries"];
            let police = find(entries, |e| e["table"] == 1 && e["flow"] == "a");
            police["match"]["in_port"] = json!(null);
        }),
        one("police entry open to every frame", WALK, |p| {
            let entries = &mut p["switches"][0]["entries"];
            let police = find(entries, |e| e["table"] == 1 && e["flow"] == "a");
            police["match"] = json!({"in_port": 1});
        }),
        one("flow of LO admitted in HI", WALK, |p| {
            let entries = &mut p["switches"][0]["entries"];
            find(entries, |e| e["table"] == 1 && e["flow"] == "b")["level"] = json!(null);
        }),
        one("flow of LO forwarded in HI", WALK, |p| {
            let entries = &mut p["switches"][1]["entries"];
            find(entries, |e| e["table"] == 2 && e["flow"] == "b")["level"] = json!(null);
        }),
        one("monitor open to other hosts", WALK, |p| {
            let entries = &mut p["switches"][0]["entries"];
            find(entries, |e| e["table"] == 0 && e["flow"] == "a")["match"]["in_port"] =
                json!(null);
        }),
        one("shadow entry missing", WALK, |p| {
            let entries = &mut p["switches"][1]["entries"];
            remove(entries, |e| e["table"] == 2 && e["flow"] == "a" && e["level"] == 1);
        }),
        one("entries not counted", "deployment", |p| {
            p["switches"][0]["usage"]["shadow"] = json!(0)
        }),
        one("too many entries", "limits of the device", |p| {
            p["network"]["profiles"]["p"]["entries_max"] = json!(3);
        }),
        one("too few queues", "limits of the device", |p| {
            p["network"]["profiles"]["p"]["queues_per_port"] = json!(1);
        }),
        one("host port as a trunk", "deployment", |p| {
            p["switches"][0]["ports"][0]["role"] = json!("trunk");
        }),
        one("removed switch", "deployment", |p| {
            p["switches"].as_array_mut().expect("list").pop();
        }),
        one("sender in another queue", "end system", |p| {
            p["hosts"][0]["senders"][0]["queues"] = json!([1, 1]);
        }),
        one("receiver gone", "end system", |p| p["hosts"][2]["receivers"] = json!([])),
        one("changed D_mc", "D_mc", |p| {
            p["mode_changes"][0]["terms"][0]["bound_ps"] = json!(1_000);
        }),
        one("D_mc below its terms", "D_mc", |p| p["mode_changes"][0]["bound_ps"] = json!(1_000)),
        one("shorter busy period", "busy period (what has come is served)", |p| {
            p["witnesses"]["busy"][0]["busy_ps"] = json!(1_000);
        }),
        one("busy period claimed twice", "busy period (what has come is served)", |p| {
            let copy = p["witnesses"]["busy"][0].clone();
            list(&mut p["witnesses"]["busy"]).push(copy);
        }),
        one("no busy period of a port in a raise", "D_mc", |p| {
            remove(&mut p["witnesses"]["busy"], |busy| !busy["mode"]["raise"].is_null());
        }),
        one("port settled too soon", "D_mc", |p| {
            find(&mut p["mode_changes"][1]["ended"], |_| true)["after_ps"] = json!(1_000);
        }),
        one("port drained too soon", "D_mc", |p| {
            for ended in list(&mut p["mode_changes"][0]["ended"]) {
                ended["after_ps"] = json!(1_000);
            }
        }),
        one("nothing said of a port that settles", "D_mc", |p| {
            // Less in the lower mode than in the raise: that it is all the same anyway proves nothing then.
            for claim in list(&mut p["ports"]) {
                if claim["mode"]["steady"] == 0 {
                    claim["delay_ps"] = json!(claim["delay_ps"].as_u64().expect("a time") - 1);
                }
            }
            remove(&mut p["mode_changes"][1]["ended"], |_| true);
        }),
        one("drained too soon", "D_mc", |p| p["mode_changes"][0]["drain_ps"] = json!(1_000)),
        one("settled too soon", "D_mc", |p| p["mode_changes"][1]["settled_ps"] = json!(1_000)),
        one("never settled", "D_mc", |p| p["mode_changes"][1]["settled_ps"] = json!(null)),
        one("return too soon", "D_mc", |p| p["mode_changes"][1]["bound_ps"] = json!(1_000)),
        one("removed mode change", "D_mc", |p| p["mode_changes"] = json!([])),
        one("shrunk quiet window", "quiet window", |p| p["quiet_ns"] = json!(1_000_000)),
        one("no quiet window", "quiet window", |p| p["quiet_ns"] = json!(null)),
        one("fewer repeats of signals", "D_mc", |p| p["signal_copies"] = json!(1)),
        one("fluid and feasible", "feasible", |p| p["model"] = json!("fluid")),
        one("refusals and feasible", "feasible", |p| {
            p["refusals"] = json!([{"resource": "rate", "flows": []}]);
        }),
        one("modes on a device without", "limits of the device", |p| {
            p["network"]["profiles"]["p"]["has_modes"] = json!(false);
        }),
        one("no row of a port in a raise", "port row", |p| {
            remove(&mut p["port_rows"], |row| !row["mode"]["raise"].is_null());
        }),
        one("no row of a port in the higher mode", "port row", |p| {
            remove(&mut p["port_rows"], |row| row["mode"]["steady"] == 1);
        }),
        one("no row of a raise", "flow bound", |p| {
            remove(&mut p["flows"], |row| !row["mode"]["raise"].is_null());
        }),
        one("no row of a return", "D_mc", |p| {
            remove(&mut p["mode_changes"], |row| !row["change"]["return"].is_null());
        }),
        one("a bound by another name", "flow bound", |p| p["flows"][0]["method"] = json!("proven")),
        one("sources that are trusted, in words", "what is assumed", |p| {
            find(&mut p["assumptions"], |it| it["name"] == "sources")["text"] =
                json!("babbling sources: 9 hosts may send anything; the first switch polices it");
        }),
        one("an assumption not said", "what is assumed", |p| {
            remove(&mut p["assumptions"], |it| it["name"] == "faults");
        }),
        one("an assumption by another name", "what is assumed", |p| {
            find(&mut p["assumptions"], |it| it["name"] == "clock")["name"] = json!("time");
        }),
        one("an assumption said twice", "what is assumed", |p| {
            let again = p["assumptions"][0].clone();
            p["assumptions"].as_array_mut().expect("a list").push(again);
        }),
        one("an assumption more", "what is assumed", |p| {
            let more = json!({"name": "measured", "text": "holds for frames of any size"});
            p["assumptions"].as_array_mut().expect("a list").push(more);
        }),
        one("no assumptions", "what is assumed", |p| p["assumptions"] = json!([])),
        one("other sources, the words left", "what is assumed", |p| {
            p["network"]["tolerates"]["babbling_hosts"] = json!(3);
        }),
        one("another schema", "format", |p| p["schema"] = json!("tenuto-plan/1")),
    ]
}

#[test]
fn every_tamper_shows_in_the_hash_and_in_what_is_rebuilt() {
    let original = sealed(car().plan());
    for tamper in tampers() {
        let mut plan: Value = serde_json::from_str(&original).expect("JSON");
        (tamper.apply)(&mut plan);
        let findings = certify(&plan.to_string()).expect_err(tamper.name);
        assert!(findings.iter().any(|f| f.rule == "digest"), "{}", tamper.name);
        let findings = certify(&sealed(plan)).expect_err(tamper.name);
        assert!(findings.iter().all(|f| f.rule != "digest"), "{}", tamper.name);
        let rules: Vec<&str> = findings.iter().map(|f| f.rule).collect();
        assert!(rules.contains(&tamper.rule), "{}: {findings:#?}", tamper.name);
    }
}

#[test]
fn tampers_of_copies_are_found() {
    type Apply = fn(&mut Value);
    let tampers: [(&str, Apply); 4] = [
        ("skew", |p| p["flows"][0]["skew_bound_ps"] = json!(1_000)),
        ("skew", |p| p["network"]["flows"][0]["skew_max_ns"] = json!(1_000)),
        ("route", |p| p["network"]["switches"][1]["network"] = json!("A")),
        ("route", |p| p["routes"][1]["copy"] = json!("A")),
    ];
    for (rule, apply) in tampers {
        let mut plan = cabin().plan();
        apply(&mut plan);
        let findings = certify(&sealed(plan)).expect_err(rule);
        assert!(findings.iter().any(|f| f.rule == rule), "{findings:#?}");
    }
}

#[test]
fn rate_monotonic_is_not_said_of_other_classes() {
    let mut plan = car().plan();
    plan["ranked"] = json!({"audsley": 12});
    certify(&sealed(plan.clone())).expect("how many analyses there were is nobody's promise");
    plan["ranked"] = json!("rate-monotonic");
    let shortest = plan["network"]["flows"].as_array().expect("flows").iter().map(|flow| {
        let highest = flow["contracts"].as_array().and_then(|all| all.last()).expect("contracts");
        (highest["period_ns"].as_u64(), highest["priority"].as_u64())
    });
    let mut ranks: Vec<_> = shortest.collect();
    ranks.sort_unstable();
    let is_so = ranks.windows(2).all(|pair| pair[0].1 <= pair[1].1);
    assert_eq!(certify(&sealed(plan.clone())).is_ok(), is_so);
    // Whatever it is, the classes the other way round are the opposite.
    for flow in plan["network"]["flows"].as_array_mut().expect("flows") {
        for contract in flow["contracts"].as_array_mut().expect("contracts") {
            contract["priority"] = json!(1 - contract["priority"].as_u64().expect("0 or 1"));
        }
    }
    let findings = certify(&sealed(plan)).expect_err("other classes");
    let said = findings.iter().filter(|it| it.place == "ranked").count();
    assert_eq!(said, usize::from(is_so));
}

#[test]
fn all_differences_are_reported_at_once() {
    let mut plan = car().plan();
    plan["assumptions"] = json!([]);
    plan["ports"][0]["delay_ps"] = json!(1_000);
    plan["flows"][0]["deadline_ns"] = json!(1);
    plan["switches"][0]["usage"]["groups"] = json!(9);
    plan["quiet_ns"] = json!(1);
    let findings = certify(&plan.to_string()).expect_err("four tampers and no digests");
    for rule in ["digest", SERVICE, "deadline", "deployment", "quiet window"] {
        assert!(findings.iter().any(|f| f.rule == rule), "{rule}: {findings:#?}");
    }
}

#[test]
fn without_a_claim_upstream_only_the_line_bounds_what_comes() {
    let mut net = car();
    net.modes = vec!["normal"];
    net.babbling = 0;
    net.switches.truncate(1);
    net.links = ["h1", "h2", "h3", "h4"].map(|h| (h.to_owned(), "s1".to_owned())).to_vec();
    net.flows.truncate(1);
    net.flows[0].contracts.truncate(1);
    net.flows[0].paths = vec![vec![support::path(&["h1", "s1", "h3"])]];
    for shaping in [true, false] {
        let mut plan = net.plan();
        plan["feasible"] = json!(false);
        plan["line_shaping"] = json!(shaping);
        remove(&mut plan["ports"], |claim| claim["port"]["node"] == "h1");
        for row in plan["flows"].as_array_mut().expect("rows") {
            row["delay_bound_ps"] = json!(null);
            row["copies"][0]["delay_bound_ps"] = json!(null);
            row["copies"][0]["hops"][0]["queueing_ps"] = json!(null);
            row["copies"][0]["hops"][1]["burst_bits"] = json!(null);
        }
        for row in plan["port_rows"].as_array_mut().expect("rows") {
            row["backlog_bound_bits"] = json!(null);
        }
        // One frame and the line's own rate: a millisecond is plenty.
        match certify(&sealed(plan)) {
            Ok(certificate) => assert!(shaping && certificate.inequalities == 1),
            Err(findings) => assert!(
                !shaping && findings.iter().any(|f| f.rule == SERVICE && f.found == "unbounded"),
                "{findings:#?}"
            ),
        }
    }
}
