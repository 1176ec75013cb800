//! Traffic contracts: who sends what to whom, per mode.

use crate::MonitorKind;
use serde::{Deserialize, Serialize};
use tenuto_units::{FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};

/// Payload of one frame of a segmented message, bytes ([MC-SDN] section VIII: 1460 B).
pub const SEGMENT_PAYLOAD_BYTES: u32 = 1460;
/// Ethernet header and FCS, IPv4 and UDP headers, bytes.
pub const UDP_FRAME_OVERHEAD_BYTES: u32 = 14 + 4 + 20 + 8;
/// Message shim header behind UDP, bytes ([MC-SDN] section II-A).
pub const SHIM_BYTES: u32 = 12;

/// A traffic contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Its name, unique among flows.
    pub name: String,
    /// The virtual link number, where it is one.
    pub vl: Option<u16>,
    /// Host that sends.
    pub source: String,
    /// Hosts that receive.
    pub targets: Vec<Target>,
    /// Criticality level: the highest mode (index) in which the flow is guaranteed.
    pub level: usize,
    /// The contract of each mode up to `level`; exactly `level + 1` entries.
    pub contracts: Vec<Contract>,
    /// Which header fields identify its frames.
    pub matching: MatchKind,
    /// What happens to its frames above its level.
    pub out_of_mode: OutOfMode,
    /// Switches that watch it; empty means the first switch of each route.
    pub monitor_at: Vec<String>,
    /// Redundant networks that carry a copy each. Where there is one network: empty, or `A` and `B`
    /// for two copies over ways that have no switch, or no link, in common.
    pub copies: Vec<String>,
    /// What copies over one network do not have in common.
    #[serde(default, skip_serializing_if = "Apart::is_usual")]
    pub apart: Apart,
    /// Largest accepted difference between the copies' arrivals, nanoseconds.
    pub skew_max_ns: Option<u64>,
    /// UDP destination port; `None` lets the addressing choose.
    pub udp_port: Option<u16>,
}

/// One receiver of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Receiving host.
    pub host: String,
    /// Node names between source and host, in order, where the user fixed them: per copy, or one
    /// list for a flow without copies.
    pub routes: Vec<Option<Vec<String>>>,
    /// Deadline per mode up to the flow's level, nanoseconds.
    pub deadline_ns: Vec<u64>,
}

/// What a flow may send in one mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// Least time between two messages (BAG), nanoseconds.
    pub period_ns: u64,
    /// Largest message.
    pub size: Size,
    /// Smallest message that is enforced, if any; else the smallest frame is assumed.
    pub frame_bytes_min: Option<u32>,
    /// Release jitter, nanoseconds.
    pub jitter_ns: u64,
    /// Scheduling class, 0 = highest.
    pub priority: u8,
}

/// The size of a message, in exactly one of the words of the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// A message of so many bytes, cut into frames that carry the shim header.
    MessageBytes(u32),
    /// One UDP datagram with a payload of so many bytes.
    PayloadBytes(u32),
    /// One frame of so many bytes as stated, FCS included (possibly below 64).
    FrameBytes(u32),
}

/// Which header fields identify the frames of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchKind {
    /// Source and destination address, protocol and destination port.
    FiveTuple,
    /// The virtual link's destination MAC address.
    Vl,
}

/// What the two copies of a flow over one network do not have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Apart {
    /// No switch, hence no link.
    #[default]
    Switches,
    /// No link; they may cross the same switches.
    Links,
}

impl Apart {
    /// Whether there is nothing to say about it.
    pub fn is_usual(&self) -> bool {
        *self == Self::Switches
    }
}

/// What happens to a flow's frames above its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfMode {
    /// Dropped at the edge; what is queued is purged.
    Drop,
}

/// The frames that one message of the largest size consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameMix {
    /// Number of frames.
    pub frames: u32,
    /// Largest frame, bytes with FCS.
    pub frame_bytes_max: u32,
    /// Bits on the wire of the largest frame.
    pub frame_wire_bits_max: u64,
    /// Bits on the wire of the whole message.
    pub message_wire_bits: u64,
}

