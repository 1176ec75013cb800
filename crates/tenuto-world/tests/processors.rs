//! Switches whose ports share a processor, in virtual time: never later than was promised.

use std::path::PathBuf;
use tenuto_model::{MemorySources, Network, Offsets, Plan, Scenario, Verdict};
use tenuto_planner::{Options, plan};
use tenuto_world::{RunDocument, clockwork};

struct Folder(PathBuf);

impl tenuto_model::Sources for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }
}

fn cell() -> Network {
    let folder = Folder(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../networks"));
    match tenuto_model::read_network(&folder, "cell.yaml") {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}"),
    }
}

/// One switch, three senders, one receiver.
fn star(profile: &str, period: &str, babbling: u32) -> Network {
    let mut text =
        String::from("tenuto: 1\nhosts: [h1, h2, h3, h4]\nswitches: {s: {profile: p}}\nlinks:\n");
    for host in ["h1", "h2", "h3", "h4"] {
        text += &format!("  - {{ends: [{host}, s], rate: 100 Mbit/s}}\n");
    }
    text += "flows:\n";
    for host in ["h1", "h2", "h3"] {
        text += &format!(
            "  of-{host}: {{source: {host}, targets: [h4], frame: 306 B, period: {period}}}\n"
        );
    }
    text += &format!("tolerates: {{babbling_hosts: {babbling}}}\nprofiles:\n  p: {profile}\n");
    let sources = MemorySources::new().with("n.yaml", &text);
    match tenuto_model::read_network(&sources, "n.yaml") {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}\n{text}"),
    }
}

fn planned(network: &Network) -> Plan {
    let plan = plan(network, &Options { would_fit: false, ..Options::default() });
    let certificate = tenuto_certify::certify(&plan.to_json());
    assert!(certificate.is_ok(), "{certificate:?}");
    plan
}

fn run(plan: &Plan, seed: u64, offsets: Offsets) -> RunDocument {
    let mut scenario = Scenario::plain(2_000_000_000, seed);
    scenario.traffic.offsets = offsets;
    clockwork::run(plan, &scenario).expect("the plan runs")
}

#[test]
fn the_cell_keeps_its_promise() {
    let plan = planned(&cell());
    assert!(plan.feasible, "{:?}", plan.refusals);
    for (seed, offsets) in [(1, Offsets::Random), (2, Offsets::Random), (3, Offsets::Zero)] {
        let run_of = || run(&plan, seed, offsets);
        let document = run_of();
        assert_eq!(document.verdict, Verdict::Kept, "{:#?}", document.violations);
        assert!(document.flows.iter().all(|row| row.received > 0 && row.lost == 0));
        assert_eq!(document, run_of(), "the same seed gives the same run");
    }
}

#[test]
fn frames_that_meet_wait_for_one_processor() {
    // 100 us per frame, no spread: of three frames that meet, the last waits for the other two.
    let profile = "{like: ideal, processor: {base: 100 us}}";
    let plan = planned(&star(profile, "1 ms", 0));
    let document = run(&plan, 1, Offsets::Zero);
    assert_eq!(document.verdict, Verdict::Kept, "{:#?}", document.violations);
    let most = document.flows.iter().filter_map(|row| row.observed_delay_ns_max).max();
    let bound = plan.flows.iter().filter_map(|row| row.delay_bound_ps).max();
    let (most, bound) = (most.expect("observed"), bound.expect("bounded") / 1_000);
    // 26 us onto the first link, 300 at the processor, 26 onto the second; the bound does not count on
    // the processor to space them, and lets all three meet again at the second link.
    assert!(most >= 350_000 && most <= bound, "{most} {bound}");
    assert!(bound < 450_000, "the bound is as near as that: {bound}");
}

#[test]
fn a_buffer_that_was_refused_does_overflow() {
    let profile = "{like: ideal, processor: {base: 100 us}, receive_buffer: {frames: 2}}";
    let plan = planned(&star(profile, "1 ms", 0));
    assert!(plan.refusals.iter().any(|refusal| refusal.resource == "buffer"));
    let document = run(&plan, 1, Offsets::Zero);
    assert!(document.flows.iter().map(|row| row.lost).sum::<u64>() > 0, "{:#?}", document.flows);
    // One frame more and it is promised, and kept.
    let profile = "{like: ideal, processor: {base: 100 us}, receive_buffer: {frames: 4}}";
    let plan = planned(&star(profile, "1 ms", 0));
    assert!(plan.feasible, "{:?}", plan.refusals);
    assert_eq!(run(&plan, 1, Offsets::Zero).verdict, Verdict::Kept);
}

#[test]
fn turns_protect_from_a_flood_and_one_queue_does_not() {
    let flood = |plan: &Plan| {
        let text = "tenuto_scenario: 1\nduration: 1 s\nseed: 5\nevents:\n  \
            - {at: 100 ms, host: h1, do: babble, frame: 64 B, rate: line, for: 300 ms}\n";
        match tenuto_model::read_scenario(text, "flood.yaml", &plan.network) {
            Ok(scenario) => clockwork::run(plan, &scenario).expect("the plan runs"),
            Err(problems) => panic!("{problems}"),
        }
    };
    let turns = "{like: ideal, clock_tolerance: 200 ppm, processor: {base: 20 us, \
        receive: {round_robin: 4}}, receive_buffer: {frames: 16, per: port}}";
    let plan = planned(&star(turns, "10 ms", 1));
    assert!(plan.feasible, "{:?}", plan.refusals);
    let document = flood(&plan);
    let others = document.flows.iter().filter(|row| row.flow != "of-h1");
    for row in others {
        assert_eq!((row.lost, row.sent), (0, row.received + row.in_flight), "{row:#?}");
        assert!(row.observed_delay_ns_max <= row.delay_bound_ns, "{row:#?}");
    }
    assert!(document.violations.is_empty(), "{:#?}", document.violations);
    // The same processor with one queue is refused, and would not have kept anything.
    let queue = "{like: ideal, clock_tolerance: 200 ppm, processor: {base: 20 us}, \
        receive_buffer: {frames: 16}}";
    let plan = planned(&star(queue, "10 ms", 1));
    assert!(plan.refusals.iter().any(|refusal| refusal.because.contains("not protected")));
    let document = flood(&plan);
    assert!(document.flows.iter().any(|row| row.flow != "of-h1" && row.lost > 0));
}
