//! The path of all frames that match an entry of the first table: compiled once, then reused.

pub(in crate::switch) mod action_program;
pub(in crate::switch) mod burst;
pub(in crate::switch) mod cached_path;
pub(in crate::switch) mod compile;
pub(in crate::switch) mod invalidation;
pub(in crate::switch) mod meter_monitor_store;
pub(in crate::switch) mod run;
pub(in crate::switch) mod run_program;
pub(in crate::switch) mod store;
