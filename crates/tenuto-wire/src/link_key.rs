//! The key of a link, and the tag that it puts under a frame.

use crate::error::KeyError;
use siphasher::sip128::{Hash128, SipHasher24};
use std::fmt;
use std::str::FromStr;

/// The tag of a keyed MAC.
pub const TAG_BYTES: usize = 16;
const KEY_BYTES: usize = 16;

/// The key that the two switches at the ends of a link share. `Debug` does not show it.
#[derive(Clone)]
pub struct LinkKey([u8; KEY_BYTES]);

impl LinkKey {
    /// A key of the given bytes, which must come from a source of good randomness.
    pub const fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// The tag over `bytes`: SipHash-2-4 with 128 bits of output, a pseudorandom function made
    /// for short inputs (Aumasson and Bernstein, 2012).
    pub(crate) fn tag(&self, bytes: &[u8]) -> [u8; TAG_BYTES] {
        self.hash(bytes).as_bytes()
    }

    /// Whether `tag` is the tag over `bytes`, in a time that does not depend on where they differ.
    pub(crate) fn verify(&self, bytes: &[u8], tag: [u8; TAG_BYTES]) -> bool {
        // `Hash128` compares in constant time; its low half is the first eight bytes.
        self.hash(bytes) == Hash128::from(u128::from_le_bytes(tag))
    }

    fn hash(&self, bytes: &[u8]) -> Hash128 {
        SipHasher24::new_with_key(&self.0).hash(bytes)
    }
}

impl PartialEq for LinkKey {
    /// In constant time.
    fn eq(&self, other: &Self) -> bool {
        let whole = |key: &Self| Hash128::from(u128::from_le_bytes(key.0));
        whole(self) == whole(other)
    }
}

impl Eq for LinkKey {}

impl fmt::Debug for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkKey(..)")
    }
}

impl FromStr for LinkKey {
    type Err = KeyError;

    /// From 32 hex digits.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let digits = text.len() == 2 * KEY_BYTES && text.bytes().all(|b| b.is_ascii_hexdigit());
        let value = u128::from_str_radix(text, 16).ok().filter(|_| digits).ok_or(KeyError)?;
        Ok(Self(value.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: LinkKey = LinkKey::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

    #[test]
    fn the_reference_vectors() {
        // The first two of `vectors_sip128` in the authors' implementation: inputs "" and 00.
        assert_eq!(KEY.tag(&[]), 0xa381_7f04_ba25_a8e6_6df6_7214_c755_0293_u128.to_be_bytes());
        assert_eq!(KEY.tag(&[0]), 0xda87_c1d8_6b99_af44_3476_5911_9b22_fc45_u128.to_be_bytes());
    }

    #[test]
    fn every_bit_of_the_tag_counts() {
        let tag = KEY.tag(b"bytes");
        assert!(KEY.verify(b"bytes", tag));
        for bit in 0..128 {
            let wrong = u128::from_be_bytes(tag) ^ (1 << bit);
            assert!(!KEY.verify(b"bytes", wrong.to_be_bytes()), "bit {bit}");
        }
    }

    #[test]
    fn a_key_is_read_from_hex_and_never_shown() {
        let read = "000102030405060708090a0b0c0D0E0F".parse::<LinkKey>();
        assert_eq!(read, Ok(KEY));
        assert_eq!(format!("{KEY:?}"), "LinkKey(..)");
        let sign = "+00102030405060708090a0b0c0d0e0f";
        for bad in ["", "00", sign, &"00".repeat(17), &"\u{e9}".repeat(16)] {
            assert_eq!(bad.parse::<LinkKey>(), Err(KeyError), "{bad}");
        }
    }
}
