//! Whatever the text is, there is an answer.

use crate::support;

use proptest::prelude::*;
use serde_json::{Value, json};
use support::{cabin, car, sealed};
use tenuto_certify::certify;

/// All places in a value, as JSON pointers, without recursion into deep input.
fn places(value: &Value) -> Vec<String> {
    let mut open = vec![(String::new(), value)];
    let mut found = Vec::new();
    while let Some((place, value)) = open.pop() {
        match value {
            Value::Array(list) => {
                open.extend(list.iter().enumerate().map(|(i, v)| (format!("{place}/{i}"), v)));
            }
            Value::Object(map) => {
                open.extend(map.iter().map(|(key, v)| (format!("{place}/{key}"), v)));
            }
            _ => {}
        }
        found.push(place);
    }
    found
}

fn replacement() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(0)),
        Just(json!(1)),
        Just(json!(-1)),
        Just(json!(63)),
        Just(json!(255)),
        Just(json!(u32::MAX)),
        Just(json!(u64::MAX)),
        Just(json!(i64::MAX)),
        Just(json!(1_000_000_000_000_000_u64)),
        Just(json!([])),
        Just(json!({})),
        Just(json!("h1")),
        Just(json!("s2")),
        Just(json!("a")),
        Just(json!("drop")),
        Just(json!({"steady": 1})),
        Just(json!({"raise": {"from": 1, "to": 0}})),
        Just(json!({"return": {"from": 7, "to": 9}})),
        Just(json!({"message_bytes": u32::MAX})),
        Just(
            json!({"policy": "carry", "priority": 7, "rate_bps": 1_000_000, "frame_bytes_max": 1518})
        ),
        (0_u64..2_000).prop_map(|n| json!(n)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_values_makes_it_panic(
        redundant in any::<bool>(),
        faster in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), replacement()), 1..6),
        swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..3),
    ) {
        let mut plan = if redundant { cabin().plan() } else { car().plan() };
        if faster {
            // The last link is a trunk, or the way to the target.
            let links = plan["network"]["links"].as_array_mut().and_then(|links| links.last_mut());
            links.expect("a link")["rate_bps"] = json!(1_000_000_000);
        }
        for (from, to) in swaps {
            let all = places(&plan);
            let value = plan.pointer(from.get::<String>(&all).as_str()).cloned().unwrap_or_default();
            if let Some(place) = plan.pointer_mut(to.get::<String>(&all).as_str()) {
                *place = value;
            }
        }
        for (place, value) in changes {
            let all = places(&plan);
            if let Some(place) = plan.pointer_mut(place.get::<String>(&all).as_str()) {
                *place = value;
            }
        }
        if plan.is_object() {
            let _ = certify(&sealed(plan));
        }
    }

    #[test]
    fn no_change_of_bytes_makes_it_panic(
        cut in any::<prop::sample::Index>(),
        insert in "[\\[\\]{}\",:0-9a-z\\\\ -]{0,6}",
        length in 0_usize..20,
    ) {
        let text = sealed(car().plan());
        let from = cut.index(text.len());
        let to = (from + length).min(text.len());
        // The plan is ASCII, so that every byte is a boundary.
        let changed = format!("{}{insert}{}", &text[..from], &text[to..]);
        let _ = certify(&changed);
    }
}

#[test]
fn deep_and_empty_texts_are_refused() {
    for text in ["", "{}", "null", "\"", "[[[[", &"[".repeat(1 << 20), &"{\"a\":".repeat(1 << 18)] {
        let findings = certify(text).expect_err("no plan");
        assert_eq!((findings.len(), findings[0].rule), (1, "format"));
    }
}
