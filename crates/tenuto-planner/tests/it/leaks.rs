//! Entries put into the tables of the vehicle: what leads frames of others to a meter, a monitor or a
//! queue of a flow is refused wherever the frames end, and what leads nobody anywhere is not.

use crate::support;

use serde_json::{Value, json};
use support::{list, network, quick, sealed};
use tenuto_certify::certify;
use tenuto_planner::plan;

const WALK: &str = "walk through the tables";
const PREREQUISITE: &str = "prerequisites of a match (OpenFlow 1.3.5, 7.2.3.8)";
const INSTALLED: &str = "what a switch takes on";

/// The vehicle's plan: at `sw1` the host s1 is at port 1, s2 at port 2, `sw2` at port 3.
fn vehicle() -> Value {
    let plan = plan(&network(include_str!("../../../../networks/vehicle.yaml")), &quick());
    let document = serde_json::to_value(&plan).expect("serialisable");
    let ports = document["switches"][0]["ports"].as_array().expect("ports");
    let peers: Vec<&Value> = ports.iter().map(|port| &port["peer"]).collect();
    assert_eq!(peers, ["s1", "s2", "sw2"]);
    document
}

/// An entry of no flow that drops.
fn entry(table: u8, level: Option<u8>, precedence: u16, matching: &Value) -> Value {
    let mut fields = json!({"in_port": null, "eth_dst": null, "eth_type": null, "ip_src": null,
        "ip_dst": null, "ip_proto": null, "udp_dst": null});
    for (name, value) in matching.as_object().expect("fields") {
        fields[name] = value.clone();
    }
    json!({"table": table, "level": level, "precedence": precedence, "cookie": 0, "flow": null,
        "match": fields, "monitor": null, "meter": null, "output": null, "goto": null})
}

/// An entry of no flow with members of its own.
fn with(mut entry: Value, members: &Value) -> Value {
    for (name, value) in members.as_object().expect("members") {
        entry[name] = value.clone();
    }
    entry
}

/// The number of a flow's meter or monitor at a switch.
fn id(plan: &Value, switch: usize, kind: &str, flow: &str) -> Value {
    let all = plan["switches"][switch][kind].as_array().expect("a list");
    all.iter().find(|it| it["flow"] == flow).expect("the flow has one")["id"].clone()
}

/// The match of a flow's entry in a table of a switch.
fn matching(plan: &Value, switch: usize, table: u8, flow: &str) -> Value {
    let entries = plan["switches"][switch]["entries"].as_array().expect("entries");
    let own = entries.iter().find(|it| it["flow"] == flow && it["table"] == table);
    own.expect("the flow has one")["match"].clone()
}

fn put(plan: &mut Value, switch: usize, entry: Value) {
    let is_shadow = entry["level"].as_u64().is_some_and(|level| level > 0);
    list(&mut plan["switches"][switch]["entries"]).push(entry);
    let used = if is_shadow { "shadow" } else { "entries" };
    let used = &mut plan["switches"][switch]["usage"][used];
    *used = json!(used.as_u64().expect("a count") + 1);
}

/// The same entry for both modes.
fn put_each(plan: &mut Value, switch: usize, entry: &Value) {
    for level in [0, 1] {
        put(plan, switch, with(entry.clone(), &json!({"level": level})));
    }
}

type Change = fn(&mut Value);

/// STREAM's entry in a table of a switch, in HI: there it drops, out of mode.
fn out_of_mode(plan: &mut Value, switch: usize, table: u8) -> &mut Value {
    let entries = list(&mut plan["switches"][switch]["entries"]);
    let is_it =
        |it: &&mut Value| it["flow"] == "STREAM" && it["table"] == table && it["level"] == 1;
    let found = entries.iter_mut().find(is_it).expect("STREAM is out of mode in HI");
    assert!(found["output"].is_null());
    found
}

/// The same, taken out.
fn without_out_of_mode(plan: &mut Value, switch: usize, table: u8) {
    let gone = out_of_mode(plan, switch, table).clone();
    list(&mut plan["switches"][switch]["entries"]).retain(|it| *it != gone);
    let used = &mut plan["switches"][switch]["usage"]["shadow"];
    *used = json!(used.as_u64().expect("a count") - 1);
}

