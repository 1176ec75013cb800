//! Meters to the bit/s and the byte in the world of the plan: who keeps its contract passes, and who
//! does not gets through what is analysed and no more. Every run installs them through the
//! controller first, which reads back what each switch has.

use tenuto_controller::compile;
use tenuto_model::{
    MemorySources, MeterSpec, Offsets, Plan, Scenario, Verdict, read_network, read_scenario,
};
use tenuto_openflow::Body;
use tenuto_planner::{Options, plan};
use tenuto_world::{RunDocument, clockwork};

/// Hosts with several flows each, so that messages wait for each other in front of their meters;
/// odd sizes and periods, which no kbit fits.
fn planned() -> Plan {
    let text = "tenuto: 1\nhosts: [a, b, sink]\nswitches: {s: {profile: tenuto}, t: {profile: tenuto}}\nlinks:\n  \
        - {ends: [a, s], rate: 10 Mbit/s}\n  - {ends: [b, s], rate: 100 Mbit/s}\n  \
        - {ends: [s, t], rate: 100 Mbit/s}\n  - {ends: [sink, t], rate: 100 Mbit/s}\nflows:\n  \
        small: {source: a, targets: [sink], frame: 71 B, period: 3 ms, priority: 0}\n  \
        long: {source: a, targets: [sink], message: 9999 B, period: 37 ms, priority: 1}\n  \
        odd: {source: a, targets: [sink], frame: 1501 B, period: 19 ms, jitter: 1234567 ns, priority: 1}\n  \
        fast: {source: b, targets: [sink], frame: 64 B, period: 333333 ns, deadline: 5 ms, priority: 0}\n  \
        large: {source: b, targets: [sink], message: 77777 B, period: 41 ms, priority: 2}\n\
        tolerates: {babbling_hosts: 1}\n";
    let sources = MemorySources::new().with("n.yaml", text);
    let (network, _) = read_network(&sources, "n.yaml").unwrap_or_else(|e| panic!("{e}"));
    let plan = plan(&network, &Options { would_fit: false, ..Options::default() });
    let certificate = tenuto_certify::certify(&plan.to_json());
    assert!(certificate.is_ok() && plan.feasible, "{certificate:#?} {:#?}", plan.refusals);
    plan
}

fn run(plan: &Plan, scenario: &Scenario) -> RunDocument {
    let run =
        clockwork::run(plan, scenario).expect("both switches take the meters and tell them back");
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
    run
}

#[test]
fn the_switches_are_told_bits_per_second_and_bytes() {
    let plan = planned();
    let mut meters = 0;
    for deployment in &plan.switches {
        let told = compile(deployment, &tenuto_world::mode_settings(&plan, 1));
        let told = told.iter().filter_map(|body| match body {
            Body::MeterMod(meter) => Some(&meter.bands[0]),
            _ => None,
        });
        for (spec, band) in deployment.meters.iter().zip(told) {
            let exact = band.as_exact_drop().expect("well-formed").expect("no whole kbit");
            assert_eq!((exact.rate_bps, exact.burst_bytes), (spec.rate_bps, spec.burst_bytes));
            meters += 1;
        }
    }
    assert_eq!(meters, 5);
}

#[test]
fn who_keeps_the_contract_is_never_policed() {
    let plan = planned();
    for seed in 1..=6 {
        let mut scenario = Scenario::plain(10_000_000_000, seed);
        scenario.traffic.offsets = if seed == 1 { Offsets::Zero } else { Offsets::Random };
        let run = run(&plan, &scenario);
        assert!(run.policed.is_empty(), "seed {seed}: {:#?}", run.policed);
        assert!(run.flows.iter().all(|row| row.policed == 0 && row.sent > 200), "{:#?}", run.flows);
    }
}

#[test]
fn who_babbles_gets_through_the_bucket_and_no_frame_more() {
    let plan = planned();
    let duration_s = 5;
    let mut text = format!("tenuto_scenario: 1\nduration: {duration_s} s\nevents:\n");
    for flow in ["small", "long", "odd", "large"] {
        text += &format!("  - {{at: 0 ms, flow: {flow}, do: stop}}\n");
    }
    text += "  - {at: 0 ms, host: b, do: babble, flows: [fast], frame: 64 B, rate: line}\n";
    let scenario = read_scenario(&text, "n.scenario.yaml", &plan.network).expect("well-formed");
    let run = run(&plan, &scenario);
    let sent = |port: &str| {
        let row = run.ports.iter().find(|row| row.port == port).expect("a port");
        row.frames
    };
    let is_its = |meter: &&MeterSpec| meter.flow.as_deref() == Some("fast");
    let meter = plan.switches.iter().flat_map(|s| &s.meters).find(is_its).expect("it is policed");
    // 64 B and what goes around them on the line, as these meters count.
    let most = (meter.burst_bytes * 8 + meter.rate_bps * duration_s) / (84 * 8);
    let (offered, passed) = (sent("b > s"), sent("s:3 > t"));
    println!("{passed} of {offered} frames passed, {most} may");
    assert_eq!((offered > 700_000, sent("a > s")), (true, 0));
    assert!(passed <= most, "{passed} {most}");
    // The last may still be on its way through the switch.
    assert!(passed + 1 >= most, "{passed} {most}");
}
