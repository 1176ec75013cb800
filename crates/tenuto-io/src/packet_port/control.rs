//! Ancillary data of a received frame: its stamp and the VLAN tag that the kernel took off.

use crate::packet_socket::VlanTag;
use crate::sys::time::timespec_ns;

/// What the control messages of a frame say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ancillary {
    /// When the frame entered the kernel, or left it, in CLOCK_REALTIME.
    pub(crate) stamp_realtime_ns: Option<u64>,
    /// When it passed the device, by the device's own clock.
    pub(crate) stamp_device_ns: Option<u64>,
    /// The outer tag, if the kernel took one off.
    pub(crate) vlan: Option<VlanTag>,
    /// The sender left the checksum to a device, and none has filled it in.
    pub(crate) checksum_missing: bool,
}

/// `struct cmsghdr`: a length in native words, a level, a type.
const HEADER_BYTES: usize = size_of::<libc::cmsghdr>();
const LENGTH_BYTES: usize = size_of::<usize>();
const STAMP_BYTES: usize = size_of::<libc::timespec>();

impl Ancillary {
    /// Reads the control messages; whatever is unknown or cut off is left out.
    pub(crate) fn parse(mut control: &[u8]) -> Self {
        let mut found = Self::default();
        while let Some((header, _)) = control.split_at_checked(HEADER_BYTES) {
            let length = usize::from_ne_bytes(bytes_at(header, 0));
            let level = i32::from_ne_bytes(bytes_at(header, LENGTH_BYTES));
            let kind = i32::from_ne_bytes(bytes_at(header, LENGTH_BYTES + 4));
            let Some(payload) = control.get(HEADER_BYTES..length) else { break };
            match (level, kind) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    found.stamp_realtime_ns = parse_stamp(payload);
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => found.parse_stamps(payload),
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => found.parse_auxiliary(payload),
                _ => {}
            }
            control = control.get(length.next_multiple_of(LENGTH_BYTES)..).unwrap_or(&[]);
        }
        found
    }

    /// A `struct scm_timestamping`: the kernel's stamp, one that is out of use, the device's. Zero is none.
    fn parse_stamps(&mut self, payload: &[u8]) {
        let stamp = |place: usize| {
            let bytes = payload.get(place * STAMP_BYTES..)?;
            parse_stamp(bytes).filter(|&ns| ns > 0)
        };
        self.stamp_realtime_ns = stamp(0);
        self.stamp_device_ns = stamp(2);
    }

    /// A `struct tpacket_auxdata`: status, length, captured length, two offsets, tag, its EtherType.
    fn parse_auxiliary(&mut self, payload: &[u8]) {
        const CONTROL_AT: usize = 16;
        const PROTOCOL_AT: usize = 18;
        if payload.len() < size_of::<libc::tpacket_auxdata>() {
            return;
        }
        let status = u32::from_ne_bytes(bytes_at(payload, 0));
        let control = u16::from_ne_bytes(bytes_at(payload, CONTROL_AT));
        let protocol = u16::from_ne_bytes(bytes_at(payload, PROTOCOL_AT));
        self.vlan = VlanTag::reported(status, control, protocol);
        self.checksum_missing = status & libc::TP_STATUS_CSUMNOTREADY != 0;
    }
}

/// A `struct timespec`.
fn parse_stamp(payload: &[u8]) -> Option<u64> {
    let seconds = payload.first_chunk().copied()?;
    let nanoseconds = payload.get(size_of::<libc::time_t>()..)?.first_chunk().copied()?;
    Some(timespec_ns(libc::timespec {
        tv_sec: libc::time_t::from_ne_bytes(seconds),
        tv_nsec: libc::c_long::from_ne_bytes(nanoseconds),
    }))
}

/// `N` bytes at `at`; the callers have checked that they are there.
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().expect("the length was checked")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: i32, kind: i32, payload: &[u8]) -> Vec<u8> {
        let length = HEADER_BYTES + payload.len();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(payload);
        bytes.resize(length.next_multiple_of(LENGTH_BYTES), 0);
        bytes
    }

    fn auxiliary(status: u32, control: u16, protocol: u16) -> Vec<u8> {
        let mut bytes = status.to_ne_bytes().to_vec();
        bytes.extend([0; 12]);
        bytes.extend(control.to_ne_bytes());
        bytes.extend(protocol.to_ne_bytes());
        bytes
    }

    #[test]
    fn stamp_and_tag_are_found_in_any_order() {
        let stamp = [3_i64.to_ne_bytes(), 500_i64.to_ne_bytes()].concat();
        let stamp = message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &stamp);
        let both = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        let tag = auxiliary(both | libc::TP_STATUS_CSUMNOTREADY, 0xe001, 0x88a8);
        let tag = message(libc::SOL_PACKET, libc::PACKET_AUXDATA, &tag);
        let unknown = message(libc::SOL_SOCKET, 9_999, &[1, 2, 3]);
        let expected = Ancillary {
            stamp_realtime_ns: Some(3_000_000_500),
            vlan: Some(VlanTag { protocol: 0x88a8, control: 0xe001 }),
            checksum_missing: true,
            stamp_device_ns: None,
        };
        assert_eq!(Ancillary::parse(&[&stamp[..], &unknown, &tag].concat()), expected);
        assert_eq!(Ancillary::parse(&[&tag[..], &stamp, &unknown].concat()), expected);
    }

    #[test]
    fn an_untagged_frame_has_no_tag_and_an_unnamed_one_is_a_vlan_tag() {
        let parse = |payload: &[u8]| {
            Ancillary::parse(&message(libc::SOL_PACKET, libc::PACKET_AUXDATA, payload)).vlan
        };
        assert_eq!(parse(&auxiliary(0, 5, 0)), None);
        let tag = VlanTag { protocol: 0x8100, control: 5 };
        assert_eq!(parse(&auxiliary(libc::TP_STATUS_VLAN_VALID, 5, 0)), Some(tag));
    }

    #[test]
    fn stamps_of_kernel_and_device_are_told_apart() {
        let three = |stamps: [i64; 3]| {
            let bytes = stamps.map(|ns| [0_i64.to_ne_bytes(), ns.to_ne_bytes()].concat());
            Ancillary::parse(&message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &bytes.concat()))
        };
        let found = |it: Ancillary| (it.stamp_realtime_ns, it.stamp_device_ns);
        assert_eq!(found(three([5, 0, 0])), (Some(5), None));
        assert_eq!(found(three([0, 9, 7])), (None, Some(7)), "the second is out of use");
        assert_eq!(found(three([5, 0, 7])), (Some(5), Some(7)));
        let whole = message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &[1; 48]);
        for length in 0..whole.len() {
            Ancillary::parse(&whole[..length]);
        }
    }

    #[test]
    fn cut_or_senseless_messages_are_left_out() {
        let whole = message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &[1; 16]);
        for length in 0..whole.len() {
            assert_eq!(Ancillary::parse(&whole[..length]), Ancillary::default(), "{length}");
        }
        for length in [0, 1, HEADER_BYTES - 1, usize::MAX - 3, usize::MAX] {
            let mut bad = whole.clone();
            bad[..LENGTH_BYTES].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(Ancillary::parse(&bad), Ancillary::default(), "{length}");
        }
    }
}
