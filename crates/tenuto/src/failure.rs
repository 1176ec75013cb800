//! What ends a verb early: located, worded to teach, also as a document for programs.

use crate::header::Header;
use crate::outcome::Outcome;
use crate::output;
use serde::Serialize;
use tenuto_model::{Column, Diagnostic, Diagnostics, Severity};

/// Why a verb could not do what it was asked.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    outcome: Outcome,
    verdict: &'static str,
    /// What people read.
    text: String,
    problems: Vec<Diagnostic>,
}

/// The document of a failure.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    problems: Vec<Problem<'a>>,
}

/// One problem, as programs read it.
#[derive(Serialize)]
pub(crate) struct Problem<'a> {
    severity: String,
    message: &'a str,
    hint: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<String>,
    field_path: Option<&'a str>,
}

impl<'a> From<&'a Diagnostic> for Problem<'a> {
    fn from(it: &'a Diagnostic) -> Self {
        let some = |text: &'a str| (!text.is_empty()).then_some(text);
        Self {
            severity: it.severity.to_string(),
            message: &it.message,
            hint: it.hint.as_deref(),
            file: some(&it.file),
            line: it.line,
            column: it.column.as_ref().map(|column| match column {
                Column::Number(number) => number.to_string(),
                Column::Name(name) => name.clone(),
            }),
            field_path: some(&it.field_path),
        }
    }
}

impl Failure {
    /// What people read.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Bad input: one message, where it is, and what to do.
    pub(crate) fn input(
        message: impl Into<String>,
        file: Option<&str>,
        hint: Option<&str>,
    ) -> Self {
        Self::one(Outcome::BadInput, "bad_input", message.into(), file, hint)
    }

    /// Bad input: every problem of it, and what it came to.
    pub(crate) fn of(problems: &Diagnostics, end: &str) -> Self {
        Self {
            outcome: Outcome::BadInput,
            verdict: "bad_input",
            text: problems.text(end),
            problems: problems.iter().cloned().collect(),
        }
    }

    /// A command line that says nothing sensible; it was told to people already.
    pub(crate) fn usage(message: &str) -> Self {
        Self::one(Outcome::BadInput, "bad_input", message.into(), None, None)
    }

    /// What cannot be decided here: a right, a device, time or memory is missing.
    pub(crate) fn undecidable(message: impl Into<String>, hint: Option<&str>) -> Self {
        Self::one(Outcome::Undecidable, "undecidable", message.into(), None, hint)
    }

    /// What the independent checker found in a plan: its bounds are not to be relied on.
    pub(crate) fn not_certified(findings: &[String]) -> Self {
        const LISTED_MAX: usize = 20;
        let count = tenuto_units::counted(findings.len() as u64, "difference");
        let mut text = format!(
            "error: not certified: the checker found {count} between the plan and what its \
             description gives; no bound is shown\n"
        );
        for finding in findings.iter().take(LISTED_MAX) {
            text.push_str(&format!("  {finding}\n"));
        }
        if findings.len() > LISTED_MAX {
            text.push_str(&format!("  and {} more\n", findings.len() - LISTED_MAX));
        }
        let problems =
            findings.iter().map(|finding| problem(finding.clone(), None, None)).collect();
        Self { outcome: Outcome::Undecidable, verdict: "not_certified", text, problems }
    }

    fn one(
        outcome: Outcome,
        verdict: &'static str,
        message: String,
        file: Option<&str>,
        hint: Option<&str>,
    ) -> Self {
        let problem = problem(message, file, hint);
        let text = if problem.file.is_empty() {
            let hint = hint.map_or_else(String::new, |hint| format!("\n       {hint}"));
            format!("error: {}{hint}", problem.message)
        } else {
            problem.to_string()
        };
        Self { outcome, verdict, text, problems: vec![problem] }
    }

    /// Tells people, and programs where they asked.
    pub(crate) fn report(&self, wants_json: bool) -> Outcome {
        output::complain(&self.text);
        if wants_json {
            self.report_json();
        }
        self.outcome
    }

    /// How a verb ended whose result has been shown and could not be kept: the computing cannot be
    /// looked at again, so the file comes second. Only what was good is spoilt by it.
    pub(crate) fn unkept(kept: Result<(), Self>, judged: Outcome) -> Outcome {
        let Err(failure) = kept else { return judged };
        let lost = failure.report(false);
        if judged == Outcome::Good { lost } else { judged }
    }

    /// The document alone.
    pub(crate) fn report_json(&self) {
        let document = Document {
            header: Header::new("tenuto-failure/1", self.verdict),
            problems: self.problems.iter().map(Problem::from).collect(),
        };
        // A stdout that cannot be written has been told on stderr or is a closed pipe.
        let _ = output::say_json(&document);
    }
}

/// An error without a line.
fn problem(message: String, file: Option<&str>, hint: Option<&str>) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        message,
        hint: hint.map(str::to_owned),
        file: file.unwrap_or_default().to_owned(),
        line: None,
        column: None,
        field_path: String::new(),
        excerpt: String::new(),
    }
}

impl From<Diagnostics> for Failure {
    fn from(problems: Diagnostics) -> Self {
        Self::of(&problems, "nothing was planned")
    }
}
