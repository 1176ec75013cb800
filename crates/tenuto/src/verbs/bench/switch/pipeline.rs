//! The pipeline in memory: frames, changes of entries, meters.

use crate::verbs::bench::sheet::{Sheet, rounded};
use serde_json::Value;
use tenuto_runtime::measure::{
    Handling, Pipeline, PipelineCost, Spread, long_work_costs, meter_accuracy, pipeline_costs,
    queue_costs, update_costs, worst_look_ups,
};

/// Frames of one repetition.
const FRAMES: u32 = 50_000;
/// The network of an aircraft, and one fifteen times as large.
const LINKS: [u32; 2] = [649, 10_000];
const TARGETS_NS: [f64; 2] = [100.0, 150.0];
const FLOWS: [u32; 6] = [1, 10, 100, 500, 1_000, 2_000];
const ENTRIES_GENERAL: [u32; 3] = [1, 649, 10_000];
const FRAME_BYTES: [usize; 2] = [64, 1_500];
const ENTRIES: u32 = 100_000;
const MASKS: [u32; 5] = [1, 4, 16, 64, 256];
const RATES_KBPS: [u32; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

const COLUMNS: [&str; 7] = [
    "virtual links",
    "frame B",
    "target ns",
    "median ns",
    "least ns",
    "most ns",
    "of it the store ns",
];

pub(super) fn costs(repetitions: u32, progress: &mut dyn FnMut(&str)) -> Vec<Sheet> {
    let of = |links: &[u32], bytes: &[usize]| -> Vec<Pipeline> {
        let all = links.iter().flat_map(|&links| bytes.iter().map(move |&b| (links, b)));
        let handling = Handling::Planned(1);
        all.map(|(links, frame_bytes)| Pipeline { links, handling, frame_bytes }).collect()
    };
    let links = pipeline_costs(&of(&LINKS, &FRAME_BYTES), FRAMES, repetitions, progress);
    let mut first = Sheet::new(
        "processor time of a frame through an in-memory switch: matched in three tables, watched, \
         metered, queued, handed over",
        &COLUMNS,
    );
    for cost in &links {
        let place = LINKS.iter().position(|&links| links == cost.pipeline.links);
        first.push(row(cost, place.map_or(Value::Null, |place| TARGETS_NS[place].into())));
    }
    first.note(format!("{repetitions} repetitions of {FRAMES} frames each, taking turns"));
    first.note("the store: a frame is copied in and released; a live port does the same");
    let flows = pipeline_costs(&of(&FLOWS, &FRAME_BYTES[..1]), FRAMES, repetitions, progress);
    let mut second = Sheet::new("the same against the number of flows of one mask", &COLUMNS);
    flows.iter().for_each(|cost| second.push(row(cost, Value::Null)));
    let ends =
        [flows.first(), flows.last()].map(|cost| cost.map_or(0.0, |c| c.ns_per_frame.median));
    second.note(format!(
        "from 1 to 2000 flows the median grows by {:.0} % (target: 10 %)",
        (ends[1] / ends[0].max(1.0) - 1.0) * 100.0
    ));
    let several = several(repetitions, progress);
    vec![first, second, several, general(repetitions, progress), queues(repetitions)]
}

/// Multicast links, and what general switches do beside sending.
fn several(repetitions: u32, progress: &mut dyn FnMut(&str)) -> Sheet {
    use Handling as H;
    let copies = [H::Planned(1), H::Planned(2), H::Planned(4), H::Planned(8)];
    let general = [H::Outputs(1), H::Outputs(4), H::Group(4), H::Written, H::Failover, H::Select];
    let changed = [H::Routed, H::Tagged, H::Untagged];
    let (links, frame_bytes) = (LINKS[0], FRAME_BYTES[0]);
    let all = copies.into_iter().chain(general).chain(changed);
    let all: Vec<_> = all.map(|handling| Pipeline { links, handling, frame_bytes }).collect();
    let mut columns = COLUMNS.to_vec();
    columns.splice(0..3, ["frames are", "copies", "median ns per copy"]);
    let mut sheet = Sheet::new(
        format!(
            "the same with {links} links and {frame_bytes} bytes: sent by several ports, by a general \
             switch in other ways, and changed"
        ),
        &columns,
    );
    for cost in pipeline_costs(&all, FRAMES, repetitions, progress) {
        let handling = cost.pipeline.handling;
        let per_copy = cost.ns_per_frame.median / f64::from(handling.copies());
        let before = vec![name(handling).into(), handling.copies().into(), rounded(per_copy, 1)];
        sheet.push(before.into_iter().chain(row(&cost, Value::Null).split_off(3)).collect());
    }
    sheet.note("per frame but for the column per copy; a copy is queued and handed over by itself");
    sheet
}

const fn name(handling: Handling) -> &'static str {
    match handling {
        Handling::Planned(_) => "planned",
        Handling::Outputs(_) => "general, actions",
        Handling::Group(_) => "general, group",
        Handling::Written => "general, action set",
        Handling::Failover => "general, first live port",
        Handling::Select => "general, port by headers",
        Handling::Routed => "general, addresses and TTL changed",
        Handling::Tagged => "general, VLAN tag pushed",
        Handling::Untagged => "general, VLAN tag popped",
    }
}

