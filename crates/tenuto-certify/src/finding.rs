//! Differences between what a plan says and what its description gives.

use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::fmt::{self, Write};

/// Findings that are kept; a plan with more is beyond reading anyway.
pub(crate) const FINDINGS_MAX: usize = 10_000;

/// Bytes of each of its texts: names in a plan may be as long as the plan.
const TEXT_BYTES_MAX: usize = 1_000;

/// One difference between a claim of the plan and what was rebuilt from its description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where: a port label, a switch, a flow with its target, or a field of the plan.
    pub place: String,
    /// What the plan says.
    pub claim: String,
    /// What was found instead.
    pub found: String,
    /// The rule that is broken: a section of the analysis chapter, or of the plan's format.
    pub rule: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}; found: {}", self.rule, self.place, self.claim, self.found)
    }
}

/// All findings so far, in the order of the checks.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: RefCell<Vec<Finding>>,
    left_off: Cell<usize>,
}

impl Findings {
    pub(crate) fn add(
        &self,
        rule: &'static str,
        place: impl fmt::Display,
        claim: impl fmt::Display,
        found: impl fmt::Display,
    ) {
        let mut list = self.list.borrow_mut();
        if list.len() >= FINDINGS_MAX {
            return self.left_off.set(self.left_off.get() + 1);
        }
        let (place, claim, found) = (cut(&place), cut(&claim), cut(&found));
        list.push(Finding { place, claim, found, rule });
    }

    /// Says of every finding from `place` on what it is about.
    pub(crate) fn name_since(&self, place: usize, about: &str) {
        for finding in self.list.borrow_mut().iter_mut().skip(place).filter(|it| it.place != about)
        {
            finding.place = cut(&format_args!("{about}: {}", finding.place));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.borrow().len() + self.left_off.get()
    }

    pub(crate) fn into_result<T>(self, value: T) -> Result<T, Vec<Finding>> {
        let (mut list, left_off) = (self.list.into_inner(), self.left_off.get());
        if list.is_empty() {
            return Ok(value);
        }
        if left_off > 0 {
            list.push(Finding {
                place: "plan".into(),
                claim: format!("{FINDINGS_MAX} findings are listed"),
                found: format!("{left_off} more"),
                rule: rule::LIMIT,
            });
        }
        Err(list)
    }
}

/// The text, as far as anybody would read it.
fn cut(text: &impl fmt::Display) -> String {
    let mut short = Cut { text: String::new() };
    // It fails where the text is long enough, which is no error.
    let _ = write!(short, "{text}");
    short.text
}

struct Cut {
    text: String,
}

impl fmt::Write for Cut {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = TEXT_BYTES_MAX.saturating_sub(self.text.len());
        if more.len() <= room {
            self.text.push_str(more);
            return Ok(());
        }
        let end = (0..=room).rev().find(|end| more.is_char_boundary(*end)).unwrap_or(0);
        self.text.push_str(&more[..end]);
        self.text.push('…');
        Err(fmt::Error)
    }
}

/// A bound in picoseconds, or `unbounded`.
pub(crate) fn picos(value: Option<u128>) -> String {
    value.map_or_else(|| "unbounded".to_owned(), |ps| format!("{ps} ps"))
}

/// Names of the rules.
pub(crate) mod rule {
    pub(crate) const FORMAT: &str = "format";
    pub(crate) const LIMIT: &str = "limits of the checker";
    pub(crate) const DIGEST: &str = "digest";
    pub(crate) const DESCRIPTION: &str = "description";
    pub(crate) const ROUTE: &str = "route";
    pub(crate) const PROCESSOR: &str = "a processor that the ports share";
    pub(crate) const SERVICE: &str = "delay of a class (x >= F(x))";
    pub(crate) const BUSY: &str = "busy period (what has come is served)";
    pub(crate) const OVERLOAD: &str = "overload has no finite bound";
    pub(crate) const BACKLOG: &str = "backlog";
    pub(crate) const PORT_ROW: &str = "port row";
    pub(crate) const FLOW_BOUND: &str = "flow bound";
    pub(crate) const DEADLINE: &str = "deadline";
    pub(crate) const SKEW: &str = "skew";
    pub(crate) const MODE_CHANGE: &str = "D_mc";
    pub(crate) const QUIET: &str = "quiet window";
    pub(crate) const METER: &str = "meter";
    pub(crate) const MONITOR: &str = "monitor";
    pub(crate) const DEVICE: &str = "limits of the device";
    pub(crate) const DEPLOYMENT: &str = "deployment";
    pub(crate) const PREREQUISITE: &str = "prerequisites of a match (OpenFlow 1.3.5, 7.2.3.8)";
    pub(crate) const INSTALLED: &str = "what a switch takes on";
    pub(crate) const WALK: &str = "walk through the tables";
    pub(crate) const END_SYSTEM: &str = "end system";
    pub(crate) const LINEAR: &str = "linear proof";
    pub(crate) const LINK_LOSS: &str = "after the loss of a link";
    pub(crate) const FEASIBLE: &str = "feasible";
    pub(crate) const ASSUMED: &str = "what is assumed";
}
