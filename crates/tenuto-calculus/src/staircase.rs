//! Staircases: whole messages in place of the buckets around them.

use crate::{Bucket, Flows, GroupCurves};
use tenuto_units::Picos;

const MILLION: i128 = 1_000_000;
/// Times beyond this are not stepped through.
const TIME_PS_MAX: i128 = 10_000_000_000_000_000;
/// Steps of one flow within the time that matters; a flow with more is taken as its bucket.
pub(crate) const STEPS_MAX: i128 = 48;

/// Messages of `message_ubit` that come a period apart, each late by up to `jitter`: within any
/// closed window of length t there are at most ⌊(t + J)·(1+ρ)/T⌋ + 1 of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staircase {
    /// One largest message, 10⁻⁶ bit.
    pub message_ubit: i128,
    /// T, at least 1 ps.
    pub period_ps: i128,
    /// ρ: how much faster the clock that counts T may run, parts per million.
    pub fast_ppm: u32,
    /// J: how far what comes may be late, one message against another.
    pub jitter: Picos,
}

/// A flow of one group that comes in whole messages.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its messages.
    pub stairs: Staircase,
    /// A bucket that bounds the same flow: what it counts as where it has too many steps.
    pub bucket: Bucket,
    /// Whether it is above the class in question.
    pub is_higher: bool,
    /// Whether it ends at the age Θ of the busy period.
    pub ends: bool,
}

/// A group some of whose flows come in whole messages.
#[derive(Clone, Debug, Default)]
pub struct SteppedGroup {
    /// All its other flows, and its line.
    pub curves: GroupCurves,
    /// The flows that come in whole messages.
    pub steps: Vec<Step>,
}

impl Staircase {
    /// The messages that can come within a closed window of `t`, at least one. A step between two
    /// picoseconds counts from the earlier one on.
    pub fn messages(&self, t: i128) -> i128 {
        let late = t.saturating_add(self.jitter.0).clamp(0, i128::MAX / (2 * MILLION));
        let scaled = (late + 1).saturating_mul(MILLION + i128::from(self.fast_ppm)) - 1;
        scaled / self.period_ps.max(1).saturating_mul(MILLION) + 1
    }

    /// The first whole picosecond after `t` at which there is a message more.
    pub(crate) fn next_after(&self, t: i128) -> i128 {
        let period = self.period_ps.max(1).saturating_mul(MILLION);
        let nominal = self.messages(t).saturating_mul(period);
        nominal / (MILLION + i128::from(self.fast_ppm)) - self.jitter.0
    }

    /// The curve within `t`, 10⁻⁶ bit.
    pub fn at(&self, t: i128) -> i128 {
        self.messages(t).saturating_mul(self.message_ubit)
    }

    /// This staircase after a delay that varies by up to `by`.
    #[must_use]
    pub const fn late(self, by: Picos) -> Self {
        Self { jitter: Picos(self.jitter.0.saturating_add(by.0)), ..self }
    }
}

impl Step {
    /// Amount that comes within `t`; a flow that ends does so at `cut`.
    fn at(&self, t: i128, cut: Option<i128>) -> i128 {
        let until = cut.filter(|_| self.ends).map_or(t, |cut| t.min(cut));
        self.stairs.at(until)
    }
}

impl GroupCurves {
    const fn flows(&mut self, is_higher: bool) -> &mut Flows {
        if is_higher { &mut self.higher } else { &mut self.class }
    }
}

impl SteppedGroup {
    /// Adds a flow: in whole messages where there is a staircase of it.
    pub fn add(&mut self, bucket: Bucket, stairs: Option<Staircase>, is_higher: bool, ends: bool) {
        match stairs {
            Some(stairs) => self.steps.push(Step { stairs, bucket, is_higher, ends }),
            None => self.curves.flows(is_higher).add(bucket, ends),
        }
    }

    /// The group with every flow as its bucket.
    pub fn buckets(&self) -> GroupCurves {
        let mut curves = self.curves;
        for step in &self.steps {
            curves.flows(step.is_higher).add(step.bucket, step.ends);
        }
        curves
    }

    /// This staircase up to `until`: flows that bring no further message by then are constant, and those
    /// that bring too many are their buckets.
    pub(crate) fn up_to(&self, until: i128) -> Self {
        let mut group = Self { curves: self.curves, steps: Vec::new() };
        for step in &self.steps {
            let (first, last) = (step.stairs.messages(0), step.stairs.messages(until));
            let flows = group.curves.flows(step.is_higher);
            if last - first > STEPS_MAX || until > TIME_PS_MAX {
                flows.add(step.bucket, step.ends);
            } else if last == first {
                flows.add(Bucket { burst_ubit: step.stairs.at(0), rate_ubps: 0 }, false);
            } else {
                group.steps.push(*step);
            }
        }
        group
    }

    /// Amount that comes in messages within `t`: of the class in question, or of those above it.
    pub(crate) fn stepped(&self, is_higher: bool, t: i128, cut: Option<i128>) -> i128 {
        let steps = self.steps.iter().filter(|step| step.is_higher == is_higher);
        steps.fold(0, |sum: i128, step| sum.saturating_add(step.at(t, cut)))
    }
}
