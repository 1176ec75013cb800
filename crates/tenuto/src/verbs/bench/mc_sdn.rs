//! `tenuto bench mc-sdn`: the parts of a mode change that the paper prints beside those that the
//! profile of its switches states, and the paper's own bound of them.

use super::sheet::{Form, Sheet, rounded, show};
use crate::failure::Failure;
use crate::outcome::Outcome;
use serde_json::Value;
use tenuto_model::Profile;
use tenuto_planner::comparison::mc_sdn::ODROID_XU4;

/// Frames that a queue of the testbed holds.
const QUEUED: u64 = 1_000;
/// Lines of the testbed, bit/s.
const LINE_BPS: u64 = 100_000_000;
/// Rules that the swap time of the profile is for.
const RULES: u64 = 512;
const PROFILE: &str = "odroid-xu4-mc-sdn";

pub(super) fn run(form: &Form) -> Result<Outcome, Failure> {
    let profile = Profile::built_in(PROFILE).expect("it is built in");
    let parts = [one_hop(&profile), rules_and_queues(&profile), figure()];
    show("mc-sdn", None, &parts, form)
}

fn us(ps: u64) -> Value {
    rounded(ps as f64 / 1e6, 2)
}

/// Table II: d_queue follows from the bytes below the scheduler, processing and flooding are its latency.
fn one_hop(profile: &Profile) -> Sheet {
    let it = ODROID_XU4;
    let queue_ps = u64::from(profile.below_scheduler_bytes) * 8 * (1_000_000_000_000 / LINE_BPS);
    let mut sheet =
        Sheet::new("MC-SDN, Table II: one hop of a signal", &["part", "printed us", "profile us"]);
    let mut row = |name: &str, printed: u64, of_profile: Option<u64>| {
        sheet.push(vec![name.into(), us(printed), of_profile.map_or(Value::Null, us)]);
    };
    row("d_prop", it.propagation_ps, None);
    row("d_trans", it.transmission_ps, None);
    row("d_queue", it.queueing_ps, Some(queue_ps));
    let latency_ps = profile.latency_ns_max * 1_000;
    row("d_proc + d_flood", it.processing_ps + it.flooding_ps, Some(latency_ps));
    row("overall", it.hop_ps(), None);
    sheet.note(format!("profile: what {PROFILE} states; a cable and a signal are no part of it"));
    sheet
}

/// Table III: the profile states one time for a swap of all its rules, and one per frame.
fn rules_and_queues(profile: &Profile) -> Sheet {
    let it = ODROID_XU4;
    let mut sheet =
        Sheet::new("MC-SDN, Table III: rules and queues", &["part", "printed us", "profile us"]);
    let swap_ps = it.update_ps + it.copy_ps * RULES + it.purge_ps;
    let mut row = |name: String, printed: u64, of_profile: Option<u64>| {
        sheet.push(vec![name.into(), us(printed), of_profile.map_or(Value::Null, us)]);
    };
    row("d_copy".into(), it.copy_ps, None);
    row("d_u-misc".into(), it.update_ps, None);
    row("d_q-misc".into(), it.purge_ps, None);
    let swap = format!("d_u-misc + {RULES} d_copy + d_q-misc");
    row(swap, swap_ps, Some(profile.swap_ns_max * 1_000));
    row("d_q-handle".into(), it.handle_ps, Some(profile.purge_frame_ns_max * 1_000));
    sheet
}

fn figure() -> Sheet {
    let it = ODROID_XU4;
    let mut bounds = Sheet::new(
        "MC-SDN, Fig. 6b: the dotted line, from the printed parts, queues of 1000 frames",
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
    bounds
        .note("the paper's sum over hops; `tenuto plan` bounds the change of a described network");
    bounds
}
