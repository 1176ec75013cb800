//! `tenuto sim NET|PLAN`: virtual time, held against what was promised.

use crate::args::{Run, Sim};
use crate::campaign::{self, Drawn, Shown};
use crate::failure::Failure;
use crate::format::seconds;
use crate::outcome::Outcome;
use crate::planning::{self, Planned};
use crate::progress::{Progress, bar};
use crate::watching::{self, Wanted};
use crate::{load, output, plan_json, programs, run_text};
use std::path::Path;
use std::time::Instant;
use tenuto_model::Scenario;
use tenuto_world::RunDocument;
use tenuto_world::campaign::Reach;
use tenuto_world::clockwork::{self, Devices, FrameLog, RunProgress};

pub(crate) fn run(args: &Sim) -> Result<Outcome, Failure> {
    check_flags(args)?;
    let planned = planning::of_input(&args.input, &args.planning)?;
    if !planned.promise().can_run() && !args.comparison {
        return refused(&planned, args.run.json);
    }
    if let Some(path) = &args.schedule {
        return scheduled(args, &planned, path);
    }
    let drawn = drawn(args, &planned);
    if let Some(cases) = args.campaign {
        let (all, output) = (args.run.all, args.output.as_deref());
        let shown = Shown { is_json: args.run.json, all, output };
        return campaign::run(&drawn, (args.run.seed.unwrap_or(1), cases), args.jobs, shown);
    }
    let scenario = match args.drawn {
        Some(seed) => drawn.scenario(seed),
        None => scenario(&args.run, &args.input, &planned, false)?,
    };
    if let Some(words) = programs::left_out(&scenario) {
        output::complain(&words);
    }
    let (document, frames) = simulated(args, &planned, &scenario)?;
    let written = match (&args.frames, frames) {
        (Some(path), Some(frames)) => output::write_file(path, &output::json(&frames)),
        _ => Ok(()),
    };
    let written = written.and_then(|()| kept(args, &planned, &document));
    let judged = conclude(&document, &args.run, written)?;
    match args.drawn {
        Some(seed) => drawn.judged(seed, judged),
        None => Ok(judged),
    }
}

/// A flag that another is missing for is refused, also where that other could not stand beside a third.
fn check_flags(args: &Sim) -> Result<(), Failure> {
    let (of_app, has_app) = (&args.application, args.application.app.is_some());
    let (devices, campaign) = (args.devices, args.campaign.is_some());
    let cases = campaign || args.drawn.is_some();
    let flags = [
        ("--gantt", args.gantt.is_some(), "--schedule", args.schedule.is_some()),
        ("--timers", args.timers, "--devices", devices),
        ("--control-rate", args.control_rate.is_some(), "--devices", devices),
        ("--links", !args.links.is_empty(), "--pcap", args.pcap.is_some()),
        ("--jobs", args.jobs.is_some(), "--campaign", campaign),
        ("--beyond", args.beyond, "--campaign or --drawn", cases),
        ("--record", of_app.record.is_some(), "--app", has_app),
        ("--app-set", !of_app.on_network.app_set.is_empty(), "--app", has_app),
        ("--send", !of_app.on_network.send.is_empty(), "--app", has_app),
        ("--reply", !of_app.on_network.reply.is_empty(), "--app", has_app),
    ];
    match flags.iter().find(|(_, is_given, _, has_other)| *is_given && !has_other) {
        Some((flag, _, other, _)) => Err(Failure::input(
            format!("{flag} belongs to {other}, which is not there"),
            None,
            None,
        )),
        None => Ok(()),
    }
}

/// What cases of a campaign are drawn for.
fn drawn<'a>(args: &Sim, planned: &'a Planned) -> Drawn<'a> {
    let reach = if args.beyond { Reach::Beyond } else { Reach::Within };
    Drawn { plan: &planned.plan, reach, traffic_ns: args.run.duration_ns }
}

/// What is to be written down of a run.
fn wanted(args: &Sim) -> Wanted<'_> {
    let control_per_s = args.control_rate.unwrap_or(0);
    Wanted {
        pcap: args.pcap.as_deref(),
        links: &args.links,
        trace: args.trace.as_deref(),
        hops: args.hops,
        devices: args.devices.then_some(Devices { has_timers: args.timers, control_per_s }),
    }
}

