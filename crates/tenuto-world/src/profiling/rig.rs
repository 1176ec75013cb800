//! What a device is measured through.

use crate::device::Seen;
use std::fmt;
use tenuto_units::{Instant, Span};

/// A device with its taps: control bytes and frames in, stamped bytes and frames out. Stamps are those of the start of
/// frame delimiter (\[Loko\] section 3.2.1).
pub trait Rig {
    /// Now.
    fn now(&self) -> Instant;
    /// Sends messages to the device, each in a frame of its own, from `at` on; the stamp of each.
    fn control(&mut self, at: Instant, bytes: &[u8]) -> Vec<Instant>;
    /// Sends a frame (without FCS) into a port; its delimiter passes at `at`.
    fn frame(&mut self, at: Instant, port: u32, bytes: &[u8]);
    /// Lets time pass, and gives what was seen until then, in order.
    fn run_until(&mut self, at: Instant) -> Vec<Seen>;
    /// Connects the controller, or takes it away.
    fn controller(&mut self, is_there: bool);
    /// Rate of its ports, bit/s.
    fn rate_bps(&self) -> u64;
    /// What its stamps are.
    fn stamps(&self) -> Stamps;
}

/// Where stamps come from, and how exact they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// In words.
    pub source: String,
    /// The least difference that they tell, nanoseconds.
    pub resolution_ns: u64,
    /// What the stamping machine itself may add to a difference, nanoseconds.
    pub noise_ns: u64,
    /// Nothing outside of the device can delay what is stamped: maxima are worst cases of what was tried.
    pub is_exact: bool,
}

/// Why a device could not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileError {
    /// It did not answer in time.
    Silent(&'static str),
    /// It refuses what is asked, with its words.
    Refused(String),
    /// What it answered cannot be read.
    Unreadable(String),
    /// No frame came through.
    NothingForwarded(String),
    /// Samples do not determine the model.
    Undetermined(&'static str),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(what) => write!(f, "the device does not answer: {what}"),
            Self::Refused(why) => write!(f, "the device refuses: {why}"),
            Self::Unreadable(why) => write!(f, "an answer cannot be read: {why}"),
            Self::NothingForwarded(what) => write!(f, "no frame came through: {what}"),
            Self::Undetermined(what) => write!(f, "the samples do not determine {what}"),
        }
    }
}

impl std::error::Error for ProfileError {}

/// How long so many bytes take at a rate.
pub(super) fn line_time(rate_bps: u64, bytes: u64) -> Span {
    Span::from_ns((bytes * 8 * 1_000_000_000).div_ceil(rate_bps.max(1)))
}
