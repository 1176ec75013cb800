//! `tenuto sim NET --app APP`: an application on the switches of a network, in virtual time.

use super::on_network;
use crate::args::Sim;
use crate::failure::Failure;
use crate::header::Header;
use crate::outcome::Outcome;
use crate::output;
use serde::Serialize;
use std::collections::BTreeMap;
use tenuto_model::Network;
use tenuto_units::Span;
use tenuto_world::applied::{self, AppliedRun, FlowRow, RunSettings, SwitchRow};
use tenuto_world::races::Record;

/// Rows of flows that are printed unless all are asked for.
const ROWS: usize = 20;

#[derive(Serialize)]
struct FlowDocument<'a> {
    from: &'a str,
    to: &'a str,
    sent: u32,
    received: u32,
    replies_sent: u32,
    replies_received: u32,
    lost: u32,
    duplicates: u32,
    packet_ins: u32,
    flow_mods: u32,
    packet_outs: u32,
    began_ns: u64,
    setup_ns: Option<u64>,
}

#[derive(Serialize)]
struct SwitchDocument<'a> {
    switch: &'a str,
    packet_ins: u64,
    flow_mods: u64,
    packet_outs: u64,
    barriers: u64,
    refused: u64,
    drops: &'a BTreeMap<String, u64>,
    waiting: usize,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    network: &'a str,
    application: &'a str,
    protocol: &'static str,
    duration_ns: u64,
    flows: Vec<FlowDocument<'a>>,
    switches: Vec<SwitchDocument<'a>>,
    setup_ns_p50: Option<u64>,
    setup_ns_p80: Option<u64>,
    setup_ns_max: Option<u64>,
    failures: u64,
    faults: &'a [String],
    notes: &'a [String],
}

pub(crate) fn run(args: &Sim, name: &str) -> Result<Outcome, Failure> {
    let flags = &args.application;
    let (network, app) = on_network::read(&args.input, name, &flags.on_network, &[], false)?;
    let settings = settings(args, &network)?;
    let shown = args.input.display().to_string();
    let found = applied::run(&network, app, &settings)
        .map_err(|why| Failure::input(why, Some(&shown), None))?;
    if let Some(path) = &flags.record {
        let lines = found.record.iter().map(Record::line);
        let text: Vec<String> = std::iter::once(Record::head()).chain(lines).collect();
        output::write_file(path, &(text.join("\n") + "\n"))?;
    }
    match args.run.json {
        true => output::say_json(&document(&network, name, &settings, &found))?,
        false => output::say(&text(&network, name, &settings, &found, args.run.all))?,
    }
    Ok(if found.is_delivered() { Outcome::Good } else { Outcome::Bad })
}

fn settings(args: &Sim, network: &Network) -> Result<RunSettings, Failure> {
    let flags = &args.application;
    let (sends, replies) = flags.on_network.traffic(network)?;
    Ok(RunSettings {
        protocol: flags.on_network.protocol(),
        sends,
        replies,
        service: flags.on_network.service(),
        flows: flags.flows,
        every: Span::from_ns(flags.every),
        gap: Span::from_ns(flags.gap),
        control_delay: Span::from_ns(flags.control_delay),
        think: Span::from_ns(flags.think),
        command: Span::from_ns(flags.command),
        has_record: flags.record.is_some(),
        seed: args.run.seed.unwrap_or(1),
        ..RunSettings::default()
    })
}

/// The value that so many percent of them are not above.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

const fn verdict(found_all: bool) -> &'static str {
    if found_all { "delivered" } else { "lost" }
}

fn document<'a>(
    network: &'a Network,
    name: &'a str,
    settings: &RunSettings,
    found: &'a AppliedRun,
) -> Document<'a> {
    let flow = |it: &'a FlowRow| FlowDocument {
        from: &it.from,
        to: &it.to,
        sent: it.sent,
        received: it.received,
        replies_sent: it.replies_sent,
        replies_received: it.replies_received,
        lost: it.lost(),
        duplicates: it.duplicates,
        packet_ins: it.packet_ins,
        flow_mods: it.flow_mods,
        packet_outs: it.packet_outs,
        began_ns: it.began.as_ns(),
        setup_ns: it.setup_ns,
    };
    let switch = |it: &'a SwitchRow| SwitchDocument {
        switch: &it.switch,
        packet_ins: it.packet_ins,
        flow_mods: it.flow_mods,
        packet_outs: it.packet_outs,
        barriers: it.barriers,
        refused: it.refused,
        drops: &it.drops,
        waiting: it.waiting,
    };
    let times = found.setup_times();
    Document {
        header: Header::new("tenuto-application-run/1", verdict(found.is_delivered()))
            .world("simulated")
            .seed(Some(settings.seed)),
        network: &network.name,
        application: name,
        protocol: settings.protocol.name(),
        duration_ns: found.ended_ns,
        flows: found.flows.iter().map(flow).collect(),
        switches: found.switches.iter().map(switch).collect(),
        setup_ns_p50: percentile(&times, 50),
        setup_ns_p80: percentile(&times, 80),
        setup_ns_max: times.last().copied(),
        failures: found.failures,
        faults: &found.faults,
        notes: &found.notes,
    }
}

