//! Published files come in whole: counts as their descriptions state them.

use crate::{accepted, counts, data, graph, network, over_data};
use tenuto_model::{ImportFormat, ImportOptions, Network};

fn come_in(name: &str, options: &ImportOptions<'_>) -> Option<Network> {
    Some(network(accepted(&data(name)?, name, options)))
}

#[test]
fn applications_with_their_topologies() {
    for (file, topology, hosts, switches, links, flows, targets) in [
        ("orion-cev/tsncf_ORION_T1.xml", "orion-cev/ORION.graphml", 31, 15, 55, 24, 46),
        ("orion-cev/tsncf_ORION_T2.xml", "orion-cev/ORION.graphml", 31, 15, 55, 25, 48),
        ("orion-cev/deadline_ORION_T1.xml", "orion-cev/ORION.graphml", 31, 15, 55, 78, 78),
        ("orion-cev/deadline_ORION_T2.xml", "orion-cev/ORION.graphml", 31, 15, 55, 80, 80),
        ("orion-cev/deadline_ORION_T3.xml", "orion-cev/ORION.graphml", 31, 15, 55, 83, 83),
    ] {
        let options = ImportOptions { topology: Some(topology), ..over_data() };
        let Some(n) = come_in(file, &options) else { continue };
        assert_eq!(counts(&n), [hosts, switches, links, flows, targets], "{file}");
    }
}
#[test]
#[ignore = "look"]
fn look() {
    let cases: Vec<(&str, Option<&str>)> = include_str!("/tmp/cases.txt")
        .lines()
        .map(|l| {
            let mut p = l.split(' ');
            (p.next().unwrap(), p.next())
        })
        .collect();
    for (file, topology) in cases {
        let Some(text) = data(file) else { continue };
        let options = ImportOptions {
            topology,
            bus: Some("can"),
            gateway: Some("gw"),
            target: Some("ecu"),
            ..over_data()
        };
        match tenuto_model::import(None, &text, file, &options) {
            Ok(i) => {
                let f = i.format;
                let w = i.warnings.warnings();
                println!(
                    "OK {file} {f} warnings {w}: {}",
                    i.warnings.iter().next().map(|d| d.to_string()).unwrap_or_default()
                );
                for n in &i.notes {
                    println!("     note: {n}");
                }
                match &i.content {
                    tenuto_model::Content::Network(n) => println!("     {:?}", counts(n)),
                    tenuto_model::Content::Servers(g) => {
                        print!("     {}", tenuto_model::servers_summary(g))
                    }
                }
                accepted(&text, file, &options);
            }
            Err(e) => {
                let s = e.to_string();
                println!(
                    "BAD {file}: {} errors\n{}",
                    e.errors(),
                    s.chars().take(700).collect::<String>()
                );
            }
        }
    }
    let _ = graph;
    let _ = ImportFormat::ALL;
}
