//! What the claims of a plan rest on, in words: derived from the description and from how it was
//! analysed. The words in the plan are what readers are shown, so they have to be these.

use crate::description::net::Flow;
use crate::description::read::{
    Apart, Assumption, Model, Network, OtherTraffic, Processor, Ranked, Receive, SliceBudget,
    SliceControl,
};
use crate::finding::rule;
use crate::rows::context::Context;
use crate::streams::routes::is_refused;

/// Flows that are named one by one.
const NAMED_MAX: usize = 4;

/// Checks the words of the plan; returns those that are right.
pub(crate) fn check(context: &Context<'_>) -> Vec<Assumption> {
    let right = derived(context);
    let stated = &context.plan.assumptions;
    for it in stated.iter().filter(|it| !right.contains(it)) {
        let same_name = right.iter().find(|other| other.name == it.name);
        let found = same_name.map_or("nothing of that name", |other| &other.text);
        context.wrong(rule::ASSUMED, &it.name, &it.text, found);
    }
    for it in right.iter().filter(|it| !stated.contains(it)) {
        context.wrong(rule::ASSUMED, &it.name, "not said", &it.text);
    }
    let is_said_twice = |at: usize| stated[..at].contains(&stated[at]);
    if let Some(at) = (0..stated.len()).find(|at| is_said_twice(*at)) {
        context.wrong(rule::ASSUMED, &stated[at].name, &stated[at].text, "said before");
    }
    check_ranking(context);
    right
}

/// A plan that calls its classes rate-monotonic has no longer period above a shorter one.
fn check_ranking(context: &Context<'_>) {
    if context.plan.ranked != Ranked::RateMonotonic {
        return;
    }
    let highest = |flow: &Flow<'_>| flow.contracts.last().map(|it| (it.period_ns, it.class));
    let mut ranks: Vec<(u64, u8)> = context.net.flows.iter().filter_map(highest).collect();
    ranks.sort_unstable();
    if let Some(pair) = ranks.windows(2).find(|pair| pair[0].1 > pair[1].1) {
        let [(shorter, low), (longer, high)] = [pair[0], pair[1]];
        let found = format!("class {high} for {longer} ns, {low} for {shorter} ns");
        context.wrong(rule::ASSUMED, "ranked", "rate-monotonic", found);
    }
}

/// Whether a switch is of a profile with typical times; the plan has to say so.
pub(crate) fn check_typical(context: &Context<'_>) -> bool {
    let raw = &context.net.raw;
    let mut used = raw.switches.iter().filter_map(|switch| raw.profiles.get(&switch.profile));
    let found = used.any(|it| it.is_typical || it.processor.as_ref().is_some_and(|p| p.is_typical));
    if found != context.plan.modelled {
        let claim = if context.plan.modelled { "typical times" } else { "worst times" };
        let is = if found { "a switch with typical times" } else { "none with typical times" };
        context.wrong(rule::ASSUMED, "modelled", claim, is);
    }
    found
}

fn derived(context: &Context<'_>) -> Vec<Assumption> {
    let (plan, raw) = (context.plan, &context.net.raw);
    let mut all = Vec::new();
    let mut add = |name: &str, text: String| all.push(Assumption { name: name.into(), text });
    add("model", model(plan.model, plan.as_stated));
    add("sources", sources(raw.tolerates.babbling_hosts));
    add("faults", faults(raw));
    let controller = match raw.tolerates.controller_loss {
        true => "every controller may stop after set-up; switches keep what they were told",
        false => "controllers keep running",
    };
    add("controller", controller.into());
    let ppm = context.net.tolerance_ppm;
    add(
        "clock",
        format!(
            "clocks of a host and a switch differ by at most {ppm} ppm together; those of switches, and the rates of lines, are exact (a line slower by 100 ppm delays by 100 ppm more)"
        ),
    );
    add("order", "a switch keeps the order of each input line, however its latency varies".into());
    add("latency", "hosts, transceivers and cables add no delay but what is described".into());
    add(
        "frames",
        "no frame is longer than 1518 B (no 802.1Q tags), and no line is paused (802.3 PAUSE)"
            .into(),
    );
    if raw.profiles.values().any(|profile| profile.processor.is_some()) {
        let text = "no message comes in more frames than it is described with: one per 1460 B, or one of the stated size";
        add("cut", text.into());
    }
    for (name, profile) in &raw.profiles {
        if let Some(processor) = &profile.processor {
            add("processor", processor_words(name, processor));
            for words in slice_words(name, &processor.slices) {
                add("slice", words);
            }
        }
    }
    if matches!(raw.other_traffic, OtherTraffic::Carry { .. }) {
        add("other", "other traffic has buffers of its own".into());
    }
    if context.counts_messages() {
        let text = "messages of a host, and behind a monitor, come a period apart and count whole";
        add("messages", text.into());
    }
    if !plan.line_shaping {
        add("shaping", "input lines are not counted as shaping".into());
    } else if raw.links.iter().any(|link| link.rate_bps != raw.links[0].rate_bps) {
        let text = "no line is faster than described: what came over a slow one, farther back too, \
                    comes together only as far as delays behind it vary";
        add("shaping", text.into());
    }
    let is_apart = |flow: &Flow<'_>| {
        raw.networks.is_empty() && flow.raw.copies.len() > 1 && flow.raw.apart == Apart::Links
    };
    if let Some(flows) = named(context, is_apart) {
        let text = "have no link in common, but may cross one switch";
        add("copies", format!("copies of {flows} {text}"));
    }
    if let Some(flows) = named(context, |flow| is_refused(plan, &flow.raw.name)) {
        add("unrouted", format!("nothing is sent of {flows}: no route was found"));
    }
    all
}

