//! Our messages about slices: which virtual datapaths share a switch, and what each was given and refused.
//!
//! Only the operator's connection is told; in a slice, the list is empty. `docs/reference/experimenter.md`
//! describes these messages byte by byte.

use crate::constants::{OFP_HEADER_LEN, OFP_MESSAGE_LEN_MAX};
use crate::error::{BadRequest, ErrorCode};
use crate::multipart::split_by_len;
use crate::text::FixedText;
use crate::wire::{Reader, Writer};

/// Types of these messages.
mod exp_type {
    pub(super) const SLICES_REQUEST: u32 = 22;
    pub(super) const SLICES_REPLY: u32 = 23;
}

/// The flag of a reply that more of it follows.
const MORE: u8 = 1;
/// Message header, experimenter id and type, flags.
const REPLY_HEADER_LEN: usize = OFP_HEADER_LEN + 8 + 8;
/// A slice without its ports.
const STATUS_LEN: usize = 112;

/// Messages about slices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SlicesMessage {
    /// Asks for the slices.
    Request,
    /// The slices.
    Reply {
        /// Whether more messages of this reply follow.
        more: bool,
        /// The slices, in the order of their file.
        slices: Vec<SliceStatus>,
    },
}

/// One slice, and what it has done since the switch started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SliceStatus {
    /// Its name, 31 bytes at most.
    pub name: FixedText<32>,
    /// The datapath id that its controllers see.
    pub datapath_id: u64,
    /// Its ports.
    pub ports: Vec<u32>,
    /// Control connections that are there.
    pub connections: u32,
    /// Entries in its tables.
    pub entries: u32,
    /// Frames that entered and are its own.
    pub received: u64,
    /// Frames that left.
    pub sent: u64,
    /// Frames that were to leave and are not its own: they were dropped.
    pub escaped: u64,
    /// Messages that its controllers sent.
    pub messages: u64,
    /// Those refused because they reach out of the slice.
    pub refused: u64,
    /// Those refused because they are more than its budget.
    pub limited: u64,
    /// Packet-ins that were not made because they are more than its budget.
    pub packet_ins_limited: u64,
}

impl SlicesMessage {
    /// The reply with these slices, as messages that each fit.
    pub fn replies(slices: Vec<SliceStatus>) -> Vec<Self> {
        const ROOM: usize = OFP_MESSAGE_LEN_MAX - REPLY_HEADER_LEN;
        let parts = split_by_len(slices, ROOM, SliceStatus::write);
        let last = parts.len() - 1;
        let reply = |(i, slices)| Self::Reply { more: i < last, slices };
        parts.into_iter().enumerate().map(reply).collect()
    }

    pub(crate) const fn exp_type(&self) -> u32 {
        match self {
            Self::Request => exp_type::SLICES_REQUEST,
            Self::Reply { .. } => exp_type::SLICES_REPLY,
        }
    }

    /// `None` for a type that is none of these.
    pub(crate) fn read(exp_type: u32, r: &mut Reader<'_>) -> Result<Option<Self>, ErrorCode> {
        Ok(Some(match exp_type {
            exp_type::SLICES_REQUEST => Self::Request,
            exp_type::SLICES_REPLY => {
                let more = r.u8()? & MORE != 0;
                r.skip(7)?;
                Self::Reply { more, slices: r.list(SliceStatus::read)? }
            }
            _ => return Ok(None),
        }))
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        if let Self::Reply { more, slices } = self {
            w.u8(if *more { MORE } else { 0 });
            w.zeros(7);
            slices.iter().for_each(|slice| slice.write(w));
        }
    }
}

impl SliceStatus {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let len = usize::from(r.peek_u16(0)?);
        if len < STATUS_LEN {
            return Err(BadRequest::BadLen.into());
        }
        let mut body = r.part(len, BadRequest::BadLen.into())?;
        body.skip(8)?;
        let name = FixedText(body.array()?);
        Ok(Self {
            name,
            datapath_id: body.u64()?,
            connections: body.u32()?,
            entries: body.u32()?,
            received: body.u64()?,
            sent: body.u64()?,
            escaped: body.u64()?,
            messages: body.u64()?,
            refused: body.u64()?,
            limited: body.u64()?,
            packet_ins_limited: body.u64()?,
            ports: body.list(Reader::u32)?,
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.zeros(8);
        w.bytes(&self.name.0);
        w.u64(self.datapath_id);
        w.u32(self.connections);
        w.u32(self.entries);
        w.u64(self.received);
        w.u64(self.sent);
        w.u64(self.escaped);
        w.u64(self.messages);
        w.u64(self.refused);
        w.u64(self.limited);
        w.u64(self.packet_ins_limited);
        self.ports.iter().for_each(|port| w.u32(*port));
        w.set_len(start, start);
    }
}
