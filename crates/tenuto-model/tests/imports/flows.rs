//! Formats of networks with their flows, and of flows alone.

use crate::{accepted, counts, mistakes, network, refused};
use tenuto_model::{
    Flow, ImportFormat, ImportOptions, Imported, MatchKind, MemorySources, Network, Size,
};

fn at_100() -> ImportOptions<'static> {
    ImportOptions { rate_bps: Some(100_000_000), ..ImportOptions::default() }
}

fn flow<'n>(network: &'n Network, name: &str) -> &'n Flow {
    network.flow(name).unwrap_or_else(|| panic!("no flow {name}"))
}

fn says(imported: &Imported, words: &[&str]) {
    let said = imported.notes.join("\n") + &imported.warnings.to_string();
    for words in words {
        assert!(said.contains(words), "{words}: {said}");
    }
}

const CAN: &str = "ID,Transmission Time/us,Period/us,Deadline/us,Frame Length/bytes,WCRT/us,MAWT/us
1,230,10000,10000,6,500,9500
2,73.6,2000,2000,64,286.5,1000
";

#[test]
fn a_gateway_sends_on_with_the_jitter_of_its_bus() {
    let options =
        ImportOptions { bus: Some("CAN1"), gateway: Some("gw"), target: Some("hpc"), ..at_100() };
    let imported = accepted(CAN, "can.csv", &options);
    says(&imported, &["release jitter is the worst-case response", "MAWT is not deadline - WCRT"]);
    let n = network(imported);
    assert_eq!(counts(&n), [2, 1, 2, 2, 2]);
    let second = flow(&n, "CAN1-2");
    assert_eq!(second.highest().jitter_ns, 286_500);
    assert_eq!(second.targets[0].deadline_ns, [1_713_500], "what the bus leaves");
    assert_eq!(second.highest().size, Size::PayloadBytes(80));
    assert!(second.highest().priority < flow(&n, "CAN1-1").highest().priority);
    let cases = [
        ("10000,10000", "0,10000", 2, "the period is zero"),
        ("64,286.5", "65,286.5", 3, "65 B are no CAN message"),
        ("286.5", "2000", 3, "leaves nothing of the deadline"),
        ("6,500", "6,", 2, "the cell is empty"),
        ("WCRT/us", "WCRT", 1, "no column `wcrt/us`"),
        ("\n2,", "\n1,", 3, "two flows are called `CAN1-1`"),
    ];
    mistakes(ImportFormat::Can, CAN, &options, &cases);
    let said = refused(ImportFormat::Can, CAN, &at_100()).to_string();
    assert!(said.contains("--bus NAME --gateway HOST --target HOST"), "{said}");
}

#[test]
fn flows_alone_go_onto_a_network_of_ours() {
    let base = "tenuto: 1\nhosts: [gw, hpc, other]\nswitches: {s: {profile: ideal}}\n\
                defaults: {link: {rate: 1 Gbit/s}}\nlinks: [{ends: [gw, s]}, {ends: [hpc, s]}, {ends: [other, s]}]\n\
                flows: {O: {source: other, targets: [hpc], frame: 100 B, period: 1 ms}}\n";
    let sources = MemorySources::new().with("base.yaml", base);
    let options = ImportOptions {
        bus: Some("B"),
        gateway: Some("GW"),
        target: Some("hpc"),
        topology: Some("base.yaml"),
        sources: &sources,
        ..ImportOptions::default()
    };
    let imported = accepted(CAN, "can.csv", &options);
    says(&imported, &["nodes and links are those of base.yaml", "capital letters"]);
    assert_eq!(counts(&network(imported)), [3, 1, 3, 3, 3]);
    let wrong = ImportOptions { gateway: Some("gateway"), ..options };
    let said = refused(ImportFormat::Can, CAN, &wrong).to_string();
    assert!(said.contains("there is no node `gateway`"), "{said}");
}

const TOPICS: &str = "topic,publisher,subscribers,rate_hz,size_bytes,deadline_ms
/scan,lidar,nav map,10,4000,50
/cmd,nav,base nav,62.5,48,
";

const TOPICS_YAML: &str = "topics:
  - {topic: /scan, publisher: lidar, subscribers: [nav, map], rate_hz: 10, size: 4 kB, deadline: 50 ms}
  - {topic: /cmd, publisher: nav, subscribers: base nav, rate_hz: 62.5, size: 48 B}
