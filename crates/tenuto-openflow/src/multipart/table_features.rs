//! What tables can do (OpenFlow 1.3.5, section 7.3.5.5).

use crate::action::{Action, Instruction};
use crate::error::{ErrorCode, TableFeaturesFailed};
use crate::oxm::{CLASS_BASIC, Oxm, is_maskable, value_len};
use crate::text::FixedText;
use crate::wire::{Reader, Writer, padding};

/// `OFPXMC_EXPERIMENTER`: an experimenter id follows such a header.
const CLASS_EXPERIMENTER: u16 = 0xffff;
/// Type and length.
const HEADER_LEN: usize = 4;
const BAD_LEN: ErrorCode = ErrorCode::TableFeaturesFailed(TableFeaturesFailed::BadLen);

/// Numbers of properties (`enum ofp_table_feature_prop_type`); the next odd one of those that come
/// in pairs is that of table-miss entries.
mod property {
    pub(super) const INSTRUCTIONS: u16 = 0;
    pub(super) const NEXT_TABLES: u16 = 2;
    pub(super) const WRITE_ACTIONS: u16 = 4;
    pub(super) const APPLY_ACTIONS: u16 = 6;
    pub(super) const MATCH: u16 = 8;
    pub(super) const WILDCARDS: u16 = 10;
    pub(super) const WRITE_SETFIELD: u16 = 12;
    pub(super) const APPLY_SETFIELD: u16 = 14;
    pub(super) const EXPERIMENTER: u16 = 0xfffe;
}

/// A table and what it can do (`ofp_table_features`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableFeatures {
    /// The table.
    pub table_id: u8,
    /// Its name.
    pub name: FixedText<32>,
    /// Metadata bits that it can match.
    pub metadata_match: u64,
    /// Metadata bits that it can write.
    pub metadata_write: u64,
    /// Deprecated bits (`OFPTC_*`).
    pub config: u32,
    /// How many entries it can have.
    pub max_entries: u32,
    /// What else it can do.
    pub properties: Vec<TableProperty>,
}

/// The type of an instruction or action.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FeatureId {
    /// Its number (`OFPIT_*` or `OFPAT_*`).
    pub type_: u16,
    /// What follows: an experimenter's id and more; padding, where a peer pads.
    pub data: Vec<u8>,
}

/// A match field as a header without payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OxmId {
    /// The class (`OFPXMC_*`).
    pub class: u16,
    /// The field number within the class, 7 bits.
    pub field: u8,
    /// Whether it can be masked.
    pub has_mask: bool,
    /// The length of the payload that it would have, bytes.
    pub payload_len: u8,
    /// The experimenter, in the experimenter class only.
    pub experimenter: Option<u32>,
}

/// A property of a table (`ofp_table_feature_prop_header`). `miss` says that it is about the
/// table-miss entry, where it differs from the others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TableProperty {
    /// Instructions that entries can have.
    Instructions {
        /// Of the table-miss entry.
        miss: bool,
        /// Which ones.
        ids: Vec<FeatureId>,
    },
    /// Tables that entries can go to.
    NextTables {
        /// Of the table-miss entry.
        miss: bool,
        /// Which ones.
        tables: Vec<u8>,
    },
    /// Actions that can be written to the action set.
    WriteActions {
        /// Of the table-miss entry.
        miss: bool,
        /// Which ones.
        ids: Vec<FeatureId>,
    },
    /// Actions that can be applied.
    ApplyActions {
        /// Of the table-miss entry.
        miss: bool,
        /// Which ones.
        ids: Vec<FeatureId>,
    },
    /// Fields that can be matched.
    Match(Vec<OxmId>),
    /// Fields that may be left out of a match.
    Wildcards(Vec<OxmId>),
    /// Fields that can be set in the action set.
    WriteSetField {
        /// Of the table-miss entry.
        miss: bool,
        /// Which ones.
        ids: Vec<OxmId>,
    },
    /// Fields that can be set at once.
    ApplySetField {
        /// Of the table-miss entry.
        miss: bool,
        /// Which ones.
        ids: Vec<OxmId>,
    },
    /// A property of an experimenter.
    Experimenter {
        /// Of the table-miss entry.
        miss: bool,
        /// The experimenter id.
        experimenter: u32,
        /// Its own type.
        exp_type: u32,
        /// What follows.
        data: Vec<u8>,
    },
    /// Any other property.
    Unknown {
        /// Its number (`OFPTFPT_*`).
        type_: u16,
        /// What follows the header, padding excluded.
        data: Vec<u8>,
    },
}

impl FeatureId {
    /// The type of an instruction or action of OpenFlow itself.
    pub const fn new(type_: u16) -> Self {
        Self { type_, data: Vec::new() }
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (type_, len) = (r.u16()?, usize::from(r.u16()?));
        let data = r.bytes(len.checked_sub(HEADER_LEN).ok_or(BAD_LEN)?)?.to_vec();
        Ok(Self { type_, data })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.tlv(self.type_, |w| w.bytes(&self.data));
    }
}

impl From<&Instruction> for FeatureId {
    fn from(instruction: &Instruction) -> Self {
        Self::new(instruction.type_())
    }
}

impl From<&Action> for FeatureId {
    fn from(action: &Action) -> Self {
        Self::new(action.type_())
    }
}

impl OxmId {
    /// A field of the basic class, with a mask where it may have one; `None` for a number that
    /// OpenFlow 1.3 does not define.
    pub fn basic(field: u8) -> Option<Self> {
        Self::with_mask(field, is_maskable(field))
    }

    /// A field of the basic class as a set-field action has it: without a mask.
    pub fn unmasked(field: u8) -> Option<Self> {
        Self::with_mask(field, false)
    }

