//! `tenuto show`: what a running controller holds.

use super::flow;
use super::service_client::Where;
use crate::failure::Failure;
use crate::format::Table;
use crate::outcome::Outcome;
use crate::output::{self, Place};
use clap::{Args as Flags, ValueEnum};
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(Debug, Flags)]
pub(crate) struct Show {
    /// What is to be shown
    #[arg(value_enum)]
    what: What,
    /// File to write; without it, stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    to: Where,
    /// The answer of the service (docs/reference/openapi.json)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// What it is doing
    Status,
    /// The admitted flows and their bounds
    Flows,
    /// What every switch is told, in numbers
    Switches,
    /// Modes, and how long a change takes
    Modes,
    /// What somebody has to look at
    Alarms,
    /// The plan in force, as `tenuto certify` takes it
    Plan,
    /// The set in force as a network file
    Network,
}

impl Show {
    pub(crate) fn places(&self) -> Vec<Place<'_>> {
        self.output.iter().map(|it| Place::File(it)).collect()
    }
}

impl What {
    const fn path(self) -> &'static str {
        match self {
            Self::Status => "/v1/status",
            Self::Flows => "/v1/flows?limit=1000",
            Self::Switches => "/v1/switches",
            Self::Modes => "/v1/modes",
            Self::Alarms => "/v1/alarms",
            Self::Plan => "/v1/plan",
            Self::Network => "/v1/network",
        }
    }
}

pub(crate) fn run(args: &Show) -> Result<Outcome, Failure> {
    if args.what == What::Flows && args.output.is_none() {
        return flow::list(&args.to, args.json);
    }
    let answer = args.to.ask("GET", args.what.path(), None)?;
    if !answer.is_good() {
        let problem = serde_json::from_str(&answer.text);
        let problem = problem.map_err(|error| Failure::input(error.to_string(), None, None))?;
        output::complain(&flow::problem_text(&problem));
        return Ok(answer.outcome());
    }
    let text = match args.what {
        What::Modes => modes(args, &answer.json()?)?,
        What::Plan | What::Network => answer.text,
        What::Flows => match flow::all(&args.to)? {
            Ok(rows) => output::json(&rows),
            Err(answer) => return Ok(answer.outcome()),
        },
        _ if args.json => output::json(&answer.json()?),
        _ => table(&answer.json()?),
    };
    match &args.output {
        Some(path) => output::write_file(path, &text)?,
        None => output::say(&text)?,
    }
    Ok(Outcome::Good)
}

/// The modes, where every switch is, and how it came there.
fn modes(args: &Show, modes: &Value) -> Result<String, Failure> {
    let switches = args.to.ask("GET", "/v1/modes/switches", None)?.json()?;
    let history = args.to.ask("GET", "/v1/modes/history", None)?.json()?;
    if args.json {
        let all = serde_json::json!({"modes": modes, "switches": switches, "history": history});
        return Ok(output::json(&all));
    }
    let parts = [("", modes), ("\nswitches\n", &switches), ("\nhistory\n", &history)];
    Ok(parts.iter().map(|(head, part)| format!("{head}{}", table(part))).collect())
}

/// Rows of equal keys as a table, a single value as `key  value` lines.
fn table(value: &Value) -> String {
    let mut text = String::new();
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    match value {
        Value::Array(rows) if rows.is_empty() => text.push_str("none\n"),
        Value::Array(rows) => {
            let first = rows.first().and_then(Value::as_object);
            let keys: Vec<&str> =
                first.into_iter().flat_map(|it| it.keys().map(String::as_str)).collect();
            let mut table = Table::new(&keys);
            for row in rows {
                table.push(keys.iter().map(|key| shown(&row[*key])).collect());
            }
            text = table.text();
        }
        Value::Object(map) => {
            for (key, value) in map {
                writeln!(text, "{key:<12} {}", shown(value)).expect("a string");
            }
        }
        other => writeln!(text, "{}", shown(other)).expect("a string"),
    }
    text
}
