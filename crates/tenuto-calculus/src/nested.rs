//! What arrives at a port: the minima of groups and of the sets within them (theory, "Delay of
//! class k at port p": A and H').
//!
//! Sets stand behind the one around them, so one walk from the last to the first meets each after
//! all that is within it.

use crate::bucket::FINE;
use crate::concave::{Line, Sum};
use crate::{Bucket, Flows, GroupCurves};

/// Amount that one set brings by itself, without the sets within.
pub(crate) trait Own {
    fn curves(&self) -> &GroupCurves;

    /// What comes of it in whole messages within `t`, 10⁻¹⁸ bit: of class k, or of those above.
    fn come(&self, is_higher: bool, t: i128, cut: Option<i128>) -> i128;
}

/// Where curves over t are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    /// The delay d, picoseconds.
    d: i128,
    /// The age at which ending flows end.
    cut: Option<i128>,
    /// Where t = 0 is: messages count as they have come by then.
    from: i128,
}

impl At {
    pub(crate) const fn delayed(d: i128, cut: Option<i128>) -> Self {
        Self { d, cut, from: 0 }
    }

    pub(crate) const fn seen_from(self, from: i128) -> Self {
        Self { from, ..self }
    }
}

/// Amount that comes from within a set.
#[derive(Clone, Debug, Default)]
struct Within {
    /// Σ A_Z.
    arriving: Sum,
    /// Σ min{H'_Z, Λ_Z}(d).
    waiting: Line,
}

/// `base` + Σ A_X(t, d) over the groups.
pub(crate) fn arriving<S: Own>(base: Line, sets: &[S], at: &At) -> Sum {
    let mut all = Sum::of(base);
    let mut within = vec![Within::default(); if is_nested(sets) { sets.len() } else { 0 }];
    let (mut pieces, mut lines) = (Vec::new(), Vec::new());
    for (place, set) in sets.iter().enumerate().rev() {
        let inner = within.get_mut(place).map(std::mem::take).unwrap_or_default();
        inner.arriving.pieces(&mut pieces);
        let waiting = inner.waiting.plus(waiting(set, at));
        minimum(set, at, &pieces, waiting, &mut lines);
        let Some(around) = set.curves().around(place) else {
            all.add_least(&mut lines);
            continue;
        };
        within[around].arriving.add_least(&mut lines);
        let until = set.curves().line.map(|line| Line { slope: 0, ..later(plain(line), at.d) });
        let least = until.filter(|line| line.at_zero < waiting.at_zero).unwrap_or(waiting);
        within[around].waiting = within[around].waiting.plus(least);
    }
    all
}

/// Lines over t whose minimum is A_X, in place of what `lines` held: `pieces` make Σ A_Z, and
/// `waiting` is H'_X(d).
fn minimum(set: &impl Own, at: &At, pieces: &[Line], waiting: Line, lines: &mut Vec<Line>) {
    lines.clear();
    let GroupCurves { class, higher, line, .. } = *set.curves();
    let (own, above) = (set.come(false, at.from, at.cut), set.come(true, at.from + at.d, at.cut));
    for above in shapes(higher, at.cut).map(|shape| later(shape, at.d).plus(constant(above))) {
        for own in shapes(class, at.cut).map(|shape| shape.plus(constant(own))) {
            let flows = own.plus(above).shifted(at.from);
            lines.extend(pieces.iter().map(|piece| piece.plus(flows)));
        }
    }
    if let Some(line) = line {
        lines.push(plain(line).shifted(at.from).plus(waiting));
        if waiting.at_zero > 0 || waiting.by_delay > 0 {
            lines.push(later(plain(line), at.d).shifted(at.from));
        }
    }
}

/// H_X(d): what waits for nothing below it.
fn waiting(set: &impl Own, at: &At) -> Line {
    let shapes = shapes(set.curves().higher, at.cut).map(|shape| later(shape, at.d));
    let least = shapes.min_by_key(|line| line.at_zero).unwrap_or_default();
    Line { slope: 0, ..least }.plus(constant(set.come(true, at.d, at.cut)))
}

/// Σ A_X(w, 0) over the groups, and how fast it rises.
pub(crate) fn arrived<S: Own>(sets: &[S], w: i128, cut: Option<i128>) -> (i128, i128) {
    let mut all = (0, 0);
    let mut within = vec![(0, 0); if is_nested(sets) { sets.len() } else { 0 }];
    for (place, set) in sets.iter().enumerate().rev() {
        let inner = within.get(place).copied().unwrap_or_default();
        let GroupCurves { class, higher, line, .. } = *set.curves();
        let both = Flows {
            steady: class.steady.plus(higher.steady),
            ending: class.ending.plus(higher.ending),
        };
        let come = set.come(false, w, cut) + set.come(true, w, cut) + inner.0;
        let least = shapes(both, cut)
            .map(|shape| (shape.shifted(w).at_zero + come, shape.slope + inner.1))
            .chain(line.map(|line| (plain(line).shifted(w).at_zero, line.rate_ubps)))
            .min()
            .unwrap_or_default();
        let sum = match set.curves().around(place) {
            Some(around) => &mut within[around],
            None => &mut all,
        };
        *sum = (sum.0 + least.0, sum.1 + least.1);
    }
    all
}

fn is_nested<S: Own>(sets: &[S]) -> bool {
    sets.iter().any(|set| set.curves().under.is_some())
}

/// The one or two lines whose minimum is b + r·t of the steady and b + r·min(t, Θ) of the ending.
fn shapes(flows: Flows, cut: Option<i128>) -> impl Iterator<Item = Line> {
    let running = plain(flows.all());
    let ended = cut.filter(|_| flows.ending.rate_ubps > 0).map(|after| Line {
        at_zero: running.at_zero + flows.ending.rate_ubps * after,
        slope: flows.steady.rate_ubps,
        by_delay: 0,
    });
    std::iter::once(running).chain(ended)
}

const fn plain(bucket: Bucket) -> Line {
    Line { at_zero: bucket.burst_ubit * FINE, slope: bucket.rate_ubps, by_delay: 0 }
}

const fn constant(at_zero: i128) -> Line {
    Line { at_zero, slope: 0, by_delay: 0 }
}

/// A curve at t + d.
const fn later(line: Line, d: i128) -> Line {
    Line { at_zero: line.at_zero + line.slope * d, slope: line.slope, by_delay: line.slope }
}
