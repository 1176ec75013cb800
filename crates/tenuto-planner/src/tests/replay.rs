//! Bounds against replays: frames at whole ticks through strict-priority, store-and-forward ports.
//!
//! A few hundred random release patterns of the contracts; no observed delay may pass its bound.

use super::builder::{MBIT, MS, contract, flow, line, quick};
use crate::plan;
use std::collections::BTreeMap;
use tenuto_model::{Flow, Network, Plan, Size, Transition};
use tenuto_units::Draws;

/// One frame in the network, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Frame {
    ready: u64,
    message: usize,
}

struct Message<'a> {
    flow: &'a Flow,
    release: u64,
    done: u64,
}

/// Serves one port: frames as they become ready, highest class first, first in first out.
fn serve(frames: &mut [Frame], messages: &[Message<'_>], bit_ns: u64) -> Vec<(Frame, u64)> {
    frames.sort();
    let (mut waiting, mut left) = (Vec::<Frame>::new(), frames.iter().copied().peekable());
    let (mut now, mut out) = (0_u64, Vec::new());
    loop {
        if waiting.is_empty() {
            let Some(next) = left.peek() else { return out };
            now = now.max(next.ready);
        }
        while let Some(frame) = left.next_if(|frame| frame.ready <= now) {
            waiting.push(frame);
        }
        let class = |f: &Frame| messages[f.message].flow.contracts[0].priority;
        let first = waiting.iter().enumerate().min_by_key(|(place, f)| (class(f), *place));
        let first = first.map(|(place, _)| place).expect("a frame waits");
        let frame = waiting.remove(first);
        let mix = messages[frame.message].flow.contracts[0].size.frames(false);
        now += mix.frame_wire_bits_max * bit_ns;
        out.push((frame, now));
    }
}

/// The time of a bit on the line behind a port, whole nanoseconds.
fn bit_ns(network: &Network, (node, port): &(String, u32)) -> u64 {
    let mut ends = network.ends_of(node);
    let (.., link) = ends.find(|(own, ..)| own.port == *port).expect("a link");
    1_000_000_000 / link.rate_bps
}

/// The largest delay of every flow over one pattern of releases, up to `until`.
fn replay(network: &Network, plan: &Plan, seed: u64, until: u64) -> BTreeMap<String, u64> {
    let mut draws = Draws::new(seed);
    let mut messages = Vec::new();
    for flow in &network.flows {
        let period = flow.contracts[0].period_ns;
        let mut release = if draws.below(2) == 0 { 0 } else { draws.below(period) };
        while release < until {
            messages.push(Message { flow, release, done: 0 });
            release += period + if draws.below(4) == 0 { draws.below(period) } else { 0 };
        }
    }
    let mut at: BTreeMap<(String, u32), Vec<Frame>> = BTreeMap::new();
    let path = |flow: &Flow| {
        let route = plan.routes.iter().find(|r| r.flow == flow.name).expect("a route");
        route.paths[0].ports.iter().map(|p| (p.node.clone(), p.port)).collect::<Vec<_>>()
    };
    for (message, it) in messages.iter().enumerate() {
        let frames = it.flow.contracts[0].size.frames(false).frames;
        let first = path(it.flow)[0].clone();
        let all = (0..frames).map(|_| Frame { ready: it.release, message });
        at.entry(first).or_default().extend(all);
    }
    // Ports in the order of the line: hosts, then switches by name.
    for node in ["s1", "s2", "sw1", "sw2", "sw3"] {
        let here: Vec<(String, u32)> = at.keys().filter(|(n, _)| n == node).cloned().collect();
        for port in here {
            let mut frames = at.remove(&port).unwrap_or_default();
            for (frame, done) in serve(&mut frames, &messages, bit_ns(network, &port)) {
                let path = path(messages[frame.message].flow);
                let next = path.iter().position(|p| *p == port).expect("on its path") + 1;
                match path.get(next) {
                    Some(next) => {
                        let late = Frame { ready: done + draws.below(7_001), ..frame };
                        at.entry(next.clone()).or_default().push(late);
                    }
                    None => messages[frame.message].done = messages[frame.message].done.max(done),
                }
            }
        }
    }
    let mut worst: BTreeMap<String, u64> = BTreeMap::new();
    for message in &messages {
        let known = worst.entry(message.flow.name.clone()).or_default();
        *known = (*known).max(message.done - message.release);
    }
    worst
}

/// A line of switches with a few flows, of periods of so many milliseconds, which its links carry.
fn drawn(draws: &mut Draws, period_ms: u64, rates: &[u64]) -> Network {
    let mut it = line("hp-e3800");
    for link in it.links.iter_mut().filter(|_| rates.len() > 1) {
        link.rate_bps = draws.one_of(rates) * MBIT;
    }
    for index in 0..2 + draws.below(5) {
        let size = match draws.below(3) {
            0 => Size::FrameBytes(64),
            1 => Size::FrameBytes(1518),
            _ => Size::MessageBytes(1_460 * u32::try_from(1 + draws.below(12)).expect("small")),
        };
        let priority = u8::try_from(draws.below(3)).expect("small");
        let own = contract(size, (1 + draws.below(6)) * period_ms * MS, priority);
        let (source, target) = (draws.below(2) + 1, draws.below(2) + 1);
        let (source, target) = (format!("s{source}"), format!("d{target}"));
        it.flows.push(flow(&format!("f{index}"), &source, &[&target], own));
    }
    it
}

/// The largest share of a bound that was reached, percent.
fn closest(draw: impl Fn(&mut Draws) -> Network, until: u64) -> u64 {
    let mut closest = 0;
    for seed in 0..300 {
        let it = draw(&mut Draws::new(seed ^ 0x5eed));
        let plan = plan(&it, &quick());
        let observed = replay(&it, &plan, seed, until);
        for row in plan.flows.iter().filter(|r| r.mode == Transition::Steady(0)) {
            let Some(bound) = row.delay_bound_ps else { continue };
            let seen = observed[&row.flow] * 1_000;
            assert!(seen <= bound, "seed {seed} {}: {seen} > {bound}", row.flow);
            closest = closest.max(seen * 100 / bound);
        }
    }
    closest
}

#[test]
fn no_replay_passes_its_bound() {
    let closest = closest(|draws| drawn(draws, 1, &[100]), 12 * MS);
    assert!(closest >= 90, "the replay comes close to the bounds: {closest} %");
}

#[test]
fn no_replay_over_lines_of_several_rates_passes_its_bound() {
    let closest = closest(|draws| drawn(draws, 20, &[10, 100, 1_000, 1_000]), 240 * MS);
    assert!(closest >= 90, "the replay comes close to the bounds: {closest} %");
}
