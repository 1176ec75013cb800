//! `tenuto import FORMAT FILE`: another tool's file as one of ours.

use crate::args::Import;
use crate::failure::{Failure, Problem};
use crate::format::Table;
use crate::header::Header;
use crate::named_file::{self, Files, Kind};
use crate::outcome::Outcome;
use crate::{load, output};
use serde::Serialize;
use std::path::Path;
use tenuto_model::{Content, ImportFormat, ImportOptions, Imported};

pub(crate) fn run(args: &Import) -> Result<Outcome, Failure> {
    let (Some(format), Some(file)) = (&args.format, &args.file) else {
        output::say(&list())?;
        return Ok(Outcome::Good);
    };
    let imported = imported(args, format, file)?;
    complain(&imported, format);
    if let Some(path) = &args.output {
        output::write_file(path, &imported.yaml)?;
    }
    if args.json {
        output::say_json(&Document::of(&imported, args.output.as_deref()))?;
        return Ok(Outcome::Good);
    }
    output::say(&match (&args.output, &imported.content) {
        (None, _) => imported.yaml.clone(),
        (Some(_), Content::Network(network)) => tenuto_model::summary(network),
        (Some(_), Content::Servers(graph)) => tenuto_model::servers_summary(graph),
    })?;
    Ok(Outcome::Good)
}

/// Reads the file, unless what comes of it is to be written where it could not be planned from.
fn imported(args: &Import, format: &str, file: &Path) -> Result<Imported, Failure> {
    if let Some(path) = &args.output
        && load::extension(path).is_some_and(|end| !matches!(end.as_str(), "yaml" | "yml"))
    {
        let what = "what is imported is YAML, and planned from a file that ends so";
        let hint = format!("name it {}", shown(&path.with_extension("yaml")));
        return Err(Failure::input(what, Some(&shown(path)), Some(&hint)));
    }
    let text = named_file::text(file, Kind::FOREIGN)?;
    let path = |path: &Option<std::path::PathBuf>| path.as_deref().map(shown);
    let (flows, topology) = (path(&args.flows), path(&args.topology));
    let options = ImportOptions {
        rate_bps: args.rate,
        flows: flows.as_deref(),
        topology: topology.as_deref(),
        bus: args.bus.as_deref(),
        gateway: args.gateway.as_deref(),
        target: args.target.as_deref(),
        cycle_ns: args.cycle,
        lines_of_service: args.lines_of_service,
        sources: &Files,
    };
    let named = ImportFormat::by_name(format);
    tenuto_model::import(named, &text, &shown(file), &options)
        .map_err(|problems| Failure::of(&problems, "nothing was imported"))
}

/// What people should know of it, on stderr.
fn complain(imported: &Imported, format: &str) {
    if format == "auto" {
        output::complain(&format!("note: the file is read as {}", imported.format));
    }
    for note in &imported.notes {
        output::complain(&format!("note: {note}"));
    }
    if !imported.warnings.is_empty() {
        output::complain(&imported.warnings.to_string());
    }
}

/// What an import came to, for programs.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    format: &'static str,
    /// `network` or `servers`.
    becomes: &'static str,
    name: &'a str,
    flows: usize,
    targets: usize,
    /// The file that was written.
    file: Option<String>,
    /// The text itself, where no file was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    notes: &'a [String],
    problems: Vec<Problem<'a>>,
}

impl<'a> Document<'a> {
    fn of(imported: &'a Imported, output: Option<&Path>) -> Self {
        let (becomes, name, flows, targets) = match &imported.content {
            Content::Network(network) => {
                let targets = network.flows.iter().map(|flow| flow.targets.len()).sum();
                ("network", network.name.as_str(), network.flows.len(), targets)
            }
            Content::Servers(graph) => {
                let targets = graph.flows.iter().map(|flow| flow.targets.len()).sum();
                ("servers", graph.name.as_str(), graph.flows.len(), targets)
            }
        };
        Self {
            header: Header::new("tenuto-import/1", "imported"),
            format: imported.format.name(),
            becomes,
            name,
            flows,
            targets,
            file: output.map(shown),
            text: output.is_none().then_some(imported.yaml.as_str()),
            notes: &imported.notes,
            problems: imported.warnings.iter().map(Problem::from).collect(),
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Every format and what it is.
fn list() -> String {
    let mut table = Table::new(&["format", "what it is, what it becomes, what it needs"]);
    for format in ImportFormat::ALL {
        table.push(vec![format.name().to_owned(), format.about().to_owned()]);
    }
    table.push(vec!["auto".to_owned(), "any of these, told by its text".to_owned()]);
    table.text()
}