    /// The header of a condition, as it is; `None` for a field that OpenFlow 1.3 does not define.
    pub fn of(oxm: &Oxm) -> Option<Self> {
        Self::with_mask(oxm.number()?, oxm.has_mask())
    }

    fn with_mask(field: u8, has_mask: bool) -> Option<Self> {
        let len = u8::try_from(value_len(field)?).ok()?;
        let payload_len = if has_mask { 2 * len } else { len };
        Some(Self { class: CLASS_BASIC, field, has_mask, payload_len, experimenter: None })
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (class, field_and_mask, payload_len) = (r.u16()?, r.u8()?, r.u8()?);
        let experimenter = if class == CLASS_EXPERIMENTER { Some(r.u32()?) } else { None };
        let (field, has_mask) = (field_and_mask >> 1, field_and_mask & 1 == 1);
        Ok(Self { class, field, has_mask, payload_len, experimenter })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.u16(self.class);
        w.u8(self.field << 1 | u8::from(self.has_mask));
        w.u8(self.payload_len);
        if let Some(experimenter) = self.experimenter {
            w.u32(experimenter);
        }
    }
}

impl TableProperty {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (type_, len) = (r.peek_u16(0)?, usize::from(r.peek_u16(2)?));
        if len < HEADER_LEN {
            return Err(BAD_LEN);
        }
        let mut body = r.part(len, BAD_LEN)?;
        body.skip(HEADER_LEN)?;
        let miss = type_ & 1 == 1;
        let read = match type_ & !1 {
            property::INSTRUCTIONS => Self::Instructions { miss, ids: body.list(FeatureId::read)? },
            property::NEXT_TABLES => Self::NextTables { miss, tables: body.rest().to_vec() },
            property::WRITE_ACTIONS => {
                Self::WriteActions { miss, ids: body.list(FeatureId::read)? }
            }
            property::APPLY_ACTIONS => {
                Self::ApplyActions { miss, ids: body.list(FeatureId::read)? }
            }
            property::MATCH if !miss => Self::Match(body.list(OxmId::read)?),
            property::WILDCARDS if !miss => Self::Wildcards(body.list(OxmId::read)?),
            property::WRITE_SETFIELD => Self::WriteSetField { miss, ids: body.list(OxmId::read)? },
            property::APPLY_SETFIELD => Self::ApplySetField { miss, ids: body.list(OxmId::read)? },
            property::EXPERIMENTER => {
                let (experimenter, exp_type) = (body.u32()?, body.u32()?);
                Self::Experimenter { miss, experimenter, exp_type, data: body.rest().to_vec() }
            }
            _ => Self::Unknown { type_, data: body.rest().to_vec() },
        };
        // The length leaves the padding out, as that of a match does.
        r.skip(padding(len))?;
        Ok(read)
    }

    /// The number of the property (`OFPTFPT_*`).
    pub fn type_(&self) -> u16 {
        let of = |even: u16, miss: &bool| even | u16::from(*miss);
        match self {
            Self::Instructions { miss, .. } => of(property::INSTRUCTIONS, miss),
            Self::NextTables { miss, .. } => of(property::NEXT_TABLES, miss),
            Self::WriteActions { miss, .. } => of(property::WRITE_ACTIONS, miss),
            Self::ApplyActions { miss, .. } => of(property::APPLY_ACTIONS, miss),
            Self::Match(_) => property::MATCH,
            Self::Wildcards(_) => property::WILDCARDS,
            Self::WriteSetField { miss, .. } => of(property::WRITE_SETFIELD, miss),
            Self::ApplySetField { miss, .. } => of(property::APPLY_SETFIELD, miss),
            Self::Experimenter { miss, .. } => of(property::EXPERIMENTER, miss),
            Self::Unknown { type_, .. } => *type_,
        }
    }

    fn write(&self, w: &mut Writer<'_>) {
        let start = w.tlv(self.type_(), |w| match self {
            Self::Instructions { ids, .. }
            | Self::WriteActions { ids, .. }
            | Self::ApplyActions { ids, .. } => ids.iter().for_each(|id| id.write(w)),
            Self::NextTables { tables, .. } => w.bytes(tables),
            Self::Match(ids)
            | Self::Wildcards(ids)
            | Self::WriteSetField { ids, .. }
            | Self::ApplySetField { ids, .. } => ids.iter().for_each(|id| id.write(w)),
            Self::Experimenter { experimenter, exp_type, data, .. } => {
                w.u32(*experimenter);
                w.u32(*exp_type);
                w.bytes(data);
            }
            Self::Unknown { data, .. } => w.bytes(data),
        });
        w.pad(start);
    }
}

impl TableFeatures {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        // Running out of the message is as much a length problem of the features as of it.
        let mut whole = Reader::new(r.rest(), BAD_LEN);
        let len = usize::from(whole.peek_u16(0)?);
        let mut body = whole.part(len, BAD_LEN)?;
        *r = Reader::new(whole.rest(), r.bad_len());
        body.skip(2)?;
        let table_id = body.u8()?;
        body.skip(5)?;
        Ok(Self {
            table_id,
            name: FixedText(body.array()?),
            metadata_match: body.u64()?,
            metadata_write: body.u64()?,
            config: body.u32()?,
            max_entries: body.u32()?,
            properties: body.list(TableProperty::read)?,
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.zeros(2);
        w.u8(self.table_id);
        w.zeros(5);
        w.bytes(&self.name.0);
        w.u64(self.metadata_match);
        w.u64(self.metadata_write);
        w.u32(self.config);
        w.u32(self.max_entries);
        self.properties.iter().for_each(|property| property.write(w));
        w.set_len(start, start);
    }
}
