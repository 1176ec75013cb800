//! Runs a network file in a lab: `lab NET SECONDS [SLOW] [SCENARIO]`. What `tenuto up` does, bare.

use std::process::ExitCode;
use tenuto_model::{Network, Scenario};
use tenuto_planner::{Options, plan};
use tenuto_runtime::{
    Ui, UpOptions, allowances, hidden_main, measure_allowance, recommend_slow, slowed, up,
};
use tenuto_units::Span;
use tenuto_world::ProgressRow;

struct Files;

impl tenuto_model::Sources for Files {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    }
}

struct Lines;

impl Ui for Lines {
    fn step(&mut self, text: &str) {
        println!("{text}");
    }
    fn progress(&mut self, _rows: &[ProgressRow], _mode: &str, _elapsed: Span) {}
    fn event(&mut self, text: &str) {
        println!("  {text}");
    }
}

fn main() -> ExitCode {
    if let Some(code) = hidden_main(std::env::args_os()) {
        return code;
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let args: Vec<String> = std::env::args().collect();
    let net = args.get(1).ok_or("usage: lab NET SECONDS [SLOW] [SCENARIO]")?;
    let number = |n: usize, or: u64| args.get(n).and_then(|a| a.parse().ok()).unwrap_or(or);
    let (seconds, slow) = (number(2, 5), number(3, 1));
    let (described, _) = tenuto_model::read_network(&Files, net).map_err(|e| format!("{e:?}"))?;
    let scenario = match args.get(4) {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
            tenuto_model::read_scenario(&text, path, &described).map_err(|e| format!("{e:?}"))?
        }
        None => Scenario::plain(seconds * 1_000_000_000, 1),
    };
    let network = slowed(&described, slow).map_err(|e| e.to_string())?;
    let planner = |network: &Network| plan(network, &Options::default());
    let plan = planner(&network);
    let service = measure_allowance(Span::from_s(2)).map_err(|e| e.to_string())?;
    println!("{service:?}\nrecommended slow {}", recommend_slow(&planner(&described), &service));
    let run_dir = std::env::temp_dir().join(format!("lab-{}", std::process::id()));
    std::fs::create_dir_all(&run_dir).map_err(|e| e.to_string())?;
    let options = UpOptions {
        duration_ns: Some(seconds * 1_000_000_000),
        slow,
        run_dir,
        allowances: allowances(&plan, &service, &planner),
        seed: None,
    };
    let outcome = up(&plan, &scenario, &options, &mut Lines).map_err(|e| e.to_string())?;
    let document = outcome.document;
    for violation in document.violations.iter().take(10) {
        println!("{violation:?}");
    }
    for policed in &document.policed {
        println!("{policed:?}");
    }
    let mut rows = document.flows;
    rows.sort_by_key(|row| {
        std::cmp::Reverse(
            row.observed_delay_ns_max.zip(row.delay_bound_ns).map(|(o, b)| o * 1000 / b),
        )
    });
    for row in rows.iter().take(6) {
        println!(
            "{} {} {} sent {} received {} lost {} policed {} undecided {} p50 {:?} max {:?} bound {:?} host {}",
            row.flow,
            row.target,
            row.mode,
            row.sent,
            row.received,
            row.lost,
            row.policed,
            row.undecided,
            row.observed_delay_ns_p50,
            row.observed_delay_ns_max,
            row.queueing_bound_ns,
            row.host_allowance_ns
        );
    }
    println!(
        "stalls {} hops {}\n{}",
        document.stalls.len(),
        document.packet_hops,
        document.summary
    );
    Ok(())
}
