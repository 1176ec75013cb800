//! `tenuto explore NET|PLAN` without an application: every interleaving of the mode change and return.

use crate::args::{Explore, Planning};
use crate::failure::Failure;
use crate::format::counted;
use crate::header::Header;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::output;
use crate::planning::{self, Promise};
use crate::progress::Progress;
use serde::Serialize;
use tenuto_model::{Flow, Network, Plan};
use tenuto_world::clockwork;
use tenuto_world::explore::{self, Property, Settings, Trace};

type Found = explore::Outcome<Trace>;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    network: &'a str,
    properties: Vec<&'static str>,
    excesses: &'a [(String, u8)],
    frames: &'a [(String, u8)],
    lost_signals: u8,
    crashes: u8,
    signal_copies: u8,
    delay_ticks_max: u8,
    quiet_ticks: u8,
    states: usize,
    transitions: u64,
    depth: usize,
    is_exhaustive: bool,
    counterexample: Option<&'a Trace>,
}

pub(crate) fn run(args: &Explore) -> Result<Outcome, Failure> {
    if args.input.as_os_str() == super::explore_attendre::WORD {
        return super::explore_attendre::run(args);
    }
    if let Some(app) = &args.attendre.app {
        return super::explore_app::run(args, app);
    }
    let planned = planning::of_input(&args.input, &Planning::default())?;
    if planned.promise() == Promise::Refused {
        return super::sim::refused(&planned, args.json);
    }
    let plan = &planned.plan;
    let shown = args.input.display().to_string();
    if plan.network.modes.len() < 2 {
        let hint = "what is explored is the change of mode and the return";
        return Err(Failure::input("this network has one mode only", Some(&shown), Some(hint)));
    }
    let settings = settings(args, plan)?;
    let wrong = |why: String| Failure::input(why, Some(&shown), None);
    if let Some(path) = &args.replay {
        return replayed(args, plan, &settings, path);
    }
    let mut progress = Progress::new();
    let found = explore::explore_with_progress(plan, &settings, &mut |visited, waiting| {
        progress.say(|| format!("explored  {visited} states, {waiting} waiting"));
    });
    drop(progress);
    let found = found.map_err(wrong)?;
    let kept = match (&args.output, &found.counterexample) {
        (Some(path), Some(trace)) => output::write_file(path, &output::json(trace)),
        _ => Ok(()),
    };
    Ok(Failure::unkept(kept, conclude(args, plan, &settings, &found)?))
}

fn settings(args: &Explore, plan: &Plan) -> Result<Settings, Failure> {
    let network = &plan.network;
    let top = network.modes.len() - 1;
    let tolerated = u8::try_from(network.tolerates.lost_signals).unwrap_or(u8::MAX);
    let excesses = chosen(&args.excess, network, "--excess", "is watched", Flow::is_watched)?;
    if excesses.is_empty() {
        let hint = "a flow is watched if a higher mode allows it more";
        return Err(Failure::input("no flow is watched: the mode never changes", None, Some(hint)));
    }
    let is_dropped = |flow: &Flow| flow.level < top;
    Ok(Settings {
        excesses,
        frames: chosen(
            &args.frame,
            network,
            "--frame",
            "has no place in a higher mode",
            is_dropped,
        )?,
        lost_signals: args.lost_signals.unwrap_or(tolerated),
        crashes: args.crashes,
        signal_copies: plan.signal_copies.max(1),
        delay_ticks_max: args.delay_ticks,
        quiet_ticks: args.quiet_ticks,
        states_max: args.states,
        ..Settings::default()
    })
}

/// The flows that were named, or each that fits once. One that does not fit would make what is
/// explored empty and the verdict worthless.
fn chosen(
    named: &[(String, u8)],
    network: &Network,
    flag: &str,
    what: &str,
    fits: impl Fn(&Flow) -> bool,
) -> Result<Vec<(String, u8)>, Failure> {
    let fitting: Vec<&str> =
        network.flows.iter().filter(|flow| fits(flow)).map(|flow| flow.name.as_str()).collect();
    if let Some((name, _)) = named.iter().find(|(name, _)| !fitting.contains(&name.as_str())) {
        let names = if fitting.is_empty() { "none does".into() } else { fitting.join(", ") };
        let hint = format!("flows of which that can be said: {names}");
        return Err(Failure::input(
            format!("{flag} {name}: no such flow {what}"),
            None,
            Some(&hint),
        ));
    }
    if named.is_empty() {
        return Ok(fitting.into_iter().map(|name| (name.to_owned(), 1)).collect());
    }
    Ok(named.to_vec())
}

