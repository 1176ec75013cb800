//! Random networks: planned, certified, and run as close to the worst as the fault model allows.
//!
//! Nothing observed may be above what was promised. `TENUTO_CAMPAIGN` is the number of networks
//! (a few dozen where it is not set), `TENUTO_CAMPAIGN_SEED` the first seed.

mod network;
mod runs;

use tenuto_model::{MemorySources, Network, Plan, Scenario, Verdict, read_network};
use tenuto_planner::{Options, plan};
use tenuto_world::{RunDocument, clockwork};

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

fn read(text: &str) -> Network {
    match read_network(&MemorySources::new().with("n.yaml", text), "n.yaml") {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}\n{text}"),
    }
}

/// What is wrong with a plan, in the eyes of the independent checker.
fn certified(plan: &Plan) -> Result<(), String> {
    match tenuto_certify::certify(&plan.to_json()) {
        Ok(certificate) if certificate.feasible == plan.feasible => Ok(()),
        Ok(_) => Err("planner and checker differ about feasibility".into()),
        Err(findings) => {
            let lines: Vec<String> = findings.iter().take(6).map(ToString::to_string).collect();
            Err(format!("{} findings:\n{}", findings.len(), lines.join("\n")))
        }
    }
}

/// What a run shows that its plan rules out.
#[test]
#[ignore = "prints the networks of TENUTO_CAMPAIGN seeds"]
fn print() {
    let first = number("TENUTO_CAMPAIGN_SEED", 0);
    for seed in first..first + number("TENUTO_CAMPAIGN", 1) {
        println!("{}", network::text(seed, 60));
    }
}

fn judged(plan: &Plan, scenario: &Scenario) -> Result<RunDocument, String> {
    let run = clockwork::run(plan, scenario).map_err(|error| error.to_string())?;
    if run.verdict != Verdict::Kept {
        let first: Vec<_> = run.violations.iter().take(3).collect();
        return Err(format!("{}\n{first:?}\n{:?}", run.summary, run.mode_changes.iter().map(|c| (&c.from, &c.to, c.at_ns, c.observed_ns, c.bound_ns)).collect::<Vec<_>>()));
    }
    for row in &run.flows {
        let place = format!("{} to {} in {}", row.flow, row.target, row.mode);
        let fates = row.received
            + row.lost
            + row.policed
            + row.out_of_mode
            + row.in_flight
            + row.undecided;
        if row.sent != fates {
            return Err(format!("{place}: {} sent, {fates} accounted for", row.sent));
        }
        let is_kept = |seen: Option<u64>, bound: Option<u64>| match (seen, bound) {
            (Some(seen), Some(bound)) => seen <= bound,
            _ => true,
        };
        if !is_kept(row.observed_skew_ns_max, row.skew_bound_ns) {
            return Err(format!(
                "{place}: skew {:?} above {:?}",
                row.observed_skew_ns_max, row.skew_bound_ns
            ));
        }
    }
    Ok(run)
}

#[derive(Debug, Default)]
struct Tally {
    networks: u64,
    feasible: u64,
    runs: u64,
    received: u64,
    raises: usize,
    failures: Vec<String>,
}

fn campaign(seeds: std::ops::Range<u64>, load: u64) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let text = network::text(seed, load);
        let network = read(&text);
        let plan = plan(&network, &Options { would_fit: false, ..Options::default() });
        tally.networks += 1;
        if let Err(why) = certified(&plan) {
            tally.failures.push(format!("seed {seed} is not certified: {why}"));
            continue;
        }
        if !plan.feasible {
            continue;
        }
        tally.feasible += 1;
        for (name, scenario) in runs::all(&network, seed) {
            tally.runs += 1;
            match judged(&plan, &scenario) {
                Err(why) => tally.failures.push(format!("seed {seed}, {name}: {why}")),
                Ok(run) => {
                    tally.received += run.flows.iter().map(|row| row.received).sum::<u64>();
                    tally.raises += run.mode_changes.len();
                }
            }
        }
    }
    tally
}

#[test]
fn nothing_observed_is_above_what_was_promised() {
    let first = number("TENUTO_CAMPAIGN_SEED", 0);
    let tally = campaign(first..first + number("TENUTO_CAMPAIGN", 24), 60);
    println!(
        "{} networks, {} feasible, {} runs, {} messages, {} mode changes",
        tally.networks, tally.feasible, tally.runs, tally.received, tally.raises
    );
    assert!(tally.failures.is_empty(), "{} failures:\n{}", tally.failures.len(), tally.failures.join("\n"));
    assert!(tally.feasible * 2 >= tally.networks, "most are meant to be feasible: {tally:?}");
}