/// Changes of what becomes of frames that wait when the mode changes, or come late.
fn left_behind() -> Vec<(&'static str, &'static str, Change)> {
    vec![
        ("what of STREAM waits at a raise goes to the queue of LIDAR", WALK, |p| {
            out_of_mode(p, 0, 2)["output"] = json!({"port": {"port": 3, "queue": 0}});
        }),
        ("what of STREAM waits at a raise goes to the queue of CAM", WALK, |p| {
            out_of_mode(p, 0, 2)["output"] = json!({"port": {"port": 3, "queue": 1}});
        }),
        ("what of STREAM waits at a raise stays", WALK, |p| {
            out_of_mode(p, 0, 2)["output"] = json!({"port": {"port": 3, "queue": 2}});
        }),
        ("nothing says what becomes of STREAM at a raise", WALK, |p| without_out_of_mode(p, 0, 2)),
        ("STREAM is missed behind its first switch", WALK, |p| without_out_of_mode(p, 1, 2)),
        ("STREAM is missed where it is policed", WALK, |p| without_out_of_mode(p, 0, 1)),
        ("STREAM waits as nobody's", WALK, |p| {
            let entries = list(&mut p["switches"][0]["entries"]);
            let is_it = |it: &&mut Value| it["flow"] == "STREAM" && it["table"] == 2;
            for own in entries.iter_mut().filter(is_it) {
                own["flow"] = json!(null);
                own["cookie"] = json!(0);
            }
        }),
        ("STREAM waits as CAM", WALK, |p| {
            let entries = list(&mut p["switches"][0]["entries"]);
            let cam = entries.iter().find(|it| it["flow"] == "CAM").expect("it has one").clone();
            let is_it =
                |it: &&mut Value| it["flow"] == "STREAM" && it["table"] == 2 && it["level"] == 0;
            let own = entries.iter_mut().find(is_it).expect("it has one");
            own["flow"] = cam["flow"].clone();
            own["cookie"] = cam["cookie"].clone();
        }),
    ]
}

