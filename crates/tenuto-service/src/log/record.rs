//! One record of the log as bytes.
//!
//! ```text
//! marker "TDEC" | number u64 | length u32 | check of these 8 bytes | payload | SHA-256 of number and payload
//! ```
//!
//! All numbers are little-endian. The head has a check of its own, so that a length that cannot be trusted is
//! told from a record that was cut; the number lets a reader find a later record behind bytes
//! that are none, which tells damage in the middle from a torn end.

use sha2::{Digest, Sha256};

const MARKER: [u8; 4] = *b"TDEC";
/// Bytes of a head.
pub(crate) const HEAD_BYTES: usize = 24;
const SUM_BYTES: usize = 32;
/// Longest payload, bytes.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 64 << 20;

/// The bytes of a record.
pub(crate) fn encode(number: u64, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("payloads have at most 64 MB");
    let mut bytes = Vec::with_capacity(HEAD_BYTES + payload.len() + SUM_BYTES);
    bytes.extend(MARKER);
    bytes.extend(number.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    let check = Sha256::digest(&bytes);
    bytes.extend(&check[..8]);
    bytes.extend(payload);
    bytes.extend(sum(number, payload));
    bytes
}

fn sum(number: u64, payload: &[u8]) -> [u8; SUM_BYTES] {
    let mut hash = Sha256::new();
    hash.update(number.to_le_bytes());
    hash.update(payload);
    hash.finalize().into()
}

/// A head that holds: its number and the length of what follows.
pub(crate) fn head(bytes: &[u8]) -> Option<(u64, usize)> {
    let head = bytes.get(..HEAD_BYTES)?;
    let check = Sha256::digest(&head[..16]);
    if head[..4] != MARKER || head[16..] != check[..8] {
        return None;
    }
    let number = u64::from_le_bytes(head[4..12].try_into().ok()?);
    let length = u32::from_le_bytes(head[12..16].try_into().ok()?);
    let length = usize::try_from(length).ok().filter(|length| *length <= PAYLOAD_BYTES_MAX)?;
    Some((number, length))
}

/// The payload of the record at the start of `bytes`, and how many bytes the record has.
pub(crate) fn decode(bytes: &[u8], number: u64) -> Option<(&[u8], usize)> {
    let (found, length) = head(bytes)?;
    let end = HEAD_BYTES + length;
    let payload = bytes.get(HEAD_BYTES..end)?;
    let holds = found == number && bytes.get(end..end + SUM_BYTES)? == sum(number, payload);
    holds.then_some((payload, end + SUM_BYTES))
}

/// Where a record behind `number` begins, if there is one.
pub(crate) fn later(bytes: &[u8], number: u64) -> Option<usize> {
    let starts = bytes.windows(MARKER.len()).enumerate();
    let mut starts = starts.filter(|(_, it)| *it == MARKER).map(|(at, _)| at);
    starts.find(|at| head(&bytes[*at..]).is_some_and(|(found, _)| found > number))
}
