//! The verbs: each reads its input, asks the crates below, and prints.

pub(crate) mod app;
pub(crate) mod bench;
mod certify;
mod check;
mod completions;
pub(crate) mod controller;
mod controller_alarms;
mod controller_state;
pub(crate) mod controller_tls;
mod doctor;
pub(crate) mod dump;
mod exec;
mod explore;
mod explore_app;
pub(crate) mod explore_attendre;
mod export;
pub(crate) mod flow;
mod import;
mod on_network;
mod outputs;
mod plan;
pub(crate) mod profile;
pub(crate) mod proxy;
pub(crate) mod races;
mod report;
mod service_client;
pub(crate) mod show;
mod sim;
mod sim_app;
mod slow_auto;
mod supervisor;
pub(crate) mod switch;
mod switch_flags;
mod switch_slices;
mod tables;
pub(crate) mod tenants;
pub(crate) mod trace;
mod up;
mod witness;

use crate::args::Verb;
use crate::failure::Failure;
use std::process::ExitCode;

/// Does what was asked.
pub(crate) fn run(verb: Verb) -> Result<ExitCode, Failure> {
    outputs::check(&verb)?;
    let outcome = match verb {
        Verb::Check(it) => check::run(&it),
        Verb::Import(it) => import::run(&it),
        Verb::Export(it) => export::run(&it),
        Verb::Plan(it) => plan::run(&it),
        Verb::Tables(it) => tables::run(&it),
        Verb::Certify(it) => certify::run(&it),
        Verb::Sim(it) => match &it.application.app {
            Some(app) => sim_app::run(&it, app),
            None => sim::run(&it),
        },
        Verb::Witness(it) => witness::run(&it),
        Verb::Up(it) => up::run(&it),
        // The program's own exit code is passed on.
        Verb::Exec(it) => return exec::run(&it),
        Verb::App(it) => app::run(&it),
        Verb::Controller(it) => controller::run(&it),
        Verb::Flow(it) => flow::run(&it),
        Verb::Show(it) => show::run(&it),
        Verb::Switch(it) => switch::run(&it),
        Verb::Proxy(it) => proxy::run(&it),
        Verb::Tenants(it) => tenants::run(&it),
        Verb::Trace(it) => trace::run(&it),
        Verb::Races(it) => races::run(&it),
        Verb::Dump(it) => dump::run(&it),
        Verb::Profile(it) => profile::run(&it),
        Verb::Explore(it) => explore::run(&it),
        Verb::Report(it) => report::run(&it),
        Verb::Bench(it) => bench::run(&it),
        Verb::Doctor(it) => doctor::run(&it),
        Verb::Completions(it) => completions::completions(&it),
        Verb::Man(it) => completions::man(&it),
    };
    outcome.map(ExitCode::from)
}
