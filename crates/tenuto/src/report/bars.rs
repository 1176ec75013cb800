//! A chart of horizontal bars with marks: bounds, limits and observations on one axis.

use super::svg::{Anchor, Axis, Svg, WIDTH, place};
use super::text::shorten;

const LABEL_END: f64 = 232.0;
const PLOT_END: f64 = 724.0;
const NOTE_START: f64 = 738.0;
const ROW: f64 = 20.0;
const TOP: f64 = 26.0;

/// One row.
#[derive(Default)]
pub(super) struct Bar {
    pub(super) label: String,
    /// Ends of the bar's pieces, in order, each with its class.
    pub(super) pieces: Vec<(u64, &'static str)>,
    /// Upright marks.
    pub(super) ticks: Vec<(u64, &'static str)>,
    /// Dots: value, class, radius.
    pub(super) dots: Vec<(u64, &'static str, f64)>,
    /// Words at the right.
    pub(super) note: String,
    /// Whether the words are bad news.
    pub(super) is_bad: bool,
    pub(super) title: String,
}

impl Bar {
    fn values(&self) -> impl Iterator<Item = u64> + '_ {
        let pieces = self.pieces.iter().chain(&self.ticks).map(|p| p.0);
        pieces.chain(self.dots.iter().map(|d| d.0))
    }
}

/// The chart; `tick` writes a value of its axis, `note` heads the words at the right.
pub(super) fn bars(rows: &[Bar], tick: impl Fn(u64) -> String, note: &str, label: &str) -> String {
    let axis = Axis::fitting(LABEL_END, PLOT_END, rows.iter().flat_map(Bar::values));
    let height = TOP + ROW * place(rows.len()) + 8.0;
    let mut svg = Svg::new();
    let mut free_from = 0.0;
    for value in axis.ticks() {
        let x = axis.at(value);
        svg.line((x, TOP - 4.0), (x, height - 6.0), "grid-line");
        if x >= free_from {
            let anchor = if x > PLOT_END - 20.0 { Anchor::End } else { Anchor::Middle };
            svg.text(x, TOP - 10.0, anchor, "dim", &tick(value));
            free_from = x + 46.0;
        }
    }
    svg.text(NOTE_START, TOP - 10.0, Anchor::Start, "dim", note);
    if axis.is_log() {
        svg.text(LABEL_END - 24.0, TOP - 10.0, Anchor::End, "tiny", "logarithmic");
    }
    for (number, row) in rows.iter().enumerate() {
        let y = TOP + ROW * place(number);
        svg.titled(&row.title, |svg| draw(svg, row, y, &axis));
    }
    svg.finish(WIDTH, height, label)
}

fn draw(svg: &mut Svg, row: &Bar, y: f64, axis: &Axis) {
    let middle = y + ROW / 2.0;
    svg.text(LABEL_END - 10.0, middle + 4.0, Anchor::End, "", &shorten(&row.label, 36));
    let mut from = LABEL_END;
    for (to, class) in &row.pieces {
        let to = axis.at(*to);
        svg.rect(from, y + 4.0, to - from, ROW - 8.0, class);
        from = to.max(from);
    }
    for (value, class) in &row.ticks {
        let x = axis.at(*value);
        svg.line((x, y + 1.5), (x, y + ROW - 1.5), class);
    }
    for (value, class, radius) in &row.dots {
        svg.dot(axis.at(*value), middle, *radius, class);
    }
    let class = if row.is_bad { "bad-text" } else { "" };
    svg.text(NOTE_START, middle + 4.0, Anchor::Start, class, &shorten(&row.note, 38));
}
