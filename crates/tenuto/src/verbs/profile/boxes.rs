//! Box plots as in the figures of [Loko]: the box from 25 to 75 %, whiskers at 5 and 95 %, crosses at the least and the most.

use std::fmt::Write;
use tenuto_world::profiling::Summary;

const WIDTH: f64 = 760.0;
const ROW: f64 = 24.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 12.0;
const BELOW: f64 = 40.0;

/// A figure: rows of samples in one unit.
pub(super) struct Boxes<'a> {
    /// What the axis shows.
    pub(super) axis: &'a str,
    /// Nanoseconds, or whatever, of one unit of the axis.
    pub(super) unit: f64,
    /// Rows, each with its name.
    pub(super) rows: Vec<(String, Summary)>,
}

impl Boxes<'_> {
    /// The figure; empty without rows.
    pub(super) fn svg(&self) -> String {
        let most = self.rows.iter().map(|(_, it)| it.most_ns / self.unit).fold(0.0, f64::max);
        if self.rows.is_empty() || most <= 0.0 {
            return String::new();
        }
        let low = self.rows.iter().map(|(_, it)| it.least_ns / self.unit);
        let low = low.fold(f64::INFINITY, f64::min).max(most / 1e5);
        let scale = Scale::of(low, most);
        let height = TOP + ROW * self.rows.len() as f64 + BELOW;
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" aria-label=\"{}\">",
            escape(self.axis)
        );
        self.axis_into(&mut out, &scale, height);
        for (nth, (name, it)) in self.rows.iter().enumerate() {
            row_into(&mut out, &scale, (nth, name), it, self.unit);
        }
        out.push_str("</svg>");
        out
    }

    fn axis_into(&self, out: &mut String, scale: &Scale, height: f64) {
        let bottom = height - BELOW;
        for (value, x) in scale.ticks() {
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\
                 <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 15.0,
                short(value)
            );
        }
        let _ = write!(
            out,
            "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\">{}{}</text>",
            f64::midpoint(LEFT, WIDTH - RIGHT),
            height - 6.0,
            escape(self.axis),
            if scale.is_log { ", logarithmic" } else { "" }
        );
    }
}

fn row_into(out: &mut String, scale: &Scale, (nth, name): (usize, &str), it: &Summary, unit: f64) {
    let y = TOP + ROW * (nth as f64 + 0.5);
    let x = |ns: f64| scale.x(ns / unit);
    let ([low, median, high], [quarter, three]) = (it.percentiles_ns, it.quartiles_ns);
    let _ = write!(
        out,
        "<g><title>{}: least {}, 5 % {}, half {}, 95 % {}, most {}, of {}</title>\
         <text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        escape(name),
        short(it.least_ns / unit),
        short(low / unit),
        short(median / unit),
        short(high / unit),
        short(it.most_ns / unit),
        it.count,
        LEFT - 8.0,
        y + 4.0,
        escape(name)
    );
    for (from, to) in [(low, quarter), (three, high)] {
        let _ = write!(
            out,
            "<line class=\"whisker\" x1=\"{:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>",
            x(from),
            x(to)
        );
    }
    for end in [low, high] {
        let _ = write!(
            out,
            "<line class=\"whisker\" x1=\"{0:.1}\" y1=\"{1:.1}\" x2=\"{0:.1}\" y2=\"{2:.1}\"/>",
            x(end),
            y - 5.0,
            y + 5.0
        );
    }
    let _ = write!(
        out,
        "<rect class=\"box\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\"/>\
         <line class=\"median\" x1=\"{3:.1}\" y1=\"{1:.1}\" x2=\"{3:.1}\" y2=\"{4:.1}\"/>",
        x(quarter),
        y - 7.0,
        (x(three) - x(quarter)).max(1.0),
        x(median),
        y + 7.0
    );
    for cross in [it.least_ns, it.most_ns] {
        let at = x(cross);
        let _ = write!(
            out,
            "<path class=\"cross\" d=\"M{:.1} {:.1}l6 6m0 -6l-6 6\"/>",
            at - 3.0,
            y - 3.0
        );
    }
    out.push_str("</g>");
}

/// From values to places.
struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Scale {
    /// From zero, or over decades where the values differ by more than a factor of 20.
    fn of(low: f64, high: f64) -> Self {
        if high > low * 20.0 {
            let low = 10.0_f64.powf(low.log10().floor());
            let high = 10.0_f64.powf(high.log10().ceil()).max(low * 10.0);
            return Self { low, high, is_log: true };
        }
        Self { low: 0.0, high: high * 1.05, is_log: false }
    }

    fn x(&self, value: f64) -> f64 {
        let part = if self.is_log {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            value / self.high
        };
        (WIDTH - LEFT - RIGHT).mul_add(part.clamp(0.0, 1.0), LEFT)
    }

    fn ticks(&self) -> Vec<(f64, f64)> {
        let mut values = Vec::new();
        if self.is_log {
            let mut value = self.low;
            while value <= self.high * 1.001 {
                values.push(value);
                value *= 10.0;
            }
        } else {
            let step = 10.0_f64.powf((self.high / 5.0).log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0].map(|it| it * step);
            let step = step.into_iter().find(|it| self.high / it <= 8.0).unwrap_or(self.high);
            let mut value = 0.0;
            while value <= self.high {
                values.push(value);
                value += step;
            }
        }
        values.into_iter().map(|it| (it, self.x(it))).collect()
    }
}

/// Few digits that matter.
fn short(value: f64) -> String {
    match value.abs() {
        it if it >= 100.0 => format!("{value:.0}"),
        it if it >= 1.0 => format!("{value:.1}"),
        it if it >= 0.01 => format!("{value:.3}"),
        it if it > 0.0 => format!("{value:.5}"),
        _ => "0".into(),
    }
}

/// A text between tags.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{Boxes, Scale};
    use tenuto_world::profiling::Summary;

    #[test]
    fn places_keep_the_order_of_values_on_both_kinds_of_axis() {
        for scale in [Scale::of(3.0, 40.0), Scale::of(0.2, 9_000.0)] {
            let places: Vec<f64> = [0.1, 1.0, 5.0, 39.0].map(|it| scale.x(it)).to_vec();
            assert!(places.windows(2).all(|it| it[0] <= it[1]), "{places:?}");
            assert!(scale.ticks().len() >= 3);
        }
    }

    #[test]
    fn every_row_is_drawn_whatever_its_name() {
        let samples: Vec<f64> = (1..=100).map(|it| f64::from(it) * 1e3).collect();
        let it = Summary::of(&samples).expect("samples");
        let rows = vec![("<a> & \"b\"".to_owned(), it.clone()), ("c".to_owned(), it)];
        let svg = Boxes { axis: "us", unit: 1e3, rows }.svg();
        assert_eq!(svg.matches("class=\"box\"").count(), 2);
        assert_eq!(svg.matches("class=\"cross\"").count(), 4);
        assert!(svg.contains("&lt;a&gt; &amp; &quot;b&quot;") && !svg.contains("<a>"));
        assert_eq!(Boxes { axis: "us", unit: 1e3, rows: Vec::new() }.svg(), "");
    }
}
