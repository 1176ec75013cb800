//! Files of other tools, as networks or server graphs of ours.
//!
//! Nothing is skipped silently: what a format cannot say is assumed in a note, what we cannot say
//! is left out in a note or a located warning, and both stand as comments in the written file.

mod advice;
mod afdx_designer;
mod applications;
mod assembly;
mod can;
mod decimal;
mod format;
mod gml;
mod graphml;
mod hops;
mod json;
mod lias;
mod netcalbounds;
mod node_lists;
mod read_back;
mod ros2;
mod rtns;
mod saihu;
mod saihu_units;
mod seen;
mod server_draft;
mod star;
mod table;
mod tas_benchmark;
mod topology;
mod tsnsched;
mod tssdn;
mod vl_table;
mod vl_yaml;
mod wopanets;
mod xml;
mod xtfa;

pub use format::ImportFormat;

use crate::check::judge;
use crate::read::network::Draft;
use crate::read::reader::{Reader, shown};
use crate::source::MemorySources;
use crate::yaml::{self, Node, Place, TEXT_BYTES_MAX};
use crate::{Diagnostics, Network, Severity, Sources, write_network, write_servers};
use tenuto_calculus::ServerGraph;

/// How a note on deadlines begins that the imported file does not have.
const ASSUMED: &str = "deadlines assumed by the importer: ";
/// Most notes; further ones are counted.
const NOTES_MAX: usize = 100;

/// What an imported file became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A network.
    Network(Box<Network>),
    /// A server graph.
    Servers(ServerGraph),
}

/// An imported file, as value and as a file of ours that reads back to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The format that it was read as.
    pub format: ImportFormat,
    /// The value.
    pub content: Content,
    /// The same as text, to be written beside the imported file and edited.
    pub yaml: String,
    /// What was assumed, or left out throughout the file.
    pub notes: Vec<String>,
    /// What was left out or is doubtful at one place.
    pub warnings: Diagnostics,
}

impl Imported {
    /// The network, if it is one.
    pub fn network(self) -> Option<Network> {
        match self.content {
            Content::Network(network) => Some(*network),
            Content::Servers(_) => None,
        }
    }
}

/// What a file does not say itself.
#[derive(Clone, Copy)]
pub struct ImportOptions<'a> {
    /// Rate of links that state none, bit/s.
    pub rate_bps: Option<u64>,
    /// File of flows for a topology.
    pub flows: Option<&'a str>,
    /// File of a topology for flows: GraphML, GML or a network of ours.
    pub topology: Option<&'a str>,
    /// Name of the CAN bus, before the names of its flows.
    pub bus: Option<&'a str>,
    /// Host at which the bus ends.
    pub gateway: Option<&'a str>,
    /// Host that receives what the gateway sends.
    pub target: Option<&'a str>,
    /// Length of a time-triggered cycle, nanoseconds.
    pub cycle_ns: Option<u64>,
    /// Whether a server that states no capacity never sends faster than its service curve at its
    /// fastest, so that this rate is its line. Not so of service curves in general.
    pub lines_of_service: bool,
    /// Where further files come from.
    pub sources: &'a dyn Sources,
}

impl Default for ImportOptions<'_> {
    fn default() -> Self {
        static NONE: MemorySources = MemorySources::new();
        Self {
            rate_bps: None,
            flows: None,
            topology: None,
            bus: None,
            gateway: None,
            target: None,
            cycle_ns: None,
            lines_of_service: false,
            sources: &NONE,
        }
    }
}

/// A file while it is being imported.
pub(crate) struct Import<'a> {
    pub(crate) reader: Reader,
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    pub(crate) options: ImportOptions<'a>,
    notes: Vec<String>,
}

/// What an importer gives; it is judged as any file of ours is.
pub(crate) enum Found {
    Network(Box<Draft>),
    Servers(ServerGraph),
}

impl Import<'_> {
    /// Remembers an assumption or a loss.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.notes.len() < NOTES_MAX && !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Remembers which deadlines the file does not have, and what is taken instead.
    pub(crate) fn assume_deadlines(&mut self, text: &str) {
        self.note(format!("{ASSUMED}{text}"));
    }

    pub(crate) fn error(&mut self, place: Place, message: impl Into<String>, hint: &str) {
        self.report(Severity::Error, place, message.into(), hint);
    }

    pub(crate) fn warn(&mut self, place: Place, message: impl Into<String>, hint: &str) {
        self.report(Severity::Warning, place, message.into(), hint);
    }

    fn report(&mut self, severity: Severity, place: Place, message: String, hint: &str) {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        self.reader.report(severity, place, "", message, hint);
    }

    /// The file as YAML, of one document at most; `None` if it is no YAML, which is reported.
    pub(crate) fn yaml(&mut self) -> Option<Vec<Node>> {
        let (documents, problems) = yaml::parse(self.text, 0);
        let is_whole = problems.is_empty();
        for problem in problems {
            self.reader.report(Severity::Error, problem.place, "", problem.message, problem.hint);
        }
        if !is_whole {
            return None;
        }
        self.reader.expect_one(&documents);
        Some(documents)
    }

    /// The name of the file without folder and ending.
    pub(crate) fn stem(&self) -> String {
        let name = self.file.rsplit('/').next().unwrap_or(self.file);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        if stem.is_empty() { "imported".to_owned() } else { stem.to_owned() }
    }
}

