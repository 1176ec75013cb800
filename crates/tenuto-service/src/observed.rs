//! What frames waited in queues of switches, beside the bounds of the plan.
//!
//! Switches of ours tell how many frames had a delay in which range, since they were started, and the longest of all
//! (docs/reference/experimenter.md). What is new since they were last asked is the longest of that time. The bound beside it is the
//! claim of the plan for that class at that port, from the place in the queue to the last bit: the same two instants.

use crate::view::View;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use tenuto_model::Plan;
use tenuto_openflow::QueueDetail;
use utoipa::ToSchema;

/// Samples of a queue that are kept: an hour, as they are asked for.
const SAMPLES_MAX: usize = 360;
/// Queues that are kept.
const QUEUES_MAX: usize = 8_192;
/// From this share of its bound on a delay is told, in percent.
const NEAR_PERCENT: u64 = 90;

/// The longest delay of a queue between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DelaySample {
    /// When the switch told it, milliseconds since 1970.
    pub at_ms: u64,
    /// The longest delay since the look before, nanoseconds; 0 where no frame was sent. The end of its range, so never too low.
    pub delay_ns: u64,
}

/// What was observed of a class at a port, beside what is promised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObservedQueue {
    /// Switch and port.
    pub port: String,
    /// Receiving node.
    pub to: String,
    /// Scheduling class, 0 = highest.
    pub class: u8,
    /// Flows of that class there.
    pub flows: Vec<String>,
    /// The largest bound over all modes, nanoseconds; null where nothing is promised.
    pub bound_ns: Option<u64>,
    /// The longest delay since the switch was started, nanoseconds.
    pub longest_ns: u64,
    /// The most frames that ever waited.
    pub frames_max: u32,
    /// Over time, the latest last.
    pub samples: Vec<DelaySample>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Frames by the end of their range.
    counts: BTreeMap<u64, u64>,
    longest_ns: u64,
    frames_max: u32,
    samples: VecDeque<DelaySample>,
}

impl Kept {
    /// The longest delay that is new.
    fn take(&mut self, at_ms: u64, seen: &QueueDetail) -> u64 {
        let counts: BTreeMap<u64, u64> =
            seen.delays.iter().map(|it| (it.below_ns, it.frames)).collect();
        // A switch that was started anew counts from nothing.
        let is_new_start = self.counts.iter().any(|(end, count)| counts.get(end) < Some(count));
        let before =
            |end: &u64| if is_new_start { 0 } else { self.counts.get(end).copied().unwrap_or(0) };
        let grown = counts.iter().rev().find(|(end, count)| **count > before(end));
        let delay_ns = grown.map_or(0, |(end, _)| seen.delay_ns_max.min(end.saturating_sub(1)));
        self.counts = counts;
        self.longest_ns = seen.delay_ns_max;
        self.frames_max = seen.frames_max;
        self.samples.push_back(DelaySample { at_ms, delay_ns });
        if self.samples.len() > SAMPLES_MAX {
            self.samples.pop_front();
        }
        delay_ns
    }
}

/// How a delay stands to its bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Margin {
    /// Well below.
    Kept,
    /// Near it, or above, in words.
    Near(String),
}

/// Queues by switch, port and class.
#[derive(Debug, Default)]
pub(crate) struct ObservedBook {
    queues: Mutex<BTreeMap<(String, u32, u32), Kept>>,
}

impl ObservedBook {
    fn queues(&self) -> MutexGuard<'_, BTreeMap<(String, u32, u32), Kept>> {
        self.queues.lock().expect("nobody panics with it")
    }

    /// Takes what a switch tells; how every queue with a promise stands, by place.
    pub(crate) fn take(
        &self,
        at_ms: u64,
        switch: &str,
        seen: &[QueueDetail],
        plan: &Plan,
    ) -> Vec<(String, Margin)> {
        let bounds = bounds_at(plan, switch);
        let mut queues = self.queues();
        let mut margins = Vec::new();
        // One that does not measure delays tells of no range and no longest.
        for it in seen.iter().filter(|it| it.delay_ns_max > 0) {
            let key = (switch.to_owned(), it.port, it.share.queue);
            if queues.len() >= QUEUES_MAX && !queues.contains_key(&key) {
                continue;
            }
            let delay_ns = queues.entry(key).or_default().take(at_ms, it);
            let class = u8::try_from(it.share.queue).unwrap_or(u8::MAX);
            let Some(bound_ns) = bounds.get(&(it.port, class)) else { continue };
            margins
                .push((format!("{switch}:{} class {class}", it.port), margin(delay_ns, *bound_ns)));
        }
        margins
    }

    /// All that is known, by port and class.
    pub(crate) fn rows(&self, view: &View) -> Vec<ObservedQueue> {
        let mut bounds: BTreeMap<&str, BTreeMap<(u32, u8), u64>> = BTreeMap::new();
        let queues = self.queues();
        let mut rows = Vec::new();
        for ((switch, port, queue), kept) in queues.iter() {
            let of_switch = bounds.entry(switch).or_insert_with(|| bounds_at(&view.plan, switch));
            let class = u8::try_from(*queue).unwrap_or(u8::MAX);
            let far = view.network.ends_of(switch).find(|(own, ..)| own.port == *port);
            rows.push(ObservedQueue {
                port: format!("{switch}:{port}"),
                to: far.map_or_else(String::new, |(_, far, _)| far.node.clone()),
                class,
                flows: flows_at(view, switch, *port, class),
                bound_ns: of_switch.get(&(*port, class)).copied(),
                longest_ns: kept.longest_ns,
                frames_max: kept.frames_max,
                samples: kept.samples.iter().copied().collect(),
            });
        }
        rows
    }
}

