//! The rows of a plan: every claim against what the description implies.

pub(crate) mod analysis;
pub(crate) mod bounds;
pub(crate) mod context;
pub(crate) mod drain;
pub(crate) mod dropping;
pub(crate) mod ends;
pub(crate) mod group;
pub(crate) mod inequality;
pub(crate) mod mode_change;
pub(crate) mod nested;
pub(crate) mod port_rows;
pub(crate) mod processor;
pub(crate) mod processor_rows;
pub(crate) mod purged;
pub(crate) mod raise;
pub(crate) mod settling;
pub(crate) mod states;
pub(crate) mod stepped;
pub(crate) mod whole_path;
