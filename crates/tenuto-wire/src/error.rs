//! Why bytes were refused, and why a value could not be written.

use thiserror::Error;

/// Why bytes are not what the decoder looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// The header does not fit into the bytes that are there.
    #[error("{what}: needs {needed} bytes, found {found}")]
    Truncated {
        /// The header that was looked for.
        what: &'static str,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that were there.
        found: usize,
    },
    /// A field holds a value that the format does not have.
    #[error("{what}: {field} cannot be {value}")]
    Field {
        /// The header that was looked for.
        what: &'static str,
        /// The field at fault.
        field: &'static str,
        /// What it held.
        value: u64,
    },
}

impl WireError {
    /// `Ok` if `found` bytes hold the `needed` ones.
    pub(crate) fn check_len(what: &'static str, needed: usize, found: usize) -> Result<(), Self> {
        if found < needed { Err(Self::Truncated { what, needed, found }) } else { Ok(()) }
    }
}

/// Why a frame could not be written. The buffer is untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EmitError {
    /// The caller's buffer is shorter than the frame, padding included.
    #[error("the frame needs a buffer of {needed} bytes, given {given}")]
    BufferTooSmall {
        /// Bytes that the frame needs.
        needed: usize,
        /// Bytes of the buffer.
        given: usize,
    },
    /// The payload does not fit into one frame: split it into several.
    #[error("a payload of {bytes} bytes does not fit, the most is {bytes_max}")]
    PayloadTooLong {
        /// Bytes asked for.
        bytes: usize,
        /// The most that fits.
        bytes_max: usize,
    },
    /// DSCP has six bits.
    #[error("dscp {0} does not exist, the most is 63")]
    DscpTooLarge(u8),
    /// ECN has two bits.
    #[error("ecn {0} does not exist, the most is 3")]
    EcnTooLarge(u8),
}

/// A MAC address is six pairs of hex digits with colons between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a MAC address: write six pairs of hex digits, as 02:00:00:00:00:01")]
pub struct AddressError;

/// A link key is 32 hex digits. The error does not repeat what was given: it may be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a link key: write 16 bytes as 32 hex digits")]
pub struct KeyError;
