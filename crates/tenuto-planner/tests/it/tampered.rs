//! Whatever is changed in a plan and sealed anew, no claim becomes smaller and no deployment other
//! than what is analysed: exhaustive over the fields, a sample of the places.

pub(crate) mod changes;
pub(crate) mod networks;
pub(crate) mod rules;
pub(crate) mod tables;

use self::changes::{Change, What, changes};
use self::networks::{Case, cases};
use self::rules::{Rule, rule};
use self::tables::behaviour;
use crate::support::{less_than, sealed};
use serde_json::{Value, json};
use tenuto_certify::{Certificate, certify};
use tenuto_model::Network;
use tenuto_planner::plan;

/// Both digests, and the number of entries that are counted, made anew.
fn counted_and_sealed(mut plan: Value) -> String {
    if let Some(switches) = plan["switches"].as_array_mut() {
        for switch in switches {
            count(switch);
        }
    }
    sealed(plan)
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

/// One document and what is believed of it.
struct Original<'a> {
    case: &'a Case,
    document: &'a Value,
    assumptions: Vec<String>,
}

impl Original<'_> {
    /// Why it is wrong that a changed document was believed; `None` where it is not.
    fn hole(&self, change: &Change, changed: &Value, certificate: &Certificate) -> Option<String> {
        let is_feasible = self.document["feasible"] == true;
        let old = self.document.pointer(&change.path).unwrap_or(&Value::Null);
        let new = changed.pointer(&change.path).unwrap_or(&Value::Null);
        let grown = || new.is_null() || (!old.is_null() && new.as_u64() >= old.as_u64());
        let wrong = match rule(&change.field()) {
            Rule::Told | Rule::Witness => false,
            Rule::Bound => {
                let tighter = || new.as_u64() >= old.as_u64().map(|n| n - n / 1_000 - n.min(1));
                !grown() && (old.is_null() || !tighter()) && !self.is_generous(change, new)
            }
            Rule::AtLeast => {
                let others = self.carries(changed, &change.path);
                let is_unused = self.document["network"]["modes"].as_array().map(Vec::len)
                    == Some(1)
                    && !change.path.starts_with("/switches")
                    && !change.path.starts_with("/hosts");
                !grown() && !others && !is_unused
            }
            Rule::Least => !new.is_null() && new.as_u64() > old.as_u64(),
            Rule::Claims | Rule::Rows => match change.what {
                What::Swap(..) => false,
                What::Drop(_) => is_feasible || rule(&change.field()) == Rule::Rows,
                What::Twice(_) | What::Put(..) => true,
            },
            Rule::Place => is_feasible && self.is_steady(&change.path),
            Rule::Verdict => *new == true,
            Rule::Assumed => certificate.assumptions == self.assumptions,
            Rule::Tables => {
                let (now, before) = (behaviour(changed), behaviour(self.document));
                return now
                    .iter()
                    .zip(&before)
                    .find(|(a, b)| a != b)
                    .map(|(a, b)| format!("{b} became {a}"));
            }
            Rule::Description => return self.is_false(changed),
            Rule::Never => true,
        };
        wrong.then(|| format!("{old} became {new}"))
    }

    /// Where the planner is known to take far more than it needs: fluid figures, which a line alone
    /// may hold to zero, and buffers beside other traffic, into which it counts the frame in the way.
    fn is_generous(&self, change: &Change, new: &Value) -> bool {
        let is_backlog = change.field() == "/port_rows/*/backlog_bound_bits";
        self.document["model"] == "fluid"
            || (self.case.name == "other traffic" && is_backlog && new.as_u64() > Some(0))
    }

    /// Whether the place is in a row of a steady mode.
    fn is_steady(&self, path: &str) -> bool {
        let row: Vec<&str> = path.split('/').take(3).collect();
        self.document.pointer(&row.join("/")).is_some_and(|row| !row["mode"]["steady"].is_null())
    }

    /// Whether the place is in a meter of other traffic, for which nothing is promised.
    fn carries(&self, changed: &Value, path: &str) -> bool {
        let meter = path.rsplit_once('/').and_then(|(meter, _)| changed.pointer(meter));
        meter.is_some_and(|meter| meter.get("flow") == Some(&Value::Null))
    }

    /// A claim of the document that planning its description anew does not find again.
    fn is_false(&self, changed: &Value) -> Option<String> {
        // What is no network to the model is none to anybody that could use the plan.
        let network: Network = serde_json::from_value(changed["network"].clone()).ok()?;
        let anew = plan(&network, &self.case.options);
        let anew = serde_json::to_value(&anew).expect("serialisable");
        if anew["routes"] != changed["routes"] {
            return None;
        }
        let same =
            |list: &str, keys: &[&str], claim: &str| less_than(&anew, changed, (list, keys, claim));
        same("flows", &["flow", "target", "mode"], "delay_bound_ps")
            .or_else(|| same("flows", &["flow", "target", "mode"], "skew_bound_ps"))
            .or_else(|| same("port_rows", &["port", "mode"], "backlog_bound_bits"))
            .or_else(|| same("mode_changes", &["change"], "bound_ps"))
            .or_else(|| {
                let is_worse = changed["feasible"] == true && anew["feasible"] == false;
                is_worse.then(|| format!("feasible, but {}", anew["refusals"][0]))
            })
    }
}

#[test]
fn whatever_is_changed_no_claim_is_less_and_no_deployment_another() {
    let mut holes: Vec<String> = Vec::new();
    for case in cases() {
        let document = serde_json::to_value(&case.plan).expect("serialisable");
        let certificate = match certify(&counted_and_sealed(document.clone())) {
            Ok(certificate) => certificate,
            Err(findings) => panic!("{}: {}", case.name, findings[0]),
        };
        let original =
            Original { case: &case, document: &document, assumptions: certificate.assumptions };
        let all = changes(&document, case.each_max, 1);
        let mut believed = 0;
        for change in &all {
            let changed = change.apply(&document);
            let is_counted = change.path.contains("/usage");
            let text = if is_counted {
                sealed(changed.clone())
            } else {
                counted_and_sealed(changed.clone())
            };
            let Ok(certificate) = certify(&text) else { continue };
            believed += 1;
            if let Some(hole) = original.hole(change, &changed, &certificate) {
                holes.push(format!("{}: {}, {}: {hole}", case.name, change.path, change.kind()));
            }
        }
        println!("{}: {} changes, {believed} believed", case.name, all.len());
        assert!(all.len() > 600 && believed < all.len() / 3, "{}", case.name);
    }
    assert!(holes.is_empty(), "{} holes:\n{}", holes.len(), holes.join("\n"));
}
