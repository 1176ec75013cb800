//! The report of a plan or a run: one HTML file that needs nothing else.
//!
//! The verdict comes first, then figures from the whole to the detail, each with its table as CSV
//! beside it, then what all of it rests on. The file loads nothing from anywhere (its own content
//! policy forbids it) and holds no script; it is well-formed XML too, so that tests can read it.
//!
//! **Invariant:** names come from files that others wrote. Text reaches the page only through
//! [`text::escape`], the links only through [`text::percent_encode`] and [`text::csv_text`].

mod accounting;
mod bars;
mod bounds_figure;
mod changes_figure;
mod copies_figure;
pub(crate) mod curves;
mod distribution_figure;
mod foundations;
mod hops_figure;
mod network_figure;
mod network_layout;
mod page;
mod policed_figure;
mod queues_figure;
mod resources_figure;
mod rows;
mod svg;
mod table;
mod text;
mod time_axis;
mod time_figure;
mod verdict;

#[cfg(test)]
mod tests;

use page::Part;
use tenuto_model::Plan;
use tenuto_world::RunDocument;

/// The report of a plan, and of a run of it where there was one.
pub(crate) fn html(plan: &Plan, run: Option<&RunDocument>) -> String {
    let rows = rows::bound_rows(plan, run);
    let mut parts: Vec<Option<Part>> = vec![
        Some(verdict::part(plan, run)),
        Some(network_figure::part(plan)),
        Some(bounds_figure::part(&rows, run.is_some())),
    ];
    if let Some(run) = run {
        parts.push(time_figure::part(plan, run));
        parts.push(changes_figure::part(run));
        parts.push(Some(queues_figure::part(run)));
        parts.push(distribution_figure::part(run));
        parts.push(policed_figure::part(plan, run));
        parts.push(copies_figure::part(run));
    }
    parts.push(hops_figure::part(plan));
    parts.push(resources_figure::part(plan));
    if let Some(run) = run {
        parts.push(accounting::machine(run));
        parts.push(Some(accounting::part(run)));
    }
    parts.push(Some(foundations::part(plan)));
    let parts: Vec<Part> = parts.into_iter().flatten().collect();
    let kind = if run.is_some() { "run" } else { "plan" };
    page::page(&format!("{} · {kind} · Tenuto", plan.network.name), &parts)
}
