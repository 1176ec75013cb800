//! The frames of a message, written one at a time into a scratch buffer.

use super::config::{Form, SenderConfig};
use tenuto_wire::Stamp;
use tenuto_wire::afdx::SequenceNumber;
use tenuto_wire::shim::{SHIM_BYTES, ShimRepr, frames_of_message, payload_bytes_of_frame};

/// Where the source address lies in a frame: what copies differ in.
const ETH_SRC: std::ops::Range<usize> = 6..12;

/// A message about to become frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    /// Release, flow and number.
    pub(super) stamp: Stamp,
    /// Number on a virtual link, where it is sequenced.
    pub(super) number: SequenceNumber,
    /// Size.
    pub(super) bytes: u32,
}

impl Message {
    /// How many frames a copy has.
    pub(super) const fn frames(&self, form: Form) -> u32 {
        match form {
            Form::Message => frames_of_message(self.bytes),
            Form::Datagram { .. } => 1,
        }
    }

    /// Writes frame `sequence` (below [`Self::frames`]) without a source address into `scratch`,
    /// and gives its length.
    pub(super) fn write(&self, config: &SenderConfig, sequence: u32, scratch: &mut [u8]) -> usize {
        let payload_len = match config.form {
            Form::Message => {
                let bytes = payload_bytes_of_frame(self.bytes, sequence);
                SHIM_BYTES + length(bytes.expect("the sequence is below the number of frames"))
            }
            Form::Datagram { .. } => length(self.bytes),
        };
        let written = config
            .header
            .frame([0; 6], payload_len)
            .emit(scratch)
            .expect("sizes and code point were checked with the behaviour");
        let payload = &mut scratch[written.payload];
        match config.form {
            Form::Message => {
                let (shim, rest) = payload.split_at_mut(SHIM_BYTES);
                let message_id = self.stamp.message_id;
                ShimRepr { message_id, message_bytes: self.bytes, sequence }.emit(shim);
                // The last frame may be too small: then the others vouch for it.
                let _stamped = self.stamp.emit(rest);
            }
            Form::Datagram { sequenced } => {
                let rest = match payload.split_last_mut() {
                    Some((last, rest)) if sequenced => {
                        *last = self.number.as_byte();
                        rest
                    }
                    _ => payload,
                };
                let stamped = self.stamp.emit(rest);
                debug_assert!(stamped, "datagrams are enlarged to hold the stamp");
            }
        }
        written.len
    }
}

/// Makes the frame in `scratch` the copy of the port with this address.
pub(super) fn set_source(scratch: &mut [u8], mac: [u8; 6]) {
    scratch[ETH_SRC].copy_from_slice(&mac);
}

fn length(bytes: u32) -> usize {
    usize::try_from(bytes).expect("at most the payload of a frame")
}
