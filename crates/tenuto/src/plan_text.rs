//! A plan as people read it: what is promised, where it is tight, what it takes, what it assumes.

use crate::format::{
    Table, beside, counted, kilobytes_down, kilobytes_up, ms_down, ms_up, percent_up, short_hash,
    tolerated,
};
use crate::plan_losses;
use crate::planning::{Planned, Promise};
use std::collections::BTreeMap;
use std::fmt::Write;
use tenuto_model::{
    CopyBound, FlowBound, ForwardingModel, Hop, ModeChangeBound, Network, Plan, Port, PortRow,
    Transition,
};

/// Rows that are shown unless all are asked for.
const ROWS_SHOWN: usize = 20;

/// The whole plan; `all` shows every row.
pub(crate) fn text(planned: &Planned, all: bool) -> String {
    let plan = &planned.plan;
    let mut out = header(planned);
    out.push_str(&flow_table(plan, all));
    out.push('\n');
    out.push_str(&beside(&port_table(plan, all), &switch_table(plan)));
    out.push_str(&processor_table(plan));
    out.push_str(&plan_losses::text(plan, all));
    out.push_str(&change_line(plan));
    out.push_str(&assumptions(plan));
    out
}

/// Processors that ports share, the most loaded first.
fn processor_table(plan: &Plan) -> String {
    if plan.processor_rows.is_empty() {
        return String::new();
    }
    let mut rows: Vec<_> = plan.processor_rows.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.load_ppm));
    let heads = ["processor", "mode", ">load", ">time bound ms", ">backlog bound", ">buffer"];
    let mut table = Table::new(&heads);
    for row in rows {
        let own = |claim: &&tenuto_model::ProcessorService| {
            claim.mode == row.mode
                && claim.entry.node == row.switch
                && row.port.is_none_or(|port| claim.entry.port == port)
        };
        let bound = plan.processors.iter().filter(own).map(|claim| claim.delay_ps).max();
        let port = row.port.map_or_else(String::new, |port| format!(":{port}"));
        let units = |count: Option<u64>, none: &str| {
            count.map_or_else(|| none.to_owned(), |count| format!("{count} {}", row.unit))
        };
        let unbounded = if row.buffer_limit.is_some() { "unbounded" } else { "-" };
        table.push(vec![
            format!("{}{port}", row.switch),
            row.mode.label(&plan.network.modes),
            percent_up(row.load_ppm, 1_000_000),
            bound.map_or_else(|| "unbounded".into(), ms_up),
            units(row.backlog_bound, unbounded),
            units(row.buffer_limit, "-"),
        ]);
    }
    format!("{}\n", table.text())
}

fn header(planned: &Planned) -> String {
    let plan = &planned.plan;
    let network = &plan.network;
    let switches = counted(network.switches.len(), "switch");
    let flows = counted(network.flows.len(), "flow");
    let mut out = format!("{}  {switches}, {flows}", network.name);
    if network.modes.len() > 1 {
        let _ = write!(out, ", modes {}", network.modes.join(" "));
    }
    if !network.networks.is_empty() {
        let _ = write!(out, ", networks {}", network.networks.join(" "));
    }
    out.push_str(match plan.model {
        ForwardingModel::StoreAndForward => "   model store-and-forward",
        ForwardingModel::Fluid => "   model fluid: not valid for frames",
    });
    if plan.as_stated {
        out.push_str(", short frames as stated");
    }
    if !plan.line_shaping {
        out.push_str(", without line shaping");
    }
    if plan.staircases {
        out.push_str(", whole messages");
    }
    if let Some(took) = planned.took {
        let _ = write!(out, "   planned in {:.2} s", took.as_secs_f64());
    }
    // Of a refused plan, changes that would fit are yet to come: they are part of what is hashed.
    match planned.promise() {
        Promise::Refused => out.push('\n'),
        _ => {
            let _ = writeln!(out, "   plan {}", short_hash(plan));
        }
    }
    out
}

/// Slack of a row in picoseconds; `None` if it is unbounded.
pub(crate) fn slack_ps(row: &FlowBound) -> Option<i128> {
    Some(i128::from(row.deadline_ns) * 1_000 - i128::from(row.delay_bound_ps?))
}

fn flow_table(plan: &Plan, all: bool) -> String {
    let network = &plan.network;
    let mut rows: Vec<&FlowBound> = plan.flows.iter().collect();
    rows.sort_by_key(|row| slack_ps(row).unwrap_or(i128::MIN));
    let shown = if all { rows.len() } else { rows.len().min(ROWS_SHOWN) };
    let has_skew = rows.iter().any(|row| row.skew_bound_ps.is_some());
    let mut heads =
        vec!["flow", "target", "mode", "level", ">prio", ">deadline ms", ">bound ms", ">slack ms"];
    let worst = plan_losses::worst(plan);
    if !worst.is_empty() {
        heads.push(">after a loss ms");
    }
    if has_skew {
        heads.extend([">first ms", ">skew ms", ">limit ms"]);
    }
    heads.extend(["method", "worst hop"]);
    let mut table = Table::new(&heads);
    for row in &rows[..shown] {
        table.push(flow_cells(network, row, &worst, has_skew));
    }
    let mut out = table.text();
    if shown < rows.len() {
        let more = rows.len() - shown;
        let _ = writeln!(out, "… {more} more with more slack (--all, --csv FILE)");
    }
    out
}