";

#[test]
fn topics_are_the_same_as_table_and_as_yaml() {
    let table = accepted(TOPICS, "t.csv", &at_100());
    says(&table, &["`/cmd` stays inside `nav`", "of topics without one", "RTPS"]);
    let table = network(table);
    let yaml = network(accepted(TOPICS_YAML, "t.yaml", &at_100()));
    assert_eq!(table, yaml);
    assert_eq!(counts(&table), [4, 1, 4, 2, 3]);
    let scan = flow(&table, "/scan");
    assert_eq!(scan.highest().size, Size::MessageBytes(4_000 + 4 * 64));
    assert_eq!(scan.highest().period_ns, 100_000_000);
    assert_eq!(flow(&table, "/cmd").highest().period_ns, 16_000_000);
    assert_eq!(flow(&table, "/cmd").targets[0].deadline_ns, [16_000_000]);
    let cases = [
        (",10,", ",0,", 2, "`0` is no rate"),
        ("62.5", "often", 3, "`often` is no rate"),
        (",48,", ",-48,", 3, "cannot be negative"),
        ("size_bytes", "size", 1, "no column `size_bytes`"),
        ("/cmd", "/scan", 3, "two flows are called `/scan`"),
    ];
    mistakes(ImportFormat::Ros2, TOPICS, &at_100(), &cases);
    let cases = [
        ("4 kB", "4 KB", 2, "read in two ways"),
        ("deadline: 50 ms", "deadline: 50", 2, "has no unit"),
        ("size: 48 B", "length: 48 B", 3, "key `length` is not known"),
    ];
    mistakes(ImportFormat::Ros2, TOPICS_YAML, &at_100(), &cases);
}

const VLS: &str = "# VL_ID,Source_Partition,Sinks,TrafficClass,BAG_ms,Frames_per_BAG,Max_L2_Bytes,UDP_DstPort,Redundancy,Queue,QoS,BW_kbps_per_net,Notes
V1,P1,\"P2|P3\",A,2,1,256,49000,A/B,PRIO_7,High,1024,\"a, b\"
V2,P2,P1,B,128,1,1500,49200,A,PRIO_2,Low,200,x
V3,P3,P1,A,8,2,500,,A/B,PRIO_0,Low,1000,
# the end";

#[test]
fn virtual_links_go_over_networks_a_and_b() {
    let imported = accepted(VLS, "vls.csv", &at_100());
    says(&imported, &["200 kbit/s are stated", "sends 2 frames per BAG", "PRIO_7"]);
    let n = network(imported);
    assert_eq!(n.networks, ["A", "B"]);
    assert_eq!(counts(&n), [3, 2, 6, 3, 4]);
    let first = flow(&n, "V1");
    assert_eq!((first.vl, first.matching, first.udp_port), (Some(1), MatchKind::Vl, Some(49_000)));
    assert_eq!(first.highest().priority, 0);
    assert_eq!(flow(&n, "V2").copies, ["A"]);
    let third = flow(&n, "V3");
    assert_eq!((third.vl, third.highest().size), (None, Size::FrameBytes(1_020)));
    let cases = [
        (",2,1,256", ",20,1,256", 2, "BAG must be a power of two"),
        ("1500", "1519", 3, "a frame of 1519 B"),
        ("PRIO_2", "PRIO_9", 3, "queue `PRIO_9`"),
        (",A,PRIO_2", ",C,PRIO_2", 3, "no network `C`"),
        ("V2,P2,P1", "V2,P2,", 3, "the cell is empty"),
    ];
    mistakes(ImportFormat::VlTable, VLS, &at_100(), &cases);
    // No network of ours could say it: what is written would not be read again.
    let small = VLS.replacen(",2,1,256,", ",2,1,5,", 1);
    let problems = refused(ImportFormat::VlTable, &small, &at_100());
    let problem = problems.iter().next().expect("an error");
    assert_eq!((problem.file.as_str(), problem.line), ("wrong", None));
    assert_eq!(problem.field_path, "flows.V1.frame");
    let said = problems.to_string();
    assert!(said.contains("frame of `5 B`") && said.contains("has 18 B to 1518 B"), "{said}");
}

