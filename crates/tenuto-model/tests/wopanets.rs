//! Import of published AFDX networks, read from where `TENUTO_DATA` says.

use std::path::PathBuf;
use tenuto_model::{MemorySources, Network, Size, import_wopanets, read_network};

/// A file of the data set, or nothing where it is absent: then the test says so and passes.
fn data(name: &str) -> Option<String> {
    let root = std::env::var_os("TENUTO_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(root.join("afdx-isae").join(name)).ok();
    if text.is_none() {
        println!("skipped: afdx-isae/{name} is not there (set TENUTO_DATA)");
    }
    text
}

/// Imports, and checks that the text that comes with it reads back to the same network.
fn import(name: &str, text: &str) -> Network {
    let imported = import_wopanets(text, name).unwrap_or_else(|e| panic!("{e}"));
    let sources = MemorySources::new().with("i.yaml", &imported.yaml);
    let (again, _) = read_network(&sources, "i.yaml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again, imported.network, "{name}");
    imported.network
}

/// Counts as the data set's own description states them.
#[test]
fn published_networks_come_in_whole() {
    for (name, stations, switches, links, flows, targets) in [
        ("EE.xml", 2, 0, 1, 1, 1),
        ("ESE.xml", 2, 1, 2, 1, 1),
        ("ESE_F3.xml", 2, 1, 2, 3, 3),
        ("3ESE.xml", 4, 1, 4, 3, 3),
        ("STAR_3.xml", 3, 1, 3, 3, 6),
        ("ES2E_M.xml", 3, 1, 3, 1, 2),
        ("ESSE.xml", 2, 2, 3, 1, 1),
        ("ISAE_TEST_1.xml", 10, 2, 11, 5, 25),
        ("AFDX.xml", 58, 8, 68, 265, 1_002),
    ] {
        let Some(text) = data(name) else { continue };
        let n = import(name, &text);
        let pairs: usize = n.flows.iter().map(|f| f.targets.len()).sum();
        assert_eq!(
            (n.hosts.len(), n.switches.len(), n.links.len(), n.flows.len(), pairs),
            (stations, switches, links, flows, targets),
            "{name}"
        );
        assert!(n.links.iter().all(|l| l.rate_bps == 100_000_000 && l.propagation_ns == 0));
    }
}

#[test]
fn frames_are_payload_and_overhead_less_preamble_and_gap() {
    let Some(text) = data("AFDX.xml") else { return };
    let n = import("AFDX.xml", &text);
    let count = |bytes, ms: u64| {
        let fits = |f: &&tenuto_model::Flow| {
            f.highest().size == Size::FrameBytes(bytes) && f.highest().period_ns == ms * 1_000_000
        };
        n.flows.iter().filter(fits).count()
    };
    assert_eq!((count(16 + 47, 32), count(282 + 47, 2)), (198, 56));
    assert_eq!(count(602 + 47, 1) + count(602 + 47, 2), 11);
    assert!(n.flows.iter().all(|f| f.highest().priority == 0 && f.vl.is_none()));
}

const SMALL: &str = r#"<elements>
  <network name="N" overhead="67" transmission-capacity="10Mbps"/>
  <station name="Station 1" service-policy="STATIC_PRIORITY"/>
  <station name="Station 2"/>
  <switch name="S" tech-latency="16"/>
  <link from="Station 1" to="S" transmission-capacity="100Mbps"/>
  <link from="S" to="Station 2"/>
  <flow name="F" source="Station 1" period="0.5" jitter="0.1" max-payload="100" priority="High">
    <target name="Station 2"><path node="S"/><path node="Station 2"/></target>
  </flow>
  <flow name="G" source="Station 1" period="2" deadline="1" max-payload="100" priority="Low">
    <target name="Station 2"><path node="S"/><path node="Station 2"/></target>
  </flow>
</elements>"#;

#[test]
fn latencies_priorities_and_units_are_kept() {
    let n = import("small.xml", SMALL);
    assert_eq!(n.profiles["wopanets-16us"].latency_ns_min, 16_000);
    assert_eq!(n.links.iter().map(|l| l.rate_bps).collect::<Vec<_>>(), [100_000_000, 10_000_000]);
    assert_eq!(n.flows.iter().map(|f| f.highest().priority).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(n.flows[0].targets[0].deadline_ns, [500_000]);
    assert_eq!(n.flows[1].targets[0].deadline_ns, [1_000_000]);
    assert_eq!(n.flows[0].highest().jitter_ns, 100_000);
    assert_eq!(n.flows[0].targets[0].routes, [Some(vec!["S".to_owned()])]);
    assert_eq!(n.hosts[0].name, "Station 1");
}

#[test]
fn mistakes_have_their_line() {
    for (from, to, line, words) in [
        ("period=\"0.5\"", "period=\"soon\"", 8, "period: `soon` is not a time"),
        ("period=\"2\"", "", 11, "the flow has no period"),
        ("<path node=\"S\"/><path", "<path", 8, "not connected"),
        ("to=\"S\"", "to=\"T\"", 6, "there is no node `T`"),
        ("max-payload=\"100\"", "max-payload=\"2000\"", 8, "a frame of 2047 B"),
        ("name=\"G\"", "name=\"F\"", 11, "two flows are called `F`"),
        ("period=\"2\"", "arrival-curve=\"x\" period=\"2\"", 11, "dialect of xTFA"),
        ("</flow>", "", 14, "not valid XML"),
    ] {
        let text = SMALL.replacen(from, to, 1);
        let problems = import_wopanets(&text, "small.xml").expect_err(words);
        let found = problems.iter().find(|d| d.message.contains(words));
        assert!(found.is_some(), "{words}: {problems}");
        assert_eq!(found.and_then(|d| d.line), Some(line), "{problems}");
    }
    assert!(import_wopanets("<a/>", "x.xml").is_err());
}
