//! Values of flags: lengths of time, rates, counts and words, refused with what was meant.

use tenuto_model::{ImportFormat, quantity};
use tenuto_runtime::{LabPorts, SwitchProcesses};

/// The names of formats, and `auto`.
pub(super) fn format() -> clap::builder::PossibleValuesParser {
    let names = ImportFormat::ALL.into_iter().map(ImportFormat::name);
    clap::builder::PossibleValuesParser::new(names.chain(["auto"]))
}

/// A rate with its unit.
pub(crate) fn rate_bps(text: &str) -> Result<u64, String> {
    match quantity::parse_rate_bps(text).map_err(|error| error.to_string())? {
        0..1_000 => Err("a link has 1 kbit/s or more: did you mean 100Mbit/s?".into()),
        rate => Ok(rate),
    }
}

/// A length of time with its unit, above zero.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    const THREADS_MAX: usize = 1_024;
    match text.parse() {
        Ok(count @ 1..=THREADS_MAX) => Ok(count),
        _ => Err(format!("1 to {THREADS_MAX} threads")),
    }
}

pub(crate) fn duration_ns(text: &str) -> Result<u64, String> {
    const DAY_NS: u64 = 86_400_000_000_000;
    let number = text.trim();
    if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(format!("{number} of what? did you mean {number}s or {number}ms?"));
    }
    match quantity::parse_time_ns(text).map_err(|error| error.to_string())? {
        0 => Err("a run takes some time: did you mean 20s?".into()),
        ns if ns > DAY_NS => Err("a run takes at most a day: did you mean 20s?".into()),
        ns => Ok(ns),
    }
}

/// `FLOW` or `FLOW=N`.
pub(super) fn times(text: &str) -> Result<(String, u8), String> {
    match text.rsplit_once('=') {
        None => Ok((text.to_owned(), 1)),
        Some((flow, count)) => match count.parse() {
            Ok(count @ 1..) => Ok((flow.to_owned(), count)),
            _ => Err(format!("`{count}` is no number from 1 to 255")),
        },
    }
}

/// How much slower a network is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slow {
    /// As this machine needs it, up to [`Slow::AUTO_MAX`].
    Auto,
    /// So many times.
    Times(u64),
}

impl Slow {
    /// Slower than this, a scenario of seconds shows nothing any more.
    pub(crate) const AUTO_MAX: u64 = 10;
}

pub(super) fn lab_ports(text: &str) -> Result<LabPorts, String> {
    match text {
        "packet-ring" => Ok(LabPorts::PacketRing),
        "packet" => Ok(LabPorts::Packet),
        _ => Err("the nodes of a lab have `packet-ring` or `packet` ports".into()),
    }
}

pub(crate) fn switch_processes(text: &str) -> Result<SwitchProcesses, String> {
    match text {
        "apart" => Ok(SwitchProcesses::Apart),
        "together" => Ok(SwitchProcesses::Together),
        _ => Err("the switches of a lab run `apart` or `together`".into()),
    }
}

pub(super) fn slow(text: &str) -> Result<Slow, String> {
    match text {
        "auto" => Ok(Slow::Auto),
        _ => match text.parse() {
            Ok(n @ 1..=1_000) => Ok(Slow::Times(n)),
            _ => Err("a whole number from 1 to 1000, or `auto`".into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit() {
        assert_eq!(duration_ns("20s"), Ok(20_000_000_000));
        assert!(duration_ns("20").expect_err("no unit").contains("did you mean"));
        assert!(duration_ns("0s").is_err());
    }
}
