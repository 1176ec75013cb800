//! What every flow brings in one mode or raise: the input of one analysis.

use crate::analysis::meters::Policing;
use crate::input::envelope::{Reading, frame_within};
use crate::input::transitions::span;
use crate::routes::Tree;
use std::ops::RangeInclusive;
use tenuto_calculus::{Bucket, Staircase};
use tenuto_model::{Flow, Network, Transition};
use tenuto_units::Picos;

/// One analysis: a mode or a raise, and every tree's share in it.
#[derive(Clone, Debug)]
pub(crate) struct ModeInput {
    pub(crate) transition: Transition,
    /// One per tree.
    pub(crate) shares: Vec<Share>,
    /// Θ per server and class, where flows end; empty in a steady mode.
    pub(crate) endings: Vec<Vec<(u8, Option<Picos>)>>,
    /// Per server what its line could have carried while it was idle at swaps, 10⁻⁶ bit; empty where none is.
    pub(crate) idle_ubit: Vec<i128>,
}

/// What one tree carries in an analysis.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// At the source's queue: hosts do not know the mode, so every flow always sends.
    pub(crate) source: Bucket,
    /// The source as whole messages: what a host releases keeps its period.
    pub(crate) source_steps: Option<Staircase>,
    /// What every part of a message that counts behind the source's port has of its own time on the
    /// line, 10⁻⁶ bit (theory, "Staircases").
    pub(crate) own_ubit: i128,
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
    /// At the first switch's queue where meter or monitor bound it; else the source's bucket grows.
    pub(crate) enforced: Option<Bucket>,
    /// The rate of a meter or monitor whose burst has no bound, as nothing bounds the queue in front of it, 10⁻⁶ bit/s.
    pub(crate) rate_unset_ubps: Option<i128>,
    /// What is enforced as whole messages, if a monitor does so: a meter does not.
    pub(crate) steps: Option<Staircase>,
    /// Largest frame, 10⁻⁶ bit.
    pub(crate) frame_ubit: i128,
    /// Whether it is out of mode after the swap.
    pub(crate) is_ending: bool,
}

/// The modes whose contracts a host may keep of a flow: nobody tells it the mode, and what it
/// releases by a higher contract waits in its own port before a switch can see it.
pub(crate) fn modes_of_host(flow: &Flow) -> RangeInclusive<usize> {
    0..=flow.level
}

/// The modes whose contracts the first switch holds a flow to in that transition; what it does not
/// watch may be sent by the highest of them before anybody sees it.
pub(crate) fn modes_of(
    network: &Network,
    flow: &Flow,
    transition: Transition,
) -> RangeInclusive<usize> {
    let (low, high) = span(transition);
    if flow.level < low {
        return modes_of_host(flow);
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

/// Whether a flow is there after so many hops: at its first switch always, behind it where the mode
/// admits it, and until a return where the mode before admits it.
pub(crate) fn is_at(flow: &Flow, transition: Transition, depth: usize) -> bool {
    let low = match transition {
        Transition::Return { from, .. } => usize::from(from),
        Transition::Steady(_) | Transition::Raise { .. } => span(transition).0,
    };
    depth == 0 || flow.level >= low
}

impl Share {
    /// The share at the source, nothing said yet of what is behind it.
    pub(crate) fn at_source(flow: &Flow, reading: Reading) -> Self {
        let modes = modes_of_host(flow);
        let contracts = flow.contracts.get(modes.clone()).unwrap_or_default();
        let mut classes: Vec<u8> = contracts.iter().map(|c| c.priority).collect();
        classes.sort_unstable();
        classes.dedup();
        Self {
            source: reading.at_source(flow, modes.clone()),
            source_steps: reading.messages(flow, modes),
            own_ubit: reading.own_ubit(flow),
            source_frame_ubit: contracts.iter().map(|c| reading.frame_ubit(c)).max().unwrap_or(0),
            classes,
            forwarded: None,
        }
    }

    /// Adds what the first switch lets through. A monitor bounds what it watches for a higher
    /// contract, of trusted hosts too; a meter only what babbles.
    pub(crate) fn behind(
        mut self,
        flow: &Flow,
        (transition, modes): (Transition, RangeInclusive<usize>),
        reading: Reading,
        (policing, is_babbling): (&Policing, bool),
    ) -> Self {
        let (low, high) = span(transition);
        if flow.level < low {
            return self;
        }
        let is_monitored = policing.is_monitored_first && reading.excess_raises(flow, *modes.end());
        let mut behind = Forwarded {
            enforced: None,
            rate_unset_ubps: None,
            steps: None,
            frame_ubit: self.source_frame_ubit,
            is_ending: flow.level < high,
        };
        if is_monitored {
            behind.enforce_monitor(flow, modes, reading, policing);
        } else if is_babbling {
            behind.enforce_meter(policing);
        }
        self.forwarded = Some(behind);
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

impl Forwarded {
    /// What the monitor bears with before it raises the mode.
    fn enforce_monitor(
        &mut self,
        flow: &Flow,
        modes: RangeInclusive<usize>,
        reading: Reading,
        policing: &Policing,
    ) {
        let Some(varying) = policing.varying else {
            return self.enforce_nothing(reading.monitored(flow, modes, Picos::default()));
        };
        let later = policing.varying_behind();
        let contracts = flow.contracts.get(modes.clone()).unwrap_or_default();
        let frame = contracts.iter().map(|c| reading.frame_ubit(c)).max();
        self.frame_ubit = frame.unwrap_or(self.frame_ubit);
        let messages = reading.monitored_messages(flow, modes.clone(), varying);
        self.steps = messages.map(|messages| messages.late(later));
        self.enforced = Some(reading.monitored(flow, modes, varying).grown(later));
    }

    /// What the meter lets through.
    fn enforce_meter(&mut self, policing: &Policing) {
        if policing.varying.is_none() {
            return self.enforce_nothing(policing.envelope);
        }
        let queued = policing.envelope.grown(policing.varying_behind());
        self.frame_ubit = frame_within(queued.burst_ubit).max(self.frame_ubit);
        self.enforced = Some(queued);
    }

    /// Without a bound in front of it a meter or monitor cannot be set. Whatever passes, no frame is
    /// longer than frames are.
    fn enforce_nothing(&mut self, unset: Bucket) {
        self.rate_unset_ubps = Some(unset.rate_ubps);
        self.frame_ubit = frame_within(i128::MAX).max(self.frame_ubit);
        self.enforced = Some(Bucket { burst_ubit: i128::MAX, rate_ubps: i128::MAX });
    }
}

/// The shares of all trees at their sources.
pub(crate) fn at_sources(
    network: &Network,
    trees: &[Tree],
    transition: Transition,
    reading: Reading,
) -> ModeInput {
    let share = |tree: &Tree| Share::at_source(&network.flows[tree.flow], reading);
    ModeInput {
        transition,
        shares: trees.iter().map(share).collect(),
        endings: Vec::new(),
        idle_ubit: Vec::new(),
    }
}
