//! Witnesses of plans of every kind: too little is refused, and most are the least that their inequality
//! allows; a larger one makes no claim smaller.

use crate::support::{network, quick, sealed};
use crate::tampered::networks::cases;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tenuto_certify::certify;
use tenuto_model::Plan;
use tenuto_planner::plan;

/// What the planner rounds up is generous by less than this part.
const GENEROUS: u64 = 50;
/// The planner's ends wait for lines too that bring a switch nothing of the mode; 878 µs are stated
/// where 253 µs are enough.
const END_AT_LEAST: u64 = 5;
/// Claims that are tried of one plan.
const CLAIMS_MAX: usize = 12;

/// Switches in a circle, of which every flow goes most of the way, in two modes: settled in rounds.
fn modal_circle() -> String {
    let mut text =
        "tenuto: 1\nname: circle\nmodes: [LO, HI]\nhosts: [h0, h1, h2, h3]\nswitches: {w0: \
                    {profile: tenuto}, w1: {profile: tenuto}, w2: {profile: tenuto}, w3: {profile: \
                    tenuto}}\ndefaults: {link: {rate: 10 Mbit/s}}\nlinks:\n"
            .to_owned();
    for i in 0..4 {
        text += &format!("  - {{ends: [h{i}, w{i}]}}\n  - {{ends: [w{i}, w{}]}}\n", (i + 1) % 4);
    }
    text += "flows:\n";
    for i in 0..4 {
        let (j, k) = ((i + 1) % 4, (i + 2) % 4);
        text += &format!(
            "  f{i}: {{source: h{i}, targets: {{h{k}: {{route: [w{i}, w{j}, w{k}]}}}}, level: HI, \
             frame: 500 B, period: {{LO: 9 ms, HI: 4 ms}}, deadline: 90 ms, priority: 0}}\n  \
             g{i}: {{source: h{i}, targets: {{h{k}: {{route: [w{i}, w{j}, w{k}]}}}}, level: LO, \
             frame: 300 B, period: 12 ms, deadline: 90 ms, priority: 1}}\n"
        );
    }
    text + "tolerates: {babbling_hosts: 0, lost_signals: 1}\n"
}

/// A ring in two modes, any link of which may be lost.
const MODAL_RING: &str = "
tenuto: 1
name: ring
modes: [LO, HI]
hosts: [a, b, c]
switches: {w1: {profile: tenuto}, w2: {profile: tenuto}, w3: {profile: tenuto}}
defaults: {link: {rate: 100 Mbit/s}}
links:
  - {ends: [a, w1]}
  - {ends: [b, w2]}
  - {ends: [c, w3]}
  - {ends: [w1, w2]}
  - {ends: [w2, w3]}
  - {ends: [w3, w1]}
flows:
  one: {source: a, targets: [b], level: HI, frame: 700 B, period: {LO: 9 ms, HI: 4 ms}, deadline: 30 ms, priority: 0}
  two: {source: c, targets: [b], level: LO, frame: 900 B, period: 6 ms, deadline: 30 ms, priority: 1}
tolerates: {links_lost: 1, babbling_hosts: 0, lost_signals: 1}
";

