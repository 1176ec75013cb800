//! What differs between two plans: bounds, ports, and what every switch is told.

use crate::format::{Table, counted, ms_down, ms_up};
use crate::header::Header;
use crate::planning::Planned;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_model::{FlowBound, Plan, SwitchDeployment};

/// The two plans that differ, of networks or of server graphs.
#[derive(Debug, Serialize)]
pub(crate) struct BothPlans {
    pub(crate) before_hash: String,
    pub(crate) after_hash: String,
    pub(crate) feasible_before: bool,
    pub(crate) feasible_after: bool,
}

impl BothPlans {
    /// What became of the promise, if anything.
    pub(crate) fn text(&self) -> Option<String> {
        let word = |feasible| if feasible { "guaranteed" } else { "refused" };
        let (before, after) = (word(self.feasible_before), word(self.feasible_after));
        (before != after).then(|| format!("it was {before}, it is {after}\n"))
    }
}

/// The difference between two plans.
#[derive(Debug, Serialize)]
pub(crate) struct Difference {
    #[serde(flatten)]
    header: Header,
    #[serde(flatten)]
    both: BothPlans,
    network_before: String,
    network_after: String,
    /// What bounds no longer rest on, and what they rest on now.
    assumed_before: Vec<String>,
    assumed_after: Vec<String>,
    /// Bounds of mode changes, and the quiet window, that differ.
    mode_changes: Vec<ModeChange>,
    /// Bounds that are new, gone, or different.
    flows: Vec<FlowChange>,
    /// Bounds that are the same.
    unchanged: usize,
    /// What switches are told otherwise.
    switches: Vec<SwitchChange>,
}

#[derive(Debug, Serialize)]
struct FlowChange {
    flow: String,
    target: String,
    mode: String,
    before_ns: Option<u64>,
    after_ns: Option<u64>,
    deadline_before_ns: Option<u64>,
    deadline_after_ns: Option<u64>,
    priority_before: Option<u8>,
    priority_after: Option<u8>,
}

#[derive(Debug, Serialize)]
struct ModeChange {
    change: String,
    before_ns: Option<u64>,
    after_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
struct SwitchChange {
    switch: String,
    entries_added: usize,
    entries_removed: usize,
    meters_changed: usize,
    monitors_changed: usize,
    groups_changed: usize,
    flows: Vec<String>,
}

impl Difference {
    /// What differs from `before`; bounds are left out where the checker does not allow them.
    pub(crate) fn between(before: &Plan, planned: &Planned) -> Self {
        let after = &planned.plan;
        let (old, new) = match planned.certification.allows_bounds() {
            true => (rows(before), rows(after)),
            false => (BTreeMap::new(), BTreeMap::new()),
        };
        let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        let rows = keys.len();
        let change = |key: &RowKey| FlowChange::of(key, old.get(key), new.get(key));
        let flows: Vec<FlowChange> = keys.into_iter().filter_map(change).collect();
        let (assumed, assumes) = (before.rests_on(), after.rests_on());
        let without = |all: &[String], other: &[String]| -> Vec<String> {
            all.iter().filter(|text| !other.contains(text)).cloned().collect()
        };
        let mode_changes = match planned.certification.allows_bounds() {
            true => mode_changes(before, after),
            false => Vec::new(),
        };
        Self {
            header: Header::planned(
                "tenuto-plan-difference/1",
                planned.promise().word(),
                &after.plan_hash,
            ),
            both: BothPlans {
                before_hash: before.plan_hash.clone(),
                after_hash: after.plan_hash.clone(),
                feasible_before: before.feasible,
                feasible_after: after.feasible,
            },
            network_before: before.network.name.clone(),
            network_after: after.network.name.clone(),
            assumed_before: without(&assumed, &assumes),
            assumed_after: without(&assumes, &assumed),
            mode_changes,
            unchanged: rows - flows.len(),
            flows,
            switches: switches(before, after),
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        if self.network_before != self.network_after {
            let (before, after) = (&self.network_before, &self.network_after);
            out.push_str(&format!("two networks: before {before}, after {after}\n"));
        }
        for (word, lines) in [("before", &self.assumed_before), ("after", &self.assumed_after)] {
            lines.iter().for_each(|line| out.push_str(&format!("assumed {word}: {line}\n")));
        }
        out.push_str(&self.bounds());
        for change in self.mode_changes.iter().filter(|it| !is_close(it.before_ns, it.after_ns)) {
            let ms = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| ms_up(ns * 1_000));
            let (before, after) = (ms(change.before_ns), ms(change.after_ns));
            out.push_str(&format!("{}: {before} > {after} ms\n", change.change));
        }
        for switch in &self.switches {
            out.push_str(&switch.line());
        }
        if self.switches.is_empty() {
            out.push_str("every switch is told the same\n");
        }
        self.both.text().into_iter().for_each(|line| out.push_str(&line));
        out
    }

