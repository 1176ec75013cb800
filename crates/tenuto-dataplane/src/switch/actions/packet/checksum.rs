//! Checksums of changed packets: kept as right or as wrong as they were.
//!
//! A change of some bytes changes the internet checksum by their difference ([RFC 1624], equation
//! 3); what had a wrong checksum before has one afterwards. SCTP has a CRC over the whole packet
//! ([RFC 9260], section 6.8), which is computed before and after.

/// The checksum after some words that it covers have changed. Both slices have the same, even
/// length; they begin at even offsets of what is summed.
pub(super) fn adjusted(checksum: u16, before: &[u8], after: &[u8]) -> u16 {
    debug_assert_eq!(before.len(), after.len());
    let words = |bytes: &[u8]| -> u32 {
        bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum()
    };
    let complement: u32 = before
        .chunks(2)
        .map(|w| u32::from(!(u16::from(w[0]) << 8 | u16::from(*w.get(1).unwrap_or(&0)))))
        .sum();
    let mut sum = u32::from(!checksum) + complement + words(after);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).expect("folded to 16 bits")
}

/// The reflected polynomial of CRC32c.
const POLYNOMIAL: u32 = 0x82f6_3b78;

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation)] // below 256
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

static CRC: [u32; 256] = table();

/// CRC32c of parts laid end to end.
pub(super) fn crc32c(parts: &[&[u8]]) -> u32 {
    let bytes = parts.iter().copied().flatten();
    !bytes.fold(!0, |crc, byte| crc >> 8 ^ CRC[usize::from(crc.to_le_bytes()[0] ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_wire::checksum::internet_checksum;

    #[test]
    fn the_check_value_of_crc32c() {
        assert_eq!(crc32c(&[b"12345", b"6789"]), 0xe306_9283);
    }

    #[test]
    fn an_adjusted_checksum_is_that_of_the_changed_bytes() {
        let before = [0x45, 0, 0, 0x28, 0xff, 0xff, 0, 0, 0x40, 6];
        for (at, bytes) in [(0, [0, 0]), (4, [0, 0]), (4, [0xff, 0xfe]), (8, [0x3f, 6])] {
            let mut after = before;
            after[at..at + 2].copy_from_slice(&bytes);
            let old = internet_checksum(&[&before]);
            let new = adjusted(old, &before[at..at + 2], &bytes);
            assert_eq!(new, internet_checksum(&[&after]), "{at} {bytes:?}");
        }
    }
}
