//! What a plan assumes, in words. The checker derives the same words by itself and refuses others.

use std::collections::BTreeSet;
use tenuto_model::quantity::format_cost;
use tenuto_model::{
    Apart, Assumption, ControlShare, Flow, ForwardingModel, Network, OtherTraffic, Plan, Receive,
    SliceControl, SliceShare,
};

/// Flows that are named one by one; more are counted.
const NAMED_MAX: usize = 4;

/// Every assumption that the bounds of a plan rest on.
pub(crate) fn of(plan: &Plan) -> Vec<Assumption> {
    let network = &plan.network;
    let mut all = vec![
        assume("model", model(plan)),
        assume("sources", sources(network)),
        assume("faults", faults(network)),
        assume("controller", controller(network)),
        assume("clock", clock(network)),
        assume(
            "order",
            "a switch keeps the order of each input line, however its latency varies".into(),
        ),
        assume(
            "latency",
            "hosts, transceivers and cables add no delay but what is described".into(),
        ),
        assume(
            "frames",
            "no frame is longer than 1518 B (no 802.1Q tags), and no line is paused (802.3 PAUSE)"
                .into(),
        ),
    ];
    let processors = processors(network);
    if !processors.is_empty() {
        // A processor takes its time for every frame, and no meter counts frames.
        let text = "no message comes in more frames than it is described with: one per 1460 B, or one of the stated size";
        all.push(assume("cut", text.into()));
    }
    all.extend(processors);
    if matches!(network.other_traffic, OtherTraffic::Carry { .. }) {
        all.push(assume("other", "other traffic has buffers of its own".into()));
    }
    if plan.staircases && plan.model == ForwardingModel::StoreAndForward {
        let text = "messages of a host, and behind a monitor, come a period apart and count whole";
        all.push(assume("messages", text.into()));
    }
    all.extend(shaping(plan));
    let copied = named(network, |flow| {
        network.networks.is_empty() && flow.copies.len() > 1 && flow.apart == Apart::Links
    });
    all.extend(copied.map(|flows| {
        let text = "have no link in common, but may cross one switch";
        assume("copies", format!("copies of {flows} {text}"))
    }));
    let without = unrouted(plan);
    let unsent = named(network, |flow| without.contains(flow.name.as_str()));
    all.extend(unsent.map(|flows| {
        assume("unrouted", format!("nothing is sent of {flows}: no route was found"))
    }));
    all
}

/// Whether lines hold back what they carry; what that rests on where they differ.
fn shaping(plan: &Plan) -> Option<Assumption> {
    if !plan.line_shaping {
        return Some(assume("shaping", "input lines are not counted as shaping".into()));
    }
    let mut rates = plan.network.links.iter().map(|link| link.rate_bps);
    let first = rates.next()?;
    let text = "no line is faster than described: what came over a slow one, farther back too, \
                comes together only as far as delays behind it vary";
    rates.any(|rate| rate != first).then(|| assume("shaping", text.into()))
}

/// Flows that a refusal says have no route.
fn unrouted(plan: &Plan) -> BTreeSet<&str> {
    let refusals = plan.refusals.iter().filter(|it| it.resource == "route" && !plan.feasible);
    refusals.flat_map(|refusal| refusal.flows.iter().map(String::as_str)).collect()
}

/// `a, b`, or how many, in the order of the description; `None` for none.
fn named(network: &Network, is_meant: impl Fn(&Flow) -> bool) -> Option<String> {
    let flows = network.flows.iter().filter(|flow| is_meant(flow));
    let names: Vec<&str> = flows.map(|flow| flow.name.as_str()).collect();
    match names.len() {
        0 => None,
        1..=NAMED_MAX => Some(names.join(", ")),
        count => Some(format!("{count} flows")),
    }
}

fn assume(name: &str, text: String) -> Assumption {
    Assumption { name: name.into(), text }
}

