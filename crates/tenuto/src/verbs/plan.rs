//! `tenuto plan NET`: what can be promised, or what is scarce.

use crate::args::{Method, Model, Plan, Ranking};
use crate::certified::Certification;
use crate::failure::Failure;
use crate::header::Header;
use crate::outcome::Outcome;
use crate::plan_diff::Difference;
use crate::planning::{self, Planned, Promise};
use crate::server_bounds::difference::Difference as BoundsDifference;
use crate::{
    compared, explain_text, load, output, plan_csv, plan_json, plan_text, refusals, server_bounds,
    settings,
};
use serde::Serialize;
use std::path::Path;
use tenuto_model::Network;
use tenuto_planner::{Curves, Options, Priorities};

pub(crate) fn run(args: &Plan) -> Result<Outcome, Failure> {
    if load::is_servers(&args.network)? {
        return servers(args);
    }
    let network = load::network(&args.network)?;
    let network = settings::apply(network, &args.planning.set)?;
    if let Some(peer) = args.method.peer() {
        return compared::run(args, &network, peer);
    }
    let options = Options {
        model: args.model.into(),
        as_stated: args.as_stated,
        line_shaping: !args.no_line_shaping,
        whole_paths: planning::whole_paths(args.method, &network),
        ..planning::options(&network, &args.planning)
    };
    if let Some(flow) = &args.explain {
        return explain(args, &network, &options, flow);
    }
    let earlier = args.diff.as_deref().map(earlier).transpose()?;
    let mut planned = planning::judged(&network, &options)?;
    assumed_deadlines(&args.network, &mut planned)?;
    if planned.promise() == Promise::Refused && !args.json && earlier.is_none() {
        return refuse_at_once(args, planned);
    }
    planned.look_for_changes(&mut |_, _| ());
    let kept = keep(args, &planned);
    if let Some(earlier) = &earlier {
        return Ok(Failure::unkept(kept, differ(args, earlier, &planned)?));
    }
    if args.json {
        output::say_json(&plan_json::document(&planned))?;
    } else if planned.certification.allows_bounds() {
        output::say(&plan_text::text(&planned, args.all))?;
    }
    let file = args.output.as_ref().filter(|_| kept.is_ok());
    let file = file.map(|path| path.display().to_string());
    Ok(Failure::unkept(kept, conclude(&planned, args.json, file.as_deref())?))
}

/// Writes the files that the command line asks for.
fn keep(args: &Plan, planned: &Planned) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        output::write_file(path, planned.plan.to_json())?;
    }
    match args.csv.as_ref().filter(|_| planned.certification.allows_bounds()) {
        Some(path) => output::write_file(path, plan_csv::text(&planned.plan)),
        None => Ok(()),
    }
}

/// Says what is refused as soon as that is known, and each change that would fit once it is found.
fn refuse_at_once(args: &Plan, mut planned: Planned) -> Result<Outcome, Failure> {
    if planned.certification.allows_bounds() {
        output::say(&plan_text::text(&planned, args.all))?;
    }
    refuse(&planned);
    let plan = planned.plan.clone();
    let mut changes = refusals::Changes::of(&plan);
    let end = planned.look_for_changes(&mut |index, line| {
        output::complain(&changes.add(index, line));
    });
    output::complain(&changes.end(end));
    Ok(Failure::unkept(keep(args, &planned), Outcome::Bad))
}

/// Names deadlines as assumed where an importer says so at the head of the file.
fn assumed_deadlines(file: &Path, planned: &mut Planned) -> Result<(), Failure> {
    let text = load::text(file)?;
    let assumed = tenuto_model::assumed_deadlines(&text);
    let late = planned.plan.refusals.iter_mut().filter(|it| it.resource == "deadline");
    if assumed.is_empty() || planned.plan.feasible {
        return Ok(());
    }
    for refusal in late {
        refusal
            .because
            .push_str(&format!("; the importer assumed deadlines: {}", assumed.join("; ")));
    }
    planned.plan.seal();
    Ok(())
}

