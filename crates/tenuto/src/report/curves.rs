//! A figure that stands alone: delays along something that is counted, one line per curve.

use super::svg::{Anchor, Axis, Svg, WIDTH, time_tick};

const HEIGHT: f64 = 420.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 230.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = HEIGHT - 52.0;
/// Colours that are told apart without red and green.
const STYLE: &str = "svg{font:13px sans-serif;background:#fff}.axis{stroke:#444}\
    .grid{stroke:#ddd}.c0{stroke:#0072b2;fill:#0072b2}.c1{stroke:#d55e00;fill:#d55e00}\
    .c2{stroke:#009e73;fill:#009e73}.c3{stroke:#cc79a7;fill:#cc79a7}.c4{stroke:#000;fill:#000}\
    line{stroke-width:1.6}.thin{stroke-dasharray:4 4}text{fill:#222;stroke:none}";
const CLASSES: [&str; 5] = ["c0", "c1", "c2", "c3", "c4"];
const THIN: [&str; 5] = ["c0 thin", "c1 thin", "c2 thin", "c3 thin", "c4 thin"];

/// One curve.
#[derive(Debug)]
pub(crate) struct Curve {
    pub(crate) name: String,
    /// Where along, and how long in nanoseconds.
    pub(crate) points: Vec<(u64, u64)>,
    /// Colour, which two curves may share.
    pub(crate) colour: usize,
    pub(crate) is_thin: bool,
}

/// Draws the curves; `along` is what is counted, on a logarithmic axis if `is_log`.
pub(crate) fn curves(title: &str, along: &str, is_log: bool, curves: &[Curve]) -> String {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let last = all().map(|(x, _)| *x).max().unwrap_or(1);
    let x_axis = match is_log {
        true => Axis::log(LEFT, RIGHT, 1.0, last as f64),
        false => Axis::linear(LEFT, RIGHT, last as f64),
    };
    let y_axis = Axis::fitting(BOTTOM, TOP, all().map(|(_, y)| *y));
    let mut svg = Svg::new();
    svg.text(LEFT, 18.0, Anchor::Start, "title", title);
    for tick in y_axis.ticks() {
        let y = y_axis.at(tick);
        svg.line((LEFT, y), (RIGHT, y), "grid");
        svg.text(LEFT - 6.0, y + 4.0, Anchor::End, "tick", &time_tick(tick));
    }
    for tick in x_axis.ticks() {
        let x = x_axis.at(tick);
        svg.line((x, BOTTOM), (x, BOTTOM + 4.0), "axis");
        svg.text(x, BOTTOM + 18.0, Anchor::Middle, "tick", &tick.to_string());
    }
    svg.line((LEFT, BOTTOM), (RIGHT, BOTTOM), "axis");
    svg.line((LEFT, TOP), (LEFT, BOTTOM), "axis");
    svg.text(f64::midpoint(LEFT, RIGHT), HEIGHT - 12.0, Anchor::Middle, "along", along);
    let mut y = TOP + 8.0;
    for curve in curves {
        let colour = curve.colour % CLASSES.len();
        let class = if curve.is_thin { THIN[colour] } else { CLASSES[colour] };
        let at = |&(along, ns): &(u64, u64)| (x_axis.at(along), y_axis.at(ns));
        for pair in curve.points.windows(2) {
            svg.line(at(&pair[0]), at(&pair[1]), class);
        }
        for point in &curve.points {
            let (x, y) = at(point);
            let words = format!("{}: {} at {}", curve.name, time_tick(point.1), point.0);
            svg.titled(&words, |svg| svg.dot(x, y, 2.4, CLASSES[colour]));
        }
        svg.line((RIGHT + 14.0, y), (RIGHT + 40.0, y), class);
        svg.text(RIGHT + 46.0, y + 4.0, Anchor::Start, "name", &curve.name);
        y += 20.0;
    }
    let figure = svg.finish(WIDTH, HEIGHT, title);
    // Alone, it brings its colours along.
    format!("{}\n", figure.replacen('>', &format!("><style>{STYLE}</style>"), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_drawn_and_every_curve_named() {
        let curve = |name: &str, colour, is_thin| Curve {
            name: name.into(),
            points: vec![(1, 4_000), (10, 5_000), (2_000, 900_000)],
            colour,
            is_thin,
        };
        let both = [curve("one <a>", 0, false), curve("two", 7, true)];
        let drawn = curves("delays", "flows", true, &both);
        assert_eq!(drawn.matches("<circle").count(), 6);
        assert!(drawn.contains("one &lt;a&gt;") && drawn.contains("c2 thin"));
        assert!(drawn.starts_with("<svg xmlns=") && drawn.contains("<style>"));
        assert!(curves("nothing", "flows", false, &[]).ends_with("</svg>\n"));
    }
}