/// The largest claim of the plan for each port and class of a switch, over all modes and changes.
fn bounds_at(plan: &Plan, switch: &str) -> BTreeMap<(u32, u8), u64> {
    let mut bounds = BTreeMap::new();
    for it in plan.ports.iter().filter(|it| it.port.node == switch) {
        let known = bounds.entry((it.port.port, it.class)).or_insert(0);
        *known = it.delay_ps.div_ceil(1_000).max(*known);
    }
    bounds
}

fn flows_at(view: &View, switch: &str, port: u32, class: u8) -> Vec<String> {
    let is_of_class = |flow: &str| {
        view.network.flow(flow).is_some_and(|it| it.contracts.iter().any(|it| it.priority == class))
    };
    let crosses = |route: &&tenuto_model::Route| {
        route.paths.iter().flat_map(|it| &it.ports).any(|it| it.node == switch && it.port == port)
    };
    let routes = view.plan.routes.iter().filter(crosses).filter(|route| is_of_class(&route.flow));
    let mut flows: Vec<String> = routes.map(|route| route.flow.clone()).collect();
    flows.sort_unstable();
    flows.dedup();
    flows
}

fn margin(delay_ns: u64, bound_ns: u64) -> Margin {
    let is_near = u128::from(delay_ns) * 100 >= u128::from(bound_ns) * u128::from(NEAR_PERCENT);
    match (delay_ns > bound_ns, is_near) {
        (true, _) => Margin::Near(format!(
            "a frame took {delay_ns} ns, above the bound of {bound_ns} ns: the device is slower than its profile, or the traffic other than \
             its contracts"
        )),
        (false, true) => {
            Margin::Near(format!("a frame took {delay_ns} ns of a bound of {bound_ns} ns"))
        }
        (false, false) => Margin::Kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_openflow::{DelayRange, QueueShare};

    fn seen(longest_ns: u64, ranges: &[(u64, u64, u64)]) -> QueueDetail {
        let range = |&(from_ns, below_ns, frames)| DelayRange { from_ns, below_ns, frames };
        QueueDetail {
            port: 3,
            share: QueueShare { queue: 1, level: 1, weight: 1 },
            frames: 0,
            frames_max: 4,
            wire_bytes: 0,
            wire_bytes_max: 0,
            delay_ns_max: longest_ns,
            delays: ranges.iter().map(range).collect(),
        }
    }

    #[test]
    fn each_sample_is_the_longest_that_is_new_and_a_restart_begins_anew() {
        let mut kept = Kept::default();
        assert_eq!(kept.take(1, &seen(90, &[(0, 64, 5), (64, 128, 1)])), 90);
        assert_eq!(kept.take(2, &seen(90, &[(0, 64, 9), (64, 128, 1)])), 63, "short ones alone");
        assert_eq!(kept.take(3, &seen(90, &[(0, 64, 9), (64, 128, 1)])), 0, "no frame");
        assert_eq!(kept.take(4, &seen(100, &[(0, 64, 9), (64, 128, 2)])), 100);
        assert_eq!(kept.take(5, &seen(40, &[(0, 64, 1)])), 40, "started anew");
        assert_eq!(kept.samples.len(), 5);
        (0..1_000).for_each(|at| drop(kept.take(at, &seen(40, &[(0, 64, 1)]))));
        assert_eq!(kept.samples.len(), SAMPLES_MAX);
    }

    #[test]
    fn a_delay_is_told_before_it_reaches_its_bound() {
        assert_eq!(margin(89, 100), Margin::Kept);
        for (delay, words) in
            [(90, "90 ns of a bound of 100 ns"), (101, "above the bound of 100 ns")]
        {
            let Margin::Near(text) = margin(delay, 100) else { panic!("{delay}") };
            assert!(text.contains(words), "{text}");
        }
    }
}
