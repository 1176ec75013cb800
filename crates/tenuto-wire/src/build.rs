//! Complete UDP frames, written into the caller's buffer.

use crate::error::EmitError;
use crate::ethernet::{
    EtherType, FRAME_LEN_MAX, FRAME_LEN_MIN, HEADER_LEN as ETHERNET_LEN, MacAddress,
    emit_header as emit_ethernet,
};
use crate::ipv4::{HEADER_LEN as IPV4_LEN, IpProtocol, Ipv4Repr};
use crate::udp::{HEADER_LEN as UDP_LEN, emit_header as emit_udp};
use std::ops::Range;

/// Where the payload of a [`UdpFrame`] begins: behind Ethernet, IPv4 and UDP.
pub const UDP_PAYLOAD_START: usize = ETHERNET_LEN + IPV4_LEN + UDP_LEN;
/// The most payload that an untagged UDP frame carries.
pub const UDP_PAYLOAD_LEN_MAX: usize = FRAME_LEN_MAX - UDP_PAYLOAD_START;

/// An untagged Ethernet frame with one whole UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpFrame {
    /// Ethernet destination.
    pub eth_dst: MacAddress,
    /// Ethernet source.
    pub eth_src: MacAddress,
    /// IPv4 source.
    pub ip_src: [u8; 4],
    /// IPv4 destination.
    pub ip_dst: [u8; 4],
    /// UDP source port.
    pub udp_src: u16,
    /// UDP destination port.
    pub udp_dst: u16,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Bytes of UDP payload, a shim or a sequence number included.
    pub payload_len: usize,
}

/// What [`UdpFrame::emit`] wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Length of the frame in the buffer, padding included, FCS not.
    pub len: usize,
    /// The UDP payload in the buffer.
    pub payload: Range<usize>,
}

impl UdpFrame {
    /// Length of the frame in memory, padding included, FCS not.
    pub fn frame_len(&self) -> usize {
        self.payload_len.saturating_add(UDP_PAYLOAD_START).max(FRAME_LEN_MIN)
    }

    /// Writes the frame at the start of `buffer`: headers with the IPv4 checksum and no UDP
    /// checksum, then zeroes in payload and padding, so that equal frames are equal bytes
    /// whatever the buffer held before. Bytes behind the frame are untouched.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<Written, EmitError> {
        let udp_len = self.udp_len()?;
        let (needed, given) = (self.frame_len(), buffer.len());
        let frame = buffer.get_mut(..needed).ok_or(EmitError::BufferTooSmall { needed, given })?;
        let (ethernet, rest) = frame.split_at_mut(ETHERNET_LEN);
        let (ipv4, rest) = rest.split_at_mut(IPV4_LEN);
        let (udp, rest) = rest.split_at_mut(UDP_LEN);
        // The IPv4 header first: it may still refuse, and then nothing is written.
        self.ipv4(udp_len).emit(ipv4)?;
        emit_ethernet(ethernet, self.eth_dst, self.eth_src, EtherType::IPV4);
        emit_udp(udp, self.udp_src, self.udp_dst, udp_len);
        rest.fill(0);
        let payload = UDP_PAYLOAD_START..UDP_PAYLOAD_START + self.payload_len;
        Ok(Written { len: needed, payload })
    }

    fn udp_len(&self) -> Result<u16, EmitError> {
        let (bytes, bytes_max) = (self.payload_len, UDP_PAYLOAD_LEN_MAX);
        u16::try_from(bytes.saturating_add(UDP_LEN))
            .ok()
            .filter(|_| bytes <= bytes_max)
            .ok_or(EmitError::PayloadTooLong { bytes, bytes_max })
    }

    fn ipv4(&self, udp_len: u16) -> Ipv4Repr {
        Ipv4Repr {
            src: self.ip_src,
            dst: self.ip_dst,
            protocol: IpProtocol::UDP,
            dscp: self.dscp,
            ecn: 0,
            payload_len: usize::from(udp_len),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: UdpFrame = UdpFrame {
        eth_dst: MacAddress([0x03, 0, 0, 0, 0, 7]),
        eth_src: MacAddress([0x02, 0, 0, 0, 1, 0x20]),
        ip_src: [10, 0, 0, 1],
        ip_dst: [10, 0, 0, 2],
        udp_src: 5000,
        udp_dst: 6000,
        dscp: 46,
        payload_len: 2,
    };

    #[test]
    fn a_small_frame_is_written_byte_for_byte_and_padded() {
        let mut buffer = [0xee; 64];
        let written = FRAME.emit(&mut buffer).expect("fits");
        assert_eq!(written, Written { len: 60, payload: 42..44 });
        #[rustfmt::skip]
        let headers = [
            0x03, 0, 0, 0, 0, 7, 0x02, 0, 0, 0, 1, 0x20, 0x08, 0x00,
            // Sum of the other words: 45b8+001e+4000+4011+0a00+0001+0a00+0002 = d9ea.
            0x45, 0xb8, 0x00, 0x1e, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x26, 0x15,
            10, 0, 0, 1, 10, 0, 0, 2,
            0x13, 0x88, 0x17, 0x70, 0x00, 0x0a, 0x00, 0x00,
        ];
        assert_eq!(buffer[..42], headers);
        assert_eq!(buffer[42..60], [0; 18]);
        assert_eq!(buffer[60..], [0xee; 4]);
    }

    #[test]
    fn the_largest_frame_has_1514_bytes() {
        let mut buffer = [0; FRAME_LEN_MAX];
        let largest = UdpFrame { payload_len: 1472, ..FRAME };
        let written = largest.emit(&mut buffer).expect("fits");
        assert_eq!(written, Written { len: 1514, payload: 42..1514 });
        let short = &mut buffer[..1513];
        assert_eq!(
            largest.emit(short),
            Err(EmitError::BufferTooSmall { needed: 1514, given: 1513 })
        );
    }

    #[test]
    fn a_refused_frame_leaves_the_buffer_alone() {
        let mut buffer = [0xee; FRAME_LEN_MAX];
        for (frame, error) in [
            (UdpFrame { dscp: 64, ..FRAME }, EmitError::DscpTooLarge(64)),
            (
                UdpFrame { payload_len: 1473, ..FRAME },
                EmitError::PayloadTooLong { bytes: 1473, bytes_max: 1472 },
            ),
            (
                UdpFrame { payload_len: usize::MAX, ..FRAME },
                EmitError::PayloadTooLong { bytes: usize::MAX, bytes_max: 1472 },
            ),
        ] {
            assert_eq!(frame.emit(&mut buffer), Err(error));
            assert_eq!(buffer, [0xee; FRAME_LEN_MAX]);
        }
    }
}
