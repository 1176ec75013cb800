//! Meters to the bit/s and the byte: as deployed, checked to the last one of each, and what that
//! gives beside whole kbit.

use crate::support;

use serde_json::{Value, json};
use support::{accepted, network, quick, sealed};
use tenuto_certify::{Certificate, certify};
use tenuto_model::Plan;
use tenuto_planner::plan;

/// Three hosts that may babble share a line of 10 Mbit/s; periods and sizes are no round numbers.
fn planned(profile: &str) -> Plan {
    let text = format!(
        "tenuto: 1\nhosts: [a, b, c, sink]\nswitches: {{s: {{profile: p}}}}\nlinks:\n  \
         - {{ends: [a, s], rate: 100 Mbit/s}}\n  - {{ends: [b, s], rate: 100 Mbit/s}}\n  \
         - {{ends: [c, s], rate: 100 Mbit/s}}\n  - {{ends: [sink, s], rate: 10 Mbit/s}}\nflows:\n  \
         one: {{source: a, targets: [sink], frame: 71 B, period: 7 ms, deadline: 500 ms, priority: 0}}\n  \
         two: {{source: b, targets: [sink], frame: 1501 B, period: 13 ms, deadline: 500 ms, priority: 0}}\n  \
         three: {{source: c, targets: [sink], message: 9999 B, period: 101 ms, deadline: 500 ms, priority: 1}}\n\
         tolerates: {{babbling_hosts: 1}}\nprofiles:\n  p: {profile}\n"
    );
    let plan = accepted(plan(&network(&text), &quick()));
    assert!(plan.feasible, "{:#?}", plan.refusals);
    plan
}

const EXACT: &str = "{like: tenuto}";
const IN_KBIT: &str = "{like: tenuto, meter_rate_step: 1 kbit/s, meter_burst_step: 1 kbit}";

fn document(plan: &Plan) -> Value {
    serde_json::from_str(&plan.to_json()).expect("JSON")
}

/// The findings after a meter's value has been changed by so many units.
fn after(plan: &Plan, meter: usize, key: &str, by: i64) -> Vec<String> {
    let mut document = document(plan);
    let value = &mut document["switches"][0]["meters"][meter][key];
    *value = json!(value.as_u64().expect("a number").checked_add_signed(by).expect("positive"));
    match certify(&sealed(document)) {
        Ok(Certificate { .. }) => Vec::new(),
        Err(findings) => findings.iter().map(|finding| format!("{finding:?}")).collect(),
    }
}

#[test]
fn one_byte_or_one_bit_per_second_less_would_drop_what_conforms() {
    let plan = planned(EXACT);
    let meters = &plan.switches[0].meters;
    assert_eq!(meters.len(), 3);
    assert!(
        meters.iter().all(|m| m.rate_bps % 1_000 != 0 && m.burst_bytes % 125 != 0),
        "{meters:?}"
    );
    for meter in 0..meters.len() {
        for key in ["rate_bps", "burst_bytes"] {
            let found = after(&plan, meter, key, -1);
            assert!(
                found.iter().any(|finding| finding.contains("meter")),
                "{meter} {key}: {found:?}"
            );
            assert!(after(&plan, meter, key, 0).is_empty(), "only that was changed");
        }
    }
}

#[test]
fn one_byte_more_lets_more_through_than_was_analysed() {
    let plan = planned(EXACT);
    // Every byte counts for the bound of its class.
    for meter in 0..3 {
        for key in ["rate_bps", "burst_bytes"] {
            let found = after(&plan, meter, key, 1);
            assert!(!found.is_empty(), "{meter} {key}: what it lets through has to be analysed");
        }
    }
}

#[test]
fn values_between_the_steps_of_a_device_are_refused() {
    let plan = planned(IN_KBIT);
    let meters = &plan.switches[0].meters;
    assert!(
        meters.iter().all(|m| m.rate_bps % 1_000 == 0 && m.burst_bytes % 125 == 0),
        "{meters:?}"
    );
    for (key, step) in
        [("rate_bps", "multiples of 1000 bit/s"), ("burst_bytes", "multiples of 125 B")]
    {
        let found = after(&plan, 0, key, 1);
        assert!(found.iter().any(|finding| finding.contains(step)), "{key}: {found:?}");
    }
    // And a device that steps in bytes states no more than a band has room for.
    let most = i64::from(u32::MAX) * 1_000 + 1;
    let found = after(&planned(EXACT), 0, "rate_bps", most);
    assert!(found.iter().any(|finding| finding.contains("up to 4294967295000")), "{found:?}");
}

#[test]
fn bounds_behind_exact_meters_are_lower_and_never_higher() {
    let (exact, rounded) = (planned(EXACT), planned(IN_KBIT));
    let mut lower = 0;
    for (one, other) in exact.flows.iter().zip(&rounded.flows) {
        assert_eq!((&one.flow, one.mode), (&other.flow, other.mode));
        let (one, other) =
            (one.delay_bound_ps.expect("bounded"), other.delay_bound_ps.expect("bounded"));
        assert!(one <= other, "{one} {other}");
        lower += usize::from(one < other);
    }
    assert_eq!(lower, exact.flows.len(), "no contract here is whole in kbit");
    for (one, other) in exact.switches[0].meters.iter().zip(&rounded.switches[0].meters) {
        assert!(one.rate_bps <= other.rate_bps && other.rate_bps - one.rate_bps < 1_000);
        assert!(
            one.burst_bytes <= other.burst_bytes && other.burst_bytes - one.burst_bytes <= 125 + 1
        );
    }
}
