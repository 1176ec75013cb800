//! Scenarios close to the worst that the fault model allows.

use crate::network::Draw;
use tenuto_model::{Event, EventAction, Expect, Network, Offsets, Scenario, Sizes, Traffic};

const MS: u64 = 1_000_000;

fn scenario(seed: u64, duration_ns: u64, offsets: Offsets, sizes: Sizes) -> Scenario {
    let traffic = Traffic { offsets, sizes };
    Scenario { traffic, expect: Expect::default(), ..Scenario::plain(duration_ns, seed) }
}

fn at(at_ns: u64, action: EventAction) -> Event {
    Event { at_ns, action, note: None }
}

/// Every scenario that the network of `seed` is run in.
pub(crate) fn all(network: &Network, seed: u64) -> Vec<(&'static str, Scenario)> {
    let mut draw = Draw::new(seed ^ 0x5eed);
    let short = 150 * MS;
    let mut all = vec![
        ("zero offsets", scenario(seed, short, Offsets::Zero, Sizes::Largest)),
        ("random sizes", scenario(seed, short, Offsets::Random, Sizes::Random)),
        ("starts within a moment", close_starts(network, &mut draw, short)),
        ("starts within a moment again", close_starts(network, &mut draw, short)),
    ];
    if network.modes.len() > 1 {
        for offsets in [Offsets::Zero, Offsets::Random] {
            all.push(("modes", modes(network, &mut draw, offsets)));
        }
        all.push(("modes at once", modes_at_once(network, &mut draw)));
    }
    if network.tolerates.babbling_hosts > 0 {
        all.push(("a babbling host", babble(network, &mut draw)));
        all.push(("a host that sends too much", oversend(network, &mut draw)));
    }
    all
}

/// Stops everything, and starts it again within a few transmission times.
fn close_starts(network: &Network, draw: &mut Draw, duration_ns: u64) -> Scenario {
    let mut run = scenario(draw.word(), duration_ns, Offsets::Zero, Sizes::Largest);
    let span = draw.of(&[20_000, 200_000, 2 * MS]);
    for flow in &network.flows {
        let name = &flow.name;
        run.events.push(at(0, EventAction::StopFlow { flow: name.clone() }));
        let start = 45 * MS + draw.below(span);
        run.events.push(at(start, EventAction::StartFlow { flow: name.clone() }));
    }
    run.events.sort_by_key(|event| event.at_ns);
    run
}

fn watched(network: &Network) -> Vec<(String, usize)> {
    let flows = network.flows.iter().filter(|flow| flow.is_watched());
    flows.map(|flow| (flow.name.clone(), flow.level)).collect()
}

/// Watched flows go to any mode and back, at any time; a signal is lost.
fn modes(network: &Network, draw: &mut Draw, offsets: Offsets) -> Scenario {
    let mut run = scenario(draw.word(), 2_500 * MS, offsets, Sizes::Largest);
    for (flow, level) in watched(network) {
        let up = draw.within(50, 600) * MS + draw.below(MS);
        let mode = usize::try_from(draw.within(1, level as u64)).expect("small");
        run.events.push(at(up, EventAction::Behave { flow: flow.clone(), mode }));
        let down = up + draw.within(1, 300) * MS;
        run.events.push(at(down, EventAction::Behave { flow: flow.clone(), mode: 0 }));
        if draw.chance(50) {
            let again = down + draw.within(1, 900) * MS;
            run.events.push(at(again, EventAction::Behave { flow, mode: level }));
        }
    }
    lose_a_signal(network, draw, &mut run);
    run.events.sort_by_key(|event| event.at_ns);
    run
}

/// All watched flows go up within a few milliseconds, level by level.
fn modes_at_once(network: &Network, draw: &mut Draw) -> Scenario {
    let mut run = scenario(draw.word(), 400 * MS, Offsets::Zero, Sizes::Largest);
    let up = draw.within(60, 200) * MS;
    for (flow, level) in watched(network) {
        for mode in 1..=level {
            let moment = up + mode as u64 * draw.below(3 * MS);
            run.events.push(at(moment, EventAction::Behave { flow: flow.clone(), mode }));
        }
    }
    lose_a_signal(network, draw, &mut run);
    run.events.sort_by_key(|event| event.at_ns);
    run
}

fn lose_a_signal(network: &Network, draw: &mut Draw, run: &mut Scenario) {
    let frames = network.tolerates.lost_signals;
    let is_switch = |name: &str| network.switch(name).is_some();
    let links = network.links.iter().filter(|l| is_switch(&l.a.node) && is_switch(&l.b.node));
    let trunks: Vec<_> = links.collect();
    if frames == 0 || trunks.is_empty() {
        return;
    }
    let link = draw.of(&trunks);
    let (from, to) = (link.a.node.clone(), link.b.node.clone());
    let (from, to) = if draw.chance(50) { (from, to) } else { (to, from) };
    run.events.push(at(1, EventAction::LoseSignals { from, to, frames }));
}

fn sources(network: &Network) -> Vec<&str> {
    let mut sources: Vec<&str> = network.flows.iter().map(|f| f.source.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}

fn babble(network: &Network, draw: &mut Draw) -> Scenario {
    let mut run = scenario(draw.word(), 120 * MS, Offsets::Zero, Sizes::Largest);
    let host = draw.of(&sources(network)).to_owned();
    let frame_bytes = draw.of(&[64, 65, 200, 1_518]);
    let babble = EventAction::Babble {
        host,
        flows: Vec::new(),
        frame_bytes,
        rate_bps: draw.chance(30).then(|| draw.within(1, 50) * 1_000_000),
        for_ns: Some(40 * MS),
    };
    run.events.push(at(draw.within(10, 60) * MS, babble));
    run
}

fn oversend(network: &Network, draw: &mut Draw) -> Scenario {
    let mut run = scenario(draw.word(), 200 * MS, Offsets::Random, Sizes::Largest);
    let names: Vec<&str> = network.flows.iter().map(|f| f.name.as_str()).collect();
    let flow = draw.of(&names).to_owned();
    let percent = u32::try_from(draw.within(101, 900)).expect("small");
    run.events.push(at(draw.within(1, 90) * MS, EventAction::Oversend { flow, percent }));
    run
}

/// Whether the flow's own host does in that run what no contract allows.
pub(crate) fn misbehaves(network: &Network, scenario: &Scenario, flow: &str) -> bool {
    let source = network.flow(flow).map_or("", |flow| &flow.source);
    scenario.events.iter().any(|event| match &event.action {
        EventAction::Babble { host, .. } => host == source,
        EventAction::Oversend { flow, .. } => {
            network.flow(flow).is_some_and(|flow| flow.source == source)
        }
        _ => false,
    })
}
