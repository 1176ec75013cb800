//! Our messages about queues: which of them share a level and how, and what they have seen.
//!
//! OpenFlow 1.3 lets a controller read the configuration of queues but not change it, and its
//! counters know nothing of time. `docs/reference/experimenter.md` describes these messages byte by
//! byte.

use crate::constants::{EXPERIMENTER_ID, OFP_HEADER_LEN, OFP_MESSAGE_LEN_MAX};
use crate::error::{BadRequest, ErrorCode};
use crate::multipart::split_by_len;
use crate::queues::QueueProperty;
use crate::wire::{Reader, Writer};

/// Types of these messages.
mod exp_type {
    pub(super) const QUEUE_MOD: u32 = 19;
    pub(super) const QUEUE_DETAIL_REQUEST: u32 = 20;
    pub(super) const QUEUE_DETAIL_REPLY: u32 = 21;
}

/// The flag of a reply that more of it follows.
const MORE: u8 = 1;
/// Message header, experimenter id and type, flags.
const REPLY_HEADER_LEN: usize = OFP_HEADER_LEN + 8 + 8;
/// A queue without its delays.
const DETAIL_LEN: usize = 48;

/// Messages about queues.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QueuesMessage {
    /// Says which level queues stand in and their weights there. Queues that are not named stay as
    /// they are; all of it is done or nothing.
    QueueMod {
        /// The port, or [`port::ANY`](crate::constants::port::ANY) for each.
        port: u32,
        /// The queues.
        shares: Vec<QueueShare>,
    },
    /// Asks what queues have seen.
    DetailRequest {
        /// The port, or [`port::ANY`](crate::constants::port::ANY) for each.
        port: u32,
        /// The queue, or [`queue::ALL`](crate::constants::queue::ALL).
        queue: u32,
    },
    /// What queues have seen.
    DetailReply {
        /// Whether more messages of this reply follow.
        more: bool,
        /// The queues.
        queues: Vec<QueueDetail>,
    },
}

/// Where a queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueShare {
    /// The queue.
    pub queue: u32,
    /// Its level: a lower one is served first, strictly.
    pub level: u8,
    /// Its weight among the queues of that level, by bytes on the wire; from 1.
    pub weight: u8,
}

/// What one queue has seen since the switch started.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueDetail {
    /// The port.
    pub port: u32,
    /// Where the queue stands.
    pub share: QueueShare,
    /// Frames that wait now.
    pub frames: u32,
    /// The most that ever waited.
    pub frames_max: u32,
    /// Their bytes on the wire now.
    pub wire_bytes: u64,
    /// The most bytes that ever waited.
    pub wire_bytes_max: u64,
    /// The longest delay, from being queued to the last bit, nanoseconds.
    pub delay_ns_max: u64,
    /// How many frames had a delay in which range; ranges without frames are left out. None at all
    /// if the switch does not measure delays.
    pub delays: Vec<DelayRange>,
}

/// Frames whose delay was in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DelayRange {
    /// Least delay of the range, nanoseconds.
    pub from_ns: u64,
    /// The first that is above it; `u64::MAX` for the open range of the longest.
    pub below_ns: u64,
    /// Frames.
    pub frames: u64,
}

impl QueuesMessage {
    /// The reply with these queues, as messages that each fit.
    pub fn detail_replies(queues: Vec<QueueDetail>) -> Vec<Self> {
        const ROOM: usize = OFP_MESSAGE_LEN_MAX - REPLY_HEADER_LEN;
        let parts = split_by_len(queues, ROOM, QueueDetail::write);
        let last = parts.len() - 1;
        let reply = |(i, queues)| Self::DetailReply { more: i < last, queues };
        parts.into_iter().enumerate().map(reply).collect()
    }

    pub(crate) const fn exp_type(&self) -> u32 {
        match self {
            Self::QueueMod { .. } => exp_type::QUEUE_MOD,
            Self::DetailRequest { .. } => exp_type::QUEUE_DETAIL_REQUEST,
            Self::DetailReply { .. } => exp_type::QUEUE_DETAIL_REPLY,
        }
    }

    /// `None` for a type that is none of these.
    pub(crate) fn read(exp_type: u32, r: &mut Reader<'_>) -> Result<Option<Self>, ErrorCode> {
        Ok(Some(match exp_type {
            exp_type::QUEUE_MOD => {
                let port = r.u32()?;
                r.skip(4)?;
                Self::QueueMod { port, shares: r.list(QueueShare::read)? }
            }
            exp_type::QUEUE_DETAIL_REQUEST => {
                Self::DetailRequest { port: r.u32()?, queue: r.u32()? }
            }
            exp_type::QUEUE_DETAIL_REPLY => {
                let more = r.u8()? & MORE != 0;
                r.skip(7)?;
                Self::DetailReply { more, queues: r.list(QueueDetail::read)? }
            }
            _ => return Ok(None),
        }))
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::QueueMod { port, shares } => {
                w.u32(*port);
                w.zeros(4);
                shares.iter().for_each(|share| share.write(w));
            }
            Self::DetailRequest { port, queue } => {
                w.u32(*port);
                w.u32(*queue);
            }
            Self::DetailReply { more, queues } => {
                w.u8(if *more { MORE } else { 0 });
                w.zeros(7);
                queues.iter().for_each(|queue| queue.write(w));
            }
        }
    }
}

impl QueueShare {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (queue, level, weight) = (r.u32()?, r.u8()?, r.u8()?);
        r.skip(2)?;
        Ok(Self { queue, level, weight })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.queue);
        w.u8(self.level);
        w.u8(self.weight);
        w.zeros(2);
    }

    /// As a property in a queue configuration: where OpenFlow tells of queues, too.
    pub fn property(self) -> QueueProperty {
        let data = vec![self.level, self.weight, 0, 0, 0, 0, 0, 0];
        QueueProperty::Experimenter { experimenter: EXPERIMENTER_ID, data }
    }
}

impl QueueDetail {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let len = usize::from(r.peek_u16(4)?);
        if len < DETAIL_LEN {
            return Err(BadRequest::BadLen.into());
        }
        let mut body = r.part(len, BadRequest::BadLen.into())?;
        let port = body.u32()?;
        body.skip(2)?;
        let (level, weight, queue) = (body.u8()?, body.u8()?, body.u32()?);
        body.skip(4)?;
        let (frames, frames_max) = (body.u32()?, body.u32()?);
        let (wire_bytes, wire_bytes_max, delay_ns_max) = (body.u64()?, body.u64()?, body.u64()?);
        let delays = body.list(DelayRange::read)?;
        let share = QueueShare { queue, level, weight };
        Ok(Self {
            port,
            share,
            frames,
            frames_max,
            wire_bytes,
            wire_bytes_max,
            delay_ns_max,
            delays,
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.u32(self.port);
        w.zeros(2);
        w.u8(self.share.level);
        w.u8(self.share.weight);
        w.u32(self.share.queue);
        w.zeros(4);
        w.u32(self.frames);
        w.u32(self.frames_max);
        w.u64(self.wire_bytes);
        w.u64(self.wire_bytes_max);
        w.u64(self.delay_ns_max);
        for range in &self.delays {
            w.u64(range.from_ns);
            w.u64(range.below_ns);
            w.u64(range.frames);
        }
        w.set_len(start + 4, start);
    }
}

impl DelayRange {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        Ok(Self { from_ns: r.u64()?, below_ns: r.u64()?, frames: r.u64()? })
    }
}
