//! The time after which a change is over for good, and the new mode's own bounds hold.
//!
//! In the order of the flow of data: what reaches a switch's port is clean once the mode has changed
//! and every port that feeds it is drained and its last delayed frame has come over; the port itself
//! is drained when the busy period that may contain anything older has ended. Hosts know no mode; before a
//! return they have to go back to lower contracts themselves.
//! Behind a processor that ports share no line can be told from another: there is no drain.

use crate::analysis::{Analysis, Context, GroupKey, Load};
use crate::raise::{Ends, busy_period};
use num_bigint::BigInt;
use num_traits::Zero;
use std::collections::BTreeMap;

/// What hosts do at the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// Their ports' bounds hold whatever the mode.
    Unchanged,
    /// They send less from then on; their own busy periods of before have to end too.
    Lowered,
}

/// The least drain of a raise or before a return, picoseconds; `None` if there is none: something
/// has no bound, or ports feed one another in a circle.
pub(crate) fn drain(
    context: &Context<'_>,
    (raise, ends): (&Analysis, &Ends),
    change_ps: Option<u128>,
    hosts: Hosts,
) -> Option<BigInt> {
    if (0..context.net.nodes.len()).any(|node| context.net.device(node).is_some()) {
        return None;
    }
    let change = BigInt::from(change_ps?);
    let mut drained: BTreeMap<usize, BigInt> = BTreeMap::new();
    let mut longest = BigInt::zero();
    for port in feeding_order(raise)? {
        let node = context.net.ports[port].node;
        let load = &raise.loads[&port];
        let lowest = load.classes.keys().next_back().copied().unwrap_or(0);
        if context.net.profile(node).is_none() {
            let own = match hosts {
                Hosts::Unchanged => BigInt::zero(),
                Hosts::Lowered => busy_period(context, raise, ends, port, lowest)?,
            };
            longest = longest.max(own.clone());
            drained.insert(port, own);
            continue;
        }
        let mut clean = change.clone();
        for feeder in feeders(load) {
            let handed_on = handed_on(context, raise, feeder)?;
            clean = clean.max(drained.get(&feeder)? + handed_on);
        }
        let end = clean + busy_period(context, raise, ends, port, lowest)?;
        longest = longest.max(end.clone());
        drained.insert(port, end);
    }
    Some(longest)
}

/// From a place in a port's queue to one in the next: its largest claim, the link, the switch.
fn handed_on(context: &Context<'_>, raise: &Analysis, port: usize) -> Option<BigInt> {
    let mut largest = 0;
    for class in raise.loads.get(&port)?.classes.keys() {
        largest = largest.max(context.claim(raise.mode, port, *class)?);
    }
    let link = &context.net.ports[port];
    let after = link.propagation_ps.checked_add(context.net.latency_max_ps(link.peer))?;
    Some(BigInt::from(largest) + after)
}

fn feeders(load: &Load) -> impl Iterator<Item = usize> + '_ {
    load.groups.keys().filter_map(|key| match key {
        GroupKey::Link(port) => Some(*port),
        GroupKey::Alone(_) | GroupKey::Processor => None,
    })
}

/// Every port after those that feed it; `None` if there is a circle.
fn feeding_order(raise: &Analysis) -> Option<Vec<usize>> {
    let mut waits: BTreeMap<usize, usize> = BTreeMap::new();
    let mut fed: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (port, load) in &raise.loads {
        waits.insert(*port, feeders(load).count());
        feeders(load).for_each(|feeder| fed.entry(feeder).or_default().push(*port));
    }
    let mut order: Vec<usize> =
        waits.iter().filter(|(_, count)| **count == 0).map(|(port, _)| *port).collect();
    let mut next = 0;
    while let Some(port) = order.get(next).copied() {
        for follower in fed.get(&port).into_iter().flatten() {
            let count = waits.get_mut(follower)?;
            *count -= 1;
            if *count == 0 {
                order.push(*follower);
            }
        }
        next += 1;
    }
    (order.len() == waits.len()).then_some(order)
}
