//! The shared processor of a profile, and the buffer in front of it.

use super::profile::small;
use super::reader::{Field, Reader};
use crate::quantity::{parse_cost_ps, parse_percent, parse_rate_bps, parse_size_bytes};
use crate::yaml::Value;
use crate::{
    BufferUnit, ControlShare, LookUp, MatchCosts, Processor, ProcessorLink, Profile, Receive,
    ReceiveBuffer,
};

const KEYS: [&str; 12] = [
    "base",
    "per_byte",
    "per_entry",
    "look_up",
    "actions",
    "per_output",
    "spread",
    "link",
    "receive",
    "control",
    "slices",
    "typical",
];
const BUFFER_KEYS: [&str; 6] = ["cells", "cell", "frames", "bytes", "per", "place_in_service"];
/// More frames than any port receives between two visits.
const BURST_MAX: u64 = 1_000_000;

/// Reads `processor` and `receive_buffer`; problems leave the base's values.
pub(super) fn read_processor(reader: &mut Reader, field: &Field<'_>, profile: &mut Profile) {
    if let Some(it) = field.get("processor") {
        if is_word(&it, "none") {
            // What was typical of it is what the other times of the base rest on.
            let base = profile.processor.take();
            profile.is_typical |= base.is_some_and(|it| it.is_typical);
        } else if reader.expect_map(&it, &KEYS) {
            let mut processor = profile.processor.take().unwrap_or(Processor::FREE);
            read_costs(reader, &it, &mut processor);
            read_look_up(reader, &it, &mut processor);
            read_link(reader, &it, &mut processor);
            read_receive(reader, &it, &mut processor);
            read_control(reader, &it, &mut processor);
            super::slice_control::read_slices_of(reader, &it, &mut processor);
            if processor.link.is_some() && processor.receive != Receive::Fifo {
                let hint = "write `receive: fifo`, or `link: none`";
                reader.error(&it, "frames that share a link to the processor are one queue", hint);
            }
            if processor.base_ps == 0 && processor.per_byte_ps == 0 && processor.link.is_none() {
                reader.error(&it, "a frame takes no time of this processor", "add `base: 32 us`");
            }
            profile.processor = Some(processor);
        }
    }
    if let Some(it) = field.get("receive_buffer") {
        if is_word(&it, "unlimited") {
            profile.receive_buffer = None;
        } else if reader.expect_map(&it, &BUFFER_KEYS) {
            profile.receive_buffer = read_buffer(reader, &it).or(profile.receive_buffer);
        }
    }
}

fn is_word(field: &Field<'_>, word: &str) -> bool {
    matches!(&field.node.value, Value::Text(text) if text == word)
}

fn cost(reader: &mut Reader, field: &Field<'_>, key: &str, to: &mut u64) {
    if let Some(ps) = field.get(key).and_then(|f| reader.quantity(&f, parse_cost_ps)) {
        *to = ps;
    }
}

fn read_costs(reader: &mut Reader, it: &Field<'_>, processor: &mut Processor) {
    cost(reader, it, "base", &mut processor.base_ps);
    cost(reader, it, "per_byte", &mut processor.per_byte_ps);
    cost(reader, it, "per_output", &mut processor.per_output_ps);
    if let Some(entry) = it.get("per_entry") {
        if matches!(entry.node.value, Value::Map(_)) {
            read_matches(reader, &entry, &mut processor.per_entry_ps);
        } else if let Some(ps) = reader.quantity(&entry, parse_cost_ps) {
            processor.per_entry_ps = MatchCosts::uniform(ps);
        }
    }
    if let Some(actions) = it.get("actions") {
        let costs = &mut processor.actions_ps;
        let fields = [
            ("set-vlan-id", &mut costs.set_vlan_id),
            ("set-vlan-pcp", &mut costs.set_vlan_pcp),
            ("strip-vlan", &mut costs.strip_vlan),
            ("set-dl-src", &mut costs.set_dl_src),
            ("set-nw-src", &mut costs.set_nw_src),
            ("set-nw-tos", &mut costs.set_nw_tos),
            ("set-tp-src", &mut costs.set_tp_src),
        ];
        read_named(reader, &actions, fields);
    }
    if let Some(percent) = small(reader, it, "spread", parse_percent) {
        if percent < 100 {
            processor.spread_percent = percent;
        } else if let Some(spread) = it.get("spread") {
            reader.error(&spread, "a spread is below 100 %", "write 2 %");
        }
    }
    if let Some(typical) = it.get("typical").and_then(|f| reader.truth(&f)) {
        processor.is_typical = typical;
    }
}

