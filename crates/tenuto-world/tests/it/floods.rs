//! Hosts that fill their own receive queues: what that does to others is within the bounds.

use crate::support;

use support::{certified, network};
use tenuto_model::{Network, Offsets, Plan};
use tenuto_world::{RunDocument, clockwork};

/// Two hosts send over one switch, whose ports take turns, to a slow line. `junk` is a flow too, so
/// that what its host sends without end is known, and dropped by its meter.
fn beside_a_flood(buffer: &str, babbling: u32) -> Network {
    let text = format!(
        "tenuto: 1\nhosts: [bad, good, sink]\nswitches: {{s: {{profile: p}}}}\nlinks:\n  \
         - {{ends: [bad, s], rate: 100 Mbit/s}}\n  - {{ends: [good, s], rate: 100 Mbit/s}}\n  \
         - {{ends: [sink, s], rate: 10 Mbit/s}}\nflows:\n  \
         stowed: {{source: bad, targets: [sink], frame: 306 B, period: 500 us, deadline: 500 ms, priority: 1}}\n  \
         junk: {{source: bad, targets: [sink], frame: 64 B, period: 100 ms, deadline: 500 ms, priority: 1}}\n  \
         victim: {{source: good, targets: [sink], frame: 306 B, period: 2 ms, deadline: 500 ms, priority: 1}}\n\
         tolerates: {{babbling_hosts: {babbling}}}\nprofiles:\n  p: {{like: ideal, clock_tolerance: 200 ppm, \
         processor: {{base: 20 us, receive: {{round_robin: 4}}}}, receive_buffer: {buffer}}}\n"
    );
    network(&text)
}

/// Junk until the queue is full, then nothing but what is right; again and again.
fn flooded(plan: &Plan) -> RunDocument {
    let mut text = String::from("tenuto_scenario: 1\nduration: 500 ms\nseed: 3\nevents:\n");
    for start in (20..480).step_by(23) {
        text += &format!(
            "  - {{at: {start} ms, host: bad, do: babble, flows: [junk], frame: 64 B, rate: line, for: 5 ms}}\n"
        );
    }
    match tenuto_model::read_scenario(&text, "flood.yaml", &plan.network) {
        Ok(mut scenario) => {
            scenario.traffic.offsets = Offsets::Random;
            clockwork::run(plan, &scenario).expect("the plan runs")
        }
        Err(problems) => panic!("{problems}"),
    }
}

/// The largest delay of the victim in a run, and its bound in a plan, nanoseconds.
fn victim(run: &RunDocument, plan: &Plan) -> (u64, u64) {
    let row = run.flows.iter().find(|row| row.flow == "victim").expect("it is there");
    assert_eq!((row.lost, row.sent), (0, row.received + row.in_flight), "{row:#?}");
    let bound = plan.flows.iter().find(|row| row.flow == "victim").expect("it is there");
    let bound = bound.delay_bound_ps.expect("bounded") / 1_000;
    (row.observed_delay_ns_max.expect("received"), bound)
}

/// Frames of a flow that came a period apart pass their meter, which judges by arrival, and leave
/// the processor together.
#[test]
fn frames_behind_junk_leave_together_and_are_counted_so() {
    let plan = certified(&beside_a_flood("{frames: 400, per: port}", 1));
    assert!(plan.feasible, "{:?}", plan.refusals);
    let run = flooded(&plan);
    let (observed, bound) = victim(&run, &plan);
    // Were the frames of the flow as far apart as they came, this would be enough.
    let (_, of_contracts) =
        victim(&run, &certified(&beside_a_flood("{frames: 400, per: port}", 0)));
    println!("observed {observed} ns, bound {bound} ns, by contracts {of_contracts} ns");
    assert!(observed <= bound, "{observed} {bound}");
    assert!(observed > of_contracts, "{observed} {of_contracts}");
    assert!(run.violations.is_empty(), "{:#?}", run.violations);
}
