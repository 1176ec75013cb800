//! Pictures in the axes of the prints: box plots along a parameter, and empirical distributions.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 70.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = HEIGHT - 56.0;
/// Ticks of an axis, at most.
const TICKS: usize = 6;
/// Colours that are told apart without red and green.
const STYLE: &str = "svg{font:13px sans-serif;background:#fff}text{fill:#222}.axis{stroke:#444}\
    .grid{stroke:#ddd}.box{fill:#cfe3f3;stroke:#0072b2}.mid{stroke:#0072b2;stroke-width:2}\
    .mark{stroke:#0072b2}.promise{stroke:#c02020;stroke-width:1.5}.least{stroke:#000}\
    .lost{fill:#0072b2;stroke:#0072b2}.none{fill:#fff;stroke:#0072b2}\
    .c0{stroke:#0072b2}.c1{stroke:#d55e00}.c2{stroke:#009e73}.c3{stroke:#cc79a7}.c4{stroke:#000}\
    polyline{fill:none;stroke-width:1.8}";

/// How one box lies.
#[derive(Clone, Debug)]
pub(super) struct Boxed {
    /// Below it.
    pub(super) label: String,
    /// Least, 1 %, 25 %, 50 %, 75 %, 99 %, largest, ms; none if nothing arrived.
    pub(super) quantiles: Option<[f64; 7]>,
    /// Share that was lost, percent; none where the print shows no losses.
    pub(super) lost_percent: Option<f64>,
}

/// Boxes along a parameter.
#[derive(Debug)]
pub(super) struct Boxes<'a> {
    pub(super) title: &'a str,
    pub(super) along: &'a str,
    pub(super) of: &'a str,
    pub(super) boxes: &'a [Boxed],
    /// The promise, ms.
    pub(super) promise: Option<f64>,
}

impl Boxes<'_> {
    /// The picture.
    pub(super) fn svg(&self) -> String {
        let all = self.boxes.iter().filter_map(|it| it.quantiles).map(|it| it[6]);
        let most = all.chain(self.promise).fold(0.0, f64::max).max(1e-9) * 1.08;
        let y = |value: f64| BOTTOM - value / most * (BOTTOM - TOP);
        let mut out = frame(self.title, self.along, self.of, most, &y);
        let step = (RIGHT - LEFT) / self.boxes.len().max(1) as f64;
        for (place, it) in self.boxes.iter().enumerate() {
            let x = LEFT + step * (place as f64 + 0.5);
            text(&mut out, x, BOTTOM + 18.0, "middle", &it.label);
            if let Some(quantiles) = it.quantiles {
                one_box(&mut out, x, step * 0.28, quantiles.map(y));
            }
            if let Some(lost) = it.lost_percent {
                let at = BOTTOM - lost / 100.0 * (BOTTOM - TOP);
                let class = if lost > 0.0 { "lost" } else { "none" };
                let _ = write!(
                    out,
                    "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{at:.1}\" r=\"4\"/>",
                    x + step * 0.36
                );
            }
        }
        if self.boxes.iter().any(|it| it.lost_percent.is_some()) {
            for percent in [0, 50, 100] {
                let at = BOTTOM - f64::from(percent) / 100.0 * (BOTTOM - TOP);
                text(&mut out, RIGHT + 6.0, at + 4.0, "start", &format!("{percent} % lost"));
            }
        }
        if let Some(promise) = self.promise {
            line(&mut out, (LEFT, y(promise)), (RIGHT, y(promise)), "promise");
        }
        out.push_str("</svg>\n");
        out
    }
}

/// A box with whiskers to 1 and 99 %, and crosses at the ends.
fn one_box(out: &mut String, x: f64, half: f64, at: [f64; 7]) {
    let [least, p1, p25, p50, p75, p99, most] = at;
    line(out, (x, p1), (x, p25), "mark");
    line(out, (x, p75), (x, p99), "mark");
    let height = (p25 - p75).max(0.5);
    let _ = write!(
        out,
        "<rect class=\"box\" x=\"{:.1}\" y=\"{p75:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
        x - half,
        half * 2.0
    );
    line(out, (x - half, p50), (x + half, p50), "mid");
    for y in [least, most] {
        line(out, (x - 4.0, y - 4.0), (x + 4.0, y + 4.0), "mark");
        line(out, (x - 4.0, y + 4.0), (x + 4.0, y - 4.0), "mark");
    }
}