/// Repeats a schedule: nothing is drawn.
fn scheduled(args: &Sim, planned: &Planned, path: &Path) -> Result<Outcome, Failure> {
    let schedule = crate::witness::schedule_file::read(path)?;
    let plan = &planned.plan;
    let shown = path.display().to_string();
    if schedule.plan_hash != plan.plan_hash {
        output::complain(&format!("note: {shown} was made for another plan; bounds may differ"));
    }
    let played = clockwork::play_schedule(plan, &schedule);
    let (document, sent) =
        played.map_err(|error| Failure::input(error.to_string(), Some(&shown), None))?;
    let mut drawn = Ok(());
    if let Some(svg) = &args.gantt {
        let chart = crate::witness::gantt::chart(plan, &schedule, &sent).ok_or_else(|| {
            Failure::input(
                "the schedule was made for no delay: nothing to draw",
                Some(&shown),
                None,
            )
        })?;
        drawn = output::write_file(svg, &chart);
    }
    conclude(&document, &args.run, drawn.and_then(|()| kept(args, planned, &document)))
}

/// Writes what the command line wants kept, and says where it is.
fn kept(args: &Sim, planned: &Planned, document: &RunDocument) -> Result<Option<String>, Failure> {
    let mut written = None;
    if let Some(path) = &args.output {
        output::write_file(path, &output::json(document))?;
        written = Some(path.display().to_string());
    }
    if args.report {
        written = Some(super::report::write_folder(&planned.plan, document)?);
    }
    Ok(written)
}

/// Nothing is run that is not promised.
pub(crate) fn refused(planned: &Planned, is_json: bool) -> Result<Outcome, Failure> {
    if is_json {
        output::say_json(&plan_json::document(planned))?;
    }
    super::plan::refuse(planned);
    output::complain("nothing was run");
    Ok(Outcome::Bad)
}

/// The scenario of a run with what the command line says otherwise. Where its programs are run, they
/// have to be there.
pub(crate) fn scenario(
    args: &Run,
    input: &Path,
    planned: &Planned,
    are_programs_run: bool,
) -> Result<Scenario, Failure> {
    // A plan that took time was made of a network file here; a plan file brings no scenario.
    let beside = planned.took.is_some().then_some(input);
    let network = &planned.plan.network;
    let (named, run) = (args.scenario.as_deref(), are_programs_run);
    let mut scenario = load::scenario(named, beside, network, run)?;
    if let Some(duration_ns) = args.duration_ns {
        scenario = scenario.played_for(duration_ns);
    }
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    Ok(scenario)
}

fn simulated(
    args: &Sim,
    planned: &Planned,
    scenario: &Scenario,
) -> Result<(RunDocument, Option<FrameLog>), Failure> {
    let name = &planned.plan.network.name;
    let started = Instant::now();
    let mut progress = Progress::new();
    let mut show = |at: RunProgress| {
        progress.say(|| {
            let bar = bar(at.at_ns, at.of_ns);
            let of = seconds(at.of_ns);
            let took = started.elapsed().as_secs();
            format!(
                "{name} simulated  {bar} {}/{of} s   {took} s of this machine",
                seconds(at.at_ns)
            )
        });
    };
    let plan = &planned.plan;
    let wanted = wanted(args);
    if wanted.is_any() {
        return watching::run(&wanted, plan, scenario, &mut show).map(|document| (document, None));
    }
    let ran = match args.frames.is_some() {
        true => clockwork::run_with_frames(plan, scenario, &mut show)
            .map(|(document, frames)| (document, Some(frames))),
        false => {
            clockwork::run_with_progress(plan, scenario, &mut show).map(|document| (document, None))
        }
    };
    drop(progress);
    ran.map_err(|error| Failure::undecidable(format!("the run could not be made: {error}"), None))
}

/// Prints a run and says how it ended. What could not be kept is told after that: the run is over,
/// and cannot be looked at again.
pub(crate) fn conclude(
    document: &RunDocument,
    args: &Run,
    written: Result<Option<String>, Failure>,
) -> Result<Outcome, Failure> {
    if args.json {
        output::say_json(document)?;
    } else {
        output::say(&run_text::text(document, args.all))?;
        let folder = written.as_ref().ok().and_then(Option::as_deref);
        output::say(&run_text::verdict(document, folder))?;
    }
    Ok(Failure::unkept(written.map(|_| ()), document.verdict.into()))
}