fn conclude(
    args: &Explore,
    plan: &Plan,
    settings: &Settings,
    found: &Found,
) -> Result<Outcome, Failure> {
    if args.json {
        output::say_json(&Document {
            header: Header::new("tenuto-exploration/1", found.verdict().name())
                .world("explored")
                .plan_hash(&plan.plan_hash),
            network: &plan.network.name,
            properties: Property::ALL.iter().map(|property| property.name()).collect(),
            excesses: &settings.excesses,
            frames: &settings.frames,
            lost_signals: settings.lost_signals,
            crashes: settings.crashes,
            signal_copies: settings.signal_copies,
            delay_ticks_max: settings.delay_ticks_max,
            quiet_ticks: settings.quiet_ticks,
            states: found.states,
            transitions: found.transitions,
            depth: found.depth,
            is_exhaustive: found.is_exhaustive,
            counterexample: found.counterexample.as_ref(),
        })?;
    } else {
        output::say(&text(plan, settings, found))?;
    }
    Ok(found.verdict().into())
}

fn text(plan: &Plan, settings: &Settings, found: &Found) -> String {
    let list = |of: &[(String, u8)]| {
        let each: Vec<String> =
            of.iter().map(|(flow, count)| format!("{flow} x {count}")).collect();
        if each.is_empty() { "none".to_owned() } else { each.join(", ") }
    };
    let name = &plan.network.name;
    let mut out = format!(
        "{name} explored   excesses {}   frames {}   lost signals {} (each sent {} times)   crashes {}\n",
        list(&settings.excesses),
        list(&settings.frames),
        settings.lost_signals,
        settings.signal_copies,
        settings.crashes,
    );
    out.push_str(&format!(
        "abstracted  a tick is 1 ms, a frame is on a link for up to {}, quiet window {}\n",
        counted(settings.delay_ticks_max.into(), "tick"),
        counted(settings.quiet_ticks.into(), "tick"),
    ));
    let size = format!(
        "{}, {}, depth {}",
        counted(found.states, "state"),
        tenuto_units::counted(found.transitions, "transition"),
        found.depth
    );
    let names: Vec<&str> = Property::ALL.iter().map(|property| property.name()).collect();
    match &found.counterexample {
        Some(trace) => out.push_str(&format!("{trace}VIOLATED: {} ({size})\n", trace.finding)),
        None if found.is_exhaustive => {
            out.push_str(&format!("HOLDS in every state: {} ({size})\n", names.join(", ")));
        }
        None => out.push_str(&format!(
            "BOUNDED: no violation in {size}; there are more states (--states N)\n"
        )),
    }
    out
}

fn replayed(
    args: &Explore,
    plan: &Plan,
    settings: &Settings,
    path: &std::path::Path,
) -> Result<Outcome, Failure> {
    let shown = path.display().to_string();
    let trace: Trace =
        serde_json::from_str(&named_file::text(path, Kind::TRACE)?).map_err(|error| {
            let hint = "a trace is what `tenuto explore -o TRACE` wrote";
            Failure::input(format!("not a trace: {error}"), Some(&shown), Some(hint))
        })?;
    let again = explore::replay(plan, settings, &trace).map_err(|why| {
        Failure::input(why, Some(&shown), Some("replay with the settings that it was found with"))
    })?;
    follow(plan, settings, &trace, &shown, args.json)?;
    let found = Found::of_replay(trace.steps.len(), again);
    if found.counterexample.is_none() && !args.json {
        output::say("the trace violates nothing any more\n")?;
        return Ok(Outcome::Good);
    }
    conclude(args, plan, settings, &found)
}

/// The trace again in virtual time: frames, queues and control channels of `sim`.
fn follow(
    plan: &Plan,
    settings: &Settings,
    trace: &Trace,
    shown: &str,
    is_json: bool,
) -> Result<(), Failure> {
    let followed = clockwork::follow(plan, settings, trace)
        .map_err(|why| Failure::input(why, Some(shown), None))?;
    let differs = followed.iter().zip(&trace.steps).position(|(now, then)| now != then);
    if let Some(place) = differs {
        let hint = "the trace is of another plan, or of another version of the switch";
        let (now, then) = (followed[place].modes.join(", "), trace.steps[place].modes.join(", "));
        let why = format!("step {} leads to {now}, in the trace to {then}", place + 1);
        return Err(Failure::input(why, Some(shown), Some(hint)));
    }
    if !is_json {
        let steps = counted(followed.len(), "step");
        output::say(&format!("virtual time followed {steps}, with the same modes after each\n"))?;
    }
    Ok(())
}
