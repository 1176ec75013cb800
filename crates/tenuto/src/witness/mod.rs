//! Witnesses: schedules that come close to certified bounds, searched, replayed in the switch core, told and drawn.

pub(crate) mod document;
pub(crate) mod gantt;
mod hop_delays;
pub(crate) mod hunt;
pub(crate) mod replay;
pub(crate) mod schedule_file;
pub(crate) mod terms;
pub(crate) mod text;
