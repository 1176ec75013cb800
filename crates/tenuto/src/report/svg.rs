//! Drawing: a small SVG writer, and axes that choose their own ticks.

use super::text::{escape, time_up};
use std::fmt::Write;

/// Width of every figure in its own units; the page scales it.
pub(super) const WIDTH: f64 = 960.0;

/// An inline SVG in the making. Colours are classes, so that the page's light and dark apply.
pub(super) struct Svg {
    body: String,
}

/// How a text lies about its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub(super) const fn new() -> Self {
        Self { body: String::new() }
    }

    fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        self.body.write_fmt(arguments).expect("writing to a string");
    }

    pub(super) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, class: &str) {
        let (width, height) = (width.max(0.0), height.max(0.0));
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\"/>"
        ));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    pub(super) fn dot(&mut self, x: f64, y: f64, radius: f64, class: &str) {
        self.put(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>"
        ));
    }

    /// Vertical strokes from `base` to each point, as one path.
    pub(super) fn stems(&mut self, points: &[(f64, f64)], base: f64, class: &str) {
        self.put(format_args!("<path class=\"{class}\" d=\""));
        for (x, y) in points {
            self.put(format_args!("M{x:.1} {base:.1}V{y:.1}"));
        }
        self.put(format_args!("\"/>"));
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">\
             {text}</text>"
        ));
    }

    /// What is drawn inside has `title` as its tooltip.
    pub(super) fn titled(&mut self, title: &str, draw: impl FnOnce(&mut Self)) {
        let title = escape(title);
        self.put(format_args!("<g><title>{title}</title>"));
        draw(self);
        self.put(format_args!("</g>"));
    }

    /// The finished figure; `label` says to a screen reader what it shows.
    pub(super) fn finish(self, width: f64, height: f64, label: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">{}</svg>",
            escape(label),
            self.body
        )
    }
}

/// A value for drawing: a figure is not finer than a float.
#[allow(clippy::cast_precision_loss)] // drawn to a tenth of a pixel
pub(super) const fn float(value: u64) -> f64 {
    value as f64
}

/// A count for drawing.
#[allow(clippy::cast_precision_loss)] // drawn to a tenth of a pixel
pub(super) const fn place(value: usize) -> f64 {
    value as f64
}

/// Maps values to positions between two ends.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    from: f64,
    to: f64,
    low: f64,
    high: f64,
    is_log: bool,
    /// Value of a linear axis at its beginning.
    origin: u64,
}

/// Values further apart than this are drawn on a logarithmic axis.
const RATIO_LINEAR_MAX: f64 = 25.0;

impl Axis {
    /// From zero to `high`.
    pub(super) fn linear(from: f64, to: f64, high: f64) -> Self {
        Self {
            from,
            to,
            low: 0.0,
            high: if high > 0.0 { high } else { 1.0 },
            is_log: false,
            origin: 0,
        }
    }

    /// Whole decades around the values.
    pub(super) fn log(from: f64, to: f64, low: f64, high: f64) -> Self {
        let low = 10f64.powf(low.max(1.0).log10().floor());
        // The top is the next 1, 2 or 5, so that the space is used.
        let decade = 10f64.powf(high.max(low * 10.0).log10().floor());
        let tops = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
        let high = tops.into_iter().find(|top| *top >= high).unwrap_or(decade * 10.0);
        Self { from, to, low, high: high.max(low * 10.0), is_log: true, origin: 0 }
    }

    /// Linear if the values lie close enough together to be told apart, else logarithmic.
    pub(super) fn fitting(from: f64, to: f64, values: impl Iterator<Item = u64>) -> Self {
        let positive = values.filter(|v| *v > 0).map(float);
        let (low, high) =
            positive.fold((f64::MAX, 0f64), |(low, high), v| (low.min(v), high.max(v)));
        if high == 0.0 || high / low <= RATIO_LINEAR_MAX {
            Self::linear(from, to, high * 1.04)
        } else {
            Self::log(from, to, low, high)
        }
    }

    /// The axis with its values from `origin` on instead of from zero.
    pub(super) const fn beginning_at(self, origin: u64) -> Self {
        Self { origin, ..self }
    }

    pub(super) fn at(&self, value: u64) -> f64 {
        let value = float(value.saturating_sub(self.origin));
        let share = if self.is_log {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            value / self.high
        };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.02)
    }

    pub(super) const fn is_log(&self) -> bool {
        self.is_log
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive, far below 2^64
    pub(super) fn ticks(&self) -> Vec<u64> {
        let mut ticks = Vec::new();
        if self.is_log {
            let mut tick = self.low;
            while tick <= self.high * 1.000_001 && ticks.len() < 30 {
                ticks.push(tick.round() as u64);
                tick *= 10.0;
            }
            // The end of the axis, where it is none of the decades.
            if tick < self.high * 9.9 {
                ticks.push(self.high.round() as u64);
            }
            return ticks;
        }
        let rough = self.high / 6.0;
        let decade = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
        let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(rough).max(1.0);
        let mut tick = 0.0;
        while tick <= self.high && ticks.len() < 30 {
            ticks.push(self.origin.saturating_add(tick.round() as u64));
            tick += step;
        }
        ticks
    }
}

/// A tick of a time axis: the shortest exact form.
pub(super) fn time_tick(ns: u64) -> String {
    let trimmed = |unit: u64, name: &str| {
        let whole = ns / unit;
        let rest = ns % unit * 1_000 / unit;
        let fraction = format!("{rest:03}");
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{whole}{point}{fraction} {name}")
    };
    match ns {
        0 => "0".to_owned(),
        1..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => trimmed(1_000, "µs"),
        1_000_000..1_000_000_000 => trimmed(1_000_000, "ms"),
        1_000_000_000..3_600_000_000_000 => trimmed(1_000_000_000, "s"),
        _ => time_up(ns.saturating_mul(1_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_put_their_ends_at_their_ends() {
        let linear = Axis::linear(100.0, 200.0, 50.0);
        assert!((linear.at(25) - 150.0).abs() < 1e-9);
        assert_eq!(linear.ticks(), [0, 10, 20, 30, 40, 50]);
        let log = Axis::fitting(0.0, 300.0, [1_500, 900_000].into_iter());
        assert!(log.is_log());
        assert_eq!(log.ticks(), [1_000, 10_000, 100_000, 1_000_000]);
        assert_eq!(Axis::log(0.0, 1.0, 1_500.0, 15_000.0).ticks(), [1_000, 10_000, 20_000]);
        assert!((log.at(10_000) - 100.0).abs() < 1e-6);
        assert!(Axis::fitting(0.0, 1.0, std::iter::empty()).at(5).is_finite());
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!(time_tick(0), "0");
        assert_eq!(time_tick(2_500_000), "2.5 ms");
        assert_eq!(time_tick(20_000_000_000), "20 s");
    }

    #[test]
    fn text_in_a_figure_stays_text() {
        let mut svg = Svg::new();
        svg.titled("</title><script>", |svg| svg.text(0.0, 0.0, Anchor::End, "t", "<b>\""));
        let out = svg.finish(10.0, 10.0, "\"onload=\"x");
        assert!(!out.contains("<script>") && !out.contains("<b>") && !out.contains("\"onload"));
    }
}
