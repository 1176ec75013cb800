//! The checker believes no claim that does not follow, whatever the proofs look like.
//!
//! What was changed after sealing is told by the digests. Here everything is sealed anew, as
//! somebody would who wants a false claim believed: then only what is rebuilt can tell.

use crate::networks;

use networks::random::{Random, Shape, graph as random_graph};
use networks::seal::{self, is_certified, numbers};
use networks::{interleaved, mesh, ring};
use serde_json::{Value, json};
use tenuto_bounds::{Bucket, Multiplexing, Options, RateLatency, ServerGraph, analyse};
use tenuto_certify::certify_bounds;
use tenuto_units::Picos;

fn options() -> Options {
    Options { rows_max: 600, tree_servers_max: 12, ..Options::default() }
}

fn document(graph: &ServerGraph) -> Value {
    seal::document(graph, &options())
}

/// The same in any order of service.
fn in_any_order(mut graph: ServerGraph, servers: &[usize]) -> ServerGraph {
    for &server in servers {
        graph.servers[server].multiplexing = Multiplexing::Arbitrary;
    }
    graph
}

/// A second bucket for every flow, a second piece for every server, packets and constants.
fn with_pieces(mut graph: ServerGraph) -> ServerGraph {
    for server in &mut graph.servers {
        let first = server.service[0];
        let latency = Picos(first.latency.0 / 2);
        server.service.push(RateLatency { rate_ubps: first.rate_ubps / 2, latency });
        server.packet_ubit = 50_000_000;
    }
    for flow in &mut graph.flows {
        let first = flow.arrival[0];
        let (burst_ubit, rate_ubps) = (first.burst_ubit / 3, first.rate_ubps * 2);
        flow.arrival.push(Bucket { burst_ubit, rate_ubps });
        flow.targets[0].constant = Picos(5_000_000);
    }
    graph
}

/// One that branches.
fn branching() -> ServerGraph {
    let shape = Shape {
        servers: 4,
        flows: 4,
        is_cyclic: false,
        multiplexing: Multiplexing::Fifo,
        packet_ubit: 100_000_000,
    };
    random_graph(shape, &mut Random(11))
}

/// Every kind of certificate: FIFO programs, bursts around a cycle, shared branches, programs of
/// any order, both orders in one graph, curves of several pieces, trees.
fn documents() -> Vec<(&'static str, Value)> {
    vec![
        ("cycle", document(&ring(3, 80, true))),
        ("mesh", document(&mesh(5, 50, true))),
        ("tandem", document(&interleaved(4, 80, true))),
        ("any order", document(&in_any_order(interleaved(4, 60, true), &[0, 1, 2, 3]))),
        ("both orders", document(&in_any_order(interleaved(4, 50, false), &[1, 2]))),
        ("pieces", document(&with_pieces(interleaved(3, 70, true)))),
        ("tree", document(&branching())),
    ]
}

/// Every value that is neither list nor object, by its path.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            for (index, item) in list.iter().enumerate() {
                leaves(item, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (name, item) in members {
                leaves(item, &format!("{path}/{name}"), found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

fn at<'a>(document: &'a mut Value, path: &str) -> &'a mut Value {
    document.pointer_mut(path).expect("it is there")
}

fn scaled(value: &mut Value, per_mille: u64) {
    let number = value.as_u64().expect("a whole number");
    *value = (number / 1_000 * per_mille).into();
}

#[test]
fn as_written_they_are_certified() {
    for (name, document) in documents() {
        assert!(is_certified(&document), "{name}");
        assert!(certify_bounds(&document.to_string()).is_err(), "{name}: members in another order");
    }
}

#[test]
fn whatever_is_changed_and_not_sealed_is_refused() {
    let graph = with_pieces(interleaved(3, 70, true));
    let analysis = analyse(&graph, &options(), &mut |_| ());
    let text = serde_json::to_string(&analysis.document(&graph)).expect("serialisable");
    assert!(certify_bounds(&text).is_ok());
    // A digit more or less, a letter of a name: anywhere.
    let digits = text.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric());
    for (place, old) in digits.step_by(7) {
        let new = if old == '7' || old == 'q' { '1' } else { '7' };
        let mut changed = text.clone();
        changed.replace_range(place..=place, &new.to_string());
        assert!(certify_bounds(&changed).is_err(), "{place}: {old} to {new}");
    }
}