/// The plan to compare with: a plan file, or a network file, which is planned.
fn earlier(path: &Path) -> Result<tenuto_model::Plan, Failure> {
    match load::input(path)? {
        load::Input::Plan(plan) => match Certification::of(&plan) {
            Certification::Certified(_) => Ok(*plan),
            Certification::Rejected(findings) => Err(Failure::not_certified(&findings)),
        },
        load::Input::Network(network) => {
            Ok(planning::planned(&network, &planning::usual_options(&network))?.plan)
        }
    }
}

fn differ(
    args: &Plan,
    earlier: &tenuto_model::Plan,
    planned: &Planned,
) -> Result<Outcome, Failure> {
    let difference = Difference::between(earlier, planned);
    if args.json {
        output::say_json(&difference)?;
    } else if planned.certification.allows_bounds() {
        output::say(&difference.text())?;
    }
    conclude(planned, args.json, None)
}

/// What is explained was certified first: an explanation of a wrong bound explains nothing.
fn explain(
    args: &Plan,
    network: &Network,
    options: &Options,
    flow: &str,
) -> Result<Outcome, Failure> {
    let planned = planning::judged(network, options)?;
    // The analysis that was chosen, of the network as it was ranked; sums of hops, if the checker
    // did not accept whole paths.
    let curves = if planned.plan.staircases { Curves::Staircases } else { Curves::Buckets };
    let options = planned.options.unwrap_or(*options);
    let options = Options { curves, priorities: Priorities::Given, ..options };
    let confirm = |plan: &tenuto_model::Plan| Certification::of(plan).allows_bounds();
    let explained = tenuto_planner::explain(&planned.plan, &options, flow, &confirm);
    let Some(explanation) = explained else {
        let names = network.flows.iter().map(|flow| flow.name.as_str());
        return Err(no_such_flow(args, flow, names));
    };
    if !explanation.agrees_with(&planned.plan) {
        let finding = "the bounds explained are not those of the certified plan".to_owned();
        return Err(Failure::not_certified(&[finding]));
    }
    if !planned.certification.allows_bounds() {
        if args.json {
            output::say_json(&plan_json::document(&planned))?;
        }
        return conclude(&planned, args.json, None);
    }
    if args.json {
        output::say_json(&Explained::of(&planned, &explanation))?;
    } else {
        output::say(&explain_text::text(&explanation, args.all))?;
        output::say(&plan_text::assumptions(&planned.plan))?;
    }
    conclude(&planned, args.json, None)
}

/// The document of an explanation.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    header: Header,
    #[serde(flatten)]
    explanation: &'a tenuto_planner::Explanation,
    assumptions: Vec<String>,
}

impl<'a> Explained<'a> {
    fn of(planned: &'a Planned, explanation: &'a tenuto_planner::Explanation) -> Self {
        Self {
            header: Header::planned(
                "tenuto-explanation/1",
                planned.promise().word(),
                &planned.plan.plan_hash,
            ),
            explanation,
            assumptions: planned.plan.rests_on(),
        }
    }
}