    /// Bounds that differ; what no digit of the table would show is only counted.
    fn bounds(&self) -> String {
        let (shown, hidden): (Vec<&FlowChange>, Vec<&FlowChange>) =
            self.flows.iter().partition(|change| change.is_shown());
        let mut out = String::new();
        if !shown.is_empty() {
            let mut table = Table::new(&[
                "flow",
                "target",
                "mode",
                ">before ms",
                ">after ms",
                ">change ms",
                "deadline",
                "prio",
            ]);
            shown.iter().for_each(|change| table.push(change.row()));
            out.push_str(&table.text());
        }
        let close = match hidden.len() {
            0 => String::new(),
            some => format!(", {some} within a microsecond"),
        };
        match (shown.len(), hidden.len()) {
            (0, 0) => out.push_str("every bound is the same\n"),
            _ => out.push_str(&format!("{} the same{close}\n", counted(self.unchanged, "bound"))),
        }
        out
    }
}

/// Whether no digit that is printed tells them apart.
fn is_close(before_ns: Option<u64>, after_ns: Option<u64>) -> bool {
    before_ns.zip(after_ns).is_some_and(|(before, after)| before.abs_diff(after) < 1_000)
}

/// Bounds of mode changes, and the quiet window, that are not the same.
fn mode_changes(before: &Plan, after: &Plan) -> Vec<ModeChange> {
    let of = |plan: &Plan| -> BTreeMap<String, u64> {
        let row = |it: &tenuto_model::ModeChangeBound| {
            let label = it.change.label(&plan.network.modes);
            (format!("mode change {label}"), it.bound_ps.div_ceil(1_000))
        };
        let quiet = plan.quiet_ns.map(|ns| ("quiet before a return".to_owned(), ns));
        plan.mode_changes.iter().map(row).chain(quiet).collect()
    };
    let (old, new) = (of(before), of(after));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |name: &String| ModeChange {
        change: name.clone(),
        before_ns: old.get(name).copied(),
        after_ns: new.get(name).copied(),
    };
    names.into_iter().map(change).filter(|it| it.before_ns != it.after_ns).collect()
}

impl FlowChange {
    /// What became of a row, if anything.
    fn of(key: &RowKey, before: Option<&&FlowBound>, after: Option<&&FlowBound>) -> Option<Self> {
        if before.map(|row| facts(row)) == after.map(|row| facts(row)) {
            return None;
        }
        let ns = |row: Option<&&FlowBound>| row?.delay_bound_ps.map(|ps| ps.div_ceil(1_000));
        let (flow, target, mode) = key.clone();
        Some(Self {
            flow,
            target,
            mode,
            before_ns: ns(before),
            after_ns: ns(after),
            deadline_before_ns: before.map(|row| row.deadline_ns),
            deadline_after_ns: after.map(|row| row.deadline_ns),
            priority_before: before.map(|row| row.priority),
            priority_after: after.map(|row| row.priority),
        })
    }

    /// Whether a digit of its row shows the difference.
    fn is_shown(&self) -> bool {
        !is_close(self.before_ns, self.after_ns)
            || self.deadline_before_ns != self.deadline_after_ns
            || self.priority_before != self.priority_after
    }

    fn row(&self) -> Vec<String> {
        let ms = |ns: Option<u64>, known: bool| match ns {
            Some(ns) => ms_up(ns.saturating_mul(1_000)),
            None => if known { "no bound" } else { "-" }.to_owned(),
        };
        let change = match (self.before_ns, self.after_ns) {
            (Some(before), Some(after)) => {
                let more = (i128::from(after) - i128::from(before)) * 1_000;
                format!("{}{}", if more > 0 { "+" } else { "" }, ms_down(more))
            }
            _ => "-".into(),
        };
        let deadline = match (self.deadline_before_ns, self.deadline_after_ns) {
            (None, _) => "new".to_owned(),
            (_, None) => "gone".to_owned(),
            (Some(before), Some(after)) if before != after => {
                format!("{} > {} ms", ms_up(before * 1_000), ms_up(after * 1_000))
            }
            _ => "same".to_owned(),
        };
        let priority = match (self.priority_before, self.priority_after) {
            (Some(before), Some(after)) if before != after => format!("{before} > {after}"),
            (before, after) => after.or(before).map_or_else(String::new, |it| it.to_string()),
        };
        vec![
            self.flow.clone(),
            self.target.clone(),
            self.mode.clone(),
            ms(self.before_ns, self.deadline_before_ns.is_some()),
            ms(self.after_ns, self.deadline_after_ns.is_some()),
            change,
            deadline,
            priority,
        ]
    }
}

impl SwitchChange {
    fn is_nothing(&self) -> bool {
        self.entries_added
            + self.entries_removed
            + self.meters_changed
            + self.monitors_changed
            + self.groups_changed
            == 0
    }

