//! Which frames a port carries.

use crate::{FRAME_BYTES_LIMIT, PortStatistics};
use std::io;

/// Addresses and EtherType.
pub(crate) const HEADER_BYTES: usize = 14;
/// Behind the two addresses.
pub(crate) const TYPE_AT: usize = 12;
const TAG_BYTES: usize = 4;
const TAGS_MAX: usize = 2;
/// EtherTypes of VLAN tags: customer, service, and the two old ones of stacked tags.
const TAG_TYPES: [[u8; 2]; 4] = [[0x81, 0x00], [0x88, 0xa8], [0x91, 0x00], [0x92, 0x00]];

/// Refuses a frame that no port of this limit carries.
pub(crate) fn check_frame(frame: &[u8], limit_bytes: usize) -> io::Result<()> {
    if (HEADER_BYTES..=limit_bytes).contains(&frame.len()) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("a frame of {} B: {HEADER_BYTES} to {limit_bytes} can be sent", frame.len()),
    ))
}

/// What a frame is to an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Fits,
    Runt,
    Oversized,
}

/// Judges a whole frame by the MTU of its interface: the header and up to two tags come on top, up to
/// [`FRAME_BYTES_LIMIT`].
pub(crate) fn fit(frame: &[u8], mtu_bytes: usize) -> Fit {
    // The usual case needs no look at the tags. An MTU may be larger than what ports carry.
    let most = (mtu_bytes + HEADER_BYTES).min(FRAME_BYTES_LIMIT);
    match frame.len() {
        bytes if bytes < HEADER_BYTES => Fit::Runt,
        bytes if bytes <= most => Fit::Fits,
        bytes if bytes <= (most + tag_bytes(frame)).min(FRAME_BYTES_LIMIT) => Fit::Fits,
        _ => Fit::Oversized,
    }
}

impl PortStatistics {
    /// Books a received frame; whether it is handed on.
    pub(crate) fn admit(&mut self, fit: Fit) -> bool {
        match fit {
            Fit::Fits => self.received += 1,
            Fit::Runt => self.runts += 1,
            Fit::Oversized => self.oversized += 1,
        }
        fit == Fit::Fits
    }
}

fn tag_bytes(frame: &[u8]) -> usize {
    let is_tag = |&nth: &usize| {
        let at = TYPE_AT + nth * TAG_BYTES;
        frame.get(at..at + 2).is_some_and(|found| TAG_TYPES.iter().any(|tag| found == tag))
    };
    (0..TAGS_MAX).take_while(is_tag).count() * TAG_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_come_on_top_of_the_mtu() {
        let mut frame = vec![0; 1_514];
        assert_eq!(fit(&frame, 1_500), Fit::Fits);
        frame.resize(1_515, 0);
        assert_eq!(fit(&frame, 1_500), Fit::Oversized);
        frame[12..14].copy_from_slice(&[0x81, 0]);
        assert_eq!(fit(&frame, 1_500), Fit::Fits);
        frame.resize(1_522, 0);
        assert_eq!(fit(&frame, 1_500), Fit::Oversized);
        frame[12..18].copy_from_slice(&[0x88, 0xa8, 0, 1, 0x81, 0]);
        assert_eq!(fit(&frame, 1_500), Fit::Fits);
        frame.resize(1_523, 0);
        assert_eq!(fit(&frame, 1_500), Fit::Oversized);
    }

    #[test]
    fn neither_runts_nor_giants_fit_anywhere() {
        for bytes in 0..HEADER_BYTES {
            assert_eq!(fit(&vec![0x81; bytes], 1_500), Fit::Runt);
        }
        for bytes in [FRAME_BYTES_LIMIT + 1, 65_535, 65_550] {
            assert_eq!(fit(&vec![0; bytes], 1_500), Fit::Oversized);
            // Within the MTU of large networks, and even the largest within that of the loopback interface.
            for mtu_bytes in [2_030, 2_031, 9_000, 65_536] {
                assert_eq!(fit(&vec![0; bytes], mtu_bytes), Fit::Oversized);
            }
            assert!(check_frame(&vec![0; bytes], FRAME_BYTES_LIMIT).is_err());
        }
    }
}
