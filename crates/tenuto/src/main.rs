//! Tenuto: plans, proves and enforces latency guarantees on small switched Ethernet networks.
//!
//! One binary, verbs first. Text for people goes to stdout, problems to stderr; `--json` puts
//! exactly one document on stdout, whatever the outcome. Exit codes are those of [`outcome`].

mod admission;
mod args;
mod campaign;
mod certified;
mod compared;
mod doctor_text;
mod explain_text;
mod failure;
mod format;
mod header;
mod live_view;
mod load;
mod named_file;
mod outcome;
mod output;
mod plan_csv;
mod plan_diff;
mod plan_graph;
mod plan_json;
mod plan_losses;
mod plan_text;
mod planning;
mod programs;
mod progress;
mod proved;
mod refusals;
mod report;
mod run_text;
mod sequence_chart;
mod server_bounds;
mod settings;
mod side_by_side;
mod tables_ovs;
mod tables_text;
mod tenants_text;
mod verbs;
mod watching;
mod witness;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The processes of a lab are this program in a role.
    if let Some(code) = tenuto_runtime::hidden_main(std::env::args_os()) {
        return code;
    }
    if let Some(code) = tenuto_hosting::hidden_main(std::env::args_os()) {
        return code;
    }
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error).into(),
    };
    let wants_json = args.verb.wants_json();
    match verbs::run(args.verb) {
        Ok(code) => code,
        Err(failure) => failure.report(wants_json).into(),
    }
}

/// Help and version are asked for; anything else is a usage error, also told to programs.
fn usage(error: &clap::Error) -> outcome::Outcome {
    if !error.use_stderr() {
        // A closed pipe is no reason to say anything.
        let _ = error.print();
        return outcome::Outcome::Good;
    }
    let _ = error.print();
    if std::env::args_os().any(|arg| arg == "--json") {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first);
        failure::Failure::usage(message).report_json();
    }
    outcome::Outcome::BadInput
}
