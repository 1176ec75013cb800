//! `tenuto bench mc-sdn`: the analytic bound of a mode change on the paper's switches.

use super::sheet::{Form, Sheet, rounded, show};
use crate::failure::Failure;
use crate::outcome::Outcome;
use tenuto_planner::comparison::mc_sdn::ODROID_XU4;

/// Frames that a queue of the testbed holds.
const QUEUED: u64 = 1_000;

pub(super) fn run(form: &Form) -> Result<Outcome, Failure> {
    let us = |ps: u64| rounded(ps as f64 / 1e6, 2);
    let it = ODROID_XU4;
    let mut arrange =
        Sheet::new("MC-SDN, Table II: one hop of a signal", &["part", "printed us", "ours us"]);
    for (name, printed, ours) in [
        ("d_prop", 0.53, it.propagation_ps),
        ("d_trans", 4.6, it.transmission_ps),
        ("d_queue", 600.64, it.queueing_ps),
        ("d_proc", 766.90, it.processing_ps),
        ("d_flood", 80.78, it.flooding_ps),
        ("overall", 1453.45, it.hop_ps()),
    ] {
        arrange.push(vec![name.into(), printed.into(), us(ours)]);
    }
    let mut update =
        Sheet::new("MC-SDN, Table III: rules and queues", &["part", "printed us", "ours us"]);
    for (name, printed, ours) in [
        ("d_copy", 3.95, it.copy_ps),
        ("d_u-misc", 50.04, it.update_ps),
        ("d_q-handle", 1.06, it.handle_ps),
        ("d_q-misc", 2.07, it.purge_ps),
    ] {
        update.push(vec![name.into(), printed.into(), us(ours)]);
    }
    let mut bounds = Sheet::new(
        "MC-SDN, Fig. 6b: the dotted line, queues of 1000 frames",
        &["topology", "links", "rules", "D_arrange ms", "D_update ms", "D_q ms", "D_mc ms"],
    );
    let ms = |ps: u64| rounded(ps as f64 / 1e9, 3);
    for (name, links) in [("star", 0), ("grid", 4), ("linear", 8)] {
        for (label, rules) in [("1", 1), ("50", 50), ("100", 100), ("100+", 100)] {
            let bound = it.bound(links, rules, QUEUED);
            bounds.push(vec![
                name.into(),
                links.into(),
                label.into(),
                ms(bound.arrange_ps),
                ms(bound.update_ps),
                ms(bound.queues_ps),
                ms(bound.sum_ps()),
            ]);
        }
    }
    bounds
        .note("100+: two more flows, which change neither the rules nor the length of the queues");
    bounds.note("counted by hops; `tenuto plan` bounds the change of a described network instead");
    show("mc-sdn", None, &[arrange, update, bounds], form)
}
