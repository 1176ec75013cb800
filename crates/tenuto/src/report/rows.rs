//! Bounds and observations of one flow to one target in one mode, from a plan or from a run.

use tenuto_model::{FlowBound, Plan};
use tenuto_world::{FlowRow, RunDocument};

/// One row of the bound chart.
pub(super) struct BoundRow {
    pub(super) flow: String,
    pub(super) target: String,
    pub(super) mode: String,
    pub(super) queueing_ns: Option<u64>,
    pub(super) allowance_ns: u64,
    pub(super) deadline_ns: u64,
    pub(super) max_ns: Option<u64>,
    pub(super) p50_ns: Option<u64>,
    pub(super) p99_ns: Option<u64>,
    pub(super) method: String,
    /// Its sender broke its contract: nothing was promised to it.
    pub(super) is_misbehaving: bool,
}

impl BoundRow {
    fn planned(bound: &FlowBound, modes: &[String]) -> Self {
        Self {
            flow: bound.flow.clone(),
            target: bound.target.clone(),
            mode: bound.mode.label(modes),
            queueing_ns: bound.delay_bound_ps.map(|ps| ps.div_ceil(1_000)),
            allowance_ns: 0,
            deadline_ns: bound.deadline_ns,
            max_ns: None,
            p50_ns: None,
            p99_ns: None,
            method: bound.method.clone(),
            is_misbehaving: false,
        }
    }

    fn seen(row: &FlowRow) -> Self {
        Self {
            flow: row.flow.clone(),
            target: row.target.clone(),
            mode: row.mode.clone(),
            queueing_ns: row.queueing_bound_ns,
            allowance_ns: row.host_allowance_ns,
            deadline_ns: row.deadline_ns,
            max_ns: row.observed_delay_ns_max,
            p50_ns: row.observed_delay_ns_p50,
            p99_ns: row.observed_delay_ns_p99,
            method: row.method.clone(),
            is_misbehaving: row.is_misbehaving,
        }
    }

    pub(super) fn bound_ns(&self) -> Option<u64> {
        self.queueing_ns.map(|q| q.saturating_add(self.allowance_ns))
    }

    /// bound − observed.
    pub(super) fn margin_ns(&self) -> Option<i128> {
        if self.is_misbehaving {
            return None;
        }
        Some(i128::from(self.bound_ns()?) - i128::from(self.max_ns?))
    }

    /// deadline − bound.
    pub(super) fn slack_ns(&self) -> Option<i128> {
        Some(i128::from(self.deadline_ns) - i128::from(self.bound_ns()?))
    }

    pub(super) fn label(&self) -> String {
        let label = row_label(&self.flow, &self.target, &self.mode);
        if self.is_misbehaving { format!("{label} (misbehaves)") } else { label }
    }
}

/// `CAM → d1, LO>HI`.
pub(super) fn row_label(flow: &str, target: &str, mode: &str) -> String {
    format!("{flow} → {target}, {mode}")
}

/// A share in millionths, for sorting; absent sorts as `absent`.
fn share(part: Option<i128>, whole: Option<u64>, absent: i128) -> i128 {
    match (part, whole) {
        (Some(part), Some(whole)) if whole > 0 => part * 1_000_000 / i128::from(whole),
        _ => absent,
    }
}

/// How much of its bound a row of a run has left, in millionths; rows without a word come last.
pub(super) fn margin_share(row: &FlowRow) -> i128 {
    let margin = row.delay_bound_ns.zip(row.observed_delay_ns_max).filter(|_| !row.is_misbehaving);
    let margin = margin.map(|(bound, seen)| i128::from(bound) - i128::from(seen));
    share(margin, row.delay_bound_ns, i128::MAX)
}

/// The rows of a run, worst margin first.
pub(super) fn by_margin(run: &RunDocument) -> Vec<&FlowRow> {
    let mut rows: Vec<&FlowRow> = run.flows.iter().collect();
    rows.sort_by_key(|row| margin_share(row));
    rows
}

/// All rows: those of a run by margin, those of a plan by slack, the worst first.
pub(super) fn bound_rows(plan: &Plan, run: Option<&RunDocument>) -> Vec<BoundRow> {
    if let Some(run) = run {
        return by_margin(run).into_iter().map(BoundRow::seen).collect();
    }
    let modes = &plan.network.modes;
    let mut rows: Vec<BoundRow> =
        plan.flows.iter().map(|bound| BoundRow::planned(bound, modes)).collect();
    // An unbounded delay is worse than any.
    rows.sort_by_key(|row| share(row.slack_ns(), Some(row.deadline_ns), i128::MIN));
    rows
}
