//! The time of a run along a figure: mode bands, changes and events behind everything else.

use super::svg::{Anchor, Axis, Svg, time_tick};
use super::text::{seconds, shorten};
use tenuto_world::{ModeChangeRow, RunDocument};

/// Events marked in a figure; more would be a hatching.
const EVENTS_MARKED_MAX: usize = 40;

/// A stretch of time in one mode.
pub(super) struct Band {
    pub(super) mode: String,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// Place of the mode, 0 = lowest.
    pub(super) level: usize,
}

/// When a change took hold: its last swap, or its trigger where no switch swapped.
pub(super) fn in_force_ns(change: &ModeChangeRow) -> u64 {
    change.switches.iter().map(|s| s.at_ns).max().unwrap_or(change.at_ns)
}

/// The modes of a run, one after the other.
pub(super) fn bands(modes: &[String], run: &RunDocument) -> Vec<Band> {
    let level = |mode: &str| modes.iter().position(|m| m == mode).unwrap_or(0);
    let mut mode = modes.first().cloned().unwrap_or_default();
    let mut from_ns = 0;
    let mut bands = Vec::new();
    for change in &run.mode_changes {
        let at = in_force_ns(change).clamp(from_ns, run.duration_ns.max(from_ns));
        bands.push(Band { level: level(&mode), mode, from_ns, to_ns: at });
        (mode, from_ns) = (change.to.clone(), at);
    }
    bands.push(Band { level: level(&mode), mode, from_ns, to_ns: run.duration_ns.max(from_ns) });
    bands
}

/// Bands of modes above the lowest, changes in progress, and marks of events.
pub(super) fn background(
    svg: &mut Svg,
    run: &RunDocument,
    bands: &[Band],
    axis: &Axis,
    (top, bottom): (f64, f64),
) {
    let mut free_from = 0.0;
    for band in bands {
        let (x, to) = (axis.at(band.from_ns), axis.at(band.to_ns));
        let class = match band.level {
            0 => continue,
            1 => "mode-1",
            _ => "mode-2",
        };
        svg.titled(&format!("mode {}", band.mode), |svg| {
            svg.rect(x, top, to - x, bottom - top, class);
        });
        if to - x > 24.0 && x >= free_from {
            svg.text(x + 4.0, top + 11.0, Anchor::Start, "tiny", &shorten(&band.mode, 10));
            free_from = x + 40.0;
        }
    }
    for change in &run.mode_changes {
        // A return's wait for quiet is no disturbance: its window opens with the first swap.
        let first = change.switches.iter().map(|s| s.at_ns).min().unwrap_or(change.at_ns);
        let is_return = change.terms.iter().any(|term| term.name == "quiet");
        let x = axis.at(if is_return { first } else { change.at_ns });
        let to = axis.at(in_force_ns(change)).max(x + 1.6);
        let words = format!("{}>{} at {}", change.from, change.to, seconds(change.at_ns));
        svg.titled(&words, |svg| svg.rect(x, top, to - x, bottom - top, "change"));
    }
    for event in run.events.iter().take(EVENTS_MARKED_MAX) {
        let x = axis.at(event.at_ns);
        let words = format!("{}  {}", seconds(event.at_ns), event.text);
        svg.titled(&words, |svg| svg.line((x, top), (x, bottom), "event"));
    }
}

/// Ticks of the run's time below a figure.
pub(super) fn time_ticks(svg: &mut Svg, axis: &Axis, bottom: f64) {
    for tick in axis.ticks() {
        let x = axis.at(tick);
        svg.line((x, bottom), (x, bottom + 3.0), "axis");
        svg.text(x, bottom + 14.0, Anchor::Middle, "tiny", &time_tick(tick));
    }
}