fn flow_cells(
    network: &Network,
    row: &FlowBound,
    worst: &plan_losses::Worst<'_>,
    has_skew: bool,
) -> Vec<String> {
    let or_none = |ps: Option<u64>| ps.map_or_else(|| "-".into(), ms_up);
    let flow = network.flow(&row.flow);
    let level = flow.and_then(|f| network.modes.get(f.level)).map_or("?", String::as_str);
    let mut cells = vec![
        row.flow.clone(),
        row.target.clone(),
        row.mode.label(&network.modes),
        level.to_owned(),
        row.priority.to_string(),
        ms_down(i128::from(row.deadline_ns) * 1_000),
        row.delay_bound_ps.map_or_else(|| "unbounded".into(), ms_up),
        slack_ps(row).map_or_else(|| "-".into(), ms_down),
    ];
    if !worst.is_empty() {
        cells.push(plan_losses::cell(worst, row));
    }
    if has_skew {
        let limit = flow.and_then(|f| f.skew_max_ns);
        cells.push(or_none(row.first_arrival_bound_ps()));
        cells.push(or_none(row.skew_bound_ps));
        cells.push(limit.map_or_else(|| "-".into(), |ns| ms_down(i128::from(ns) * 1_000)));
    }
    cells.push(row.method.clone());
    cells.push(worst_hop(network, row));
    cells
}

/// The hop that takes longest, of the copy that takes longest.
pub(crate) fn worst_hop(network: &Network, row: &FlowBound) -> String {
    let Some(copy) = row.copies.first() else { return "-".into() };
    let takes = |hop: &&Hop| {
        let queueing = hop.queueing_ps.unwrap_or(u64::MAX);
        queueing.saturating_add(hop.latency_ps).saturating_add(hop.propagation_ps)
    };
    let worst = copy.hops.iter().max_by_key(takes);
    let label = worst.map_or_else(|| "-".into(), |hop| network.port_label(&hop.port));
    match copy {
        CopyBound { network: Some(name), .. } => format!("{name}: {label}"),
        _ => label,
    }
}

/// The mode in which each port is most loaded, most loaded ports first; with `all`, every row.
fn port_table(plan: &Plan, all: bool) -> Vec<String> {
    let network = &plan.network;
    let load = |row: &PortRow| {
        u128::from(row.rate_bps) * 1_000_000_000 / u128::from(row.capacity_bps.max(1))
    };
    let mut rows: Vec<&PortRow> = plan.port_rows.iter().collect();
    if !all {
        let mut worst: BTreeMap<&Port, &PortRow> = BTreeMap::new();
        for row in rows {
            let known = worst.entry(&row.port).or_insert(row);
            // Of equal loads the larger backlog is shown; unbounded is the largest.
            let key = |row: &PortRow| (load(row), row.backlog_bound_bits.unwrap_or(u64::MAX));
            if key(row) > key(known) {
                *known = row;
            }
        }
        rows = worst.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(load(row)));
    }
    let shown = if all { rows.len() } else { rows.len().min(ROWS_SHOWN) };
    let queues = queues(plan);
    let mut table = Table::new(&["port", "mode", ">load", ">backlog bound", ">buffer", ">queues"]);
    for row in &rows[..shown] {
        let limit = network.switch(&row.port.node);
        let limit = limit.map(|switch| network.profile_of(switch).queues_per_port);
        let used = queues.get(&(row.port.node.as_str(), row.port.port)).copied().unwrap_or(0);
        let backlog = row.backlog_bound_bits;
        table.push(vec![
            network.port_label(&row.port),
            row.mode.label(&network.modes),
            percent_up(row.rate_bps, row.capacity_bps),
            backlog.map_or_else(|| "unbounded".into(), kilobytes_up),
            row.buffer_limit_bits.map_or_else(|| "-".into(), kilobytes_down),
            limit.map_or_else(|| used.to_string(), |limit| format!("{used}/{limit}")),
        ]);
    }
    let mut lines = table.lines();
    if shown < rows.len() {
        lines.push(format!("… {} more with less load (--all)", rows.len() - shown));
    }
    lines
}

/// Queues in use, by node and port.
fn queues(plan: &Plan) -> BTreeMap<(&str, u32), u8> {
    let switches = plan.switches.iter().map(|s| (s.switch.as_str(), &s.ports));
    let hosts = plan.hosts.iter().map(|h| (h.host.as_str(), &h.ports));
    let ports = switches
        .chain(hosts)
        .flat_map(|(node, ports)| ports.iter().map(move |port| ((node, port.port), port.queues)));
    ports.collect()
}

