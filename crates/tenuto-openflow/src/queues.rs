//! Queues of a port and what they guarantee (OpenFlow 1.3.5, sections 7.2.2 and 7.3.6).

use crate::constants::queue_property as property;
use crate::error::{BadRequest, ErrorCode};
use crate::wire::{Reader, Writer};

/// Property and length, and the padding behind them.
const PROPERTY_HEADER_LEN: usize = 8;

/// One queue (`ofp_packet_queue`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PacketQueue {
    /// The queue.
    pub queue_id: u32,
    /// The port that it stands at.
    pub port: u32,
    /// What it guarantees.
    pub properties: Vec<QueueProperty>,
}

/// A property of a queue (`ofp_queue_prop_header`). Rates are in tenths of a percent of the
/// port's; more than [`queue_rate::MAX`](crate::constants::queue_rate::MAX) switches them off.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QueueProperty {
    /// The rate that it gets at least.
    MinRate(u16),
    /// The rate that it gets at most.
    MaxRate(u16),
    /// A property of an experimenter.
    Experimenter {
        /// The experimenter id.
        experimenter: u32,
        /// What follows.
        data: Vec<u8>,
    },
    /// Any other property.
    Unknown {
        /// Its number (`OFPQT_*`).
        property: u16,
        /// What follows the header.
        data: Vec<u8>,
    },
}

/// The queues of a port (`ofp_queue_get_config_reply`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueConfig {
    /// The port that was asked for, or [`port::ANY`](crate::constants::port::ANY).
    pub port: u32,
    /// Its queues.
    pub queues: Vec<PacketQueue>,
}

impl QueueProperty {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let len = usize::from(r.peek_u16(2)?);
        let mut body = r.part(len.max(PROPERTY_HEADER_LEN), BadRequest::BadLen.into())?;
        if len < PROPERTY_HEADER_LEN {
            return Err(BadRequest::BadLen.into());
        }
        let property = body.u16()?;
        body.skip(6)?;
        let rate = |body: &mut Reader<'_>| {
            let rate = body.u16()?;
            body.skip(6).map(|()| rate)
        };
        let read = match property {
            property::MIN_RATE => rate(&mut body).map(Self::MinRate)?,
            property::MAX_RATE => rate(&mut body).map(Self::MaxRate)?,
            property::EXPERIMENTER => {
                let experimenter = body.u32()?;
                body.skip(4)?;
                Self::Experimenter { experimenter, data: body.rest().to_vec() }
            }
            _ => Self::Unknown { property, data: body.rest().to_vec() },
        };
        body.finish()?;
        Ok(read)
    }

    fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.u16(match self {
            Self::MinRate(_) => property::MIN_RATE,
            Self::MaxRate(_) => property::MAX_RATE,
            Self::Experimenter { .. } => property::EXPERIMENTER,
            Self::Unknown { property, .. } => *property,
        });
        w.zeros(6);
        match self {
            Self::MinRate(rate) | Self::MaxRate(rate) => {
                w.u16(*rate);
                w.zeros(6);
            }
            Self::Experimenter { experimenter, data } => {
                w.u32(*experimenter);
                w.zeros(4);
                w.bytes(data);
            }
            Self::Unknown { data, .. } => w.bytes(data),
        }
        w.set_len(start + 2, start);
    }
}

impl PacketQueue {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let len = usize::from(r.peek_u16(8)?);
        let mut body = r.part(len, BadRequest::BadLen.into())?;
        let (queue_id, port) = (body.u32()?, body.u32()?);
        body.skip(8)?;
        Ok(Self { queue_id, port, properties: body.list(QueueProperty::read)? })
    }

    fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.u32(self.queue_id);
        w.u32(self.port);
        w.zeros(8);
        self.properties.iter().for_each(|property| property.write(w));
        w.set_len(start + 8, start);
    }
}

impl QueueConfig {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let port = r.u32()?;
        r.skip(4)?;
        Ok(Self { port, queues: r.list(PacketQueue::read)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.port);
        w.zeros(4);
        self.queues.iter().for_each(|queue| queue.write(w));
    }
}
