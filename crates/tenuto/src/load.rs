//! Files in: networks, plans and scenarios, and what is said when a file is something else.

use crate::failure::Failure;
use crate::named_file::{self, Files, Kind};
use crate::{output, programs};
use serde::Deserialize;
use std::path::Path;
use tenuto_bounds::ServerGraph;
use tenuto_model::{Diagnostic, Diagnostics, Network, Plan, Scenario, Severity};

/// Length of a run without a scenario.
const PLAIN_NS: u64 = 20_000_000_000;

/// The text of a network or a plan.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    named_file::text(path, Kind::NETWORK_OR_PLAN)
}

/// A network file or a plan file.
#[derive(Debug)]
pub(crate) enum Input {
    /// A network, to be planned.
    Network(Box<Network>),
    /// A plan whose digest was verified.
    Plan(Box<Plan>),
}

/// What a JSON document says about itself.
#[derive(Deserialize)]
pub(crate) struct Head {
    pub(crate) schema: Option<String>,
}

/// A network or a plan, by what is in the file.
pub(crate) fn input(path: &Path) -> Result<Input, Failure> {
    let text = text(path)?;
    if looks_like_json(path, &text) {
        return Ok(Input::Plan(Box::new(plan_of(path, &text)?)));
    }
    network(path).map(|network| Input::Network(Box::new(network)))
}

/// Whether the file is a server graph, which few verbs read.
pub(crate) fn is_servers(path: &Path) -> Result<bool, Failure> {
    let text = text(path)?;
    let is_yaml = matches!(extension(path).as_deref(), Some("yaml" | "yml"));
    Ok(is_yaml && text.lines().any(|line| line.starts_with("tenuto_servers:")))
}

/// A server graph; its warnings are said on stderr.
pub(crate) fn servers(path: &Path) -> Result<ServerGraph, Failure> {
    let (graph, warnings) = tenuto_model::read_servers(&text(path)?, &path.display().to_string())?;
    if !warnings.is_empty() {
        output::complain(&warnings.to_string());
    }
    Ok(graph)
}

/// Whether the file is a document of bounds, as `plan` writes it of a server graph.
pub(crate) fn is_bounds(path: &Path) -> Result<bool, Failure> {
    let text = named_file::text(path, Kind::PLAN)?;
    let head = serde_json::from_str::<Head>(&text);
    Ok(head.is_ok_and(|head| head.schema.as_deref() == Some(tenuto_bounds::SCHEMA)))
}

/// A network; its warnings are said on stderr.
pub(crate) fn network(path: &Path) -> Result<Network, Failure> {
    let (network, warnings) = network_quiet(path)?;
    if !warnings.is_empty() {
        output::complain(&warnings.to_string());
    }
    Ok(network)
}

/// A network with its warnings.
pub(crate) fn network_quiet(path: &Path) -> Result<(Network, tenuto_model::Diagnostics), Failure> {
    let shown = path.display().to_string();
    let content = text(path)?;
    if looks_like_json(path, &content) {
        let hint =
            "a plan is read by tables, certify, sim and report; others' networks by `import auto`";
        return Err(Failure::input("this is JSON, not a network file", Some(&shown), Some(hint)));
    }
    let fail = |hint: &str| Failure::input("this is not a network file", Some(&shown), Some(hint));
    match extension(path).as_deref() {
        Some("yaml" | "yml") => {}
        Some("xml") => return Err(fail("import it first: `tenuto import auto FILE -o NET`")),
        Some("csv") => return Err(fail("name it in a network file: `flow_tables: [FILE]`")),
        Some("graphml" | "gml" | "afdxxml") => {
            return Err(fail("import it first: `tenuto import auto FILE -o NET`"));
        }
        _ => return Err(fail("a network file ends in .yaml and starts with `tenuto: 1`")),
    }
    if is_servers(path)? {
        let hint = "check and plan read it, certify what plan wrote; it has no frames to run";
        return Err(Failure::input("this is a server graph, no network", Some(&shown), Some(hint)));
    }
    let (network, warnings) = tenuto_model::read_network(&Files, &shown)?;
    match network.flows.is_empty() {
        true => Err(without_flows(&warnings).into()),
        false => Ok((network, warnings)),
    }
}

