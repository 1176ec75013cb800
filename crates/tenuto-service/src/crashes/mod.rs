//! Crashes of controller, switch and store at every point of every change, in virtual time.
//!
//! The code is that of the service: [`Service`](crate::Service), its log, the [`Keeper`](crate::keeper::Keeper), sessions and installer
//! of the controller, and switches of ours whose tables a dry run of the data path looks up. Sockets and the clock alone are
//! not there. What is asked of every run:
//!
//! - nothing that was answered with yes is lost, but by a refusal that was told before it was confirmed;
//! - of a decision without an answer all is there, or nothing;
//! - flows that stay are forwarded at every moment, whoever crashes, but where a switch has lost its tables;
//! - a flow that comes or goes is whole or dropped where it enters, at every moment of an undisturbed change;
//! - at rest every switch holds what the plan says, and nothing else.

mod medium;
mod model;
pub(crate) mod peer;
pub(crate) mod routes;
mod world;

use crate::change::Change;
use medium::Fate;
use serde_json::json;
use std::time::{Duration, Instant};
use tenuto_units::{Draws, Span};
pub(crate) use world::{DPIDS, FILE};
use world::{Step, World};

/// Names that campaigns draw.
const NAMES: [&str; 4] = ["P0", "P1", "P2", "P3"];
/// All one way: flows that go against each other in one change have one order together, which is not that of each.
const SOURCES: [(&str, &str); 4] = [("h1", "h2"), ("h3", "h4"), ("h4", "h2"), ("h3", "h2")];
/// Of a campaign.
const STEPS: u64 = 400;

fn flow(name: usize, kilobytes: u64) -> serde_json::Value {
    let (source, target) = SOURCES[name % SOURCES.len()];
    json!({"source": source, "targets": [target], "message": format!("{kilobytes} kB"), "period": "20 ms", "priority": 2})
}

fn change(draws: &mut Draws) -> Change {
    let place = draws.index(NAMES.len());
    let name = NAMES[place].to_owned();
    match draws.below(5) {
        0 | 1 => Change::Add { name, flow: flow(place, 1 + draws.below(4)) },
        2 => Change::Change { name, flow: flow(place, 1 + draws.below(4)) },
        _ => Change::Remove { name },
    }
}

fn fate(draws: &mut Draws) -> Option<Fate> {
    match draws.below(12) {
        0 => Some(Fate::PowerLost(draws.word())),
        1 => Some(Fate::WrittenAndLost),
        2 => Some(Fate::Fails),
        3 => Some(Fate::Breaks),
        _ => None,
    }
}

/// A step that a campaign draws: bytes and time mostly, faults now and then.
fn drawn(world: &World, draws: &mut Draws) -> Step {
    let dpid = DPIDS[draws.index(DPIDS.len())];
    let share =
        if draws.below(2) == 0 { u8::MAX } else { u8::try_from(draws.below(256)).unwrap_or(0) };
    if world.has_undo() && draws.below(8) == 0 {
        return Step::Undo(fate(draws));
    }
    match draws.below(400) {
        0..=3 => Step::Kill,
        4..=7 => Step::Cut(dpid),
        8..=9 => Step::PowerOff(dpid),
        10..=15 => Step::Refuse(dpid, draws.below(6)),
        16..=17 => Step::Audit,
        18..=37 => {
            let count = 1 + draws.below(2);
            Step::Submit((0..count).map(|_| change(draws)).collect(), fate(draws))
        }
        38..=57 => Step::Connect(dpid),
        58..=117 => Step::Time(Span::from_ms(20)),
        118 => Step::Time(Span::from_s(6)),
        119..=258 => Step::ToController(dpid, share),
        _ => Step::ToSwitch(dpid, share),
    }
}

/// What happened in campaigns, so that a test can ask that something did.
#[derive(Debug, Default)]
struct Told {
    looks: u64,
    undone: u64,
    decisions: u64,
}

fn campaign(seed: u64, told: &mut Told) {
    let mut draws = Draws::new(seed);
    let mut world = World::new();
    for _ in 0..STEPS {
        let step = drawn(&world, &mut draws);
        world.step(&step);
        // From rest on a change alone may be half there.
        if draws.below(40) == 0 {
            world.settle();
        }
    }
    world.settle();
    told.looks += world.looks;
    told.undone += world.model.undone;
    told.decisions += world.model.decision();
}

