//! Readers of files: network, servers, scenario, plan, imports, and the checkers.

use tenuto_calculus::ServerGraph;
use tenuto_model::{
    Content, ImportFormat, ImportOptions, MemorySources, Network, Plan, import, read_network,
    read_scenario, read_servers, write_network, write_servers,
};

fn network(text: &str) -> Option<Network> {
    read_network(&MemorySources::new().with("n.yaml", text), "n.yaml").ok().map(|(n, _)| n)
}

/// What is accepted comes back from what is written.
pub fn network_yaml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let sources = MemorySources::new().with("n.yaml", text);
    match read_network(&sources, "n.yaml") {
        Ok((read, _)) => assert_eq!(network(&write_network(&read)).as_ref(), Some(&read)),
        Err(diagnostics) => assert!(!diagnostics.to_string().is_empty()),
    }
}

/// A scenario of the shipped car.
pub fn scenario_yaml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let car = network(include_str!("../../networks/vehicle.yaml")).expect("it is shipped");
    if let Err(diagnostics) = read_scenario(text, "s.yaml", &car) {
        assert!(!diagnostics.to_string().is_empty());
    }
}

/// A server graph that is accepted comes back from what is written.
pub fn servers_yaml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match read_servers(text, "s.yaml") {
        Ok((read, _)) => assert_eq!(servers(&write_servers(&read)).as_ref(), Some(&read)),
        Err(diagnostics) => assert!(!diagnostics.to_string().is_empty()),
    }
}

fn servers(text: &str) -> Option<ServerGraph> {
    read_servers(text, "s.yaml").ok().map(|(graph, _)| graph)
}

/// An import is a value that comes back from what is written, or says why not.
fn imported(format: ImportFormat, bytes: &[u8]) {
    const NODES: &str = "<graphml><graph><node id='es_1'/><node id='es_2'/><node id='sw'/>\
        <edge source='es_1' target='sw'/><edge source='sw' target='es_2'/></graph></graphml>";
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // The same bytes as a further file too: a topology has its flows in one.
    let sources = MemorySources::new().with("nodes.graphml", NODES).with("flows", text);
    let is_topology = matches!(format, ImportFormat::Graphml | ImportFormat::Gml);
    let options = ImportOptions {
        rate_bps: Some(1_000_000_000),
        flows: is_topology.then_some("flows"),
        topology: (format == ImportFormat::Applications).then_some("nodes.graphml"),
        bus: Some("bus"),
        gateway: Some("gateway"),
        target: Some("target"),
        cycle_ns: None,
        lines_of_service: true,
        sources: &sources,
    };
    let _detected = ImportFormat::detect(text);
    match import(Some(format), text, "i", &options) {
        Ok(it) => match &it.content {
            Content::Network(read) => assert_eq!(network(&it.yaml).as_ref(), Some(&**read)),
            Content::Servers(read) => assert_eq!(servers(&it.yaml).as_ref(), Some(read)),
        },
        Err(diagnostics) => assert!(!diagnostics.to_string().is_empty()),
    }
}

/// A target per format.
macro_rules! imports {
    ($($target:ident => $format:ident,)*) => {
        $(pub fn $target(bytes: &[u8]) {
            imported(ImportFormat::$format, bytes);
        })*
    };
}

imports! {
    wopanets_xml => Wopanets,
    xtfa_xml => Xtfa,
    saihu_json => Saihu,
    rtns_json => Rtns,
    netcalbounds_txt => Netcalbounds,
    graphml => Graphml,
    gml => Gml,
    applications_xml => Applications,
    vl_table_csv => VlTable,
    afdx_designer_xml => AfdxDesigner,
    lias_json => Lias,
    tsnsched_json => Tsnsched,
    tas_benchmark_json => TasBenchmark,
    can_csv => Can,
    ros2_topics => Ros2,
}

/// A plan that is read is written as one that is read as the same.
pub fn plan_json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(plan) = Plan::from_json(text) {
        assert_eq!(Plan::from_json(&plan.to_json()).as_ref(), Ok(&plan));
    }
}

/// The checker has an answer for any text.
pub fn certify_plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _verdict = tenuto_certify::certify(text);
}

/// The checker of bounds too.
pub fn certify_bounds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _verdict = tenuto_certify::certify_bounds(text);
}
