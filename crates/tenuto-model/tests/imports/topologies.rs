//! Topologies, and the flows that go with them.

use crate::{accepted, counts, mistakes, network, refused};
use tenuto_model::{ImportFormat, ImportOptions, MemorySources, Network, Size};

const GRAPHML: &str = r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="label"/><key id="d1" for="edge" attr.name="LinkSpeedRaw"/>
  <graph id="G" edgedefault="undirected">
    <node id="es_1"/><node id="es_2"/><node id="ES3"/>
    <node id="n4"><data key="d0">sw:A</data></node>
    <node id="sw_b"/>
    <edge source="es_1" target="n4"/><edge source="n4" target="es_1"/>
    <edge source="es_2" target="sw_b"/>
    <edge source="ES3" target="sw_b"/>
    <edge source="ES3" target="n4"/>
    <edge source="n4" target="sw_b"><data key="d1">1000000000.0</data></edge>
  </graph>
</graphml>"#;

const APPLICATIONS: &str = r#"<Applications>
  <TTApplication name="tt">
    <Source name="ES_1"><Destinations><GCL offset="0" duration="10.0" frequency="2"/>
      <Dest name="ES3"><Route><Bridge name="SW_A"/></Route></Dest></Destinations></Source>
  </TTApplication>
  <AVBApplication name="a">
    <AVBClass>CLASS_A</AVBClass><PayloadSize>100</PayloadSize><NoOfFrames>3</NoOfFrames>
    <Source name="es_1"/>
    <Destinations><Dest name="ES_2"/><Dest name="es3"/></Destinations>
  </AVBApplication>
  <AVBApplication name="b">
    <AVBClass>CLASS_B</AVBClass><PayloadSize>1500</PayloadSize><NoOfFrames>1</NoOfFrames>
    <Source name="es_2"/><Destinations><Dest name="es_1"/></Destinations>
    <Deadline>5000</Deadline><Interval>1000.5</Interval>
  </AVBApplication>
</Applications>"#;

const FLOWS: &str = "name,source,targets,period_ms,frame_bytes_max\nF,es_1,es_2 ES3,10,300\n";

fn files() -> MemorySources {
    MemorySources::new().with("t.graphml", GRAPHML).with("f.csv", FLOWS).with("a.xml", APPLICATIONS)
}

fn options(sources: &MemorySources) -> ImportOptions<'_> {
    ImportOptions { rate_bps: Some(100_000_000), sources, ..ImportOptions::default() }
}

fn hosts_with_several_links_are_split(n: &Network) {
    assert!(n.switches.iter().any(|s| s.name == "ES3-ports"), "{:?}", n.switches);
    let own = n.ends_of("ES3").next().expect("a link");
    assert_eq!((own.1.node.as_str(), own.2.rate_bps), ("ES3-ports", 200_000_000));
}

const LISTS: &str = r#"{"name": "plant", "hosts": [{"name": "m1", "ip": "10.0.1.10/24"}, "m2"],
  "switches": ["s1", "s2"], "links": [["s1", "s2"], ["m1", "s1"],
  {"src": "m2", "dst": "s2", "rate_bps": 1e9, "prop_s": 0.0}]}"#;

#[test]
fn lists_of_nodes_and_links_with_a_table_of_flows() {
    let flows = "name,source,targets,period_ms,frame_bytes_max\nF,m1,m2,10,300\n";
    let sources = MemorySources::new().with("f.csv", flows).with("lists.json", LISTS);
    let with_flows = ImportOptions { flows: Some("f.csv"), ..options(&sources) };
    let imported = accepted(LISTS, "lists.json", &with_flows);
    assert_eq!(imported.format, ImportFormat::NodeLists);
    let n = network(imported);
    assert_eq!(counts(&n), [2, 2, 3, 1, 1]);
    assert_eq!(n.ends_of("m2").next().expect("a link").2.rate_bps, 1_000_000_000);
    let cases = [
        ("\"prop_s\": 0.0", "\"prop_s\": 1e-6", 3, "propagation delays are not read"),
        ("[\"s1\", \"s2\"], [\"m1\"", "[\"s1\"], [\"m1\"", 2, "a link has two ends"),
        ("\"dst\": \"s2\"", "\"dest\": \"s2\"", 3, "the link has no two ends"),
        ("{\"name\": \"m1\"", "{\"nam\": \"m1\"", 1, "the node has no name"),
    ];
    mistakes(ImportFormat::NodeLists, LISTS, &options(&sources), &cases);
}