fn model(plan: &Plan) -> String {
    let sizes =
        if plan.as_stated { "; frames below 64 B as stated, for comparison only" } else { "" };
    let model = match plan.model {
        ForwardingModel::StoreAndForward => {
            "store-and-forward: whole frames are received before they are sent on"
        }
        ForwardingModel::Fluid => "fluid: not valid for frames",
    };
    format!("{model}{sizes}; the network starts empty")
}

fn sources(network: &Network) -> String {
    match network.tolerates.babbling_hosts {
        0 => "trusted sources: every host keeps its contracts".into(),
        count => format!(
            "babbling sources: {} may send anything at line rate; the first switch polices it",
            counted(count, "host")
        ),
    }
}

fn faults(network: &Network) -> String {
    let lost = if network.modes.len() > 1 {
        format!("{} per mode change", counted(network.tolerates.lost_signals, "lost signal"))
    } else {
        "no mode changes".into()
    };
    let apart = |apart: Apart| {
        let mut copied = network.flows.iter().filter(|flow| !flow.copies.is_empty());
        copied.any(|flow| flow.apart == apart)
    };
    let copies = match network.networks.len() {
        0 if apart(Apart::Switches) && apart(Apart::Links) => {
            "one switch or its links for flows with disjoint copies, one link, but no switch, for \
             flows with link-disjoint copies"
                .to_owned()
        }
        0 if apart(Apart::Links) => {
            "one link, but no switch, for flows with link-disjoint copies".to_owned()
        }
        0 if apart(Apart::Switches) => {
            "one switch or its links for flows with disjoint copies".to_owned()
        }
        0 | 1 => "no redundant network".into(),
        count => format!("all but one of {count} redundant networks for flows with a copy in each"),
    };
    let links = match network.tolerates.links_lost {
        0 => "",
        _ => {
            ", one link between switches once a controller has installed the ways around it (until \
             then nothing is promised to flows that it carried)"
        }
    };
    format!("tolerates {lost}, {copies}{links}; no other loss of links or nodes")
}

fn controller(network: &Network) -> String {
    if network.tolerates.controller_loss {
        "every controller may stop after set-up; switches keep what they were told".into()
    } else {
        "controllers keep running".into()
    }
}

fn clock(network: &Network) -> String {
    let ppm = network.clock_tolerance_ppm();
    format!(
        "clocks of a host and a switch differ by at most {ppm} ppm together; those of switches, and the rates of lines, are exact (a line slower by 100 ppm delays by 100 ppm more)"
    )
}

/// What is assumed of processors that ports share, by profile.
fn processors(network: &Network) -> Vec<Assumption> {
    let mut all = Vec::new();
    for (name, profile) in &network.profiles {
        let Some(processor) = &profile.processor else { continue };
        let turn = match processor.receive {
            Receive::Fifo => "in one queue".to_owned(),
            Receive::RoundRobin(burst) => format!("port by port, {burst} frames each"),
        };
        let control = match processor.control {
            ControlShare { time_ps: 0, .. } => "control messages take none of it".into(),
            ControlShare { time_ps, period_ps } => format!(
                "control messages take at most {} of it per {}",
                format_cost(time_ps),
                format_cost(period_ps)
            ),
        };
        let known =
            if processor.is_typical { "; its times are typical ones, not worst" } else { "" };
        all.push(assume(
            "processor",
            format!("one processor of a {name} serves all ports {turn}; {control}{known}"),
        ));
        all.extend(slices(name, &processor.slices));
    }
    all
}

/// What a switch has to hold its slices to.
fn slices(profile: &str, slices: &SliceControl) -> Vec<Assumption> {
    let (message, byte) = (format_cost(slices.message_ps), format_cost(slices.byte_ps));
    let of = |it: &SliceShare| {
        let SliceShare { name, messages, packet_ins, bytes } = it;
        let text = format!(
            "a {profile} holds slice {name} to {messages} messages/s, {packet_ins} packet-ins/s and {bytes} B/s \
             of each, a tenth of a second at once; a message costs it at most {message}, a byte {byte}"
        );
        assume("slice", text)
    };
    slices.budgets.iter().map(of).collect()
}

fn counted(count: u32, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
