//! One frame of a capture, as `trace` wants it.

/// Magic numbers of pcap: microseconds and nanoseconds.
const MAGICS: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];
const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// `LINKTYPE_ETHERNET`.
const ETHERNET: u32 = 1;

/// The frame of this number, from 1, in a pcap file.
///
/// # Errors
/// When it is no pcap file of Ethernet frames, is cut, or has fewer frames.
pub fn pcap_frame(bytes: &[u8], number: usize) -> Result<Vec<u8>, String> {
    let magic: [u8; 4] = *bytes.first_chunk().ok_or("the file is empty")?;
    let is_big = MAGICS.contains(&u32::from_be_bytes(magic));
    if !is_big && !MAGICS.contains(&u32::from_le_bytes(magic)) {
        return Err("this is no pcap file (pcapng is another format: editcap -F pcap)".into());
    }
    let long = |at: usize| -> Option<u32> {
        let four = *bytes.get(at..)?.first_chunk()?;
        Some(if is_big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
    };
    if long(20).map(|link| link & 0xffff) != Some(ETHERNET) {
        return Err("its frames are no Ethernet frames".into());
    }
    let mut at = FILE_HEADER_BYTES;
    let mut count = 0;
    while let Some(length) = long(at + 8).and_then(|length| usize::try_from(length).ok()) {
        count += 1;
        let start = at + RECORD_HEADER_BYTES;
        let end = start.checked_add(length);
        let frame = end.and_then(|end| bytes.get(start..end));
        let frame = frame.ok_or_else(|| format!("frame {count} is cut"))?;
        if count == number {
            return Ok(frame.to_vec());
        }
        at = start + length;
    }
    Err(format!("it has {count} frames, counted from 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_from_one_in_either_order_of_bytes() {
        for big in [false, true] {
            let number = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
            let mut file = [number(MAGICS[1]), number(0x0002_0004)].concat();
            file.extend([number(0), number(0), number(65_535), number(1)].concat());
            for length in [2_u32, 3] {
                file.extend([number(1), number(2), number(length), number(length)].concat());
                file.extend(vec![7; length as usize]);
            }
            assert_eq!(pcap_frame(&file, 2), Ok(vec![7; 3]));
            assert!(pcap_frame(&file, 3).expect_err("two").contains("2 frames"));
            for cut in 0..file.len() {
                assert!(pcap_frame(&file[..cut], 2).is_err(), "cut at {cut}");
            }
        }
    }
}
