//! `tenuto explore NET --app APP`: an application on the switches of a network, every interleaving.

use super::on_network;
use crate::args::Explore;
use crate::failure::Failure;
use crate::format::counted;
use crate::header::Header;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::output;
use crate::progress::Progress;
use crate::sequence_chart::sequence_chart;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use tenuto_model::Network;
use tenuto_world::explore;
use tenuto_world::explore::reactive::{
    Budgets, Move, Property, Setup, Trace, explore_on, properties_of, replay_on,
};

type Found = explore::Outcome<Trace>;

#[derive(Serialize)]
struct SendRow<'a> {
    from: &'a str,
    to: &'a str,
    packets: u8,
}

#[derive(Serialize)]
struct MoveRow<'a> {
    host: &'a str,
    switch: &'a str,
    port: u32,
}

#[derive(Serialize)]
struct BudgetRow {
    name: &'static str,
    times: u8,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    network: &'a str,
    application: &'a str,
    protocol: &'static str,
    threads: bool,
    sends: Vec<SendRow<'a>>,
    replies: &'a [String],
    moves: Vec<MoveRow<'a>>,
    forbidden: &'a [(String, String)],
    budgets: Vec<BudgetRow>,
    properties: Vec<&'static str>,
    reductions: Vec<&'static str>,
    states: usize,
    transitions: u64,
    depth: usize,
    is_exhaustive: bool,
    states_per_s: u64,
    state_bytes: usize,
    counterexample: Option<&'a Trace>,
}

/// What was explored, and how long it took.
struct Explored<'a> {
    network: &'a Network,
    app: &'a str,
    setup: &'a Setup,
    found: Found,
    states_per_s: u64,
}

pub(crate) fn run(args: &Explore, app_name: &str) -> Result<Outcome, Failure> {
    let flags = &args.application;
    let (network, app) =
        on_network::read(&args.input, app_name, &flags.on_network, &flags.moves, true)?;
    let setup = setup(args, &network)?;
    let shown = args.input.display().to_string();
    let wrong = |why: String| Failure::input(why, Some(&shown), None);
    if let Some(path) = &args.replay {
        let trace = trace(path)?;
        let again = replay_on(&network, app, &setup, &trace).map_err(|why| {
            let hint = "replay with the settings that it was found with";
            Failure::input(why, Some(&path.display().to_string()), Some(hint))
        })?;
        if again.is_none() && !args.json {
            output::say("the trace violates nothing any more\n")?;
            return Ok(Outcome::Good);
        }
        let found = Found::of_replay(trace.steps.len(), again);
        let states_per_s = 0;
        let shown =
            Explored { network: &network, app: app_name, setup: &setup, found, states_per_s };
        return conclude(args, &shown);
    }
    let started = Instant::now();
    let mut progress = Progress::new();
    let found = explore_on(&network, app, &setup, &mut |visited, waiting| {
        progress.say(|| {
            let rate = per_second(visited, started);
            format!("explored  {visited} states, {waiting} waiting, {rate} states/s")
        });
    });
    drop(progress);
    let found = found.map_err(wrong)?;
    let states_per_s = per_second(found.states, started);
    if let (Some(path), Some(trace)) = (&args.output, &found.counterexample) {
        output::write_file(path, &output::json(trace))?;
    }
    conclude(
        args,
        &Explored { network: &network, app: app_name, setup: &setup, found, states_per_s },
    )
}

fn per_second(states: usize, started: Instant) -> u64 {
    let us = started.elapsed().as_micros().max(1);
    u64::try_from(states as u128 * 1_000_000 / us).unwrap_or(u64::MAX)
}

fn setup(args: &Explore, network: &Network) -> Result<Setup, Failure> {
    let flags = &args.application;
    let (sends, replies) = flags.on_network.traffic(network)?;
    Ok(Setup {
        protocol: flags.on_network.protocol(),
        sends,
        replies,
        moves: flags.moves.clone(),
        service: flags.on_network.service(),
        forbidden: flags.forbid.clone(),
        budgets: Budgets {
            losses: flags.losses,
            duplicates: flags.duplicates,
            link_failures: flags.link_failures,
            switch_failures: flags.switch_failures,
            controller_crashes: flags.controller_crashes,
            timers: flags.timers,
            timeouts: args.attendre.timeouts,
            lost_commands: args.attendre.lost_commands,
        },
        threads: flags.threads,
        properties: args.attendre.property.clone(),
        reductions: flags.reduce,
        states_max: args.states,
    })
}

fn trace(path: &Path) -> Result<Trace, Failure> {
    let shown = path.display().to_string();
    serde_json::from_str(&named_file::text(path, Kind::TRACE)?).map_err(|error| {
        let hint = "a trace is what `tenuto explore NET --app APP -o TRACE` wrote";
        Failure::input(format!("not a trace: {error}"), Some(&shown), Some(hint))
    })
}

