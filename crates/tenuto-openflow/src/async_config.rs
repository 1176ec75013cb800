//! Which asynchronous messages a controller wants (OpenFlow 1.3.5, section 7.3.10).

use crate::error::ErrorCode;
use crate::wire::{Reader, Writer};

/// Masks of reasons (`ofp_async_config`): bit *n* set lets messages of reason *n* through. In each
/// pair the first is for the roles equal and master, the second for slaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AsyncConfig {
    /// Reasons of packet-ins ([`PacketInReason`](crate::PacketInReason)).
    pub packet_in_mask: [u32; 2],
    /// Reasons of port-status messages ([`PortReason`](crate::PortReason)).
    pub port_status_mask: [u32; 2],
    /// Reasons of flow-removed messages ([`FlowRemovedReason`](crate::FlowRemovedReason)).
    pub flow_removed_mask: [u32; 2],
}

impl Default for AsyncConfig {
    /// What a switch does where nobody said otherwise: everything to masters and equals but
    /// packets of invalid TTL, and port-status alone to slaves (section 6.3.4).
    fn default() -> Self {
        Self {
            packet_in_mask: [0b11, 0],
            port_status_mask: [0b111, 0b111],
            flow_removed_mask: [0b1111, 0],
        }
    }
}

impl AsyncConfig {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let pair = |r: &mut Reader<'_>| -> Result<[u32; 2], ErrorCode> { Ok([r.u32()?, r.u32()?]) };
        Ok(Self {
            packet_in_mask: pair(r)?,
            port_status_mask: pair(r)?,
            flow_removed_mask: pair(r)?,
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let masks = [self.packet_in_mask, self.port_status_mask, self.flow_removed_mask];
        masks.iter().flatten().for_each(|mask| w.u32(*mask));
    }
}
