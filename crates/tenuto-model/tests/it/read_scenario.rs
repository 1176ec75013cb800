//! Reading scenarios: every event, every way to write it, every mistake.

use tenuto_model::{
    EventAction, MemorySources, Network, Offsets, Scenario, Sizes, read_network, read_scenario,
};

fn car() -> Network {
    let text = include_str!("../../../../networks/vehicle.yaml");
    let sources = MemorySources::new().with("v.yaml", text);
    read_network(&sources, "v.yaml").map(|(n, _)| n).unwrap_or_else(|e| panic!("{e}"))
}

fn read(events: &str) -> Result<Scenario, String> {
    let text = format!("tenuto_scenario: 1\nduration: 20 s\nevents: [{events}]\n");
    read_scenario(&text, "s.yaml", &car()).map_err(|e| e.to_string())
}

fn action(event: &str) -> EventAction {
    let scenario = read(&format!("{{at: 1 s, {event}}}")).unwrap_or_else(|e| panic!("{e}"));
    scenario.events[0].action.clone()
}

#[test]
fn every_event_in_every_spelling() {
    let ends = || ["sw1".to_owned(), "sw2".to_owned()];
    let cam = || "CAM".to_owned();
    for (text, expected) in [
        ("flow: CAM, behave: HI", EventAction::Behave { flow: cam(), mode: 1 }),
        ("flow: CAM, oversend: 200 %", EventAction::Oversend { flow: cam(), percent: 200 }),
        ("flow: CAM, stop: true", EventAction::StopFlow { flow: cam() }),
        ("flow: CAM, do: stop", EventAction::StopFlow { flow: cam() }),
        ("flow: CAM, do: start", EventAction::StartFlow { flow: cam() }),
        ("link: sw1-sw2, do: cut", EventAction::CutLink { ends: ends() }),
        ("link: [sw1, sw2], cut: true", EventAction::CutLink { ends: ends() }),
        ("link: \"sw1-sw2\", heal: true", EventAction::HealLink { ends: ends() }),
        ("switch: sw1, do: kill", EventAction::KillNode { node: "sw1".into() }),
        ("controller: c1, do: stop", EventAction::StopNode { node: "c1".into() }),
        ("controller: c1, start: true", EventAction::StartNode { node: "c1".into() }),
        ("host: s1, do: forge", EventAction::Forge { host: "s1".into() }),
        (
            "host: s1, do: garbage, frames_per_s: 1000, for: 2 s",
            EventAction::Garbage {
                host: "s1".into(),
                frames_per_s: 1_000,
                for_ns: Some(2_000_000_000),
            },
        ),
        (
            "host: s1, babble: {flows: [CAM], frame: 100 B, rate: 5 Mbit/s}",
            EventAction::Babble {
                host: "s1".into(),
                flows: vec![cam()],
                frame_bytes: 100,
                rate_bps: Some(5_000_000),
                for_ns: None,
            },
        ),
        (
            "host: s1, do: babble, rate: line",
            EventAction::Babble {
                host: "s1".into(),
                flows: vec![],
                frame_bytes: 64,
                rate_bps: None,
                for_ns: None,
            },
        ),
        (
            "signal: lose, from: sw1, to: sw2, frames: 2",
            EventAction::LoseSignals { from: "sw1".into(), to: "sw2".into(), frames: 2 },
        ),
    ] {
        assert_eq!(action(text), expected, "{text}");
    }
}

#[test]
fn every_mistake_is_answered() {
    for (events, words) in [
        ("{flow: CAM, behave: HI}", "the event has no time"),
        ("{at: 4, flow: CAM, behave: HI}", "has no unit"),
        ("{at: 4 s, flow: CAN, behave: HI}", "did you mean CAM?"),
        ("{at: 4 s, flow: STREAM, behave: HI}", "`STREAM` has no contract for mode HI"),
        ("{at: 4 s, flow: CAM, behave: MID}", "there is no mode `MID`"),
        ("{at: 4 s, flow: CAM}", "one of behave, oversend, stop, start"),
        ("{at: 4 s, flow: CAM, stop: true, behave: HI}", "one thing happens to a flow"),
        ("{at: 4 s, flow: CAM, stop: false}", "is no event"),
        ("{at: 4 s, flow: CAM, host: s1, do: stop}", "about one thing"),
        ("{at: 4 s, host: s9, do: babble}", "there is no host `s9`"),
        ("{at: 4 s, host: s1, do: garbage}", "add `frames_per_s: 1000`"),
        (
            "{at: 4 s, host: s1, do: garbage, frames_per_s: 148810}",
            "write at most 148809 frames of 64 B per second",
        ),
        ("{at: 4 s, host: s1, do: babble, rate: 101 Mbit/s}", "write at most 100 Mbit/s"),
        ("{at: 4 s, host: s1, do: babble, frame: 32 B}", "64 B to 1518 B"),
        ("{at: 4 s, link: sw1-sw3, do: cut}", "there is no such link"),
        ("{at: 4 s, controller: sw1, do: stop}", "there is no controller `sw1`"),
        ("{at: 4 s, signal: lose, from: sw1, to: sw3}", "no link leads"),
        ("{at: 30 s, flow: CAM, do: stop}", "after the end of the run"),
        ("{at: 4 s, flow: CAM, beehave: HI}", "did you mean behave?"),
    ] {
        let said = read(events).expect_err(words);
        assert!(said.contains(words), "expected {words:?} of {events}, got\n{said}");
    }
}

#[test]
fn a_scenario_may_follow_its_network_in_one_file() {
    let network = include_str!("../../../../networks/vehicle.yaml");
    let text = format!(
        "{network}---\ntenuto_scenario: 1\nduration: 1 s\nseed: 7\n\
         traffic: {{offsets: zero, sizes: random}}\nhosts: {{d2: {{run: ./player --loop}}}}\n\
         events:\n  - {{at: 0.5 s, flow: CAM, do: stop}}\n  - {{at: 0 s, flow: CAM, behave: LO}}\n"
    );
    let sources = MemorySources::new().with("v.yaml", &text);
    let (car, _) = read_network(&sources, "v.yaml").unwrap_or_else(|e| panic!("{e}"));
    let scenario = read_scenario(&text, "v.yaml", &car).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((scenario.seed, scenario.duration_ns), (7, 1_000_000_000));
    assert_eq!((scenario.traffic.offsets, scenario.traffic.sizes), (Offsets::Zero, Sizes::Random));
    assert_eq!(scenario.programs["d2"], "./player --loop");
    assert_eq!(scenario.events.iter().map(|e| e.at_ns).collect::<Vec<_>>(), [0, 500_000_000]);
}