const VLS_YAML: &str = "---
title: links
virtual_links:
  - {vl_id: 1001, name: pitch, source: P1, destinations: [P2, P3], bag_ms: 2, max_frame_size_bytes: 256, jitter_us: 50, switch_queue: 7, redundancy: A+B}
  - {vl_id: 1002, name: log, source: P2, destinations: [P1], bag_ms: 128, max_frame_size_bytes: 1500, switch_queue: 2, redundancy: A}
";

#[test]
fn virtual_links_may_be_a_list_in_yaml() {
    let imported = accepted(VLS_YAML, "vls.yaml", &at_100());
    says(&imported, &["keys are not read: title", "PRIO_7"]);
    let n = network(imported);
    assert_eq!(counts(&n), [3, 2, 6, 2, 3]);
    let first = flow(&n, "pitch");
    assert_eq!((first.vl, first.highest().jitter_ns), (Some(1001), 50_000));
    assert_eq!((first.highest().priority, first.copies.len()), (0, 2));
    assert_eq!(flow(&n, "log").copies, ["A"]);
    let cases = [
        ("bag_ms: 128", "bag_ms: 20", 5, "BAG must be a power of two"),
        ("source: P2", "sorce: P2", 5, "the cell is empty"),
    ];
    mistakes(ImportFormat::VlTable, VLS_YAML, &at_100(), &cases);
}

const DESIGNER: &str = r#"<afdxxml name="d"><resources>
  <endSystem name="e1" number="1" ports="1"/><endSystem name="e2" number="2" ports="2"/>
  <partition connectedTo="1" name="p1" number="3"/><partition connectedTo="2" name="p2" number="4"/>
  <switch name="s1" number="5" ports="5,6"/>
  <link capacity="12500" from="1" to="5"/><link capacity="200" from="6" to="2"/></resources>
  <virtualLinks>
    <virtualLink bag="8" dest="2" id="V 1" lmax="100" number="7" source="1"><path dest="2" path="1,5l,2"/></virtualLink>
    <virtualLink bag="1" dest="2" id="V 2" lmax="64" number="8" source="1"><path dest="2" path="1,5h,2"/></virtualLink>
    <virtualLink bag="1" dest="None" id="V 3" lmax="64" number="9" source="None"/>
  </virtualLinks>
  <dataFlows>
    <dataFlow id="D 1" source="3" dest="4" msgSize="50" period="10" tMax="5" jMax="0" vl="7"/>
    <dataFlow id="D 2" source="4" dest="3,4" msgSize="2000" period="100" tMax="0" jMax="1" vl="None"/>
  </dataFlows></afdxxml>"#;

#[test]
fn designs_have_ports_by_number_and_rates_in_bytes_per_millisecond() {
    let imported = accepted(DESIGNER, "d.afdxxml", &ImportOptions::default());
    says(
        &imported,
        &["`V 3` has no source", "`D 2` stays inside `e2`", "1 data flows", "(3h, 3l)"],
    );
    let n = network(imported);
    assert_eq!(counts(&n), [2, 1, 2, 3, 3]);
    assert_eq!(n.links.iter().map(|l| l.rate_bps).collect::<Vec<_>>(), [100_000_000, 1_600_000]);
    let first = flow(&n, "V 1");
    assert_eq!((first.vl, first.highest().priority), (Some(7), 1));
    assert_eq!(first.targets[0].deadline_ns, [5_000_000], "of the data flow that it carries");
    assert_eq!(first.targets[0].routes, [Some(vec!["s1".to_owned()])]);
    assert_eq!(flow(&n, "V 2").highest().priority, 0);
    let own = flow(&n, "D 2");
    assert_eq!((own.highest().size, own.vl), (Size::MessageBytes(2_000), None));
    let cases = [
        ("from=\"6\"", "from=\"9\"", 5, "there is no port 9"),
        ("bag=\"8\"", "bag=\"7\"", 7, "power of two"),
        ("lmax=\"100\"", "lmax=\"1600\"", 7, "lmax=\"1600\" cannot be"),
        ("source=\"4\"", "source=\"40\"", 13, "no partition with number 40"),
        ("capacity=\"200\"", "capacity=\"\"", 5, "is no rate"),
        ("number=\"2\" ports=\"2\"", "number=\"1\" ports=\"2\"", 2, "number 1 is there twice"),
    ];
    mistakes(ImportFormat::AfdxDesigner, DESIGNER, &ImportOptions::default(), &cases);
}

