//! `tenuto races FILE`: races in the record of a run.

use crate::failure::Failure;
use crate::format::{Table, counted};
use crate::header::Header;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::output;
use clap::Args as Flags;
use serde::Serialize;
use std::path::PathBuf;
use tenuto_model::quantity;
use tenuto_world::races::{Detected, Race, RaceKind, Run, detect, is_record, read_hb, read_record};

/// Races that are shown unless all are asked for.
const SHOWN_MAX: usize = 20;

#[derive(Debug, Flags)]
pub(crate) struct Races {
    /// What `app --record` or `sim --app --record` wrote, or a trace of SDNRacer (hb.json)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Accesses further apart than this are taken to be ordered by time
    #[arg(long, value_name = "TIME", value_parser = time)]
    within: Option<u64>,
    /// Every race, not only the 20 closest in time
    #[arg(long)]
    all: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

fn time(text: &str) -> Result<u64, String> {
    quantity::parse_time_ns(text).map_err(|error| error.to_string())
}

#[derive(Serialize)]
struct RaceRow {
    kind: &'static str,
    datapath: Option<u64>,
    one: String,
    other: String,
    apart_us: u64,
    is_covered: bool,
}

#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    header: Header,
    format: &'static str,
    within_ns: Option<u64>,
    events: usize,
    edges: usize,
    reads: usize,
    writes: usize,
    pairs: u64,
    commuting: u64,
    apart: u64,
    covered: u64,
    harmful: u64,
    races: Vec<RaceRow>,
}

pub(crate) fn run(args: &Races) -> Result<Outcome, Failure> {
    let shown = args.file.display().to_string();
    let wrong = |why: String| {
        let hint = "a record of `tenuto app --record FILE`, or a trace of SDNRacer, is meant";
        Failure::input(why, Some(&shown), Some(hint))
    };
    let text = named_file::text(&args.file, Kind::RECORD)?;
    let (format, read) = match is_record(&text) {
        true => ("record", read_record(&text)),
        false => ("hb", read_hb(&text)),
    };
    let run = read.map_err(wrong)?;
    let within_s = args.within.map(|ns| ns as f64 / 1e9);
    let mut found = detect(&run, within_s).map_err(wrong)?;
    let key = |race: &Race| (race.is_covered, race.apart_s);
    found.found.sort_by(|one, other| {
        key(one).partial_cmp(&key(other)).unwrap_or(one.kind.cmp(&other.kind))
    });
    let document = document(args, format, &run, &found);
    match args.json {
        true => output::say_json(&document)?,
        false => output::say(&text_of(args, &document))?,
    }
    Ok(if found.harmful() > 0 { Outcome::Bad } else { Outcome::Good })
}

fn document(args: &Races, format: &'static str, run: &Run, found: &Detected) -> Document {
    let kept = if args.all { usize::MAX } else { SHOWN_MAX };
    let note = |place: usize| {
        let event = &run.events[place];
        format!("{}: {}", event.id, event.note)
    };
    let row = |race: &Race| RaceRow {
        kind: match race.kind {
            RaceKind::Writes => "write-write",
            RaceKind::ReadWrite => "read-write",
        },
        datapath: run.events[race.one].datapath,
        one: note(race.one),
        other: note(race.other),
        apart_us: microseconds(race.apart_s),
        is_covered: race.is_covered,
    };
    let verdict = if found.harmful() > 0 { "races" } else { "none" };
    Document {
        header: Header::new("tenuto-races/1", verdict).world("recorded"),
        format,
        within_ns: args.within,
        events: found.events,
        edges: found.edges,
        reads: found.reads,
        writes: found.writes,
        pairs: found.races,
        commuting: found.commuting,
        apart: found.apart,
        covered: found.covered(),
        harmful: found.harmful(),
        races: found.found.iter().take(kept).map(row).collect(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time that was measured, not below 0"
)]
fn microseconds(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}

fn text_of(args: &Races, document: &Document) -> String {
    let Document {
        events, edges, reads, writes, pairs, commuting, apart, covered, harmful, ..
    } = document;
    let mut out = format!(
        "{}   {events} events, {edges} in order directly, {}, {}\n",
        args.file.display(),
        counted(*reads, "look-up"),
        counted(*writes, "flow-mod"),
    );
    let mut table =
        Table::new(&["race", ">switch", "look-up or flow-mod", "flow-mod", ">apart us", ""]);
    for race in &document.races {
        table.push(vec![
            race.kind.to_owned(),
            race.datapath.map_or_else(|| "-".into(), |it| format!("{it:#x}")),
            race.one.clone(),
            race.other.clone(),
            race.apart_us.to_string(),
            if race.is_covered { "covered".into() } else { String::new() },
        ]);
    }
    if !document.races.is_empty() {
        out.push_str(&table.text());
    }
    let left = harmful + covered;
    if left > document.races.len() as u64 {
        out.push_str(&format!("  {} more: --all\n", left - document.races.len() as u64));
    }
    let verdict = if *harmful > 0 { "RACES" } else { "NO RACE" };
    out.push_str(&format!(
        "{verdict}: {harmful} pairs of {pairs} that are not ordered matter ({commuting} commute, {covered} covered, {apart} \
         too far apart)\n"
    ));
    out
}
