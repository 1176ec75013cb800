//! `agreement PROGRAM [NETWORKS [SEED]]`: the checker beside the proved one (`proof/ocaml/tenuto-proved`) on random
//! networks; exit code 1 if the proof refuses what the checker takes.

use std::process::ExitCode;
use tenuto_bench::agreement::{Agreement, Program};
use tenuto_bench::draw;
use tenuto_model::{MemorySources, read_network};
use tenuto_units::Draws;

/// Plans with a lower claim per network.
const CHANGES: usize = 12;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// The network with lines of one rate: the theory knows no lines farther back that are slower.
fn of_one_rate(text: &str) -> String {
    let rates = ["rate: 10 Mbit/s", "rate: 100 Mbit/s", "rate: 10 Gbit/s"];
    rates.iter().fold(text.to_owned(), |text, rate| text.replace(rate, "rate: 1 Gbit/s"))
}

fn run() -> Result<ExitCode, String> {
    let mut given = std::env::args().skip(1);
    let path = given.next().ok_or("agreement PROGRAM [NETWORKS [SEED]]")?;
    let mut number = |default: u64| match given.next() {
        Some(text) => text.parse::<u64>().map_err(|_| format!("{text} is no number")),
        None => Ok(default),
    };
    let (networks, seed) = (number(100)?, number(1)?);
    let scratch = std::env::temp_dir().join(format!("agreement-{}.plan.json", std::process::id()));
    let program = Program::new(path.into(), scratch.clone());
    let (mut agreement, mut draws) = (Agreement::default(), Draws::new(seed));
    for at in 0..networks {
        let text = of_one_rate(&draw::network(seed.wrapping_mul(1_000_003).wrapping_add(at)).text);
        let sources = MemorySources::default().with("drawn.yaml", &text);
        match read_network(&sources, "drawn.yaml") {
            Ok((network, _)) => agreement.compare(&network, &program, CHANGES, &mut draws)?,
            Err(_) => agreement.refused += 1,
        }
    }
    let _ = std::fs::remove_file(scratch);
    agreement.faults.iter().for_each(|fault| println!("FAULT  {fault}"));
    println!("{agreement}");
    let holds = agreement.faults.is_empty() && agreement.plans > 0 && agreement.both_refuse > 0;
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
