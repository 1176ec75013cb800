//! What an end system is made of, checked once when it is built.

use crate::EgressConfig;
use tenuto_units::Span;
use tenuto_wire::build::UDP_PAYLOAD_LEN_MAX;
use tenuto_wire::shim::PAYLOAD_BYTES_MAX;
use tenuto_wire::stamp::STAMP_BYTES;
use tenuto_wire::{MacAddress, UdpFrame};

/// Networks that may carry a copy each: A and B.
pub const COPIES_MAX: usize = 2;
/// Frames that one message may be cut into; it bounds the memory of the receiver.
pub const MESSAGE_FRAMES_MAX: u32 = 16_384;
/// The largest message.
pub const MESSAGE_BYTES_MAX: u32 = MESSAGE_FRAMES_MAX * PAYLOAD_BYTES_MAX;
/// The least message in the form [`Form::Message`]: its first frame must hold the stamp.
pub const MESSAGE_BYTES_MIN: u32 = 16;
/// The largest payload in the form [`Form::Datagram`].
pub const DATAGRAM_BYTES_MAX: u32 = 1_472;
const _: () = assert!(STAMP_BYTES == MESSAGE_BYTES_MIN as usize);
const _: () = assert!(UDP_PAYLOAD_LEN_MAX == DATAGRAM_BYTES_MAX as usize);

/// An end system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndSystemConfig {
    /// Number of the host.
    pub host: u16,
    /// Every draw (jitter, sizes) follows from this and the number of the flow.
    pub seed: u64,
    /// Its ports.
    pub ports: Vec<EndPort>,
    /// The flows that it sends.
    pub senders: Vec<SenderConfig>,
    /// The flows that it receives.
    pub receivers: Vec<ReceiverConfig>,
}

/// A port of an end system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndPort {
    /// Port number.
    pub port: u32,
    /// Its queues and pacer.
    pub egress: EgressConfig,
    /// Source address of the frames that leave here; on redundant networks its last byte tells
    /// them apart.
    pub mac: [u8; 6],
}

/// The header fields of a flow's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHeader {
    /// Ethernet destination.
    pub eth_dst: [u8; 6],
    /// IPv4 source.
    pub ip_src: [u8; 4],
    /// IPv4 destination.
    pub ip_dst: [u8; 4],
    /// UDP source and destination port; a receiver asks for the destination port only.
    pub udp_port: u16,
    /// Differentiated services code point, 0 to 63; a receiver does not ask for it.
    pub dscp: u8,
}

impl FlowHeader {
    /// A frame of the flow from `eth_src`, with so many bytes of UDP payload.
    pub const fn frame(&self, eth_src: [u8; 6], payload_len: usize) -> UdpFrame {
        UdpFrame {
            eth_dst: MacAddress(self.eth_dst),
            eth_src: MacAddress(eth_src),
            ip_src: self.ip_src,
            ip_dst: self.ip_dst,
            udp_src: self.udp_port,
            udp_dst: self.udp_port,
            dscp: self.dscp,
            payload_len,
        }
    }
}

/// How a message becomes frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Cut into frames of 1460 B behind a shim each. Copies are told apart by message id.
    Message,
    /// One UDP datagram. A payload too small for the stamp is enlarged to it, which the least
    /// frame has room for: on the wire nothing changes.
    Datagram {
        /// Whether the last byte of the payload is the sequence number of a virtual link.
        sequenced: bool,
    },
}

impl Form {
    /// Bytes of UDP payload of a datagram that is asked to have `bytes`.
    pub(super) fn datagram_bytes(sequenced: bool, bytes: u32) -> u32 {
        bytes.max(MESSAGE_BYTES_MIN + u32::from(sequenced))
    }

    const fn bytes_min(self) -> u32 {
        match self {
            Self::Message => MESSAGE_BYTES_MIN,
            Self::Datagram { .. } => 0,
        }
    }

    const fn bytes_max(self) -> u32 {
        match self {
            Self::Message => MESSAGE_BYTES_MAX,
            Self::Datagram { .. } => DATAGRAM_BYTES_MAX,
        }
    }
}