fn general(repetitions: u32, progress: &mut dyn FnMut(&str)) -> Sheet {
    let (frame_bytes, handling) = (FRAME_BYTES[0], Handling::Outputs(1));
    let all = ENTRIES_GENERAL.map(|links| Pipeline { links, handling, frame_bytes });
    let mut columns = COLUMNS;
    columns[0] = "entries";
    let mut sheet = Sheet::new(
        "the same through a general switch: matched by its Ethernet header in one table, queued, \
         handed over",
        &columns,
    );
    for cost in pipeline_costs(&all, FRAMES, repetitions, progress) {
        sheet.push(row(&cost, Value::Null));
    }
    sheet
}

fn queues(repetitions: u32) -> Sheet {
    let mut sheet = Sheet::new(
        "processor time of a frame in a port of eight queues, from being queued to being handed over",
        &["delays", "levels", "median ns", "least ns", "most ns"],
    );
    for cost in queue_costs(FRAMES, repetitions) {
        let Spread { min, median, max } = cost.ns_per_frame;
        let delays = if cost.keeps_delays { "counted" } else { "not" };
        let levels = if cost.shares_level { "one, weights 1 to 8" } else { "strict" };
        let mut row = vec![delays.into(), levels.into()];
        row.extend([median, min, max].map(|ns| rounded(ns, 1)));
        sheet.push(row);
    }
    sheet
}

fn row(cost: &PipelineCost, target: Value) -> Vec<Value> {
    let Spread { min, median, max } = cost.ns_per_frame;
    let mut row = vec![cost.pipeline.links.into(), cost.pipeline.frame_bytes.into(), target];
    let store = cost.store_ns_per_frame.median;
    row.extend([median, min, max, store].map(|ns| rounded(ns, 1)));
    row
}

pub(super) fn updates(repetitions: u32, progress: &mut dyn FnMut(&str)) -> Vec<Sheet> {
    let mut first = Sheet::new(
        format!(
            "flow-mods in a table of up to {ENTRIES} entries while frames pass, decoding included"
        ),
        &["command", "target 1/s", "median 1/s", "least 1/s", "worst write ms", "frame between ns"],
    );
    for cost in update_costs(ENTRIES, repetitions, progress) {
        first.push(vec![
            cost.command.into(),
            100_000.into(),
            rounded(cost.per_second.median, 0),
            rounded(cost.per_second.min, 0),
            rounded(cost.write_ms_max, 3),
            rounded(cost.ns_per_frame.median, 1),
        ]);
    }
    first.note("a write is 100 flow-mods and a barrier; its worst is how long frames wait for it");
    first.note("modify and delete are not strict: they touch whatever the match covers");
    let mut second = Sheet::new(
        format!(
            "one look-up among {ENTRIES} entries at worst: nothing matches, every mask is probed"
        ),
        &["masks", "probes", "median ns", "least ns", "most ns"],
    );
    for cost in worst_look_ups(ENTRIES, &MASKS, repetitions, progress) {
        let Spread { min, median, max } = cost.ns;
        let mut row = vec![cost.masks.into(), cost.probes.into()];
        row.extend([median, min, max].map(|ns| rounded(ns, 1)));
        second.push(row);
    }
    vec![first, long_work(repetitions, progress), second]
}

fn long_work(repetitions: u32, progress: &mut dyn FnMut(&str)) -> Sheet {
    let mut sheet = Sheet::new(
        format!(
            "messages that touch all of {ENTRIES} entries: processor time, and how much of it at a time"
        ),
        &["message", "entries at once", "whole ms", "longest ms", "least ms", "most ms"],
    );
    for cost in long_work_costs(ENTRIES, repetitions, progress) {
        let at_once = cost.entries_at_once.map_or_else(|| "all".into(), Value::from);
        let Spread { min, median, max } = cost.longest_ms;
        let mut row = vec![cost.message.into(), at_once, rounded(cost.whole_ms.median, 1)];
        row.extend([median, min, max].map(|ms| rounded(ms, 3)));
        sheet.push(row);
    }
    sheet.note("longest, least and most: how long frames wait before they get a turn");
    sheet
}

pub(super) fn meters(progress: &mut dyn FnMut(&str)) -> Sheet {
    let mut sheet = Sheet::new(
        "Deterministic OpenFlow, Fig. 7: what a meter passes of three times its rate (virtual time)",
        &["set kbit/s", "frame B", "passed kbit/s", "error %", "error frames"],
    );
    for rate_kbps in RATES_KBPS {
        for frame_bytes in FRAME_BYTES {
            progress(&format!("meters: {rate_kbps} kbit/s, {frame_bytes} B"));
            let it = meter_accuracy(rate_kbps, frame_bytes);
            let error = it.passed_kbps / f64::from(rate_kbps) - 1.0;
            sheet.push(vec![
                rate_kbps.into(),
                frame_bytes.into(),
                rounded(it.passed_kbps, 3),
                rounded(error * 100.0, 3),
                rounded(it.error_frames, 3),
            ]);
        }
    }
    sheet.note("bits on the line; the burst is two frames");
    sheet.note("error frames: most that passed beyond burst + rate * time, or was due at a refusal; below 1 is exact");
    sheet
}
