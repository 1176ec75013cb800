//! What reaches a port over one line, as a tree of the lines that it came over before (theory, "Lines
//! farther back").

use crate::kernel::exact::{Curve, Line};
use crate::streams::envelopes::Envelope;
use crate::streams::messages::Messages;
use crate::streams::upstream::Upstream;
use num_bigint::BigInt;
use num_traits::Zero;
use std::collections::BTreeMap;

/// What shares an input link; at a host every stream is a group of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GroupKey {
    Link(usize),
    /// The line between a processor and its ports carries all.
    Processor,
    Alone(usize),
}

/// The sets of a group, every one behind the set that it lies in: first the group itself.
#[derive(Debug)]
pub(crate) struct Group {
    /// The largest frame by the highest class in which it can be.
    frames: BTreeMap<u8, BigInt>,
    /// How much the time at the processor in front varies; `None` without a bound.
    pub(crate) varying_ps: Option<u64>,
    pub(crate) sets: Vec<Set>,
    /// Places in `sets` by the way that their flows share.
    by_way: BTreeMap<usize, usize>,
}

/// Flows of a group that share their way from one line on.
#[derive(Debug, Default)]
pub(crate) struct Set {
    /// The set that it lies in, and the line; none of a group itself.
    pub(crate) below: Option<Below>,
    /// What is in no set below this one, by the highest class in which the frames can be.
    pub(crate) classes: BTreeMap<u8, Sum>,
    /// `classes` without the flows that are counted in whole messages, which are in `stepped`.
    pub(crate) trickling: BTreeMap<u8, Sum>,
    pub(crate) stepped: Vec<Stepped>,
}

/// The line of a set below a group, and what it carries for the set.
#[derive(Debug)]
pub(crate) struct Below {
    pub(crate) parent: usize,
    pub(crate) line: usize,
    /// How much the time at a processor behind the line varies; `None` without a bound.
    pub(crate) varying_ps: Option<u64>,
    /// By class, all sets below this one included.
    carried: BTreeMap<u8, Carried>,
}

/// What bounds the bunching of some flows behind a line.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    /// L: their largest frame.
    pub(crate) frame_max: BigInt,
    /// J: how much their delays from the queue behind the line to the port vary; `None` without a
    /// bound.
    pub(crate) late_ps: Option<u128>,
}

/// A flow that is counted in whole messages.
#[derive(Debug)]
pub(crate) struct Stepped {
    /// The highest class in which it can be.
    pub(crate) class: u8,
    /// Whether it goes on after the swap.
    pub(crate) stays: bool,
    pub(crate) messages: Messages,
    pub(crate) bucket: crate::streams::envelopes::Bucket,
}

/// Sum of buckets: of flows that stay, and of flows that end with the swap.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    pub(crate) burst: Option<BigInt>,
    pub(crate) rate: BigInt,
    pub(crate) rate_until_swap: BigInt,
}

impl Group {
    pub(crate) fn new(varying_ps: Option<u64>) -> Self {
        Self {
            frames: BTreeMap::new(),
            varying_ps,
            sets: vec![Set::default()],
            by_way: BTreeMap::new(),
        }
    }

    /// Adds a stream that came over these lines, the nearest first.
    pub(crate) fn add(
        &mut self,
        envelope: &Envelope,
        class: u8,
        (stays, counts_messages): (bool, bool),
        upstream: &[Upstream],
    ) {
        let largest = self.frames.entry(class).or_default();
        if envelope.frame_max > *largest {
            *largest = envelope.frame_max.clone();
        }
        let mut at = 0;
        for line in upstream {
            let new = self.sets.len();
            let known = *self.by_way.entry(line.way).or_insert(new);
            if known == new {
                let below = Below {
                    parent: at,
                    line: line.line,
                    varying_ps: line.varying_ps,
                    carried: BTreeMap::new(),
                };
                self.sets.push(Set { below: Some(below), ..Set::default() });
            }
            at = known;
            if let Some(below) = &mut self.sets[at].below {
                let own = Carried { frame_max: envelope.frame_max.clone(), late_ps: line.late_ps };
                below.carried.entry(class).and_modify(|all| all.widen(&own)).or_insert(own);
            }
        }
        self.sets[at].add(envelope, class, stays, counts_messages);
    }

    /// L: the largest frame that can be of `class` or above.
    pub(crate) fn frame_max(&self, class: u8) -> BigInt {
        self.frames.range(..=class).map(|(_, largest)| largest).max().cloned().unwrap_or_default()
    }

    /// The sums of all flows, by set and class.
    pub(crate) fn sums(&self) -> impl Iterator<Item = (u8, &Sum)> {
        self.sets.iter().flat_map(|set| &set.classes).map(|(class, sum)| (*class, sum))
    }

    /// Whether any flow can be of `class` or above.
    pub(crate) fn reaches(&self, class: u8) -> bool {
        self.sums().any(|(highest, _)| highest <= class)
    }
}

impl Set {
    fn add(&mut self, envelope: &Envelope, class: u8, stays: bool, counts_messages: bool) {
        self.classes.entry(class).or_default().add(&envelope.bucket, stays);
        match envelope.messages.as_ref().filter(|_| counts_messages) {
            Some(messages) => self.stepped.push(Stepped {
                class,
                stays,
                messages: messages.clone(),
                bucket: envelope.bucket.clone(),
            }),
            None => self.trickling.entry(class).or_default().add(&envelope.bucket, stays),
        }
    }
}

impl Below {
    /// L and J of the flows up to `class`; `None` if there are none.
    pub(crate) fn carried(&self, class: u8) -> Option<Carried> {
        let mut all = self.carried.range(..=class).map(|(_, carried)| carried);
        let first = all.next()?.clone();
        Some(all.fold(first, |mut sum, more| {
            sum.widen(more);
            sum
        }))
    }
}

impl Carried {
    fn widen(&mut self, other: &Self) {
        if other.frame_max > self.frame_max {
            self.frame_max = other.frame_max.clone();
        }
        self.late_ps = self.late_ps.zip(other.late_ps).map(|(a, b)| a.max(b));
    }
}

impl Default for Sum {
    fn default() -> Self {
        Self { burst: Some(BigInt::zero()), rate: BigInt::zero(), rate_until_swap: BigInt::zero() }
    }
}

impl Sum {
    pub(crate) fn add(&mut self, bucket: &crate::streams::envelopes::Bucket, stays: bool) {
        self.burst = self.burst.take().zip(bucket.burst.as_ref()).map(|(a, b)| a + b);
        *(if stays { &mut self.rate } else { &mut self.rate_until_swap }) += &bucket.rate;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.burst = self.burst.take().zip(other.burst.as_ref()).map(|(a, b)| a + b);
        self.rate += &other.rate;
        self.rate_until_swap += &other.rate_until_swap;
    }

    /// The curve at time t + `ahead_ps`; flows that end do so at `end_ps`, if ever.
    pub(crate) fn curve(&self, ahead_ps: u64, end_ps: Option<&BigInt>) -> Curve {
        let Some(burst) = &self.burst else { return Curve::new() };
        let all = &self.rate + &self.rate_until_swap;
        let open = Line::new(burst + &all * ahead_ps, all);
        match end_ps.filter(|_| !self.rate_until_swap.is_zero()) {
            None => vec![open],
            Some(end) => {
                let ended = burst + &self.rate_until_swap * end + &self.rate * ahead_ps;
                vec![open, Line::new(ended, self.rate.clone())]
            }
        }
    }
}
