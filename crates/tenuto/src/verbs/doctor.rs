//! `tenuto doctor`: what this machine can and cannot show.

use crate::args::Doctor;
use crate::failure::Failure;
use crate::header::Header;
use crate::outcome::Outcome;
use crate::{doctor_text, output};
use serde::Serialize;
use std::io::IsTerminal;
use tenuto_model::quantity::format_time;
use tenuto_runtime::DoctorReport;
use tenuto_units::Span;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    #[serde(flatten)]
    report: &'a DoctorReport,
}

pub(crate) fn run(args: &Doctor) -> Result<Outcome, Failure> {
    if std::io::stderr().is_terminal() {
        output::complain(&format!("measuring for {}", format_time(args.duration_ns)));
    }
    let report = tenuto_runtime::doctor(Span::from_ns(args.duration_ns)).map_err(|error| {
        Failure::undecidable(format!("this machine cannot be measured: {error}"), None)
    })?;
    if args.json {
        output::say_json(&Document {
            header: Header::new(
                "tenuto-doctor/1",
                if report.lab_possible { "possible" } else { "impossible" },
            )
            .world("live"),
            report: &report,
        })?;
    } else {
        output::say(&doctor_text::text(&report))?;
    }
    Ok(if report.lab_possible { Outcome::Good } else { Outcome::Undecidable })
}
