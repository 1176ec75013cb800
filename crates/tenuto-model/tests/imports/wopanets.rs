//! The native dialect of WoPANets.

use crate::{accepted, counts, data, mistakes, network, refused};
use tenuto_model::{Flow, ImportFormat, ImportOptions, Network, Size};

fn import(name: &str, text: &str) -> Network {
    let imported = accepted(text, name, &ImportOptions::default());
    assert_eq!(imported.format, ImportFormat::Wopanets);
    network(imported)
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
        let Some(text) = data(&format!("afdx-isae/{name}")) else { continue };
        let n = import(name, &text);
        assert_eq!(counts(&n), [stations, switches, links, flows, targets], "{name}");
        assert!(n.links.iter().all(|l| l.rate_bps == 100_000_000 && l.propagation_ns == 0));
    }
}

#[test]
fn frames_are_payload_and_overhead_less_preamble_and_gap() {
    let Some(text) = data("afdx-isae/AFDX.xml") else { return };
    let n = import("AFDX.xml", &text);
    let count = |bytes, ms: u64| {
        let fits = |f: &&Flow| {
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
    let cases = [
        ("period=\"0.5\"", "period=\"soon\"", 8, "period: `soon` is not a time"),
        ("period=\"2\"", "", 11, "the flow has no period"),
        ("<path node=\"S\"/><path", "<path", 8, "not connected"),
        ("to=\"S\"", "to=\"T\"", 6, "there is no node `T`"),
        ("max-payload=\"100\"", "max-payload=\"2000\"", 8, "a frame of 2047 B"),
        ("name=\"G\"", "name=\"F\"", 11, "two flows are called `F`"),
        ("period=\"2\"", "arrival-curve=\"x\" period=\"2\"", 11, "dialect of xTFA"),
        ("STATIC_PRIORITY", "DEFICIT_ROUND_ROBIN", 3, "`DEFICIT_ROUND_ROBIN` is not known"),
        ("</flow>", "", 14, "not valid XML"),
    ];
    mistakes(ImportFormat::Wopanets, SMALL, &ImportOptions::default(), &cases);
    refused(ImportFormat::Wopanets, "<a/>", &ImportOptions::default());
}
