//! Refusals before anything is said of them, and amounts as they say them.

use tenuto_model::Refusal;

/// A refusal with nothing said but where and what.
pub(crate) fn at(place: impl Into<String>, resource: &str) -> Refusal {
    Refusal {
        place: place.into(),
        resource: resource.into(),
        mode: None,
        needed: None,
        available: None,
        unit: String::new(),
        flows: Vec::new(),
        because: String::new(),
        would_fit: Vec::new(),
    }
}

/// `432 kB`, `1.5 kB`, `80 B`.
pub(crate) fn kilobytes(bytes: u32) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        _ if bytes.is_multiple_of(1_000) => format!("{} kB", bytes / 1_000),
        _ => {
            let kilobytes = format!("{}.{:03}", bytes / 1_000, bytes % 1_000);
            format!("{} kB", kilobytes.trim_end_matches('0'))
        }
    }
}

/// `40 ms`, `27.2 ms`, rounded up to a microsecond.
pub(crate) fn milliseconds(ns: u64) -> String {
    let us = ns.div_ceil(1_000);
    if us.is_multiple_of(1_000) {
        return format!("{} ms", us / 1_000);
    }
    format!("{} ms", format!("{}.{:03}", us / 1_000, us % 1_000).trim_end_matches('0'))
}