    fn line(&self) -> String {
        let mut parts = vec![format!("entries +{} -{}", self.entries_added, self.entries_removed)];
        for (count, what) in [
            (self.meters_changed, "meter"),
            (self.monitors_changed, "monitor"),
            (self.groups_changed, "group"),
        ] {
            if count > 0 {
                parts.push(format!("{} changed", counted(count, what)));
            }
        }
        let flows = match self.flows.as_slice() {
            [] => String::new(),
            few if few.len() <= 6 => format!("  ({})", few.join(", ")),
            many => format!("  ({} and {} more)", many[..5].join(", "), many.len() - 5),
        };
        format!("{}  {}{flows}\n", self.switch, parts.join(", "))
    }
}

type RowKey = (String, String, String);

fn rows(plan: &Plan) -> BTreeMap<RowKey, &FlowBound> {
    let key = |row: &FlowBound| {
        (row.flow.clone(), row.target.clone(), row.mode.label(&plan.network.modes))
    };
    plan.flows.iter().map(|row| (key(row), row)).collect()
}

fn facts(row: &FlowBound) -> (Option<u64>, u64, u8) {
    (row.delay_bound_ps, row.deadline_ns, row.priority)
}

fn switches(before: &Plan, after: &Plan) -> Vec<SwitchChange> {
    let names: BTreeSet<&str> =
        before.switches.iter().chain(&after.switches).map(|s| s.switch.as_str()).collect();
    let empty = SwitchDeployment::default();
    let find =
        |plan: &'_ Plan, name: &str| plan.switches.iter().find(|s| s.switch == name).cloned();
    let change = |name: &str| {
        let old = find(before, name).unwrap_or_else(|| empty.clone());
        let new = find(after, name).unwrap_or_else(|| empty.clone());
        switch_change(name, &old, &new)
    };
    names.into_iter().map(change).filter(|change| !change.is_nothing()).collect()
}

/// Ids of meters, monitors and groups shift when a flow comes or goes: contents are compared.
fn switch_change(name: &str, old: &SwitchDeployment, new: &SwitchDeployment) -> SwitchChange {
    let (had, has) = (told(old), told(new));
    let mut flows = BTreeSet::new();
    let mut count = |from: &BTreeSet<Told>, other: &BTreeSet<Told>, kind: &str| {
        let changed = from.difference(other).filter(|told| told.kind == kind);
        changed.inspect(|told| flows.extend(told.flow.clone())).count()
    };
    let both = |a: usize, b: usize| a.max(b);
    SwitchChange {
        switch: name.to_owned(),
        entries_added: count(&has, &had, "entry"),
        entries_removed: count(&had, &has, "entry"),
        meters_changed: both(count(&has, &had, "meter"), count(&had, &has, "meter")),
        monitors_changed: both(count(&has, &had, "monitor"), count(&had, &has, "monitor")),
        groups_changed: both(count(&has, &had, "group"), count(&had, &has, "group")),
        flows: flows.into_iter().collect(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Told {
    kind: &'static str,
    flow: Option<String>,
    text: String,
}

/// Everything that a switch is told, without ids.
fn told(switch: &SwitchDeployment) -> BTreeSet<Told> {
    let mut all = BTreeSet::new();
    let groups: BTreeMap<u32, String> =
        switch.groups.iter().map(|group| (group.id, format!("{:?}", group.outputs))).collect();
    for entry in &switch.entries {
        let output = match &entry.output {
            Some(tenuto_model::OutputSpec::Group(id)) => groups.get(id).cloned(),
            other => other.as_ref().map(|output| format!("{output:?}")),
        };
        let about = (entry.table, entry.level, entry.precedence, &entry.matching, entry.goto);
        let checks = (entry.meter.is_some(), entry.monitor.is_some());
        let text = format!("{about:?} {checks:?} {output:?}");
        all.insert(Told { kind: "entry", flow: entry.flow.clone(), text });
    }
    for meter in &switch.meters {
        let text = format!("{} {}", meter.rate_bps, meter.burst_bytes);
        all.insert(Told { kind: "meter", flow: meter.flow.clone(), text });
    }
    for monitor in &switch.monitors {
        let text = format!("{:?} {:?}", monitor.kind, monitor.contracts);
        all.insert(Told { kind: "monitor", flow: Some(monitor.flow.clone()), text });
    }
    for outputs in groups.into_values() {
        all.insert(Told { kind: "group", flow: None, text: outputs });
    }
    all
}