/// Plans by name, as they are sealed.
fn documents() -> Vec<(&'static str, Value)> {
    let value = |plan: &Plan| serde_json::to_value(plan).expect("serialisable");
    let mut all: Vec<(&'static str, Value)> =
        cases().into_iter().map(|case| (case.name, value(&case.plan))).collect();
    for (name, text) in
        [("circle, modes", modal_circle().as_str()), ("lost links, modes", MODAL_RING)]
    {
        all.push((name, value(&plan(&network(text), &quick()))));
    }
    all
}

/// Pointers to all numbers below `value` for which `is` holds of their path.
fn numbers(value: &Value, path: &str, is: &dyn Fn(&str) -> bool, found: &mut Vec<String>) {
    match value {
        Value::Array(all) => {
            for (index, item) in all.iter().enumerate() {
                numbers(item, &format!("{path}/{index}"), is, found);
            }
        }
        Value::Object(members) => {
            for (name, item) in members {
                numbers(item, &format!("{path}/{name}"), is, found);
            }
        }
        Value::Number(_) if is(path) => found.push(path.to_owned()),
        _ => {}
    }
}

fn is_witness(path: &str) -> bool {
    let is_time = ["busy_ps", "purge_ps", "after_ps", "delay_ps"];
    ["/witnesses/", "/ended/", "/rounds/"].iter().any(|of| path.contains(of))
        && is_time.iter().any(|name| path.ends_with(name))
}

/// What a plan promises, or rests on.
fn is_claim(path: &str) -> bool {
    let is_bound = ["bound_ps", "bound_bits", "delay_ps", "drain_ps", "settled_ps", "quiet_ns"];
    is_bound.iter().any(|name| path.ends_with(name)) && !is_witness(path)
}

fn all_of(document: &Value, is: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    numbers(document, "", is, &mut found);
    found
}

fn number(document: &Value, path: &str) -> u64 {
    document.pointer(path).and_then(Value::as_u64).expect("a number")
}

fn with(document: &Value, path: &str, value: u64) -> Value {
    let mut changed = document.clone();
    *changed.pointer_mut(path).expect("it is there") = json!(value);
    changed
}

/// The kind of a witness: its path without numbers.
fn kind(path: &str) -> String {
    let is_name = |part: &&str| part.parse::<usize>().is_err();
    path.split('/').filter(is_name).collect::<Vec<_>>().join("/")
}

/// Documents that state witnesses, each accepted as it is.
fn stating() -> Vec<(&'static str, Value, Vec<String>)> {
    let mut all = Vec::new();
    for (name, document) in documents() {
        if let Err(findings) = certify(&sealed(document.clone())) {
            panic!("{name}: {}", findings[0]);
        }
        let witnesses = all_of(&document, &is_witness);
        if !witnesses.is_empty() {
            all.push((name, document, witnesses));
        }
    }
    all
}

fn is_believed(document: Value) -> bool {
    certify(&sealed(document)).is_ok()
}

/// Most are exact to the picosecond. Others the planner has rounded up more than once on the way, a purge
/// by a whole frame: the checker, which rounds less, finds them a little generous, never short.
#[test]
fn no_witness_is_less() {
    let mut believed = Vec::new();
    let mut by_kind: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (name, document, witnesses) in stating() {
        for path in witnesses {
            let stated = number(&document, &path);
            if stated == 0 {
                continue;
            }
            let (tried, exact) = by_kind.entry(kind(&path)).or_default();
            *tried += 1;
            *exact += usize::from(!is_believed(with(&document, &path, stated - 1)));
            let less = match path.contains("/ended/") {
                true => stated / END_AT_LEAST,
                false => stated - stated / GENEROUS - 1,
            };
            if is_believed(with(&document, &path, less)) {
                believed.push(format!("{name}: {path}, {less} for {stated}"));
            }
        }
    }
    assert!(believed.is_empty(), "{}: {}", believed.len(), believed.join("\n"));
    let (tried, exact) = by_kind.values().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    assert!(tried > 400 && exact * 10 > tried * 9, "{by_kind:?}");
    // Busy periods, purges, ends and rounds, of ports, processors and lost links.
    assert!(by_kind.len() >= 8, "{by_kind:?}");
}

/// A larger witness is slack, or asks for more elsewhere: no claim can be less for it.
#[test]
fn no_larger_witness_makes_a_claim_smaller() {
    let (mut slack, mut asked, mut tried) = (0, 0, 0);
    for (name, document, witnesses) in stating() {
        let less = |path: &String| {
            let stated = number(&document, path);
            stated.checked_sub(stated / GENEROUS + 1)
        };
        let claims = all_of(&document, &is_claim);
        let each = claims.len().div_ceil(CLAIMS_MAX);
        let tight: Vec<(&String, u64)> = claims
            .iter()
            .step_by(each)
            .filter_map(|path| Some((path, less(path)?)))
            .filter(|(path, less)| !is_believed(with(&document, path, *less)))
            .collect();
        assert!(!tight.is_empty(), "{name}");
        let kinds: BTreeSet<String> = witnesses.iter().map(|path| kind(path)).collect();
        for kind_of in kinds {
            for (factor, more) in [(1, 1), (1, 1_000_000), (8, 0)] {
                let mut raised = document.clone();
                for path in witnesses.iter().filter(|path| kind(path) == kind_of) {
                    let larger = number(&document, path) * factor + more;
                    *raised.pointer_mut(path).expect("it is there") = json!(larger);
                }
                match certify(&sealed(raised.clone())) {
                    Ok(_) => slack += 1,
                    Err(findings) => {
                        let rules = findings.iter().map(|finding| finding.rule);
                        let unnamed = rules.filter(|rule| ["format", "digest"].contains(rule));
                        assert_eq!(unnamed.count(), 0, "{name}: {kind_of}: {}", findings[0]);
                        asked += 1;
                    }
                }
                for (path, less) in &tight {
                    tried += 1;
                    let believed = is_believed(with(&raised, path, *less));
                    assert!(!believed, "{name}: {kind_of} raised, {path} lowered to {less}");
                }
            }
        }
    }
    assert!(slack > 5 && asked > 20 && tried > 400, "{slack} {asked} {tried}");
}
