//! Rate, burst and delay per switch, chosen for the flows that are expected.

use super::demand::{Demand, admit};
use super::{Allocation, SwitchModel};

/// Rates and bursts are tried in so many steps of what a switch has.
const STEPS: u64 = 16;

/// Fractions of the full rate that are tried besides.
const FRACTIONS: u64 = 8;
/// A change at one switch that pays less than so many flows in this many lists is chance.
const CHANCE_LISTS: usize = 8;

/// The allocation that accepts most of the expected flows, and of those the one with the least delays:
/// first the best one for all switches alike, then switch by switch as long as that is better, `rounds`
/// times at most.
///
/// A smaller rate leaves more of the buffer to bursts, a smaller burst less delay, and less delay
/// less growth further on: which of them is scarce depends on the flows. `expected` are several lists
/// of flows; what is chosen is as sound as any other allocation, for whatever flows come.
pub fn optimised(
    models: &[SwitchModel],
    expected: &[Vec<Demand>],
    rounds: usize,
) -> Vec<Option<Allocation>> {
    let worth = |allocations: &[Option<Allocation>]| {
        let lists = expected.iter();
        let accepted: usize = lists.map(|demands| admit(allocations, demands).accepted).sum();
        let delays = allocations.iter().flatten().map(|it| u128::from(it.delay_ps)).sum::<u128>();
        (accepted, std::cmp::Reverse(delays))
    };
    let alike = |of: &dyn Fn(&SwitchModel) -> Option<Allocation>| -> Vec<Option<Allocation>> {
        models.iter().map(of).collect()
    };
    let mut best = alike(&|model| model.share(1));
    let mut most = worth(&best);
    let fractions = (2..=FRACTIONS).map(|k| alike(&|model| model.share(k)));
    let steps = choices().map(|(rate, burst)| alike(&|model| at(model, rate, burst)));
    for all in fractions.chain(steps) {
        let count = worth(&all);
        if count > most {
            (best, most) = (all, count);
        }
    }
    let chance = expected.len() / CHANCE_LISTS;
    for _ in 0..rounds {
        let before = most;
        for switch in 0..models.len() {
            for (rate, burst) in choices() {
                let kept = best[switch];
                best[switch] = at(&models[switch], rate, burst);
                let count = if best[switch] == kept { most } else { worth(&best) };
                if count.0 > most.0 + chance {
                    most = count;
                } else {
                    best[switch] = kept;
                }
            }
        }
        if most == before {
            break;
        }
    }
    best
}

fn choices() -> impl Iterator<Item = (u64, u64)> {
    (1..=STEPS).flat_map(|rate| (1..=STEPS).map(move |burst| (rate, burst)))
}

/// Sixteenths of R, and of the burst that is left at that rate.
fn at(model: &SwitchModel, rate_16ths: u64, burst_16ths: u64) -> Option<Allocation> {
    let rate_bps = model.rate_bps * rate_16ths / STEPS;
    let largest = model.at_rate(rate_bps)?;
    model.with(rate_bps, largest.burst_bytes * burst_16ths / STEPS)
}