/// A network of no flows keeps every promise, as it makes none: what was warned of is an error.
fn without_flows(warnings: &Diagnostics) -> Diagnostics {
    let mut refused = Diagnostics::new();
    for warning in warnings.iter().filter(|it| it.field_path == "flows") {
        refused.push(Diagnostic { severity: Severity::Error, ..warning.clone() });
    }
    refused
}

/// A plan whose digest was verified.
pub(crate) fn plan(path: &Path) -> Result<Plan, Failure> {
    let text = named_file::text(path, Kind::PLAN)?;
    if !looks_like_json(path, &text) {
        let shown = path.display().to_string();
        let hint = "make a plan with `tenuto plan NET -o PLAN`";
        return Err(Failure::input("this is not a plan", Some(&shown), Some(hint)));
    }
    plan_of(path, &text)
}

fn plan_of(path: &Path, text: &str) -> Result<Plan, Failure> {
    let shown = path.display().to_string();
    let fail = |message: String, hint: &str| Failure::input(message, Some(&shown), Some(hint));
    let head: Head = serde_json::from_str(text)
        .map_err(|error| fail(format!("not valid JSON: {error}"), "is the file complete?"))?;
    match head.schema.as_deref() {
        Some(tenuto_model::PLAN_SCHEMA) => {}
        Some(other) => {
            let other: String = other.chars().filter(|c| !c.is_control()).take(40).collect();
            let hint = match other.as_str() {
                "tenuto-plan-report/1" => "that is what `plan --json` prints; `-o` writes the plan",
                tenuto_bounds::SCHEMA => "these are bounds of a server graph; `certify` reads them",
                "tenuto-run/1" => "that is a run; `tenuto report` reads it",
                other if other.starts_with("tenuto-plan/") => {
                    "a plan of another version: plan again with `tenuto plan NET -o PLAN`"
                }
                _ => "make a plan with `tenuto plan NET -o PLAN`",
            };
            let what =
                format!("this is a `{other}` document, not a `{}`", tenuto_model::PLAN_SCHEMA);
            return Err(fail(what, hint));
        }
        None => {
            let hint = "make a plan with `tenuto plan NET -o PLAN`";
            return Err(fail("this JSON is not a plan: it has no `schema`".into(), hint));
        }
    }
    let plan = Plan::from_json(text).map_err(|why| fail(why, "plan again"))?;
    plan.verify_digest()
        .map_err(|why| fail(format!("the plan was tampered with: {why}"), "nothing was run"))?;
    Ok(plan)
}

fn looks_like_json(path: &Path, text: &str) -> bool {
    let is_named = extension(path).as_deref() == Some("json");
    is_named
        || (text.trim_start().starts_with('{')
            && !matches!(extension(path).as_deref(), Some("yaml" | "yml")))
        || serde_json::from_str::<Head>(text).is_ok_and(|head| head.schema.is_some())
}

/// How a file name ends, in small letters.
pub(crate) fn extension(path: &Path) -> Option<String> {
    path.extension().and_then(|end| end.to_str()).map(str::to_ascii_lowercase)
}

/// The scenario of a run; where the user's programs are run, each of them has to be there.
///
/// `beside` is the network file where one was given: its scenario is the file next to it, or a
/// document of the file itself.
pub(crate) fn scenario(
    named: Option<&Path>,
    beside: Option<&Path>,
    network: &Network,
    are_programs_run: bool,
) -> Result<Scenario, Failure> {
    let found = match (named, beside) {
        (Some(path), _) => Some(path.to_owned()),
        (None, Some(network)) => {
            let next = network.with_extension("scenario.yaml");
            if next.exists() {
                Some(next)
            } else {
                let own = text(network)?;
                let has = own.lines().any(|line| line.starts_with("tenuto_scenario:"));
                has.then(|| network.to_owned())
            }
        }
        (None, None) => None,
    };
    let Some(path) = found else { return Ok(Scenario::plain(PLAIN_NS, 1)) };
    let content = named_file::text(&path, Kind::SCENARIO)?;
    let shown = path.display().to_string();
    let find = |line: &str| match are_programs_run {
        true => programs::found(line, path.parent()),
        false => Ok(line.to_owned()),
    };
    tenuto_model::read_scenario_with_programs(&content, &shown, network, &find)
        .map_err(|problems| Failure::of(&problems, "nothing was run"))
}
