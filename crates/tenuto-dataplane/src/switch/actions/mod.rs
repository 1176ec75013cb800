//! What happens to a frame that matches: groups, outputs, packet-ins, the bridge, edits of its headers.

pub(in crate::switch) mod bridge;
pub(in crate::switch) mod displace;
pub(in crate::switch) mod group;
pub(in crate::switch) mod packet;
pub(in crate::switch) mod packet_buffers;
pub(in crate::switch) mod packet_in;
