//! Flow tables: CSV, one flow per row, units in the column names.
//!
//! A row becomes the same tree that a flow in YAML is, so that both are read by one code.

use super::network::FLOWS_MAX;
use super::reader::{Field, Reader, shown};
use crate::Severity;
use crate::source::{Sources, resolve};
use crate::yaml::{Key, Node, Place, TEXT_BYTES_MAX, Value};
use std::collections::BTreeMap;

/// Column name, key of a flow, unit to append; an empty unit is none.
const COLUMNS: [(&str, &str, &str); 17] = [
    ("vl", "vl", ""),
    ("name", "name", ""),
    ("source", "source", ""),
    ("targets", "targets", ""),
    ("level", "level", ""),
    ("bag_ms", "bag", " ms"),
    ("period_ms", "period", " ms"),
    ("frame_bytes_max", "frame", " B"),
    ("frame_bytes_min", "frame_min", " B"),
    ("payload_bytes_max", "payload", " B"),
    ("message_bytes_max", "message", " B"),
    ("jitter_us", "jitter", " us"),
    ("deadline_ms", "deadline", " ms"),
    ("priority", "priority", ""),
    ("copies", "copies", ""),
    ("skew_ms_max", "skew_max", " ms"),
    ("udp_port", "udp_port", ""),
];

/// The rows of every table that the network names: flow name and its tree.
pub(super) fn read_flow_tables(
    reader: &mut Reader,
    top: &Field<'_>,
    sources: &dyn Sources,
    base: &str,
) -> Vec<(String, Node)> {
    let mut rows = Vec::new();
    let Some(field) = top.get("flow_tables") else { return rows };
    for item in reader.list(&field).unwrap_or_default() {
        let Some(name) = reader.text(&item) else { continue };
        let path = resolve(base, name);
        match sources.read(&path) {
            Ok(text) if text.len() > TEXT_BYTES_MAX => {
                reader.error(&item, "the table is too large to be read", "at most 32 MB");
            }
            Ok(text) => read_table(reader, &path, &text, &mut rows),
            Err(why) => {
                let message = format!("table `{}` cannot be read: {}", shown(&path), shown(&why));
                reader.error(&item, &message, "paths are relative to this file");
            }
        }
    }
    judge_names(reader, &rows);
    rows
}

/// Reports flows that are in the tables twice.
fn judge_names(reader: &mut Reader, rows: &[(String, Node)]) {
    let mut lines: BTreeMap<&str, u32> = BTreeMap::new();
    let mut twice = Vec::new();
    for (name, node) in rows {
        if let Some(first) = lines.insert(name, node.place.line) {
            twice.push((name.clone(), node.place, first));
        }
    }
    for (name, place, first) in &twice {
        let message = format!("flow `{}` is in the tables twice", shown(name));
        let hint = format!("first in line {first}");
        let place = Place { table_column: Some("name"), ..*place };
        reader.report(Severity::Error, place, &format!("flows.{name}"), message, Some(hint));
    }
}

/// The rows of one table.
pub(super) fn read_one_table(reader: &mut Reader, path: &str, text: &str) -> Vec<(String, Node)> {
    let mut rows = Vec::new();
    read_table(reader, path, text, &mut rows);
    judge_names(reader, &rows);
    rows
}

fn read_table(reader: &mut Reader, path: &str, text: &str, rows: &mut Vec<(String, Node)>) {
    let file = reader.add_file(path, text);
    let mut table = csv::ReaderBuilder::new()
        .flexible(true)
        .has_headers(false)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut columns: Option<Vec<Option<usize>>> = None;
    let mut record = csv::StringRecord::new();
    loop {
        match table.read_record(&mut record) {
            Ok(false) => break,
            // A comment that ends the file without a line end comes as a record of nothing.
            Ok(true) if record.len() == 1 && record.iter().all(str::is_empty) => continue,
            Ok(true) => {}
            Err(error) => {
                let line = error.position().map_or(0, |p| line_number(p.line()));
                let place = Place { file, line, ..Place::default() };
                let message = format!("not a valid table: {}", shown(&error.to_string()));
                reader.report(Severity::Error, place, "", message, None);
                break;
            }
        }
        let line = line_of(text, record.position());
        match &columns {
            None => columns = Some(read_header(reader, file, line, &record)),
            Some(columns) if rows.len() <= FLOWS_MAX => {
                rows.extend(read_row(reader, file, line, &record, columns));
            }
            Some(_) => break,
        }
    }
    if columns.is_none() {
        let place = Place { file, ..Place::default() };
        let message = "the table has no line of column names".to_owned();
        reader.report(Severity::Error, place, "", message, None);
    }
}

