//! `tenuto bench switch`: what the switch costs, and how exact, quick and undisturbed it is.

mod babbling;
mod babbling_live;
mod changes;
mod changes_live;
mod changes_peers;
mod figures;
mod live;
mod networks;
mod pipeline;

use super::sheet::{Form, show};
use crate::args::switch_processes;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use tenuto_runtime::SwitchProcesses;

#[derive(Debug, Args)]
pub(crate) struct Switch {
    /// These parts alone, separated by commas; without it, all
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    only: Vec<Part>,
    /// Repetitions of whatever is timed; they take turns
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeat: u32,
    /// Mode changes, over all networks together
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(12..=1_000_000))]
    changes: u32,
    /// Live mode changes of each network by its switches, and as many by a controller
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    live_changes: u32,
    /// In live mode changes: a process for each switch, or one whose thread never sleeps
    #[arg(long, value_name = "HOW", value_parser = switch_processes, default_value = "together")]
    live_switches: SwitchProcesses,
    /// Live mode changes on these networks alone, such as star-1,grid-50,linear-100+; without it, all twelve
    #[arg(long, value_name = "NETWORKS", value_delimiter = ',')]
    live_networks: Vec<String>,
    /// Length of a window of live forwarding, ms
    #[arg(long, value_name = "MS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(20..=500))]
    window: u64,
    /// Folder for the figures, as SVG
    #[arg(long, value_name = "DIR")]
    pub(super) figures: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Processor time of a frame, from 1 to 10,000 virtual links
    Pipeline,
    /// Flow-mods per second in a table of 100,000 entries
    Updates,
    /// What meters pass of an overload, 1 kbit/s to 1 Gbit/s, in virtual time
    Meters,
    /// Changes of mode on MC-SDN's topologies in virtual time, beside a controller's
    Changes,
    /// The same with real frames and a controller over TCP, about 5 minutes; needs namespaces
    ChangesLive,
    /// What an end system that sends too much does to another, in virtual time
    Babbling,
    /// The same on veth pairs, beside the bound and what this machine adds; needs namespaces
    BabblingLive,
    /// Rate and delay on veth pairs beside the bare ports and Open vSwitch; needs namespaces
    Live,
    /// Delay alone on AF_XDP ports and our switch's usual ones, in many windows; only if named; needs
    /// namespaces
    Tails,
    /// Delay against the number of flows, 1 to 2000, on veth pairs; needs namespaces
    Flows,
}

pub(super) fn run(args: &Switch) -> Result<Outcome, Failure> {
    let mut line = Progress::new();
    let mut progress = |text: &str| line.say(|| text.to_owned());
    let has = |part| args.only.is_empty() || args.only.contains(&part);
    let mut sheets = Vec::new();
    if has(Part::Pipeline) {
        sheets.extend(pipeline::costs(args.repeat, &mut progress));
    }
    if has(Part::Updates) {
        sheets.extend(pipeline::updates(args.repeat.min(3), &mut progress));
    }
    if has(Part::Meters) {
        sheets.push(pipeline::meters(&mut progress));
    }
    let mut outcome = Outcome::Good;
    if has(Part::Changes) {
        let (sheet, kept) = changes::sheet(args.changes, &mut progress)?;
        sheets.push(sheet);
        outcome = if kept { outcome } else { Outcome::Bad };
    }
    if has(Part::ChangesLive) {
        let of = changes_live::Wanted {
            raises: args.live_changes,
            switches: args.live_switches,
            networks: &args.live_networks,
        };
        let (live, ended) = changes_live::sheets(of, &mut progress)?;
        sheets.extend(live);
        outcome = if outcome == Outcome::Good { ended } else { outcome };
    }
    let figures = figures::Figures(args.figures.clone());
    if has(Part::Babbling) {
        let (sheet, kept) = babbling::sheet(&figures, &mut progress)?;
        sheets.push(sheet);
        outcome = if kept { outcome } else { Outcome::Bad };
    }
    if has(Part::Live) {
        sheets.extend(live::rates(args.repeat, args.window, &mut progress)?);
    }
    if args.only.contains(&Part::Tails) {
        sheets.extend(live::tails(args.repeat, args.window, &mut progress)?);
    }
    if has(Part::Flows) {
        sheets.push(live::flows(args.repeat, args.window, &figures, &mut progress)?);
    }
    if has(Part::BabblingLive) {
        sheets.push(babbling_live::sheet(args.repeat, args.window, &mut progress)?);
    }
    drop(line);
    let shown = show("switch", Some(changes::SEED), &sheets, &args.form)?;
    Ok(if outcome == Outcome::Good { shown } else { outcome })
}
