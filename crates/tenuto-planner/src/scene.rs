//! What every flow brings in one mode or raise: the input of one analysis.

use crate::envelope::{Reading, excess_raises, frame_within};
use crate::meters::Policing;
use crate::routing::Tree;
use std::ops::RangeInclusive;
use tenuto_calculus::{Bucket, Staircase};
use tenuto_model::{Flow, Network, Transition};
use tenuto_units::Picos;

/// One analysis: a mode or a raise, and every tree's share in it.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) transition: Transition,
    /// One per tree.
    pub(crate) shares: Vec<Share>,
    /// Θ per server and class, where flows end; empty in a steady mode.
    pub(crate) endings: Vec<Vec<(u8, Option<Picos>)>>,
}

/// What one tree carries in an analysis.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// At the source's queue: hosts do not know the mode, so every flow always sends.
    pub(crate) source: Bucket,
    /// The same as whole messages: what a host releases keeps its period.
    pub(crate) source_steps: Option<Staircase>,
    /// Largest frame there, 10⁻⁶ bit.
    pub(crate) source_frame_ubit: i128,
    /// Every scheduling class that it has, ascending; never empty.
    pub(crate) classes: Vec<u8>,
    /// Behind the first switch; `None` where it is out of mode from the start.
    pub(crate) forwarded: Option<Forwarded>,
}

/// What of it the first switch lets through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forwarded {
    /// At the first switch's queue where it is enforced; else the source's bucket grows.
    pub(crate) enforced: Option<Bucket>,
    /// The same as whole messages, if a monitor enforces them: a meter does not.
    pub(crate) steps: Option<Staircase>,
    /// Largest frame, 10⁻⁶ bit.
    pub(crate) frame_ubit: i128,
    /// Whether it is out of mode after the swap.
    pub(crate) is_ending: bool,
}

/// Every steady mode, then every raise; one that can come before another is before it.
pub(crate) fn transitions(network: &Network) -> Vec<Transition> {
    let modes = u8::try_from(network.modes.len()).unwrap_or(u8::MAX).max(1);
    let steady = (0..modes).map(Transition::Steady);
    let raises = (0..modes).flat_map(|to| (0..to).map(move |from| Transition::Raise { from, to }));
    steady.chain(raises).collect()
}

/// The lowest and the highest mode whose contracts are in force.
pub(crate) fn span(transition: Transition) -> (usize, usize) {
    match transition {
        Transition::Steady(mode) => (usize::from(mode), usize::from(mode)),
        Transition::Raise { from, to } | Transition::Return { from: to, to: from } => {
            (usize::from(from), usize::from(to))
        }
    }
}

/// The modes whose contracts a flow follows in that transition; what its first switch does not watch
/// may be sent by the highest of them before anybody sees it.
pub(crate) fn modes_of(
    network: &Network,
    flow: &Flow,
    transition: Transition,
) -> RangeInclusive<usize> {
    let (low, high) = span(transition);
    if flow.level < low {
        return 0..=flow.level;
    }
    low..=if is_watched_late(network, flow) { flow.level } else { high.min(flow.level) }
}

/// Whether a flow may cross a switch before the first that watches it.
pub(crate) fn is_watched_late(network: &Network, flow: &Flow) -> bool {
    let is_at = |switch: &str| flow.monitor_at.iter().any(|name| name == switch);
    !flow.monitor_at.is_empty()
        && flow.is_watched()
        && network.ends_of(&flow.source).any(|(_, far, _)| !is_at(&far.node))
}

/// The modes whose contracts a flow follows after so many hops, if it is there at all: until a
/// return, who has a place in the mode before keeps the contracts of the mode after it.
pub(crate) fn modes_at(
    network: &Network,
    flow: &Flow,
    transition: Transition,
    depth: usize,
) -> Option<RangeInclusive<usize>> {
    let Transition::Return { from, to } = transition else {
        let is_there = depth == 0 || flow.level >= span(transition).0;
        return is_there.then(|| modes_of(network, flow, transition));
    };
    let (from, to) = (usize::from(from), usize::from(to));
    match depth {
        0 if flow.level < to => Some(0..=flow.level),
        0 => Some(to..=to),
        _ => (flow.level >= from).then_some(to..=to),
    }
}

impl Share {
    /// The share at the source, nothing said yet of what is behind it.
    pub(crate) fn at_source(flow: &Flow, modes: RangeInclusive<usize>, reading: Reading) -> Self {
        let contracts = flow.contracts.get(modes.clone()).unwrap_or_default();
        let mut classes: Vec<u8> = contracts.iter().map(|c| c.priority).collect();
        classes.sort_unstable();
        classes.dedup();
        Self {
            source: reading.at_source(flow, modes.clone()),
            source_steps: reading.messages(flow, modes),
            source_frame_ubit: contracts.iter().map(|c| reading.frame_ubit(c)).max().unwrap_or(0),
            classes,
            forwarded: None,
        }
    }

    /// Adds what the first switch lets through.
    pub(crate) fn behind(
        mut self,
        flow: &Flow,
        (transition, modes): (Transition, RangeInclusive<usize>),
        reading: Reading,
        policing: Option<&Policing>,
    ) -> Self {
        let (low, high) = span(transition);
        if flow.level < low {
            return self;
        }
        let mut frame_ubit = self.source_frame_ubit;
        let mut steps = None;
        let enforced = policing.map(|policing| {
            let is_monitored = policing.is_monitored_first && excess_raises(flow, *modes.end());
            let Some(varying) = policing.varying else {
                // Whatever passes, no frame is longer than frames are.
                frame_ubit = frame_within(i128::MAX).max(frame_ubit);
                return Bucket { burst_ubit: i128::MAX, rate_ubps: i128::MAX };
            };
            let passed = if is_monitored {
                let messages = reading.monitored_messages(flow, modes.clone(), varying);
                steps = messages.map(|messages| messages.late(policing.latency_jitter));
                reading.monitored(flow, modes, varying)
            } else {
                policing.envelope
            };
            let queued = passed.grown(policing.latency_jitter);
            if !is_monitored {
                frame_ubit = frame_within(queued.burst_ubit).max(frame_ubit);
            }
            queued
        });
        self.forwarded =
            Some(Forwarded { enforced, steps, frame_ubit, is_ending: flow.level < high });
        self
    }

    /// The highest class (the lowest number) that it has.
    pub(crate) fn class_first(&self) -> u8 {
        self.classes[0]
    }

    /// The lowest class that it has.
    pub(crate) fn class_last(&self) -> u8 {
        self.classes[self.classes.len() - 1]
    }

    /// Largest frame at a hop of that depth, 10⁻⁶ bit; `None` where it does not pass.
    pub(crate) fn frame_ubit(&self, depth: usize) -> Option<i128> {
        if depth == 0 {
            return Some(self.source_frame_ubit);
        }
        self.forwarded.map(|f| f.frame_ubit)
    }

    /// Whether it ends at the swap at a hop of that depth: hosts go on sending.
    pub(crate) fn is_ending(&self, depth: usize) -> bool {
        depth > 0 && self.forwarded.is_some_and(|f| f.is_ending)
    }
}

/// The shares of all trees at their sources.
pub(crate) fn at_sources(
    network: &Network,
    trees: &[Tree],
    transition: Transition,
    reading: Reading,
) -> Scene {
    let share = |tree: &Tree| {
        let flow = &network.flows[tree.flow];
        Share::at_source(flow, modes_of(network, flow, transition), reading)
    };
    Scene { transition, shares: trees.iter().map(share).collect(), endings: Vec::new() }
}
