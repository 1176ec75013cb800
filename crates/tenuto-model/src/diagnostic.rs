//! Problems found in input files: located, worded to teach, all reported at once.

use std::collections::BTreeMap;
use std::fmt;

/// Problems that are kept in full; what is beyond is counted only, so that a hostile file cannot
/// fill memory with complaints about itself.
const KEPT_MAX: usize = 200;
/// Warnings with one hint that are printed in full: a hundred alike hide the verdict below them.
const WARNINGS_ALIKE_MAX: usize = 3;
/// Errors with one message that are printed in full.
const ERRORS_ALIKE_MAX: usize = 8;
/// Lines that are named of those that are not.
const LINES_TOLD_MAX: usize = 12;
/// Characters of a source line that are kept around the place of the problem.
const EXCERPT_CHARS_MAX: usize = 56;
/// Column at which the place is printed, if the message is shorter.
const PLACE_COLUMN: usize = 56;
/// Column at which the hint is printed, if the excerpt is shorter.
const HINT_COLUMN: usize = 43;
/// Longest line on which excerpt and hint stand side by side.
const LINE_CHARS_MAX: usize = 110;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The input is not used.
    Error,
    /// The input is used; someone should look.
    Warning,
}

/// Where in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Character number from 1.
    Number(u32),
    /// Name of a table column.
    Name(String),
}

/// One problem in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What was meant, or what would fit.
    pub hint: Option<String>,
    /// File, as it was named.
    pub file: String,
    /// Line number from 1.
    pub line: Option<u32>,
    /// Place in the line.
    pub column: Option<Column>,
    /// Key path, such as `flows.CAM.period`; empty for the file as a whole.
    pub field_path: String,
    /// The source line, cut to the neighbourhood of the problem; empty where there is none.
    pub excerpt: String,
}

