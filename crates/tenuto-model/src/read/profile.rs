//! Switch profiles by hand: a known one, and what differs.

use super::reader::{Field, Reader};
use crate::quantity::{
    QuantityError, format_size, parse_burst_bits, parse_ppm, parse_rate_bps, parse_size_bytes,
    parse_time_ns,
};
use crate::yaml::Value;
use crate::{MeterCounts, OPENFLOW_BURST_BYTES_MAX, Profile};

const KEYS: [&str; 22] = [
    "tenuto_profile",
    "name",
    "like",
    "latency",
    "below_scheduler",
    "buffer_per_port",
    "queues_per_port",
    "entries",
    "meters",
    "groups",
    "meter_counts",
    "meter_rate_step",
    "meter_burst_step",
    "meter_burst_max",
    "clock_tolerance",
    "modes",
    "swap",
    "purge_per_frame",
    "processor",
    "receive_buffer",
    "typical",
    // What a measured model rests on: for people and for measuring again. A plan believes the rest of the file.
    "measured",
];

/// What a profile may say a meter counts.
pub(crate) const METER_COUNTS: [(&str, MeterCounts); 3] = [
    ("wire", MeterCounts::Wire),
    ("frame", MeterCounts::Frame),
    ("l2-without-fcs", MeterCounts::L2WithoutFcs),
];

/// Reads the file of a profile: `tenuto_profile: 1`, a name, and the body.
pub(crate) fn read_profile_file(reader: &mut Reader, path: &str, text: &str) -> Option<Profile> {
    let before = reader.diagnostics.errors();
    let documents = reader.parse(path, text);
    let Some(node) = documents.first() else {
        if reader.diagnostics.errors() == before {
            let hint = "a profile starts with `tenuto_profile: 1`";
            reader.report_file(path, "the profile is empty", hint);
        }
        return None;
    };
    reader.expect_one(&documents);
    let field = Field { node, path: String::new() };
    let version = field.get("tenuto_profile");
    match version.as_ref().and_then(|v| reader.text(v)) {
        Some("1") => {}
        _ => {
            let hint = "a profile starts with `tenuto_profile: 1`";
            reader.error(version.as_ref().unwrap_or(&field), "this is not a profile", hint);
        }
    }
    let name = field.get("name").and_then(|name| {
        let text = reader.text(&name)?;
        reader.check_name(text, &name.path, name.node.place).then(|| text.to_owned())
    });
    if name.is_none() && field.get("name").is_none() {
        reader.error(&field, "the profile has no name", "add `name: my-switch`");
    }
    let profile = read_profile_body(reader, &field, &name.unwrap_or_default());
    (reader.diagnostics.errors() == before).then_some(profile)
}

/// Reads the body of a profile; problems leave the base's values.
pub(crate) fn read_profile_body(reader: &mut Reader, field: &Field<'_>, name: &str) -> Profile {
    let ideal = || Profile::built_in("ideal").expect("it is built in");
    if !reader.expect_map(field, &KEYS) {
        return ideal();
    }
    let mut profile = match field.get("like") {
        None => {
            let words = Profile::BUILT_IN.join(", ");
            reader.error(
                field,
                "the profile does not say what it is like",
                &format!("add `like:` with one of {words}"),
            );
            ideal()
        }
        Some(like) => match reader.text(&like) {
            None => ideal(),
            Some(base) => Profile::built_in(base).unwrap_or_else(|| {
                let hint = reader.meant(base, Profile::BUILT_IN).unwrap_or_default();
                reader.error(&like, "there is no such built-in profile", &hint);
                ideal()
            }),
        },
    };
    name.clone_into(&mut profile.name);
    read_latency(reader, field, &mut profile);
    read_limits(reader, field, &mut profile);
    read_meters(reader, field, &mut profile);
    read_modes(reader, field, &mut profile);
    super::processor::read_processor(reader, field, &mut profile);
    if let Some(typical) = field.get("typical").and_then(|f| reader.truth(&f)) {
        profile.is_typical = typical;
    }
    profile
}

fn read_latency(reader: &mut Reader, field: &Field<'_>, profile: &mut Profile) {
    let Some(latency) = field.get("latency") else { return };
    if matches!(latency.node.value, Value::Map(_)) {
        reader.expect_map(&latency, &["min", "max"]);
        let mut side = |key| latency.get(key).and_then(|f| reader.quantity(&f, parse_time_ns));
        profile.latency_ns_min = side("min").unwrap_or(0);
        match side("max") {
            Some(max) if max >= profile.latency_ns_min => profile.latency_ns_max = max,
            Some(_) => {
                reader.error(&latency, "the least latency is above the largest", "swap them?")
            }
            None if latency.get("max").is_none() => {
                reader.error(
                    &latency,
                    "latency needs its largest value",
                    "write {min: 0 us, max: 7 us}",
                );
            }
            None => {}
        }
    } else if let Some(value) = reader.quantity(&latency, parse_time_ns) {
        (profile.latency_ns_min, profile.latency_ns_max) = (value, value);
    }
}

