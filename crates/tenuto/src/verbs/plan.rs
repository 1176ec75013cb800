//! `tenuto plan NET`: what can be promised, or what is scarce.

use crate::args::Plan;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::planning::{self, Planned, Promise};
use crate::{load, output, plan_csv, plan_json, plan_text, refusals, settings};
use tenuto_planner::Options;

pub(crate) fn run(args: &Plan) -> Result<Outcome, Failure> {
    let network = load::network(&args.network)?;
    let network = settings::apply(network, &args.planning.set)?;
    let options = Options {
        model: args.model.into(),
        as_stated: args.as_stated,
        line_shaping: !args.no_line_shaping,
        ..Options::default()
    };
    let planned = planning::planned(&network, &options)?;
    if let Some(path) = &args.output {
        output::write_file(path, &planned.plan.to_json())?;
    }
    if let Some(path) = args.csv.as_ref().filter(|_| planned.certification.allows_bounds()) {
        output::write_file(path, &plan_csv::text(&planned.plan))?;
    }
    if args.json {
        output::say_json(&plan_json::document(&planned))?;
    } else if planned.certification.allows_bounds() {
        output::say(&plan_text::text(&planned, args.all))?;
    }
    let file = args.output.as_ref().map(|path| path.display().to_string());
    conclude(&planned, args.json, file.as_deref())
}

fn conclude(planned: &Planned, is_json: bool, file: Option<&str>) -> Result<Outcome, Failure> {
    let promise = planned.promise();
    if promise == Promise::Refused {
        refuse(planned);
        return Ok(Outcome::Bad);
    }
    if !is_json {
        output::say(&plan_text::verdict(planned, file))?;
    }
    Ok(if promise == Promise::Guaranteed { Outcome::Good } else { Outcome::Undecidable })
}

/// Says every refusal on stderr, and whether the rest may be relied on.
pub(crate) fn refuse(planned: &Planned) {
    let shows_rest = planned.certification.allows_bounds();
    output::complain(&refusals::text(&planned.plan, shows_rest));
    if let crate::certified::Certification::Rejected(findings) = &planned.certification {
        let first = findings.first().map_or("", String::as_str);
        output::complain(&format!("not certified, so no bound is shown: {first}"));
    }
}