const LIAS: &str = r#"{"metadata": {"nom_topologie": "line"},
 "end_systems": [{"id": "E1", "port_sortie": {"id": "x", "destination": "S1", "debit_Mbps": 10.5}},
  {"id": "E2", "port_sortie": {"id": "y", "destination": null, "debit_Mbps": 100.0}}],
 "switches": [{"id": "S1", "port_sortie": [{"id": "z", "destination": "E2", "debit_Mbps": 100.0}]}],
 "Flux": [{"id": "V1", "source": "E1", "destination": "E2", "taille_bytes": 200, "priorite": 1,
   "bag_us": 1024, "chemin": ["E1", "S1", "E2"]}],
 "Flux_refuser": [{"id": "V9"}]}"#;

#[test]
fn french_keys_are_read() {
    let imported = accepted(LIAS, "l.json", &ImportOptions::default());
    says(&imported, &["1 flows that the generator refused", "imported as periods"]);
    let n = network(imported);
    assert_eq!((n.name.as_str(), counts(&n)), ("line", [2, 1, 2, 1, 1]));
    assert_eq!(n.links[0].rate_bps, 10_500_000);
    let only = flow(&n, "V1");
    assert_eq!((only.highest().period_ns, only.highest().priority), (1_024_000, 1));
    let cases = [
        ("\"destination\": \"E2\", \"debit", "\"destination\": \"E3\", \"debit", 4, "no node `E3`"),
        ("\"S1\", \"E2\"]", "\"S1\"]", 5, "chemin does not end at `E2`"),
        ("\"taille_bytes\": 200", "\"taille_byte\": 200", 5, "is taille_byte meant for it?"),
        ("1024", "\"soon\"", 6, "not a number"),
    ];
    mistakes(ImportFormat::Lias, LIAS, &ImportOptions::default(), &cases);
}

const TSNSCHED: &str = r#"{"switches": [
  {"name": "s1", "defaultPortSpeed": 125, "defaultTimeToTravel": 1, "ports": [
    {"name": "e0", "connectsTo": "d1"}, {"name": "e1", "connectsTo": "s2", "portSpeed": 12.5}]},
  {"name": "s2", "defaultPortSpeed": 125, "ports": [
    {"name": "e0", "connectsTo": "d2", "timeToTravel": 2.5}, {"name": "e1", "connectsTo": "s2"}]}],
 "devices": [
  {"name": "d1", "defaultPacketPeriodicity": 1000, "defaultHardConstraintTime": 800, "defaultPacketSize": 1500},
  {"name": "d2"}],
 "flows": [{"name": "f", "type": "unicast", "sourceDevice": "d1", "endDevices": ["d2"], "packetSize": 200,
  "hops": [{"currentNodeName": "s2", "nextNodeName": "d2"}, {"currentNodeName": "d1", "nextNodeName": "s1"},
   {"currentNodeName": "s1", "nextNodeName": "s2"}]}]}"#;

#[test]
fn devices_have_defaults_and_hops_come_in_any_order() {
    let imported = accepted(TSNSCHED, "t.json", &ImportOptions::default());
    says(&imported, &["connect a switch to itself", "flows are sporadic"]);
    let n = network(imported);
    assert_eq!(counts(&n), [2, 2, 3, 1, 1]);
    let rates: Vec<u64> = n.links.iter().map(|l| l.rate_bps / 1_000_000).collect();
    let delays: Vec<u64> = n.links.iter().map(|l| l.propagation_ns).collect();
    assert_eq!((rates, delays), (vec![1_000, 100, 1_000], vec![1_000, 1_000, 2_500]));
    let only = flow(&n, "f");
    assert_eq!(only.highest().size, Size::FrameBytes(200));
    assert_eq!(only.targets[0].deadline_ns, [800_000]);
    assert_eq!(only.targets[0].routes, [Some(vec!["s1".to_owned(), "s2".to_owned()])]);
    let cases = [
        (
            "\"s1\", \"nextNodeName\": \"s2\"",
            "\"s1\", \"nextNodeName\": \"s1\"",
            9,
            "do not lead to `d2`",
        ),
        ("\"sourceDevice\": \"d1\"", "\"sourceDevice\": \"d2\"", 9, "states `packetPeriodicity`"),
        ("\"packetSize\": 200", "\"packetSize\": 2000", 9, "too large"),
        ("\"connectsTo\": \"d2\"", "\"connectsTo\": \"d3\"", 5, "there is no node `d3`"),
        ("\"type\": \"unicast\"", "\"type\": [", 10, "not valid JSON"),
    ];
    for case in &cases[..4] {
        mistakes(ImportFormat::Tsnsched, TSNSCHED, &ImportOptions::default(), &[*case]);
    }
    let broken = TSNSCHED.replace(cases[4].0, cases[4].1);
    let said = refused(ImportFormat::Tsnsched, &broken, &ImportOptions::default()).to_string();
    assert!(said.contains("not valid JSON"), "{said}");
}

