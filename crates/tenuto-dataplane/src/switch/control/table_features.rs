//! What the tables of a general switch can do, and which of them are in the pipeline (OpenFlow 1.3.5,
//! section 7.3.5.5).
//!
//! A request that describes tables says which are to be in the pipeline: those that it leaves out are
//! taken away with their entries, of which nobody hears, and those that it names are there again. What
//! a table can do never changes, so entries of tables that stay are left alone. An entry that leads to
//! a table that is gone finds nothing there, as in an empty one.

use super::features::actions;
use super::task::{Sweep, Task};
use super::{Done, Request};
use crate::Effects;
use crate::switch::tables::table_set::TableSet;
use crate::switch::{Switch, SwitchEvent};
use tenuto_openflow::{
    Body, ErrorCode, FeatureId, FixedText, Instruction, MultipartReply, OxmId, ReplyBody,
    TableFeatures, TableFeaturesFailed, TableProperty,
};

/// Fields of the basic class.
const FIELDS: std::ops::Range<u8> = 0..40;
/// Fields that only the pipeline writes: ports, metadata, and what headers there are.
const READ_ONLY: [u8; 4] = [0, 1, 2, 39];

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
    /// Whether there is such a table, and it is in the pipeline.
    pub(in crate::switch) fn has_table(&self, table: u8) -> bool {
        let is_withdrawn = || self.general.as_ref().is_some_and(|it| it.withdrawn.contains(table));
        table < self.config.tables && !is_withdrawn()
    }

    /// Tells what the tables in the pipeline can do, once these are those that a request describes, if
    /// it describes any.
    pub(super) fn read_table_features(
        &mut self,
        request: Request,
        wanted: &[TableFeatures],
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        if !wanted.is_empty() {
            let pipeline = self.checked_pipeline(wanted)?;
            let withdrawn = pipeline.others_below(self.config.tables);
            if let Some(general) = &mut self.general {
                general.withdrawn = withdrawn;
            }
        }
        let left_over = self.entries_withdrawn();
        let is_long = self.entries_at_once().is_some_and(|limit| left_over > limit);
        let task = Task::Withdraw(Sweep::default());
        let now = if is_long { self.note_down(request, task) } else { Some(task) };
        if let Some(Task::Withdraw(mut sweep)) = now {
            while !self.withdraw_on(request, &mut sweep, fx) {}
        }
        Ok(())
    }

    /// The tables that a request describes, if each can do what it asks for: what they can do is a
    /// superset of that, or equal to it (section 7.3.5.5.1).
    fn checked_pipeline(&self, wanted: &[TableFeatures]) -> Result<TableSet, ErrorCode> {
        use TableFeaturesFailed as F;
        // Entries that go for another request must not take those of a table with them that is back.
        if !self.policy.may_change_tables || self.is_withdrawing() {
            return Err(F::Eperm.into());
        }
        let mut pipeline = TableSet::default();
        for table in wanted {
            if table.table_id >= self.config.tables || !pipeline.insert(table.table_id) {
                return Err(F::BadTable.into());
            }
        }
        // Every frame begins there (section 5.1).
        if !pipeline.contains(0) {
            return Err(F::BadTable.into());
        }
        for table in wanted {
            covers(&self.features_of(table.table_id, pipeline), table)?;
        }
        Ok(pipeline)
    }

    fn is_withdrawing(&self) -> bool {
        self.general
            .as_ref()
            .is_some_and(|general| general.works.values().any(super::task::LongWork::is_withdrawal))
    }

    /// Entries of all levels in tables that are not in the pipeline.
    fn entries_withdrawn(&self) -> usize {
        let levels = 0..self.tables.levels();
        let places = levels.flat_map(|level| (0..self.config.tables).map(move |id| (level, id)));
        let gone = places.filter(|&(_, table)| !self.has_table(table));
        let state = |(level, table)| self.tables.get(level, table);
        gone.filter_map(state).map(|state| state.table().entries().len()).sum()
    }

    /// Removes the next entries of withdrawn tables, and tells of the tables when none is left; true if
    /// that is done.
    pub(super) fn withdraw_on(
        &mut self,
        request: Request,
        at: &mut Sweep,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        // Nobody hears of it: the section says so.
        let is_done = self.sweep(at, |switch, _, table| !switch.has_table(table));
        if is_done {
            self.tell_tables(request, fx);
        }
        is_done
    }

    fn tell_tables(&self, request: Request, fx: &mut Effects<SwitchEvent>) {
        let withdrawn = self.general.as_ref().map_or_else(TableSet::default, |it| it.withdrawn);
        let pipeline = withdrawn.others_below(self.config.tables);
        let ids = (0..self.config.tables).filter(|&id| pipeline.contains(id));
        let tables = ids.map(|id| self.features_of(id, pipeline)).collect();
        let reply = MultipartReply { flags: 0, body: ReplyBody::TableFeatures(tables) };
        for part in reply.split() {
            self.answer(request, Body::MultipartReply(part), fx);
        }
    }

    /// What a table can do in a pipeline of these tables.
    fn features_of(&self, table_id: u8, pipeline: TableSet) -> TableFeatures {
        let actions: Vec<FeatureId> = actions().iter().map(FeatureId::from).collect();
        let fields: Vec<OxmId> = FIELDS.filter_map(OxmId::basic).collect();
        // Whether a field is left out says nothing of masks; Open vSwitch refuses one here.
        let omitted: Vec<OxmId> = FIELDS.filter_map(OxmId::unmasked).collect();
        // A field is set whole.
        let settable: Vec<OxmId> =
            FIELDS.filter(|field| !READ_ONLY.contains(field)).filter_map(OxmId::unmasked).collect();
        let ids = instructions(pipeline.last() == Some(table_id));
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
                    tables: (table_id..self.config.tables)
                        .filter(|&other| other > table_id && pipeline.contains(other))
                        .collect(),
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
}
