//! The switch and its tables (OpenFlow 1.3.5, sections 7.3.5.1 and 7.3.5.4).

use crate::error::ErrorCode;
use crate::text::FixedText;
use crate::wire::{Reader, Writer};

/// What a switch is made of (`ofp_desc`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Description {
    /// Its manufacturer.
    pub mfr_desc: FixedText<256>,
    /// Its hardware.
    pub hw_desc: FixedText<256>,
    /// Its software.
    pub sw_desc: FixedText<256>,
    /// Its serial number.
    pub serial_num: FixedText<32>,
    /// What people call this data path.
    pub dp_desc: FixedText<256>,
}

impl Description {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        Ok(Self {
            mfr_desc: FixedText(r.array()?),
            hw_desc: FixedText(r.array()?),
            sw_desc: FixedText(r.array()?),
            serial_num: FixedText(r.array()?),
            dp_desc: FixedText(r.array()?),
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.bytes(&self.mfr_desc.0);
        w.bytes(&self.hw_desc.0);
        w.bytes(&self.sw_desc.0);
        w.bytes(&self.serial_num.0);
        w.bytes(&self.dp_desc.0);
    }
}

/// Statistics of a table (`ofp_table_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TableStats {
    /// The table.
    pub table_id: u8,
    /// How many entries it has.
    pub active_count: u32,
    /// Packets looked up in it.
    pub lookup_count: u64,
    /// Packets that matched in it.
    pub matched_count: u64,
}

impl TableStats {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let table_id = r.u8()?;
        r.skip(3)?;
        let (active_count, lookup_count, matched_count) = (r.u32()?, r.u64()?, r.u64()?);
        Ok(Self { table_id, active_count, lookup_count, matched_count })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u8(self.table_id);
        w.zeros(3);
        w.u32(self.active_count);
        w.u64(self.lookup_count);
        w.u64(self.matched_count);
    }
}
