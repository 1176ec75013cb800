//! The verbs: each reads its input, asks the crates below, and prints.

mod certify;
mod check;
mod import;
mod plan;
mod report;
mod sim;
mod tables;

use crate::args::Verb;
use crate::failure::Failure;
use crate::outcome::Outcome;

/// Does what was asked.
pub(crate) fn run(verb: Verb) -> Result<Outcome, Failure> {
    match verb {
        Verb::Check(it) => check::run(&it),
        Verb::Import(it) => import::run(&it),
        Verb::Plan(it) => plan::run(&it),
        Verb::Tables(it) => tables::run(&it),
        Verb::Certify(it) => certify::run(&it),
        Verb::Sim(it) => sim::run(&it),
        Verb::Report(it) => report::run(&it),
    }
}
