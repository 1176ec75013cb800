//! What all analyses share: the plan, the network rebuilt from it, and its claims.

use crate::budget::Budget;
use crate::description::net::Net;
use crate::description::read::{self, Mode};
use crate::streams::attributed::Attributed;
use crate::streams::envelopes::Enforced;
use crate::streams::scale::Scale;
use crate::streams::stream::Stream;
use std::collections::BTreeMap;
use std::fmt::Display;

/// The least time between two mode changes.
pub(crate) const DWELL_NS: u64 = 100_000_000;

/// What all analyses share.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) plan: &'a read::Plan,
    pub(crate) net: &'a Net<'a>,
    pub(crate) streams: &'a [Stream],
    pub(crate) attributed: Attributed<'a>,
    pub(crate) enforced: Vec<Enforced<'a>>,
    pub(crate) scale: Scale,
    pub(crate) claims: Claims,
    pub(crate) entries: Entries,
    /// W, claimed of ports and classes.
    pub(crate) busy: Claims,
    /// The same of processors, by mode and node.
    pub(crate) sites_busy: BTreeMap<(Mode, usize), u64>,
    pub(crate) changes: Changes,
    /// P° by directed port, where it makes Y.
    pub(crate) flooded: Flooded,
    pub(crate) budget: Budget,
}

/// What signals and mode changes find, and ask of processors that ports share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// By trunk port: the longest time from a signal's place in the queue to its last bit.
    pub(crate) waits: BTreeMap<usize, u64>,
    /// By node: purging its queues once, picoseconds, as claimed.
    pub(crate) purges: BTreeMap<usize, u64>,
    /// Ports of a link that is lost: no signal goes over them.
    pub(crate) lost: Vec<usize>,
}

/// The vectors x, one per mode or raise.
pub(crate) type Claims = BTreeMap<Mode, BTreeMap<(usize, u8), u64>>;

/// The claims P, by mode and by the directed port over which frames enter.
pub(crate) type Entries = BTreeMap<Mode, BTreeMap<usize, u64>>;

/// P° by directed port, picoseconds, of hosts that may babble in front of ports in turn; `None`
/// without a bound.
pub(crate) type Flooded = BTreeMap<usize, Option<u64>>;

impl Context<'_> {
    /// Reports what the plan says wrongly.
    pub(crate) fn wrong(
        &self,
        rule: &'static str,
        place: impl Display,
        claim: impl Display,
        found: impl Display,
    ) {
        self.net.findings.add(rule, place, claim, found);
    }
}
