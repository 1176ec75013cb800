//! Raises played against the bounds of whole paths: flows that start within a moment of each other,
//! and the mode that changes while they are all under way.

#[path = "../../../tenuto-planner/tests/raises/networks.rs"]
mod networks;

use networks::networks;
use tenuto_model::{
    Event, EventAction, Expect, Network, Offsets, Plan, Scenario, Sizes, Traffic, Transition,
    Verdict,
};
use tenuto_planner::{Options, WholePaths, plan};
use tenuto_units::Draws;
use tenuto_world::clockwork;

const MS: u64 = 1_000_000;

/// All flows start within a few transmissions, and soon after those that are watched go up, level by
/// level or at once; later they go back.
fn raised(network: &Network, seed: u64) -> Scenario {
    let mut draw = Draws::new(seed);
    let traffic = Traffic { offsets: Offsets::Zero, sizes: Sizes::Largest };
    let mut run =
        Scenario { traffic, expect: Expect::default(), ..Scenario::plain(900 * MS, seed) };
    let at = |at_ns: u64, action: EventAction| Event { at_ns, action, note: None };
    let span = draw.one_of(&[10_000, 100_000, MS]);
    for flow in &network.flows {
        let name = || flow.name.clone();
        run.events.push(at(0, EventAction::StopFlow { flow: name() }));
        run.events.push(at(40 * MS + draw.below(span), EventAction::StartFlow { flow: name() }));
        if !flow.is_watched() {
            continue;
        }
        let mut moment = 40 * MS + draw.below(12 * MS);
        let lowest = if draw.below(2) == 0 { flow.level } else { 1 };
        for mode in lowest..=flow.level {
            run.events.push(at(moment, EventAction::Behave { flow: name(), mode }));
            moment += draw.below(3 * MS);
        }
        let back = 200 * MS + draw.below(100 * MS);
        run.events.push(at(back, EventAction::Behave { flow: name(), mode: 0 }));
    }
    run.events.sort_by_key(|event| event.at_ns);
    run
}

fn planned(network: &Network) -> Plan {
    let whole_paths = Some(WholePaths { is_thorough: true, ..WholePaths::default() });
    plan(network, &Options { whole_paths, would_fit: false, ..Options::default() })
}

#[test]
fn no_message_takes_longer_than_a_whole_path_in_a_raise() {
    for (name, network) in networks() {
        let plan = planned(&network);
        let is_whole = |row: &&tenuto_model::FlowBound| {
            matches!(row.mode, Transition::Raise { .. })
                && row.copies.iter().any(|copy| copy.proof.is_some())
        };
        assert!(plan.flows.iter().any(|row| is_whole(&row)), "{name}: no bound to play against");
        let (mut closest, mut received) = (0, 0);
        for seed in 0..12 {
            let run = clockwork::run(&plan, &raised(&network, seed)).expect("a run");
            assert_eq!(run.verdict, Verdict::Kept, "{name}, seed {seed}: {:?}", run.violations);
            for row in plan.flows.iter().filter(is_whole) {
                let label = row.mode.label(&network.modes);
                let mut rows = run.flows.iter();
                let same = |it: &&tenuto_world::FlowRow| {
                    it.flow == row.flow && it.target == row.target && it.mode == label
                };
                let Some(seen) = rows.find(same) else { continue };
                received += seen.received;
                let bound = seen.delay_bound_ns.expect("a bound");
                let Some(observed) = seen.observed_delay_ns_max else { continue };
                assert!(observed <= bound, "{name}, seed {seed}: {seen:?}");
                closest = closest.max(observed * 100 / bound);
            }
        }
        println!("{name}: {received} messages in raises, up to {closest} % of the bound");
        assert!(received > 0, "{name}: nothing was under way");
        // Bounds of hosts that may babble count what nobody sends here.
        assert!(network.tolerates.babbling_hosts > 0 || closest >= 25, "{name}: {closest} %");
    }
}
