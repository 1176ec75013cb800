//! `tenuto completions SHELL` and `tenuto man DIR`: what a shell and `man` know of the command line,
//! made of the same definitions as parser and help.

use crate::args::{Args, Completions, Man};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output;
use clap::CommandFactory;

pub(crate) fn completions(args: &Completions) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "tenuto", &mut script);
    output::say(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Good)
}

pub(crate) fn man(args: &Man) -> Result<Outcome, Failure> {
    output::make_folder(&args.folder)?;
    clap_mangen::generate_to(Args::command(), &args.folder)
        .map_err(|error| output::unwritten("folder", &args.folder, &error))?;
    output::say(&format!("{}/tenuto*.1\n", args.folder.display()))?;
    Ok(Outcome::Good)
}
