//! What a device is measured through.

use serde::Serialize;
use std::fmt;
use tenuto_units::{Instant, Span};

/// A device with its taps: control bytes and frames in, stamped bytes and frames out.
pub trait Rig {
    /// Now.
    fn now(&self) -> Instant;
    /// Sends messages to the device, one directly behind the other, from `at` on; the stamp of each.
    fn control(&mut self, at: Instant, bytes: &[u8]) -> Vec<Instant>;
    /// Sends a marked frame (without FCS) into a port at `at`, or as soon as it can.
    fn frame(&mut self, at: Instant, port: u32, bytes: &[u8]);
    /// Lets time pass until `at`, or until something is seen; what was seen, in order.
    fn run_until(&mut self, at: Instant) -> Vec<Event>;
    /// Connects the controller, or takes it away.
    ///
    /// # Errors
    /// If no device is there.
    fn controller(&mut self, is_there: bool) -> Result<(), ProfileError>;
    /// Whether the device of this datapath id is the one to be measured; if not, another one is waited for.
    fn is_meant(&self, datapath_id: u64) -> bool {
        let _ = datapath_id;
        true
    }
    /// Names of the bench's ends of lines, of which it is not known yet to which ports of the device they lead; until it is,
    /// their places stand for these.
    fn unwired(&self) -> Vec<String> {
        Vec::new()
    }
    /// The numbers of the device's ports at those ends, in their order.
    fn wire(&mut self, numbers: &[u32]) {
        let _ = numbers;
    }
    /// No frame is under way.
    fn begins(&mut self) {}
    /// Numbers of the device's ports that frames are sent into and looked for at, two at least.
    fn ports(&self) -> Vec<u32>;
    /// Rate of its ports, bit/s.
    fn rate_bps(&self) -> u64;
    /// What lies between the stamps of a frame of so many bytes (with FCS) and outside of the device, nanoseconds.
    fn outside_ns(&self, frame_bytes: u32) -> u64;
    /// Likewise of a request of so many bytes (t_req), and of its answer (t_P+SFD).
    fn control_outside_ns(&self, message_bytes: usize) -> (u64, u64);
    /// What its stamps are.
    fn stamps(&self) -> Stamps;
    /// Whether its stamps are exact: see [`Stamps::is_exact`].
    fn is_exact(&self) -> bool;
    /// Whether what is seen of the device is no worst case of it: an operating system decides when, or it is made of such times.
    fn is_typical(&self) -> bool {
        !self.is_exact()
    }
    /// What broke; the measurement ends.
    fn failure(&mut self) -> Option<ProfileError> {
        None
    }
    /// Told what is measured now, and how much of it is done, in percent of the whole.
    fn progress(&mut self, what: &str, percent: u32) {
        let _ = (what, percent);
    }
}

/// What a rig saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes to the controller.
    Control {
        /// When.
        at: Instant,
        /// What.
        bytes: Vec<u8>,
    },
    /// A frame left the device.
    Frame {
        /// When.
        at: Instant,
        /// By which port.
        port: u32,
        /// What, without FCS.
        bytes: Vec<u8>,
    },
    /// A frame was sent to it.
    Sent {
        /// When.
        at: Instant,
        /// Its number.
        number: u32,
    },
}

/// Where stamps come from, and how exact they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stamps {
    /// In words.
    pub source: String,
    /// The least difference that they tell, nanoseconds.
    pub resolution_ns: u64,
    /// What the stamping machine itself adds to a difference in 99 of 100 cases, nanoseconds.
    pub noise_ns: u64,
    /// Nothing outside of the device can delay what is stamped: maxima are worst cases of what was tried.
    pub is_exact: bool,
    /// What was seen of the machine's own delays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostNoise>,
}

/// What a machine that measures adds by itself, seen beside the measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostNoise {
    /// Frames that crossed a line of the machine's own without a device.
    pub frames: u64,
    /// Half of them took no longer, nanoseconds.
    pub frame_ns_p50: u64,
    /// 99 % took no longer, nanoseconds.
    pub frame_ns_p99: u64,
    /// The longest, nanoseconds.
    pub frame_ns_max: u64,
    /// Times at which the machine was to wake up the measurement.
    pub wakes: u64,
    /// How late half of them were at most, nanoseconds.
    pub wake_ns_p50: u64,
    /// How late 99 % were at most, nanoseconds.
    pub wake_ns_p99: u64,
    /// The latest, nanoseconds.
    pub wake_ns_max: u64,
}

impl HostNoise {
    /// Beyond this in one of a hundred cases a machine is said to be noisy, nanoseconds.
    const NOISY_NS: u64 = 200_000;

    /// Whether its tail may be taken for the device's.
    pub const fn is_noisy(&self) -> bool {
        self.frame_ns_p99 > Self::NOISY_NS || self.wake_ns_p99 > Self::NOISY_NS
    }
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
    /// There was no time for enough of it.
    OutOfTime(&'static str),
    /// What it is measured through broke.
    Broken(String),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(what) => write!(f, "the device does not answer: {what}"),
            Self::Refused(why) => write!(f, "the device refuses: {why}"),
            Self::Unreadable(why) => write!(f, "an answer cannot be read: {why}"),
            Self::NothingForwarded(what) => write!(f, "no frame came through: {what}"),
            Self::Undetermined(what) => write!(f, "the samples do not determine {what}"),
            Self::OutOfTime(what) => write!(f, "the time was over before {what} was measured"),
            Self::Broken(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ProfileError {}

/// How long so many bytes take at a rate.
pub(super) fn line_time(rate_bps: u64, bytes: u64) -> Span {
    Span::from_ns((bytes * 8 * 1_000_000_000).div_ceil(rate_bps.max(1)))
}
