//! Where frames may leave, as far as entries say.

use super::Switch;
use super::tables::entry::ActionStep;

impl Switch {
    /// Whether some entry sends through a port that is wanted, or through a group, whose ports are not looked at.
    pub fn has_output(&self, wanted: impl Fn(u32) -> bool) -> bool {
        let sends = |step: &ActionStep| match *step {
            ActionStep::Output(port) => wanted(port),
            ActionStep::Group(_) => true,
            _ => false,
        };
        let places = (0..self.tables.levels())
            .flat_map(|level| (0..self.config.tables).map(move |table| (level, table)));
        let mut tables = places.filter_map(|(level, table)| self.tables.get(level, table));
        tables.any(|state| {
            let mut entries = state.table().entries().with_slots();
            entries.any(|(_, entry)| entry.has_step(sends))
        })
    }
}
