//! Sheets: what a bench shows, the same for people and programs.

use crate::failure::Failure;
use crate::format::Table;
use crate::header::Header;
use crate::outcome::Outcome;
use crate::output;
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

/// How a bench is shown.
#[derive(Clone, Debug, Args)]
pub(crate) struct Form {
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// One table; units are the last word of a column.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sheet {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    bench: &'a str,
    sheets: &'a [Sheet],
}

impl Sheet {
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { title: title.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Vec<Value>) {
        debug_assert_eq!(row.len(), self.columns.len(), "a value per column");
        self.rows.push(row);
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Names of the columns.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Every row as people read it.
    pub(crate) fn rows_shown(&self) -> impl Iterator<Item = Vec<String>> + '_ {
        self.rows.iter().map(|row| row.iter().map(shown).collect())
    }

    /// What is said below.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    fn text(&self) -> String {
        let heads: Vec<String> = self.columns.iter().map(|column| format!(">{column}")).collect();
        let mut heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        if let Some(first) = heads.first_mut() {
            *first = first.trim_start_matches('>');
        }
        let mut table = Table::new(&heads);
        for row in &self.rows {
            table.push(row.iter().map(shown).collect());
        }
        let mut out = format!("{}\n{}", self.title, table.text());
        for note in &self.notes {
            let _ = writeln!(out, "  {note}");
        }
        out
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A number rounded to so many decimals.
pub(crate) fn rounded(value: f64, decimals: i32) -> Value {
    let scale = 10_f64.powi(decimals);
    Value::from((value * scale).round() / scale)
}

/// Shows all sheets of a bench.
pub(crate) fn show(
    name: &str,
    seed: Option<u64>,
    sheets: &[Sheet],
    form: &Form,
) -> Result<Outcome, Failure> {
    if form.json {
        output::say_json(&Document {
            header: Header::new("tenuto-bench/1", "shown").world("computed").seed(seed),
            bench: name,
            sheets,
        })?;
    } else {
        let texts: Vec<String> = sheets.iter().map(Sheet::text).collect();
        output::say(&texts.join("\n"))?;
    }
    Ok(Outcome::Good)
}