fn conclude(args: &Explore, explored: &Explored<'_>) -> Result<Outcome, Failure> {
    let Explored { found, .. } = explored;
    if let (Some(path), Some(trace)) = (&args.application.chart, &found.counterexample) {
        output::write_file(path, &sequence_chart(trace))?;
    }
    match args.json {
        true => output::say_json(&document(explored))?,
        false => output::say(&text(explored))?,
    }
    Ok(found.verdict().into())
}

fn names(setup: &Setup) -> Vec<&'static str> {
    properties_of(setup).into_iter().map(Property::name).collect()
}

fn reductions(setup: &Setup) -> Vec<&'static str> {
    let on = setup.reductions.named().into_iter().filter(|(_, is_on)| *is_on);
    on.map(|(name, _)| name).collect()
}

fn bytes_per_state(found: &Found) -> usize {
    found.bytes.checked_div(found.states).unwrap_or(0)
}

fn document<'a>(explored: &'a Explored<'_>) -> Document<'a> {
    let Explored { network, app, setup, found, states_per_s } = explored;
    let send = |it: &'a tenuto_world::explore::reactive::Send| SendRow {
        from: &it.from,
        to: &it.to,
        packets: it.packets,
    };
    let moved = |it: &'a Move| MoveRow { host: &it.host, switch: &it.switch, port: it.port };
    let budget = |(name, times)| BudgetRow { name, times };
    Document {
        header: Header::new("tenuto-application-exploration/1", found.verdict().name())
            .world("explored"),
        network: &network.name,
        application: app,
        protocol: setup.protocol.name(),
        threads: setup.threads,
        sends: setup.sends.iter().map(send).collect(),
        replies: &setup.replies,
        moves: setup.moves.iter().map(moved).collect(),
        forbidden: &setup.forbidden,
        budgets: setup.budgets.named().into_iter().map(budget).collect(),
        properties: names(setup),
        reductions: reductions(setup),
        states: found.states,
        transitions: found.transitions,
        depth: found.depth,
        is_exhaustive: found.is_exhaustive,
        states_per_s: *states_per_s,
        state_bytes: bytes_per_state(found),
        counterexample: found.counterexample.as_ref(),
    }
}

const ABSTRACTED: &str = "untimed     time stands still: entries do not expire, links and ports hold \
    frames in order, a host's packet is at its switch at once; nobody forges\n";

/// How much was looked at; of a replay, its steps.
fn size(explored: &Explored<'_>) -> String {
    let Explored { found, states_per_s, .. } = explored;
    if found.bytes == 0 {
        return format!("replayed, {}", counted(found.states, "step"));
    }
    format!(
        "{}, {}, depth {}; {states_per_s} states/s, {} bytes per known state",
        counted(found.states, "state"),
        tenuto_units::counted(found.transitions, "transition"),
        found.depth,
        bytes_per_state(found)
    )
}

fn text(explored: &Explored<'_>) -> String {
    let Explored { network, app, setup, found, .. } = explored;
    let sends: Vec<String> =
        setup.sends.iter().map(|it| format!("{}:{}={}", it.from, it.to, it.packets)).collect();
    let budgets: Vec<String> = setup
        .budgets
        .named()
        .into_iter()
        .filter(|(_, times)| *times > 0)
        .map(|(name, times)| format!("{name} {times}"))
        .collect();
    let or_none = |list: &[String]| if list.is_empty() { "none".into() } else { list.join(", ") };
    let moves: Vec<String> =
        setup.moves.iter().map(|it| format!("{} to {}:{}", it.host, it.switch, it.port)).collect();
    let mut out = format!(
        "{} explored   {app}   {}{}\nhosts       send {}   reply {}   may move {}\nfaults      {}\nreduced by  {}\n{ABSTRACTED}",
        network.name,
        setup.protocol.name(),
        if setup.threads { ", answers overtake each other" } else { "" },
        sends.join(", "),
        or_none(&setup.replies),
        or_none(&moves),
        or_none(&budgets),
        or_none(&reductions(setup).into_iter().map(str::to_owned).collect::<Vec<_>>()),
    );
    let size = size(explored);
    out.push_str(&match &found.counterexample {
        Some(trace) => format!("{trace}VIOLATED: {} ({size})\n", trace.finding),
        None if found.is_exhaustive => format!(
            "HOLDS in every state that these packets and faults lead to: {} ({size})\n",
            names(setup).join(", ")
        ),
        None => format!("BOUNDED: no violation in {size}; there are more states (--states N)\n"),
    });
    out
}
