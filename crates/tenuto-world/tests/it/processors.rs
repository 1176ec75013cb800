//! Switches whose ports share a processor, in virtual time: never later than was promised.

use crate::support;

use support::{certified, network, shipped};
use tenuto_model::{
    BufferUnit, Event, EventAction, FlowBound, Network, Offsets, Plan, ProcessorLink, Receive,
    ReceiveBuffer, Scenario, Verdict,
};
use tenuto_planner::{Options, WholePaths, plan};
use tenuto_units::Draws;
use tenuto_world::{FlowRow, RunDocument, clockwork};

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
    network(&text)
}

fn run(plan: &Plan, seed: u64, offsets: Offsets) -> RunDocument {
    let mut scenario = Scenario::plain(2_000_000_000, seed);
    scenario.traffic.offsets = offsets;
    clockwork::run(plan, &scenario).expect("the plan runs")
}

#[test]
fn the_cell_keeps_its_promise() {
    let plan = certified(&shipped("cell.yaml"));
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
    let plan = certified(&star(profile, "1 ms", 0));
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
    let plan = certified(&star(profile, "1 ms", 0));
    assert!(plan.refusals.iter().any(|refusal| refusal.resource == "buffer"));
    let document = run(&plan, 1, Offsets::Zero);
    assert!(document.flows.iter().map(|row| row.lost).sum::<u64>() > 0, "{:#?}", document.flows);
    // One frame more and it is promised, and kept.
    let profile = "{like: ideal, processor: {base: 100 us}, receive_buffer: {frames: 4}}";
    let plan = certified(&star(profile, "1 ms", 0));
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
    let plan = certified(&star(turns, "10 ms", 1));
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
    let plan = certified(&star(queue, "10 ms", 1));
    assert!(plan.refusals.iter().any(|refusal| refusal.because.contains("not protected")));
    let document = flood(&plan);
    assert!(document.flows.iter().any(|row| row.flow != "of-h1" && row.lost > 0));
}

/// A line or ring of switches with a shared processor of any kind, and flows between its hosts.
fn any_network(draws: &mut Draws) -> Network {
    let switches = 1 + draws.below(4);
    let receive =
        draws.one_of(&["fifo", "{round_robin: 1}", "{round_robin: 3}", "{round_robin: 8}"]);
    let link = if receive == "fifo" && draws.below(2) == 0 {
        "{rate: 100 Mbit/s, tag: 1 B}"
    } else {
        "none"
    };
    let buffer = draws.one_of(&[
        "unlimited",
        "{cells: 60, cell: 128 B, place_in_service: true}",
        "{frames: 40}",
        "{frames: 16, per: port}",
        "{bytes: 20 kB, per: port, place_in_service: true}",
    ]);
    let babbling = draws.below(3) / 2;
    let profile = format!(
        "{{like: ideal, latency: {{min: 1 us, max: {} us}}, entries: {}, meter_counts: {}, \
         clock_tolerance: 200 ppm, processor: {{base: {} us, per_byte: {} ns, per_entry: {} ns, \
         spread: {} %, link: {link}, receive: {receive}, control: {}}}, receive_buffer: {buffer}}}",
        1 + draws.below(20),
        40 + draws.below(60),
        draws.one_of(&["wire", "frame", "l2-without-fcs"]),
        5 + draws.below(60),
        draws.below(60),
        draws.below(400),
        draws.below(30),
        draws.one_of(&["none", "{time: 50 us, per: 10 ms}"]),
    );
    let (mut hosts, mut links) = (Vec::new(), String::new());
    for switch in 0..switches {
        for host in 0..=draws.below(2) {
            links += &format!("  - {{ends: [h{switch}-{host}, s{switch}], rate: 100 Mbit/s}}\n");
            hosts.push(format!("h{switch}-{host}"));
        }
        if switch > 0 || (switches > 2 && draws.below(2) == 0) {
            let other = if switch > 0 { switch - 1 } else { switches - 1 };
            let rate = draws.one_of(&["100 Mbit/s", "100 Mbit/s", "10 Mbit/s"]);
            links += &format!("  - {{ends: [s{other}, s{switch}], rate: {rate}}}\n");
        }
    }
    hosts.push("sink".into());
    links += "  - {ends: [sink, s0], rate: 100 Mbit/s}\n";
    let names: Vec<String> =
        (0..switches).map(|switch| format!("s{switch}: {{profile: p}}")).collect();
    let mut flows = String::new();
    let count = u64::try_from(hosts.len()).expect("few");
    for flow in 0..2 + draws.below(6) {
        let from = draws.below(count);
        let to = (from + 1 + draws.below(count - 1)) % count;
        let host = |n: u64| &hosts[usize::try_from(n).expect("few")];
        let mut targets = vec![host(to).as_str()];
        if draws.below(3) == 0 && from != count - 1 && to != count - 1 {
            targets.push("sink");
        }
        let size =
            draws.one_of(&["frame: 64 B", "frame: 306 B", "message: 900 B", "message: 3 kB"]);
        flows += &format!(
            "  f{flow}: {{source: {}, targets: [{}], {size}, period: {} ms, jitter: {} us, \
             deadline: 500 ms, priority: {}}}\n",
            host(from),
            targets.join(", "),
            draws.one_of(&[2, 5, 8, 20]),
            draws.one_of(&[0, 0, 300]),
            draws.below(3),
        );
    }
    let text = format!(
        "tenuto: 1\nhosts: [{}]\nswitches: {{{}}}\nlinks:\n{links}flows:\n{flows}tolerates: \
         {{babbling_hosts: {babbling}}}\nprofiles:\n  p: {profile}\n",
        hosts.join(", "),
        names.join(", "),
    );
    network(&text)
}

