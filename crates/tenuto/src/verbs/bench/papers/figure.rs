//! A figure or table of a paper, ours beside the print.

use crate::verbs::bench::sheet::{Sheet, rounded};
use serde_json::Value;

/// What is shown of one figure.
#[derive(Debug)]
pub(super) struct Figure {
    /// Key of the paper in docs/theory/references.md.
    pub(super) paper: &'static str,
    /// As the paper names it.
    pub(super) name: &'static str,
    /// The world that produced it.
    pub(super) world: String,
    /// Values in the order of the figure.
    pub(super) values: Sheet,
    /// What the print says, beside ours.
    pub(super) printed: Vec<Printed>,
    /// Drawn in the axes of the print; none for a table.
    pub(super) svg: Option<String>,
}

/// One statement of the print, and what we see of it.
#[derive(Debug)]
pub(super) struct Printed {
    /// The statement.
    pub(super) what: String,
    /// Its value, where it has one.
    pub(super) printed: Option<f64>,
    /// Ours.
    pub(super) ours: Option<f64>,
    /// Whether ours agrees with a statement that has no value, or is judged by a threshold.
    pub(super) agrees: Option<bool>,
}

impl Printed {
    /// A printed number beside ours.
    pub(super) fn value(what: impl Into<String>, printed: f64, ours: f64) -> Self {
        Self { what: what.into(), printed: Some(printed), ours: Some(ours), agrees: None }
    }

    /// A statement that holds here or not.
    pub(super) fn claim(what: impl Into<String>, agrees: bool) -> Self {
        Self { what: what.into(), printed: None, ours: None, agrees: Some(agrees) }
    }

    /// Ours against the print, percent.
    pub(super) fn deviation_percent(&self) -> Option<f64> {
        let (printed, ours) = (self.printed?, self.ours?);
        (printed != 0.0).then(|| (ours - printed) / printed * 100.0)
    }

    fn word(&self) -> Value {
        self.agrees.map_or(Value::Null, |agrees| Value::from(if agrees { "yes" } else { "no" }))
    }
}

impl Figure {
    /// The statements as a table.
    pub(super) fn statements(&self) -> Sheet {
        let title = format!("{}, {}: print and ours", self.paper, self.name);
        let mut sheet =
            Sheet::new(title, &["statement", "printed", "ours", "deviation percent", "agrees"]);
        let number = |value: Option<f64>| value.map_or(Value::Null, |value| rounded(value, 3));
        for it in &self.printed {
            let deviation = it.deviation_percent().map_or(Value::Null, |it| rounded(it, 1));
            let what = it.what.clone().into();
            sheet.push(vec![what, number(it.printed), number(it.ours), deviation, it.word()]);
        }
        sheet.note(format!("world: {}", self.world));
        sheet
    }
}
