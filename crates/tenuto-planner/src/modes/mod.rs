//! Mode changes: how long they take, what they leave behind, and when a return is safe.

pub(crate) mod drain;
pub(crate) mod dropping;
pub(crate) mod mode_change;
pub(crate) mod processor_changes;
pub(crate) mod settling;
pub(crate) mod witnesses;