/// Whether the bound was proved over processors: those are named behind the ports of all links.
fn ends_at_a_processor(plan: &Plan, row: &FlowBound) -> bool {
    let proofs = row.copies.iter().filter_map(|copy| copy.proof.as_ref());
    let mut roots = proofs.filter_map(|proof| proof.linear["nodes"][0]["server"].as_u64());
    let ports = u64::try_from(2 * plan.network.links.len()).expect("few");
    roots.any(|server| server >= ports)
}

/// Any device and network: the checker agrees with the planner, and no run is above its bound.
#[test]
fn whatever_is_promised_is_certified_and_kept() {
    let (mut feasible, mut refused) = (0, 0);
    for seed in 0..120 {
        let network = any_network(&mut Draws::new(seed));
        // Every other network is held to bounds of whole paths.
        let whole_paths = seed.is_multiple_of(2).then(WholePaths::default);
        let options = Options { would_fit: false, whole_paths, ..Options::default() };
        let plan = plan(&network, &options);
        if let Err(findings) = tenuto_certify::certify(&plan.to_json()) {
            panic!("seed {seed}: {findings:#?}");
        }
        if !plan.feasible {
            refused += 1;
            continue;
        }
        feasible += 1;
        for offsets in [Offsets::Zero, Offsets::Random] {
            let mut scenario = Scenario::plain(300_000_000, seed);
            scenario.traffic.offsets = offsets;
            let document = clockwork::run(&plan, &scenario).expect("the plan runs");
            let verdict = document.verdict;
            assert_eq!(verdict, Verdict::Kept, "seed {seed}: {:#?}", document.violations);
        }
    }
    assert!(feasible > 40 && refused > 5, "{feasible} feasible, {refused} refused");
}

/// Starts everything within a few frames' time of each other.
fn close_starts(plan: &Plan, draws: &mut Draws, seed: u64) -> Scenario {
    let mut scenario = Scenario::plain(150_000_000, seed);
    scenario.traffic.offsets = Offsets::Zero;
    let span = draws.one_of(&[30_000, 300_000, 2_000_000]);
    let at = |at_ns: u64, action: EventAction| Event { at_ns, action, note: None };
    for flow in &plan.network.flows {
        let name = || flow.name.clone();
        scenario.events.push(at(0, EventAction::StopFlow { flow: name() }));
        let start = 45_000_000 + draws.below(span);
        scenario.events.push(at(start, EventAction::StartFlow { flow: name() }));
    }
    scenario.events.sort_by_key(|event| event.at_ns);
    scenario
}

