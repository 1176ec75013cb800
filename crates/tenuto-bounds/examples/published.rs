//! Bounds of the published FIFO networks of [SSB22] beside those that their authors published.
//!
//! `cargo run --release -p tenuto-bounds --example published FOLDER [METHOD…] [NUMBER…] [every=N]`
//!
//! With `every=N` one of N flows is bounded, with an Nth of the effort. FOLDER holds `random_ff_N.json` (`bench/rtns_networks.py`). Per network and method: time, size of
//! the proofs, time of the checker, and per peer how many flows are above it, the largest and the
//! mean quotient.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures time")]

#[path = "../tests/it/networks/mod.rs"]
mod networks;

use networks::rtns::{self, Published};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tenuto_bounds::{Analysis, Effort, Executor, Options, analyse_on};

const PEERS: [&str; 5] = ["SFA_FIFO", "LB_FF", "DS_FF", "LUDB_FF", "FF_LPA"];
/// What published figures are off by themselves.
const ROUNDING: f64 = 1e-6;

/// As many tasks at a time as there are processors.
#[derive(Debug)]
struct Threads;

impl Executor for Threads {
    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        std::thread::scope(|scope| {
            for _ in 0..workers.min(tasks) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= tasks {
                            break;
                        }
                        task(index);
                    }
                });
            }
        });
    }
}

/// Quotients of our bounds and a peer's.
#[derive(Default)]
struct Quotients {
    all: Vec<f64>,
    worst: (f64, String),
}

impl Quotients {
    fn add(&mut self, quotient: f64, flow: &str) {
        self.all.push(quotient);
        if quotient > self.worst.0 {
            self.worst = (quotient, flow.to_owned());
        }
    }

    fn text(&self, peer: &str) -> String {
        let above = self.all.iter().filter(|q| **q > 1.0 + ROUNDING).count();
        let mean = self.all.iter().sum::<f64>() / self.all.len().max(1) as f64;
        format!(
            "  {peer} above {above}, worst {:.4} ({}), mean {mean:.4}",
            self.worst.0, self.worst.1
        )
    }
}

fn methods() -> Vec<(&'static str, Options)> {
    let of = |effort| Options { effort, ..Options::default() };
    vec![("tfa", of(Effort::Tfa)), ("plp", of(Effort::Plp)), ("best", of(Effort::Tight))]
}

/// Leaves one of so many flows with a bound to look for, with its share of all effort.
fn sampled(published: &mut Published, mut options: Options, every: usize) -> Options {
    for (index, flow) in published.graph.flows.iter_mut().enumerate() {
        if index % every != 0 {
            flow.targets.clear();
        }
    }
    options.rows_total_max /= every;
    options.whole_rows_total_max /= every;
    options
}

fn compare(published: &Published, analysis: &Analysis, total: &mut BTreeMap<&str, Quotients>) {
    let mut here: BTreeMap<&str, Quotients> = BTreeMap::new();
    for bound in &analysis.bounds {
        let figures = &published.bounds[bound.flow];
        let name = &published.graph.flows[bound.flow].name;
        let seconds = bound.delay.map_or(f64::INFINITY, |delay| delay.0 as f64 / 1e12);
        for peer in PEERS {
            if let Some(figure) = figures[peer].as_f64() {
                here.entry(peer).or_default().add(seconds / figure, name);
                total.entry(peer).or_default().add(seconds / figure, &published.graph.name);
            }
        }
    }
    for (peer, quotients) in here {
        println!("{}", quotients.text(peer));
    }
}

fn number(path: &Path) -> Option<usize> {
    path.file_stem()?.to_str()?.strip_prefix("random_ff_")?.parse().ok()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a folder of networks");
    let (numbers, mut wanted): (Vec<String>, Vec<String>) =
        arguments.partition(|argument| argument.parse::<usize>().is_ok());
    let every = |argument: &String| argument.strip_prefix("every=")?.parse::<usize>().ok();
    let samples: Vec<usize> = wanted.iter().filter_map(every).collect();
    wanted.retain(|argument| every(argument).is_none());
    let every = samples.first().copied().unwrap_or(1).max(1);
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| number(path).is_some());
    paths.sort_by_key(|path| number(path));
    for (name, options) in methods() {
        if !(wanted.is_empty() || wanted.iter().any(|method| method == name)) {
            continue;
        }
        let mut total = BTreeMap::new();
        let begun = Instant::now();
        for path in &paths {
            let asked = number(path).map(|number| number.to_string()).unwrap_or_default();
            if !numbers.is_empty() && !numbers.contains(&asked) {
                continue;
            }
            let mut published = rtns::read(path).expect("a network");
            let options = sampled(&mut published, options, every);
            let started = Instant::now();
            let analysis = analyse_on(&published.graph, &options, &Threads, &mut |_| ());
            let took = started.elapsed().as_secs_f64();
            let document = analysis.document(&published.graph);
            let text = serde_json::to_string(&document).expect("serialisable");
            let started = Instant::now();
            let verdict = match tenuto_certify::certify_bounds(&text) {
                Ok(_) => "certified".to_owned(),
                Err(findings) => format!("REJECTED: {}", findings[0]),
            };
            println!(
                "{} {name}: {} flows, {took:.2} s, proofs {} kB, {verdict} in {:.2} s",
                published.graph.name,
                analysis.bounds.len(),
                text.len() / 1_000,
                started.elapsed().as_secs_f64()
            );
            compare(&published, &analysis, &mut total);
        }
        println!("all, {name}: {:.1} s", begun.elapsed().as_secs_f64());
        for (peer, quotients) in total {
            println!("{}", quotients.text(peer));
        }
    }
}