fn ms(ns: Option<u64>) -> String {
    ns.map_or_else(|| "–".into(), |ns| format!("{}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000))
}

fn text(
    network: &Network,
    name: &str,
    settings: &RunSettings,
    found: &AppliedRun,
    is_all: bool,
) -> String {
    let mut out = format!(
        "{} simulated   {name}   {}   seed {}\n\n",
        network.name,
        settings.protocol.name(),
        settings.seed
    );
    out.push_str("flow              begins ms  sent  arrived  replies  arrived  lost  packet-ins  flow-mods  packet-outs  set up in ms\n");
    for flow in found.flows.iter().take(if is_all { usize::MAX } else { ROWS }) {
        let pair = format!("{} > {}", flow.from, flow.to);
        out.push_str(&format!(
            "{pair:<16} {:>10}  {:>4}  {:>7}  {:>7}  {:>7}  {:>4}  {:>10}  {:>9}  {:>11}  {:>12}\n",
            ms(Some(flow.began.as_ns())),
            flow.sent,
            flow.received,
            flow.replies_sent,
            flow.replies_received,
            flow.lost(),
            flow.packet_ins,
            flow.flow_mods,
            flow.packet_outs,
            ms(flow.setup_ns),
        ));
    }
    if !is_all && found.flows.len() > ROWS {
        out.push_str(&format!("… {} more (--all)\n", found.flows.len() - ROWS));
    }
    out.push_str("\nswitch            packet-ins  flow-mods  packet-outs  barriers  refused  waiting  dropped\n");
    for it in &found.switches {
        let drops: Vec<String> =
            it.drops.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let drops = if drops.is_empty() { "none".to_owned() } else { drops.join(", ") };
        out.push_str(&format!(
            "{:<16}  {:>10}  {:>9}  {:>11}  {:>8}  {:>7}  {:>7}  {drops}\n",
            it.switch,
            it.packet_ins,
            it.flow_mods,
            it.packet_outs,
            it.barriers,
            it.refused,
            it.waiting,
        ));
    }
    found.notes.iter().for_each(|note| out.push_str(&format!("told: {note}\n")));
    found.faults.iter().for_each(|fault| out.push_str(&format!("application: {fault}\n")));
    out.push_str(&last_line(found));
    out
}

fn last_line(found: &AppliedRun) -> String {
    let of =
        |count: fn(&FlowRow) -> u32| found.flows.iter().map(|it| u64::from(count(it))).sum::<u64>();
    let flows = found.flows.len();
    let set_up = found.flows.iter().filter(|flow| flow.is_set_up()).count();
    let (sent, lost) = (of(|it| it.sent + it.replies_sent), of(FlowRow::lost));
    let per_flow = |count: u64| {
        let hundredths = u128::from(count) * 100 / (flows.max(1) as u128);
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    };
    let times = found.setup_times();
    let (word, failures) = match (found.is_delivered(), found.failures) {
        (true, _) => ("DELIVERED", String::new()),
        (false, 0) => ("LOST", String::new()),
        (false, count) => ("LOST", format!("; the application failed {count} times")),
    };
    format!(
        "\n{word}: {set_up} of {flows} flows set up, {lost} of {sent} packets lost; per flow {} packet-ins, {} flow-mods; \
         set up in {} ms (median), {} (80 %), {} (longest){failures}\n",
        per_flow(of(|it| it.packet_ins)),
        per_flow(of(|it| it.flow_mods)),
        ms(percentile(&times, 50)),
        ms(percentile(&times, 80)),
        ms(times.last().copied()),
    )
}
