//! The passes of planning, each over what the passes before it have made.

pub(crate) mod analysed;
mod backup;
pub(crate) mod fitting;
pub(crate) mod planned;
pub(crate) mod priorities;
pub(crate) mod verdict;
