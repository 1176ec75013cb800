//! Messages out of a byte stream, however it was cut into segments.

use crate::constants::{OFP_HEADER_LEN, OFP_MESSAGE_LEN_MAX};
use crate::decode_error::DecodeError;
use crate::message::Message;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Finds the messages in a TCP stream. Bytes go in with [`push`](Self::push) as they come; messages
/// come out of [`next`](Self::next) when they are complete.
///
/// A malformed body costs that message only: the header says where the next one starts. A length
/// below that of the header loses the stream; after that error nothing comes out any more, and the
/// connection is to be closed.
///
/// Two framers are equal if the same bytes are still to be handed out.
#[derive(Clone, Debug, Default)]
pub struct Framer {
    buffer: Vec<u8>,
    /// Where the first byte not yet handed out is. Bytes are moved only when more come in.
    start: usize,
    is_lost: bool,
}

/// More bytes than the framer may hold; none of them was taken. Call [`Framer::next`] first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stream buffer is full; take the complete messages out first")
    }
}

impl std::error::Error for Full {}

impl Framer {
    /// How many bytes can be pushed at once, if every complete message was taken out before.
    pub const PUSH_BYTES_MAX: usize = 65_536;
    /// How many bytes it holds: a message that lacks its last byte, and a push.
    pub const CAPACITY: usize = OFP_MESSAGE_LEN_MAX - 1 + Self::PUSH_BYTES_MAX;

    /// An empty framer.
    pub const fn new() -> Self {
        Self { buffer: Vec::new(), start: 0, is_lost: false }
    }

    /// Takes the next bytes of the stream; all or none. Those of a lost stream are ignored.
    ///
    /// # Errors
    ///
    /// If they do not fit; never for [`Framer::PUSH_BYTES_MAX`] bytes when [`next`](Self::next) has
    /// returned `None` before.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Full> {
        if self.is_lost {
            return Ok(());
        }
        if bytes.len() > Self::CAPACITY - self.pending().len() {
            return Err(Full);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// The next message, or why it is none; `None` when more bytes are needed.
    #[expect(
        clippy::should_implement_trait,
        reason = "it is no iterator: more may come after None"
    )]
    pub fn next(&mut self) -> Option<Result<Message, DecodeError>> {
        if self.is_lost {
            return None;
        }
        let pending = self.pending();
        let header = pending.first_chunk::<OFP_HEADER_LEN>()?;
        let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if len < OFP_HEADER_LEN {
            let lost = Message::parse(header);
            self.is_lost = true;
            self.buffer = Vec::new();
            self.start = 0;
            return Some(lost);
        }
        let message = Message::parse(pending.get(..len)?);
        self.start += len;
        Some(message)
    }

    /// Whether the stream is lost and the connection is to be closed.
    pub const fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn pending(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

impl PartialEq for Framer {
    fn eq(&self, other: &Self) -> bool {
        self.is_lost == other.is_lost && self.pending() == other.pending()
    }
}

impl Eq for Framer {}

impl Hash for Framer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.is_lost.hash(state);
        self.pending().hash(state);
    }
}
