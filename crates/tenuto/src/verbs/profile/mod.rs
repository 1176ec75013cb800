//! `tenuto profile`: a model of a switch by measurement, as a file that a plan reads.

#![allow(rustdoc::broken_intra_doc_links)] // brackets in help texts mark what may be left out

mod boxes;
mod document;
mod held;
mod live;
mod page;
mod summary;

use crate::failure::Failure;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::output;
use crate::output::Place;
use crate::progress::Progress;
use clap::Args as Flags;
use std::path::{Path, PathBuf};
use tenuto_model::{MemorySources, Profile as SwitchProfile, read_network};
use tenuto_units::Span;
use tenuto_world::device::DeviceModel;
use tenuto_world::profiling::{
    Design, Measured, ProfileError, Rig, Settings, VirtualRig, profile, to_yaml,
};

#[derive(Debug, Flags)]
#[command(group = clap::ArgGroup::new("device_kind").required(true).args(["device", "live"]))]
pub(crate) struct Profile {
    /// A device in virtual time: a built-in profile, or zodiac-fx-timers
    #[arg(long = "virtual", value_name = "DEVICE")]
    device: Option<String>,
    /// A switch of OpenFlow 1.3 that this machine is wired to and controls; all of its entries go
    #[arg(long, requires = "ports")]
    live: bool,
    #[command(flatten)]
    bench: live::Bench,
    /// Profile file to write; to stdout unless said
    #[arg(short, long, value_name = "FILE", conflicts_with = "check")]
    output: Option<PathBuf>,
    /// Hold this profile against the device instead
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// HTML page of box plots to write, as the figures of [Loko]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
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
    /// Draws of a virtual device, and order of the samples
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Profile {
    pub(crate) fn places(&self) -> Vec<Place<'_>> {
        self.output.iter().chain(&self.report).map(|it| Place::File(it)).collect()
    }
}

pub(crate) fn run(args: &Profile) -> Result<Outcome, Failure> {
    if !is_name(&args.name) {
        let hint = "a name starts with a letter; letters, digits, '-', '_' and '.' follow";
        let message = format!("--name {:?} is no name of a profile", args.name);
        return Err(Failure::input(message, None, Some(hint)));
    }
    let model = args.device.as_deref().map(virtual_device).transpose()?;
    let stored = args.check.as_deref().map(stored).transpose()?;
    let settings = settings(args)?;
    let progress = &mut Progress::new();
    let measured = match model {
        Some(model) => measured(&mut VirtualRig::new(model, args.seed), &settings),
        None => {
            let mut tell = |what: &str, percent: u32| {
                progress.say(|| format!("{percent:3} %  {what}"));
            };
            let measured = measured(&mut live::rig(&args.bench, &mut tell)?, &settings);
            progress.wipe();
            measured
        }
    }?;
    let device = args.device.as_deref().unwrap_or("the switch");
    match stored {
        Some(stored) => held::told(args, device, &stored, &measured),
        None => written(args, device, &measured),
    }
}

fn measured<R: Rig>(rig: &mut R, settings: &Settings) -> Result<Measured, Failure> {
    profile(rig, settings).map_err(|error| {
        let hint = match &error {
            ProfileError::OutOfTime(_) => Some("give it more with --time"),
            ProfileError::NothingForwarded(_) => {
                Some("are the interfaces the ports that they are said to be, and nothing between?")
            }
            _ => None,
        };
        Failure::undecidable(error.to_string(), hint)
    })
}

fn virtual_device(name: &str) -> Result<DeviceModel, Failure> {
    DeviceModel::built_in(name).ok_or_else(|| {
        let hint = format!("there are {}", DeviceModel::names().join(", "));
        Failure::input(format!("there is no virtual device {name:?}"), None, Some(&hint))
    })
}

fn settings(args: &Profile) -> Result<Settings, Failure> {
    let own = args.device.as_deref().map_or(LIVE_LIKE, base_of);
    let like = args.like.as_deref().unwrap_or(own);
    if SwitchProfile::built_in(like).is_none() {
        let hint = format!("there are {}", SwitchProfile::BUILT_IN.join(", "));
        let message = format!("there is no built-in profile {like:?}");
        return Err(Failure::input(message, None, Some(&hint)));
    }
    let virtual_ones = Settings::default();
    let (alone_for, updates) = if args.live {
        (LIVE_ALONE, LIVE_UPDATES)
    } else {
        (virtual_ones.alone_for, virtual_ones.updates)
    };
    Ok(Settings {
        name: args.name.clone(),
        like: like.to_owned(),
        design: if args.all { Design::Full } else { Design::Spare },
        samples: args.samples as usize,
        seed: args.seed,
        alone_for,
        updates,
        time: args.live.then(|| Span::from_ns(args.bench.time_ns)),
        ..virtual_ones
    })
}

/// What a switch is like that says nothing of itself.
const LIVE_LIKE: &str = "open-vswitch";
/// Long enough for what a switch does soon after its controller is gone.
const LIVE_ALONE: Span = Span::from_s(1);
const LIVE_UPDATES: usize = 10;

/// Whether the file can hold `name` as it stands, without quotes.
fn is_name(name: &str) -> bool {
    let follows = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    name.starts_with(|it: char| it.is_ascii_alphabetic()) && name.chars().all(follows)
}

/// The profile that a device is built from.
fn base_of(device: &str) -> &str {
    if SwitchProfile::BUILT_IN.contains(&device) { device } else { "zodiac-fx" }
}

/// Writes the file, and tells what is in it. What was measured is told even if the file cannot be written.
fn written(args: &Profile, device: &str, measured: &Measured) -> Result<Outcome, Failure> {
    let yaml = to_yaml(measured);
    let file = args.output.as_deref().map_or(Ok(()), |path| output::write_file(path, &yaml));
    let page = page_written(args, device, measured);
    if args.json {
        output::say_json(&document::measured(args, device, measured))?;
    } else if args.output.is_some() {
        output::say(&summary::text(device, measured))?;
    } else {
        output::say(&yaml)?;
    }
    file.and(page)?;
    Ok(Outcome::Good)
}

fn page_written(args: &Profile, device: &str, measured: &Measured) -> Result<(), Failure> {
    let Some(path) = &args.report else { return Ok(()) };
    output::write_file(path, &page::page(device, measured))
}

/// The profile of a file, read as a network would read it.
fn stored(path: &Path) -> Result<SwitchProfile, Failure> {
    let text = named_file::text(path, Kind::PROFILE)?;
    let file =
        path.file_name().map_or_else(|| "profile.yaml".into(), |name| name.to_string_lossy());
    let network =
        format!("tenuto: 1\nhosts: {{}}\nswitches: {{s: {{profile: \"./{file}\"}}}}\nlinks: []\n");
    let sources = MemorySources::new().with("network.yaml", &network).with(&file, &text);
    let (network, _) = read_network(&sources, "network.yaml")
        .map_err(|problems| Failure::of(&problems, "nothing was measured"))?;
    let switch = network.switches.first();
    switch
        .map(|switch| network.profile_of(switch).clone())
        .ok_or_else(|| Failure::input("the file holds no profile", path.to_str(), None))
}
