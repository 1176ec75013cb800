//! Random networks: planned, certified, and run as close to the worst as the fault model allows.
//!
//! Nothing observed may be above what was promised. `TENUTO_CAMPAIGN` is the number of networks
//! (a few dozen where it is not set), `TENUTO_CAMPAIGN_SEED` the first seed.

mod apart;
mod network;
mod overload;
mod runs;

use tenuto_model::{MemorySources, Network, Plan, Scenario, Verdict, read_network};
use tenuto_planner::{Curves, Options, WholePaths, plan};
use tenuto_world::{RunDocument, clockwork};

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

/// The network, unless a single flow of it overloads a link.
fn read(text: &str) -> Option<Network> {
    match read_network(&MemorySources::new().with("n.yaml", text), "n.yaml") {
        Ok((network, _)) => Some(network),
        Err(problems) if problems.to_string().contains("the flow alone overloads") => None,
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

/// What a run shows that its plan rules out. Rows of a host that misbehaves promise nothing.
fn judged(plan: &Plan, scenario: &Scenario) -> Result<RunDocument, String> {
    let run = clockwork::run(plan, scenario).map_err(|error| error.to_string())?;
    if run.verdict != Verdict::Kept {
        let first: Vec<_> = run.violations.iter().take(3).collect();
        return Err(format!("{}\n{first:?}\n{:?}", run.summary, scenario.events));
    }
    for row in &run.flows {
        let place = format!("{} to {} in {}", row.flow, row.target, row.mode);
        let fates = [row.received, row.lost, row.policed, row.out_of_mode];
        let fates = fates.iter().sum::<u64>() + row.in_flight + row.undecided;
        if row.sent != fates {
            return Err(format!("{place}: {} sent, {fates} accounted for", row.sent));
        }
        if runs::misbehaves(&plan.network, scenario, &row.flow) {
            continue;
        }
        let is_kept = |seen: Option<u64>, bound: Option<u64>| {
            seen.zip(bound).is_none_or(|(seen, bound)| seen <= bound)
        };
        if !is_kept(row.observed_delay_ns_max, row.delay_bound_ns)
            || !is_kept(row.observed_skew_ns_max, row.skew_bound_ns)
        {
            return Err(format!("{place}: above a bound: {row:?}"));
        }
    }
    Ok(run)
}

#[derive(Debug, Default)]
struct Tally {
    networks: u64,
    feasible: u64,
    unbounded: u64,
    runs: u64,
    received: u64,
    changes: usize,
    failures: Vec<String>,
}

impl Tally {
    fn network(&mut self, seed: u64) {
        let text = network::text(seed, 60 + seed % 7 * 60);
        let Some(network) = read(&text) else { return };
        // Every other network is held to bounds of whole paths, which are never above the sums.
        let whole_paths = seed.is_multiple_of(2).then(WholePaths::default);
        // One in three counts whole messages, which are never above their buckets.
        let curves = if seed.is_multiple_of(3) { Curves::Staircases } else { Curves::Buckets };
        let options = Options { would_fit: false, whole_paths, curves, ..Options::default() };
        let plan = plan(&network, &options);
        self.networks += 1;
        let overloaded = overload::unproved(&plan);
        self.unbounded += u64::from(overloaded.is_some());
        if let Err(why) = certified(&plan).and(overloaded.unwrap_or(Ok(()))) {
            self.failures.push(format!("the plan of seed {seed}: {why}"));
        } else if plan.feasible {
            self.feasible += 1;
            self.runs_of(&plan, seed);
        }
    }

    /// Switches whose ports share a processor, in networks with modes.
    fn shared(&mut self, seed: u64) {
        let text = network::text(seed, 40 + seed % 5 * 40);
        let Some(mut network) = read(&text).filter(|network| network.modes.len() > 1) else {
            return;
        };
        network::share_processors(&mut network, seed);
        let whole_paths = seed.is_multiple_of(2).then(WholePaths::default);
        let curves = if seed.is_multiple_of(3) { Curves::Staircases } else { Curves::Buckets };
        let options = Options { would_fit: false, whole_paths, curves, ..Options::default() };
        let plan = plan(&network, &options);
        self.networks += 1;
        if let Err(why) = certified(&plan) {
            self.failures.push(format!("the plan of seed {seed}: {why}"));
        } else if plan.feasible {
            self.feasible += 1;
            self.runs_of(&plan, seed);
        }
    }

    /// Copies that may cross the same switches, and what arrives when a link is cut.
    fn apart(&mut self, seed: u64) -> bool {
        let text = apart::text(seed);
        let Some(network) = read(&text) else { return false };
        let plan = plan(&network, &Options { would_fit: false, ..Options::default() });
        self.networks += 1;
        if let Err(why) = certified(&plan) {
            self.failures.push(format!("the plan of seed {seed}: {why}"));
        } else if plan.feasible {
            self.feasible += 1;
            self.runs_of(&plan, seed);
            if network.modes.len() == 1 {
                self.after_a_cut(&plan, seed);
            }
        }
        apart::meet(&plan)
    }

    /// One copy of every message arrives, as early as promised.
    fn after_a_cut(&mut self, plan: &Plan, seed: u64) {
        let run = clockwork::run(plan, &apart::cut(&plan.network, seed)).expect("a run");
        self.runs += 1;
        for row in &run.flows {
            let late =
                row.observed_delay_ns_max.zip(row.delay_bound_ns).is_some_and(|(a, b)| a > b);
            if row.lost > 0 || late || row.received == 0 {
                self.failures.push(format!("seed {seed}, a link cut: {row:?}"));
            }
        }
    }

    fn runs_of(&mut self, plan: &Plan, seed: u64) {
        for (name, scenario) in runs::all(&plan.network, seed) {
            self.runs += 1;
            match judged(plan, &scenario) {
                Err(why) => self.failures.push(format!("seed {seed}, {name}: {why}")),
                Ok(run) => {
                    self.received += run.flows.iter().map(|row| row.received).sum::<u64>();
                    self.changes += run.mode_changes.len();
                }
            }
        }
    }
}

/// So many networks, unless the environment says otherwise: none fails.
fn campaign(networks: u64, mut network: impl FnMut(&mut Tally, u64)) -> Tally {
    let first = number("TENUTO_CAMPAIGN_SEED", 0);
    let mut tally = Tally::default();
    (first..first + number("TENUTO_CAMPAIGN", networks)).for_each(|seed| network(&mut tally, seed));
    println!(
        "{} networks, {} feasible, {} overloaded; {} runs, {} messages, {} mode changes",
        tally.networks, tally.feasible, tally.unbounded, tally.runs, tally.received, tally.changes
    );
    let failures = &tally.failures;
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    tally
}

#[test]
fn nothing_observed_is_above_what_was_promised() {
    let tally = campaign(30, Tally::network);
    assert!(tally.feasible * 3 >= tally.networks, "too few are feasible: {tally:?}");
}

#[test]
fn raises_without_a_bound_end_nothing_for_planner_and_checker() {
    // No D_mc is known there, yet flows that a raise would end are above others on whole paths.
    let mut tally = Tally::default();
    tally.network(634);
    assert!(tally.networks == 1 && tally.failures.is_empty(), "{:?}", tally.failures);
}

#[test]
fn shared_processors_keep_their_promises_in_every_mode() {
    let tally = campaign(40, Tally::shared);
    assert!(tally.feasible * 4 >= tally.networks && tally.changes > 0, "{tally:?}");
}

#[test]
fn copies_without_a_common_link_keep_their_promises() {
    let mut met = 0;
    let tally = campaign(30, |tally, seed| met += u64::from(tally.apart(seed)));
    println!("{met} with a common switch");
    assert!(tally.feasible * 2 >= tally.networks && met * 2 > tally.networks, "{tally:?}");
}