fn read_limits(reader: &mut Reader, field: &Field<'_>, profile: &mut Profile) {
    if let Some(bytes) = small(reader, field, "below_scheduler", parse_size_bytes) {
        profile.below_scheduler_bytes = bytes;
    }
    if let Some(buffer) = field.get("buffer_per_port") {
        if matches!(&buffer.node.value, Value::Text(text) if text == "unlimited") {
            profile.buffer_bytes_per_port = None;
        } else if let Some(bytes) = reader.quantity(&buffer, parse_size_bytes) {
            profile.buffer_bytes_per_port = Some(bytes);
        }
    }
    if let Some(queues) = count(reader, field, "queues_per_port", 1, 64) {
        profile.queues_per_port = u8::try_from(queues).expect("at most 64");
    }
    for (key, limit) in [
        ("entries", &mut profile.entries_max),
        ("meters", &mut profile.meters_max),
        ("groups", &mut profile.groups_max),
    ] {
        if let Some(value) = count(reader, field, key, 0, 1_000_000_000) {
            *limit = value;
        }
    }
}

fn read_meters(reader: &mut Reader, field: &Field<'_>, profile: &mut Profile) {
    if let Some(counts) = field.get("meter_counts").and_then(|f| reader.choice(&f, &METER_COUNTS)) {
        profile.meter_counts = counts;
    }
    if let Some(step) = field.get("meter_rate_step")
        && let Some(bps) = reader.quantity(&step, parse_rate_bps)
    {
        match bps {
            0 => reader.error(&step, "a step cannot be zero", "write 1 bit/s or 1 kbit/s"),
            _ => profile.meter_rate_step_bps = bps,
        }
    }
    if let Some(step) = field.get("meter_burst_step")
        && let Some(bits) = reader.quantity(&step, parse_burst_bits)
    {
        match (bits / 8, bits % 8) {
            (0, 0) => reader.error(&step, "a step cannot be zero", "write 1 B or 1 kbit"),
            (bytes, 0) => profile.meter_burst_step_bytes = bytes,
            (bytes, _) => {
                let hint = format!("write {} B, or 1 kbit (125 B)", bytes + 1);
                reader.error(&step, "a meter's burst step is whole bytes", &hint);
            }
        }
    }
    if let Some(max) = field.get("meter_burst_max")
        && let Some(bytes) = reader.quantity(&max, parse_size_bytes)
    {
        match bytes {
            1..=OPENFLOW_BURST_BYTES_MAX => profile.meter_burst_max_bytes = bytes,
            _ => {
                let hint = format!("from 1 B to {}", format_size(OPENFLOW_BURST_BYTES_MAX));
                reader.error(&max, "no band of a meter states such a burst", &hint);
            }
        }
    }
    if let Some(ppm) = small(reader, field, "clock_tolerance", parse_ppm) {
        profile.clock_tolerance_ppm = ppm;
    }
}

fn read_modes(reader: &mut Reader, field: &Field<'_>, profile: &mut Profile) {
    if let Some(modes) = field.get("modes").and_then(|f| reader.truth(&f)) {
        profile.has_modes = modes;
    }
    for (key, time) in
        [("swap", &mut profile.swap_ns_max), ("purge_per_frame", &mut profile.purge_frame_ns_max)]
    {
        if let Some(ns) = field.get(key).and_then(|f| reader.quantity(&f, parse_time_ns)) {
            *time = ns;
        }
    }
}

/// A quantity that must fit 32 bits.
pub(super) fn small(
    reader: &mut Reader,
    field: &Field<'_>,
    key: &str,
    parse: fn(&str) -> Result<u64, QuantityError>,
) -> Option<u32> {
    let field = field.get(key)?;
    let value = reader.quantity(&field, parse)?;
    let small = u32::try_from(value).ok();
    if small.is_none() {
        reader.error(&field, "the value is too large", "at most 4294967295 of the base unit");
    }
    small
}

fn count(reader: &mut Reader, field: &Field<'_>, key: &str, min: u64, max: u64) -> Option<u32> {
    let field = field.get(key)?;
    let value = reader.number(&field, min, max)?;
    Some(u32::try_from(value).expect("the limits given fit"))
}
