//! Group entries (OpenFlow 1.3.5, section 7.3.4.3).

use crate::action::Action;
use crate::constants::{group, port};
use crate::error::{BadRequest, ErrorCode, GroupModFailed};
use crate::wire::{Reader, Writer, closed_enum, open_enum};

closed_enum! {
    /// What a group-mod does (`enum ofp_group_mod_command`).
    GroupModCommand: u16 {
        /// Add a group (`OFPGC_ADD`).
        Add = 0 "ADD",
        /// Modify a group (`OFPGC_MODIFY`).
        Modify = 1 "MOD",
        /// Delete a group, or all of them (`OFPGC_DELETE`).
        Delete = 2 "DEL",
    }
}

open_enum! {
    /// How a group chooses among its buckets (`enum ofp_group_type`).
    GroupType: u8 {
        /// Every bucket: multicast (`OFPGT_ALL`).
        All = 0 "all",
        /// One bucket by a hash (`OFPGT_SELECT`).
        Select = 1 "select",
        /// The only bucket (`OFPGT_INDIRECT`).
        Indirect = 2 "indirect",
        /// The first live bucket (`OFPGT_FF`).
        FastFailover = 3 "ff",
    }
}

/// A list of actions in a group (`ofp_bucket`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bucket {
    /// Its share, in select groups only.
    pub weight: u16,
    /// The port whose life decides, in fast failover groups; else [`port::ANY`].
    pub watch_port: u32,
    /// The group whose life decides, in fast failover groups; else [`group::ANY`].
    pub watch_group: u32,
    /// What to do.
    pub actions: Vec<Action>,
}

impl Bucket {
    /// A bucket without weight that watches nothing.
    pub const fn new(actions: Vec<Action>) -> Self {
        Self { weight: 0, watch_port: port::ANY, watch_group: group::ANY, actions }
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let len = usize::from(r.peek_u16(0)?);
        let mut bucket = r.part(len, BadRequest::BadLen.into())?;
        bucket.skip(2)?;
        let (weight, watch_port, watch_group) = (bucket.u16()?, bucket.u32()?, bucket.u32()?);
        bucket.skip(4)?;
        Ok(Self { weight, watch_port, watch_group, actions: bucket.list(Action::read)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.zeros(2);
        w.u16(self.weight);
        w.u32(self.watch_port);
        w.u32(self.watch_group);
        w.zeros(4);
        Action::write_all(&self.actions, w);
        w.set_len(start, start);
    }
}

/// A change of the group table (`ofp_group_mod`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupMod {
    /// What to do.
    pub command: GroupModCommand,
    /// How the group chooses; one that the switch does not know is for the switch to refuse.
    pub type_: GroupType,
    /// The group; [`group::ALL`] in deletion only.
    pub group_id: u32,
    /// Its buckets; none in deletion.
    pub buckets: Vec<Bucket>,
}

impl GroupMod {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let command = r.u16()?;
        let type_ = GroupType::from_wire(r.u8()?);
        r.skip(1)?;
        let group_id = r.u32()?;
        let command = GroupModCommand::from_wire(command).ok_or(GroupModFailed::BadCommand)?;
        Ok(Self { command, type_, group_id, buckets: r.list(Bucket::read)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u16(self.command.to_wire());
        w.u8(self.type_.to_wire());
        w.zeros(1);
        w.u32(self.group_id);
        self.buckets.iter().for_each(|bucket| bucket.write(w));
    }
}
