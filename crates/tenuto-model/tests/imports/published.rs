//! Published files come in whole: counts as their descriptions state them.

use crate::{accepted, counts, data, network, over_data};
use tenuto_model::{ImportFormat, ImportOptions, Network, Size};

/// Imports a file of the data sets, whose format its text must say.
fn come_in(name: &str, format: ImportFormat, options: &ImportOptions<'_>) -> Option<Network> {
    let imported = accepted(&data(name)?, name, options);
    assert_eq!(imported.format, format, "{name}");
    Some(network(imported))
}

/// Hosts, switches and links of a topology, those that hosts with several links add included.
#[test]
fn topologies() {
    for (name, format, sizes) in [
        ("orion-cev/ORION.graphml", ImportFormat::Graphml, [31, 15, 55]),
        ("abb-industrial/ABB.graphml", ImportFormat::Graphml, [20, 36 + 20, 110 + 20]),
        ("abb-industrial/ABBSMALL.graphml", ImportFormat::Graphml, [10, 16 + 10, 50 + 10]),
        ("abb-industrial/ABBLARGE.graphml", ImportFormat::Graphml, [40, 76 + 40, 230 + 40]),
        // Each link is there once per direction; of TC5, six are there once.
        ("vehicle-tc/TC1.graphml", ImportFormat::Graphml, [20, 32 + 12, 186 / 2 + 12]),
        ("vehicle-tc/TC5.graphml", ImportFormat::Graphml, [23, 32 + 15, (192 + 6) / 2 + 15]),
        ("wind-oss/topology.json", ImportFormat::NodeLists, [60, 40, 99]),
        ("admission-lists/line4-1G/network.json", ImportFormat::NodeLists, [16, 4, 19]),
        // Switches only: each gets a host and a link to it.
        ("topology-zoo/Abilene.gml", ImportFormat::Gml, [11, 11, 14 + 11]),
        ("topology-zoo/Nsfnet.gml", ImportFormat::Gml, [13, 13, 15 + 13]),
        ("topology-zoo/Arpanet19719.gml", ImportFormat::Gml, [18, 18, 22 + 18]),
        ("topology-zoo/Geant2012.gml", ImportFormat::Gml, [40, 40, 61 + 40]),
        ("topology-zoo/Sprint.gml", ImportFormat::Gml, [11, 11, 18 + 11]),
        ("topology-zoo/Renater2010.gml", ImportFormat::Gml, [43, 43, 56 + 43]),
        ("topology-zoo/Getnet.gml", ImportFormat::Gml, [7, 7, 8 + 7]),
        ("topology-zoo/Ai3.gml", ImportFormat::Gml, [10, 10, 9 + 10]),
        ("topology-zoo/Gridnet.gml", ImportFormat::Gml, [9, 9, 20 + 9]),
        ("topology-zoo/Cesnet1993.gml", ImportFormat::Gml, [10, 10, 9 + 10]),
    ] {
        let Some(n) = come_in(name, format, &over_data()) else { continue };
        assert_eq!(counts(&n)[..3], sizes, "{name}");
    }
}

/// Flows and targets of applications, time-triggered and AVB.
#[test]
fn applications() {
    let (orion, abb) = ("orion-cev/ORION.graphml", "abb-industrial/ABB.graphml");
    let (tc1, tc5) = ("vehicle-tc/TC1.graphml", "vehicle-tc/TC5.graphml");
    for (name, topology, flows, targets) in [
        ("orion-cev/tsncf_ORION_T1.xml", orion, 2 + 22, 44),
        ("orion-cev/tsncf_ORION_T2.xml", orion, 3 + 22, 45),
        ("orion-cev/deadline_ORION_T1.xml", orion, 3 + 75, 78),
        ("orion-cev/deadline_ORION_T2.xml", orion, 5 + 75, 80),
        ("orion-cev/deadline_ORION_T3.xml", orion, 8 + 75, 83),
        ("abb-industrial/tsncf_ABB_T1.xml", abb, 19, 41),
        ("abb-industrial/tsncf_ABB_T2.xml", abb, 19, 37),
        ("abb-industrial/deadline_ABB_T1.xml", abb, 6 + 35, 41),
        ("abb-industrial/deadline_ABB_T2.xml", abb, 8 + 35, 43),
        ("abb-industrial/deadline_ABB_T3.xml", abb, 10 + 35, 45),
        ("abb-industrial/deadline_ABB_T4.xml", abb, 13 + 35, 48),
        ("vehicle-tc/TC1_T1.xml", tc1, 8 + 48, 56),
        ("vehicle-tc/TC1_T2.xml", tc1, 8 + 48, 56),
        ("vehicle-tc/TC1_T3.xml", tc1, 8 + 48, 56),
        ("vehicle-tc/TC1_T4.xml", tc1, 8 + 48, 56),
        ("vehicle-tc/TC5_T10.xml", tc5, 8 + 48, 56),
        ("vehicle-tc/TC5_T11.xml", tc5, 8 + 48, 56),
        ("vehicle-tc/TC5_T12.xml", tc5, 8 + 96, 104),
        ("vehicle-tc/TC5_T13.xml", tc5, 8 + 144, 152),
    ] {
        let options = ImportOptions { topology: Some(topology), ..over_data() };
        let Some(n) = come_in(name, ImportFormat::Applications, &options) else { continue };
        assert_eq!(counts(&n)[3..], [flows, targets], "{name}");
    }
}

