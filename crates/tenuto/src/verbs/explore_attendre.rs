//! `tenuto explore attendre`: reactive applications, every interleaving, with and without Attendre.

use crate::args::Explore;
use crate::failure::Failure;
use crate::format::counted;
use crate::header::Header;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::output;
use crate::progress::Progress;
use clap::ValueEnum;
use serde::Serialize;
use tenuto_world::explore::reactive::{
    self, Application, AttendreMutant, Property, Settings, Trace,
};
use tenuto_world::explore::{self, Verdict};

type Found = explore::Outcome<Trace>;

/// The word that stands where a network would.
pub(crate) const WORD: &str = "attendre";

/// What the controller runs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AppName {
    /// Entries on the whole way with the first packet-in
    RouteFlow,
    /// MAC learning, with replies
    LearningSwitch,
    /// One service, two replicas
    LoadBalancer,
    /// Replies come in if they were asked for
    Firewall,
}

/// A broken variant.
#[cfg(feature = "mutants")]
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MutantName {
    /// Buffers are released last frame first
    ReleasesOutOfOrder,
    /// A complete message set releases nothing
    ForgetsCompletion,
    /// A command leaves behind its packet
    CommandBehindPacket,
    /// A buffer whose time is over drops its frames
    TimeoutDrops,
}

/// Flags of `explore attendre` only.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of explore attendre")]
pub(crate) struct AttendreFlags {
    /// With a network, an application by name or a Python file; with the word attendre, one of
    /// route-flow, learning-switch, load-balancer and firewall instead of all scenarios
    #[arg(long, value_name = "APP|FILE.py")]
    pub(crate) app: Option<String>,
    /// Switches on the line
    #[arg(long, value_name = "N", default_value_t = 1, requires = "app")]
    pub(crate) switches: u8,
    /// Packets of the first host
    #[arg(long, value_name = "N", default_value_t = 2, requires = "app")]
    pub(crate) packets: u8,
    /// Plain OpenFlow
    #[arg(long, requires = "app")]
    pub(crate) plain: bool,
    /// Times that the timer of a buffer may fire
    #[arg(long, value_name = "N", default_value_t = 0, requires = "app")]
    pub(crate) timeouts: u8,
    /// Commands that may be lost
    #[arg(long, value_name = "N", default_value_t = 0, requires = "app")]
    pub(crate) lost_commands: u8,
    /// Look at this property only
    #[arg(long, value_name = "NAME", value_parser = property, requires = "app")]
    pub(crate) property: Vec<Property>,
    /// Break Attendre, to see it noticed
    #[cfg(feature = "mutants")]
    #[arg(long, value_name = "VARIANT", requires = "app")]
    pub(crate) mutant: Option<MutantName>,
}

fn property(text: &str) -> Result<Property, String> {
    let names = || Property::ALL.map(Property::name).join(", ");
    let found = Property::ALL.into_iter().find(|property| property.name() == text);
    found.ok_or_else(|| format!("there is no property `{text}`; there are {}", names()))
}

#[derive(Serialize)]
struct Run<'a> {
    application: &'static str,
    switches: u8,
    packets: u8,
    attendre: bool,
    timeouts: u8,
    lost_commands: u8,
    properties: Vec<&'static str>,
    verdict: &'static str,
    states: usize,
    transitions: u64,
    depth: usize,
    is_exhaustive: bool,
    counterexample: Option<&'a Trace>,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    clock: &'static str,
    runs: Vec<Run<'a>>,
}

const ABSTRACTED: &str = "untimed     time stands still: any armed timer may fire, a port may send \
    at any moment; answers of the controller overtake each other; nobody forges\n";

pub(crate) fn run(args: &Explore) -> Result<Outcome, Failure> {
    let flags = &args.attendre;
    if let Some(path) = &args.replay {
        return replayed(args, path);
    }
    let all = match &flags.app {
        Some(app) => vec![one(flags, named(app)?, args.states)],
        None => scenarios(args.states),
    };
    let mut found = Vec::new();
    for settings in all {
        let mut progress = Progress::new();
        let outcome = reactive::explore(&settings, &mut |visited, waiting| {
            progress.say(|| format!("explored  {visited} states, {waiting} waiting"));
        });
        drop(progress);
        found.push((settings, outcome.map_err(|why| Failure::input(why, None, None))?));
    }
    let trace = found.iter().find_map(|(_, outcome)| outcome.counterexample.as_ref());
    let kept = match (&args.output, trace) {
        (Some(path), Some(trace)) => output::write_file(path, &output::json(trace)),
        _ => Ok(()),
    };
    Ok(Failure::unkept(kept, conclude(args, &found)?))
}

fn named(app: &str) -> Result<AppName, Failure> {
    AppName::from_str(app, false).map_err(|_| {
        let hint =
            "there are route-flow, learning-switch, load-balancer, firewall; others need a network";
        Failure::input(format!("no scenario has the application `{app}`"), None, Some(hint))
    })
}

