//! What malformed input is answered with, and messages that are too long (OpenFlow 1.3.5, section 7.4.4).

use crate::constants::OFP_HEADER_LEN;
use crate::error::ErrorCode;
use std::fmt;

/// Bytes that are not an OpenFlow 1.3 message, and how to answer them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DecodeError {
    /// The error to answer with.
    pub error: ErrorCode,
    /// The transaction id of the refused message; 0 if it was too short to have one.
    pub xid: u32,
    /// The first bytes of the refused message, at most [`DecodeError::HEAD_BYTES_MAX`].
    pub head: Vec<u8>,
}

impl DecodeError {
    /// How much of a refused message goes into the answer: "at least 64 bytes of the failed
    /// request" (section 7.4.4).
    pub const HEAD_BYTES_MAX: usize = 64;

    pub(crate) fn new(error: ErrorCode, message: &[u8]) -> Self {
        let xid = message
            .get(4..8)
            .map_or(0, |field| field.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)));
        let head = message[..message.len().min(Self::HEAD_BYTES_MAX)].to_vec();
        Self { error, xid, head }
    }

    /// Whether the stream is lost: a length below that of the header leaves no way to find the
    /// next message.
    pub fn is_fatal(&self) -> bool {
        match self.head.get(2..4) {
            Some(length) => usize::from(length[0]) << 8 | usize::from(length[1]) < OFP_HEADER_LEN,
            None => true,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed message (xid=0x{:x}): {}", self.xid, self.error)
    }
}

impl std::error::Error for DecodeError {}

/// A message that does not fit the 16-bit length field of its header, or of a part of it.
///
/// Split a multipart reply with [`MultipartReply::split`](crate::MultipartReply::split).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("message longer than 65535 bytes; split it")
    }
}

impl std::error::Error for TooLong {}
