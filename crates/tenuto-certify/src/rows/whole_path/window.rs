//! For how long, in any window that a proof over a whole path looks at, flows come that a raise ends.
//!
//! A date of a port derives from one at the port behind it: it lies no further back than the busy
//! period there began, and what a frame takes from one queue to the next. Dates that cross the last
//! trigger have what had begun before it; what ends goes on until the last switch has swapped.

use crate::description::read::Mode;
use crate::kernel::server_graph::Flow;
use crate::rows::context::Context;
use crate::rows::ends::Ends;
use num_bigint::BigInt;
use std::collections::{BTreeMap, BTreeSet};

/// Θ by port, picoseconds; absent where nobody can say, as in a circle of ports.
pub(super) fn windows(
    context: &Context<'_>,
    (mode, ends): (Mode, &Ends),
    class: u8,
    flows: &[Flow],
) -> BTreeMap<usize, BigInt> {
    let mut onward: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for flow in flows {
        for visit in &flow.visits {
            onward.entry(visit.server).or_default();
            if let Some(before) = visit.parent {
                onward.entry(flow.visits[before].server).or_default().insert(visit.server);
            }
        }
    }
    // Ports whose followers are all known are next, until none is left but circles.
    let mut known: BTreeMap<usize, Option<BigInt>> = BTreeMap::new();
    loop {
        let is_next = |(port, next): &(&usize, &BTreeSet<usize>)| {
            !known.contains_key(port) && next.iter().all(|next| known.contains_key(next))
        };
        let ready: Vec<usize> = onward.iter().filter(is_next).map(|(port, _)| *port).collect();
        if ready.is_empty() {
            break;
        }
        for port in ready {
            let mut longest = Some(BigInt::ZERO);
            for next in &onward[&port] {
                longest = longest.zip(known[next].clone()).map(|(a, b)| a.max(b));
            }
            let own = step_back(context, (mode, ends), port, class);
            known.insert(port, longest.zip(own).map(|(longest, own)| longest + own));
        }
    }
    let until = |(port, reach): (usize, Option<BigInt>)| Some((port, reach? + ends.swapped_ps()));
    known.into_iter().filter_map(until).collect()
}

/// From a place in the next queue to the earliest date that it may give at this port.
fn step_back(
    context: &Context<'_>,
    (mode, ends): (Mode, &Ends),
    port: usize,
    class: u8,
) -> Option<BigInt> {
    let info = &context.net.ports[port];
    let after = [
        info.tick_ps,
        info.propagation_ps,
        context.net.latency_max_ps(info.peer),
        context.processing_ps(mode, port)?,
    ];
    let begun = ends.begun_before(port, class)?;
    Some(after.into_iter().fold(begun, |sum, part| sum + part))
}
