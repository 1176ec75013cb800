//! `tenuto import FORMAT FILE`: another tool's file as one of ours.

use crate::args::Import;
use crate::failure::Failure;
use crate::format::Table;
use crate::outcome::Outcome;
use crate::{load, output};
use std::path::Path;
use tenuto_model::{Content, ImportFormat, ImportOptions};

pub(crate) fn run(args: &Import) -> Result<Outcome, Failure> {
    let (Some(format), Some(file)) = (&args.format, &args.file) else {
        output::say(&list())?;
        return Ok(Outcome::Good);
    };
    if let Some(path) = &args.output
        && load::extension(path).is_some_and(|end| !matches!(end.as_str(), "yaml" | "yml"))
    {
        let what = "what is imported is YAML, and planned from a file that ends so";
        let hint = format!("name it {}", shown(&path.with_extension("yaml")));
        return Err(Failure::input(what, Some(&shown(path)), Some(&hint)));
    }
    let text = load::text(file)?;
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
        sources: &load::Files,
    };
    let imported =
        tenuto_model::import(ImportFormat::by_name(format), &text, &shown(file), &options)?;
    if format == "auto" {
        output::complain(&format!("note: the file is read as {}", imported.format));
    }
    for note in &imported.notes {
        output::complain(&format!("note: {note}"));
    }
    if !imported.warnings.is_empty() {
        output::complain(&imported.warnings.to_string());
    }
    match &args.output {
        Some(path) => {
            output::write_file(path, &imported.yaml)?;
            output::say(&match &imported.content {
                Content::Network(network) => tenuto_model::summary(network),
                Content::Servers(graph) => tenuto_model::servers_summary(graph),
            })?;
        }
        None => output::say(&imported.yaml)?,
    }
    Ok(Outcome::Good)
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