const TAS: &str = r#"{"name": "I", "streams": [
  {"name": "S0", "type": "TT", "period": 1000000, "framesPerPeriod": 1, "maxFrameSize": 1542,
   "maxLatency": 900000.0, "deadline": 1000000, "talker": "E0", "listeners": ["E1"],
   "path": ["L0-1", "L1-1", "L2-2"], "priority": 5},
  {"name": "S1", "type": "TT", "period": 2000000, "framesPerPeriod": 2, "maxFrameSize": 100,
   "maxLatency": 2000000, "talker": "E0", "listeners": ["E1"], "priority": 7}],
 "nodes": [{"name": "E0", "isBridge": false, "processingDelay": 0}, {"name": "E1", "isBridge": false},
  {"name": "B0", "isBridge": true, "processingDelay": 1000}, {"name": "B1", "isBridge": true}],
 "links/ports": [
  {"name": "L0-1", "source": "E0", "destination": "B0", "propagationDelay": 100, "transmissionRate": 0.125},
  {"name": "L1-1", "source": "B0", "destination": "B1", "propagationDelay": 100, "transmissionRate": 0.0125},
  {"name": "L1-2", "source": "B1", "destination": "B0", "propagationDelay": 100, "transmissionRate": 0.0125},
  {"name": "L2-2", "source": "B1", "destination": "E1", "propagationDelay": 100, "transmissionRate": 0.125}]}"#;

#[test]
fn streams_go_over_named_links() {
    let imported = accepted(TAS, "i.json", &ImportOptions::default());
    says(&imported, &["gates", "above 1522 B counts preamble"]);
    let n = network(imported);
    assert_eq!(counts(&n), [2, 2, 3, 2, 2]);
    assert_eq!(
        n.links.iter().map(|l| l.rate_bps).collect::<Vec<_>>(),
        [1_000_000_000, 100_000_000, 1_000_000_000]
    );
    assert_eq!(n.profile_of(&n.switches[0]).latency_ns_max, 1_000);
    let first = flow(&n, "S0");
    assert_eq!(first.targets[0].deadline_ns, [900_000], "the smaller of latency and deadline");
    assert_eq!(first.targets[0].routes, [Some(vec!["B0".to_owned(), "B1".to_owned()])]);
    assert_eq!((first.highest().size, first.highest().priority), (Size::MessageBytes(1_461), 2));
    let second = flow(&n, "S1");
    assert_eq!(
        (second.highest().size, second.targets[0].routes.clone()),
        (Size::FrameBytes(220), vec![None])
    );
    let cases = [
        ("\"L1-1\", \"L2-2\"", "\"L1-1\", \"L2-1\"", 4, "there is no link `L2-1`"),
        ("\"L1-1\", \"L2-2\"", "\"L2-2\"", 2, "does not lead to `E1`"),
        ("\"talker\": \"E0\"", "\"talker\": \"E7\"", 2, "there is no node `E7`"),
        ("0.125}]", "1250}]", 13, "0.125 is 1 Gbit/s"),
        ("\"priority\": 7", "\"priority\": 8", 6, "from 0 to 7"),
    ];
    mistakes(ImportFormat::TasBenchmark, TAS, &ImportOptions::default(), &cases);
}