/// Bounds of a server graph.
fn servers(args: &Plan) -> Result<Outcome, Failure> {
    let of_frames = matches!(args.model, Model::Fluid) || args.as_stated;
    let is_ranked = args.planning.priorities != Ranking::Given;
    if of_frames || is_ranked || !args.planning.set.is_empty() {
        let hint = "--model, --as-stated, --priorities and --set are for networks; this is a \
                    server graph";
        return Err(Failure::input("these options do not fit", None, Some(hint)));
    }
    if args.method.peer().is_some() {
        let hint = "silo and qjump are for networks; this is a server graph";
        return Err(Failure::input("this method does not fit", None, Some(hint)));
    }
    let graph = load::servers(&args.network)?;
    let effort = args.method.into();
    let line_shaping = !args.no_line_shaping;
    let options = tenuto_bounds::Options { line_shaping, effort, ..Default::default() };
    let is_usual = matches!(args.method, Method::Auto);
    let earlier = args.diff.as_deref();
    let earlier = earlier.map(|path| earlier_bounds(path, &options, is_usual)).transpose()?;
    let bounded = server_bounds::bounded(graph, &options, is_usual)?;
    if let Some(flow) = &args.explain {
        return explain_servers(args, &bounded, flow, (&options, is_usual));
    }
    let kept = keep_servers(args, &bounded);
    let refusals = server_bounds::refusals(&bounded);
    let difference = earlier.map(|earlier| BoundsDifference::between(&earlier, &bounded.document));
    match (&difference, args.json) {
        (Some(difference), true) => output::say_json(difference)?,
        (Some(difference), false) => output::say(&difference.text())?,
        (None, true) => output::say_json(&server_bounds::json::document(&bounded, &refusals))?,
        (None, false) => output::say(&server_bounds::text::text(&bounded, args.all))?,
    }
    if !refusals.is_empty() {
        output::complain(&server_bounds::text::refused(&bounded, &refusals));
        return Ok(Failure::unkept(kept, Outcome::Bad));
    }
    if !args.json {
        let file = args.output.as_ref().filter(|_| kept.is_ok());
        let file = file.map(|path| path.display().to_string());
        output::say(&server_bounds::text::verdict(&bounded, file.as_deref()))?;
    }
    Ok(Failure::unkept(kept, Outcome::Good))
}

/// Writes the files of a server graph that the command line asks for.
fn keep_servers(args: &Plan, bounded: &server_bounds::Bounded) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        output::write_file(path, &bounded.text)?;
    }
    match &args.csv {
        Some(path) => output::write_file(path, server_bounds::text::csv(bounded)),
        None => Ok(()),
    }
}

/// The bounds to compare with: a document of them, certified again, or a server graph, which is
/// planned.
fn earlier_bounds(
    path: &Path,
    options: &tenuto_bounds::Options,
    is_usual: bool,
) -> Result<tenuto_bounds::Document, Failure> {
    if load::is_servers(path)? {
        return Ok(server_bounds::bounded(load::servers(path)?, options, is_usual)?.document);
    }
    let shown = path.display().to_string();
    if !load::is_bounds(path)? {
        let hint = "the plan is of a server graph: compare it with a server graph (.yaml) or with \
                    what `tenuto plan -o` wrote of one";
        return Err(Failure::input("this is no plan of a server graph", Some(&shown), Some(hint)));
    }
    let text = load::text(path)?;
    tenuto_certify::certify_bounds(&text).map_err(|findings| {
        let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
        Failure::not_certified(&findings)
    })?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::input(format!("not readable: {error}"), Some(&shown), None))
}

fn explain_servers(
    args: &Plan,
    bounded: &server_bounds::Bounded,
    flow: &str,
    (options, is_usual): (&tenuto_bounds::Options, bool),
) -> Result<Outcome, Failure> {
    use server_bounds::{explain, explain_text, text};
    let Some(explanation) = explain::explain(bounded, flow, options, is_usual)? else {
        let names = bounded.graph.flows.iter().map(|flow| flow.name.as_str());
        return Err(no_such_flow(args, flow, names));
    };
    if args.json {
        output::say_json(&explanation)?;
    } else {
        output::say(&explain_text::text(&explanation, args.all))?;
    }
    let refusals = server_bounds::refusals(bounded);
    if refusals.is_empty() {
        return Ok(Outcome::Good);
    }
    output::complain(&text::refused(bounded, &refusals));
    Ok(Outcome::Bad)
}

/// That no flow has this name, and which was meant.
fn no_such_flow<'a>(
    args: &Plan,
    flow: &str,
    names: impl IntoIterator<Item = &'a str> + Clone,
) -> Failure {
    let shown = args.network.display().to_string();
    let hint = tenuto_model::meant(flow, names);
    Failure::input(format!("there is no flow {flow}"), Some(&shown), hint.as_deref())
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
    if let Certification::Rejected(findings) = &planned.certification {
        let first = findings.first().map_or("", String::as_str);
        output::complain(&format!("not certified, so no bound is shown: {first}"));
    }
}
