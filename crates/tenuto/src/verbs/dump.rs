//! `tenuto dump`: what a switch has in its tables, as users of ovs-ofctl know it.

use super::switch_flags::{TlsFlags, switch_at};
use super::trace::PlanNames;
use crate::failure::Failure;
use crate::header::Header;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::output::{self, Place};
use clap::{Args as Flags, ValueEnum};
use serde::Serialize;
use std::path::PathBuf;
use tenuto_runtime::standalone::{
    Dump as Tables, DumpDocument, DumpPart, Endpoint, SwitchClient, dump_text,
};

#[derive(Debug, Flags)]
pub(crate) struct Dump {
    /// What to show
    #[arg(value_enum, default_value = "flows")]
    part: Part,
    /// The switch: tcp:HOST(:PORT) or tls:HOST(:PORT)
    #[arg(long, value_name = "WHERE", value_parser = switch_at, required_unless_present = "dump")]
    switch: Option<Endpoint>,
    /// What `tenuto dump all -o FILE` wrote, instead of a switch
    #[arg(long, value_name = "FILE", conflicts_with = "switch")]
    dump: Option<PathBuf>,
    /// Network or plan whose flows and modes the entries belong to: each is named
    #[arg(long, value_name = "NET|PLAN")]
    names: Option<PathBuf>,
    /// File to write for `tenuto trace --dump` and `tenuto dump --dump`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// One JSON document
    #[arg(long, conflicts_with = "output")]
    json: bool,
    #[command(flatten)]
    tls: TlsFlags,
}

/// What a switch has, with the keys that every document has.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    header: Header,
    #[serde(flatten)]
    parts: DumpDocument,
}

impl Dump {
    /// Whether stdout is for a program.
    pub(crate) const fn wants_json(&self) -> bool {
        self.json
    }

    pub(crate) fn places(&self) -> Vec<Place<'_>> {
        self.output.iter().map(|it| Place::File(it)).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Flow entries, those of other modes too
    Flows,
    /// Groups and their counters
    Groups,
    /// Meters and their counters
    Meters,
    /// Ports and their counters
    Ports,
    /// Counters of queues, their levels, depths and delays
    Queues,
    /// Slices that share the switch, as their operator is told
    Slices,
    /// Everything
    All,
}

impl Part {
    fn parts(self) -> Vec<DumpPart> {
        match self {
            Self::Flows => vec![DumpPart::Flows],
            Self::Groups => vec![DumpPart::Groups],
            Self::Meters => vec![DumpPart::Meters],
            Self::Ports => vec![DumpPart::Ports],
            Self::Queues => vec![DumpPart::Queues],
            Self::Slices => vec![DumpPart::Slices],
            Self::All => DumpPart::ALL.to_vec(),
        }
    }
}

/// Asks a running switch.
pub(super) fn ask(
    endpoint: &Endpoint,
    tls: &TlsFlags,
    parts: &[DumpPart],
) -> Result<Tables, Failure> {
    let files = tls.files();
    let asked = SwitchClient::connect(endpoint, files.as_ref())
        .and_then(|mut client| Tables::ask(&mut client, parts));
    asked.map_err(|error| {
        let hint = "a switch is asked where it listens: tenuto switch --listen ptcp:6634";
        Failure::undecidable(error.to_string(), Some(hint))
    })
}

/// Reads a file of answers.
pub(super) fn read(path: &std::path::Path) -> Result<Tables, Failure> {
    let shown = path.display().to_string();
    let bytes = named_file::bytes(path, Kind::DUMP)?;
    Tables::from_bytes(&bytes).map_err(|why| {
        let hint = "`tenuto dump all --switch WHERE -o FILE` writes such files";
        Failure::input(format!("this is no dump of a switch: {why}"), Some(&shown), Some(hint))
    })
}

pub(crate) fn run(args: &Dump) -> Result<Outcome, Failure> {
    let parts = args.part.parts();
    let tables = match (&args.switch, &args.dump) {
        (Some(endpoint), _) => ask(endpoint, &args.tls, &parts)?,
        (None, Some(path)) => read(path)?,
        // The command line demands either.
        (None, None) => return Err(Failure::usage("name a switch")),
    };
    let names = PlanNames::read(args.names.as_deref(), None)?;
    match &args.output {
        Some(path) => output::write_file(path, tables.to_bytes())?,
        None if args.json => output::say_json(&Document {
            header: Header::new("tenuto-dump/1", "shown").world("live"),
            parts: DumpDocument::of(&tables, &parts, &names),
        })?,
        None => output::say(&dump_text(&tables, &parts, &names))?,
    }
    Ok(Outcome::Good)
}
