//! Checked reading and writing of big-endian fields.
//!
//! A [`Reader`] carries the error that a length problem at its place is to be answered with, so a
//! family's code reads fields and never mentions lengths twice. A [`Writer`] notes when a length
//! field overflows instead of wrapping; the message is then refused as a whole.

use crate::error::ErrorCode;
use std::fmt;

/// Structures are aligned to this many bytes (OpenFlow 1.3.5, section 7).
const ALIGNMENT: usize = 8;

/// How many bytes of padding follow `len` bytes.
pub(crate) const fn padding(len: usize) -> usize {
    (ALIGNMENT - len % ALIGNMENT) % ALIGNMENT
}

/// The unread rest of a structure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    too_short: ErrorCode,
}

impl<'a> Reader<'a> {
    /// Reads `bytes`; running out of them, or leaving some, is answered with `bad_len`.
    pub(crate) const fn new(bytes: &'a [u8], bad_len: ErrorCode) -> Self {
        Self { bytes, too_short: bad_len }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The error that a length problem here is answered with.
    pub(crate) const fn bad_len(&self) -> ErrorCode {
        self.too_short
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], ErrorCode> {
        let (head, rest) = self.bytes.split_at_checked(len).ok_or(self.too_short)?;
        self.bytes = rest;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ErrorCode> {
        let (head, rest) = self.bytes.split_first_chunk::<N>().ok_or(self.too_short)?;
        self.bytes = rest;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ErrorCode> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ErrorCode> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ErrorCode> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, ErrorCode> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// Passes over padding, whatever its content: receivers do not judge it.
    pub(crate) fn skip(&mut self, len: usize) -> Result<(), ErrorCode> {
        self.bytes(len).map(|_| ())
    }

    /// Everything that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// A reader over the next `len` bytes, with its own answer to length problems.
    pub(crate) fn part(&mut self, len: usize, bad_len: ErrorCode) -> Result<Self, ErrorCode> {
        Ok(Self::new(self.bytes(len)?, bad_len))
    }

    /// A 16-bit length at `offset` from here, without moving: lists announce each element's size.
    pub(crate) fn peek_u16(&self, offset: usize) -> Result<u16, ErrorCode> {
        let mut ahead = *self;
        ahead.skip(offset)?;
        ahead.u16()
    }

    /// Asserts that the structure ended where its length says.
    pub(crate) const fn finish(self) -> Result<(), ErrorCode> {
        if self.is_empty() { Ok(()) } else { Err(self.too_short) }
    }

    /// Reads elements until nothing is left. Each element reader must consume or fail.
    pub(crate) fn list<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, ErrorCode>,
    ) -> Result<Vec<T>, ErrorCode> {
        let mut list = Vec::new();
        while !self.is_empty() {
            let before = self.len();
            list.push(element(self)?);
            debug_assert!(self.len() < before, "an element reader must consume something");
        }
        Ok(list)
    }
}

/// A structure being appended to a buffer.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    too_long: bool,
}

impl<'a> Writer<'a> {
    pub(crate) const fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, too_long: false }
    }

    /// Whether some length did not fit its field; what was written is then worthless.
    pub(crate) const fn is_too_long(&self) -> bool {
        self.too_long
    }

    /// Where the next byte goes.
    pub(crate) const fn position(&self) -> usize {
        self.out.len()
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.out.push(value);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_be_bytes());
    }

    pub(crate) fn zeros(&mut self, len: usize) {
        self.out.resize(self.out.len() + len, 0);
    }

    /// Pads what was written since `start` to a multiple of 8 bytes.
    pub(crate) fn pad(&mut self, start: usize) {
        self.zeros(padding(self.out.len() - start));
    }

    /// A length as one byte, noted if it does not fit.
    pub(crate) fn len_u8(&mut self, len: usize) {
        let len = u8::try_from(len).unwrap_or_else(|_| self.overflow());
        self.u8(len);
    }

    /// Sets the 16-bit length field at `field` to what was written since `start`.
    pub(crate) fn set_len(&mut self, field: usize, start: usize) {
        let len = u16::try_from(self.out.len() - start).unwrap_or_else(|_| self.overflow());
        self.out[field..field + 2].copy_from_slice(&len.to_be_bytes());
    }

    /// Writes `type_`, a 16-bit length of the whole, and `body`: the head of actions, instructions,
    /// hello elements, bands and matches. Returns where it started, for padding.
    pub(crate) fn tlv(&mut self, type_: u16, body: impl FnOnce(&mut Self)) -> usize {
        let start = self.position();
        self.u16(type_);
        self.zeros(2);
        body(self);
        self.set_len(start + 2, start);
        start
    }

    fn overflow<T: Default>(&mut self) -> T {
        self.too_long = true;
        T::default()
    }
}

/// Bytes printed as hexadecimal digits without separators.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An enumeration of which every other value is refused while decoding.
macro_rules! closed_enum {
    ($(#[$meta:meta])* $name:ident: $wire:ty {
        $($(#[$vmeta:meta])* $variant:ident = $value:literal $text:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// The value with this number on the wire, if there is one.
            pub const fn from_wire(value: $wire) -> Option<Self> {
                match value { $($value => Some(Self::$variant),)* _ => None }
            }

            /// The number on the wire.
            pub const fn to_wire(self) -> $wire {
                match self { $(Self::$variant => $value,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $(Self::$variant => $text,)* })
            }
        }
    };
}

/// An enumeration that keeps values it does not know, because what carries them (replies,
/// asynchronous messages) cannot be refused.
macro_rules! open_enum {
    ($(#[$meta:meta])* $name:ident: $wire:ty {
        $($(#[$vmeta:meta])* $variant:ident = $value:literal $text:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$vmeta])* $variant,)*
            /// Any other number, kept as it came. Never one of the above.
            Unknown($wire),
        }

        impl $name {
            /// The value with this number on the wire.
            pub const fn from_wire(value: $wire) -> Self {
                match value { $($value => Self::$variant,)* other => Self::Unknown(other) }
            }

            /// The number on the wire.
            pub const fn to_wire(self) -> $wire {
                match self { $(Self::$variant => $value,)* Self::Unknown(other) => other }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant => f.write_str($text),)*
                    Self::Unknown(other) => write!(f, "{other}"),
                }
            }
        }
    };
}

pub(crate) use {closed_enum, open_enum};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::BadRequest;

    const BAD_LEN: ErrorCode = ErrorCode::BadRequest(BadRequest::BadLen);

    #[test]
    fn reading_past_the_end_fails_and_moves_nothing() {
        let mut reader = Reader::new(&[1, 2, 3], BAD_LEN);
        assert_eq!(reader.u32(), Err(BAD_LEN));
        assert_eq!(reader.u16(), Ok(0x0102));
        assert_eq!(reader.finish(), Err(BAD_LEN));
    }

    #[test]
    fn padding_completes_eight_bytes() {
        assert_eq!([0, 1, 7, 8, 9].map(padding), [0, 7, 1, 0, 7]);
    }

    #[test]
    fn a_length_that_does_not_fit_is_noted() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out);
        writer.tlv(1, |w| w.zeros(65_531));
        assert!(!writer.is_too_long());
        writer.tlv(1, |w| w.zeros(65_532));
        assert!(writer.is_too_long());
    }
}
