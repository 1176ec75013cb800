//! The network as the checks see it.

use crate::description::packets::Packets;
use crate::description::read;
use crate::finding::Findings;
use num_bigint::BigInt;
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};

#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) name: &'a str,
    /// What it forwards like; hosts do not forward.
    pub(crate) switch: Option<(&'a read::Switch, &'a read::Profile)>,
}

/// One directed egress.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) node: usize,
    pub(crate) number: u32,
    pub(crate) rate_bps: u64,
    pub(crate) propagation_ps: u64,
    pub(crate) peer: usize,
    /// Rounding of the pacer.
    pub(crate) tick_ps: u64,
}

#[derive(Debug)]
pub(crate) struct Contract {
    pub(crate) packets: Packets,
    pub(crate) period_ns: u64,
    pub(crate) jitter_ps: u64,
    pub(crate) class: u8,
    pub(crate) frame_bits_min: u64,
    /// The least frame with its FCS, bytes.
    pub(crate) frame_bytes_min: u32,
}

#[derive(Debug)]
pub(crate) struct Flow<'a> {
    pub(crate) raw: &'a read::Flow,
    pub(crate) source: usize,
    pub(crate) targets: Vec<usize>,
    pub(crate) level: usize,
    pub(crate) contracts: Vec<Contract>,
}

/// Everything that the checks need of the description.
#[derive(Debug)]
pub(crate) struct Net<'a> {
    pub(crate) raw: &'a read::Network,
    pub(crate) findings: &'a Findings,
    pub(crate) nodes: Vec<Node<'a>>,
    pub(crate) ports: Vec<Port>,
    pub(crate) flows: Vec<Flow<'a>>,
    /// ρ, parts per million.
    pub(crate) tolerance_ppm: u64,
    /// Whether any flow is told by its virtual link.
    pub(crate) has_virtual_links: bool,
    pub(crate) by_name: BTreeMap<&'a str, usize>,
    pub(crate) by_port: BTreeMap<(usize, u32), usize>,
    pub(crate) flow_by_name: BTreeMap<&'a str, usize>,
}

/// Reports what the plan says wrongly.
impl Net<'_> {
    pub(crate) fn wrong(
        &self,
        rule: &'static str,
        place: impl Display,
        claim: impl Display,
        found: impl Display,
    ) {
        self.findings.add(rule, place, claim, found);
    }

    /// A claim that is below what is needed; nothing is enough where that is unbounded.
    pub(crate) fn at_least(
        &self,
        (rule, place, unit): (&'static str, impl Display, &str),
        what: &str,
        claim: impl Into<BigInt>,
        needed: Option<impl Into<BigInt>>,
    ) {
        let (claim, needed) = (claim.into(), needed.map(Into::into));
        if needed.as_ref().is_none_or(|needed| claim < *needed) {
            let found = needed.map_or("unbounded".into(), |it| format!("at least {it} {unit}"));
            self.wrong(rule, place, format_args!("{what} {claim} {unit}"), found);
        }
    }

    /// A claim that is something else than what is so.
    pub(crate) fn same<T: PartialEq + Debug>(
        &self,
        (rule, place): (&'static str, impl Display),
        what: &str,
        claim: T,
        is: T,
    ) {
        if claim != is {
            self.wrong(rule, place, format_args!("{what} {claim:?}"), format_args!("{is:?}"));
        }
    }
}
