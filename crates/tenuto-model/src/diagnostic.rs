//! Problems found in input files: located, worded to teach, all reported at once.

use std::collections::BTreeMap;
use std::fmt;

/// Problems that are kept in full; what is beyond is counted only, so that a hostile file cannot
/// fill memory with complaints about itself.
const KEPT_MAX: usize = 200;
/// Warnings with one hint that are printed in full: a hundred alike hide the verdict below them.
const ALIKE_MAX: usize = 3;
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
    /// One block per problem, of warnings alike the first few, then the count; what does not concern a plan may print the
    /// problems one by one instead.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut alike: BTreeMap<&str, usize> = BTreeMap::new();
        for diagnostic in &self.kept {
            let hint = diagnostic.hint.as_deref();
            if let (Severity::Warning, Some(hint)) = (diagnostic.severity, hint) {
                let seen = alike.entry(hint).or_default();
                *seen += 1;
                if *seen > ALIKE_MAX {
                    continue;
                }
            }
            writeln!(f, "{diagnostic}")?;
        }
        for (hint, seen) in alike.into_iter().filter(|(_, seen)| *seen > ALIKE_MAX) {
            writeln!(f, "and {} more like that: {hint}", seen - ALIKE_MAX)?;
        }
        let count = |number: usize, word: &str| match number {
            1 => format!("1 {word}"),
            _ => format!("{number} {word}s"),
        };
        let dropped = self.errors + self.warnings - self.kept.len();
        if dropped > 0 {
            writeln!(f, "and {} like these", count(dropped, "more problem"))?;
        }
        match (self.errors, self.warnings) {
            (0, 0) => Ok(()),
            (0, warnings) => write!(f, "{}", count(warnings, "warning")),
            (errors, 0) => write!(f, "{}; nothing was planned", count(errors, "error")),
            (errors, warnings) => write!(
                f,
                "{}, {}; nothing was planned",
                count(errors, "error"),
                count(warnings, "warning")
            ),
        }
    }
}

/// The part of `line` around character `column` (from 1) that fits into a message.
pub(crate) fn excerpt(line: &str, column: u32) -> String {
    let line = line.trim_end();
    let column = usize::try_from(column).unwrap_or(usize::MAX);
    let indent = line.chars().take_while(|c| c.is_whitespace()).count();
    let room = EXCERPT_CHARS_MAX;
    let start = if column > indent + room - 8 { column.saturating_sub(room / 2) } else { indent };
    let clean = |c: char| if c.is_control() { ' ' } else { c };
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
    fn long_lines_are_cut_around_the_place() {
        let line = format!("{}BAD{}", "a".repeat(300), "b".repeat(300));
        let shown = excerpt(&line, 301);
        assert!(shown.contains("BAD") && shown.chars().count() <= EXCERPT_CHARS_MAX + 2);
    }
}