#[test]
fn designs_of_afdx_networks() {
    let options = ImportOptions::default();
    for number in 1..=6 {
        let name = format!("afdx-designer/test_{number}.afdxxml");
        let Some(n) = come_in(&name, ImportFormat::AfdxDesigner, &options) else { continue };
        assert_eq!(counts(&n)[..4], [8, 8, 16, 100], "{name}");
    }
    for (name, sizes) in [
        ("test_e2e", [2, 1, 2, 1]),
        ("test_e2e_2", [2, 2, 3, 1]),
        ("test_e2e_3", [4, 3, 6, 1]),
        ("test_e2e_4", [2, 1, 2, 2]),
        ("test_e2e_5", [2, 1, 2, 4]),
        ("test_e2e_6", [3, 2, 4, 4]),
        ("test_e2e_7", [3, 1, 3, 2]),
        ("test_e2e_priority_1", [2, 1, 2, 1]),
        ("test_e2e_priority_2", [2, 1, 2, 3]),
        ("test_e2e_priority_3", [3, 1, 3, 4]),
        ("test_e2e_priority_4", [3, 1, 3, 4]),
        ("test_kpath", [4, 6, 10, 1]),
        ("multiroutes", [4, 7, 12, 5 + 1]),
        // Five of its nine virtual links have neither source nor destination.
        ("example", [6, 3, 8, 4]),
    ] {
        let name = format!("afdx-designer/{name}.afdxxml");
        let Some(n) = come_in(&name, ImportFormat::AfdxDesigner, &options) else { continue };
        assert_eq!(counts(&n)[..4], sizes, "{name}");
    }
}

#[test]
fn time_sensitive_networks() {
    let options = ImportOptions::default();
    for (name, bridges, nodes, streams) in [
        ("default_Instance40", 20, 100, 101),
        ("default_Instance41", 20, 100, 161),
        ("nodes_Instance0", 10, 50, 137),
        ("nodes_Instance100", 50, 250, 42),
        ("period_Instance700", 20, 100, 15),
        ("period_Instance740", 20, 100, 55),
        ("topology_Instance360", 20, 100, 81),
        ("topology_Instance380", 20, 100, 169),
    ] {
        let name = format!("tas-benchmark/{name}.json");
        let Some(n) = come_in(&name, ImportFormat::TasBenchmark, &options) else { continue };
        let [hosts, switches, _, flows, targets] = counts(&n);
        assert_eq!(
            [switches, hosts + switches, flows, targets],
            [bridges, nodes, streams, streams]
        );
        assert!(n.links.iter().all(|l| l.rate_bps == 1_000_000_000 && l.propagation_ns == 100));
        assert!(n.flows.iter().all(|f| f.targets[0].routes[0].is_some()), "{name}");
    }
    for (name, switches, devices, flows, targets) in
        [("input", 1, 2, 1, 1), ("GeneratedCode1", 15, 55, 2, 8)]
    {
        let name = format!("tsnsched/{name}.json");
        let Some(n) = come_in(&name, ImportFormat::Tsnsched, &options) else { continue };
        let [h, s, _, f, t] = counts(&n);
        assert_eq!([s, h, f, t], [switches, devices, flows, targets], "{name}");
    }
}

#[test]
fn avionics_and_gateways() {
    let name = "afdx-lias/Generator_Output.json";
    if let Some(n) = come_in(name, ImportFormat::Lias, &ImportOptions::default()) {
        assert_eq!(counts(&n), [10, 4, 13, 12, 12]);
        // The load that the generator states: 84.58 Mbit/s without preamble and gap.
        let load = |flow: &tenuto_model::Flow| match flow.highest().size {
            Size::FrameBytes(bytes) => u64::from(bytes) * 8_000_000_000 / flow.highest().period_ns,
            other => panic!("{other:?}"),
        };
        assert_eq!(n.flows.iter().map(load).sum::<u64>() / 10_000, 8_458);
    }
    let name = "afdx-vltable-format/vl_table.csv";
    if let Some(n) = come_in(name, ImportFormat::VlTable, &over_data()) {
        assert_eq!(counts(&n), [6, 2, 12, 3, 4]);
    }
    let name = "afdx-vltable-format/virtual_links.yaml";
    if let Some(text) = data(name) {
        let refused = tenuto_model::import(None, &text, name, &over_data()).expect_err("BAGs");
        let said = refused.to_string();
        for words in ["20 ms is none: did you mean 16 or 32?", "virtual_links.yaml:20"] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
    for (name, messages) in [("CAN1-500K", 64), ("CAN2-2M", 41), ("CAN4-5M", 39)] {
        let options = ImportOptions {
            bus: Some(name),
            gateway: Some("gateway"),
            target: Some("computer"),
            ..over_data()
        };
        let file = format!("can-tsn/{name}.csv");
        let Some(n) = come_in(&file, ImportFormat::Can, &options) else { continue };
        assert_eq!(counts(&n), [2, 1, 2, messages, messages], "{name}");
        assert!(n.flows.iter().all(|f| f.highest().jitter_ns > 0), "{name}");
    }
}