#[test]
fn a_lower_bound_or_claim_is_refused() {
    for (name, document) in documents() {
        let mut paths: Vec<String> = Vec::new();
        numbers(&document["server_delays_ps"], "/server_delays_ps", &mut paths);
        for index in 0..document["bounds"].as_array().expect("bounds").len() {
            paths.push(format!("/bounds/{index}/delay_bound_ps"));
        }
        for index in 0..document["bursts"].as_array().expect("bursts").len() {
            paths.push(format!("/bursts/{index}/bucket/burst_ubit"));
            paths.push(format!("/bursts/{index}/bucket/rate_ubps"));
        }
        for path in paths {
            let mut tampered = document.clone();
            scaled(at(&mut tampered, &path), 999);
            assert!(!is_certified(&tampered), "{name} {path}");
        }
    }
}

#[test]
fn a_bound_without_its_proof_is_refused() {
    for (name, document) in documents() {
        let mut proofs = 0;
        for index in 0..document["bounds"].as_array().expect("bounds").len() {
            if !document["bounds"][index]["proof"].is_null() {
                proofs += 1;
                let mut tampered = document.clone();
                tampered["bounds"][index]["proof"] = Value::Null;
                assert!(!is_certified(&tampered), "{name} {index}");
            }
        }
        assert!(proofs > 0, "{name} has linear proofs");
    }
}

/// What no number may be claimed for: an overloaded server and all behind it, whatever proof of a
/// network that is not overloaded goes with it.
#[test]
fn overload_has_no_bound_that_is_believed() {
    for order in [&[][..], &[0, 1, 2]] {
        let sound = document(&in_any_order(interleaved(3, 80, true), order));
        let heavy = in_any_order(interleaved(3, 180, true), order);
        let refused = document(&heavy);
        let bounds = refused["bounds"].as_array().expect("bounds");
        let open = bounds.iter().filter(|bound| bound["delay_bound_ps"].is_null()).count();
        assert!(open > 0, "some have none");
        assert!(is_certified(&refused));
        for (index, bound) in bounds.iter().enumerate() {
            if !bound["delay_bound_ps"].is_null() {
                continue;
            }
            for proof in [&Value::Null, &sound["bounds"][index]["proof"]] {
                let mut tampered = refused.clone();
                tampered["bounds"][index]["delay_bound_ps"] = u64::MAX.into();
                tampered["bounds"][index]["proof"] = proof.clone();
                assert!(!is_certified(&tampered), "bound {index}");
                for server in 0..3 {
                    tampered["server_delays_ps"][server] = u64::MAX.into();
                }
                assert!(!is_certified(&tampered), "bound {index} and delays");
            }
        }
    }
}

/// Whatever is made worse in the description is refused, unless an analysis of what is described
/// then still finds all that is claimed: a line that nothing is behind, a bucket that never binds.
#[test]
fn a_description_that_is_worse_than_analysed_is_refused() {
    for (name, document) in documents() {
        let mut paths = Vec::new();
        numbers(&document["description"], "/description", &mut paths);
        let (mut refused, mut harmless) = (0, 0);
        for path in paths {
            let Some(worse) = worse_per_mille(&path) else { continue };
            let mut tampered = document.clone();
            let number = at(&mut tampered, &path);
            if number.as_u64() == Some(0) {
                *number = 1_000_000_000.into();
            } else {
                scaled(number, worse);
            }
            if !is_certified(&tampered) {
                refused += 1;
                continue;
            }
            harmless += 1;
            let graph = serde_json::from_value(tampered["description"].clone()).expect("a graph");
            let anew = analyse(&graph, &options(), &mut |_| ());
            for (bound, claim) in anew.bounds.iter().zip(document["bounds"].as_array().expect("")) {
                let claimed = claim["delay_bound_ps"].as_i64().map(|ps| Picos(ps.into()));
                assert!(bound.delay <= claimed, "{name} {path}: {bound:?}");
            }
        }
        println!("{name}: {refused} refused, {harmless} harmless");
        assert!(refused > 2 * harmless, "{name}: {refused} refused, {harmless} accepted");
    }
}

