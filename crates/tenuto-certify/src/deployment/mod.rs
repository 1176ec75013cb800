//! What is enforced: tables, meters, monitors and end systems against what was analysed.

pub(crate) mod end_systems;
pub(crate) mod header;
pub(crate) mod header_index;
pub(crate) mod installed;
pub(crate) mod policing;
pub(crate) mod switches;
pub(crate) mod table_use;
pub(crate) mod tables;
pub(crate) mod visit;
pub(crate) mod waiting;
pub(crate) mod walk;
