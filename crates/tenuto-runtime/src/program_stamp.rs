//! Numbers on datagrams of a user's own programs, so that both ends of a flow can tell which one they
//! see.
//!
//! Our frames carry a stamp in their payload; that of a program is its own. The IPv4 identification is
//! free in datagrams that are not fragments (RFC 6864, section 4.1): the host at the source writes the
//! number of the datagram there, and the host at the target reads it.

use std::ops::Range;

/// Where an IPv4 header without options has what is needed.
const VERSION_AND_LENGTH: usize = 14;
const PLAIN_HEADER: u8 = 0x45;
const IDENTIFICATION: Range<usize> = 18..20;
const FRAGMENT: Range<usize> = 20..22;
const CHECKSUM: Range<usize> = 24..26;
/// More fragments follow, or the offset of this one.
const FRAGMENT_BITS: u16 = 0x3fff;

/// Writes the number of a datagram; false where it is a fragment or has options, and stays as it is.
pub(crate) fn write(frame: &mut [u8], number: u16) -> bool {
    if !is_plain(frame) {
        return false;
    }
    let before = word(frame, IDENTIFICATION);
    // RFC 1624, equation 3.
    let sum = u32::from(!word(frame, CHECKSUM)) + u32::from(!before) + u32::from(number);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    let folded = u16::try_from(sum & 0xffff).unwrap_or(u16::MAX);
    frame[IDENTIFICATION].copy_from_slice(&number.to_be_bytes());
    frame[CHECKSUM].copy_from_slice(&(!folded).to_be_bytes());
    true
}

/// The number on a datagram, if it can have one.
pub(crate) fn read(frame: &[u8]) -> Option<u16> {
    is_plain(frame).then(|| word(frame, IDENTIFICATION))
}

/// The numbers that a target has seen of a flow: each counts once, though copies come over two networks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrived {
    /// The largest.
    last: Option<u32>,
    /// Of it and the 63 before it, from bit 0 on.
    seen: u64,
}

impl Arrived {
    /// The whole number behind 16 bits of it, if it is new.
    pub(crate) fn take(&mut self, number: u16) -> Option<u32> {
        let last = self.last.unwrap_or(0);
        let low = u16::try_from(last & 0xffff).unwrap_or(0);
        let ahead = i32::from(number.wrapping_sub(low).cast_signed());
        let whole = last.checked_add_signed(ahead)?;
        if self.last.is_none() || ahead > 0 {
            let steps = u32::try_from(ahead).unwrap_or(0);
            self.seen = self.seen.checked_shl(steps).unwrap_or(0) | 1;
            self.last = Some(whole);
            return Some(whole);
        }
        let bit = 1_u64.checked_shl(ahead.unsigned_abs())?;
        let is_new = self.seen & bit == 0;
        self.seen |= bit;
        is_new.then_some(whole)
    }
}

fn is_plain(frame: &[u8]) -> bool {
    frame.len() >= CHECKSUM.end
        && frame[VERSION_AND_LENGTH] == PLAIN_HEADER
        && word(frame, FRAGMENT) & FRAGMENT_BITS == 0
}

fn word(frame: &[u8], at: Range<usize>) -> u16 {
    u16::from_be_bytes([frame[at.start], frame[at.start + 1]])
}

#[cfg(test)]
mod tests {
    use super::{Arrived, read, write};

    /// Sum of the words of an IPv4 header, 0xffff if its checksum is right.
    fn sum(header: &[u8]) -> u16 {
        let words = header.chunks_exact(2).map(|it| u32::from(u16::from_be_bytes([it[0], it[1]])));
        let mut sum: u32 = words.sum();
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        u16::try_from(sum).expect("folded")
    }

    /// A frame with the header of RFC 1071's kind of example: a right checksum, not a fragment.
    fn frame() -> Vec<u8> {
        let mut frame = vec![0; 60];
        let header =
            [0x45, 0, 0, 0x1e, 0xbe, 0xef, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 3];
        frame[14..34].copy_from_slice(&header);
        let check = !sum(&frame[14..34]);
        frame[24..26].copy_from_slice(&check.to_be_bytes());
        frame
    }

    #[test]
    fn a_number_is_written_and_read_with_a_right_checksum() {
        for number in [0, 1, 0x1234, 0xbeef, 0xffff] {
            let mut frame = frame();
            assert!(write(&mut frame, number));
            assert_eq!(read(&frame), Some(number));
            assert_eq!(sum(&frame[14..34]), 0xffff, "{number:#x}");
        }
    }

    #[test]
    fn fragments_and_options_stay_as_they_are() {
        for (at, byte) in [(14, 0x46), (20, 0x20), (21, 1)] {
            let mut frame = frame();
            frame[at] = byte;
            let before = frame.clone();
            assert!(!write(&mut frame, 7));
            assert_eq!((read(&frame), frame), (None, before));
        }
        assert_eq!(read(&[0x45; 20]), None, "too short");
    }

    #[test]
    fn each_number_is_taken_once_and_beyond_sixteen_bits() {
        let mut arrived = Arrived::default();
        assert_eq!(arrived.take(0), Some(0));
        assert_eq!(arrived.take(0), None, "the other copy");
        assert_eq!((arrived.take(2), arrived.take(1), arrived.take(1)), (Some(2), Some(1), None));
        for number in 3..200_000_u32 {
            let low = u16::try_from(number & 0xffff).expect("16 bits");
            assert_eq!(arrived.take(low), Some(number));
            assert_eq!(arrived.take(low), None);
        }
        assert_eq!(arrived.take(0), None, "far too old to be told from a copy");
    }
}
