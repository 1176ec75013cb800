//! Deaths: the run goes on, and nothing is left behind.

pub(crate) fn a_killed_switch_does_not_end_the_run() {}
