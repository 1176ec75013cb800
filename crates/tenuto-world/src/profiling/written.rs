//! A measured model as a profile file: what a plan reads, and behind it what it rests on.

use super::measured::Measured;
use super::names::{action_name, kind_name};
use super::written_measured::write_measured;
use std::fmt::Write;
use tenuto_model::{Action, BufferUnit, MatchType, Processor, Receive, yaml_scalar};

/// The file (docs/reference/profile.md).
pub fn to_yaml(it: &Measured) -> String {
    let profile = &it.profile;
    let mut out = format!(
        "# Measured by `tenuto profile`. Up to `measured` it is what a plan reads; what was not measured is taken from\n\
         # `like`. What it promises, and what not: docs/theory/measured-models.md.\n\
         tenuto_profile: 1\nname: {}\nlike: {}\nentries: {}\n",
        yaml_scalar(&profile.name),
        yaml_scalar(&it.like),
        profile.entries_max
    );
    let (least, most) = (profile.latency_ns_min, profile.latency_ns_max);
    let _ = writeln!(out, "latency: {{min: {least} ns, max: {most} ns}}");
    match &profile.processor {
        Some(processor) => write_processor(&mut out, processor),
        None => out.push_str("processor: none\n"),
    }
    let _ = writeln!(out, "typical: {}", profile.is_typical);
    write_buffer(&mut out, it);
    write_measured(&mut out, it);
    out
}

fn write_processor(out: &mut String, it: &Processor) {
    let receive = match it.receive {
        Receive::Fifo => "fifo".to_owned(),
        Receive::RoundRobin(burst) => format!("{{round_robin: {burst}}}"),
    };
    let _ = write!(
        out,
        "processor:\n  base: {} ps\n  per_byte: {} ps\n  per_output: {} ps\n  spread: {} %\n  \
         look_up: linear\n  receive: {receive}\n  typical: {}\n",
        it.base_ps, it.per_byte_ps, it.per_output_ps, it.spread_percent, it.is_typical
    );
    let kinds =
        MatchType::ALL.map(|kind| format!("{}: {} ps", kind_name(kind), it.per_entry_ps.of(kind)));
    let _ = writeln!(out, "  per_entry: {{{}}}", kinds.join(", "));
    let actions = Action::ALL.into_iter().skip(1);
    let actions = actions.map(|of| format!("{}: {} ps", action_name(of), it.actions_ps.of(of)));
    let _ = writeln!(out, "  actions: {{{}}}", actions.collect::<Vec<_>>().join(", "));
    match it.link {
        Some(link) => {
            let _ = writeln!(
                out,
                "  link: {{rate: {} bit/s, tag: {} B}}",
                link.rate_bps, link.tag_bytes
            );
        }
        None => out.push_str("  link: none\n"),
    }
    match it.control.time_ps {
        0 => out.push_str("  control: none\n"),
        time_ps => {
            let per = it.control.period_ps;
            let _ = writeln!(out, "  control: {{time: {time_ps} ps, per: {per} ps}}");
        }
    }
}

fn write_buffer(out: &mut String, it: &Measured) {
    let Some(buffer) = it.profile.receive_buffer else {
        out.push_str("receive_buffer: unlimited\n");
        return;
    };
    let count = buffer.count;
    let size = match buffer.unit {
        BufferUnit::Cells(bytes) => format!("cells: {count}, cell: {bytes} B"),
        BufferUnit::Frames => format!("frames: {count}"),
        BufferUnit::Bytes => format!("bytes: {count} B"),
    };
    let place = buffer.has_place_in_service;
    let _ = writeln!(out, "receive_buffer: {{{size}, place_in_service: {place}}}");
}
