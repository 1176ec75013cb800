//! `tenuto bench papers`: figures of the papers, ours beside the print, in one HTML file.

mod braking;
mod controller_driven;
mod figure;
mod loko;
mod page;
mod plot;

use super::sheet::{Form, Sheet, show};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output;
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use figure::Figure;
use loko::Length;
use std::path::PathBuf;
use tenuto_units::Span;

#[derive(Debug, Args)]
pub(crate) struct Papers {
    /// These parts only; without it, all
    #[arg(long, value_name = "PART,PART", value_delimiter = ',')]
    only: Vec<Part>,
    /// HTML file of all figures to write
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Runs of each case of Loko's figures; the paper has 30
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    runs: u64,
    /// Runs of 2 s instead of the paper's 10 s
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Loko's Figs. 3, 15, 17 to 19
    Loko,
    /// MC-SDN's change by a controller (Fig. 2, Table I)
    ControllerDriven,
    /// MC-SDN's emergency braking (Fig. 10, Table IV)
    Braking,
}

pub(super) fn run(args: &Papers) -> Result<Outcome, Failure> {
    let has = |part| args.only.is_empty() || args.only.contains(&part);
    let mut line = Progress::new();
    let mut progress = |what: &str| line.say(|| what.to_owned());
    let mut figures: Vec<Figure> = Vec::new();
    if has(Part::Loko) {
        let each = if args.quick { Span::from_s(2) } else { Span::from_s(10) };
        figures.extend(loko::figures(Length { runs: args.runs, each }, &mut progress));
    }
    if has(Part::ControllerDriven) {
        figures.push(controller_driven::figure(&mut progress)?);
    }
    if has(Part::Braking) {
        figures.push(braking::figure(&mut progress)?);
    }
    drop(line);
    let written = match &args.output {
        Some(path) => output::write_file(path, &page::page(&figures)),
        None => Ok(()),
    };
    let both = |it: &Figure| [it.statements(), it.values.clone()];
    let sheets: Vec<Sheet> = figures.iter().flat_map(both).collect();
    let outcome = show("papers", Some(1), &sheets, &args.form)?;
    Ok(Failure::unkept(written, outcome))
}