/// How a number of the description becomes worse; `None` for indices and deadlines.
fn worse_per_mille(path: &str) -> Option<u64> {
    let is_service = path.contains("/service/");
    match path.rsplit('/').next()? {
        "rate_ubps" if is_service => Some(990),
        "rate_ubps" | "burst_ubit" | "latency_ps" | "packet_ubit" | "constant_ps" => Some(1_010),
        _ => None,
    }
}

/// A change to a document.
type Change = fn(&mut Value);

#[test]
fn another_network_is_refused() {
    for (name, document) in documents() {
        let changes: [(&str, Change); 5] = [
            ("lines that shape nothing", |d| d["line_shaping"] = false.into()),
            ("a bound is missing", |d| {
                d["bounds"].as_array_mut().expect("bounds").pop();
            }),
            ("a bound stands there twice", |d| {
                let copy = d["bounds"][0].clone();
                d["bounds"].as_array_mut().expect("bounds").push(copy);
            }),
            ("a flow more", |d| {
                let copy = d["description"]["flows"][0].clone();
                d["description"]["flows"].as_array_mut().expect("flows").push(copy);
            }),
            ("another flow's bound", |d| {
                let (a, b) = (d["bounds"][0].clone(), d["bounds"][1].clone());
                (d["bounds"][0], d["bounds"][1]) = (b, a);
                (d["bounds"][0]["flow"], d["bounds"][1]["flow"]) = (0.into(), 1.into());
            }),
        ];
        for (change, apply) in changes {
            // Lines matter where they are what holds arrivals back.
            let is_shaped = ["cycle", "mesh", "tandem"].contains(&name);
            let is_alike =
                document["bounds"][0]["delay_bound_ps"] == document["bounds"][1]["delay_bound_ps"];
            if (change.starts_with("lines") && !is_shaped)
                || (change.starts_with("another") && is_alike)
            {
                continue;
            }
            let mut tampered = document.clone();
            apply(&mut tampered);
            assert!(!is_certified(&tampered), "{name}: {change}");
        }
        for server in 0..document["description"]["servers"].as_array().expect("servers").len() {
            let mut tampered = document.clone();
            let order = &mut tampered["description"]["servers"][server]["multiplexing"];
            if *order == "fifo" {
                *order = "arbitrary".into();
                assert!(!is_certified(&tampered), "{name}: server {server} in any order");
            }
        }
    }
}

/// One change at a time to whatever a proof consists of.
fn changes(proof: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let mut paths = Vec::new();
    leaves(proof, "", &mut paths);
    for path in paths {
        let old = proof.pointer(&path).expect("it is there");
        let others: Vec<Value> = match old {
            Value::Number(number) => {
                let n = number.as_u64().expect("whole");
                let all = [0, n / 2, n.saturating_sub(1), n.saturating_add(1), n.saturating_mul(2)];
                all.into_iter().filter(|other| *other != n).map(Value::from).collect()
            }
            Value::String(kind) if kind == "fifo" => vec!["service".into()],
            Value::String(_) => vec!["fifo".into()],
            _ => vec![0.into()],
        };
        for other in others {
            let mut changed = proof.clone();
            *at(&mut changed, &path) = other;
            found.push(changed);
        }
    }
    for list in ["nodes", "terms"] {
        for index in 0..proof[list].as_array().expect("a list").len() {
            let mut without = proof.clone();
            without[list].as_array_mut().expect("a list").remove(index);
            let mut twice = proof.clone();
            let copy = proof[list][index].clone();
            twice[list].as_array_mut().expect("a list").push(copy);
            found.extend([without, twice]);
        }
    }
    found
}

