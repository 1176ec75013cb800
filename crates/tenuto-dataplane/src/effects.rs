//! What a call on a core causes, and what it cost.

use crate::FrameId;
use tenuto_units::Instant;

/// The name of a timer of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerId {
    /// The frame committed at the egress of this port is on the wire to its last bit.
    PortReady(u32),
    /// The mode agent may propose, repeat or give up.
    Mode,
    /// A controller session wants an echo, or has been silent too long.
    Session,
    /// The sender of this flow (index of the network) may release its next message.
    Release(u16),
    /// The end system gives up waiting for the rest of something.
    Reassembly,
    /// A flow entry may have reached its idle or hard time-out.
    FlowExpiry,
    /// The buffer of this place has waited long enough, or may let its next frame go (Attendre).
    Buffer(u16),
}

/// A frame handed over at the end of its slot: its last bit is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Port number.
    pub port: u32,
    /// The frame; the world takes over the hold on it.
    pub frame: FrameId,
    /// The ideal instant of its last bit; live, the actual one is never earlier.
    pub departure: Instant,
}

/// Why a frame went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// Over its contract: a meter's drop band.
    Policed,
    /// Its flow has no place in the mode in force.
    OutOfMode,
    /// It was queued when its flow lost its place in the mode.
    Purged,
    /// No flow of this network: no entry matched.
    Unknown,
    /// Shorter than its headers, or larger than a frame.
    Malformed,
    /// The buffer of the egress port was full.
    BufferFull,
    /// The frame store was full.
    PoolFull,
    /// A mode signal from a port, key, order or sequence that may not send it.
    SignalRejected,
    /// An Attendre command from a port, key or sequence that may not send it.
    CommandRejected,
    /// An entry without outputs that is no mode's doing.
    NoOutput,
    /// It was sent, or changed, as often as one frame may be: its first copies have left, and what its
    /// entries ask for beyond is left out.
    Spent,
    /// A copy that had already arrived over the other network.
    Duplicate,
    /// It was to leave a slice of a switch, and is not among what the slice may send.
    OutOfSlice,
}

/// A frame that went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Why.
    pub reason: DropReason,
    /// Port of entry, or of the egress queue for [`DropReason::BufferFull`] and purged frames.
    pub port: u32,
    /// Cookie of the entry that decided, 0 if none did.
    pub cookie: u64,
    /// Flow index and message id from the frame's stamp, if it carries one.
    pub message: Option<(u16, u32)>,
    /// Bytes with FCS.
    pub frame_bytes: u32,
}

/// Everything that calls on a core caused since it was last drained.
///
/// Owned by the world and passed to every call, so that its vectors are allocated once.
#[derive(Clone, Debug)]
pub struct Effects<E> {
    /// Frames handed over to the wire, in order.
    pub transmits: Vec<Transmit>,
    /// Frames that went no further.
    pub drops: Vec<Dropped>,
    /// Bytes for the control channel, in order.
    pub control: Vec<u8>,
    /// Bytes for further control channels, by the number of the connection, in order.
    pub channels: Vec<(u16, Vec<u8>)>,
    /// What an observer may want to know, in order.
    pub events: Vec<E>,
}

impl<E> Default for Effects<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Effects<E> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self {
            transmits: Vec::new(),
            drops: Vec::new(),
            control: Vec::new(),
            channels: Vec::new(),
            events: Vec::new(),
        }
    }

    /// The same with room for so many frames that are handed over and so many that are dropped.
    pub fn with_room(frames: usize) -> Self {
        let mut fx = Self::new();
        fx.transmits.reserve_exact(frames);
        fx.drops.reserve_exact(frames);
        fx
    }

    /// Whether nothing happened.
    pub const fn is_empty(&self) -> bool {
        self.transmits.is_empty()
            && self.drops.is_empty()
            && self.control.is_empty()
            && self.channels.is_empty()
            && self.events.is_empty()
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.transmits.clear();
        self.drops.clear();
        self.control.clear();
        self.channels.clear();
        self.events.clear();
    }
}

/// What one processing call took, in the terms of cost functions (Loko, Table 1).
///
/// A profile turns it into time; live it is ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Tables looked up.
    pub lookups: u32,
    /// Distinct masks probed by the classifier, or entries compared by the linear twin.
    pub probes: u32,
    /// Actions executed.
    pub actions: u32,
    /// Bytes of the frame.
    pub bytes: u32,
    /// Monitors asked.
    pub monitors: u32,
    /// Control messages handled.
    pub control_messages: u32,
}
