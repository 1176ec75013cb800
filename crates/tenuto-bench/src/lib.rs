//! An adversary of certified bounds on random networks: plan, certify, attack, report.
//!
//! Frames are played and schedules are searched by `tenuto-witness`, which has not read the analysis.
//!
//! | module | concept |
//! |---|---|
//! | [`draw`] | random networks |
//! | [`campaign`] | plan, certify, attack, and what was seen beside what was certified |
//! | [`finding`] | a broken promise as a file that can be played again |

pub mod campaign;
pub mod draw;
pub mod finding;