/// Imports a file; `file` is the name that problems are reported with. Without a format, the
/// format is recognised by the file's text.
///
/// # Errors
/// Every problem of the file, not only the first.
pub fn import(
    format: Option<ImportFormat>,
    text: &str,
    file: &str,
    options: &ImportOptions<'_>,
) -> Result<Imported, Diagnostics> {
    let mut it =
        Import { reader: Reader::default(), file, text, options: *options, notes: Vec::new() };
    it.reader.add_file(file, text);
    if text.len() > TEXT_BYTES_MAX {
        it.error(Place::default(), "the file is too large to be read", "at most 32 MB");
        return Err(it.reader.diagnostics);
    }
    let detected = ImportFormat::detect(text);
    let Some(meant) = format.or(detected) else {
        let names = ImportFormat::ALL.map(ImportFormat::name).join(", ");
        let message = format!("the format of the file is not recognised: {}", seen::seen(text));
        it.error(Place::default(), message, &format!("name it, if it is one of {names}"));
        return Err(it.reader.diagnostics);
    };
    let found = read(meant, &mut it);
    let result = finish(meant, it, found);
    match detected {
        Some(other) if result.is_err() && !other.is_dialect_of(meant) => {
            Err(mistaken(meant, other, file))
        }
        _ => result,
    }
}

/// What is said instead of all that a file of another format lacks.
fn mistaken(meant: ImportFormat, detected: ImportFormat, file: &str) -> Diagnostics {
    let mut reader = Reader::default();
    reader.add_file(file, "");
    let message = format!("this is no file of {meant}: it looks like one of {detected}");
    let hint = format!("did you mean `import {detected}`?");
    reader.report(Severity::Error, Place::default(), "", message, Some(hint));
    reader.diagnostics
}

fn of_draft(draft: Draft) -> Found {
    Found::Network(Box::new(draft))
}

fn read(format: ImportFormat, it: &mut Import<'_>) -> Option<Found> {
    match format {
        ImportFormat::Wopanets => wopanets::read(it).map(of_draft),
        ImportFormat::Xtfa => xtfa::read(it).map(Found::Servers),
        ImportFormat::Saihu => saihu::read(it).map(Found::Servers),
        ImportFormat::Rtns => rtns::read(it).map(Found::Servers),
        ImportFormat::Netcalbounds => netcalbounds::read(it).map(Found::Servers),
        ImportFormat::Graphml | ImportFormat::Gml | ImportFormat::NodeLists => {
            topology::read(it, format).map(of_draft)
        }
        ImportFormat::Applications => applications::read(it).map(of_draft),
        ImportFormat::VlTable => vl_table::read(it).map(of_draft),
        ImportFormat::AfdxDesigner => afdx_designer::read(it).map(of_draft),
        ImportFormat::Lias => lias::read(it).map(of_draft),
        ImportFormat::Tsnsched => tsnsched::read(it).map(of_draft),
        ImportFormat::TasBenchmark => tas_benchmark::read(it).map(of_draft),
        ImportFormat::Can => can::read(it).map(of_draft),
        ImportFormat::Ros2 => ros2::read(it).map(of_draft),
        ImportFormat::Tssdn => tssdn::read(it).map(of_draft),
    }
}

fn finish(
    format: ImportFormat,
    mut it: Import<'_>,
    found: Option<Found>,
) -> Result<Imported, Diagnostics> {
    if let Some(Found::Network(draft)) = &found {
        judge(&mut it.reader, draft);
    }
    let Import { reader, file, notes, .. } = it;
    let (found, warnings) = reader.finish(found)?;
    let head = comments(format, file, &notes, &warnings);
    let (content, body) = match found {
        Found::Network(draft) => {
            let body = write_network(&draft.network);
            (Content::Network(Box::new(draft.network)), body)
        }
        Found::Servers(graph) => {
            let body = write_servers(&graph);
            (Content::Servers(graph), body)
        }
    };
    let yaml = head + &body;
    read_back::read_back(&content, &yaml, file)?;
    Ok(Imported { format, content, yaml, notes, warnings })
}

/// What an importer assumed of deadlines, as the comments at the head of a file of ours say.
pub fn assumed_deadlines(text: &str) -> Vec<&str> {
    let head = text.lines().take_while(|line| line.starts_with('#'));
    head.filter_map(|line| line.strip_prefix("# note: ")?.strip_prefix(ASSUMED)).collect()
}

/// Where the file came from, and everything that was assumed or left out, as comments.
fn comments(format: ImportFormat, file: &str, notes: &[String], warnings: &Diagnostics) -> String {
    let clean = |text: &str| -> String {
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    };
    let mut out = format!("# Imported from {} ({format}).\n", shown(file));
    for note in notes {
        out.push_str(&format!("# note: {}\n", clean(note)));
    }
    for warning in warnings {
        let line = warning.line.map_or_else(String::new, |line| format!("line {line}: "));
        let hint = warning.hint.as_deref().filter(|hint| !hint.is_empty());
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        let text = clean(&format!("{line}{}{hint}", warning.message));
        out.push_str(&format!("# warning: {text}\n"));
    }
    let kept = warnings.iter().count();
    if warnings.warnings() > kept {
        out.push_str(&format!("# and {} more warnings\n", warnings.warnings() - kept));
    }
    out
}
