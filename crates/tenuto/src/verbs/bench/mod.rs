//! `tenuto bench NAME`: tables and figures of the papers, computed here and held against the print;
//! and measurements of our own parts.

mod admission;
mod allocations;
mod attendre_delay;
mod attendre_figures;
mod attendre_verify;
mod controller;
mod distribution_picture;
mod hosting;
mod loko;
mod loko_admission;
mod loko_order;
mod mc_sdn;
mod papers;
mod sheet;
mod switch;
mod switch_use;
mod tcp_setup;

use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Place;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    name: Name,
}

#[derive(Debug, Subcommand)]
enum Name {
    /// Switch models and allocation: Table 2, Figs. 14 and 20, Silo and QJump, allocations
    Loko(loko::Loko),
    /// How many flows a network holds, how fast that is decided, and whether an audit agrees
    Admission(crate::args::BenchAdmission),
    /// First packet of a flow with OpenFlow, barriers and Attendre (its Fig. 10)
    AttendreDelay(sheet::Form),
    /// What verification costs with OpenFlow, barriers and Attendre (its Tables II, III, Fig. 8)
    AttendreVerify(attendre_verify::AttendreVerify),
    /// How long connections wait for their entries with OpenFlow, barriers and Attendre (its Fig. 9)
    TcpSetup(tcp_setup::TcpSetup),
    /// Speed, exactness and mode changes of the switch
    Switch(switch::Switch),
    /// What it costs controllers to answer, ours beside others; what the service does with flows
    Controller(controller::Controller),
    /// Sandboxes of tenants: how quickly they are there
    Hosting(hosting::Hosting),
    /// Bound of a mode change (MC-SDN's Tables II and III, Fig. 6b)
    McSdn(sheet::Form),
    /// Figures of the papers measured on virtual devices and in virtual time, in one HTML file
    Papers(papers::Papers),
}

pub(crate) fn run(args: &Bench) -> Result<Outcome, Failure> {
    match &args.name {
        Name::Loko(it) => loko::run(it),
        Name::Admission(it) => admission::run(it),
        Name::AttendreDelay(form) => attendre_delay::run(form),
        Name::AttendreVerify(it) => attendre_verify::run(it),
        Name::TcpSetup(it) => tcp_setup::run(it),
        Name::Switch(it) => switch::run(it),
        Name::Controller(it) => controller::run(it),
        Name::Hosting(it) => hosting::run(it),
        Name::McSdn(form) => mc_sdn::run(form),
        Name::Papers(it) => papers::run(it),
    }
}

impl Bench {
    /// Files and folders that it is going to write.
    pub(crate) fn places(&self) -> Vec<Place<'_>> {
        match &self.name {
            Name::Admission(it) => it.plan.iter().map(|it| Place::File(it)).collect(),
            Name::AttendreVerify(it) => it.figures.iter().map(|it| Place::Folder(it)).collect(),
            Name::TcpSetup(it) => it.picture.iter().map(|it| Place::File(it)).collect(),
            Name::Switch(it) => it.figures.iter().map(|it| Place::Folder(it)).collect(),
            Name::Papers(it) => it.output.iter().map(|it| Place::File(it)).collect(),
            Name::Loko(_)
            | Name::AttendreDelay(_)
            | Name::Controller(_)
            | Name::Hosting(_)
            | Name::McSdn(_) => Vec::new(),
        }
    }

    pub(crate) const fn wants_json(&self) -> bool {
        match &self.name {
            Name::Admission(it) => it.json,
            Name::Loko(it) => it.form.json,
            Name::AttendreVerify(it) => it.form.json,
            Name::TcpSetup(it) => it.form.json,
            Name::Switch(it) => it.form.json,
            Name::Controller(it) => it.form.json,
            Name::Hosting(it) => it.form.json,
            Name::Papers(it) => it.form.json,
            Name::AttendreDelay(form) | Name::McSdn(form) => form.json,
        }
    }
}
