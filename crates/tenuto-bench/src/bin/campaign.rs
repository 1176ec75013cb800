//! `campaign [--networks N] [--seconds S] [--seed K] [--keep DIR] [FILE…]`: attacks certified bounds of random
//! networks, and of the network files named; exit code 1 if it finds anything.
//!
//! `campaign --replay FILE` plays a finding again and prints every row that its schedule takes above its bound.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tenuto_bench::campaign::{Effort, Report};
use tenuto_bench::draw;
use tenuto_bench::finding::{Finding, exceeded};
use tenuto_model::{MemorySources, Network, Sources, read_network};
use tenuto_witness::{layout::Layout, play::Player};

/// What is tried against each network of a campaign.
const EFFORT: Effort = Effort { rows: 10, constructions: 6, changes: 40 };

#[derive(Debug, Default)]
struct Arguments {
    networks: u64,
    limit: Option<Duration>,
    seed: u64,
    keep: Option<PathBuf>,
    replay: Option<PathBuf>,
    files: Vec<PathBuf>,
}

/// Files beside a network file.
struct Folder;

impl Sources for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, String> {
    let arguments = arguments()?;
    if let Some(path) = &arguments.replay {
        return replay(path);
    }
    let (mut report, started) = (Report::default(), Instant::now());
    let is_over = || arguments.limit.is_some_and(|limit| started.elapsed() >= limit);
    for path in &arguments.files {
        let shown = path.display().to_string();
        let (network, _) = read_network(&Folder, &shown).map_err(|it| it.to_string())?;
        let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
        for round in 0..2 {
            let seed = arguments.seed.wrapping_mul(1_000_003).wrapping_add(round);
            attack(&mut report, &arguments, (&shown, &text), &network, seed)?;
        }
    }
    for number in 0..arguments.networks {
        if is_over() {
            break;
        }
        let seed = arguments.seed.wrapping_mul(1_000_003).wrapping_add(number);
        let text = draw::network(seed).text;
        let Ok(network) = read(&text) else {
            report.refused += 1;
            continue;
        };
        attack(&mut report, &arguments, (&network.name.clone(), &text), &network, seed)?;
    }
    println!("{report}");
    println!("{} s", started.elapsed().as_secs());
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn attack(
    report: &mut Report,
    arguments: &Arguments,
    source: (&str, &str),
    network: &Network,
    seed: u64,
) -> Result<(), String> {
    let known = report.findings.len();
    report.attack(source, network, EFFORT, seed);
    for (at, finding) in report.findings.iter().enumerate().skip(known) {
        println!(
            "{}: {} [{}]: {} above {}",
            finding.network, finding.what, finding.kind, finding.seen, finding.bound
        );
        if let Some(folder) = &arguments.keep {
            keep(folder, at, finding)?;
        }
    }
    Ok(())
}

fn keep(folder: &Path, number: usize, finding: &Finding) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let path = folder.join(format!("finding-{number:04}.json"));
    let text = serde_json::to_string_pretty(finding).map_err(|error| error.to_string())?;
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn replay(path: &Path) -> Result<ExitCode, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let finding: Finding = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let network = read(&finding.text)?;
    let plan = finding.planned.plan(&network);
    let layout = Layout::new(&plan)?;
    let schedule =
        finding.schedule.ok_or("the finding has no schedule: its plan is not accepted")?;
    schedule.check(&layout)?;
    let mut player = Player::new(&layout);
    player.play(&schedule);
    let above = exceeded(&layout, &player);
    for &(row, seen, bound) in &above {
        println!("{}: {seen} above {bound}", layout.row_label(row));
    }
    println!("{} rows above their bounds", above.len());
    Ok(if above.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(text: &str) -> Result<Network, String> {
    let sources = MemorySources::default().with("drawn.yaml", text);
    read_network(&sources, "drawn.yaml").map(|it| it.0).map_err(|it| format!("{it}\n{text}"))
}

fn arguments() -> Result<Arguments, String> {
    let mut read = Arguments { seed: 1, ..Arguments::default() };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or(format!("{argument} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text} is no number"));
        match argument.as_str() {
            "--networks" => read.networks = number(value()?)?,
            "--seconds" => read.limit = Some(Duration::from_secs(number(value()?)?)),
            "--seed" => read.seed = number(value()?)?,
            "--keep" => read.keep = Some(value()?.into()),
            "--replay" => read.replay = Some(value()?.into()),
            _ if argument.starts_with("--") => return Err(format!("{argument} is not known")),
            _ => read.files.push(argument.into()),
        }
    }
    Ok(read)
}
