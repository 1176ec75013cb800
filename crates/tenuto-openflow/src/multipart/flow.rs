//! Statistics of flow entries (OpenFlow 1.3.5, sections 7.3.5.2 and 7.3.5.3).

use crate::action::Instruction;
use crate::constants::{group, port, table};
use crate::error::{BadRequest, ErrorCode};
use crate::oxm::Match;
use crate::wire::{Reader, Writer};

/// Which entries are meant (`ofp_flow_stats_request`, `ofp_aggregate_stats_request`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowStatsRequest {
    /// The table, or [`table::ALL`].
    pub table_id: u8,
    /// Only entries that output here; [`port::ANY`] for no such condition.
    pub out_port: u32,
    /// Only entries that use this group; [`group::ANY`] for no such condition.
    pub out_group: u32,
    /// The cookie bits an entry must have.
    pub cookie: u64,
    /// Which cookie bits count; 0 for no such condition.
    pub cookie_mask: u64,
    /// Only entries that this match covers.
    pub match_: Match,
}

impl FlowStatsRequest {
    /// Every entry of every table.
    pub const ALL: Self = Self {
        table_id: table::ALL,
        out_port: port::ANY,
        out_group: group::ANY,
        cookie: 0,
        cookie_mask: 0,
        match_: Match::ANY,
    };

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let table_id = r.u8()?;
        r.skip(3)?;
        let (out_port, out_group) = (r.u32()?, r.u32()?);
        r.skip(4)?;
        let (cookie, cookie_mask, match_) = (r.u64()?, r.u64()?, Match::read(r)?);
        Ok(Self { table_id, out_port, out_group, cookie, cookie_mask, match_ })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u8(self.table_id);
        w.zeros(3);
        w.u32(self.out_port);
        w.u32(self.out_group);
        w.zeros(4);
        w.u64(self.cookie);
        w.u64(self.cookie_mask);
        self.match_.write(w);
    }
}

/// One entry and its statistics (`ofp_flow_stats`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowStats {
    /// The table it is in.
    pub table_id: u8,
    /// How long it has been there: seconds.
    pub duration_sec: u32,
    /// How long it has been there: nanoseconds beyond the seconds.
    pub duration_nsec: u32,
    /// Its priority.
    pub priority: u16,
    /// Its idle time-out in seconds.
    pub idle_timeout: u16,
    /// Its hard time-out in seconds.
    pub hard_timeout: u16,
    /// Its flags ([`flow_flag`](crate::constants::flow_flag)).
    pub flags: u16,
    /// Its cookie.
    pub cookie: u64,
    /// Packets that matched it.
    pub packet_count: u64,
    /// Bytes of those packets.
    pub byte_count: u64,
    /// Its match.
    pub match_: Match,
    /// Its instructions.
    pub instructions: Vec<Instruction>,
}

impl FlowStats {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let len = usize::from(r.peek_u16(0)?);
        let mut r = r.part(len, BadRequest::BadLen.into())?;
        r.skip(2)?;
        let table_id = r.u8()?;
        r.skip(1)?;
        let (duration_sec, duration_nsec, priority) = (r.u32()?, r.u32()?, r.u16()?);
        let (idle_timeout, hard_timeout, flags) = (r.u16()?, r.u16()?, r.u16()?);
        r.skip(4)?;
        Ok(Self {
            table_id,
            duration_sec,
            duration_nsec,
            priority,
            idle_timeout,
            hard_timeout,
            flags,
            cookie: r.u64()?,
            packet_count: r.u64()?,
            byte_count: r.u64()?,
            match_: Match::read(&mut r)?,
            instructions: r.list(Instruction::read)?,
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.zeros(2);
        w.u8(self.table_id);
        w.zeros(1);
        w.u32(self.duration_sec);
        w.u32(self.duration_nsec);
        w.u16(self.priority);
        w.u16(self.idle_timeout);
        w.u16(self.hard_timeout);
        w.u16(self.flags);
        w.zeros(4);
        w.u64(self.cookie);
        w.u64(self.packet_count);
        w.u64(self.byte_count);
        self.match_.write(w);
        Instruction::write_all(&self.instructions, w);
        w.set_len(start, start);
    }
}

/// The sum over entries (`ofp_aggregate_stats_reply`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AggregateStats {
    /// Packets that matched any of them.
    pub packet_count: u64,
    /// Bytes of those packets.
    pub byte_count: u64,
    /// How many entries there are.
    pub flow_count: u32,
}

impl AggregateStats {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (packet_count, byte_count, flow_count) = (r.u64()?, r.u64()?, r.u32()?);
        r.skip(4)?;
        Ok(Self { packet_count, byte_count, flow_count })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u64(self.packet_count);
        w.u64(self.byte_count);
        w.u32(self.flow_count);
        w.zeros(4);
    }
}
