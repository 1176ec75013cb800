//! A measured model as a profile file: what a plan reads, and behind it what it rests on.

use super::forwarding::{Cell, Cost};
use super::measured::{Measured, Shape};
use super::messages::MessageSample;
use std::fmt::Write;
use tenuto_model::{Action, BufferUnit, MatchType, Processor, Receive};

/// The file (docs/reference/profile.md).
pub fn to_yaml(it: &Measured) -> String {
    let profile = &it.profile;
    let mut out = format!(
        "# Measured by `tenuto profile`. Up to `measured` it is what a plan reads; what was not measured is taken from\n\
         # {}. What it promises, and what not: docs/theory/measured-models.md.\n\
         tenuto_profile: 1\nname: {}\nlike: {}\nentries: {}\n",
        it.like, profile.name, it.like, profile.entries_max
    );
    let (least, most) = (profile.latency_ns_min, profile.latency_ns_max);
    let _ = writeln!(out, "latency: {{min: {least} ns, max: {most} ns}}");
    match &profile.processor {
        Some(processor) => write_processor(&mut out, processor),
        None => out.push_str("processor: none\n"),
    }
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

fn write_measured(out: &mut String, it: &Measured) {
    let shape = match it.shape {
        Shape::SharedProcessor => "shared-processor",
        Shape::PortByPort => "port-by-port",
    };
    let _ = write!(
        out,
        "measured:\n  shape: {shape}\n  stamps: {{source: \"{}\", resolution: {} ns, noise: {} ns, exact: {}}}\n  \
         samples_each: {}\n  uses: {}\n  seed: {}\n  fit: {{residual: {:.0} ns, dearest_above_mean: {:.4}}}\n  \
         buffer_explained: {}\n",
        it.stamps.source,
        it.stamps.resolution_ns,
        it.stamps.noise_ns,
        it.stamps.is_exact,
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
    let firmware = &it.firmware;
    let _ = writeln!(
        out,
        "  firmware: {{barrier_to_effect: {} ns, barrier_true: {}, keeps_entries: {}, forwards_unknown: {}, \
         echo_under_traffic: {:.0} ns}}",
        firmware.barrier_to_effect_ns,
        firmware.is_barrier_true,
        firmware.keeps_entries,
        firmware.forwards_unknown,
        firmware.echo_under_traffic_ns,
    );
    match firmware.own_work {
        Some(own) => {
            let (time, period) = (own.time_ps, own.period_ps);
            let _ = writeln!(out, "  own_work: {{time: {time} ps, per: {period} ps}}");
        }
        None => out.push_str("  own_work: none\n"),
    }
    write_messages(out, it);
    out.push_str("  frames:\n");
    for cell in &it.cells {
        write_cell(out, cell);
    }
}

fn write_messages(out: &mut String, it: &Measured) {
    let costs = &it.messages;
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
    out.push_str("  message_samples:\n");
    for MessageSample { name, entries, actions, took, invalid, .. } in &it.message_samples {
        let _ = writeln!(
            out,
            "    - {{message: {name}, entries: {entries}, actions: {actions}, count: {}, invalid: {invalid}, \
             least: {:.0} ns, mean: {:.0} ns, most: {:.0} ns}}",
            took.count, took.least_ns, took.mean_ns, took.most_ns
        );
    }
}

fn write_cell(out: &mut String, cell: &Cell) {
    let Cell { used, traversal, spacing } = cell;
    let spacing = match spacing {
        Cost::Busy(it) => format!("{:.0} ns", it.mean_ns),
        Cost::LineBound(_) => "line".into(),
        Cost::Unknown => "unknown".into(),
    };
    let _ = writeln!(
        out,
        "    - {{match: {}, action: {}, entries: {}, used: {}-{}, frame: {} B, least: {:.0} ns, mean: {:.0} ns, \
         deviation: {:.0} ns, most: {:.0} ns, spacing: {spacing}}}",
        kind_name(used.matching),
        action_name(used.action),
        used.entries,
        format!("{:?}", used.position).to_lowercase(),
        format!("{:?}", used.order).to_lowercase(),
        used.frame_bytes,
        traversal.least_ns,
        traversal.mean_ns,
        traversal.deviation_ns,
        traversal.most_ns,
    );
}

const fn kind_name(kind: MatchType) -> &'static str {
    match kind {
        MatchType::Port => "port",
        MatchType::TpDst => "tp-dst",
        MatchType::DlDst => "dl-dst",
        MatchType::MaskedNwDst => "masked-nw-dst",
        MatchType::FiveTuple => "five-tuple",
        MatchType::All => "all",
    }
}

const fn action_name(action: Action) -> &'static str {
    match action {
        Action::Output => "output",
        Action::SetVlanId => "set-vlan-id",
        Action::SetVlanPcp => "set-vlan-pcp",
        Action::StripVlan => "strip-vlan",
        Action::SetDlSrc => "set-dl-src",
        Action::SetNwSrc => "set-nw-src",
        Action::SetNwTos => "set-nw-tos",
        Action::SetTpSrc => "set-tp-src",
    }
}