fn one(flags: &AttendreFlags, app: AppName, states_max: usize) -> Settings {
    let application = match app {
        AppName::RouteFlow => Application::RouteFlow,
        AppName::LearningSwitch => Application::LearningSwitch,
        AppName::LoadBalancer => Application::LoadBalancer,
        AppName::Firewall => Application::Firewall,
    };
    #[cfg(not(feature = "mutants"))]
    let mutant = AttendreMutant::None;
    #[cfg(feature = "mutants")]
    let mutant = match flags.mutant {
        None => AttendreMutant::None,
        Some(MutantName::ReleasesOutOfOrder) => AttendreMutant::ReleasesOutOfOrder,
        Some(MutantName::ForgetsCompletion) => AttendreMutant::ForgetsCompletion,
        Some(MutantName::CommandBehindPacket) => AttendreMutant::CommandBehindPacket,
        Some(MutantName::TimeoutDrops) => AttendreMutant::TimeoutDrops,
    };
    let settings = Settings::new(application, flags.switches, flags.packets);
    let settings = settings.with_faults(flags.timeouts, flags.lost_commands);
    let properties = match flags.property.is_empty() {
        true => settings.properties.clone(),
        false => flags.property.clone(),
    };
    Settings { attendre: !flags.plain, properties, states_max, mutant, ..settings }
}

/// \[Attendre\] Fig. 1 (a) and (b), then further applications: each with plain OpenFlow first.
fn scenarios(states_max: usize) -> Vec<Settings> {
    let cases = [
        (Application::RouteFlow, 1, 2),
        (Application::RouteFlow, 2, 1),
        (Application::LoadBalancer, 1, 2),
        (Application::LearningSwitch, 1, 2),
        (Application::Firewall, 1, 2),
    ];
    let both = |(application, switches, packets)| {
        let settings = Settings::new(application, switches, packets);
        let settings = Settings { states_max, ..settings };
        [Settings { attendre: false, ..settings.clone() }, settings]
    };
    cases.into_iter().flat_map(both).collect()
}

/// What plain OpenFlow violates is what is to be shown; it counts only if it was asked for alone.
fn conclude(args: &Explore, found: &[(Settings, Found)]) -> Result<Outcome, Failure> {
    let is_alone = found.len() == 1;
    let counts = found.iter().filter(|(settings, _)| is_alone || settings.attendre);
    let verdict = counts.map(|(_, found)| found.verdict()).max().unwrap_or(Verdict::Holds);
    if args.json {
        output::say_json(&Document {
            header: Header::new("tenuto-reactive-exploration/1", verdict.name()).world("explored"),
            clock: "untimed",
            runs: found.iter().map(|(settings, outcome)| as_run(settings, outcome)).collect(),
        })?;
        return Ok(verdict.into());
    }
    let mut text = String::from(ABSTRACTED);
    for (settings, outcome) in found {
        text.push_str(&as_text(settings, outcome));
    }
    output::say(&text)?;
    Ok(verdict.into())
}

fn names(settings: &Settings) -> Vec<&'static str> {
    settings.properties.iter().map(|property| property.name()).collect()
}

fn as_run<'a>(settings: &Settings, outcome: &'a Found) -> Run<'a> {
    Run {
        application: settings.application.name(),
        switches: settings.switches,
        packets: settings.packets,
        attendre: settings.attendre,
        timeouts: settings.timeouts,
        lost_commands: settings.lost_commands,
        properties: names(settings),
        verdict: outcome.verdict().name(),
        states: outcome.states,
        transitions: outcome.transitions,
        depth: outcome.depth,
        is_exhaustive: outcome.is_exhaustive,
        counterexample: outcome.counterexample.as_ref(),
    }
}

fn as_text(settings: &Settings, outcome: &Found) -> String {
    let with = if settings.attendre { "Attendre" } else { "OpenFlow" };
    let mut text = format!(
        "\n{with}  {}, {}, {}, timers {}, lost commands {}\n",
        settings.application.name(),
        counted(settings.switches.into(), "switch"),
        counted(settings.packets.into(), "packet"),
        settings.timeouts,
        settings.lost_commands,
    );
    let Found { states, transitions, depth, .. } = outcome;
    let transitions = tenuto_units::counted(*transitions, "transition");
    let size = format!("{}, {transitions}, depth {depth}", counted(*states, "state"));
    text.push_str(&match &outcome.counterexample {
        Some(trace) => format!("{trace}VIOLATED: {} ({size})\n", trace.finding),
        None if outcome.is_exhaustive => {
            format!("HOLDS in every state: {} ({size})\n", names(settings).join(", "))
        }
        None => format!("BOUNDED: no violation in {size}; there are more states (--states N)\n"),
    });
    text
}

fn replayed(args: &Explore, path: &std::path::Path) -> Result<Outcome, Failure> {
    let shown = path.display().to_string();
    let trace: Trace =
        serde_json::from_str(&named_file::text(path, Kind::TRACE)?).map_err(|error| {
            let hint = "a trace is what `tenuto explore attendre --app APP -o TRACE` wrote";
            Failure::input(format!("not a trace: {error}"), Some(&shown), Some(hint))
        })?;
    let Some(app) = &args.attendre.app else {
        let hint = "name it, and the other settings that the trace was found with";
        return Err(Failure::input("--replay needs --app", None, Some(hint)));
    };
    let settings = one(&args.attendre, named(app)?, args.states);
    let again = reactive::replay(&settings, &trace).map_err(|why| {
        Failure::input(why, Some(&shown), Some("replay with the settings that it was found with"))
    })?;
    if again.is_none() && !args.json {
        output::say("the trace violates nothing any more\n")?;
        return Ok(Outcome::Good);
    }
    let outcome = Found::of_replay(trace.steps.len(), again);
    conclude(args, &[(settings, outcome)])
}
