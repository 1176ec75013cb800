//! `tenuto up NET|PLAN`: the lab, live on this machine.

use crate::args::{Slow, Up};
use crate::failure::Failure;
use crate::format::ms_up_ns;
use crate::live_view::LiveView;
use crate::outcome::Outcome;
use crate::output;
use crate::planning::{self, Planned};
use crate::verbs::{report, sim, slow_auto};
use std::path::Path;
use tenuto_model::{Expect, Network, Plan, Scenario};
use tenuto_planner::{Curves, Options};
use tenuto_runtime::{Allowances, HostService, LabPorts, UpError, UpOptions, UpOutcome};
use tenuto_units::Span;

/// How long this machine is measured before a run.
const MEASURED: Span = Span::from_s(3);

pub(crate) fn run(args: &Up) -> Result<Outcome, Failure> {
    let asked = match args.slow {
        Slow::Auto => 1,
        Slow::Times(n) => n,
    };
    let mut planned = planning::of_input_slowed(&args.input, &args.planning, asked)?;
    if !planned.promise().can_run() {
        return sim::refused(&planned, args.run.json);
    }
    let scenario = sim::scenario(&args.run, &args.input, &planned, true)?;
    tenuto_runtime::lab_namespaces().map_err(|error| no_run(&error))?;
    report::check_room(&planned.plan.to_json())?;
    let service = measure(args.ports)?;
    let advised = tenuto_runtime::recommend_slow(&planned.plan, &service);
    let mut slow = asked;
    if args.slow == Slow::Auto {
        let chosen = slow_auto::choose(args, planned, &service, &scenario, advised)?;
        (planned, slow) = (chosen.planned, chosen.slow);
        output::complain(&chosen.why);
    } else {
        say_what_would_show_more(slow, advised);
    }
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
        Ok(None)
    } else {
        report::write_into(&folder, &planned.plan, &outcome.document).map(Some)
    };
    ended(args, &outcome, written)
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

/// Says when bounds drown in the host allowance.
fn say_what_would_show_more(slow: u64, advised: u64) {
    if advised > 1 {
        let factor = slow.saturating_mul(advised);
        output::complain(&format!(
            "  that is much beside some bounds: `--slow {factor}` would show them better"
        ));
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
    tenuto_runtime::up(plan, scenario, &options, &mut view).map_err(|error| no_run(&error))
}

/// Why nothing ran.
fn no_run(error: &UpError) -> Failure {
    let hint = match error {
        UpError::NotPermitted { .. } => {
            "`tenuto doctor` says what this machine allows; `tenuto sim` needs no rights"
        }
        _ => "`tenuto sim` runs the same plan in virtual time",
    };
    Failure::undecidable(error.to_string(), Some(hint))
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
/// also says how that went. Who ends a run at once does not wait for that.
pub(crate) fn replayed(
    plan: &Plan,
    scenario: &Scenario,
    mut outcome: UpOutcome,
) -> (UpOutcome, Option<String>) {
    if outcome.at_once || outcome.crashed.is_some() {
        return (outcome, None);
    }
    let document = &mut outcome.document;
    // What the scenario expects was judged live; here only bounds are.
    let (duration_ns, expect) = (document.duration_ns, Expect::default());
    let scenario = Scenario { duration_ns, expect, cut_from_ns: None, ..scenario.clone() };
    let again = tenuto_world::clockwork::replay(plan, &scenario, &document.releases);
    let words = match again {
        Ok(again) => {
            let words = format!("  recorded releases in virtual time: {}", again.summary);
            document.join_replay(&again);
            words
        }
        Err(error) => format!("  not tried again in virtual time: {error}"),
    };
    (outcome, Some(words))
}

fn ended(
    args: &Up,
    outcome: &UpOutcome,
    written: Result<Option<String>, Failure>,
) -> Result<Outcome, Failure> {
    let judged = sim::conclude(&outcome.document, &args.run, written)?;
    if let Some(why) = &outcome.crashed {
        output::complain(&format!("error: {why}"));
    }
    Ok(judged)
}
