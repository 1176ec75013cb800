//! Scheduling classes that flows may use, and the rate-monotonic order of flows.

use crate::{Flow, Network, OtherTraffic, Plan, Ranked};
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

impl Plan {
    /// What the bounds rest on, and how the flows got their classes, a sentence each.
    pub fn rests_on(&self) -> Vec<String> {
        let assumed = self.assumptions.iter().map(|it| it.text.clone());
        assumed.chain(self.ranking()).collect()
    }

    /// How the flows got their classes, and which; `None` where they are as given.
    pub fn ranking(&self) -> Option<String> {
        let how = match self.ranked {
            Ranked::AsGiven => return None,
            Ranked::RateMonotonic => "rate-monotonic".to_owned(),
            Ranked::Audsley(analyses) => format!("Audsley's, {analyses} analyses"),
            Ranked::NoOther(analyses) => {
                format!("as given, for none else held in {analyses} analyses")
            }
        };
        Some(format!("{how}: {}", classes(&self.network)))
    }
}

/// `0 LIDAR, 1 CAM, 2 STREAM`, large classes by their number of flows.
fn classes(network: &Network) -> String {
    const NAMED_MAX: usize = 4;
    let class = |flow: &Flow| flow.highest().priority;
    let classes: BTreeSet<u8> = network.flows.iter().map(class).collect();
    let of = |k: &u8| {
        let flows = network.flows.iter().filter(|flow| class(flow) == *k);
        let names: Vec<&str> = flows.map(|flow| flow.name.as_str()).collect();
        match names.len() {
            ..=NAMED_MAX => format!("{k} {}", names.join(" ")),
            count => format!("{k} {count} flows"),
        }
    };
    classes.iter().map(of).collect::<Vec<_>>().join(", ")
}
