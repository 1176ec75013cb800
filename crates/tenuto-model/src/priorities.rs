//! Scheduling classes that flows may use, and the rate-monotonic order of flows.

use crate::{Flow, Network, OtherTraffic};
use std::collections::BTreeSet;

/// Queues of a port where no profile says how many.
const QUEUES_USUAL: u8 = 8;

impl Network {
    /// How many scheduling classes flows may use at every port: its queues, as far as they are
    /// above other traffic. At least one.
    pub fn flow_classes(&self) -> u8 {
        let queues = self.profiles.values().map(|profile| profile.queues_per_port).min();
        let queues = queues.unwrap_or(QUEUES_USUAL);
        match self.other_traffic {
            OtherTraffic::Carry { priority, .. } => priority.min(queues),
            OtherTraffic::Drop => queues,
        }
        .max(1)
    }

    /// Gives every flow that `is_ranked` its rate-monotonic class: the shorter the period in the
    /// flow's highest mode, the higher. More periods than classes share classes evenly.
    pub fn rank_by_period(&mut self, is_ranked: impl Fn(&Flow) -> bool) {
        let classes = usize::from(self.flow_classes());
        let ranked = self.flows.iter().filter(|flow| is_ranked(flow));
        let periods: BTreeSet<u64> = ranked.map(|flow| flow.highest().period_ns).collect();
        let distinct = periods.len();
        for flow in self.flows.iter_mut().filter(|flow| is_ranked(flow)) {
            let rank = periods.range(..flow.highest().period_ns).count();
            let class = if distinct <= classes { rank } else { rank * classes / distinct };
            flow.set_priority(u8::try_from(class).expect("below the number of queues"));
        }
    }
}

impl Flow {
    /// Gives it one scheduling class in every mode.
    pub fn set_priority(&mut self, class: u8) {
        self.contracts.iter_mut().for_each(|contract| contract.priority = class);
    }
}