impl Size {
    /// The number that it states.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::MessageBytes(bytes) | Self::PayloadBytes(bytes) | Self::FrameBytes(bytes) => {
                bytes
            }
        }
    }

    /// The size with another number of bytes, in its own unit.
    #[must_use]
    pub(crate) const fn with_bytes(self, bytes: u32) -> Self {
        match self {
            Self::MessageBytes(_) => Self::MessageBytes(bytes),
            Self::PayloadBytes(_) => Self::PayloadBytes(bytes),
            Self::FrameBytes(_) => Self::FrameBytes(bytes),
        }
    }

    /// The frames of one largest message.
    ///
    /// `as_stated` keeps frames below 64 B as they are written, for comparison with published
    /// figures only; on a wire they are padded (docs/theory/README.md, "Sizes").
    pub fn frames(self, as_stated: bool) -> FrameMix {
        let wire = |frame: u32| {
            let padded = if as_stated { frame } else { frame.max(FRAME_BYTES_MIN) };
            u64::from(padded + WIRE_OVERHEAD_BYTES) * 8
        };
        let one = |frame: u32| FrameMix {
            frames: 1,
            frame_bytes_max: frame,
            frame_wire_bits_max: wire(frame),
            message_wire_bits: wire(frame),
        };
        match self {
            Self::FrameBytes(frame) => one(frame),
            Self::PayloadBytes(payload) => one(payload + UDP_FRAME_OVERHEAD_BYTES),
            Self::MessageBytes(message) => {
                let overhead = UDP_FRAME_OVERHEAD_BYTES + SHIM_BYTES;
                let frames = message.div_ceil(SEGMENT_PAYLOAD_BYTES).max(1);
                if frames == 1 {
                    return one(message + overhead);
                }
                let last = message - (frames - 1) * SEGMENT_PAYLOAD_BYTES + overhead;
                let full = wire(SEGMENT_PAYLOAD_BYTES + overhead);
                FrameMix {
                    frames,
                    frame_bytes_max: SEGMENT_PAYLOAD_BYTES + overhead,
                    frame_wire_bits_max: full,
                    message_wire_bits: u64::from(frames - 1) * full + wire(last),
                }
            }
        }
    }

    /// Whether its frames carry the shim header.
    pub const fn has_shim(self) -> bool {
        matches!(self, Self::MessageBytes(_))
    }
}

impl Flow {
    /// The contract in force in `mode`; `None` above the flow's level.
    pub fn contract(&self, mode: usize) -> Option<&Contract> {
        self.contracts.get(mode)
    }

    /// The contract of its highest mode: what the meter enforces.
    pub fn highest(&self) -> &Contract {
        self.contracts.last().expect("a flow has a contract for its lowest mode at least")
    }

    /// What a monitor takes for one message of it: a message of shim headers, or else a frame.
    pub fn monitor_kind(&self) -> MonitorKind {
        let has_shim = self.contracts.iter().all(|c| c.size.has_shim());
        if has_shim { MonitorKind::Message } else { MonitorKind::Frame }
    }

    /// Whether a higher mode allows more than a lower one, so that excess raises the mode.
    pub fn is_watched(&self) -> bool {
        let asked = |contract: &Contract| (contract.period_ns, contract.size, contract.jitter_ns);
        self.contracts.windows(2).any(|pair| asked(&pair[0]) != asked(&pair[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_car_needs_what_theory_says() {
        // 432 kB in 1460 B segments with 78 B of overhead each on the wire.
        let mix = Size::MessageBytes(432_000).frames(false);
        assert_eq!(mix.frames, 296);
        assert_eq!(mix.message_wire_bits, (432_000 + 296 * 78) * 8);
        assert_eq!(mix.frame_bytes_max, 1518);
    }

    #[test]
    fn short_frames_are_padded_unless_as_stated() {
        assert_eq!(Size::FrameBytes(63).frames(false).message_wire_bits, 84 * 8);
        assert_eq!(Size::FrameBytes(63).frames(true).message_wire_bits, 83 * 8);
    }
}
