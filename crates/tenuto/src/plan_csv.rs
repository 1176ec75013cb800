//! Bounds as a table: one row per flow, target and mode, the unit in the name of the column.

use crate::plan_text::worst_hop;
use std::fmt::Write;
use tenuto_model::Plan;

/// The table; what is unbounded is empty.
pub(crate) fn text(plan: &Plan) -> String {
    let network = &plan.network;
    let mut out = String::from(
        "flow,target,mode,level,priority,deadline_ns,delay_bound_ns,slack_ns,skew_bound_ns,\
         skew_limit_ns,method,worst_hop,first_arrival_bound_ns\n",
    );
    for row in &plan.flows {
        let flow = network.flow(&row.flow);
        let bound = row.delay_bound_ps.map(|ps| ps.div_ceil(1_000));
        let slack = bound.map(|bound| i128::from(row.deadline_ns) - i128::from(bound));
        let cells = [
            row.flow.clone(),
            row.target.clone(),
            row.mode.label(&network.modes),
            flow.and_then(|f| network.modes.get(f.level)).cloned().unwrap_or_default(),
            row.priority.to_string(),
            row.deadline_ns.to_string(),
            number(bound),
            number(slack),
            number(row.skew_bound_ps.map(|ps| ps.div_ceil(1_000))),
            number(flow.and_then(|f| f.skew_max_ns)),
            row.method.clone(),
            worst_hop(network, row),
            number(row.first_arrival_bound_ps().map(|ps| ps.div_ceil(1_000))),
        ];
        let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
        writeln!(out, "{}", cells.join(",")).expect("writing to a string");
    }
    out
}

fn number(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// In quotes where the format asks for it.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn commas_and_quotes_are_kept_apart() {
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(quoted("sw1:3 > sw2"), "sw1:3 > sw2");
    }
}
