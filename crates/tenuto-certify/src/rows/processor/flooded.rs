//! P°: how long a frame takes at a processor with ports in turn once it has been accepted, whatever
//! its host sends (theory, "A host that fills its own queue").

use super::{Amount, Entrance, Site, sites};
use crate::description::device::Weight;
use crate::description::read::Receive;
use crate::kernel::exact::ceil_div;
use crate::rows::context::{Context, Flooded};
use num_bigint::BigInt;
use num_traits::Signed;
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};

/// The largest P° of any mode or raise. Claims have no part in it, but for what changes of mode purge.
pub(crate) fn flooded(context: &Context<'_>) -> Flooded {
    let mut longest = Flooded::new();
    if !context.net.is_babbling() {
        return longest;
    }
    for mode in context.claimed_modes() {
        for site in sites(context, mode) {
            let Receive::RoundRobin(turn) = site.device.processor.receive else { continue };
            for entrance in site.entrances.iter().filter(|entrance| entrance.is_babbling) {
                let here = site.longest_once_accepted(entrance, turn);
                let known = longest.entry(entrance.line).or_insert(Some(0));
                *known = known.zip(here).map(|(known, here)| known.max(here));
            }
        }
    }
    longest
}

impl Site<'_, '_> {
    /// The least of what turns, line rates and the host's own buffer prove.
    fn longest_once_accepted(&self, entrance: &Entrance, turn: u32) -> Option<u64> {
        let round = self.round(entrance);
        let in_front = self.size(Weight::Work(0), round) * (u64::from(turn) - 1);
        let after_turns = |came: Amount| Amount { burst: came.burst + &in_front, ..came };
        let by_share = self.least_after(&after_turns(self.line(entrance, round)), &[]);
        let others = self.entrances.iter().filter(|other| other.line != entrance.line);
        let others: Vec<Amount> = others.map(|other| self.line(other, 0)).collect();
        let by_order = self.least_after(&self.line(entrance, 0), &others);
        let stored = self.stored(entrance, round).map(after_turns);
        let by_buffer = stored.and_then(|stored| self.least_after(&stored, &[]));
        [by_share, by_order, by_buffer].into_iter().flatten().min()
    }

    /// All the work that an own buffer can hold, and the place in service, `round` more for every
    /// frame; `None` without such a buffer.
    fn stored(&self, entrance: &Entrance, round: u64) -> Option<Amount> {
        let buffer = self.buffer.filter(|buffer| buffer.is_per_port)?;
        let (largest, outputs) = self.largest_cost(entrance);
        let (mut work, mut units) = (0_u64, 1_u64);
        for bytes in FRAME_BYTES_MIN..=FRAME_BYTES_MAX {
            let takes = self.device.cost_ps(bytes, outputs).saturating_add(round);
            let fills = self.device.units(bytes).max(1);
            if u128::from(takes) * u128::from(units) > u128::from(work) * u128::from(fills) {
                (work, units) = (takes, fills);
            }
        }
        let mut burst = ceil_div(self.size(Weight::Work(0), work) * buffer.count, units.into());
        if buffer.has_place_in_service {
            burst += self.size(Weight::Work(0), largest.saturating_add(round));
        }
        Some(Amount { burst, rate: BigInt::default() })
    }

    /// The least d with t + d ≥ `came`(t) + Σ `others`(t + d) + U(t + d) + U'(t + d) for all t ≥ 0,
    /// picoseconds up; `None` if there is none.
    fn least_after(&self, came: &Amount, others: &[Amount]) -> Option<u64> {
        let control = self.control(0);
        let unasked = self.unasked(0);
        let unasked = unasked.first()?;
        let mut burst = control.burst + &unasked.burst;
        let mut rate = control.rate + &unasked.rate;
        for other in others {
            burst += &other.burst;
            rate += &other.rate;
        }
        // All is affine: nothing asks for more at a later t, or something does without an end.
        let left = self.capacity() - rate;
        if !left.is_positive() || came.rate > left {
            return None;
        }
        u64::try_from(ceil_div(burst + &came.burst, left)).ok()
    }
}
