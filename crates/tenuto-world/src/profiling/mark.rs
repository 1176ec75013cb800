//! Numbers in frames, by which what comes out is told from what others send, and found again among what went in.

use tenuto_wire::build::UDP_PAYLOAD_START;

const MAGIC: [u8; 4] = *b"TntP";
const MARK_BYTES: usize = 8;
const TYPE_AT: usize = 12;
const TAG_BYTES: usize = 4;
/// EtherTypes of VLAN tags.
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];

/// Writes a number into the payload of a frame that has no tag.
pub(super) fn mark(frame: &mut [u8], number: u32) {
    if let Some(room) = frame.get_mut(UDP_PAYLOAD_START..UDP_PAYLOAD_START + MARK_BYTES) {
        room[..4].copy_from_slice(&MAGIC);
        room[4..].copy_from_slice(&number.to_be_bytes());
    }
}

/// The number of a frame, be it tagged; `None` of frames of others.
pub fn number_of(frame: &[u8]) -> Option<u32> {
    let mut start = UDP_PAYLOAD_START;
    for tag in 0..2 {
        let at = TYPE_AT + tag * TAG_BYTES;
        if frame.get(at..at + 2).is_some_and(|kind| TAGS.iter().any(|it| kind == it)) {
            start += TAG_BYTES;
        }
    }
    let (magic, rest) = frame.get(start..)?.split_first_chunk::<4>()?;
    let number = rest.first_chunk::<4>()?;
    (*magic == MAGIC).then(|| u32::from_be_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::{mark, number_of};

    #[test]
    fn a_number_is_found_behind_tags_and_nowhere_else() {
        let mut frame = vec![0; 60];
        assert_eq!(number_of(&frame), None);
        mark(&mut frame, 70_001);
        assert_eq!(number_of(&frame), Some(70_001));
        frame.splice(12..12, [0x81, 0x00, 0x10, 0x05]);
        assert_eq!(number_of(&frame), Some(70_001));
        frame.splice(12..12, [0x88, 0xa8, 0x10, 0x05]);
        assert_eq!(number_of(&frame), Some(70_001));
        for length in 0..frame.len() - 10 {
            assert_eq!(number_of(&frame[..length]), None, "{length}");
        }
        mark(&mut [0; 45], 1);
    }
}
