//! The message that a frame is part of, for accounting.

use tenuto_wire::Stamp;
use tenuto_wire::shim::{MessagePart, payload_bytes_of_frame};
use tenuto_wire::stamp::STAMP_BYTES;

/// Flow index and message id that a frame of our end system carries, for accounting.
///
/// The last frame of a message can be too short for a stamp; then its shim names the message, and
/// the entry that took it the flow.
pub(in crate::switch) fn message_of(frame: &[u8], cookie: u64) -> Option<(u16, u32)> {
    let payload = tenuto_wire::build::UDP_PAYLOAD_START;
    let stamp = frame
        .get(payload..)
        .and_then(Stamp::parse)
        .or_else(|| frame.get(payload + tenuto_wire::shim::SHIM_BYTES..).and_then(Stamp::parse));
    match stamp {
        Some(stamp) => Some((stamp.flow, stamp.message_id)),
        None => Some((u16::try_from(cookie.checked_sub(1)?).ok()?, tail_of(frame)?)),
    }
}

/// The message that this is the short last frame of.
fn tail_of(frame: &[u8]) -> Option<u32> {
    let part = MessagePart::locate(frame)?;
    let expected = payload_bytes_of_frame(part.shim.message_bytes, part.shim.sequence)?;
    let is_tail = part.shim.sequence > 0
        && part.payload.len() < STAMP_BYTES
        && usize::try_from(expected) == Ok(part.payload.len());
    is_tail.then_some(part.shim.message_id)
}
