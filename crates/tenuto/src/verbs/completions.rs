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
    let written = std::fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(Args::command(), &args.folder));
    written.map_err(|error| {
        let shown = args.folder.display().to_string();
        let message = format!("the pages cannot be written: {error}");
        Failure::input(message, Some(&shown), Some("name a folder that you may write to"))
    })?;
    output::say(&format!("{}/tenuto*.1\n", args.folder.display()))?;
    Ok(Outcome::Good)
}
