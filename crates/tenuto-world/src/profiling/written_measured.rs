//! What a measured model rests on, behind the part of its file that a plan reads.

use super::firmware::Firmware;
use super::forwarding::{Cell, Cost};
use super::measured::{Measured, Shape};
use super::messages::MessageSample;
use super::names::{action_name, kind_name};
use super::rig::HostNoise;
use super::summary::Summary;
use super::updates::Change;
use crate::device::MessageCosts;
use std::fmt::Write;
use tenuto_model::yaml_scalar;

pub(super) fn write_measured(out: &mut String, it: &Measured) {
    let shape = match it.shape {
        Shape::SharedProcessor => "shared-processor",
        Shape::PortByPort => "port-by-port",
    };
    let _ = write!(
        out,
        "measured:\n  shape: {shape}\n  stamps: {{source: {}, resolution: {} ns, noise: {} ns, exact: {}}}\n",
        yaml_scalar(&it.stamps.source),
        it.stamps.resolution_ns,
        it.stamps.noise_ns,
        it.stamps.is_exact,
    );
    if let Some(host) = &it.stamps.host {
        write_host(out, host);
    }
    let _ = write!(
        out,
        "  samples_each: {}\n  uses: {}\n  seed: {}\n  fit: {{residual: {:.0} ns, dearest_above_mean: {:.4}}}\n  \
         buffer_explained: {}\n",
        it.samples,
        it.cells.len(),
        it.seed,
        it.residual_ns,
        it.above_mean,
        it.is_buffer_explained,
    );
    out.push_str(
        "  valid_for: \"matches, actions, sizes up to 1516 B and entries as listed; one table; one frame size more than \
         was tried is charged by the line between\"\n",
    );
    for note in &it.notes {
        if Some(note) == it.notes.first() {
            out.push_str("  not_measured:\n");
        }
        let _ = writeln!(out, "    - {}", yaml_scalar(note));
    }
    write_firmware(out, it.firmware.as_ref());
    write_updates(out, it);
    write_others(out, it);
    if let Some(costs) = &it.messages {
        write_costs(out, costs);
    }
    write_messages(out, &it.message_samples);
    out.push_str("  frames:\n");
    for cell in &it.cells {
        write_cell(out, cell);
    }
}

fn write_host(out: &mut String, it: &HostNoise) {
    let _ = writeln!(
        out,
        "  host: {{frames: {}, frame_p50: {} ns, frame_p99: {} ns, frame_max: {} ns, wakes: {}, wake_p50: {} ns, \
         wake_p99: {} ns, wake_max: {} ns, noisy: {}}}",
        it.frames,
        it.frame_ns_p50,
        it.frame_ns_p99,
        it.frame_ns_max,
        it.wakes,
        it.wake_ns_p50,
        it.wake_ns_p99,
        it.wake_ns_max,
        it.is_noisy(),
    );
}

fn write_firmware(out: &mut String, it: Option<&Firmware>) {
    let Some(it) = it else { return };
    let _ = writeln!(
        out,
        "  firmware: {{keeps_entries: {}, forwards_unknown: {}, echo_under_traffic: {:.0} ns, stalls: {}}}",
        it.keeps_entries, it.forwards_unknown, it.echo_under_traffic_ns, it.stalls,
    );
    match it.own_work {
        Some(own) => {
            let (time, period) = (own.time_ps, own.period_ps);
            let _ = writeln!(out, "  own_work: {{time: {time} ps, per: {period} ps}}");
        }
        None => out.push_str("  own_work: none\n"),
    }
}

fn write_updates(out: &mut String, it: &Measured) {
    if it.updates.is_empty() {
        return;
    }
    out.push_str("  changes:\n");
    for change in Change::ALL {
        let of = || it.updates.iter().filter(|it| it.change == change);
        let never = of().filter(|it| it.effect_ns.is_none()).count();
        let missed: u64 = of().map(|it| it.missed).sum();
        let answered = of().map(|it| it.answered_ns).max().unwrap_or(0);
        let _ = write!(
            out,
            "    - {{change: {}, count: {}, true: {}, missed: {missed}, never: {never}, answered_max: {answered} ns",
            change.name(),
            of().count(),
            of().all(|it| it.is_true()),
        );
        if let (Some(least), Some(most)) =
            (of().filter_map(|it| it.gap_ns()).min(), of().filter_map(|it| it.gap_ns()).max())
        {
            let step = of().map(|it| it.step_ns).max().unwrap_or(0);
            let _ = write!(out, ", gap_min: {least} ns, gap_max: {most} ns, step: {step} ns");
        }
        out.push_str("}\n");
    }
}

