//! The time after which a change is over for good, and the new mode's own bounds hold.
//!
//! In the order of the flow of data: what reaches a switch's port is clean once the mode has changed
//! and every port that feeds it is drained and its last delayed frame has come over; the port itself
//! is drained when the busy period that may contain anything older has ended. Hosts know no mode; before a
//! return they have to go back to lower contracts themselves.
//! Behind a processor that ports share no line can be told from another: there is no drain.

use crate::rows::analysis::{Analysis, Load};
use crate::rows::context::Context;
use crate::rows::ends::Ends;
use crate::rows::group::GroupKey;
use crate::rows::raise::busy_period;
use num_bigint::BigInt;
use num_traits::Zero;
use std::collections::BTreeMap;

/// What a port has over, picoseconds from the trigger.
#[derive(Clone, Debug)]
struct Over {
    /// From when on what comes to it is of the new mode.
    clean: BigInt,
    /// From when on all of its busy periods are.
    drained: BigInt,
}

/// The least drain of a raise, picoseconds; `None` if there is none: something has no bound, or
/// ports feed one another in a circle.
pub(crate) fn drain(
    context: &Context<'_>,
    raise: (&Analysis, &Ends),
    change_ps: Option<u128>,
) -> Option<BigInt> {
    let over = over(context, raise, change_ps)?;
    Some(over.into_values().map(|over| over.drained).max().unwrap_or_default())
}

fn over(
    context: &Context<'_>,
    (raise, ends): (&Analysis, &Ends),
    change_ps: Option<u128>,
) -> Option<BTreeMap<usize, Over>> {
    if (0..context.net.nodes.len()).any(|node| context.net.device(node).is_some()) {
        return None;
    }
    let change = BigInt::from(change_ps?);
    let mut all: BTreeMap<usize, Over> = BTreeMap::new();
    for port in feeding_order(raise)? {
        if context.net.profile(context.net.ports[port].node).is_none() {
            all.insert(port, Over { clean: BigInt::zero(), drained: BigInt::zero() });
            continue;
        }
        let mut clean = change.clone();
        for feeder in feeders(&raise.loads[&port]) {
            let handed_on = handed_on(context, raise, feeder)?;
            clean = clean.max(&all.get(&feeder)?.drained + handed_on);
        }
        let drained = &clean + longest(context, raise, ends, port)?;
        all.insert(port, Over { clean, drained });
    }
    Some(all)
}

/// The least time from the last violation until every busy period has seen contracts of the lower
/// mode only, `raise` being before and `steady` the mode that it led to.
///
/// At a host's port the busy period of before has to end. Elsewhere: what a port takes from S' on
/// is of the lower contracts; a busy period at S' is either one of the raise, over when that is, or
/// one of the steady mode.
pub(crate) fn settled(
    context: &Context<'_>,
    raise: (&Analysis, &Ends),
    change_ps: Option<u128>,
    steady: (&Analysis, &Ends),
) -> Option<BigInt> {
    let raised = over(context, raise, change_ps)?;
    let mut settled: BTreeMap<usize, BigInt> = BTreeMap::new();
    for port in feeding_order(raise.0)? {
        let before = longest(context, raise.0, raise.1, port)?;
        if context.net.profile(context.net.ports[port].node).is_none() {
            settled.insert(port, before);
            continue;
        }
        let own = raised.get(&port)?;
        let mut clean = own.clean.clone();
        for feeder in feeders(&raise.0.loads[&port]) {
            let slow = handed_on(context, raise.0, feeder)?;
            let fast = handed_on(context, steady.0, feeder)?;
            let there = settled.get(&feeder)?;
            let last = (&raised.get(&feeder)?.drained + &slow).max(there + fast);
            clean = clean.max(last.min(there + slow));
        }
        let after = longest(context, steady.0, steady.1, port)?;
        let end = own.drained.clone().max(&clean + after).min(clean + before);
        settled.insert(port, end);
    }
    Some(settled.into_values().max().unwrap_or_default())
}

/// The longest busy period of all classes at a port; none where nothing comes.
fn longest(context: &Context<'_>, analysis: &Analysis, ends: &Ends, port: usize) -> Option<BigInt> {
    let Some(load) = analysis.loads.get(&port) else { return Some(BigInt::zero()) };
    let lowest = load.classes.keys().next_back().copied().unwrap_or(0);
    busy_period(context, analysis, ends, port, lowest)
}

/// From a place in a port's queue to one in the next: its largest claim, the link, the switch.
fn handed_on(context: &Context<'_>, raise: &Analysis, port: usize) -> Option<BigInt> {
    let mut largest = 0;
    for class in raise.loads.get(&port).into_iter().flat_map(|load| load.classes.keys()) {
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
