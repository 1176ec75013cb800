//! `tenuto sim NET|PLAN`: virtual time, held against what was promised.

use crate::args::{Run, Sim};
use crate::failure::Failure;
use crate::format::seconds;
use crate::outcome::Outcome;
use crate::planning::{self, Planned, Promise};
use crate::progress::{Progress, bar};
use crate::{load, output, plan_json, run_text};
use std::path::Path;
use std::time::Instant;
use tenuto_model::{Expect, Network, Scenario, Verdict};
use tenuto_world::{RunDocument, clockwork};

pub(crate) fn run(args: &Sim) -> Result<Outcome, Failure> {
    let planned = planning::of_input(&args.input, &args.planning)?;
    if planned.promise() != Promise::Guaranteed {
        return refused(&planned, args.run.json);
    }
    let scenario = scenario(&args.run, &args.input, &planned, &planned.plan.network)?;
    let document = simulated(&planned, &scenario)?;
    if let Some(path) = &args.output {
        output::write_file(path, &output::json(&document))?;
    }
    let mut written = args.output.as_ref().map(|path| path.display().to_string());
    if args.report {
        written = Some(super::report::write_folder(&planned.plan, &document)?);
    }
    conclude(&document, &args.run, written.as_deref())
}

/// Nothing is run that is not promised.
pub(crate) fn refused(planned: &Planned, is_json: bool) -> Result<Outcome, Failure> {
    if is_json {
        output::say_json(&plan_json::document(planned))?;
    }
    super::plan::refuse(planned);
    output::complain("nothing was run");
    Ok(Outcome::Bad)
}

/// The scenario of a run with what the command line says otherwise.
pub(crate) fn scenario(
    args: &Run,
    input: &Path,
    planned: &Planned,
    network: &Network,
) -> Result<Scenario, Failure> {
    // A plan that took time was made of a network file here; a plan file brings no scenario.
    let beside = planned.took.is_some().then_some(input);
    let (mut scenario, _) = load::scenario(args.scenario.as_deref(), beside, network)?;
    if let Some(duration_ns) = args.duration_ns {
        if duration_ns < scenario.duration_ns {
            // What it expects by its end may not have come yet.
            scenario.expect = Expect::default();
        }
        scenario.duration_ns = duration_ns;
    }
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    Ok(scenario)
}

fn simulated(planned: &Planned, scenario: &Scenario) -> Result<RunDocument, Failure> {
    let name = &planned.plan.network.name;
    let started = Instant::now();
    let mut progress = Progress::new();
    let document = clockwork::run_with_progress(&planned.plan, scenario, &mut |at| {
        progress.say(|| {
            let bar = bar(at.at_ns, at.of_ns);
            let of = seconds(at.of_ns);
            let took = started.elapsed().as_secs();
            format!(
                "{name} simulated  {bar} {}/{of} s   {took} s of this machine",
                seconds(at.at_ns)
            )
        });
    });
    drop(progress);
    document
        .map_err(|error| Failure::undecidable(format!("the run could not be made: {error}"), None))
}

/// Prints a run and says how it ended.
pub(crate) fn conclude(
    document: &RunDocument,
    args: &Run,
    written: Option<&str>,
) -> Result<Outcome, Failure> {
    if args.json {
        output::say_json(document)?;
    } else {
        output::say(&run_text::text(document, args.all))?;
        output::say(&run_text::verdict(document, written))?;
    }
    Ok(match document.verdict {
        Verdict::Kept => Outcome::Good,
        Verdict::Broken => Outcome::Bad,
        Verdict::Undecided => Outcome::Undecidable,
    })
}