fn write_others(out: &mut String, it: &Measured) {
    if !it.throughput.is_empty() {
        out.push_str("  throughput:\n");
    }
    for it in &it.throughput {
        let computed = it.computed_bps.map_or("none".into(), |bps| format!("{bps:.0} bit/s"));
        let _ = writeln!(
            out,
            "    - {{match: five-tuple, entries: {}, frame: {} B, computed: {computed}, searched: {:.0} bit/s}}",
            it.entries, it.frame_bytes, it.searched_bps
        );
    }
    if let Some(masks) = &it.masks {
        let _ = writeln!(out, "  masks: {{each: {:.0} ns}}", masks.per_mask_ns);
    }
    if let Some(meters) = &it.meters {
        match &meters.refused {
            Some(why) => {
                let _ = writeln!(out, "  meters: {{refused: {}}}", yaml_scalar(why));
            }
            None => {
                let extra = meters.extra_bytes.map_or("unknown".into(), |it| format!("{it} B"));
                let _ = writeln!(out, "  meters: {{counted_beside_frame: {extra}}}");
            }
        }
        for (nth, it) in meters.samples.iter().enumerate() {
            if nth == 0 {
                out.push_str("  meter_samples:\n");
            }
            let burst = it.burst_bytes.map_or("none".into(), |bytes| format!("{bytes:.0} B"));
            let _ = writeln!(
                out,
                "    - {{rate: {} kbit/s, burst: {} kbit, frame: {} B, enforced: {:.0} bit/s, seen_burst: {burst}}}",
                it.rate_kbit, it.burst_kbit, it.frame_bytes, it.enforced_bps
            );
        }
    }
    if let Some(queues) = &it.queues {
        let ids: Vec<String> = queues.ids.iter().map(ToString::to_string).collect();
        let first = queues.first.map_or("none-seen".into(), |it| it.to_string());
        let _ = writeln!(out, "  queues: {{ids: [{}], served_first: {first}}}", ids.join(", "));
    }
}

fn write_costs(out: &mut String, costs: &MessageCosts) {
    let _ = writeln!(
        out,
        "  messages: {{echo: {} ps, barrier: {} ps, features: {} ps, add: {} ps, per_action: {} ps, change: {} ps, \
         per_entry_strict: {} ps, per_entry: {} ps, modified: {} ps, deleted: {} ps, statistics: {} ps, \
         per_entry_listed: {} ps}}",
        costs.echo_ps,
        costs.barrier_ps,
        costs.other_ps,
        costs.add_ps,
        costs.action_ps,
        costs.change_ps,
        costs.strict_entry_ps,
        costs.loose_entry_ps,
        costs.modified_ps,
        costs.deleted_ps,
        costs.statistics_ps,
        costs.statistics_entry_ps,
    );
}

fn write_messages(out: &mut String, samples: &[MessageSample]) {
    if !samples.is_empty() {
        out.push_str("  message_samples:\n");
    }
    for MessageSample { name, entries, actions, took, invalid, .. } in samples {
        let _ = writeln!(
            out,
            "    - {{message: {name}, entries: {entries}, actions: {actions}, count: {}, invalid: {invalid}, {}}}",
            took.count,
            spread(took)
        );
    }
}

/// Least, percentiles, mean with the interval that holds it in 99.5 of 100 cases, and most.
fn spread(it: &Summary) -> String {
    let [low, median, high] = it.percentiles_ns;
    let confidence = it.mean_within_ns();
    format!(
        "least: {:.0} ns, p5: {low:.0} ns, p50: {median:.0} ns, p95: {high:.0} ns, mean: {:.0} ns, \
         mean_within: {confidence:.0} ns, deviation: {:.0} ns, most: {:.0} ns",
        it.least_ns, it.mean_ns, it.deviation_ns, it.most_ns
    )
}

fn write_cell(out: &mut String, cell: &Cell) {
    let Cell { used, traversal, spacing, .. } = cell;
    let (spacing, deviation) = match spacing {
        Cost::Busy(it) => (format!("{:.0} ns", it.mean_ns), it.deviation_ns),
        Cost::LineBound(_) => ("line".into(), 0.0),
        Cost::Unknown => ("unknown".into(), 0.0),
    };
    let _ = writeln!(
        out,
        "    - {{match: {}, action: {}, entries: {}, used: {}-{}, frame: {} B, count: {}, {}, spacing: {spacing}, \
         spacing_deviation: {deviation:.0} ns}}",
        kind_name(used.matching),
        action_name(used.action),
        used.entries,
        format!("{:?}", used.position).to_lowercase(),
        format!("{:?}", used.order).to_lowercase(),
        used.frame_bytes,
        traversal.count,
        spread(traversal),
    );
}
