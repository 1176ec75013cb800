//! Messages about the connection and the switch as a whole: errors, features, configuration, roles.

use crate::decode_error::DecodeError;
use crate::error::{ErrorCode, RoleRequestFailed};
use crate::wire::{Reader, Writer, closed_enum};

/// A refusal (`ofp_error_msg`, section 7.4.4). Types and codes are kept as numbers, because the
/// peer may use some that we do not know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ErrorMessage {
    /// The error type (`OFPET_*`); `0xffff` is an experimenter's.
    pub type_: u16,
    /// The code within the type; an experimenter error has its experimenter type here.
    pub code: u16,
    /// The start of the refused request; for a failed hello a text; for an experimenter error its
    /// id and then what it defines.
    pub data: Vec<u8>,
}

impl ErrorMessage {
    /// A refusal of `request` (its bytes, of which the first 64 are sent back).
    pub fn new(error: ErrorCode, request: &[u8]) -> Self {
        let len = request.len().min(DecodeError::HEAD_BYTES_MAX);
        Self { type_: error.type_(), code: error.code(), data: request[..len].to_vec() }
    }

    /// The error, if OpenFlow 1.3 defines it.
    pub const fn error(&self) -> Option<ErrorCode> {
        ErrorCode::from_wire(self.type_, self.code)
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        Ok(Self { type_: r.u16()?, code: r.u16()?, data: r.rest().to_vec() })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u16(self.type_);
        w.u16(self.code);
        w.bytes(&self.data);
    }
}

/// What a switch is (`ofp_switch_features`, section 7.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Features {
    /// The switch's identity; the lower 48 bits are a MAC address by custom.
    pub datapath_id: u64,
    /// How many packets it can buffer at once.
    pub n_buffers: u32,
    /// How many flow tables it has.
    pub n_tables: u8,
    /// Which connection this is; 0 is the main one.
    pub auxiliary_id: u8,
    /// What it can do ([`capability`](crate::constants::capability)).
    pub capabilities: u32,
}

impl Features {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (datapath_id, n_buffers) = (r.u64()?, r.u32()?);
        let (n_tables, auxiliary_id) = (r.u8()?, r.u8()?);
        r.skip(2)?;
        let capabilities = r.u32()?;
        r.skip(4)?;
        Ok(Self { datapath_id, n_buffers, n_tables, auxiliary_id, capabilities })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u64(self.datapath_id);
        w.u32(self.n_buffers);
        w.u8(self.n_tables);
        w.u8(self.auxiliary_id);
        w.zeros(2);
        w.u32(self.capabilities);
        w.zeros(4);
    }
}

/// The switch's configuration (`ofp_switch_config`, section 7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SwitchConfigMsg {
    /// How fragments are handled ([`config_flag`](crate::constants::config_flag)).
    pub flags: u16,
    /// How many bytes of a packet go to the controller where no action says it.
    pub miss_send_len: u16,
}

impl SwitchConfigMsg {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        Ok(Self { flags: r.u16()?, miss_send_len: r.u16()? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u16(self.flags);
        w.u16(self.miss_send_len);
    }
}

/// A change of a table (`ofp_table_mod`, section 7.3.3). OpenFlow 1.3 keeps it for its deprecated
/// bits only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TableMod {
    /// The table, or [`table::ALL`](crate::constants::table::ALL).
    pub table_id: u8,
    /// Its configuration (`OFPTC_*`); no bit is defined but those of OpenFlow 1.2.
    pub config: u32,
}

impl TableMod {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let table_id = r.u8()?;
        r.skip(3)?;
        Ok(Self { table_id, config: r.u32()? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u8(self.table_id);
        w.zeros(3);
        w.u32(self.config);
    }
}

closed_enum! {
    /// What a controller may do on its connection (`enum ofp_controller_role`).
    ControllerRole: u32 {
        /// Ask for the current role (`OFPCR_ROLE_NOCHANGE`).
        NoChange = 0 "nochange",
        /// Full access, shared (`OFPCR_ROLE_EQUAL`).
        Equal = 1 "equal",
        /// Full access, the only one (`OFPCR_ROLE_MASTER`).
        Master = 2 "master",
        /// Read only (`OFPCR_ROLE_SLAVE`).
        Slave = 3 "slave",
    }
}

/// A role asked for or confirmed (`ofp_role_request`, section 7.3.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Role {
    /// The role.
    pub role: ControllerRole,
    /// Orders changes of mastership; an older one than seen before is refused.
    pub generation_id: u64,
}

impl Role {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let role = r.u32()?;
        r.skip(4)?;
        let generation_id = r.u64()?;
        let role = ControllerRole::from_wire(role).ok_or(RoleRequestFailed::BadRole)?;
        Ok(Self { role, generation_id })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.role.to_wire());
        w.zeros(4);
        w.u64(self.generation_id);
    }
}
