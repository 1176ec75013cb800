//! What a general switch can do, as it tells its controllers (OpenFlow 1.3.5, sections 7.3.5.5,
//! 7.3.5.10 and 7.3.5.13).

use crate::switch::Switch;
use std::collections::BTreeSet;
use tenuto_openflow::constants::{group_capability, meter_band_type, meter_flag};
use tenuto_openflow::{
    Action, ErrorCode, FeatureId, FixedText, GroupFeatures, Instruction, MeterFeatures, OxmId,
    TableFeatures, TableFeaturesFailed, TableProperty,
};

/// Fields of the basic class.
const FIELDS: std::ops::Range<u8> = 0..40;
/// Fields that only the pipeline writes: ports, metadata, and what headers there are.
const READ_ONLY: [u8; 4] = [0, 1, 2, 39];

/// One action of each type that it takes on.
fn actions() -> Vec<Action> {
    vec![
        Action::Output { port: 0, max_len: 0 },
        Action::CopyTtlOut,
        Action::CopyTtlIn,
        Action::SetMplsTtl(0),
        Action::DecMplsTtl,
        Action::PushVlan(0),
        Action::PopVlan,
        Action::PushMpls(0),
        Action::PopMpls(0),
        Action::SetQueue(0),
        Action::Group(0),
        Action::SetNwTtl(0),
        Action::DecNwTtl,
        Action::SetField(tenuto_openflow::Oxm::InPort(0)),
        Action::PushPbb(0),
        Action::PopPbb,
    ]
}

fn instructions(is_last: bool) -> Vec<FeatureId> {
    let mut list = vec![
        Instruction::WriteMetadata { metadata: 0, mask: 0 },
        Instruction::WriteActions(Vec::new()),
        Instruction::ApplyActions(Vec::new()),
        Instruction::ClearActions,
        Instruction::Meter(0),
    ];
    if !is_last {
        list.insert(0, Instruction::GotoTable(0));
    }
    list.iter().map(FeatureId::from).collect()
}

/// Whether a table does all that is wanted of one.
fn covers(known: &TableFeatures, wanted: &TableFeatures) -> Result<(), TableFeaturesFailed> {
    if wanted.max_entries > known.max_entries {
        return Err(TableFeaturesFailed::Eperm);
    }
    wanted.properties.iter().try_for_each(|property| covers_property(known, property))
}

/// The same of a property. What a table-miss entry can do is what every entry can.
fn covers_property(
    known: &TableFeatures,
    wanted: &TableProperty,
) -> Result<(), TableFeaturesFailed> {
    use TableProperty as P;
    let of = |other: &P| std::mem::discriminant(other) == std::mem::discriminant(wanted);
    let ours = known.properties.iter().find(|other| of(other));
    let is_covered = match (ours, wanted) {
        (Some(P::Instructions { ids, .. }), P::Instructions { ids: wanted, .. })
        | (Some(P::WriteActions { ids, .. }), P::WriteActions { ids: wanted, .. })
        | (Some(P::ApplyActions { ids, .. }), P::ApplyActions { ids: wanted, .. }) => {
            // Experimenters' are told apart by what follows; padding is nothing.
            let is_ours = |id: &FeatureId| ids.iter().any(|known| known.type_ == id.type_);
            wanted.iter().all(is_ours)
        }
        (Some(P::NextTables { tables, .. }), P::NextTables { tables: wanted, .. }) => {
            wanted.iter().all(|table| tables.contains(table))
        }
        (Some(P::Match(ids)), P::Match(wanted)) => wanted.iter().all(|id| can_match(ids, id)),
        // Whether a field is left out says nothing of masks.
        (Some(P::Wildcards(ids)), P::Wildcards(wanted)) => {
            wanted.iter().all(|id| ids.iter().any(|known| is_same_field(known, id)))
        }
        (Some(P::WriteSetField { ids, .. }), P::WriteSetField { ids: wanted, .. })
        | (Some(P::ApplySetField { ids, .. }), P::ApplySetField { ids: wanted, .. }) => {
            wanted.iter().all(|id| can_match(ids, id))
        }
        _ => return Err(TableFeaturesFailed::BadType),
    };
    if is_covered { Ok(()) } else { Err(TableFeaturesFailed::BadArgument) }
}

