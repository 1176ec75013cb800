//! Files in: networks, plans and scenarios, and what is said when a file is something else.

use crate::failure::Failure;
use crate::{output, programs};
use serde::Deserialize;
use std::io::{ErrorKind, Read};
use std::path::Path;
use tenuto_bounds::ServerGraph;
use tenuto_model::{Diagnostic, Diagnostics, Network, Plan, Scenario, Severity, Sources};

/// Largest file that is read, bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Most bytes that are read of what is no file, such as a pipe.
const STREAM_BYTES_MAX: u64 = 64 << 20;
/// Length of a run without a scenario.
const PLAIN_NS: u64 = 20_000_000_000;

/// Files of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files;

impl Sources for Files {
    fn read(&self, path: &str) -> Result<String, String> {
        let about = std::fs::metadata(path).map_err(|error| words(&error))?;
        if about.is_dir() {
            return Err("it is a folder".into());
        }
        let too_large = || Err("it is too large: at most 1 GB".to_owned());
        if about.len() > FILE_BYTES_MAX {
            return too_large();
        }
        // A device or a pipe has no length of its own.
        let most = if about.is_file() { FILE_BYTES_MAX } else { STREAM_BYTES_MAX };
        let file = std::fs::File::open(path).map_err(|error| words(&error))?;
        let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
        file.take(most + 1).read_to_end(&mut bytes).map_err(|error| words(&error))?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > most) {
            return match about.is_file() {
                true => too_large(),
                false => Err("it does not end within 64 MB".to_owned()),
            };
        }
        text_of(bytes)
    }
}

/// Bytes as text, or why they are none.
fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err("it is text in UTF-16, not in UTF-8".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("it is not UTF-8 text (byte {at})")
    })?;
    match text.find('\0') {
        Some(at) => Err(format!("it is not text: there is a NUL byte in it (byte {at})")),
        None => Ok(text),
    }
}

/// Why a file cannot be had, in a few words.
fn words(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".into(),
        ErrorKind::PermissionDenied => "no right to read it".into(),
        _ => error.to_string(),
    }
}

/// The text of a file, or where it is missing and what there is instead.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let shown = path.display().to_string();
    if shown == "-" && !path.exists() {
        let hint = "name a file: what it says of others is looked for beside it";
        return Err(Failure::input("standard input is not read", Some(&shown), Some(hint)));
    }
    Files.read(&shown).map_err(|why| {
        let hint = match neighbours(path) {
            Some(others) if why.contains("no such file") || why.contains("a folder") => others,
            None if why.contains("no such file") => "is the path right?".to_owned(),
            _ => "a file of text in UTF-8 that you may read".to_owned(),
        };
        Failure::input(format!("the file cannot be read: {why}"), Some(&shown), Some(&hint))
    })
}

/// The networks and plans where a file was looked for, the likeliest first.
fn neighbours(path: &Path) -> Option<String> {
    const LISTED_MAX: usize = 8;
    /// So alike are a name and the same with a slip in it.
    const MEANT: f64 = 0.85;
    let folder = if path.is_dir() { path } else { path.parent()? };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| {
            [".yaml", ".yml", ".plan.json"].iter().any(|end| name.ends_with(end))
                && !name.ends_with(".scenario.yaml")
        })
        .collect();
    let sought = path.file_name().unwrap_or_default().to_string_lossy();
    let alike = |name: &str| strsim::jaro_winkler(&sought, name);
    names.sort_by(|a, b| alike(b).total_cmp(&alike(a)).then_with(|| a.cmp(b)));
    names.truncate(LISTED_MAX);
    let first = names.first()?;
    Some(match alike(first) >= MEANT {
        true => format!("did you mean {}?", folder.join(first).display()),
        false => format!("there are {}", names.join(", ")),
    })
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
    let text = text(path)?;
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
    let text = text(path)?;
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
    let content = text(&path)?;
    let shown = path.display().to_string();
    let find = |line: &str| match are_programs_run {
        true => programs::found(line, path.parent()),
        false => Ok(line.to_owned()),
    };
    Ok(tenuto_model::read_scenario_with_programs(&content, &shown, network, &find)?)
}
