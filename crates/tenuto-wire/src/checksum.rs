//! The internet checksum (RFC 1071).

/// The checksum of `parts` laid end to end: the complement of their one's complement sum.
///
/// Every part but the last must have an even length (headers do), since a part begins a new word.
/// Over a header that holds its own right checksum the result is zero.
pub fn internet_checksum(parts: &[&[u8]]) -> u16 {
    let sum = parts.iter().map(|part| word_sum(part)).sum::<u64>();
    !fold(sum)
}

fn word_sum(part: &[u8]) -> u64 {
    let mut words = part.chunks_exact(2);
    let sum = words.by_ref().map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    match words.remainder() {
        // RFC 1071, section 4.1: "add left-over byte, if any", as the high half of a word.
        [last] => sum + (u64::from(*last) << 8),
        _ => sum,
    }
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).expect("folded to 16 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        // RFC 1071, section 3: the sum of these words is ddf2.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(internet_checksum(&[&bytes]), !0xddf2);
        assert_eq!(internet_checksum(&[&bytes[..4], &bytes[4..]]), !0xddf2);
    }

    #[test]
    fn an_odd_last_byte_is_the_high_half_of_a_word() {
        assert_eq!(internet_checksum(&[&[0xab]]), !0xab00);
        assert_eq!(internet_checksum(&[]), 0xffff);
    }
}
