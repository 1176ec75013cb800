//! The document of bounds as it is read; nothing in it is believed.

use num_bigint::BigInt;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// Digits of a whole number that are read.
const DIGITS_MAX: usize = 4_096;

/// A whole number that is not negative: a number, or a text of decimal digits where it is large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Natural(pub(super) BigInt);

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
    pub(super) name: String,
    pub(super) service: Vec<RateLatency>,
    pub(super) line: Option<Bucket>,
    pub(super) multiplexing: Multiplexing,
    pub(super) packet_ubit: i128,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Visit {
    pub(super) server: usize,
    pub(super) parent: Option<usize>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Target {
    pub(super) name: String,
    pub(super) visit: usize,
    pub(super) deadline_ps: Option<i128>,
    pub(super) constant_ps: i128,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flow {
    pub(super) name: String,
    pub(super) arrival: Vec<Bucket>,
    pub(super) visits: Vec<Visit>,
    pub(super) targets: Vec<Target>,
    /// Whether switches on its way may drop of it; in graphs that the checker makes only.
    #[serde(skip)]
    pub(super) is_lossy: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Graph {
    pub(super) name: String,
    pub(super) servers: Vec<Server>,
    pub(super) flows: Vec<Flow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Fifo,
    Service,
}

/// The later date at the exit, and how the date is derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Date(pub(super) usize, pub(super) Kind);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    pub(super) server: usize,
    pub(super) next: Option<usize>,
    /// Nothing: not bounded.
    pub(super) delay_ps: Option<i128>,
    pub(super) busy_ps: Option<i128>,
    pub(super) dates: Vec<Date>,
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
    pub(super) nodes: Vec<Node>,
    pub(super) time_parts: Natural,
    pub(super) data_parts: Natural,
    pub(super) terms: Vec<Term>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Burst {
    pub(super) flow: usize,
    pub(super) visit: usize,
    pub(super) bucket: Bucket,
    pub(super) proof: Proof,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Bound {
    pub(super) flow: usize,
    pub(super) target: usize,
    pub(super) delay_bound_ps: Option<i128>,
    pub(super) proof: Option<Proof>,
}

/// Members that this checker does not know may be added to a document; not to its description.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Document {
    pub(super) schema: String,
    pub(super) description_digest: String,
    pub(super) plan_hash: String,
    pub(super) description: Graph,
    pub(super) line_shaping: bool,
    pub(super) server_delays_ps: Vec<Option<i128>>,
    pub(super) bursts: Vec<Burst>,
    pub(super) bounds: Vec<Bound>,
}
