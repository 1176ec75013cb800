//! What a plan says of its network, read and judged by itself.

pub(crate) mod deployed;
pub(crate) mod described;
pub(crate) mod described_flows;
pub(crate) mod described_nodes;
pub(crate) mod described_policies;
pub(crate) mod described_profiles;
pub(crate) mod device;
pub(crate) mod net;
pub(crate) mod network;
pub(crate) mod packets;
pub(crate) mod read;
pub(crate) mod slices;