/// All problems of one reading, in the order of files and lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Diagnostics {
    /// No problems.
    pub const fn new() -> Self {
        Self { kept: Vec::new(), errors: 0, warnings: 0 }
    }

    /// Adds a problem, unless the very same was added before (a default that many use); beyond a
    /// limit it is counted but not kept.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.kept.contains(&diagnostic) {
            return;
        }
        match diagnostic.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
        if self.kept.len() < KEPT_MAX {
            self.kept.push(diagnostic);
        }
    }

    /// Whether anything forbids the use of the input.
    pub const fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether further problems are counted only.
    pub(crate) const fn is_full(&self) -> bool {
        self.kept.len() >= KEPT_MAX
    }

    /// Number of errors, those not kept included.
    pub const fn errors(&self) -> usize {
        self.errors
    }

    /// Number of warnings, those not kept included.
    pub const fn warnings(&self) -> usize {
        self.warnings
    }

    /// Whether there is no problem at all.
    pub const fn is_empty(&self) -> bool {
        self.errors == 0 && self.warnings == 0
    }

    /// The problems that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.kept.iter()
    }

    /// Brings the problems of each file into the order of its lines; files stay in the order in
    /// which they were first complained about.
    pub(crate) fn sort(&mut self) {
        let mut files: Vec<String> = Vec::new();
        for diagnostic in &self.kept {
            if !files.contains(&diagnostic.file) {
                files.push(diagnostic.file.clone());
            }
        }
        self.kept.sort_by_key(|d| (files.iter().position(|f| *f == d.file), d.line));
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl std::error::Error for Diagnostics {}
impl std::error::Error for Diagnostic {}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = format!("{}: {}", self.severity, self.message);
        write!(f, "{head:PLACE_COLUMN$}  {}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match &self.column {
            Some(Column::Name(name)) => write!(f, ", column {name}")?,
            _ if !self.field_path.is_empty() => write!(f, ", {}", self.field_path)?,
            _ => {}
        }
        let hint = self.hint.as_deref().unwrap_or_default();
        match (self.line, self.excerpt.as_str()) {
            (Some(line), excerpt) if !excerpt.is_empty() => {
                let source = format!("{line:>4} | {excerpt}");
                let width = source.chars().count().max(HINT_COLUMN) + 2 + hint.chars().count();
                if hint.is_empty() {
                    write!(f, "\n{source}")
                } else if width <= LINE_CHARS_MAX {
                    write!(f, "\n{source:HINT_COLUMN$}  {hint}")
                } else {
                    write!(f, "\n{source}\n       {hint}")
                }
            }
            _ if !hint.is_empty() => write!(f, "\n       {hint}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Diagnostics {
    /// As [`Diagnostics::text`] where nothing is planned of what has errors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text("nothing was planned"))
    }
}

impl Diagnostics {
    /// One block per problem, of those alike the first few, then the counts, and what errors came to: `end`. What does
    /// not concern people may print the problems one by one instead.
    pub fn text(&self, end: &str) -> String {
        let mut out = String::new();
        let mut alike: BTreeMap<(Severity, &str), Vec<Option<u32>>> = BTreeMap::new();
        for diagnostic in &self.kept {
            let hint = diagnostic.hint.as_deref();
            let (kind, shown_max) = match (diagnostic.severity, hint) {
                (Severity::Warning, None) => (None, usize::MAX),
                (Severity::Warning, Some(hint)) => (Some(hint), WARNINGS_ALIKE_MAX),
                (Severity::Error, _) => (Some(diagnostic.message.as_str()), ERRORS_ALIKE_MAX),
            };
            if let Some(kind) = kind {
                let seen = alike.entry((diagnostic.severity, kind)).or_default();
                seen.push(diagnostic.line);
                if seen.len() > shown_max {
                    continue;
                }
            }
            out.push_str(&format!("{diagnostic}\n"));
        }
        for ((severity, kind), lines) in alike {
            out.push_str(&further(severity, kind, &lines));
        }
        out.push_str(&self.counts(end));
        out
    }

    /// How many there are, and what errors came to.
    fn counts(&self, end: &str) -> String {
        let count = |number: usize, word: &str| match number {
            1 => format!("1 {word}"),
            _ => format!("{number} {word}s"),
        };
        let mut out = String::new();
        let dropped = self.errors + self.warnings - self.kept.len();
        if dropped > 0 {
            out.push_str(&format!("and {} like these\n", count(dropped, "more problem")));
        }
        match (self.errors, self.warnings) {
            (0, 0) => {}
            (0, warnings) => out.push_str(&count(warnings, "warning")),
            (errors, 0) => out.push_str(&format!("{}; {end}", count(errors, "error"))),
            (errors, warnings) => {
                let (errors, warnings) = (count(errors, "error"), count(warnings, "warning"));
                out.push_str(&format!("{errors}, {warnings}; {end}"));
            }
        }
        out
    }
}

/// A line for those of a kind that were not shown, if any; errors with where they are.
fn further(severity: Severity, kind: &str, lines: &[Option<u32>]) -> String {
    let further = match severity {
        Severity::Warning => lines.get(WARNINGS_ALIKE_MAX..),
        Severity::Error => lines.get(ERRORS_ALIKE_MAX..),
    };
    let further = further.unwrap_or_default();
    if further.is_empty() {
        return String::new();
    }
    let numbers: Vec<String> =
        further.iter().flatten().take(LINES_TOLD_MAX).map(u32::to_string).collect();
    let more = if further.len() > numbers.len() { ", …" } else { "" };
    let lines = match (severity, numbers.is_empty()) {
        (Severity::Error, false) => format!(" (lines {}{more})", numbers.join(", ")),
        _ => String::new(),
    };
    format!("and {} more like that: {kind}{lines}\n", further.len())
}

/// The part of `line` around character `column` (from 1) that fits into a message.
pub(crate) fn excerpt(line: &str, column: u32) -> String {
    let line = line.trim_end();
    let column = usize::try_from(column).unwrap_or(usize::MAX);
    let indent = line.chars().take_while(|c| c.is_whitespace()).count();
    let room = EXCERPT_CHARS_MAX;
    let start = if column > indent + room - 8 { column.saturating_sub(room / 2) } else { indent };
    let clean = |c: char| if crate::read::reader::is_unseen(c) { ' ' } else { c };
    let mut shown: String = line.chars().skip(start).take(room).map(clean).collect();
    if start > indent {
        shown.insert(0, '…');
    }
    if line.chars().skip(start).nth(room).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bag() -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: "BAG must be a power of two from 1 to 128 ms".into(),
            hint: Some("20 ms is none: did you mean 16 or 32?".into()),
            file: "avionics-vls.csv".into(),
            line: Some(14),
            column: Some(Column::Name("bag_ms".into())),
            field_path: "flows.nav-att.bag".into(),
            excerpt: excerpt("1009,nav-att,irs1,disp1,20,512", 1),
        }
    }

    #[test]
    fn a_problem_is_printed_with_place_line_and_hint() {
        assert_eq!(
            bag().to_string(),
            "error: BAG must be a power of two from 1 to 128 ms        \
             avionics-vls.csv:14, column bag_ms\n  \
             14 | 1009,nav-att,irs1,disp1,20,512        20 ms is none: did you mean 16 or 32?"
        );
    }

    #[test]
    fn the_last_line_counts() {
        let mut all = Diagnostics::new();
        all.push(bag());
        all.push(bag());
        all.push(Diagnostic { line: Some(15), ..bag() });
        all.push(Diagnostic { severity: Severity::Warning, ..bag() });
        assert!(all.to_string().ends_with("\n2 errors, 1 warning; nothing was planned"));
    }

    #[test]
    fn of_many_errors_alike_the_lines_are_told() {
        let mut all = Diagnostics::new();
        for line in 1..=60 {
            all.push(Diagnostic { line: Some(line), ..bag() });
        }
        let text = all.text("nothing was imported");
        assert_eq!(text.matches("error: BAG").count(), ERRORS_ALIKE_MAX);
        let told =
            "and 52 more like that: BAG must be a power of two from 1 to 128 ms (lines 9, 10, 11,";
        assert!(text.contains(told), "{text}");
        assert!(text.ends_with("20, …)\n60 errors; nothing was imported"), "{text}");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let line = format!("{}BAD{}", "a".repeat(300), "b".repeat(300));
        let shown = excerpt(&line, 301);
        assert!(shown.contains("BAD") && shown.chars().count() <= EXCERPT_CHARS_MAX + 2);
    }
}