#[test]
fn a_file_of_another_format_is_told_as_that() {
    let sources = files();
    let said = refused(ImportFormat::Tsnsched, GRAPHML, &options(&sources)).to_string();
    assert!(said.contains("looks like one of graphml"), "{said}");
    let unknown =
        tenuto_model::import(None, "<delays><flow/></delays>", "r.xml", &options(&sources));
    let said = unknown.expect_err("results of another tool").to_string();
    assert!(said.contains("XML that starts with <delays>"), "{said}");
}

#[test]
fn graphml_with_a_table_of_flows() {
    let sources = files();
    let options = ImportOptions { flows: Some("f.csv"), ..options(&sources) };
    let imported = accepted(GRAPHML, "t.graphml", &options);
    let said = imported.notes.join("\n");
    for words in ["1 host with several links", "--rate", "what cannot be in a name"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let n = network(imported);
    assert_eq!(counts(&n), [3, 3, 6, 1, 2], "an edge per direction is one link");
    assert_eq!(n.links[4].rate_bps, 1_000_000_000, "LinkSpeedRaw");
    hosts_with_several_links_are_split(&n);
}

#[test]
fn applications_over_a_topology_either_way_round() {
    let sources = files();
    let by_topology = ImportOptions { topology: Some("t.graphml"), ..options(&sources) };
    let one = network(accepted(APPLICATIONS, "a.xml", &by_topology));
    let by_flows = ImportOptions { flows: Some("a.xml"), ..options(&sources) };
    let other = network(accepted(GRAPHML, "t.graphml", &by_flows));
    assert_eq!(one.flows, other.flows);
    assert_eq!(counts(&one), [3, 3, 6, 3, 4]);
    hosts_with_several_links_are_split(&one);
    let [tt, a, b] = one.flows.as_slice() else { panic!("three") };
    // 10 us at 100 Mbit/s are 125 B of wire, twice in 500 us, over the written bridge.
    let period = |flow: &tenuto_model::Flow| flow.highest().period_ns;
    assert_eq!((tt.highest().size, period(tt)), (Size::FrameBytes(105), 250_000));
    let route = vec!["sw_A".to_owned(), "ES3-ports".to_owned()];
    assert_eq!(tt.targets[0].routes, [Some(route)]);
    // Three frames of 142 B on the wire, every 125 us, as one of 426 B.
    assert_eq!((a.highest().size, period(a)), (Size::FrameBytes(406), 125_000));
    assert_eq!(a.targets[0].deadline_ns, [2_000_000]);
    // 1542 B on the wire are more than a frame of ours.
    assert_eq!((b.highest().size, period(b)), (Size::MessageBytes(1_461), 1_000_500));
    assert_eq!(b.targets[0].deadline_ns, [5_000_000]);
    let priorities = [tt, a, b].map(|flow| flow.highest().priority);
    assert_eq!(priorities, [0, 1, 2]);
}

#[test]
fn mistakes_in_applications_have_their_line() {
    let sources = files();
    let options = ImportOptions { topology: Some("t.graphml"), ..options(&sources) };
    let cases = [
        ("ES_2\"", "ES_9\"", 9, "did you mean es_"),
        ("CLASS_B", "CLASS_C", 11, "`CLASS_C` is not known"),
        ("duration=\"10.0\"", "duration=\"long\"", 3, "not a number"),
        ("<PayloadSize>100</PayloadSize>", "", 6, "no PayloadSize"),
        ("<NoOfFrames>3", "<NoOfFrames>0", 6, "0 frames of 100 B"),
        ("<Source name=\"es_2\"/>", "", 11, "no source"),
        ("name=\"b\"", "name=\"a\"", 11, "two flows are called `a`"),
    ];
    mistakes(ImportFormat::Applications, APPLICATIONS, &options, &cases);
    let nowhere = ImportOptions { topology: Some("gone.graphml"), ..options };
    let said = refused(ImportFormat::Applications, APPLICATIONS, &nowhere).to_string();
    assert!(said.contains("`gone.graphml` cannot be read"), "{said}");
    let none = ImportOptions { topology: None, ..options };
    refused(ImportFormat::Applications, APPLICATIONS, &none);
}

const GML: &str = "Creator \"me\"\ngraph [\n  label \"zoo\"
  node [ id 0 label \"New York\" Country \"US\" ]
  node [ id 1 label \"Washington, DC\" ]
  node [ id 2 label \"New York\" ]
  edge [ source 0 target 1 LinkSpeedRaw 2500000000.0 ]
  edge [ source 1 target 2 ]
  edge [ source 2 target 1 ]
  edge [ source 0 target 1 ]
]\n";

#[test]
fn gml_of_switches_only_gets_a_host_on_each() {
    let sources = MemorySources::new();
    let imported = accepted(GML, "z.gml", &options(&sources));
    assert_eq!(imported.format, ImportFormat::Gml);
    let said = imported.notes.join("\n");
    for words in
        ["Country", "1 parallel link is left out", "each has a host h-NAME", "number behind"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let n = network(imported);
    assert_eq!(counts(&n), [3, 3, 5, 0, 0]);
    let names: Vec<&str> = n.switches.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["New_York-0", "Washington__DC", "New_York-2"]);
    assert_eq!(n.links[0].rate_bps, 100_000_000, "the lower of two parallel ones");
    let cases = [
        ("target 2 ]", "target 7 ]", 8, "there is no node `7`"),
        ("id 1 label", "ident 1 label", 5, "no id"),
        ("2500000000.0", "fast", 7, "no rate in bit/s"),
        ("[ id 2 label \"New York\" ]", "[ id 2 label \"New York ]", 6, "not closed"),
        ("edge [ source 1 target 2 ]", "edge [ source 1 target ]", 8, "a key without a value"),
    ];
    mistakes(ImportFormat::Gml, GML, &options(&sources), &cases);
}

#[test]
fn a_topology_without_rates_asks_for_one() {
    for (format, text) in [(ImportFormat::Graphml, GRAPHML), (ImportFormat::Gml, GML)] {
        let said = refused(format, text, &ImportOptions::default()).to_string();
        assert!(said.contains("--rate"), "{said}");
    }
}

#[test]
fn xml_that_stands_for_more_is_refused() {
    let bomb = "<!DOCTYPE g [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><g>&b;</g>";
    for format in [ImportFormat::Graphml, ImportFormat::Wopanets, ImportFormat::Xtfa] {
        let said = refused(format, bomb, &ImportOptions::default()).to_string();
        assert!(said.contains("not valid XML"), "{said}");
        let deep = "<a>".repeat(100_000);
        let said = refused(format, &deep, &ImportOptions::default()).to_string();
        assert!(said.contains("nests too deep"), "{said}");
    }
    let deep = format!("graph {}", "[ a ".repeat(100_000));
    let said = refused(ImportFormat::Gml, &deep, &ImportOptions::default()).to_string();
    assert!(said.contains("nests too deep"), "{said}");
}

#[test]
fn lists_of_links_and_flows_become_a_network() {
    let links = "(h1 s1)\n(s1 h1)\n(h2 s2)\n(s1 s2)\n(s2 s1)\n(h3 s1)\n";
    let flows = "(h1 h2 1)\n(h3 h2 h1 4)\n";
    let sources = MemorySources::new().with("flows.dat", flows);
    let options = ImportOptions {
        rate_bps: Some(1_000_000_000),
        flows: Some("flows.dat"),
        sources: &sources,
        ..Default::default()
    };
    let imported = tenuto_model::import(None, links, "links.dat", &options).expect("a network");
    let notes = imported.notes.join("\n");
    assert!(notes.contains("a base period is 1 ms"), "{notes}");
    let network = imported.network().expect("a network");
    assert_eq!((network.hosts.len(), network.switches.len()), (3, 2));
    assert_eq!((network.links.len(), network.flows.len()), (4, 2), "a link is once per direction");
    assert_eq!(network.flows[1].targets.len(), 2);
    assert_eq!(network.flows[1].highest().period_ns, 4_000_000);
    for (flows, said) in [
        ("(h1 h2 0)", "is no flow"),
        ("(h1 2)", "is no flow"),
        ("h1 h2 1", "not in parentheses"),
        ("(h1 h9 1)", "there is no node `h9`"),
    ] {
        let sources = MemorySources::new().with("flows.dat", flows);
        let options = ImportOptions { sources: &sources, ..options };
        let problems = tenuto_model::import(None, links, "links.dat", &options);
        let problems = problems.expect_err("refused").to_string();
        assert!(problems.contains(said), "{problems}");
    }
}
