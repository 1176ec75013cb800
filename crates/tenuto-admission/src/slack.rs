//! Slack: how much more of delay the flows of a queue can bear.
//!
//! A lower bound of it is known, which ages: no slack has shrunk by more than all raises
//! since. Flows are looked at one by one only where that does not suffice.

use crate::books::{Books, Held, Slot, is_behind, signed};
use crate::network::PortId;

/// A lower bound of the least slack of the flows in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// No member had less than this, ns,
    pub(crate) slack_ns: i64,
    /// when the sum of all raises stood here, ns.
    pub(crate) at_ns: i64,
}

impl Books {
    /// The largest reserved delay to any target.
    pub(crate) fn promised_ns(&self, held: &Held) -> i64 {
        // The last port of a path is behind all others.
        self.along_ns(held).unwrap_or_else(|| {
            let lasts = (0..held.hops.len()).filter(|at| held.hops[*at].visit.is_last);
            lasts.map(|at| self.reached_ns(held, at)).max().unwrap_or(i64::MAX)
        })
    }

    /// The largest delay of a queue that every flow in it can bear, all else as reserved; where
    /// `wanted_ns` is known to be bearable, no more is looked for.
    pub(crate) fn bearable_ns(&mut self, port: PortId, queue: usize, wanted_ns: i64) -> i64 {
        let here = self.delay_ns(port, queue);
        let known = here.saturating_add(self.known_slack_ns(port, queue));
        if !self.members(port, queue).is_empty() && known >= wanted_ns {
            return known;
        }
        let Some(slack) = self.least_slack_ns(port, queue) else { return here };
        self.note_slack(port, queue, slack);
        here.saturating_add(slack)
    }

    /// The lower bound of the least slack of the flows in a queue, as of now.
    pub(crate) fn known_slack_ns(&self, port: PortId, queue: usize) -> i64 {
        let known = self.queues[port.index()][queue].known;
        known.slack_ns.saturating_sub(self.raised_ns - known.at_ns)
    }

    /// The least slack of the flows in a queue, one by one.
    pub(crate) fn least_slack_ns(&self, port: PortId, queue: usize) -> Option<i64> {
        let slack = |(slot, place): &(Slot, u16)| {
            let held = self.held(*slot)?;
            Some(signed(held.request.deadline_ns) - self.promised_through_ns(held, *place))
        };
        self.members(port, queue).iter().filter_map(slack).min()
    }

    /// A flow with that slack has come to a queue.
    pub(crate) fn join(&mut self, port: PortId, queue: usize, slack_ns: i64) {
        let known = match self.members(port, queue).len() {
            1 => i64::MAX,
            _ => self.known_slack_ns(port, queue),
        };
        self.note_slack(port, queue, known.min(slack_ns));
    }

    /// The least slack is at least this, if that is more than is known.
    pub(crate) fn learn(&mut self, port: PortId, queue: usize, slack_ns: i64) {
        if slack_ns > self.known_slack_ns(port, queue) {
            self.note_slack(port, queue, slack_ns);
        }
    }

    fn note_slack(&mut self, port: PortId, queue: usize, slack_ns: i64) {
        self.log_known(port, queue);
        let at_ns = self.raised_ns;
        self.queues[port.index()][queue].known = Known { slack_ns, at_ns };
    }

    /// The largest reserved delay to a target behind one hop.
    fn promised_through_ns(&self, held: &Held, place: u16) -> i64 {
        self.along_ns(held).unwrap_or_else(|| {
            let behind = (0..held.hops.len()).filter(|at| {
                let is_here = *at == usize::from(place);
                held.hops[*at].visit.is_last && (is_here || is_behind(&held.hops, *at, place))
            });
            behind.map(|at| self.reached_ns(held, at)).max().unwrap_or(i64::MIN / 2)
        })
    }
}
