//! The checker believes no claim that does not follow, whatever the proofs look like.

mod networks;

use networks::random::Random;
use networks::{interleaved, mesh, ring};
use serde_json::Value;
use tenuto_bounds::{Options, ServerGraph, analyse};
use tenuto_certify::certify_bounds;

fn document(graph: &ServerGraph) -> Value {
    let options = Options { rows_max: 600, tree_servers_max: 12, ..Options::default() };
    let analysis = analyse(graph, &options, &mut |_| ());
    serde_json::to_value(analysis.document(graph)).expect("serialisable")
}

fn is_certified(document: &Value) -> bool {
    certify_bounds(&document.to_string()).is_ok()
}

/// Two that differ in kind: bursts around a cycle; trees with shared branches.
fn documents() -> Vec<Value> {
    vec![
        document(&ring(3, 80, true)),
        document(&mesh(5, 50, true)),
        document(&interleaved(4, 80, true)),
    ]
}

/// Every number of a value, by its path.
fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.to_owned()),
        Value::Array(list) => {
            for (index, item) in list.iter().enumerate() {
                numbers(item, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (name, item) in members {
                numbers(item, &format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}

fn scaled(value: &mut Value, per_mille: u64) {
    let number = value.as_u64().expect("a whole number");
    *value = (number / 1_000 * per_mille).into();
}

#[test]
fn as_written_they_are_certified() {
    for document in documents() {
        assert!(is_certified(&document));
    }
}

#[test]
fn a_lower_bound_or_claim_is_refused() {
    for document in documents() {
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
            scaled(tampered.pointer_mut(&path).expect("it is there"), 999);
            assert!(!is_certified(&tampered), "{path}");
        }
    }
}

#[test]
fn a_description_that_is_worse_than_analysed_is_refused() {
    for document in documents() {
        for (path, per_mille) in [
            ("/description/flows/0/arrival/0/burst_ubit", 1_010),
            ("/description/flows/0/arrival/0/rate_ubps", 1_010),
            ("/description/servers/2/service/0/rate_ubps", 990),
            ("/description/servers/2/service/0/latency_ps", 1_010),
        ] {
            let mut tampered = document.clone();
            scaled(tampered.pointer_mut(path).expect("it is there"), per_mille);
            assert!(!is_certified(&tampered), "{path}");
        }
        let mut tampered = document.clone();
        tampered["description"]["servers"][1]["multiplexing"] = "arbitrary".into();
        assert!(!is_certified(&tampered), "another order of service");
        let mut tampered = document.clone();
        tampered["line_shaping"] = false.into();
        assert!(!is_certified(&tampered), "lines that shape nothing");
        let mut tampered = document.clone();
        tampered["bounds"].as_array_mut().expect("bounds").pop();
        assert!(!is_certified(&tampered), "a bound is missing");
    }
}

/// Bounds that are surely false, with proofs that are changed at random: none is believed, and
/// the checker ends without a panic.
#[test]
fn no_proof_proves_what_is_false() {
    let mut random = Random(7);
    for document in documents() {
        let mut paths = Vec::new();
        numbers(&document["bounds"], "/bounds", &mut paths);
        numbers(&document["bursts"], "/bursts", &mut paths);
        numbers(&document["server_delays_ps"], "/server_delays_ps", &mut paths);
        let mut false_claim = document.clone();
        // Less than the latencies on the way: one packet alone takes longer.
        let servers =
            document["description"]["flows"][0]["visits"].as_array().expect("visits").len();
        let latencies = 1_000_000_000 * u64::try_from(servers).expect("few");
        false_claim["bounds"][0]["delay_bound_ps"] = (latencies - 1).into();
        for _ in 0..400 {
            let mut tampered = false_claim.clone();
            for _ in 0..=random.below(4) {
                let path = &paths[random.below(paths.len())];
                if path == "/bounds/0/delay_bound_ps" {
                    continue;
                }
                let number = tampered.pointer_mut(path).expect("it is there");
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
            assert!(!is_certified(&tampered));
        }
    }
}

#[test]
fn text_that_is_no_document_is_refused() {
    for text in ["", "{}", "[]", "{\"schema\":\"tenuto-bounds/1\"}", "nonsense"] {
        assert!(certify_bounds(text).is_err());
    }
}
