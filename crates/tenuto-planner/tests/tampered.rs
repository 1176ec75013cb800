//! Whatever is changed in a plan and sealed anew, no claim becomes smaller and no deployment other
//! than what is analysed: exhaustive over the fields, a sample of the places.

mod tampered {
    pub mod changes;
    pub mod networks;
}

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use tampered::{changes::changes, networks::cases};
use tenuto_certify::certify;

fn sha(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Both digests, and the number of entries that are counted, made anew.
fn sealed(mut plan: Value) -> String {
    if let Some(switches) = plan["switches"].as_array_mut() {
        for switch in switches {
            count(switch);
        }
    }
    sealed_as_counted(plan)
}

/// Both digests made anew.
fn sealed_as_counted(mut plan: Value) -> String {
    plan["description_digest"] = json!(sha(&plan["network"].to_string()));
    plan["plan_hash"] = json!("");
    plan["plan_hash"] = json!(sha(&plan.to_string()));
    plan.to_string()
}

fn count(switch: &mut Value) {
    let Some(entries) = switch["entries"].as_array() else { return };
    let shadow = entries.iter().filter(|e| e["level"].as_u64().is_some_and(|level| level > 0));
    let shadow = shadow.count();
    let of = |list: &Value| list.as_array().map_or(0, Vec::len);
    let queues = switch["ports"].as_array().into_iter().flatten();
    let queues = queues.filter_map(|port| port["queues"].as_u64()).max().unwrap_or(0);
    switch["usage"] = json!({"entries": entries.len() - shadow, "shadow": shadow,
        "meters": of(&switch["meters"]), "groups": of(&switch["groups"]), "queues": queues});
}

#[test]
fn survey() {
    let mut table: BTreeMap<String, BTreeMap<(&str, &str), usize>> = BTreeMap::new();
    for case in cases() {
        let start = std::time::Instant::now();
        let document = serde_json::to_value(&case.plan).expect("serialisable");
        if let Err(findings) = certify(&sealed(document.clone())) {
            println!("NOT CERTIFIED {}: {}", case.name, findings[0]);
            continue;
        }
        let all = changes(&document, 2, 1);
        let mut accepted = 0;
        for change in &all {
            let changed = change.apply(&document);
            let text = if change.path.contains("/usage") { sealed_as_counted(changed) } else { sealed(changed) };
            if certify(&text).is_ok() {
                accepted += 1;
                *table.entry(change.field()).or_default().entry((change.kind(), case.name)).or_default() += 1;
            }
        }
        println!("{}: feasible {} {} of {} accepted, {:?} {}", case.name, case.plan.feasible, accepted, all.len(), start.elapsed(), case.plan.refusals.first().map_or(String::new(), |r| r.because.clone()));
    }
    for (field, kinds) in table {
        let mut by_kind: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (kind, case) in kinds.keys() { by_kind.entry(kind).or_default().push(case); }
        println!("{field}");
        for (kind, cases) in by_kind { println!("      {kind}: {}", cases.join(" | ")); }
    }
}