fn switch_table(plan: &Plan) -> Vec<String> {
    if plan.switches.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&["switch", ">entries", ">meters", ">groups", ">shadow"]);
    for deployment in &plan.switches {
        let Some(switch) = plan.network.switch(&deployment.switch) else { continue };
        let (used, profile) = (deployment.usage, plan.network.profile_of(switch));
        // Shadow entries take places of the same tables.
        table.push(vec![
            deployment.switch.clone(),
            format!("{}/{}", used.entries.saturating_add(used.shadow), profile.entries_max),
            format!("{}/{}", used.meters, profile.meters_max),
            format!("{}/{}", used.groups, profile.groups_max),
            used.shadow.to_string(),
        ]);
    }
    table.lines()
}

fn change_line(plan: &Plan) -> String {
    let mut out = String::new();
    for change in &plan.mode_changes {
        let _ = writeln!(out, "mode change {}", change_words(plan, change));
    }
    if let (Some(quiet), true) = (plan.quiet_ns, !plan.mode_changes.is_empty()) {
        let quiet = tenuto_model::quantity::format_time(quiet);
        let _ =
            writeln!(out, "quiet       {quiet} without a violation before a return is proposed");
    }
    out
}

fn change_words(plan: &Plan, change: &ModeChangeBound) -> String {
    let label = change.change.label(&plan.network.modes);
    let terms: Vec<String> =
        change.terms.iter().map(|term| format!("{} {}", term.name, ms_up(term.bound_ps))).collect();
    let after = match change.change {
        Transition::Return { .. } => " after the last violation",
        _ => "",
    };
    let terms = if terms.is_empty() { String::new() } else { format!(" = {}", terms.join(" + ")) };
    let drained = match (change.change, change.drain_ps) {
        (Transition::Raise { .. }, Some(ps)) => format!("; all over after {} ms", ms_up(ps)),
        (Transition::Raise { .. }, None) => "; its bounds hold until the return".to_owned(),
        _ => String::new(),
    };
    let lost = after_a_loss(plan, change)
        .map_or_else(String::new, |ps| format!("; <= {} ms after a lost link", ms_up(ps)));
    format!("{label} <= {} ms{after}{terms}{drained}{lost}", ms_up(change.bound_ps))
}

/// The largest bound of a change over the links that are left when one is lost, if it is another.
fn after_a_loss(plan: &Plan, change: &ModeChangeBound) -> Option<u64> {
    let changes = plan.link_losses.iter().flat_map(|loss| &loss.mode_changes);
    let same = changes.filter(|it| it.change == change.change).map(|it| it.bound_ps);
    same.max().filter(|bound_ps| *bound_ps > change.bound_ps)
}

/// What every bound of the plan rests on.
pub(crate) fn assumptions(plan: &Plan) -> String {
    let mut out = String::new();
    for (index, text) in plan.rests_on().iter().enumerate() {
        let head = if index == 0 { "assumes" } else { "" };
        let _ = writeln!(out, "{head:<11} {text}");
    }
    let _ = writeln!(out, "{:<11} {}", "tolerates", tolerated(&plan.network));
    out
}

/// The last line; `file` is where the plan was written.
pub(crate) fn verdict(planned: &Planned, file: Option<&str>) -> String {
    let plan = &planned.plan;
    let all = plan.flows.len();
    let kept = plan.flows.iter().filter(|row| slack_ps(row).is_some_and(|ps| ps >= 0)).count();
    match planned.promise() {
        Promise::Guaranteed => {
            let how = match file {
                Some(file) => format!("`tenuto certify {file}`"),
                None => "`-o PLAN` keeps the plan, `tenuto certify PLAN` checks it again".into(),
            };
            format!("GUARANTEED: {kept} of {all} bounds, certified exactly ({how})\n")
        }
        Promise::Modelled => {
            let switches = typical_switches(plan);
            format!(
                "MODELLED: {kept} of {all} bounds within deadline, for typical times of \
                 {switches}, not worst ones; nothing is guaranteed\n"
            )
        }
        Promise::Comparison => {
            format!("FOR COMPARISON ONLY: {kept} of {all} within deadline; nothing is guaranteed\n")
        }
        Promise::Refused => format!("REFUSED: {kept} of {all} bounds within deadline\n"),
    }
}

/// Switches whose profile has typical times: the first by name, then how many more.
fn typical_switches(plan: &Plan) -> String {
    let is_typical =
        |switch: &&tenuto_model::Switch| plan.network.profile_of(switch).has_typical_times();
    let named: Vec<String> = plan
        .network
        .switches
        .iter()
        .filter(is_typical)
        .map(|switch| format!("{} ({})", switch.name, switch.profile))
        .collect();
    match named.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}
