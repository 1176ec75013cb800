//! What was measured, in a table.

use crate::format::Table;
use tenuto_world::profiling::{Change, Cost, HostNoise, Measured, Stamps};

fn us(ps: u64) -> String {
    format!("{:.2}", ps as f64 / 1e6)
}

fn us_of_ns(ns: f64) -> String {
    format!("{:.2}", ns / 1e3)
}

/// The table, and what is to be known about it.
pub(super) fn text(device: &str, it: &Measured) -> String {
    let mut table = Table::new(&["measured of the device", ">value", "unit"]);
    rows(it, &mut |name, value, unit| table.push(vec![name.into(), value, unit.into()]));
    let busy = it.cells.iter().filter(|cell| matches!(cell.spacing, Cost::Busy(_))).count();
    let mut text = format!(
        "{device}: {} uses of {} samples, {busy} of them limited by the processor; stamps of {}, {} ns\n{}",
        it.cells.len(),
        it.samples,
        it.stamps.source,
        it.stamps.resolution_ns,
        table.text()
    );
    if !it.is_buffer_explained {
        text.push_str("  no unit explains the buffer: the least of all sizes is taken\n");
    }
    text.push_str(&host(&it.stamps));
    for note in &it.notes {
        text.push_str(&format!("  {note}\n"));
    }
    text
}

fn rows(it: &Measured, row: &mut dyn FnMut(&str, String, &str)) {
    row("entries", it.profile.entries_max.to_string(), "");
    if let Some(processor) = &it.profile.processor {
        row("processor per frame", us(processor.base_ps), "us");
        row("per byte", format!("{:.3}", processor.per_byte_ps as f64 / 1e6), "us");
        row("per entry, five-tuple", us(processor.per_entry_ps.five_tuple), "us");
        row("frames below the dearest, at most", processor.spread_percent.to_string(), "%");
    }
    if let Some(masks) = &it.masks {
        row("per mask", us_of_ns(masks.per_mask_ns), "us");
    }
    row("latency besides, at most", us(it.profile.latency_ns_max * 1_000), "us");
    for of in &it.throughput {
        let name = format!("throughput, {} entries, {} B", of.entries, of.frame_bytes);
        row(&name, format!("{:.3}", of.searched_bps / 1e6), "Mbit/s");
    }
    if let Some(costs) = &it.messages {
        row("barrier", us(costs.barrier_ps), "us");
        row("adding an entry", us(costs.add_ps), "us");
    }
    for change in Change::ALL {
        let of = || it.updates.iter().filter(|it| it.change == change);
        let name = format!("{}: in effect after the barrier's answer, at most", change.name());
        let gaps: Option<Vec<i64>> = of().map(|it| it.gap_ns()).collect();
        match gaps.and_then(|it| it.into_iter().max()) {
            Some(gap) => row(&name, us_of_ns(gap as f64), "us"),
            None if of().next().is_some() => row(&name, "never".into(), ""),
            None => {}
        }
    }
    if let Some(is_true) = it.is_barrier_true() {
        let missed: u64 = it.updates.iter().map(|it| it.missed).sum();
        let word = if is_true { "yes".into() } else { format!("no, {missed} frames missed") };
        row("barriers are true", word, "");
    }
    if let Some(meters) = &it.meters {
        let counted = meters.extra_bytes.map_or("?".into(), |it| format!("{it:+}"));
        let word = meters.refused.clone().unwrap_or(counted);
        row("meters count beside the frame", word, if meters.refused.is_some() { "" } else { "B" });
    }
    if let Some(queues) = &it.queues {
        row("queues of a port", queues.ids.len().to_string(), "");
    }
    if let Some(firmware) = &it.firmware {
        if let Some(own) = firmware.own_work {
            row("work of its own", us(own.time_ps), "us");
            row("and again after", us(own.period_ps), "us");
        }
        row("stalls that follow no period", firmware.stalls.to_string(), "");
        row("an echo takes longer under traffic", us_of_ns(firmware.echo_under_traffic_ns), "us");
    }
}

/// What this machine adds by itself.
fn host(stamps: &Stamps) -> String {
    let Some(it) = &stamps.host else { return String::new() };
    let HostNoise { frame_ns_p50, frame_ns_p99, frame_ns_max, .. } = *it;
    let us = |ns: u64| ns as f64 / 1e3;
    let mut text = format!(
        "  this machine by itself: a frame over its own line took {:.1} us (half), {:.1} us (99 %), {:.1} us (most) of {}; \
         it woke up {:.1} us, {:.1} us, {:.1} us late\n",
        us(frame_ns_p50),
        us(frame_ns_p99),
        us(frame_ns_max),
        it.frames,
        us(it.wake_ns_p50),
        us(it.wake_ns_p99),
        us(it.wake_ns_max),
    );
    if it.is_noisy() {
        text.push_str(
            "  noisy: such tails are in the figures of the device too, and cannot be told from its own\n",
        );
    }
    text
}