fn line_number(line: u64) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

/// The line on which a record stands: its position is that of the comments and empty lines before.
pub(crate) fn line_of(text: &str, position: Option<&csv::Position>) -> u32 {
    let Some(position) = position else { return 0 };
    let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let rest = text.get(start..).unwrap_or_default();
    let skipped = rest.lines().take_while(|line| line.starts_with('#') || line.is_empty()).count();
    line_number(position.line()).saturating_add(u32::try_from(skipped).unwrap_or(u32::MAX))
}

fn read_header(
    reader: &mut Reader,
    file: usize,
    line: u32,
    record: &csv::StringRecord,
) -> Vec<Option<usize>> {
    let place = Place { file, line, ..Place::default() };
    let mut found: Vec<Option<usize>> = Vec::new();
    let other_comma = |c: &char| matches!(c, ';' | '\t' | '|');
    if let (1, Some(other)) = (record.len(), record.iter().flat_map(str::chars).find(other_comma)) {
        let written = if other == '\t' { "tabs".to_owned() } else { format!("`{other}`") };
        let message = format!("the cells of the table are separated by {written}");
        let hint = "separate them by commas; targets and copies in a cell by spaces".to_owned();
        reader.report(Severity::Error, place, "", message, Some(hint));
        return found;
    }
    for name in record {
        let index = COLUMNS.iter().position(|(column, ..)| *column == name);
        if index.is_none() {
            let hint = reader.meant(name, COLUMNS.iter().map(|(column, ..)| *column));
            let message = format!("column `{}` is not known", shown(name));
            reader.report(Severity::Error, place, "", message, hint);
        } else if found.contains(&index) {
            let message = format!("column `{name}` is there twice");
            reader.report(Severity::Error, place, "", message, None);
        }
        found.push(index);
    }
    if !found.iter().flatten().any(|i| COLUMNS[*i].0 == "name") {
        let message = "the table has no column `name`".to_owned();
        let hint = "each flow has a name, by which YAML can add routes and deadlines";
        reader.report(Severity::Error, place, "", message, Some(hint.to_owned()));
        found.clear();
    }
    found
}

fn read_row(
    reader: &mut Reader,
    file: usize,
    line: u32,
    record: &csv::StringRecord,
    columns: &[Option<usize>],
) -> Option<(String, Node)> {
    let row = Place { file, line, ..Place::default() };
    if columns.is_empty() {
        return None;
    }
    if record.len() != columns.len() {
        let message = format!("the row has {} cells, the header {}", record.len(), columns.len());
        let is_open = |cell: &str| cell.contains('\n');
        let hint = if record.iter().any(is_open) {
            "a quote is opened and not closed".to_owned()
        } else {
            "leave a cell empty to have the default".to_owned()
        };
        reader.report(Severity::Error, row, "", message, Some(hint));
        return None;
    }
    let mut name = None;
    let mut pairs = Vec::new();
    for (text, index) in record.iter().zip(columns) {
        let Some((column, key, unit)) = index.map(|i| COLUMNS[i]) else { continue };
        if text.is_empty() {
            continue;
        }
        if key == "name" {
            name = Some(text.to_owned());
            continue;
        }
        let place = cell(file, line, column);
        let scalar = |text: &str| Node { place, value: Value::Text(text.to_owned()) };
        let node = if matches!(key, "targets" | "copies") {
            Node { place, value: Value::List(text.split_whitespace().map(scalar).collect()) }
        } else {
            scalar(&format!("{text}{unit}"))
        };
        pairs.push((Key { text: key.to_owned(), place }, node));
    }
    let Some(name) = name else {
        let message = "the row has no name".to_owned();
        reader.report(Severity::Error, row, "", message, None);
        return None;
    };
    Some((name, Node { place: row, value: Value::Map(pairs) }))
}

/// The place of a table cell.
const fn cell(file: usize, line: u32, column: &'static str) -> Place {
    Place { file, line, column: 0, table_column: Some(column) }
}
