//! `tenuto flow`: flows of a running controller come, change and go.

use super::service_client::{Answer, Where, escaped};
use crate::failure::Failure;
use crate::format::{Table, counted, ms_down, ms_up_ns};
use crate::outcome::Outcome;
use crate::output;
use clap::{Args as Flags, Subcommand};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use tenuto_service::{Accepted, Problem, RefusalDocument};

#[derive(Debug, Flags)]
pub(crate) struct Flow {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a flow, or say what is in the way
    Add(Contract),
    /// Give a flow another contract; fields that are left out have their defaults
    Change(Contract),
    /// What would be answered to adding the flow, or to changing it if it is there
    #[command(name = "what-if")]
    WhatIf(Contract),
    /// Remove flows, all of them or none
    Remove(Names),
    /// The admitted flows and their bounds
    List(List),
}

#[derive(Debug, Flags)]
struct Contract {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
    /// Fields as in a network file: source=s1 targets=d1,d2 message=8kB period=25ms; per mode:
    /// period=LO:200ms,HI:22ms
    #[arg(value_name = "FIELD=VALUE", required = true, value_parser = field)]
    fields: Vec<(String, Value)>,
    /// Do not look for what would fit
    #[arg(long)]
    no_advice: bool,
    #[command(flatten)]
    to: Where,
    /// The answer of the service on stdout (docs/reference/openapi.json)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Flags)]
struct Names {
    /// Their names
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    #[command(flatten)]
    to: Where,
    /// The answer of the service on stdout (docs/reference/openapi.json)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Flags)]
struct List {
    #[command(flatten)]
    to: Where,
    /// The flows as JSON on stdout (docs/reference/openapi.json)
    #[arg(long)]
    json: bool,
}

impl Flow {
    /// Whether stdout is for a program.
    pub(crate) const fn wants_json(&self) -> bool {
        match &self.action {
            Action::Add(it) | Action::Change(it) | Action::WhatIf(it) => it.json,
            Action::Remove(it) => it.json,
            Action::List(it) => it.json,
        }
    }
}

/// `FIELD=VALUE`: a list where the field has one, a map where modes are named, else a text.
fn field(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("write FIELD=VALUE, such as period=25ms")?;
    if value.starts_with(['{', '[']) {
        let value = serde_json::from_str(value).map_err(|error| format!("no JSON: {error}"))?;
        return Ok((key.to_owned(), value));
    }
    let words: Vec<&str> = value.split(',').map(str::trim).collect();
    let pairs: Option<Map<String, Value>> = words
        .iter()
        .map(|word| word.split_once(':'))
        .map(|it| Some((it?.0.into(), json!(it?.1))))
        .collect();
    let is_word = value == "disjoint" || value == "link-disjoint";
    let value = match (key, pairs) {
        ("targets" | "monitor_at" | "copies", _) if !is_word => json!(words),
        (_, Some(pairs)) => Value::Object(pairs),
        _ => json!(value),
    };
    Ok((key.to_owned(), value))
}

pub(crate) fn run(args: &Flow) -> Result<Outcome, Failure> {
    match &args.action {
        Action::Add(it) => {
            let body = json!({ "name": it.name, "flow": flow(it) });
            told(it.to.ask("POST", &format!("/v1/flows{}", advice(it)), Some(&body))?, it.json)
        }
        Action::Change(it) => {
            let path = format!("/v1/flows/{}{}", escaped(&it.name), advice(it));
            told(it.to.ask("PUT", &path, Some(&flow(it)))?, it.json)
        }
        Action::WhatIf(it) => what_if(it),
        Action::Remove(it) => {
            let one = |name: &String| json!({ "action": "remove", "name": name });
            let changes: Vec<Value> = it.names.iter().map(one).collect();
            told(it.to.ask("POST", "/v1/batch", Some(&json!({ "changes": changes })))?, it.json)
        }
        Action::List(it) => list(&it.to, it.json),
    }
}

fn flow(args: &Contract) -> Value {
    Value::Object(args.fields.iter().cloned().collect())
}

const fn advice(args: &Contract) -> &'static str {
    if args.no_advice { "?advice=false" } else { "" }
}

fn what_if(args: &Contract) -> Result<Outcome, Failure> {
    let known = args.to.ask("GET", &format!("/v1/flows/{}", escaped(&args.name)), None)?;
    let action = if known.is_good() { "change" } else { "add" };
    let change = json!({ "action": action, "name": args.name, "flow": flow(args) });
    let body = json!({ "changes": [change] });
    told(args.to.ask("POST", &format!("/v1/what-if{}", advice(args)), Some(&body))?, args.json)
}

/// Tells an answer to a change, to people or to programs.
fn told(answer: Answer, as_json: bool) -> Result<Outcome, Failure> {
    let value = answer.json()?;
    if as_json {
        output::say_json(&value)?;
    }
    let unknown = |error: serde_json::Error| {
        let hint = Some("is the controller of this version?");
        Failure::input(format!("the answer is not understood: {error}"), None, hint)
    };
    if !answer.is_good() {
        let problem: Problem = serde_json::from_value(value).map_err(unknown)?;
        output::complain(&problem_text(&problem));
    } else if !as_json {
        let accepted: Accepted = serde_json::from_value(value).map_err(unknown)?;
        output::say(&accepted_text(&accepted))?;
    }
    Ok(answer.outcome())
}

fn accepted_text(accepted: &Accepted) -> String {
    let mut text = String::new();
    for row in &accepted.bounds {
        let bound = row.delay_bound_ns.map_or_else(|| "none".to_owned(), ms_up_ns);
        let deadline = ms_up_ns(row.deadline_ns);
        writeln!(
            text,
            "{} to {} in {}: bound {bound} ms, deadline {deadline} ms",
            row.flow, row.target, row.mode
        )
        .expect("a string");
    }
    for warning in &accepted.warnings {
        writeln!(text, "warning: {warning}").expect("a string");
    }
    let ms = ms_down(i128::from(accepted.took_us) * 1_000_000);
    let word =
        if accepted.in_force { "ADMITTED: decision" } else { "WOULD BE ADMITTED after decision" };
    let state = match accepted.state.as_str() {
        "pending" => "; pending: not all switches have it yet",
        _ => "",
    };
    writeln!(text, "{word} {}, by {} in {ms} ms{state}", accepted.decision, accepted.decided_by)
        .expect("a string");
    text
}

/// A problem as `tenuto plan` tells of refusals and of mistakes.
pub(crate) fn problem_text(problem: &Problem) -> String {
    let mut text = String::new();
    for refusal in &problem.refusals {
        text.push_str(&refusal_text(refusal));
    }
    for mistake in &problem.errors {
        writeln!(text, "error: {}, {}", mistake.message, mistake.field).expect("a string");
        if let Some(hint) = &mistake.hint {
            writeln!(text, "       {hint}").expect("a string");
        }
    }
    if text.is_empty() {
        writeln!(text, "error: {}: {}", problem.title, problem.detail).expect("a string");
    }
    text
}

fn refusal_text(refusal: &RefusalDocument) -> String {
    let mode = refusal.mode.as_ref().map_or_else(String::new, |mode| format!(" in mode {mode}"));
    let mut text =
        format!("REFUSED: {} cannot be guaranteed{mode}\n", counted(refusal.flows.len(), "flow"));
    let mut say = |name: &str, what: &str| {
        writeln!(text, "  {name:<9} {what}").expect("a string");
    };
    say("place", &refusal.place);
    let amount = match (refusal.needed, refusal.available) {
        (Some(needed), Some(available)) => {
            let (unit, short) = (&refusal.unit, needed.saturating_sub(available));
            format!("{}: needed {needed} {unit}, have {available}; short {short}", refusal.resource)
        }
        _ => refusal.resource.clone(),
    };
    say("resource", &amount);
    if !refusal.because.is_empty() {
        say("because", &refusal.because);
    }
    if !refusal.would_fit.is_empty() {
        say("would fit", &refusal.would_fit.join(", or "));
    }
    text
}

/// Every page of the list.
pub(crate) fn all(to: &Where) -> Result<Result<Vec<Value>, Answer>, Failure> {
    let (mut rows, mut after) = (Vec::new(), String::new());
    loop {
        let answer = to.ask("GET", &format!("/v1/flows?limit=1000{after}"), None)?;
        if !answer.is_good() {
            return Ok(Err(answer));
        }
        let page = answer.json()?;
        rows.extend(page["flows"].as_array().cloned().unwrap_or_default());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={}", escaped(next)),
            None => return Ok(Ok(rows)),
        }
    }
}