/// What is wrong, the rule that says so, and the change.
fn refused() -> Vec<(&'static str, &'static str, Change)> {
    vec![
        ("everything of s2 through the meter of CAM, then a miss", WALK, |p| {
            let meter = id(p, 0, "meters", "CAM");
            // STREAM is spared, so that nothing is wrong with it.
            let own = entry(0, None, 3, &matching(p, 0, 1, "STREAM"));
            put(p, 0, with(own, &json!({"goto": 1})));
            let all = entry(0, None, 2, &json!({"in_port": 2}));
            put(p, 0, with(all, &json!({"meter": meter, "goto": 1})));
        }),
        ("one EtherType of s2 through the meter of CAM, then a miss", WALK, |p| {
            let meter = id(p, 0, "meters", "CAM");
            let arp = entry(0, None, 2, &json!({"in_port": 2, "eth_type": 0x0806}));
            put(p, 0, with(arp, &json!({"meter": meter, "goto": 2})));
        }),
        ("frames of LIDAR of no end system through the meter of CAM, then a miss", WALK, |p| {
            let (meter, headers) = (id(p, 0, "meters", "CAM"), matching(p, 0, 1, "LIDAR"));
            let some = with(headers, &json!({"eth_dst": [2, 0, 0, 0, 9, 9]}));
            let first = entry(0, None, 150, &with(some, &json!({"udp_dst": 9})));
            put(p, 0, with(first, &json!({"meter": meter, "goto": 2})));
        }),
        ("the monitor of CAM without its port of entry", WALK, |p| {
            let entries = list(&mut p["switches"][0]["entries"]);
            let watch = entries.iter_mut().find(|it| !it["monitor"].is_null());
            watch.expect("CAM is watched")["match"]["in_port"] = json!(null);
        }),
        ("one EtherType of s2 through the monitor of CAM", WALK, |p| {
            let monitor = id(p, 0, "monitors", "CAM");
            let arp = entry(0, None, 200, &json!({"in_port": 2, "eth_type": 0x0806}));
            put(p, 0, with(arp, &json!({"monitor": monitor, "goto": 1})));
        }),
        ("one EtherType of s2 through the meter of CAM, dropped there", WALK, |p| {
            let meter = id(p, 0, "meters", "CAM");
            let arp = entry(1, None, 1, &json!({"in_port": 2, "eth_type": 0x0806}));
            put_each(p, 0, &with(arp, &json!({"meter": meter})));
        }),
        ("a chain of tables with the meter at its end", WALK, |p| {
            let meter = id(p, 0, "meters", "LIDAR");
            let first = entry(0, None, 50, &json!({"in_port": 2, "eth_type": 0x0806}));
            put(p, 0, with(first, &json!({"goto": 2})));
            put_each(p, 0, &with(entry(2, None, 1, &json!({})), &json!({"meter": meter})));
        }),
        ("frames of a trunk through a meter", WALK, |p| {
            let meter = id(p, 0, "meters", "CAM");
            put_each(
                p,
                0,
                &with(entry(1, None, 150, &json!({"in_port": 3})), &json!({"meter": meter})),
            );
        }),
        ("frames of a trunk to a queue of a flow", WALK, |p| {
            let arp = entry(2, None, 150, &json!({"in_port": 3, "eth_type": 0x0806}));
            put_each(p, 0, &with(arp, &json!({"output": {"port": {"port": 1, "queue": 0}}})));
        }),
        ("frames of s2 straight to a queue of a flow", WALK, |p| {
            let arp = entry(0, None, 150, &json!({"in_port": 2, "eth_type": 0x0806}));
            put(p, 0, with(arp, &json!({"output": {"port": {"port": 3, "queue": 0}}})));
        }),
        ("frames of s2 to a queue of a flow by a group", WALK, |p| {
            list(&mut p["switches"][0]["groups"])
                .push(json!({"id": 9, "outputs": [{"port": 3, "queue": 1}]}));
            let used = &mut p["switches"][0]["usage"]["groups"];
            *used = json!(used.as_u64().expect("a count") + 1);
            let arp = entry(1, None, 150, &json!({"in_port": 2, "eth_type": 0x0806}));
            put_each(p, 0, &with(arp, &json!({"output": {"group": 9}})));
        }),
        ("frames of CAM from another host, through its monitor", WALK, |p| {
            let (monitor, headers) = (id(p, 0, "monitors", "CAM"), matching(p, 0, 0, "CAM"));
            let pretended = with(headers, &json!({"in_port": 2}));
            put(
                p,
                0,
                with(entry(0, None, 100, &pretended), &json!({"monitor": monitor, "goto": 1})),
            );
        }),
        ("frames of CAM from another host, through its meter and on", WALK, |p| {
            let (meter, headers) = (id(p, 0, "meters", "CAM"), matching(p, 0, 1, "CAM"));
            let pretended = with(headers, &json!({"in_port": 2}));
            let on = json!({"meter": meter, "goto": 2});
            put_each(p, 0, &with(entry(1, None, 100, &pretended), &on));
        }),
        ("frames of CAM from its receiver, back into its queues", WALK, |p| {
            let ports = p["switches"][2]["ports"].as_array().expect("ports");
            let at_d1 = ports.iter().find(|port| port["peer"] == "d1").expect("d1")["port"].clone();
            let all = entry(1, None, 1, &json!({"in_port": at_d1}));
            put_each(p, 2, &with(all, &json!({"goto": 2})));
        }),
        ("frames of LIDAR with one address through the meter of CAM", WALK, |p| {
            let (meter, headers) = (id(p, 0, "meters", "CAM"), matching(p, 0, 1, "LIDAR"));
            let some = with(headers, &json!({"eth_dst": [2, 0, 0, 0, 9, 9]}));
            put_each(p, 0, &with(entry(1, None, 150, &some), &json!({"meter": meter})));
        }),
        ("an entry that takes some frames of CAM for its own address", WALK, |p| {
            // The address that end systems write: d1 is the third host.
            let some = with(matching(p, 0, 1, "CAM"), &json!({"eth_dst": [2, 0, 0, 0, 2, 0x20]}));
            put_each(p, 0, &entry(1, None, 150, &some));
        }),
        ("an entry of the same precedence over frames of CAM", WALK, |p| {
            put_each(p, 0, &entry(1, None, 100, &json!({"in_port": 1, "eth_type": 0x0800})));
        }),
        ("CAM past its monitor for one address", WALK, |p| {
            let some = with(matching(p, 0, 0, "CAM"), &json!({"eth_dst": [2, 0, 0, 0, 9, 9]}));
            put(p, 0, with(entry(0, None, 150, &some), &json!({"goto": 1})));
        }),
        ("STREAM sent before its meter", WALK, |p| {
            let headers = matching(p, 0, 1, "STREAM");
            let entries = list(&mut p["switches"][0]["entries"]);
            let forward = entries
                .iter_mut()
                .find(|it| it["flow"] == "STREAM" && it["table"] == 2 && it["level"] == 0);
            let output = forward.expect("it is forwarded")["output"].take();
            put(p, 0, with(entry(0, None, 50, &headers), &json!({"output": output, "goto": 1})));
        }),
        ("frames by a port without a link", WALK, |p| {
            let meter = id(p, 0, "meters", "CAM");
            put_each(p, 0, &with(entry(1, None, 0, &json!({})), &json!({"meter": meter})));
        }),
        ("CAM's entry in the modes of another table", INSTALLED, |p| {
            let entries = list(&mut p["switches"][0]["entries"]);
            let watch = entries.iter_mut().find(|it| !it["monitor"].is_null());
            watch.expect("CAM is watched")["level"] = json!(0);
        }),
        ("an entry of every level where there is a table for each", INSTALLED, |p| {
            put(p, 0, entry(1, None, 150, &json!({"in_port": 2, "eth_type": 0x0806})));
        }),
        ("an entry for a port that is not there", INSTALLED, |p| {
            put(p, 0, entry(0, None, 150, &json!({"in_port": 99})));
        }),
        ("an entry for no port", INSTALLED, |p| {
            put(p, 0, entry(0, None, 150, &json!({"in_port": 0})));
        }),
        ("addresses without the EtherType", PREREQUISITE, |p| strip(p, "eth_type")),
        ("a UDP port without the protocol", PREREQUISITE, |p| strip(p, "ip_proto")),
        ("an address of one protocol with the EtherType of another", PREREQUISITE, |p| {
            let odd = json!({"in_port": 2, "eth_type": 0x86dd, "ip_src": [10, 0, 0, 1]});
            put(p, 0, entry(0, None, 150, &odd));
        }),
        ("a protocol under no EtherType of IP", PREREQUISITE, |p| {
            put(p, 0, entry(0, None, 150, &json!({"eth_type": 0x0806, "ip_proto": 17})));
        }),
        ("a UDP port under TCP", PREREQUISITE, |p| {
            let odd = json!({"eth_type": 0x0800, "ip_proto": 6, "udp_dst": 20_000});
            put(p, 0, entry(0, None, 150, &odd));
        }),
        ("a group that sends twice by one port", INSTALLED, |p| {
            let twice = json!([{"port": 3, "queue": 1}, {"port": 3, "queue": 1}]);
            list(&mut p["switches"][0]["groups"]).push(json!({"id": 9, "outputs": twice}));
        }),
        ("a group above the last number", INSTALLED, |p| {
            let one = json!([{"port": 3, "queue": 1}]);
            list(&mut p["switches"][0]["groups"])
                .push(json!({"id": 0xffff_ff01_u32, "outputs": one}));
        }),
        ("a meter beyond the last place", INSTALLED, |p| {
            let rates = json!({"id": 100_001, "flow": null, "rate_bps": 1000, "burst_bytes": 1000});
            list(&mut p["switches"][0]["meters"]).push(rates);
        }),
        ("a monitor beyond the last place", INSTALLED, |p| {
            let watch = &mut p["switches"][0]["monitors"][0];
            watch["id"] = json!(100_001);
            let entries = list(&mut p["switches"][0]["entries"]);
            entries.iter_mut().filter(|it| !it["monitor"].is_null()).for_each(|it| {
                it["monitor"] = json!(100_001);
            });
        }),
    ]
}

