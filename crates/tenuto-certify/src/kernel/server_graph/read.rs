//! Server graphs and linear proofs as they are read; nothing in them is believed.

use num_bigint::BigInt;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// Digits of a whole number that are read.
const DIGITS_MAX: usize = 4_096;

/// A whole number that is not negative: a number, or a text of decimal digits where it is large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Natural(pub(crate) BigInt);

impl<'de> Deserialize<'de> for Natural {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;

        impl Visitor<'_> for Digits {
            type Value = Natural;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from 0 on, or a text of 1 to {DIGITS_MAX} digits")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Natural, E> {
                Ok(Natural(value.into()))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Natural, E> {
                let is_plain =
                    text.len() <= DIGITS_MAX && text.bytes().all(|byte| byte.is_ascii_digit());
                let value = if is_plain { text.parse().ok() } else { None };
                let shown = text.get(..40).unwrap_or(text);
                value.map(Natural).ok_or_else(|| E::invalid_value(Unexpected::Str(shown), &self))
            }
        }

        deserializer.deserialize_any(Digits)
    }
}

/// 10⁻⁶ bit and 10⁻⁶ bit/s.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bucket {
    pub(crate) burst_ubit: i128,
    pub(crate) rate_ubps: i128,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateLatency {
    pub(crate) rate_ubps: i128,
    pub(crate) latency_ps: i128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Multiplexing {
    Fifo,
    Arbitrary,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) service: Vec<RateLatency>,
    pub(crate) line: Option<Bucket>,
    pub(crate) multiplexing: Multiplexing,
    pub(crate) packet_ubit: i128,
}

impl Server {
    /// A server that serves one class first in, first out.
    pub(crate) fn fifo(service: Vec<RateLatency>, line: Option<Bucket>, packet_ubit: i128) -> Self {
        Self { name: String::new(), service, line, multiplexing: Multiplexing::Fifo, packet_ubit }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Visit {
    pub(crate) server: usize,
    pub(crate) parent: Option<usize>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) visit: usize,
    pub(crate) deadline_ps: Option<i128>,
    pub(crate) constant_ps: i128,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flow {
    pub(crate) name: String,
    pub(crate) arrival: Vec<Bucket>,
    pub(crate) visits: Vec<Visit>,
    pub(crate) targets: Vec<Target>,
    /// Whether switches on its way may drop of it; in graphs that the checker makes only.
    #[serde(skip)]
    pub(crate) is_lossy: bool,
}

impl Flow {
    /// A flow by what it brings and its visits: server, and visit before, parents first.
    pub(crate) fn new(arrival: Bucket, visits: Vec<Visit>, is_lossy: bool) -> Self {
        let (name, targets) = (String::new(), Vec::new());
        Self { name, arrival: vec![arrival], visits, targets, is_lossy }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Graph {
    pub(crate) name: String,
    pub(crate) servers: Vec<Server>,
    pub(crate) flows: Vec<Flow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Fifo,
    Service,
}

/// The later date at the exit, and how the date is derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Date(pub(crate) usize, pub(crate) Kind);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    pub(crate) server: usize,
    pub(crate) next: Option<usize>,
    /// Nothing: not bounded.
    pub(crate) delay_ps: Option<i128>,
    pub(crate) busy_ps: Option<i128>,
    pub(crate) dates: Vec<Date>,
}

/// A flow and its visit.
pub(crate) type Stop = (usize, usize);

/// The name of an inequality; the last number is its multiplier.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Term {
    Order(usize, usize, usize, Natural),
    Causal(usize, usize, Natural),
    Monotone(usize, Stop, usize, usize, Natural),
    Arrival(usize, Stop, usize, usize, usize, Natural),
    /// Of all flows that go the same way through the tree as the one that is named.
    #[serde(rename = "all-monotone")]
    AllMonotone(usize, Stop, usize, usize, Natural),
    #[serde(rename = "all-arrival")]
    AllArrival(usize, Stop, usize, usize, usize, Natural),
    Line(usize, usize, usize, usize, Natural),
    Service(usize, usize, usize, Natural),
    Delay(usize, usize, Natural),
    Passed(usize, Stop, usize, usize, Natural),
    Last(usize, usize, Natural),
    Left(usize, Stop, usize, Natural),
    Through(usize, Stop, usize, usize, usize, Natural),
    Into(usize, usize, usize, usize, Natural),
    Over(usize, usize, usize, Natural),
    Entered(usize, Natural),
    Since(Natural),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Proof {
    pub(crate) nodes: Vec<Node>,
    pub(crate) time_parts: Natural,
    pub(crate) data_parts: Natural,
    pub(crate) terms: Vec<Term>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Burst {
    pub(crate) flow: usize,
    pub(crate) visit: usize,
    pub(crate) bucket: Bucket,
    pub(crate) proof: Proof,
}