/// A curve of an empirical distribution, or of values in order.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

impl Curve {
    /// The distribution of values.
    pub(super) fn distribution(name: &str, values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len().max(1) as f64;
        let mut points: Vec<(f64, f64)> = sorted.first().map(|&it| (it, 0.0)).into_iter().collect();
        points.extend(sorted.iter().enumerate().map(|(at, &it)| (it, (at + 1) as f64 / count)));
        Self { name: name.into(), points }
    }
}

/// Curves over a common axis; `marks` are vertical lines.
pub(super) fn curves(title: &str, along: &str, of: &str, all: &[Curve], marks: &[f64]) -> String {
    let points = || all.iter().flat_map(|it| &it.points);
    let right = points().map(|it| it.0).chain(marks.iter().copied()).fold(0.0, f64::max);
    let most = points().map(|it| it.1).fold(0.0, f64::max).max(1e-9) * 1.05;
    let right = right.max(1e-9) * 1.03;
    let y = |value: f64| BOTTOM - value / most * (BOTTOM - TOP);
    let x = |value: f64| LEFT + value / right * (RIGHT - LEFT);
    let mut out = frame(title, along, of, most, &y);
    for tick in ticks(right) {
        text(&mut out, x(tick), BOTTOM + 18.0, "middle", &short(tick));
    }
    for &mark in marks {
        line(&mut out, (x(mark), TOP), (x(mark), BOTTOM), "promise");
    }
    for (place, curve) in all.iter().enumerate() {
        let class = format!("c{}", place % 5);
        let _ = write!(out, "<polyline class=\"{class}\" points=\"");
        for &(along, value) in &curve.points {
            let _ = write!(out, "{:.1},{:.1} ", x(along), y(value));
        }
        out.push_str("\"/>");
        let row = TOP + 16.0 * place as f64;
        line(&mut out, (LEFT + 12.0, row), (LEFT + 34.0, row), &class);
        text(&mut out, LEFT + 40.0, row + 4.0, "start", &curve.name);
    }
    out.push_str("</svg>\n");
    out
}

fn frame(title: &str, along: &str, of: &str, most: f64, y: &dyn Fn(f64) -> f64) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\
         <style>{STYLE}</style>"
    );
    text(&mut out, LEFT, 18.0, "start", title);
    for tick in ticks(most) {
        line(&mut out, (LEFT, y(tick)), (RIGHT, y(tick)), "grid");
        text(&mut out, LEFT - 6.0, y(tick) + 4.0, "end", &short(tick));
    }
    line(&mut out, (LEFT, BOTTOM), (RIGHT, BOTTOM), "axis");
    line(&mut out, (LEFT, TOP), (LEFT, BOTTOM), "axis");
    text(&mut out, f64::midpoint(LEFT, RIGHT), HEIGHT - 12.0, "middle", along);
    let _ = write!(
        out,
        "<text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(TOP, BOTTOM),
        escape(of)
    );
    out
}

/// Round values up to the largest.
fn ticks(most: f64) -> Vec<f64> {
    let rough = most / TICKS as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps.iter().map(|it| it * power).find(|it| *it >= rough).unwrap_or(power * 10.0);
    (0..=TICKS * 2).map(|at| at as f64 * step).take_while(|it| *it <= most).collect()
}

fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), class: &str) {
    let _ = write!(
        out,
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let words = escape(words);
    let _ = write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}

/// Text within markup.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{short, ticks};

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        assert_eq!(ticks(6.0), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(
            ticks(0.5).iter().map(|it| short(*it)).collect::<Vec<_>>(),
            ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]
        );
    }
}