/// Takes a field out of every match.
fn strip(plan: &mut Value, field: &str) {
    for switch in list(&mut plan["switches"]) {
        for entry in list(&mut switch["entries"]) {
            entry["match"][field] = json!(null);
        }
    }
}

#[test]
fn what_leads_frames_of_others_to_a_flow_is_refused() {
    let original = vehicle();
    for (what, rule, change) in refused().into_iter().chain(left_behind()) {
        let mut plan = original.clone();
        change(&mut plan);
        let findings = certify(&sealed(plan)).expect_err(what);
        let is_found = findings.iter().any(|it| it.rule == rule);
        assert!(is_found, "{what}: {:?}", findings.iter().take(3).collect::<Vec<_>>());
        assert!(findings.iter().all(|it| it.rule != "digest"), "{what}");
    }
}

#[test]
fn what_leads_nobody_anywhere_is_accepted() {
    let unreached: [(&str, Change); 5] = [
        ("a drop of what is of no flow", |p| {
            put(p, 0, entry(0, None, 150, &json!({"in_port": 2, "eth_type": 0x0806})));
        }),
        ("a drop of frames of CAM that its end system does not build", |p| {
            let some = with(matching(p, 0, 1, "CAM"), &json!({"eth_dst": [2, 0, 0, 0, 9, 9]}));
            put_each(p, 0, &entry(1, None, 150, &some));
        }),
        ("the meter of CAM behind an entry that takes all before it", |p| {
            let meter = id(p, 0, "meters", "CAM");
            let arp = json!({"in_port": 2, "eth_type": 0x0806});
            put(p, 0, entry(0, None, 150, &arp));
            put_each(p, 0, &with(entry(1, None, 150, &arp), &json!({"meter": meter})));
        }),
        ("the meter of CAM below an entry of the same headers", |p| {
            let (meter, headers) = (id(p, 0, "meters", "CAM"), matching(p, 0, 1, "LIDAR"));
            put_each(p, 0, &with(entry(1, None, 99, &headers), &json!({"meter": meter})));
        }),
        ("the meter of CAM for its own frames, dropped then", |p| {
            let (meter, headers) = (id(p, 0, "meters", "CAM"), matching(p, 0, 1, "CAM"));
            let some = with(headers, &json!({"eth_dst": [2, 0, 0, 0, 9, 9]}));
            put_each(p, 0, &with(entry(1, None, 150, &some), &json!({"meter": meter})));
        }),
    ];
    let original = vehicle();
    for (what, change) in unreached {
        let mut plan = original.clone();
        change(&mut plan);
        if let Err(findings) = certify(&sealed(plan)) {
            panic!("{what}: {}", findings[0]);
        }
    }
}
