//! Bounds of generated networks beside the best that other tools give, with the time they take.
//!
//! `cargo run --release -p tenuto-bounds --example figures [NAME…] [DOCUMENT.json…]`
//!
//! Of a document of bounds, its graph is bounded anew: the least and largest quotient of new and old.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures time")]

#[path = "../tests/it/networks/mod.rs"]
mod networks;

use networks::{interleaved, mesh, ring, worst_ms};
use std::time::Instant;
use tenuto_bounds::{Document, Options, ServerGraph, analyse};

/// A network and the least largest bound of four other tools, in ms.
struct Case {
    name: &'static str,
    graph: ServerGraph,
    peer_ms: Option<f64>,
}

fn cases() -> Vec<Case> {
    let case = |name, graph, peer_ms| Case { name, graph, peer_ms };
    vec![
        case("tandem-8", interleaved(8, 80, true), Some(11.457)),
        case("tandem-10", interleaved(10, 80, true), Some(14.977)),
        case("tandem-12", interleaved(12, 80, true), Some(18.765)),
        case("tandem-20", interleaved(20, 80, true), Some(40.418)),
        case("tandem-30", interleaved(30, 80, true), Some(64.86)),
        case("tandem-40", interleaved(40, 80, true), Some(441.8)),
        case("ring-5-.8", ring(5, 80, true), Some(9.817)),
        case("ring-10-.5", ring(10, 50, true), Some(12.974)),
        case("ring-10-.7", ring(10, 70, true), Some(16.883)),
        case("ring-10-.8", ring(10, 80, true), Some(30.938)),
        case("ring-20-.5", ring(20, 50, true), Some(30.769)),
        case("ring-20-.7", ring(20, 70, true), None),
        case("ring-20-.8", ring(20, 80, true), None),
        case("mesh-7", mesh(7, 50, true), Some(6.249)),
        case("mesh-9", mesh(9, 50, true), Some(10.964)),
    ]
}

/// Bounds the graph of a document anew, and says how its bounds change.
fn again(path: &str) {
    let text = std::fs::read_to_string(path).expect("a file");
    let old: Document = serde_json::from_str(&text).expect("bounds in JSON");
    let graph = old.description.clone();
    let started = Instant::now();
    let analysis = analyse(&graph, &Options::default(), &mut |_| ());
    let took = started.elapsed().as_secs_f64();
    let text = serde_json::to_string(&analysis.document(&graph)).expect("serialisable");
    let refused =
        tenuto_certify::certify_bounds(&text).err().map(|findings| findings[0].to_string());
    let (mut least, mut most, mut new_bounds) = (f64::INFINITY, 0.0_f64, 0);
    for (old, new) in old.bounds.iter().zip(&analysis.bounds) {
        match (old.delay_bound_ps, new.delay) {
            (Some(old), Some(new)) => {
                let quotient = new.0 as f64 / old.0 as f64;
                (least, most) = (least.min(quotient), most.max(quotient));
            }
            (Some(_), None) => most = f64::INFINITY,
            (None, Some(_)) => new_bounds += 1,
            (None, None) => {}
        }
    }
    let refused = refused.map_or(String::new(), |finding| format!("  REJECTED: {finding}"));
    let name = path.rsplit('/').next().unwrap_or(path);
    println!("{name:<32} {took:>7.2} s  {least:.6} {most:.6}  {new_bounds} more bounds{refused}");
}

fn main() {
    let (documents, wanted): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|name| name.ends_with(".json"));
    documents.iter().for_each(|path| again(path));
    if wanted.is_empty() && !documents.is_empty() {
        return;
    }
    println!(
        "{:<12} {:>10} {:>10} {:>9} {:>9} {:>9}",
        "network", "bound ms", "peers ms", "s", "proof kB", "check s"
    );
    for case in cases() {
        if !wanted.is_empty() && !wanted.iter().any(|name| case.name.starts_with(name.as_str())) {
            continue;
        }
        let started = Instant::now();
        let analysis = analyse(&case.graph, &Options::default(), &mut |_| ());
        let took = started.elapsed().as_secs_f64();
        let text = serde_json::to_string(&analysis.document(&case.graph)).expect("serialisable");
        let started = Instant::now();
        let certified = tenuto_certify::certify_bounds(&text);
        let checked = started.elapsed().as_secs_f64();
        if let Err(findings) = certified {
            println!("{:<12} REJECTED: {}", case.name, findings[0]);
            continue;
        }
        let text_of = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.3}"));
        println!(
            "{:<12} {:>10} {:>10} {took:>9.2} {:>9} {checked:>9.2}",
            case.name,
            text_of(worst_ms(&analysis.bounds)),
            text_of(case.peer_ms),
            text.len() / 1_000,
        );
    }
}
