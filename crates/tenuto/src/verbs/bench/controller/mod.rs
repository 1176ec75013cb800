//! `tenuto bench controller`: what answers cost controllers, ours beside others, and what the service does with flows.

mod packet_in;
mod running;
mod service;
mod take_over;

use super::sheet::{Form, show};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Controller {
    /// These parts alone, separated by commas; without it, all
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    only: Vec<Part>,
    /// Emulated switches
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    switches: u32,
    /// Questions of each switch at a time, windowed
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    window: u32,
    /// How long each load lasts, ms
    #[arg(long, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    lasts: u64,
    /// Open loop: questions a second; without it, half of what was answered windowed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rate: Option<u64>,
    /// Repetitions; controllers take turns
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeat: u32,
    /// Our controller from this program, such as another build; without it, from this one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// One question of each switch at a time
    Latency,
    /// So many of each at a time
    Windowed,
    /// Questions at a rate, delays from when they were due
    OpenLoop,
    /// Adds, batches, what-ifs and a restart of the service, through REST to switches over TCP
    Service,
    /// The controller that leads is killed, and another one takes over, behind a real etcd
    TakeOver,
}

pub(super) fn run(args: &Controller) -> Result<Outcome, Failure> {
    let mut line = Progress::new();
    let mut progress = |text: &str| line.say(|| text.to_owned());
    let mut sheets = Vec::new();
    sheets.extend(packet_in::sheet(args, &mut progress)?);
    if args.has(Part::Service) {
        sheets.push(service::sheet(&args.program()?, &mut progress)?);
    }
    if args.has(Part::TakeOver) {
        sheets.push(take_over::sheet(&args.program()?, &mut progress)?);
    }
    drop(line);
    show("controller", None, &sheets, &args.form)
}

impl Controller {
    fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    /// The program that is measured.
    fn program(&self) -> Result<PathBuf, Failure> {
        let own = || {
            let own = std::env::current_exe();
            own.map_err(|error| Failure::undecidable(error.to_string(), None))
        };
        self.program.clone().map_or_else(own, Ok)
    }
}
