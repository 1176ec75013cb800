//! The instants until which flows that a raise ends are served.
//!
//! Θ = W + D_mc: at the last trigger the busy period is at most W old, W of the modes that the raise
//! passes and of earlier raises from its start to them; the last switch swaps D_mc later.

use crate::description::read::Mode;
use crate::rows::analysis::Analysis;
use crate::rows::context::Context;
use crate::rows::ends::Ends;
use num_bigint::BigInt;
use std::collections::BTreeMap;

/// Θ of every port and class of the raise, from the modes and raises that can come before it.
pub(crate) fn ends(context: &Context<'_>, raise: &Analysis, mode_change_ps: Option<u128>) -> Ends {
    let mut ends = Ends::default();
    let (Mode::Raise { from, to }, Some(change)) = (raise.mode, mode_change_ps) else {
        return ends;
    };
    ends.swapped_ps = change;
    let is_before = |mode: Mode| match mode {
        Mode::Steady(level) => (from..to).contains(&level),
        Mode::Raise { from: start, to: end } => start == from && end < to,
        Mode::Return { .. } => false,
    };
    let before: Vec<Mode> = context.claimed_modes().filter(|mode| is_before(*mode)).collect();
    let claimed = context.claims.get(&raise.mode).into_iter().flat_map(BTreeMap::keys).copied();
    let used = raise
        .loads
        .iter()
        .flat_map(|(port, load)| load.classes.keys().map(|class| (*port, *class)));
    for (port, class) in claimed.chain(used) {
        if ends.by_class.contains_key(&(port, class)) {
            continue;
        }
        let periods = before.iter().map(|mode| context.busy_ps(*mode, port, class));
        let longest = periods.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten();
        if let Some(longest) = longest {
            ends.by_class.insert((port, class), BigInt::from(longest) + change);
        }
    }
    ends
}