fn campaigns(first: u64, count: u64, limit: Duration) -> Told {
    let (began, mut told) = (Instant::now(), Told::default());
    for seed in first..first + count {
        if began.elapsed() >= limit {
            println!("{} of {count} campaigns in {} s", seed - first, limit.as_secs());
            break;
        }
        let run =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| campaign(seed, &mut told)));
        assert!(run.is_ok(), "campaign {seed}: what happened is above");
    }
    println!("{told:?}");
    told
}

#[test]
fn crashes_anywhere_lose_nothing_that_was_promised() {
    let told = campaigns(1, 400, Duration::from_secs(30));
    assert!(told.looks > 1_000 && told.decisions > 500 && told.undone > 0, "{told:?}");
}

/// `TENUTO_CAMPAIGNS` and `TENUTO_SEED` say how many, and from which on.
#[test]
#[ignore = "long: make campaign"]
fn campaign_of_crashes() {
    let number =
        |name, usual| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(usual);
    campaigns(number("TENUTO_SEED0", 1), number("TENUTO_CAMPAIGNS", 10_000), Duration::MAX);
}

/// The changes that are crashed at every point.
pub(crate) fn script() -> Vec<Vec<Change>> {
    let add = |place: usize, kilobytes| Change::Add {
        name: NAMES[place].to_owned(),
        flow: flow(place, kilobytes),
    };
    let remove = |place: usize| Change::Remove { name: NAMES[place].to_owned() };
    let change = |place: usize, kilobytes| Change::Change {
        name: NAMES[place].to_owned(),
        flow: flow(place, kilobytes),
    };
    vec![vec![add(0, 2), add(1, 3)], vec![change(0, 4), remove(1)], vec![remove(0)]]
}

/// Plays the script with a fault after so many deliveries; whether the script was over before.
fn with_fault_at(point: usize, fault: &Step) -> bool {
    let mut world = World::new();
    let mut left = point;
    for changes in script() {
        world.step(&Step::Submit(changes, None));
        let mut waits = 0;
        while waits < 4 {
            let mut is_quiet = true;
            for dpid in DPIDS {
                for step in [Step::OneToSwitch(dpid), Step::ToController(dpid, u8::MAX)] {
                    let peer = &world.peers[&dpid];
                    let is_empty = match step {
                        Step::OneToSwitch(_) => peer.to_switch.is_empty(),
                        _ => peer.to_controller.is_empty(),
                    };
                    if is_empty {
                        continue;
                    }
                    is_quiet = false;
                    world.step(&step);
                    if left == 0 {
                        world.step(fault);
                        world.settle();
                        return false;
                    }
                    left -= 1;
                }
            }
            if is_quiet {
                // The next turn of what is paced.
                world.step(&Step::Time(Span::from_ms(20)));
                waits += 1;
            }
        }
        world.settle();
    }
    true
}

#[test]
fn a_crash_at_every_point_of_every_change_loses_nothing() {
    points(Duration::from_secs(20), 7);
}

#[test]
#[ignore = "long: make campaign"]
fn every_crash_at_every_point() {
    points(Duration::MAX, 1);
}

/// Every kind of crash at every `stride`-th point.
fn points(limit: Duration, stride: usize) {
    let began = Instant::now();
    let faults =
        [Step::Kill, Step::Cut(2), Step::PowerOff(1), Step::PowerOff(3), Step::Refuse(2, 0)];
    let mut tried = 0;
    for (place, fault) in faults.iter().enumerate() {
        for point in (place..).step_by(stride) {
            if began.elapsed() >= limit || with_fault_at(point, fault) {
                break;
            }
            tried += 1;
        }
    }
    println!("{tried} crashes");
    assert!(tried >= 20, "{tried} crashes");
}

/// The judge itself is not asleep: a flow that a switch has not is found.
#[test]
#[should_panic(expected = "at rest")]
fn a_flow_that_is_half_there_is_found() {
    let mut world = World::new();
    world.peers.get_mut(&3).expect("one of three").lose_power();
    world.judge_as_it_is();
}
