//! `tenuto profile`: a model of a switch by measurement, as a file that a plan reads.

#![allow(rustdoc::broken_intra_doc_links)] // brackets in help texts mark what may be left out

use crate::failure::Failure;
use crate::format::Table;
use crate::outcome::Outcome;
use crate::{load, output};
use clap::Args as Flags;
use std::path::{Path, PathBuf};
use tenuto_model::{MemorySources, Profile as SwitchProfile, read_network};
use tenuto_world::device::DeviceModel;
use tenuto_world::profiling::{
    Cost, Design, Excess, Measured, Settings, VirtualRig, check, profile, to_yaml,
};

/// Rows of what exceeds a profile that are told.
const TOLD_MAX: usize = 20;

#[derive(Debug, Flags)]
pub(crate) struct Profile {
    /// A device in virtual time: a built-in profile, or zodiac-fx-timers
    #[arg(long = "virtual", value_name = "DEVICE")]
    device: String,
    /// Profile file to write; to stdout unless said
    #[arg(short, long, value_name = "FILE", conflicts_with = "check")]
    output: Option<PathBuf>,
    /// Hold this profile against the device instead
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// Name of the profile
    #[arg(long, value_name = "NAME", default_value = "measured")]
    name: String,
    /// Built-in profile that what is not measured is taken from; the device's own unless said
    #[arg(long, value_name = "PROFILE")]
    like: Option<String>,
    /// Samples of each use
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(5..=10_000))]
    samples: u32,
    /// Every combination of entries, match and frame size of [Loko] Table 1
    #[arg(long)]
    all: bool,
    /// Draws of the device, and order of the samples
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(args: &Profile) -> Result<Outcome, Failure> {
    let Some(model) = DeviceModel::built_in(&args.device) else {
        let hint = format!("there are {}", DeviceModel::names().join(", "));
        let message = format!("there is no virtual device {:?}", args.device);
        return Err(Failure::input(message, None, Some(&hint)));
    };
    if !is_name(&args.name) {
        let hint = "a name starts with a letter; letters, digits, '-', '_' and '.' follow";
        let message = format!("--name {:?} is no name of a profile", args.name);
        return Err(Failure::input(message, None, Some(hint)));
    }
    let stored = args.check.as_deref().map(stored).transpose()?;
    let settings = Settings {
        name: args.name.clone(),
        like: args.like.clone().unwrap_or_else(|| base_of(&args.device).to_owned()),
        design: if args.all { Design::Full } else { Design::Spare },
        samples: args.samples as usize,
        seed: args.seed,
        ..Settings::default()
    };
    if SwitchProfile::built_in(&settings.like).is_none() {
        let hint = format!("there are {}", SwitchProfile::BUILT_IN.join(", "));
        let message = format!("there is no built-in profile {:?}", settings.like);
        return Err(Failure::input(message, None, Some(&hint)));
    }
    let mut rig = VirtualRig::new(model, args.seed);
    let measured = profile(&mut rig, &settings)
        .map_err(|error| Failure::undecidable(error.to_string(), None))?;
    match stored {
        Some(stored) => held_against(&stored, &measured),
        None => written(args, &measured),
    }
}

/// Whether the file can hold `name` as it stands, without quotes.
fn is_name(name: &str) -> bool {
    let follows = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    name.starts_with(|it: char| it.is_ascii_alphabetic()) && name.chars().all(follows)
}

/// The profile that a device is built from.
fn base_of(device: &str) -> &str {
    if SwitchProfile::BUILT_IN.contains(&device) { device } else { "zodiac-fx" }
}

fn written(args: &Profile, measured: &Measured) -> Result<Outcome, Failure> {
    let yaml = to_yaml(measured);
    match &args.output {
        None => output::say(&yaml)?,
        Some(path) => {
            output::write_file(path, &yaml)?;
            output::say(&summary(&args.device, measured))?;
        }
    }
    Ok(Outcome::Good)
}

fn summary(device: &str, it: &Measured) -> String {
    let mut table = Table::new(&["measured of the device", ">value", "unit"]);
    let mut row = |name: &str, value: String, unit: &str| {
        table.push(vec![name.into(), value, unit.into()]);
    };
    let us = |ps: u64| format!("{:.2}", ps as f64 / 1e6);
    row("entries", it.profile.entries_max.to_string(), "");
    if let Some(processor) = &it.profile.processor {
        row("processor per frame", us(processor.base_ps), "us");
        row("per byte", format!("{:.3}", processor.per_byte_ps as f64 / 1e6), "us");
        row("per entry, five-tuple", us(processor.per_entry_ps.five_tuple), "us");
        row("frames below the dearest, at most", processor.spread_percent.to_string(), "%");
    }
    row("latency besides, at most", us(it.profile.latency_ns_max * 1_000), "us");
    row("barrier", us(it.messages.barrier_ps), "us");
    row("adding an entry", us(it.messages.add_ps), "us");
    let busy = it.cells.iter().filter(|cell| matches!(cell.spacing, Cost::Busy(_))).count();
    let mut text = format!(
        "{device}: {} uses of {} samples, {busy} of them limited by the processor; stamps of {}, {} ns\n{}",
        it.cells.len(),
        it.samples,
        it.stamps.source,
        it.stamps.resolution_ns,
        table.text()
    );
    if !it.is_buffer_explained {
        text.push_str("  no unit explains the buffer: the least of all sizes is taken\n");
    }
    text
}

/// The profile of a file, read as a network would read it.
fn stored(path: &Path) -> Result<SwitchProfile, Failure> {
    let text = load::text(path)?;
    let file =
        path.file_name().map_or_else(|| "profile.yaml".into(), |name| name.to_string_lossy());
    let network =
        format!("tenuto: 1\nhosts: {{}}\nswitches: {{s: {{profile: \"./{file}\"}}}}\nlinks: []\n");
    let sources = MemorySources::new().with("network.yaml", &network).with(&file, &text);
    let (network, _) = read_network(&sources, "network.yaml")?;
    let switch = network.switches.first();
    switch
        .map(|switch| network.profile_of(switch).clone())
        .ok_or_else(|| Failure::input("the file holds no profile", path.to_str(), None))
}

fn held_against(stored: &SwitchProfile, measured: &Measured) -> Result<Outcome, Failure> {
    let found = check(stored, measured);
    if found.is_empty() {
        let uses = measured.cells.len();
        output::say(&format!("{}: covers the device in all of {uses} uses\n", stored.name))?;
        return Ok(Outcome::Good);
    }
    let mut table = Table::new(&["beyond the profile", ">seen", ">stated", "unit"]);
    for Excess { what, seen, stated, unit } in found.iter().take(TOLD_MAX) {
        table.push(vec![
            what.clone(),
            format!("{seen:.0}"),
            format!("{stated:.0}"),
            (*unit).into(),
        ]);
    }
    let more = found.len().saturating_sub(TOLD_MAX);
    let end = if more > 0 { format!("  and {more} more\n") } else { String::new() };
    let name = &stored.name;
    let count = found.len();
    output::say(&format!(
        "{name}: does not cover the device, {count} times\n{}{end}",
        table.text()
    ))?;
    Ok(Outcome::Bad)
}