/// The flows as a table.
pub(crate) fn list(to: &Where, as_json: bool) -> Result<Outcome, Failure> {
    let rows = match all(to)? {
        Ok(rows) => rows,
        Err(answer) => return told(answer, as_json),
    };
    if as_json {
        output::say_json(&rows)?;
        return Ok(Outcome::Good);
    }
    let mut table =
        Table::new(&["flow", "target", "mode", "prio", "deadline ms", "bound ms", "slack ms"]);
    for row in rows.iter().filter_map(|row| row["bounds"].as_array()).flatten() {
        let word = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
        let ms = |key: &str| row[key].as_u64().map_or_else(|| "-".to_owned(), ms_up_ns);
        let slack = row["slack_ns"].as_u64().map(|ns| ms_down(i128::from(ns) * 1_000));
        table.push(vec![
            word("flow"),
            word("target"),
            word("mode"),
            row["priority"].to_string(),
            ms("deadline_ns"),
            ms("delay_bound_ns"),
            slack.unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    output::say(&table.text())?;
    Ok(Outcome::Good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_a_network_file_has_them() {
        for (text, value) in [
            ("source=s1", json!("s1")),
            ("targets=d1, d2", json!(["d1", "d2"])),
            ("period=25 ms", json!("25 ms")),
            ("period=LO:200ms,HI:22ms", json!({"LO": "200ms", "HI": "22ms"})),
            ("copies=disjoint", json!("disjoint")),
            ("targets={\"d1\": {\"route\": [\"sw1\"]}}", json!({"d1": {"route": ["sw1"]}})),
        ] {
            assert_eq!(field(text).expect(text).1, value, "{text}");
        }
        assert!(field("period").is_err() && field("targets=[").is_err());
        assert_eq!(escaped("a b/ü"), "a%20b%2F%C3%BC");
    }
}
