//! `tenuto up NET|PLAN`: the lab, live on this machine.

use crate::args::{Slow, Up};
use crate::failure::Failure;
use crate::format::ms_up_ns;
use crate::live_view::LiveView;
use crate::outcome::Outcome;
use crate::output;
use crate::planning::{self, Planned, Promise};
use crate::verbs::{report, sim};
use std::path::Path;
use tenuto_model::{Expect, Network, Plan, Scenario, Verdict};
use tenuto_planner::{Curves, Options};
use tenuto_runtime::{Allowances, HostService, LabPorts, UpError, UpOptions, UpOutcome};
use tenuto_units::Span;
use tenuto_world::Replay;

/// How long this machine is measured before a run.
const MEASURED: Span = Span::from_s(3);

pub(crate) fn run(args: &Up) -> Result<Outcome, Failure> {
    let asked = match args.slow {
        Slow::Auto => 1,
        Slow::Times(n) => n,
    };
    let mut planned = planning::of_input_slowed(&args.input, &args.planning, asked)?;
    if planned.promise() != Promise::Guaranteed {
        return sim::refused(&planned, args.run.json);
    }
    let service = measure(args.ports)?;
    let advised = tenuto_runtime::recommend_slow(&planned.plan, &service);
    let slow = match args.slow {
        Slow::Auto => advised.min(Slow::AUTO_MAX),
        Slow::Times(n) => n,
    };
    if slow != asked {
        planned = planning::of_input_slowed(&args.input, &args.planning, slow)?;
    }
    say_how_slow(args.slow, slow, advised);
    let scenario = sim::scenario(&args.run, &args.input, &planned, &planned.plan.network)?;
    let folder = report::fresh_folder(&planned.plan.network.name)?;
    let outcome = lab(args, slow, &planned, &scenario, &service, &folder);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(failure) => {
            // What is left there tells why; an empty folder tells nothing.
            let _ = std::fs::remove_dir(&folder);
            return Err(failure);
        }
    };
    let (outcome, words) = replayed(&planned.plan, &scenario, outcome);
    if let Some(words) = words {
        output::complain(&words);
    }
    let written = if args.no_report {
        let _ = std::fs::remove_dir_all(&folder);
        None
    } else {
        Some(report::write_into(&folder, &planned.plan, &outcome.document)?)
    };
    ended(args, &outcome, written.as_deref())
}

/// Measures what this machine adds.
fn measure(ports: LabPorts) -> Result<HostService, Failure> {
    output::complain("  measuring what this machine adds, 3 s");
    let service = tenuto_runtime::measure_allowance(MEASURED, ports).map_err(|error| {
        Failure::undecidable(format!("this machine cannot be measured: {error}"), None)
    })?;
    let stall = ms_up_ns(service.stall_allowance_ns);
    output::complain(&format!("  host allowance {stall} ms per element"));
    Ok(service)
}

/// Says how much slower the network runs, or when bounds would drown in the host allowance.
fn say_how_slow(asked: Slow, slow: u64, advised: u64) {
    match asked {
        Slow::Auto if slow > 1 => output::complain(&format!(
            "  running {slow} times slower: rates divided, times multiplied (scenario times stay)"
        )),
        Slow::Times(_) if advised > 1 => {
            let factor = slow.saturating_mul(advised);
            output::complain(&format!(
                "  that is much beside some bounds: `--slow {factor}` would show them better"
            ));
        }
        _ => {}
    }
}

fn lab(
    args: &Up,
    slow: u64,
    planned: &Planned,
    scenario: &Scenario,
    service: &HostService,
    folder: &Path,
) -> Result<UpOutcome, Failure> {
    let plan = &planned.plan;
    let options = UpOptions {
        duration_ns: args.run.duration_ns,
        slow,
        run_dir: folder.to_owned(),
        allowances: allowances(plan, service),
        seed: args.run.seed,
        switches: args.switches,
    };
    let mut view = LiveView::new(&plan.network.name, scenario.duration_ns, args.alarm_margin);
    tenuto_runtime::up(plan, scenario, &options, &mut view).map_err(|error| {
        let hint = match &error {
            UpError::NotPermitted { .. } => "`tenuto doctor` says what this machine allows",
            _ => "`tenuto sim` runs the same plan in virtual time",
        };
        Failure::undecidable(error.to_string(), Some(hint))
    })
}

/// What this machine adds to the bounds of a plan, by planning it again.
pub(crate) fn allowances(plan: &Plan, service: &HostService) -> Allowances {
    let planner = |network: &Network| {
        // What counted in the plan counts on this machine, or the two could not be compared.
        let curves = if plan.staircases { Curves::Staircases } else { Curves::Buckets };
        let options = Options { would_fit: false, curves, ..planning::usual_options(network) };
        tenuto_planner::plan(network, &options)
    };
    tenuto_runtime::allowances(plan, service, &planner)
}

/// Tries the recorded releases again in virtual time, where the plan's own bounds hold strictly;
/// also says how that went.
pub(crate) fn replayed(
    plan: &Plan,
    scenario: &Scenario,
    mut outcome: UpOutcome,
) -> (UpOutcome, Option<String>) {
    let document = &mut outcome.document;
    // What the scenario expects was judged live; here only bounds are.
    let (duration_ns, expect) = (document.duration_ns, Expect::default());
    let scenario = Scenario { duration_ns, expect, ..scenario.clone() };
    let again = tenuto_world::clockwork::replay(plan, &scenario, &document.releases);
    if outcome.crashed.is_some() {
        return (outcome, None);
    }
    let words = match again {
        Ok(again) => {
            let words = format!("  recorded releases in virtual time: {}", again.summary);
            if again.verdict == Verdict::Broken {
                document.verdict = Verdict::Broken;
                document.summary = format!("BROKEN in the replay: {}", again.summary);
            }
            document.replay = Some(Replay {
                verdict: again.verdict,
                received: again.flows.iter().map(|row| row.received).sum(),
                violations: again.violations,
            });
            words
        }
        Err(error) => format!("  not tried again in virtual time: {error}"),
    };
    (outcome, Some(words))
}

fn ended(args: &Up, outcome: &UpOutcome, written: Option<&str>) -> Result<Outcome, Failure> {
    if !args.run.json {
        output::say("-- end\n")?;
    }
    let judged = sim::conclude(&outcome.document, &args.run, written)?;
    if let Some(why) = &outcome.crashed {
        output::complain(&format!("error: {why}"));
    }
    Ok(match (&outcome.crashed, outcome.interrupted, judged) {
        (_, true, _) => Outcome::Interrupted,
        (Some(_), _, Outcome::Good) => Outcome::Undecidable,
        _ => judged,
    })
}
