//! Formulas of the papers as they print them: shown beside ours, never part of a plan.
//!
//! Silo and QJump assume that switches process frames at line rate and that ports do not disturb one
//! another (\[Loko\] section 2.3): not valid for switches whose ports share a processor.

pub mod attendre;
pub mod mc_sdn;
pub mod networks;
pub mod qjump;
pub mod silo;
