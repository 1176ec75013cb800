//! An adversary of certified bounds on random networks: plan, certify, attack, report.
//!
//! Frames are played and schedules are searched by `tenuto-witness`, which has not read the analysis.
//!
//! | module | concept |
//! |---|---|
//! | [`draw`] | random networks |
//! | [`agreement`] | the checker beside the proved one, on plans with lower claims, too |
//! | [`campaign`] | plan, certify, attack, and what was seen beside what was certified |
//! | [`finding`] | a broken promise as a file that can be played again |

pub mod agreement;
pub mod campaign;
pub mod draw;
pub mod finding;
