//! The outcome of a list for people.

use super::ceiling::Ceiling;
use super::measure::Times;
use super::sizes::FRAME_BYTES_MAX;
use super::{List, Report, Setting};
use crate::format::counted;
use tenuto_admission::Method;

/// What `tenuto bench admission` prints.
pub(crate) fn text(list: &List, setting: &Setting, report: &Report) -> String {
    let mut out = held(list, setting, report);
    out.push_str(&line("accepted", report.accepted));
    out.push_str(&line("refused", report.refused));
    if report.removed.count > 0 {
        out.push_str(&line("removed", report.removed));
    }
    out.push_str(&beside_decisions(report));
    let scarce: Vec<String> =
        report.scarce.iter().map(|(word, count)| format!("{word} {count}")).collect();
    if !scarce.is_empty() {
        out.push_str(&format!("scarce     {}\n", scarce.join(", ")));
    }
    out.push_str(&format!(
        "granted    over recomputed bound: median {:.3}, largest {:.3}; largest bound {:.3} ms\n",
        report.granted_over_recomputed_median,
        report.granted_over_recomputed_max,
        report.bound_max_ms,
    ));
    out.push_str(&report.ceiling.as_ref().map(ceiling).unwrap_or_default());
    out.push_str(&verdict(report));
    out
}

fn held(list: &List, setting: &Setting, report: &Report) -> String {
    let engine = match setting.method {
        Method::Budget => "budget",
        Method::Exact => "exact",
        Method::Reserve => "reserve",
    };
    let pacing = if setting.pacing { ", hosts pace their flows" } else { "" };
    let queue = if setting.has_one_queue_per_flow { ", one queue per flow" } else { "" };
    let ppm = list.network.clock_tolerance_ppm();
    let mut out = format!(
        "{}   engine {engine}{pacing}{queue}\n\
         model      store-and-forward, strict priority at line rate, one frame of {FRAME_BYTES_MAX} B in the way,\n\
         \u{20}          each incoming line brings at most one frame and what it carries, clocks fast by {ppm} ppm\n",
        list.name,
    );
    for assumed in &list.assumed {
        out.push_str(&format!("assumed    {assumed}\n"));
    }
    out.push_str(&format!(
        "held       {} of {} flows, {:.0} Mbit/s, mean trunk load {:.1} %; {} requests were expected\n",
        report.flows,
        report.requests,
        report.rate_mbps,
        report.trunk_load_percent,
        setting.expected,
    ));
    out
}

/// What was done between decisions, where anything was.
fn beside_decisions(report: &Report) -> String {
    let mut out = String::new();
    if report.adaptation.count > 0 {
        out.push_str(&format!(
            "adapted    {} of {} times, {} flows moved, at most {:.0} ms each, beside the decisions\n",
            report.adaptations,
            report.adaptation.count,
            report.moved,
            ms(report.adaptation.max_ns),
        ));
    }
    if report.lowering.count > 0 {
        out.push_str(&format!(
            "lowered    delays in {}, at most {:.1} ms each, beside the decisions\n",
            counted(report.lowering.count, "round"),
            ms(report.lowering.max_ns),
        ));
    }
    out
}

fn ceiling(ceiling: &Ceiling) -> String {
    format!(
        "ceiling    {} flows, and {:.0} Mbit/s: more bursts than that, sent at once, fit no host's queue\n\
         \u{20}          {} flows, {:.0} Mbit/s, mean trunk load {:.1} % in order, if bursts at once and rates\n\
         \u{20}          alone counted, all queues of a port being one room\n",
        ceiling.flows_max,
        ceiling.rate_mbps_max,
        ceiling.in_order_flows,
        ceiling.in_order_rate_mbps,
        ceiling.in_order_trunk_load_percent,
    )
}

fn verdict(report: &Report) -> String {
    let verdict = if report.is_kept() { "KEPT" } else { "VIOLATED" };
    format!(
        "{verdict}: recomputed from nothing, {} late, {} queues above their room, x >= F(x) {}\n",
        report.late,
        report.full,
        if report.is_certified { "certified" } else { "not certified" },
    )
}

fn line(word: &str, times: Times) -> String {
    format!(
        "{word:<10} {} decisions, median {:.1} us, p99 {:.1} us, largest {:.1} us\n",
        times.count,
        us(times.median_ns),
        us(times.p99_ns),
        us(times.max_ns),
    )
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
const fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
const fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