/// How a flow sends: its contract in one mode, or a scenario's departure from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// Least time between two releases (BAG).
    pub period: Span,
    /// Smallest message: sizes are drawn from here to `bytes_max`. Equal to it for constant size.
    pub bytes_min: u32,
    /// Largest message: bytes of the message, or of the datagram's UDP payload with the sequence
    /// number.
    pub bytes_max: u32,
    /// Release jitter: each release is delayed by 0 to this much, drawn.
    pub jitter: Span,
    /// Egress queue, 0 = highest.
    pub queue: u8,
}

impl Behaviour {
    /// Messages of one size without jitter.
    pub const fn constant(period: Span, bytes: u32, queue: u8) -> Self {
        Self { period, bytes_min: bytes, bytes_max: bytes, jitter: Span::ZERO, queue }
    }

    pub(super) fn check(&self, form: Form) -> Result<(), BehaviourError> {
        let (limit_min, limit_max) = (form.bytes_min(), form.bytes_max());
        if self.period == Span::ZERO {
            return Err(BehaviourError::ZeroPeriod);
        }
        if self.bytes_min > self.bytes_max {
            let (bytes_min, bytes_max) = (self.bytes_min, self.bytes_max);
            return Err(BehaviourError::SizesReversed { bytes_min, bytes_max });
        }
        if self.bytes_min < limit_min {
            return Err(BehaviourError::TooSmall { bytes: self.bytes_min, limit_min });
        }
        if self.bytes_max > limit_max {
            return Err(BehaviourError::TooLarge { bytes: self.bytes_max, limit_max });
        }
        Ok(())
    }
}

/// A flow that the end system sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// Index of the flow in the network.
    pub flow: u16,
    /// Header of its frames.
    pub header: FlowHeader,
    /// How a message becomes frames.
    pub form: Form,
    /// Ports that a copy of every frame leaves through.
    pub ports: Vec<u32>,
    /// Its contract in each mode that it has one in, lowest mode first.
    pub behaviours: Vec<Behaviour>,
}

/// A flow that the end system receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Index of the flow in the network.
    pub flow: u16,
    /// Header that its frames are recognised by.
    pub header: FlowHeader,
    /// How a message became frames.
    pub form: Form,
    /// Largest message over all modes; larger ones are reported as damaged.
    pub bytes_max: u32,
    /// Ports that copies arrive at, at most [`COPIES_MAX`].
    pub ports: Vec<u32>,
    /// Longest time from the first copy to the second; `None` sets no limit.
    pub skew_max: Option<Span>,
    /// How long after its first frame a copy is waited for; `None` waits until its place is
    /// needed by a later message.
    pub patience: Option<Span>,
}

/// Which behaviour a sender follows from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conduct {
    /// Its contract in the mode with this index.
    Mode(usize),
    /// Something else, within what frames can carry.
    Custom(Behaviour),
}

/// A behaviour that no sender can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BehaviourError {
    /// Releases would never end.
    #[error("the period is zero")]
    ZeroPeriod,
    /// There is no size to draw.
    #[error("the smallest message has {bytes_min} B, the largest {bytes_max} B")]
    SizesReversed {
        /// Smallest message.
        bytes_min: u32,
        /// Largest message.
        bytes_max: u32,
    },
    /// The message has no room for a stamp.
    #[error("a message of {bytes} B has no room for its stamp, the least is {limit_min} B")]
    TooSmall {
        /// Smallest message.
        bytes: u32,
        /// What the form needs.
        limit_min: u32,
    },
    /// The message does not fit its form.
    #[error("a message of {bytes} B does not fit, the largest is {limit_max} B")]
    TooLarge {
        /// Largest message.
        bytes: u32,
        /// What the form carries.
        limit_max: u32,
    },
}

/// A configuration that no end system can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Two ports with one number.
    #[error("port {0} is stated twice")]
    DuplicatePort(u32),
    /// Two senders, or two receivers, of one flow.
    #[error("flow {0} is stated twice")]
    DuplicateFlow(u16),
    /// A flow at a port that is not there.
    #[error("flow {flow} uses port {port}, which the host does not have")]
    UnknownPort {
        /// Flow.
        flow: u16,
        /// Port number.
        port: u32,
    },
    /// No copy, too many, or two through one port.
    #[error("flow {flow} needs one port or two different ones, not {ports}")]
    Copies {
        /// Flow.
        flow: u16,
        /// How many ports it names.
        ports: usize,
    },
    /// A sender without a contract.
    #[error("flow {0} has no behaviour")]
    NoBehaviour(u16),
    /// A sender, or the largest message of a receiver, that frames cannot carry.
    #[error("flow {flow}: {error}")]
    Behaviour {
        /// Flow.
        flow: u16,
        /// What is wrong.
        error: BehaviourError,
    },
    /// A code point above 63.
    #[error("flow {flow} has code point {dscp}, the largest is 63")]
    Dscp {
        /// Flow.
        flow: u16,
        /// Code point.
        dscp: u8,
    },
    /// Frames of two received flows look the same.
    #[error("flows {flow} and {other} have the same header")]
    SameHeader {
        /// Flow.
        flow: u16,
        /// The other one.
        other: u16,
    },
}