fn model(model: Model, as_stated: bool) -> String {
    let mut text = match model {
        Model::StoreAndForward => {
            "store-and-forward: whole frames are received before they are sent on".to_owned()
        }
        Model::Fluid => "fluid: not valid for frames".to_owned(),
    };
    if as_stated {
        text.push_str("; frames below 64 B as stated, for comparison only");
    }
    text + "; the network starts empty"
}

fn sources(babbling: u32) -> String {
    match babbling {
        0 => "trusted sources: every host keeps its contracts".to_owned(),
        n => {
            let hosts = if n == 1 { "host" } else { "hosts" };
            let text = "may send anything at line rate; the first switch polices it";
            format!("babbling sources: {n} {hosts} {text}")
        }
    }
}

fn faults(raw: &Network) -> String {
    let signals = match (raw.modes.len(), raw.tolerates.lost_signals) {
        (0 | 1, _) => "no mode changes".to_owned(),
        (_, 1) => "1 lost signal per mode change".to_owned(),
        (_, n) => format!("{n} lost signals per mode change"),
    };
    let has =
        |apart: Apart| raw.flows.iter().any(|flow| !flow.copies.is_empty() && flow.apart == apart);
    let switch = "one switch or its links for flows with disjoint copies";
    let link = "one link, but no switch, for flows with link-disjoint copies";
    let copies = match (raw.networks.len(), has(Apart::Switches), has(Apart::Links)) {
        (0, true, true) => format!("{switch}, {link}"),
        (0, true, false) => switch.to_owned(),
        (0, false, true) => link.to_owned(),
        (0, false, false) | (1, ..) => "no redundant network".to_owned(),
        (n, ..) => format!("all but one of {n} redundant networks for flows with a copy in each"),
    };
    let links = match raw.tolerates.links_lost {
        0 => "",
        _ => {
            ", one link between switches once a controller has installed the ways around it (until \
             then nothing is promised to flows that it carried)"
        }
    };
    format!("tolerates {signals}, {copies}{links}; no other loss of links or nodes")
}

fn processor_words(profile: &str, processor: &Processor) -> String {
    let turn = match processor.receive {
        Receive::Fifo => "in one queue".to_owned(),
        Receive::RoundRobin(frames) => format!("port by port, {frames} frames each"),
    };
    let (share, period) = (processor.control.time_ps, processor.control.period_ps);
    let control = match share {
        0 => "control messages take none of it".to_owned(),
        _ => format!("control messages take at most {} of it per {}", time(share), time(period)),
    };
    let known = if processor.is_typical { "; its times are typical ones, not worst" } else { "" };
    format!("one processor of a {profile} serves all ports {turn}; {control}{known}")
}

/// What the switch has to hold each of its slices to.
fn slice_words(profile: &str, slices: &SliceControl) -> Vec<String> {
    let (message, byte) = (time(slices.message_ps), time(slices.byte_ps));
    let words = |it: &SliceBudget| {
        format!(
            "a {profile} holds slice {} to {} messages/s, {} packet-ins/s and {} B/s of each, a tenth of a second \
             at once; a message costs it at most {message}, a byte {byte}",
            it.name, it.messages, it.packet_ins, it.bytes
        )
    };
    slices.budgets.iter().map(words).collect()
}

/// In the largest unit that leaves it whole.
fn time(ps: u64) -> String {
    let units = [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
    let whole = units.into_iter().find(|(unit, _)| ps > 0 && ps.is_multiple_of(*unit));
    let (unit, name) = whole.unwrap_or((1, "ps"));
    format!("{} {name}", ps / unit)
}

/// The flows by name, or how many; `None` for none.
fn named(context: &Context<'_>, is_meant: impl Fn(&Flow<'_>) -> bool) -> Option<String> {
    let flows = context.net.flows.iter().filter(|flow| is_meant(flow));
    let names: Vec<&str> = flows.map(|flow| flow.raw.name.as_str()).collect();
    match names.len() {
        0 => None,
        1..=NAMED_MAX => Some(names.join(", ")),
        count => Some(format!("{count} flows")),
    }
}
