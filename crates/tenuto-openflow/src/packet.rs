//! Packets between switch and controller (OpenFlow 1.3.5, sections 7.3.7 and 7.4.1).

use crate::action::Action;
use crate::error::ErrorCode;
use crate::oxm::Match;
use crate::wire::{Reader, Writer, open_enum};

open_enum! {
    /// Why a packet came to the controller (`enum ofp_packet_in_reason`).
    PacketInReason: u8 {
        /// The table-miss entry sent it (`OFPR_NO_MATCH`).
        NoMatch = 0 "no_match",
        /// An output action sent it (`OFPR_ACTION`).
        Action = 1 "action",
        /// Its time to live was invalid (`OFPR_INVALID_TTL`).
        InvalidTtl = 2 "invalid_ttl",
    }
}

/// A packet that the switch hands to the controller (`ofp_packet_in`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PacketIn {
    /// Where the switch buffers it, or [`NO_BUFFER`](crate::constants::NO_BUFFER).
    pub buffer_id: u32,
    /// The length of the whole packet, of which `data` may be the start only.
    pub total_len: u16,
    /// Why it came.
    pub reason: PacketInReason,
    /// The table whose entry sent it.
    pub table_id: u8,
    /// The cookie of that entry.
    pub cookie: u64,
    /// The pipeline fields it had: the ingress port at least.
    pub match_: Match,
    /// The packet without FCS.
    pub data: Vec<u8>,
}

impl PacketIn {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (buffer_id, total_len) = (r.u32()?, r.u16()?);
        let reason = PacketInReason::from_wire(r.u8()?);
        let (table_id, cookie) = (r.u8()?, r.u64()?);
        let match_ = Match::read(r)?;
        // These two bytes align the IP header behind the Ethernet header.
        r.skip(2)?;
        let data = r.rest().to_vec();
        Ok(Self { buffer_id, total_len, reason, table_id, cookie, match_, data })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.buffer_id);
        w.u16(self.total_len);
        w.u8(self.reason.to_wire());
        w.u8(self.table_id);
        w.u64(self.cookie);
        self.match_.write(w);
        w.zeros(2);
        w.bytes(&self.data);
    }
}

/// A packet that the controller has the switch send (`ofp_packet_out`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PacketOut {
    /// The buffered packet meant, or [`NO_BUFFER`](crate::constants::NO_BUFFER) with `data`.
    pub buffer_id: u32,
    /// The port it shall count as received on;
    /// [`port::CONTROLLER`](crate::constants::port::CONTROLLER) for none.
    pub in_port: u32,
    /// What to do with it.
    pub actions: Vec<Action>,
    /// The packet without FCS; empty if it is buffered.
    pub data: Vec<u8>,
}

impl PacketOut {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (buffer_id, in_port) = (r.u32()?, r.u32()?);
        let actions_len = usize::from(r.u16()?);
        r.skip(6)?;
        let actions = r.part(actions_len, r.bad_len())?.list(Action::read)?;
        Ok(Self { buffer_id, in_port, actions, data: r.rest().to_vec() })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.buffer_id);
        w.u32(self.in_port);
        let len_field = w.position();
        w.zeros(8);
        let start = w.position();
        Action::write_all(&self.actions, w);
        w.set_len(len_field, start);
        w.bytes(&self.data);
    }
}
