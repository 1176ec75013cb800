//! What an observer of an end system learns: events as they happen, counters as a whole.

use super::config::COPIES_MAX;
use tenuto_units::{Instant, Span};

/// Something that happened at an end system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostEvent {
    /// A message left the shaper: its delay begins.
    Released {
        /// Flow.
        flow: u16,
        /// Number of the message within its flow.
        message_id: u32,
        /// When the shaper meant to release it.
        planned: Instant,
        /// When it did: what the stamp says. The difference is host lateness.
        actual: Instant,
        /// Bytes of the message, or of the datagram's payload.
        bytes: u32,
        /// Frames per copy.
        frames: u32,
    },
    /// A whole copy of a message arrived at one of two ports, the first or the second.
    CopyArrived {
        /// Flow.
        flow: u16,
        /// Number of the message within its flow.
        message_id: u32,
        /// Port of arrival.
        port: u32,
        /// Release by its stamp.
        release: Instant,
        /// Arrival stamp of its last frame.
        at: Instant,
    },
    /// A message arrived, for the first time: once for each message, whatever its copies.
    Delivered {
        /// Flow.
        flow: u16,
        /// Number of the message within its flow.
        message_id: u32,
        /// Port of the copy that was first.
        port: u32,
        /// Release by its stamp.
        release: Instant,
        /// Arrival stamp of its last frame; the delay is the time since `release`.
        at: Instant,
        /// Bytes of the message, or of the datagram's payload.
        bytes: u32,
    },
    /// The second copy of a delivered message arrived in time.
    SecondCopy {
        /// Flow.
        flow: u16,
        /// Number of the message within its flow.
        message_id: u32,
        /// Port of the second copy.
        port: u32,
        /// Arrival stamp of its last frame.
        at: Instant,
        /// How much later than the first.
        skew: Span,
    },
    /// The second copy of a delivered message arrived later than agreed.
    SkewExceeded {
        /// Flow.
        flow: u16,
        /// Number of the message within its flow.
        message_id: u32,
        /// Port of the second copy.
        port: u32,
        /// Arrival stamp of its last frame.
        at: Instant,
        /// How much later than the first.
        skew: Span,
    },
    /// The second copy of a delivered message did not arrive within the agreed skew. It may
    /// still come, and is then reported as [`HostEvent::SkewExceeded`].
    CopyMissing {
        /// Flow.
        flow: u16,
        /// Number of the message within its flow.
        message_id: u32,
        /// Port where the second copy should have arrived.
        port: u32,
    },
    /// A copy was given up: some of its frames did not arrive.
    Incomplete {
        /// Flow.
        flow: u16,
        /// Number of the message within its flow.
        message_id: u32,
        /// Port of its frames.
        port: u32,
        /// How many frames did not arrive.
        frames_missing: u32,
    },
    /// A frame contradicts its message or the contract.
    Damaged {
        /// Flow.
        flow: u16,
        /// Number of the message within its flow.
        message_id: u32,
        /// Port of arrival.
        port: u32,
        /// In which way.
        damage: Damage,
    },
    /// A frame with the flow's header whose payload is not ours: of a program of the user's own.
    Foreign {
        /// Flow.
        flow: u16,
        /// Port of arrival.
        port: u32,
        /// Bytes of UDP payload.
        bytes: u32,
    },
}

/// What is wrong with a frame of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Damage {
    /// The message is larger than any that the flow may send.
    Oversized,
    /// Number, size or claim of the frame do not fit together, or not with earlier frames.
    Contradiction,
}

/// What a sender counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Messages released.
    pub messages: u64,
    /// Frames put into egress queues, copies counted.
    pub frames: u64,
    /// Their bytes, FCS and padding included.
    pub bytes: u64,
    /// Frames that found no room in an egress queue or the frame store.
    pub refused: u64,
    /// Longest time from planned to actual release.
    pub lateness_max: Span,
}

/// What a receiver counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Frames with the flow's header.
    pub frames: u64,
    /// Messages delivered, each once.
    pub delivered: u64,
    /// Copies that arrived whole, in the order of the receiver's ports.
    pub copies: [u64; COPIES_MAX],
    /// Second copies in time.
    pub second_copies: u64,
    /// Second copies later than agreed.
    pub skew_exceeded: u64,
    /// Second copies that were not there when the agreed skew was over.
    pub copies_missing: u64,
    /// Copies given up.
    pub incomplete: u64,
    /// Frames that had already arrived at the same port, or belong to messages long past.
    pub repeated_frames: u64,
    /// Frames of copies that had been given up.
    pub late_frames: u64,
    /// Frames reported as damaged.
    pub damaged: u64,
    /// Frames of other programs.
    pub foreign: u64,
    /// Frames without a whole UDP datagram, or without a shim.
    pub malformed: u64,
    /// Largest delay of a delivered message.
    pub delay_max: Span,
    /// Largest delay of a copy, in the order of the receiver's ports.
    pub copy_delay_max: [Span; COPIES_MAX],
    /// Largest skew.
    pub skew_max: Span,
}

/// What an end system counted besides its flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Frames of no flow that it receives, or at the wrong port.
    pub unknown: u64,
    /// Frames shorter than an Ethernet header.
    pub malformed: u64,
    /// Raw frames put into egress queues.
    pub injected: u64,
    /// Raw frames that found no room.
    pub inject_refused: u64,
}
