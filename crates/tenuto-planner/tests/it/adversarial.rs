//! Plans put together with intent: claims of one network in the plan of another that asks for more,
//! tables of one under the claims of the other. Whatever is believed has to be found again by
//! planning its description from the start.

use crate::support;
use crate::tampered::networks;

use networks::cases;
use serde_json::{Value, json};
use support::{less_than, list, sealed};
use tenuto_certify::certify;
use tenuto_model::Network;
use tenuto_planner::{Options, plan};

/// One way to ask for more, or for something else, in a description. `false`: it has no place there.
type Burden = (&'static str, fn(&mut Value, usize) -> bool);

/// Changes every number of that name in every contract of one flow.
fn contracts(network: &mut Value, flow: usize, change: impl Fn(&mut Value)) -> bool {
    let Some(flow) = list(&mut network["flows"]).get_mut(flow) else { return false };
    list(&mut flow["contracts"]).iter_mut().for_each(change);
    true
}

fn link(network: &mut Value, index: usize, change: impl Fn(&mut Value)) -> bool {
    list(&mut network["links"]).get_mut(index).map(change).is_some()
}

/// Changes the profile of every switch, once.
fn profiles(network: &mut Value, index: usize, change: impl Fn(&mut Value)) -> bool {
    let all = network["profiles"].as_object_mut().expect("a map");
    all.values_mut().for_each(change);
    index == 0
}

fn processors(network: &mut Value, index: usize, change: impl Fn(&mut Value)) -> bool {
    let mut is_there = false;
    let all = network["profiles"].as_object_mut().expect("a map").values_mut();
    for processor in all.map(|p| &mut p["processor"]).filter(|p| p.is_object()) {
        is_there = true;
        change(processor);
    }
    is_there && index == 0
}

fn scale(value: &mut Value, by: u64, over: u64) {
    let number = value.as_u64().expect("a number");
    *value = json!(number * by / over);
}

fn more(value: &mut Value, by: u64) {
    *value = json!(value.as_u64().expect("a number") + by);
}

fn burdens() -> Vec<Burden> {
    vec![
        ("a slower link", |n, i| link(n, i, |l| scale(&mut l["rate_bps"], 2, 3))),
        ("a longer link", |n, i| link(n, i, |l| more(&mut l["propagation_ns"], 30_000))),
        ("shorter periods", |n, i| contracts(n, i, |c| scale(&mut c["period_ns"], 2, 3))),
        ("more jitter", |n, i| contracts(n, i, |c| more(&mut c["jitter_ns"], 150_000))),
        ("larger sizes", |n, i| {
            contracts(n, i, |c| {
                let size = c["size"].as_object_mut().expect("a size").values_mut().next();
                let size = size.expect("one");
                *size = json!((size.as_u64().expect("bytes") + 200).min(1_460));
            })
        }),
        ("no least frame", |n, i| contracts(n, i, |c| c["frame_bytes_min"] = json!(null))),
        ("a lower priority", |n, i| contracts(n, i, |c| c["priority"] = json!(5))),
        ("the highest priority", |n, i| contracts(n, i, |c| c["priority"] = json!(0))),
        ("another level's priority", |n, i| {
            let Some(flow) = list(&mut n["flows"]).get_mut(i) else { return false };
            flow["contracts"][0]["priority"] = json!(4);
            true
        }),
        ("a lower contract for the highest mode", |n, i| {
            let Some(flow) = list(&mut n["flows"]).get_mut(i) else { return false };
            let last = list(&mut flow["contracts"]).last_mut().expect("one");
            scale(&mut last["period_ns"], 3, 1);
            true
        }),
        ("a tight deadline", |n, i| {
            let Some(flow) = list(&mut n["flows"]).get_mut(i) else { return false };
            for target in list(&mut flow["targets"]) {
                list(&mut target["deadline_ns"]).iter_mut().for_each(|d| *d = json!(60_000));
            }
            true
        }),
        ("a tight skew", |n, i| {
            let Some(flow) = list(&mut n["flows"]).get_mut(i) else { return false };
            let has = flow["skew_max_ns"].is_number();
            flow["skew_max_ns"] = json!(1_000);
            has
        }),
        ("told by another field", |n, i| {
            let Some(flow) = list(&mut n["flows"]).get_mut(i) else { return false };
            flow["matching"] = json!("vl");
            flow["vl"] = json!(9);
            true
        }),
        ("told like another", |n, i| {
            let Some(flow) = list(&mut n["flows"]).get_mut(i) else { return false };
            flow["udp_port"] = json!(20_000);
            true
        }),
        ("watched elsewhere", |n, i| {
            let last = n["switches"].as_array().and_then(|s| s.last()).map(|s| s["name"].clone());
            let Some(flow) = list(&mut n["flows"]).get_mut(i) else { return false };
            flow["monitor_at"] = json!([last]);
            true
        }),
        ("another source", |n, i| {
            let host = n["hosts"][3]["name"].clone();
            let Some(flow) = list(&mut n["flows"]).get_mut(i) else { return false };
            flow["source"] = host;
            true
        }),
        ("babbling hosts", |n, i| {
            n["tolerates"]["babbling_hosts"] = json!(1);
            i == 0
        }),
        ("more lost signals", |n, i| {
            n["tolerates"]["lost_signals"] = json!(4);
            i == 0
        }),
        ("a lost link", |n, i| {
            n["tolerates"]["links_lost"] = json!(1);
            i == 0
        }),
        ("other traffic", |n, i| {
            n["other_traffic"] = json!({"policy": "carry", "priority": 6, "rate_bps": 2_000_000,
                "frame_bytes_max": 1518});
            i == 0
        }),
        ("a longer quiet window", |n, i| {
            n["mode_return"]["quiet_ns"] = json!(900_000_000);
            i == 0
        }),
        ("one name for all modes", |n, i| {
            let first = n["modes"][0].clone();
            list(&mut n["modes"]).iter_mut().for_each(|mode| *mode = first.clone());
            i == 0
        }),
        ("one datapath id", |n, i| {
            list(&mut n["switches"]).iter_mut().for_each(|s| s["datapath_id"] = json!(1));
            i == 0
        }),
        ("a slower switch", |n, i| profiles(n, i, |p| more(&mut p["latency_ns_max"], 40_000))),
        ("a switch that may be faster", |n, i| profiles(n, i, |p| p["latency_ns_min"] = json!(0))),
        ("more below the scheduler", |n, i| {
            profiles(n, i, |p| more(&mut p["below_scheduler_bytes"], 3_000))
        }),
        ("smaller buffers", |n, i| profiles(n, i, |p| p["buffer_bytes_per_port"] = json!(700))),
        ("fewer queues", |n, i| profiles(n, i, |p| p["queues_per_port"] = json!(1))),
        ("few entries", |n, i| profiles(n, i, |p| p["entries_max"] = json!(4))),
        ("few meters", |n, i| profiles(n, i, |p| p["meters_max"] = json!(1))),
        ("no groups", |n, i| profiles(n, i, |p| p["groups_max"] = json!(0))),
        ("other bytes counted", |n, i| {
            profiles(n, i, |p| {
                let is_wire = p["meter_counts"] == "wire";
                p["meter_counts"] = json!(if is_wire { "l2-without-fcs" } else { "wire" });
            })
        }),
        ("coarse rates", |n, i| profiles(n, i, |p| p["meter_rate_step_bps"] = json!(900_000))),
        ("coarse bursts", |n, i| profiles(n, i, |p| p["meter_burst_step_bytes"] = json!(8_750))),
        ("worse clocks", |n, i| profiles(n, i, |p| p["clock_tolerance_ppm"] = json!(40_000))),
        ("no modes", |n, i| profiles(n, i, |p| p["has_modes"] = json!(false))),
        ("slow swaps", |n, i| profiles(n, i, |p| p["swap_ns_max"] = json!(5_000_000))),
        ("slow purges", |n, i| profiles(n, i, |p| p["purge_frame_ns_max"] = json!(90_000))),
        ("a slower processor", |n, i| processors(n, i, |p| more(&mut p["base_ps"], 9_000_000))),
        ("dearer bytes", |n, i| processors(n, i, |p| more(&mut p["per_byte_ps"], 9_000))),
        ("dearer copies", |n, i| processors(n, i, |p| more(&mut p["per_output_ps"], 90_000_000))),
        ("a wider spread", |n, i| processors(n, i, |p| p["spread_percent"] = json!(90))),
        ("one queue for all", |n, i| processors(n, i, |p| p["receive"] = json!("fifo"))),
        ("more control", |n, i| {
            processors(n, i, |p| {
                p["control"] = json!({"time_ps": 900_000_000, "period_ps": 9_000_000_000_u64});
            })
        }),
        ("a small receive buffer", |n, i| {
            let all = n["profiles"].as_object_mut().expect("a map").values_mut();
            let mut is_there = false;
            for buffer in all.map(|p| &mut p["receive_buffer"]).filter(|b| b.is_object()) {
                buffer["count"] = json!(2);
                is_there = true;
            }
            is_there && i == 0
        }),
    ]
}

/// Claims of `one` about the network of `other`, with everything that is told to nodes of `told`.
fn transplanted(one: &Value, other: &Value, told: &Value) -> Value {
    let mut plan = one.clone();
    plan["network"] = other["network"].clone();
    for key in ["switches", "hosts"] {
        plan[key] = told[key].clone();
    }
    plan
}

/// A claim that planning the description anew does not find again.
fn is_false(believed: &Value, options: &Options) -> Option<String> {
    let network: Network = match serde_json::from_value(believed["network"].clone()) {
        Ok(network) => network,
        Err(error) => return Some(format!("no network to the model: {error}")),
    };
    let anew = serde_json::to_value(plan(&network, options)).expect("serialisable");
    if believed["feasible"] == true && anew["feasible"] == false {
        return Some(format!("feasible, but {}", anew["refusals"][0]));
    }
    if anew["routes"] != believed["routes"] {
        return None;
    }
    let lower =
        |list: &str, keys: &[&str], claim: &str| less_than(&anew, believed, (list, keys, claim));
    lower("flows", &["flow", "target", "mode"], "delay_bound_ps")
        .or_else(|| lower("flows", &["flow", "target", "mode"], "skew_bound_ps"))
        .or_else(|| lower("mode_changes", &["change"], "bound_ps"))
        .or_else(|| match believed["model"] == "fluid" {
            true => None,
            false => lower("port_rows", &["port", "mode"], "backlog_bound_bits"),
        })
}

#[test]
fn claims_of_another_network_are_believed_only_where_they_are_true() {
    let (mut holes, mut tried, mut believed) = (Vec::new(), 0, 0);
    for case in cases() {
        let usual = serde_json::to_value(&case.plan).expect("serialisable");
        for (name, burden) in burdens() {
            for index in 0..2 + 2 * case.each_max {
                let mut described = usual["network"].clone();
                if !burden(&mut described, index) || described == usual["network"] {
                    break;
                }
                let Ok(network) = serde_json::from_value::<Network>(described.clone()) else {
                    break;
                };
                let burdened = plan(&network, &case.options);
                let burdened = serde_json::to_value(&burdened).expect("serialisable");
                // What the planner itself makes of it is believed, and no false refusal, unless the
                // reading of files would not have let it pass.
                let mut documents = vec![
                    ("claims kept", transplanted(&usual, &burdened, &usual)),
                    ("tables of the other", transplanted(&usual, &burdened, &burdened)),
                    ("claims of the lighter", transplanted(&burdened, &usual, &usual)),
                    ("tables kept", transplanted(&burdened, &burdened, &usual)),
                    ("called feasible", burdened.clone()),
                ];
                let called = &mut documents[4].1;
                called["feasible"] = json!(true);
                called["refusals"] = json!([]);
                for loss in called["link_losses"].as_array_mut().into_iter().flatten() {
                    loss["refusals"] = json!([]);
                }
                for (kind, document) in documents {
                    tried += 1;
                    if certify(&sealed(document.clone())).is_err() {
                        continue;
                    }
                    believed += 1;
                    if let Some(hole) = is_false(&document, &case.options) {
                        holes.push(format!("{}: {name} {index}, {kind}: {hole}", case.name));
                    }
                }
            }
        }
    }
    println!("{tried} documents, {believed} believed");
    assert!(tried > 2_000 && believed < tried / 3, "{tried} {believed}");
    assert!(holes.is_empty(), "{} holes:\n{}", holes.len(), holes.join("\n"));
}