fn is_same_field(one: &OxmId, other: &OxmId) -> bool {
    (one.class, one.field) == (other.class, other.field)
}

/// Whether a field is among those that are known, and its mask if it asks for one.
fn can_match(known: &[OxmId], wanted: &OxmId) -> bool {
    known.iter().any(|id| is_same_field(id, wanted) && (id.has_mask || !wanted.has_mask))
}

impl Switch {
    /// What every table can do. Tables stay as they are: a request for what they can do, or for less,
    /// is met by what they are (section 7.3.5.5.1: a superset of what is asked for, or equal to it).
    pub(super) fn table_features(
        &self,
        wanted: &[TableFeatures],
    ) -> Result<Vec<TableFeatures>, ErrorCode> {
        let ours: Vec<_> = (0..self.config.tables).map(|id| self.features_of(id)).collect();
        let mut given = BTreeSet::new();
        for table in wanted {
            let known = ours.get(usize::from(table.table_id));
            let known = known.filter(|_| given.insert(table.table_id));
            covers(known.ok_or(TableFeaturesFailed::BadTable)?, table)?;
        }
        Ok(ours)
    }

    fn features_of(&self, table_id: u8) -> TableFeatures {
        let last = self.config.tables - 1;
        let actions: Vec<FeatureId> = actions().iter().map(FeatureId::from).collect();
        let fields: Vec<OxmId> = FIELDS.filter_map(OxmId::basic).collect();
        // Whether a field is left out says nothing of masks; Open vSwitch refuses one here.
        let omitted: Vec<OxmId> = FIELDS.filter_map(OxmId::unmasked).collect();
        // A field is set whole.
        let settable: Vec<OxmId> =
            FIELDS.filter(|field| !READ_ONLY.contains(field)).filter_map(OxmId::unmasked).collect();
        let ids = instructions(table_id == last);
        TableFeatures {
            table_id,
            name: FixedText::new(&format!("table{table_id}")),
            metadata_match: u64::MAX,
            metadata_write: u64::MAX,
            config: 0,
            max_entries: u32::try_from(self.config.entries_max).unwrap_or(u32::MAX),
            properties: vec![
                TableProperty::Instructions { miss: false, ids },
                TableProperty::NextTables {
                    miss: false,
                    tables: (table_id + 1..self.config.tables).collect(),
                },
                TableProperty::WriteActions { miss: false, ids: actions.clone() },
                TableProperty::ApplyActions { miss: false, ids: actions },
                TableProperty::Match(fields),
                TableProperty::Wildcards(omitted),
                TableProperty::WriteSetField { miss: false, ids: settable.clone() },
                TableProperty::ApplySetField { miss: false, ids: settable },
            ],
        }
    }

    pub(super) fn group_features(&self) -> GroupFeatures {
        let groups = u32::try_from(self.config.groups_max).unwrap_or(u32::MAX);
        let actions = actions().iter().fold(0, |bits, action| bits | 1 << action.type_());
        GroupFeatures {
            types: 0b1111,
            capabilities: group_capability::SELECT_WEIGHT
                | group_capability::SELECT_LIVENESS
                | group_capability::CHAINING
                | group_capability::CHAINING_CHECKS,
            max_groups: [groups; 4],
            actions: [actions; 4],
        }
    }

    pub(super) fn meter_features(&self) -> MeterFeatures {
        let bands_max = self.config.general.as_ref().map_or(1, |general| general.bands_max);
        MeterFeatures {
            max_meter: u32::try_from(self.config.meters_max).unwrap_or(u32::MAX),
            band_types: 1 << meter_band_type::DROP | 1 << meter_band_type::DSCP_REMARK,
            capabilities: (meter_flag::KBPS
                | meter_flag::PKTPS
                | meter_flag::BURST
                | meter_flag::STATS)
                .into(),
            max_bands: bands_max,
            max_color: 0,
        }
    }
}
