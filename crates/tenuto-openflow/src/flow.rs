//! Flow entries: flow-mod and flow-removed (OpenFlow 1.3.5, sections 7.3.4.1 and 7.4.2).

use crate::action::Instruction;
use crate::constants::{DEFAULT_PRIORITY, NO_BUFFER, group, port};
use crate::error::{ErrorCode, FlowModFailed};
use crate::oxm::Match;
use crate::wire::{Reader, Writer, closed_enum, open_enum};

closed_enum! {
    /// What a flow-mod does (`enum ofp_flow_mod_command`).
    FlowModCommand: u8 {
        /// Add an entry, in place of one with the same match and priority (`OFPFC_ADD`).
        Add = 0 "ADD",
        /// Modify every entry that the match covers (`OFPFC_MODIFY`).
        Modify = 1 "MOD",
        /// Modify the entry of exactly this match and priority (`OFPFC_MODIFY_STRICT`).
        ModifyStrict = 2 "MOD_STRICT",
        /// Delete every entry that the match covers (`OFPFC_DELETE`).
        Delete = 3 "DEL",
        /// Delete the entry of exactly this match and priority (`OFPFC_DELETE_STRICT`).
        DeleteStrict = 4 "DEL_STRICT",
    }
}

/// A change of flow entries (`ofp_flow_mod`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowMod {
    /// The controller's own mark on the entry.
    pub cookie: u64,
    /// In modify and delete: the cookie bits an entry must share to be touched; 0 for any entry.
    pub cookie_mask: u64,
    /// The table; [`table::ALL`](crate::constants::table::ALL) in deletion only.
    pub table_id: u8,
    /// What to do.
    pub command: FlowModCommand,
    /// Seconds without a packet after which the entry goes; 0 for never.
    pub idle_timeout: u16,
    /// Seconds after which the entry goes; 0 for never.
    pub hard_timeout: u16,
    /// Higher is matched first.
    pub priority: u16,
    /// A buffered packet to apply the entry to, or [`NO_BUFFER`].
    pub buffer_id: u32,
    /// In deletion: only entries that output here; [`port::ANY`] for no such condition.
    pub out_port: u32,
    /// In deletion: only entries that use this group; [`group::ANY`] for no such condition.
    pub out_group: u32,
    /// [`flow_flag`](crate::constants::flow_flag)
    pub flags: u16,
    /// Which packets.
    pub match_: Match,
    /// What happens to them.
    pub instructions: Vec<Instruction>,
}

impl FlowMod {
    /// A flow-mod that says nothing but `command` and `table_id`: default priority, every packet,
    /// no instructions, no time-outs, no conditions, no flags.
    pub const fn new(command: FlowModCommand, table_id: u8) -> Self {
        Self {
            cookie: 0,
            cookie_mask: 0,
            table_id,
            command,
            idle_timeout: 0,
            hard_timeout: 0,
            priority: DEFAULT_PRIORITY,
            buffer_id: NO_BUFFER,
            out_port: port::ANY,
            out_group: group::ANY,
            flags: 0,
            match_: Match::ANY,
            instructions: Vec::new(),
        }
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (cookie, cookie_mask, table_id, command) = (r.u64()?, r.u64()?, r.u8()?, r.u8()?);
        let (idle_timeout, hard_timeout, priority) = (r.u16()?, r.u16()?, r.u16()?);
        let (buffer_id, out_port, out_group, flags) = (r.u32()?, r.u32()?, r.u32()?, r.u16()?);
        r.skip(2)?;
        Ok(Self {
            cookie,
            cookie_mask,
            table_id,
            command: FlowModCommand::from_wire(command).ok_or(FlowModFailed::BadCommand)?,
            idle_timeout,
            hard_timeout,
            priority,
            buffer_id,
            out_port,
            out_group,
            flags,
            match_: Match::read(r)?,
            instructions: r.list(Instruction::read)?,
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u64(self.cookie);
        w.u64(self.cookie_mask);
        w.u8(self.table_id);
        w.u8(self.command.to_wire());
        w.u16(self.idle_timeout);
        w.u16(self.hard_timeout);
        w.u16(self.priority);
        w.u32(self.buffer_id);
        w.u32(self.out_port);
        w.u32(self.out_group);
        w.u16(self.flags);
        w.zeros(2);
        self.match_.write(w);
        Instruction::write_all(&self.instructions, w);
    }
}

open_enum! {
    /// Why an entry went (`enum ofp_flow_removed_reason`).
    FlowRemovedReason: u8 {
        /// Idle for too long (`OFPRR_IDLE_TIMEOUT`).
        IdleTimeout = 0 "idle",
        /// Its time was up (`OFPRR_HARD_TIMEOUT`).
        HardTimeout = 1 "hard",
        /// Deleted by a flow-mod (`OFPRR_DELETE`).
        Delete = 2 "delete",
        /// The group it used was deleted (`OFPRR_GROUP_DELETE`).
        GroupDelete = 3 "group_delete",
    }
}

/// An entry has gone (`ofp_flow_removed`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowRemoved {
    /// Its cookie.
    pub cookie: u64,
    /// Its priority.
    pub priority: u16,
    /// Why it went.
    pub reason: FlowRemovedReason,
    /// The table it was in.
    pub table_id: u8,
    /// How long it was there: seconds.
    pub duration_sec: u32,
    /// How long it was there: nanoseconds beyond the seconds.
    pub duration_nsec: u32,
    /// Its idle time-out in seconds.
    pub idle_timeout: u16,
    /// Its hard time-out in seconds.
    pub hard_timeout: u16,
    /// Packets that matched it.
    pub packet_count: u64,
    /// Bytes of those packets.
    pub byte_count: u64,
    /// Its match.
    pub match_: Match,
}

impl FlowRemoved {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        Ok(Self {
            cookie: r.u64()?,
            priority: r.u16()?,
            reason: FlowRemovedReason::from_wire(r.u8()?),
            table_id: r.u8()?,
            duration_sec: r.u32()?,
            duration_nsec: r.u32()?,
            idle_timeout: r.u16()?,
            hard_timeout: r.u16()?,
            packet_count: r.u64()?,
            byte_count: r.u64()?,
            match_: Match::read(r)?,
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u64(self.cookie);
        w.u16(self.priority);
        w.u8(self.reason.to_wire());
        w.u8(self.table_id);
        w.u32(self.duration_sec);
        w.u32(self.duration_nsec);
        w.u16(self.idle_timeout);
        w.u16(self.hard_timeout);
        w.u64(self.packet_count);
        w.u64(self.byte_count);
        self.match_.write(w);
    }
}
