//! Networks from a text, plans that the checker accepts, and documents changed and sealed anew.
#![allow(dead_code, reason = "each test file uses some of these")]

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tenuto_model::{MemorySources, Network, Plan, read_network};
use tenuto_planner::Options;

/// The network that a text describes; problems fail the test.
pub(crate) fn network(text: &str) -> Network {
    match read_network(&MemorySources::new().with("n.yaml", text), "n.yaml") {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}\n{text}"),
    }
}

/// Without looking for what would fit.
pub(crate) fn quick() -> Options {
    Options { would_fit: false, ..Options::default() }
}

/// The plan, of which the checker rebuilds everything.
pub(crate) fn accepted(plan: Plan) -> Plan {
    match tenuto_certify::certify(&plan.to_json()) {
        Ok(certificate) => assert_eq!(certificate.feasible, plan.feasible),
        Err(findings) => {
            let lines: Vec<String> = findings.iter().take(12).map(ToString::to_string).collect();
            panic!("{} findings:\n{}", findings.len(), lines.join("\n"))
        }
    }
    plan
}

/// The plan's text with both digests made anew.
pub(crate) fn sealed(mut plan: Value) -> String {
    plan["description_digest"] = json!(sha(&plan["network"].to_string()));
    plan["plan_hash"] = json!("");
    plan["plan_hash"] = json!(sha(&plan.to_string()));
    plan.to_string()
}

fn sha(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn list(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().expect("a list")
}

/// A row of `list` whose `claim` is less than that of the row of the same `keys` in `anew`, or that
/// has none there.
pub(crate) fn less_than(
    anew: &Value,
    believed: &Value,
    (list, keys, claim): (&str, &[&str], &str),
) -> Option<String> {
    let rows = believed[list].as_array().expect("rows");
    rows.iter().find_map(|row| {
        let mut others = anew[list].as_array().expect("rows").iter();
        let other = others.find(|it| keys.iter().all(|key| it[*key] == row[*key]))?;
        let (claimed, found) = (row[claim].as_u64()?, other[claim].as_u64());
        // The planner rounds up; by a hundredth it is never generous.
        let is_less = found.is_none_or(|n| claimed < n - n / 100 - n.min(1));
        is_less.then(|| format!("{claim} {claimed}, planned anew {found:?}: {row}"))
    })
}
