//! Big-endian fields of a slice whose length was checked.

use std::ops::Range;

/// The `N` bytes at `range`. The caller has checked the length; a miss is a bug of this crate.
pub(crate) fn array<const N: usize>(bytes: &[u8], range: Range<usize>) -> [u8; N] {
    bytes[range].try_into().expect("the range of a field is as wide as its type")
}

pub(crate) fn be_u16(bytes: &[u8], range: Range<usize>) -> u16 {
    u16::from_be_bytes(array(bytes, range))
}

pub(crate) fn be_u32(bytes: &[u8], range: Range<usize>) -> u32 {
    u32::from_be_bytes(array(bytes, range))
}

pub(crate) fn be_u64(bytes: &[u8], range: Range<usize>) -> u64 {
    u64::from_be_bytes(array(bytes, range))
}
