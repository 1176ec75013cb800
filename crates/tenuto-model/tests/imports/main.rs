//! Imports: files of our own, and published ones where `TENUTO_DATA` says.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

mod flows;
mod published;
mod servers;
mod topologies;
mod wopanets;

use std::path::PathBuf;
use tenuto_calculus::ServerGraph;
use tenuto_model::{
    Content, Diagnostics, ImportFormat, ImportOptions, Imported, MemorySources, Network, Sources,
    import, read_network, read_servers,
};

/// A file of the data sets, or nothing where it is absent: then the test says so and passes.
fn data(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(root().join(name)).ok();
    if text.is_none() {
        println!("skipped: {name} is not there (set TENUTO_DATA)");
    }
    text
}

fn root() -> PathBuf {
    std::env::var_os("TENUTO_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    )
}

/// The data sets as further files.
#[derive(Debug)]
struct Data;

impl Sources for Data {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(root().join(path)).map_err(|error| error.to_string())
    }
}

/// Options with the data sets as further files, and 1 Gbit/s where no rate is stated.
fn over_data() -> ImportOptions<'static> {
    ImportOptions { rate_bps: Some(1_000_000_000), sources: &Data, ..ImportOptions::default() }
}

/// Imports, by the format that the text says, and checks that what is written reads back as the
/// same value.
fn accepted(text: &str, file: &str, options: &ImportOptions<'_>) -> Imported {
    let imported = import(None, text, file, options).unwrap_or_else(|e| panic!("{file}: {e}"));
    match &imported.content {
        Content::Network(network) => {
            let sources = MemorySources::new().with("i.yaml", &imported.yaml);
            let again = read_network(&sources, "i.yaml").unwrap_or_else(|e| panic!("{file}: {e}"));
            assert_eq!(again.0, **network, "{file}");
        }
        Content::Servers(graph) => {
            let again = read_servers(&imported.yaml, "i.yaml");
            let again = again.unwrap_or_else(|e| panic!("{file}: {e}"));
            assert_eq!(again.0, *graph, "{file}");
        }
    }
    for note in &imported.notes {
        assert!(imported.yaml.contains(note), "{file}: not written: {note}");
    }
    imported
}

fn network(imported: Imported) -> Network {
    imported.network().expect("a network")
}

fn graph(imported: Imported) -> ServerGraph {
    match imported.content {
        Content::Servers(graph) => graph,
        Content::Network(_) => panic!("a network, not a server graph"),
    }
}

/// Hosts, switches, links, flows, targets.
fn counts(network: &Network) -> [usize; 5] {
    let targets = network.flows.iter().map(|flow| flow.targets.len()).sum();
    let (hosts, switches) = (network.hosts.len(), network.switches.len());
    [hosts, switches, network.links.len(), network.flows.len(), targets]
}

/// The problems of a file that cannot be imported.
fn refused(format: ImportFormat, text: &str, options: &ImportOptions<'_>) -> Diagnostics {
    match import(Some(format), text, "wrong", options) {
        Err(problems) => problems,
        Ok(imported) => panic!("accepted: {}", imported.yaml),
    }
}

#[test]
fn nothing_is_no_file_of_any_format() {
    for format in ImportFormat::ALL {
        for text in ["", "\u{feff}", " \n", "null", "---\n"] {
            let problems = refused(format, text, &over_data());
            assert!(problems.has_errors() && !problems.to_string().is_empty(), "{format}");
        }
    }
    assert!(import(None, "", "x", &over_data()).is_err());
}

/// Changes a text and checks that the problem found names a line and these words.
fn mistakes(
    format: ImportFormat,
    text: &str,
    options: &ImportOptions<'_>,
    cases: &[(&str, &str, u32, &str)],
) {
    for (from, to, line, words) in cases {
        assert!(text.contains(from), "{from}");
        let problems = refused(format, &text.replacen(from, to, 1), options);
        let found = problems.iter().find(|problem| problem.to_string().contains(words));
        assert!(found.is_some(), "{words}: {problems}");
        assert_eq!(found.and_then(|problem| problem.line), Some(*line), "{words}: {problems}");
    }
}
