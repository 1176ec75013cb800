//! Packets of hosts: whose, for whom, which one, written behind the headers.

use tenuto_dataplane::{FrameId, Frames};
use tenuto_wire::build::UDP_PAYLOAD_START;
use tenuto_wire::{MacAddress, UdpFrame};

/// Longest frame of a host, and what its headers need.
const FRAME_BYTES_MAX: usize = 1_514;
/// Bytes that say which packet it is, and the least payload.
const PAYLOAD_LEN: usize = 64;

/// What a packet is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PacketKind {
    /// A host sends it by itself.
    Sent,
    /// It answers one that was received.
    Reply,
    /// A host that has moved tells all others.
    Announcement,
}

/// Which packet it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PacketName {
    /// Place of the host that sends it.
    pub(crate) from: u16,
    /// Place of the host that it is for; [`NOBODY`] if its address is no host's.
    pub(crate) to: u16,
    pub(crate) kind: PacketKind,
    /// Flow of the two, from 0.
    pub(crate) flow: u32,
    /// Among the packets of the sender, or of the flow.
    pub(crate) number: u32,
}

/// The place of no host: a service, or all of them.
pub(crate) const NOBODY: u16 = u16::MAX;

/// MAC and IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) mac: [u8; 6],
    pub(crate) ip: [u8; 4],
}

/// All stations.
pub(crate) const BROADCAST: Address = Address { mac: [0xff; 6], ip: [255; 4] };

/// What a packet is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) name: PacketName,
    pub(crate) src: Address,
    pub(crate) dst: Address,
    /// UDP source and destination port.
    pub(crate) ports: (u16, u16),
    /// Bytes with headers, without FCS; shorter ones are filled up.
    pub(crate) bytes: usize,
}

impl Made {
    /// Puts it into a store.
    ///
    /// # Errors
    /// In words, if there is no room.
    pub(crate) fn store(&self, frames: &mut impl Frames) -> Result<FrameId, String> {
        let bytes = self.bytes.min(FRAME_BYTES_MAX);
        let frame = UdpFrame {
            eth_dst: MacAddress(self.dst.mac),
            eth_src: MacAddress(self.src.mac),
            ip_src: self.src.ip,
            ip_dst: self.dst.ip,
            udp_src: self.ports.0,
            udp_dst: self.ports.1,
            dscp: 0,
            payload_len: bytes.saturating_sub(UDP_PAYLOAD_START).max(PAYLOAD_LEN),
        };
        let mut buffer = [0; FRAME_BYTES_MAX];
        let written = frame.emit(&mut buffer).map_err(|error| error.to_string())?;
        let PacketName { from, to, kind, flow, number } = self.name;
        let at = &mut buffer[UDP_PAYLOAD_START..];
        at[0..4].copy_from_slice(&number.to_be_bytes());
        at[4..6].copy_from_slice(&from.to_be_bytes());
        at[6..8].copy_from_slice(&to.to_be_bytes());
        at[8..12].copy_from_slice(&flow.to_be_bytes());
        at[12] = kind as u8;
        frames.insert(&buffer[..written.len]).ok_or_else(|| "no room for a packet".to_owned())
    }
}

impl PacketName {
    /// The name in a frame; `None` if a host has not made it.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let at = bytes.get(UDP_PAYLOAD_START..UDP_PAYLOAD_START + 13)?;
        let kind = match at[12] {
            0 => PacketKind::Sent,
            1 => PacketKind::Reply,
            2 => PacketKind::Announcement,
            _ => return None,
        };
        Some(Self {
            number: u32::from_be_bytes(at[0..4].try_into().ok()?),
            from: u16::from_be_bytes(at[4..6].try_into().ok()?),
            to: u16::from_be_bytes(at[6..8].try_into().ok()?),
            flow: u32::from_be_bytes(at[8..12].try_into().ok()?),
            kind,
        })
    }
}