fn read_matches(reader: &mut Reader, entry: &Field<'_>, costs: &mut MatchCosts) {
    let fields = [
        ("port", &mut costs.port),
        ("tp-dst", &mut costs.tp_dst),
        ("dl-dst", &mut costs.dl_dst),
        ("masked-nw-dst", &mut costs.masked_nw_dst),
        ("five-tuple", &mut costs.five_tuple),
        ("all", &mut costs.all),
    ];
    read_named(reader, entry, fields);
}

fn read_named<const N: usize>(
    reader: &mut Reader,
    field: &Field<'_>,
    costs: [(&str, &mut u64); N],
) {
    let names: Vec<&str> = costs.iter().map(|(name, _)| *name).collect();
    if reader.expect_map(field, &names) {
        for (name, to) in costs {
            cost(reader, field, name, to);
        }
    }
}

fn read_look_up(reader: &mut Reader, it: &Field<'_>, processor: &mut Processor) {
    if let Some(look_up) = it.get("look_up") {
        if is_word(&look_up, "linear") {
            processor.look_up = LookUp::Linear;
        } else if reader.expect_map(&look_up, &["masks"])
            && let Some(masks) = look_up.get("masks")
            && let Some(masks) = reader.number(&masks, 1, u32::MAX.into())
        {
            processor.look_up = LookUp::ByMask(u32::try_from(masks).expect("the limit fits"));
        }
    }
}

fn read_link(reader: &mut Reader, it: &Field<'_>, processor: &mut Processor) {
    if let Some(link) = it.get("link") {
        if is_word(&link, "none") {
            processor.link = None;
        } else if reader.expect_map(&link, &["rate", "tag"]) {
            let rate = link.get("rate").and_then(|f| reader.quantity(&f, parse_rate_bps));
            let tag_bytes = small(reader, &link, "tag", parse_size_bytes).unwrap_or(0);
            match rate {
                Some(rate_bps @ 1..) => {
                    processor.link = Some(ProcessorLink { rate_bps, tag_bytes });
                }
                _ => reader.error(&link, "the link has no rate", "write {rate: 100 Mbit/s}"),
            }
        }
    }
}

fn read_receive(reader: &mut Reader, it: &Field<'_>, processor: &mut Processor) {
    if let Some(receive) = it.get("receive") {
        if is_word(&receive, "fifo") {
            processor.receive = Receive::Fifo;
        } else if reader.expect_map(&receive, &["round_robin"])
            && let Some(burst) = receive.get("round_robin")
            && let Some(burst) = reader.number(&burst, 1, BURST_MAX)
        {
            let burst = u32::try_from(burst).expect("the limit fits");
            processor.receive = Receive::RoundRobin(burst);
        }
    }
}

fn read_control(reader: &mut Reader, it: &Field<'_>, processor: &mut Processor) {
    if let Some(control) = it.get("control") {
        if is_word(&control, "none") {
            processor.control = ControlShare::NONE;
        } else if reader.expect_map(&control, &["time", "per"]) {
            let mut side = |key| control.get(key).and_then(|f| reader.quantity(&f, parse_cost_ps));
            match (side("time"), side("per")) {
                (Some(time_ps), Some(period_ps @ 1..)) => {
                    processor.control = ControlShare { time_ps, period_ps };
                }
                _ => reader.error(
                    &control,
                    "control needs processor time and a window",
                    "write {time: 5 ms, per: 500 ms}",
                ),
            }
        }
    }
}

fn read_buffer(reader: &mut Reader, it: &Field<'_>) -> Option<ReceiveBuffer> {
    let number =
        |reader: &mut Reader, key| it.get(key).and_then(|f| reader.number(&f, 1, 1_000_000_000));
    let (unit, count) = if it.get("cells").is_some() {
        let count = number(reader, "cells")?;
        let Some(bytes) = small(reader, it, "cell", parse_size_bytes).filter(|b| *b > 0) else {
            reader.error(it, "how large is a cell?", "add `cell: 128 B`");
            return None;
        };
        (BufferUnit::Cells(bytes), count)
    } else if it.get("frames").is_some() {
        (BufferUnit::Frames, number(reader, "frames")?)
    } else if let Some(bytes) = it.get("bytes") {
        (BufferUnit::Bytes, reader.quantity(&bytes, parse_size_bytes)?)
    } else {
        let hint = "write {cells: 24, cell: 128 B}, {frames: 64} or {bytes: 64 kB}";
        reader.error(it, "the buffer has no size", hint);
        return None;
    };
    let words = [("switch", false), ("port", true)];
    let is_per_port = it.get("per").and_then(|f| reader.choice(&f, &words)).unwrap_or(false);
    let place = it.get("place_in_service").and_then(|f| reader.truth(&f)).unwrap_or(false);
    Some(ReceiveBuffer { count, unit, is_per_port, has_place_in_service: place })
}
