//! Distributions as pictures: panels in rows, a curve for each case, time on a logarithmic axis.

use std::fmt::Write;

const PANEL_WIDTH: f64 = 300.0;
const PANEL_HEIGHT: f64 = 210.0;
const LEFT: f64 = 46.0;
const TOP: f64 = 62.0;
const BETWEEN: f64 = 56.0;
/// Points of a curve; what lies between two cannot be seen.
const POINTS_MAX: usize = 200;
/// Colours that are told apart without red and green.
const COLOURS: [&str; 6] = ["#0b4f6c", "#b1740f", "#6b2d5c", "#2f6690", "#c44536", "#3d3d3d"];

/// Times of one case, in order.
pub(super) struct Curve {
    pub(super) label: String,
    /// Of how many: those that never ended are not among the times.
    pub(super) of: usize,
    pub(super) sorted_ms: Vec<f64>,
}

/// Cases that are drawn into one another.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) curves: Vec<Curve>,
}

/// The decades that hold all times.
struct Axis {
    first: i32,
    last: i32,
}

impl Axis {
    fn of(panels: &[Panel]) -> Self {
        let times = || panels.iter().flat_map(|it| &it.curves).flat_map(|it| &it.sorted_ms);
        let least = times().copied().fold(f64::INFINITY, f64::min).clamp(1e-3, 1e6);
        let most = times().copied().fold(0.0, f64::max).clamp(least, 1e9);
        #[allow(clippy::cast_possible_truncation)] // from 1e-3 to 1e9
        let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32);
        Self { first, last: last.max(first + 1) }
    }

    fn x(&self, ms: f64) -> f64 {
        let share =
            (ms.max(1e-6).log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        share.clamp(0.0, 1.0) * PANEL_WIDTH
    }
}

/// An SVG of all panels, so many in a row.
pub(super) fn picture(title: &str, in_row: usize, panels: &[Panel]) -> String {
    let axis = Axis::of(panels);
    let in_row = in_row.max(1);
    let rows = panels.len().div_ceil(in_row);
    let width = LEFT + in_row as f64 * (PANEL_WIDTH + BETWEEN);
    let height = TOP + rows as f64 * (PANEL_HEIGHT + BETWEEN) + 10.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"{title}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"14\" font-weight=\"bold\">{title}</text>\n"
    );
    legend(&mut out, panels);
    for (number, panel) in panels.iter().enumerate() {
        let x = LEFT + (number % in_row) as f64 * (PANEL_WIDTH + BETWEEN);
        let y = TOP + (number / in_row) as f64 * (PANEL_HEIGHT + BETWEEN);
        let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
        draw(&mut out, &axis, panel);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

fn legend(out: &mut String, panels: &[Panel]) {
    let labels = panels.iter().max_by_key(|panel| panel.curves.len());
    for (number, curve) in labels.map(|it| &it.curves).into_iter().flatten().enumerate() {
        let (x, colour) = (LEFT + number as f64 * 90.0, COLOURS[number % COLOURS.len()]);
        let _ = writeln!(
            out,
            "<path d=\"M{x} 38h22\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{}\" y=\"42\">{}</text>",
            x + 27.0,
            curve.label
        );
    }
}

fn draw(out: &mut String, axis: &Axis, panel: &Panel) {
    let _ = writeln!(
        out,
        "<text y=\"-6\" font-weight=\"bold\">{}</text>\n\
         <rect width=\"{PANEL_WIDTH}\" height=\"{PANEL_HEIGHT}\" fill=\"none\" stroke=\"#888\"/>",
        panel.title
    );
    for decade in axis.first..=axis.last {
        let ms = 10_f64.powi(decade);
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} 0v{PANEL_HEIGHT}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{ms} ms</text>",
            PANEL_HEIGHT + 14.0,
            x = axis.x(ms),
        );
    }
    for percent in [0_u32, 20, 40, 60, 80, 100] {
        let y = PANEL_HEIGHT * (1.0 - f64::from(percent) / 100.0);
        let _ = writeln!(
            out,
            "<path d=\"M0 {y:.1}h{PANEL_WIDTH}\" stroke=\"#eee\"/>\
             <text x=\"-5\" y=\"{:.1}\" text-anchor=\"end\">{percent} %</text>",
            y + 4.0
        );
    }
    for (number, curve) in panel.curves.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let _ = writeln!(
            out,
            "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"><title>{}</title></path>",
            line_of(axis, curve),
            curve.label
        );
    }
}

fn line_of(axis: &Axis, curve: &Curve) -> String {
    let (count, of) = (curve.sorted_ms.len(), curve.of.max(1) as f64);
    let step = count.div_ceil(POINTS_MAX).max(1);
    let mut line =
        format!("M{:.1} {PANEL_HEIGHT}", curve.sorted_ms.first().map_or(0.0, |ms| axis.x(*ms)));
    for (rank, ms) in curve.sorted_ms.iter().enumerate() {
        if rank % step == 0 || rank + 1 == count {
            let y = PANEL_HEIGHT * (1.0 - (rank + 1) as f64 / of);
            let _ = write!(line, "L{:.1} {y:.1}", axis.x(*ms));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_at_the_share_that_was_set_up() {
        let curve = Curve { label: "4 ms".into(), of: 4, sorted_ms: vec![1.0, 10.0] };
        let panels = [Panel { title: "OpenFlow, 2 switches".into(), curves: vec![curve] }];
        let axis = Axis::of(&panels);
        assert_eq!((axis.first, axis.last), (0, 1));
        assert_eq!(line_of(&axis, &panels[0].curves[0]), "M0.0 210L0.0 157.5L300.0 105.0");
        let drawn = picture("title", 1, &panels);
        assert!(drawn.contains(">1 ms</text>") && drawn.contains(">10 ms</text>"), "{drawn}");
    }

    #[test]
    fn nothing_to_draw_is_a_picture_too() {
        let panels = [Panel { title: "none".into(), curves: vec![] }];
        assert!(picture("title", 3, &panels).ends_with("</svg>\n"));
    }
}
