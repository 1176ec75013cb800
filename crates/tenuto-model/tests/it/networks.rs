//! The networks that are shipped: they read without a word, and come back from what is written.

use tenuto_model::{
    EventAction, MemorySources, Network, network_digest, read_network, read_scenario, summary,
    write_network,
};

#[path = "../../examples/make_vl_tables.rs"]
#[allow(dead_code, unreachable_pub)]
mod make_vl_tables;

macro_rules! shipped {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../networks/", $name)))
    };
}

fn load(name: &str) -> Network {
    let files = [
        shipped!("line.yaml"),
        shipped!("vehicle.yaml"),
        shipped!("vehicle-as-printed.yaml"),
        shipped!("avionics.yaml"),
        shipped!("avionics-vls.csv"),
        shipped!("a380-switch.yaml"),
        shipped!("a380-switch-vls.csv"),
        shipped!("cots.profile.yaml"),
        shipped!("cell.yaml"),
        shipped!("cell.profile.yaml"),
    ];
    let sources =
        files.iter().fold(MemorySources::new(), |sources, (path, text)| sources.with(path, text));
    let (network, warnings) = read_network(&sources, name).unwrap_or_else(|e| panic!("{e}"));
    assert!(warnings.is_empty(), "{warnings}");
    network
}

#[test]
fn what_is_written_reads_back_identically() {
    for name in [
        "line.yaml",
        "vehicle.yaml",
        "vehicle-as-printed.yaml",
        "avionics.yaml",
        "a380-switch.yaml",
        "cell.yaml",
    ] {
        let network = load(name);
        let yaml = write_network(&network);
        let sources = MemorySources::new().with("again.yaml", &yaml);
        let (again, _) = read_network(&sources, "again.yaml").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again, network, "{name}");
        assert_eq!(write_network(&again), yaml);
        assert_eq!(network_digest(&again), network_digest(&network));
    }
}

#[test]
fn the_tables_are_what_the_example_draws() {
    assert_eq!(shipped!("a380-switch-vls.csv").1, make_vl_tables::a380_switch());
    assert_eq!(shipped!("avionics-vls.csv").1, make_vl_tables::avionics());
}

/// [DetOF] Table I: 649 virtual links on 19 ports, 33736 frames per second.
#[test]
fn the_loaded_switch_is_as_loaded_as_published() {
    let network = load("a380-switch.yaml");
    assert_eq!((network.flows.len(), network.links.len()), (649, 19));
    let per_1024_ms: u64 =
        network.flows.iter().map(|f| 1_024_000_000 / f.highest().period_ns).sum();
    let frames_per_s = per_1024_ms * 1_000 / 1_024;
    assert!(frames_per_s.abs_diff(33_736) < 10, "{frames_per_s}");
    let classes = network.flows.iter().map(|f| f.highest().priority).max();
    assert_eq!(classes, Some(6));
}

#[test]
fn the_aircraft_has_two_networks() {
    let network = load("avionics.yaml");
    assert_eq!((network.flows.len(), network.hosts.len(), network.switches.len()), (60, 12, 8));
    assert!(
        network.flows.iter().all(|f| f.copies == ["A", "B"] && f.skew_max_ns == Some(5_000_000))
    );
    assert!(network.flows.iter().all(|f| (1..=4).contains(&f.targets.len())));
}

#[test]
fn shipped_scenarios_fit_their_networks() {
    let car = load("vehicle.yaml");
    let (path, text) = shipped!("vehicle.scenario.yaml");
    let scenario = read_scenario(text, path, &car).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario.duration_ns, 20_000_000_000);
    assert_eq!(scenario.events[0].action, EventAction::Behave { flow: "CAM".into(), mode: 1 });
    assert_eq!((scenario.expect.raises, scenario.expect.returns), (Some(1), Some(1)));
    let aircraft = load("avionics.yaml");
    let (path, text) = shipped!("avionics.scenario.yaml");
    let scenario = read_scenario(text, path, &aircraft).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario.events.len(), 2);
}

#[test]
fn the_summary_names_modes_and_flows() {
    let text = summary(&load("vehicle.yaml"));
    assert!(
        text.starts_with("vehicle  4 hosts, 3 switches, 6 links, 3 flows, 3 targets\n"),
        "{text}"
    );
    assert!(text.contains("modes     LO HI\n"), "{text}");
    assert!(text.contains("200 ms > 22 ms"), "{text}");
}

#[test]
fn copies_may_take_disjoint_ways_and_links_may_be_lost() {
    let text = "tenuto: 1\nhosts: [a, d]\nswitches: {p: {profile: ideal}, q: {profile: ideal}}\n\
                defaults: {link: {rate: 1 Gbit/s}}\ntolerates: {links_lost: 1}\n\
                links: [{ends: [a, p]}, {ends: [a, q]}, {ends: [p, d]}, {ends: [q, d]}]\n\
                flows: {f: {source: a, targets: [d], frame: 100 B, period: 1 ms, copies: disjoint, \
                skew_max: 1 ms}}\n";
    let read = |text: &str| {
        let sources = tenuto_model::MemorySources::new().with("n.yaml", text);
        tenuto_model::read_network(&sources, "n.yaml").map(|(network, _)| network)
    };
    let network = read(text).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(network.flows[0].copies, ["A", "B"]);
    assert_eq!(network.tolerates.links_lost, 1);
    let again = read(&tenuto_model::write_network(&network));
    assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), network);
    for (from, to, said) in [
        ("copies: disjoint, skew_max: 1 ms", "copies: [A]", "there is no network `A`"),
        ("copies: disjoint, skew_max: 1 ms", "priority: 0", "attached by 2 links"),
        ("links_lost: 1", "links_lost: 2", "links_lost"),
    ] {
        let problems = read(&text.replace(from, to)).expect_err("refused").to_string();
        assert!(problems.contains(said), "{problems}");
    }
}
