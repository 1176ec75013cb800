//! The network as the checks see it.

use crate::description::packets::Packets;
use crate::description::read;
use std::collections::BTreeMap;

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
