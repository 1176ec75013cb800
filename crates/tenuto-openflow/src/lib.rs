//! OpenFlow 1.3 (wire version 0x04) and Tenuto's experimenter messages, as bytes and values.
//!
//! What this crate owns: the one place where OpenFlow is bytes. [`Message::parse`] and
//! [`Message::emit`] turn one message into a value and back; [`Framer`] finds messages in a stream.
//! It owns no socket, clock or state of a connection, and it judges nothing but form: whether a
//! table exists, a prerequisite is met or a flag is supported is for the switch to say.
//!
//! - *Lossless.* `parse(emit(x)) == x`, and `emit(parse(bytes)) == bytes` for well-formed bytes
//!   whose padding is zero. What this version does not know (message types, experimenters, match
//!   fields, actions, instructions, bands) is kept as bytes.
//! - *One value, one form.* A value that has a variant of its own is never sent as `Unknown` of the
//!   same number; building such a value is the one way to break the first law, as is data in an
//!   unknown action whose length is not aligned (it is padded).
//! - *Typed refusal.* Malformed input gives a [`DecodeError`] with the error type and code that
//!   OpenFlow defines for it, and the [`answer`](DecodeError::answer) to send. Decoding never
//!   panics, and allocates in proportion to the bytes at hand, never to a length they claim.
//!
//! One file per message family; field order in the code is that of OpenFlow 1.3.5, whose sections
//! are cited. Every message, multipart type, match field, action, instruction, group type and
//! meter band of 1.3 has a variant. What a well-formed match may not say is judged apart, by
//! [`Match::check`].

mod action;
mod async_config;
mod attendre;
pub mod constants;
mod decode_error;
mod display;
mod encap;
mod error;
mod exact_band;
mod experimenter;
mod flow;
mod framer;
mod groups;
mod hello;
mod message;
mod meters;
mod multipart;
mod oxm;
mod oxm_check;
mod packet;
mod ports;
mod queue_messages;
mod queues;
mod session;
mod slice_messages;
mod text;
mod wire;

pub use action::{Action, Instruction};
pub use async_config::AsyncConfig;
pub use attendre::{
    AttendreConfig, AttendreMessage, BufferPhase, BufferStats, BufferTotals, MessageSet,
};
pub use constants::EXPERIMENTER_ID;
pub use decode_error::{DecodeError, TooLong};
pub use display::EntryText;
pub use encap::{Encap, Version};
pub use error::{
    BadAction, BadInstruction, BadMatch, BadRequest, ErrorCode, FlowModFailed, GroupModFailed,
    HelloFailed, MeterModFailed, PortModFailed, QueueOpFailed, RoleRequestFailed,
    SwitchConfigFailed, TableFeaturesFailed, TableModFailed,
};
pub use exact_band::ExactDrop;
pub use experimenter::{
    Experimenter, ModeConfig, ModeEvent, ModeEventKind, ModeStatus, ModesMessage, MonitorCommand,
    MonitorContract, MonitorKind, MonitorMod, MonitorStats,
};
pub use flow::{FlowMod, FlowModCommand, FlowRemoved, FlowRemovedReason};
pub use framer::{Framer, Full};
pub use groups::{Bucket, GroupMod, GroupModCommand, GroupType};
pub use hello::{Hello, HelloElement};
pub use message::{Body, Message};
pub use meters::{MeterBand, MeterMod, MeterModCommand};
pub use multipart::{
    AggregateStats, BandStats, BucketStats, Description, FeatureId, FlowStats, FlowStatsRequest,
    GroupDescription, GroupFeatures, GroupStats, MeterConfig, MeterFeatures, MeterStats,
    MultipartReply, MultipartRequest, OxmId, PortStats, QueueStats, ReplyBody, RequestBody,
    TableFeatures, TableProperty, TableStats,
};
pub use oxm::{Match, Oxm};
pub use packet::{PacketIn, PacketInReason, PacketOut};
pub use ports::{Port, PortMod, PortReason, PortStatus};
pub use queue_messages::{DelayRange, QueueDetail, QueueShare, QueuesMessage};
pub use queues::{PacketQueue, QueueConfig, QueueProperty};
pub use session::{ControllerRole, ErrorMessage, Features, Role, SwitchConfigMsg, TableMod};
pub use slice_messages::{SliceStatus, SlicesMessage};
pub use text::FixedText;