/// A request that a sender cannot follow; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The host does not send this flow.
    #[error("the host does not send flow {0}")]
    UnknownFlow(u16),
    /// The flow has no contract in that mode.
    #[error("flow {flow} has {modes} modes, there is none with index {mode}")]
    UnknownMode {
        /// Flow.
        flow: u16,
        /// Mode index asked for.
        mode: usize,
        /// How many there are.
        modes: usize,
    },
    /// The behaviour cannot be followed.
    #[error("flow {flow}: {error}")]
    Behaviour {
        /// Flow.
        flow: u16,
        /// What is wrong.
        error: BehaviourError,
    },
    /// The message is outside the sizes that the flow may send now.
    #[error("flow {flow} may send up to {bytes_max} B now, not {bytes} B")]
    Size {
        /// Flow.
        flow: u16,
        /// Size asked for.
        bytes: u32,
        /// Largest now.
        bytes_max: u32,
    },
    /// As many messages wait for their release as may.
    #[error("flow {flow} already has {limit} messages waiting for their release")]
    ShaperFull {
        /// Flow.
        flow: u16,
        /// How many may wait.
        limit: usize,
    },
}

impl EndSystemConfig {
    /// Everything that would make an end system of this misbehave.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (index, port) in self.ports.iter().enumerate() {
            if self.ports[..index].iter().any(|p| p.port == port.port) {
                return Err(ConfigError::DuplicatePort(port.port));
            }
        }
        for (index, sender) in self.senders.iter().enumerate() {
            self.check_sender(sender)?;
            if self.senders[..index].iter().any(|s| s.flow == sender.flow) {
                return Err(ConfigError::DuplicateFlow(sender.flow));
            }
        }
        for (index, receiver) in self.receivers.iter().enumerate() {
            self.check_receiver(receiver)?;
            let flow = receiver.flow;
            for other in &self.receivers[..index] {
                if other.flow == flow {
                    return Err(ConfigError::DuplicateFlow(flow));
                }
                if (FlowHeader { dscp: 0, ..other.header })
                    == (FlowHeader { dscp: 0, ..receiver.header })
                {
                    return Err(ConfigError::SameHeader { flow, other: other.flow });
                }
            }
        }
        Ok(())
    }

    fn check_sender(&self, sender: &SenderConfig) -> Result<(), ConfigError> {
        let flow = sender.flow;
        self.check_ports(flow, &sender.ports)?;
        if sender.header.dscp > 63 {
            return Err(ConfigError::Dscp { flow, dscp: sender.header.dscp });
        }
        if sender.behaviours.is_empty() {
            return Err(ConfigError::NoBehaviour(flow));
        }
        sender.behaviours.iter().try_for_each(|behaviour| {
            behaviour.check(sender.form).map_err(|error| ConfigError::Behaviour { flow, error })
        })
    }

    fn check_receiver(&self, receiver: &ReceiverConfig) -> Result<(), ConfigError> {
        let flow = receiver.flow;
        self.check_ports(flow, &receiver.ports)?;
        // The period plays no part in receiving.
        Behaviour::constant(Span::from_ns(1), receiver.bytes_max, 0)
            .check(receiver.form)
            .map_err(|error| ConfigError::Behaviour { flow, error })
    }

    fn check_ports(&self, flow: u16, ports: &[u32]) -> Result<(), ConfigError> {
        for &port in ports {
            if self.ports.iter().all(|p| p.port != port) {
                return Err(ConfigError::UnknownPort { flow, port });
            }
        }
        match ports {
            [_] => Ok(()),
            [a, b] if a != b => Ok(()),
            _ => Err(ConfigError::Copies { flow, ports: ports.len() }),
        }
    }
}