/// Claims a hair below what is proved, with proofs that differ in one place: a number, a kind of
/// date, a term or node less or more. None is believed.
#[test]
fn no_change_to_a_proof_proves_less() {
    const CHANGES_MAX: usize = 250;
    for (name, document) in documents() {
        let mut tried = 0;
        let mut places: Vec<String> = Vec::new();
        let lists = [("bounds", "delay_bound_ps"), ("bursts", "bucket/burst_ubit")];
        for (list, claim) in lists {
            let all = document[list].as_array().expect("a list");
            let proved = all.iter().enumerate().filter(|(_, item)| item["proof"].is_object());
            places.extend(proved.map(|(i, _)| format!("/{list}/{i} {claim}")).take(2));
        }
        for place in places {
            let (item, claim) = place.split_once(' ').expect("two parts");
            let mut lowered = document.clone();
            scaled(at(&mut lowered, &format!("{item}/{claim}")), 999);
            let proof = at(&mut lowered, &format!("{item}/proof")).clone();
            let all = changes(&proof);
            for changed in all.iter().step_by(all.len().div_ceil(CHANGES_MAX)) {
                tried += 1;
                *at(&mut lowered, &format!("{item}/proof")) = changed.clone();
                assert!(!is_certified(&lowered), "{name} {place}: {changed}");
            }
        }
        println!("{name}: {tried} changes");
        assert!(tried > 100, "{name}: {tried}");
    }
}

/// Bounds that are surely false, with proofs that are changed at random in several places: none is
/// believed, and the checker ends without a panic.
#[test]
fn no_proof_proves_what_is_false() {
    let mut random = Random(7);
    for (name, document) in documents() {
        let mut paths = Vec::new();
        numbers(&document["bounds"], "/bounds", &mut paths);
        numbers(&document["bursts"], "/bursts", &mut paths);
        numbers(&document["server_delays_ps"], "/server_delays_ps", &mut paths);
        let mut false_claim = document.clone();
        // Less than the latencies on the way: one packet alone takes longer.
        let servers = &document["description"]["servers"];
        let visits = document["description"]["flows"][0]["visits"].as_array().expect("visits");
        let latency = |visit: &Value| {
            let server = usize::try_from(visit["server"].as_u64().expect("an index")).expect("few");
            let pieces = servers[server]["service"].as_array().expect("pieces");
            pieces.iter().filter_map(|piece| piece["latency_ps"].as_u64()).min().expect("a piece")
        };
        let target = &document["description"]["flows"][0]["targets"][0]["visit"];
        let last = usize::try_from(target.as_u64().expect("an index")).expect("few");
        let is_chain =
            visits.iter().enumerate().all(|(i, v)| v["parent"] == json!(i.checked_sub(1)));
        let latencies: u64 = if is_chain {
            visits[..=last].iter().map(latency).sum()
        } else {
            latency(&visits[last])
        };
        assert!(latencies > 1);
        false_claim["bounds"][0]["delay_bound_ps"] = (latencies - 1).into();
        for _ in 0..200 {
            let mut tampered = false_claim.clone();
            for _ in 0..=random.below(4) {
                let path = &paths[random.below(paths.len())];
                if path == "/bounds/0/delay_bound_ps" {
                    continue;
                }
                let number = at(&mut tampered, path);
                let old = number.as_u64().unwrap_or(0);
                *number = match random.below(6) {
                    0 => 0.into(),
                    1 => (old / 2).into(),
                    2 => old.saturating_mul(2).into(),
                    3 => old.saturating_add(1).into(),
                    4 => old.saturating_sub(1).into(),
                    _ => u64::try_from(random.below(1 << 20)).expect("small").into(),
                };
            }
            assert!(!is_certified(&tampered), "{name}");
        }
    }
}

#[test]
fn text_that_is_no_document_is_refused() {
    for text in ["", "{}", "[]", "{\"schema\":\"tenuto-bounds/1\"}", "nonsense"] {
        assert!(certify_bounds(text).is_err());
    }
}