/// Where processors serve in order of arrival, paths are proved over them, and kept.
#[test]
fn no_message_takes_longer_than_a_path_over_processors() {
    let (mut proved, mut closest) = (0, 0);
    for seed in 200..260 {
        let draws = &mut Draws::new(seed);
        let mut network = any_network(draws);
        network.tolerates.babbling_hosts = 0;
        for profile in network.profiles.values_mut() {
            let processor = profile.processor.as_mut().expect("one");
            processor.receive = Receive::Fifo;
            processor.link = Some(ProcessorLink { rate_bps: 100_000_000, tag_bytes: 1 });
            profile.receive_buffer = None;
        }
        let whole_paths = Some(WholePaths::default());
        let plan = plan(&network, &Options { would_fit: false, whole_paths, ..Options::default() });
        if let Err(findings) = tenuto_certify::certify(&plan.to_json()) {
            panic!("seed {seed}: {findings:#?}");
        }
        let of_paths = |row: &&FlowBound| ends_at_a_processor(&plan, row);
        let rows: Vec<&FlowBound> = plan.flows.iter().filter(of_paths).collect();
        if !plan.feasible || rows.is_empty() {
            continue;
        }
        proved += rows.len();
        for _ in 0..4 {
            let scenario = close_starts(&plan, draws, seed);
            let run = clockwork::run(&plan, &scenario).expect("the plan runs");
            assert_eq!(run.verdict, Verdict::Kept, "seed {seed}: {:#?}", run.violations);
            for row in &rows {
                let is_it = |it: &&FlowRow| it.flow == row.flow && it.target == row.target;
                let seen = run.flows.iter().find(is_it).expect("it ran");
                let (observed, bound) = (seen.observed_delay_ns_max, seen.delay_bound_ns);
                let (observed, bound) = (observed.expect("received"), bound.expect("proved"));
                assert!(observed <= bound, "seed {seed}: {seen:?}");
                closest = closest.max(observed * 100 / bound);
            }
        }
    }
    println!("{proved} bounds over processors, observed up to {closest} % of one");
    assert!(proved > 30 && closest > 40, "{proved} bounds, {closest} %");
}

/// One host sends what it should not by fits and starts, in heaps that its receive queue can hold or not.
fn heaps(plan: &Plan, draws: &mut Draws, seed: u64) -> Scenario {
    let mut scenario = Scenario::plain(300_000_000, seed);
    scenario.traffic.offsets = draws.one_of(&[Offsets::Zero, Offsets::Random]);
    let flows = &plan.network.flows;
    let places = u64::try_from(flows.len()).expect("few");
    let place = usize::try_from(draws.below(places)).expect("few");
    let host = &flows[place].source;
    let mut at_ns = 5_000_000;
    while at_ns < 280_000_000 {
        let for_ns = Some(500_000 + draws.below(6_000_000));
        let host = host.clone();
        let action = match draws.below(4) {
            0 => EventAction::Garbage { host, frames_per_s: 20_000, for_ns },
            _ => EventAction::Babble {
                host,
                flows: Vec::new(),
                frame_bytes: draws.one_of(&[64, 64, 500, 1_518]),
                rate_bps: None,
                for_ns,
            },
        };
        scenario.events.push(Event { at_ns, action, note: None });
        at_ns += 6_500_000 + draws.below(12_000_000);
    }
    scenario
}

/// Ports in turn, each with a buffer of its own: what a host heaps up there harms nobody else.
#[test]
fn no_heap_of_a_babbling_host_is_above_the_bounds_of_others() {
    let mut feasible = 0;
    for seed in 300..360 {
        let draws = &mut Draws::new(seed);
        let mut network = any_network(draws);
        network.tolerates.babbling_hosts = 1;
        for profile in network.profiles.values_mut() {
            let processor = profile.processor.as_mut().expect("one");
            processor.link = None;
            processor.receive = Receive::RoundRobin(draws.one_of(&[1, 2, 5]));
            let (unit, each) = draws.one_of(&[
                (BufferUnit::Frames, 1),
                (BufferUnit::Cells(128), 3),
                (BufferUnit::Bytes, 306),
            ]);
            profile.receive_buffer = Some(ReceiveBuffer {
                count: each * (12 + draws.below(40)),
                unit,
                is_per_port: true,
                has_place_in_service: draws.below(2) == 0,
            });
        }
        let plan = certified(&network);
        if !plan.feasible {
            continue;
        }
        feasible += 1;
        for _ in 0..2 {
            let scenario = heaps(&plan, draws, seed);
            let run = clockwork::run(&plan, &scenario).expect("the plan runs");
            assert!(run.violations.is_empty(), "seed {seed}: {:#?}", run.violations);
        }
    }
    println!("{feasible} networks kept their bounds beside heaps");
    assert!(feasible > 15, "{feasible} feasible");
}
